{#
    People by the set of classes they are in. Someone who knows several records of a person knows
    several classes of theirs, and the combination may be one person's alone although each class
    is large.

    definition: the size of a profile is the number of people whose records lie in exactly the
    same classes.
#}
{% macro profiles(relation, columns, entity) %}
with

class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity]) | trim | indent(4) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        row_number() over (order by {{ kanon_sql.alias(columns[0]) }}) as kanon_class
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

people as (
    select
        class_people.{{ kanon_sql.alias(entity) }},
        string_agg(cast(classes.kanon_class as {{ kanon_sql.text_type() }}), ',' order by classes.kanon_class) as kanon_profile
    from class_people
    inner join classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same("class_people." ~ kanon_sql.alias(column), "classes." ~ kanon_sql.alias(column)) }}
{% endfor %}
    group by class_people.{{ kanon_sql.alias(entity) }}
),

profiles as (
    select
        kanon_profile,
        count(*) as kanon_people
    from people
    group by kanon_profile
)

select
    sum(kanon_people) as kanon_people,
    min(kanon_people) as kanon_profile_k,
    sum(case when kanon_people = 1 then 1 else 0 end) as kanon_profile_uniques
from profiles
{%- endmacro %}
