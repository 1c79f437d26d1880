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
