{#
    Homogeneity: a class whose records all have one sensitive value, so that belonging to the
    class gives the value away. With an entity, some value is held by every person of the class;
    where NULL is unknown, by every person of whom one is known.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1),
    section 2.1 (homogeneity attack).
#}
{% macro homogeneity(entity=none, unknown=false) -%}
{% if entity is none -%}
kanon_distinct = 1
{%- elif unknown -%}
kanon_most_people = kanon_size_known and kanon_size_known > 0
{%- else -%}
kanon_most_people = kanon_size
{%- endif %}
{%- endmacro %}


{# By what a class is seen to be homogeneous. #}
{% macro homogeneity_columns(counted, sensitive, entity=none, unknown=false) -%}
{{ return(
    kanon_sql.distinct_columns(sensitive, unknown)
    if entity is none
    else kanon_sql.most_people_columns(counted, entity)
) }}
{%- endmacro %}


{#
    Of a class all of whose people have some value that value is certain, however many others they
    have: for every model of diversity it is a class of that one value. Without an entity a class
    of one value is nothing else, so that nothing is to be said of it.
#}
{% macro unless_certain(expression, certain, entity=none, unknown=false) -%}
{% if entity is none -%}
{{ expression }}
{%- else -%}
case
    when {{ kanon_sql.homogeneity(entity, unknown) }} then {{ certain }}
    else {{ expression }}
end
{%- endif %}
{%- endmacro %}


{# A class of several values, one of which all of its people have. #}
{% macro certain_among_others(entity=none, unknown=false) -%}
kanon_distinct > 1 and {{ kanon_sql.homogeneity(entity, unknown) }}
{%- endmacro %}


{# A class that has one value, or none that is known: maybe the whole table has. #}
{% macro single_value() -%}
kanon_distinct < 2
{%- endmacro %}


{# A class that looks diverse only because NULL counts as a value. #}
{% macro diverse_by_null() -%}
kanon_known = 1 and kanon_distinct > 1
{%- endmacro %}


{#
    Classes that look diverse and are not: their values differ only by case, outer spaces or the
    spelling of a number. One row.
#}
{% macro diverse_by_spelling(relation, columns, sensitive) %}
with

class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive], counted=false) | trim | indent(4) }}
),

known_values as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        trim(cast({{ kanon_sql.alias(sensitive) }} as {{ kanon_sql.text_type() }})) as kanon_text
    from class_values
    where {{ kanon_sql.alias(sensitive) }} is not null
),

-- Each of them with the number that it spells, if any.
read_values as (
    select
        known_values.*,
        {{ kanon_sql.number_or_null("kanon_text") | indent(8) }} as kanon_number
    from known_values
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_distinct,
        {{ kanon_sql.count_spellings() | indent(8) }} as kanon_spellings
    from read_values
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)

select {{ kanon_sql.classes_where("kanon_distinct > 1 and kanon_spellings = 1", "diverse_by_spelling") }}
from classes
{%- endmacro %}


{# The test: no class has a single value. It achieves the number of classes that have. #}
{% macro homogeneity_failures(relation, columns, sensitive, entity=none, unknown=false) %}
{% set homogeneous = kanon_sql.homogeneity(entity, unknown) | trim %}
{{ kanon_sql.class_failures(
    kanon_sql.sets_of_sensitive_values(
        relation, columns, sensitive, entity, unknown,
        class_columns=kanon_sql.homogeneity_columns(
            kanon_sql.counted(entity, unknown), sensitive, entity, unknown
        )
    ),
    "classes",
    homogeneous,
    "sum(" ~ kanon_sql.flag(homogeneous) | trim ~ ")",
    relation, kanon_sql.records_of_class(entity),
    entity=entity
) }}
{%- endmacro %}


{% test homogeneity(model) -%}
{% set asked = kanon_sql.asked_of_test("homogeneity", model, kwargs, {}, ["sensitive"]) -%}
{{ kanon_sql.tidy(kanon_sql.homogeneity_failures(**asked), model) }}
{%- endtest %}
