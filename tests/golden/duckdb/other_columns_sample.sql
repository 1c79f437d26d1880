-- Question   How many records of patients are alone for an attacker who also knows the columns that
--            no check uses, counted for one combination of values in 257?
-- Where      patients: zip is not null
-- Runs       for 1,000,000 records or more
-- Dialect    duckdb, as executed

select
    count(*) as kanon_combinations,
    coalesce(sum(kanon_size), 0) as kanon_records,
    count(case when kanon_size = 1 then 1 end) as kanon_alone,
    count("patient") as kanon_known_1,
    count(distinct "patient") as kanon_distinct_1,
    count("diagnosis") as kanon_known_2,
    count(distinct "diagnosis") as kanon_distinct_2
from (
    select
        "zip",
        "age",
        "patient",
        "diagnosis",
        count(*) as kanon_size
    from (
        select
            "zip",
            "age",
            "patient",
            "diagnosis"
        from "main"."patients"
        where (NOT "zip" IS NULL)
    ) as kanon_source
    where hash("zip", "age", "patient", "diagnosis") % 257 = 0
    group by
        "zip",
        "age",
        "patient",
        "diagnosis"
) as combinations
