-- visits as it may be released, by kanon-sql 0.1.0 with Datafly (Sweeney 2002, Achieving
-- k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5)).
-- Required: k_anonymity (k 20).
-- Levels: age 1 (cuts 25, 30).
-- Released: 120 records in 3 classes, k = 35. Suppressed: 0 records; at most 30 might be.
-- Dialect: duckdb, as executed.
-- Personal data: visits_release_step_0, visits_release_step_1, visits_release_violating_classes.
-- They show raw values and records that are left out: nobody may read them who may not read
-- visits. Only visits_release may be published.
-- Run it with: duckdb -bail DATABASE < FILE
-- Views of these names are replaced in one transaction: all of them, or none.
-- Views of an earlier release that have other names stay: drop them by hand.


begin transaction;


-- The records of visits as they lie.
-- Personal data.
create or replace view visits_release_step_0 as
select
    "visit",
    "person",
    "age",
    "area",
    "diagnosis",
    "age" as "kanon_raw_age"
from "main"."visits";


-- Generalisation 1: age from level 0 (raw value) to level 1 (cuts 25, 30).
-- Before it, age had 17 values, and violating classes had 120 records.
-- Personal data.
create or replace view visits_release_step_1 as
select
    "visit",
    "person",
    case
        when "kanon_raw_age" < 25 then '<25'
        when "kanon_raw_age" < 30 then '[25,30)'
        when "kanon_raw_age" >= 30 then '>=30'
    end as "age",
    "area",
    "diagnosis",
    "kanon_raw_age"
from visits_release_step_0;


-- The violating classes: below k, or failing a required check.
-- Personal data.
create or replace view visits_release_violating_classes as
with

-- Each person once in a class, however many records they have there.
class_people as (
    select
        "age",
        "person" as kanon_entity,
        count(*) as kanon_records
    from visits_release_step_1
    group by
        "age",
        "person"
),

classes as (
    select
        "age",
        count(*) as kanon_size,
        sum(kanon_records) as kanon_records
    from class_people
    group by
        "age"
)

select
    "age",
    kanon_records
from classes
where kanon_size < 20;


-- What may be published: the records of violating classes are *.
-- In the order of what is published, which says nothing else.
create or replace view visits_release as
with

published_records as (
    select
        records."visit",
        case when violating.kanon_records is null then records."age" else '*' end as "age",
        records."area",
        records."diagnosis"
    from visits_release_step_1 as records
    left join visits_release_violating_classes as violating
        on violating."age" is not distinct from records."age"
)

select
    "visit",
    "age",
    "area",
    "diagnosis"
from published_records
order by
    "age" nulls last,
    "visit" nulls last,
    "area" nulls last,
    "diagnosis" nulls last;


commit;


-- To drop the views again, once visits_release, which reads the others, has been copied into a
-- table:
-- drop view visits_release;
-- drop view visits_release_violating_classes;
-- drop view visits_release_step_1;
-- drop view visits_release_step_0;
