-- Question   How many records in voters match each combination of zip and age in patients, at least
--            and in all? At risk is whoever has a chance above 0.2.
-- Required   kanon_k_map_violated_classes = 0.
-- Model      k-map. Every combination of quasi-identifier values in the release occurs at least k
--            times in the reference, so linking the two never leaves fewer than k candidates.
--            (Sweeney 2002, Achieving k-anonymity privacy protection using generalization and
--            suppression, IJUFKS 10(5), section 2)
-- Dialect    duckdb, as executed

with

release_classes as (
    select
        cast("zip" as varchar) as "zip",
        "age",
        count(*) as kanon_size
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

-- Each class of the release, with 0 where the reference has nobody in it. kanon_union is how many the
-- least reference that contains the release would have.
classes as (
    select
        release_classes.*,
        coalesce(reference_classes.kanon_population, 0) as kanon_population,
        case
            when reference_classes.kanon_population > release_classes.kanon_size
            then reference_classes.kanon_population
            else release_classes.kanon_size
        end as kanon_union
    from release_classes
    left join reference_classes
        on reference_classes."zip" is not distinct from release_classes."zip"
        and reference_classes."age" is not distinct from release_classes."age"
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
        case when kanon_population > 0 and kanon_population < kanon_size then 1 else 0 end
    ) as kanon_exceeding_classes,
    sum(case when kanon_union < 5 then kanon_size else 0 end) as kanon_at_risk_people,
    sum(case when kanon_population < 2 then 1 else 0 end) as kanon_k_map_violated_classes,
    sum(case when kanon_population < 2 then kanon_size else 0 end) as kanon_k_map_violated_records
from classes
