"""Finds the columns without a part that tell people apart, by themselves or together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kanon_sql.engines.session import Session
from kanon_sql.errors import plural
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.bound import BoundColumn
from kanon_sql.plan.unassigned import FIRST_RECORDS, MOST_CELLS
from kanon_sql.sql.statement import Statement

Columns = tuple[BoundColumn, ...]
_FEW = 20
"""Of fewer records nearly all are alone in whatever columns."""
_MOST_NAMED = 5
_MOST_SENTENCES = 3
"""How many columns have a sentence each."""


class TellingApart(NamedTuple):
    """Columns that tell nearly all records (people) apart, of which each is alone with its own."""

    columns: tuple[str, ...]
    alone: int | None
    """How many are; None where all records were too many to be counted."""
    members: int
    distinct: int
    """How many different values (combinations) the first records have."""
    looked_at: int
    """How many of the first records were looked at."""


def telling_apart(plan: Plan, records: int, people: int, ask: Session) -> Iterator[TellingApart]:
    """The columns that do by themselves; where there are none, those that do together.

    Who is alone in all records is so among the first, so these are looked at, and all only where
    the first say that there may be something to find.
    """
    members = people if plan.bound.entity else records
    counting = _Counting({each.columns: each.step for each in plan.alone}, records, members, ask)
    by_themselves: list[tuple[Columns, int, int]] = []
    together: Columns = ()
    distinct = of = 0
    for look in plan.first_looks:
        row = ask.row(look.step)
        of, base = int(row["kanon_records"]), int(row.get("kanon_people") or row["kanon_records"])
        for place, column in enumerate(look.columns, start=1):
            values = int(row[f"kanon_distinct_{place}"])
            if _are_nearly_all(values, base):
                by_themselves.append(((column,), values, of))
        if not together and _are_nearly_all(int(row["kanon_distinct_together"]), base):
            together, distinct = look.columns, int(row["kanon_distinct_together"])
    found = [each for some in by_themselves for each in counting.counted(*some)]
    yield from found
    if found:
        return
    every = tuple(column for look in plan.first_looks for column in look.columns)
    if counting.can_count(every) and (together or len(plan.first_looks) > 1):
        together = every
    if len(together) > 1:
        yield from counting.counted(together, distinct, of)


class _Counting:
    """Counts who is alone, as long as that takes no more than an audit may."""

    def __init__(
        self, steps: Mapping[Columns, Statement], records: int, members: int, ask: Session
    ) -> None:
        self._steps, self._records, self._members, self._ask = steps, records, members, ask
        self._cells = MOST_CELLS

    def can_count(self, columns: Columns) -> bool:
        return columns in self._steps and self._records * len(columns) <= self._cells

    def counted(self, columns: Columns, distinct: int, of: int) -> Iterator[TellingApart]:
        """What the columns are found to tell apart, if it is nearly all."""
        names = tuple(column.name for column in columns)
        if not self.can_count(columns):
            yield TellingApart(names, None, self._members, distinct, of)
            return
        self._cells -= self._records * len(columns)
        alone = int(self._ask.row(self._steps[columns])["kanon_alone"])
        if _are_nearly_all(alone, self._members):
            yield TellingApart(names, alone, self._members, distinct, of)


def _are_nearly_all(some: int, members: int) -> bool:
    return members > 1 and (some >= members or (members >= _FEW and 10 * some > 9 * members))


def said_of(found: Sequence[TellingApart], *, of_people: bool) -> Iterator[str]:
    """What a reader must know of them, in few sentences."""
    alone = [each for each in found if len(each.columns) == 1]
    if len(alone) > _MOST_SENTENCES:
        yield _of_many(alone, of_people)
        return
    for each in alone:
        yield f"{_of_one(each, of_people)}, so it may identify people by itself. {_DECIDE}"
    for each in found[len(alone) :]:
        members = "people" if of_people else "records"
        share = (
            f"leave {each.alone:,} of {each.members:,} {members} alone together"
            if each.alone is not None
            else f"have {each.distinct:,} different combinations in {_the_first(each)}"
        )
        yield (
            f"{_named(each.columns)}, to which no part is given, {share}, so whoever knows them "
            "may find the record. If they are published, they are quasi-identifiers; kanon-sql "
            "profile says what each of them adds."
        )


def _of_one(found: TellingApart, of_people: bool) -> str:
    name = f'"{found.columns[0]}"'
    if found.alone is None:
        return f"{name} has {found.distinct:,} different values in {_the_first(found)}"
    if of_people:
        return f"{name} leaves {found.alone:,} of {found.members:,} people alone with their values"
    if found.alone == found.members:
        return f"{name} has a different value in every record"
    return f"{name} leaves {found.alone:,} of {found.members:,} records alone with their value"


def _of_many(found: Sequence[TellingApart], of_people: bool) -> str:
    names = [name for each in found for name in each.columns]
    counts = [each.alone for each in found if each.alone is not None]
    members = "people" if of_people else "records"
    most = (
        f"{min(counts):,} to {max(counts):,} of {found[0].members:,} {members}"
        if len(counts) == len(found) and min(counts) < max(counts)
        else f"{min(counts):,} of {found[0].members:,} {members}"
        if len(counts) == len(found)
        else f"nearly all of {_the_first(found[0])}"
    )
    return (
        f"{_named(names)} each leave {most} alone with their value, so each may identify people by "
        "itself. What is published of them is a quasi-identifier; declare the others as "
        "identifiers."
    )


def _the_first(found: TellingApart) -> str:
    every = found.looked_at < FIRST_RECORDS
    return f"{'all' if every else 'the first'} {found.looked_at:,} records"


_DECIDE = (
    "If it is published, it is a quasi-identifier; if not, declare it as an identifier or as the "
    "entity."
)


def _named(columns: Sequence[str]) -> str:
    shown = [f'"{name}"' for name in columns[:_MOST_NAMED]]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f" and {plural(more, 'more column')}" if more else "")
