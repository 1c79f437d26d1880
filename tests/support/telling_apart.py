"""Columns without a part: a look at so few records that plain Python can follow it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from kanon_sql.auditing import unassigned
from kanon_sql.plan import unassigned as planned

FIRST, ALL_COUNTED = 25, 40


def look_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the first 25 records for the first, and more than 40 for too many to count all."""
    for room in (planned, unassigned):
        monkeypatch.setattr(room, "FIRST_RECORDS", FIRST)
        monkeypatch.setattr(room, "ALL_COUNTED", ALL_COUNTED)


def told_apart(
    columns: Mapping[str, Sequence[Any]], whose: Sequence[Any]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The columns that leave nearly each of the first records alone among all, or those who stand
    in them; and whether it is each of them. By themselves, or else all together."""
    members = len(set(whose[:FIRST]))
    found = []
    for name, values in columns.items():
        known = len({value for value in values[:FIRST] if value is not None})
        alone = len(_alone(values, whose, lambda value: value is not None))
        if are_nearly_all(known, members) and are_nearly_all(alone, members):
            found.append(((name,), alone >= members))
    yield from found
    if not found and len(columns) > 1:
        combinations = [*zip(*columns.values(), strict=True)]
        alone = len(_alone(combinations, whose, lambda _: True))
        known = len(set(combinations[:FIRST]))
        if are_nearly_all(known, members) and are_nearly_all(alone, members):
            yield tuple(columns), alone >= members


def _alone(values: Sequence[Any], whose: Sequence[Any], is_counted: Any) -> set[Any]:
    """Whoever is alone with a value that the first records have."""
    holders = defaultdict(set)
    for value, who in zip(values, whose, strict=True):
        holders[value].add(who)
    first = {value for value in values[:FIRST] if is_counted(value)}
    return {who for value in first if len(holders[value]) == 1 for who in holders[value]}


def are_nearly_all(some: int, members: int) -> bool:
    return members > 1 and (some >= members or (members >= 20 and 10 * some > 9 * members))
