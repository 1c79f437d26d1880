-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    databricks, generated and not executed
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.

with

known_values as (
    select distinct
        `diagnosis` as kanon_value
    from `patients`
    where
        not `diagnosis` is null
),

trimmed_values as (
    select
        trim(cast(kanon_value as string)) as kanon_text
    from known_values
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        kanon_text,
        case
            when length(kanon_text) <= 15
            and regexp_like(kanon_text, '^(?:-?[0-9]+([.][0-9]+)?)\\z')
            then cast(kanon_text as double)
        end as kanon_number
    from trimmed_values
)

select
    count(*) as kanon_known_values,
    count(distinct kanon_number)
        + count(distinct case when kanon_number is null then lower(kanon_text) end) as kanon_spellings,
    count(kanon_number) as kanon_numbers
from read_values
