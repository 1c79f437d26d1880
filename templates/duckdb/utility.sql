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


{# Frequency set of the raw values, with no record suppressed. #}
{% macro records_as_marked(records) %}
select
    held.*,
    0 as kanon_suppressed
from {{ records }} as held
{%- endmacro %}


{# Frequency set of the raw values, with the number of suppressed records of each. #}
{% macro marked_records(records, quasi_identifiers, violating, donated=none, carried=[]) %}
select
{% for each in quasi_identifiers %}
    held.{{ each.key }} as {{ each.key }},
{% endfor %}
{% for column in carried %}
    held.{{ kanon_sql.alias(column) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
    held.kanon_records as kanon_records,
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


{#
    Information loss of one quasi-identifier. A released label covers some leaves of the hierarchy
    (Iyengar 2002, Transforming data to satisfy privacy constraints, KDD, section 3). The
    uncertainty about its raw value is log2 of the records with the label divided by the records
    with the value (Gionis and Tassa 2009, k-anonymization with minimal loss of information, IEEE
    TKDE 21(2), section 3). A suppressed record has the label `*`.

    `leaves` is the table with the number of leaves under each label, if a hierarchy lists them.
#}
{% macro loss_of_values(values, marked, key, level, leaves=none) %}
with

suppressed_values as (
    select
        {{ key }} as kanon_place,
        sum(kanon_suppressed) as kanon_suppressed
    from {{ marked }}
    group by {{ key }}
),

held_values as (
    select
        value_places.kanon_place_{{ level }} as kanon_place,
        {{ "value_places.kanon_label_" ~ level if level else "value_places.kanon_place_0" }} as kanon_label,
        cast(value_places.kanon_records as double) as kanon_held,
        cast(suppressed_values.kanon_suppressed as double) as kanon_suppressed,
        sum(cast(value_places.kanon_records as double)) over (partition by value_places.kanon_place_{{ level }}) as kanon_under_label,
        count(*) over (partition by value_places.kanon_place_{{ level }}) as kanon_values_under_label,
        sum(cast(value_places.kanon_records as double)) over () as kanon_in_all
    from {{ values }} as value_places
    inner join suppressed_values
        on suppressed_values.kanon_place = value_places.kanon_place_0
)

select
    coalesce(sum(kanon_held), 0) as kanon_records,
    coalesce(sum((kanon_held - kanon_suppressed) * ({{ "kanon_values_under_label"
        if leaves is none
        else "coalesce(leaves.kanon_leaves, 1)" }} - 1)), 0) as kanon_leaves_more,
    coalesce(sum(kanon_suppressed), 0) as kanon_suppressed,
    coalesce(sum((kanon_held - kanon_suppressed) * ln(kanon_under_label / kanon_held) + kanon_suppressed * ln(kanon_in_all / kanon_held)), 0) / ln(2) as kanon_bits,
    coalesce(sum(kanon_held * ln(kanon_in_all / kanon_held)), 0) / ln(2) as kanon_most_bits
from held_values
{% if leaves is not none %}
left join {{ leaves }} as leaves
    on leaves.kanon_label = held_values.kanon_label
{% endif %}
{%- endmacro %}


{#
    Association of a quasi-identifier with a sensitive attribute before and after generalisation:
    Cramér's V, the root of chi-squared divided by its maximum.

    Cramér 1946, Mathematical methods of statistics, chapter 21.
#}
{% macro association(marked, values, key, level, sensitive, unknown=false) %}
with

held_pairs as (
    select
        value_places.kanon_place_0 as kanon_raw_place,
        value_places.kanon_place_{{ level }} as kanon_place,
        marked.{{ kanon_sql.alias(sensitive) }} as kanon_sensitive,
        cast(sum(marked.kanon_records) as double) as kanon_held,
        cast(sum(marked.kanon_records - marked.kanon_suppressed) as double) as kanon_released
    from {{ marked }} as marked
    inner join {{ values }} as value_places
        on value_places.kanon_place_0 = marked.{{ key }}
{% if unknown %}
    where marked.{{ kanon_sql.alias(sensitive) }} is not null
{% endif %}
    group by
        value_places.kanon_place_0,
{% if level %}
        value_places.kanon_place_{{ level }},
{% endif %}
        marked.{{ kanon_sql.alias(sensitive) }}
),

{{ kanon_sql.cramers_v("before", "kanon_raw_place", "kanon_held") }},

{{ kanon_sql.cramers_v("after", "kanon_place", "kanon_released") }}

select
    before_v.kanon_v as kanon_before,
    after_v.kanon_v as kanon_after
from before_v
cross join after_v
{%- endmacro %}


{#
    Distribution of a quasi-identifier before and after generalisation: the records with the most
    frequent value, the second one and so on, in bins of ranks that begin at `firsts`.
#}
{% macro distribution(marked, values, key, level, firsts) %}
with

held_values as (
    select
        value_places.kanon_place_0 as kanon_raw_place,
        value_places.kanon_place_{{ level }} as kanon_place,
        sum(marked.kanon_records) as kanon_held,
        sum(marked.kanon_records - marked.kanon_suppressed) as kanon_released
    from {{ marked }} as marked
    inner join {{ values }} as value_places
        on value_places.kanon_place_0 = marked.{{ key }}
    group by
        value_places.kanon_place_0{{ "," if level }}
{% if level %}
        value_places.kanon_place_{{ level }}
{% endif %}
),

{{ kanon_sql.frequency_ranks(firsts) }}
{%- endmacro %}


{# Distribution of a sensitive attribute before and after suppression; see distribution. #}
{% macro distribution_of_sensitive(marked, sensitive, firsts, unknown=false) %}
with

held_values as (
    select
        {{ kanon_sql.alias(sensitive) }} as kanon_raw_place,
        {{ kanon_sql.alias(sensitive) }} as kanon_place,
        sum(kanon_records) as kanon_held,
        sum(kanon_records - kanon_suppressed) as kanon_released
    from {{ marked }}
{% if unknown %}
    where {{ kanon_sql.alias(sensitive) }} is not null
{% endif %}
    group by {{ kanon_sql.alias(sensitive) }}
),

{{ kanon_sql.frequency_ranks(firsts) }}
{%- endmacro %}


{# Records and values of `held_values` by the rank of their frequency, before and after. #}
{% macro frequency_ranks(firsts) %}
{% for when, value, counted in (("before", "kanon_raw_place", "kanon_held"), ("after", "kanon_place", "kanon_released")) %}
{{ when }}_values as (
    select sum({{ counted }}) as kanon_records
    from held_values
    group by {{ value }}
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
