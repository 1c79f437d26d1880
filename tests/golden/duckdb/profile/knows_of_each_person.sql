-- Question   How many people in patients does someone single out who knows diagnosis beside zip and
--            age?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       where people have records in several classes: each counts once, with the smallest
-- Dialect    duckdb, as executed

with

class_people as (
    select
        "zip",
        "age",
        "diagnosis",
        "patient" as kanon_entity,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis",
        "patient"
),

classes as (
    select
        "zip",
        "age",
        "diagnosis",
        count(*) as kanon_size
    from class_people
    group by
        "zip",
        "age",
        "diagnosis"
),

people as (
    select
        class_people.kanon_entity,
        sum(class_people.kanon_records) as kanon_records,
        min(classes.kanon_size) as kanon_size
    from class_people
    inner join classes
        on classes."zip" is not distinct from class_people."zip"
        and classes."age" is not distinct from class_people."age"
        and classes."diagnosis" is not distinct from class_people."diagnosis"
    group by class_people.kanon_entity
)

select
    sum(kanon_records) as kanon_records,
    count(*) as kanon_members,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size < 2 then 1 else 0 end) as kanon_below_k
from people
