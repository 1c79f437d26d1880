{#
    Prosecutor risk: an attacker knows of a person in the table, with the quasi-identifiers, and finds
    the person's record with the chance 1 / size of the class. Python computes the risk from the class
    sizes.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16.
#}

{#
    Generic test of prosecutor risk. If no single class is above a bound, the records at risk are
    the expected re-identifications.
#}
{% macro prosecutor_risk_failures(
    relation, columns,
    max_highest=none, max_average=none, max_at_risk=none, threshold=0.2, entity=none, wildcard=false
) %}
{% set is_exact = entity is none and not wildcard %}
{% set records = kanon_sql.records_of_size(entity, wildcard) %}
{% set reidentified = "measured_classes.kanon_classes" if is_exact else "measured_people.kanon_found" %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_sizes(relation, columns, entity, wildcard) }},

{{ kanon_sql.everyone_once(columns, entity, wildcard) }},

measured_classes as (
    select
        coalesce(sum({{ records }}), 0) as records,
        {{ kanon_sql.above_bound(bound, "violating_classes", "1") }},
        {{ kanon_sql.above_bound(bound, "violating_records", records) }},
{% if is_exact %}
        count(*) as kanon_classes,
{% endif %}
        {{ kanon_sql.quotient("1", "min(kanon_size)") }} as achieved
    from classes
),

measured_people as (
    select
{% if max_at_risk is not none %}
        {{ kanon_sql.above_bound(threshold, "kanon_at_risk", "kanon_people") }},
{% endif %}
{% if not is_exact %}
        sum({{ kanon_sql.quotient("kanon_people", "kanon_size") }}) as kanon_found,
{% endif %}
        sum(kanon_people) as kanon_people
    from everyone_once
),

measured as (
    select
        measured_classes.records,
        measured_classes.violating_classes,
        measured_classes.violating_records,
        measured_classes.achieved,
{% if max_at_risk is not none %}
        measured_people.kanon_at_risk,
{% endif %}
{% if max_at_risk is not none or max_average is not none and is_exact %}
        measured_people.kanon_people,
{% endif %}
        {{ reidentified }} as kanon_found,
        {{ kanon_sql.quotient(reidentified, "measured_people.kanon_people") }} as average
    from measured_classes
    cross join measured_people
)
{%- endset %}
{% set violated = ["measured.violating_classes > 0"] if max_highest is not none else [] %}
{% if max_average is not none and not is_exact %}
{% set violated = violated + [kanon_sql.above_average("measured.average", max_average)] %}
{% elif max_average is not none %}
{% set violated = violated + [
    kanon_sql.more_than_share("measured.kanon_found", max_average, "measured.kanon_people")
] %}
{% endif %}
{% if max_at_risk is not none %}
{% set violated = violated + [
    kanon_sql.more_than_share("measured.kanon_at_risk", max_at_risk, "measured.kanon_people")
] %}
{% endif %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated=violated | join(" or "),
    failures="coalesce(nullif(measured.violating_records, 0), " ~ kanon_sql.whole_records("measured.kanon_found") ~ ")",
    columns=["violating_classes", "violating_records", "achieved", "average"],
    relation=relation, entity=entity
) }}
{%- endmacro %}


{% test prosecutor_risk(model) -%}
{% set arguments = kanon_sql.test_arguments("prosecutor_risk", model, kwargs, {
    "max_highest": {"most": 1}, "max_average": {"most": 1}, "max_at_risk": {"most": 1},
    "threshold": {"most": 1, "default": 0.2},
}, ["nulls"]) -%}
{{ kanon_sql.tidy(kanon_sql.prosecutor_risk_failures(**arguments), model) }}
{%- endtest %}
