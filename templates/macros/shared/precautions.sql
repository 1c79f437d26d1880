{#
    Preconditions of a check. Each statement returns one row of counts.
#}

{# Records without an entity, which belong to no person. #}
{% macro without_entity(relation, entity, counted=true) %}
select
{% if counted %}
    count(*) as kanon_records,
{% endif %}
    sum(case when {{ kanon_sql.ident(entity) }} is null then 1 else 0 end) as kanon_without_entity
from {{ relation }}
{%- endmacro %}


{# Values of a text column that are not numbers (or dates), if a condition needs one. #}
{% macro not_castable(relation, column, type) %}
{% set value = kanon_sql.ident(column) %}
select
    count({{ value }}) as kanon_values,
    sum(case when {{ value }} is not null and {{ kanon_sql.cast_or_null(value, type) }} is null then 1 else 0 end) as kanon_not_castable
from {{ relation }}
{%- endmacro %}


{# Invalid weights, which are no number of people: NULL, text, negative, fractional or too large. #}
{% macro not_a_weight(relation, weight, counted=true) %}
select
{% if counted %}
    count(*) as kanon_records,
{% endif %}
    sum(
        case
            when kanon_written is null then 1
            when kanon_weight >= 0 and kanon_weight < 1e15 and kanon_weight = floor(kanon_weight) then 0
            else 1
        end
    ) as kanon_not_a_weight
from (
    select
        {{ kanon_sql.ident(weight) }} as kanon_written,
        {{ kanon_sql.cast_or_null(kanon_sql.ident(weight), kanon_sql.float_type()) }} as kanon_weight
    from {{ relation | indent(4) }}
) as kanon_weights
{%- endmacro %}


{#
    Number of distinct values of a column; the same ignoring case, outer spaces and the spelling of
    numbers; and how many are numbers.
#}
{% macro spellings(relation, column) %}
with

known_values as (
    select distinct
        {{ kanon_sql.ident(column) }} as kanon_value
    from {{ relation | indent(4) }}
    where {{ kanon_sql.ident(column) }} is not null
),

trimmed_values as (
    select trim(cast(kanon_value as {{ kanon_sql.text_type() }})) as kanon_text
    from known_values
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        kanon_text,
        {{ kanon_sql.number_or_null("kanon_text") | indent(8) }} as kanon_number
    from trimmed_values
)

select
    count(*) as kanon_known_values,
    {{ kanon_sql.count_spellings() | indent(4) }} as kanon_spellings,
    count(kanon_number) as kanon_numbers
from read_values
{%- endmacro %}


{#
    Number of distinct numbers and other texts, ignoring case. Numbers are compared as numbers,
    because an engine may cut their text to a few digits.
#}
{% macro count_spellings() -%}
count(distinct kanon_number)
    + count(distinct case when kanon_number is null then lower(kanon_text) end)
{%- endmacro %}


{#
    Cells of a text column that can never equal a number: other text, or a different spelling of it.
#}
{% macro text_beside_numbers(relation, column) %}
with

texts as (
    select distinct cast({{ kanon_sql.ident(column) }} as {{ kanon_sql.text_type() }}) as kanon_text
    from {{ relation | indent(4) }}
),

{{ kanon_sql.parsed_cells("cells", "texts") }}

select
    sum(case when kanon_kind = 'text' then 1 else 0 end) as kanon_text,
    sum(case when kanon_kind <> 'text' then 1 else 0 end) as kanon_like_numbers,
    sum(case when kanon_kind = 'number' and kanon_text <> {{ kanon_sql.as_text("kanon_number", "DOUBLE") }} then 1 else 0 end) as kanon_spelled_otherwise
from cells
where kanon_kind <> 'null'
{%- endmacro %}
