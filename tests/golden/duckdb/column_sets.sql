-- Question   How large is the smallest class of patients by each of these sets of columns, in
--            records: zip; age?
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

classes_1 as (
    select
        "zip",
        sum(kanon_records) as kanon_size
    from frequency_set
    group by
        "zip"
),

classes_2 as (
    select
        "age",
        sum(kanon_records) as kanon_size
    from frequency_set
    group by
        "age"
),

sizes as (
    select
        1 as kanon_set,
        min(kanon_size) as kanon_size,
        sum(case when kanon_size < 4 then 1 else 0 end) as kanon_violating_classes,
        sum(case when kanon_size < 4 then kanon_size else 0 end) as kanon_violating_records,
        cast(null as bigint) as kanon_violating_people
    from classes_1

    union all

    select
        2 as kanon_set,
        min(kanon_size) as kanon_size,
        cast(null as bigint) as kanon_violating_classes,
        cast(null as bigint) as kanon_violating_records,
        cast(null as bigint) as kanon_violating_people
    from classes_2
)

select
    kanon_set,
    kanon_size,
    kanon_violating_classes,
    kanon_violating_records,
    kanon_violating_people
from sizes
order by kanon_set
