{#
    delta-presence: for everyone in the reidentification dataset the chance of being in the
    release, f / F in the class, stays within two bounds. A class of the reference that the
    release lacks has the chance 0, so here no class of the reference may be lost, as no class of
    the release may in k-map. With `flags`, which are names of `class_verdicts`, one row says how
    many people of the reference are in a class that has one: each once, in however many.

    Nergiz, Atzori, Clifton 2007, Hiding the presence of individuals from shared databases, ACM
    SIGMOD.
#}
{% macro delta_presence(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, measures=[],
    class_verdicts=[], flags=[]
) %}
{% set matched = pairs | selectattr("how", "in", ["by_pattern", "by_wildcard"]) | list %}
with

{{ kanon_sql.release_beside_reference(
    release, columns, entity, reference, pairs, reference_entity, reference_weight
) }},

reference_in_release as (
    select distinct
{{ kanon_sql.aliases_in("reference_classes", columns) | indent(4, first=true) }}
    from reference_classes
{% for pair in matched %}
    inner join matching_cells_{{ loop.index }}
        on matching_cells_{{ loop.index }}.kanon_referred = reference_classes.{{ kanon_sql.alias(pair.column) }}
{% endfor %}
    inner join release_classes
{% for pair in pairs %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "release_classes." ~ kanon_sql.alias(pair.column),
            "matching_cells_" ~ (matched.index(pair) + 1) ~ ".kanon_released"
                if pair in matched
                else "reference_classes." ~ kanon_sql.alias(pair.column)
        ) }}
{% endfor %}
),

reference_sides as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        {{ "kanon_population" if reference_entity is none else "1 as kanon_population" }},
        0 as kanon_in_release
    from reference_classes

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        0 as kanon_population,
        1 as kanon_in_release
    from reference_in_release
),

reference_only as (
    select
{% if flags %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% endif %}
        sum(kanon_population) as kanon_population
    from reference_sides
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
    having max(kanon_in_release) = 0
),

classes as (
    select
{% if flags %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% endif %}
        kanon_size,
        kanon_records,
        kanon_population,
        case when kanon_population < kanon_size then kanon_size else kanon_population end as kanon_union
    from matched

    union all

    select
{% if flags %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% endif %}
        0 as kanon_size,
        0 as kanon_records,
        kanon_population,
        kanon_population as kanon_union
    from reference_only
)
{%- if flags %},

judged_classes as (
    select
        classes.*,
{% for verdict in class_verdicts %}
        {{ verdict.expression }} as {{ verdict.name }}{{ "," if not loop.last }}
{% endfor %}
    from classes
),

class_people as (
    select
{% for pair in pairs %}
        {{ "matching_cells_" ~ (matched.index(pair) + 1) ~ ".kanon_released"
            if pair in matched
            else "reference_classes." ~ kanon_sql.alias(pair.column) }} as {{ kanon_sql.alias(pair.column) }},
{% endfor %}
        reference_classes.kanon_entity
    from reference_classes
{% for pair in matched %}
    inner join matching_cells_{{ loop.index }}
        on matching_cells_{{ loop.index }}.kanon_referred = reference_classes.{{ kanon_sql.alias(pair.column) }}
{% endfor %}

    union all

    select
{{ kanon_sql.aliases_in("reference_classes", columns) | indent(4, first=true) }},
        reference_classes.kanon_entity
    from reference_classes
    inner join reference_only
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "reference_only." ~ kanon_sql.alias(column), "reference_classes." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
),

people as (
    select
        class_people.kanon_entity,
{% for flag in flags %}
        max(judged_classes.{{ flag }}) as {{ flag }}{{ "," if not loop.last }}
{% endfor %}
    from class_people
    inner join judged_classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "judged_classes." ~ kanon_sql.alias(column), "class_people." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
    group by class_people.kanon_entity
)

select
{% for flag in flags %}
    sum({{ flag }}) as {{ flag }}_people{{ "," if not loop.last }}
{% endfor %}
from people
{%- else %}


select
    sum(case when kanon_size > 0 then 1 else 0 end) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    {{ kanon_sql.classes_where("kanon_size > 0 and kanon_population = 0", "unmatched") }},
    {{ kanon_sql.records_where("kanon_size > 0 and kanon_population = 0", "unmatched") }},
    {{ kanon_sql.classes_where("kanon_population > 0 and kanon_population < kanon_size", "exceeding") }}
{%- for measure in measures %},
    {{ measure }}
{%- endfor %}

from classes
{%- endif %}
{%- endmacro %}


{# The least and the greatest chance of anyone in the reference. #}
{% macro presence(population, label) -%}
min({{ kanon_sql.quotient("kanon_size", population) }}) as kanon_{{ label }}_min,
    max({{ kanon_sql.quotient("kanon_size", population) }}) as kanon_{{ label }}_max
{%- endmacro %}


{# A class of the reference whose chance is out of bounds. #}
{% macro delta_presence_violated(population, min=none, max=none) -%}
{{ population }} > 0 and (
{%- if min is not none -%}
{{ kanon_sql.less_than_share("kanon_size", min, population) }}
{%- endif %}
{{- " or " if min is not none and max is not none }}
{{- kanon_sql.more_than_share("kanon_size", max, population) if max is not none -}}
)
{%- endmacro %}


{# The people of the reference in the classes for which something is so. #}
{% macro population_where(predicate, population, name) -%}
sum(case when {{ predicate }} then {{ population }} else 0 end) as kanon_{{ name }}_population
{%- endmacro %}


{#
    The test. Violating are classes of the reference with their people; a class of the release
    that the reference can't contain is a failure too.
#}
{% macro delta_presence_failures(
    relation, columns, reference, pairs,
    min=none, max=none, entity=none, reference_entity=none, reference_weight=none, union=false, complete=false
) %}
{% set population = "kanon_union" if union else "kanon_population" %}
{% set outside = kanon_sql.delta_presence_violated(population, min, max) %}
{% set measures = [
    "sum(kanon_records) as kanon_records",
    kanon_sql.presence(population, "delta_presence"),
    kanon_sql.classes_where(outside, "delta_presence_violated"),
    kanon_sql.population_where(outside, population, "delta_presence_violated"),
] %}
{% set statement = kanon_sql.delta_presence(
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
        kanon_delta_presence_violated_classes as violating_classes,
        kanon_delta_presence_violated_population as violating_records,
        kanon_delta_presence_min as achieved_min,
        kanon_delta_presence_max as achieved_max,
        kanon_unmatched_classes as unmatched_classes,
        kanon_unmatched_records as unmatched_records,
        kanon_exceeding_classes as exceeding_classes
    from matched_classes
)
{%- endset %}
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_classes > 0 or " ~ kanon_sql.not_contained(),
    failures="coalesce(nullif(measured.violating_records, 0), measured.unmatched_records)",
    columns=[
        "violating_classes", "violating_records", "achieved_min", "achieved_max",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    relation=relation, entity=entity, reference=reference, reference_weight=reference_weight,
    reference_entity=reference_entity, complete=complete
) }}
{%- endmacro %}
