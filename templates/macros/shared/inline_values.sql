{#
    CTE with literal rows, e.g. a list of values or the paths of a tree. It stacks SELECTs because
    engines name the columns of VALUES differently.
#}
{% macro inline_values(name, columns, rows) -%}
{{ name }} as (
{% for row in rows %}
    select {% for value in row %}{{ value if value is number else kanon_sql.literal(value) }} as {{ columns[loop.index0] }}{{ ", " if not loop.last }}{% endfor %}{{ "\n\n    union all\n" if not loop.last }}
{% endfor %}
)
{%- endmacro %}
