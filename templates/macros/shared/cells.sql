{#
    The cells of a table: a count of contributors, or the sum of a magnitude, for each combination
    of the dimensions' nodes, margins included.

    A grouping lists the key columns of its cells: the level of each dimension, unless it is a total,
    and all levels above, functions of the level. `kanon_largest_n` is the sum of the n largest
    contributions x1 >= x2 >= ..., in absolute values after the records of a contributor are added;
    `kanon_total` is the sum of all contributions.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4.
#}

{#
    The cells of a `relation`, keyed by `columns`, in some `groupings`. A cell is the sum of a `figure`
    (times its weight, in `weighted`), or else a count of contributors, all of them or those with a value
    in the column `counted`. `ranks`: how many of the largest contributions a check adds. `top`: the
    engine has an aggregate for the largest ones. `repeated`: predicates of cells equal to another one.
#}
{% macro cells_of(
    relation, columns, groupings, contributor=none, figure=none, weighted=none, ranks=[], repeated=[],
    top=false, counted=none
) -%}
{{ return({
    "relation": relation, "columns": columns, "groupings": groupings, "contributor": contributor,
    "figure": figure, "weighted": weighted, "ranks": ranks, "repeated": repeated, "top": top,
    "counted": counted,
}) }}
{%- endmacro %}


{# CTEs up to `cells`. #}
{% macro ctes_of_cells(cells, set="cells", contributions="contributions") %}
{% if cells.figure is none %}
{{ contributions }} as (
    select
{{ kanon_sql.aliased_keys(cells.columns) | indent(4, first=true) }},
{% if cells.contributor is not none %}
        {{ kanon_sql.aliased(kanon_sql.ident(cells.contributor), cells.contributor) }},
{% endif %}
        count(*) as kanon_records
{%- if cells.counted is not none %},
        count({{ kanon_sql.ident(cells.counted) }}) as kanon_values
{%- endif %}

    from {{ cells.relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(cells.columns) | indent(4, first=true) }}
{%- if cells.contributor is not none %},
        {{ kanon_sql.ident(cells.contributor) }}
{%- endif %}

),
{% elif cells.contributor is not none %}
-- The records of one contributor in a cell are added first.
contributions as (
    select
{{ kanon_sql.aliased_keys(cells.columns) | indent(4, first=true) }},
        {{ kanon_sql.aliased(kanon_sql.ident(cells.contributor), cells.contributor) }},
        count(*) as kanon_records,
        sum({{ cells.figure }}) as kanon_figure
{%- if cells.weighted is not none %}
,
        sum({{ cells.weighted }}) as kanon_weighted
{%- endif %}

    from {{ cells.relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(cells.columns) | indent(4, first=true) }},
        {{ kanon_sql.ident(cells.contributor) }}
),
{% else %}
figures as (
    select
{{ kanon_sql.aliased_keys(cells.columns) | indent(4, first=true) }},
        abs({{ cells.figure }}) as kanon_size,
        abs({{ cells.figure if cells.weighted is none else cells.weighted }}) as kanon_weighted,
        case when {{ cells.figure }} < 0 then 1 end as kanon_negative
    from {{ cells.relation | indent(4) }}
),

{% if cells.top %}
-- The largest contributions of a margin are among those of its cells.
largest_figures as (
    select
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        count(*) as kanon_records,
        count(kanon_size) as kanon_contributors,
        coalesce(sum(kanon_weighted), 0) as kanon_total,
        max(kanon_size, {{ kanon_sql.largest_rank(cells.ranks) }}) as kanon_sizes,
        count(kanon_negative) as kanon_negatives
    from figures
    group by
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }}
),

contributions as (
    select
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        kanon_records,
        kanon_contributors,
        kanon_total,
        0 as kanon_size,
        kanon_negatives
    from largest_figures

    union all

    select
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        0 as kanon_records,
        0 as kanon_contributors,
        0 as kanon_total,
        unnest(kanon_sizes) as kanon_size,
        0 as kanon_negatives
    from largest_figures
),
{% else %}
placed_figures as (
    select
        figures.*,
        row_number() over (
            partition by
{{ kanon_sql.aliases(cells.columns) | indent(16, first=true) }}
            order by case when kanon_size is null then 0 else kanon_size end desc
        ) as kanon_place
    from figures
),

-- The largest contributions of a margin are among those of its cells.
contributions as (
    select
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        case when kanon_place <= {{ kanon_sql.largest_rank(cells.ranks) }} then kanon_place else 0 end as kanon_place_of_cell,
        count(*) as kanon_records,
        count(kanon_size) as kanon_contributors,
        coalesce(sum(kanon_weighted), 0) as kanon_total,
        max(case when kanon_place <= {{ kanon_sql.largest_rank(cells.ranks) }} and kanon_size is not null then kanon_size else 0 end) as kanon_size,
        count(kanon_negative) as kanon_negatives
    from placed_figures
    group by
{{ kanon_sql.aliases(cells.columns) | indent(4, first=true) }},
        case when kanon_place <= {{ kanon_sql.largest_rank(cells.ranks) }} then kanon_place else 0 end
),
{% endif %}
{% endif %}

{{ set }} as (
{% for grouping in cells.groupings %}
    {{ kanon_sql.cells_of_grouping(grouping, cells, contributions) | trim | indent(4) }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)
{%- endmacro %}


{# CTEs up to `cells`, without those that repeat one of a lower level. #}
{% macro ctes_of_distinct_cells(cells, set="cells", contributions="contributions") %}
{{ kanon_sql.ctes_of_cells(cells, "all_" ~ set if cells.repeated else set, contributions) | trim }}
{%- if cells.repeated %},

{{ set }} as (
    select *
    from all_{{ set }}
    where not (
        {{ cells.repeated | join("\n        or ") }}
    )
)
{%- endif %}
{% endmacro %}


{% macro largest_rank(ranks) -%}
{{ (ranks + [1]) | max }}
{%- endmacro %}


{# The cells of one grouping. #}
{% macro cells_of_grouping(grouping, cells, contributions="contributions") %}
{% set by = grouping.columns %}
select
    {{ grouping.number }} as kanon_grouping,
{% for column in cells.columns %}
    {{ "" if column in by else "null as " }}{{ kanon_sql.alias(column) }},
{% endfor %}
    sum(kanon_records) as kanon_records,
{% if cells.figure is none %}
    {{ kanon_sql.number_of_contributors(cells.contributor, cells.counted) }} as kanon_contributors
{%- else %}
    sum(kanon_contributors) as kanon_contributors,
    sum(kanon_total) as kanon_total,
{% for rank in cells.ranks %}
    {{ kanon_sql.sum_of_largest(rank, cells.ranks, cells.top) }} as kanon_largest_{{ rank }},
{% endfor %}
    sum(kanon_negatives) as kanon_negatives
{%- endif %}

from {{ kanon_sql.placed_contributions(by, cells, contributions) | trim }}
{% if by %}
group by
{{ kanon_sql.aliases(by) }}
{% endif %}
{%- endmacro %}


{# Sum of the largest contributions of a cell, up to a rank. #}
{% macro sum_of_largest(rank, ranks, top=false) -%}
{% if top -%}
list_sum(list_slice(max(kanon_size, {{ kanon_sql.largest_rank(ranks) }}), 1, {{ rank }}))
{%- else -%}
sum(case when kanon_place <= {{ rank }} then kanon_size else 0 end)
{%- endif %}
{%- endmacro %}


{# Number of contributors of a cell, or of those with a value. #}
{% macro number_of_contributors(contributor=none, counted=none) -%}
{% if contributor is none -%}
sum({{ "kanon_records" if counted is none else "kanon_values" }})
{%- else -%}
{{ "count(*)" if counted is none else "sum(case when kanon_values > 0 then 1 else 0 end)" }}
{%- endif %}
{%- endmacro %}


{# The contributions of one grouping, each contributor once in a cell and the largest first. #}
{% macro placed_contributions(by, cells, contributions="contributions") %}
{% set inner = by | length == cells.columns | length %}
{% if cells.contributor is none and (cells.figure is none or cells.top) %}
{{ contributions }}
{%- elif cells.figure is none %}
(
    select
{% for column in by + [cells.contributor] %}
        {{ kanon_sql.alias(column) }},
{% endfor %}
        sum(kanon_records) as kanon_records
{%- if cells.counted is not none %},
        sum(kanon_values) as kanon_values
{%- endif %}

    from {{ contributions }}
    group by
{{ kanon_sql.aliases(by + [cells.contributor]) | indent(4, first=true) }}
) as contributors
{%- elif cells.top %}
{{ kanon_sql.summed_contributors(by, cells, inner) | trim }}
{%- else %}
(
    select
{% for column in by %}
        {{ kanon_sql.alias(column) }},
{% endfor %}
        kanon_records,
        kanon_contributors,
        kanon_total,
        kanon_size,
        kanon_negatives,
        row_number() over (
{% if by %}
            partition by
{{ kanon_sql.aliases(by) | indent(12, first=true) }}
{% endif %}
            order by kanon_size desc
        ) as kanon_place
    from {{ "contributions" if cells.contributor is none else kanon_sql.summed_contributors(by, cells, inner) | trim | indent(4) }}
) as placed
{%- endif %}
{%- endmacro %}


{#
    The contributors of one grouping, with their figures added; in an inner cell each has one row
    already.
#}
{% macro summed_contributors(by, cells, inner=false) %}
{% set figure = kanon_sql.summed_unless(inner, "kanon_figure") | trim %}
(
    select
{% for column in by %}
        {{ kanon_sql.alias(column) }},
{% endfor %}
        {{ kanon_sql.summed_unless(inner, "kanon_records") }} as kanon_records,
        case when {{ figure }} is null then 0 else 1 end as kanon_contributors,
        coalesce(abs({{ kanon_sql.summed_unless(inner, "kanon_figure" if cells.weighted is none else "kanon_weighted") }}), 0) as kanon_total,
        coalesce(abs({{ figure }}), 0) as kanon_size,
        case when {{ figure }} < 0 then 1 else 0 end as kanon_negatives
    from contributions
{% if not inner %}
    group by
{{ kanon_sql.aliases(by + [cells.contributor]) | indent(4, first=true) }}
{% endif %}
) as contributors
{%- endmacro %}


{% macro summed_unless(inner, name) -%}
{{ name if inner else "sum(" ~ name ~ ")" }}
{%- endmacro %}


{#
    Every rule for the cells of a table at once, in one row. `rules` are the checks with their
    predicate, their figure, and the shortfall of a cell; `nodes` are the levels with counted nodes, for
    the combinations without a record. A label repeated on the next level is one cell, on its lowest
    level.
#}
{% macro cell_rules(cells, rules, nodes=[]) %}
with

{{ kanon_sql.ctes_of_cell_rules(cells, rules, nodes) | trim }}

{{ kanon_sql.counts_of_cell_rules(cells, rules, nodes) | trim }}
{%- endmacro %}


{# CTEs up to `sensitive_cells`, and `nodes`. #}
{% macro ctes_of_cell_rules(cells, rules, nodes=[]) %}
{{ kanon_sql.ctes_of_distinct_cells(cells) | trim }},
{% if nodes %}

nodes as (
    select
{% for node in nodes %}
        {{ kanon_sql.distinct_nodes(node) }} as kanon_nodes_{{ node.name }}{{ "," if not loop.last }}
{% endfor %}
    from cells
    where kanon_grouping = 0
),
{% endif %}

judged_cells as (
    select
        cells.*,
        {{ kanon_sql.flag("kanon_grouping > 0") }} as kanon_is_margin
{%- for rule in rules if rule.violated %},
        {{ kanon_sql.flag(rule.violated) | indent(8) }} as kanon_violates_{{ rule.number }}
{%- endfor %}

    from cells
),

sensitive_cells as (
    select
        judged_cells.*,
        {{ kanon_sql.sensitive_cell(rules) | trim | indent(8) }} as kanon_is_sensitive
    from judged_cells
)
{%- endmacro %}


{# One row of counts. #}
{% macro counts_of_cell_rules(cells, rules, nodes=[]) %}
select
    sum(case when kanon_is_margin = 0 then kanon_records else 0 end) as kanon_records,
    count(*) as kanon_cells,
    sum(kanon_is_margin) as kanon_margin_cells,
    {{ kanon_sql.sums_of_sensitive(cells.figure) | trim | indent(4) }},
{% if cells.figure is not none %}
    sum(case when kanon_contributors > 0 and kanon_largest_1 = 0 then 1 else 0 end) as kanon_zero_cells,
    sum(case when kanon_negatives > 0 then 1 else 0 end) as kanon_cells_with_negatives,
{% endif %}
    min(kanon_contributors) as kanon_least,
    min(case when kanon_contributors > 0 then kanon_contributors end) as kanon_least_above_zero
{%- for rule in rules %}
{%- if rule.violated %},
    sum(kanon_violates_{{ rule.number }}) as kanon_violating_cells_{{ rule.number }},
    sum(kanon_violates_{{ rule.number }} * kanon_is_margin) as kanon_violating_margin_cells_{{ rule.number }}
{%- endif %}
{%- if rule.violated and rule.shortfall %},
    {{ kanon_sql.sum_where("kanon_violates_" ~ rule.number ~ " = 1", rule.shortfall, "kanon_shortfall_" ~ rule.number) | indent(4) }}
{%- endif %}
{%- if rule.measured %},
    {{ rule.measured }} as kanon_achieved_{{ rule.number }}
{%- endif %}
{%- endfor %}
{%- if nodes %}
{%- for grouping in cells.groupings %},
    sum(case when kanon_grouping = {{ grouping.number }} then 1 else 0 end) as kanon_cells_{{ grouping.number }}
{%- endfor %}
{%- for node in nodes %},
    max(kanon_nodes_{{ node.name }}) as kanon_nodes_{{ node.name }}
{%- endfor %}
{%- endif %}

from sensitive_cells
{% if nodes %}
cross join nodes
{% endif %}
{%- endmacro %}


{#
    The first combinations of nodes without a cell, in the order of their `labels`. Each grouping has
    the predicate of its `own` cells, the `fixed` labels of its totals, and the `nodes` of its other
    dimensions: the `names` of their columns, and the `predicate` of the cells in which they occur.
#}
{% macro first_empty_cells(sets, cells, labels, groupings, first) %}
with

{{ sets | trim }},

empty_cells as (
{% for grouping in groupings %}
    select
{% for name in labels %}
        {{ grouping.fixed[name] ~ " as " if name in grouping.fixed else "combinations." }}{{ name }},
{% endfor %}
        0 as kanon_figure
    from (
        select *
        from (
{% for node in grouping.nodes %}
            select distinct
                {{ node.names | join(",\n                ") }}
            from {{ cells }}
            where {{ node.predicate }}
        ) as nodes_{{ loop.index }}
{% if not loop.last %}
        cross join (
{% endif %}
{% endfor %}
    ) as combinations
    left join (
        select
            1 as kanon_is_cell,
            {{ grouping.nodes | map(attribute="names") | sum(start=[]) | join(",\n            ") }}
        from {{ cells }}
        where {{ grouping.own }}
    ) as there
{% for name in grouping.nodes | map(attribute="names") | sum(start=[]) %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("there." ~ name, "combinations." ~ name) }}
{% endfor %}
    where there.kanon_is_cell is null
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)

select *
from empty_cells
order by
    {{ labels | join(",\n    ") }}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{# The sensitive cells, and the records and the share of the whole in the inner ones. #}
{% macro sums_of_sensitive(figure=none) -%}
{% set of_cell = "kanon_contributors" if figure is none else "kanon_total" -%}
sum(kanon_is_sensitive) as kanon_sensitive_cells,
sum(kanon_is_sensitive * (1 - kanon_is_margin)) as kanon_sensitive_inner_cells,
sum(case when kanon_is_margin = 0 and kanon_is_sensitive = 1 then kanon_records else 0 end) as kanon_sensitive_records,
sum(case when kanon_is_margin = 0 then {{ of_cell }} else 0 end) as kanon_whole,
sum(case when kanon_is_margin = 0 and kanon_is_sensitive = 1 then {{ of_cell }} else 0 end) as kanon_hidden
{%- endmacro %}


{# Number of nodes of a dimension at a level; NULL is one of the raw values, a repeated label is none. #}
{% macro distinct_nodes(node) -%}
{% set key = kanon_sql.alias(node.column) -%}
{% if node.below is none -%}
count(distinct {{ key }}) + max(case when {{ kanon_sql.is_null(node.column) }} then 1 else 0 end)
{%- else -%}
count(distinct case when not ({{ node.below }}) then {{ key }} end)
{%- endif %}
{%- endmacro %}


{# 1 for a cell that violates a rule by itself. #}
{% macro sensitive_cell(rules) -%}
{% set predicates = namespace(any=[]) -%}
{% for rule in rules if rule.violated %}{% set predicates.any = predicates.any + ["kanon_violates_" ~ rule.number ~ " = 1"] %}{% endfor -%}
{{ "0" if not predicates.any else kanon_sql.flag(predicates.any | join(" or ")) }}
{%- endmacro %}


{# The text of a column's value, as a label or a mark is compared with it. #}
{% macro text_of_label(column) -%}
{{ kanon_sql.ident(column) if kanon_sql.type_of(column) == "VARCHAR"
    else kanon_sql.as_text(kanon_sql.ident(column), kanon_sql.type_of(column)) }}
{%- endmacro %}


{# The number in a column of figures; text that spells none is NULL. #}
{% macro figure_number(column) -%}
{% set name = kanon_sql.ident(column) -%}
{{ kanon_sql.cast_or_null(name, kanon_sql.float_type()) if kanon_sql.is_text(column)
    else "cast(" ~ name ~ " as " ~ kanon_sql.float_type() ~ ")" }}
{%- endmacro %}


{#
    A figure in the type of its sum: a decimal if all figures are exact with so many digits, read from
    the written text, else a float. `typed`: the column itself is a whole number or a decimal. `narrow`:
    18 digits hold the sum and therefore each figure, and whole numbers are 64 bits wide.
#}
{% macro typed_figure(column, digits=none, typed=false, narrow=false) -%}
{% set type = kanon_sql.float_type() if digits is none else ("bigint" if digits == 0 else "decimal(18, " ~ digits ~ ")") if narrow else kanon_sql.widest_type(digits) -%}
{% if digits is none or kanon_sql.is_float(column) -%}
cast({{ kanon_sql.figure_number(column) | trim }} as {{ type }})
{%- elif typed -%}
cast({{ kanon_sql.ident(column) }} as {{ type }})
{%- else -%}
{{ kanon_sql.decimal_or_null(column, type | trim) }}
{%- endif %}
{%- endmacro %}


{# A figure as written: the column itself, or its float. #}
{% macro written_figure(column) -%}
{{ kanon_sql.figure_number(column) | trim if kanon_sql.is_float(column) else kanon_sql.ident(column) }}
{%- endmacro %}


{# Whether a column is known to be of floating point numbers. #}
{% macro is_float(column) -%}
{{ return(kanon_sql.type_of(column).startswith(("DOUBLE", "FLOAT", "REAL"))) }}
{%- endmacro %}


{#
    Facts on the records of a table: values that are no finite number, records of nobody, and how many
    decimals hold all values exactly. A `typed` column has only finite numbers, whose decimals are known.
#}
{% macro figure_facts(relation, column=none, contributor=none, weight=none, typed=false) %}
select
    count(*) as kanon_records
{%- if contributor is not none %},
    count(distinct {{ kanon_sql.ident(contributor) }}) as kanon_everyone,
    sum(case when {{ kanon_sql.ident(contributor) }} is null then 1 else 0 end) as kanon_of_nobody
{%- endif %}
{%- if column is not none %}
{% set number = kanon_sql.figure_number(column) | trim %},
    count({{ kanon_sql.ident(column) }}) as kanon_values,
{% if not typed %}
    sum(case when {{ kanon_sql.ident(column) }} is not null and {{ number }} is null then 1 else 0 end) as kanon_no_number,
    sum(case when {{ number }} is not null and not ({{ kanon_sql.is_finite(number) }}) then 1 else 0 end) as kanon_not_finite,
    {{ kanon_sql.most_decimals(column, number) | trim | indent(4) }} as kanon_decimals,
    max(abs({{ number }})) as kanon_largest,
{% endif %}
    sum(abs({{ number }})) as kanon_size
{%- endif %}
{%- if weight is not none %},
    {{ kanon_sql.most_decimals(weight, kanon_sql.figure_number(weight) | trim) | trim | indent(4) }} as kanon_weight_decimals,
    max({{ kanon_sql.figure_number(weight) }}) as kanon_highest_weight
{%- endif %}

from {{ relation }}
{%- endmacro %}


{#
    The most decimals that a figure is written with; 99 if one is written in powers of ten below one, or
    is a float of more than 15 digits. `number` is NULL for what is no figure.
#}
{% macro most_decimals(column, number) -%}
max(
    case
        when {{ number }} is null then 0
{% if kanon_sql.is_float(column) %}
        when {{ number }} = floor({{ number }}) and abs({{ number }}) < 1e15 then 0
{% for digits in [2, 4, 6, 9] %}
        when {{ kanon_sql.quotient("floor(" ~ number ~ " * 1e" ~ digits ~ " + 0.5)", "1e" ~ digits) | trim }} = {{ number }} and abs({{ number }}) < 1e{{ 15 - digits }} then {{ digits }}
{% endfor %}
        else 99
{% else %}
{% set text = kanon_sql.text_of_label(column) | trim %}
{% set point = kanon_sql.position("'.'", text) | trim %}
        when lower({{ text }}) like '%e-%' then 99
        when {{ point }} = 0 then 0
        else length({{ text }}) - {{ point }}
{% endif %}
    end
)
{%- endmacro %}


{#
    Predicate: a figure is no whole number, or may be none: between a point and three last digits stand
    decimals or thousands. A float tells up to 9e15. `number` is NULL for what is no figure.
#}
{% macro not_whole(column, number) -%}
{% if kanon_sql.is_float(column) -%}
not (abs({{ number }}) < 9e15 and {{ number }} = floor({{ number }}))
{%- elif kanon_sql.is_text(column) -%}
{% set text = "trim(" ~ kanon_sql.text_of_label(column) | trim ~ ")" -%}
({{ text }} like '%.%' or lower({{ text }}) like '%e%') and (length({{ text }}) > 16 or {{ number }} <> floor({{ number }}))
or {{ text }} like '%.___' and {{ text }} not like '0.%' and length({{ text }}) <= 7
{%- else -%}
{{ kanon_sql.ident(column) }} <> floor({{ kanon_sql.ident(column) }})
{%- endif %}
{%- endmacro %}


{# Predicate: a number is neither NaN nor infinite. #}
{% macro is_finite(number) -%}
abs({{ number }}) <= 1.7976931348623157e308
{%- endmacro %}


{# Predicate: a number can be one of contributors. It is never NULL. #}
{% macro is_count(number) -%}
coalesce({{ number }}, -1) >= 0 and {{ kanon_sql.is_finite("coalesce(" ~ number ~ ", -1)") }}
{%- endmacro %}


{# A product of a sum, compared without rounding where the sum is a decimal. #}
{% macro scaled(sum, factor, slack=none) -%}
{{ sum }}{{ "" if factor == 1 else " * " ~ factor }}{{ "" if slack is none else " * " ~ slack }}
{%- endmacro %}
