{#
    Semantics that every audit relies on, tested on an engine before its first audit: each column is
    1 if the engine behaves as required. Some dialects have further columns.
#}

{% macro canaries(dialect) %}
with texts as (
    select 'a' as kanon_text
    union all
    select 'A'
    union all
    select 'a '
),

text_groups as (
    select kanon_text
    from texts
    group by kanon_text
),

unknowns as (
    select cast(null as varchar) as kanon_unknown
    union all
    select cast(null as varchar)
),

unknown_groups as (
    select
        kanon_unknown,
        count(*) as kanon_records
    from unknowns
    group by kanon_unknown
),

misses as (
    select right_side.kanon_found as kanon_found
    from (select 1 as kanon_number) as left_side
    left join (select 2 as kanon_number, 2 as kanon_found) as right_side
        on left_side.kanon_number = right_side.kanon_number
)

select
    case
        when
            (select count(distinct kanon_text) from texts) = 3
            and (select count(*) from text_groups) = 3
        then 1
        else 0
    end as kanon_texts_differ,
    case when length('a\b') = 3 then 1 else 0 end as kanon_backslash_is_itself,
    case when length('it''s') = 4 then 1 else 0 end as kanon_quote_is_itself,
    case when '' is null then 0 else 1 end as kanon_empty_is_a_value,
    case when 'a' || 'b' = 'ab' then 1 else 0 end as kanon_texts_join,
    case when substring('abc', 1, 2) = 'ab' then 1 else 0 end as kanon_parts_of_text,
    case
        when
            (select count(*) from unknown_groups) = 1
            and (select max(kanon_records) from unknown_groups) = 2
        then 1
        else 0
    end as kanon_nulls_are_a_group,
    case
        when (select count(*) from misses where kanon_found is null) = 1 then 1
        else 0
    end as kanon_miss_is_null,
    case
        when
            cast(cast('1901-01-01' as date) as varchar) = '1901-01-01'
            and extract(year from cast('1901-01-01' as date)) = 1901
        then 1
        else 0
    end as kanon_old_dates,
    case
        when
            cast(7 as double) / 2 = 3.5
            and abs(cast(1 as double) / 3 - 0.333333333333333) < 0.00000000000001
        then 1
        else 0
    end as kanon_quotients,
    case
        when
            abs(ln(cast(8 as double)) - 2.07944154167984) < 0.000000000001
            and abs(exp(cast(1 as double)) - 2.71828182845905) < 0.000000000001
        then 1
        else 0
    end as kanon_logarithms
{%- if dialect in ("spark", "databricks") %},
{{ kanon_sql.spark_canaries() | indent(4, first=true) }}
{%- endif %}
{%- endmacro %}
