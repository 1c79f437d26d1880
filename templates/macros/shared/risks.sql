{#
    The chance of being re-identified in a sample, and what bounds of it have in common.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16.
#}

{#
    The classes of a sample by their size and the people of the population that its survey
    weights say they stand for: the individual risk is a function of both, and kanon_people says
    how many have it. A person of several records of a class counts once in it, with the least of
    their weights; a person of several classes has the least size and the least weight of any,
    which is the risk of the riskiest of them or more.

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
-- Each person once in a class, with the least of the weights they have there.
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

-- Each person once, with the least that any of their classes has.
people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size,
        min(classes.kanon_weight) as kanon_weight
    from class_people
    inner join classes
{% for column in columns %}
        {{ "on" if loop.first else "and" }} {{ kanon_sql.same(
            "classes." ~ kanon_sql.alias(column), "class_people." ~ kanon_sql.alias(column)
        ) }}
{% endfor %}
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


{# What is in the classes whose chance is above a bound; NULL where no bound speaks of classes. #}
{% macro above_bound(bound, name, counted) -%}
{% if bound is none -%}
cast(null as {{ kanon_sql.whole_type() }}) as {{ name }}
{%- else -%}
coalesce(sum(case when {{ kanon_sql.chance_above(bound, "kanon_size") }} then {{ counted }} else 0 end), 0) as {{ name }}
{%- endif %}
{%- endmacro %}


{# Whether an average is above its bound, but for the last digits. #}
{% macro above_average(average, bound) -%}
{{ average }} > {{ kanon_sql.number(bound) }} + {{ kanon_sql.slack() }}
{%- endmacro %}
