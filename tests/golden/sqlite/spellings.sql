-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    sqlite, generated; not executed here, as the tests of this release do
-- Table      "patients" stands for patients; its columns are assumed to have the same types as
--            here.

with

known_values as (
    select distinct
        "diagnosis" as kanon_value
    from "patients"
    where
        not "diagnosis" is null
),

trimmed_values as (
    select
        trim(
            case
                when typeof(kanon_value) = 'real'
                then printf('%!.17g', kanon_value)
                else cast(kanon_value as text)
            end
        ) as kanon_text
    from known_values
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        kanon_text,
        case
            when length(kanon_text) <= 15
            and (
                not kanon_text glob '*[^-0-9.]*'
                and kanon_text glob '*[0-9]'
                and ltrim(kanon_text, '-') glob '[0-9]*'
                and not kanon_text glob '?*-*'
                and not kanon_text glob '*.*.*'
            )
            then cast(kanon_text as real)
        end as kanon_number
    from trimmed_values
)

select
    count(*) as kanon_known_values,
    count(distinct kanon_number)
        + count(distinct case when kanon_number is null then lower(kanon_text) end) as kanon_spellings,
    count(kanon_number) as kanon_numbers
from read_values
