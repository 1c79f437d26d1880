"""The worked examples on the models' pages: six records that violate, six that satisfy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = Sequence[tuple[str | int, ...]]

QUASI_IDENTIFIERS = ("zip", "age")
PERSON = "person"
"""The entity column, in the examples of several releases."""


@dataclass(frozen=True)
class Example:
    """Parameters of a model, six records for which it fails, and six for which it holds."""

    parameters: Mapping[str, Any]
    fails: Rows
    holds: Rows
    why: str
    """Why it fails, in one sentence."""
    sensitive: str = "disease"
    reference: Rows = ()
    earlier: Rows = ()
    """The earlier release of the same six people, in the same order."""
    events: tuple[str, ...] = ()
    """The event columns, in the examples of event tables, whose rows begin with the person."""

    @property
    def columns(self) -> tuple[str, ...]:
        if self.events:
            return (PERSON, *self.events)
        who = (PERSON,) if self.earlier else ()
        return (*who, *QUASI_IDENTIFIERS, self.sensitive)

    def rows(self, rows: Rows) -> Sequence[tuple[str | int, ...]]:
        """The records under `columns`: with the person first, if there was an earlier release."""
        if not self.earlier:
            return rows
        return [(person, *row) for person, row in zip("abcdef", rows, strict=True)]


def _classes(*classes: tuple[str, str, Sequence[str | int]]) -> Rows:
    return [(zip, age, value) for zip, age, values in classes for value in values]


ALONE = _classes(
    ("02138", "31", ["flu"]), ("02139", "35", ["asthma"]), ("02138", "38", ["HIV"]),
    ("02141", "44", ["flu"]), ("02142", "47", ["asthma"]), ("02141", "49", ["HIV"]),
)  # fmt: skip
ALIKE = _classes(("0213*", "30-39", ["flu"] * 3), ("0214*", "40-49", ["flu", "asthma", "HIV"]))
SPREAD = _classes(
    ("0213*", "30-39", ["flu", "asthma", "HIV"]), ("0214*", "40-49", ["flu", "asthma", "HIV"])
)
ONE_CLASS = _classes(("0213*", "30-39", ["flu", "asthma", "HIV"] * 2))
CLOSE_PAY = _classes(("0213*", "30-39", [30, 30, 31]), ("0214*", "40-49", [20, 45, 70]))
SPREAD_PAY = _classes(("0213*", "30-39", [30, 45, 60]), ("0214*", "40-49", [20, 45, 70]))
REGISTER = [
    *((zip, age, "") for zip, age, _ in ALONE),
    *_classes(("02139", "33", [""] * 3), ("02142", "41", [""] * 6)),
]
_SIX = ("flu", "asthma", "HIV", "cold", "ulcer", "cough")
TOGETHER = [
    *_classes(("0213*", "30-39", _SIX[:3])), *_classes(("0214*", "40-49", _SIX[3:])),
]  # fmt: skip
ACROSS = [
    (f"{digits}*", "30-49", value)
    for digits, value in zip(("0213", "0214", "0214", "0213", "0213", "0214"), _SIX, strict=True)
]
VISITS = [
    *(("a", ward) for ward in ("surgery", "oncology")),
    *(("b", ward) for ward in ("surgery", "maternity")),
    *(("c", ward) for ward in ("oncology", "maternity")),
]
VISITS_SHARED = [
    *(("a", ward) for ward in ("surgery", "oncology")),
    *(("b", ward) for ward in ("surgery", "oncology")),
    *(("c", "maternity"), ("d", "maternity")),
]
SHARED = "All three people of 0213* and 30-39 have the flu."

MORE_FREQUENT = "In 0213* and 30-39 the flu is 1.5 times as frequent as in the table."
