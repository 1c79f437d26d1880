{#
    Approximate number of distinct values of each column, without NULL: by the database's own sketch
    (such as HyperLogLog), in one scan and a few kilobytes per column.
#}
{% macro approximate_distinct(relation, columns) %}
select
{% for column in columns %}
    approx_count_distinct({{ kanon_sql.ident(column) }}) as kanon_distinct_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from {{ relation }}
{%- endmacro %}

{#
    Records with a value that no other record has, a row per column; with an `entity`, people with a
    value that no other person has. NULL is no value.
#}
{% macro alone_by_column(relation, columns, entity=none) %}
{% for column in columns %}
select
    {{ loop.index }} as kanon_column,
    {{ "count(*)" if entity is none else "count(distinct kanon_person)" }} as kanon_alone
from (
    select
        {{ kanon_sql.ident(column) }}
{%- if entity is not none %},
        min({{ kanon_sql.ident(entity) }}) as kanon_person
{%- endif %}

    from {{ relation }}
    where {{ kanon_sql.ident(column) }} is not null
    group by {{ kanon_sql.ident(column) }}
    having {{ "count(*)" if entity is none else "count(distinct " ~ kanon_sql.ident(entity) ~ ")" }} = 1
) as values_of_one
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}
