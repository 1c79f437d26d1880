{{ kanon_sql.generalized(ref("patients"), {
    "zip": {"mask": "right", "level": 2},
    "age": {"clip": [40, none], "levels": [{"width": 5}, {"width": 10}, "suppress"], "level": 2},
    "sex": "suppress",
    "stage": {"hierarchy": {"early": ["operable"], "middle": ["operable"], "late": ["advanced"]}, "level": 1},
    "cost": {"cuts": [12.5, 50]},
    "admitted": "month",
}, identifiers=["patient"]) }}
