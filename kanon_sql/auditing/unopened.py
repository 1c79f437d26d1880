"""The tables of a question in a database without a connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.auditing.facts import facts_unread
from kanon_sql.auditing.opening import about, name_of, opened
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import offline_table, table_of_names
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import located
from kanon_sql.files import file_kind, is_url_of_object
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind
from kanon_sql.plan.named_columns import names_without_table, other_names_without_table
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundColumn, OtherTableKey, ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Table


class UnopenedTable(NamedTuple):
    """The question on a table in a target database, with its statements."""

    name: str
    question: ResolvedQuestion
    statements: Sequence[Statement]


class TargetDatabase(NamedTuple):
    """The database that statements are written for."""

    dialect: str
    called: str | None
    """What the table is called there, if the caller says so."""
    engine: Any

    def names(self, table_spec: TableSpec, source: Any) -> bool:
        """Whether a table is only a name: not a file, and without a database to query."""
        return (
            self.engine is None
            and table_spec.connect is None
            and isinstance(source, str)
            and file_kind(source) is None
            and not is_url_of_object(source)
            and not Path(source).exists()
            and not set(source) & set("*?[")
        )


def unopened_records(
    table_spec: TableSpec, hub: Engine | None, there: TargetDatabase
) -> UnopenedTable:
    """A table of records in a target database. Raises `SpecError` or `InputError`."""
    table, others = _tables(table_spec, hub, there)
    plan = _plan_of(table_spec, table, others, there.dialect)
    statements = [*_texts(plan.question, there.dialect), *plan.statements]
    return UnopenedTable(name_of(plan), plan.question, statements)


def _tables(
    table_spec: TableSpec, hub: Engine | None, there: TargetDatabase
) -> tuple[Table, dict[OtherTableKey, Table]]:
    """The table, and its references and earlier releases, by their names in the target database."""
    if hub is None:
        own = table_of_names(
            table_spec.source,
            names_without_table(table_spec, there.dialect),
            there.dialect,
            there.called,
        )
    else:
        with located("source"):
            own = offline_table(hub.table(table_spec.source), there.called)
    others = {}
    for kind, name, other in table_spec.other_tables():
        source = other.source
        if source is table_spec.source or (isinstance(source, str) and source == table_spec.source):
            other_table = own
        elif there.names(table_spec, source):
            other_table = table_of_names(
                source, other_names_without_table(table_spec, other, there.dialect), there.dialect
            )
        else:
            database_of_other = (
                nullcontext(hub) if hub else opened(table_spec, RunOptions(there.engine))
            )
            with database_of_other as database, located(*kind.place(name), "source"), about(kind):
                other_table = offline_table(database.table(source))
        others[kind, name] = other_table
    return own, others


def _plan_of(
    table_spec: TableSpec, table: Table, others: Mapping[OtherTableKey, Table], dialect: str
) -> Plan:
    """The plan for tables of a database without a connection: reads nothing, not even facts."""

    def there(table: Table) -> Table:
        traits = TRAITS[dialect]
        return replace(
            table,
            rereads=traits.rereads,
            approximates=traits.approximates,
            samples=traits.samples,
            numbered_by="",
            bits={},
        )

    roles = resolve(table_spec, there(table), {key: there(other) for key, other in others.items()})
    return plan_audit(bind(roles, facts_unread(roles)))


def _texts(question: ResolvedQuestion, dialect: str) -> Iterator[Statement]:
    """The step that tests whether the database's collation treats different texts as equal."""
    columns = list(_text_columns(question))
    if TRAITS[dialect].bytewise or not columns:
        return
    yield Statement(
        "texts",
        "Does the database distinguish texts that differ by case, accents or outer blanks? If two "
        "counts of a row differ, classes look larger than they are, and no other figure is "
        "reliable.",
        render("distinct_texts", columns=columns),
        only="before everything else",
        tables=frozenset(table.sql for table in question.tables),
    )


def _text_columns(
    question: ResolvedQuestion,
) -> Iterator[tuple[str, list[tuple[BoundColumn, str]]]]:
    """Columns that may be text, each with the columns that its values are compared with."""
    pairs: list[tuple[BoundColumn, list[tuple[BoundColumn, str]]]] = [
        (
            column,
            [
                (reference.columns[column.name], reference.table.sql)
                for reference in question.references.values()
            ],
        )
        for column in question.quasi_identifiers
    ]
    pairs += [
        (
            column,
            [
                (earlier.sensitive[column.name], earlier.table.sql)
                for earlier in question.earlier.values()
                if column.name in earlier.sensitive
            ],
        )
        for column in question.sensitive
    ]
    if question.entity:
        entities = [
            (other.entity, other.table.sql) for other in question.earlier.values() if other.entity
        ]
        pairs.append((question.entity, entities))
    for column, others in pairs:
        sources = [(column, question.table.sql), *others]
        if all(column.is_text or column.generalised for column, _ in sources):
            yield column.name, [(replace(column, generalised=None), sql) for column, sql in sources]
    for earlier in question.earlier.values():
        for column in earlier.quasi_identifiers:
            if column.is_text or column.generalised:
                source = (replace(column, generalised=None), earlier.table.sql)
                yield f"{column.name} of {earlier.name}", [source]
