{#
    Marketer risk: an attacker who links every record with the reference re-identifies an expected f
    / F of the records of a class; F is kanon_union, the people of the reference, or of the release
    if there are more.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16.
#}

{# Expected number of re-identified records (people). #}
{% macro marketer_risk() -%}
sum({{ kanon_sql.quotient("kanon_size", "kanon_union") }}) as kanon_reidentified
{%- endmacro %}


{# Generic test of marketer risk; the records at risk are the expected re-identifications. #}
{% macro marketer_risk_failures(sides, max_average, union=false, complete=false) %}
{% set measures = ["sum(" ~ kanon_sql.records_of_class(sides.entity) ~ ") as kanon_records"] %}
{% set counted = "matched_classes" if sides.entity is none else "matched_people" %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_matched(sides, measures, shares=[]) }},

measured as (
    select
        coalesce(matched_classes.kanon_records, 0) as records,
        {{ counted }}.kanon_reidentified,
        {{ kanon_sql.quotient(counted ~ ".kanon_reidentified", counted ~ ".kanon_sizes") }} as achieved,
        matched_classes.kanon_unmatched_classes as unmatched_classes,
        matched_classes.kanon_unmatched_records as unmatched_records,
        matched_classes.kanon_exceeding_classes as exceeding_classes
    from matched_classes
{% if sides.entity is not none %}
    cross join matched_people
{% endif %}
)
{%- endset %}
{% set violated = [kanon_sql.above_average("measured.achieved", max_average)] %}
{% if not union %}
{% set violated = violated + [kanon_sql.not_contained()] %}
{% endif %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated=violated | join(" or "),
    failures=kanon_sql.whole_records("measured.kanon_reidentified"),
    columns=["achieved", "unmatched_classes", "unmatched_records", "exceeding_classes"],
    sides=sides, complete=complete
) }}
{%- endmacro %}


{% test marketer_risk(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "marketer_risk", model, kwargs, {"max_average": {"most": 1}}, ["reference"]
) -%}
{{ kanon_sql.tidy(kanon_sql.marketer_risk_failures(**arguments), model) }}
{%- endtest %}
