select
    kanon_key_1 as kanon_value,
    case when kanon_key_1 is null then null else cast(row_number() over () as integer) end as kanon_code
from (
    select distinct kanon_key_1
    from kanon_private_raw_combinations
) as known
