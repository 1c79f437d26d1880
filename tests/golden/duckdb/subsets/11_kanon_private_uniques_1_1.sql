with

uniques as (
    select
        1 as kanon_set,
        cast(1 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_1 is not null
    group by
        kanon_key_1
    having sum(kanon_records) = 1

    union all

    select
        2 as kanon_set,
        cast(2 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_2 is not null
    group by
        kanon_key_2
    having sum(kanon_records) = 1

    union all

    select
        3 as kanon_set,
        cast(4 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_3 is not null
    group by
        kanon_key_3
    having sum(kanon_records) = 1
)

select uniques.*
from uniques
