{#
    A release with a random number in place of each entity, unique for a person and the same in all
    records of one.

    People are numbered in the order of a SHA-256 of a secret and their entity: to anyone without
    the secret a random permutation, so that neither the entities nor the order of the records can be
    read off the numbers.
#}

{# The number of each person. #}
{% macro numbers_of_people(records, entity, secret) %}
select
    kanon_entity,
    row_number() over (
        order by sha256(kanon_secret || {{ kanon_sql.as_text("kanon_entity", entity.type) }})
    ) as kanon_number
from (
    select distinct {{ kanon_sql.ident(entity) }} as kanon_entity
    from {{ records | indent(4) }}
) as people
cross join {{ secret }} as secret
where kanon_entity is not null
{%- endmacro %}


{# Released records with the number of each person; a NULL stays NULL. #}
{% macro renumbered_records(records, columns, entity, numbers) %}
select
{% for column in columns %}
    {{ "numbers.kanon_number as " ~ kanon_sql.ident(column)
        if column.name == entity.name
        else "released." ~ kanon_sql.ident(column) }}{{ "," if not loop.last }}
{% endfor %}
from (
    {{ records | indent(4) }}
) as released
left join {{ numbers }} as numbers
    on {{ kanon_sql.same("numbers.kanon_entity", "released." ~ kanon_sql.ident(entity)) }}
{%- endmacro %}
