{#
    Numbers that are compared: quotients that no engine rounds, shares in whole numbers, and the
    slack of what is left to floating point.
#}

{# A quotient, in floating point: engines differ in what they make of one between integers. #}
{% macro quotient(dividend, divisor) -%}
cast({{ dividend }} as {{ kanon_sql.float_type() }}) / nullif({{ divisor }}, 0)
{%- endmacro %}


{# Whether a count is more than a share of another, in whole numbers: no share is rounded. #}
{% macro more_than_share(count, share, total) -%}
{{ kanon_sql.times(count, kanon_sql.denominator(share)) }} > {{ kanon_sql.times(total, kanon_sql.numerator(share)) }}
{%- endmacro %}


{# Whether it is less. #}
{% macro less_than_share(count, share, total) -%}
{{ kanon_sql.times(count, kanon_sql.denominator(share)) }} < {{ kanon_sql.times(total, kanon_sql.numerator(share)) }}
{%- endmacro %}


{# Whether the chance of one in a count is above a bound, said of the count. #}
{% macro chance_above(bound, count) -%}
{% set least = kanon_sql.least_size(bound) -%}
{{ count }} {{ "> 0" if least is none else "< " ~ least }}
{%- endmacro %}


{# The number that a text spells in plain digits, no more than a double holds, else NULL. #}
{% macro number_or_null(text) -%}
case
    when length({{ text }}) <= 15 and {{ kanon_sql.matches(text, "-?[0-9]+([.][0-9]+)?") }}
    then cast({{ text }} as {{ kanon_sql.float_type() }})
end
{%- endmacro %}


{# A count times a factor, such that neither overflows. #}
{% macro times(count, factor) -%}
{{ count if factor == 1 else "cast(" ~ count ~ " as " ~ kanon_sql.exact_type() ~ ") * " ~ factor }}
{%- endmacro %}
