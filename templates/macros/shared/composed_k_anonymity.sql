{#
    Composed k-anonymity: whoever can link the records of one person in two releases, and knows the
    person's quasi-identifiers in both, still finds at least k people who are in both and share
    them. The crowd of a person are the people who are in exactly the same classes of either
    release. People who are in one of the two only are grouped by their classes there: whoever knows
    that somebody came or went looks among them alone.

    Every person has one row, by the numbers of their classes: the first and the last of each
    release, and where these are two, a text of all.

    Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data
    privacy, ACM KDD, section 2.

    `entities` is the entity of the release with that of the earlier one and how they are compared:
    `as_is`, or `as_text`. The earlier release has quasi-identifiers of its own, any number of them.
    `measures` are what the checks ask of the joint classes, of which `kanon_size` is the crowd.
#}
{% macro composed_k_anonymity(release, columns, entities, earlier, earlier_columns, measures) %}
with

{{ kanon_sql.sets_of_crowds(release, columns, entities, earlier, earlier_columns, measures) }},

{# A class has those who are in it alone, and those of several classes. #}
earlier_parts as (
    select
        kanon_earlier_first as kanon_class,
        kanon_size
    from crowds
    where kanon_earlier_first is not null
        and kanon_earlier_numbers is null

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

select
    people_in_both.*,
    joiners.kanon_joiners,
    joiners.kanon_joiners_k,
    leavers.kanon_leavers,
    leavers.kanon_leavers_k,
    earlier_alone.kanon_earlier_k
from people_in_both
cross join joiners
cross join leavers
cross join earlier_alone
{%- endmacro %}


{# The sets that it names: who is in both releases, who came and who left. #}
{% macro sets_of_crowds(release, columns, entities, earlier, earlier_columns, measures) %}
{% set of_release = kanon_sql.names_in_release(columns) %}
{% set of_earlier = kanon_sql.names_in_earlier(earlier_columns) %}
{{ kanon_sql.records_of_both_releases(release, columns, entities, earlier, earlier_columns) }},

{{ kanon_sql.numbered_classes("release", of_release) }},

{{ kanon_sql.numbered_classes("earlier", of_earlier) }},

memberships as (
    {{ kanon_sql.people_with_their_classes("release", of_release) | trim | indent(4) }}

    union all

    {{ kanon_sql.people_with_their_classes("earlier", of_earlier) | trim | indent(4) }}
),

persons as (
    select
        kanon_entity,
{% for side in ["release", "earlier"] %}
        min(case when {{ kanon_sql.is_of(side) }} then kanon_class end) as kanon_{{ side }}_first,
        max(case when {{ kanon_sql.is_of(side) }} then kanon_class end) as kanon_{{ side }}_last{{ "," if not loop.last }}
{% endfor %}
    from memberships
    group by kanon_entity
),

{{ kanon_sql.people_of_several_classes("release") }},

{{ kanon_sql.people_of_several_classes("earlier") }},

crowds as (
    select
        persons.kanon_release_first,
        release_sets.kanon_numbers as kanon_release_numbers,
        persons.kanon_earlier_first,
        earlier_sets.kanon_numbers as kanon_earlier_numbers,
        count(*) as kanon_size
    from persons
    left join release_sets
        on release_sets.kanon_entity = persons.kanon_entity
    left join earlier_sets
        on earlier_sets.kanon_entity = persons.kanon_entity
    group by
        persons.kanon_release_first,
        release_sets.kanon_numbers,
        persons.kanon_earlier_first,
        earlier_sets.kanon_numbers
),

joint_classes as (
    select kanon_size
    from crowds
    where kanon_release_first is not null
        and kanon_earlier_first is not null
),

joiner_classes as (
    select kanon_size
    from crowds
    where kanon_earlier_first is null
),

leaver_classes as (
    select kanon_size
    from crowds
    where kanon_release_first is null
),

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

joiners as (
    select
        coalesce(sum(kanon_size), 0) as kanon_joiners,
        min(kanon_size) as kanon_joiners_k
    from joiner_classes
),

leavers as (
    select
        coalesce(sum(kanon_size), 0) as kanon_leavers,
        min(kanon_size) as kanon_leavers_k
    from leaver_classes
)
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
{% set sets = kanon_sql.sets_of_crowds(
    relation, columns, entities, earlier, earlier_columns,
    [
        kanon_sql.classes_where(too_few, "composed_k_anonymity_violated"),
        kanon_sql.people_where(too_few, "composed_k_anonymity_violated"),
    ]
) %}
{% set ctes %}
with

{{ sets | trim }},

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
    more=[{
        "statement": kanon_sql.strangers("joiners"),
        "counted": "kanon_strangers",
        "set": "strangers",
        "are": "people and none of them in the earlier release",
    }]
) }}
{%- endmacro %}


{# How many people there are of whom nobody is in both releases: a check on nobody must not hold. #}
{% macro strangers(people) -%}
select case when in_both = 0 then {{ people }} else 0 end as kanon_strangers
from measured
{%- endmacro %}


{# The people of either release with each class that they are in, once. #}
{% macro people_of_both_releases(release, columns, entities, earlier, earlier_columns) %}
release_people as (
    select distinct
{% for column in columns %}
        {{ kanon_sql.aliased(kanon_sql.ident(column), column) }},
{% endfor %}
        {{ kanon_sql.cell(
            entities, kanon_sql.ident(entities.column), kanon_sql.type_of(entities.column)
        ) }} as kanon_entity
    from {{ release | indent(4) }}
),

earlier_people as (
    select distinct
{% for column in earlier_columns %}
        {{ kanon_sql.ident(column) }} as kanon_earlier_{{ loop.index }},
{% endfor %}
        {{ kanon_sql.cell(
            entities, kanon_sql.ident(entities.reference), kanon_sql.type_of(entities.reference)
        ) }} as kanon_entity
    from {{ earlier | indent(4) }}
)
{%- endmacro %}


{# The combinations of both releases that people have, and how many people are in each. #}
{% macro sizes_in_both(named, people, of_release, of_earlier) %}
{{ named }} as (
    select
{% for name in of_release %}
        release_{{ people }}.{{ name }},
{% endfor %}
{% for name in of_earlier %}
        earlier_{{ people }}.{{ name }},
{% endfor %}
        count(*) as kanon_size
    from release_{{ people }}
    inner join earlier_{{ people }}
        on earlier_{{ people }}.kanon_entity = release_{{ people }}.kanon_entity
    group by
{% for name in of_release %}
        release_{{ people }}.{{ name }},
{% endfor %}
{% for name in of_earlier %}
        earlier_{{ people }}.{{ name }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# What the quasi-identifiers are called above the records. #}
{% macro names_in_release(columns) -%}
{% set found = namespace(names=[]) %}
{% for column in columns %}{% set found.names = found.names + [kanon_sql.alias(column)] %}{% endfor %}
{{ return(found.names) }}
{%- endmacro %}


{# The same of an earlier release, whose own names may be those of the release. #}
{% macro names_in_earlier(columns) -%}
{% set found = namespace(names=[]) %}
{% for column in columns %}{% set found.names = found.names + ["kanon_earlier_" ~ loop.index] %}{% endfor %}
{{ return(found.names) }}
{%- endmacro %}


{# The records of either release, as far as they are read. #}
{% macro records_of_both_releases(release, columns, entities, earlier, earlier_columns) %}
release_records as (
    select
{% for column in columns %}
        {{ kanon_sql.aliased(kanon_sql.ident(column), column) }},
{% endfor %}
        {{ kanon_sql.cell(
            entities, kanon_sql.ident(entities.column), kanon_sql.type_of(entities.column)
        ) }} as kanon_entity
    from {{ release | indent(4) }}
),

earlier_records as (
    select
{% for column in earlier_columns %}
        {{ kanon_sql.ident(column) }} as kanon_earlier_{{ loop.index }},
{% endfor %}
        {{ kanon_sql.cell(
            entities, kanon_sql.ident(entities.reference), kanon_sql.type_of(entities.reference)
        ) }} as kanon_entity
    from {{ earlier | indent(4) }}
)
{%- endmacro %}


{# The classes of a release by numbers, which are those of all columns in order, so that they are the
   same wherever they are read. #}
{% macro numbered_classes(side, names) %}
{{ side }}_classes as (
    select
{% for name in names %}
        {{ name }},
{% endfor %}
        row_number() over (
            order by
{% for name in names %}
                {{ name }}{{ "," if not loop.last }}
{% endfor %}
        ) as kanon_class
    from {{ side }}_records
    group by
{% for name in names %}
        {{ name }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# A row for each record of a release: whose it is, and in which class. #}
{% macro people_with_their_classes(side, names) %}
select
    {{ side }}_records.kanon_entity,
    {{ 1 if side == "earlier" else 0 }} as kanon_is_earlier,
    {{ side }}_classes.kanon_class
from {{ side }}_records
inner join {{ side }}_classes
{% for name in names %}
    {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
        side ~ "_classes." ~ name, side ~ "_records." ~ name
    ) }}
{% endfor %}
{%- endmacro %}


{# A membership in the one release or in the other. #}
{% macro is_of(side) -%}
kanon_is_earlier = {{ 1 if side == "earlier" else 0 }}
{%- endmacro %}


{# The people who are in several classes of a release, and the numbers of all of them as a text. #}
{% macro people_of_several_classes(side) %}
{{ side }}_several as (
    select distinct
        memberships.kanon_entity,
        memberships.kanon_class
    from memberships
    inner join persons
        on persons.kanon_entity = memberships.kanon_entity
    where {{ kanon_sql.is_of(side) }}
        and persons.kanon_{{ side }}_first < persons.kanon_{{ side }}_last
),

{{ side }}_sets as (
    select
        kanon_entity,
        {{ kanon_sql.texts_in_order(
            "cast(kanon_class as " ~ kanon_sql.text_type() ~ ")", "kanon_class"
        ) }} as kanon_numbers
    from {{ side }}_several
    group by kanon_entity
)
{%- endmacro %}


{% test composed_k_anonymity(
    model,
    quasi_identifiers=none,
    k=none,
    earlier=none,
    earlier_where=none,
    earlier_columns=none,
    earlier_quasi_identifiers=none,
    earlier_entity=none,
    entity=none,
    quote_columns=none
) -%}
{{- config(fail_calc="coalesce(sum(failures), 0)") -}}
{% do kanon_sql.needs_one_of("composed_k_anonymity", {"k": k}) -%}
{% set k = kanon_sql.count_of("composed_k_anonymity", "k", k) -%}
{% set asked = kanon_sql.columns_of_test("composed_k_anonymity", model, quasi_identifiers, quote_columns, entity) -%}
{% set before = kanon_sql.earlier_of_test(
    "composed_k_anonymity", quasi_identifiers, entity, earlier,
    where=earlier_where, columns=earlier_columns, own=earlier_quasi_identifiers,
    own_entity=earlier_entity, quote_columns=quote_columns
) -%}
{{ kanon_sql.tidy(kanon_sql.composed_k_anonymity_failures(
    asked["relation"],
    asked["columns"],
    k=k,
    entities={"column": asked["entity"], "reference": before["entity"], "how": "as_is"},
    earlier=before["relation"],
    earlier_columns=before["columns"]
), model) }}
{%- endtest %}
