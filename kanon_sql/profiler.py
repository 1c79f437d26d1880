"""Asks what the attacker's background knowledge does to the classes of a table.

Three questions, each put to one column at a time: what if this column is known too, what if this
quasi-identifier were not known, and how soon is a sensitive value certain once others are ruled
out. Each is one SELECT, and only counts come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kanon_sql.answers import Counted, everyone, people_in
from kanon_sql.binding import BoundColumn, BoundSpec, find, resolve
from kanon_sql.caveats import left_out
from kanon_sql.column_types import family
from kanon_sql.engines.base import Column, Engine, Row
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.hierarchy import GeneralizationHierarchy
from kanon_sql.models import Homogeneity, KAnonymity, SensitiveModel
from kanon_sql.opening import open_table, opening
from kanon_sql.output import refuse_to_overwrite
from kanon_sql.plan import smallest_classes
from kanon_sql.precautions import precautions
from kanon_sql.profile_result import (
    Elimination,
    KnownColumn,
    LackedColumn,
    ProfileResult,
    ProfileSummary,
    TableProfile,
)
from kanon_sql.result import Status
from kanon_sql.session import Session, Watch, asked_within
from kanon_sql.spec import AuditSpec, TableSpec
from kanon_sql.steps import Precaution, Step, counted, records, spoken, step, with_entity
from kanon_sql.templates import positive_int, render
from kanon_sql.verdicts import refuse_without_entity
from kanon_sql.version import VERSION

DEFAULT_K = 5
"""Below how many records (people) a class is small, where nobody says."""
RULED_OUT = 3
"""How many values are ruled out at most, one after the other."""
AT_ONCE = 40
"""How many columns one statement counts the values of."""

Order = Literal["number", "time"]
_ORDERS: Mapping[str, Order] = {"number": "number", "text": "number", "time": "time"}
"""What the values of each kind of column are put in order by."""


def profile(
    spec: AuditSpec,
    *,
    attacker_knows: Sequence[str] = (),
    k: int = DEFAULT_K,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    watch: Watch | None = None,
    writes: Sequence[Path] = (),
) -> ProfileResult:
    """Profile every table of `spec` where it lies; its checks and references are not asked.

    `attacker_knows` are the columns to look at, by default all that play no other part than that
    of a sensitive attribute. `k` is the size below which a class is small. The rest is as for an
    audit, and so are the errors.
    """
    positive_int(k, "k")
    if timeout is not None and not timeout > 0:
        raise SpecError(f"timeout must be a number of seconds above 0; found {timeout!r}.")
    with opening(engine, memory_limit, threads) as engine_of:
        planned = [
            _planned(spec, place, engine_of(table), attacker_knows, k, timeout)
            for place, table in enumerate(spec.tables)
        ]
        for each in planned:
            refuse_to_overwrite(writes, each.engine.files_read())
        return ProfileResult(tuple(_profiled(each, timeout, watch) for each in planned), VERSION)


# --- the plan -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """The step that counts the values of some columns."""

    columns: tuple[BoundColumn, ...]
    step: Step


@dataclass(frozen=True)
class ColumnStep:
    """The step that answers one question about one column."""

    column: BoundColumn
    step: Step
    people: Step | None = None
    """Asks the same of each person, where some are in several classes."""


@dataclass(frozen=True)
class ProfilePlan:
    """Everything one table's profile asks, in the order in which it runs."""

    bound: BoundSpec
    k: int
    precautions: tuple[Precaution, ...]
    classes: Step
    people: Step | None
    """Counts people by the smallest of their classes, where some are in several."""
    looks: tuple[Look, ...]
    knows: tuple[ColumnStep, ...]
    """Each is asked only if its column is not identifier-like."""
    lacks: tuple[ColumnStep, ...]
    eliminations: tuple[ColumnStep, ...]
    passed_over: tuple[str, ...]
    """Columns whose values SQL can't compare one by one."""

    @property
    def sensitive(self) -> set[str]:
        """The names of the sensitive attributes."""
        return {column.name for column in self.bound.sensitive}


def plan_profile(
    bound: BoundSpec, *, attacker_knows: Sequence[str] = (), k: int = DEFAULT_K
) -> ProfilePlan:
    """The plan that profiles the table of a bound question. Raises `SpecError`."""
    known = _known(bound, attacker_knows)
    return ProfilePlan(
        bound=bound,
        k=k,
        precautions=tuple(precautions(replace(bound, checks=(), weight=None))),
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


def profile_question(spec: TableSpec) -> TableSpec:
    """The same table as it lies, without what it is checked for; what only a check calls sensitive
    stays so."""
    if spec.nulls == "wildcard":
        error = SpecError(
            "a profile counts classes, and with nulls: wildcard records form none. Leave it out: "
            "NULL is then a value of its own."
        )
        error.location = ("nulls",)
        raise error
    named = [check.sensitive for check in spec.checks if isinstance(check, SensitiveModel)]
    checks = [Homogeneity(sensitive=name) for name in named if name is not None]
    return spec.model_copy(
        # What a person decided to publish may be known to whoever reads it.
        update={
            "checks": checks,
            "references": {},
            "levels": {},
            "with_other_sensitive": False,
            "insensitive": [],
        }
    )


def _known(bound: BoundSpec, attacker_knows: Sequence[str]) -> tuple[BoundColumn, ...]:
    """The columns that may be known too, each called as one quasi-identifier more would be."""
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
        raise SpecError(f"attacker_knows: {error}") from None
    return found[len(quasi_identifiers) :]


def _named(name: str, bound: BoundSpec, free: set[str]) -> str:
    """The column of this name, if it is one that may be known beside the quasi-identifiers."""
    try:
        column = find(name, bound.table).name
    except SpecError as error:
        raise SpecError(f"attacker_knows: {error}") from None
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
    """Whether the column holds single values that SQL tells apart."""
    return column.merges is None and family(column.type) not in ("nested", "span")


def _classes(bound: BoundSpec) -> Step:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        "classes",
        f"How many {counted(bound)} in {bound.table.name} share each combination of "
        f"{spoken(columns)}?",
        render(
            "k_anonymity",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            entity=bound.entity,
        ),
        KAnonymity,
    )


def _looks(bound: BoundSpec, known: Sequence[BoundColumn]) -> Iterator[Look]:
    """How many values each column has; the first look counts the people, too."""
    for place, start in enumerate(
        range(0, max(len(known), int(bound.entity is not None)), AT_ONCE)
    ):
        columns = known[start : start + AT_ONCE]
        entity = bound.entity if place == 0 else None
        read = [*columns, *([entity] if entity else [])]
        yield Look(
            tuple(columns),
            step(
                bound,
                "values" if place == 0 else f"values_{place + 1}",
                f"How many values has each of {spoken(read)} in {bound.table.name}?",
                render(
                    "distinct_values",
                    relation=records(bound, read),
                    columns=list(columns),
                    entity=entity,
                ),
            ),
        )


_IN_SEVERAL = "where people have records in several classes: each counts once, with the smallest"


def _knows(bound: BoundSpec, known: BoundColumn, k: int, *, each_person: bool = False) -> Step:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        f"people_known_by_{known.name}" if each_person else f"knows_{known.name}",
        f"How many {counted(bound)} in {bound.table.name} does someone single out who knows "
        f"{known.name} beside {spoken(columns)}?",
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


def _lacks(bound: BoundSpec, lacked: BoundColumn, k: int, *, each_person: bool = False) -> Step:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        f"people_without_{lacked.name}" if each_person else f"lacks_{lacked.name}",
        f"How many {counted(bound)} in {bound.table.name} are in a class below {k} only because "
        f"{lacked.name} is known, and how many of them lie in its outer one per cent?",
        render(
            "attacker_lacks",
            relation=records(bound, with_entity(bound, columns)),
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


def _elimination(bound: BoundSpec, sensitive: BoundColumn) -> Step:
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


# --- asking ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Planned:
    """A table's plan, the engine that answers it, and the seconds it took to open them."""

    plan: ProfilePlan
    engine: Engine
    seconds: float


def _planned(
    spec: AuditSpec,
    place: int,
    engine: Engine,
    attacker_knows: Sequence[str],
    k: int,
    timeout: float | None,
) -> _Planned:
    try:
        asked = profile_question(spec.tables[place])
    except SpecError as error:
        raise spec.pointed(error, place) from None
    table = open_table(spec, place, engine, timeout, asked=asked)
    try:
        plan = plan_profile(table.bound, attacker_knows=attacker_knows, k=k)
    except SpecError as error:
        # What is at fault without a place is not in the spec, but beside it.
        raise spec.pointed(error, place) if error.location else error from None
    return _Planned(plan, engine, table.seconds)


def _profiled(planned: _Planned, timeout: float | None, watch: Watch | None) -> TableProfile:
    return asked_within(
        planned.engine,
        timeout,
        watch,
        lambda session: _answered(planned.plan, session),
        lambda session, error: _result(planned.plan, "error", session, error=error),
        spent=planned.seconds,
    )


def _answered(plan: ProfilePlan, ask: Session) -> TableProfile:
    for precaution in plan.precautions:
        fault = precaution.fault(ask.row(precaution.step))
        if fault is not None:
            raise InputError(fault)
    sizes = ask.rows(plan.classes)
    if not sizes:
        return _result(plan, "no_data", ask, summary=ProfileSummary(records=0))
    total = sum(int(row["kanon_records"]) for row in sizes)
    refuse_without_entity(plan.bound, sizes)
    looks = [(look, _same_table(ask.row(look.step), total, plan)) for look in plan.looks]
    distinct = {
        column.name: int(row[f"kanon_distinct_{place}"])
        for look, row in looks
        for place, column in enumerate(look.columns, start=1)
    }
    people = next((int(row["kanon_people"]) for _, row in looks if "kanon_people" in row), None)
    in_several = people is not None and people_in(sizes) > people
    smallest = ask.rows(plan.people) if plan.people and in_several else None
    counted = [
        (int(row["kanon_size"]), int(row["kanon_people"]) if smallest else people_in([row]))
        for row in smallest or sizes
    ]
    found = _summary(sizes, counted, total, people, plan.k)
    known = [
        _known_column(each, distinct[each.column.name], found, plan, ask) for each in plan.knows
    ]
    return _result(
        plan,
        "measured",
        ask,
        warnings=tuple(_warnings(plan)),
        summary=found,
        attacker_knows=tuple(sorted(known, key=_worst_first)),
        without=tuple(_lacked_column(each, total, in_several, plan, ask) for each in plan.lacks),
        elimination=tuple(
            _eliminated(each.column, ask.row(each.step)) for each in plan.eliminations
        ),
    )


def _same_table(row: Row, total: int, plan: ProfilePlan) -> Row:
    """The row, if its statement saw as many records as the first one did."""
    if int(row["kanon_records"]) != total:
        raise EngineError(
            f"{plan.bound.table.name} changed while it was being profiled; run it again."
        )
    return row


def _warnings(plan: ProfilePlan) -> Iterator[str]:
    yield from left_out(plan.bound)
    if plan.passed_over:
        them = "it" if len(plan.passed_over) == 1 else "them"
        yield (
            f"{', '.join(plan.passed_over)} can't be compared value by value (nested, an "
            "interval, texts of which the database takes some for one, or not to be read by this "
            f"role), so nothing is said of {them}."
        )


def _summary(
    sizes: Sequence[Row], counted: Counted, total: int, people: int | None, k: int
) -> ProfileSummary:
    return ProfileSummary(
        records=total,
        people=people,
        members=everyone(counted),
        classes=sum(int(row["kanon_classes"]) for row in sizes),
        k=min(int(row["kanon_size"]) for row in sizes),
        uniques=sum(count for size, count in counted if size == 1),
        records_below_k=sum(count for size, count in counted if size < k),
    )


def _known_column(
    known: ColumnStep, distinct: int, before: ProfileSummary, plan: ProfilePlan, ask: Session
) -> KnownColumn:
    records, uniques_before = before.records or 0, before.uniques or 0
    column = KnownColumn(
        column=known.column.name,
        role="sensitive" if known.column.name in plan.sensitive else None,
        identifier_like=10 * distinct > 9 * records,
        distinct=distinct,
    )
    if column.identifier_like:
        return column
    row = _same_table(ask.row(known.step), records, plan)
    in_several = before.people is not None and int(row["kanon_members"]) > before.people
    of_people = (
        _same_table(ask.row(known.people), records, plan) if known.people and in_several else row
    )
    uniques = int(of_people["kanon_uniques"])
    return replace(
        column,
        k=int(row["kanon_k"]),
        uniques=uniques,
        newly_unique_records=uniques - uniques_before,
        records_below_k=int(of_people["kanon_below_k"]),
        classes=int(row["kanon_classes"]),
        members=int(of_people["kanon_members"]),
    )


def _worst_first(known: KnownColumn) -> tuple[int, ...]:
    """Identifier-like columns, then by the records that become unique, then by those at risk."""
    return (
        not known.identifier_like,
        -(known.newly_unique_records or 0),
        -(known.records_below_k or 0),
        -known.distinct,
    )


def _lacked_column(
    lacked: ColumnStep, total: int, in_several: bool, plan: ProfilePlan, ask: Session
) -> LackedColumn:
    column, row = lacked.column, _same_table(ask.row(lacked.step), total, plan)
    of_people = (
        _same_table(ask.row(lacked.people), total, plan) if lacked.people and in_several else row
    )
    leaving = int(of_people["kanon_leaving"])
    has_order = row.get("kanon_placed_records") and not (
        column.is_text and row["kanon_unplaced_values"]
    )
    share = int(of_people["kanon_leaving_outer"]) / leaving if leaving and has_order else None
    return LackedColumn(column.name, leaving, share)


def _eliminated(column: BoundColumn, row: Row) -> Elimination:
    confidence = (row[f"kanon_confidence_{place}"] for place in range(RULED_OUT + 1))
    eliminations = row["kanon_eliminations"]
    return Elimination(
        column.name,
        tuple(None if each is None else float(each) for each in confidence),
        None if eliminations is None else int(eliminations),
    )


def _result(plan: ProfilePlan, status: Status, ask: Session, **found: Any) -> TableProfile:
    bound = plan.bound
    return TableProfile(
        name=bound.spec.name or bound.table.name,
        engine=ask.engine.name,
        status=status,
        quasi_identifiers=tuple(column.name for column in bound.quasi_identifiers),
        k_threshold=plan.k,
        sensitive=tuple(column.name for column in bound.sensitive),
        entity=bound.entity.name if bound.entity else None,
        sql=ask.asked,
        seconds=time.monotonic() - ask.started,
        **found,
    )
