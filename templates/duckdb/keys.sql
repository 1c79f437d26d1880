{#
    Whether the short keys tell as much as the values. A frequency set may group a column by the
    hash of its values, which is exact where no two values of the column share a hash: then no
    two classes can be merged. One row; the two counts must be equal. NULL and `*` are counted
    in, because the sets above compare keys with theirs.
#}
{% macro keys_tell_values_apart(relation, columns) %}
select
    sum(kanon_values) as kanon_values,
    sum(kanon_keys) as kanon_keys
from (
{% for column in columns %}
    select
        count(*) as kanon_values,
        count(distinct {{ kanon_sql.hash("kanon_value") }}) as kanon_keys
    from (
        select distinct {{ kanon_sql.ident(column) }} as kanon_value
        from {{ relation | indent(8) }}

        union

        select null as kanon_value

        union

        select '*' as kanon_value
    ) as kanon_values_{{ loop.index }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
) as kanon_columns
{%- endmacro %}
