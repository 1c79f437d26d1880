{#
    The chance of being re-identified, and what small classes say of it. Each macro is a part of
    a SELECT over classes with their kanon_size, and for those who link, their kanon_union: the
    people of the reference, or of the release where those are more.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16;
    Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2.
#}

{# Whoever does not know it finds one of those in the reference: 1 / people is above a bound. #}
{% macro journalist_risk(bound) -%}
{{ kanon_sql.more_than_share("1", bound, "kanon_union") }}
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
    weights say they stand for: the individual risk is a function of both. A person of several
    records counts once, with the least of their weights.

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
)
{%- endif %}


select
    kanon_size,
    kanon_weight,
    count(*) as kanon_classes
from classes
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
coalesce(sum(case when {{ kanon_sql.more_than_share("1", bound, "kanon_size") }} then {{ counted }} else 0 end), 0) as {{ name }}
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
{% set people = "kanon_records" if wildcard else "kanon_size * kanon_classes" %}
{% set found = "sum(" ~ kanon_sql.quotient("kanon_records", "kanon_size") ~ ")" if wildcard else "sum(kanon_classes)" %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set ctes %}
with

class_sizes as (
    {{ kanon_sql.sizes_asked(relation, columns, entity, wildcard) | trim | indent(4) }}
),

measured as (
    select
        coalesce(sum(kanon_records), 0) as records,
        {{ kanon_sql.above_bound(bound, "violating_classes", "kanon_classes") }},
        {{ kanon_sql.above_bound(bound, "violating_records", "kanon_records") }},
        {{ kanon_sql.above_bound(threshold, "kanon_at_risk", people) }},
        {{ found }} as kanon_found,
        sum({{ people }}) as kanon_people,
        {{ kanon_sql.quotient("1", "min(kanon_size)") }} as achieved,
        {{ kanon_sql.quotient(found, "sum(" ~ people ~ ")") }} as average
    from class_sizes
)
{%- endset %}
{% set violated = ["measured.violating_classes > 0"] if max_highest is not none else [] %}
{% if max_average is not none and wildcard %}
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
    "sum(kanon_records) as kanon_records",
    kanon_sql.people_where(kanon_sql.journalist_risk(threshold), "journalist_risk_at_risk"),
] %}
{% if bound is not none %}
{% set measures = measures + [
    kanon_sql.classes_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated"),
    kanon_sql.records_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated"),
] %}
{% endif %}
{% set statement = kanon_sql.k_map(
    relation, columns, entity, reference, pairs, reference_entity, reference_weight, measures
) %}
{% set nothing = "cast(null as " ~ kanon_sql.whole_type() ~ ")" %}
{% set ctes %}
with

matched_classes as (
    {{ statement | trim | indent(4) }}
),

measured as (
    select
        coalesce(kanon_records, 0) as records,
        {{ nothing if bound is none else "kanon_journalist_risk_violated_classes" }} as violating_classes,
        {{ nothing if bound is none else "kanon_journalist_risk_violated_records" }} as violating_records,
        kanon_journalist_risk_at_risk_people as kanon_at_risk,
        kanon_reidentified,
        kanon_sizes,
        {{ kanon_sql.quotient("1", "kanon_least_union") }} as achieved,
        case
            when {{ kanon_sql.quotient("kanon_classes", "kanon_unions") }} > {{ kanon_sql.quotient("kanon_reidentified", "kanon_sizes") }}
            then {{ kanon_sql.quotient("kanon_classes", "kanon_unions") }}
            else {{ kanon_sql.quotient("kanon_reidentified", "kanon_sizes") }}
        end as average,
        kanon_unmatched_classes as unmatched_classes,
        kanon_unmatched_records as unmatched_records,
        kanon_exceeding_classes as exceeding_classes
    from matched_classes
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
{% set measures = ["sum(kanon_records) as kanon_records"] %}
{% set statement = kanon_sql.k_map(
    relation, columns, entity, reference, pairs, reference_entity, reference_weight, measures
) %}
{% set ctes %}
with

matched_classes as (
    {{ statement | trim | indent(4) }}
),

measured as (
    select
        coalesce(kanon_records, 0) as records,
        kanon_reidentified,
        {{ kanon_sql.quotient("kanon_reidentified", "kanon_sizes") }} as achieved,
        kanon_unmatched_classes as unmatched_classes,
        kanon_unmatched_records as unmatched_records,
        kanon_exceeding_classes as exceeding_classes
    from matched_classes
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
{% set people = "kanon_records" if wildcard else "kanon_size * kanon_classes" %}
{% set uniques = "sum(case when kanon_size = 1 then " ~ people ~ " else 0 end)" %}
{% set ctes %}
with

class_sizes as (
    {{ kanon_sql.sizes_asked(relation, columns, entity, wildcard) | trim | indent(4) }}
),

measured as (
    select
        coalesce(sum(kanon_records), 0) as records,
        sum({{ people }}) as kanon_people,
        {{ uniques }} as uniques,
        {{ kanon_sql.quotient(uniques, "sum(" ~ people ~ ")") }} as achieved
    from class_sizes
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
