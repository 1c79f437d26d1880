{#
    Basic beta-likeness: for every sensitive value, the relative gain of its share in a class over
    its share in the table is at most beta, (q - p) / p <= beta.

    Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11),
    definition 2.
#}
{% macro basic_beta_likeness(unknown=false) -%}
case
    when kanon_highest_ratio > 1 then kanon_highest_ratio - 1
    {{ "when kanon_highest_ratio is not null then" if unknown else "else" }} 0
end
{%- endmacro %}


{# The slack is relative because gains may be large. #}
{% macro basic_beta_likeness_violated(beta) -%}
kanon_highest_ratio > (1 + {{ kanon_sql.number(beta) }}) * (1 + {{ kanon_sql.slack() }})
{%- endmacro %}


{# Largest q / p of a class. #}
{% macro basic_beta_likeness_columns() -%}
{{ return([
    {"name": "kanon_highest_ratio", "expression": "max(" ~ kanon_sql.quotient("kanon_class_share", "kanon_share") ~ ")"},
]) }}
{%- endmacro %}


{# Generic test of basic beta-likeness. #}
{% macro basic_beta_likeness_failures(relation, columns, sensitive, beta, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "basic_beta_likeness",
    entity=entity, unknown=unknown,
    needs=["shares", "class_shares"],
    measure=kanon_sql.basic_beta_likeness(unknown),
    violated=kanon_sql.basic_beta_likeness_violated(beta),
    class_columns=kanon_sql.basic_beta_likeness_columns()
) }}
{%- endmacro %}


{% test basic_beta_likeness(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "basic_beta_likeness", model, kwargs, {"beta": {}}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.basic_beta_likeness_failures(**arguments), model) }}
{%- endtest %}
