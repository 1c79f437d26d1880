-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    clickhouse, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.

with

known_values as (
    select distinct
        "diagnosis" as kanon_value
    from "patients"
    where
        not (
            "diagnosis" is null
        )
),

trimmed_values as (
    select
        trim(cast(kanon_value as Nullable(String))) as kanon_text
    from known_values
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        kanon_text,
        case
            when lengthUTF8(kanon_text) <= 15 and match(kanon_text, '^(-?[0-9]+([.][0-9]+)?)$')
            then cast(kanon_text as Nullable(Float64))
        end as kanon_number
    from trimmed_values
)

select
    toInt64(count(*)) as kanon_known_values,
    toInt64(count(distinct kanon_number))
        + toInt64(
            count(distinct case when kanon_number is null then lowerUTF8(kanon_text) end)
        ) as kanon_spellings,
    toInt64(count(kanon_number)) as kanon_numbers
from read_values
settings join_use_nulls = 1, prefer_column_name_to_alias = 1
