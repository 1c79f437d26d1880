select ledger.*
from {{ ref("entries") }} as ledger
inner join {{ ref("by_region") }} as published
    on published.region = ledger.region
    and published.sector = ledger.sector
