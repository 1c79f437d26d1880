{{ kanon_sql.generalized(ref("patients"), {
    "zip": {"hierarchy": ref("areas"), "level": 2},
    "age": {"levels": [{"width": 2.5, "origin": 0.5}]},
    "cost": {"levels": [{"depths": [1, 2]}], "level": 2},
    "admitted": {"years": 5},
}) }}
