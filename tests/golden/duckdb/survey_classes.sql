-- Question   How many classes of voters have each size and each sum of people? More than 1,000,000
--            rows are not answered.
-- Dialect    duckdb, as executed

with

classes as (
    select
        "zip_code",
        "age",
        count(*) as kanon_size,
        sum(try_cast("people" as double)) as kanon_weight
    from "main"."voters"
    group by
        "zip_code",
        "age"
)

select
    kanon_size,
    kanon_weight,
    sum(kanon_size) as kanon_people
from classes
group by
    kanon_size,
    kanon_weight
order by
    kanon_size,
    kanon_weight
limit 1000001
