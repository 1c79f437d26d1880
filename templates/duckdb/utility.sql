{#
    Information loss of a release, computed from the frequency set of the raw values and the places
    of each value at the chosen levels.
#}

{# Classes of a frequency set of places, with their size and records. #}
{% macro classes_of_places(set, keys, entity=none) %}
select
{% for key in keys %}
    {{ key }},
{% endfor %}
    {{ "cast(sum(kanon_records) as bigint)" if entity is none else "count(distinct kanon_entity)" }} as kanon_size,
    cast(sum(kanon_records) as bigint) as kanon_records
from {{ set }}
group by
{% for key in keys %}
    {{ key }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Records suppressed in step 4: the first ones of the classes that give some. #}
{% macro donated_records(numbered) %}
select *
from {{ numbered }}
where kanon_number <= kanon_donated
{%- endmacro %}


{# Classes that are also among `others`. #}
{% macro classes_among(classes, others, keys) %}
select classes.*
from {{ classes }} as classes
inner join (
    {{ others | indent(4) }}
) as others
{% for key in keys %}
    {{ "on" if loop.first else "and" }} others.{{ key }} = classes.{{ key }}
{% endfor %}
{%- endmacro %}


{# Frequency set of the raw values, with the number of suppressed records of each. #}
{% macro marked_records(records, quasi_identifiers, violating=none, donated=none, carried=[]) %}
select
{% for each in quasi_identifiers %}
    held.{{ each.key }} as {{ each.key }},
{% endfor %}
{% for column in carried %}
    held.{{ kanon_sql.alias(column) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
    held.kanon_records as kanon_records,
{% if violating is none %}
    0 as kanon_suppressed
from {{ records }} as held
{% else %}
    case
        when violating.kanon_records is not null then held.kanon_records
        else {{ "coalesce(donated.kanon_records, 0)" if donated is not none else "0" }}
    end as kanon_suppressed
from {{ records }} as held
{% for each in quasi_identifiers if each.level %}
inner join {{ each.values }} as {{ each.values }}
    on {{ each.values }}.kanon_place_0 = held.{{ each.key }}
{% endfor %}
left join {{ violating }} as violating
{% for each in quasi_identifiers %}
    {{ "on" if loop.first else "and" }} violating.{{ each.key }} = {{ each.values ~ ".kanon_place_" ~ each.level
        if each.level
        else "held." ~ each.key }}
{% endfor %}
{% endif %}
{% if donated is not none %}
left join {{ donated }} as donated
{% for each in quasi_identifiers %}
    {{ "on" if loop.first else "and" }} donated.{{ each.key }} = held.{{ each.key }}
{% endfor %}
{% for column in carried %}
    and {{ kanon_sql.same("donated." ~ kanon_sql.alias(column), "held." ~ kanon_sql.alias(column)) }}
{% endfor %}
{% endif %}
{%- endmacro %}


{#
    Classes of the release. Discernibility is the sum of the squares of their sizes: Bayardo and
    Agrawal 2005, Data privacy through optimal k-anonymization, ICDE, section 3.
#}
{% macro released_classes(classes, keys, violating=none, donors=none) %}
with

released_classes as (
    select classes.kanon_records{{ " - coalesce(donors.kanon_donated, 0)" if donors is not none }} as kanon_released
    from {{ classes }} as classes
{% if violating is not none %}
    left join {{ violating }} as violating
{% for key in keys %}
        {{ "on" if loop.first else "and" }} violating.{{ key }} = classes.{{ key }}
{% endfor %}
{% endif %}
{% if donors is not none %}
    left join {{ donors }} as donors
{% for key in keys %}
        {{ "on" if loop.first else "and" }} donors.{{ key }} = classes.{{ key }}
{% endfor %}
{% endif %}
{% if violating is not none %}
    where violating.kanon_records is null
{% endif %}
)

select
    count(*) as kanon_classes,
    coalesce(sum(kanon_released), 0) as kanon_released,
    coalesce(sum(cast(kanon_released as {{ kanon_sql.widest_type() }}) * kanon_released), 0) as kanon_squares
from released_classes
where kanon_released > 0
{%- endmacro %}


{# A frequency set with marked records, with the label of one quasi-identifier at its level. #}
{% macro shown_at_level(marked, values, key, level) %}
(
    select
        marked.*,
        {{ level }} as kanon_level,
        value_places.kanon_place_{{ level }} as kanon_shown
    from {{ marked }} as marked
    inner join {{ values }} as value_places
        on value_places.kanon_place_0 = marked.{{ key }}
) as shown
{%- endmacro %}


{#
    Label of every raw value at some levels, with the leaves of the hierarchy and the records under
    it. `levels` has a row for each level: its quasi-identifier, its number, the table of the
    values, and the table of the leaves if a hierarchy lists them.
#}
{% macro labels_of_values(levels) %}
{% for each in levels %}
{% set place = "value_places.kanon_place_" ~ each.level %}
select
    {{ each.qi }} as kanon_qi,
    {{ each.level }} as kanon_level,
    value_places.kanon_place_0 as kanon_raw_place,
    {{ place }} as kanon_place,
{% if not each.level %}
    cast(1 as bigint) as kanon_leaves,
{% elif each.leaves is none %}
    count(*) over (partition by {{ place }}) as kanon_leaves,
{% else %}
    cast(coalesce(leaves.kanon_leaves, 1) as bigint) as kanon_leaves,
{% endif %}
    value_places.kanon_records as kanon_with_value,
    sum(value_places.kanon_records) over (partition by {{ place }}) as kanon_under_label
from {{ each.values }} as value_places
{% if each.leaves is not none %}
left join {{ each.leaves }} as leaves
    on leaves.kanon_label = value_places.kanon_label_{{ each.level }}
    and leaves.kanon_level = {{ each.level }}
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Information loss of one quasi-identifier, by the level at which it is released. A released label
    covers some leaves of the hierarchy (Iyengar 2002, Transforming data to satisfy privacy
    constraints, KDD, section 3). The uncertainty about its raw value is log2 of the records with
    the label divided by the records with the value (Gionis and Tassa 2009, k-anonymization with
    minimal loss of information, IEEE TKDE 21(2), section 3). A suppressed record has the label `*`.

    `shown` is the frequency set with the level of each record, `labels` the labels of the values,
    `values` the table of the values.
#}
{% macro loss_of_values(shown, key, qi, labels, values) %}
with

held_values as (
    select
        {{ key }} as kanon_raw_place,
        kanon_level,
        cast(sum(kanon_records - kanon_suppressed) as double) as kanon_released,
        cast(sum(kanon_suppressed) as double) as kanon_suppressed
    from {{ shown }}
    group by
        {{ key }},
        kanon_level
),

in_all as (
    select cast(sum(kanon_records) as double) as kanon_records
    from {{ values }}
)

select
    held_values.kanon_level,
    sum(held_values.kanon_released) as kanon_released,
    sum(held_values.kanon_suppressed) as kanon_suppressed,
    sum(held_values.kanon_released * (labels.kanon_leaves - 1)) as kanon_leaves_more,
    sum(
        held_values.kanon_released * ln(labels.kanon_under_label / cast(labels.kanon_with_value as double))
        + held_values.kanon_suppressed * ln(in_all.kanon_records / labels.kanon_with_value)
    ) / ln(2) as kanon_bits,
    sum(
        (held_values.kanon_released + held_values.kanon_suppressed)
        * ln(in_all.kanon_records / labels.kanon_with_value)
    ) / ln(2) as kanon_most_bits
from held_values
inner join {{ labels }} as labels
    on labels.kanon_raw_place = held_values.kanon_raw_place
    and labels.kanon_level = held_values.kanon_level
    and labels.kanon_qi = {{ qi }}
cross join in_all
group by held_values.kanon_level
{%- endmacro %}


{#
    Association of a quasi-identifier with a sensitive attribute before and after generalisation:
    Cramér's V, the root of chi-squared divided by its maximum. It is NULL where either has a single
    value, or another value in every record: then it is 1 whatever the other is.

    Cramér 1946, Mathematical methods of statistics, chapter 21.
#}
{% macro association(shown, key, sensitive, unknown=false) %}
{% set sensitive = kanon_sql.alias(sensitive) %}
with

held_pairs as (
    select
        {{ key }} as kanon_raw_place,
        kanon_shown,
        {{ sensitive }} as kanon_sensitive,
        cast(sum(kanon_records) as double) as kanon_held,
        cast(sum(kanon_records - kanon_suppressed) as double) as kanon_released
    from {{ shown }}
{% if unknown %}
    where {{ sensitive }} is not null
{% endif %}
    group by
        {{ key }},
        kanon_shown,
        {{ sensitive }}
),

{{ kanon_sql.cramers_v("before", "kanon_raw_place", "kanon_held") }},

{{ kanon_sql.cramers_v("after", "kanon_shown", "kanon_released") }}

select
    before_v.kanon_v as kanon_before,
    after_v.kanon_v as kanon_after
from before_v
cross join after_v
{%- endmacro %}


{#
    Distribution of a column before and after generalisation and suppression: the records with the
    most frequent value, the second one and so on, in bins of ranks that begin at `firsts`. `value`
    is its raw value, `shown` the released one; without `nulls`, only of its known values.
#}
{% macro distribution(relation, value, shown, firsts, nulls=true) %}
{% set value, shown = kanon_sql.alias(value), kanon_sql.alias(shown) %}
with

held_values as (
    select
        {{ value }} as kanon_value,
        {{ shown }} as kanon_shown,
        sum(kanon_records) as kanon_held,
        sum(kanon_records - kanon_suppressed) as kanon_released
    from {{ relation }}
{% if not nulls %}
    where {{ value }} is not null
{% endif %}
    group by
        {{ value }}{{ "," if value != shown }}
{% if value != shown %}
        {{ shown }}
{% endif %}
),

{% for when, column, counted in (("before", "kanon_value", "kanon_held"), ("after", "kanon_shown", "kanon_released")) %}
{{ when }}_values as (
    select sum({{ counted }}) as kanon_records
    from held_values
    group by {{ column }}
    having sum({{ counted }}) > 0
),

{{ when }}_ranks as (
    select
        kanon_records,
        row_number() over (order by kanon_records desc) as kanon_rank
    from {{ when }}_values
),

{{ when }}_bins as (
    select
{% for first in firsts %}
        coalesce(sum(case when kanon_rank >= {{ first }}{{ "" if loop.last else " and kanon_rank < " ~ loop.nextitem }} then kanon_records else 0 end), 0) as kanon_records_{{ loop.index }},
{% endfor %}
        count(*) as kanon_values
    from {{ when }}_ranks
){{ "," if not loop.last }}

{% endfor %}
select
{% for when in ("before", "after") %}
{% for first in firsts %}
    {{ when }}_bins.kanon_records_{{ loop.index }} as kanon_{{ when }}_{{ loop.index }},
{% endfor %}
    {{ when }}_bins.kanon_values as kanon_{{ when }}_values{{ "," if not loop.last }}
{% endfor %}
from before_bins
cross join after_bins
{%- endmacro %}


{#
    The values of a column that a release leaves unchanged, as a relation for `distribution`: those
    of the records, of which none is released here, and those of the release.
#}
{% macro unchanged_values(records, released, column) -%}
(
    select
        {{ kanon_sql.ident(column) }} as {{ kanon_sql.alias(column) }},
        1 as kanon_records,
        1 as kanon_suppressed
    from {{ records | indent(4) }}

    union all

    select
        {{ kanon_sql.ident(column) }} as {{ kanon_sql.alias(column) }},
        0 as kanon_records,
        -1 as kanon_suppressed
    from {{ released | indent(4) }}
) as kanon_values
{%- endmacro %}


{% macro cramers_v(when, row, counted) %}
{{ when }}_cells as (
    select
        {{ row }} as kanon_row,
        kanon_sensitive as kanon_column,
        sum({{ counted }}) as kanon_cell
    from held_pairs
    group by
        {{ row }},
        kanon_sensitive
    having sum({{ counted }}) > 0
),

{{ when }}_sums as (
    select
        kanon_cell,
        sum(kanon_cell) over (partition by kanon_row) as kanon_row_sum,
        sum(kanon_cell) over (partition by kanon_column) as kanon_column_sum,
        dense_rank() over (order by kanon_row) as kanon_row_place,
        dense_rank() over (order by kanon_column) as kanon_column_place
    from {{ when }}_cells
),

{{ when }}_v as (
    select
        case
            when max(kanon_row_place) > 1 and max(kanon_column_place) > 1
                and greatest(max(kanon_row_place), max(kanon_column_place)) < sum(kanon_cell)
            then least(
                1.0,
                sqrt(
                    greatest(0.0, sum(kanon_cell * kanon_cell / (kanon_row_sum * kanon_column_sum)) - 1)
                    / (least(max(kanon_row_place), max(kanon_column_place)) - 1)
                )
            )
        end as kanon_v
    from {{ when }}_sums
)
{%- endmacro %}


{# Sum of a column. #}
{% macro total(relation, column) %}
select coalesce(sum({{ column }}), 0) as kanon_total
from {{ relation }}
{%- endmacro %}
