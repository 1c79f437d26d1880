"""States when a statement's rows pass its checks, in terms of its own columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kanon_sql.plan.check_sql import LabelledCheck
from kanon_sql.plan.question import AtLevel, ResolvedQuestion
from kanon_sql.spec.models.sizes import KAnonymity


def required_size(bound: ResolvedQuestion) -> int | None:
    """The largest k among gating k-anonymity checks; None without one."""
    sizes = (
        check.model.k
        for check in bound.checks
        if check.gates and isinstance(check.model, KAnonymity) and check.model.k is not None
    )
    return max(sizes, default=None)


def size_conditions(size: int | None) -> Iterator[str]:
    """Pass condition on the rows per class size."""
    if size is not None:
        yield (
            f"kanon_size >= {size} in every row; kanon_too_small is 1 in those that fail. "
            "k is kanon_size of the first row."
        )


def value_conditions(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """Pass conditions of sensitive checks on the rows per class size."""
    for each in checks:
        if each.check.gates:
            is_homogeneity = each.check.model.counts_violations
            failing = "homogeneous" if is_homogeneity else f"{each.label}_violated"
            yield f"kanon_{failing}_classes = 0 in every row."


def people_conditions(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """Pass conditions on the single row counting people in violating classes."""
    for each in checks:
        if each.check.gates:
            yield f"kanon_{each.label}_violated_people = 0."


def class_conditions(checks: Iterable[LabelledCheck], place: str = "") -> Iterator[str]:
    """Pass conditions on the single row counting violating classes, by the attribute's `place`."""
    for each in checks:
        if each.check.gates and each.check.model.class_thresholds:
            yield f"kanon_{each.label}_violated{place}_classes = 0."


def name_at_levels(name: str, levels: Iterable[AtLevel]) -> str:
    """The table's name, followed by its generalisation levels if there are any."""
    said = [f"{each.raw.name} at {each.levels.label(each.level)}" for each in levels]
    return f"{name} ({', '.join(said)})" if said else name


def audited(bound: ResolvedQuestion) -> str:
    """The audited table's name with its generalisation levels."""
    return name_at_levels(bound.table.name, bound.levels)
