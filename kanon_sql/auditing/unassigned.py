"""Finds unassigned columns that identify records, alone or together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from kanon_sql.engines.session import Session
from kanon_sql.errors import plural
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.question import BoundColumn
from kanon_sql.plan.unassigned import ALL_COUNTED, FIRST_RECORDS, MOST_CELLS, FirstLook
from kanon_sql.sql.statement import Statement

Columns = tuple[BoundColumn, ...]
_FEW = 20
"""Number of records below which nearly all are unique in any column."""
_MOST_NAMED = 5
_MOST_SENTENCES = 3
"""Maximum number of columns described in a sentence each."""


class TellingApart(NamedTuple):
    """Columns in which nearly all records (people) are unique."""

    columns: tuple[str, ...]
    members: int
    looked_at: int
    """Number of first records scanned."""
    alone: int | None = None
    """Number of unique records (people); None if there are too many records to count."""
    each: bool | None = None
    """Whether all of the first records (people), instead of nearly all, are unique in the whole
    table; None if there are too many records even to read."""
    distinct: int = 0
    """Number of distinct values (combinations) in the first records, if nothing else is known."""


class _Look(NamedTuple):
    """Statistics of some columns in the first records."""

    columns: Columns
    values: Sequence[int]
    """Number of distinct values of each."""
    records: int
    members: int
    """Number of people, or of records without an entity."""
    combinations: Statement | None

    @property
    def may_tell_apart(self) -> bool:
        """Whether there are enough possible combinations of values to identify nearly all."""
        most = prod(values + 1 for values in self.values)
        return _are_nearly_all(min(most, self.records), self.members)


def telling_apart(plan: Plan, records: int, people: int, ask: Session) -> Iterator[TellingApart]:
    """The columns that identify nearly all records by themselves, else those that do together.

    A record that is unique in the whole table is unique among the first records too. So these are
    scanned first, and the whole table only if they give reason to.
    """
    counting = _Counting(plan, records, people if plan.bound.entity else records, ask)
    looks = [_looked(each, ask) for each in plan.first_looks]
    found = [
        each
        for look in looks
        for column, values in zip(look.columns, look.values, strict=True)
        if _are_nearly_all(values, look.members)
        for each in counting.counted((column,), look, values)
    ]
    yield from found or _together(looks, counting, ask)


def _looked(look: FirstLook, ask: Session) -> _Look:
    row = ask.row(look.step)
    values = [int(row[f"kanon_distinct_{place}"]) for place, _ in enumerate(look.columns, start=1)]
    records = int(row["kanon_records"])
    return _Look(
        look.columns, values, records, int(row.get("kanon_people") or records), look.together
    )


def _together(looks: Sequence[_Look], counting: _Counting, ask: Session) -> Iterator[TellingApart]:
    every = tuple(column for look in looks for column in look.columns)
    hopeful = [look for look in looks if look.combinations and look.may_tell_apart]
    if counting.can_count(every) and (len(looks) > 1 or (hopeful and counting.all_are_few)):
        yield from counting.counted(every, looks[0])
        return
    for look in hopeful:
        assert look.combinations is not None
        distinct = int(ask.row(look.combinations)["kanon_combinations"])
        if _are_nearly_all(distinct, look.members):
            columns = every if counting.can_count(every) else look.columns
            yield from counting.counted(columns, look, distinct)
            return


class _Counting:
    """Counts unique records within the budget of an audit."""

    def __init__(self, plan: Plan, records: int, members: int, ask: Session) -> None:
        self._steps = {each.columns: each for each in plan.alone}
        self._records, self._members, self._ask = records, members, ask
        self._cells = MOST_CELLS

    @property
    def all_are_few(self) -> bool:
        """Whether the table is small enough to count unique records in all of it."""
        return self._records <= ALL_COUNTED

    def can_count(self, columns: Columns) -> bool:
        return columns in self._steps and self._records * len(columns) <= self._cells

    def counted(self, columns: Columns, look: _Look, distinct: int = 0) -> Iterator[TellingApart]:
        """The finding for these columns, if nearly all records are unique in them."""
        apart = TellingApart(tuple(column.name for column in columns), self._members, look.records)
        if not self.can_count(columns):
            yield apart._replace(distinct=distinct)
            return
        self._cells -= self._records * len(columns)
        steps = self._steps[columns]
        if self.all_are_few:
            alone = self._alone(steps.of_all)
            if _are_nearly_all(alone, self._members):
                yield apart._replace(alone=alone)
            return
        alone = self._alone(steps.of_first)
        if _are_nearly_all(alone, look.members):
            yield apart._replace(each=alone >= look.members)

    def _alone(self, step: Statement) -> int:
        return int(self._ask.row(step)["kanon_alone"])


def _are_nearly_all(some: int, members: int) -> bool:
    return members > 1 and (some >= members or (members >= _FEW and 10 * some > 9 * members))


def said_of(found: Sequence[TellingApart], *, of_people: bool) -> Iterator[str]:
    """Warnings about these columns, in few sentences."""
    alone = [each for each in found if len(each.columns) == 1]
    if len(alone) > _MOST_SENTENCES:
        yield _of_many(alone, of_people)
        return
    for each in alone:
        yield f"{_of_one(each, of_people)}, so it may identify people by itself. {_DECIDE}"
    for each in found[len(alone) :]:
        yield (
            f"{_named(each.columns)}, to which no part is given, "
            f"{_share_together(each, of_people)}, so whoever knows them "
            "may find the record. If they are published, they are quasi-identifiers; kanon-sql "
            "profile says what each of them adds."
        )


def _share_together(found: TellingApart, of_people: bool) -> str:
    if found.each is not None:
        return f"leave {_of_the_first(found, of_people)} alone together among all {found.members:,}"
    if found.alone is None:
        return f"have {found.distinct:,} different combinations in {_the_first(found)}"
    members = "people" if of_people else "records"
    return f"leave {found.alone:,} of {found.members:,} {members} alone together"


def _of_one(found: TellingApart, of_people: bool) -> str:
    name = f'"{found.columns[0]}"'
    if found.each is not None:
        having = "their values" if of_people else "its value"
        return (
            f"{name} leaves {_of_the_first(found, of_people)} alone with {having} among all "
            f"{found.members:,}"
        )
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


def _of_the_first(found: TellingApart, of_people: bool) -> str:
    """Phrase for these records, without their number, since another database may return other first
    records."""
    whom = "of the people in" if of_people else "of"
    return f"{'each' if found.each else 'nearly each'} {whom} {_the_first(found)}"


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
