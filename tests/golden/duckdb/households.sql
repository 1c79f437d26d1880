-- Question   How likely is it that at least one person of a household (age) in patients is found?
-- Where      patients: age > 0
-- Dialect    duckdb, as executed

with

-- The records of each household in each class.
household_classes as (
    select
        "zip",
        "age" as kanon_household,
        count(*) as kanon_records
    from (
        select
            "zip",
            "age"
        from "main"."patients"
        where ("age" > 0)
    ) as kanon_source
    group by
        "zip",
        "age"
),

classes as (
    select
        "zip",
        sum(kanon_records) as kanon_size
    from household_classes
    group by
        "zip"
),

members as (
    select
        household_classes.kanon_household,
        household_classes.kanon_records as kanon_people,
        classes.kanon_size
    from household_classes
    inner join classes
        on classes."zip" is not distinct from household_classes."zip"
),

households as (
    select
        kanon_household,
        sum(kanon_people) as kanon_people,
        case
            when min(kanon_size) = 1 then 1
            else 1 - exp(
                sum(kanon_people * ln(cast(nullif(kanon_size - 1, 0) as double) / nullif(kanon_size, 0)))
            )
        end as kanon_risk
    from members
    group by kanon_household
)

select
    count(*) as kanon_households,
    sum(kanon_people) as kanon_people,
    max(kanon_risk) as kanon_highest,
    sum(kanon_people * kanon_risk) as kanon_found,
    sum(case when kanon_risk > 0.2 + 1e-12 then kanon_people else 0 end) as kanon_at_risk
from households
