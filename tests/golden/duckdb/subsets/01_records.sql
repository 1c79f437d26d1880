select
    count(*) as kanon_records
from "main"."patients"
