select * from {{ ref("patients") }}
