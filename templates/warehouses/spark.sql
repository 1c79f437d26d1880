{#
    Further semantics tested on Spark. Written in the templates' dialect and transpiled like any
    statement, so that they also test the transpiling.
#}

{% macro spark_canaries() %}
case when length({{ kanon_sql.literal("a\\'b") }}) = 4 then 1 else 0 end as kanon_literals,
case when 'a' <> 'A' and 'a' <> 'a ' then 1 else 0 end as kanon_texts_compare,
case
    when strftime(cast('0999-12-31' as date), '%Y-%m-%d') = '0999-12-31' then 1
    else 0
end as kanon_oldest_dates,
case
    when
        cast(cast('2025-01-31 09:00:00' as timestamptz) as varchar) = '2025-01-31 09:00:00'
    then 1
    else 0
end as kanon_moments
{%- endmacro %}
