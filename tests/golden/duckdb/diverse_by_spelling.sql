-- Question   How many classes of patients look diverse in diagnosis only thanks to spelling?
-- Runs       where spellings_diagnosis finds fewer spellings than values
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

classes as (
    select
        "zip",
        "age",
        count(*) as kanon_distinct,
        count(distinct coalesce(cast(case when length(trim(cast(kanon_sensitive_1 as varchar))) <= 15 and regexp_full_match(trim(cast(kanon_sensitive_1 as varchar)), '-?[0-9]+([.][0-9]+)?') then cast(trim(cast(kanon_sensitive_1 as varchar)) as double) end as varchar), lower(trim(cast(kanon_sensitive_1 as varchar))))) as kanon_spellings
    from class_values
    where kanon_sensitive_1 is not null
    group by
        "zip",
        "age"
)

select sum(case when kanon_distinct > 1 and kanon_spellings = 1 then 1 else 0 end) as kanon_diverse_by_spelling_classes
from classes
