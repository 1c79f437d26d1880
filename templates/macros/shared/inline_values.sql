{#
    A small table that the question itself brings along: a list of values, the paths of a tree.
    Rows are stacked, because engines differ in how they name the columns of VALUES.
#}
{% macro inline_values(name, columns, rows) -%}
{{ name }} as (
{% for row in rows %}
    select {% for value in row %}{{ value if value is number else kanon_sql.literal(value) }} as {{ columns[loop.index0] }}{{ ", " if not loop.last }}{% endfor %}{{ "\n\n    union all\n" if not loop.last }}
{% endfor %}
)
{%- endmacro %}
