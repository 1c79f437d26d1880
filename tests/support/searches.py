"""Tables, hierarchies and demands for searches, drawn at random."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asking
import pyarrow
from consistency import contradictions
from generated import NAMES
from hypothesis import assume
from hypothesis import strategies as st
from oracle_datafly import Asked
from real_data import DATA

import kanon_sql as kanon
from kanon_sql.report import terminal
from kanon_sql.report.words.numbers import in_python

Cells = Counter[tuple[str | None, ...]]
"""The rows of a table with how often each occurs, every cell as text."""


def as_text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def whole(result: kanon.AnonymizationResult) -> str:
    """The page of a release, as `-v` and files have it, in Python's words."""
    return terminal.write(in_python(result.page()))


def cells(rows: Sequence[Mapping[str, Any]]) -> Cells:
    return Counter(tuple(as_text(value) for value in row.values()) for row in rows)


def anonymize(data: Any, asked: Mapping[str, Any], **options: Any) -> kanon.AnonymizationResult:
    """Put a question to kanon-sql that has its checks as a spec file writes them."""
    checks = [asking.model(check) for check in asked.get("checks", ())]
    result = kanon.anonymize(data, **{**asked, "checks": checks}, **options)
    # No figure of a release contradicts another one.
    assert contradictions(kanon.from_json(result.to_dict())) == []
    return result


def figures(result: kanon.AnonymizationResult) -> dict[str, Any]:
    """What a result says of the levels, the steps and the cost, without its words."""
    found: dict[str, Any] = result.to_dict()["anonymization"]
    # Which levels would suit is looked up in the embedded engine alone.
    found.pop("builders", None)
    for step in found["steps"]:
        del step["label"]
    return found


# --- generated tables -----------------------------------------------------------------------

LEAVES = ("a", "b", "c", "d", "bb", "ccc", "", "*", "é")


WHOLE = (-1, 0, 1, 2, 3, 5, 9, 10)


SENSITIVE = ("flu", "cold", "HIV", None)


PEOPLE = ("p", "q", "r", "s", "t", "u")


OTHERS = ("10", "9", "Z", "é", "", None)


CHECKS: dict[str, dict[str, Any]] = {
    "l_diversity": {"l": 2},
    "entropy_l_diversity": {"l": 1.5},
    "alpha_k_anonymity": {"alpha": 0.6, "k": 3},
    "t_closeness": {"t": 0.4},
    "homogeneity": {},
}


BOUNDS = (None, None, None, 0, 1, 2, 3, 5, "0%", "25%", "33.4%", "50%")


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: what `anonymize` is told of it, and its labels for the oracle.

    It has none where they depend on the table: a mask is as long as the longest value.
    """

    values: tuple[Any, ...]
    part: dict[str, Any]
    labels: Mapping[Any, Sequence[Any]] | None
    listed: bool = False
    nested: bool = True


def suppressed(values: Sequence[Any]) -> Column:
    return Column(tuple(values), {}, {value: ["*"] for value in (*values, None)})


def in_intervals(*widths: int) -> Column:
    labels = {value: [_interval(value, width) for width in widths] for value in WHOLE}
    return Column(WHOLE, {"levels": [{"width": width} for width in widths]}, labels)


def _interval(value: int, width: int) -> str:
    low = value // width * width
    return f"[{low},{low + width})"


MASKED = Column(LEAVES, {"levels": [{"mask": "right"}]}, None)


def masked(values: Sequence[str | None]) -> dict[str, list[str]]:
    known = {value for value in values if value is not None}
    longest = max([len(value) for value in known], default=0) or 1
    return {
        value: [value[:kept].ljust(longest, "*") for kept in reversed(range(longest))]
        for value in known or {""}
    }


@st.composite
def looked_up(draw: st.DrawFn, nested: bool | None = None) -> Column:
    """A column with a hierarchy of one to three columns, in which a label may lie under several
    of the next; at times with `*` above."""
    nested = draw(st.booleans()) if nested is None else nested
    labels: dict[Any, list[Any]] = {value: [] for value in LEAVES if value}
    for level in range(draw(st.integers(1, 3))):
        names = st.sampled_from([f"{level}{letter}" for letter in "xyz"] + ["*"])
        above: dict[str, str] = {}
        for ancestors in labels.values():
            label = draw(names)
            if nested and ancestors:
                label = above.setdefault(ancestors[-1], label)
            ancestors.append(label)
    part: dict[str, Any] = {"hierarchy": {value: list(each) for value, each in labels.items()}}
    if draw(st.sampled_from([True, True, False])):
        part["levels"] = ["suppress"]
        labels = {value: [*each, "*"] for value, each in labels.items()}
        labels[None] = [None] * (len(labels["a"]) - 1) + ["*"]
    return Column(tuple(value for value in LEAVES if value), part, labels, True, nested)


def columns(nested: bool | None = None) -> st.SearchStrategy[Column]:
    return st.one_of(
        st.sampled_from([suppressed(LEAVES), suppressed(WHOLE), in_intervals(2, 4), MASKED]),
        looked_up(nested),
        looked_up(nested),
    )


@dataclass(frozen=True)
class Drawn:
    """A table, what is asked of it, and the same for the oracle."""

    table: pyarrow.Table
    question: dict[str, Any]
    asked: Asked

    @property
    def records(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows

    @property
    def demanded(self) -> list[Any]:
        """What a release has to hold, as an audit of it would be asked."""
        return [kanon.KAnonymity(k=self.asked.k), *map(asking.model, self.asked.checks)]


@st.composite
def questions(
    draw: st.DrawFn,
    *,
    nested: bool | None = None,
    checks: bool = True,
    people: bool = True,
    bounds: Sequence[Any] = BOUNDS,
) -> Drawn:
    """A table of at most a dozen records and at least k, and what is asked of it."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=6, max_size=6, unique=True))
    drawn = draw(st.lists(columns(nested), min_size=1, max_size=3))
    parts = dict(zip(names, drawn, strict=False))
    sensitive, person, other = names[3:]
    k = draw(st.integers(1, 4))
    entity = draw(st.sampled_from([None, None, person])) if people else None
    values: dict[str, Sequence[Any]] = {
        **{name: [*draw(_few(column.values)), None] for name, column in parts.items()},
        sensitive: draw(_few(SENSITIVE)),
        person: PEOPLE,
        other: OTHERS,
    }
    rows = draw(
        st.lists(
            st.fixed_dictionaries({name: st.sampled_from(v) for name, v in values.items()}),
            min_size=k,
            max_size=12,
        )
    )
    assume(entity is None or len({row[entity] for row in rows}) >= k)
    # How often people of several classes count in the whole input is nowhere said.
    models = [model for model in CHECKS if entity is None or model != "t_closeness"]
    checks = checks and draw(st.booleans())
    demanded = draw(st.lists(st.sampled_from(models), max_size=2, unique=True)) if checks else []
    stated = {
        "k": k,
        "sensitive": [sensitive],
        "checks": [{model: CHECKS[model] | {"sensitive": sensitive}} for model in demanded],
        "entity": entity,
        "max_suppressed": draw(st.sampled_from(bounds)),
        "suppressed": draw(st.sampled_from(["remove", "star"])),
    }
    types = [_type(parts[name].values) if name in parts else pyarrow.string() for name in values]
    table = asking.table(list(values), [[row[name] for name in values] for row in rows], types)
    return Drawn(
        table,
        {
            "quasi_identifiers": {name: column.part for name, column in parts.items()},
            "hierarchy_faults": "warn",
            **stated,
        },
        Asked(
            hierarchies={
                name: column.labels or masked([row[name] for row in rows])
                for name, column in parts.items()
            },
            listed=[name for name, column in parts.items() if column.listed],
            **stated,
        ),
    )


def _few(values: Sequence[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, max_size=4, unique=True)


def _type(values: Sequence[Any]) -> pyarrow.DataType:
    return pyarrow.int64() if isinstance(values[0], int) else pyarrow.string()


# --- the exercise ---------------------------------------------------------------------------

EXERCISE = DATA / "datafly"


def labels(name: str) -> dict[str, list[str]]:
    """A hierarchy of the exercise. The first row of a value wins."""
    found: dict[str, list[str]] = {}
    with (EXERCISE / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        for value, *ancestors in csv.reader(file):
            found.setdefault(value, ancestors)
    return found
