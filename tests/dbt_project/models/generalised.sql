select
    patient,
    {{ kanon_sql.generalize("zip", "mask:right", 2, longest=5) }} as zip,
    {{ kanon_sql.generalize("least(greatest(age, 40), 59)", "width:5,10,suppress", 2, type="integer") }} as age,
    {{ kanon_sql.generalize("sex", "suppress") }} as sex,
    {{ kanon_sql.generalize("cost", "cuts:12.5,50", type="double") }} as cost,
    {{ kanon_sql.generalize("admitted", "date:month,year") }} as admitted,
    {{ kanon_sql.generalize("zip", ref("areas"), 2) }} as area
from {{ ref("patients") }}
