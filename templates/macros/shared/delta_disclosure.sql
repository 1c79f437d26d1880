{#
    delta-disclosure privacy: every sensitive value of the table is in every class about as
    frequent as in the table, |ln(q / p)| < delta. A value that a class lacks has q = 0, so the
    measure is infinite (NULL here); read over the values that a class has, it is present_only,
    which may grow when classes are merged.

    Brickell, Shmatikov 2008, The cost of privacy, ACM KDD, section 4. Natural logarithm.
#}
{% macro delta_disclosure() -%}
case when kanon_total > 0 and kanon_distinct = kanon_table_values then {{ kanon_sql.delta_disclosure_beside() }} end
{%- endmacro %}


{% macro delta_disclosure_violated(delta, measure) -%}
{{ measure }} >= {{ kanon_sql.number(delta) }} - {{ kanon_sql.slack() }} or {{ kanon_sql.delta_disclosure_infinite() }}
{%- endmacro %}


{# No delta will do for a class that lacks a value of the table. #}
{% macro delta_disclosure_infinite() -%}
kanon_total > 0 and kanon_distinct < kanon_table_values
{%- endmacro %}


{# Over the values that a class has, max |ln(q / p)| is reached where x / p is largest or smallest. #}
{% macro delta_disclosure_beside() -%}
case
            when kanon_highest * kanon_lowest > cast(kanon_total as {{ kanon_sql.float_type() }}) * kanon_total
            then ln({{ kanon_sql.quotient("kanon_highest", "kanon_total") }})
            else ln({{ kanon_sql.quotient("kanon_total", "kanon_lowest") }})
        end
{%- endmacro %}


{% macro delta_disclosure_columns(counted) -%}
sum({{ counted }}) as kanon_total
max({{ kanon_sql.quotient(counted, "kanon_share") }}) as kanon_highest
min({{ kanon_sql.quotient(counted, "kanon_share") }}) as kanon_lowest
max(kanon_table_values) as kanon_table_values
{%- endmacro %}


{# The test: every value of the table about as frequent in every class. #}
{% macro delta_disclosure_failures(relation, columns, sensitive, delta, entity=none, unknown=false) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "delta_disclosure",
    entity=entity, unknown=unknown,
    needs=["shares"],
    measure=kanon_sql.delta_disclosure(),
    violated=kanon_sql.delta_disclosure_violated(delta, "kanon_delta_disclosure"),
    infinite=kanon_sql.delta_disclosure_infinite(),
    class_columns=kanon_sql.delta_disclosure_columns(counted)
) }}
{%- endmacro %}
