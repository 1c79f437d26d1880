{#
    k-map: every combination of quasi-identifier values of the release occurs at least k times in
    the reidentification dataset. Both sides are aggregated first. Every class of the release is
    kept; one that the reference lacks has the population 0.

    Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
    IJUFKS 10(5), section 2. Risks: El Emam 2013, Guide to the de-identification of personal
    health information, chapter 16 (journalist and marketer risk).

    `sides`: the release with its quasi-identifiers and its entity, and the reference with its entity
    or weight. Their `pairs` are the quasi-identifiers with the reference's column for each and how
    their cells are compared: `as_is` by equality, `as_text` by equality of their text, `by_wildcard`
    also if either is NULL, `by_pattern` also if a generalised cell covers the reference's (see
    matching_cells.sql); those of the last two kinds are `matched`. `referring` is the CTE of the
    reference's combinations, of its classes or of its people. `measures`: aggregates of the checks over the classes, where
    kanon_population is the number of people of the reference in a class. `each_person`: aggregate
    over the people of the release instead, each as a class of one; a person in several classes is
    in the one with the smallest population, where they are easiest to find.
#}
{% macro k_map(sides, measures, each_person=false) %}
with

{{ kanon_sql.ctes_of_k_map(sides, each_person) }}

{{ kanon_sql.counts_of_k_map(measures, sides.entity, wildcard=sides.wildcard) }}
{%- endmacro %}


{# CTEs up to `classes`; with `each_person`, one row for each person. #}
{% macro ctes_of_k_map(sides, each_person=false, union=true) %}
{{ kanon_sql.release_beside_reference(
    sides, named="linked_classes" if each_person else "classes", union=union
) }}
{%- if each_person %},

-- Each person in each of their classes, with cells in the reference's form.
class_people as (
    select
{% for pair in sides.pairs %}
        {{ kanon_sql.aliased(
            kanon_sql.cell(pair, kanon_sql.alias(pair.column), kanon_sql.type_of(pair.column)),
            pair.column
        ) }},
{% endfor %}
        {{ kanon_sql.alias(sides.entity) }},
        kanon_records
    from release_people
),

classes as (
    {{ kanon_sql.of_each_person("class_people", "linked_classes", sides.columns, sides.entity, [
        "1 as kanon_size",
        "sum(class_people.kanon_records) as kanon_records",
        "min(linked_classes.kanon_population) as kanon_population",
        "min(linked_classes.kanon_union) as kanon_union",
    ]) | trim | indent(4) }}
)
{%- endif %}
{%- endmacro %}


{#
    Counts over the classes, those named in `aggregates`. With an entity there are counts over the people
    too, and the shares are shares of people.
#}
{% macro ctes_of_matched(sides, measures, shares, aggregates=[]) %}
{% set of_shares = ["sizes", "reidentified"] %}
{{ kanon_sql.ctes_of_k_map(sides, each_person=sides.entity is not none) }},

matched_classes as (
    {{ kanon_sql.counts_of_k_map(
        measures + shares if sides.entity is none else measures, sides.entity,
        "classes" if sides.entity is none else "linked_classes",
        aggregates + ["unmatched", "exceeding"] + (of_shares if sides.entity is none else [])
    ) | trim | indent(4) }}
)
{%- if sides.entity is not none %},

-- The same for people: the last CTE above has each person as a class of one.
matched_people as (
    {{ kanon_sql.counts_of_k_map(shares, sides.entity, aggregates=of_shares) | trim | indent(4) }}
)
{%- endif %}
{%- endmacro %}


{# Counts over the classes or people: those named in `aggregates`, or all. #}
{% macro counts_of_k_map(measures, entity=none, classes="classes", aggregates=none, wildcard=false) %}
{% set records = kanon_sql.records_of_class(entity) %}
{% set exceeding = "kanon_population > 0 and kanon_population < " ~ kanon_sql.size_in_release(wildcard) %}
{% set chosen = namespace(counts=[]) %}
{% for name, count in [
    ("classes", "count(*) as kanon_classes"),
    ("sizes", "sum(kanon_size) as kanon_sizes"),
    ("least_population", "min(kanon_population) as kanon_least_population"),
    ("least_union", "min(kanon_union) as kanon_least_union"),
    ("unions", "sum(kanon_union) as kanon_unions"),
    ("reidentified", kanon_sql.marketer_risk()),
    ("unmatched", kanon_sql.classes_where("kanon_population = 0", "unmatched")),
    ("unmatched", kanon_sql.records_where("kanon_population = 0", "unmatched", records)),
    ("exceeding", kanon_sql.classes_where(exceeding, "exceeding")),
] if aggregates is none or name in aggregates %}
{% set chosen.counts = chosen.counts + [count] %}
{% endfor %}
select
{% for count in chosen.counts + measures %}
    {{ count | trim | indent(4) }}{{ "," if not loop.last }}
{% endfor %}
from {{ classes }}
{%- endmacro %}


{#
    Smallest population that a reference containing the release has in a class: its size, or with
    NULL as a wildcard the number of records compatible with its pattern.
#}
{% macro size_in_release(wildcard=false) -%}
{{ "kanon_compatible" if wildcard else "kanon_size" }}
{%- endmacro %}


{# Predicate: the class of the release has too few matches. #}
{% macro k_map_violated(population, k) -%}
{{ population }} < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# CTEs that aggregate and match both sides: each class of the release with its people in both. #}
{% macro release_beside_reference(sides, named="classes", union=true, counted=true) %}
{% set referred = "reference_as_released" if sides.matched else "reference_classes" %}
{{ kanon_sql.classes_of_both(sides, counted) }},
{% if sides.matched %}

{{ kanon_sql.matching_cells(sides) }},

-- The people of the reference in each combination of the release's cells.
reference_as_released as (
    select
{{ kanon_sql.cells_in_release(sides, aliased=true) | indent(4, first=true) }},
        {{ "sum(reference_classes.kanon_population)"
            if sides.reference_entity is none
            else "count(distinct reference_people.kanon_entity)" }} as kanon_population
{{ kanon_sql.reference_with_cells_of_release(sides) | indent(4, first=true) }}
    group by
{{ kanon_sql.cells_in_release(sides) | indent(4, first=true) }}
),
{% endif %}

{% set by_types = namespace(joined=true) %}
{% for pair in sides.pairs if pair.how == "as_is" %}
{% set type = kanon_sql.type_of(pair.column) %}
{% if not type or type != kanon_sql.type_of(pair.reference) %}{% set by_types.joined = false %}{% endif %}
{% endfor %}
{% if by_types.joined %}
{{ kanon_sql.reason_for_both_sides(true, union) }}
{{ named }} as (
    select
        {{ kanon_sql.population_of_class(referred, union, sides.wildcard) | indent(8) }}
    from release_classes
    left join {{ referred }}
{% for pair in sides.pairs %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same_cell(pair, referred, "release_classes") }}
{% endfor %}
)
{%- else %}
{{ kanon_sql.classes_of_both_sides(
    sides.columns, sides.entity if counted else none, referred, named, of_release=true, union=union
) }}
{%- endif %}
{%- endmacro %}


{# Columns of a class of the release with its people in the reference, and in their union. #}
{% macro population_of_class(referred, union=true, wildcard=false) -%}
{% set size = "release_classes." ~ kanon_sql.size_in_release(wildcard) -%}
release_classes.*,
coalesce({{ referred }}.kanon_population, 0) as kanon_population
{%- if union %},
case
    when {{ referred }}.kanon_population > {{ size }}
    then {{ referred }}.kanon_population
    else {{ size }}
end as kanon_union
{%- endif %}
{%- endmacro %}


{# Join condition on a cell of two CTEs; cells matched by pattern or wildcard are never NULL. #}
{% macro same_cell(pair, set, other) -%}
{% set left = set ~ "." ~ kanon_sql.alias(pair.column) -%}
{% set right = other ~ "." ~ kanon_sql.alias(pair.column) -%}
{{ left ~ " = " ~ right if pair.how in ("by_pattern", "by_wildcard") else kanon_sql.same(left, right) }}
{%- endmacro %}


{#
    Union of both sides, summed by class, which needs no cells of the same type; the classes
    `of_release` alone, or of either side.
#}
{% macro classes_of_both_sides(
    columns, entity, referred, named, keyed=true, of_release=false, union=true
) %}
{% set counts = ["kanon_size", "kanon_records"] if entity is not none else ["kanon_size"] %}
both_sides as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% for count in counts %}
        {{ count }},
{% endfor %}
        0 as kanon_population
    from release_classes

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% for count in counts %}
        0 as {{ count }},
{% endfor %}
        kanon_population
    from {{ referred }}
),

{{ kanon_sql.reason_for_both_sides(of_release, union) }}
{{ named }} as (
    select
{% if keyed %}
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% endif %}
{% for count in counts %}
        sum({{ count }}) as {{ count }},
{% endfor %}
        sum(kanon_population) as kanon_population
{%- if union %},
        case
            when sum(kanon_population) > sum(kanon_size) then sum(kanon_population)
            else sum(kanon_size)
        end as kanon_union
{%- endif %}

    from both_sides
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
{% if of_release %}
    having sum(kanon_size) > 0
{% endif %}
)
{%- endmacro %}


{# SQL comment for these classes. #}
{% macro reason_for_both_sides(of_release, union) -%}
{% set of, others = ("Each class of the release", "the reference") if of_release
    else ("The classes of either side", "the other") -%}
-- {{ of }}, with 0 where {{ others }} has nobody in it.
{%- if union %} kanon_union is how many the
-- least reference that contains the release would have.
{%- endif %}
{%- endmacro %}


{# CTEs of the release's and the reference's classes, each with its people. #}
{% macro classes_of_both(sides, counted=true) %}
{% set aliased = sides.entity is not none or sides.wildcard %}
{% if sides.entity is not none %}
release_people as (
    {{ kanon_sql.frequency_set(sides.release, sides.columns + [sides.entity], counted=counted) | trim | indent(4) }}
),

{% elif sides.wildcard %}
{{ kanon_sql.ctes_of_wildcards(sides.release, sides.columns, named="release_patterns") }},

{% endif %}
{% if sides.wildcard %}
-- kanon_compatible is the size with NULL as a wildcard, kanon_size the pattern's own records.
{% endif %}
release_classes as (
    select
{% for pair in sides.pairs %}
        {{ kanon_sql.aliased(kanon_sql.released_cell(pair, aliased), pair.column) }},
{% endfor %}
{% if sides.wildcard %}
        min(release_patterns.kanon_size) as kanon_compatible,
        sum(release_patterns.kanon_records) as kanon_size
{%- else %}
        count(*) as kanon_size
{%- endif %}
{%- if sides.entity is not none and counted %},
        sum(kanon_records) as kanon_records
{%- endif %}

    from {{ ("release_people" if sides.entity is not none else "release_patterns" if sides.wildcard else sides.release) | indent(4) }}
    group by
{% for pair in sides.pairs %}
        {{ kanon_sql.released_cell(pair, aliased) }}{{ "," if not loop.last }}
{% endfor %}
),

{{ sides.referring }} as (
    select
{% for pair in sides.pairs %}
        {{ kanon_sql.aliased(kanon_sql.referred_cell(pair), pair.column) }},
{% endfor %}
{% if sides.reference_entity is not none %}
        {{ kanon_sql.ident(sides.reference_entity) }} as kanon_entity
{% elif sides.reference_weight is not none %}
        sum({{ kanon_sql.weight_of(sides.reference_weight) }}) as kanon_population
{% else %}
        count(*) as kanon_population
{% endif %}
    from {{ sides.reference | indent(4) }}
    group by
{% for pair in sides.pairs %}
        {{ kanon_sql.referred_cell(pair) }}{{ "," if not loop.last or sides.reference_entity is not none }}
{% endfor %}
{% if sides.reference_entity is not none %}
        {{ kanon_sql.ident(sides.reference_entity) }}
{% endif %}
)
{%- if sides.reference_entity is not none and not sides.matched %},

reference_classes as (
    select
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }},
        count(kanon_entity) as kanon_population
    from reference_people
    group by
{{ kanon_sql.aliases(sides.columns) | indent(4, first=true) }}
)
{%- endif %}
{%- endmacro %}


{# Cell of the release (or of the CTE with its people or patterns) in the form for comparison. #}
{% macro released_cell(pair, aliased) -%}
{{ kanon_sql.cell(
    pair,
    kanon_sql.alias(pair.column) if aliased else kanon_sql.ident(pair.column),
    kanon_sql.type_of(pair.column)
) }}
{%- endmacro %}


{# Cell of the reference in the form for comparison. #}
{% macro referred_cell(pair) -%}
{{ kanon_sql.cell(pair, kanon_sql.ident(pair.reference), kanon_sql.type_of(pair.reference)) }}
{%- endmacro %}


{# Cell in the form for comparison; for a join it is text and never NULL. #}
{% macro cell(pair, column, type) -%}
{% if pair.how == "as_is" -%}
{{ column }}
{%- elif pair.how == "as_text" -%}
{{ kanon_sql.as_text(column, type) }}
{%- elif pair.how == "as_number" -%}
cast({{ kanon_sql.as_text(column, type) }} as {{ kanon_sql.float_type() }})
{%- elif pair.how == "as_numeral" -%}
{{ kanon_sql.as_numeral(column, type) | trim }}
{%- else -%}
coalesce('=' || {{ kanon_sql.as_text(column, type) }}, '')
{%- endif %}
{%- endmacro %}


{# Text in which a number has no zeros after its fraction, so that 1.50 is 1.5 and 1.0 is 1. #}
{% macro as_numeral(value, type) %}
{% set text = "cast(" ~ value ~ " as " ~ kanon_sql.text_type() ~ ")" %}
{% if type.startswith("DOUBLE") or "INT" in type %}
{{ kanon_sql.as_text(value, type) }}
{% else %}
case
    when {{ text }} in ('-0', '-0.0') then '0'
    when {{ text }} like '%.%' and {{ kanon_sql.matches(text, "-?[0-9]+([.][0-9]+)?") | trim }}
    then rtrim(rtrim({{ text }}, '0'), '.')
    else {{ text }}
end
{% endif %}
{% endmacro %}


{#
    Generic test of k-map. A class that the reference lacks has the population 0, or with `union`
    the release's own size.
#}
{% macro k_map_failures(sides, k, union=false, complete=false) %}
{% set too_few = kanon_sql.k_map_violated("kanon_union" if union else "kanon_population", k) %}
{% set records = kanon_sql.records_of_class(sides.entity) %}
{% set measures = [
    "sum(" ~ records ~ ") as kanon_records",
    kanon_sql.classes_where(too_few, "k_map_violated"),
    kanon_sql.records_where(too_few, "k_map_violated", records),
] %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_k_map(sides, union=union) }},

matched_classes as (
    {{ kanon_sql.counts_of_k_map(measures, sides.entity, wildcard=sides.wildcard, aggregates=[
        "least_union" if union else "least_population", "unmatched", "exceeding",
    ]) | trim | indent(4) }}
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
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=[
        "violating_classes", "violating_records", "achieved",
        "unmatched_classes", "unmatched_records", "exceeding_classes",
    ],
    sides=sides, complete=complete
) }}
{%- endmacro %}


{% test k_map(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "k_map", model, kwargs, {"k": "count"}, ["nulls", "reference"]
) -%}
{{ kanon_sql.tidy(kanon_sql.k_map_failures(**arguments), model) }}
{%- endtest %}


{#
    Classes of a release with too small a population in the reference at the release's levels.
    `cells`: the reference's columns with the label that the release would show for each value. A
    value without a label counts for no class.
#}
{% macro records_beside_reference(
    relation, columns, entity, reference, cells, reference_entity, reference_weight, failing
) %}
with

release_classes as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
        {{ "count(*)" if entity is none else "count(distinct " ~ kanon_sql.ident(entity) ~ ")" }} as kanon_size,
        count(*) as kanon_records
    from {{ relation }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
),

reference_cells as (
    select
{% for cell in cells %}
        {{ (kanon_sql.as_text(cell.label, cell.type) if cell.type else cell.label) | indent(8) }} as kanon_cell_{{ loop.index }},
{% endfor %}
{% if reference_entity is not none %}
        kanon_raw.{{ kanon_sql.ident(reference_entity) }} as kanon_people
{% elif reference_weight is not none %}
        {{ kanon_sql.weight_of(reference_weight) }} as kanon_people
{% else %}
        1 as kanon_people
{% endif %}
    from (
        select *
        from {{ reference | indent(8) }}
    ) as kanon_raw
{% for cell in cells if cell.joined %}
    {{ kanon_sql.join_labels(cell.joined) | indent(4) }}
{% endfor %}
{% for cell in cells if cell.label != cell.raw %}
    {{ "where" if loop.first else "and" }} ({{ cell.raw }} is null or {{ cell.label | indent(8) }} is not null)
{% endfor %}
),

reference_classes as (
    select
{% for cell in cells %}
        kanon_cell_{{ loop.index }},
{% endfor %}
        {{ "sum(kanon_people)" if reference_entity is none else "count(distinct kanon_people)" }} as kanon_population
    from reference_cells
    group by
{% for cell in cells %}
        kanon_cell_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
),

classes as (
    select
        {{ kanon_sql.population_of_class("reference_classes") | indent(8) }}
    from release_classes
    left join reference_classes
{% for cell in cells %}
{% set own = "release_classes." ~ kanon_sql.alias(cell.column) %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "reference_classes.kanon_cell_" ~ loop.index,
            kanon_sql.as_text(own, kanon_sql.type_of(cell.column)) if cell.type else own
        ) }}
{% endfor %}
)

{{ kanon_sql.violating_classes(columns, failing) }}
{%- endmacro %}
