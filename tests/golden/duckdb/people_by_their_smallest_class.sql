-- Question   How many people in patients have each size of the smallest of their classes?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes: each counts once, with the smallest
-- Dialect    duckdb, as executed

with

-- Each person once in a class, however many records they have there.
class_people as (
    select
        "diagnosis",
        "patient" as kanon_entity
    from "main"."patients"
    group by
        "diagnosis",
        "patient"
),

classes as (
    select
        "diagnosis",
        count(*) as kanon_size
    from class_people
    group by
        "diagnosis"
),

-- Each person once, with the smallest of their classes.
people as (
    select
        class_people.kanon_entity,
        min(classes.kanon_size) as kanon_size
    from class_people
    inner join classes
        on classes."diagnosis" is not distinct from class_people."diagnosis"
    group by class_people.kanon_entity
)

select
    kanon_size,
    count(*) as kanon_people
from people
group by kanon_size
order by kanon_size
