{#
    Number of records in classes below k at each node of a path up a lattice. Every class of a node
    lies within one class of the next node, so a single sort makes the classes of all nodes
    contiguous. The sort key is a code: its highest digits are the places at the last node, its lowest
    digits distinguish the values merged by the first step. The records of a class share all but the
    lowest digits.

    LeFevre, DeWitt, Ramakrishnan 2005, Incognito: efficient full-domain k-anonymity, SIGMOD,
    section 3.1 (roll-up property).
#}

{# Number of rows of a frequency set, and of its records, where each row counts up to `size`. #}
{% macro entries_of_set(set, size) %}
select
    count(*) as kanon_rows,
    coalesce(sum(least(kanon_records, {{ kanon_sql.positive_int(size, "size") }})), 0) as kanon_entries
from {{ set }}
{%- endmacro %}


{#
    Each value of a quasi-identifier with its place at the highest level, and for every level below
    with the number of its label among the labels merged one level up; from 0 on.
#}
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


{#
    Largest digit of each quasi-identifier at each level; `digits` gives its table of digits and its
    highest level.
#}
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
    Number of records in classes of at least `size` at each node. `codes`: the quasi-identifiers
    with the multiplier of each of their digits in a code of the type `type`. `units`: for each
    node, two codes are in the same class if their xor is below this power of two.

    Codes are sorted. A class of n >= `size` codes has n - `size` + 1 codes that start a run of
    `size` codes within the class, so the result counts such starts, plus `size` - 1 for each class
    that has one. A row with several records is repeated up to `size` times, as its classes are
    large enough in any case.
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
