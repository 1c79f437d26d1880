{#
    Whether the short keys tell as much as the values. A frequency set may group a column by the
    hash of its values, which is exact where no two values of the column share a hash: then no
    two classes can be merged. One row a column, whose two counts must be equal. NULL and `*` are
    counted in, because the sets above compare keys with theirs.

    The distinct values are at hand, so the spellings of sensitive ones are counted here too.
#}
{% macro keys_tell_values_apart(relation, columns) %}
{% for column in columns %}
select
    {{ kanon_sql.literal(column.name) }} as kanon_column,
    count(*) as kanon_values,
    count(distinct {{ kanon_sql.hash("kanon_value") }}) as kanon_keys,
    count(distinct {{ kanon_sql.spelling("trim(kanon_value)") | indent(4) }}) as kanon_spellings,
    count(kanon_value) as kanon_known_values
from (
    select distinct {{ kanon_sql.ident(column) }} as kanon_value
    from {{ relation | indent(4) }}

    union

    select null as kanon_value

    union

    select '*' as kanon_value
) as kanon_values_{{ loop.index }}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}
