select
    kanon_of_size_1,
    kanon_of_size_2,
    count(*) as kanon_records
from (
    select
        kanon_id,
        sum(case when kanon_set between 1 and 3 then 1 else 0 end) as kanon_of_size_1,
        sum(case when kanon_set between 4 and 6 then 1 else 0 end) as kanon_of_size_2
    from kanon_private_uniques_up_to_2
    group by kanon_id
) as special_records
group by
    kanon_of_size_1,
    kanon_of_size_2
