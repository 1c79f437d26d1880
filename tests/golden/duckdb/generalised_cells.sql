-- Question   Has any record of patients a generalised cell in zip: *, a mask, an interval or a
--            range?
-- Runs       before a reference is matched; without such a cell, texts are compared by equality
-- Dialect    duckdb, as executed

select count(*) as kanon_generalised
from (
    select 1 as kanon_any
    from "main"."patients"
    where
        position('*' in cast("zip" as varchar)) > 0
        or position('-' in substring(cast("zip" as varchar), 2, length(cast("zip" as varchar)))) > 0
        or substring(cast("zip" as varchar), 1, 1) in ('[', '(', ']')
    limit 1
) as kanon_cells
