{% set stage = "case stage when 'early' then 1 when 'middle' then 2.5 when 'late' then 30 end" %}
select
    patients.*,
    cast({{ stage }} as decimal(9, 2)) as exact_stage,
    cast({{ stage }} as double precision) as rough_stage,
    cast(admitted as varchar) as written_day,
    cast(admitted as timestamp) as moment,
    case when age < 50 then cast(admitted as varchar) else '12' end as day_or_number,
    cast(9007199254740993 as bigint) + 2 * age as account
from {{ ref("patients") }} as patients
