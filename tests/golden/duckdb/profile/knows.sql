-- Question   How many records in patients does someone single out who knows diagnosis beside zip
--            and age?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

with

classes as (
    select
        "zip",
        "age",
        "diagnosis",
        count(*) as kanon_size
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis"
)

select
    sum(kanon_size) as kanon_records,
    sum(kanon_size) as kanon_members,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    sum(case when kanon_size = 1 then kanon_size else 0 end) as kanon_uniques,
    sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_below_k
from classes
