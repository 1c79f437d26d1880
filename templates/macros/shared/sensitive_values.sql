{#
    Classes with their sensitive values: one frequency set over the quasi-identifiers and the
    sensitive attribute, rolled up to the classes. All checks of the attribute share these two CTEs;
    the result is grouped by class size.

    `unknown`: NULL is no value; otherwise NULL is one more value. With an entity, a value counts
    once for each of its holders in the class.

    `needs` lists the figures compared by the models: a value's share of the table (shares), its upper bound in
    enhanced beta-likeness (bounds), its share of the class (class_shares), its rank in the class
    (ranks), and the number of values in the table (table_values). `class_columns` are aggregates
    over the values of a class, `class_measures` the figures of each model for a class, `measures`
    aggregates over all classes. With `violating`, a predicate, the rows are the classes for which it is
    true; with `flags`, named predicates, one row counts the people in such classes.
#}
{% macro sensitive_values(
    relation, columns, sensitive, entity=none, unknown=false, needs=[], class_columns=[],
    class_measures=[], measures=[], rolled_up=false, violating=none, flags=[], k=none, whole=none
) %}
{% set classes = kanon_sql.figured_classes(class_measures, needs) | trim %}
with

{{ kanon_sql.ctes_of_sensitive_values(
    relation, columns, sensitive, entity, unknown, needs, class_columns, class_measures, rolled_up, whole,
    aggregates=[] if flags else ["records"] if violating is not none else ["records", "without_entity"]
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


{# CTEs up to the classes; `aggregates` as in `count_people`. #}
{% macro ctes_of_sensitive_values(
    relation, columns, sensitive, entity=none, unknown=false, needs=[], class_columns=[],
    class_measures=[], rolled_up=false, whole=none, aggregates=["records"]
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{% set windows = "class_shares" if "class_shares" in needs
    else "ranked_values" if "ranks" in needs else none %}
{% set values_read = windows or "class_values" %}
{% set of_values = "bounded_shares" if "bounds" in needs else "value_shares" %}
{{ kanon_sql.class_values(
    relation, columns, sensitive, entity, unknown, rolled_up, of_people=aggregates | length > 0, held=false
) }},
{% if "shares" in needs %}

{{ kanon_sql.value_shares(sensitive, counted, unknown, needs, whole) | trim }},
{% endif %}
{% if windows %}

{{ kanon_sql.values_in_class(columns, counted, needs, windows) }},
{% endif %}
{% if "shares" in needs %}

-- Each value of a class with the shares that it is compared with.
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
-- One row per class, with the figures over its values.
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
    columns, sensitive, entity, unknown, class_columns, values_read, aggregates
) }}
{%- endif %}
{%- if kanon_sql.figured_classes(class_measures, needs) | trim == "measured_classes" %},

{{ kanon_sql.measured_classes(class_measures, needs) }}
{%- endif %}
{%- endmacro %}


{#
    CTEs of the classes with an entity: class sizes in people, and aggregates over the values they
    hold. Both are grouped from the same CTE, so each has every class.
#}
{% macro classes_of_people(columns, sensitive, entity, unknown, class_columns, values_read, aggregates) %}
-- Each person once in a class, whatever values they have there.
class_people as (
    select
{{ kanon_sql.aliases(columns + [entity]) | indent(4, first=true) }}
{%- if aggregates %},
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
{%- if "records" in aggregates %},
        sum(kanon_records) as kanon_records
{%- endif %}
{%- if "without_entity" in aggregates %},
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

-- Both halves come from class_value_people and have every class, so the join loses none.
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
    Count of each sensitive value in each class: in records, and with an entity in people, each of
    whom counts once per value. Sums of records are added on request: those of each person
    (`of_people`), and those of each value (`held`).
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

-- NULL is no value: its records count for the class size only.
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


{# Count of a value in a class (people, with an entity); never NULL if NULL is unknown. #}
{% macro counted(entity=none, unknown=false) -%}
{{ "kanon_counted" if unknown else "kanon_records" if entity is none else "kanon_people" }}
{%- endmacro %}


{# Sum of the counts in a class, if these are not records. #}
{% macro total_columns(counted) -%}
{{ return([] if counted == "kanon_records" else [{
    "name": "kanon_total", "expression": "sum(" ~ counted ~ ")"
}]) }}
{%- endmacro %}


{# Number of distinct values in a class. #}
{% macro distinct_columns(sensitive, unknown=false) -%}
{{ return([{
    "name": "kanon_distinct",
    "expression": kanon_sql.count_known(sensitive) | trim if unknown else "count(*)",
}]) }}
{%- endmacro %}


{# With an entity, the number of people in a class who hold its most common value. #}
{% macro most_people_columns(counted, entity=none) -%}
{{ return([] if entity is none else [{
    "name": "kanon_most_people", "expression": "max(" ~ counted ~ ")"
}]) }}
{%- endmacro %}


{# Number of known values in a class, i.e. without NULL. #}
{% macro count_known(sensitive) -%}
{% set known = "case when " ~ kanon_sql.is_null(sensitive) ~ " then 0 else 1 end" -%}
{{ "sum(" ~ known ~ ")" if known | length < 80 else "sum(\n    " ~ known ~ "\n)" }}
{%- endmacro %}


{# CTE with each value's share of its class, or its rank. #}
{% macro values_in_class(columns, counted, needs, name) %}
{% if "class_shares" in needs %}
-- The share of each value in a class: what an attacker who knows the class knows of everyone in it.
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
    CTE with each sensitive value's share of the table, which an attacker knows of everyone from the
    published table alone.
#}
{% macro value_shares(sensitive, counted, unknown=false, needs=[], whole=none) %}
{{ kanon_sql.value_totals(sensitive, counted, unknown, whole) }},

-- The share of each value in the table: what an attacker without the class knows of everyone.
value_shares as (
    select
        {{ kanon_sql.alias(sensitive) }},
        {{ kanon_sql.quotient("kanon_value_total", "sum(kanon_value_total) over ()") }} as kanon_share
    from value_totals
)
{%- if "bounds" in needs %},

-- In a class, a value may have up to (1 - ln p) times its share p of the table.
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


{#
    CTE with each sensitive value's count in the table; `whole` is the relation with these counts if
    only some classes are read.
#}
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
