select coalesce(sum(failures), 0) as failures
from (
    with

    classes as (
        select
            "zip",
            "age",
            count(*) as kanon_size
        from "main"."patients"
        group by
            "zip",
            "age"
    ),

    everyone_once as (
        select
            kanon_size,
            sum(kanon_size) as kanon_people
        from classes
        group by kanon_size
    ),

    measured_records as (
        select coalesce(sum(kanon_size), 0) as records
        from classes
    ),

    measured_people as (
        select
            sum(kanon_people) as kanon_people,
            sum(case when kanon_size = 1 then kanon_people else 0 end) as uniques,
            cast(sum(case when kanon_size = 1 then kanon_people else 0 end) as double)
                / nullif(sum(kanon_people), 0) as achieved
        from everyone_once
    ),

    measured as (
        select
            measured_records.records,
            measured_people.kanon_people,
            measured_people.uniques,
            measured_people.achieved
        from measured_records
        cross join measured_people
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when cast(measured.uniques as decimal(18, 0)) * 10 > measured.kanon_people then 'violated'
                else 'holds'
            end as status,
            measured.uniques as at_risk,
            measured.records,
            measured.uniques,
            measured.achieved
        from measured
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        uniques,
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
