"""The conditions under which the rows of a statement pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kanon_sql.plan.check_sql import LabelledCheck


def value_conditions(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """Pass conditions of sensitive checks on the rows per class size."""
    for check, label in checks:
        if check.gates:
            is_homogeneity = check.model.counts_violations
            failing = "homogeneous" if is_homogeneity else f"{label}_violated"
            yield f"kanon_{failing}_classes = 0 in every row."


def people_conditions(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """Pass conditions on the single row counting people in violating classes."""
    for check, label in checks:
        if check.gates:
            yield f"kanon_{label}_violated_people = 0."


def class_conditions(checks: Iterable[LabelledCheck], place: str = "") -> Iterator[str]:
    """Pass conditions on the single row counting violating classes, by the attribute's `place`."""
    for check, label in checks:
        if check.gates and check.model.class_thresholds:
            yield f"kanon_{label}_violated{place}_classes = 0."
