{#
    k-map: every combination of quasi-identifier values of the release occurs at least k times in
    the reidentification dataset. A class of the release that the reference lacks counts 0: both
    sides are aggregated first and added up, so that no class is lost in a join.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    IJUFKS 10(5), section 2. Risks: El Emam 2013, Guide to the de-identification of personal
    health information, chapter 16 (journalist and marketer risk).

    `pairs` are the quasi-identifiers with the reference's column for each and how their cells
    are compared: `as_is` by equality, `as_text` by equality of their text, `by_wildcard` also
    where either is NULL, `by_pattern` also where a generalised cell takes in the reference's
    (see matching_cells.sql).
    `measures` are what the checks ask of each class, where kanon_population is the number of
    people of the reference in it. With `each_person` they are asked of each person of the release
    instead, as of a class of one: of those that the person is in, the one that the reference has
    the fewest people in is where they are easiest to find.
#}
{% macro k_map(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, measures,
    wildcard=false, each_person=false
) %}
with

{{ kanon_sql.release_beside_reference(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, wildcard
) }},

{{ "linked_classes" if each_person else "classes" }} as (
    select
{% if each_person %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% endif %}
        kanon_size,
        kanon_records,
        kanon_population,
        case when kanon_population < kanon_size then kanon_size else kanon_population end as kanon_union
    from matched
)
{%- if each_person %},

class_people as (
    select
{% for pair in pairs %}
        {{ kanon_sql.aliased(
            kanon_sql.cell(pair, kanon_sql.alias(pair.column), kanon_sql.type_of(pair.column)),
            pair.column
        ) }},
{% endfor %}
        {{ kanon_sql.alias(entity) }},
        kanon_records
    from release_people
),

classes as (
    {{ kanon_sql.of_each_person("class_people", "linked_classes", columns, entity, [
        "1 as kanon_size",
        "sum(class_people.kanon_records) as kanon_records",
        "min(linked_classes.kanon_population) as kanon_population",
        "min(linked_classes.kanon_union) as kanon_union",
    ]) | trim | indent(4) }}
)
{%- endif %}


select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    min(kanon_population) as kanon_least_population,
    min(kanon_union) as kanon_least_union,
    sum(kanon_union) as kanon_unions,
    {{ kanon_sql.marketer_risk() }},
    {{ kanon_sql.classes_where("kanon_population = 0", "unmatched") }},
    {{ kanon_sql.records_where("kanon_population = 0", "unmatched") }},
    {{ kanon_sql.classes_where("kanon_population > 0 and kanon_population < kanon_size", "exceeding") }}
{%- for measure in measures %},
    {{ measure }}
{%- endfor %}

from classes
{%- endmacro %}


{# A class of the release with too few matches. #}
{% macro k_map_violated(population, k) -%}
{{ population }} < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# Both sides aggregated and matched: each class of the release with its people in both. #}
{% macro release_beside_reference(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, wildcard=false
) %}
{% set matched = pairs | selectattr("how", "in", ["by_pattern", "by_wildcard"]) | list %}
{% if entity is not none %}
release_people as (
    {{ kanon_sql.frequency_set(release, columns + [entity]) | trim | indent(4) }}
),

{% endif %}
release_classes as (
    select
{% for pair in pairs %}
        {{ kanon_sql.aliased(
            kanon_sql.cell(
                pair,
                kanon_sql.alias(pair.column)
                    if entity is not none
                    else kanon_sql.ident(pair.column),
                kanon_sql.type_of(pair.column)
            ),
            pair.column
        ) }},
{% endfor %}
        count(*) as kanon_size,
        {{ "count(*)" if entity is none else "sum(kanon_records)" }} as kanon_records
    from {{ (release if entity is none else "release_people") | indent(4) }}
    group by
{% for pair in pairs %}
        {{ kanon_sql.cell(
            pair,
            kanon_sql.alias(pair.column) if entity is not none else kanon_sql.ident(pair.column),
            kanon_sql.type_of(pair.column)
        ) }}{{ "," if not loop.last }}
{% endfor %}
),

reference_classes as (
    select
{% for pair in pairs %}
        {{ kanon_sql.aliased(
            kanon_sql.cell(
                pair, kanon_sql.ident(pair.reference), kanon_sql.type_of(pair.reference)
            ),
            pair.column
        ) }},
{% endfor %}
{% if reference_entity is not none %}
        {{ kanon_sql.ident(reference_entity) }} as kanon_entity
{% elif reference_weight is not none %}
        sum({{ kanon_sql.weight_of(reference_weight) }}) as kanon_population
{% else %}
        count(*) as kanon_population
{% endif %}
    from {{ reference | indent(4) }}
    group by
{% for pair in pairs %}
        {{ kanon_sql.cell(
            pair, kanon_sql.ident(pair.reference), kanon_sql.type_of(pair.reference)
        ) }}{{ "," if not loop.last or reference_entity is not none }}
{% endfor %}
{% if reference_entity is not none %}
        {{ kanon_sql.ident(reference_entity) }}
{% endif %}
),
{% for pair in matched %}

{{ kanon_sql.matching_cells(loop.index, pair, wildcard) }},
{% endfor %}

reference_as_released as (
    select
{% for pair in pairs %}
        {{ "matching_cells_" ~ (matched.index(pair) + 1) ~ ".kanon_released"
            if pair in matched
            else "reference_classes." ~ kanon_sql.alias(pair.column) }} as {{ kanon_sql.alias(pair.column) }},
{% endfor %}
        {{ "sum(reference_classes.kanon_population)"
            if reference_entity is none
            else "count(distinct reference_classes.kanon_entity)" }} as kanon_population
    from reference_classes
{% for pair in matched %}
    inner join matching_cells_{{ loop.index }}
        on matching_cells_{{ loop.index }}.kanon_referred = reference_classes.{{ kanon_sql.alias(pair.column) }}
{% endfor %}
    group by
{% for pair in pairs %}
        {{ "matching_cells_" ~ (matched.index(pair) + 1) ~ ".kanon_released"
            if pair in matched
            else "reference_classes." ~ kanon_sql.alias(pair.column) }}{{ "," if not loop.last }}
{% endfor %}
),

both_sides as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        kanon_size,
        kanon_records,
        0 as kanon_population
    from release_classes

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        0 as kanon_size,
        0 as kanon_records,
        kanon_population
    from reference_as_released
),

matched as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_size) as kanon_size,
        sum(kanon_records) as kanon_records,
        sum(kanon_population) as kanon_population
    from both_sides
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
    having sum(kanon_size) > 0
)
{%- endmacro %}


{# A cell as both sides are compared by it; where it is joined it is text, and never NULL. #}
{% macro cell(pair, column, type) -%}
{% if pair.how == "as_is" -%}
{{ column }}
{%- elif pair.how == "as_text" -%}
{{ kanon_sql.as_text(column, type) }}
{%- else -%}
coalesce('=' || {{ kanon_sql.as_text(column, type) }}, '')
{%- endif %}
{%- endmacro %}


{#
    The test. A class that the reference lacks counts 0, or with `union` what the release has of
    it.
#}
{% macro k_map_failures(
    relation, columns, k, reference, pairs,
    entity=none, reference_entity=none, reference_weight=none, union=false, wildcard=false, complete=false
) %}
{% set too_few = kanon_sql.k_map_violated("kanon_union" if union else "kanon_population", k) %}
{% set measures = [
    "sum(kanon_records) as kanon_records",
    kanon_sql.classes_where(too_few, "k_map_violated"),
    kanon_sql.records_where(too_few, "k_map_violated"),
] %}
{% set statement = kanon_sql.k_map(
    relation, columns, entity, reference, pairs, reference_entity, reference_weight, measures, wildcard
) %}
{% set ctes %}
with

matched_classes as (
    {{ statement | trim | indent(4) }}
),

measured as (
    select
        coalesce(kanon_records, 0) as records,
        kanon_k_map_violated_classes as violating_classes,
        kanon_k_map_violated_records as violating_records,
        {{ "kanon_least_union" if union else "kanon_least_population" }} as achieved,
        kanon_unmatched_classes as unmatched_classes,
        kanon_unmatched_records as unmatched_records,
        kanon_exceeding_classes as exceeding_classes
    from matched_classes
)
{%- endset %}
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=[
        "violating_classes", "violating_records", "achieved",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    relation=relation, entity=entity, reference=reference, reference_weight=reference_weight,
    reference_entity=reference_entity, complete=complete
) }}
{%- endmacro %}
