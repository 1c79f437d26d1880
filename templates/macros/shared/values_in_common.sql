{#
    Values in common: how many values of a column a synthetic table and its original share. A column
    without any is written in another way (02138 and 2138), and every figure by it would be 0.
#}

{#
    Number of values of each column: in each table, and in both the synthetic one and the original.
    NULL is none. `stacks` have one column each.
#}
{% macro values_in_common(stacks) %}
{% for stack in stacks %}
{% set value = kanon_sql.alias(stack.columns[0]) %}
select
    {{ loop.index }} as kanon_column,
    coalesce(sum(kanon_of_s * kanon_of_o), 0) as kanon_common,
    coalesce(sum(kanon_of_s), 0) as kanon_in_synthetic,
    coalesce(sum(kanon_of_o), 0) as kanon_in_original
from (
    select
        {{ value }},
        {{ kanon_sql.greatest_flag("kanon_table = 's'") }} as kanon_of_s,
        {{ kanon_sql.greatest_flag("kanon_table = 'o'") }} as kanon_of_o
    from (
        {{ kanon_sql.stacked_records(stack, known=true) | trim | indent(8) }}
    ) as stacked
    group by {{ value }}
) as column_values
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# Number of columns that have no value in common with the original; of two without any, none. #}
{% macro columns_without_common_values(stack) %}
{% set stacks = namespace(single=[]) %}
{% for column in stack.columns %}
{% set place = loop.index0 %}
{% set tables = namespace(two=[]) %}
{% for table in stack.tables[:2] %}
{% set tables.two = tables.two + [{
    "letter": table.letter, "relation": table.relation, "cells": [table.cells[place]], "person": none,
}] %}
{% endfor %}
{% set stacks.single = stacks.single + [{"tables": tables.two, "columns": [column], "people": false}] %}
{% endfor %}
select sum(case when kanon_common = 0 and kanon_in_synthetic + kanon_in_original > 0 then 1 else 0 end) as kanon_without_common
from (
    {{ kanon_sql.values_in_common(stacks.single) | trim | indent(4) }}
) as columns_of_both
{%- endmacro %}
