-- Question   How many classes of patients look diverse in diagnosis only thanks to spelling?
-- Runs       where spellings_diagnosis finds fewer spellings than values
-- Dialect    duckdb, as executed

with

class_values as (
    select
        "zip",
        "age",
        "diagnosis" as kanon_sensitive_1
    from "main"."patients"
    group by
        "zip",
        "age",
        "diagnosis"
),

known_values as (
    select
        "zip",
        "age",
        trim(cast(kanon_sensitive_1 as varchar)) as kanon_text
    from class_values
    where kanon_sensitive_1 is not null
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        known_values.*,
        case
            when length(kanon_text) <= 15 and regexp_full_match(kanon_text, '-?[0-9]+([.][0-9]+)?')
            then cast(kanon_text as double)
        end as kanon_number
    from known_values
),

classes as (
    select
        "zip",
        "age",
        count(*) as kanon_distinct,
        count(distinct kanon_number)
            + count(distinct case when kanon_number is null then lower(kanon_text) end) as kanon_spellings
    from read_values
    group by
        "zip",
        "age"
)

select sum(
    case when kanon_distinct > 1 and kanon_spellings = 1 then 1 else 0 end
) as kanon_diverse_by_spelling_classes
from classes
