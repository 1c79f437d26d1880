-- Question   How many records of patients are alone for an attacker who also knows the columns that
--            no check uses?
-- Dialect    duckdb, as executed

select count(*) as kanon_alone
from (
    select 1 as kanon_one
    from "main"."patients"
    group by hash("zip", "age", "patient", "diagnosis")
    having count(*) = 1
) as alone
