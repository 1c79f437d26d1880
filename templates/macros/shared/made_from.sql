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
    coalesce(sum(kanon_of_h), 0) as kanon_people,
    coalesce(sum(kanon_of_o * kanon_of_h), 0) as kanon_in_both
from (
    select
        kanon_person,
        max(kanon_in_o) as kanon_of_o,
        max(kanon_in_h) as kanon_of_h
    from (
        select
            {{ kanon_sql.stacked_cell(original.person) }} as kanon_person,
            1 as kanon_in_o,
            0 as kanon_in_h
        from {{ original.relation | indent(8) }}

        union all

        select
            {{ kanon_sql.stacked_cell(holdout.person) }} as kanon_person,
            0 as kanon_in_o,
            1 as kanon_in_h
        from {{ holdout.relation | indent(8) }}
    ) as stacked
    where kanon_person is not null
    group by kanon_person
) as people
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
