{#
    Which columns identify people: the classes of every small set of columns, the records unique on
    a set and on none of its subsets, and statistics of each column. All sets are rolled up from the
    combinations of all columns; only counts are returned.

    Elliot, Manning, Ford 2002, A computational algorithm for handling the special uniques problem,
    IJUFKS 10(5); Manning, Haglin, Keane 2008, A recursive search algorithm for statistical
    disclosure assessment (SUDA2), Data Mining and Knowledge Discovery 16; Motwani and Xu 2007,
    Efficient algorithms for masking and finding quasi-identifiers (distinction, separation).
#}

{#
    Each combination of values with its number of records; with an entity, of each person;
    `numbered` adds an id.
#}
{% macro value_combinations(relation, columns, entity=none, numbered=false) %}
select
{% if numbered %}
    row_number() over () as kanon_id,
{% endif %}
{% for column in columns %}
    kanon_key_{{ loop.index }},
{% endfor %}
{% if entity is not none %}
    kanon_person,
{% endif %}
    count(*) as kanon_records
from (
    select
{% for column in columns %}
        {{ kanon_sql.ident(column) }} as kanon_key_{{ loop.index }}{{ "," if not loop.last or entity is not none }}
{% endfor %}
{% if entity is not none %}
        {{ kanon_sql.ident(entity) }} as kanon_person
{% endif %}
    from {{ relation | indent(4) }}
) as held
group by
{% for column in columns %}
    kanon_key_{{ loop.index }}{{ "," if not loop.last or entity is not none }}
{% endfor %}
{% if entity is not none %}
    kanon_person
{% endif %}
{%- endmacro %}


{# The combinations that were fetched, each with an id. #}
{% macro numbered_combinations(combinations, keys) %}
select
    row_number() over () as kanon_id,
{% for key in keys %}
    {{ key }},
{% endfor %}
    kanon_records
from {{ combinations }}
{%- endmacro %}


{# Integer code of each value of a key, for faster grouping; NULL stays NULL. #}
{% macro coded_values(combinations, key) %}
select
    {{ key }} as kanon_value,
    case when {{ key }} is null then null else cast(row_number() over () as integer) end as kanon_code
from (
    select distinct {{ key }}
    from {{ combinations }}
) as known
{%- endmacro %}


{# The combinations with these codes. #}
{% macro coded_combinations(combinations, keys, codes) %}
select
    combinations.kanon_id,
{% for key in keys %}
    {{ codes[loop.index0] }}.kanon_code as {{ key }},
{% endfor %}
    combinations.kanon_records
from {{ combinations }} as combinations
{% for key in keys %}
inner join {{ codes[loop.index0] }}
    on {{ kanon_sql.same(codes[loop.index0] ~ ".kanon_value", "combinations." ~ key) }}
{% endfor %}
{%- endmacro %}


{# Classes of each set of columns: their number, the smallest, and those below k. #}
{% macro subset_classes(combinations, subsets, k, of_people=false) %}
{% set is_small = "kanon_size < " ~ kanon_sql.positive_int(k, "k") %}
{% for subset in subsets %}
select
    {{ subset.number }} as kanon_set,
{% if of_people %}
    sum(kanon_records) as kanon_all_records,
    sum(kanon_first) as kanon_classes,
    min(kanon_size) as kanon_k,
    count(distinct case when kanon_size = 1 then kanon_person end) as kanon_uniques,
    sum(case when {{ is_small }} then kanon_first else 0 end) as kanon_violating_classes,
    sum(case when {{ is_small }} then kanon_records else 0 end) as kanon_violating_records,
    count(distinct case when {{ is_small }} then kanon_person end) as kanon_violating_people
from (
    {{ members_of_classes(combinations, subset) | indent(4) }}
) as members
{% else %}
    sum(kanon_size) as kanon_all_records,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size = 2 then 1 else 0 end) as kanon_pairs,
    sum(case when {{ is_small }} then 1 else 0 end) as kanon_violating_classes,
    sum(case when {{ is_small }} then kanon_size else 0 end) as kanon_violating_records
from (
    select sum(kanon_records) as kanon_size
    from {{ combinations }}
    group by
{{ subset_keys(subset) | indent(4, first=true) }}
) as classes
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{#
    Each person of each class once, with the size of the class; kanon_first marks one person per
    class.
#}
{% macro members_of_classes(combinations, subset) %}
select
    kanon_person,
    kanon_records,
    count(*) over (
        partition by
{{ subset_keys(subset) | indent(8, first=true) }}
    ) as kanon_size,
    case
        when row_number() over (
            partition by
{{ subset_keys(subset) | indent(12, first=true) }}
            order by kanon_person
        ) = 1 then 1
        else 0
    end as kanon_first
from (
    select
{{ subset_keys(subset) | indent(4, first=true) }},
        kanon_person,
        sum(kanon_records) as kanon_records
    from {{ combinations }}
    group by
{{ subset_keys(subset) | indent(4, first=true) }},
        kanon_person
) as class_people
{%- endmacro %}


{# Keys of a set of columns, one per line. #}
{% macro subset_keys(subset) -%}
{% for key in subset.keys %}{{ "" if loop.first else ",\n" }}    {{ key }}{% endfor %}
{%- endmacro %}


{# Predicate: no value of the set of columns is NULL. #}
{% macro subset_is_known(subset) -%}
{% for key in subset.keys %}{{ "" if loop.first else " and " }}{{ key }} is not null{% endfor %}
{%- endmacro %}


{#
    Minimal sample uniques: records unique on a set of columns and on none of its subsets. All sets
    of the statement have the same size; `earlier` holds the minimal uniques of smaller sets. A
    group of one record has one combination, so min gives its id.
#}
{% macro minimal_uniques(combinations, subsets, earlier=none, nulls_are_values=false) %}
with

uniques as (
{% for subset in subsets %}
    select
        {{ subset.number }} as kanon_set,
        cast({{ subset.mask }} as {{ "bigint" if subset.mask < 9000000000000000000 else "hugeint" }}) as kanon_mask,
        min(kanon_id) as kanon_id
    from {{ combinations }}
{% if not nulls_are_values %}
    where {{ subset_is_known(subset) }}
{% endif %}
    group by
{{ subset_keys(subset) | indent(4, first=true) }}
    having sum(kanon_records) = 1
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
)

select uniques.*
from uniques
{% if earlier is not none %}
where not exists (
    select 1
    from {{ earlier }} as earlier
    where
        earlier.kanon_id = uniques.kanon_id
        and (earlier.kanon_mask & uniques.kanon_mask) = earlier.kanon_mask
)
{% endif %}
{%- endmacro %}


{# Union of several results. #}
{% macro all_found(found) %}
{% for each in found %}
select *
from {{ each }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Number of minimal uniques of each set of columns. #}
{% macro uniques_by_set(minimal) %}
select
    kanon_set,
    count(*) as kanon_uniques
from {{ minimal }}
group by kanon_set
order by kanon_set
{%- endmacro %}


{# Number of records by their minimal uniques of each size. #}
{% macro records_by_uniques(minimal, sizes) %}
select
{% for size in sizes %}
    kanon_of_size_{{ size.number }},
{% endfor %}
    count(*) as kanon_records
from (
    {{ uniques_of_records(minimal, sizes) | indent(4) }}
) as special_records
group by
{% for size in sizes %}
    kanon_of_size_{{ size.number }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{# Minimal uniques of each size for each record. #}
{% macro uniques_of_records(minimal, sizes) %}
select
    kanon_id
{%- for size in sizes %},
    sum(case when kanon_set between {{ size.first }} and {{ size.last }} then 1 else 0 end) as kanon_of_size_{{ size.number }}
{%- endfor %}

from {{ minimal }}
group by kanon_id
{%- endmacro %}


{#
    The same in one statement, for databases without temporary relations: a record is a minimal
    unique of a set if it is unique on it and on no set with one column less. Returns the number of
    records by their minimal uniques of each size, and the minimal uniques of each set.
#}
{% macro special_uniques_at_once(combinations, subsets, sizes, nulls_are_values=false) %}
with

counted_combinations as (
    select
        kanon_records
{%- for subset in subsets %},
        case
            when sum(kanon_records) over (
                partition by
{{ subset_keys(subset) | indent(16, first=true) }}
            ) = 1{{ "" if nulls_are_values else " and " ~ subset_is_known(subset) }} then 1
            else 0
        end as kanon_unique_{{ subset.number }}
{%- endfor %}

    from {{ combinations }}
),

minimal_uniques as (
    select
{% for subset in subsets %}
        case
            when kanon_unique_{{ subset.number }} = 1
{%- for number in subset.smaller %} and kanon_unique_{{ number }} = 0{% endfor %} then 1
            else 0
        end as kanon_minimal_{{ subset.number }}{{ "," if not loop.last }}
{% endfor %}
    from counted_combinations
    where kanon_records = 1
),

special_records as (
    select
        minimal_uniques.*
{%- for size in sizes %},
        {% for some in range(size.first, size.last + 1) | batch(30) -%}
        {{ "" if loop.first else " + " }}({% for number in some %}{{ "" if loop.first else " + " }}kanon_minimal_{{ number }}{% endfor %})
        {%- endfor %} as kanon_of_size_{{ size.number }}
{%- endfor %}

    from minimal_uniques
)

select
{% for size in sizes %}
    kanon_of_size_{{ size.number }},
{% endfor %}
{% for subset in subsets %}
    sum(kanon_minimal_{{ subset.number }}) as kanon_set_{{ subset.number }},
{% endfor %}
    count(*) as kanon_records
from special_records
group by
{% for size in sizes %}
    kanon_of_size_{{ size.number }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}


{#
    Statistics of each column: number of values (NULL counts as one), records with NULL, records of
    the most frequent value, values that occur once (with an entity, people unique by the column),
    and ordered pairs of records with equal values. Then those of its known values, none of which is
    returned: their length as text, how many spell a number, an integer or a date, and the range of
    the numbers. A number with a leading zero is a code.
#}
{% macro columns_by_themselves(relation, columns, entity=none) %}
{% for column in columns %}
select
    {{ column.number }} as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
{% if entity is none %}
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
{% else %}
    count(distinct case when kanon_people = 1 then kanon_person end) as kanon_alone,
{% endif %}
    sum(cast(kanon_holders as {{ kanon_sql.float_type() }}) * (kanon_holders - 1)) as kanon_untold_pairs,
    count(kanon_text) as kanon_known,
    min(length(kanon_text)) as kanon_shortest,
    max(length(kanon_text)) as kanon_longest,
    avg(length(kanon_text)) as kanon_length,
    coalesce(sum(case when kanon_text like '% % %' then 1 else 0 end), 0) as kanon_phrases,
    coalesce(sum(case when kanon_number is not null then 1 else 0 end), 0) as kanon_numbers,
    coalesce(sum(case when kanon_number = floor(kanon_number) then 1 else 0 end), 0) as kanon_whole,
    coalesce(sum(case when kanon_text like '0%' and length(kanon_text) > 1 and kanon_text not like '0.%' then 1 else 0 end), 0) as kanon_codes,
    coalesce(sum(case when {{ kanon_sql.cast_or_null("kanon_text", "date") }} is not null then 1 else 0 end), 0) as kanon_dates,
    min(kanon_number) as kanon_least,
    max(kanon_number) as kanon_most
from (
    select
        texts.*,
        {{ kanon_sql.cast_or_null("kanon_text", kanon_sql.float_type()) }} as kanon_number
    from (
        select
            known.*,
            {{ kanon_sql.as_text("kanon_value", kanon_sql.type_of(column.column)) }} as kanon_text
        from (
            select
                kanon_value,
{% if entity is not none %}
                count(distinct kanon_person) as kanon_people,
                min(kanon_person) as kanon_person,
{% endif %}
                count(*) as kanon_holders
            from (
                select
                    {{ kanon_sql.ident(column.column) }} as kanon_value{{ "," if entity is not none }}
{% if entity is not none %}
                    {{ kanon_sql.ident(entity) }} as kanon_person
{% endif %}
                from {{ relation | indent(16) }}
            ) as held
            group by kanon_value
        ) as known
    ) as texts
) as numbers
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Number of each special unique in the order of its file, with its scores. #}
{% macro numbered_specials(relation, columns, combinations, keys, special, scored, where=none, first=none) %}
select
    numbered.kanon_private_number as kanon_number,
{% for size in scored %}
    special.kanon_of_size_{{ size.number }}{{ "," if not loop.last }}
{% endfor %}
from (
    select
        kanon_private_number,
{% for column in columns %}
        {{ kanon_sql.ident(column) }} as kanon_key_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
    from (
        select
            *,
            row_number() over () as kanon_private_number
        from {{ relation }}
    ) as whole
{% if where is not none %}
    where {{ where }}
{% endif %}
{% if first is not none %}
    order by kanon_private_number
    limit {{ kanon_sql.positive_int(first, "first") }}
{% endif %}
) as numbered
inner join {{ combinations }} as combinations
    on {% for key in keys %}{{ "" if loop.first else "\n    and " }}{{ kanon_sql.same("combinations." ~ key, "numbered." ~ key) }}{% endfor %}

inner join {{ special }} as special
    on special.kanon_id = combinations.kanon_id
order by numbered.kanon_private_number
{%- endmacro %}


{# Columns of the records that are read more than once. #}
{% macro records_at_hand(relation, columns) %}
select
{% for column in columns %}
    {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}
