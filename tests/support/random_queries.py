"""Random queries over four tables, with the columns that change if one origin's values change.

DuckDB runs each query on tables that differ in the values of one column alone. Whatever cell
changes, the column is computed from that origin, or the origin decides which records there are.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import duckdb

TABLES: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    "people": {
        "pid": ("int", "entity"),
        "email": ("text", "identifier"),
        "zip": ("text", "quasi_identifier"),
        "born": ("date", "quasi_identifier"),
        "dx": ("text", "sensitive"),
        "size": ("int", None),
    },
    "visits": {
        "pid": ("int", "entity"),
        "day": ("date", "event"),
        "cost": ("int", "sensitive"),
        "room": ("int", None),
    },
    "zips": {"zip": ("text", None), "county": ("text", None), "pop": ("int", None)},
    "codes": {"dx": ("text", None), "chapter": ("text", None)},
}
"""The tables: the type and the role of each column."""
ORIGINS = [
    (table, column)
    for table, columns in TABLES.items()
    for column, (_, role) in columns.items()
    if role not in (None, "entity")
]
Types = Mapping[str, str]
_LITERALS = {"text": "'k'", "int": "7", "date": "date '2001-02-03'"}
_TEMPLATES: Mapping[str, Sequence[str]] = {
    "text": (
        "left({text}, 2)", "upper({text})", "{text} || {text}", "md5({text})",
        "coalesce({text}, {text})", "case when {bool} then {text} else {text} end",
        "case {text} when 'a' then {text} end", "if({bool}, {text}, 'z')",
        "nullif({text}, {text})", "cast({int} as varchar)", "strftime({date}, '%Y-%m')",
        "split_part({text}, '@', 2)", "regexp_replace({text}, '[0-9]', '#')",
        "concat({text}, {int})", "concat_ws('-', {text}, {date})", "greatest({text}, {text})",
        "list_extract([{text}, {text}], 1)", "struct_pack(a := {text}).a", "reverse({text})",
        "array_to_string([{text}, {text}], ',')", "lpad({text}, 5, {text})",
        "(select max(q.county) from zips q where q.zip = {text})",
    ),
    "int": (
        "{int} + {int}", "{int} * 3", "{int} // 10", "{int} % 4", "abs({int})", "year({date})",
        "length({text})", "date_diff('day', {date}, date '2024-01-01')",
        "date_diff('day', {date}, {date})", "cast({bool} as int)", "round({int}, -1)::int",
        "case when {bool} then {int} end", "(hash({text}) % 97)::int", "instr({text}, 'a')",
        "len(list_filter([{int}, {int}], each -> each > 3))", "coalesce({int}, {int})",
        "extract(month from {date})::int", 
        "(select count(*) from visits q where q.cost > {int})::int",
        "(select max(q.cost) from visits q where q.room = {int} and q.day > {date})",
    ),
    "date": (
        "date_trunc('month', {date})::date", "{date} + {int} % 9", "coalesce({date}, {date})",
        "case when {bool} then {date} else {date} end", "last_day({date})",
        "(select min(q.day) from visits q where q.pid = {int})",
    ),
    "bool": (
        "{int} > {int}", "{text} = {text}", "{date} < date '1980-01-01'", "{text} in ('A', 'B')",
        "{text} is null", "{text} is not null", "{int} between 3 and 40", "not ({text} like '%1%')",
        "({bool} or {bool})",
        "exists (select 1 from visits q where q.room = {int} and q.cost > 400)",
        "{text} in (select q.zip from people q where q.size > {int})",
    ),
}  # fmt: skip
_AGGREGATES = {
    "int": (
        "count(*)::int", "count({text})::int", "count(distinct {text})::int", "sum({int})::int",
        "max({int})", "(count(*) filter (where {bool}))::int", "arg_max({int}, {int})",
        "median({int})::int",
    ),
    "text": (
        "min({text})", "string_agg({text}, ',' order by {text}, {int})", "arg_min({text}, {int})",
        "max(case when {bool} then {text} end)", "mode({text})",
    ),
    "date": ("max({date})", "min({date})"),
}  # fmt: skip
_WINDOWS = {
    "int": (
        "(row_number() {over})::int", "(rank() {over})::int", "lag({int}) {over}",
        "(sum({int}) {over})::int", "(count(*) over (partition by {text}))::int",
        "(sum({int}) over (partition by {text}))::int",
    ),
    "text": ("first_value({text}) {over}", "max({text}) over (partition by {int})"),
}  # fmt: skip
_OVER = "over (partition by {text} order by {int}, {date}, {text})"


@dataclass
class Writer:
    """Writes random queries; the same seed writes the same."""

    random: random.Random
    ctes: dict[str, Types] = field(default_factory=dict)

    def query(self) -> tuple[str, Types]:
        """A statement with up to two CTEs, and the types of its columns."""
        self.ctes = {}
        texts = []
        for name in ("first", "second")[: self.random.randrange(3)]:
            text, types = self.select(1)
            texts.append(f"{name}_ as ({text})")
            self.ctes[f"{name}_"] = types
        text, types = self.select(0)
        return (f"with {', '.join(texts)} {text}" if texts else text), types

    def select(self, depth: int) -> tuple[str, Types]:
        tables, columns = self.tables(depth)
        where = f" where {self.value('bool', columns)}" if self.random.random() < 0.3 else ""
        if self.random.random() < 0.3:
            return self.grouped(tables + where, columns)
        items, types = [], {}
        for number in range(self.random.randrange(1, 4)):
            type_ = self.random.choice(("text", "text", "int", "date"))
            of_window = self.random.random() < 0.2 and type_ in _WINDOWS
            text = (
                self.filled(self.random.choice(_WINDOWS[type_]), columns, 1)
                if of_window
                else self.value(type_, columns)
            )
            items.append(f"{text} as c{number}")
            types[f"c{number}"] = type_
        if self.random.random() < 0.15:
            items.append("t0.*")
            own = {name.split(".")[1]: type_ for name, type_ in columns.items() if name[:2] == "t0"}
            types |= own
        distinct = "distinct " if self.random.random() < 0.1 else ""
        text = f"select {distinct}{', '.join(items)} from {tables}{where}"
        if self.random.random() < 0.1:
            other = [f"{self.value(each, columns)} as {name}" for name, each in types.items()]
            text = f"{text} union all select {', '.join(other)} from {tables}"
        return text, types

    def grouped(self, tables: str, columns: Types) -> tuple[str, Types]:
        items, types, keys = [], {}, []
        for number in range(self.random.randrange(3)):
            type_ = self.random.choice(("text", "int", "date"))
            items.append(f"{self.value(type_, columns)} as g{number}")
            types[f"g{number}"] = type_
            keys.append(str(number + 1))
        for number in range(self.random.randrange(1, 3)):
            type_ = self.random.choice(tuple(_AGGREGATES))
            text = self.filled(self.random.choice(_AGGREGATES[type_]), columns, 1)
            items.append(f"{text} as a{number}")
            types[f"a{number}"] = type_
        group = f" group by {', '.join(keys)}" if keys else ""
        return f"select {', '.join(items)} from {tables}{group}", types

    def tables(self, depth: int) -> tuple[str, Types]:
        known = {
            **{
                name: {column: type_ for column, (type_, _) in columns.items()}
                for name, columns in TABLES.items()
            },
            **self.ctes,
        }
        text, columns = "", dict[str, str]()
        for number in range(self.random.choice((1, 1, 2, 2, 3))):
            alias, name = f"t{number}", self.random.choice(tuple(known))
            source, types = name, known[name]
            if depth < 2 and self.random.random() < 0.15:
                inner, types = self.select(depth + 1)
                source = f"({inner})"
            own = {f"{alias}.{column}": type_ for column, type_ in types.items()}
            if not text:
                text, columns = f"{source} {alias}", own
                continue
            pairs = [(a, b) for a in columns for b in own if columns[a] == own[b]]
            shared = [(a, b) for a, b in pairs if a.split(".")[1] == b.split(".")[1]]
            if not pairs:
                break
            left, right = self.random.choice(shared or pairs)
            kind = self.random.choice(("join", "left join", "left join", "right join", "full join"))
            columns = {**columns, **own}
            more = f" and {self.value('bool', columns, 2)}" if self.random.random() < 0.2 else ""
            text += f" {kind} {source} {alias} on {left} = {right}{more}"
        return text, columns

    def value(self, type_: str, columns: Types, depth: int = 0) -> str:
        """An expression of a type."""
        named = [name for name, each in columns.items() if each == type_]
        if type_ != "bool" and (depth > 2 or self.random.random() < 0.3):
            has_column = named and self.random.random() < 0.9
            return self.random.choice(named) if has_column else _LITERALS[type_]
        return self.filled(self.random.choice(_TEMPLATES[type_]), columns, depth + 1)

    def filled(self, template: str, columns: Types, depth: int) -> str:
        parts = template.replace("{over}", _OVER).split("{")
        text = parts[0]
        for part in parts[1:]:
            type_, _, rest = part.partition("}")
            is_deep = type_ == "bool" and depth > 2
            text += "true" if is_deep else self.value(type_, columns, depth)
            text += rest
        return text


@dataclass(frozen=True)
class Tried:
    """A query that DuckDB ran on every database."""

    sql: str
    columns: tuple[str, ...]
    changed: tuple[frozenset[tuple[str, str]], ...]
    """The origins whose values change the cells of each column."""
    resized: frozenset[tuple[str, str]]
    """The origins whose values change the number of records."""


class Trial:
    """Tables that differ in the values of one column alone."""

    def __init__(self) -> None:
        base = _records(random.Random(1))
        self._main = _database(base)
        self._others = {origin: _database(_changed(base, *origin)) for origin in ORIGINS}
        self._mixed = [_database(_shuffled(base, number)) for number in range(3)]

    def of(self, sql: str) -> Tried | None:
        """What changes the result of a query; None if the order of the records does."""
        names, cells, size = _cells(self._main, sql)
        if size > 20_000 or any(_cells(each, sql)[1] != cells for each in self._mixed):
            return None
        changed: list[set[tuple[str, str]]] = [set() for _ in names]
        resized = set()
        for origin, database in self._others.items():
            if origin[0] in sql:
                _, other, other_size = _cells(database, sql)
                resized |= {origin} if other_size != size else set()
                for found, own, theirs in zip(changed, cells, other, strict=True):
                    found |= {origin} if own != theirs else set()
        return Tried(sql, tuple(names), tuple(map(frozenset, changed)), frozenset(resized))


def tried_queries(seed: int, count: int) -> Iterator[Tried]:
    """Queries that DuckDB runs, whose results do not depend on the order of the records."""
    trial, writer, found = Trial(), Writer(random.Random(seed)), 0
    while found < count:
        sql, _ = writer.query()
        try:
            tried = trial.of(sql)
        except duckdb.Error:
            continue
        if tried is not None:
            found += 1
            yield tried


Records = dict[str, list[list[Any]]]


def _records(chance: random.Random) -> Records:
    zips = [f"0{number}" for number in range(2100, 2112)]
    draw: dict[str, Callable[[], Any]] = {
        "email": lambda: f"m{chance.randrange(30)}@x.org",
        "zip": lambda: chance.choice(zips),
        "born": lambda: date(1940, 1, 1) + timedelta(chance.randrange(20_000)),
        "dx": lambda: chance.choice("ABCD"),
        "day": lambda: date(2024, 1, 1) + timedelta(chance.randrange(300)),
        "cost": lambda: chance.randrange(1000),
    }
    return {
        "people": [
            [n, draw["email"](), draw["zip"](), draw["born"](), draw["dx"](), chance.randrange(50)]
            for n in range(25)
        ],
        "visits": [
            [chance.randrange(25), draw["day"](), draw["cost"](), chance.randrange(9)]
            for _ in range(40)
        ],
        "zips": [[each, chance.choice("KES"), chance.randrange(9999)] for each in zips],
        "codes": [[each, chance.choice("pq")] for each in "ABCD"],
    }


def _changed(records: Records, table: str, column: str) -> Records:
    """The records with other values in one column."""
    place, other = list(TABLES[table]).index(column), _records(random.Random(5))
    rows = [list(row) for row in records[table]]
    for row, drawn in zip(rows, other[table], strict=True):
        row[place] = f"n{drawn[place]}" if column == "email" else drawn[place]
    return {**records, table: rows}


def _shuffled(records: Records, seed: int) -> Records:
    chance = random.Random(seed)
    return {table: chance.sample(rows, len(rows)) for table, rows in records.items()}


def _database(records: Records) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for table, columns in TABLES.items():
        declared = ", ".join(f"{name} {type_}" for name, (type_, _) in columns.items())
        connection.execute(f"create table {table} ({declared})")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"insert into {table} values ({marks})", records[table])
    return connection


def _cells(
    connection: duckdb.DuckDBPyConnection, sql: str
) -> tuple[list[str], list[Counter[str]], int]:
    """The names of the columns, the cells of each, and the number of records."""
    cursor = connection.execute(sql)
    names, rows = [each[0] for each in cursor.description or ()], cursor.fetchall()
    return names, [Counter(repr(row[n]) for row in rows) for n in range(len(names))], len(rows)
