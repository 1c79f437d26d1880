{#
    Differencing: a cell of two tables, one population within the other, differs by fewer than n
    contributors, 0 < |a - b| < n.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 5.2.
#}
{% macro differences() -%}
abs(kanon_here - kanon_there)
{%- endmacro %}


{% macro differences_violated(n) -%}
kanon_here <> kanon_there and {{ kanon_sql.differences() }} < {{ kanon_sql.positive_int(n, "n") }}
{%- endmacro %}


{#
    The cells of two tables from records, compared where both have one; one without a value counts 0. With
    `first`, the first that violate.
#}
{% macro differences_of_records(here, there, n=none, first=none) %}
with

{{ kanon_sql.ctes_of_distinct_cells(here, "cells_here", "contributions_here") | trim }},

{{ kanon_sql.ctes_of_distinct_cells(there, "cells_there", "contributions_there") | trim }},

{{ kanon_sql.compared_cells(["kanon_grouping"], here.columns, there.columns, first is not none) | trim }}

{% if first is none %}
{{ kanon_sql.counts_of_differences(n) | trim }}
{%- else %}
{{ kanon_sql.first_differences(n, ["kanon_grouping"] + kanon_sql.aliases_of(here.columns), first) | trim }}
{%- endif %}
{%- endmacro %}


{# The first cells that violate, with their labels. #}
{% macro first_differences(n, labels, first) %}
select
    {{ labels | join(",\n    ") }},
    kanon_here,
    kanon_there
from compared_cells
where {{ kanon_sql.differences_violated(n) | trim }}
order by
    {{ labels | join(",\n    ") }}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{# CTE with the cells of both tables, and the count of each in either, with their labels if wanted. #}
{% macro compared_cells(markers, columns, others, labelled=false) %}
compared_cells as (
    select
{% for name in markers + kanon_sql.aliases_of(columns) if labelled %}
        cells_here.{{ name }},
{% endfor %}
        cells_here.kanon_contributors as kanon_here,
        cells_there.kanon_contributors as kanon_there
    from cells_here
    inner join cells_there
{% for marker in markers %}
        {{ "on" if loop.first else "and" }} cells_there.{{ marker }} = cells_here.{{ marker }}
{% endfor %}
{% for column in columns %}
        and {{ kanon_sql.same(
            "cells_there." ~ kanon_sql.alias(others[loop.index0]), "cells_here." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
)
{%- endmacro %}


{# How many cells differ, by how much at least, and in which direction. NULL is suppressed. #}
{% macro counts_of_differences(n=none) %}
select
    (select count(*) from cells_here) as kanon_cells_here,
    (select count(*) from cells_there) as kanon_cells_there,
    count(*) as kanon_cells_of_both,
    sum({{ kanon_sql.flag("kanon_here is not null and kanon_there is not null") }}) as kanon_compared,
    sum({{ kanon_sql.flag("kanon_here = kanon_there") }}) as kanon_equal,
    sum({{ kanon_sql.flag("kanon_here > kanon_there") }}) as kanon_greater,
    sum({{ kanon_sql.flag("kanon_here < kanon_there") }}) as kanon_smaller,
    sum({{ kanon_sql.flag("kanon_here is null and kanon_there is not null") }}) as kanon_hidden_here,
    min(case when kanon_here <> kanon_there then {{ kanon_sql.differences() }} end) as kanon_least
{%- if n is not none %},
    sum({{ kanon_sql.flag(kanon_sql.differences_violated(n)) }}) as kanon_violating,
    {{ kanon_sql.sum_where(kanon_sql.differences_violated(n), n ~ " - " ~ kanon_sql.differences(), "kanon_shortfall") | indent(4) }}
{%- endif %}

from compared_cells
{%- endmacro %}


{# Generic test of differences between a mart and a second one, with their counts in `count`. #}
{% macro differences_failures(
    relation, columns, dimensions, value, count, against, there, n, suppressed="1 = 0"
) %}
{% set places = range(1, columns | length + 1) | list %}
{% set figure = kanon_sql.typed_figure(value) | trim %}
{% set contributors = kanon_sql.typed_figure(count, 0) | trim %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_published_differences(
    {"sets": kanon_sql.ctes_of_published(
        relation, dimensions, figure, suppressed, contributors=contributors, set="published_here"
    ) | trim, "places": places, "totals": []},
    {"sets": kanon_sql.ctes_of_published(
        against, there, figure, suppressed, contributors=contributors, set="published_there"
    ) | trim, "places": places, "totals": []}
) | trim }},

counted_differences as (
    {{ kanon_sql.counts_of_differences(n) | trim | indent(4) }}
),

measured as (
    select
        kanon_cells_here as records,
        coalesce(kanon_compared, 0) as compared_cells,
        coalesce(kanon_equal, 0) as equal_cells,
        coalesce(kanon_violating, 0) as violating_cells,
        coalesce(kanon_greater, 0) as greater_here,
        coalesce(kanon_smaller, 0) as smaller_here,
        coalesce(kanon_hidden_here, 0) as suppressed_here_shown_there,
        kanon_least as achieved
    from counted_differences
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_cells > 0",
    failures="measured.violating_cells",
    columns=[
        "compared_cells", "equal_cells", "violating_cells", "greater_here", "smaller_here",
        "suppressed_here_shown_there", "achieved",
    ],
    more=kanon_sql.mart_errors(relation, dimensions, value, suppressed, count, name="_here")
        + kanon_sql.mart_errors(against, there, value, suppressed, count, name="_there")
        + [kanon_sql.counted_error(
            "tables_apart", "second table shows no cell that this one shows: do the labels agree", "kanon_apart",
            "select case when compared_cells = 0 then 1 else 0 end as kanon_apart\nfrom measured"
        )]
) }}
{%- endmacro %}


{% test differences(model) -%}
{% set arguments = kanon_sql.cell_arguments("differences", model, kwargs, {"n": "count"}, [
    "by", "value", "count", "against", "suppressed",
]) -%}
{{ kanon_sql.tidy(kanon_sql.differences_failures(**arguments), model) }}
{%- endtest %}
