{#
    k-anonymity with NULL as a wildcard: the size of a record is the number of records compatible
    with it. Matching is not transitive, so there are no equivalence classes but patterns: the
    distinct combinations, NULLs included.

    Two patterns are compatible if they agree in every column where neither is NULL. This becomes an
    equality join by expanding every pattern for each set of NULLs (mask).

    Templ, Kowarik, Meindl 2015, Statistical disclosure control for micro-data using sdcMicro,
    JSS 67(4), section 4.1 (missing values in key variables).
#}
{% macro k_anonymity_with_wildcards(relation, columns, k=none) %}
with

{{ kanon_sql.ctes_of_wildcards(relation, columns) }}

{{ kanon_sql.class_sizes(columns, ["min(kanon_records) as kanon_size_as_value"], k=k) }}
{%- endmacro %}


{# CTEs up to the patterns. #}
{% macro ctes_of_wildcards(relation, columns, named="classes") %}
-- Each combination of values; kanon_mask has a 1 for each column that is NULL.
patterns as (
    select
{{ kanon_sql.aliased_names(columns) | indent(4, first=true) }},
{% for column in columns %}
        {{ "|| " if not loop.first }}case when {{ kanon_sql.ident(column) }} is null then '1' else '0' end{{ " as kanon_mask," if loop.last }}
{% endfor %}
        count(*) as kanon_records
    from {{ relation | indent(4) }}
    group by
{{ kanon_sql.names(columns) | indent(4, first=true) }}
),

null_masks as (
    select distinct kanon_mask
    from patterns
),

-- The patterns of a mask, without the columns that are NULL in another mask.
patterns_as_seen as (
    select
        null_masks.kanon_mask as kanon_seen_by,
        patterns.kanon_mask,
{% for column in columns %}
        {{ kanon_sql.unless_masked(
            "null_masks.kanon_mask", loop.index, "patterns." ~ kanon_sql.alias(column)
        ) }} as {{ kanon_sql.alias(column) }},
{% endfor %}
        sum(patterns.kanon_records) as kanon_records
    from patterns
    cross join null_masks
    group by
        null_masks.kanon_mask,
        patterns.kanon_mask,
{% for column in columns %}
        {{ kanon_sql.unless_masked(
            "null_masks.kanon_mask", loop.index, "patterns." ~ kanon_sql.alias(column)
        ) }}{{ "," if not loop.last }}
{% endfor %}
),

-- Each pattern, without the columns that are NULL in the mask that it is compared with.
patterns_as_looking as (
    select
        patterns.*,
        null_masks.kanon_mask as kanon_looks_at,
{% for column in columns %}
        {{ kanon_sql.unless_masked(
            "null_masks.kanon_mask", loop.index, "patterns." ~ kanon_sql.alias(column)
        ) }} as kanon_looks_for_{{ loop.index }}{{ "," if not loop.last }}
{% endfor %}
    from patterns
    cross join null_masks
),

-- Each pattern with the records of all compatible patterns: equal wherever neither is NULL.
{{ named }} as (
    select
{% for column in columns %}
        patterns_as_looking.{{ kanon_sql.alias(column) }},
{% endfor %}
        max(patterns_as_looking.kanon_records) as kanon_records,
        sum(patterns_as_seen.kanon_records) as kanon_size
    from patterns_as_looking
    inner join patterns_as_seen
        on patterns_as_seen.kanon_seen_by = patterns_as_looking.kanon_mask
        and patterns_as_seen.kanon_mask = patterns_as_looking.kanon_looks_at
{% for column in columns %}
        and {{ kanon_sql.same(
            "patterns_as_seen." ~ kanon_sql.alias(column),
            "patterns_as_looking.kanon_looks_for_" ~ loop.index
        ) }}
{% endfor %}
    group by
{% for column in columns %}
        patterns_as_looking.{{ kanon_sql.alias(column) }}{{ "," if not loop.last }}
{% endfor %}
)
{%- endmacro %}


{# Column's value, or NULL if the mask has a 1 at this place. #}
{% macro unless_masked(mask, place, column) -%}
case when substring({{ mask }}, {{ place }}, 1) <> '1' then {{ column }} end
{%- endmacro %}
