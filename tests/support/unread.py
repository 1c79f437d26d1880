"""Which columns of a statement's sets nobody reads, and which sets only hand on another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

import sqlglot
from sqlglot import exp

Reads = dict[str, set[str]]


def unread(sql: str, dialect: str = "duckdb") -> list[str]:
    """Each column that a set names and that nothing reads, but what its rows are told apart by,
    and each set that has no more than the one it reads."""
    tree = sqlglot.parse_one(sql, read=dialect)
    sets = {cte.alias: cte.this for cte in tree.ctes}
    of_sets = {name: list(chain(*_outputs(query, sets))) for name, query in sets.items()}
    read = _read(tree, sets, of_sets)
    found = [
        f"{name}.{column}"
        for name, query in sets.items()
        for column in _named(query)
        if column not in read[name] | _keys(query)
    ]
    return found + [name for name, query in sets.items() if _hands_on(query, sets)]


def _first(query: exp.Expr) -> exp.Select:
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    assert isinstance(query, exp.Select)
    return query


def _sources(select: exp.Select) -> Mapping[str, str]:
    """What a SELECT reads, by the name that it has there."""
    read = [select.args.get("from_"), *select.args.get("joins", ())]
    tables = [each.this for each in read if each is not None]
    return {each.alias_or_name: each.name for each in tables if isinstance(each, exp.Table)}


def _starred(select: exp.Select) -> list[str]:
    """The sets of which a SELECT has every column."""
    sources = _sources(select)
    named = [each for each in select.expressions if each.is_star]
    if any(isinstance(each, exp.Star) for each in named):
        return list(sources.values())
    return [sources[each.table] for each in named if each.table in sources]


def _named(query: exp.Expr) -> list[str]:
    return [each.alias_or_name for each in _first(query).expressions if not each.is_star]


def _outputs(query: exp.Expr, sets: Mapping[str, exp.Expr]) -> Iterator[list[str]]:
    yield _named(query)
    for name in _starred(_first(query)):
        if name in sets:
            yield from _outputs(sets[name], sets)


def _keys(query: exp.Expr) -> set[str]:
    """What the rows of a set are told apart by."""
    keys = set()
    for select in query.find_all(exp.Select):
        group = select.args.get("group")
        by = {each.sql() for each in group.expressions} if group else set()
        for each in select.expressions:
            if select.args.get("distinct") or each.unalias().sql() in by:
                keys.add(each.alias_or_name)
    return keys


def _read(tree: exp.Expr, sets: Mapping[str, exp.Expr], of_sets: Mapping[str, list[str]]) -> Reads:
    """The columns of each set that are read, also through a set that has them all."""
    read: Reads = {name: set() for name in sets}
    handed: list[tuple[str, str | None]] = []
    for select in tree.find_all(exp.Select):
        sources = _sources(select)
        owner = select.find_ancestor(exp.CTE)
        handed += [(each, owner.alias if owner else None) for each in _starred(select)]
        for column in select.find_all(exp.Column):
            if column.find_ancestor(exp.Select) is select and not column.is_star:
                for name in [sources.get(column.table)] if column.table else sources.values():
                    if name in read and column.name in of_sets[name]:
                        read[name].add(column.name)
    for name, owner in reversed([each for each in handed if each[0] in sets]):
        read[name] |= set(of_sets[name]) & (read[owner] if owner else set(of_sets[name]))
    return read


def _hands_on(query: exp.Expr, sets: Mapping[str, exp.Expr]) -> bool:
    """Whether a set is another one with no more said of it."""
    clauses = ("group", "where", "having", "distinct", "joins", "order", "limit")
    if not isinstance(query, exp.Select) or any(query.args.get(each) for each in clauses):
        return False
    return set(_sources(query).values()) <= set(sets) and all(
        isinstance(each.unalias(), exp.Column) for each in query.expressions
    )
