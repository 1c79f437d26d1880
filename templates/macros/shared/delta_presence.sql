{#
    delta-presence: for everyone in the reidentification dataset, the chance of being in the
    release, f / F of their class, lies between two bounds. A class of the reference that the
    release lacks has the chance 0, so this macro keeps every class of the reference, as k-map keeps
    every class of the release. With `flags` (names of `class_verdicts`) it returns one row instead:
    the number of people of the reference in a class with each flag; a person counts once.

    Nergiz, Atzori, Clifton 2007, Hiding the presence of individuals from shared databases, ACM
    SIGMOD.
#}
{% macro delta_presence(sides, measures=[], flags=[], union=true) %}
with

{{ kanon_sql.ctes_of_delta_presence(sides, union, named=flags | length > 0) }}
{%- if flags %},
{% if sides.matched %}

-- Whoever of the reference is in a class of the release, and whoever is in one that it lacks.
class_people as (
    select
{{ kanon_sql.cells_in_release(sides, aliased=true) | indent(4, first=true) }},
        reference_people.kanon_entity
{{ kanon_sql.reference_with_cells_of_release(sides) | indent(4, first=true) }}

    union all

    select
{{ kanon_sql.aliases_in("reference_people", sides.columns) | indent(4, first=true) }},
        reference_people.kanon_entity
    from reference_people
    inner join reference_only
        on {{ kanon_sql.same_class(sides.columns, "reference_only", "reference_people", other_is_set=true) | indent(8) }}
),
{% endif %}
{% set class_people = "class_people" if sides.matched else "reference_people" %}

-- Each person of the reference once, with the worst of their classes.
people as (
    select
        {{ class_people }}.kanon_entity,
{% for flag in flags %}
        max({{ kanon_sql.flag(flag.expression) | trim | indent(8) }}) as {{ flag.name }}{{ "," if not loop.last }}
{% endfor %}
    from {{ class_people }}
    inner join classes
        on {{ kanon_sql.same_class(sides.columns, "classes", class_people, other_is_set=true) | indent(8) }}
    group by {{ class_people }}.kanon_entity
)

select
{% for flag in flags %}
    sum({{ flag.name }}) as {{ flag.name }}_people{{ "," if not loop.last }}
{% endfor %}
from people
{%- else %}


{{ kanon_sql.counts_of_delta_presence(measures, sides.entity) }}
{%- endif %}
{%- endmacro %}


{#
    Aggregates over the classes of either side; `sized` adds the number and sizes of the release's
    classes.
#}
{% macro counts_of_delta_presence(measures, entity=none, sized=true) %}
select
{% if sized %}
    sum(case when kanon_size > 0 then 1 else 0 end) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
{% endif %}
    {{ kanon_sql.classes_where("kanon_size > 0 and kanon_population = 0", "unmatched") }},
    {{ kanon_sql.records_where(
        "kanon_size > 0 and kanon_population = 0", "unmatched", kanon_sql.records_of_class(entity)
    ) | indent(4) }},
    {{ kanon_sql.classes_where("kanon_population > 0 and kanon_population < kanon_size", "exceeding") | indent(4) }}
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from classes
{%- endmacro %}


{#
    CTEs up to `classes`. `named`: classes keep their values as keys. `union`: also compute the
    smallest reference that contains the release.
#}
{% macro ctes_of_delta_presence(sides, union=true, named=false) %}
{% if sides.matched %}
{{ kanon_sql.classes_of_either_by_cells(sides, union, named) }}
{%- else %}
{{ kanon_sql.classes_of_both(sides, counted=not named) }},

{{ kanon_sql.classes_of_both_sides(
    sides.columns, none if named else sides.entity, "reference_classes", "classes", keyed=named, union=union
) }}
{%- endif %}
{%- endmacro %}


{#
    Classes of either side if some cells are compared by more than equality: those of the release,
    and those of the reference that match no class of the release.
#}
{% macro classes_of_either_by_cells(sides, union, named) %}
{% set counts = ["kanon_size"] if sides.entity is none or named else ["kanon_size", "kanon_records"] %}
{{ kanon_sql.release_beside_reference(sides, named="matched", union=union, counted=not named) }},

{#
    DISTINCT stops the planner from joining the two sides by the first column alone: with a million
    classes on each side that gives billions of rows.
#}
-- Each class of the reference with the cells of the release that take it in.
reference_by_cell as (
    select distinct
{{ kanon_sql.aliases_in(sides.referring, sides.columns) | indent(4, first=true) }}
{%- for pair in sides.pairs if pair in sides.matched %},
        matching_{{ sides.pairs.index(pair) + 1 }}.kanon_released as kanon_released_{{ sides.pairs.index(pair) + 1 }}
{%- endfor %}

{{ kanon_sql.reference_with_cells_of_release(sides) | indent(4, first=true) }}
),

-- The classes of the reference that a class of the release takes in.
reference_in_release as (
    select distinct
{{ kanon_sql.aliases_in("reference_by_cell", sides.columns) | indent(4, first=true) }}
    from reference_by_cell
    inner join release_classes
{% for pair in sides.pairs %}
        {{ "on" if loop.first else "and" }} {{
            "release_classes." ~ kanon_sql.alias(pair.column) ~ " = reference_by_cell.kanon_released_" ~ loop.index
            if pair in sides.matched
            else kanon_sql.same_cell(pair, "release_classes", "reference_by_cell")
        }}
{% endfor %}
),

reference_sides as (
    select
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
        {{ "kanon_population" if sides.reference_entity is none else "1 as kanon_population" }},
        0 as kanon_in_release
    from {{ sides.referring }}

    union all

    select
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
        0 as kanon_population,
        1 as kanon_in_release
    from reference_in_release
),

-- Those that none takes in.
reference_only as (
    select
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
        sum(kanon_population) as kanon_population
    from reference_sides
    group by
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }}
    having max(kanon_in_release) = 0
),

-- The classes of the release, and those of the reference that lie in none of them.
classes as (
    select
{% if named %}
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
{% endif %}
{% for count in counts %}
        {{ count }},
{% endfor %}
        kanon_population
{%- if union %},
        kanon_union
{%- endif %}

    from matched

    union all

    select
{% if named %}
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
{% endif %}
{% for count in counts %}
        0 as {{ count }},
{% endfor %}
        kanon_population
{%- if union %},
        kanon_population as kanon_union
{%- endif %}

    from reference_only
)
{%- endmacro %}


{# Lowest and highest chance of anyone in the reference. #}
{% macro presence(population, label) -%}
min({{ kanon_sql.quotient("kanon_size", population) }}) as kanon_{{ label }}_min,
max({{ kanon_sql.quotient("kanon_size", population) }}) as kanon_{{ label }}_max
{%- endmacro %}


{# Predicate: the chance of this class of the reference is out of bounds. #}
{% macro delta_presence_violated(population, min=none, max=none) -%}
{% set below = kanon_sql.less_than_share("kanon_size", min, population) if min is not none -%}
{% set above = kanon_sql.more_than_share("kanon_size", max, population) if max is not none -%}
{{ population }} > 0
and {{ "(\n    " ~ below ~ "\n    or " ~ above ~ "\n)"
    if min is not none and max is not none
    else below if max is none else above }}
{%- endmacro %}


{# People of the reference in the classes that satisfy the predicate. #}
{% macro population_where(predicate, population, name) -%}
{{ kanon_sql.sum_where(predicate, population, "kanon_" ~ name ~ "_population") }}
{%- endmacro %}


{#
    Generic test of delta-presence. Violating classes are classes of the reference, counted in
    people; a class of the release that the reference can't contain is a failure too.
#}
{% macro delta_presence_failures(sides, min=none, max=none, union=false, complete=false) %}
{% set population = "kanon_union" if union else "kanon_population" %}
{% set outside = kanon_sql.delta_presence_violated(population, min, max) %}
{% set measures = [
    "sum(" ~ kanon_sql.records_of_class(sides.entity) ~ ") as kanon_records",
    kanon_sql.presence(population, "delta_presence"),
    kanon_sql.classes_where(outside, "delta_presence_violated"),
    kanon_sql.population_where(outside, population, "delta_presence_violated"),
] %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_delta_presence(sides, union) }},

matched_classes as (
    {{ kanon_sql.counts_of_delta_presence(measures, sides.entity, sized=false) | trim | indent(4) }}
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
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_classes > 0 or " ~ kanon_sql.not_contained(),
    failures="coalesce(nullif(measured.violating_records, 0), measured.unmatched_records)",
    columns=[
        "violating_classes", "violating_records", "achieved_min", "achieved_max",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    sides=sides, complete=complete
) }}
{%- endmacro %}


{% test delta_presence(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "delta_presence", model, kwargs, {"min": {"most": 1}, "max": {}}, ["reference"]
) -%}
{% if arguments["min"] is not none and arguments["max"] is not none and arguments["min"] > arguments["max"] -%}
{{ kanon_sql.refuse("delta_presence: min must not be above max") }}
{%- endif -%}
{{ kanon_sql.tidy(kanon_sql.delta_presence_failures(**arguments), model) }}
{%- endtest %}
