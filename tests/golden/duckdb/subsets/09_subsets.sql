select
    1 as kanon_set,
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
        kanon_key_1
) as classes

union all

select
    2 as kanon_set,
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
        kanon_key_2
) as classes

union all

select
    3 as kanon_set,
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
        kanon_key_3
) as classes
