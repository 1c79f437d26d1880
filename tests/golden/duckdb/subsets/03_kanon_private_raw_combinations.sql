select
    row_number() over () as kanon_id,
    kanon_key_1,
    kanon_key_2,
    kanon_key_3,
    count(*) as kanon_records
from (
    select
        "zip" as kanon_key_1,
        "age" as kanon_key_2,
        "diagnosis" as kanon_key_3
    from "main"."patients"
) as held
group by
    kanon_key_1,
    kanon_key_2,
    kanon_key_3
