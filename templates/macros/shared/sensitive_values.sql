{#
    The classes with the sensitive values in each: one frequency set over the quasi-identifiers
    and the sensitive attribute, rolled up to the classes. Every question on this attribute is
    read off the same two sets, by class size.

    `unknown` reads a NULL as no value at all; otherwise NULL is one value more.
#}
{% macro sensitive_values(relation, columns, sensitive, entity=none, unknown=false) %}
with

{% if entity is none %}
class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive]) | trim | indent(4) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_size,
        sum(kanon_records) as kanon_records,
        {{ kanon_sql.count_known(sensitive) if unknown else "count(*)" }} as kanon_distinct,
        {{ kanon_sql.count_known(sensitive) }} as kanon_known
    from class_values
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- else %}
class_value_people as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive, entity]) | trim | indent(4) }}
),

class_people as (
    select
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }},
        sum(kanon_records) as kanon_records,
        max(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end) as kanon_known
    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
),

class_values as (
    select
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }},
        count(*) as kanon_people
    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }}
),

class_sides as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum(kanon_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(case when {{ kanon_sql.is_null(entity) }} then kanon_records else 0 end) as kanon_without_entity,
        0 as kanon_distinct,
        0 as kanon_known,
        0 as kanon_most_people
    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        0 as kanon_size,
        0 as kanon_size_known,
        0 as kanon_records,
        0 as kanon_without_entity,
        {{ kanon_sql.count_known(sensitive) if unknown else "count(*)" }} as kanon_distinct,
        {{ kanon_sql.count_known(sensitive) }} as kanon_known,
        max({{ "case when " ~ kanon_sql.is_null(sensitive) ~ " then 0 else kanon_people end" if unknown else "kanon_people" }}) as kanon_most_people
    from class_values
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_size) as kanon_size,
        sum(kanon_size_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(kanon_without_entity) as kanon_without_entity,
        sum(kanon_distinct) as kanon_distinct,
        sum(kanon_known) as kanon_known,
        sum(kanon_most_people) as kanon_most_people
    from class_sides
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- endif %}


{{ kanon_sql.class_sizes(columns, [
    kanon_sql.classes_where(kanon_sql.homogeneity(entity, unknown), "homogeneous"),
    kanon_sql.records_where(kanon_sql.homogeneity(entity, unknown), "homogeneous"),
    kanon_sql.classes_where("kanon_known = 1 and kanon_distinct > 1", "diverse_by_null"),
] + (["sum(kanon_without_entity) as kanon_without_entity"] if entity is not none else [])) }}
{%- endmacro %}


{# How many of a class's values are known: NULL is none. #}
{% macro count_known(sensitive) -%}
sum(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end)
{%- endmacro %}


{# The number of classes for which something is so. #}
{% macro classes_where(predicate, name) -%}
sum(case when {{ predicate }} then 1 else 0 end) as kanon_{{ name }}_classes
{%- endmacro %}


{# The number of records in them. #}
{% macro records_where(predicate, name) -%}
sum(case when {{ predicate }} then kanon_records else 0 end) as kanon_{{ name }}_records
{%- endmacro %}


{# The number of people in them: records, where no entity is named. #}
{% macro people_where(predicate, name) -%}
sum(case when {{ predicate }} then kanon_size else 0 end) as kanon_{{ name }}_people
{%- endmacro %}
