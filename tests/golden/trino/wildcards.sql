-- Question   How many combinations of zip and age in patients are compatible with each number of
--            records, if NULL matches everything?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    trino, generated and not executed
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.

with

-- Each combination of values; kanon_mask has a 1 for each column that is NULL.
patterns as (
    select
        "zip",
        "age",
        concat(
            cast(case when "zip" is null then '1' else '0' end as varchar),
            cast(case when "age" is null then '1' else '0' end as varchar)
        ) as kanon_mask,
        count(*) as kanon_records
    from "patients"
    group by
        "zip",
        "age"
),

null_masks as (
    select distinct
        kanon_mask
    from patterns
),

-- The patterns of a mask, without the columns that are NULL in another mask.
patterns_as_seen as (
    select
        null_masks.kanon_mask as kanon_seen_by,
        patterns.kanon_mask,
        case when substr(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end as "zip",
        case when substr(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end as "age",
        sum(patterns.kanon_records) as kanon_records
    from patterns
    cross join null_masks
    group by
        null_masks.kanon_mask,
        patterns.kanon_mask,
        case when substr(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end,
        case when substr(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end
),

-- Each pattern, without the columns that are NULL in the mask that it is compared with.
patterns_as_looking as (
    select
        patterns.*,
        null_masks.kanon_mask as kanon_looks_at,
        case when substr(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end as kanon_looks_for_1,
        case when substr(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end as kanon_looks_for_2
    from patterns
    cross join null_masks
),

-- Each pattern with the records of all compatible patterns: equal wherever neither is NULL.
classes as (
    select
        patterns_as_looking."zip",
        patterns_as_looking."age",
        max(patterns_as_looking.kanon_records) as kanon_records,
        sum(patterns_as_seen.kanon_records) as kanon_size
    from patterns_as_looking
    inner join patterns_as_seen
        on patterns_as_seen.kanon_seen_by = patterns_as_looking.kanon_mask
        and patterns_as_seen.kanon_mask = patterns_as_looking.kanon_looks_at
        and patterns_as_seen."zip" is not distinct from patterns_as_looking.kanon_looks_for_1
        and patterns_as_seen."age" is not distinct from patterns_as_looking.kanon_looks_for_2
    group by
        patterns_as_looking."zip",
        patterns_as_looking."age"
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_records else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    min(kanon_records) as kanon_size_as_value
from classes
group by
    kanon_size
order by
    kanon_size
