{#
    What is asked of Spark before an audit. It is in the words of the templates, and travels as
    every other question does, so that it tells whether they arrive as they were meant.
#}

{# Whether texts, dates and numbers are what they are elsewhere: one row, in which all is true. #}
{% macro spark_means_the_same() %}
select
    length({{ kanon_sql.literal("a\\'b") }}) = 4 as kanon_literals,
    {{ kanon_sql.literal("${kanon_sql}") }} = '$' || '{kanon_sql}' as kanon_variables,
    'a' <> 'A' and 'a' <> 'a ' and '' is not null as kanon_texts,
    cast(7 as double) / 2 = 3.5 as kanon_quotients,
    strftime(cast('0999-12-31' as date), '%Y-%m-%d') = '0999-12-31' as kanon_dates,
    cast(cast('2025-01-31 09:00:00' as timestamptz) as varchar) = '2025-01-31 09:00:00' as kanon_times
{%- endmacro %}
