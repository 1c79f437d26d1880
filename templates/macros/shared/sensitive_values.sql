{#
    The classes with the sensitive values in each: one frequency set over the quasi-identifiers
    and the sensitive attribute, rolled up to the classes. Every question on this attribute is
    read off the same two sets, by class size.

    `unknown` reads a NULL as no value at all; otherwise NULL is one value more. With an entity
    a value counts once for each person of the class who holds it.

    `needs` says what a value of a class is compared with: its share of the table (shares), what
    enhanced beta-likeness allows it (bounds), its share of the class (class_shares), the others of its
    class (ranks); and what a class is compared with: how many values the table has (table_values).
    `class_columns` are what the models measure over the values of a class, `class_measures` what
    each says of the class, and `measures` what is so of all classes. With `violating`, a condition
    on a class, the rows are the classes of which it is true instead, and with `flags`, which are
    conditions under their names, one row says how many people are in such classes.
#}
{% macro sensitive_values(
    relation, columns, sensitive, entity=none, unknown=false, needs=[], class_columns=[],
    class_measures=[], measures=[], rolled_up=false, violating=none, flags=[], k=none, whole=none
) %}
{% set classes = kanon_sql.figured_classes(class_measures, needs) | trim %}
with

{{ kanon_sql.sets_of_sensitive_values(
    relation, columns, sensitive, entity, unknown, needs, class_columns, class_measures, rolled_up, whole,
    asked=[] if flags else ["records"] if violating is not none else ["records", "without_entity"]
) }}
{%- if flags %},

{{ kanon_sql.people_of_flagged_classes("class_people", classes, columns, entity, flags) }}
{%- elif violating is not none %}


{{ kanon_sql.violating_classes(columns, violating, classes, kanon_sql.records_of_class(entity)) }}
{%- else %}


{{ kanon_sql.class_sizes(
    columns,
    measures + (
        ["sum(kanon_without_entity) as kanon_without_entity"] if entity is not none else []
    ),
    classes, kanon_sql.records_of_class(entity), k
) }}
{%- endif %}
{%- endmacro %}


{# The sets that such a statement names, the last of which is that of the classes; of people, with what
   is asked for of `count_people`. #}
{% macro sets_of_sensitive_values(
    relation, columns, sensitive, entity=none, unknown=false, needs=[], class_columns=[],
    class_measures=[], rolled_up=false, whole=none, asked=["records"]
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{% set windows = "class_shares" if "class_shares" in needs
    else "ranked_values" if "ranks" in needs else none %}
{% set values_read = windows or "class_values" %}
{% set of_values = "bounded_shares" if "bounds" in needs else "value_shares" %}
{{ kanon_sql.class_values(
    relation, columns, sensitive, entity, unknown, rolled_up, of_people=asked | length > 0, held=false
) }},
{% if "shares" in needs %}

{{ kanon_sql.value_shares(sensitive, counted, unknown, needs, whole) | trim }},
{% endif %}
{% if windows %}

{{ kanon_sql.values_in_class(columns, counted, needs, windows) }},
{% endif %}
{% if "shares" in needs %}

-- Each value of a class beside what it is compared with.
compared_values as (
    select
        {{ values_read }}.*,
        {{ of_values }}.kanon_share
{%- if "bounds" in needs %},
        {{ of_values }}.kanon_allowed_share
{%- endif %}

    from {{ values_read }}
    {{ "left" if unknown else "inner" }} join {{ of_values }}
        on {{ kanon_sql.same(
            of_values ~ "." ~ kanon_sql.alias(sensitive),
            values_read ~ "." ~ kanon_sql.alias(sensitive)
        ) }}
),
{% endif %}
{% set values_read = "compared_values" if "shares" in needs else values_read %}

{% if entity is none %}
-- One row a class, with what is measured over the values in it.
classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        sum(kanon_records) as kanon_size
{%- for column in class_columns %},
        {{ column.expression | indent(8) }} as {{ column.name }}
{%- endfor %}

    from {{ values_read }}
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- else %}
{{ kanon_sql.classes_of_people(
    columns, sensitive, entity, unknown, class_columns, values_read, asked
) }}
{%- endif %}
{%- if kanon_sql.figured_classes(class_measures, needs) | trim == "measured_classes" %},

{{ kanon_sql.measured_classes(class_measures, needs) }}
{%- endif %}
{%- endmacro %}


{#
    The same of people: what is counted in people, and what is measured over the values that they
    have. Both halves are made of the same set, and so each has every class.
#}
{% macro classes_of_people(columns, sensitive, entity, unknown, class_columns, values_read, asked) %}
-- Each person once in a class, whatever values they have there.
class_people as (
    select
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
{%- if asked %},
        sum(kanon_records) as kanon_records
{%- endif %}
{%- if unknown %},
        max(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end) as kanon_known
{%- endif %}

    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
),

people_of_classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }},
        count(*) as kanon_size
{%- if unknown %},
        sum(kanon_known) as kanon_size_known
{%- endif %}
{%- if "records" in asked %},
        sum(kanon_records) as kanon_records
{%- endif %}
{%- if "without_entity" in asked %},
        {{ kanon_sql.sum_where(kanon_sql.is_null(entity), "kanon_records", "kanon_without_entity") | indent(8) }}
{%- endif %}

    from class_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

values_of_classes as (
    select
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
{%- for column in class_columns %},
        {{ column.expression | indent(8) }} as {{ column.name }}
{%- endfor %}

    from {{ values_read }}
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
),

-- Both halves are made of class_value_people, so that each has every class: none is lost.
classes as (
    select
        people_of_classes.*
{%- for column in class_columns %},
        values_of_classes.{{ column.name }}
{%- endfor %}

    from people_of_classes
    inner join values_of_classes
        on {{ kanon_sql.same_class(
            columns, "values_of_classes", "people_of_classes", other_is_set=true
        ) | indent(8) }}
)
{%- endmacro %}


{#
    How often each class has each sensitive value: in records, and with an entity in people, each of
    whom counts once for a value. Of these the records are added up where somebody reads them: those
    of each person, and those `held` by all who have a value.
#}
{% macro class_values(
    relation, columns, sensitive, entity=none, unknown=false, rolled_up=false, of_people=true, held=true
) %}
{% set known = "case when " ~ kanon_sql.is_null(sensitive) ~ " then 0 else 1 end" %}
{% if entity is none and not unknown %}
class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive], rolled_up) | trim | indent(4) }}
)
{%- elif entity is none %}
all_class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive], rolled_up) | trim | indent(4) }}
),

-- NULL is no value: its records are in the class, and count for nothing.
class_values as (
    select
        all_class_values.*,
        kanon_records * {{ known }} as kanon_counted
    from all_class_values
)
{%- else %}
class_value_people as (
    {{ kanon_sql.frequency_set(
        relation, columns + [sensitive, entity], rolled_up, counted=of_people
    ) | trim | indent(4) }}
),

-- Each person counts once for a value, however many of their records have it.
class_values as (
    select
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }},
{% if unknown %}
        count(*) * {{ known }} as kanon_counted
{%- else %}
        count(*) as kanon_people
{%- endif %}
{%- if held %},
        sum(kanon_records) as kanon_records
{%- endif %}

    from class_value_people
    group by
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }}
)
{%- endif %}
{%- endmacro %}


{# How often a class has a value: in people where there is an entity, and never NULL if unknown. #}
{% macro counted(entity=none, unknown=false) -%}
{{ "kanon_counted" if unknown else "kanon_records" if entity is none else "kanon_people" }}
{%- endmacro %}


{# All counted values of a class, where its records are not what is counted. #}
{% macro total_columns(counted) -%}
{{ return([] if counted == "kanon_records" else [{
    "name": "kanon_total", "expression": "sum(" ~ counted ~ ")"
}]) }}
{%- endmacro %}


{# How many values a class has. #}
{% macro distinct_columns(sensitive, unknown=false) -%}
{{ return([{
    "name": "kanon_distinct",
    "expression": kanon_sql.count_known(sensitive) | trim if unknown else "count(*)",
}]) }}
{%- endmacro %}


{# How many people of a class have the value that most of them have, where people are counted. #}
{% macro most_people_columns(counted, entity=none) -%}
{{ return([] if entity is none else [{
    "name": "kanon_most_people", "expression": "max(" ~ counted ~ ")"
}]) }}
{%- endmacro %}


{# How many of a class's values are known: NULL is none. #}
{% macro count_known(sensitive) -%}
{% set known = "case when " ~ kanon_sql.is_null(sensitive) ~ " then 0 else 1 end" -%}
{{ "sum(" ~ known ~ ")" if known | length < 80 else "sum(\n    " ~ known ~ "\n)" }}
{%- endmacro %}


{# Each value of a class with the share that it has of it, or its place among the others. #}
{% macro values_in_class(columns, counted, needs, name) %}
{% if "class_shares" in needs %}
-- What whoever knows the classes too knows of everyone in one of them.
{% else %}
-- The most frequent value of a class comes first.
{% endif %}
{{ name }} as (
    select
        class_values.*
{%- if "class_shares" in needs %},
        cast({{ counted }} as {{ kanon_sql.float_type() }}) / nullif(
            sum({{ counted }}) over (
{{ kanon_sql.partition_of(columns, 4) }}
            ),
            0
        ) as kanon_class_share
{%- endif %}
{%- if "ranks" in needs %},
        row_number() over (
{{ kanon_sql.partition_of(columns, 3) }}
            order by {{ counted }} desc
        ) as kanon_rank
{%- endif %}

    from class_values
)
{%- endmacro %}


{#
    The share that each sensitive value has of the table. It is what whoever knows the published
    table knows of everyone in it.
#}
{% macro value_shares(sensitive, counted, unknown=false, needs=[], whole=none) %}
{{ kanon_sql.value_totals(sensitive, counted, unknown, whole) }},

-- What whoever knows the whole table knows of everyone in it.
value_shares as (
    select
        {{ kanon_sql.alias(sensitive) }},
        {{ kanon_sql.quotient("kanon_value_total", "sum(kanon_value_total) over ()") }} as kanon_share
    from value_totals
)
{%- if "bounds" in needs %},

-- In a class a value may have (1 - ln p) times its share p of the table.
bounded_shares as (
    select
        value_shares.*,
        kanon_share * (1 - ln(kanon_share)) as kanon_allowed_share
    from value_shares
)
{%- endif %}
{%- if "table_values" in needs %},

table_values as (
    select count(*) as kanon_table_values
    from value_shares
)
{%- endif %}
{%- endmacro %}


{# How often the table has each sensitive value; `whole` has that where only some classes are
   read. #}
{% macro value_totals(sensitive, counted, unknown=false, whole=none) %}
{% if whole is not none %}
value_totals as (
    select
        {{ kanon_sql.alias(sensitive) }},
        kanon_value_total
    from {{ whole }}
)
{%- else %}
value_totals as (
    select
        {{ kanon_sql.alias(sensitive) }},
        sum({{ counted }}) as kanon_value_total
    from class_values
{% if unknown %}
    where {{ kanon_sql.is_known(sensitive) }}
{% endif %}
    group by {{ kanon_sql.alias(sensitive) }}
)
{%- endif %}
{%- endmacro %}
