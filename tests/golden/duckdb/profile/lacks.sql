-- Question   How many records in patients are in a class below 2 only because age is known, and how
--            many of them lie in its outer one per cent?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

compared_classes as (
    select
        "zip",
        "age",
        kanon_records as kanon_size,
        sum(kanon_records) over (
            partition by
                "zip"
        ) as kanon_size_without
    from kanon_private_classes
),

lacked_values as (
    select
        "age",
        cast("age" as decimal(38, 0)) as kanon_place,
        sum(kanon_size) as kanon_records,
        sum(case when kanon_size < 2 and kanon_size_without >= 2 then kanon_size else 0 end) as kanon_leaving
    from compared_classes
    group by "age"
),

placed_values as (
    select
        lacked_values.*,
        sum(
            case when kanon_place is null then 0 else kanon_records end
        ) over (order by kanon_place) as kanon_up_to,
        sum(
            case when kanon_place is null then 0 else kanon_records end
        ) over (order by kanon_place desc) as kanon_from,
        sum(case when kanon_place is null then 0 else kanon_records end) over () as kanon_placed_records
    from lacked_values
)

select
    sum(kanon_records) as kanon_records,
    sum(kanon_leaving) as kanon_leaving,
    sum(
        case
            when kanon_place is not null
                and (
                    cast(kanon_up_to as decimal(18, 0)) * 1000
                        < cast(kanon_placed_records as decimal(18, 0)) * 5
                    or cast(kanon_from as decimal(18, 0)) * 1000
                        < cast(kanon_placed_records as decimal(18, 0)) * 5
                )
            then kanon_leaving
            else 0
        end
    ) as kanon_leaving_outer,
    max(kanon_placed_records) as kanon_placed_records,
    sum(case when "age" is null or kanon_place is not null then 0 else 1 end) as kanon_unplaced_values
from placed_values
