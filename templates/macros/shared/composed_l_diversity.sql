{#
    Composed l-diversity: an attacker intersects a person's classes in two releases, knows the sensitive
    value to be the same in both, and is left with at least l values. The candidates of a pair of classes
    (one of each release, with at least one person in both) are the values common to both classes; no
    link between records is needed. In a pair without candidates the value changed, and the attack
    misleads.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2 (intersection attack).

    An attribute has `values`: the sensitive columns of both releases and how they are compared
    (`as_is` or `as_text`); its `place` among the attributes; and `flags`: names with predicates on
    the number of candidates (`kanon_candidates`). `unknown`: NULL is no value. Pairs are computed
    by crowd, not by person, because all people of a crowd are in the same pairs. The CTEs belong to
    the statement of composed k-anonymity, the source of each person's classes.

    The values of a pair are left joins, because planners don't reorder these. Joining the values of
    both releases first would give a row for each two classes with a common value. If an attribute is
    `packed` (embedded engine), one row holds many values: see candidates_by_bits.
#}

{# CTEs with the pairs of classes of each crowd, and the number of people in each pair. #}
{% macro ctes_of_pairs() %}
-- Each crowd in every pair of its classes.
crowds_in_pairs as (
    select
        joint_classes.kanon_example,
        joint_classes.kanon_size,
        coalesce(
            release_several.kanon_class, joint_classes.kanon_release_first
        ) as kanon_release_class,
        coalesce(
            earlier_several.kanon_class, joint_classes.kanon_earlier_first
        ) as kanon_earlier_class
    from joint_classes
    left join release_several
        on release_several.kanon_entity = joint_classes.kanon_example
    left join earlier_several
        on earlier_several.kanon_entity = joint_classes.kanon_example
),

pairs as (
    select distinct
        kanon_release_class,
        kanon_earlier_class
    from crowds_in_pairs
)
{%- endmacro %}


{# CTEs with the number of candidates of an attribute for each pair. #}
{% macro ctes_of_candidates(release, columns, earlier, earlier_columns, attribute, unknown=false) %}
{% set place, values = attribute.place, attribute["values"] %}
{{ kanon_sql.values_of_classes(
    "release", release, columns, place, values, values.column, unknown
) }},

{{ kanon_sql.values_of_classes(
    "earlier", earlier, earlier_columns, place, values, values.reference, unknown
) }},

{% if attribute.packed %}
{{ kanon_sql.candidates_by_bits(place) }}
{%- else %}
-- The number of values that a pair has in both releases.
measured_pairs_{{ place }} as (
    select
        pairs.kanon_release_class,
        pairs.kanon_earlier_class,
        count(earlier_values_{{ place }}.kanon_class) as kanon_candidates
    from pairs
    left join release_values_{{ place }}
        on release_values_{{ place }}.kanon_class = pairs.kanon_release_class
    left join earlier_values_{{ place }}
        on earlier_values_{{ place }}.kanon_class = pairs.kanon_earlier_class
        and {{ kanon_sql.same(
            "earlier_values_" ~ place ~ ".kanon_value", "release_values_" ~ place ~ ".kanon_value"
        ) }}
    group by
        pairs.kanon_release_class,
        pairs.kanon_earlier_class
)
{%- endif %}
{%- endmacro %}


{# Distinct values in each class of a release. #}
{% macro values_of_classes(side, relation, columns, place, values, value, unknown=false) %}
{{ side }}_values_{{ place }} as (
    select
        {{ side }}_classes.kanon_class,
        {{ side }}_cells.kanon_value
    from (
        select distinct
            {{ kanon_sql.named_in(side, columns) | trim | indent(12) }}
            {{ kanon_sql.cell(
                values, kanon_sql.ident(value), kanon_sql.type_of(value)
            ) }} as kanon_value
        from {{ relation | indent(8) }}
{% if unknown %}
        where {{ kanon_sql.ident(value) }} is not null
{% endif %}
    ) as {{ side }}_cells
    inner join {{ side }}_classes
        {{ kanon_sql.in_the_class(side, columns, side ~ "_cells") | trim | indent(8) }}
)
{%- endmacro %}


{# Number of people in a pair with each flag; a person counts once. #}
{% macro people_of_pairs(attribute) %}
{% set place = attribute.place %}
-- The crowds in flagged pairs.
judged_crowds_{{ place }} as (
    select
        crowds_in_pairs.kanon_example,
        crowds_in_pairs.kanon_size,
{% for flag in attribute.flags %}
        max({{ kanon_sql.flag(flag.predicate) | trim }}) as kanon_{{ flag.name }}{{ "," if not loop.last }}
{% endfor %}
    from crowds_in_pairs
    inner join measured_pairs_{{ place }}
        on measured_pairs_{{ place }}.kanon_release_class = crowds_in_pairs.kanon_release_class
        and measured_pairs_{{ place }}.kanon_earlier_class = crowds_in_pairs.kanon_earlier_class
    where
{% for flag in attribute.flags %}
        {{ "or " if not loop.first }}({{ flag.predicate }})
{% endfor %}
    group by
        crowds_in_pairs.kanon_example,
        crowds_in_pairs.kanon_size
),

people_in_short_{{ place }} as (
    select
{% for flag in attribute.flags %}
        coalesce(
            sum(kanon_size * kanon_{{ flag.name }}), 0
        ) as kanon_{{ flag.name }}_{{ place }}_people{{ "," if not loop.last }}
{% endfor %}
    from judged_crowds_{{ place }}
)
{%- endmacro %}


{# Aggregates over all pairs; the names of the checks get the attribute's place as suffix. #}
{% macro candidates_in_short(attribute) %}
{% set place = attribute.place %}
candidates_in_short_{{ place }} as (
    select
        min(case when kanon_candidates > 0 then kanon_candidates end) as kanon_least_{{ place }}
{%- for flag in attribute.flags %},
        {{ kanon_sql.classes_where(flag.predicate, flag.name ~ "_" ~ place) | indent(8) }}
{%- endfor %}

    from measured_pairs_{{ place }}
)
{%- endmacro %}


{#
    Predicate: fewer than l candidates. A pair without candidates misleads the attacker and passes.
#}
{% macro composed_l_diversity_violated(l) -%}
kanon_candidates > 0 and kanon_candidates < {{ kanon_sql.positive_int(l, "l") }}
{%- endmacro %}


{# Predicate: one candidate, so the value is certain. #}
{% macro composed_l_diversity_certain() -%}
kanon_candidates = 1
{%- endmacro %}


{# Predicate: no candidate, so the value changed. #}
{% macro composed_l_diversity_changed() -%}
kanon_candidates = 0
{%- endmacro %}


{#
    Generic test of composed l-diversity: at least l candidates in every pair that has any. Failures
    count people.
#}
{% macro composed_l_diversity_failures(
    relation, columns, l, entities, values, earlier, earlier_columns, unknown=false
) %}
{% set too_few = kanon_sql.composed_l_diversity_violated(l) %}
{% set attribute = {"values": values, "place": 1, "packed": false, "flags": [
    {"name": "certain", "predicate": kanon_sql.composed_l_diversity_certain()},
    {"name": "changed", "predicate": kanon_sql.composed_l_diversity_changed()},
    {"name": "violated", "predicate": too_few},
]} %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_people(relation, columns, entities, earlier, earlier_columns) | trim }},

{{ kanon_sql.ctes_of_joint_classes(example=true) | trim }},

{{ kanon_sql.ctes_of_pairs() | trim }},

{{ kanon_sql.ctes_of_candidates(
    relation, columns, earlier, earlier_columns, attribute, unknown
) | trim }},

{{ kanon_sql.candidates_in_short(attribute) | trim }},

{{ kanon_sql.people_of_pairs(attribute) | trim }},

measured as (
    select
        (
            select count(*)
            from {{ relation | indent(12) }}
        ) as records,
        coalesce(kanon_violated_1_classes, 0) as violating_classes,
        kanon_violated_1_people as violating_people,
        kanon_least_1 as achieved,
        (
            select coalesce(sum(kanon_size), 0)
            from joint_classes
        ) as in_both,
        kanon_certain_1_people as certain_people,
        kanon_changed_1_people as changed_people
    from candidates_in_short_1
    cross join people_in_short_1
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_people > 0",
    failures="measured.violating_people",
    columns=[
        "violating_classes", "violating_people", "achieved", "in_both",
        "certain_people", "changed_people",
    ],
    relation=relation, entity=entities.column, earlier=earlier, earlier_entity=entities.reference,
    more=[
        kanon_sql.counted_error(
            "strangers", "records and nobody of them in the earlier release", "kanon_strangers",
            kanon_sql.strangers("records")
        ),
        kanon_sql.counted_error(
            "without_candidates", "people and no value that any of them may have in both releases",
            "kanon_without_candidates", kanon_sql.without_candidates()
        ),
    ]
) }}
{%- endmacro %}


{# Number of people in both releases if no pair has a candidate, else 0. #}
{% macro without_candidates() -%}
select case when achieved is null then in_both else 0 end as kanon_without_candidates
from measured
{%- endmacro %}


{% test composed_l_diversity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "composed_l_diversity", model, kwargs, {"l": "count"}, ["sensitive", "earlier"]
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_l_diversity_failures(**arguments), model) }}
{%- endtest %}
