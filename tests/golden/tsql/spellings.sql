-- Question   Do any values of diagnosis differ only by case, outer spaces or the spelling of a
--            number?
-- Dialect    tsql, generated and not executed
-- Table      "patients" stands for patients; its columns are taken to have the types that they have
--            here.

with

known_values as (
    select distinct
        [diagnosis] as kanon_value,
        trim(cast([diagnosis] as nvarchar(max)) collate Latin1_General_100_BIN2) as kanon_text
    from [patients]
    where
        not [diagnosis] is null
),

spelled_values as (
    select
        coalesce(
            cast(case
                when (
                    len(kanon_text + '.') - 1
                ) <= 15
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
            end as nvarchar(max)) collate Latin1_General_100_BIN2,
            lower(kanon_text)
        ) as kanon_spelling,
        case
            when (
                len(kanon_text + '.') - 1
            ) <= 15
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
    from known_values
)

select
    count_big(*) as kanon_known_values,
    count_big(distinct kanon_spelling) as kanon_spellings,
    count_big(kanon_number) as kanon_numbers
from spelled_values
