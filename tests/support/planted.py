"""People whose every value would be known again wherever it appeared."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow
import pyarrow.parquet
from hypothesis import strategies as st

ZIPS = ("Zeppelin-4711", "Zeppelin-0815", "<b>Zeppelin</b>", "*Zeppelin*")


NAMES = ("Xanthippe", "Xenophon", "Xanthippe ")


DIAGNOSES = ("Rumpelstilz", "rumpelstilz", "Rumpel|stilz", "Rumpel\nstilz")


INCOMES = (918_273.5, 918_274.0, -918_275.25)


BIRTHS = (date(1931, 7, 19), date(1931, 7, 20))


TRACES = ("zeppelin", "xanthippe", "xenophon", "rumpel", "91827", "918,27", "1931-07", "1931, 7")
"""What a value leaves of itself in a text, whatever its spelling."""


ROW = st.tuples(
    *(st.sampled_from((None, *values)) for values in (ZIPS, INCOMES, BIRTHS, DIAGNOSES)),
    st.sampled_from(NAMES),
)


COLUMNS = ("zip", "income", "born", "diagnosis", "person")


TYPES = (pyarrow.string(), pyarrow.float64(), pyarrow.date32(), pyarrow.string(), pyarrow.string())


def people(rows: list[tuple[Any, ...]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(
        [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        schema=pyarrow.schema(list(zip(COLUMNS, TYPES, strict=True))),
    )


def traces(text: str) -> list[str]:
    """The values that a text tells something of."""
    return [trace for trace in TRACES if trace in text.casefold()]
