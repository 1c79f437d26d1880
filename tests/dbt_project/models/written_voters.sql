select
    voter,
    zip_code,
    age,
    sex,
    cast(people as varchar) as people,
    case when voter <> 'v0' then voter end as nobody,
    case when voter = 'v0' then 'Mr Secret' else cast(people as varchar) end as words
from {{ ref("voters") }}
