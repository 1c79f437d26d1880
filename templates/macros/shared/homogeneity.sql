{#
    Homogeneity: all records of a class have one sensitive value, so class membership discloses it.
    With an entity, every person of the class holds some common value; if NULL is unknown, every
    person with a known value does.

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


{# Aggregates that the predicate reads. #}
{% macro homogeneity_columns(counted, sensitive, entity=none, unknown=false) -%}
{{ return(
    kanon_sql.distinct_columns(sensitive, unknown)
    if entity is none
    else kanon_sql.most_people_columns(counted, entity)
) }}
{%- endmacro %}


{#
    A value that every person of a class holds is certain, whatever other values they have:
    diversity models treat the class as one with that single value. Without an entity such a class
    has no other value, and the expression needs no CASE.
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


{# Predicate: the class has several values, one of them held by all its people. #}
{% macro certain_among_others(entity=none, unknown=false) -%}
kanon_distinct > 1 and {{ kanon_sql.homogeneity(entity, unknown) }}
{%- endmacro %}


{# Predicate: the class has one value or none; possibly the whole table does. #}
{% macro single_value() -%}
kanon_distinct < 2
{%- endmacro %}


{# Predicate: the class has a second value only because NULL counts as one. #}
{% macro diverse_by_null() -%}
kanon_known = 1 and kanon_distinct > 1
{%- endmacro %}


{#
    Number of classes whose values differ only by case, outer spaces or the spelling of a number.
    One row.
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

-- Each value with the number that it spells, if any.
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


{# Generic test of homogeneity; `achieved` is the number of homogeneous classes. #}
{% macro homogeneity_failures(relation, columns, sensitive, entity=none, unknown=false) %}
{% set homogeneous = kanon_sql.homogeneity(entity, unknown) | trim %}
{{ kanon_sql.class_failures(
    kanon_sql.ctes_of_sensitive_values(
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
{% set arguments = kanon_sql.test_arguments("homogeneity", model, kwargs, {}, ["sensitive"]) -%}
{{ kanon_sql.tidy(kanon_sql.homogeneity_failures(**arguments), model) }}
{%- endtest %}
