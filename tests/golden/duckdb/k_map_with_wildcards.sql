-- Question   How many records in voters match each combination of zip and age in patients, at least
--            and in all? At risk is whoever has a chance above 0.2.
-- Required   kanon_k_map_violated_classes = 0.
-- Model      k-map. Every combination of quasi-identifier values in the release occurs at least k
--            times in the reference, so linking the two never leaves fewer than k candidates.
--            (Sweeney 2002, Achieving k-anonymity privacy protection using generalization and
--            suppression, IJUFKS 10(5), section 2)
-- Dialect    duckdb, as executed

with

-- Each combination of values; kanon_mask has a 1 for each column that is NULL.
patterns as (
    select
        "zip",
        "age",
        case when "zip" is null then '1' else '0' end
        || case when "age" is null then '1' else '0' end as kanon_mask,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age"
),

null_masks as (
    select distinct kanon_mask
    from patterns
),

-- The patterns of a mask, without the columns that are NULL in another mask.
patterns_as_seen as (
    select
        null_masks.kanon_mask as kanon_seen_by,
        patterns.kanon_mask,
        case when substring(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end as "zip",
        case when substring(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end as "age",
        sum(patterns.kanon_records) as kanon_records
    from patterns
    cross join null_masks
    group by
        null_masks.kanon_mask,
        patterns.kanon_mask,
        case when substring(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end,
        case when substring(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end
),

-- Each pattern, without the columns that are NULL in the mask that it is compared with.
patterns_as_looking as (
    select
        patterns.*,
        null_masks.kanon_mask as kanon_looks_at,
        case when substring(null_masks.kanon_mask, 1, 1) <> '1' then patterns."zip" end as kanon_looks_for_1,
        case when substring(null_masks.kanon_mask, 2, 1) <> '1' then patterns."age" end as kanon_looks_for_2
    from patterns
    cross join null_masks
),

-- Each pattern with the records of all compatible patterns: equal wherever neither is NULL.
release_patterns as (
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
),

-- kanon_compatible is the size with NULL as a wildcard, kanon_size the pattern's own records.
release_classes as (
    select
        coalesce('=' || cast("zip" as varchar), '') as "zip",
        coalesce('=' || cast("age" as varchar), '') as "age",
        min(release_patterns.kanon_size) as kanon_compatible,
        sum(release_patterns.kanon_records) as kanon_size
    from release_patterns
    group by
        coalesce('=' || cast("zip" as varchar), ''),
        coalesce('=' || cast("age" as varchar), '')
),

reference_classes as (
    select
        coalesce('=' || cast("zip_code" as varchar), '') as "zip",
        coalesce('=' || cast("age" as varchar), '') as "age",
        count(*) as kanon_population
    from "main"."voters"
    group by
        coalesce('=' || cast("zip_code" as varchar), ''),
        coalesce('=' || cast("age" as varchar), '')
),

released_cells_1 as (
    select distinct "zip" as kanon_cell
    from release_classes
),

referred_cells_1 as (
    select distinct "zip" as kanon_cell
    from reference_classes
),

matching_cells_1 as (
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_1 as released
    inner join referred_cells_1 as referred
        on referred.kanon_cell = released.kanon_cell

    union

    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_1 as released
    cross join referred_cells_1 as referred
    where released.kanon_cell = '' or referred.kanon_cell = ''
),

released_cells_2 as (
    select distinct "age" as kanon_cell
    from release_classes
),

referred_cells_2 as (
    select distinct "age" as kanon_cell
    from reference_classes
),

matching_cells_2 as (
    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_2 as released
    inner join referred_cells_2 as referred
        on referred.kanon_cell = released.kanon_cell

    union

    select
        released.kanon_cell as kanon_released,
        referred.kanon_cell as kanon_referred
    from released_cells_2 as released
    cross join referred_cells_2 as referred
    where released.kanon_cell = '' or referred.kanon_cell = ''
)
,

-- The people of the reference in each combination of the release's cells.
reference_as_released as (
    select
        matching_1.kanon_released as "zip",
        matching_2.kanon_released as "age",
        sum(reference_classes.kanon_population) as kanon_population
    from reference_classes
    inner join matching_cells_1 as matching_1
        on matching_1.kanon_referred = reference_classes."zip"
    inner join matching_cells_2 as matching_2
        on matching_2.kanon_referred = reference_classes."age"
    group by
        matching_1.kanon_released,
        matching_2.kanon_released
),

-- Each class of the release, with 0 where the reference has nobody in it. kanon_union is how many the
-- least reference that contains the release would have.
classes as (
    select
        release_classes.*,
        coalesce(reference_as_released.kanon_population, 0) as kanon_population,
        case
            when reference_as_released.kanon_population > release_classes.kanon_compatible
            then reference_as_released.kanon_population
            else release_classes.kanon_compatible
        end as kanon_union
    from release_classes
    left join reference_as_released
        on reference_as_released."zip" = release_classes."zip"
        and reference_as_released."age" = release_classes."age"
)

select
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_sizes,
    min(kanon_population) as kanon_least_population,
    min(kanon_union) as kanon_least_union,
    sum(kanon_union) as kanon_unions,
    sum(cast(kanon_size as double) / nullif(kanon_union, 0)) as kanon_reidentified,
    sum(case when kanon_population = 0 then 1 else 0 end) as kanon_unmatched_classes,
    sum(case when kanon_population = 0 then kanon_size else 0 end) as kanon_unmatched_records,
    sum(
        case when kanon_population > 0 and kanon_population < kanon_compatible then 1 else 0 end
    ) as kanon_exceeding_classes,
    sum(case when kanon_union < 5 then kanon_size else 0 end) as kanon_at_risk_people,
    sum(case when kanon_union < 2 then 1 else 0 end) as kanon_k_map_violated_classes,
    sum(case when kanon_union < 2 then kanon_size else 0 end) as kanon_k_map_violated_records
from classes
