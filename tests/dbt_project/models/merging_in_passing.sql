{{ config(materialized="ephemeral") }}

select
    *,
    patient as voter
from {{ ref("written_apart") }}
