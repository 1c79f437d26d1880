{#
    Lists of columns, one a line, as they stand in SELECT and GROUP BY. A column has three
    spellings: its own name where records are read, the key it is grouped by (the name again, or
    a shorter one that the host has), and the alias it has in every set above the records.
#}

{# The columns under their own names. #}
{% macro names(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.ident(column) }}{% endfor %}
{%- endmacro %}


{# The columns of a frequency set, as the sets above it call them. #}
{% macro aliases(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.alias(column) }}{% endfor %}
{%- endmacro %}


{# What a frequency set groups by. #}
{% macro keys(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.key(column) }}{% endfor %}
{%- endmacro %}


{# What a frequency set groups by, each key under its alias. #}
{% macro aliased_keys(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.key(column) }}
{%- if kanon_sql.key(column) != kanon_sql.alias(column) %} as {{ kanon_sql.alias(column) }}{% endif %}{% endfor %}
{%- endmacro %}


{# Whether any of the columns of a frequency set is NULL. #}
{% macro any_null(columns) -%}
{% for column in columns %}{{ "" if loop.first else " or " }}{{ kanon_sql.is_null(column) }}{% endfor %}
{%- endmacro %}


{# Whether every column of a frequency set is only `*`, as suppression leaves a record. #}
{% macro all_suppressed(columns) -%}
{% for column in columns %}{{ "" if loop.first else " and " }}{{ kanon_sql.is_suppressed(column) }}{% endfor %}
{%- endmacro %}
