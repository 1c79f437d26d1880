{#
    The riskiest classes of a release, to be tried by hand: those with the fewest people in the
    reference where there is one, else the smallest; of equals, in the order of a hash with a seed,
    which is the same wherever the records lie. Every class has a record, so that as many classes as
    records are wanted are enough. Their values are personal data.
#}

{# Of a release by itself. #}
{% macro riskiest_classes(relation, columns, entity, seed, first) %}
with

{% if entity is not none %}
class_people as (
    {{ kanon_sql.frequency_set(relation, columns + [entity], counted=false) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity, asked=[]) | trim | indent(4) }}
)
{% else %}
classes as (
    select
{{ kanon_sql.aliased_keys(columns) | indent(4, first=true) }},
        count(*) as kanon_size
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.grouped_by(columns) | indent(4, first=true) }}
)
{% endif %}

select
{% for column in columns %}
    {{ kanon_sql.as_text(kanon_sql.alias(column), kanon_sql.type_of(column)) }} as kanon_cell_{{ loop.index }},
{% endfor %}
    kanon_size
from classes
order by
    kanon_size,
    {{ kanon_sql.seeded_tie(columns, seed) }}
limit {{ kanon_sql.positive_int(first, "sample") }}
{%- endmacro %}


{# Of a release beside a reference; a cell that is compared by its pattern begins with `=`, and is
   empty where it is NULL. #}
{% macro riskiest_classes_beside(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, seed, first
) %}
with

{{ kanon_sql.release_beside_reference(
    release, columns, entity, reference, pairs, reference_entity, reference_weight, union=false
) }}

select
{% for pair in pairs %}
    {{ kanon_sql.as_text(
        kanon_sql.alias(pair.column), kanon_sql.type_of(pair.column) if pair.how == "as_is" else "VARCHAR"
    ) }} as kanon_cell_{{ loop.index }},
{% endfor %}
    kanon_size,
    kanon_population
from classes
order by
    kanon_population,
    kanon_size,
    {{ kanon_sql.seeded_tie(columns, seed) }}
limit {{ kanon_sql.positive_int(first, "sample") }}
{%- endmacro %}


{# A hash of the values with the seed, each with its length, so that no two classes share a text. #}
{% macro seeded_tie(columns, seed) -%}
md5({{ kanon_sql.literal(seed | string) }}
{%- for column in columns %}

        || coalesce(',' || cast(length(cast({{ kanon_sql.alias(column) }} as varchar)) as varchar) || ':' || cast({{ kanon_sql.alias(column) }} as varchar), ',')
{%- endfor %}

    )
{%- endmacro %}
