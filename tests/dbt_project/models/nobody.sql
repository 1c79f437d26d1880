select * from {{ ref("patients") }} where 1 = 0
