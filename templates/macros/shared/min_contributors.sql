{#
    Threshold: every cell has at least n contributors. A cell without any is not judged, unless
    zeros are disclosive.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, minimum frequency
    rule.
#}
{% macro min_contributors(zeros="allowed") -%}
{{ "kanon_contributors" if zeros == "disclosive" else "nullif(kanon_contributors, 0)" }}
{%- endmacro %}


{% macro min_contributors_violated(n, zeros="allowed") -%}
kanon_contributors < {{ kanon_sql.positive_int(n, "n") }}{{ "" if zeros == "disclosive" else " and kanon_contributors > 0" }}
{%- endmacro %}
