"""What a statement's rows must show for the checks to hold, in the words of its own columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kanon_sql.plan.check_sql import LabelledCheck
from kanon_sql.plan.question import AtLevel, ResolvedQuestion
from kanon_sql.spec.models.composition import ComposedKAnonymity, ComposedLDiversity
from kanon_sql.spec.models.diversity import Homogeneity
from kanon_sql.spec.models.reference import DeltaPresence, KMap
from kanon_sql.spec.models.risk import JournalistRisk
from kanon_sql.spec.models.sizes import KAnonymity


def demanded_size(bound: ResolvedQuestion) -> int | None:
    """The size that k-anonymity demands of every class; of several demands, the largest."""
    sizes = (
        check.model.k
        for check in bound.checks
        if check.gates and isinstance(check.model, KAnonymity) and check.model.k is not None
    )
    return max(sizes, default=None)


def demands_on_size(size: int | None) -> Iterator[str]:
    """What a row for each size of a class must show."""
    if size is not None:
        yield (
            f"kanon_size >= {size} in every row; kanon_too_small is 1 in those that fail. "
            "k is kanon_size of the first row."
        )


def demands_on_values(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What a row for each size of a class must show of a sensitive attribute."""
    for each in checks:
        if each.check.gates:
            is_homogeneity = isinstance(each.check.model, Homogeneity)
            failing = "homogeneous" if is_homogeneity else f"{each.label}_violated"
            yield f"kanon_{failing}_classes = 0 in every row."


def demands_on_people(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What the one row on the people in violating classes must show."""
    for each in checks:
        if each.check.gates:
            yield f"kanon_{each.label}_violated_people = 0."


def demands_on_distance(each: LabelledCheck) -> Iterator[str]:
    """What the one row on a distance must show."""
    if each.check.gates:
        yield f"kanon_{each.label}_violated_classes = 0."


def demands_on_reference(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What the one row on a reference must show, where single classes are judged."""
    for each in checks:
        model = each.check.model
        match model:
            case KMap(k=int()) | DeltaPresence() if each.check.gates:
                yield f"kanon_{each.label}_violated_classes = 0."
            case JournalistRisk(max_highest=float() | int()) if each.check.gates:
                yield f"kanon_{each.label}_violated_classes = 0."


def demands_on_crowds(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What the one row on an earlier release must show of the crowds in both."""
    for each in checks:
        match each.check.model:
            case ComposedKAnonymity(k=int()) if each.check.gates:
                yield f"kanon_{each.label}_violated_classes = 0."


def demands_on_pairs(checks: Iterable[LabelledCheck], place: int) -> Iterator[str]:
    """What it must show of the values of an attribute that pairs of classes leave."""
    for each in checks:
        match each.check.model:
            case ComposedLDiversity(l=int()) if each.check.gates:
                yield f"kanon_{each.label}_violated_{place}_classes = 0."


def looked_at(name: str, levels: Iterable[AtLevel]) -> str:
    """A table by its name, with the levels that it is looked at."""
    said = [f"{each.raw.name} at {each.levels.label(each.level)}" for each in levels]
    return f"{name} ({', '.join(said)})" if said else name


def audited(bound: ResolvedQuestion) -> str:
    """The audited table as a statement speaks of it, with the levels that it is looked at."""
    return looked_at(bound.table.name, bound.levels)
