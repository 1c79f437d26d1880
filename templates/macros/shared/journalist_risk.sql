{#
    Journalist risk: an attacker does not know the people in the table, searches the reference, and
    finds a person with the chance 1 / kanon_union. kanon_union counts the people of the class in the
    reference, or in the release if there are more. The average is the larger of classes / sum of
    kanon_union and the mean over the records; with an entity it is the mean over people, each in
    their class with the fewest.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16.
#}

{# Predicate: the chance 1 / kanon_union is above the bound. #}
{% macro journalist_risk(bound) -%}
{{ kanon_sql.chance_above(bound, "kanon_union") }}
{%- endmacro %}


{#
    Generic test of journalist risk. A reference that can't contain the release is an error, unless
    `union` completes it.
#}
{% macro journalist_risk_failures(
    sides, max_highest=none, max_average=none, max_at_risk=none, threshold=0.2, union=false, complete=false
) %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set measures = ["sum(" ~ kanon_sql.records_of_class(sides.entity) ~ ") as kanon_records"] %}
{% set shares = [
    kanon_sql.people_where(kanon_sql.journalist_risk(threshold), "journalist_risk_at_risk"),
] if max_at_risk is not none else [] %}
{% if bound is not none %}
{% set measures = measures + [
    kanon_sql.classes_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated"),
    kanon_sql.records_where(
        kanon_sql.journalist_risk(bound), "journalist_risk_violated", kanon_sql.records_of_class(sides.entity)
    ),
] %}
{% endif %}
{% set nothing = "cast(null as " ~ kanon_sql.whole_type() ~ ")" %}
{% set counted = "matched_classes" if sides.entity is none else "matched_people" %}
{% set of_reference = kanon_sql.quotient("matched_classes.kanon_classes", "matched_classes.kanon_unions") %}
{% set of_release = kanon_sql.quotient(counted ~ ".kanon_reidentified", counted ~ ".kanon_sizes") %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_matched(
    sides, measures, shares,
    aggregates=["classes", "least_union", "unions"] if sides.entity is none else ["least_union"]
) }},

measured as (
    select
        coalesce(matched_classes.kanon_records, 0) as records,
        {{ nothing if bound is none else "matched_classes.kanon_journalist_risk_violated_classes" }} as violating_classes,
        {{ nothing if bound is none else "matched_classes.kanon_journalist_risk_violated_records" }} as violating_records,
{% if max_at_risk is not none %}
        {{ counted }}.kanon_journalist_risk_at_risk_people as kanon_at_risk,
        {{ counted }}.kanon_sizes,
{% endif %}
        {{ counted }}.kanon_reidentified,
        {{ kanon_sql.quotient("1", "matched_classes.kanon_least_union") }} as achieved,
{% if sides.entity is none %}
        case
            when {{ of_reference }} > {{ of_release }}
            then {{ of_reference }}
            else {{ of_release }}
        end as average,
{% else %}
        {{ of_release }} as average,
{% endif %}
        matched_classes.kanon_unmatched_classes as unmatched_classes,
        matched_classes.kanon_unmatched_records as unmatched_records,
        matched_classes.kanon_exceeding_classes as exceeding_classes
    from matched_classes
{% if sides.entity is not none %}
    cross join matched_people
{% endif %}
)
{%- endset %}
{% set violated = [] if union else [kanon_sql.not_contained()] %}
{% if max_highest is not none %}
{% set violated = violated + ["measured.violating_classes > 0"] %}
{% endif %}
{% if max_average is not none %}
{% set violated = violated + [kanon_sql.above_average("measured.average", max_average)] %}
{% endif %}
{% if max_at_risk is not none %}
{% set violated = violated + [
    kanon_sql.more_than_share("measured.kanon_at_risk", max_at_risk, "measured.kanon_sizes")
] %}
{% endif %}
{% set failures %}
coalesce(
    nullif(measured.violating_records, 0),
    nullif(measured.unmatched_records, 0),
    {{ kanon_sql.whole_records("measured.kanon_reidentified") }}
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated=violated | join(" or "),
    failures=failures,
    columns=[
        "violating_classes", "violating_records", "achieved", "average",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    sides=sides, complete=complete
) }}
{%- endmacro %}


{% test journalist_risk(model) -%}
{% set arguments = kanon_sql.test_arguments("journalist_risk", model, kwargs, {
    "max_highest": {"most": 1}, "max_average": {"most": 1}, "max_at_risk": {"most": 1},
    "threshold": {"most": 1, "default": 0.2},
}, ["reference"]) -%}
{{ kanon_sql.tidy(kanon_sql.journalist_risk_failures(**arguments), model) }}
{%- endtest %}
