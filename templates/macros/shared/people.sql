{#
    People are counted once: whoever is in several classes has the smallest of them, where they
    are easiest to find. Nothing of this is asked where every person is in one class only; there
    the sizes of the classes say the same.
#}

{# How many people have each size of the smallest of their classes. #}
{% macro smallest_classes(relation, columns, entity) %}
with

-- Each person once in a class, however many records they have there.
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], counted=false) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity, asked=[]) | trim | indent(4) }}
),

-- Each person once, with the smallest of their classes.
people as (
    {{ kanon_sql.of_each_person(
        "class_people", "classes", columns, entity, ["min(classes.kanon_size) as kanon_size"]
    ) | trim | indent(4) }}
)

select
    kanon_size,
    count(*) as kanon_people
from people
group by kanon_size
order by kanon_size
{%- endmacro %}


{# What is so of each person, from the classes that the person is in. #}
{% macro of_each_person(class_people, classes, columns, entity, measures) %}
select
    {{ class_people }}.{{ kanon_sql.alias(entity) }}
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from {{ class_people }}
inner join {{ classes }}
{% for column in columns %}
    {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
        classes ~ "." ~ kanon_sql.alias(column), class_people ~ "." ~ kanon_sql.alias(column)
    ) }}
{% endfor %}
group by {{ class_people }}.{{ kanon_sql.alias(entity) }}
{%- endmacro %}


{# How many people are in a class of which something is so, by the name that each condition has: each
   of them once, however many such classes they have. #}
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


{# The one value that a column has in some rows. No database lacks a greatest number; of truth values
   some have none. #}
{% macro only_value_of(column) -%}
{% set name = kanon_sql.alias(column) -%}
{{ "max(case when " ~ name ~ " then 1 when not " ~ name ~ " then 0 end)"
    if kanon_sql.type_of(column) == "BOOLEAN"
    else kanon_sql.only_value(name) }}
{%- endmacro %}


{#
    People by the set of classes they are in. Someone who knows several records of a person knows
    several classes of theirs, and the combination may be one person's alone although each class
    is large.

    The size of a profile is the number of people whose records lie in exactly the same classes.
    Where a person is in one class only, its values are the profile. Whoever it is, each person
    has one profile: what is estimated of people is estimated from these sizes.
#}
{% macro profiles(relation, columns, entity) %}
with

-- Each person once in a class, however many records they have there.
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], counted=false) | trim | indent(4) }}
),

-- Each person with the number of their classes; the values tell the class where it is one.
people as (
    select
        {{ kanon_sql.alias(entity) }},
{% for column in columns %}
        {{ kanon_sql.only_value_of(column) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
        count(*) as kanon_classes
    from class_people
    group by {{ kanon_sql.alias(entity) }}
),

-- People of one class: their profile is that class.
profiles_of_one_class as (
    select count(*) as kanon_people
    from people
    where kanon_classes = 1
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- People of several classes, with each of them.
memberships as (
    select class_people.*
    from class_people
    inner join people
        on people.{{ kanon_sql.alias(entity) }} = class_people.{{ kanon_sql.alias(entity) }}
    where people.kanon_classes > 1
),

-- Their classes by number.
classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        row_number() over (order by {{ kanon_sql.alias(columns[0]) }}) as kanon_class
    from memberships
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- Their profile: the numbers of their classes in order, as one text.
people_of_several_classes as (
    select
        memberships.{{ kanon_sql.alias(entity) }},
        {{ kanon_sql.texts_in_order(
            "cast(classes.kanon_class as " ~ kanon_sql.text_type() ~ ")", "classes.kanon_class"
        ) }} as kanon_profile
    from memberships
    inner join classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "memberships." ~ kanon_sql.alias(column), "classes." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
    group by memberships.{{ kanon_sql.alias(entity) }}
),

profiles_of_several_classes as (
    select count(*) as kanon_people
    from people_of_several_classes
    group by kanon_profile
),

profiles as (
    select kanon_people
    from profiles_of_one_class

    union all

    select kanon_people
    from profiles_of_several_classes
)

select
    kanon_people as kanon_size,
    count(*) as kanon_profiles
from profiles
group by kanon_people
order by kanon_size
{%- endmacro %}
