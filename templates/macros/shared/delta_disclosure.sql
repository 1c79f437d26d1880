{#
    delta-disclosure privacy: every sensitive value of the table has a similar share in every class,
    |ln(q / p)| < delta. A value missing in a class has q = 0, so the measure is infinite (NULL
    here). present_only reads the measure over the values in the class only; it may grow when
    classes are merged.

    Brickell, Shmatikov 2008, The cost of privacy, ACM KDD, section 4. Natural logarithm.
#}
{% macro delta_disclosure(unknown=false) -%}
case
    when {{ kanon_sql.delta_disclosure_infinite(unknown) }} then null
    when {{ kanon_sql.is_rather_more_frequent() }} then ln(kanon_highest_ratio)
    else -ln(kanon_lowest_ratio)
end
{%- endmacro %}


{% macro delta_disclosure_violated(delta, measure, unknown=false) -%}
{{ measure }} >= {{ kanon_sql.number(delta) }} - {{ kanon_sql.slack() }} or {{ kanon_sql.delta_disclosure_infinite(unknown) }}
{%- endmacro %}


{# Predicate: the class lacks a value of the table, so every delta fails. #}
{% macro delta_disclosure_infinite(unknown=false) -%}
{{ "kanon_distinct > 0 and " if unknown }}kanon_distinct < kanon_table_values
{%- endmacro %}


{#
    max |ln(q / p)| over the values in the class; the maximum is at the largest or the smallest q /
    p.
#}
{% macro delta_disclosure_companion() -%}
case
    when {{ kanon_sql.is_rather_more_frequent() }} then ln(kanon_highest_ratio)
    else -ln(kanon_lowest_ratio)
end
{%- endmacro %}


{% macro is_rather_more_frequent() -%}
kanon_highest_ratio * kanon_lowest_ratio > 1
{%- endmacro %}


{% macro delta_disclosure_columns(sensitive, unknown=false) -%}
{{ return(kanon_sql.distinct_columns(sensitive, unknown) + kanon_sql.basic_beta_likeness_columns() + [
    {"name": "kanon_lowest_ratio", "expression": "min(" ~ kanon_sql.quotient("kanon_class_share", "kanon_share") ~ ")"},
]) }}
{%- endmacro %}


{# Generic test of delta-disclosure privacy. #}
{% macro delta_disclosure_failures(relation, columns, sensitive, delta, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "delta_disclosure",
    entity=entity, unknown=unknown,
    needs=["shares", "class_shares", "table_values"],
    measure=kanon_sql.delta_disclosure(unknown),
    violated=kanon_sql.delta_disclosure_violated(delta, "kanon_delta_disclosure", unknown),
    infinite=kanon_sql.delta_disclosure_infinite(unknown),
    class_columns=kanon_sql.delta_disclosure_columns(sensitive, unknown)
) }}
{%- endmacro %}


{% test delta_disclosure(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "delta_disclosure", model, kwargs, {"delta": {"above": true}}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.delta_disclosure_failures(**arguments), model) }}
{%- endtest %}
