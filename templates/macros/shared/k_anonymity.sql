{#
    k-anonymity: every combination of quasi-identifier values occurs in at least k records, or for
    at least k people if there is an entity. The smallest size in the result is the table's k.

    Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3.
#}
{% macro k_anonymity(relation, columns, entity=none, rolled_up=false, violating=none, k=none) %}
with

{{ kanon_sql.ctes_of_k_anonymity(
    relation, columns, entity, rolled_up,
    aggregates=["records", "without_entity"] if violating is none else ["records"]
) }}

{% if violating is not none %}
{{ kanon_sql.violating_classes(columns, violating, records=kanon_sql.records_of_class(entity)) }}
{%- else %}
{{ kanon_sql.class_sizes(
    columns,
    [] if entity is none else ["sum(kanon_without_entity) as kanon_without_entity"],
    "classes", kanon_sql.records_of_class(entity), k
) }}
{%- endif %}
{%- endmacro %}


{# CTEs up to `classes`. #}
{% macro ctes_of_k_anonymity(
    relation, columns, entity=none, rolled_up=false, aggregates=["records", "without_entity"]
) %}
{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliased_keys(columns) | indent(4, first=true) }},
        {{ kanon_sql.records_counted(rolled_up) }} as kanon_size
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(columns) | indent(4, first=true) }}
)
{%- else %}
-- Each person once in a class, however many records they have there.
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], rolled_up) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity, aggregates) | trim | indent(4) }}
)
{%- endif %}
{%- endmacro %}


{#
    Size of each class in distinct people, from the frequency set with the entity. `aggregates` adds the
    number of `records`, and of those `without_entity`.
#}
{% macro count_people(class_people, columns, entity, aggregates=["records", "without_entity"]) %}
select
{{ kanon_sql.aliases(columns) }},
    count(*) as kanon_size
{%- if "records" in aggregates %},
    sum(kanon_records) as kanon_records
{%- endif %}
{%- if "without_entity" in aggregates %},
    {{ kanon_sql.sum_where(kanon_sql.is_null(entity), "kanon_records", "kanon_without_entity") | indent(4) }}
{%- endif %}

from {{ class_people }}
group by
{{ kanon_sql.aliases(columns) }}
{%- endmacro %}


{#
    Aggregates by class size: number of classes and of records. The histogram, k, the uniques and
    all counts of records in small classes come from this result.
#}
{% macro class_sizes(columns, measures=[], classes="classes", records="kanon_records", k=none) %}
select
    kanon_size,
{% if k is not none %}
    {{ kanon_sql.flag(kanon_sql.too_small(k)) }} as kanon_too_small,
{% endif %}
    count(*) as kanon_classes,
    sum({{ records }}) as kanon_records,
    {{ kanon_sql.sum_where(kanon_sql.any_null(columns) | trim, records, "kanon_with_null") | indent(4) }},
    {{ kanon_sql.suppressed_records(columns, records) | trim | indent(4) }}
{%- for measure in measures %},
    {{ measure | indent(4) }}
{%- endfor %}

from {{ classes }}
group by kanon_size
order by kanon_size
{%- endmacro %}


{#
    Values of the classes smaller than k. These are personal data: a person runs this statement; an
    audit runs it only with --show-values.
#}
{% macro small_classes(relation, columns, k, entity=none, first=none) %}
select
{{ kanon_sql.aliased_names(columns) }},
    {{ "count(*)" if entity is none else "count(distinct " ~ kanon_sql.ident(entity) ~ ")" }} as kanon_size
from {{ relation }}
group by
{{ kanon_sql.names(columns) }}
having {{ "count(*)"
    if entity is none
    else "count(distinct " ~ kanon_sql.ident(entity) ~ ")" }} < {{ kanon_sql.positive_int(k, "k") }}
order by
    kanon_size,
{{ kanon_sql.aliases(columns) }}
{%- if first is not none %}

limit {{ kanon_sql.positive_int(first, "first") }}
{%- endif %}
{%- endmacro %}


{# Generic test of k-anonymity; with `wildcard`, NULL matches every value. #}
{% macro k_anonymity_failures(relation, columns, k, entity=none, wildcard=false) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_sizes(relation, columns, entity, wildcard) }},

measured as (
    {{ kanon_sql.counts_of_violating(
        kanon_sql.too_small(k), "min(kanon_size)", "classes", kanon_sql.records_of_size(entity, wildcard)
    ) | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.raise_or_count(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=["violating_classes", "violating_records", "achieved"],
    relation=relation, entity=entity
) }}
{%- endmacro %}


{# CTEs up to the classes, or up to the patterns with the number of records compatible with them. #}
{% macro ctes_of_sizes(relation, columns, entity=none, wildcard=false) %}
{% if wildcard -%}
{{ kanon_sql.ctes_of_wildcards(relation, columns) }}
{%- else -%}
{{ kanon_sql.ctes_of_k_anonymity(relation, columns, entity, aggregates=["records"]) }}
{%- endif %}
{%- endmacro %}


{# Column with the records of a class or pattern. #}
{% macro records_of_size(entity=none, wildcard=false) -%}
{{ "kanon_records" if wildcard else kanon_sql.records_of_class(entity) }}
{%- endmacro %}


{# Number of records (people, with an entity) by the size of their smallest class. #}
{% macro everyone_once(columns, entity=none, wildcard=false) %}
{% if entity is not none -%}
people as (
    {{ kanon_sql.of_each_person(
        "class_people", "classes", columns, entity, ["min(classes.kanon_size) as kanon_size"]
    ) | trim | indent(4) }}
),

everyone_once as (
    select
        kanon_size,
        count(*) as kanon_people
    from people
    group by kanon_size
)
{%- else -%}
everyone_once as (
    select
        kanon_size,
        sum({{ kanon_sql.records_of_size(entity, wildcard) }}) as kanon_people
    from classes
    group by kanon_size
)
{%- endif %}
{%- endmacro %}


{% test k_anonymity(model) -%}
{% set arguments = kanon_sql.test_arguments("k_anonymity", model, kwargs, {"k": "count"}, ["nulls"]) -%}
{{ kanon_sql.tidy(kanon_sql.k_anonymity_failures(**arguments), model) }}
{%- endtest %}
