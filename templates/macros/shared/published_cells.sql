{#
    A table as it is published, one row a cell: totals by label, NULL or flag, marks in place of
    suppressed figures. Of a dimension i, `kanon_d{i}` is the label, NULL for a total and for the
    value NULL, `kanon_t{i}` 1 for a total, `kanon_l{i}` the level of the label in its hierarchy, and
    `kanon_p{i}` the label above it, NULL for the total.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4.2.2.
#}

{# CTE with the cells. #}
{% macro ctes_of_published(
    relation, dimensions, figure, suppressed, low=none, high=none, contributors=none,
    set="published_cells"
) %}
{{ set }} as (
    select
{% for dimension in dimensions %}
        {{ kanon_sql.unless(dimension.total, dimension.label) | indent(8) }} as kanon_d{{ loop.index }},
        {{ kanon_sql.flag_or_never(dimension.total) | indent(8) }} as kanon_t{{ loop.index }},
{% if dimension.level is not none %}
        {{ dimension.level | indent(8) }} as kanon_l{{ loop.index }},
        {{ dimension.parent | indent(8) }} as kanon_p{{ loop.index }},
{% endif %}
{% endfor %}
        {{ kanon_sql.flag_or_never(suppressed) | indent(8) }} as kanon_suppressed,
        {{ kanon_sql.unless(suppressed, figure) | indent(8) }} as kanon_figure
{%- if low is not none %},
        {{ low | indent(8) }} as kanon_low,
        {{ high | indent(8) }} as kanon_high
{%- endif %}
{%- if contributors is not none %},
        {{ kanon_sql.unless(suppressed, contributors) | indent(8) }} as kanon_contributors
{%- endif %}

    from {{ relation | indent(4) }}
)
{%- endmacro %}


{# A value, NULL where the predicate holds; `1 = 0` never does. #}
{% macro unless(predicate, value) -%}
{{ value if predicate == "1 = 0" else "case when " ~ predicate ~ " then null else " ~ value ~ " end" }}
{%- endmacro %}


{# 1 where the predicate holds, else 0. #}
{% macro flag_or_never(predicate) -%}
{{ "0" if predicate == "1 = 0" else kanon_sql.flag(predicate) }}
{%- endmacro %}


{# Facts on the rows: what is neither a number nor a mark, and what could be read in two ways. #}
{% macro published_facts(
    relation, columns, column, suppressed, dimensions, may_be_null, count=none, counts=false
) %}
{% set value = kanon_sql.ident(column) %}
{% set number = "case when not (" ~ suppressed ~ ") then " ~ (kanon_sql.figure_number(column) | trim) ~ " end" %}
select
    count(*) as kanon_records,
    count({{ value }}) as kanon_values,
    sum(case when {{ value }} is not null and not ({{ suppressed }}) and kanon_number is null then 1 else 0 end) as kanon_no_number,
{% if may_be_null %}
    0 as kanon_unmarked_null,
{% else %}
    sum(case when {{ value }} is null then 1 else 0 end) as kanon_unmarked_null,
{% endif %}
    sum(case when kanon_number is not null and not ({{ kanon_sql.is_finite("kanon_number") }}) then 1 else 0 end) as kanon_not_finite,
    {{ kanon_sql.most_decimals(column, "kanon_number") | trim | indent(4) }} as kanon_decimals,
    max(abs(kanon_number)) as kanon_largest,
    sum(abs(kanon_number)) as kanon_size
{%- for dimension in dimensions %},
    sum({{ kanon_sql.flag_or_never(dimension.doubtful) }}) as kanon_null_{{ loop.index }},
    sum({{ kanon_sql.flag_or_never(dimension.unknown) }}) as kanon_unknown_{{ loop.index }},
    sum({{ kanon_sql.flag_or_never(dimension.like_total) }}) as kanon_like_total_{{ loop.index }},
    sum({{ kanon_sql.flag_or_never(dimension.no_flag) }}) as kanon_no_flag_{{ loop.index }}
{%- endfor %}
{%- if count is not none %},
    sum({{ kanon_sql.flag("not (" ~ suppressed ~ ")\n    and not (" ~ kanon_sql.is_count(kanon_sql.figure_number(count) | trim) ~ ")") | indent(4) }}) as kanon_no_count,
    sum({{ kanon_sql.flag("not (" ~ suppressed ~ ")\n    and (" ~ kanon_sql.not_whole(count, kanon_sql.figure_number(count) | trim) ~ ")") | indent(4) }}) as kanon_not_whole
{%- elif counts %},
    sum(case when kanon_number < 0 then 1 else 0 end) as kanon_below_zero,
    sum({{ kanon_sql.flag("kanon_number is not null\n    and (" ~ kanon_sql.not_whole(column, "kanon_number") ~ ")") | indent(4) }}) as kanon_not_whole
{%- endif %}

from (
    select
{% for name in columns %}
        {{ kanon_sql.ident(name) }},
{% endfor %}
        {{ number }} as kanon_number
    from {{ relation | indent(4) }}
) as kanon_numbered
{%- endmacro %}


{# The cells that have more than one row. #}
{% macro repeated_cells(sets, dimensions) %}
with

{{ sets }},

{{ kanon_sql.cte_of_repeated_cells(dimensions) | trim }}

select count(*) as kanon_repeated
from repeated
{%- endmacro %}


{# CTE with the cells of `cells` that have more than one row. #}
{% macro cte_of_repeated_cells(dimensions, cells="published_cells", set="repeated") %}
{{ set }} as (
    select
{% for place in dimensions %}
        kanon_d{{ place }},
        kanon_t{{ place }},
{% endfor %}
        count(*) as kanon_rows
    from {{ cells }}
    group by
{% for place in dimensions %}
        kanon_d{{ place }},
        kanon_t{{ place }}{{ "," if not loop.last }}
{% endfor %}
    having count(*) > 1
)
{%- endmacro %}


{# Every rule for the single cells of a published table, in one row. #}
{% macro published_rules(sets, margin, rules, nodes, contributors=true, unrounded=none) %}
with

{{ sets }}

{{ kanon_sql.counts_of_published_rules(margin, rules, nodes, contributors, unrounded) | trim }}
{%- endmacro %}


{# One row of counts. `unrounded` is the predicate of a figure that no total has. #}
{% macro counts_of_published_rules(margin, rules, nodes, contributors=true, unrounded=none) %}
select
    count(*) as kanon_cells,
    sum({{ kanon_sql.flag(margin) }}) as kanon_margin_cells,
    sum(kanon_suppressed) as kanon_suppressed,
    sum(case when kanon_figure = 0 then 1 else 0 end) as kanon_zero_cells
{%- if unrounded is not none %},
    sum({{ kanon_sql.flag("(" ~ margin ~ ")\n    and (" ~ unrounded ~ ")") | indent(4) }}) as kanon_unrounded
{%- endif %}
{%- if contributors %},
    min(kanon_contributors) as kanon_least,
    min(case when kanon_contributors > 0 then kanon_contributors end) as kanon_least_above_zero
{%- endif %}
{%- for rule in rules %},
    sum({{ kanon_sql.flag(rule.violated) | indent(4) }}) as kanon_violating_cells_{{ rule.number }},
    sum({{ kanon_sql.flag("(" ~ rule.violated ~ ")\n    and (" ~ margin ~ ")") | indent(4) }}) as kanon_violating_margin_cells_{{ rule.number }}
{%- if rule.shortfall %},
    {{ kanon_sql.sum_where(rule.violated, rule.shortfall, "kanon_shortfall_" ~ rule.number) | indent(4) }}
{%- endif %}
{%- endfor %}
{%- for node in nodes %},
    count(distinct case when {{ node.predicate }} then kanon_d{{ node.place }} end)
        + max(case when {{ node.predicate }} and kanon_d{{ node.place }} is null then 1 else 0 end) as kanon_nodes_{{ node.name }}
{%- endfor %}

from published_cells
{%- endmacro %}


{# The number of cells with the same levels and totals. #}
{% macro published_groupings(sets, keys) %}
with

{{ sets }}

select
{% for key in keys %}
    {{ key }},
{% endfor %}
    count(*) as kanon_cells
from published_cells
group by
{% for key in keys %}
    {{ key }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{#
    The groups of a published table. The members of a group are those of its children; a group with
    a suppressed or unknown child is left out. With `first`, the first disclosed ones, with their
    labels in the `dimensions`.
#}
{% macro published_groups(sets, families, checks, dimensions=[], first=none) %}
with

{{ sets }},

{{ kanon_sql.cte_of_published_groups(families, dimensions if first is not none else []) | trim }}

{% if first is none %}
{{ kanon_sql.disclosed_groups(checks) | trim }}
{%- else %}
{{ kanon_sql.first_groups(checks, kanon_sql.labels_of(dimensions), first) | trim }}
{%- endif %}
{%- endmacro %}


{# The columns with the label of each dimension, and whether it is a total. #}
{% macro labels_of(dimensions) -%}
{% set labels = namespace(columns=[]) %}
{% for place in dimensions %}
{% set labels.columns = labels.columns + ["kanon_d" ~ place, "kanon_t" ~ place] %}
{% endfor %}
{{ return(labels.columns) }}
{%- endmacro %}


{# CTE with the groups, and their labels in some dimensions. #}
{% macro cte_of_published_groups(families, dimensions=[]) %}
groups as (
{% for family in families %}
    select
        {{ family.dimension }} as kanon_dimension,
{% for place in dimensions %}
{% if place != family.dimension %}
        kanon_d{{ place }},
        kanon_t{{ place }},
{% else %}
        {{ "null" if family.parent is none else family.parent }} as kanon_d{{ place }},
        {{ "1" if family.parent is none else kanon_sql.flag(family.parent ~ " is null") }} as kanon_t{{ place }},
{% endif %}
{% endfor %}
        sum(kanon_contributors) as kanon_members,
        max(kanon_contributors) as kanon_most
    from published_cells
    where kanon_t{{ family.dimension }} = 0{{ "\n        and not (" ~ family.alone ~ ")" if family.alone }}
    group by
        {{ family.keyed_by | join(",\n        ") }}
    having sum(case when kanon_contributors is null then 1 else 0 end) = 0
{%- if family.children %}

        and count(*) = {{ family.children | indent(8) }}
{%- endif %}
{%- if family.several %}

        and {{ family.several | indent(8) }}
{%- endif %}
{% if not loop.last %}


    union all

{% endif %}
{% endfor %}
)
{%- endmacro %}


{#
    Two published tables, compared on the dimensions of both where all others are totals. With `first`,
    the first cells that violate.
#}
{% macro differences_of_published(here, there, n=none, first=none) %}
with

{{ kanon_sql.ctes_of_published_differences(here, there, first is not none) | trim }}

{% if first is none %}
{{ kanon_sql.counts_of_differences(n) | trim }}
{%- else %}
{{ kanon_sql.first_differences(n, kanon_sql.labels_of(range(1, here.places | length + 1)), first) | trim }}
{%- endif %}
{%- endmacro %}


{# CTEs up to `compared_cells`. #}
{% macro ctes_of_published_differences(here, there, labelled=false) %}
{{ here.sets }},

{{ there.sets }},

cells_here as (
    {{ kanon_sql.shared_cells("published_here", here.places, here.totals) | trim | indent(4) }}
),

cells_there as (
    {{ kanon_sql.shared_cells("published_there", there.places, there.totals) | trim | indent(4) }}
),

{% set shared = namespace(markers=[], columns=[]) %}
{% for place in here.places %}
{% set shared.markers = shared.markers + ["kanon_t" ~ loop.index] %}
{% set shared.columns = shared.columns + ["kanon_d" ~ loop.index] %}
{% endfor %}
{{ kanon_sql.compared_cells(shared.markers, shared.columns, shared.columns, labelled) | trim }}
{%- endmacro %}


{% macro shared_cells(set, places, totals) %}
select
{% for place in places %}
    kanon_d{{ place }} as kanon_d{{ loop.index }},
    kanon_t{{ place }} as kanon_t{{ loop.index }},
{% endfor %}
    kanon_contributors
from {{ set }}
{% for place in totals %}
{{ "where" if loop.first else "    and" }} kanon_t{{ place }} = 1
{% endfor %}
{%- endmacro %}
