-- Question   How many people are in patients?
-- Model      k-anonymity. Every combination of quasi-identifier values occurs in at least k
--            records, so these columns never point at fewer than k of them. (Sweeney 2002,
--            k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3)
-- Dialect    duckdb, as executed

select count(distinct "patient") as kanon_people
from "main"."patients"
