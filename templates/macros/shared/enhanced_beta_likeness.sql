{#
    Enhanced beta-likeness: as basic beta-likeness, and no value gains more than -ln p, which also
    bounds frequent values. A class with a larger gain fails for every beta (NULL here).

    Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11),
    definition 3.
#}
{% macro enhanced_beta_likeness(unknown=false) -%}
case
    when {{ kanon_sql.gains_too_much() }} then null
    when kanon_highest_ratio > 1 then kanon_highest_ratio - 1
    {{ "when kanon_highest_ratio is not null then" if unknown else "else" }} 0
end
{%- endmacro %}


{% macro enhanced_beta_likeness_infinite() -%}
{{ kanon_sql.gains_too_much() }}
{%- endmacro %}


{% macro enhanced_beta_likeness_violated(beta) -%}
{{ kanon_sql.gains_too_much() }} or {{ kanon_sql.basic_beta_likeness_violated(beta) }}
{%- endmacro %}


{# Predicate: q / p of some value is above 1 - ln p; the lowest allowance decides for the class. #}
{% macro gains_too_much() -%}
kanon_highest_of_allowed > 1 + {{ kanon_sql.slack() }}
{%- endmacro %}


{% macro enhanced_beta_likeness_columns() -%}
{{ return(kanon_sql.basic_beta_likeness_columns() + [
    {"name": "kanon_highest_of_allowed", "expression":
        "max(" ~ kanon_sql.quotient("kanon_class_share", "kanon_allowed_share") ~ ")"},
]) }}
{%- endmacro %}


{# Generic test of enhanced beta-likeness. #}
{% macro enhanced_beta_likeness_failures(relation, columns, sensitive, beta, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "enhanced_beta_likeness",
    entity=entity, unknown=unknown,
    needs=["shares", "class_shares", "bounds"],
    measure=kanon_sql.enhanced_beta_likeness(unknown),
    violated=kanon_sql.enhanced_beta_likeness_violated(beta),
    infinite=kanon_sql.enhanced_beta_likeness_infinite(),
    class_columns=kanon_sql.enhanced_beta_likeness_columns()
) }}
{%- endmacro %}


{% test enhanced_beta_likeness(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "enhanced_beta_likeness", model, kwargs, {"beta": {}}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.enhanced_beta_likeness_failures(**arguments), model) }}
{%- endtest %}
