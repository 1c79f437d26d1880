{#
    Whether hashed keys are exact. A frequency set may group a column by the hash of its values,
    which merges no classes if no two values of the column share a hash. One row per column with two
    counts that must be equal. NULL and `*` are included, because the CTEs above compare keys with
    their hashes.
#}
{% macro keys_tell_values_apart(relation, columns) %}
with

-- What the sets above compare keys with, whether or not a record has it.
values_compared_with as (
    select null as kanon_value

    union all

    select '*' as kanon_value
),

{% for column in columns %}
values_{{ loop.index }} as (
    select {{ kanon_sql.ident(column) }} as kanon_value
    from {{ relation | indent(4) }}

    union

    select kanon_value
    from values_compared_with
){{ "," if not loop.last }}

{% endfor %}
{% for column in columns %}
select
    {{ kanon_sql.literal(column.name) }} as kanon_column,
    count(*) as kanon_values,
    count(distinct {{ kanon_sql.hash("kanon_value") }}) as kanon_keys
from values_{{ loop.index }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}
