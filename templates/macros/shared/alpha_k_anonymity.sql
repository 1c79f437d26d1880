{#
    (alpha,k)-anonymity: in every class, each sensitive value (or each of the listed ones) has a
    share of at most alpha, and the class has at least k records. A class without a known value has
    no share, but its size is still checked.

    Wong, Li, Fu, Wang 2006, (alpha,k)-anonymity: an enhanced k-anonymity model for privacy
    preserving data publishing, ACM KDD.
#}
{% macro alpha_k_anonymity(label, values=none, entity=none, unknown=false) -%}
{{ kanon_sql.quotient(kanon_sql.most_frequent(label, values), kanon_sql.class_holders(entity, unknown)) }}
{%- endmacro %}


{% macro alpha_k_anonymity_violated(label, alpha=none, k=none, values=none, entity=none, unknown=false) -%}
{% if k is not none -%}
kanon_size < {{ kanon_sql.positive_int(k, "k") }}
{%- endif %}
{{- " or " if alpha is not none and k is not none }}
{%- if alpha is not none -%}
{{ kanon_sql.more_than_share(kanon_sql.most_frequent(label, values), alpha, kanon_sql.class_holders(entity, unknown)) }}
{%- endif %}
{%- endmacro %}


{# Count of the most frequent (listed) value in a class. #}
{% macro most_frequent(label, values=none) -%}
{{ "kanon_most" if values is none else "kanon_most_" ~ label }}
{%- endmacro %}


{# Number of people (records) in a class with a known value. #}
{% macro class_holders(entity=none, unknown=false) -%}
{{ "kanon_size" if not unknown else "kanon_total" if entity is none else "kanon_size_known" }}
{%- endmacro %}


{% macro alpha_k_anonymity_columns(counted, label, sensitive, values=none, entity=none, unknown=false) -%}
{% set held = counted if values is none
    else "case when " ~ kanon_sql.is_one_of(sensitive, values) ~ " then " ~ counted ~ " else 0 end" %}
{{ return([
    {"name": kanon_sql.most_frequent(label, values) | trim, "expression": "max(" ~ held ~ ")"},
] + (kanon_sql.total_columns(counted) if unknown and entity is none else [])) }}
{%- endmacro %}


{# Generic test of (alpha,k)-anonymity. #}
{% macro alpha_k_anonymity_failures(
    relation, columns, sensitive, alpha=none, k=none, values=none, entity=none, unknown=false,
    all_occur=true
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "alpha_k_anonymity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.alpha_k_anonymity("alpha_k_anonymity", values, entity, unknown),
    violated=kanon_sql.alpha_k_anonymity_violated("alpha_k_anonymity", alpha, k, values, entity, unknown),
    class_columns=kanon_sql.alpha_k_anonymity_columns(
        counted, "alpha_k_anonymity", sensitive, values, entity, unknown
    ),
    named=values if all_occur else none
) }}
{%- endmacro %}


{% test alpha_k_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments("alpha_k_anonymity", model, kwargs, {
    "alpha": {"most": 1, "above": true}, "k": "count", "values": "values",
}, ["sensitive"]) -%}
{{ kanon_sql.tidy(kanon_sql.alpha_k_anonymity_failures(**arguments), model) }}
{%- endtest %}
