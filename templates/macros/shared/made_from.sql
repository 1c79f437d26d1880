{#
    Made from: the size of the original and of the holdout, which must both have records and share
    no person.
#}

{# Number of records of each table, and of people in the original, in the holdout, and in both. #}
{% macro made_from(tables) %}
select
{% for table in tables %}
    {{ table.letter }}.kanon_records as kanon_records_{{ table.letter }},
    {{ table.letter }}.kanon_people as kanon_people_{{ table.letter }}{{ "," if not loop.last }}
{% endfor %}
{% for table in tables %}
{{ "from" if loop.first else "cross join" }} (
    select
        count(*) as kanon_records,
        {{ "count(distinct " ~ kanon_sql.ident(table.person.column) ~ ")" if table.person is not none else "cast(null as " ~ kanon_sql.whole_type() ~ ")" }} as kanon_people
    from {{ table.relation | indent(8) }}
) as {{ table.letter }}
{% endfor %}
{%- endmacro %}


{# Number of people of the holdout, and of those who are in the original too. #}
{% macro people_in_both(original, holdout) %}
select
    (
        select count(distinct {{ kanon_sql.stacked_cell(holdout.person) | trim }})
        from {{ holdout.relation | indent(8) }}
    ) as kanon_people,
    count(distinct kanon_person) as kanon_in_both
from (
    select {{ kanon_sql.stacked_cell(original.person) }} as kanon_person
    from {{ original.relation | indent(4) }}
) as people_of_original
where
    kanon_person in (
        select {{ kanon_sql.stacked_cell(holdout.person) }} as kanon_person
        from {{ holdout.relation | indent(8) }}
    )
{%- endmacro %}


{# Number of tables without a record. #}
{% macro empty_tables(tables) %}
select sum(case when kanon_records = 0 then 1 else 0 end) as kanon_empty
from (
{% for table in tables %}
    select count(*) as kanon_records
    from {{ table.relation | indent(4) }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
) as sizes
{%- endmacro %}
