{#
    What a question says of single values beside what the table has: values that a list or a tree
    lacks, values that are named and never occur, and text that has no order. One row of counts.
#}

{# The values of a column that a list lacks, and the records that hold them. #}
{% macro values_not_listed(relation, column, values, unknown=false) %}
with

{{ kanon_sql.inline_values("listed_values", ["kanon_value"], values) }},

{{ kanon_sql.held_values(relation, column, values, unknown) }}

{{ kanon_sql.counts_of_values_not_listed() }}
{%- endmacro %}


{# The values of a column as the list spells them, with the records that hold each. #}
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


{# How many of these values are not among listed_values. #}
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


{# A value as a list spells it: by its text, or as a number where the list has only numbers. #}
{% macro as_listed(value, type, values) -%}
{% if values[0][0] is number -%}
{{ kanon_sql.number_or_null("cast(" ~ value ~ " as " ~ kanon_sql.text_type() ~ ")") }}
{%- else -%}
{{ kanon_sql.as_text(value, type) }}
{%- endif %}
{%- endmacro %}


{# How many of some named values occur at all. #}
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


{# How many of them never do. #}
{% macro named_values_that_never_occur(relation, column, values) %}
select {{ values | length }} - kanon_occurring as kanon_never_occurring
from (
    {{ kanon_sql.named_values_that_occur(relation, column, values) | trim | indent(4) }}
) as kanon_occurring_values
{%- endmacro %}


{# The records whose value is no number, where nobody has looked up the type. #}
{% macro not_a_number(relation, column) %}
select
    sum(
        case
            when {{ kanon_sql.ident(column) }} is null or {{ kanon_sql.spelled_number(column) }} is not null then 0
            else 1
        end
    ) as kanon_not_a_number
from {{ relation }}
{%- endmacro %}


{# Records with a value that keeps all of them from being numbers, or all from being dates. #}
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
        sum(case when {{ known }} and {{ keys[0] }} is null then 1 else 0 end) as kanon_no_number,
        sum(case when {{ known }} and {{ keys[1] }} is null then 1 else 0 end) as kanon_no_date
    from {{ relation | indent(4) }}
) as kanon_orders
{% endif %}
{%- endmacro %}


{# How many values of a text column are no number, and how many are no date. #}
{% macro not_orderable(relation, column) %}
select
    count(*) as kanon_values,
    sum(case when {{ kanon_sql.finite_number(column) }} is null then 1 else 0 end) as kanon_no_number,
    sum(case when {{ kanon_sql.cast_or_null(kanon_sql.alias(column), "timestamp") }} is null then 1 else 0 end) as kanon_no_date
from (
    select distinct {{ kanon_sql.aliased(kanon_sql.ident(column), column) }}
    from {{ relation | indent(4) }}
    where {{ kanon_sql.ident(column) }} is not null
) as kanon_distinct_values
{%- endmacro %}


{# Whether a column says anything: how many values it has, and how many records have none. #}
{% macro values_at_all(relation, column) %}
select
    count(distinct {{ kanon_sql.ident(column) }}) as kanon_values,
    sum(case when {{ kanon_sql.ident(column) }} is null then 1 else 0 end) as kanon_nulls
from {{ relation }}
{%- endmacro %}


{# Survey weights that stand for no one: NULL, no number, less than the record's own person. #}
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
