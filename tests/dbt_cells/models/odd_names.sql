select
    region as "Total",
    sector as "say ""n""",
    firm as "value 🏥",
    turnover as "order"
from {{ ref("entries") }}
