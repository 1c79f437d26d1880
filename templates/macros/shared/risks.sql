{#
    The chance of being re-identified, and what small classes say of it. Each macro is a part of
    a SELECT over classes with their kanon_size, and for those who link, their kanon_union: the
    people of the reference, or of the release where those are more.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16;
    Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2.
#}

{# Whoever does not know it finds one of those in the reference: 1 / people is above a bound. #}
{% macro journalist_risk(bound) -%}
{{ kanon_sql.chance_above(bound, "kanon_union") }}
{%- endmacro %}


{# Whoever links everyone finds so many of them. #}
{% macro marketer_risk() -%}
sum({{ kanon_sql.quotient("kanon_size", "kanon_union") }}) as kanon_reidentified
{%- endmacro %}


{# The records (people) that are alone in their class. #}
{% macro sample_uniqueness() -%}
sum(case when kanon_size = 1 then kanon_size else 0 end) as kanon_uniques
{%- endmacro %}


{#
    The classes of a sample by their size and the people of the population that its survey
    weights say they stand for: the individual risk is a function of both, and kanon_people says
    how many have it. A person of several records of a class counts once in it, with the least of
    their weights; a person of several classes has the least size and the least weight of any,
    which is the risk of the riskiest of them or more.

    Benedetti, Franconi 1998, Statistical and technological solutions for controlled data
    dissemination, NTTS.
#}
{% macro survey_classes(relation, columns, weight, entity=none, first=none) %}
with

{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum({{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }}) as kanon_weight
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
)
{%- else %}
class_people as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
        {{ kanon_sql.ident(entity) }} as kanon_entity,
        min({{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }}) as kanon_weight
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }},
        {{ kanon_sql.ident(entity) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum(kanon_weight) as kanon_weight
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size,
        min(classes.kanon_weight) as kanon_weight
    from class_people
    inner join classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "classes." ~ kanon_sql.alias(column), "class_people." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
    group by class_people.kanon_entity
)
{%- endif %}


select
    kanon_size,
    kanon_weight,
    {{ "sum(kanon_size)" if entity is none else "count(*)" }} as kanon_people
from {{ "classes" if entity is none else "people" }}
group by
    kanon_size,
    kanon_weight
order by
    kanon_size,
    kanon_weight
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{# What is in the classes whose chance is above a bound; NULL where no bound speaks of classes. #}
{% macro above_bound(bound, name, counted) -%}
{% if bound is none -%}
cast(null as {{ kanon_sql.whole_type() }}) as {{ name }}
{%- else -%}
coalesce(sum(case when {{ kanon_sql.chance_above(bound, "kanon_size") }} then {{ counted }} else 0 end), 0) as {{ name }}
{%- endif %}
{%- endmacro %}


{#
    The test of prosecutor risk. Where no single class is above a bound, the records at risk are
    those that are expected to be found.
#}
{% macro prosecutor_risk_failures(
    relation, columns,
    max_highest=none, max_average=none, max_at_risk=none, threshold=0.2, entity=none, wildcard=false
) %}
{% set is_exact = entity is none and not wildcard %}
{% set records = kanon_sql.records_of_size(entity, wildcard) %}
{% set found = "measured_classes.kanon_classes" if is_exact else "measured_people.kanon_found" %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set ctes %}
with

{{ kanon_sql.sets_of_sizes(relation, columns, entity, wildcard) }},

{{ kanon_sql.everyone_once(columns, entity, wildcard) }},

measured_classes as (
    select
        coalesce(sum({{ records }}), 0) as records,
        {{ kanon_sql.above_bound(bound, "violating_classes", "1") }},
        {{ kanon_sql.above_bound(bound, "violating_records", records) }},
        count(*) as kanon_classes,
        {{ kanon_sql.quotient("1", "min(kanon_size)") }} as achieved
    from classes
),

measured_people as (
    select
        {{ kanon_sql.above_bound(threshold, "kanon_at_risk", "kanon_people") }},
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
        measured_people.kanon_at_risk,
        measured_people.kanon_people,
        {{ found }} as kanon_found,
        {{ kanon_sql.quotient(found, "measured_people.kanon_people") }} as average
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
{{ kanon_sql.told_failures(
    ctes,
    violated=violated | join(" or "),
    failures="coalesce(nullif(measured.violating_records, 0), " ~ kanon_sql.whole_records("measured.kanon_found") ~ ")",
    columns=["violating_classes", "violating_records", "achieved", "average"],
    relation=relation, entity=entity
) }}
{%- endmacro %}


{# The test of journalist risk, in the same words; a reference that can't contain the release
   proves nothing, unless it is made to with `union`. #}
{% macro journalist_risk_failures(
    relation, columns, reference, pairs,
    max_highest=none, max_average=none, max_at_risk=none, threshold=0.2,
    entity=none, reference_entity=none, reference_weight=none, union=false, complete=false
) %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set measures = [
    "sum(" ~ kanon_sql.records_of_class(entity) ~ ") as kanon_records",
    kanon_sql.people_where(kanon_sql.journalist_risk(threshold), "journalist_risk_at_risk"),
] %}
{% if bound is not none %}
{% set measures = measures + [
    kanon_sql.classes_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated"),
    kanon_sql.records_where(
        kanon_sql.journalist_risk(bound), "journalist_risk_violated", kanon_sql.records_of_class(entity)
    ),
] %}
{% endif %}
{% set nothing = "cast(null as " ~ kanon_sql.whole_type() ~ ")" %}
{% set counted = "matched_classes" if entity is none else "matched_people" %}
{% set of_reference = kanon_sql.quotient("matched_classes.kanon_classes", "matched_classes.kanon_unions") %}
{% set of_release = kanon_sql.quotient(counted ~ ".kanon_reidentified", counted ~ ".kanon_sizes") %}
{% set ctes %}
with

{{ kanon_sql.sets_of_k_map(
    relation, columns, entity, reference, pairs, reference_entity, reference_weight,
    each_person=entity is not none
) }},

matched_classes as (
    {{ kanon_sql.counts_of_k_map(
        measures, entity, "classes" if entity is none else "linked_classes"
    ) | trim | indent(4) }}
),
{% if entity is not none %}

-- The same of people: the last set above holds each of them as a class of one.
matched_people as (
    {{ kanon_sql.counts_of_k_map(measures, entity) | trim | indent(4) }}
),
{% endif %}

measured as (
    select
        coalesce(matched_classes.kanon_records, 0) as records,
        {{ nothing if bound is none else "matched_classes.kanon_journalist_risk_violated_classes" }} as violating_classes,
        {{ nothing if bound is none else "matched_classes.kanon_journalist_risk_violated_records" }} as violating_records,
        {{ counted }}.kanon_journalist_risk_at_risk_people as kanon_at_risk,
        {{ counted }}.kanon_reidentified,
        {{ counted }}.kanon_sizes,
        {{ kanon_sql.quotient("1", "matched_classes.kanon_least_union") }} as achieved,
        case
            when {{ of_reference }} > {{ of_release }}
            then {{ of_reference }}
            else {{ of_release }}
        end as average,
        matched_classes.kanon_unmatched_classes as unmatched_classes,
        matched_classes.kanon_unmatched_records as unmatched_records,
        matched_classes.kanon_exceeding_classes as exceeding_classes
    from matched_classes
{% if entity is not none %}
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
{{ kanon_sql.told_failures(
    ctes,
    violated=violated | join(" or "),
    failures=failures,
    columns=[
        "violating_classes", "violating_records", "achieved", "average",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    relation=relation, entity=entity, reference=reference, reference_weight=reference_weight,
    reference_entity=reference_entity, complete=complete
) }}
{%- endmacro %}


{# The test of marketer risk: the records at risk are those that are expected to be found. #}
{% macro marketer_risk_failures(
    relation, columns, reference, pairs, max_average,
    entity=none, reference_entity=none, reference_weight=none, union=false, complete=false
) %}
{% set measures = ["sum(" ~ kanon_sql.records_of_class(entity) ~ ") as kanon_records"] %}
{% set counted = "matched_classes" if entity is none else "matched_people" %}
{% set ctes %}
with

{{ kanon_sql.sets_of_k_map(
    relation, columns, entity, reference, pairs, reference_entity, reference_weight,
    each_person=entity is not none
) }},

matched_classes as (
    {{ kanon_sql.counts_of_k_map(
        measures, entity, "classes" if entity is none else "linked_classes"
    ) | trim | indent(4) }}
),
{% if entity is not none %}

-- The same of people: the last set above holds each of them as a class of one.
matched_people as (
    {{ kanon_sql.counts_of_k_map(measures, entity) | trim | indent(4) }}
),
{% endif %}

measured as (
    select
        coalesce(matched_classes.kanon_records, 0) as records,
        {{ counted }}.kanon_reidentified,
        {{ kanon_sql.quotient(counted ~ ".kanon_reidentified", counted ~ ".kanon_sizes") }} as achieved,
        matched_classes.kanon_unmatched_classes as unmatched_classes,
        matched_classes.kanon_unmatched_records as unmatched_records,
        matched_classes.kanon_exceeding_classes as exceeding_classes
    from matched_classes
{% if entity is not none %}
    cross join matched_people
{% endif %}
)
{%- endset %}
{% set violated = [kanon_sql.above_average("measured.achieved", max_average)] %}
{% if not union %}
{% set violated = violated + [kanon_sql.not_contained()] %}
{% endif %}
{{ kanon_sql.told_failures(
    ctes,
    violated=violated | join(" or "),
    failures=kanon_sql.whole_records("measured.kanon_reidentified"),
    columns=["achieved", "unmatched_classes", "unmatched_records", "exceeding_classes"],
    relation=relation, entity=entity, reference=reference, reference_weight=reference_weight,
    reference_entity=reference_entity, complete=complete
) }}
{%- endmacro %}


{# Whether an average is above its bound, but for the last digits. #}
{% macro above_average(average, bound) -%}
{{ average }} > {{ kanon_sql.number(bound) }} + {{ kanon_sql.slack() }}
{%- endmacro %}


{# The test of sample uniqueness: the records at risk are those that are alone. #}
{% macro sample_uniqueness_failures(relation, columns, max_share, entity=none, wildcard=false) %}
{% set uniques = "sum(case when kanon_size = 1 then kanon_people else 0 end)" %}
{% set ctes %}
with

{{ kanon_sql.sets_of_sizes(relation, columns, entity, wildcard) }},

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
{{ kanon_sql.told_failures(
    ctes,
    violated=kanon_sql.more_than_share("measured.uniques", max_share, "measured.kanon_people"),
    failures="measured.uniques",
    columns=["uniques", "achieved"],
    relation=relation, entity=entity
) }}
{%- endmacro %}
