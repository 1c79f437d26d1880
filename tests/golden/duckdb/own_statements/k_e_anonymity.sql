select coalesce(sum(failures), 0) as failures
from (
    with

    class_values as (
        select
            "zip",
            "age" as kanon_sensitive_1,
            count(*) as kanon_records
        from "main"."patients"
        group by
            "zip",
            "age"
    ),

    -- One row per class, with the figures over its values.
    classes as (
        select
            "zip",
            sum(kanon_records) as kanon_size,
            min(cast(kanon_sensitive_1 as decimal(38, 0))) as kanon_smallest,
            max(cast(kanon_sensitive_1 as decimal(38, 0))) as kanon_largest,
            count(*) as kanon_numbers
        from class_values
        group by
            "zip"
    ),

    measured_classes as (
        select
            classes.*,
            coalesce(cast(kanon_largest - kanon_smallest as double), 0) as kanon_k_e_anonymity
        from classes
    ),

    measured as (
        select
            coalesce(sum(kanon_size), 0) as records,
            coalesce(sum(case
                when kanon_numbers < 2 or coalesce(
                    kanon_largest - kanon_smallest, 0
                ) < cast(20 as decimal(38, 0)) then 1
                else 0
            end), 0) as violating_classes,
            coalesce(
                sum(
                    case
                        when kanon_numbers < 2 or coalesce(
                            kanon_largest - kanon_smallest, 0
                        ) < cast(20 as decimal(38, 0)) then kanon_size
                        else 0
                    end
                ), 0
            ) as violating_records,
            min(kanon_k_e_anonymity) as achieved
        from measured_classes
    ),

    records_without_number as (
        select
            sum(
                case
                    when kanon_sensitive_1 is null or try_cast(kanon_sensitive_1 as double) is not null then 0
                    else 1
                end
            ) as kanon_not_a_number
        from (
            select "age" as kanon_sensitive_1
            from "main"."patients"
        ) as kanon_values_of_column
    ),

    verdicts as (
        select
            case
                when measured.records = 0 then 'no_data'
                when records_without_number.kanon_not_a_number > 0 then 'error'
                when measured.violating_classes > 0 then 'violated'
                else 'holds'
            end as status,
            measured.violating_records as at_risk,
            measured.records,
            measured.violating_classes,
            measured.violating_records,
            measured.achieved,
            records_without_number.kanon_not_a_number as records_without_number
        from measured
        cross join records_without_number
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
            when status = 'error' and records_without_number > 0
            then cast(
                error(
                    'kanon_sql: '
                        || status
                        || ', '
                        || cast(records_without_number as varchar)
                        || ' records with a value that is no number below 2^53'
                ) as integer
            )
            when status = 'violated' then 1
            else 0
        end = 1
) as kanon_test
