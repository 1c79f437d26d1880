select *
from kanon_private_uniques_up_to_1

union all

select *
from kanon_private_uniques_2_1
