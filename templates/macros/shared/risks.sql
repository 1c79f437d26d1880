{#
    Re-identification risk of a sample, and macros shared by its bounds.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16.
#}

{#
    Number of people by class size and by the sum of the survey weights, an estimate of the class's
    people in the population. The individual risk is a function of both. A person with several records of
    a class counts once there, with the lowest of their weights. A person in several classes has the
    smallest size and the lowest weight of any of them, so the risk is no lower than in their riskiest
    class.

    Benedetti, Franconi 1998, Statistical and technological solutions for controlled data
    dissemination, NTTS.
#}
{% macro survey_classes(relation, columns, weight, entity=none, first=none) %}
with

{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum({{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }}) as kanon_weight
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
)
{%- else %}
-- Each person once in a class, with the smallest of their weights there.
class_people as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
        {{ kanon_sql.ident(entity) }} as kanon_entity,
        min({{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }}) as kanon_weight
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }},
        {{ kanon_sql.ident(entity) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum(kanon_weight) as kanon_weight
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- Each person once, with the smallest figures of any of their classes.
people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size,
        min(classes.kanon_weight) as kanon_weight
    from class_people
    inner join classes
        on {{ kanon_sql.same_class(columns, "classes", "class_people", other_is_set=true) | indent(8) }}
    group by class_people.kanon_entity
)
{%- endif %}


select
    kanon_size,
    kanon_weight,
    {{ "sum(kanon_size)" if entity is none else "count(*)" }} as kanon_people
from {{ "classes" if entity is none else "people" }}
group by
    kanon_size,
    kanon_weight
order by
    kanon_size,
    kanon_weight
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{# Sum over the classes with 1 / size above the bound; NULL if no bound applies to classes. #}
{% macro above_bound(bound, name, counted) -%}
{% if bound is none -%}
cast(null as {{ kanon_sql.whole_type() }}) as {{ name }}
{%- else -%}
coalesce(sum(case when {{ kanon_sql.chance_above(bound, "kanon_size") }} then {{ counted }} else 0 end), 0) as {{ name }}
{%- endif %}
{%- endmacro %}


{# Predicate: the average is above its bound, with slack for rounding. #}
{% macro above_average(average, bound) -%}
{{ average }} > {{ kanon_sql.number(bound) }} + {{ kanon_sql.slack() }}
{%- endmacro %}
