{#
    People by the set of classes they are in. Someone who knows several records of a person knows
    several classes of theirs, and the combination may be one person's alone although each class
    is large.

    The size of a profile is the number of people whose records lie in exactly the same classes.
    Where a person is in one class only, its values are the profile.
#}
{% macro profiles(relation, columns, entity) %}
with

class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity]) | trim | indent(4) }}
),

people as (
    select
        {{ kanon_sql.alias(entity) }},
{% for column in columns %}
        {{ kanon_sql.only_value(kanon_sql.alias(column)) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
        count(*) as kanon_classes
    from class_people
    group by {{ kanon_sql.alias(entity) }}
),

profiles_of_one_class as (
    select count(*) as kanon_people
    from people
    where kanon_classes = 1
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

memberships as (
    select class_people.*
    from class_people
    inner join people
        on people.{{ kanon_sql.alias(entity) }} = class_people.{{ kanon_sql.alias(entity) }}
    where people.kanon_classes > 1
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        row_number() over (order by {{ kanon_sql.alias(columns[0]) }}) as kanon_class
    from memberships
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

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
    sum(kanon_people) as kanon_people,
    min(kanon_people) as kanon_profile_k,
    sum(case when kanon_people = 1 then 1 else 0 end) as kanon_profile_uniques
from profiles
{%- endmacro %}
