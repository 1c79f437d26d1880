{#
    Excess: the difference between a share of the original and the same share of a holdout, within
    an interval.

    Newcombe 1998, Interval estimation for the difference between independent proportions, Statistics
    in Medicine 17, method 10; Wilson 1927, Probable inference, the law of succession, and statistical
    inference, JASA 22.
#}

{# CTEs of the greatest difference that the records show, by the ends of each share (Wilson 1927). #}
{% macro ctes_of_excess(compared) %}
{% set float = kanon_sql.float_type() %}
shares as (
    select
        cast({{ compared.x }} as {{ float }}) as kanon_x,
        cast({{ compared.n }} as {{ float }}) as kanon_n,
        cast({{ compared.y }} as {{ float }}) as kanon_y,
        cast(nullif({{ compared.m }}, 0) as {{ float }}) as kanon_m
    from counted
),

ends as (
    select
        {{ kanon_sql.quotient("kanon_x", "kanon_n") }} as kanon_p,
        {{ kanon_sql.quotient("kanon_y", "kanon_m") }} as kanon_q,
        case
            when kanon_x = kanon_n then 1
            else {{ kanon_sql.end_of_share("kanon_x", "kanon_n", "+") }}
        end as kanon_highest_p,
        case
            when kanon_y = 0 then 0
            else {{ kanon_sql.end_of_share("kanon_y", "kanon_m", "-") }}
        end as kanon_lowest_q
    from shares
),

excess as (
    select
        kanon_p - kanon_q + sqrt(
            (kanon_highest_p - kanon_p) * (kanon_highest_p - kanon_p)
            + (kanon_q - kanon_lowest_q) * (kanon_q - kanon_lowest_q)
        ) as excess_at_most
    from ends
)
{%- endmacro %}


{# One end of the interval of x of n. #}
{% macro end_of_share(x, n, sign) -%}
{% set z = "1.959963984540054" -%}
{% set z2 = z ~ " * " ~ z -%}
{% set centre = kanon_sql.quotient(x, n) ~ " + " ~ kanon_sql.quotient(z2, "(2 * " ~ n ~ ")") -%}
{% set variance = kanon_sql.quotient(x ~ " * (" ~ n ~ " - " ~ x ~ ")", "(" ~ n ~ " * " ~ n ~ " * " ~ n ~ ")")
    ~ " + " ~ kanon_sql.quotient(z2, "(4 * " ~ n ~ " * " ~ n ~ ")") -%}
{{ kanon_sql.quotient(centre ~ " " ~ sign ~ " " ~ z ~ " * sqrt(" ~ variance ~ ")", "(1 + " ~ kanon_sql.quotient(z2, n) ~ ")") }}
{%- endmacro %}
