{#
    The classes with the sensitive values in each: one frequency set over the quasi-identifiers
    and the sensitive attribute, rolled up to the classes. Every question on this attribute is
    read off the same two sets, by class size.

    `unknown` reads a NULL as no value at all; otherwise NULL is one value more. With an entity
    a value counts once for each person of the class who holds it.

    `needs` says what a value of a class is compared with: its share of the table (shares), the
    others of its class (ranks), all of the table's together (distances). `class_columns` are what
    the models measure over the values of a class, `class_measures` what each says of the class,
    `class_verdicts` whether the class fails it, and `measures` what is so of all classes. With
    `violating`, a condition on a class, the rows are the classes of which it is true instead, and
    with `flags`, which are names of verdicts, one row says how many people are in such classes.
#}
{% macro sensitive_values(
    relation, columns, sensitive, entity=none, unknown=false, needs=[], class_columns=[],
    class_measures=[], class_verdicts=[], measures=[], rolled_up=false, violating=none, flags=[],
    whole=none
) %}
{% set counted = kanon_sql.counted(entity, unknown) %}
{% set values_read = "compared_values" if "shares" in needs or "ranks" in needs else "class_values" %}
with

{{ kanon_sql.class_values(relation, columns, sensitive, entity, unknown, rolled_up) }},
{% if "shares" in needs %}

{{ kanon_sql.value_shares(sensitive, counted, unknown, whole) }},
{% endif %}
{% if values_read == "compared_values" %}

compared_values as (
    select
        class_values.*
{%- if "shares" in needs %},
        value_shares.kanon_share,
        value_shares.kanon_table_values
{%- endif %}
{%- if "ranks" in needs %},
        row_number() over (
            partition by
{{ kanon_sql.aliases_in("class_values", columns) | indent(12, first=true) }}
            order by class_values.{{ counted }} desc
        ) as kanon_rank
{%- endif %}

    from class_values
{% if "shares" in needs %}
    {{ "left" if unknown else "inner" }} join value_shares
        on {{ kanon_sql.same(
            "value_shares." ~ kanon_sql.alias(sensitive),
            "class_values." ~ kanon_sql.alias(sensitive)
        ) }}
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
        {{ column.expression | indent(8) }} as {{ column.name }}
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

values_and_people as (
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
        {{ column.expression | indent(8) }} as {{ column.name }}
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
        null as {{ column.name }}
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
        max({{ column.name }}) as {{ column.name }}
{%- endfor %}

    from values_and_people
    group by
{{ kanon_sql.aliases(columns) | indent(4, first=true) }}
)
{%- endif %}


{%- if "distances" in needs %},

{{ kanon_sql.equal_distances(columns, sensitive, "class_values." ~ counted) }}
{%- endif %}
{%- if class_measures or class_verdicts %},

{{ kanon_sql.judged_classes(
    "compared_classes" if "distances" in needs else "classes", class_measures, class_verdicts
) }}
{%- endif %}
{%- if flags %},

{{ kanon_sql.people_of_flagged_classes("class_people", "judged_classes", columns, entity, flags) }}
{%- else %}


{% set judged = "judged_classes" if class_measures or class_verdicts else "classes" %}
{% if violating is not none %}
{{ kanon_sql.violating_classes(columns, violating, judged) }}
{%- else %}
{{ kanon_sql.class_sizes(
    columns,
    measures + (
        ["sum(kanon_without_entity) as kanon_without_entity"] if entity is not none else []
    ),
    judged
) }}
{%- endif %}
{%- endif %}
{%- endmacro %}


{#
    How often each class has each sensitive value: in records, and with an entity also in people,
    each of whom counts once for a value.
#}
{% macro class_values(relation, columns, sensitive, entity=none, unknown=false, rolled_up=false) %}
{% set known = "case when " ~ kanon_sql.is_null(sensitive) ~ " then 0 else 1 end" %}
{% if entity is none and not unknown %}
class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive], rolled_up) | trim | indent(4) }}
)
{%- elif entity is none %}
all_class_values as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive], rolled_up) | trim | indent(4) }}
),

class_values as (
    select
        all_class_values.*,
        kanon_records * {{ known }} as kanon_counted
    from all_class_values
)
{%- else %}
class_value_people as (
    {{ kanon_sql.frequency_set(relation, columns + [sensitive, entity], rolled_up) | trim | indent(4) }}
),

class_values as (
    select
{{ kanon_sql.aliases(columns + [sensitive]) | indent(4, first=true) }},
        count(*) as kanon_people,
{% if unknown %}
        count(*) * {{ known }} as kanon_counted,
{% endif %}
        sum(kanon_records) as kanon_records
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


{# How many of a class's values are known: NULL is none. #}
{% macro count_known(sensitive) -%}
sum(case when {{ kanon_sql.is_null(sensitive) }} then 0 else 1 end)
{%- endmacro %}


{#
    The share that each sensitive value has of the table, and how many values there are. It is
    what whoever knows the published table knows of everyone in it.
#}
{% macro value_shares(sensitive, counted, unknown=false, whole=none) %}
{{ kanon_sql.value_totals(sensitive, counted, unknown, whole) }},

value_shares as (
    select
        {{ kanon_sql.alias(sensitive) }},
        {{ kanon_sql.quotient("kanon_value_total", "sum(kanon_value_total) over ()") }} as kanon_share,
        count(*) over () as kanon_table_values
    from value_totals
)
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
