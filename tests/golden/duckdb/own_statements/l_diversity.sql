select coalesce(sum(failures), 0) as failures
from (
    with

    class_values as (
        select
            "zip",
            "age",
            "diagnosis" as kanon_sensitive_1,
            count(*) as kanon_records
        from "main"."patients"
        group by
            "zip",
            "age",
            "diagnosis"
    ),

    -- One row per class, with the figures over its values.
    classes as (
        select
            "zip",
            "age",
            sum(kanon_records) as kanon_size,
            count(*) as kanon_distinct
        from class_values
        group by
            "zip",
            "age"
    ),

    measured as (
        select
            coalesce(sum(kanon_size), 0) as records,
            coalesce(sum(case when kanon_distinct < 2 then 1 else 0 end), 0) as violating_classes,
            coalesce(sum(case when kanon_distinct < 2 then kanon_size else 0 end), 0) as violating_records,
            min(kanon_distinct) as achieved
        from classes
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when measured.violating_classes > 0 then 'violated'
                else 'holds'
            end as status,
            measured.violating_records as at_risk,
            measured.records,
            measured.violating_classes,
            measured.violating_records,
            measured.achieved
        from measured
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        violating_classes,
        violating_records,
        achieved
    from verdicts
    where
        case
            when status = 'no_data' then cast(
                error('kanon_sql: ' || status || ', there is no record to look at') as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
