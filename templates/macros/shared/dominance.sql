{#
    (n,k) dominance: the n largest contributions are at most k per cent of the cell's sum. Products
    are compared, never quotients: a cell of zeros has no share. Where the sums are floating point
    numbers, the slack counts towards a violation.

    ESSnet, Handbook on Statistical Disclosure Control, 2nd edition, chapter 4, dominance rule.
#}
{% macro dominance(n) -%}
100 * {{ kanon_sql.quotient("kanon_largest_" ~ n, "kanon_total") }}
{%- endmacro %}


{% macro dominance_violated(n, k, inclusive=false, exact=true) -%}
kanon_largest_{{ n }} > 0
    and {{ kanon_sql.scaled("kanon_largest_" ~ n, 100 * kanon_sql.denominator(k)) }} {{ ">=" if inclusive or not exact else ">" }} {{ kanon_sql.scaled(
        "kanon_total", kanon_sql.numerator(k), none if exact else "(1 - " ~ kanon_sql.slack() ~ ")"
    ) }}
{%- endmacro %}


{# By how many percentage points the share of a violating cell is above k. #}
{% macro dominance_shortfall(n, k) -%}
{{ kanon_sql.dominance(n) }} - {{ k }}
{%- endmacro %}


{# Generic test of (n,k) dominance, on records. #}
{% macro dominance_failures(
    relation, columns, groupings, value, n, k, inclusive=false, contributor=none, digits=none,
    weight=none, weight_digits=none
) %}
{{ kanon_sql.concentration_failures(
    relation, columns, groupings,
    kanon_sql.dominance_violated(n, k, inclusive, digits is not none) | trim,
    "max(" ~ (kanon_sql.dominance(n) | trim) ~ ")",
    value, contributor, ranks=[1, n] | unique | list, digits=digits, weight=weight,
    weight_digits=weight_digits
) }}
{%- endmacro %}


{% test dominance(model) -%}
{% set arguments = kanon_sql.cell_arguments("dominance", model, kwargs, {
    "n": "count", "k": {"above": true, "below": 100}, "inclusive": [false, true],
}, ["by", "value", "contributor", "weight", "margins"]) -%}
{{ kanon_sql.tidy(kanon_sql.dominance_failures(**arguments), model) }}
{%- endtest %}
