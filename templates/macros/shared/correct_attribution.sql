{#
    Correct attribution: whoever looks a record of the original up in the synthetic table, by its
    quasi-identifiers, and draws one of the records found, has its sensitive value with the chance
    s(q,t) / s(q) (CAP). The average is over those found; the gain is what it is above that of a guess
    by the original's own shares of values.

    Taub, Elliot, Pampaka, Smith 2018, Differential correct attribution probability for synthetic data,
    Privacy in Statistical Databases, LNCS 11126, section 3.

    The sums are of the statement of disclosive in synthetic, by the size of a class there.
#}

{# CTEs of the sums over all classes, or people; a chance is a count out of the size of a class. #}
{% macro ctes_of_attribution(stack, unknown=false, with_holdout=false) %}
{% set float = kanon_sql.float_type() %}
{{ kanon_sql.ctes_of_disclosed(stack, [[]], unknown) | trim }},

told_by_size as (
    {{ kanon_sql.sums_of_disclosed(stack, [[]]) | trim | indent(4) }}
),

counted as (
    select
        sum(kanon_attacked) as kanon_attacked,
        coalesce(sum(case when kanon_size > 0 then kanon_attacked else 0 end), 0) as kanon_matched,
        coalesce(sum({{ kanon_sql.quotient("kanon_right", "kanon_size") }}), 0) as kanon_right,
        coalesce(sum(case when kanon_size > 0 then cast(kanon_base as {{ float }}) else 0 end), 0) as kanon_base{{ "," if with_holdout }}
{% if with_holdout %}
        sum(kanon_holdout) as kanon_holdout,
        coalesce(sum({{ kanon_sql.quotient("kanon_right_in_holdout", "kanon_size") }}), 0) as kanon_right_in_holdout
{% endif %}
    from told_by_size
)
{%- endmacro %}


{#
    Generic test of correct attribution. Failures are the records (people) of the original that are
    found: all of them bear the average. It fails where nobody is found. With `max_excess` it passes
    only where the difference to the holdout is shown.
#}
{% macro correct_attribution_failures(
    stack, unknown=false, max_average=none, max_gain=none, max_excess=none
) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_attribution(stack, unknown, max_excess is not none) | trim }}
{%- endset %}
{% set average = kanon_sql.quotient("measured.kanon_right", "measured.kanon_matched") %}
{% set baseline = kanon_sql.quotient(kanon_sql.quotient("measured.kanon_base", "measured.kanon_attacked"), "measured.kanon_matched") %}
{{ kanon_sql.synthetic_failures(
    stack, ctes,
    failures="measured.kanon_matched",
    columns=["kanon_attacked", "kanon_matched", "kanon_right"],
    over=["measured.kanon_matched = 0"] + (
        [average ~ " > " ~ kanon_sql.number(max_average) ~ " + " ~ kanon_sql.slack()] if max_average is not none else []
    ) + (
        [average ~ " - " ~ baseline ~ " > " ~ kanon_sql.number(max_gain) ~ " + " ~ kanon_sql.slack()] if max_gain is not none else []
    ),
    max_excess=max_excess,
    compared={
        "x": "kanon_right", "n": "kanon_attacked", "y": "kanon_right_in_holdout", "m": "kanon_holdout",
    }
) }}
{%- endmacro %}


{% test correct_attribution(model) -%}
{% set arguments = kanon_sql.test_arguments("correct_attribution", model, kwargs, {
    "max_average": {"most": 1}, "max_gain": {"least": -1, "most": 1},
    "max_excess": {"least": -1, "most": 1},
}, ["sensitive", "original"]) -%}
{{ kanon_sql.tidy(kanon_sql.correct_attribution_failures(**arguments), model) }}
{%- endtest %}
