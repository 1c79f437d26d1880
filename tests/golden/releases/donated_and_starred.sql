-- visits as it may be released, by kanon-sql 0.1.0 with Datafly (Sweeney 2002, Achieving
-- k-anonymity privacy protection using generalization and suppression, IJUFKS 10(5)).
-- Required: k_anonymity (k 14).
-- Levels: age 1 (width 5).
-- Released: 113 records in 4 classes, k = 14. Suppressed: 14 records, 2 of them donated; at most
-- 14 might be.
-- Dialect: duckdb, as executed.
-- Personal data: visits_release_step_0, visits_release_step_1, visits_release_violating_classes,
-- visits_release_classes, visits_release_donor_classes, visits_release_numbered_records. They show
-- raw values and records that are left out: nobody may read them who may not read visits. Only
-- visits_release may be published.
-- Run it with: duckdb -bail DATABASE < FILE
-- Views of these names are replaced in one transaction: all of them, or none.
-- Views of an earlier release that have other names stay: drop them by hand.


begin transaction;


-- The records of visits as they lie.
-- Personal data.
create or replace view visits_release_step_0 as
select
    "age",
    "area",
    "diagnosis",
    "visit" as "kanon_raw_visit",
    "person" as "kanon_raw_person",
    "name" as "kanon_raw_name",
    "age" as "kanon_raw_age"
from "main"."visits"
where ("visit" < 113);


-- Generalisation 1: age from level 0 (raw value) to level 1 (width 5).
-- Before it, age had 17 values, and violating classes had 113 records.
-- Personal data.
create or replace view visits_release_step_1 as
select
    '[' || cast(kanon_start as varchar)
    || ',' || cast(kanon_start + 5 as varchar)
    || ')' as "age",
    "area",
    "diagnosis",
    "kanon_raw_visit",
    "kanon_raw_person",
    "kanon_raw_name",
    "kanon_raw_age"
from (
    select
        finer.*,
        try_cast("kanon_raw_age" as decimal(38, 0))
            - mod(mod(try_cast("kanon_raw_age" as decimal(38, 0)), 5) + 5, 5) as kanon_start
    from visits_release_step_0 as finer
) as records;


-- The violating classes: below k, or failing a required check.
-- Personal data.
create or replace view visits_release_violating_classes as
with

classes as (
    select
        "age",
        count(*) as kanon_size
    from visits_release_step_1
    group by
        "age"
)

select
    "age",
    kanon_size as kanon_records
from classes
where kanon_size < 14;


-- Every class with its size.
-- Personal data.
create or replace view visits_release_classes as
select
    "age",
    count(*) as kanon_size,
    count(*) as kanon_records
from visits_release_step_1
group by
    "age";


-- The suppressed records are fewer than k and could be told apart, so the smallest classes above k
-- donate some (Sweeney's step 4): how many each.
-- Personal data.
create or replace view visits_release_donor_classes as
with

held_classes as (
    select classes.*
    from visits_release_classes as classes
    left join visits_release_violating_classes as violating
        on violating."age" is not distinct from classes."age"
    where violating.kanon_records is null
),

lacking as (
    select 14 - sum(kanon_records) as kanon_lacking
    from visits_release_violating_classes
),

donors as (
    select
        held_classes.*,
        kanon_size - 14 as kanon_spare,
        coalesce(
            sum(kanon_size - 14) over (
                order by
                    kanon_size,
                    "age"
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as kanon_spare_before,
        sum(kanon_size - 14) over () as kanon_spare_in_all,
        row_number() over (
            order by
                "age"
        ) as kanon_place
    from held_classes
),

donations as (
    select
        "age",
        case
            when kanon_spare_in_all < kanon_lacking and kanon_place = 1 then kanon_records
            when kanon_spare_before + kanon_spare <= kanon_lacking then kanon_spare
            when kanon_spare_before < kanon_lacking then kanon_lacking - kanon_spare_before
            else 0
        end as kanon_donated
    from donors
    cross join lacking
)

select
    "age",
    kanon_donated
from donations
where kanon_donated > 0;


-- The records of the donor classes, numbered in the order in which they go.
-- Personal data.
create or replace view visits_release_numbered_records as
select
    records."age",
    records."area",
    records."diagnosis",
    records."kanon_raw_visit",
    records."kanon_raw_person",
    records."kanon_raw_name",
    records."kanon_raw_age",
    donors.kanon_donated,
    row_number() over (
        partition by
            donors."age"
        order by
            case when records."kanon_raw_visit" is null then 1 else 0 end desc,
            cast(records."kanon_raw_visit" as varchar) desc,
            case when records."kanon_raw_person" is null then 1 else 0 end desc,
            cast(records."kanon_raw_person" as varchar) desc,
            case when records."kanon_raw_name" is null then 1 else 0 end desc,
            cast(records."kanon_raw_name" as varchar) desc,
            case when records."kanon_raw_age" is null then 1 else 0 end desc,
            cast(records."kanon_raw_age" as varchar) desc,
            case when records."area" is null then 1 else 0 end desc,
            cast(records."area" as varchar) desc,
            case when records."diagnosis" is null then 1 else 0 end desc,
            cast(records."diagnosis" as varchar) desc
    ) as kanon_number
from visits_release_step_1 as records
inner join visits_release_donor_classes as donors
    on donors."age" is not distinct from records."age";


-- What may be published: the records of violating classes are *.
-- In the order of what is published, which says nothing else.
create or replace view visits_release as
with

published_records as (
    select
        case when violating.kanon_records is null then records."age" else '*' end as "age",
        records."area",
        records."diagnosis"
    from visits_release_step_1 as records
    left join visits_release_violating_classes as violating
        on violating."age" is not distinct from records."age"
    left join visits_release_donor_classes as donors
        on donors."age" is not distinct from records."age"
    where donors.kanon_donated is null

    union all

    select
        case when records.kanon_number > records.kanon_donated then records."age" else '*' end as "age",
        records."area",
        records."diagnosis"
    from visits_release_numbered_records as records
)

select
    "age",
    "area",
    "diagnosis"
from published_records
order by
    "age" nulls last,
    "area" nulls last,
    "diagnosis" nulls last;


commit;


-- To drop the views again, once visits_release, which reads the others, has been copied into a
-- table:
-- drop view visits_release;
-- drop view visits_release_numbered_records;
-- drop view visits_release_donor_classes;
-- drop view visits_release_classes;
-- drop view visits_release_violating_classes;
-- drop view visits_release_step_1;
-- drop view visits_release_step_0;
