{#
    (k,e)-anonymity: a class has at least k different numbers, the largest at least e above the
    smallest. Only finite numbers count for the range: NULL, NaN and infinity are left out.

    Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE.
#}
{% macro k_e_anonymity() -%}
coalesce(cast(kanon_largest - kanon_smallest as {{ kanon_sql.float_type() }}), 0)
{%- endmacro %}


{% macro k_e_anonymity_violated(k=none, e=none) -%}
{{ "kanon_distinct < " ~ kanon_sql.positive_int(k, "k") if k is not none }}
{{- " or " if k is not none and e is not none }}
{{- kanon_sql.k_e_anonymity() ~ " < " ~ kanon_sql.number(e) ~ " - " ~ kanon_sql.slack() if e is not none }}
{%- endmacro %}


{% macro k_e_anonymity_columns(sensitive) -%}
min({{ kanon_sql.finite_number(sensitive) }}) as kanon_smallest
max({{ kanon_sql.finite_number(sensitive) }}) as kanon_largest
{%- endmacro %}


{% macro k_e_anonymity_beside() -%}
kanon_distinct
{%- endmacro %}
