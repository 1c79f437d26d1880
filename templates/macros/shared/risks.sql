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
{% macro prosecutor_risk_failures(relation, columns, max_highest=none, max_average=none, max_at_risk=none, threshold=0.2, entity=none, wildcard=false) %}
{% set people = "kanon_records" if wildcard else "kanon_size * kanon_classes" %}
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
        {{ "sum(" ~ kanon_sql.quotient("kanon_records", "kanon_size") ~ ")" if wildcard else "sum(kanon_classes)" }} as kanon_found,
        sum({{ people }}) as kanon_people,
        {{ kanon_sql.quotient("1", "min(kanon_size)") }} as achieved,
        {{ kanon_sql.quotient("sum(" ~ kanon_sql.quotient("kanon_records", "kanon_size") ~ ")" if wildcard else "sum(kanon_classes)", "sum(" ~ people ~ ")") }} as average
    from class_sizes
)
{%- endset %}
{% set broken = [] %}
{% set broken = broken + ["measured.violating_classes > 0"] if max_highest is not none else broken %}
{% set broken = broken + [("measured.average > " ~ kanon_sql.number(max_average) ~ " + " ~ kanon_sql.slack()) if wildcard else kanon_sql.more_than_share("measured.kanon_found", max_average, "measured.kanon_people")] if max_average is not none else broken %}
{% set broken = broken + [kanon_sql.more_than_share("measured.kanon_at_risk", max_at_risk, "measured.kanon_people")] if max_at_risk is not none else broken %}
{{ kanon_sql.told_failures(ctes, broken | join(" or "), "coalesce(nullif(measured.violating_records, 0), " ~ kanon_sql.whole_records("measured.kanon_found") ~ ")", ["violating_classes", "violating_records", "achieved", "average"], entity, relation) }}
{%- endmacro %}


{# The test of journalist risk, in the same words; a reference that can't contain the release
   proves nothing, unless it is made to with `union`. #}
{% macro journalist_risk_failures(relation, columns, reference, pairs, max_highest=none, max_average=none, max_at_risk=none, threshold=0.2, entity=none, reference_entity=none, reference_weight=none, union=false) %}
{% set bound = max_highest if max_highest is not none else threshold if max_at_risk is not none else none %}
{% set measures = ["sum(kanon_records) as kanon_records", kanon_sql.people_where(kanon_sql.journalist_risk(threshold), "journalist_risk_at_risk")] %}
{% set measures = measures + [kanon_sql.classes_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated"), kanon_sql.records_where(kanon_sql.journalist_risk(bound), "journalist_risk_violated")] if bound is not none else measures %}
{% set statement = kanon_sql.k_map(relation, columns, entity, reference, pairs, reference_entity, reference_weight, measures) %}
{% set linked = kanon_sql.quotient("kanon_reidentified", "kanon_sizes") %}
{% set by_class = kanon_sql.quotient("kanon_classes", "kanon_unions") %}
{% set nothing = "cast(null as " ~ kanon_sql.whole_type() ~ ")" %}
{% set figures = [
    ("kanon_journalist_risk_violated_classes" if bound is not none else nothing) ~ " as violating_classes",
    ("kanon_journalist_risk_violated_records" if bound is not none else nothing) ~ " as violating_records",
    kanon_sql.quotient("1", "kanon_least_union") ~ " as achieved",
    "case when " ~ by_class ~ " > " ~ linked ~ " then " ~ by_class ~ " else " ~ linked ~ " end as average",
] %}
{% set broken = [] if union else [kanon_sql.not_contained()] %}
{% set broken = broken + ["measured.violating_classes > 0"] if max_highest is not none else broken %}
{% set broken = broken + ["measured.average > " ~ kanon_sql.number(max_average) ~ " + " ~ kanon_sql.slack()] if max_average is not none else broken %}
{% set broken = broken + [kanon_sql.more_than_share("measured.kanon_journalist_risk_at_risk_people", max_at_risk, "measured.kanon_sizes")] if max_at_risk is not none else broken %}
{{ kanon_sql.told_failures(kanon_sql.measured_beside_reference(statement, figures, reference, reference_weight), broken | join(" or "), "coalesce(nullif(measured.violating_records, 0), nullif(measured.unmatched_records, 0), " ~ kanon_sql.whole_records("measured.kanon_reidentified") ~ ")", ["violating_classes", "violating_records", "achieved", "average", "unmatched_classes", "unmatched_records", "exceeding_classes"], entity, relation, reference_weight is not none) }}
{%- endmacro %}


{# The test of marketer risk: the records at risk are those that are expected to be found. #}
{% macro marketer_risk_failures(relation, columns, reference, pairs, max_average, entity=none, reference_entity=none, reference_weight=none, union=false) %}
{% set statement = kanon_sql.k_map(relation, columns, entity, reference, pairs, reference_entity, reference_weight, ["sum(kanon_records) as kanon_records"]) %}
{% set figures = [kanon_sql.quotient("kanon_reidentified", "kanon_sizes") ~ " as achieved"] %}
{% set broken = "measured.achieved > " ~ kanon_sql.number(max_average) ~ " + " ~ kanon_sql.slack() %}
{{ kanon_sql.told_failures(kanon_sql.measured_beside_reference(statement, figures, reference, reference_weight), broken if union else broken ~ " or " ~ kanon_sql.not_contained(), kanon_sql.whole_records("measured.kanon_reidentified"), ["achieved", "unmatched_classes", "unmatched_records", "exceeding_classes"], entity, relation, reference_weight is not none) }}
{%- endmacro %}


{# The test of sample uniqueness: the records at risk are those that are alone. #}
{% macro sample_uniqueness_failures(relation, columns, max_share, entity=none, wildcard=false) %}
{% set people = "kanon_records" if wildcard else "kanon_size * kanon_classes" %}
{% set ctes %}
with

class_sizes as (
    {{ kanon_sql.sizes_asked(relation, columns, entity, wildcard) | trim | indent(4) }}
),

measured as (
    select
        coalesce(sum(kanon_records), 0) as records,
        sum({{ people }}) as kanon_people,
        sum(case when kanon_size = 1 then {{ people }} else 0 end) as uniques,
        {{ kanon_sql.quotient("sum(case when kanon_size = 1 then " ~ people ~ " else 0 end)", "sum(" ~ people ~ ")") }} as achieved
    from class_sizes
)
{%- endset %}
{{ kanon_sql.told_failures(ctes, kanon_sql.more_than_share("measured.uniques", max_share, "measured.kanon_people"), "measured.uniques", ["uniques", "achieved"], entity, relation) }}
{%- endmacro %}
