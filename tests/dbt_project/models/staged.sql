{% set stage = "case stage when 'early' then 1 when 'middle' then 2.5 when 'late' then 30 end" %}
select
    patients.*,
    cast({{ stage }} as decimal(9, 2)) as exact_stage,
    cast({{ stage }} as double precision) as rough_stage
from {{ ref("patients") }} as patients
