{#
    Arithmetic of thresholds: quotients without integer rounding, exact comparison of shares, and
    the slack for floating point.
#}

{# Quotient as a float: engines differ in the division of integers. #}
{% macro quotient(dividend, divisor) -%}
cast({{ dividend }} as {{ kanon_sql.float_type() }}) / nullif({{ divisor }}, 0)
{%- endmacro %}


{#
    Predicate: the count is more than a share of the total; in integers, so that no share is
    rounded.
#}
{% macro more_than_share(count, share, total) -%}
{{ kanon_sql.times(count, kanon_sql.denominator(share)) }} > {{ kanon_sql.times(total, kanon_sql.numerator(share)) }}
{%- endmacro %}


{# Predicate: the count is less than a share of the total. #}
{% macro less_than_share(count, share, total) -%}
{{ kanon_sql.times(count, kanon_sql.denominator(share)) }} < {{ kanon_sql.times(total, kanon_sql.numerator(share)) }}
{%- endmacro %}


{# Predicate on a count n: 1 / n is above the bound. #}
{% macro chance_above(bound, count) -%}
{% set least = kanon_sql.least_size(bound) -%}
{{ count }} {{ "> 0" if least is none else "< " ~ least }}
{%- endmacro %}


{# Number that a text spells in plain digits, if a double represents it exactly, else NULL. #}
{% macro number_or_null(text) -%}
case
    when length({{ text }}) <= 15 and {{ kanon_sql.matches(text, "-?[0-9]+([.][0-9]+)?") }}
    then cast({{ text }} as {{ kanon_sql.float_type() }})
end
{%- endmacro %}


{# Count times a factor, in a type that can't overflow. #}
{% macro times(count, factor) -%}
{{ count if factor == 1 else "cast(" ~ count ~ " as " ~ kanon_sql.exact_type() ~ ") * " ~ factor }}
{%- endmacro %}
