{#
    Uniques of stacked counts: how many records, or people, are alone in the original and in the
    synthetic table, by the columns of the stack, and how many of them are in both.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3.1.
#}

{#
    One row with several figures. Each has a `name`, the table `of` which it counts records, and the
    predicate on the class in which they are. A person counts once, if any of their classes has it.
    `who` says how people are counted: `everyone` from the table itself, `one` by the key of the only
    person in the class, `any` number of people in it by a join of the records.
#}
{% macro stacked_figures(stack, figures) %}
with

{{ kanon_sql.ctes_of_stacked_figures(stack, figures) | trim }}

{{ kanon_sql.sums_of_stacked_figures(stack, figures) | trim }}
{%- endmacro %}


{# CTEs of the classes, and of the figures of people in them. #}
{% macro ctes_of_stacked_figures(stack, figures) %}
{{ kanon_sql.ctes_of_stacked_classes(stack) | trim }}
{%- if stack.people %},

{{ kanon_sql.cte_of_counted_people(stack, figures, kanon_sql.stacked_records(stack, of_people=true)) | trim }}
{%- endif %}
{%- endmacro %}


{# CTE of the figures of `any` number of people in a class, in one row: those of the `records`. #}
{% macro cte_of_counted_people(stack, figures, records) %}
{% set of_any = namespace(figures=[]) %}
{% for figure in figures if figure.who == "any" and kanon_sql.is_of_people(stack, figure) %}
{% set of_any.figures = of_any.figures + [figure] %}
{% endfor %}
-- The people who have a record in such a class.
counted_people as (
    select
{% for figure in of_any.figures %}
        count(distinct case when records.kanon_table = '{{ figure.of }}' and {{ figure.predicate }} then records.kanon_person end) as {{ figure.name }}{{ "," if not loop.last }}
{% endfor %}
    from (
        {{ records | trim | indent(8) }}
    ) as records
    inner join classes
        on {{ kanon_sql.same_class(stack.columns, "classes", "records", other_is_set=true) | indent(8) }}
    where {{ of_any.figures | map(attribute="predicate") | unique | join(" or ") }}
)
{%- endmacro %}


{# The sums of the figures, in one row. #}
{% macro sums_of_stacked_figures(stack, figures) %}
select
{% for figure in figures %}
    {{ kanon_sql.sum_of_figure(stack, figure) | trim }} as {{ figure.name }}{{ "," if not loop.last }}
{% endfor %}
from classes
{%- endmacro %}


{# The table of which a figure counts records. #}
{% macro table_of_figure(stack, figure) -%}
{{ return((stack.tables | selectattr("letter", "equalto", figure.of) | list)[0]) }}
{%- endmacro %}


{# Whether a figure counts people, as its table has some. #}
{% macro is_of_people(stack, figure) -%}
{{ return(kanon_sql.table_of_figure(stack, figure).person is not none) }}
{%- endmacro %}


{# A figure of the whole table; of a table without people it counts records. #}
{% macro sum_of_figure(stack, figure) -%}
{% if not kanon_sql.is_of_people(stack, figure) -%}
coalesce(sum(case when {{ figure.predicate }} then kanon_{{ figure.of }} else 0 end), 0)
{%- elif figure.who == "one" -%}
count(distinct case when {{ figure.predicate }} then kanon_person_{{ figure.of }} end)
{%- elif figure.who == "everyone" -%}
{% set table = kanon_sql.table_of_figure(stack, figure) -%}
(
        select count(distinct {{ kanon_sql.stacked_cell(table.person) | trim }})
        from {{ table.relation | indent(8) }}
    )
{%- else -%}
(
        select {{ figure.name }}
        from counted_people
    )
{%- endif %}
{%- endmacro %}


{# The figures of those alone: how many are in the original, and again in the synthetic table. #}
{% macro figures_of_uniques(with_holdout) -%}
{{ return([
    {"name": "kanon_attacked", "of": "o", "predicate": "kanon_o > 0", "who": "everyone"},
    {"name": "kanon_synthetic", "of": "s", "predicate": "kanon_s > 0", "who": "everyone"},
    {"name": "kanon_unique_in_original", "of": "o", "predicate": "kanon_o = 1", "who": "one"},
    {"name": "kanon_unique_in_synthetic", "of": "s", "predicate": "kanon_s = 1", "who": "one"},
    {"name": "kanon_replicated", "of": "o", "predicate": "kanon_o = 1 and kanon_s = 1", "who": "one"},
] + ([
    {"name": "kanon_holdout", "of": "h", "predicate": "kanon_h > 0", "who": "everyone"},
    {"name": "kanon_found_in_holdout", "of": "h", "predicate": "kanon_s > 0", "who": "any"},
] if with_holdout else []) + kanon_sql.figures_of_found(with_holdout, once=true)) }}
{%- endmacro %}


{#
    The figures of those found in the synthetic table, or found `once`. With a holdout, who is alone in the original
    and the holdout together: alone in the smaller table is more usual, and would pass for memory
    (definition of the comparison).
#}
{% macro figures_of_found(with_holdout, once) -%}
{% set alone = "kanon_o + kanon_h = 1 and kanon_s " ~ ("= 1" if once else "> 0") %}
{{ return([
    {"name": "kanon_found", "of": "o", "predicate": "kanon_s > 0", "who": "any"},
    {"name": "kanon_copying", "of": "s", "predicate": "kanon_o > 0", "who": "any"},
    {"name": "kanon_unique_found", "of": "o", "predicate": "kanon_o = 1 and kanon_s > 0", "who": "one"},
] + ([
    {"name": "kanon_alone_in_original", "of": "o", "predicate": alone, "who": "one"},
    {"name": "kanon_alone_in_holdout", "of": "h", "predicate": alone, "who": "one"},
] if with_holdout else [])) }}
{%- endmacro %}


{#
    Failures of a generic test of them: the number called `failures` of the records (people). `sums`
    is the row of figures, after its `ctes`.
#}
{% macro failures_of_uniques(stack, ctes, sums, failures, columns, max_share, max_excess) %}
{% set ctes_of_test %}
with

{{ ctes | trim }},

counted as (
    {{ sums | trim | indent(4) }}
)
{%- endset %}
{{ kanon_sql.synthetic_failures(
    stack, ctes_of_test,
    failures="measured." ~ failures,
    columns=["kanon_attacked", "kanon_unique_in_original", "kanon_unique_found"] + columns,
    over=[kanon_sql.more_than_share("measured." ~ failures, max_share, "measured.kanon_attacked")] if max_share is not none else [],
    max_excess=max_excess,
    compared={
        "x": "kanon_alone_in_original", "n": "kanon_attacked", "y": "kanon_alone_in_holdout", "m": "kanon_holdout",
    }
) }}
{%- endmacro %}
