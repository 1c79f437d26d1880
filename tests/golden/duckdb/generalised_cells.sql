-- Question   How many records of patients may have a generalised cell in zip: *, a mask, an
--            interval or a range?
-- Runs       before a reference is matched; without such a cell, texts are compared by equality
-- Dialect    duckdb, as executed

select count(*) as kanon_generalised
from "main"."patients"
where
    cast("zip" as varchar) like '%*%'
    or cast("zip" as varchar) like '%-%'
    or cast("zip" as varchar) like '%,%'
