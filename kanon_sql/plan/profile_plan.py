"""Plans a profile of one table as named SELECTs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kanon_sql.errors import SpecError
from kanon_sql.plan.audit_plan import smallest_classes
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve_checks import sensitive_of
from kanon_sql.plan.resolve_roles import resolve
from kanon_sql.plan.steps import counted, name_list, records, step, with_entity
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.spec.models.diversity import Homogeneity
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.column_types import family
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, find

DEFAULT_K = 5
"""Default k: a class with fewer records (people) is small."""
RULED_OUT = 3
"""Maximum number of values ruled out in turn by an attacker."""
AT_ONCE = 40
"""Number of columns whose distinct values one statement counts."""

COMBINATIONS = "kanon_private_classes"
"""Name of the combinations that the steps without a quasi-identifier read."""

Order = Literal["number", "time"]
_ORDERS: Mapping[str, Order] = {"number": "number", "text": "number", "time": "time"}
"""How the values of each type family are ordered."""


@dataclass(frozen=True)
class ColumnLook:
    """The step that counts distinct values of several columns."""

    columns: tuple[BoundColumn, ...]
    step: Statement


@dataclass(frozen=True)
class ColumnStep:
    """The step that answers a question on one column."""

    column: BoundColumn
    step: Statement
    people: Statement | None = None
    """The same per person, for people in several classes."""


@dataclass(frozen=True)
class ProfilePlan:
    """Every step of one table's profile, in execution order."""

    bound: ResolvedQuestion
    k: int
    classes: Statement
    people: Statement | None
    """Counts people by the smallest of their classes, where some are in several."""
    looks: tuple[ColumnLook, ...]
    knows: tuple[ColumnStep, ...]
    combinations: Statement
    """The combinations of quasi-identifiers (and people), which `lacks` reads; to materialise."""
    lacks: tuple[ColumnStep, ...]
    eliminations: tuple[ColumnStep, ...]
    passed_over: tuple[str, ...]
    """Columns whose values SQL can't compare."""

    @property
    def columns(self) -> tuple[BoundColumn, ...]:
        """Every column that a step reads."""
        entity = [self.bound.entity] if self.bound.entity else []
        known = [each.column for each in self.knows]
        read = [*self.bound.quasi_identifiers, *self.bound.sensitive, *known, *entity]
        return tuple({column.name: column for column in read}.values())

    @property
    def sensitive(self) -> set[str]:
        """Names of the sensitive attributes."""
        return {column.name for column in self.bound.sensitive}


def plan_profile(
    bound: ResolvedQuestion, *, attacker_knows: Sequence[str] = (), k: int = DEFAULT_K
) -> ProfilePlan:
    """The profile plan of a resolved question. Raises `SpecError`."""
    known = _known(bound, attacker_knows)
    return ProfilePlan(
        bound=bound,
        k=k,
        classes=_classes(bound),
        people=smallest_classes(bound) if bound.entity else None,
        looks=tuple(_looks(bound, known)),
        knows=tuple(
            ColumnStep(
                column,
                _knows(bound, column, k),
                _knows(bound, column, k, each_person=True) if bound.entity else None,
            )
            for column in known
        ),
        combinations=_combinations(bound),
        lacks=tuple(
            ColumnStep(
                column,
                _lacks(bound, column, k),
                _lacks(bound, column, k, each_person=True) if bound.entity else None,
            )
            for column in bound.quasi_identifiers
        ),
        eliminations=tuple(
            ColumnStep(column, _elimination(bound, column)) for column in bound.sensitive
        ),
        passed_over=()
        if attacker_knows
        else tuple(column.name for column in bound.roles.unassigned if not _comparable(column)),
    )


def as_profiled(spec: TableSpec) -> TableSpec:
    """The spec without its checks, references and levels, except those of events.

    Attributes that only a check names stay sensitive.
    """
    if spec.nulls == "wildcard":
        error = SpecError(
            "a profile counts classes, and with nulls: wildcard records form none. Leave it out: "
            "NULL is then a value of its own."
        )
        error.location = ("nulls",)
        raise error
    named = [sensitive_of(check) for check in spec.checks]
    checks = [Homogeneity(sensitive=name) for name in named if name is not None]
    return spec.model_copy(
        # Columns cleared for publication may still be known to an attacker.
        update={
            "checks": checks,
            "references": {},
            "earlier_releases": {},
            "levels": {name: n for name, n in spec.levels.items() if name in spec.events},
            "with_other_sensitive": False,
            "insensitive": {},
            "undecided": [],
        }
    )


def _known(bound: ResolvedQuestion, attacker_knows: Sequence[str]) -> tuple[BoundColumn, ...]:
    """The columns an attacker may know in addition, each resolved as a further quasi-identifier."""
    free = {column.name for column in bound.sensitive} | {
        column.name for column in bound.roles.unassigned
    }
    if attacker_knows:
        names = [_named(name, bound, free) for name in attacker_knows]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise SpecError(f'attacker_knows: column "{repeated}" is named twice.')
    else:
        names = [c.name for c in bound.table.columns if c.name in free and _comparable(c)]
    if not names:
        return ()
    quasi_identifiers = [column.name for column in bound.quasi_identifiers]
    columns = {name: GeneralizationHierarchy() for name in [*quasi_identifiers, *names]}
    wider = bound.spec.model_copy(
        update={"quasi_identifiers": columns, "sensitive": [], "checks": []}
    )
    try:
        found = resolve(wider, bound.table, {}).quasi_identifiers
    except SpecError as error:
        raise SpecError(f"attacker_knows: {error.marked}") from None
    return found[len(quasi_identifiers) :]


def _named(name: str, bound: ResolvedQuestion, free: set[str]) -> str:
    """The column of this name, if it may be known in addition to the quasi-identifiers."""
    try:
        column = find(name, bound.table).name
    except SpecError as error:
        raise SpecError(f"attacker_knows: {error.marked}") from None
    if column in free:
        return column
    if column in [each.name for each in bound.quasi_identifiers]:
        raise SpecError(
            f'attacker_knows: column "{column}" is a quasi-identifier, so it is known already.'
        )
    parts = {
        each.name: part
        for part, each in (("the entity", bound.entity), ("the weight", bound.weight))
        if each
    }
    raise SpecError(
        f'attacker_knows: column "{column}" is {parts.get(column, "an identifier")}, which is no '
        "knowledge of a person: it says whom a record is about, or stands for. Name another column."
    )


def _comparable(column: Column) -> bool:
    """Whether SQL can compare the column's values."""
    return column.unusable_because is None and family(column.type) not in ("nested", "span")


def _classes(bound: ResolvedQuestion) -> Statement:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        "classes",
        f"How many {counted(bound)} in {bound.table.name} share each combination of "
        f"{name_list(columns)}?",
        render(
            "k_anonymity",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            entity=bound.entity,
        ),
        KAnonymity,
    )


def _looks(bound: ResolvedQuestion, known: Sequence[BoundColumn]) -> Iterator[ColumnLook]:
    """Steps counting the distinct values of each column; the first one counts people too."""
    for place, start in enumerate(
        range(0, max(len(known), int(bound.entity is not None)), AT_ONCE)
    ):
        columns = known[start : start + AT_ONCE]
        entity = bound.entity if place == 0 else None
        read = [*columns, *([entity] if entity else [])]
        yield ColumnLook(
            tuple(columns),
            step(
                bound,
                "values" if place == 0 else f"values_{place + 1}",
                f"How many values has each of {name_list(read)} in {bound.table.name}?",
                render(
                    "distinct_values",
                    relation=records(bound, read),
                    columns=list(columns),
                    entity=entity,
                ),
            ),
        )


_IN_SEVERAL = "where people have records in several classes: each counts once, with the smallest"


def _knows(
    bound: ResolvedQuestion, known: BoundColumn, k: int, *, each_person: bool = False
) -> Statement:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        f"people_known_by_{known.name}" if each_person else f"knows_{known.name}",
        f"How many {counted(bound)} in {bound.table.name} does someone single out who knows "
        f"{known.name} beside {name_list(columns)}?",
        render(
            "attacker_knows",
            relation=records(bound, with_entity(bound, [*columns, known])),
            columns=columns,
            known=known,
            k=k,
            entity=bound.entity,
            each_person=each_person,
        ),
        KAnonymity,
        only=_IN_SEVERAL if each_person else "",
    )


def _combinations(bound: ResolvedQuestion) -> Statement:
    columns = with_entity(bound, list(bound.quasi_identifiers))
    return step(
        bound,
        COMBINATIONS,
        f"Which combinations of {name_list(columns)} are in {bound.table.name}?",
        render("frequency_set", relation=records(bound, columns), columns=columns),
    )


def _lacks(
    bound: ResolvedQuestion, lacked: BoundColumn, k: int, *, each_person: bool = False
) -> Statement:
    columns = list(bound.quasi_identifiers)
    found = step(
        bound,
        f"people_without_{lacked.name}" if each_person else f"lacks_{lacked.name}",
        f"How many {counted(bound)} in {bound.table.name} are in a class below {k} only because "
        f"{lacked.name} is known, and how many of them lie in its outer one per cent?",
        render(
            "attacker_lacks",
            combinations=COMBINATIONS,
            columns=columns,
            lacked=lacked,
            k=k,
            entity=bound.entity,
            ordered_by=_ORDERS.get(family(lacked.type)),
            each_person=each_person,
        ),
        KAnonymity,
        only=_IN_SEVERAL if each_person else "",
    )
    return replace(found, tables=found.tables | {COMBINATIONS})


def _elimination(bound: ResolvedQuestion, sensitive: BoundColumn) -> Statement:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        f"elimination_{sensitive.name}",
        f"How sure can someone be of {sensitive.name} in a class of {bound.table.name} after "
        "ruling out the most frequent other values?",
        render(
            "elimination",
            relation=records(bound, with_entity(bound, [*columns, sensitive])),
            columns=columns,
            sensitive=sensitive,
            ruled_out=RULED_OUT,
            entity=bound.entity,
            unknown=bound.spec.sensitive_nulls == "unknown",
        ),
    )
