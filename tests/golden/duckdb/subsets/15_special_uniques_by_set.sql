select
    kanon_set,
    count(*) as kanon_uniques
from kanon_private_uniques_up_to_2
group by kanon_set
order by kanon_set
