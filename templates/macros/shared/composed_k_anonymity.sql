{#
    Composed k-anonymity: whoever can link the records of one person in two releases, and knows the
    person's quasi-identifiers in both, still finds at least k people who are in both and share
    them. The crowd of a person are the people who are in exactly the same classes of either
    release. People who are in one of the two only are grouped by their classes there: whoever knows
    that somebody came or went looks among them alone.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2.

    `entities` is the entity of the release with that of the earlier one and how they are compared:
    `as_is`, or `as_text`. The earlier release has quasi-identifiers of its own, any number of them.
    `measures` are what the checks ask of the joint classes, of which `kanon_size` is the crowd.
    `attributes` are the sensitive attributes of which composed l-diversity is asked in the same
    statement, as both find each person's classes: see candidates_in_short.
    `answers` are the parts of the answer, by default all of them: the crowds of both with those
    `of_release` and `of_earlier` who are in it alone, the `values` that pairs of classes leave, and
    the `people` in pairs that leave too few.
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

{{ kanon_sql.sets_of_people(release, columns, entities, earlier, earlier_columns) }},

{{ kanon_sql.sets_of_joint_classes(example=pairs) }}
{%- if "of_release" in answers or "of_earlier" in answers %},

{{ kanon_sql.sets_of_crowds(measures, answers) }}
{%- endif %}
{%- if "of_earlier" in answers %},

-- The earlier release alone: a class has people who are in it only, and people of several classes.
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

{{ kanon_sql.sets_of_pairs() }}
{%- for each in attributes %},

{{ kanon_sql.sets_of_candidates(release, columns, earlier, earlier_columns, each, unknown) }}
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


{# The crowds of people in both releases; `example` is any person of a crowd, whose classes are those
   of everyone in it. #}
{% macro sets_of_joint_classes(example=false) %}
-- The classes of whoever is in several, as one text.
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


{# The sets that it names: who is in both releases, who came and who left. The crowds of either are
   those of both with the joiners, or with the leavers. #}
{% macro sets_of_crowds(measures, answers=["of_release", "of_earlier"]) %}
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

-- Crowds of this release less the people of both: who came.
{{ kanon_sql.people_of_one("release", "joiner") }}
{%- endif %}
{%- if "of_earlier" in answers %}
{{- ",\n" if "of_release" in answers }}
-- Crowds of the earlier one less the people of both: who left.
{{ kanon_sql.people_of_one("earlier", "leaver") }}
{%- endif %}
{%- endmacro %}


{# A crowd of too few. #}
{% macro composed_k_anonymity_violated(k) -%}
kanon_size < {{ kanon_sql.positive_int(k, "k") }}
{%- endmacro %}


{# The test: crowds of k people, of whom there must be any. What is at risk are people. #}
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

{{ kanon_sql.sets_of_people(relation, columns, entities, earlier, earlier_columns) | trim }},

{{ kanon_sql.sets_of_joint_classes() | trim }},

{{ kanon_sql.sets_of_crowds(measures) | trim }},

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
{{ kanon_sql.told_failures(
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


{# How many people there are of whom nobody is in both releases: a check on nobody must not hold. #}
{% macro strangers(people) -%}
select case when in_both = 0 then {{ people }} else 0 end as kanon_strangers
from measured
{%- endmacro %}


{# The people of both releases, by the numbers of their classes: the first and the last of each
   release, between which somebody of several classes has others. #}
{% macro sets_of_people(release, columns, entities, earlier, earlier_columns) %}
-- The classes by number, in the order of all columns: it is the same wherever it is read.
{{ kanon_sql.numbered_classes("release", release, columns) }},

{{ kanon_sql.numbered_classes("earlier", earlier, earlier_columns) }},

{{ kanon_sql.members("release", release, columns, entities, entities.column) }},

{{ kanon_sql.members("earlier", earlier, earlier_columns, entities, entities.reference) }},

-- Each person once, with the first and the last of their classes.
{{ kanon_sql.people_of_release("release") }},

{{ kanon_sql.people_of_release("earlier") }},

-- Whoever is in several classes, with each of them.
{{ kanon_sql.people_of_several_classes("release") }},

{{ kanon_sql.people_of_several_classes("earlier") }},

-- Whoever is in both releases.
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


{# What a quasi-identifier is called above the records; an earlier release may have names of its own
   that mean something else in the release. #}
{% macro name_in(side, column, place) -%}
{{ "kanon_earlier_" ~ place if side == "earlier" else kanon_sql.alias(column) }}
{%- endmacro %}


{# The quasi-identifiers under these names, one a line. #}
{% macro named_in(side, columns) -%}
{% for column in columns %}
{{ kanon_sql.ident(column) }}{{
    " as " ~ kanon_sql.name_in(side, column, loop.index)
    if kanon_sql.name_in(side, column, loop.index) != kanon_sql.ident(column)
}},
{% endfor %}
{%- endmacro %}


{# The classes of a release by numbers, which are those of all columns in order, so that they are the
   same wherever they are read. #}
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


{# A row for each record of a release: whose it is, and in which class. #}
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


{# The condition of a join with a class, for what has its quasi-identifiers. #}
{% macro in_the_class(side, columns, of) %}
{% for column in columns %}
{% set name = kanon_sql.name_in(side, column, loop.index) %}
{{ "on" if loop.first else "and" }} {{ kanon_sql.same(side ~ "_classes." ~ name, of ~ "." ~ name) }}
{% endfor %}
{%- endmacro %}


{# Every person of a release, with the first and the last of the classes. #}
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


{# The people who are in several classes of a release, with each of them. #}
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


{# The numbers of all classes of each of them as one text. #}
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


{# The people of a release by their classes there. #}
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


{# Those of a release who are not in the other one: all without the people of both. #}
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
{% set asked = kanon_sql.asked_of_test(
    "composed_k_anonymity", model, kwargs, {"k": "count"}, ["earlier"]
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_k_anonymity_failures(**asked), model) }}
{%- endtest %}
