-- Question   How many records in voters match each combination of zip and age in patients?
-- Model      k-map. Every combination of quasi-identifier values in the release occurs at least k
--            times in the reidentification dataset, so linking the two never leaves fewer than k
--            candidates. (Sweeney 2002, Achieving k-anonymity privacy protection using
--            generalization and suppression, IJUFKS 10(5), section 2)
-- Dialect    duckdb, as executed

with

release_classes as (
    select
        cast("zip" as varchar) as "zip",
        "age",
        count(*) as kanon_size,
        count(*) as kanon_records
    from "main"."patients"
    group by
        cast("zip" as varchar),
        "age"
),

reference_classes as (
    select
        cast("zip_code" as varchar) as "zip",
        "age",
        count(*) as kanon_population
    from "main"."voters"
    group by
        cast("zip_code" as varchar),
        "age"
),

reference_as_released as (
    select
        reference_classes."zip" as "zip",
        reference_classes."age" as "age",
        sum(reference_classes.kanon_population) as kanon_population
    from reference_classes
    group by
        reference_classes."zip",
        reference_classes."age"
),

both_sides as (
    select
        "zip",
        "age",
        kanon_size,
        kanon_records,
        0 as kanon_population
    from release_classes

    union all

    select
        "zip",
        "age",
        0 as kanon_size,
        0 as kanon_records,
        kanon_population
    from reference_as_released
),

matched as (
    select
        "zip",
        "age",
        sum(kanon_size) as kanon_size,
        sum(kanon_records) as kanon_records,
        sum(kanon_population) as kanon_population
    from both_sides
    group by
        "zip",
        "age"
    having sum(kanon_size) > 0
),

classes as (
    select
        kanon_size,
        kanon_records,
        kanon_population,
        case when kanon_population < kanon_size then kanon_size else kanon_population end as kanon_union
    from matched
)

select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    min(kanon_population) as kanon_least_population,
    min(kanon_union) as kanon_least_union,
    sum(kanon_union) as kanon_unions,
    sum(cast(kanon_size as double) / nullif(kanon_union, 0)) as kanon_reidentified,
    sum(case when kanon_population = 0 then 1 else 0 end) as kanon_unmatched_classes,
    sum(case when kanon_population = 0 then kanon_records else 0 end) as kanon_unmatched_records,
    sum(case when kanon_population > 0 and kanon_population < kanon_size then 1 else 0 end) as kanon_exceeding_classes,
    sum(case when cast(1 as decimal(18, 0)) * 5 > kanon_union then kanon_size else 0 end) as kanon_at_risk_people,
    sum(case when kanon_population < 2 then 1 else 0 end) as kanon_k_map_violated_classes,
    sum(case when kanon_population < 2 then kanon_records else 0 end) as kanon_k_map_violated_records
from classes
