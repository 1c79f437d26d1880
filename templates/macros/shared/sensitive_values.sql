{#
    The classes with the sensitive values in each: one frequency set over the quasi-identifiers
    and the sensitive attribute, rolled up to the classes. Every question on this attribute is
    read off the same two sets, by class size.

    `unknown` reads a NULL as no value at all; otherwise NULL is one value more. With an entity
    a value counts once for each person of the class who holds it.

    `class_columns` are what the models measure of each class, over the values in it; where they
    name kanon_share, each value has its share of the table beside it, where kanon_rank, its rank
    in the class. From them come `class_measures`, what each model says of one class, and
    `measures`, what it says of them all.
#}
{% macro sensitive_values(relation, columns, sensitive, entity=none, unknown=false, class_columns=[], class_measures=[], measures=[]) %}
{% set measured = class_columns | join(" ") %}
{% set likeness = "kanon_share" in measured %}
{% set distances = "kanon_present_share" in measured %}
{% set ranks = "kanon_rank" in measured %}
{% set counted = kanon_sql.counted(sensitive, entity, unknown) %}
{% set values_read = "compared_values" if likeness or ranks else "class_values" %}
with

{{ kanon_sql.class_values(relation, columns, sensitive, entity) }},
{% if likeness %}

{{ kanon_sql.value_shares(sensitive, counted, unknown) }},
{% endif %}
{% if values_read == "compared_values" %}

compared_values as (
    select
        class_values.*
{%- if likeness %},
        value_shares.kanon_share,
        value_shares.kanon_table_values
{%- endif %}
{%- if ranks %},
        row_number() over (
            partition by
{{ kanon_sql.aliases_in("class_values", columns) | indent(12, first=true) }}
            order by {{ kanon_sql.counted(sensitive, entity, unknown, "class_values") }} desc
        ) as kanon_rank
{%- endif %}

    from class_values
{% if likeness %}
    {{ "left" if unknown else "inner" }} join value_shares
        on {{ kanon_sql.same("value_shares." ~ kanon_sql.alias(sensitive), "class_values." ~ kanon_sql.alias(sensitive)) }}
{% endif %}
),
{% endif %}

{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_size,
        sum(kanon_records) as kanon_records,
        {{ kanon_sql.count_known(sensitive) if unknown else "count(*)" }} as kanon_distinct,
        {{ kanon_sql.count_known(sensitive) }} as kanon_known
{%- for column in class_columns %},
        {{ column }}
{%- endfor %}

    from {{ values_read }}
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- else %}
class_people as (
    select
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }},
        sum(kanon_records) as kanon_records,
        max(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end) as kanon_known
    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
),

class_sides as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        0 as kanon_size,
        0 as kanon_size_known,
        0 as kanon_records,
        0 as kanon_without_entity,
        {{ kanon_sql.count_known(sensitive) if unknown else "count(*)" }} as kanon_distinct,
        {{ kanon_sql.count_known(sensitive) }} as kanon_known,
        max({{ counted }}) as kanon_most_people
{%- for column in class_columns %},
        {{ column }}
{%- endfor %}

    from {{ values_read }}
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}

    union all

    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_size,
        sum(kanon_known) as kanon_size_known,
        sum(kanon_records) as kanon_records,
        sum(case when {{ kanon_sql.is_null(entity) }} then kanon_records else 0 end) as kanon_without_entity,
        0 as kanon_distinct,
        0 as kanon_known,
        0 as kanon_most_people
{%- for column in class_columns %},
        null as {{ column.split(" as ") | last }}
{%- endfor %}

    from class_people
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
{%- for column in class_columns %},
        max({{ column.split(" as ") | last }}) as {{ column.split(" as ") | last }}
{%- endfor %}

    from class_sides
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- endif %}


{%- if distances %},

{{ kanon_sql.equal_distances(columns, sensitive, kanon_sql.counted(sensitive, entity, unknown, "class_values")) }}
{%- endif %}
{%- if class_measures %},

measured_classes as (
    select
        {{ "compared_classes" if distances else "classes" }}.*
{%- for measure in class_measures %},
        {{ measure }}
{%- endfor %}

    from {{ "compared_classes" if distances else "classes" }}
)
{%- endif %}


{{ kanon_sql.class_sizes(columns, measures + (["sum(kanon_without_entity) as kanon_without_entity"] if entity is not none else []), "measured_classes" if class_measures else "classes") }}
{%- endmacro %}


{#
    How often each class has each sensitive value: in records, and with an entity also in people,
    each of whom counts once for a value.
#}
{% macro class_values(relation, columns, sensitive, entity=none) %}
{% if entity is none %}
class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive]) | trim | indent(4) }}
)
{%- else %}
class_value_people as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive, entity]) | trim | indent(4) }}
),

class_values as (
    select
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }},
        count(*) as kanon_people,
        sum(kanon_records) as kanon_records
    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }}
)
{%- endif %}
{%- endmacro %}


{#
    The share that each sensitive value has of the table, and how many values there are. It is
    what whoever knows the published table knows of everyone in it.
#}
{% macro value_shares(sensitive, counted, unknown=false) %}
value_totals as (
    select
        {{ kanon_sql.alias(sensitive) }},
        sum({{ counted }}) as kanon_value_total
    from class_values
{% if unknown %}
    where not ({{ kanon_sql.is_null(sensitive) }})
{% endif %}
    group by {{ kanon_sql.alias(sensitive) }}
),

value_shares as (
    select
        {{ kanon_sql.alias(sensitive) }},
        kanon_value_total,
        cast(kanon_value_total as {{ kanon_sql.float_type() }}) / nullif(sum(kanon_value_total) over (), 0) as kanon_share,
        count(*) over () as kanon_table_values
    from value_totals
)
{%- endmacro %}


{# How often a class has a value: in people where there is an entity, and never NULL if unknown. #}
{% macro counted(sensitive, entity=none, unknown=false, of=none) -%}
{% set holders = (of ~ "." if of else "") ~ ("kanon_records" if entity is none else "kanon_people") -%}
{{ "case when " ~ kanon_sql.is_null(sensitive, of) ~ " then 0 else " ~ holders ~ " end" if unknown else holders }}
{%- endmacro %}


{# How many of a class's values are known: NULL is none. #}
{% macro count_known(sensitive) -%}
sum(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end)
{%- endmacro %}


{# A quotient, in floating point: engines differ in what they make of one between integers. #}
{% macro quotient(dividend, divisor) -%}
cast({{ dividend }} as {{ kanon_sql.float_type() }}) / nullif({{ divisor }}, 0)
{%- endmacro %}


{# Whether a count is more than a share of another, in whole numbers: no share is rounded. #}
{% macro more_than_share(count, share, total) -%}
cast({{ count }} as {{ kanon_sql.exact_type() }}) * {{ kanon_sql.denominator(share) }} > cast({{ total }} as {{ kanon_sql.exact_type() }}) * {{ kanon_sql.numerator(share) }}
{%- endmacro %}


{% macro less_than_share(count, share, total) -%}
cast({{ count }} as {{ kanon_sql.exact_type() }}) * {{ kanon_sql.denominator(share) }} < cast({{ total }} as {{ kanon_sql.exact_type() }}) * {{ kanon_sql.numerator(share) }}
{%- endmacro %}


{# 1 for a class of which something is so, else 0. #}
{% macro flag(predicate, name) -%}
case when {{ predicate }} then 1 else 0 end as kanon_{{ name }}
{%- endmacro %}


{# The classes that are flagged, and the records in them. #}
{% macro flagged_classes(name) -%}
sum(kanon_{{ name }}) as kanon_{{ name }}_classes
{%- endmacro %}


{% macro flagged_records(name) -%}
sum(kanon_{{ name }} * kanon_records) as kanon_{{ name }}_records
{%- endmacro %}


{# What all classes have at least, or at most. #}
{% macro worst_class(least, name) -%}
{{ "min" if least else "max" }}(kanon_{{ name }}) as kanon_{{ name }}
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
