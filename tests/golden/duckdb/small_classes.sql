-- Question   Which are the smallest classes of patients that have fewer than 3 records, 20 of them
--            at most?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Runs       when values are shown: its rows are personal data
-- Dialect    duckdb, as executed

select
    "zip",
    "age",
    count(*) as kanon_size
from "main"."patients"
group by
    "zip",
    "age"
having count(*) < 3
order by
    kanon_size,
    "zip",
    "age"
limit 20
