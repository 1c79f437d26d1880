select
    zip as "Post Code",
    age as "order",
    sex as "records",
    diagnosis as "say ""it""",
    patient as "Ärztin"
from {{ ref("patients") }}
