-- Question   How many people of patients are alone for an attacker who also knows the columns that
--            no check uses?
-- Dialect    duckdb, as executed

select count(distinct kanon_person) as kanon_alone
from (
    select min("patient") as kanon_person
    from "main"."patients"
    group by hash("zip", "age", "diagnosis")
    having min("patient") = max("patient")
) as alone
