{#
    Sample uniqueness: the share of records (people) that are unique, in a class of size 1.

    Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2.
#}

{# Number of unique records (people). #}
{% macro sample_uniqueness() -%}
sum(case when kanon_size = 1 then kanon_size else 0 end) as kanon_uniques
{%- endmacro %}


{# Generic test of sample uniqueness; the records at risk are the unique ones. #}
{% macro sample_uniqueness_failures(relation, columns, max_share, entity=none, wildcard=false) %}
{% set uniques = "sum(case when kanon_size = 1 then kanon_people else 0 end)" %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_sizes(relation, columns, entity, wildcard) }},

{{ kanon_sql.everyone_once(columns, entity, wildcard) }},

measured_records as (
    select coalesce(sum({{ kanon_sql.records_of_size(entity, wildcard) }}), 0) as records
    from classes
),

measured_people as (
    select
        sum(kanon_people) as kanon_people,
        {{ uniques }} as uniques,
        {{ kanon_sql.quotient(uniques, "sum(kanon_people)") }} as achieved
    from everyone_once
),

measured as (
    select
        measured_records.records,
        measured_people.kanon_people,
        measured_people.uniques,
        measured_people.achieved
    from measured_records
    cross join measured_people
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated=kanon_sql.more_than_share("measured.uniques", max_share, "measured.kanon_people"),
    failures="measured.uniques",
    columns=["uniques", "achieved"],
    relation=relation, entity=entity
) }}
{%- endmacro %}


{% test sample_uniqueness(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "sample_uniqueness", model, kwargs, {"max_share": {"most": 1}}, ["nulls"]
) -%}
{{ kanon_sql.tidy(kanon_sql.sample_uniqueness_failures(**arguments), model) }}
{%- endtest %}
