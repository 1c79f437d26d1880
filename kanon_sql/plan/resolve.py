"""Binds resolved columns to the requested generalisation levels.

`resolve` assigns each column its role, once; `bind` applies the levels. Whatever can't be queried
is rejected by these two, before SQL is rendered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from kanon_sql.errors import Faults, SpecError, located
from kanon_sql.plan.levels import ColumnLevels, rows_of
from kanon_sql.plan.question import (
    AtLevel,
    BoundColumn,
    DataFacts,
    OtherTable,
    ResolvedQuestion,
    Roles,
)


def bind(roles: Roles, facts: DataFacts | None = None) -> ResolvedQuestion:
    """Apply the requested generalisation levels to every column.

    `facts` are the properties of the data that levels depend on. Raises `SpecError` with its
    location in the spec.
    """
    facts = facts or DataFacts()
    levels = tuple(_at_levels(roles, facts))
    generalised = {each.raw.name: each.column for each in levels}
    quasi_identifiers, events = (
        tuple(generalised.get(column.name, column) for column in columns)
        for columns in (roles.quasi_identifiers, roles.events)
    )
    return ResolvedQuestion(
        roles=roles,
        facts=facts,
        quasi_identifiers=quasi_identifiers,
        keys=quasi_identifiers,
        events=events,
        sensitive=roles.sensitive,
        entity=roles.entity,
        weight=roles.weight,
        others=tuple(_bind_other(each, roles, facts) for each in roles.others),
        checks=roles.checks,
        levels=levels,
    )


def _bind_other(other: OtherTable, roles: Roles, facts: DataFacts) -> OtherTable:
    generalised = tuple(_other_levels(other, roles, facts))
    columns = {each.raw.alias: each.column for each in generalised}
    return replace(
        other,
        quasi_identifiers=tuple(
            columns.get(column.alias, column) for column in other.quasi_identifiers
        ),
        columns={own: columns.get(column.alias, column) for own, column in other.columns.items()},
        generalised=generalised,
    )


def column_levels(
    roles: Roles, facts: DataFacts | None = None, *, without: Collection[str] = ()
) -> dict[str, ColumnLevels]:
    """The levels of every quasi-identifier and event column by name, except those in `without`.

    Raises `SpecError` for a hierarchy that can't be read, has faults or doesn't fit the type.
    """
    levels = {}
    with Faults() as faults:
        for column in roles.generalisable:
            if column.name not in without:
                with faults.collected():
                    levels[column.name] = _levels_for(roles, column, column, facts or DataFacts())
    return levels


def _levels_for(
    roles: Roles,
    column: BoundColumn,
    values: BoundColumn,
    facts: DataFacts,
    longest: int | None = None,
) -> ColumnLevels:
    """The levels of a quasi-identifier for the values of one column: its own or another table's."""
    hierarchy = roles.hierarchy(column)
    with located("quasi_identifiers", column.name):
        return ColumnLevels.of(
            values.name,
            values.type,
            hierarchy,
            longest=longest,
            table=facts.hierarchies.get(column.name) or rows_of(column.name, hierarchy),
            faults=roles.spec.hierarchy_faults,
            show_values=facts.show_values,
        )


def _at_levels(roles: Roles, facts: DataFacts) -> Iterator[AtLevel]:
    for place, column in enumerate(roles.generalisable, start=1):
        level = roles.levels.get(column.name)
        if level:
            longest = facts.longest.get(column.name)
            levels = _levels_for(roles, column, column, facts, longest)
            with located("quasi_identifiers", column.name):
                _refuse_beyond_top("", column.name, levels, level)
            yield AtLevel(column, levels, level, place, portable=not roles.table.embedded)


def _refuse_beyond_top(prefix: str, name: str, levels: ColumnLevels, level: int) -> None:
    if level > levels.height:
        raise SpecError(
            f'{prefix}"{name}" has levels 0 to {levels.height}; level {level} was asked for.'
        )


def _other_levels(other: OtherTable, roles: Roles, facts: DataFacts) -> Iterator[AtLevel]:
    """Another table's columns, generalised by the table's hierarchies."""
    longest = facts.longest_there.get(other.key, {})
    # Numbered after the release's tables of labels, which the same statement may join.
    for place, column in enumerate(roles.quasi_identifiers, start=1 + len(roles.generalisable)):
        level = other.levels.get(column.name)
        if level:
            there = other.columns[column.name]
            with located(other.kind.key, other.name, "levels"):
                levels = _levels_for(roles, column, there, facts, longest.get(column.name))
                _refuse_beyond_top(f"{other.called}: ", column.name, levels, level)
            yield AtLevel(there, levels, level, place, portable=not other.table.embedded)
