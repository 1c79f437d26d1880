-- Question   How many people of patients have records in exactly the same classes?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

class_people as (
    select
        "zip",
        "age",
        "patient" as kanon_entity,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age",
        "patient"
),

classes as (
    select
        "zip",
        "age",
        row_number() over (order by "zip") as kanon_class
    from class_people
    group by
        "zip",
        "age"
),

people as (
    select
        class_people.kanon_entity,
        string_agg(cast(classes.kanon_class as varchar), ',' order by classes.kanon_class) as kanon_profile
    from class_people
    inner join classes
        on class_people."zip" is not distinct from classes."zip"
        and class_people."age" is not distinct from classes."age"
    group by class_people.kanon_entity
),

profiles as (
    select
        kanon_profile,
        count(*) as kanon_people
    from people
    group by kanon_profile
)

select
    sum(kanon_people) as kanon_people,
    min(kanon_people) as kanon_profile_k,
    sum(case when kanon_people = 1 then 1 else 0 end) as kanon_profile_uniques
from profiles
