{#
    The chance of being re-identified, and what small classes say of it. Each macro is a part of
    a SELECT over classes with their kanon_size, and for those who link, their kanon_union: the
    people of the reference, or of the release where those are more.

    El Emam 2013, Guide to the de-identification of personal health information, chapter 16;
    Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2.
#}

{# Whoever does not know it finds one of those in the reference: 1 / people is above a bound. #}
{% macro journalist_risk(bound) -%}
{{ kanon_sql.more_than_share("1", bound, "kanon_union") }}
{%- endmacro %}


{# Whoever links everyone finds so many of them. #}
{% macro marketer_risk() -%}
sum({{ kanon_sql.quotient("kanon_size", "kanon_union") }}) as kanon_reidentified
{%- endmacro %}


{# The records (people) that are alone in their class. #}
{% macro sample_uniqueness() -%}
sum(case when kanon_size = 1 then kanon_size else 0 end) as kanon_uniques
{%- endmacro %}


{#
    The classes of a sample by their size and the people of the population that its survey
    weights say they stand for: the individual risk is a function of both. A person of several
    records counts once, with the least of their weights.

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
)
{%- endif %}


select
    kanon_size,
    kanon_weight,
    count(*) as kanon_classes
from classes
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
