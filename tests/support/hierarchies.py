"""Hierarchies over values of every type."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow

# --- every hierarchy ------------------------------------------------------------------------

CODES = tuple(f"{n:03d}" for n in range(0, 260, 7))


DAYS = tuple(date(1900 + 9 * n, 1 + n % 12, 1 + n % 28) for n in range(18))


MOMENTS = tuple(datetime(1999 + n, 1 + n % 12, 1 + n, n, 59, 59, 250_000) for n in range(20))


WHOLE = (-(2**53) - 1, -11, -10, -1, 0, 1, 9, 10, 19, 20, 41, 99, 100, 2**53 + 1, None)


FLOATS = (-10.5, -0.0, 0.0, 0.1, 0.3, 1.0, 9.99, 10.0, 1e15, None)


PRICES = tuple(map(Decimal, ("-7.25", "0.10", "0.30", "9.99", "10.00", "123456789.01")))


WORDS = ("", " ", "a", "A", "a ", "ab", "é", "e\u0301", "abc", "\\", "it's", "%s", None)


LARGE = {f"{n:03d}": [f"{n // 10:02d}*", f"{n // 100}**"] for n in range(260)}


SMALL = {code: LARGE[code] for code in CODES}


NUMBERS_IN_TEXT = ("1", "1.0", "01", "9", "10", "-3", "0.1", "19.99")


DATES_IN_TEXT = ("2025-01-31", "2025-02-01", "0999-12-31", "1925-06-30")


HIERARCHIES: dict[str, tuple[pyarrow.DataType, Sequence[Any], Any]] = {
    "nothing but suppress": (pyarrow.bool_(), (True, False, None), {}),
    "width": (pyarrow.int64(), WHOLE, {"levels": [{"width": 5}, {"width": 10}, "suppress"]}),
    "width of floats": (pyarrow.float64(), FLOATS, {"levels": [{"width": 0.1}, {"width": 10}]}),
    "width of decimals": (pyarrow.decimal128(20, 2), PRICES, {"levels": [{"width": 2.5}]}),
    "width of text": (pyarrow.string(), NUMBERS_IN_TEXT, {"levels": [{"width": 5}]}),
    "clipped": (pyarrow.int64(), WHOLE, {"clip": [0, 50], "levels": [{"width": 10}]}),
    "round": (pyarrow.int64(), WHOLE, {"levels": [{"round": 10}, {"round": 100}]}),
    "depths": (pyarrow.int64(), WHOLE, {"levels": [{"depths": [1, 2]}]}),
    "cuts": (pyarrow.int64(), WHOLE, {"levels": [{"cuts": [0, 10, 40]}, {"cuts": [10]}]}),
    "top": (pyarrow.float64(), FLOATS, {"levels": [{"top": 10}, {"top": 0.3}]}),
    "bottom": (pyarrow.decimal128(20, 2), PRICES, {"levels": [{"bottom": 0.3}]}),
    "mask from the right": (pyarrow.string(), WORDS, {"levels": [{"mask": "right"}]}),
    "mask from the left": (pyarrow.string(), WORDS, {"levels": [{"mask": "left"}]}),
    "prefix": (pyarrow.string(), WORDS, {"levels": [{"prefix": 2}, {"prefix": 1}]}),
    "dates": (pyarrow.date32(), DAYS, {"levels": ["month", "quarter", "year", {"years": 10}]}),
    "moments": (pyarrow.timestamp("us"), MOMENTS, {"levels": ["day", "month", {"years": 5}]}),
    "dates of text": (pyarrow.string(), DATES_IN_TEXT, {"levels": ["month", "year"]}),
    "a table": (pyarrow.string(), (*CODES, None), {"hierarchy": SMALL, "levels": ["suppress"]}),
    "a table of many rows": (pyarrow.string(), (*CODES, None), {"hierarchy": LARGE}),
}
