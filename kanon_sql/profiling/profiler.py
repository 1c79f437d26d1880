"""Asks what the attacker's background knowledge does to the classes of a table.

Three questions, each put to one column at a time: what if this column is known too, what if this
quasi-identifier were not known, and how soon is a sensitive value certain once others are ruled
out. Each is one SELECT, and only counts come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kanon_sql.auditing.answers import Counted, everyone, people_in
from kanon_sql.auditing.opening import open_table, opening
from kanon_sql.auditing.summary import refuse_without_entity
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines.base import Engine
from kanon_sql.engines.session import Session, Watch, asked_within
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.plan.bound import BoundColumn
from kanon_sql.plan.profile_plan import (
    DEFAULT_K,
    RULED_OUT,
    ColumnStep,
    ProfilePlan,
    as_profiled,
    plan_profile,
)
from kanon_sql.profiling.result import ProfileResult
from kanon_sql.results.profile import (
    Elimination,
    KnownColumn,
    LackedColumn,
    ProfileSummary,
    TableProfile,
)
from kanon_sql.results.table import Status
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.spec.spec import AuditSpec
from kanon_sql.sql.quoting import positive_int
from kanon_sql.sql.tables import Row


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
        asked = as_profiled(spec.tables[place])
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
