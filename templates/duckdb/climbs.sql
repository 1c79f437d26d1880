{#
    How many records lie in classes that are too small, at each node of a way up a lattice. Every
    class of such a node lies within one of the next, so one order of the records has the classes of
    all of them beside each other: that by a code whose highest digits are the places at the last
    node, and whose lowest tell apart what the first step makes one. A class is what has all but the
    lowest digits in common.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1 (roll-up property).
#}

{# How many records a set has, and how many rows, where those of a row count up to a size. #}
{% macro entries_of_set(set, size) %}
select
    count(*) as kanon_rows,
    coalesce(sum(least(kanon_records, {{ kanon_sql.positive_int(size, "size") }})), 0) as kanon_entries
from {{ set }}
{%- endmacro %}


{# Each value of a quasi-identifier with its place at a level, and for every level below with the
   number of its label among those that become one there; from 0 on. #}
{% macro digits_of_values(values, height) %}
select
    kanon_place_0,
{% for level in range(1, height + 1) %}
    dense_rank() over (
        partition by kanon_place_{{ level }}
        order by kanon_place_{{ level - 1 }}
    ) - 1 as kanon_digit_{{ level - 1 }},
{% endfor %}
    kanon_place_{{ height }} - 1 as kanon_digit_{{ height }}
from {{ values }}
{%- endmacro %}


{# The largest digit of each quasi-identifier at each level; `digits` are its table of digits and its
   highest level. #}
{% macro largest_digits(digits) %}
{% for each in digits %}
{% set last = loop.last %}
{% set number = loop.index %}
{% for level in range(each.highest + 1) %}
select
    {{ number }} as kanon_place,
    {{ level }} as kanon_level,
    max(kanon_digit_{{ level }}) as kanon_most
from {{ each.values }}
{% if not (loop.last and last) %}

union all

{% endif %}
{% endfor %}
{% endfor %}
{%- endmacro %}


{#
    How many records lie in classes of at least `size` at each node. `codes` are the
    quasi-identifiers, with what each digit of theirs is multiplied by in a code of the type `type`;
    `units` are for each node the number from which on two codes differ in more than what is one
    there.

    The codes stand in their order. A class that is large enough has as many of them as begin a
    stretch of `size` within it, and `size` - 1 more; it is one of those whose first code begins
    such a stretch. A row of several records is as many codes, up to `size`: then its classes are
    large enough anyway.
#}
{% macro records_in_large_classes(set, codes, type, units, size) %}
{% set size = kanon_sql.positive_int(size, "size") %}
{% set farther = units | max %}
with

entries as (
    select
{% for each in codes %}
        {{ each.key }}{{ "," if not loop.last }}
{% endfor %}
    from {{ set }}

    union all

    select
{% for each in codes %}
        {{ each.key }}{{ "," if not loop.last }}
{% endfor %}
    from (
        select
{% for each in codes %}
            {{ each.key }},
{% endfor %}
            unnest(range(1, least(kanon_records, {{ size }}))) as kanon_more
        from {{ set }}
        where kanon_records > 1
    ) as repeated_rows
),

coded_entries as (
    select
{% for each in codes %}
        {{ "+ " if not loop.first }}codes_{{ loop.index }}.kanon_part{{ " as kanon_code" if loop.last }}
{% endfor %}
    from entries
{% for each in codes %}
    inner join (
        select
            kanon_place_0,
            cast(
{% for unit in each.units %}
                {{ "+ " if not loop.first }}cast(kanon_digit_{{ loop.index0 }} as {{ type }}) * {{ unit }}
{% endfor %}
                as {{ type }}
            ) as kanon_part
        from {{ each.digits }}
    ) as codes_{{ loop.index }}
        on codes_{{ loop.index }}.kanon_place_0 = entries.{{ each.key }}
{% endfor %}
),

-- How far a code is from the one before it, and from the one that ends a stretch: the highest
-- digit in which both differ decides.
spans as (
    select
        coalesce(xor(kanon_code, lag(kanon_code) over in_order), {{ farther }}) as kanon_from_before,
        coalesce(
            xor(kanon_code, lead(kanon_code, {{ size }} - 1) over in_order), {{ farther }}
        ) as kanon_to_last
    from coded_entries
    window in_order as (order by kanon_code)
)

select
{% for unit in units %}
    count_if(kanon_to_last < {{ unit }})
    + {{ size - 1 }} * count_if(kanon_to_last < {{ unit }} and kanon_from_before >= {{ unit }})
        as kanon_records_{{ loop.index0 }}{{ "," if not loop.last }}
{% endfor %}
from spans
{%- endmacro %}
