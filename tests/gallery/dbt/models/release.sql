select
    {{ kanon_sql.generalize("zip", "mask:right", 1, longest=6) }} as zip,
    {{ kanon_sql.generalize("birth_year", "width:10") }} as birth_year,
    diagnosis
from {{ ref("visits") }}
