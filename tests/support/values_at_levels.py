"""Values, and the labels that they have at the levels of a hierarchy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb

from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.question.hierarchy import GeneralizationHierarchy, parse_builder
from kanon_sql.question.hierarchy_table import Faults

ENGINE = duckdb.connect()


CITIES = {
    "Rome": ["Italy", "Europe"],
    "L'Aquila": ["Italy", "Europe"],
    "東京": ["日本", "Asia"],
    "007": ["Bond", "Europe"],
}


def column(
    type: str,
    hierarchy: str | dict[str, Any] | GeneralizationHierarchy,
    *,
    clip: list[float | None] | None = None,
    longest: int | None = None,
    faults: Faults = "error",
) -> ColumnLevels:
    if isinstance(hierarchy, str):
        hierarchy = parse_builder(hierarchy)
    elif isinstance(hierarchy, dict):
        hierarchy = GeneralizationHierarchy(**hierarchy)
    if clip:
        hierarchy = GeneralizationHierarchy(clip=clip, levels=hierarchy.levels)
    return ColumnLevels.of("v", type, hierarchy, longest=longest, faults=faults)


def labels(levels: ColumnLevels, level: int, values: Iterable[Any]) -> list[Any]:
    """What the values become in DuckDB, in their order."""
    texts = [None if value is None else str(value) for value in values]
    answer = ENGINE.execute(
        f"select {levels.sql(level, chr(34) + 'v' + chr(34))} from ("
        f"select kanon_place, cast(kanon_text as {levels.type}) as v from ("
        "select unnest(range(len($texts))) as kanon_place, "
        "unnest(cast($texts as varchar[])) as kanon_text)) order by kanon_place",
        {"texts": texts},
    )
    return [label for (label,) in answer.fetchall()]


# --- one value, one label -------------------------------------------------------------------


VALUES_AT_LEVELS = [
    ("INTEGER", "width:5,10", 1, {-15: "[-15,-10)", -1: "[-5,0)", 0: "[0,5)", 23: "[20,25)",
                                  None: None}),
    ("INTEGER", "width:5,10", 2, {-15: "[-20,-10)", 23: "[20,30)"}),
    ("TINYINT", "width:5", 1, {127: "[125,130)", -128: "[-130,-125)"}),
    ("BIGINT", "width:5", 1, {2**63 - 1: "[9223372036854775805,9223372036854775810)",
                              2**53 + 1: "[9007199254740990,9007199254740995)"}),
    ("HUGEINT", "width:5", 1, {10**30: f"[{10**30},{10**30 + 5})"}),
    ("INTEGER", "width:2.5", 1, {3: "[2.5,5.0)", 5: "[5.0,7.5)", -1: "[-2.5,0.0)"}),
    ("BIGINT", "width:0.5", 1, {10**15: f"[{10**15}.0,{10**15}.5)"}),
    ("DOUBLE", "width:0.1", 1, {0.3: "[0.3,0.4)", 0.29: "[0.2,0.3)", -0.05: "[-0.1,0.0)",
                                0.7: "[0.7,0.8)", 1.1: "[1.1,1.2)"}),
    ("DOUBLE", "width:5", 1, {4.999999999999999: "[0,5)", 5.0: "[5,10)", -1e-300: "[-5,0)",
                              "nan": None, "inf": None, "-inf": None, 1e300: None}),
    ("DECIMAL(10,3)", "width:0.1", 1, {"0.300": "[0.3,0.4)", "-0.001": "[-0.1,0.0)"}),
    ("DECIMAL(38,2)", "width:5", 1, {"99999999999999999999999999.99":
                                     "[99999999999999999999999995,100000000000000000000000000)"
                                     }),
    ("DECIMAL(38,2)", "width:0.5", 1, {"3.25": "[3.0,3.5)"}),
    ("VARCHAR", "width:5", 1, {"23": "[20,25)", " 7.5 ": "[5,10)", "-3": "[-5,0)", "x": None,
                               "nan": None, "": None, "1e2": "[100,105)"}),
    ("INTEGER", "round:10,100", 1, {-15: "-10", -5: "0", 0: "0", 49: "40", 50: "50",
                                    None: None}),
    ("INTEGER", "round:10,100", 2, {-199: "-100", 99: "0", 250: "200"}),
    ("INTEGER", "depths:1,2", 2, {250: "200"}),
    ("DOUBLE", "round:1", 1, {-0.5: "0", 7.9: "7", -7.9: "-7", "nan": None, "inf": None}),
    ("DECIMAL(5,2)", "round:10", 1, {"-15.99": "-10", "9.99": "0"}),
    ("VARCHAR", "round:10", 1, {"36": "30", "-36.5": "-30", "x": None}),
    ("INTEGER", "cuts:18,40,65", 1, {-1: "<18", 18: "[18,40)", 64: "[40,65)", 65: ">=65",
                                     None: None}),
    ("DOUBLE", "cuts:-0.5", 1, {-0.6: "<-0.5", -0.5: ">=-0.5", "nan": None, "inf": None}),
    ("VARCHAR", "cuts:18", 1, {"17.9": "<18", "018": ">=18", "x": None}),
    ("INTEGER", "top:90", 1, {89: "89", 90: ">=90", None: None}),
    ("DOUBLE", "bottom:18", 1, {17.5: "<18", 18: "18", 20.25: "20.25", "nan": None}),
    ("VARCHAR", "top:90", 1, {"089": "089", "90": ">=90", "x": None}),
    ("VARCHAR", "prefix:3,2", 1, {"02138": "021", "2": "2", "日本語文": "日本語", "": "",
                                  None: None}),
    ("INTEGER", "prefix:1", 1, {2138: "2", -5: "-"}),
    ("DOUBLE", "prefix:2", 1, {21.0: "21", 2.75: "2."}),
    ("DATE", "date:day", 1, {"1931-03-05": "1931-03-05", None: None}),
    ("DATE", "date:month", 1, {"1969-12-31": "1969-12", "2025-01-31": "2025-01"}),
    ("DATE", "date:quarter", 1, {"2025-01-31": "2025-Q1", "1969-12-31": "1969-Q4"}),
    ("DATE", "date:year,5y", 1, {"2025-12-31": "2025", "0999-01-01": "0999"}),
    ("DATE", "date:year,5y", 2, {"2025-01-31": "[2025,2030)", "1969-12-31": "[1965,1970)",
                                 None: None}),
    ("TIMESTAMP", "date:day", 1, {"1969-12-31 23:59:59.999999": "1969-12-31"}),
    ("VARCHAR", "date:month", 1, {"1931-03-05": "1931-03", "2025-01-31 23:59:59": "2025-01",
                                  "31/01/2025": None, "x": None}),
    ("ENUM('7', 'x')", "width:5", 1, {"7": "[5,10)", "x": None}),
    ("ENUM('2025-01-31')", "date:month", 1, {"2025-01-31": "2025-01"}),
    ("VARCHAR", "suppress", 1, {"x": "*", None: "*"}),
]  # fmt: skip
"""By type, hierarchy and level: values with their labels."""


MASKS = [
    ("mask:right", 1, {"02138": "0213*", "2138": "2138*", "日本": "日本***", "": "*****"}),
    ("mask:right", 2, {"02138": "021**", "2138": "213**", "日本": "日本***", None: None}),
    ("mask:right", 5, {"02138": "*****", "": "*****", None: None}),
    ("mask:left", 1, {"02138": "*2138", "2138": "*2138", "日本": "***日本"}),
    ("mask:left", 4, {"02138": "****8", "日本": "****本"}),
    ("mask:left,suppress", 6, {"02138": "*", None: "*"}),
]
"""By hierarchy and level: values with their labels, where the longest has 5 characters."""
