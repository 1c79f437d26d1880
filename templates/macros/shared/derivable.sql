{#
    Derivability by subtraction. An equation sets a total equal to the sum of the cells below along one
    dimension; the only unknown cell of an equation follows. Every round subtracts all such cells at
    once. A found figure is proven, while finding none proves nothing. Unknown are the suppressed cells
    and the implied margins, the unpublished ancestors of a published cell. A combination without a row
    is 0.

    `kanon_k{i}` is '=' and the label of a dimension, '.' for its total. If a complete equation does not
    add up, nothing follows from the table.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4.2.2. See
    duckdb/derivability.sql for bounds and programs.
#}

{# Generic test of derivability by some rounds of subtraction, on a mart. #}
{% macro derivable_failures(
    relation, columns, dimensions, value, suppressed="1 = 0", rounds=5, digits=none
) %}
{% set slack = "0" if digits is not none else "2.3e-16 * kanon_rows * kanon_largest" %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_derivability(relation, columns, dimensions, value, suppressed, digits) | trim }},

{% for round in range(1, rounds + 1) %}
{{ kanon_sql.equations_of_round(round) | trim }},

-- What the only unknown cell of an equation must be.
known_{{ round }} as (
    select
        known_{{ round - 1 }}.kanon_cell,
        known_{{ round - 1 }}.kanon_suppressed,
        coalesce(known_{{ round - 1 }}.kanon_figure, found.kanon_figure) as kanon_figure
    from known_{{ round - 1 }}
    left join (
        select
            kanon_cell,
            min(kanon_figure) as kanon_figure
        from equations_{{ round }}
        where kanon_unknown = 1
        group by kanon_cell
    ) as found
        on found.kanon_cell = known_{{ round - 1 }}.kanon_cell
),

{% endfor %}
{{ kanon_sql.equations_of_round(rounds + 1) | trim }},

complete_equations as (
    select
        sum({{ kanon_sql.flag("kanon_unknown = 0 and abs(kanon_rest) > " ~ slack) | indent(8) }}) as kanon_broken
    from equations_{{ rounds + 1 }}
    cross join shapes
),

measured as (
    select
        min(shapes.kanon_rows) as records,
        coalesce(sum(kanon_suppressed), 0) as suppressed,
        coalesce(sum({{ kanon_sql.flag("kanon_suppressed = 1 and kanon_figure is not null") | indent(8) }}), 0) as achieved,
        coalesce(sum({{ kanon_sql.flag(
            "kanon_suppressed = 1 and kanon_figure < 0 and kanon_least >= 0 and abs(kanon_figure) > " ~ slack
        ) | indent(8) }}), 0) as kanon_outside,
        (
{% for round in range(1, rounds + 1) %}
            {{ "+ " if not loop.first }}(select case when count(*) > 0 then 1 else 0 end from equations_{{ round }} where kanon_unknown = 1)
{% endfor %}
        ) as steps
    from shapes
    left join known_{{ rounds }}
        on known_{{ rounds }}.kanon_cell > 0
)
{%- endset %}
{% set totals = namespace(all=[]) %}
{% for column in columns %}
{% set totals.all = totals.all + ["kanon_has_total_" ~ loop.index] %}
{% endfor %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.achieved > 0",
    failures="measured.achieved",
    columns=["suppressed", "achieved", "steps"],
    more=kanon_sql.mart_errors(relation, dimensions, value, suppressed) + [
        kanon_sql.counted_error(
            "totals_broken", "totals that are not the sum of their parts, so nothing can be concluded", "kanon_broken",
            "select coalesce(kanon_broken, 0) as kanon_broken\nfrom complete_equations"
        ),
        kanon_sql.counted_error(
            "totals_missing", "tables without a row that has total_label, so nothing can be concluded", "kanon_no_total",
            "select case when " ~ totals.all | join(" + ") ~ " = 0 then 1 else 0 end as kanon_no_total\nfrom shapes"
        ),
        kanon_sql.counted_error(
            "cells_below_zero", "suppressed cells that would lie below zero, so nothing can be concluded", "kanon_outside",
            "select kanon_outside\nfrom measured"
        ),
    ]
) }}
{%- endmacro %}


{# CTEs up to `terms`, the cells of each equation, and `known_0`, the cells with the figures shown. #}
{% macro ctes_of_derivability(relation, columns, dimensions, value, suppressed, digits=none) %}
{{ kanon_sql.ctes_of_published(
    relation, dimensions, kanon_sql.typed_figure(value, digits) | trim, suppressed
) | trim }},

shapes as (
    select
        count(*) as kanon_rows,
        coalesce(max(abs(kanon_figure)), 0) as kanon_largest,
        min(kanon_figure) as kanon_least
{%- for column in columns %},
        max(kanon_t{{ loop.index }}) as kanon_has_total_{{ loop.index }}
{%- endfor %}

    from published_cells
),

keyed_cells as (
    select
{% for column in columns %}
        case when kanon_t{{ loop.index }} = 1 then '.' else '=' || kanon_d{{ loop.index }} end as kanon_k{{ loop.index }},
{% endfor %}
        kanon_suppressed,
        kanon_figure
    from published_cells
),

-- Every published cell, and its ancestors along the dimensions that have a total.
all_cells as (
    select *
    from keyed_cells
{% for mask in range(1, 2 ** (columns | length)) %}

    union all

    select
{% for column in columns %}
        {{ "'.' as " if mask % 2 ** loop.index >= 2 ** loop.index0 }}kanon_k{{ loop.index }},
{% endfor %}
        0 as kanon_suppressed,
        null as kanon_figure
    from keyed_cells
    cross join shapes
{% set conditions = namespace(all=[]) %}
{% for column in columns if mask % 2 ** (columns.index(column) + 1) >= 2 ** columns.index(column) %}
{% set conditions.all = conditions.all + ["kanon_has_total_" ~ (columns.index(column) + 1) ~ " = 1"] %}
{% endfor %}
    where {{ conditions.all | join(" and ") }}
{% endfor %}
),

distinct_cells as (
    select
{% for column in columns %}
        kanon_k{{ loop.index }},
{% endfor %}
        max(kanon_suppressed) as kanon_suppressed,
        max(kanon_figure) as kanon_figure
    from all_cells
    group by
{% for column in columns %}
        kanon_k{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
),

numbered_cells as (
    select
        distinct_cells.*,
        row_number() over (
            order by
{% for column in columns %}
                kanon_k{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
        ) as kanon_cell
    from distinct_cells
),

-- A total, and the cells below it along one dimension with a minus.
terms as (
{% for column in columns %}
{% set place = loop.index %}
    select
        {{ columns | length }} * kanon_cell + {{ loop.index0 }} as kanon_equation,
        kanon_cell,
        1 as kanon_sign
    from numbered_cells
    where kanon_k{{ place }} = '.'

    union all

    select
        {{ columns | length }} * parents.kanon_cell + {{ loop.index0 }} as kanon_equation,
        children.kanon_cell,
        -1 as kanon_sign
    from numbered_cells as parents
    inner join numbered_cells as children
        on parents.kanon_k{{ place }} = '.'
        and children.kanon_k{{ place }} <> '.'
{% for other in columns if other != column %}
        and children.kanon_k{{ columns.index(other) + 1 }} = parents.kanon_k{{ columns.index(other) + 1 }}
{% endfor %}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
),

known_0 as (
    select
        kanon_cell,
        kanon_suppressed,
        kanon_figure
    from numbered_cells
)
{%- endmacro %}


{# CTE with the equations before a round: the unknown cells of each, and what the known ones leave. #}
{% macro equations_of_round(round) %}
equations_{{ round }} as (
    select
        kanon_equation,
        sum(case when kanon_figure is null then 1 else 0 end) as kanon_unknown,
        sum(kanon_sign * coalesce(kanon_figure, 0)) as kanon_rest,
        max(case when kanon_figure is null then terms.kanon_cell end) as kanon_cell,
        -max(case when kanon_figure is null then kanon_sign end) * sum(kanon_sign * coalesce(kanon_figure, 0)) as kanon_figure
    from terms
    inner join known_{{ round - 1 }}
        on known_{{ round - 1 }}.kanon_cell = terms.kanon_cell
    group by kanon_equation
    having count(*) > 1
)
{%- endmacro %}


{% test derivable(model) -%}
{% set arguments = kanon_sql.cell_arguments("derivable", model, kwargs, {
    "rounds": {"whole": true, "least": 1, "default": 5},
}, ["by", "value", "total_label", "suppressed"]) -%}
{{ kanon_sql.tidy(kanon_sql.derivable_failures(**arguments), model) }}
{%- endtest %}
