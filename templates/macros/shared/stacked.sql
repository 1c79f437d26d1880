{#
    Stacked counts: the records of a synthetic table (s), of its original (o) and of a holdout (h),
    one below the other, so that one GROUP BY counts each combination of values in every table. NULL
    is a value like any other, and no table loses a combination, as in a join.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3 (the tables of counts by keys in the original and in the synthetic data).

    `stack.tables` have a `letter`, a `relation`, their columns in `cells`, and that of the `person`,
    if people are counted, each with `how` it is compared: `as_is`, `as_text`, `as_numeral` or
    `as_number`. `stack.columns` name the cells. Where any table has people, `stack.people` is true;
    each of them counts once in a combination.
#}

{#
    Each record with its cells, and the letter of its table: of some `tables` only, or of all. `known`
    leaves out NULL in the last cell, `of_people` the tables without people. With `distinct` a person
    has each combination once.
#}
{% macro stacked_records(stack, known=false, of_people=false, distinct=false, tables=none) %}
{% for table in tables or stack.tables if table.person is not none or not of_people %}
select{{ " distinct" if table.person is not none and distinct }}
{{ kanon_sql.cells_of_table(stack, table) }},
{% if stack.people %}
    {{ kanon_sql.stacked_cell(table.person) | trim if table.person is not none else "null" }} as kanon_person,
{% endif %}
    '{{ table.letter }}' as kanon_table
from {{ table.relation | indent(4) }}
{% if known %}
where {{ kanon_sql.ident((table.cells | last).column) }} is not null
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# The cells of a table, under their names in the stack. #}
{% macro cells_of_table(stack, table) -%}
{% for cell in table.cells -%}
{{ "" if loop.first else ",\n" }}    {{ kanon_sql.aliased(kanon_sql.stacked_cell(cell) | trim, stack.columns[loop.index0]) }}
{%- endfor %}
{%- endmacro %}


{# A cell in the form that is compared. #}
{% macro stacked_cell(cell) -%}
{{ kanon_sql.cell(cell, kanon_sql.ident(cell.column), kanon_sql.type_of(cell.column)) }}
{%- endmacro %}


{#
    Number of records of each table with a combination. Of people up to two, and the key of the person
    if there is one. `distinct`: the stack has each person once, so that its rows are people.
#}
{% macro counts_of_tables(stack, distinct=false) -%}
{% for table in stack.tables -%}
{% set is_of_table = "case when kanon_table = '" ~ table.letter ~ "' then " -%}
{% set of_people = table.person is not none and not distinct -%}
{{ "" if loop.first else ",\n" }}    {{
    kanon_sql.up_to_two(is_of_table ~ "kanon_person end") if of_people
    else "count(" ~ is_of_table ~ "1 end)"
}} as kanon_{{ table.letter }}
{%- if of_people %},
    min({{ is_of_table }}kanon_person end) as kanon_person_{{ table.letter }}
{%- endif %}
{%- endfor %}
{%- endmacro %}


{# Number of different people, at most 2: whether there are more is not asked, and takes longer to count. #}
{% macro up_to_two(person) -%}
case when min({{ person }}) is null then 0 when min({{ person }}) = max({{ person }}) then 1 else 2 end
{%- endmacro %}


{# CTE of all records; `inlined` where it is read several times, each time some of its columns or tables. #}
{% macro cte_of_stacked_records(stack, known=false, distinct=false, inlined=false) %}
-- Every record of the {{ stack.tables | length }} tables{{ " that has a value" if known }}.
stacked as {{ "not materialized " if inlined }}(
    {{ kanon_sql.stacked_records(stack, known, distinct=distinct) | trim | indent(4) }}
)
{%- endmacro %}


{# CTEs of all records and of the classes by all columns of the stack. #}
{% macro ctes_of_stacked_classes(stack) %}
{{ kanon_sql.cte_of_stacked_records(stack) | trim }},

-- Each combination, with its {{ "people" if stack.people else "records" }} in each table.
classes as (
    select
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }},
{{ kanon_sql.counts_of_tables(stack) | indent(4, first=true) }}
    from stacked
    group by
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
)
{%- endmacro %}
