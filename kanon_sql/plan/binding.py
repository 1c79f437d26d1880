"""The levels that a question applies to its columns.

`resolve` assigns each column its role, once; `bind` applies the levels. Whatever can't be queried
is rejected by these two, before SQL is rendered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kanon_sql.errors import Faults, SpecError, located
from kanon_sql.plan.levels import ColumnLevels, rows_of
from kanon_sql.plan.question import (
    AtLevel,
    BoundColumn,
    DataFacts,
    OtherTable,
    ResolvedQuestion,
    Roles,
    same_name,
)
from kanon_sql.question.roles import ROLES


def levels_of(levels: Mapping[str, int], columns: Sequence[BoundColumn]) -> dict[str, int]:
    """Requested levels above the raw value, by quasi-identifier."""
    names = [column.name for column in columns]
    requested = {
        column: next((level for name, level in levels.items() if same_name(name, column)), 0)
        for column in names
    }
    return {name: level for name, level in requested.items() if level}


def bind(roles: Roles, facts: DataFacts | None = None) -> ResolvedQuestion:
    """Apply the requested generalisation levels to every column.

    `facts` are the properties of the data that levels depend on. Raises `SpecError` with its
    location in the spec.
    """
    facts = facts or DataFacts()
    levels = tuple(_at_levels(roles, facts))
    generalised = {level.raw.name: level.column for level in levels}
    columns: dict[str, Any] = {
        role.key: tuple(generalised.get(column.name, column) for column in getattr(roles, role.key))
        for role in ROLES
        if role.is_compared and not role.is_single
    }
    return ResolvedQuestion(
        roles=roles,
        facts=facts,
        keys=columns["quasi_identifiers"],
        **columns,
        **{role.key: getattr(roles, role.key) for role in ROLES if role.is_single},
        others=tuple(_bind_other(other, roles, facts) for other in roles.others),
        checks=roles.checks,
        levels=levels,
    )


def _bind_other(other: OtherTable, roles: Roles, facts: DataFacts) -> OtherTable:
    generalised = tuple(_other_levels(other, roles, facts))
    columns = {column.raw.alias: column.column for column in generalised}
    return replace(
        other,
        quasi_identifiers=tuple(
            columns.get(column.alias, column) for column in other.quasi_identifiers
        ),
        columns={name: columns.get(column.alias, column) for name, column in other.columns.items()},
        sensitive={
            name: columns.get(column.alias, column) for name, column in other.sensitive.items()
        },
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
    for number, column in enumerate(roles.generalisable, start=1):
        level = roles.levels.get(column.name)
        if level:
            longest = facts.longest.get(column.name)
            levels = _levels_for(roles, column, column, facts, longest)
            with located("levels", column.name):
                _refuse_beyond_top("", column.name, levels, level)
            yield AtLevel(column, levels, level, number, portable=not roles.table.embedded)


def _refuse_beyond_top(prefix: str, name: str, levels: ColumnLevels, level: int) -> None:
    if level > levels.height:
        raise SpecError(
            f'{prefix}"{name}" has levels 0 to {levels.height}; level {level} was asked for.'
        )


def _other_levels(other: OtherTable, roles: Roles, facts: DataFacts) -> Iterator[AtLevel]:
    """Another table's columns, generalised by the table's hierarchies."""
    longest = facts.longest_in_other.get(other.key, {})
    # Numbered after the release's tables of labels, which the same statement may join.
    for index, column in enumerate(other.generalisable(roles), start=1 + len(roles.generalisable)):
        level = other.levels.get(column.name)
        if level:
            other_column = other.column_of(column)
            with located(*other.kind.place(other.name), "levels"):
                levels = _levels_for(roles, column, other_column, facts, longest.get(column.name))
                _refuse_beyond_top(f"{other.called}: ", column.name, levels, level)
            yield AtLevel(other_column, levels, level, index, portable=not other.table.embedded)
