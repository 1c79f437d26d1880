{#
    p-sensitive k-anonymity: every class has at least p values of the sensitive attribute, and at
    least k records.

    Truta, Vinay 2006, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops.
#}
{% macro p_sensitive_k_anonymity(entity=none, unknown=false) -%}
{{ kanon_sql.l_diversity(entity, unknown) }}
{%- endmacro %}


{% macro p_sensitive_k_anonymity_violated(measure, p=none, k=none) -%}
{{ "kanon_size < " ~ kanon_sql.positive_int(k, "k") if k is not none }}
{{- " or " if p is not none and k is not none }}
{{- kanon_sql.l_diversity_violated(p, measure) if p is not none }}
{%- endmacro %}


{% macro p_sensitive_k_anonymity_columns(counted, sensitive, entity=none, unknown=false) -%}
{{ return(kanon_sql.l_diversity_columns(counted, sensitive, entity, unknown)) }}
{%- endmacro %}


{# Generic test of p-sensitive k-anonymity. #}
{% macro p_sensitive_k_anonymity_failures(relation, columns, sensitive, p=none, k=none, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "p_sensitive_k_anonymity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.p_sensitive_k_anonymity(entity, unknown),
    violated=kanon_sql.p_sensitive_k_anonymity_violated(
        kanon_sql.figure_of("p_sensitive_k_anonymity", kanon_sql.p_sensitive_k_anonymity(entity, unknown)),
        p, k
    ),
    class_columns=kanon_sql.p_sensitive_k_anonymity_columns(
        kanon_sql.counted(entity, unknown), sensitive, entity, unknown
    ),
    least=true
) }}
{%- endmacro %}


{% test p_sensitive_k_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "p_sensitive_k_anonymity", model, kwargs, {"p": "count", "k": "count"}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.p_sensitive_k_anonymity_failures(**arguments), model) }}
{%- endtest %}
