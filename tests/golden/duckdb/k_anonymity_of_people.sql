-- Question   How many classes of patients by zip and age have each size, in people?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

-- Each person once in a class, however many records they have there.
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
        count(*) as kanon_size,
        sum(kanon_records) as kanon_records,
        sum(case when kanon_entity is null then kanon_records else 0 end) as kanon_without_entity
    from class_people
    group by
        "zip",
        "age"
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_records) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_records else 0 end) as kanon_with_null,
    0 as kanon_suppressed,
    sum(kanon_without_entity) as kanon_without_entity
from classes
group by kanon_size
order by kanon_size
