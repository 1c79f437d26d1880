{# A project may say in its own words what an adapter does, and in several lines. #}
{% macro postgres__spelled_number(column) -%}
case
    when {{ column }} is not null
    then {{ kanon_sql.postgres__spelled_number(column) }}
end
{%- endmacro %}
