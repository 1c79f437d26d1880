-- Question   How many people in patients are in a class below 2 only because age is known, and how
--            many of them lie in its outer one per cent?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes: each counts once, with the smallest
-- Dialect    duckdb, as executed

with

classes as (
    select
        "zip",
        "age",
        count(*) as kanon_size,
        sum(kanon_records) as kanon_records
    from kanon_private_classes
    group by
        "zip",
        "age"
),

-- Each person once in a class without the column.
people_without as (
    select
        "zip",
        kanon_entity
    from kanon_private_classes
    group by
        "zip",
        kanon_entity
),

classes_without as (
    select
        "zip",
        count(*) as kanon_size_without
    from people_without
    group by
        "zip"
),

compared_classes as (
    select
        classes.*,
        classes_without.kanon_size_without
    from classes
    inner join classes_without
        on classes_without."zip" is not distinct from classes."zip"
),

lacked_values as (
    select
        "age",
        cast("age" as decimal(38, 0)) as kanon_place,
        sum(kanon_records) as kanon_records
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
),

outer_values as (
    select
        "age",
        case
            when kanon_place is not null
                and (
                    cast(kanon_up_to as decimal(18, 0)) * 1000
                        < cast(kanon_placed_records as decimal(18, 0)) * 5
                    or cast(kanon_from as decimal(18, 0)) * 1000
                        < cast(kanon_placed_records as decimal(18, 0)) * 5
                ) then 1
            else 0
        end as kanon_is_outer
    from placed_values
),

placed_classes as (
    select
        compared_classes.*,
        outer_values.kanon_is_outer
    from compared_classes
    inner join outer_values
        on outer_values."age" is not distinct from compared_classes."age"
),

people as (
    select
        kanon_private_classes.kanon_entity,
        sum(kanon_private_classes.kanon_records) as kanon_records,
        min(placed_classes.kanon_size) as kanon_least_size,
        min(placed_classes.kanon_size_without) as kanon_least_without,
        max(
            case when placed_classes.kanon_size < 2 then placed_classes.kanon_is_outer else 0 end
        ) as kanon_is_outer
    from kanon_private_classes
    inner join placed_classes
        on placed_classes."zip" is not distinct from kanon_private_classes."zip"
        and placed_classes."age" is not distinct from kanon_private_classes."age"
    group by kanon_private_classes.kanon_entity
)

select
    sum(kanon_records) as kanon_records,
    sum(case when kanon_least_size < 2 and kanon_least_without >= 2 then 1 else 0 end) as kanon_leaving,
    sum(
        kanon_is_outer * case when kanon_least_size < 2 and kanon_least_without >= 2 then 1 else 0 end
    ) as kanon_leaving_outer
from people
