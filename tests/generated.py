"""Tables and questions nobody thought of, for Hypothesis.

The tables are small and their values few, so that classes collide; names and values are those
that SQL, Jinja or Arrow could trip over. The examples are the same in every run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Any

import asking
import oracle
import pyarrow
from hypothesis import settings
from hypothesis import strategies as st

few = settings(derandomize=True, database=None, deadline=None, max_examples=60)
fewer = settings(few, max_examples=25)

NAMES = (
    *("n", "count", "k", "order", "select", "ROW", "a.b", 'a"b', "it's", "two words", "zip 😀"),
    *("kanon_records", "kanon_size", "Kanon_Population", "kanon_quasi_identifier_1", "kanon_mask"),
    *("kanon_entity", "kanon_sensitive_1", "kanon_cell", "{{ x }}", "%s", "a;--", "*"),
)
LONG = "x" * 300
TEXTS = ("", " ", "*", "**", "a", "A", "a ", "'", '"', "é", "e\u0301", "\\", "a,b", "0", LONG)
RELEASED = (
    *("*", "**", "02138", "0213*", "021**", "*138", "**", "[1,3)", "(1, 3]", "]1,3[", "[3,1]"),
    *("1-3", "3-5", "2", "3.0", "-2-1", "1", "", "=", "NaN"),
)
REFERRED = (
    *("02138", "02139", "2138", "02*38", "0213*", "*", "1", "2", "3", "2.5", "3.0", "-1", "1-3"),
    *("[1,3)", "two", "", " 2", "1e0"),
)


@dataclass(frozen=True)
class Kind:
    """A column's type, and the values it is filled with."""

    type: pyarrow.DataType
    values: tuple[Any, ...]


TEXT = Kind(pyarrow.string(), TEXTS)
KINDS = (
    TEXT,
    Kind(pyarrow.int64(), (0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1)),
    Kind(pyarrow.float64(), (0.0, -0.0, 1.0, 0.1, math.inf, -math.inf, math.nan)),
    Kind(pyarrow.date32(), (date(1, 1, 1), date(2025, 1, 31), date(9999, 12, 31))),
    Kind(pyarrow.bool_(), (True, False)),
)
PERSON = Kind(pyarrow.string(), ("p", "P", "p ", ""))
WEIGHT = Kind(pyarrow.int32(), (0, 1, 2, 7))


@dataclass(frozen=True)
class Filled:
    """A generated table with the types that its columns have even where all values are NULL."""

    names: tuple[str, ...]
    types: tuple[pyarrow.DataType, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def arrow(self) -> pyarrow.Table:
        return asking.table(self.names, self.rows, self.types)

    @property
    def records(self) -> list[dict[str, Any]]:
        return asking.records(self.names, self.rows)


@st.composite
def filled(draw: st.DrawFn, names: tuple[str, ...], kinds: tuple[Kind, ...]) -> Filled:
    """Up to a dozen rows; NULL may be anywhere but in what counts people."""
    cells = [
        st.sampled_from(kind.values if kind in (PERSON, WEIGHT) else (None, *kind.values))
        for kind in kinds
    ]
    types = tuple(kind.type for kind in kinds)
    return Filled(names, types, tuple(draw(st.lists(st.tuples(*cells), max_size=12))))


@st.composite
def asked_tables(
    draw: st.DrawFn, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Filled, oracle.Question]:
    """A table with one to three quasi-identifiers, and anything that may be asked of it alone."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=5, max_size=5, unique=True))
    columns = names[: draw(st.integers(1, 3))]
    sensitive = draw(st.sampled_from([[], names[3:4]]))
    nulls = draw(st.sampled_from(["value", "value", "wildcard"]))
    entity = draw(st.sampled_from([None, names[4]])) if nulls == "value" else None
    k = draw(st.integers(1, 4))
    checks = [*draw(st.sampled_from([[], [{"k_anonymity": {}}], [{"k_anonymity": {"k": k}}]]))]
    if sensitive and nulls == "value":
        checks += draw(st.sampled_from([[], [{"homogeneity": {"sensitive": sensitive[0]}}]]))
    drawn = [draw(st.sampled_from(kinds)) for _ in names[:4]]
    table = draw(filled(tuple(names), (*drawn, PERSON)))
    return table, oracle.Question(
        quasi_identifiers=columns,
        sensitive=sensitive,
        entity=entity,
        nulls=nulls,
        sensitive_nulls=draw(st.sampled_from(["value", "unknown"])),
        checks=checks,
    )


@st.composite
def released_and_referred(draw: st.DrawFn) -> tuple[Filled, Filled, oracle.Question]:
    """A release and a reference of one or two columns, generalised or not, and a k-map."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=6, max_size=6, unique=True))
    columns = names[: draw(st.integers(1, 2))]
    kinds = [
        draw(st.sampled_from([*[(RELEASED, REFERRED)] * 3, *[(k.values, k.values) for k in KINDS]]))
        for _ in columns
    ]
    types = [pyarrow.array(here).type for here, _ in kinds]
    here = [Kind(type, values) for type, (values, _) in zip(types, kinds, strict=True)]
    there = [Kind(type, values) for type, (_, values) in zip(types, kinds, strict=True)]
    renamed = names[: len(columns)][::-1] if draw(st.booleans()) else columns
    nulls = draw(st.sampled_from(["value", "value", "wildcard"]))
    parameters: dict[str, Any] = {
        "match": draw(st.sampled_from(["containment", "containment", "exact"])),
        "missing": draw(st.sampled_from(["strict", "union"])),
    }
    entity, weight = draw(st.sampled_from([(None, None), (names[4], None), (None, names[5])]))
    reference = draw(filled((*renamed, names[4], names[5]), (*there, PERSON, WEIGHT)))
    released = draw(filled((*columns, names[3]), (*here, PERSON)))
    return (
        released,
        reference,
        oracle.Question(
            quasi_identifiers=columns,
            entity=draw(st.sampled_from([None, names[3]])) if nulls == "value" else None,
            nulls=nulls,
            references={
                "people": oracle.Reference(
                    reference.records,
                    columns=dict(zip(columns, renamed, strict=True)),
                    entity=entity,
                    weight=weight,
                )
            },
            checks=[{"k_map": parameters | draw(st.sampled_from([{}, {"k": 2}, {"k": 3}]))}],
        ),
    )
