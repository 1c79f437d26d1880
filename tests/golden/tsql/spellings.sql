-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    tsql, generated and not executed
-- Table      [patients] stands for patients; its columns are assumed to have the same types as
--            here.

with

known_values as (
    select distinct
        [diagnosis] as kanon_value
    from [patients]
    where
        not [diagnosis] is null
),

trimmed_values as (
    select
        trim(cast(kanon_value as nvarchar(max)) collate Latin1_General_100_BIN2) as kanon_text
    from known_values
),

-- Each value with the number that it spells, if any.
read_values as (
    select
        kanon_text as kanon_text,
        case
            when (len(kanon_text + '.') - 1) <= 15
            and (
                cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 not like '%[^-0-9.]%'
                and cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 like '%[0-9]'
                and (
                    cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 like '[0-9]%'
                    or cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 like '-[0-9]%'
                )
                and cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 not like '_%-%'
                and cast(kanon_text as nvarchar(max)) collate Latin1_General_100_BIN2 not like '%.%.%'
            )
            then cast(kanon_text as float)
        end as kanon_number
    from trimmed_values
)

select
    count_big(*) as kanon_known_values,
    count_big(distinct kanon_number)
        + count_big(distinct case when kanon_number is null then lower(kanon_text) end) as kanon_spellings,
    count_big(kanon_number) as kanon_numbers
from read_values
