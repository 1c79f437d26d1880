select *
from kanon_private_uniques_1_1
