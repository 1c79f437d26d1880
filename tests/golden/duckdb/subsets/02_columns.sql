select
    1 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs,
    count(kanon_text) as kanon_known,
    min(length(kanon_text)) as kanon_shortest,
    max(length(kanon_text)) as kanon_longest,
    avg(length(kanon_text)) as kanon_length,
    coalesce(sum(case when kanon_text like '% % %' then 1 else 0 end), 0) as kanon_phrases,
    coalesce(sum(case when kanon_number is not null then 1 else 0 end), 0) as kanon_numbers,
    coalesce(sum(case when kanon_number = floor(kanon_number) then 1 else 0 end), 0) as kanon_whole,
    coalesce(
        sum(
            case
                when kanon_text like '0%' and length(kanon_text) > 1 and kanon_text not like '0.%' then 1
                else 0
            end
        ), 0
    ) as kanon_codes,
    coalesce(sum(case when try_cast(kanon_text as date) is not null then 1 else 0 end), 0) as kanon_dates,
    min(kanon_number) as kanon_least,
    max(kanon_number) as kanon_most
from (
    select
        texts.*,
        try_cast(kanon_text as double) as kanon_number
    from (
        select
            known.*,
            cast(kanon_value as varchar) as kanon_text
        from (
            select
                kanon_value,
                count(*) as kanon_holders
            from (
                select
                    "zip" as kanon_value
                from "main"."patients"
            ) as held
            group by kanon_value
        ) as known
    ) as texts
) as numbers

union all

select
    2 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs,
    count(kanon_text) as kanon_known,
    min(length(kanon_text)) as kanon_shortest,
    max(length(kanon_text)) as kanon_longest,
    avg(length(kanon_text)) as kanon_length,
    coalesce(sum(case when kanon_text like '% % %' then 1 else 0 end), 0) as kanon_phrases,
    coalesce(sum(case when kanon_number is not null then 1 else 0 end), 0) as kanon_numbers,
    coalesce(sum(case when kanon_number = floor(kanon_number) then 1 else 0 end), 0) as kanon_whole,
    coalesce(
        sum(
            case
                when kanon_text like '0%' and length(kanon_text) > 1 and kanon_text not like '0.%' then 1
                else 0
            end
        ), 0
    ) as kanon_codes,
    coalesce(sum(case when try_cast(kanon_text as date) is not null then 1 else 0 end), 0) as kanon_dates,
    min(kanon_number) as kanon_least,
    max(kanon_number) as kanon_most
from (
    select
        texts.*,
        try_cast(kanon_text as double) as kanon_number
    from (
        select
            known.*,
            cast(kanon_value as varchar) as kanon_text
        from (
            select
                kanon_value,
                count(*) as kanon_holders
            from (
                select
                    "age" as kanon_value
                from "main"."patients"
            ) as held
            group by kanon_value
        ) as known
    ) as texts
) as numbers

union all

select
    3 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs,
    count(kanon_text) as kanon_known,
    min(length(kanon_text)) as kanon_shortest,
    max(length(kanon_text)) as kanon_longest,
    avg(length(kanon_text)) as kanon_length,
    coalesce(sum(case when kanon_text like '% % %' then 1 else 0 end), 0) as kanon_phrases,
    coalesce(sum(case when kanon_number is not null then 1 else 0 end), 0) as kanon_numbers,
    coalesce(sum(case when kanon_number = floor(kanon_number) then 1 else 0 end), 0) as kanon_whole,
    coalesce(
        sum(
            case
                when kanon_text like '0%' and length(kanon_text) > 1 and kanon_text not like '0.%' then 1
                else 0
            end
        ), 0
    ) as kanon_codes,
    coalesce(sum(case when try_cast(kanon_text as date) is not null then 1 else 0 end), 0) as kanon_dates,
    min(kanon_number) as kanon_least,
    max(kanon_number) as kanon_most
from (
    select
        texts.*,
        try_cast(kanon_text as double) as kanon_number
    from (
        select
            known.*,
            cast(kanon_value as varchar) as kanon_text
        from (
            select
                kanon_value,
                count(*) as kanon_holders
            from (
                select
                    "diagnosis" as kanon_value
                from "main"."patients"
            ) as held
            group by kanon_value
        ) as known
    ) as texts
) as numbers
