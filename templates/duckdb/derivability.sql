{#
    What follows from a published table about its suppressed cells.

    A cell has one node for each dimension: a label, a label of its hierarchy, or the total (node 0).
    An equation sets a cell equal to the sum of its children along one dimension. Unknown are the
    suppressed cells, the absent ones where they count as suppressed, and the implied margins: the
    unpublished ancestors of a published cell. `kanon_state` is 0 for a shown cell, 1 for a
    suppressed, 2 for an absent and 3 for an implied one.

    Fischetti, Salazar 2000, Models and algorithms for optimizing cell suppression in tabular data
    with linear constraints, JASA 95 (feasibility interval); Hundepool et al., Handbook on
    Statistical Disclosure Control, 2nd edition, section 4.2.2.
#}

{#
    The labels of each dimension as numbered nodes with their parents; the total is node 0. Each of
    `dimensions` has its number, the relation of its hierarchy's `parents` or none, and whether it
    `has_total`. With `unseen`, each parent has one more child, below 0, for the labels without a row.
#}
{% macro table_nodes(cells, dimensions, unseen=false) %}
with

{% for each in dimensions %}
labels_{{ each.number }} as (
    select
        kanon_label,
        row_number() over () as kanon_node
    from (
{% if each.parents %}
        select kanon_node as kanon_label
        from {{ each.parents }}

        union

        select kanon_parent
        from {{ each.parents }}
        where kanon_parent is not null

        union

{% endif %}
        select {{ "distinct " if not each.parents }}kanon_d{{ each.number }}{{ " as kanon_label" if not each.parents }}
        from {{ cells }}
        where kanon_t{{ each.number }} = 0
    ) as labels
){{ "," if unseen or not loop.last }}

{% endfor %}
{% if unseen %}
nodes as (
{% endif %}
{% for each in dimensions %}
{% set total = "0" if each.has_total else "null" %}
select
    {{ each.number }} as kanon_dimension,
    labels.kanon_label,
    labels.kanon_node,
    {{ "coalesce(above.kanon_node, " ~ total ~ ")" if each.parents else "cast(" ~ total ~ " as bigint)" }} as kanon_parent
from labels_{{ each.number }} as labels
{% if each.parents %}
left join {{ each.parents }} as parents
    on parents.kanon_node is not distinct from labels.kanon_label
left join labels_{{ each.number }} as above
    on above.kanon_label = parents.kanon_parent
{% endif %}
{% if each.has_total %}

union all

select
    {{ each.number }},
    null,
    0,
    null
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{% if unseen %}
)

select *
from nodes

union all

select distinct
    kanon_dimension,
    '(no row)',
    -1 - kanon_parent,
    kanon_parent
from nodes
where kanon_parent is not null
{% endif %}
{%- endmacro %}


{# Each node with itself and its ancestors. #}
{% macro node_ancestors(nodes) %}
with recursive

lines as (
    select
        kanon_dimension,
        kanon_node,
        kanon_node as kanon_ancestor,
        kanon_parent
    from {{ nodes }}

    union all

    select
        lines.kanon_dimension,
        lines.kanon_node,
        above.kanon_node,
        above.kanon_parent
    from lines
    join {{ nodes }} as above
        on above.kanon_dimension = lines.kanon_dimension
        and above.kanon_node = lines.kanon_parent
)

select
    kanon_dimension,
    kanon_node,
    kanon_ancestor
from lines
{%- endmacro %}


{# A figure with the sign of its term. #}
{% macro signed(figure) %}
case when kanon_sign = 1 then {{ figure }} else -{{ figure }} end
{%- endmacro %}


{#
    The cells of a published table in one type. `figures` are its cells with their marks.
#}
{% macro typed_cells(figures, dimensions, type) %}
select
{% for dimension in dimensions %}
    cast(kanon_d{{ dimension }} as varchar) as kanon_d{{ dimension }},
    cast(kanon_t{{ dimension }} as integer) as kanon_t{{ dimension }},
{% endfor %}
    cast(kanon_suppressed as integer) as kanon_suppressed,
{% for figure in ["figure", "low", "high"] %}
    cast(kanon_{{ figure }} as {{ type }}) as kanon_{{ figure }}{{ "," if not loop.last }}
{% endfor %}
from {{ figures }}
{%- endmacro %}


{# The least figure of a table made from records. #}
{% macro least_figure(figures, type) %}
select min(cast(kanon_figure as {{ type }})) as kanon_least
from {{ figures }}
{%- endmacro %}


{#
    The labels of a cell made from records. A label is written with its level and so names one node.
    Each of `dimensions` has its number, the label and the groupings of each of its levels, and the
    groupings of its total.
#}
{% macro labels_of_records(dimensions) %}
{% for each in dimensions %}
    case
{% for level in each.levels if level.groupings %}
        when kanon_grouping in ({{ level.groupings | join(", ") }}) then {{ level.label }}
{% endfor %}
    end as kanon_d{{ each.number }},
    {{ "case when kanon_grouping in (" ~ (each.totals | join(", ")) ~ ") then 1 else 0 end" if each.totals else 0 }} as kanon_t{{ each.number }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# The cells of a table made from records, without the figures of the sensitive ones. #}
{% macro cells_of_records(figures, dimensions, type, low) %}
select
    {{ labels_of_records(dimensions) | trim }},
    cast(kanon_suppressed as integer) as kanon_suppressed,
    case when kanon_suppressed = 0 then coalesce(cast(kanon_figure as {{ type }}), 0) end as kanon_figure,
    case when kanon_suppressed = 1 then cast({{ low }} as {{ type }}) end as kanon_low,
    cast(null as {{ type }}) as kanon_high
from {{ figures }}
{%- endmacro %}


{# The cells of a table made from records as they were fetched, with the labels of `cells_of_records`. #}
{% macro labelled_figures(figures, dimensions) %}
select
    {{ labels_of_records(dimensions) | trim }},
    figures.*
from {{ figures }} as figures
order by
    cast(kanon_grouping as integer),
{% for each in dimensions %}
    kanon_d{{ each.number }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Each label of a hierarchy with the label above it, from the inner cells. #}
{% macro nodes_of_records(figures, levels) %}
{% for level in levels %}
select
    {{ level.label }} as kanon_node,
    {{ level.parent or "cast(null as varchar)" }} as kanon_parent
from {{ figures }}
where kanon_grouping = 0{{ "\n    and not (" ~ level.repeated ~ ")" if level.repeated }}
{% if not loop.last %}

union

{% endif %}
{% endfor %}
{%- endmacro %}


{# Which dimensions have a total, and the type and the size of the figures. #}
{% macro table_shape(cells, dimensions) %}
select
{% for dimension in dimensions %}
    coalesce(max(kanon_t{{ dimension }}), 0) as kanon_has_total_{{ dimension }},
{% endfor %}
    count(*) as kanon_cells,
    min(typeof(kanon_figure)) as kanon_type,
    coalesce(max(abs(kanon_figure)), 0) as kanon_largest
from {{ cells }}
{%- endmacro %}


{# The published cells with nodes for labels, the bounds of a count rounded inwards. #}
{% macro keyed_cells(cells, nodes, dimensions, type, integers) %}
select
    row_number() over () as kanon_cell,
{% for dimension in dimensions %}
    coalesce(node_{{ dimension }}.kanon_node, 0) as kanon_n{{ dimension }},
{% endfor %}
    case when kanon_suppressed = 0 then cast(kanon_figure as {{ type }}) end as kanon_figure,
    kanon_suppressed as kanon_state,
{% for bound, rounded in [("low", "ceil"), ("high", "floor")] %}
    cast({{ rounded ~ "(kanon_" ~ bound ~ ")" if integers else "kanon_" ~ bound }} as {{ type }}) as kanon_{{ bound }}{{ "," if not loop.last }}
{% endfor %}
from {{ cells }}
{% for dimension in dimensions %}
left join {{ nodes }} as node_{{ dimension }}
    on node_{{ dimension }}.kanon_dimension = {{ dimension }}
    and kanon_t{{ dimension }} = 0
    and node_{{ dimension }}.kanon_node > 0
    and node_{{ dimension }}.kanon_label is not distinct from kanon_d{{ dimension }}
{% endfor %}
{%- endmacro %}


{#
    The published cells with every combination of occurring leaves that has no row, and of the leaves
    without any row: unknown, at least `low` and at most `high`.
#}
{% macro with_absent_cells(keyed, nodes, ancestors, dimensions, type, low, high) %}
with

{% for dimension in dimensions %}
leaves_{{ dimension }} as (
    select distinct kanon_n{{ dimension }}
    from {{ keyed }}
    where kanon_n{{ dimension }} <> 0
        and kanon_n{{ dimension }} not in (
            select kanon_parent
            from {{ nodes }}
            where kanon_dimension = {{ dimension }}
                and kanon_parent is not null
        )

    union all

    select kanon_node
    from {{ nodes }}
    where kanon_dimension = {{ dimension }}
        and kanon_node < 0
        and kanon_parent in (
            select kanon_ancestor
            from {{ ancestors }}
            where kanon_dimension = {{ dimension }}
                and kanon_node in (select kanon_n{{ dimension }} from {{ keyed }})
        )
),

{% endfor %}
combinations as (
    select *
    from leaves_1
{% for dimension in dimensions[1:] %}
    cross join leaves_{{ dimension }}
{% endfor %}
),

all_cells as (
    select * exclude (kanon_cell)
    from {{ keyed }}

    union all by name

    select
        *,
        2 as kanon_state,
        cast({{ low }} as {{ type }}) as kanon_low,
        cast({{ high }} as {{ type }}) as kanon_high
    from combinations
    anti join {{ keyed }} using ({{ node_columns(dimensions) }})
)

select
    row_number() over () as kanon_cell,
    *
from all_cells
{%- endmacro %}


{% macro node_columns(dimensions) %}
{% for dimension in dimensions %}kanon_n{{ dimension }}{{ ", " if not loop.last }}{% endfor %}
{%- endmacro %}


{# Number of parents that the cells have, and of those that are cells themselves. #}
{% macro parents_of_cells(cells, nodes, terms, dimensions) %}
select
{% for dimension in dimensions %}
    (
        select count(*)
        from {{ cells }} as cells
        join {{ nodes }} as nodes
            on nodes.kanon_dimension = {{ dimension }}
            and nodes.kanon_node = cells.kanon_n{{ dimension }}
        where nodes.kanon_parent is not null
    ) {{ "+" if not loop.last else "as kanon_parents," }}
{% endfor %}
    (
        select count(*)
        from {{ terms }}
        where kanon_sign = -1
    ) as kanon_shown
{%- endmacro %}


{# Every cell and every ancestor of one, numbered. An implied margin has the bounds `low` and none. #}
{% macro cells_with_margins(keyed, ancestors, dimensions, type, low) %}
with

{% for dimension in dimensions %}
closed_{{ dimension }} as (
    select distinct
{% for other in dimensions %}
        {{ "kanon_ancestor as " if other == dimension }}kanon_n{{ other }}{{ "," if not loop.last }}
{% endfor %}
    from {{ keyed if loop.first else "closed_" ~ (dimension - 1) }} as cells
    join {{ ancestors }} as ancestors
        on ancestors.kanon_dimension = {{ dimension }}
        and ancestors.kanon_node = cells.kanon_n{{ dimension }}
){{ "," if not loop.last }}

{% endfor %}
select
    row_number() over () as kanon_cell,
{% for dimension in dimensions %}
    closed.kanon_n{{ dimension }},
{% endfor %}
    kanon_figure,
    coalesce(kanon_state, 3) as kanon_state,
    case when kanon_state is null then cast({{ low }} as {{ type }}) else kanon_low end as kanon_low,
    kanon_high
from closed_{{ dimensions[-1] }} as closed
left join {{ keyed }} using ({{ node_columns(dimensions) }})
{%- endmacro %}


{#
    Each cell of each equation: 1 for the sum, -1 for what is summed. The join reads sums alone, of
    which there are far fewer than cells.
#}
{% macro equation_terms(cells, nodes, dimensions) %}
with

{% for dimension in dimensions %}
sums_{{ dimension }} as (
    select *
    from {{ cells }}
    where kanon_n{{ dimension }} in (
        select kanon_parent
        from {{ nodes }}
        where kanon_dimension = {{ dimension }}
    )
),

{% endfor %}
children as (
{% for dimension in dimensions %}
    select
        sums.kanon_cell * {{ dimensions | length }} + {{ dimension - 1 }} as kanon_equation,
        sums.kanon_cell as kanon_sum,
        cells.kanon_cell
    from {{ cells }} as cells
    join {{ nodes }} as nodes
        on nodes.kanon_dimension = {{ dimension }}
        and nodes.kanon_node = cells.kanon_n{{ dimension }}
    join sums_{{ dimension }} as sums
        on sums.kanon_n{{ dimension }} = nodes.kanon_parent
{% for other in dimensions if other != dimension %}
        and sums.kanon_n{{ other }} = cells.kanon_n{{ other }}
{% endfor %}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)

select
    kanon_equation,
    kanon_cell,
    -1 as kanon_sign
from children

union all

select
    kanon_equation,
    kanon_sum,
    1
from children
group by
    kanon_equation,
    kanon_sum
{%- endmacro %}


{#
    Each equation: what its known cells leave for the unknown ones, how many these are, and whether
    its sum is shown and no margin of it implied.
#}
{% macro equations(terms, cells) %}
select
    kanon_equation,
    coalesce(sum({{ signed("kanon_figure") }}) filter (where kanon_state = 0), 0) as kanon_rest,
    count(*) filter (where kanon_state <> 0) as kanon_unknown,
    bool_and(kanon_state <> 3 and (kanon_sign = -1 or kanon_state = 0)) as kanon_is_shown
from {{ terms }}
join {{ cells }} using (kanon_cell)
group by kanon_equation
{%- endmacro %}


{#
    Figures on the whole table: equations without an unknown and those that do not add up, cells by
    state, shown figures outside the bounds of any figure, and for each number of `remainders` the
    equations whose hidden cells sum to less.
#}
{% macro table_of_equations(equations, cells, slack, low, high, remainders) %}
with

sums as (
    select
        count(*) filter (where kanon_unknown = 0) as kanon_complete,
        count(*) filter (
            where kanon_unknown = 0
                and abs(kanon_rest) > {{ slack }}
        ) as kanon_broken
{%- for remainder in remainders -%}
,
        count(*) filter (
            where kanon_unknown > 0
                and kanon_is_shown
                and kanon_rest > {{ slack }}
                and kanon_rest < {{ remainder }}
        ) as kanon_remainders_{{ loop.index }}
{%- endfor %}

    from {{ equations }}
),

states as (
    select
        count(*) filter (where kanon_state = 1) as kanon_suppressed,
        count(*) filter (where kanon_state = 2) as kanon_absent,
        count(*) filter (where kanon_state = 3) as kanon_implied,
        count(*) filter (
            where kanon_state = 0
                and (kanon_figure < {{ low }} or kanon_figure > {{ high }})
        ) as kanon_outside
    from {{ cells }}
)

select *
from sums
cross join states
{%- endmacro %}


{#
    Counts of equations: those with a shown total and an unknown part (`kanon_totals`), those with a
    suppressed part and a mark for more than 0 (`kanon_hiding`), and those of both kinds with a total
    unequal to the sum of the shown parts (`kanon_unequal`). The last leaves out equations with an
    unknown part that is a sum itself.
#}
{% macro totals_of_shown(terms, cells, slack) %}
with

sums as (
    select distinct kanon_cell
    from {{ terms }}
    where kanon_sign = 1
),

parts as (
    select
        kanon_equation,
        coalesce(sum({{ signed("kanon_figure") }}) filter (where kanon_state = 0), 0) as kanon_rest,
        bool_or(kanon_sign = 1 and kanon_state = 0) as kanon_is_shown,
        bool_or(
            kanon_sign = -1 and kanon_state = 1 and coalesce(kanon_high > 0, true)
                and sums.kanon_cell is null
        ) as kanon_hides,
        bool_or(kanon_sign = -1 and kanon_state <> 0 and sums.kanon_cell is not null) as kanon_is_open
    from {{ terms }} as terms
    join {{ cells }} as cells using (kanon_cell)
    left join sums using (kanon_cell)
    group by kanon_equation
)

select
    count(*) filter (where kanon_is_shown and (kanon_hides or kanon_is_open)) as kanon_totals,
    count(*) filter (where kanon_hides) as kanon_hiding,
    count(*) filter (
        where kanon_is_shown
            and kanon_hides
            and not kanon_is_open
            and abs(kanon_rest) > {{ slack }}
    ) as kanon_unequal
from parts
{%- endmacro %}


{# The cells with 0 for those that are hidden and no sum, of which no margin then has a part. #}
{% macro cells_as_shown(terms, cells) %}
select
    cells.* replace (
        case when kanon_state in (1, 2) and not kanon_is_sum then 0 else kanon_figure end as kanon_figure,
        case when kanon_state in (1, 2) and not kanon_is_sum then 0 else kanon_state end as kanon_state,
        null as kanon_low,
        null as kanon_high
    )
from (
    select
        *,
        kanon_cell in (select kanon_cell from {{ terms }} where kanon_sign = 1) as kanon_is_sum
    from {{ cells }}
) as cells
{%- endmacro %}


{# The terms of equations without a hidden part. #}
{% macro terms_of_shown(terms, cells) %}
select *
from {{ terms }}
where kanon_equation not in (
    select kanon_equation
    from {{ terms }}
    join {{ cells }} using (kanon_cell)
    where kanon_sign = -1
        and kanon_state in (1, 2)
)
{%- endmacro %}


{# The unknown cells with their bounds; `kanon_solved` is the round in which subtraction gives the figure. #}
{% macro unknown_cells(cells) %}
select
    kanon_cell,
    kanon_state,
    kanon_low,
    kanon_high,
    0 as kanon_solved
from {{ cells }}
where kanon_state <> 0
{%- endmacro %}


{# The unknown terms of each equation, with what the known ones leave. #}
{% macro open_terms(terms, equations, cells) %}
select
    kanon_equation,
    kanon_cell,
    kanon_sign,
    kanon_rest
from {{ terms }}
join {{ equations }} using (kanon_equation)
join {{ cells }} using (kanon_cell)
where kanon_state <> 0
{%- endmacro %}


{# One round of subtraction: the cells that are the only unknown one of an equation. #}
{% macro cells_by_subtraction(open) %}
with

single as (
    select
        min(kanon_cell) as kanon_cell,
        min(-({{ signed("kanon_rest") }})) as kanon_figure
    from {{ open }}
    group by kanon_equation
    having count(*) = 1
)

select
    kanon_cell,
    min(kanon_figure) as kanon_figure,
    max(kanon_figure) as kanon_most
from single
group by kanon_cell
{%- endmacro %}


{# How many cells a round found, and how many of them contradict an equation or their bounds. #}
{% macro subtraction_faults(found, unknown, slack) %}
select
    count(*) as kanon_found,
    count(*) filter (where kanon_most - kanon_figure > {{ slack }}) as kanon_broken,
    count(*) filter (
        where kanon_figure < kanon_low - {{ slack }}
            or kanon_figure > kanon_high + {{ slack }}
    ) as kanon_outside
from {{ found }}
join {{ unknown }} using (kanon_cell)
{%- endmacro %}


{# The open terms after a round, with the found cells subtracted. #}
{% macro open_after_subtraction(open, found) %}
with

subtracted as (
    select
        kanon_equation,
        sum({{ signed("kanon_figure") }}) as kanon_found
    from {{ open }}
    join {{ found }} using (kanon_cell)
    group by kanon_equation
)

select
    kanon_equation,
    kanon_cell,
    kanon_sign,
    kanon_rest + coalesce(kanon_found, 0) as kanon_rest
from {{ open }}
left join subtracted using (kanon_equation)
anti join {{ found }} using (kanon_cell)
{%- endmacro %}


{# How many equations a round has completed to something other than zero. #}
{% macro completed_faults(open, found, slack) %}
select count(*) as kanon_broken
from (
    select
        kanon_equation,
        any_value(kanon_rest) + sum({{ signed("kanon_figure") }}) as kanon_left
    from {{ open }}
    left join {{ found }} using (kanon_cell)
    group by kanon_equation
    having count(*) = count(kanon_figure)
) as completed
where abs(kanon_left) > {{ slack }}
{%- endmacro %}


{# The unknown cells after a round. #}
{% macro unknown_after_subtraction(unknown, found, step) %}
select
    kanon_cell,
    kanon_state,
    coalesce(kanon_figure, kanon_low) as kanon_low,
    coalesce(kanon_figure, kanon_high) as kanon_high,
    case when kanon_figure is null then kanon_solved else {{ step }} end as kanon_solved
from {{ unknown }}
left join {{ found }} using (kanon_cell)
{%- endmacro %}


{#
    One round of bounds: an unknown is at least what its equation leaves when all others are at their
    highest, and at most what it leaves when they are at their lowest. A bound that is NULL is open.
#}
{% macro narrowed_bounds(open, unknown) %}
with

terms as (
    select
        kanon_equation,
        kanon_cell,
        kanon_sign,
        kanon_rest,
        case when kanon_sign = 1 then kanon_low else -kanon_high end as kanon_least,
        case when kanon_sign = 1 then kanon_high else -kanon_low end as kanon_most
    from {{ open }}
    join {{ unknown }} using (kanon_cell)
),

sums as (
    select
        kanon_equation,
        sum(kanon_least) as kanon_all_least,
        sum(kanon_most) as kanon_all_most,
        count(*) - count(kanon_least) as kanon_open_least,
        count(*) - count(kanon_most) as kanon_open_most
    from terms
    group by kanon_equation
),

limits as (
    select
        kanon_cell,
        kanon_sign,
        case
            when kanon_open_most = case when kanon_most is null then 1 else 0 end
            then -kanon_rest - coalesce(kanon_all_most, 0) + coalesce(kanon_most, 0)
        end as kanon_least,
        case
            when kanon_open_least = case when kanon_least is null then 1 else 0 end
            then -kanon_rest - coalesce(kanon_all_least, 0) + coalesce(kanon_least, 0)
        end as kanon_most
    from terms
    join sums using (kanon_equation)
),

narrowed as (
    select
        kanon_cell,
        max(case when kanon_sign = 1 then kanon_least else -kanon_most end) as kanon_new_low,
        min(case when kanon_sign = 1 then kanon_most else -kanon_least end) as kanon_new_high
    from limits
    group by kanon_cell
)

select
    kanon_cell,
    kanon_state,
    greatest(kanon_low, kanon_new_low) as kanon_low,
    least(kanon_high, kanon_new_high) as kanon_high,
    kanon_solved
from {{ unknown }}
left join narrowed using (kanon_cell)
{%- endmacro %}


{# How many bounds a round has moved, and how many cells it leaves without a possible figure. #}
{% macro moved_bounds(before, after, slack) %}
select
    count(*) filter (
        where coalesce(later.kanon_low - earlier.kanon_low > {{ slack }}, later.kanon_low is not null)
            or coalesce(earlier.kanon_high - later.kanon_high > {{ slack }}, later.kanon_high is not null)
    ) as kanon_moved,
    count(*) filter (where later.kanon_low > later.kanon_high + {{ slack }}) as kanon_impossible
from {{ after }} as later
join {{ before }} as earlier using (kanon_cell)
{%- endmacro %}


{#
    Counts of suppressed and absent cells: those solved by subtraction, for each width those with bounds
    as narrow, and those without an equation in common with another unknown cell, as their bounds are
    exact. `kanon_narrowest` is the least width of the last that is above the first of `widths`, in
    ascending order. An absent cell proven to be zero counts for none.
#}
{% macro derived_counts(unknown, open, slack, widths) %}
select
    count(*) filter (where kanon_solved > 0) as kanon_solved,
    count(*) as kanon_hidden
{%- for width in widths -%}
,
    count(*) filter (
        where kanon_solved = 0
            and kanon_high - kanon_low <= {{ width }} + {{ slack }}
    ) as kanon_narrow_{{ loop.index }},
    count(*) filter (
        where kanon_solved = 0
            and not coalesce(kanon_high - kanon_low <= {{ width }} + {{ slack }}, false)
            and kanon_cell not in (select kanon_cell from {{ open }})
    ) as kanon_free_{{ loop.index }}
{%- endfor -%}
,
    min(kanon_high - kanon_low) filter (
        where kanon_solved = 0
            and kanon_high - kanon_low > {{ widths[0] }} + {{ slack }}
            and kanon_cell not in (select kanon_cell from {{ open }})
    ) as kanon_narrowest

from {{ unknown }}
where kanon_state in (1, 2)
    and not (kanon_state = 2 and coalesce(kanon_low >= -{{ slack }} and kanon_high <= {{ slack }}, false))
{%- endmacro %}


{# The cells of labels without a row that are proven to be 0, so that there may be none. #}
{% macro unseen_zeros(unknown, cells, dimensions, slack) %}
select count(*) as kanon_zeros
from {{ unknown }} as unknown
join {{ cells }} as cells using (kanon_cell)
where {{ unseen_zero(dimensions, slack) | trim }}
{%- endmacro %}


{# Predicate: an unknown cell has a label without any row, and is proven to be 0. #}
{% macro unseen_zero(dimensions, slack) %}
unknown.kanon_state = 2
and least({% for dimension in dimensions %}cells.kanon_n{{ dimension }}{{ ", " if not loop.last }}{% endfor %}) < 0
and unknown.kanon_low >= -{{ slack }}
and unknown.kanon_high <= {{ slack }}
{%- endmacro %}


{# The terms of unknowns whose bounds have not met, each unknown with its own number as its part. #}
{% macro wide_terms(open, unknown, slack) %}
with

fixed as (
    select
        kanon_equation,
        sum({{ signed("kanon_low") }}) as kanon_fixed
    from {{ open }}
    join {{ unknown }} using (kanon_cell)
    where kanon_high - kanon_low <= {{ slack }}
    group by kanon_equation
)

select
    kanon_equation,
    kanon_cell,
    kanon_sign,
    kanon_rest + coalesce(kanon_fixed, 0) as kanon_rest,
    kanon_cell as kanon_part
from {{ open }}
join {{ unknown }} using (kanon_cell)
left join fixed using (kanon_equation)
where kanon_low is null
    or kanon_high is null
    or kanon_high - kanon_low > {{ slack }}
{%- endmacro %}


{# One round of connected components: each unknown takes the least part of its equations. #}
{% macro joined_parts(terms) %}
with

equations as (
    select
        kanon_equation,
        min(kanon_part) as kanon_part
    from {{ terms }}
    group by kanon_equation
),

parts as (
    select
        kanon_cell,
        min(equations.kanon_part) as kanon_part
    from {{ terms }}
    join equations using (kanon_equation)
    group by kanon_cell
)

select
    kanon_equation,
    kanon_cell,
    kanon_sign,
    kanon_rest,
    parts.kanon_part
from {{ terms }} as terms
join parts using (kanon_cell)
{%- endmacro %}


{# Whether a round has moved any unknown to another part. #}
{% macro moved_parts(before, after) %}
select count(*) as kanon_moved
from {{ after }} as later
join {{ before }} as earlier using (kanon_equation, kanon_cell)
where later.kanon_part <> earlier.kanon_part
{%- endmacro %}


{# The terms of each part of at most `most` unknowns that holds a hidden cell, with their bounds. #}
{% macro small_parts(terms, unknown, most) %}
with

sizes as (
    select
        kanon_part
    from {{ terms }}
    join {{ unknown }} using (kanon_cell)
    group by kanon_part
    having count(distinct kanon_cell) <= {{ most }}
        and bool_or(kanon_state in (1, 2))
)

select
    kanon_part,
    kanon_equation,
    kanon_cell,
    kanon_sign,
    kanon_rest,
    kanon_state,
    kanon_low,
    kanon_high
from {{ terms }}
join sizes using (kanon_part)
join {{ unknown }} using (kanon_cell)
order by
    kanon_part,
    kanon_equation,
    kanon_cell
{%- endmacro %}


{#
    The labels of each hidden cell, the interval that subtraction and bounds leave it, and whether no
    equation has it in common with another unknown cell.
#}
{% macro hidden_intervals(nodes, cells, unknown, open, dimensions, slack) %}
select
    unknown.kanon_cell,
    unknown.kanon_state,
    unknown.kanon_solved,
    case when unknown.kanon_cell in (select kanon_cell from {{ open }}) then 0 else 1 end as kanon_is_free,
{% for dimension in dimensions %}
    node_{{ dimension }}.kanon_label as kanon_d{{ dimension }},
    case when cells.kanon_n{{ dimension }} = 0 then 1 else 0 end as kanon_t{{ dimension }},
{% endfor %}
    unknown.kanon_low,
    unknown.kanon_high
from {{ unknown }} as unknown
join {{ cells }} as cells using (kanon_cell)
{% for dimension in dimensions %}
left join {{ nodes }} as node_{{ dimension }}
    on node_{{ dimension }}.kanon_dimension = {{ dimension }}
    and node_{{ dimension }}.kanon_node = cells.kanon_n{{ dimension }}
{% endfor %}
where unknown.kanon_state in (1, 2)
    and not coalesce({{ unseen_zero(dimensions, slack) | trim | indent(4) }}, false)
order by unknown.kanon_cell
{%- endmacro %}
