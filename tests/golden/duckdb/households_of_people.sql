-- Question   How likely is it that at least one person of a household (age) in patients is found?
-- Where      patients: age > 0
-- Dialect    duckdb, as executed

with

-- Each person once in a class, however many records they have there.
class_people as (
    select
        "zip",
        "patient" as kanon_entity
    from (
        select
            "zip",
            "age",
            "patient"
        from "main"."patients"
        where ("age" > 0)
    ) as kanon_source
    group by
        "zip",
        "patient"
),

classes as (
    select
        "zip",
        count(*) as kanon_size
    from class_people
    group by
        "zip"
),

-- Each person once, with the smallest of their classes.
people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size
    from class_people
    inner join classes
        on classes."zip" is not distinct from class_people."zip"
    group by class_people.kanon_entity
),

-- Each person once in a household.
household_people as (
    select
        "age" as kanon_household,
        "patient" as kanon_entity
    from (
        select
            "zip",
            "age",
            "patient"
        from "main"."patients"
        where ("age" > 0)
    ) as kanon_source
    group by
        "age",
        "patient"
),

members as (
    select
        household_people.kanon_household,
        household_people.kanon_entity,
        people.kanon_size
    from household_people
    inner join people
        on people.kanon_entity = household_people.kanon_entity
),

households as (
    select
        kanon_household,
        case
            when min(kanon_size) = 1 then 1
            else 1 - exp(sum(ln(cast(nullif(kanon_size - 1, 0) as double) / nullif(kanon_size, 0))))
        end as kanon_risk
    from members
    group by kanon_household
),

-- Each person once, with the highest risk of their households.
risks as (
    select max(households.kanon_risk) as kanon_risk
    from members
    inner join households
        on households.kanon_household = members.kanon_household
    group by members.kanon_entity
),

counted_people as (
    select
        count(*) as kanon_people,
        max(kanon_risk) as kanon_highest,
        sum(kanon_risk) as kanon_found,
        sum(case when kanon_risk > 0.2 + 1e-12 then 1 else 0 end) as kanon_at_risk
    from risks
),

counted_households as (
    select count(*) as kanon_households
    from households
)

select
    counted_households.kanon_households,
    counted_people.kanon_people,
    counted_people.kanon_highest,
    counted_people.kanon_found,
    counted_people.kanon_at_risk
from counted_households
cross join counted_people
