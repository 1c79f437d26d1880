{#
    Whether a database tells texts apart that differ. One that takes 'a', 'A' and 'a ' for one
    value makes classes look larger than they are.
#}

{# For each column its values as the database counts them, and as their bytes do. `columns` are
   names, each with the sources of its values: a column and the table that it is in. #}
{% macro texts_told_apart(columns) %}
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
