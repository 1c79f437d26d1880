{#
    Records that are alone in a combination of values: of the quasi-identifiers together with the
    columns that have no role or are declared insensitive. With an `entity`, people are counted.
#}

{#
    How many are alone, of all. DuckDB groups by a hash of 64 bits: that two of a million
    combinations share one has a chance of one in thirty million.
#}
{% macro alone_with_others(relation, columns, entity=none, embedded=true) %}
{% if embedded %}
select count({{ "*" if entity is none else "distinct kanon_person" }}) as kanon_alone
from (
    select {{ "1 as kanon_one"
        if entity is none
        else "min(" ~ kanon_sql.ident(entity) ~ ") as kanon_person" }}
    from {{ relation | indent(4) }}
    group by {{ kanon_sql.hash_of_row(columns) | indent(4) }}
    having {{ "count(*) = 1"
        if entity is none
        else kanon_sql.one_person(kanon_sql.ident(entity)) }}
) as alone
{%- else %}
{{ kanon_sql.records_alone(relation, columns, entity, embedded) }}
{%- endif %}
{%- endmacro %}


{# Predicate: a group has one person. Not every database orders all types, as Postgres does no UUID. #}
{% macro one_person(person, embedded=true) -%}
{{ "min(" ~ person ~ ") = max(" ~ person ~ ")" if embedded else "count(distinct " ~ person ~ ") = 1" }}
{%- endmacro %}


{# As above, of some records alone: whoever is alone in the table is alone among them, too. #}
{% macro alone_in_windows(relation, columns) %}
select
    coalesce(sum(kanon_size), 0) as kanon_records,
    count(case when kanon_size = 1 then 1 end) as kanon_alone
from (
    select count(*) as kanon_size
    from {{ relation | indent(4) }}
    group by {{ kanon_sql.hash_of_row(columns) | indent(4) }}
) as combinations
{%- endmacro %}


{#
    How many are alone of one combination in `one_in`, chosen by its hash, so that each is counted
    with all its records in a single scan. For each of the columns `others`: how many of these
    combinations have a value, and how many different ones.
#}
{% macro alone_of_sampled(relation, columns, one_in, others=()) %}
select
    count(*) as kanon_combinations,
    coalesce(sum(kanon_size), 0) as kanon_records,
    count(case when kanon_size = 1 then 1 end) as kanon_alone
{%- for column in others %},
    count({{ kanon_sql.ident(column) }}) as kanon_known_{{ loop.index }},
    count(distinct {{ kanon_sql.ident(column) }}) as kanon_distinct_{{ loop.index }}
{%- endfor %}

from (
    select
{{ kanon_sql.names(columns) | indent(4, first=true) }},
        count(*) as kanon_size
    from {{ relation | indent(4) }}
    where {{ kanon_sql.hash_of_row(columns) | indent(4) }} % {{ one_in }} = 0
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
) as combinations
{%- endmacro %}


{#
    How many people are alone of one person in `one_in`, chosen by the hash of the entity. Their
    combinations are counted in the whole table, found by their hash.
#}
{% macro people_alone_of_sampled(relation, columns, entity, one_in, embedded=true) %}
{% set person = kanon_sql.ident(entity) %}
select count(distinct kanon_person) as kanon_alone
from (
    select {{ kanon_sql.only_value(person) }} as kanon_person
    from {{ relation | indent(4) }}
    where {{ kanon_sql.hash_of_row(columns) | indent(4) }} in (
        select {{ kanon_sql.hash_of_row(columns) | indent(8) }}
        from {{ relation | indent(8) }}
        where {{ kanon_sql.hash_of_row([entity]) }} % {{ one_in }} = 0
    )
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
    having {{ kanon_sql.one_person(person, embedded) }}
) as alone
where {{ kanon_sql.hash_of_row(["kanon_person"]) }} % {{ one_in }} = 0
{%- endmacro %}


{# The hash of the values of a record; other dialects have functions of their own. #}
{% macro hash_of_row(columns) -%}
hash({% for column in columns %}{{ column if column is string else kanon_sql.ident(column) }}{{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}


{# Predicate: a record is in one of the windows, of this length each. #}
{% macro in_windows(number, starts, length) -%}
{% for start in starts %}
{{ "    or " if not loop.first }}{{ number }} between {{ start }} and {{ start + length - 1 }}
{% endfor %}
{%- endmacro %}
