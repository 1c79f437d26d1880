{#
    (k,e)-anonymity: a class has at least k different values, and its largest number is at least e
    above its smallest. Only finite numbers count for the range: NULL, NaN and infinity are left out.

    Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE.
#}
{% macro k_e_anonymity() -%}
coalesce(cast(kanon_largest - kanon_smallest as {{ kanon_sql.float_type() }}), 0)
{%- endmacro %}


{# The slack is in proportion, as numbers may be large. #}
{% macro k_e_anonymity_violated(measure, k=none, e=none) -%}
{{ "kanon_distinct < " ~ kanon_sql.positive_int(k, "k") if k is not none }}
{{- " or " if k is not none and e is not none }}
{{- measure ~ " < " ~ kanon_sql.number(e) ~ " * (1 - " ~ kanon_sql.slack() ~ ")" if e is not none }}
{%- endmacro %}


{% macro k_e_anonymity_columns(sensitive) -%}
min({{ kanon_sql.finite_number(sensitive) }}) as kanon_smallest
max({{ kanon_sql.finite_number(sensitive) }}) as kanon_largest
{%- endmacro %}


{% macro k_e_anonymity_beside() -%}
kanon_distinct
{%- endmacro %}
