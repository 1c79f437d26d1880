{#
    Enhanced beta-likeness: as the basic one, and no value gains more than -ln p, so that
    frequent values are bounded too. No beta will do (NULL here) where one gains more.

    Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11),
    definition 3.
#}
{% macro enhanced_beta_likeness() -%}
case when {{ kanon_sql.gains_too_much() }} then null else {{ kanon_sql.basic_beta_likeness() }} end
{%- endmacro %}


{% macro enhanced_beta_likeness_infinite() -%}
{{ kanon_sql.gains_too_much() }}
{%- endmacro %}


{% macro enhanced_beta_likeness_violated(beta) -%}
{{ kanon_sql.gains_too_much() }} or {{ kanon_sql.basic_beta_likeness_violated(beta) }}
{%- endmacro %}


{# Some value's q / p is above 1 - ln p; the least allowance decides for the class. #}
{% macro gains_too_much() -%}
kanon_highest_allowed > kanon_total * (1 + {{ kanon_sql.slack() }})
{%- endmacro %}


{% macro enhanced_beta_likeness_columns(counted) -%}
{{ kanon_sql.basic_beta_likeness_columns(counted) }}
max({{ kanon_sql.quotient(counted, "(kanon_share * (1 - ln(kanon_share)))") }}) as kanon_highest_allowed
{%- endmacro %}


{# The test: no gain above beta, or -ln p where that is less. #}
{% macro enhanced_beta_likeness_failures(relation, columns, sensitive, beta, entity=none, unknown=false) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "enhanced_beta_likeness",
    entity=entity, unknown=unknown,
    needs=["shares"],
    measure=kanon_sql.enhanced_beta_likeness(),
    violated=kanon_sql.enhanced_beta_likeness_violated(beta),
    infinite=kanon_sql.enhanced_beta_likeness_infinite(),
    class_columns=kanon_sql.enhanced_beta_likeness_columns(counted)
) }}
{%- endmacro %}
