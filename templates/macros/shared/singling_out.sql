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

    `subsets` have the positions of their columns in `stack.columns`. A record that is alone on a few columns
    is alone on all, so that its class of all columns tells which it is; a person is told by their
    key. Where nearly every record has a class of its own, `by_class` is false, and the records are
    numbered themselves. `sorts`: the numbers are those of an order, as a database that reads a CTE again at
    each reference would otherwise number anew. Most sets make few claims, which the other tables are
    then searched for.
#}
{% macro singling_out(stack, subsets, sizes, by_class=true, sorts=true) %}
{% set with_holdout = stack.tables | length > 2 %}
{% set by_class = by_class and not stack.people %}
with

{% if by_class %}
{{ kanon_sql.ctes_of_stacked_classes(stack) | trim }},

{% endif %}
{{ kanon_sql.cte_of_units("claimants", stack, stack.tables[:1], by_class, sorts) | trim }},

{{ kanon_sql.cte_of_units("units", stack, stack.tables[1:], by_class, sorts) | trim }},

-- A combination that one record of the synthetic table has.
claims as (
{% for subset in subsets %}
    {{ kanon_sql.claims_of_set(stack, subset, by_class) | trim | indent(4) }}
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

units_hit as (
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
from units_hit
{%- endmacro %}


{#
    CTE of what is grouped by each set of columns, of some of the tables: the classes by all columns,
    the records, or with people each of them in each class. Which class, record or person it is, stands
    in the column of its table.
#}
{% macro cte_of_units(name, stack, tables, by_class, sorts) %}
{{ name }} as {{ "materialized " if not sorts }}(
    select
{{ kanon_sql.aliases(stack.columns) | indent(4, first=true) }}
{%- for table in tables %},
{% if by_class %}
        kanon_{{ table.letter }},
{% endif %}
        case when {{ "kanon_" ~ table.letter ~ " > 0" if by_class else "kanon_table = '" ~ table.letter ~ "'" }} then {{ kanon_sql.unit_of_record(stack, table, sorts) | trim }} end as kanon_unit_{{ table.letter }}
{%- endfor %}

{% if by_class %}
    from classes
    where {% for table in tables %}{{ " + " if not loop.first }}kanon_{{ table.letter }}{% endfor %} > 0
{% else %}
    from (
        {{ kanon_sql.stacked_records(stack, tables=tables) | trim | indent(8) }}
    ) as stacked
{% endif %}
)
{%- endmacro %}


{# What a record counts as: its person, or itself, by a number where it may be hit. #}
{% macro unit_of_record(stack, table, sorts) -%}
{% if table.person is not none %}kanon_person
{%- elif stack.people or table.letter == "s" %}1
{%- else %}row_number() over ({% if sorts %}order by {{ kanon_sql.aliases_of(stack.columns) | join(", ") }}{% endif %})
{%- endif %}
{%- endmacro %}


{# The claims of one set of columns, each with the record that it may hit. #}
{% macro claims_of_set(stack, subset, by_class) %}
{% set columns = namespace(of_set=[]) %}
{% for place in subset.places %}{% set columns.of_set = columns.of_set + [stack.columns[place - 1]] %}{% endfor %}
select
    {{ subset.places | length }} as kanon_columns
{%- for table in stack.tables[1:] %},
    {{ kanon_sql.units_of_set(table, by_class) }} as kanon_{{ table.letter }},
    min(kanon_unit_{{ table.letter }}) as kanon_unit_{{ table.letter }}
{%- endfor %}

from (
    select
{{ kanon_sql.aliases(columns.of_set) | indent(4, first=true) }}
    from claimants
    group by
{{ kanon_sql.aliases(columns.of_set) | indent(4, first=true) }}
    having {{ kanon_sql.units_of_set(stack.tables[0], by_class) }} = 1
) as claimed
left join units
    on {{ kanon_sql.same_class(columns.of_set, "claimed", "units", other_is_set=true) | indent(4) }}
group by
{{ kanon_sql.aliases_in("claimed", columns.of_set) }}
{%- endmacro %}


{# Number of records, or up to two people, of a table with one combination. #}
{% macro units_of_set(table, by_class) -%}
{% set unit = "kanon_unit_" ~ table.letter -%}
{% if by_class -%}
coalesce(sum(kanon_{{ table.letter }}), 0)
{%- elif table.person is none -%}
count({{ unit }})
{%- else -%}
{{ kanon_sql.up_to_two(unit) }}
{%- endif %}
{%- endmacro %}
