-- Question   How large is the smallest class of patients by each of these sets of columns, in
--            people: zip?
-- Where      patients: age > 0
-- Required   kanon_violating_classes is 0 or NULL in every row.
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

frequency_set as (
    select
        "zip",
        "age",
        "patient" as kanon_entity,
        count(*) as kanon_records
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
        "age",
        "patient"
),

class_people_1 as (
    select
        "zip",
        kanon_entity,
        sum(kanon_records) as kanon_records
    from frequency_set
    group by
        "zip",
        kanon_entity
),

classes_1 as (
    select
        "zip",
        count(*) as kanon_size,
        sum(kanon_records) as kanon_records
    from class_people_1
    group by
        "zip"
),

violating_people_1 as (
    select count(distinct class_people_1.kanon_entity) as kanon_people
    from class_people_1
    inner join classes_1
        on classes_1."zip" is not distinct from class_people_1."zip"
    where classes_1.kanon_size < 2
),

sizes as (
    select
        1 as kanon_set,
        min(kanon_size) as kanon_size,
        sum(case when kanon_size < 2 then 1 else 0 end) as kanon_violating_classes,
        sum(case when kanon_size < 2 then kanon_records else 0 end) as kanon_violating_records,
        min(violating_people_1.kanon_people) as kanon_violating_people
    from classes_1
    cross join violating_people_1
)

select
    kanon_set,
    kanon_size,
    kanon_violating_classes,
    kanon_violating_records,
    kanon_violating_people
from sizes
order by kanon_set
