{#
    Basic beta-likeness: no sensitive value is more frequent in a class than in the table by more
    than beta times its share there, (q - p) / p <= beta.

    Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11),
    definition 2.
#}
{% macro basic_beta_likeness() -%}
case when kanon_highest > kanon_total then {{ kanon_sql.quotient("kanon_highest", "kanon_total") }} - 1 when kanon_total > 0 then 0 end
{%- endmacro %}


{# The slack is in proportion, as gains may be large. #}
{% macro basic_beta_likeness_violated(beta) -%}
kanon_highest > kanon_total * (1 + {{ kanon_sql.number(beta) }}) * (1 + {{ kanon_sql.slack() }})
{%- endmacro %}


{% macro basic_beta_likeness_columns(counted) -%}
sum({{ counted }}) as kanon_total
max({{ kanon_sql.quotient(counted, "kanon_share") }}) as kanon_highest
{%- endmacro %}


{# The test: no gain above beta. #}
{% macro basic_beta_likeness_failures(relation, columns, sensitive, beta, entity=none, unknown=false) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "basic_beta_likeness",
    entity=entity, unknown=unknown,
    needs=["shares"],
    measure=kanon_sql.basic_beta_likeness(),
    violated=kanon_sql.basic_beta_likeness_violated(beta),
    class_columns=kanon_sql.basic_beta_likeness_columns(counted)
) }}
{%- endmacro %}
