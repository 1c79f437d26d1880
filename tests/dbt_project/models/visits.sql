select
    *,
    substring(patient, 2, 1) as cohort
from {{ ref("patients") }}
