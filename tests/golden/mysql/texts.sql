-- Question   Does the database distinguish texts that differ by case, accents or outer blanks? If
--            two counts of a row differ, classes look larger than they are, and no other figure is
--            reliable.
-- Runs       before everything else
-- Dialect    mysql, generated and not executed
-- Table      `patients` stands for patients; its columns are assumed to have the same types as
--            here.
-- Table      `voters` stands for voters; its columns are assumed to have the same types as here.

select
    'zip' as kanon_column,
    count(distinct kanon_value) as kanon_values,
    count(distinct cast(kanon_value as binary)) as kanon_spellings
from (
    select
        `zip` as kanon_value
    from `patients`
    union all
    select
        `zip_code` as kanon_value
    from `voters`
) as kanon_column_values
