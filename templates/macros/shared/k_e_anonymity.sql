{#
    (k,e)-anonymity: a class has at least k different numbers, and the range from the smallest to
    the largest is at least e. Two spellings of a number are one value. NULL is one value unless it
    is unknown; the range reads only finite numbers. If every person of a class holds some common value,
    the class counts as one of this value alone, as in l-diversity.

    Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE.
#}
{% macro k_e_anonymity(entity=none, unknown=false) -%}
{{ kanon_sql.unless_certain(
    "coalesce(cast(kanon_largest - kanon_smallest as " ~ kanon_sql.float_type() ~ "), 0)", "0", entity, unknown
) }}
{%- endmacro %}


{#
    Floating-point ranges have a relative slack, as numbers may be large; other numbers are compared
    exactly.
#}
{% macro k_e_anonymity_violated(sensitive, k=none, e=none, entity=none, unknown=false) -%}
{{ kanon_sql.k_e_anonymity_companion(entity, unknown) ~ " < " ~ kanon_sql.positive_int(k, "k") if k is not none }}
{{- " or " if k is not none and e is not none }}
{{- kanon_sql.unless_certain("coalesce(kanon_largest - kanon_smallest, 0)", "0", entity, unknown) ~ " < " ~ kanon_sql.least_difference(sensitive, e) if e is not none }}
{%- endmacro %}


{% macro k_e_anonymity_columns(counted, sensitive, entity=none, unknown=false) -%}
{{ return(kanon_sql.most_people_columns(counted, entity) + [
    {"name": "kanon_smallest", "expression": "min(" ~ kanon_sql.finite_number(sensitive) ~ ")"},
    {"name": "kanon_largest", "expression": "max(" ~ kanon_sql.finite_number(sensitive) ~ ")"},
    {"name": "kanon_numbers", "expression": kanon_sql.count_numbers(sensitive, unknown) | trim},
]) }}
{%- endmacro %}


{% macro k_e_anonymity_companion(entity=none, unknown=false) -%}
{{ kanon_sql.unless_certain("kanon_numbers", "1", entity, unknown) }}
{%- endmacro %}


{# Number of different numbers in a class, with NULL as one unless it is unknown. #}
{% macro count_numbers(sensitive, unknown=false) -%}
{% if kanon_sql.is_text(sensitive) -%}
count(distinct {{ kanon_sql.spelled_number(sensitive) }}){{ ""
    if unknown
    else " + max(case when " ~ kanon_sql.is_null(sensitive) ~ " then 1 else 0 end)" }}
{%- else -%}
{{ kanon_sql.count_known(sensitive) if unknown else "count(*)" }}
{%- endif %}
{%- endmacro %}


{# Generic test of (k,e)-anonymity. #}
{% macro k_e_anonymity_failures(relation, columns, sensitive, k=none, e=none, entity=none, unknown=false) %}
{{ kanon_sql.sensitive_failures(
    relation, columns, sensitive, "k_e_anonymity",
    entity=entity, unknown=unknown,
    measure=kanon_sql.k_e_anonymity(entity, unknown),
    violated=kanon_sql.k_e_anonymity_violated(sensitive, k, e, entity, unknown),
    class_columns=kanon_sql.k_e_anonymity_columns(
        kanon_sql.counted(entity, unknown), sensitive, entity, unknown
    ),
    least=true,
    numbers=true
) }}
{%- endmacro %}


{% test k_e_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "k_e_anonymity", model, kwargs, {"k": "count", "e": {}}, ["sensitive"]
) -%}
{{ kanon_sql.tidy(kanon_sql.k_e_anonymity_failures(**arguments), model) }}
{%- endtest %}
