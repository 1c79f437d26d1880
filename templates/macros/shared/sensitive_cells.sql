{#
    Each cell of a table with its figure and a flag of primary suppression (the cell violates a rule by
    itself): the table as published with exactly these cells suppressed.

    The figure of a cell is a count, or the sum of the values with their signs, while rules compare
    absolute contributions. With `first`, the rows are the first violating cells; with `rules`, each row
    has a flag for each of them. `units`: the decimals of figures added as integers, in their smallest
    unit.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4.2.2.
#}

{% macro sensitive_cells(cells, violated, first=none, units=0, rules=[]) %}
with

{{ kanon_sql.ctes_of_cells(cells) | trim }},

{% if cells.figure is not none %}
-- One row for each inner cell, from which every margin is added up.
sums as (
    select
{{ kanon_sql.aliased_keys(cells.columns) | indent(4, first=true) }},
        sum({{ cells.figure if cells.weighted is none else cells.weighted }}) as kanon_figure
    from {{ cells.relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(cells.columns) | indent(4, first=true) }}
),

{% endif %}
marked_cells as (
    select
        kanon_grouping,
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        {{ kanon_sql.flag(violated) | indent(8) if violated else 0 }} as kanon_suppressed,
{% for rule in rules %}
        {{ kanon_sql.flag(rule.violated) | indent(8) }} as kanon_violates_{{ rule.number }},
{% endfor %}
        {{ "kanon_contributors" if cells.figure is none else "null" }} as kanon_figure
    from cells
{% for grouping in cells.groupings if cells.figure is not none %}
{% set by = grouping.columns %}

    union all

    select
        {{ grouping.number }} as kanon_grouping,
{% for column in cells.columns %}
        {{ "" if column in by else "null as " }}{{ kanon_sql.alias(column) }},
{% endfor %}
        0 as kanon_suppressed,
{% for rule in rules %}
        0 as kanon_violates_{{ rule.number }},
{% endfor %}
        sum(kanon_figure) as kanon_figure
    from sums
{% if by %}
    group by
{{ kanon_sql.aliases(by) | indent(4, first=true) }}
{% endif %}
{% endfor %}
)

select
    kanon_grouping,
{{ kanon_sql.aliases(cells.columns) }},
    max(kanon_suppressed) as kanon_suppressed,
{% for rule in rules %}
    max(kanon_violates_{{ rule.number }}) as kanon_violates_{{ rule.number }},
{% endfor %}
    {{ kanon_sql.quotient("max(kanon_figure)", "1e" ~ units) | trim if units else "max(kanon_figure)" }} as kanon_figure
from marked_cells
{% if cells.repeated %}
where not (
    {{ cells.repeated | join("\n    or ") }}
)
{% endif %}
group by
    kanon_grouping,
{{ kanon_sql.aliases(cells.columns) }}
{%- if first is not none %}

having max(kanon_suppressed) = 1
{%- endif %}
{%- if first is not none or rules %}

order by
    kanon_grouping,
{{ kanon_sql.aliases(cells.columns) }}
{%- endif %}
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{# The first cells of a published table that violate a rule by themselves. #}
{% macro violating_published(sets, dimensions, violated, first) %}
with

{{ sets }}

select
{% for dimension in dimensions %}
    kanon_d{{ dimension }},
    kanon_t{{ dimension }},
{% endfor %}
    kanon_figure
from published_cells
where {{ violated | join("\n    or ") }}
order by
{% for dimension in dimensions %}
    kanon_t{{ dimension }},
    kanon_d{{ dimension }}{{ "," if not loop.last }}
{% endfor %}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{# Each cell of a published table, with a flag for each of `rules`. #}
{% macro listed_published(sets, dimensions, rules) %}
with

{{ sets }}

select
{% for dimension in dimensions %}
    kanon_d{{ dimension }},
    kanon_t{{ dimension }},
{% endfor %}
    kanon_suppressed,
{% for rule in rules %}
    {{ kanon_sql.flag(rule.violated) | indent(4) }} as kanon_violates_{{ rule.number }},
{% endfor %}
    kanon_figure
from published_cells
order by
{% for dimension in dimensions %}
    kanon_t{{ dimension }},
    kanon_d{{ dimension }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Each cell of a published table, with the bounds that its mark tells. #}
{% macro rows_of_published(sets, dimensions) %}
with

{{ sets }}

select
{% for dimension in dimensions %}
    kanon_d{{ dimension }},
    kanon_t{{ dimension }},
{% endfor %}
    kanon_suppressed,
    kanon_figure,
    kanon_low,
    kanon_high
from published_cells
{%- endmacro %}
