{#
    Singling out: each combination of a few quasi-identifiers that one record of the synthetic table
    has is a claim that there is exactly one such record. A claim is correct if exactly one record of
    the original has it. All claims of all small sets are made, where the paper draws some hundred,
    and they are of equal values.

    Giomi, Boenisch, Wehmeyer, Tasnadi 2023, A unified framework for quantifying privacy risk in
    synthetic data, PoPETs 2023(2), section 4.1.
#}

{#
    One row: claims, correct ones, those of nobody and records singled out by each number of columns;
    those singled out by any, in all and, with a holdout, of either table by claims that are of one
    record of both together.

    `subsets` have the positions of their columns in `keys`. A record that is alone on a few columns
    is alone on all, so that its class of all columns tells which it is; a person is told by their
    key.
#}
{% macro singling_out(stack, subsets, sizes) %}
{% set with_holdout = stack.tables | length > 2 %}
with

{{ kanon_sql.ctes_of_units(stack) | trim }},

-- A combination that one record of the synthetic table has.
claims as (
{% for subset in subsets %}
    {{ kanon_sql.claims_of_set(stack, subset) | trim | indent(4) }}
{% if not loop.last %}

    union all

{% endif %}
{% endfor %}
),

-- The claims that hit one record, by that record; others have none.
hits as (
    select
        case
            when kanon_o = 1 then kanon_unit_o
{% if with_holdout %}
            when kanon_o = 0 and kanon_h = 1 then kanon_unit_h
{% endif %}
        end as kanon_unit,
        kanon_columns,
        kanon_o{{ "," if with_holdout }}
{% if with_holdout %}
        kanon_h
{% endif %}
    from claims
),

units as (
    select
        kanon_unit,
{% if with_holdout %}
        {{ kanon_sql.greatest_flag("kanon_o = 1 and kanon_h = 0") }} as kanon_is_alone_in_original,
        {{ kanon_sql.greatest_flag("kanon_o = 0 and kanon_h = 1") }} as kanon_is_alone_in_holdout,
{% endif %}
{% for size in sizes %}
        sum(case when kanon_columns = {{ size }} then 1 else 0 end) as kanon_claims_{{ size }},
        sum(case when kanon_columns = {{ size }} and kanon_o = 1 then 1 else 0 end) as kanon_correct_{{ size }},
        sum(case when kanon_columns = {{ size }} and kanon_o = 0 then 1 else 0 end) as kanon_nobody_{{ size }},
        {{ kanon_sql.greatest_flag("kanon_columns = " ~ size ~ " and kanon_o = 1") }} as kanon_is_hit_{{ size }},
{% endfor %}
        {{ kanon_sql.greatest_flag("kanon_o = 1") }} as kanon_is_hit
    from hits
    group by kanon_unit
)

select
{% for size in sizes %}
    coalesce(sum(kanon_claims_{{ size }}), 0) as kanon_claims_{{ size }},
    coalesce(sum(kanon_correct_{{ size }}), 0) as kanon_correct_{{ size }},
    coalesce(sum(kanon_nobody_{{ size }}), 0) as kanon_nobody_{{ size }},
    coalesce(sum(kanon_is_hit_{{ size }}), 0) as kanon_singled_out_{{ size }},
{% endfor %}
{% if with_holdout %}
    coalesce(sum(kanon_is_alone_in_original), 0) as kanon_alone_in_original,
    coalesce(sum(kanon_is_alone_in_holdout), 0) as kanon_alone_in_holdout,
{% endif %}
    coalesce(sum(kanon_is_hit), 0) as kanon_singled_out
from units
{%- endmacro %}


{#
    CTE of what sets of columns are grouped from: the classes by all columns, each with a number; with
    people each of them in each class.
#}
{% macro ctes_of_units(stack) %}
{% if stack.people %}
-- Each person in each class; records of nobody.
units_of_classes as (
    {{ kanon_sql.stacked_records(stack) | trim | indent(4) }}
)
{%- else %}
{{ kanon_sql.ctes_of_stacked_classes(stack) | trim }},

-- The classes by all columns, numbered.
units_of_classes as (
    select
        classes.*,
        row_number() over (
            order by
{{ kanon_sql.aliases(stack.columns) | indent(12, first=true) }}
        ) as kanon_class
    from classes
)
{%- endif %}
{%- endmacro %}


{# The claims of one set of columns, each with the record that it may hit. #}
{% macro claims_of_set(stack, subset) %}
{% set unit = "kanon_person" if stack.people else "kanon_class" %}
select
    {{ subset.places | length }} as kanon_columns
{%- for table in stack.tables[1:] %},
    {{ kanon_sql.units_of_set(stack, table) }} as kanon_{{ table.letter }},
    min(case when {{ "kanon_in_" if stack.people else "kanon_" }}{{ table.letter }} > 0 then {{ unit }} end) as kanon_unit_{{ table.letter }}
{%- endfor %}

from units_of_classes
group by
{% for place in subset.places %}
    {{ kanon_sql.alias(stack.columns[place - 1]) }}{{ "," if not loop.last }}
{% endfor %}
having {{ kanon_sql.units_of_set(stack, stack.tables[0]) }} = 1
{%- endmacro %}


{# Number of records, or people, of a table with one combination. #}
{% macro units_of_set(stack, table) -%}
{% if table.person is not none -%}
count(distinct case when kanon_in_{{ table.letter }} = 1 then kanon_person end)
{%- else -%}
sum({{ "kanon_in_" if stack.people else "kanon_" }}{{ table.letter }})
{%- endif %}
{%- endmacro %}
