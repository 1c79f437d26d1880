-- Question   How many people of patients are alone for an attacker who also knows the columns that
--            no check uses, counted for one person in 257?
-- Where      patients: zip is not null
-- Runs       for 1,000,000 records or more
-- Dialect    duckdb, as executed

select count(distinct kanon_person) as kanon_alone
from (
    select any_value("patient") as kanon_person
    from (
        select
            "zip",
            "age",
            "diagnosis",
            "patient"
        from "main"."patients"
        where (NOT "zip" IS NULL)
    ) as kanon_source
    where hash("zip", "age", "diagnosis") in (
        select hash("zip", "age", "diagnosis")
        from (
            select
                "zip",
                "age",
                "diagnosis",
                "patient"
            from "main"."patients"
            where (NOT "zip" IS NULL)
        ) as kanon_source
        where hash("patient") % 257 = 0
    )
    group by
        "zip",
        "age",
        "diagnosis"
    having min("patient") = max("patient")
) as alone
where hash(kanon_person) % 257 = 0
