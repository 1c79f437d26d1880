{#
    Whether a database distinguishes different texts. One that treats 'a', 'A' and 'a ' as equal
    makes classes look larger than they are.
#}

{#
    For each column, the number of distinct values in the database's comparison and by bytes.
    `columns` are names, each with the columns and tables of its values.
#}
{% macro distinct_texts(columns) %}
{% for name, sources in columns %}
select
    {{ kanon_sql.literal(name) }} as kanon_column,
    count(distinct kanon_value) as kanon_values,
    count(distinct encode(kanon_value)) as kanon_spellings
from (
{% for column, table in sources %}
    select {{ kanon_sql.ident(column) }} as kanon_value
    from {{ table }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
) as kanon_column_values
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}
