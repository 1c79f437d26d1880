-- Question   How many classes of patients have each size and each sum of age? More than 1,000,000
--            rows are not answered.
-- Where      patients: age > 0
-- Dialect    duckdb, as executed

with

-- Each person once in a class, with the smallest of their weights there.
class_people as (
    select
        "diagnosis",
        "patient" as kanon_entity,
        min(try_cast("age" as double)) as kanon_weight
    from (
        select
            "diagnosis",
            "age",
            "patient"
        from "main"."patients"
        where ("age" > 0)
    ) as kanon_source
    group by
        "diagnosis",
        "patient"
),

classes as (
    select
        "diagnosis",
        count(*) as kanon_size,
        sum(kanon_weight) as kanon_weight
    from class_people
    group by
        "diagnosis"
),

-- Each person once, with the smallest figures of any of their classes.
people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size,
        min(classes.kanon_weight) as kanon_weight
    from class_people
    inner join classes
        on classes."diagnosis" is not distinct from class_people."diagnosis"
    group by class_people.kanon_entity
)

select
    kanon_size,
    kanon_weight,
    count(*) as kanon_people
from people
group by
    kanon_size,
    kanon_weight
order by
    kanon_size,
    kanon_weight
limit 1000001
