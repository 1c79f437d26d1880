-- Question   How many weights in voters are no number of people?
-- Dialect    duckdb, as executed

select
    count(*) as kanon_records,
    sum(
        case
            when kanon_written is null then 1
            when kanon_weight >= 0 and kanon_weight < 1e15 and kanon_weight = floor(kanon_weight) then 0
            else 1
        end
    ) as kanon_not_a_weight
from (
    select
        "people" as kanon_written,
        try_cast("people" as double) as kanon_weight
    from "main"."voters"
) as kanon_weights
