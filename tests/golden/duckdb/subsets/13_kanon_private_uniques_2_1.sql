with

uniques as (
    select
        4 as kanon_set,
        cast(3 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_1 is not null and kanon_key_2 is not null
    group by
        kanon_key_1,
        kanon_key_2
    having sum(kanon_records) = 1

    union all

    select
        5 as kanon_set,
        cast(5 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_1 is not null and kanon_key_3 is not null
    group by
        kanon_key_1,
        kanon_key_3
    having sum(kanon_records) = 1

    union all

    select
        6 as kanon_set,
        cast(6 as bigint) as kanon_mask,
        min(kanon_id) as kanon_id
    from kanon_private_combinations
    where kanon_key_2 is not null and kanon_key_3 is not null
    group by
        kanon_key_2,
        kanon_key_3
    having sum(kanon_records) = 1
)

select uniques.*
from uniques
where not exists (
    select 1
    from kanon_private_uniques_up_to_1 as earlier
    where
        earlier.kanon_id = uniques.kanon_id
        and (earlier.kanon_mask & uniques.kanon_mask) = earlier.kanon_mask
)
