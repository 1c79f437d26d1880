{#
    Stacked counts: the records of a synthetic table (s), of its original (o) and of a holdout (h),
    one below the other, so that one GROUP BY counts each combination of values in every table. NULL
    is a value like any other, and no table loses a combination, as in a join.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3 (the tables of counts by keys in the original and in the synthetic data).

    `stack.tables` have a `letter`, a `relation`, their columns in `cells`, and that of the `person`,
    if people are counted, each with `how` it is compared: `as_is` or `as_text`. `stack.columns` name
    the cells. Where any table has people, `stack.people` is true; each of them counts once in a
    combination.
#}

{# Each record with its cells, and a 1 for its table. `known` leaves out NULL in the last cell. #}
{% macro stacked_records(stack, known=false) %}
{% set letters = stack.tables | map(attribute="letter") | list %}
{% for table in stack.tables %}
select{{ " distinct" if table.person is not none }}
{% for cell in table.cells %}
    {{ kanon_sql.aliased(kanon_sql.stacked_cell(cell) | trim, stack.columns[loop.index0]) }},
{% endfor %}
{% if stack.people %}
    {{ kanon_sql.stacked_cell(table.person) | trim if table.person is not none else "cast(null as " ~ kanon_sql.text_type() ~ ")" }} as kanon_person,
{% endif %}
{% for letter in letters %}
    {{ 1 if letter == table.letter else 0 }} as kanon_in_{{ letter }}{{ "," if not loop.last }}
{% endfor %}
from {{ table.relation | indent(4) }}
{% if known %}
where {{ kanon_sql.ident((table.cells | last).column) }} is not null
{% endif %}
{% if not loop.last %}

union all

{% endif %}
{% endfor %}
{%- endmacro %}


{# A cell in the form that is compared. #}
{% macro stacked_cell(cell) -%}
{{ kanon_sql.cell(cell, kanon_sql.ident(cell.column), kanon_sql.type_of(cell.column)) }}
{%- endmacro %}


{# Number of records, or people, that a combination has in each table. #}
{% macro counts_of_tables(stack, prefix="kanon_in_", name="kanon_") -%}
{% for table in stack.tables -%}
{{ "" if loop.first else ",\n" }}    sum({{ prefix }}{{ table.letter }}) as {{ name }}{{ table.letter }}
{%- endfor %}
{%- endmacro %}


{# CTEs of all records and of the classes by all columns of the stack. #}
{% macro ctes_of_stacked_classes(stack) %}
-- Every record of the {{ stack.tables | length }} tables.
stacked as (
    {{ kanon_sql.stacked_records(stack) | trim | indent(4) }}
),

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


{#
    One row with several figures. Each has a `name`, the table `of` which it counts records, and the
    predicate on the class in which they are. A person counts once, if any of their classes has it.
#}
{% macro stacked_figures(stack, figures) %}
with

{{ kanon_sql.ctes_of_stacked_figures(stack, figures) | trim }}

{{ kanon_sql.sums_of_stacked_figures(stack, figures) | trim }}
{%- endmacro %}


{# CTEs of the classes, and of the people with what holds for any of their classes. #}
{% macro ctes_of_stacked_figures(stack, figures) %}
{{ kanon_sql.ctes_of_stacked_classes(stack) | trim }}
{%- if stack.people %},

-- Each person with what holds for any of their classes; records of nobody are added up.
people as (
    select
        stacked.kanon_person
{%- for table in stack.tables %},
        stacked.kanon_in_{{ table.letter }}
{%- endfor %}
{%- for figure in figures %},
        {{ kanon_sql.of_each_unit(stack, figure) }} as {{ figure.name }}
{%- endfor %}

    from stacked
    inner join classes
        on {{ kanon_sql.same_class(stack.columns, "classes", "stacked", other_is_set=true) | indent(8) }}
    group by
        stacked.kanon_person
{%- for table in stack.tables %},
        stacked.kanon_in_{{ table.letter }}
{%- endfor %}

)
{%- endif %}

{%- endmacro %}


{# The sums of the figures, in one row. #}
{% macro sums_of_stacked_figures(stack, figures) %}
select
{% for figure in figures %}
    {{ kanon_sql.sum_of_figure(stack, figure) | trim }} as {{ figure.name }}{{ "," if not loop.last }}
{% endfor %}
from {{ "people" if stack.people else "classes" }}
{%- endmacro %}


{# A figure of one person, 0 or 1; of records that belong to nobody their number. #}
{% macro of_each_unit(stack, figure) -%}
{% set persons = stack.tables | selectattr("letter", "equalto", figure.of) | map(attribute="person") | list -%}
{{ "sum" if persons[0] is none else "max" }}(case when stacked.kanon_in_{{ figure.of }} = 1 and {{ figure.predicate }} then 1 else 0 end)
{%- endmacro %}


{# A figure of the whole table. #}
{% macro sum_of_figure(stack, figure) -%}
{% if stack.people -%}
coalesce(sum({{ figure.name }}), 0)
{%- else -%}
coalesce(sum(case when {{ figure.predicate }} then kanon_{{ figure.of }} else 0 end), 0)
{%- endif %}
{%- endmacro %}


{#
    The figures of those alone: how many are in the original and in the synthetic table, found there,
    and found once. With a holdout, who is alone in the original and the holdout together: alone in
    the smaller table is more usual, and would pass for memory (definition of the comparison).
#}
{% macro figures_of_uniques(with_holdout, once) -%}
{% set alone = "kanon_o + kanon_h = 1 and kanon_s " ~ ("= 1" if once else "> 0") %}
{{ return([
    {"name": "kanon_attacked", "of": "o", "predicate": "kanon_o > 0"},
    {"name": "kanon_synthetic", "of": "s", "predicate": "kanon_s > 0"},
    {"name": "kanon_unique_in_original", "of": "o", "predicate": "kanon_o = 1"},
    {"name": "kanon_unique_in_synthetic", "of": "s", "predicate": "kanon_s = 1"},
    {"name": "kanon_found", "of": "o", "predicate": "kanon_s > 0"},
    {"name": "kanon_copying", "of": "s", "predicate": "kanon_o > 0"},
    {"name": "kanon_unique_found", "of": "o", "predicate": "kanon_o = 1 and kanon_s > 0"},
    {"name": "kanon_replicated", "of": "o", "predicate": "kanon_o = 1 and kanon_s = 1"},
] + ([
    {"name": "kanon_holdout", "of": "h", "predicate": "kanon_h > 0"},
    {"name": "kanon_alone_in_original", "of": "o", "predicate": alone},
    {"name": "kanon_alone_in_holdout", "of": "h", "predicate": alone},
] if with_holdout else [])) }}
{%- endmacro %}


{# Failures of a generic test of them: the number called `failures` of the records (people). #}
{% macro failures_of_uniques(stack, failures, max_share, max_excess, once) %}
{% set figures = kanon_sql.figures_of_uniques(stack.tables | length > 2, once=once) %}
{% set ctes %}
with

{{ kanon_sql.ctes_of_stacked_figures(stack, figures) | trim }},

counted as (
    {{ kanon_sql.sums_of_stacked_figures(stack, figures) | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.synthetic_failures(
    stack, ctes,
    failures="measured." ~ failures,
    columns=["kanon_attacked", "kanon_unique_in_original", "kanon_unique_found", "kanon_replicated"],
    over=[kanon_sql.more_than_share("measured." ~ failures, max_share, "measured.kanon_attacked")] if max_share is not none else [],
    max_excess=max_excess,
    compared={
        "x": "kanon_alone_in_original", "n": "kanon_attacked", "y": "kanon_alone_in_holdout", "m": "kanon_holdout",
    }
) }}
{%- endmacro %}


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
        max(kanon_in_s) as kanon_of_s,
        max(kanon_in_o) as kanon_of_o
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


{# --- tests ---------------------------------------------------------------------------------- #}

{#
    End of a test on a synthetic table. `ctes` end with `counted`, one row with the records attacked
    and those `hit`; with `max_excess` also those compared with the holdout. `over` are the predicates
    of which none may be true, besides that of the excess: it must be shown to be small, by the upper
    end of the interval of a difference (Newcombe 1998, Statistics in Medicine 17, method 10).
#}
{% macro synthetic_failures(stack, ctes, failures, columns, over, max_excess=none, compared=none) %}
{% set synthetic, original = stack.tables[0], stack.tables[1] %}
{% set bounded = ["coalesce(measured.kanon_attacked, 0) = 0"] + over + (
    ["coalesce(measured.excess_at_most, 2) > " ~ kanon_sql.number(max_excess)] if max_excess is not none else []
) %}
{% set all_ctes %}
{{ ctes | trim }},

{% if max_excess is not none %}
{{ kanon_sql.ctes_of_excess(compared) | trim }},

{% endif %}
measured as (
    select
        (
            select count(*)
            from {{ synthetic.relation | indent(12) }}
        ) as records,
{% if max_excess is not none %}
        excess.excess_at_most,
{% endif %}
        counted.*
    from counted
{% if max_excess is not none %}
    cross join excess
{% endif %}
)
{%- endset %}
{% set errors = [
    kanon_sql.counted_error(
        "empty_tables", "tables without a record to compare with", "kanon_empty",
        kanon_sql.empty_tables(stack.tables[1:])
    ),
    kanon_sql.counted_error(
        "columns_without_common_values", "columns without a value in common with the original", "kanon_without_common",
        kanon_sql.columns_without_common_values(stack)
    ),
] %}
{% set errors = namespace(listed=errors) %}
{% for table in stack.tables if table.person is not none %}
{% set errors.listed = errors.listed + [kanon_sql.counted_error(
    "without_entity_" ~ table.letter, "records without an entity", "kanon_without_entity",
    kanon_sql.without_entity(table.relation, table.person.column, counted=false)
)] %}
{% endfor %}
{% if stack.tables | length > 2 and original.person is not none %}
{% set errors.listed = errors.listed + [kanon_sql.counted_error(
    "people_in_original_and_holdout", "people of the holdout in the original", "kanon_in_both",
    "select kanon_in_both from (" ~ kanon_sql.people_in_both(original, stack.tables[2]) | trim ~ ") as both_tables"
)] %}
{% endif %}
{{ kanon_sql.raise_or_count(
    all_ctes,
    violated=bounded | join(" or "),
    failures=failures,
    columns=columns,
    more=errors.listed
) }}
{%- endmacro %}


{# CTEs of the greatest difference that the records show, by the ends of each share (Wilson 1927). #}
{% macro ctes_of_excess(compared) %}
{% set float = kanon_sql.float_type() %}
shares as (
    select
        cast({{ compared.x }} as {{ float }}) as kanon_x,
        cast({{ compared.n }} as {{ float }}) as kanon_n,
        cast({{ compared.y }} as {{ float }}) as kanon_y,
        cast(nullif({{ compared.m }}, 0) as {{ float }}) as kanon_m
    from counted
),

ends as (
    select
        {{ kanon_sql.quotient("kanon_x", "kanon_n") }} as kanon_p,
        {{ kanon_sql.quotient("kanon_y", "kanon_m") }} as kanon_q,
        case
            when kanon_x = kanon_n then 1
            else {{ kanon_sql.end_of_share("kanon_x", "kanon_n", "+") }}
        end as kanon_highest_p,
        case
            when kanon_y = 0 then 0
            else {{ kanon_sql.end_of_share("kanon_y", "kanon_m", "-") }}
        end as kanon_lowest_q
    from shares
),

excess as (
    select
        kanon_p - kanon_q + sqrt(
            (kanon_highest_p - kanon_p) * (kanon_highest_p - kanon_p)
            + (kanon_q - kanon_lowest_q) * (kanon_q - kanon_lowest_q)
        ) as excess_at_most
    from ends
)
{%- endmacro %}


{# One end of the interval of x of n. #}
{% macro end_of_share(x, n, sign) -%}
{% set z = "1.959963984540054" -%}
{% set z2 = z ~ " * " ~ z -%}
{% set centre = kanon_sql.quotient(x, n) ~ " + " ~ kanon_sql.quotient(z2, "(2 * " ~ n ~ ")") -%}
{% set variance = kanon_sql.quotient(x ~ " * (" ~ n ~ " - " ~ x ~ ")", "(" ~ n ~ " * " ~ n ~ " * " ~ n ~ ")")
    ~ " + " ~ kanon_sql.quotient(z2, "(4 * " ~ n ~ " * " ~ n ~ ")") -%}
{{ kanon_sql.quotient(centre ~ " " ~ sign ~ " " ~ z ~ " * sqrt(" ~ variance ~ ")", "(1 + " ~ kanon_sql.quotient(z2, n) ~ ")") }}
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
