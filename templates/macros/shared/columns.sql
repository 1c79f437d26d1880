{#
    Lists of columns, one a line, as they stand in SELECT and GROUP BY. A column has three
    spellings: its own name where records are read, the key it is grouped by (the name again, or
    a shorter one that the host has), and the alias it has in every set above the records.
#}

{# The columns under their own names. #}
{% macro names(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.ident(column) }}{% endfor %}
{%- endmacro %}


{# The columns under their own names, each called by its alias from here on. #}
{% macro aliased_names(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}{% endfor %}
{%- endmacro %}


{# The columns of a frequency set, as the sets above it call them. #}
{% macro aliases(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.alias(column) }}{% endfor %}
{%- endmacro %}


{# What a frequency set groups by. #}
{% macro grouped_by(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.key(column) }}{% endfor %}
{%- endmacro %}


{# An expression under a column's alias, which is left out where the two are the same. #}
{% macro aliased(expression, column) -%}
{{ expression }}{{ "" if expression == kanon_sql.alias(column) else " as " ~ kanon_sql.alias(column) }}
{%- endmacro %}


{# What a frequency set groups by, each key under its alias. #}
{% macro aliased_keys(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.aliased(kanon_sql.key(column), column) }}{% endfor %}
{%- endmacro %}


{# Whether any of the columns of a frequency set is NULL. #}
{% macro any_null(columns) -%}
{% set found = namespace(nulls=[]) %}
{% for column in columns %}{% set found.nulls = found.nulls + [kanon_sql.is_null(column) | trim] %}{% endfor %}
{{ kanon_sql.joined(found.nulls, "or") }}
{%- endmacro %}


{# Some conditions in one line where that is short, else one a line. #}
{% macro joined(conditions, by) -%}
{% set line = conditions | join(" " ~ by ~ " ") -%}
{{ line if line | length < 80 else conditions | join("\n    " ~ by ~ " ") }}
{%- endmacro %}


{# The records whose every quasi-identifier is only `*`, as suppression leaves them. #}
{% macro suppressed_records(columns, records="kanon_records") -%}
{% set found = namespace(starless=false, stars=[]) %}
{% for column in columns %}
{% if not kanon_sql.may_be_star(column) %}{% set found.starless = true %}{% endif %}
{% set found.stars = found.stars + [kanon_sql.is_star(column) | trim] if not found.starless else [] %}
{% endfor %}
{% if found.starless -%}
0 as kanon_suppressed
{%- else -%}
{{ kanon_sql.sum_where(kanon_sql.joined(found.stars, "and") | trim, records, "kanon_suppressed") }}
{%- endif %}
{%- endmacro %}


{# The same where several sets are read. #}
{% macro aliases_in(set, columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ set }}.{{ kanon_sql.alias(column) }}{% endfor %}
{%- endmacro %}


{# Whether a key stands for one of some values. #}
{% macro is_one_of(column, values) -%}
{% for value in values %}{{ "" if loop.first else " or " }}{{ kanon_sql.stands_for(column, value) }}{% endfor %}
{%- endmacro %}


{#
    Whether a key stands for a value. Where nobody has looked up the type a number is compared by
    its digits, because 1 is 1.00 in one type and 1.0 in another.
#}
{% macro stands_for(column, value) -%}
{% if kanon_sql.type_of(column) or value is not number or value is boolean -%}
{{ kanon_sql.is_value(column, value) }}
{%- else -%}
{% set digits = (value | int if value == value | int else value) | string -%}
{{ kanon_sql.matches(
    "cast(" ~ kanon_sql.alias(column) ~ " as " ~ kanon_sql.text_type() ~ ")",
    digits.replace("+", "[+]").replace(".", "[.]") ~ ("0*" if "." in digits else "([.]0+)?")
) }}
{%- endif %}
{%- endmacro %}


{# What a window is one of, so many steps to the right: a class. #}
{% macro partition_of(columns, steps) -%}
{{ "partition by" | indent(4 * steps, first=true) }}
{{ kanon_sql.aliases(columns) | indent(4 * steps, first=true) }}
{%- endmacro %}
