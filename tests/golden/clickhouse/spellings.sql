-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    clickhouse, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.

with

known_values as (
    select distinct
        "diagnosis" as kanon_value,
        trim(cast("diagnosis" as Nullable(String))) as kanon_text
    from "patients"
    where
        not (
            "diagnosis" is null
        )
),

spelled_values as (
    select
        coalesce(
            cast(case
                when lengthUTF8(kanon_text) <= 15 and match(kanon_text, '^(-?[0-9]+([.][0-9]+)?)$')
                then cast(kanon_text as Nullable(Float64))
            end as Nullable(String)),
            lowerUTF8(kanon_text)
        ) as kanon_spelling,
        case
            when lengthUTF8(kanon_text) <= 15 and match(kanon_text, '^(-?[0-9]+([.][0-9]+)?)$')
            then cast(kanon_text as Nullable(Float64))
        end as kanon_number
    from known_values
)

select
    toInt64(count(*)) as kanon_known_values,
    toInt64(count(distinct kanon_spelling)) as kanon_spellings,
    toInt64(count(kanon_number)) as kanon_numbers
from spelled_values
settings join_use_nulls = 1, prefer_column_name_to_alias = 1
