-- Question   How many classes of patients (age at width 10, zip at prefix 3) by age and zip have
--            each size, in records?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    bigquery, generated and not executed
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.

with

classes as (
    select
        `age`,
        `zip`,
        count(*) as kanon_size
    from (
        select
            '[' || cast(kanon_start_1 as string) || ',' || cast(kanon_start_1 + 10 as string) || ')' as `age`,
            substring(`zip`, 1, 3) as `zip`
        from (
            select
                `age`,
                `zip`,
                safe_cast(case when `age` < 18 then 18 when `age` > 90 then 90 else `age` end as int64) - mod(
                    mod(
                        safe_cast(
                            case when `age` < 18 then 18 when `age` > 90 then 90 else `age` end as int64
                        ),
                        10
                    ) + 10,
                    10
                ) as kanon_start_1
            from `patients`
        ) as kanon_raw
    ) as kanon_source
    group by
        `age`,
        `zip`
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    sum(case when `age` is null or `zip` is null then kanon_size else 0 end) as kanon_with_null,
    sum(case when `age` = '*' and `zip` = '*' then kanon_size else 0 end) as kanon_suppressed
from classes
group by
    kanon_size
order by
    kanon_size
