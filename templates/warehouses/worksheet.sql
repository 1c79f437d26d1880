{#
    The riskiest classes of a release, for a manual re-identification test: those with the fewest
    people in the reference, or without one the smallest; ties are ordered by a seeded hash, which
    is the same in every database. Every class has at least one record, so `first` classes are
    enough for `first` records. Their values are personal data. With a reference, a cell compared by
    pattern has the prefix `=`, and is empty if it is NULL.
#}
{% macro riskiest_classes(release, columns, entity, sides, seed, first) %}
with

{% if sides %}
{{ kanon_sql.release_beside_reference(sides, union=false) }}
{% elif entity is not none %}
class_people as (
    {{ kanon_sql.frequency_set(release, columns + [entity], counted=false) | trim | indent(4) }}
),

classes as (
    {{ kanon_sql.count_people("class_people", columns, entity, aggregates=[]) | trim | indent(4) }}
)
{% else %}
classes as (
    select
{{ kanon_sql.aliased_keys(columns) | indent(4, first=true) }},
        count(*) as kanon_size
    from {{ release | indent(4) }}
    group by
{{ kanon_sql.grouped_by(columns) | indent(4, first=true) }}
)
{% endif %}

select
{% for column in columns %}
{% set kept = not sides or sides.pairs[loop.index0].how == "as_is" %}
    {{ kanon_sql.as_text(
        kanon_sql.alias(column), kanon_sql.type_of(column) if kept else "VARCHAR"
    ) }} as kanon_cell_{{ loop.index }},
{% endfor %}
    kanon_size{{ ",\n    kanon_population" if sides }}
from classes
order by
    {{ "kanon_population,\n    " if sides }}kanon_size,
    {{ kanon_sql.seeded_tie(columns, seed) }}
limit {{ kanon_sql.positive_int(first, "sample") }}
{%- endmacro %}


{#
    Hash of the seed and the values, each with its length, so that no two classes hash the same
    text.
#}
{% macro seeded_tie(columns, seed) -%}
md5({{ kanon_sql.literal(seed | string) }}
{%- for column in columns %}

        || coalesce(',' || cast(length(cast({{ kanon_sql.alias(column) }} as varchar)) as varchar) || ':' || cast({{ kanon_sql.alias(column) }} as varchar), ',')
{%- endfor %}

    )
{%- endmacro %}
