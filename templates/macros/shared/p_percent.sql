{#
    p% rule: what is left of a cell's sum without its largest contribution and those of a coalition
    is at least p/q of the largest. Products are compared, never quotients; a cell of zeros is not
    judged. Where the sums are floating point numbers, the slack counts towards a violation.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, p% and (p,q) rule.
#}
{% macro p_percent(coalition=1) -%}
100 * {{ kanon_sql.quotient("kanon_total - kanon_largest_" ~ (coalition + 1), "kanon_largest_1") }}
{%- endmacro %}


{% macro p_percent_violated(p, q=100, coalition=1, exact=true) -%}
kanon_largest_1 > 0
    and {{ kanon_sql.scaled(
        "(kanon_total - kanon_largest_" ~ (coalition + 1) ~ ")",
        kanon_sql.denominator(p) * kanon_sql.numerator(q)
    ) }} < {{ kanon_sql.scaled(
        "kanon_largest_1", kanon_sql.numerator(p) * kanon_sql.denominator(q),
        none if exact else "(1 + " ~ kanon_sql.slack() ~ ")"
    ) }}
{%- endmacro %}


{# By how many percentage points the closest estimate in a violating cell is too close. #}
{% macro p_percent_shortfall(p, q=100, coalition=1) -%}
{{ kanon_sql.quotient(100 * p, q) }} - {{ kanon_sql.p_percent(coalition) }}
{%- endmacro %}


{# Generic test of the p% rule, on records. #}
{% macro p_percent_failures(
    relation, columns, groupings, value, p, q=100, coalition=1, contributor=none, digits=none,
    weight=none, weight_digits=none
) %}
{{ kanon_sql.concentration_failures(
    relation, columns, groupings,
    kanon_sql.p_percent_violated(p, q, coalition, digits is not none) | trim,
    "min(" ~ (kanon_sql.p_percent(coalition) | trim) ~ ")",
    value, contributor, ranks=[1, coalition + 1], digits=digits, weight=weight,
    weight_digits=weight_digits
) }}
{%- endmacro %}


{% test p_percent(model) -%}
{% set arguments = kanon_sql.cell_arguments("p_percent", model, kwargs, {
    "p": {"above": true}, "q": {"above": true, "default": 100}, "coalition": {"whole": true, "least": 1, "default": 1},
}, ["by", "value", "contributor", "weight", "margins"]) -%}
{{ kanon_sql.tidy(kanon_sql.p_percent_failures(**arguments), model) }}
{%- endtest %}
