select
    combinations.kanon_id,
    kanon_private_codes_combinations_1.kanon_code as kanon_key_1,
    kanon_private_codes_combinations_2.kanon_code as kanon_key_2,
    kanon_private_codes_combinations_3.kanon_code as kanon_key_3,
    combinations.kanon_records
from kanon_private_raw_combinations as combinations
inner join kanon_private_codes_combinations_1
    on kanon_private_codes_combinations_1.kanon_value is not distinct from combinations.kanon_key_1
inner join kanon_private_codes_combinations_2
    on kanon_private_codes_combinations_2.kanon_value is not distinct from combinations.kanon_key_2
inner join kanon_private_codes_combinations_3
    on kanon_private_codes_combinations_3.kanon_value is not distinct from combinations.kanon_key_3
