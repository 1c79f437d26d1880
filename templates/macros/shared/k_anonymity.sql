{#
    k-anonymity: every combination of quasi-identifier values occurs in at least k records, or
    for at least k people where an entity is named. The smallest size below is the table's k.

    Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3.
#}
{% macro k_anonymity(relation, columns, entity=none, rolled_up=false, violating=none) %}
with

{% if entity is none %}
classes as (
    select
{{ kanon_sql.aliased_keys(columns) | indent(4, first=true) }},
        {{ kanon_sql.records_counted(rolled_up) }} as kanon_size,
        {{ kanon_sql.records_counted(rolled_up) }} as kanon_records
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(columns) | indent(4, first=true) }}
)
{%- else %}
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], rolled_up) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity) | trim | indent(4) }}
)
{%- endif %}


{% if violating is not none %}
{{ kanon_sql.violating_classes(columns, violating) }}
{%- else %}
{{ kanon_sql.class_sizes(columns, [] if entity is none else ["sum(kanon_without_entity) as kanon_without_entity"]) }}
{%- endif %}
{%- endmacro %}


{# The size of each class in distinct people, from the frequency set that names them. #}
{% macro count_people(class_people, columns, entity) %}
select
{{ kanon_sql.aliases(columns) }},
    count(*) as kanon_size,
    sum(kanon_records) as kanon_records,
    sum(case when {{ kanon_sql.is_null(entity) }} then kanon_records else 0 end) as kanon_without_entity
from {{ class_people }}
group by
{{ kanon_sql.aliases(columns) }}
{%- endmacro %}


{#
    What all classes of one size have in common: how many they are, how many records they hold.
    The histogram, k, the uniques and every count of records in small classes are read off it.
#}
{% macro class_sizes(columns, measures=[], classes="classes") %}
select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(case when {{ kanon_sql.any_null(columns) }} then kanon_records else 0 end) as kanon_with_null,
    {{ kanon_sql.suppressed_records(columns) | trim }} as kanon_suppressed
{%- for measure in measures %},
    {{ measure }}
{%- endfor %}

from {{ classes }}
group by kanon_size
order by kanon_size
{%- endmacro %}


{#
    The classes that are too small, by their values. Their values are personal data: a person
    runs this query, an audit does so only where it was told to show values.
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


{# The test: k-anonymity of the records, or of patterns where NULL is a wildcard. #}
{% macro k_anonymity_failures(relation, columns, k, entity=none, wildcard=false) %}
{% set ctes %}
with

class_sizes as (
    {{ kanon_sql.sizes_asked(relation, columns, entity, wildcard) | trim | indent(4) }}
),

measured as (
    select
        coalesce(sum(kanon_records), 0) as records,
        coalesce(sum(case when {{ kanon_sql.too_small(k) }} then kanon_classes else 0 end), 0) as violating_classes,
        coalesce(sum(case when {{ kanon_sql.too_small(k) }} then kanon_records else 0 end), 0) as violating_records,
        min(kanon_size) as achieved
    from class_sizes
)
{%- endset %}
{{ kanon_sql.told_failures(
    ctes,
    violated="measured.violating_classes > 0",
    failures="measured.violating_records",
    columns=["violating_classes", "violating_records", "achieved"],
    relation=relation, entity=entity
) }}
{%- endmacro %}


{#
    Everyone once, by the size of the smallest of their classes: records, or with an entity people.
    What is read is the classes by their sizes, as `class_sizes`.
#}
{% macro everyone_once(relation, columns, entity=none) %}
{% if entity is not none -%}
{{ kanon_sql.smallest_classes(relation, columns, entity) }}
{%- else -%}
select
    kanon_size,
    kanon_records as kanon_people
from class_sizes
{%- endif %}
{%- endmacro %}


{# The classes by their sizes, or the patterns by the number of records compatible with them. #}
{% macro sizes_asked(relation, columns, entity=none, wildcard=false) %}
{% if wildcard -%}
{{ kanon_sql.k_anonymity_with_wildcards(relation, columns) }}
{%- else -%}
{{ kanon_sql.k_anonymity(relation, columns, entity) }}
{%- endif %}
{%- endmacro %}
