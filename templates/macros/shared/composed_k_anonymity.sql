{#
    Composed k-anonymity: an attacker can link the records of one person in two releases, knows the
    person's quasi-identifiers in both, and still finds at least k people with these. The crowd of a
    person are the people in exactly the same classes of either release. People in only one of the
    releases form crowds by their classes there, because an attacker may know of a joiner or leaver.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2.

    `entities`: the entity columns of both releases and how they are compared, `as_is` or `as_text`.
    The earlier release has its own quasi-identifiers, any number of them. `measures`: aggregates
    over the joint classes, where `kanon_size` is the crowd. `attributes`: sensitive attributes for
    composed l-diversity, computed in the same statement because both need the classes of each
    person (see candidates_in_short). `answers`: parts of the result, by default all: the crowds in
    both releases with the people `of_release` or `of_earlier` alone, the `values` left by pairs of
    classes, and the `people` in pairs with too few values.
#}
{% macro composed_k_anonymity(
    release, columns, entities, earlier, earlier_columns, measures, attributes=[], unknown=false,
    answers=["of_release", "of_earlier", "values", "people"]
) %}
{% set pairs = attributes and ("values" in answers or "people" in answers) %}
{% set rows =
    (["people_in_both", "joiners"] if "of_release" in answers else [])
    + (["leavers", "earlier_alone"] if "of_earlier" in answers else [])
%}
{% set rows = namespace(named=rows) %}
{% for each in attributes if pairs %}
{% set rows.named = rows.named
    + (["candidates_in_short_" ~ each.place] if "values" in answers else [])
    + (["people_in_short_" ~ each.place] if "people" in answers else [])
%}
{% endfor %}
with

{{ kanon_sql.ctes_of_people(release, columns, entities, earlier, earlier_columns) }},

{{ kanon_sql.ctes_of_joint_classes(example=pairs) }}
{%- if "of_release" in answers or "of_earlier" in answers %},

{{ kanon_sql.ctes_of_crowds(measures, answers) }}
{%- endif %}
{%- if "of_earlier" in answers %},

-- The earlier release: the people of each class, in this class only or in several.
earlier_parts as (
    select
        kanon_first as kanon_class,
        kanon_size
    from earlier_crowds
    where kanon_numbers is null

    union all

    select
        kanon_class,
        1 as kanon_size
    from earlier_several
),

earlier_alone_classes as (
    select sum(kanon_size) as kanon_size
    from earlier_parts
    group by kanon_class
),

earlier_alone as (
    select min(kanon_size) as kanon_earlier_k
    from earlier_alone_classes
)
{%- endif %}
{%- if pairs %},

{{ kanon_sql.ctes_of_pairs() }}
{%- for each in attributes %},

{{ kanon_sql.ctes_of_candidates(release, columns, earlier, earlier_columns, each, unknown) }}
{%- if "values" in answers %},

{{ kanon_sql.candidates_in_short(each) }}
{%- endif %}
{%- if "people" in answers %},

{{ kanon_sql.people_of_pairs(each) }}
{%- endif %}
{%- endfor %}
{%- endif %}


select *
from {{ rows.named | join("\ncross join ") }}
{%- endmacro %}


{#
    CTEs of the crowds in both releases; `example` adds one person of each crowd, whose classes are
    those of the whole crowd.
#}
{% macro ctes_of_joint_classes(example=false) %}
-- The classes of each person in several classes, as one text.
{{ kanon_sql.numbers_of_several("release") }},

{{ kanon_sql.numbers_of_several("earlier") }},

-- The people who are in exactly the same classes of both: a crowd.
joint_classes as (
    select
        people.kanon_release_first,
        release_numbers.kanon_numbers as kanon_release_numbers,
        people.kanon_earlier_first,
        earlier_numbers.kanon_numbers as kanon_earlier_numbers,
{% if example %}
        {{ kanon_sql.only_value("people.kanon_entity") }} as kanon_example,
{% endif %}
        count(*) as kanon_size
    from people
    left join release_numbers
        on release_numbers.kanon_entity = people.kanon_entity
    left join earlier_numbers
        on earlier_numbers.kanon_entity = people.kanon_entity
    group by
        people.kanon_release_first,
        release_numbers.kanon_numbers,
        people.kanon_earlier_first,
        earlier_numbers.kanon_numbers
)
{%- endmacro %}


{#
    CTEs of the people in both releases, the joiners and the leavers. The crowds of one release are
    the crowds in both plus its joiners (or leavers).
#}
{% macro ctes_of_crowds(measures, answers=["of_release", "of_earlier"]) %}
-- The people who are in exactly the same classes of a release.
{% if "of_release" in answers %}
{{ kanon_sql.crowds_of("release") }},

{% endif %}
{% if "of_earlier" in answers %}
{{ kanon_sql.crowds_of("earlier") }},

{% endif %}
{% if "of_release" in answers %}
people_in_both as (
    select
        count(*) as kanon_classes,
        coalesce(sum(kanon_size), 0) as kanon_in_both,
        min(kanon_size) as kanon_least
{%- for measure in measures %},
        {{ measure | indent(4) }}
{%- endfor %}

    from joint_classes
),

-- Crowds of this release without the people of both: the joiners.
{{ kanon_sql.people_of_one("release", "joiner") }}
{%- endif %}
{%- if "of_earlier" in answers %}
{{- ",\n" if "of_release" in answers }}
-- Crowds of the earlier release without the people of both: the leavers.
{{ kanon_sql.people_of_one("earlier", "leaver") }}
{%- endif %}
{%- endmacro %}


{# Predicate: the crowd has fewer than k people. #}
{% macro composed_k_anonymity_violated(k) -%}
kanon_size < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{#
    Generic test of composed k-anonymity; at least one person must be in both releases. Failures
    count people.
#}
{% macro composed_k_anonymity_failures(
    relation, columns, k, entities, earlier, earlier_columns
) %}
{% set too_few = kanon_sql.composed_k_anonymity_violated(k) %}
{% set measures = [
    kanon_sql.classes_where(too_few, "composed_k_anonymity_violated"),
    kanon_sql.people_where(too_few, "composed_k_anonymity_violated"),
] %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_people(relation, columns, entities, earlier, earlier_columns) | trim }},

{{ kanon_sql.ctes_of_joint_classes() | trim }},

{{ kanon_sql.ctes_of_crowds(measures) | trim }},

measured as (
    select
        (
            select count(*)
            from {{ relation | indent(12) }}
        ) as records,
        kanon_composed_k_anonymity_violated_classes as violating_classes,
        kanon_composed_k_anonymity_violated_people as violating_people,
        kanon_least as achieved,
        kanon_in_both as in_both,
        kanon_joiners as joiners,
        kanon_joiners_k as joiners_k,
        kanon_leavers as leavers,
        kanon_leavers_k as leavers_k
    from people_in_both
    cross join joiners
    cross join leavers
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_people > 0",
    failures="measured.violating_people",
    columns=[
        "violating_classes", "violating_people", "achieved", "in_both",
        "joiners", "joiners_k", "leavers", "leavers_k",
    ],
    relation=relation, entity=entities.column, earlier=earlier, earlier_entity=entities.reference,
    more=[kanon_sql.counted_error(
        "strangers", "people and none of them in the earlier release", "kanon_strangers",
        kanon_sql.strangers("joiners")
    )]
) }}
{%- endmacro %}


{#
    Number of people if nobody is in both releases, else 0: the test must not pass on an empty
    intersection.
#}
{% macro strangers(people) -%}
select case when in_both = 0 then {{ people }} else 0 end as kanon_strangers
from measured
{%- endmacro %}


{#
    CTEs with the people of both releases and the numbers of their first and last class in each; a
    person in several classes may have more between these.
#}
{% macro ctes_of_people(release, columns, entities, earlier, earlier_columns) %}
-- The classes, numbered in the order of all columns: the numbers are the same at each reference.
{{ kanon_sql.numbered_classes("release", release, columns) }},

{{ kanon_sql.numbered_classes("earlier", earlier, earlier_columns) }},

{{ kanon_sql.members("release", release, columns, entities, entities.column) }},

{{ kanon_sql.members("earlier", earlier, earlier_columns, entities, entities.reference) }},

-- Each person once, with the first and the last of their classes.
{{ kanon_sql.people_of_release("release") }},

{{ kanon_sql.people_of_release("earlier") }},

-- The people of several classes, with each of their classes.
{{ kanon_sql.people_of_several_classes("release") }},

{{ kanon_sql.people_of_several_classes("earlier") }},

-- The people of both releases.
people as (
    select
        release_people.kanon_entity,
        release_people.kanon_first as kanon_release_first,
        earlier_people.kanon_first as kanon_earlier_first
    from release_people
    inner join earlier_people
        on earlier_people.kanon_entity = release_people.kanon_entity
)
{%- endmacro %}


{#
    Alias of a quasi-identifier; those of the earlier release are renamed, as the same name may mean
    another column there.
#}
{% macro name_in(side, column, place) -%}
{{ "kanon_earlier_" ~ place if side == "earlier" else kanon_sql.alias(column) }}
{%- endmacro %}


{# Quasi-identifiers with these aliases, one per line. #}
{% macro named_in(side, columns) -%}
{% for column in columns %}
{{ kanon_sql.ident(column) }}{{
    " as " ~ kanon_sql.name_in(side, column, loop.index)
    if kanon_sql.name_in(side, column, loop.index) != kanon_sql.ident(column)
}},
{% endfor %}
{%- endmacro %}


{#
    Classes of a release, numbered in the order of all columns, so that each reference to the CTE
    gives the same numbers.
#}
{% macro numbered_classes(side, relation, columns) %}
{{ side }}_classes as (
    select
        {{ kanon_sql.named_in(side, columns) | trim | indent(8) }}
        row_number() over (
            order by
{% for column in columns %}
                {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
        ) as kanon_class
    from {{ relation | indent(4) }}
    group by
{% for column in columns %}
        {{ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# One row for each record of a release, with its person and its class. #}
{% macro members(side, relation, columns, entities, entity) %}
{{ side }}_members as (
    select
        {{ side }}_records.kanon_entity,
        {{ side }}_classes.kanon_class
    from (
        select
            {{ kanon_sql.named_in(side, columns) | trim | indent(12) }}
            {{ kanon_sql.cell(
                entities, kanon_sql.ident(entity), kanon_sql.type_of(entity)
            ) }} as kanon_entity
        from {{ relation | indent(8) }}
    ) as {{ side }}_records
    inner join {{ side }}_classes
        {{ kanon_sql.in_the_class(side, columns, side ~ "_records") | trim | indent(8) }}
)
{%- endmacro %}


{# Join condition with the classes, by the quasi-identifiers. #}
{% macro in_the_class(side, columns, of) %}
{% for column in columns %}
{% set name = kanon_sql.name_in(side, column, loop.index) %}
{{ "on" if loop.first else "and" }} {{ kanon_sql.same(side ~ "_classes." ~ name, of ~ "." ~ name) }}
{% endfor %}
{%- endmacro %}


{# Each person of a release with their first and last class. #}
{% macro people_of_release(side) %}
{{ side }}_people as (
    select
        kanon_entity,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last
    from {{ side }}_members
    group by kanon_entity
)
{%- endmacro %}


{# Each class of the people who are in several classes of a release. #}
{% macro people_of_several_classes(side) %}
{{ side }}_several as (
    select distinct
        {{ side }}_members.kanon_entity,
        {{ side }}_members.kanon_class
    from {{ side }}_members
    inner join {{ side }}_people
        on {{ side }}_people.kanon_entity = {{ side }}_members.kanon_entity
    where {{ side }}_people.kanon_first < {{ side }}_people.kanon_last
)
{%- endmacro %}


{# Numbers of a person's classes, concatenated to one text. #}
{% macro numbers_of_several(side) %}
{{ side }}_numbers as (
    select
        kanon_entity,
        {{ kanon_sql.texts_in_order(
            "cast(kanon_class as " ~ kanon_sql.text_type() ~ ")", "kanon_class"
        ) }} as kanon_numbers
    from {{ side }}_several
    group by kanon_entity
)
{%- endmacro %}


{# Number of people with the same classes in a release. #}
{% macro crowds_of(side) %}
{{ side }}_crowds as (
    select
        {{ side }}_people.kanon_first,
        {{ side }}_numbers.kanon_numbers,
        count(*) as kanon_size
    from {{ side }}_people
    left join {{ side }}_numbers
        on {{ side }}_numbers.kanon_entity = {{ side }}_people.kanon_entity
    group by
        {{ side }}_people.kanon_first,
        {{ side }}_numbers.kanon_numbers
)
{%- endmacro %}


{# Crowds of the people in this release alone: all of its people less those in both. #}
{% macro people_of_one(side, who) %}
{{ who }}_parts as (
    select
        kanon_first,
        kanon_numbers,
        kanon_size
    from {{ side }}_crowds

    union all

    select
        kanon_{{ side }}_first as kanon_first,
        kanon_{{ side }}_numbers as kanon_numbers,
        -kanon_size as kanon_size
    from joint_classes
),

{{ who }}_classes as (
    select sum(kanon_size) as kanon_size
    from {{ who }}_parts
    group by
        kanon_first,
        kanon_numbers
),

{{ who }}s as (
    select
        coalesce(sum(kanon_size), 0) as kanon_{{ who }}s,
        min(kanon_size) as kanon_{{ who }}s_k
    from {{ who }}_classes
    where kanon_size > 0
)
{%- endmacro %}


{% test composed_k_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "composed_k_anonymity", model, kwargs, {"k": "count"}, ["earlier"]
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_k_anonymity_failures(**arguments), model) }}
{%- endtest %}
