"""The SQL of an audit, to read or to run elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from kanon_sql.auditing.facts import facts_unread
from kanon_sql.auditing.opening import about, name_of, opened, planned
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import offline_table, refuse_hidden_table, table_of_names
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import is_cut
from kanon_sql.errors import InputError, SpecError, did_you_mean, located, option
from kanon_sql.files import file_kind, is_url_of_object
from kanon_sql.models.cells.audit import cell_statements
from kanon_sql.models.cells.open_cells import OpenCells, open_cells, resolved_cells, to_open
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind
from kanon_sql.plan.named_columns import names_without_table, other_names_without_table
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundColumn, OtherTableKey, ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.question.spec import AuditSpec, TableSpec
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.ctes import named_sets, until
from kanon_sql.sql.dialects import Quote, name_in, quoted, rules_of, translated
from kanon_sql.sql.dialects.rules import TRAITS
from kanon_sql.sql.gate import sets_of
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.redaction import without_literals
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Table


@dataclass(frozen=True)
class CompiledTable:
    """The SQL of one table's audit: the text of each step by name."""

    name: str
    steps: Mapping[str, str]
    dialect: str = DIALECT

    def __str__(self) -> str:
        return "\n\n\n".join(f"{sql};" for sql in self.steps.values())


@dataclass(frozen=True)
class CompiledAudit:
    """The SQL that an audit would run, in order. Its string form is the complete text."""

    tables: tuple[CompiledTable, ...]

    def __str__(self) -> str:
        return "\n\n\n".join(str(table) for table in self.tables)

    def _repr_html_(self) -> str:
        """Notebook output: each statement, folded."""
        from kanon_sql.report import html
        from kanon_sql.report.document import Block, Heading, Verbatim

        blocks: list[Block] = []
        for table in self.tables:
            blocks.append(Heading([table.name]))
            blocks += [Verbatim(f"{sql};", name) for name, sql in table.steps.items()]
        return html.write(blocks)

    @property
    def statements(self) -> list[str]:
        """Every statement, below its header comment."""
        return [sql for table in self.tables for sql in table.steps.values()]

    @suggests_parameters
    def only(self, step: str) -> CompiledAudit:
        """The statement of this name, for each table that has it.

        Raises `SpecError` if none has.
        """
        tables = [table for table in self.tables if step in table.steps]
        if not tables:
            names = list(dict.fromkeys(name for table in self.tables for name in table.steps))
            raise SpecError(
                f'there is no step "{step}". Steps: {", ".join(names)}.{did_you_mean(step, names)}'
            )
        return CompiledAudit(
            tuple(replace(table, steps={step: table.steps[step]}) for table in tables)
        )

    @suggests_parameters
    def until(self, name: str) -> CompiledAudit:
        """Each statement with a CTE of this name, truncated to return that CTE's rows.

        Raises `SpecError` if no statement has such a CTE.
        """
        tables = (_table_until(table, name) for table in self.tables)
        truncated = CompiledAudit(tuple(table for table in tables if table.steps))
        if not truncated.tables:
            sets = {
                step: named_sets(sql, table.dialect)
                for table in self.tables
                for step, sql in table.steps.items()
            }
            raise SpecError(
                f'there is no set "{name}". '
                + " ".join(
                    f"Sets of {step}: {', '.join(has) or 'none'}." for step, has in sets.items()
                )
                + did_you_mean(name, [other for has in sets.values() for other in has])
            )
        return truncated

    def without_literals(self, names: frozenset[str]) -> str:
        """The statements with `?` for each literal and each name that is none of `names`."""
        return "\n\n\n".join(
            f"-- {step}\n{without_literals(sql, table.dialect, names)};"
            for table in self.tables
            for step, sql in table.steps.items()
        )

    @property
    def files(self) -> dict[str, str]:
        """One file per step by path, numbered in order; a folder for each of several tables."""
        folders = _names([table.name for table in self.tables])
        is_numbered = len(self.tables) > 1
        return {
            f"{folder}/{file}.sql" if is_numbered else f"{file}.sql": f"{sql};\n"
            for folder, table in zip(folders, self.tables, strict=True)
            for file, sql in zip(_names(list(table.steps)), table.steps.values(), strict=True)
        }


def _table_until(table: CompiledTable, name: str) -> CompiledTable:
    """Only the statements with this CTE, truncated there."""
    note = f"-- Until      {name}: its rows are shown, not the answer. They may be personal data."
    steps = {}
    for step, text in table.steps.items():
        if name in named_sets(text, table.dialect):
            header, _, sql = text.partition("\n\n")
            steps[step] = f"{header}\n{note}\n\n{until(sql, name, table.dialect)}"
    return replace(table, steps=steps)


def _names(names: Sequence[str]) -> list[str]:
    """Numbered names that are valid in every file system."""
    width = max(2, len(str(len(names))))
    return [
        f"{number:0{width}}_{re.sub(r'[^A-Za-z0-9._-]+', '_', name)[:100]}"
        for number, name in enumerate(names, start=1)
    ]


def compile(
    spec: AuditSpec,
    *,
    engine: Any = None,
    dialect: str | None = None,
    quote: Quote = "always",
    table: str | None = None,
    writes: Sequence[Path] = (),
) -> CompiledAudit:
    """The SQL that `audit` would run, without running it.

    The tables are opened, and a text file is read once to test that it can be. A table without a
    connection is assumed to have the columns that the question names. The default `dialect` is the
    engine's; in another one, a file becomes the table of the same name, or the one named by
    `table`. `quote="needed"` leaves plain names unquoted. `writes` are files to be written
    afterwards.

    Raises `SpecError` if the SQL cannot be written.
    """
    if quote not in ("always", "needed"):
        raise SpecError(f"quote is always or needed; found {quote!r}.")
    if table is not None and len(spec.tables) + len(spec.published) > 1:
        raise SpecError("table names one table, and there are several in the spec.")
    if dialect is not None:
        rules_of(dialect)
    form = _Written(dialect, quote, table, tuple(writes))
    return CompiledAudit(
        (
            *(_compiled(spec, index, engine, form) for index in range(len(spec.tables))),
            *(_compiled_cells(spec, index, engine, form) for index in range(len(spec.published))),
        )
    )


@dataclass(frozen=True)
class _Written:
    """The options for writing SQL."""

    dialect: str | None
    quote: Quote
    called: str | None
    writes: tuple[Path, ...]


def _compiled(spec: AuditSpec, index: int, engine: Any, form: _Written) -> CompiledTable:
    table_spec = spec.tables[index]
    dialect = form.dialect or DIALECT
    named_alone = (
        _is_named_alone(table_spec, table_spec.source, engine) and form.dialect is not None
    )
    with nullcontext() if named_alone else opened(table_spec, RunOptions(engine)) as hub:
        if hub is not None and form.dialect in (None, hub.dialect):
            if form.called is not None:
                raise SpecError(
                    f"{option('table')} says what a table is called in a database of another "
                    f"{option('dialect')}."
                )
            own = planned(spec, index, hub, hierarchies="opened").plan
            refuse_to_overwrite(form.writes, hub.files_read())
            return _as_executed(name_of(own), own.statements, hub, form.quote)
        try:
            table, others = _tables(table_spec, hub, engine, form.called, dialect)
            refuse_to_overwrite(form.writes, hub.files_read() if hub else ())
            plan = _plan_of(table_spec, table, others, dialect)
        except (SpecError, InputError) as error:
            raise spec.with_location(error, index) from None
    steps = [*_texts(plan.question, dialect), *plan.statements]
    for step, table in product(steps, plan.question.tables):
        refuse_hidden_table(table, sets_of(step.sql))
    return _for_elsewhere(name_of(plan), steps, plan.question, dialect, form.quote)


def _compiled_cells(spec: AuditSpec, index: int, engine: Any, form: _Written) -> CompiledTable:
    """The SQL on a published table; its steps that subtract cells from another are left out."""
    published = spec.published[index]
    with opened(to_open(published), RunOptions(engine)) as hub:
        if form.dialect in (None, hub.dialect):
            table = open_cells(spec, index, hub)
            facts = None
            first = next(cell_statements(table))
            if published.value is not None and first.name == "figures":
                first.check()
                [facts] = hub.query(first.sql)
            refuse_to_overwrite(form.writes, hub.files_read())
            name = table.question.resolved.spec.name or published.label
            return _as_executed(name, cell_statements(table, facts), hub, form.quote)
        dialect = form.dialect or DIALECT
        own = offline_table(hub.table(published.source), form.called)
        seconds = {
            name: offline_table(hub.table(other.source))
            for name, other in published.against.items()
        }
        try:
            question, others = resolved_cells(published, own, seconds, facts_unread)
        except SpecError as error:
            raise spec.with_location(error, index, "published") from None
        steps = list(cell_statements(OpenCells(question, others, hub, 0.0)))
    return _for_elsewhere(published.label, steps, question.resolved, dialect, form.quote)


def _is_named_alone(table_spec: TableSpec, source: Any, engine: Any) -> bool:
    """Whether a table is only a name: not a file, and without a database to query."""
    return (
        engine is None
        and table_spec.connect is None
        and isinstance(source, str)
        and file_kind(source) is None
        and not is_url_of_object(source)
        and not Path(source).exists()
        and not set(source) & set("*?[")
    )


def _as_executed(name: str, steps: Iterable[Statement], hub: Engine, quote: Quote) -> CompiledTable:
    """The statements in the dialect of the database that is connected."""
    texts = {}
    for step in steps:
        step.check()
        sql = quoted(hub.in_dialect(step.sql), hub.dialect, quote, exact_names=True)
        texts[step.name] = step.text(_executed(hub, step), sql)
    return CompiledTable(name, texts, hub.dialect)


def _executed(hub: Engine, step: Statement) -> str:
    """The dialect, and whether the statement is executed as it stands."""
    if is_cut(hub, step.sql):
        return f"{hub.dialect}, executed as one statement for each CTE, which is a temporary view"
    return f"{hub.dialect}, as executed"


def _tables(
    table_spec: TableSpec, hub: Engine | None, engine: Any, own_name: str | None, dialect: str
) -> tuple[Table, dict[OtherTableKey, Table]]:
    """The table, and its references and earlier releases, by their names in the target database."""
    if hub is None:
        own = table_of_names(
            table_spec.source, names_without_table(table_spec, dialect), dialect, own_name
        )
    else:
        with located("source"):
            own = offline_table(hub.table(table_spec.source), own_name)
    others = {}
    for kind, name, other in table_spec.other_tables():
        source = other.source
        if source is table_spec.source or (isinstance(source, str) and source == table_spec.source):
            other_table = own
        elif _is_named_alone(table_spec, source, engine):
            other_table = table_of_names(
                source, other_names_without_table(table_spec, other, dialect), dialect
            )
        else:
            database_of_other = nullcontext(hub) if hub else opened(table_spec, RunOptions(engine))
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


def _for_elsewhere(
    name: str, steps: Iterable[Statement], question: ResolvedQuestion, dialect: str, quote: Quote
) -> CompiledTable:
    """The statements in another dialect, with what they assume of the tables there."""
    texts = {}
    for step in steps:
        step.check()
        sql = quoted(translated(step.sql, dialect), dialect, quote, exact_names=False)
        texts[step.name] = step.text(_label(dialect), sql, list(_notes(question, dialect)))
    return CompiledTable(name, texts, dialect)


def _label(dialect: str) -> str:
    if TRAITS[dialect].executed:
        return f"{dialect}, generated; not executed here, as the tests of this release do"
    return f"{dialect}, generated and not executed"


def _notes(question: ResolvedQuestion, dialect: str) -> Iterator[tuple[str, str]]:
    """Assumptions of the SQL about the tables in the target database."""
    for table in question.tables:
        unknown = all(not column.type for column in table.columns)
        types = (
            "the types of its columns are unknown, so values are cast"
            if unknown
            else "its columns are assumed to have the same types as here"
        )
        yield "Table", f"{name_in(table.sql, dialect)} stands for {table.name}; {types}."


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
        render("texts_told_apart", columns=columns),
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
