select
    1 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs
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

union all

select
    2 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs
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

union all

select
    3 as kanon_column,
    sum(kanon_holders) as kanon_records,
    count(*) as kanon_values,
    sum(case when kanon_value is null then kanon_holders else 0 end) as kanon_nulls,
    max(kanon_holders) as kanon_largest,
    sum(case when kanon_holders = 1 then 1 else 0 end) as kanon_alone,
    sum(cast(kanon_holders as double) * (kanon_holders - 1)) as kanon_untold_pairs
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
