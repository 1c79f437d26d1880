{#
    t-closeness with the ordered distance: all neighbouring values are equally far apart. For the m
    ordered values of the table, the earth mover's distance is the mean of |cumulative share in the
    class - cumulative share in the table| over the m - 1 steps.

    A class contains few of the values. Between two of its values its cumulative share is constant
    and the table's grows, so each gap is summed at once: the table's share is below the class's up
    to some rank, the crossing, and above the class's from there on. One sort finds the crossings of all
    gaps. Counts are scaled to the table's number of records.

    Li, Li, Venkatasubramanian 2007, t-closeness, ICDE, section 4 (ordered distance).

    `order` lists the values; without it, numbers and dates have their natural order, however they
    are spelled. Values missing in the list rank after it, NULL last.
#}
{% macro ordered_distance(
    relation, columns, sensitive, entity=none, unknown=false, order=none, class_measures=[],
    measures=[], rolled_up=false, violating=none, flags=[], whole=none
) %}
with

{{ kanon_sql.ctes_of_ordered_distance(
    relation, columns, sensitive, entity, unknown, order, class_measures, rolled_up, whole,
    counted_records=flags | length == 0
) }}
{{- kanon_sql.select_of_distances(columns, class_measures, measures, violating, entity, flags) }}
{%- endmacro %}


{# CTEs up to `classes`. #}
{% macro ctes_of_ordered_distance(
    relation, columns, sensitive, entity=none, unknown=false, order=none, class_measures=[],
    rolled_up=false, whole=none, counted_records=true
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.class_values(
    relation, columns, sensitive, entity, unknown, rolled_up, of_people=counted_records, held=counted_records
) }},

{% if order is not none %}
{{ kanon_sql.inline_values("listed_values", ["kanon_value", "kanon_place"], order) }},

{% endif %}
{{ kanon_sql.value_totals(sensitive, counted, unknown, whole) }},

-- The values of the table in their order, NULL last.
ranked_values as (
    select
        value_totals.{{ kanon_sql.alias(sensitive) }},
        value_totals.kanon_value_total,
        dense_rank() over (
            order by
                case when {{ kanon_sql.is_null(sensitive) }} then 1 else 0 end,
{% if order is not none %}
                case when listed_values.kanon_place is null then 1 else 0 end,
                listed_values.kanon_place
{%- if order[0][0] is not number %},
                value_totals.{{ kanon_sql.alias(sensitive) }}
{%- endif %}

{% else %}
{% for key in kanon_sql.order_keys("value_totals." ~ kanon_sql.alias(sensitive), kanon_sql.type_of(sensitive)) %}
                {{ key }}{{ "," if not loop.last }}
{% endfor %}
{% endif %}
        ) as kanon_rank
    from value_totals
{% if order is not none %}
    left join listed_values
        on listed_values.kanon_value = {{ kanon_sql.as_listed(
            "value_totals." ~ kanon_sql.alias(sensitive), kanon_sql.type_of(sensitive), order
        ) | indent(8) }}
{% endif %}
),

ranks as (
    select
        kanon_rank,
        sum(kanon_value_total) as kanon_rank_total
    from ranked_values
    group by kanon_rank
),

-- What the table has up to each rank, and in all.
cumulated_ranks as (
    select
        kanon_rank,
        sum(kanon_rank_total) over (order by kanon_rank) as kanon_up_to,
        sum(kanon_rank_total) over () as kanon_table_total,
        count(*) over () as kanon_ranks
    from ranks
),

-- The sum of that over all ranks before one: two of them tell what lies between.
table_steps as (
    select
        kanon_rank,
        kanon_up_to,
        kanon_table_total,
        kanon_ranks,
        sum(kanon_up_to) over (order by kanon_rank) - kanon_up_to as kanon_sum_before,
        sum(kanon_up_to) over () as kanon_sum
    from cumulated_ranks
),

class_ranks as (
    select
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }},
        ranked_values.kanon_rank,
        sum(class_values.{{ counted }}) as kanon_held
    from class_values
    inner join ranked_values
        on {{ kanon_sql.same(
            "ranked_values." ~ kanon_sql.alias(sensitive),
            "class_values." ~ kanon_sql.alias(sensitive)
        ) }}
    group by
{{ kanon_sql.aliases_in("class_values", columns) | indent(4, first=true) }},
        ranked_values.kanon_rank
),

-- What a class has up to each of its ranks, as if it were as large as the table, and which of its
-- ranks is next: from one to the next the class stays where it is, and the table grows.
class_steps as (
    select
{{ kanon_sql.aliases_in("class_ranks", columns) | indent(4, first=true) }},
        table_steps.kanon_rank,
        table_steps.kanon_sum_before,
        table_steps.kanon_table_total,
        table_steps.kanon_ranks,
        cast(sum(kanon_held) over {{ kanon_sql.steps_of_class(columns, "table_steps.kanon_rank") | trim | indent(8) }} as {{ kanon_sql.float_type() }}) / nullif(sum(kanon_held) over {{ kanon_sql.steps_of_class(columns) | trim | indent(8) }}, 0) * table_steps.kanon_table_total as kanon_class_up_to,
        coalesce(lead(table_steps.kanon_rank) over {{ kanon_sql.steps_of_class(columns, "table_steps.kanon_rank") | trim | indent(8) }}, table_steps.kanon_ranks + 1) as kanon_next_rank,
        coalesce(lead(table_steps.kanon_sum_before) over {{ kanon_sql.steps_of_class(columns, "table_steps.kanon_rank") | trim | indent(8) }}, table_steps.kanon_sum) as kanon_next_sum_before,
        row_number() over {{ kanon_sql.steps_of_class(columns, "table_steps.kanon_rank") | trim | indent(8) }} as kanon_step
    from class_ranks
    inner join table_steps
        on table_steps.kanon_rank = class_ranks.kanon_rank
),

-- The steps of all classes and of the table in one list, to be sorted once.
steps_of_both as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        kanon_rank,
        kanon_next_rank,
        kanon_sum_before,
        kanon_next_sum_before,
        kanon_table_total,
        kanon_ranks,
        kanon_step,
        kanon_class_up_to as kanon_position,
        0 as kanon_is_of_table,
        0 as kanon_up_to
    from class_steps

    union all

    select
{% for column in columns %}
        null as {{ kanon_sql.alias(column) }},
{% endfor %}
        kanon_rank,
        0 as kanon_next_rank,
        0 as kanon_sum_before,
        0 as kanon_next_sum_before,
        kanon_table_total,
        kanon_ranks,
        0 as kanon_step,
        cast(kanon_up_to as {{ kanon_sql.float_type() }}) as kanon_position,
        1 as kanon_is_of_table,
        kanon_up_to
    from table_steps
),

-- kanon_crossing is the first rank at which the table has more than the class has here.
crossed_steps as (
    select
        steps_of_both.*,
        sum(kanon_is_of_table) over (
            order by kanon_position, kanon_is_of_table desc
            rows between unbounded preceding and current row
        ) + 1 as kanon_crossing,
        sum(kanon_up_to) over (
            order by kanon_position, kanon_is_of_table desc
            rows between unbounded preceding and current row
        ) as kanon_crossing_sum
    from steps_of_both
),

-- The crossing within its gap: before it the class has no less, from there on the table has more.
gaps as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        kanon_table_total,
        kanon_ranks,
        kanon_step,
        kanon_rank,
        kanon_next_rank,
        kanon_sum_before,
        kanon_next_sum_before,
        kanon_position,
        case
            when kanon_crossing < kanon_rank then kanon_rank
            when kanon_crossing > kanon_next_rank then kanon_next_rank
            else kanon_crossing
        end as kanon_crossing,
        case
            when kanon_crossing < kanon_rank then kanon_sum_before
            when kanon_crossing > kanon_next_rank then kanon_next_sum_before
            else kanon_crossing_sum
        end as kanon_crossing_sum
    from crossed_steps
    where kanon_is_of_table = 0
),

-- What class and table differ by, added up over all ranks; before its first rank a class has nothing.
distances as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        max(kanon_ranks) as kanon_ranks,
        max(kanon_table_total) as kanon_table_total,
        sum(
            case when kanon_step = 1 then kanon_sum_before else 0 end
            + kanon_position * (kanon_crossing - kanon_rank) - (kanon_crossing_sum - kanon_sum_before)
            + (kanon_next_sum_before - kanon_crossing_sum)
            - kanon_position * (kanon_next_rank - kanon_crossing)
        ) as kanon_moved
    from gaps
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- The mean over the steps from rank to rank, as a share; only rounding takes it below 0.
class_distances as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        case
            when kanon_ranks = 1 or kanon_moved < 0 then 0
            else {{ kanon_sql.quotient("kanon_moved", "(kanon_table_total * (kanon_ranks - 1.0))") }}
        end as kanon_distance
    from distances
),

{{ kanon_sql.classes_with_distances(columns, counted, class_measures, entity, counted_records) }}
{%- endmacro %}


{# Window over the values of a class, in their order. #}
{% macro steps_of_class(columns, order=none) %}
(
    partition by
{{ kanon_sql.aliases_in("class_ranks", columns) | indent(4, first=true) }}
{% if order is not none %}
    order by {{ order }}
{% endif %}
)
{%- endmacro %}
