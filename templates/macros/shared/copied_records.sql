{#
    Copied records: records of the original that are in the synthetic table, whole. One that many have
    is in every good synthetic table, one that nobody else has is not.

    Raab, Nowok, Dibben 2024, Practical privacy metrics for synthetic data, arXiv:2406.16826, section
    3.1 (uniques in the original that are in the synthetic data, by all columns).
#}

{#
    One row of counts of records, or of people. Of each of the `further` columns, how many copied records
    have a value that another one of them has: where any has, the column has values in common, and is
    no running number. `hashed`: the database has a hash of a record that takes less time than its columns.
#}
{% macro copied_records(stack, further=[], hashed=false) %}
with

{{ (kanon_sql.ctes_of_hashed_copies(stack) if hashed else kanon_sql.ctes_of_copies(stack)) | trim }}{{ "," if further }}
{% if further %}

repeats as (
    select
{% for column in further %}
        count({{ kanon_sql.alias(column) }}) - count(distinct {{ kanon_sql.alias(column) }}) as kanon_repeats_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
    from classes
    where
        kanon_s > 0
        and kanon_o > 0
),

counted as (
    {{ kanon_sql.sums_of_copies(stack) | trim | indent(4) }}
)

select *
from counted
cross join repeats
{%- else %}

{{ kanon_sql.sums_of_copies(stack) | trim }}
{%- endif %}
{%- endmacro %}


{#
    CTEs of the records that are copied, and of those alone in the original. Nearly all whole records
    differ, so that they are first looked for in the synthetic table, and only those found there are
    counted.
#}
{% macro ctes_of_copies(stack) %}
{% set original = stack.tables[1] %}
{{ kanon_sql.cte_of_stacked_records(stack) | trim }},

-- A whole record of the synthetic table that another table has too.
copies as (
    select
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
    from (
{% for table in stack.tables[1:] %}
        select
{{ kanon_sql.cells_of_table(stack, table) | indent(8, first=true) }}
        from {{ table.relation | indent(12) }}
{% if not loop.last %}

        union all

{% endif %}
{% endfor %}
    ) as others

    intersect

    select
{{ kanon_sql.cells_of_table(stack, stack.tables[0]) | indent(4, first=true) }}
    from {{ stack.tables[0].relation | indent(8) }}
),

-- The same, with its {{ "people" if stack.people else "records" }} in each table.
classes as (
    select
{{ kanon_sql.aliases_in("copies", stack.columns) | indent(4, first=true) }},
{{ kanon_sql.counts_of_tables(stack) | indent(4, first=true) }}
    from stacked
    inner join copies
        on {{ kanon_sql.same_class(stack.columns, "copies", "stacked", other_is_set=true) | indent(8) }}
    group by
{{ kanon_sql.aliases_in("copies", stack.columns) | indent(4, first=true) }}
),
{% if stack.people %}

{{ kanon_sql.cte_of_counted_people(
    stack, kanon_sql.figures_of_copies(stack), kanon_sql.stacked_records(stack, of_people=true)
) | trim }},
{% endif %}

-- A whole record that one {{ "person" if original.person is not none else "record" }} of the original has.
uniques as (
    select {{ "min(kanon_person)" if original.person is not none else "count(*)" }} as kanon_unit
    from (
        select{{ " distinct" if original.person is not none }}
{{ kanon_sql.cells_of_table(stack, original) | indent(8, first=true) }}{{ "," if original.person is not none }}
{% if original.person is not none %}
            {{ kanon_sql.stacked_cell(original.person) }} as kanon_person
{% endif %}
        from {{ original.relation | indent(12) }}
    ) as original
    group by
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
    having count(*) = 1
)
{%- endmacro %}


{% macro figures_of_copies(stack) -%}
{{ return(kanon_sql.figures_of_found(stack.tables | length > 2, once=false)) }}
{%- endmacro %}


{# The figures, in one row. #}
{% macro sums_of_copies(stack) %}
{% set names = {"s": "kanon_synthetic", "o": "kanon_attacked", "h": "kanon_holdout"} %}
select
{% for table in stack.tables %}
    (
        select {{ kanon_sql.counted_units(table.person is not none, kanon_sql.ident(table.person.column) if table.person is not none) }}
        from {{ table.relation | indent(8) }}
    ) as {{ names[table.letter] }},
{% endfor %}
    (
        select {{ kanon_sql.counted_units(stack.tables[1].person is not none, "kanon_unit") }}
        from uniques
    ) as kanon_unique_in_original
{%- for figure in kanon_sql.figures_of_copies(stack) %},
    {{ kanon_sql.sum_of_figure(stack, figure) | trim }} as {{ figure.name }}
{%- endfor %}

from classes
{%- endmacro %}


{# Number of records, or of different people. #}
{% macro counted_units(of_people, person) -%}
{{ "count(distinct " ~ person ~ ")" if of_people else "count(*)" }}
{%- endmacro %}


{#
    Generic test of copied records. Failures are the records (people) of the original that are
    copied, and that nobody else has. With `max_excess` it passes only where the difference to the holdout is shown.
#}
{% macro copied_records_failures(stack, max_share=none, max_excess=none) %}
{{ kanon_sql.failures_of_uniques(
    stack, kanon_sql.ctes_of_copies(stack), kanon_sql.sums_of_copies(stack),
    "kanon_unique_found", [], max_share, max_excess
) }}
{%- endmacro %}


{% test copied_records(model) -%}
{% set arguments = kanon_sql.test_arguments(
    "copied_records", model, kwargs, {"max_share": {"most": 1}, "max_excess": {"least": -1, "most": 1}}, ["original"]
) -%}
{{ kanon_sql.tidy(kanon_sql.copied_records_failures(**arguments), model) }}
{%- endtest %}
