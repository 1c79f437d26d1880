select
    4 as kanon_set,
    sum(kanon_size) as kanon_all_records,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size = 2 then 1 else 0 end) as kanon_pairs,
    sum(case when kanon_size < 2 then 1 else 0 end) as kanon_violating_classes,
    sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_violating_records
from (
    select sum(kanon_records) as kanon_size
    from kanon_private_combinations
    group by
        kanon_key_1,
        kanon_key_2
) as classes

union all

select
    5 as kanon_set,
    sum(kanon_size) as kanon_all_records,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size = 2 then 1 else 0 end) as kanon_pairs,
    sum(case when kanon_size < 2 then 1 else 0 end) as kanon_violating_classes,
    sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_violating_records
from (
    select sum(kanon_records) as kanon_size
    from kanon_private_combinations
    group by
        kanon_key_1,
        kanon_key_3
) as classes

union all

select
    6 as kanon_set,
    sum(kanon_size) as kanon_all_records,
    count(*) as kanon_classes,
    min(kanon_size) as kanon_k,
    sum(case when kanon_size = 1 then 1 else 0 end) as kanon_uniques,
    sum(case when kanon_size = 2 then 1 else 0 end) as kanon_pairs,
    sum(case when kanon_size < 2 then 1 else 0 end) as kanon_violating_classes,
    sum(case when kanon_size < 2 then kanon_size else 0 end) as kanon_violating_records
from (
    select sum(kanon_records) as kanon_size
    from kanon_private_combinations
    group by
        kanon_key_2,
        kanon_key_3
) as classes
