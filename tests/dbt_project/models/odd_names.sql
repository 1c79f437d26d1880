select
    zip as "Post Code",
    age as "order",
    sex as "records",
    diagnosis as "say ""it""",
    patient as "Ärztin",
    patient as "user",
    admitted as "current_date"
from {{ ref("patients") }}
