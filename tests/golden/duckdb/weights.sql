-- Question   How many weights of voters are no number of people?
-- Dialect    duckdb, as executed

select
    count(*) as kanon_records,
    sum(
        case
            when try_cast("people" as double) >= 0
            and try_cast("people" as double) = floor(try_cast("people" as double))
            then 0
            else 1
        end
    ) as kanon_not_a_weight
from "main"."voters"
