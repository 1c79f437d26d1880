"""The SQL of an audit, to read or to run elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from kanon_sql.auditing.auditor import kinds_of
from kanon_sql.auditing.opening import opened
from kanon_sql.auditing.subjects import Opening, SubjectKind
from kanon_sql.auditing.unopened import TargetDatabase, UnopenedTable
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import refuse_hidden_table
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import is_cut
from kanon_sql.errors import SpecError, did_you_mean, option
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.question.spec import AuditSpec
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.ctes import named_sets, until
from kanon_sql.sql.dialects import Quote, name_in, quoted, rules_of, translated
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.gate import sets_of
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.redaction import without_literals
from kanon_sql.sql.statement import Statement


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
        tuple(
            _compiled(kind, spec, index, engine, form)
            for kind in kinds_of(spec)
            for index in range(len(kind.tables(spec)))
        )
    )


@dataclass(frozen=True)
class _Written:
    """The options for writing SQL."""

    dialect: str | None
    quote: Quote
    called: str | None
    writes: tuple[Path, ...]


def _compiled(
    kind: SubjectKind, spec: AuditSpec, index: int, engine: Any, form: _Written
) -> CompiledTable:
    table = kind.tables(spec)[index]
    there = TargetDatabase(form.dialect or DIALECT, form.called, engine)
    is_unopened = form.dialect is not None and kind.reads_names and there.names(table, table.source)
    with nullcontext() if is_unopened else opened(table, RunOptions(engine)) as hub:
        if hub is not None and form.dialect in (None, hub.dialect):
            if form.called is not None:
                raise SpecError(
                    f"{option('table')} says what a table is called in a database of another "
                    f"{option('dialect')}."
                )
            subject = kind.open(spec, index, hub, Opening(hierarchies="opened"))
            refuse_to_overwrite(form.writes, hub.files_read())
            return _as_executed(subject.name, subject.statements(reads_facts=True), hub, form.quote)
        unopened = kind.elsewhere(spec, index, hub, there)
        refuse_to_overwrite(form.writes, hub.files_read() if hub else ())
    for step, read in product(unopened.statements, unopened.question.tables):
        refuse_hidden_table(read, sets_of(step.sql))
    return _for_elsewhere(unopened, there.dialect, form.quote)


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


def _for_elsewhere(unopened: UnopenedTable, dialect: str, quote: Quote) -> CompiledTable:
    """The statements in another dialect, with what they assume of the tables there."""
    texts = {}
    for step in unopened.statements:
        step.check()
        sql = quoted(translated(step.sql, dialect), dialect, quote, exact_names=False)
        notes = list(_notes(unopened.question, dialect))
        texts[step.name] = step.text(_label(dialect), sql, notes)
    return CompiledTable(unopened.name, texts, dialect)


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
