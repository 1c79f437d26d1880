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

    measured_classes as (
        select
            coalesce(sum(kanon_size), 0) as records,
            coalesce(sum(case when kanon_size < 3 then 1 else 0 end), 0) as violating_classes,
            coalesce(sum(case when kanon_size < 3 then kanon_size else 0 end), 0) as violating_records,
            count(*) as kanon_classes,
            cast(1 as double) / nullif(min(kanon_size), 0) as achieved
        from classes
    ),

    measured_people as (
        select
            sum(kanon_people) as kanon_people
        from everyone_once
    ),

    measured as (
        select
            measured_classes.records,
            measured_classes.violating_classes,
            measured_classes.violating_records,
            measured_classes.achieved,
            measured_classes.kanon_classes as kanon_found,
            cast(measured_classes.kanon_classes as double)
                / nullif(measured_people.kanon_people, 0) as average
        from measured_classes
        cross join measured_people
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when measured.violating_classes > 0 then 'violated'
                else 'holds'
            end as status,
            coalesce(
                nullif(measured.violating_records, 0), cast(ceil(measured.kanon_found) as bigint)
            ) as at_risk,
            measured.records,
            measured.violating_classes,
            measured.violating_records,
            measured.achieved,
            measured.average
        from measured
    )

    select
        status,
        case when at_risk > 1 then at_risk else 1 end as failures,
        records,
        violating_classes,
        violating_records,
        achieved,
        average
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
