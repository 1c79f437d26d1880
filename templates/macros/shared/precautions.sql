{#
    What must be so before a question means anything. Each answer is one row of counts.
#}

{# Records without an entity: no person can be counted for them. #}
{% macro without_entity(relation, entity, counted=true) %}
select
{% if counted %}
    count(*) as kanon_records,
{% endif %}
    sum(case when {{ kanon_sql.ident(entity) }} is null then 1 else 0 end) as kanon_without_entity
from {{ relation }}
{%- endmacro %}


{# Values of a text column that are no number (or date), where a condition needs one. #}
{% macro not_castable(relation, column, type) %}
{% set value = kanon_sql.ident(column) %}
{% set number = kanon_sql.cast_or_null(value, kanon_sql.float_type() if type == "BIGINT" else type) %}
select
    count({{ value }}) as kanon_values,
    sum(case when {{ value }} is not null and {{ number }} is null then 1
{%- if type == "BIGINT" %} when {{ number }} <> floor({{ number }}) then 1{% endif %} else 0 end) as kanon_not_castable
from {{ relation }}
{%- endmacro %}


{# Weights that are no number of people: NULL, text, negative, fractional or beyond counting. #}
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


{# How many values a column has, how many are left when case, outer spaces and the spelling of
   numbers are set aside, and how many of them are numbers. #}
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

-- Each of them with the number that it spells, if any.
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


{# How many different numbers and other texts there are when case is set aside. A number counts as
   one, and not as the text that an engine would write of it, which may be cut to a few digits. #}
{% macro count_spellings() -%}
count(distinct kanon_number)
    + count(distinct case when kanon_number is null then lower(kanon_text) end)
{%- endmacro %}


{# How many different values the first records have in each column; how many people these records
   are about, where there is an entity. #}
{% macro distinct_in_first(relation, columns, first, entity=none) %}
select
    count(*) as kanon_records,
{% if entity %}
    count(distinct {{ kanon_sql.ident(entity) }}) as kanon_people,
{% endif %}
{% for column in columns %}
    count(distinct {{ kanon_sql.ident(column) }}) as kanon_distinct_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
from (
    {{ kanon_sql.first_of(relation, columns + ([entity] if entity else []), first) | indent(4) }}
) as first_records
{%- endmacro %}


{# How many combinations the first records have of several columns. #}
{% macro combinations_in_first(relation, columns, first) %}
select count(*) as kanon_combinations
from (
    select distinct
{{ kanon_sql.names(columns) | indent(4, first=true) }}
    from (
        {{ kanon_sql.first_of(relation, columns, first) | indent(8) }}
    ) as first_records
) as first_combinations
{%- endmacro %}


{# The first records, in whatever order they lie. #}
{% macro first_of(relation, columns, first) -%}
select
{{ kanon_sql.names(columns) }}
from {{ relation }}
limit {{ kanon_sql.positive_int(first, "first") }}
{%- endmacro %}


{# Cells of a text column that can never equal a number: other text, or another spelling of it. #}
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
