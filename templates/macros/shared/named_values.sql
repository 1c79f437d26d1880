{#
    Comparison of single values in the spec with the table: values missing in a list or a tree,
    named values that never occur, and text without an order. Each statement returns one row of
    counts.
#}

{# Number of values of a column that a list lacks, and of their records. #}
{% macro values_not_listed(relation, column, values, unknown=false) %}
with

{{ kanon_sql.inline_values("listed_values", ["kanon_value"], values) }},

{{ kanon_sql.held_values(relation, column, values, unknown) }}

{{ kanon_sql.counts_of_values_not_listed() }}
{%- endmacro %}


{# Values of a column in the list's spelling, with the records of each. #}
{% macro held_values(relation, column, values, unknown=false) -%}
{% set value = kanon_sql.as_listed(kanon_sql.ident(column), kanon_sql.type_of(column), values) | trim -%}
held_values as (
    select
        {{ value | indent(8) }} as kanon_value,
        count(*) as kanon_records
    from {{ relation | indent(4) }}
{% if unknown %}
    where {{ kanon_sql.ident(column) }} is not null
{% endif %}
    group by
        {{ value | indent(8) }}
)
{%- endmacro %}


{# Number of these values that are not in listed_values. #}
{% macro counts_of_values_not_listed(records_alone=false) %}
select
{% if not records_alone %}
    sum(case when listed_values.kanon_value is null then 1 else 0 end) as kanon_values_not_listed,
{% endif %}
    sum(
        case when listed_values.kanon_value is null then held_values.kanon_records else 0 end
    ) as kanon_records_not_listed
{%- if not records_alone %},
    sum(
        case when held_values.kanon_value is null then held_values.kanon_records else 0 end
    ) as kanon_null_records
{%- endif %}

from held_values
left join listed_values
    on listed_values.kanon_value = held_values.kanon_value
{%- endmacro %}


{# Value in the list's spelling: as text, or as a number if the list has only numbers. #}
{% macro as_listed(value, type, values) -%}
{% if values[0][0] is number -%}
{{ kanon_sql.number_or_null("cast(" ~ value ~ " as " ~ kanon_sql.text_type() ~ ")") }}
{%- else -%}
{{ kanon_sql.as_text(value, type) }}
{%- endif %}
{%- endmacro %}


{# How many of some named values occur. #}
{% macro named_values_that_occur(relation, column, values) %}
select
{% for value in values %}
    max(case when {{ kanon_sql.stands_for(column, value) }} then 1 else 0 end){{ " +" if not loop.last }}
{% endfor %}
    as kanon_occurring
from (
    select {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}
    from {{ relation | indent(4) }}
) as kanon_named
{%- endmacro %}


{# How many of them never occur. #}
{% macro named_values_that_never_occur(relation, column, values) %}
select {{ values | length }} - kanon_occurring as kanon_never_occurring
from (
    {{ kanon_sql.named_values_that_occur(relation, column, values) | trim | indent(4) }}
) as kanon_occurring_values
{%- endmacro %}


{#
    Records whose value is no number, for a column of unknown type; of text, no number below 2^53, which a
    float tells from others.
#}
{% macro not_a_number(relation, column) %}
{% set number = kanon_sql.spelled_number(column) %}
{% set is_named = kanon_sql.alias(column) == kanon_sql.ident(column) %}
select
    sum(
        case
            when {{ kanon_sql.alias(column) }} is null or {{ number ~ " is not null" if not kanon_sql.is_text(column) else "abs(" ~ number ~ ") < 9007199254740992" }} then 0
            else 1
        end
    ) as kanon_not_a_number
from {% if is_named %}{{ relation }}{% else %}(
    select {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}
    from {{ relation | indent(4) }}
) as kanon_values_of_column
{% endif %}
{%- endmacro %}


{#
    Records whose values prevent an order: no number below 2^53, which a float tells from others, and not
    a date, whichever gives fewer.
#}
{% macro not_in_order(relation, column) %}
{% set keys = kanon_sql.order_keys(kanon_sql.ident(column), kanon_sql.type_of(column)) %}
{% set known = kanon_sql.ident(column) ~ " is not null" %}
select
{% if keys | length == 1 %}
    sum(case when {{ known }} and {{ keys[0] }} is null then 1 else 0 end) as kanon_not_in_order
{% else %}
    case when kanon_no_number < kanon_no_date then kanon_no_number else kanon_no_date end as kanon_not_in_order
{% endif %}
from {% if keys | length == 1 %}{{ relation }}{% else %}(
    select
        sum(case when {{ known }} and ({{ keys[0] }} is null or abs({{ keys[0] }}) >= 9007199254740992) then 1 else 0 end) as kanon_no_number,
        sum(case when {{ known }} and {{ keys[1] }} is null then 1 else 0 end) as kanon_no_date
    from {{ relation | indent(4) }}
) as kanon_orders
{% endif %}
{%- endmacro %}


{#
    Number of distinct values of a text column that are not numbers, that are not dates, and that are
    numbers of 2^53 or more, of which a float merges some.
#}
{% macro not_orderable(relation, column) %}
select
    count(*) as kanon_values,
    sum(case when {{ kanon_sql.finite_number(column) }} is null then 1 else 0 end) as kanon_no_number,
    sum(case when abs({{ kanon_sql.finite_number(column) }}) >= 9007199254740992 then 1 else 0 end) as kanon_inexact,
    sum(case when {{ kanon_sql.cast_or_null(kanon_sql.alias(column), "timestamp") }} is null then 1 else 0 end) as kanon_no_date
from (
    select distinct {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}
    from {{ relation | indent(4) }}
    where {{ kanon_sql.ident(column) }} is not null
) as kanon_distinct_values
{%- endmacro %}


{# Number of distinct values of a column, and of its NULLs. #}
{% macro values_at_all(relation, column) %}
select
    count(distinct {{ kanon_sql.ident(column) }}) as kanon_values,
    sum(case when {{ kanon_sql.ident(column) }} is null then 1 else 0 end) as kanon_nulls
from {{ relation }}
{%- endmacro %}


{# Invalid survey weights: NULL, not a number, or below 1, as each record represents itself. #}
{% macro not_a_survey_weight(relation, weight) %}
select
    count(*) as kanon_records,
    sum(case when kanon_written is null then 1 else 0 end) as kanon_null,
    sum(case when kanon_written is not null and (kanon_weight is null or kanon_weight > 1e15) then 1 else 0 end) as kanon_no_number,
    sum(case when kanon_weight < 1 then 1 else 0 end) as kanon_below_one
from (
    select
        {{ kanon_sql.ident(weight) }} as kanon_written,
        {{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }} as kanon_weight
    from {{ relation | indent(4) }}
) as kanon_weights
{%- endmacro %}
