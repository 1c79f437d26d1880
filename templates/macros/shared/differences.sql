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


{# The cells of two tables from records, compared where both have one. #}
{% macro differences_of_records(here, there, n=none) %}
with

{{ kanon_sql.sets_of_cells(
    here.relation, here.columns, here.groupings, here.contributor,
    set="cells_here", contributions="contributions_here"
) | trim }},

{{ kanon_sql.sets_of_cells(
    there.relation, there.columns, there.groupings, there.contributor,
    set="cells_there", contributions="contributions_there"
) | trim }},

{{ kanon_sql.compared_cells(
    ["kanon_grouping"], here.columns, there.columns
) | trim }}

{{ kanon_sql.counts_of_differences(n) | trim }}
{%- endmacro %}


{# CTE with the cells of both tables, and the count of each in either. #}
{% macro compared_cells(markers, columns, others) %}
compared_cells as (
    select
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
    sum({{ kanon_sql.flag(kanon_sql.differences_violated(n)) }}) as kanon_violating
{%- endif %}

from compared_cells
{%- endmacro %}
