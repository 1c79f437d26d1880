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

    value_totals as (
        select
            kanon_sensitive_1,
            sum(kanon_records) as kanon_value_total
        from class_values
        group by kanon_sensitive_1
    ),

    -- The share of each value in the table: what an attacker without the class knows of everyone.
    value_shares as (
        select
            kanon_sensitive_1,
            cast(kanon_value_total as double) / nullif(sum(kanon_value_total) over (), 0) as kanon_share
        from value_totals
    ),

    table_values as (
        select count(*) as kanon_table_values
        from value_shares
    ),

    -- The share of each value in a class: what an attacker who knows the class knows of everyone in it.
    class_shares as (
        select
            class_values.*,
            cast(kanon_records as double) / nullif(
                sum(kanon_records) over (
                    partition by
                        "zip",
                        "age"
                ),
                0
            ) as kanon_class_share
        from class_values
    ),

    -- Each value of a class with the shares that it is compared with.
    compared_values as (
        select
            class_shares.*,
            value_shares.kanon_share
        from class_shares
        inner join value_shares
            on value_shares.kanon_sensitive_1 is not distinct from class_shares.kanon_sensitive_1
    ),

    -- One row per class, with the figures over its values.
    classes as (
        select
            "zip",
            "age",
            sum(kanon_records) as kanon_size,
            count(*) as kanon_distinct,
            max(cast(kanon_class_share as double) / nullif(kanon_share, 0)) as kanon_highest_ratio,
            min(cast(kanon_class_share as double) / nullif(kanon_share, 0)) as kanon_lowest_ratio
        from compared_values
        group by
            "zip",
            "age"
    ),

    measured_classes as (
        select
            classes.*,
            table_values.kanon_table_values,
            case
                when kanon_distinct < kanon_table_values then null
                when kanon_highest_ratio * kanon_lowest_ratio > 1 then ln(kanon_highest_ratio)
                else -ln(kanon_lowest_ratio)
            end as kanon_delta_disclosure
        from classes
        cross join table_values
    ),

    measured as (
        select
            coalesce(sum(kanon_size), 0) as records,
            coalesce(sum(case
                when kanon_delta_disclosure >= 0.5 - 1e-12 or kanon_distinct < kanon_table_values then 1
                else 0
            end), 0) as violating_classes,
            coalesce(
                sum(
                    case
                        when kanon_delta_disclosure >= 0.5 - 1e-12 or kanon_distinct < kanon_table_values
                        then kanon_size
                        else 0
                    end
                ), 0
            ) as violating_records,
            case
                when sum(case when kanon_distinct < kanon_table_values then 1 else 0 end) = 0
                then max(kanon_delta_disclosure)
            end as achieved
        from measured_classes
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
