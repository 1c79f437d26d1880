select
    patient as person,
    zip as zip_code,
    sex,
    stage,
    case when cost > 50 then diagnosis else 'flu' end as dx
from {{ ref("patients") }}
where patient <> 'p2'
