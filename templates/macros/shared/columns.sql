{#
    Column lists, one per line, for SELECT and GROUP BY. A column has three spellings: its own name
    where records are read, the key in GROUP BY (the name, or the host's shorter one), and its alias
    in every CTE above the records.
#}

{# Columns by name. #}
{% macro names(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.ident(column) }}{% endfor %}
{%- endmacro %}


{# Columns by name, each with its alias. #}
{% macro aliased_names(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}{% endfor %}
{%- endmacro %}


{# Columns by alias, as in the CTEs above a frequency set. #}
{% macro aliases(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.alias(column) }}{% endfor %}
{%- endmacro %}


{# The aliases as a list. #}
{% macro aliases_of(columns) -%}
{% set quoted = namespace(names=[]) %}
{% for column in columns %}{% set quoted.names = quoted.names + [kanon_sql.alias(column) | trim] %}{% endfor %}
{{ return(quoted.names) }}
{%- endmacro %}


{# GROUP BY keys of a frequency set. #}
{% macro grouped_by(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.key(column) }}{% endfor %}
{%- endmacro %}


{# Expression with the column's alias, left out if both are the same. #}
{% macro aliased(expression, column) -%}
{{ expression }}{{ "" if expression == kanon_sql.alias(column) else " as " ~ kanon_sql.alias(column) }}
{%- endmacro %}


{# GROUP BY keys, each with its alias. #}
{% macro aliased_keys(columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ kanon_sql.aliased(kanon_sql.key(column), column) }}{% endfor %}
{%- endmacro %}


{# Predicate: any column of a frequency set is NULL. #}
{% macro any_null(columns) -%}
{% set predicates = namespace(nulls=[]) %}
{% for column in columns %}{% set predicates.nulls = predicates.nulls + [kanon_sql.is_null(column) | trim] %}{% endfor %}
{{ kanon_sql.joined(predicates.nulls, "or") }}
{%- endmacro %}


{# Conditions joined by AND or OR, on one line if short, else one per line. #}
{% macro joined(conditions, by) -%}
{% set line = conditions | join(" " ~ by ~ " ") -%}
{{ line if line | length < 80 else conditions | join("\n    " ~ by ~ " ") }}
{%- endmacro %}


{# 1 if any row of the group satisfies the predicate, else 0. #}
{% macro greatest_flag(predicate) -%}
max(case when {{ predicate }} then 1 else 0 end)
{%- endmacro %}


{# Records with `*` in every quasi-identifier, as suppression leaves them. #}
{% macro suppressed_records(columns, records="kanon_records") -%}
{% set predicates = namespace(starless=false, stars=[]) %}
{% for column in columns %}
{% if not kanon_sql.may_be_star(column) %}{% set predicates.starless = true %}{% endif %}
{% set predicates.stars = predicates.stars + [kanon_sql.is_star(column) | trim] if not predicates.starless else [] %}
{% endfor %}
{% if predicates.starless -%}
0 as kanon_suppressed
{%- else -%}
{{ kanon_sql.sum_where(kanon_sql.joined(predicates.stars, "and") | trim, records, "kanon_suppressed") }}
{%- endif %}
{%- endmacro %}


{# Columns by alias, qualified by the CTE. #}
{% macro aliases_in(set, columns) -%}
{% for column in columns %}{{ "" if loop.first else ",\n" }}    {{ set }}.{{ kanon_sql.alias(column) }}{% endfor %}
{%- endmacro %}


{# Join condition on the class; records have its columns under their own names. #}
{% macro same_class(columns, set, other="records", other_is_set=false) -%}
{% for column in columns -%}
{{ "and " if not loop.first }}{{ kanon_sql.same(
    set ~ "." ~ kanon_sql.alias(column),
    other ~ "." ~ (kanon_sql.alias(column) if other_is_set else kanon_sql.ident(column))
) }}{{ "\n" if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# Predicate: the key is one of some values. #}
{% macro is_one_of(column, values) -%}
{% for value in values %}{{ "" if loop.first else " or " }}{{ kanon_sql.stands_for(column, value) }}{% endfor %}
{%- endmacro %}


{#
    Predicate: the key is this value. Without a known type a number is compared by its digits,
    because 1 is 1.00 in one type and 1.0 in another.
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


{# PARTITION BY the columns of a class, indented by `steps`. #}
{% macro partition_of(columns, steps) -%}
{{ "partition by" | indent(4 * steps, first=true) }}
{{ kanon_sql.aliases(columns) | indent(4 * steps, first=true) }}
{%- endmacro %}
