{#
    Each person counts once: a person in several classes counts in the smallest of them, where they
    are easiest to find. If every person is in one class only, only the number of people is queried,
    as the class sizes give the rest.
#}

{# Number of people. If it is the sum of the class sizes, every person is in one class. #}
{% macro number_of_people(relation, entity) -%}
select count(distinct {{ kanon_sql.ident(entity) }}) as kanon_people
from {{ relation }}
{%- endmacro %}


{# Number of people by the size of their smallest class. #}
{% macro smallest_classes(relation, columns, entity) %}
with

{{ kanon_sql.ctes_of_smallest_classes(relation, columns, entity) | trim }}

select
    kanon_size,
    count(*) as kanon_people
from people
group by kanon_size
order by kanon_size
{%- endmacro %}


{# CTEs of the people, each with the size of their smallest class. #}
{% macro ctes_of_smallest_classes(relation, columns, entity) %}
-- Each person once in a class, however many records they have there.
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], counted=false) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity, aggregates=[]) | trim | indent(4) }}
),

-- Each person once, with the smallest of their classes.
people as (
    {{ kanon_sql.of_each_person(
        "class_people", "classes", columns, entity, ["min(classes.kanon_size) as kanon_size"]
    ) | trim | indent(4) }}
)
{%- endmacro %}


{# Aggregates for each person over the classes the person is in. #}
{% macro of_each_person(class_people, classes, columns, entity, measures) %}
select
    {{ class_people }}.{{ kanon_sql.alias(entity) }}
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from {{ class_people }}
inner join {{ classes }}
    on {{ kanon_sql.same_class(columns, classes, class_people, other_is_set=true) | indent(4) }}
group by {{ class_people }}.{{ kanon_sql.alias(entity) }}
{%- endmacro %}


{#
    Number of people in a class that satisfies each named predicate; a person counts once for each.
#}
{% macro people_of_flagged_classes(class_people, classes, columns, entity, flags) %}
{% set of_person = namespace(measures=[]) %}
{% for flag in flags %}
{% set of_person.measures = of_person.measures + ["max(" ~ kanon_sql.flag(flag.expression) | trim ~ ") as " ~ flag.name] %}
{% endfor %}
people as (
    {{ kanon_sql.of_each_person(class_people, classes, columns, entity, of_person.measures) | trim | indent(4) }}
)

select
    count(*) as kanon_people
{%- for flag in flags %},
    sum({{ flag.name }}) as {{ flag.name }}_people
{%- endfor %}

from people
{%- endmacro %}


{#
    Value of a column that is constant in the rows. Every database has max for numbers; some have
    none for booleans.
#}
{% macro only_value_of(column) -%}
{% set name = kanon_sql.alias(column) -%}
{{ "max(case when " ~ name ~ " then 1 when not " ~ name ~ " then 0 end)"
    if kanon_sql.type_of(column) == "BOOLEAN"
    else kanon_sql.only_value(name) }}
{%- endmacro %}


{#
    Number of profiles by the number of people who have it, and by the size of its smallest class. A
    profile is the set of a person's classes. From several records of a person an attacker knows
    several classes, and their combination may be unique although each class is large.

    The size of a profile is the number of people with records in exactly the same classes. Each person
    has exactly one profile, so population estimates are computed from the profile sizes.

    Aggregates of their class numbers tell most people apart. Only those whom they leave equal are
    compared by the whole set, as text, which takes three times as long.
#}
{% macro profiles(relation, columns, entity, embedded=false) %}
with

-- Each person once in a class, however many records they have there.
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], counted=false) | trim | indent(4) }}
),

{% if not embedded %}
-- All columns order the numbers, so that a database which reads this twice numbers alike.
{% endif %}
classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
{% if embedded %}
        row_number() over () as kanon_class,
{% else %}
        row_number() over (
            order by
{{ kanon_sql.aliases(columns) | indent(12, first=true) }}
        ) as kanon_class,
{% endif %}
        count(*) as kanon_size
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

{{ "-- Computed once, as the numbers have no order.
" if embedded }}memberships as {{ "materialized " if embedded }}(
    select
        class_people.{{ kanon_sql.alias(entity) }},
        classes.kanon_class,
        classes.kanon_size
    from class_people
    inner join classes
        on {{ kanon_sql.same_class(columns, "class_people", "classes", other_is_set=true) | indent(8) }}
),

-- Each person with an outline of their profile: people of one profile have one outline.
people as (
    select
        {{ kanon_sql.alias(entity) }},
        count(*) as kanon_classes,
        min(kanon_class) as kanon_first,
        max(kanon_class) as kanon_last,
        sum(kanon_class) as kanon_sum,
        min(kanon_size) as kanon_size
    from memberships
    group by {{ kanon_sql.alias(entity) }}
),

outlines as (
    select
        kanon_classes,
        kanon_first,
        kanon_last,
        kanon_sum,
        kanon_size,
        count(*) as kanon_people
    from people
    group by
        kanon_classes,
        kanon_first,
        kanon_last,
        kanon_sum,
        kanon_size
),

-- Up to three numbers are known from the least, the greatest and the sum, more are not.
people_to_compare as (
    select people.{{ kanon_sql.alias(entity) }}
    from people
    inner join outlines
        on outlines.kanon_classes = people.kanon_classes
        and outlines.kanon_first = people.kanon_first
        and outlines.kanon_last = people.kanon_last
        and outlines.kanon_sum = people.kanon_sum
        and outlines.kanon_size = people.kanon_size
    where outlines.kanon_classes > 3 and outlines.kanon_people > 1
),

-- Their profile: the sorted numbers of their classes, as one text.
compared_people as (
    select
        memberships.{{ kanon_sql.alias(entity) }},
        {{ kanon_sql.texts_in_order(
            "cast(memberships.kanon_class as " ~ kanon_sql.text_type() ~ ")", "memberships.kanon_class"
        ) }} as kanon_profile,
        min(memberships.kanon_size) as kanon_size
    from memberships
    inner join people_to_compare
        on people_to_compare.{{ kanon_sql.alias(entity) }} = memberships.{{ kanon_sql.alias(entity) }}
    group by memberships.{{ kanon_sql.alias(entity) }}
),

profiles as (
    select
        kanon_size,
        kanon_people
    from outlines
    where kanon_classes <= 3 or kanon_people = 1

    union all

    select
        kanon_size,
        count(*) as kanon_people
    from compared_people
    group by
        kanon_profile,
        kanon_size
)

select
    kanon_size,
    kanon_people,
    count(*) as kanon_profiles
from profiles
group by
    kanon_size,
    kanon_people
order by
    kanon_size,
    kanon_people
{%- endmacro %}
