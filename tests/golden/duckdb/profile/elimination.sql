-- Question   How sure can someone be of diagnosis in a class of patients after ruling out the most
--            frequent other values?
-- Dialect    duckdb, as executed

with

class_values as (
    select
        "zip",
        "age",
        "diagnosis" as kanon_sensitive_1,
        count(*) as kanon_records
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis"
),

ranked_values as (
    select
        "zip",
        "age",
        kanon_records as kanon_holders,
        row_number() over (
            partition by
                "zip",
                "age"
            order by kanon_records desc
        ) as kanon_rank
    from class_values
),

classes as (
    select
        "zip",
        "age",
        sum(kanon_holders) as kanon_total,
        max(kanon_holders) as kanon_most,
        sum(case when kanon_rank between 2 and 2 then kanon_holders else 0 end) as kanon_ruled_out_1,
        sum(case when kanon_rank between 2 and 3 then kanon_holders else 0 end) as kanon_ruled_out_2,
        sum(case when kanon_rank between 2 and 4 then kanon_holders else 0 end) as kanon_ruled_out_3,
        count(*) - 1 as kanon_eliminations
    from ranked_values
    group by
        "zip",
        "age"
)

select
    max(cast(kanon_most as double) / nullif(kanon_total, 0)) as kanon_confidence_0,
    max(cast(kanon_most as double) / nullif(kanon_total - kanon_ruled_out_1, 0)) as kanon_confidence_1,
    max(cast(kanon_most as double) / nullif(kanon_total - kanon_ruled_out_2, 0)) as kanon_confidence_2,
    max(cast(kanon_most as double) / nullif(kanon_total - kanon_ruled_out_3, 0)) as kanon_confidence_3,
    min(kanon_eliminations) as kanon_eliminations
from classes
