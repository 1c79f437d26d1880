-- Question   How many classes of patients by zip and age have each size, in records?
-- Where      patients: age >= 50
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

classes as (
    select
        "zip",
        "age",
        count(*) as kanon_size
    from (
        select
            "zip",
            "age"
        from "main"."patients"
        where ("age" >= 50)
    ) as kanon_source
    group by
        "zip",
        "age"
)

select
    kanon_size,
    count(*) as kanon_classes,
    sum(kanon_size) as kanon_records,
    sum(case when "zip" is null or "age" is null then kanon_size else 0 end) as kanon_with_null,
    0 as kanon_suppressed
from classes
group by kanon_size
order by kanon_size
