"""The steps of a plan: one SELECT each over the declared tables, with its question in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kanon_sql.errors import InputError
from kanon_sql.plan.answers import Answers, any_fails
from kanon_sql.plan.question import AtLevel, BoundColumn, OtherTable, ResolvedQuestion, as_read
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Cited, Statement
from kanon_sql.sql.tables import Row, Table

_CTE_NAMES = ("records", "other_records")
"""Names of the CTEs that read text files."""


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A statement of an audit, with the condition under which it runs. What the condition is in
    words, the statement says itself (`only`)."""

    statement: Statement
    when: Callable[[Answers], bool] = lambda answers: True
    """Whether it runs, by the rows of the steps before it."""
    refuse: Callable[[Sequence[Row]], str | None] = lambda rows: None
    """The error message if its rows don't let the question be answered."""
    suits: Callable[[Answers], bool] = lambda answers: True
    """Whether the statement is right for these data; if not, `otherwise` gives the one that is."""
    otherwise: Callable[[], Statement] | None = None

    @property
    def name(self) -> str:
        return self.statement.name

    def accepted(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Its rows. Raises `InputError` for those that it refuses."""
        if (fault := self.refuse(rows)) is not None:
            raise InputError(fault)
        return rows

    def fault(self, question: ResolvedQuestion, answers: Answers) -> str | None:
        """The error message if the rows of all steps don't let its checks be answered."""
        return None

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        """Whether its rows count the classes and the people that the first steps count: each is a
        statement of its own, which may see another table."""
        return True

    def chosen(self, answers: Answers) -> Statement:
        """The statement that is right for these data."""
        if self.otherwise is None or self.suits(answers):
            return self.statement
        return self.otherwise()


class Precondition(PlannedStep):
    """A step whose row decides whether the question can be answered, and answers nothing."""


class ShownStep(PlannedStep):
    """A step whose rows are values of the data, and run on request only."""


def in_several_classes(answers: Answers) -> bool:
    """The condition that people have records in several classes."""
    return answers.in_several


def counts_everyone(step: PlannedStep, answers: Answers) -> bool:
    """Whether the figures of a step in people are about as many people as there are."""
    row = answers.people_of(step.name)
    return (
        row is None
        or "kanon_people" not in row
        or int(row["kanon_people"]) == answers.number_of_people
    )


def with_records(answers: Answers) -> bool:
    """The condition that the table has records."""
    return bool(answers.sizes)


def step(
    question: ResolvedQuestion,
    name: str,
    words: str,
    sql: str,
    *models: type[Cited],
    only: str = "",
    pass_conditions: Iterable[str] = (),
) -> Statement:
    """The statement of a step, restricted to the declared tables."""
    tables = frozenset(table.sql for table in question.tables)
    return Statement(
        name,
        words,
        with_files_as_ctes(sql, question),
        models,
        only,
        tables,
        tuple(pass_conditions),
        tuple(_filters(question, sql)),
    )


def _filters(question: ResolvedQuestion, sql: str) -> Iterator[str]:
    """The record filter of each table that the step reads, if it has one."""
    spec = question.spec
    filters = [
        (question.table, spec.where),
        *((other.table, other.spec.where) for other in question.others),
    ]
    for table, where in filters:
        if where and table.sql in sql:
            yield f"{table.name}: {where}"
    if spec.first and question.table.sql in sql:
        yield f"{question.table.name}: the first {spec.first:,} of these"


def with_files_as_ctes(sql: str, question: ResolvedQuestion) -> str:
    """The statement with each text file moved into a CTE that holds its reader options.

    A CTE is unordered, so with `first` the file is read in place.
    """
    if question.spec.first or {table.sql.casefold() for table in question.tables} & set(_CTE_NAMES):
        return sql
    table_by_name: dict[str, Table] = {}
    for table in dict.fromkeys(question.tables):
        if table.in_lines and table.sql in sql and len(table_by_name) < len(_CTE_NAMES):
            name = _CTE_NAMES[len(table_by_name)]
            sql, table_by_name[name] = sql.replace(table.sql, name), table
    if not table_by_name:
        return sql
    sets = [
        render(
            "records_of_file", name=name, reader=table.in_lines, columns=_columns_read(table, sql)
        )
        for name, table in table_by_name.items()
    ]
    return render("with_ctes_before", sets=sets, statement=sql)


def _columns_read(table: Table, sql: str) -> list[str]:
    """The columns a statement may read of a table; any one if it only counts."""
    folded = sql.casefold()
    named = [name for name in table.column_names if identifier(name).casefold() in folded]
    return named or [table.column_names[0]]


def records(question: ResolvedQuestion, columns: Sequence[BoundColumn]) -> str:
    """The relation after FROM, restricted to these columns: the records, or the frequency set that
    stands for them."""
    is_set = question.rolled_up
    return render(
        "records",
        relation=question.table.sql,
        columns=as_read(columns),
        where=question.where.sql if question.where and not is_set else None,
        first=None if is_set else question.spec.first,
        generalised=is_set or any(column.generalised for column in columns),
        rolled_up=is_set,
    )


def other_records(other: OtherTable, columns: Sequence[BoundColumn] | None = None) -> str:
    """The relation of another table; by default with its columns for the table's, its entity and
    its weight."""
    all_columns = [*other.columns.values(), other.entity, other.weight]
    selected = list({column.name: column for column in columns or all_columns if column}.values())
    return render(
        "records",
        relation=other.table.sql,
        columns=as_read(selected),
        where=other.where.sql if other.where else None,
        generalised=any(column.generalised for column in selected),
    )


def with_entity(question: ResolvedQuestion, columns: list[BoundColumn]) -> list[BoundColumn]:
    return [*columns, question.entity] if question.entity else columns


def counted(question: ResolvedQuestion) -> str:
    return "people" if question.entity else "records"


def name_list(columns: Sequence[BoundColumn]) -> str:
    """Column names as a list in words."""
    *others, last = [column.name for column in columns]
    return f"{', '.join(others)} and {last}" if others else last


def name_at_levels(name: str, levels: Iterable[AtLevel]) -> str:
    """The table's name, followed by its generalisation levels if there are any."""
    labels = [f"{column.raw.name} at {column.levels.label(column.level)}" for column in levels]
    return f"{name} ({', '.join(labels)})" if labels else name


def audited(question: ResolvedQuestion) -> str:
    """The audited table's name with its generalisation levels."""
    return name_at_levels(question.table.name, question.levels)


def fails(classes: str, answers: Answers) -> bool:
    """The condition that some of these classes fail a check."""
    return any_fails(answers.rows(classes))


def statement_named(name: str, statements: Callable[[], Sequence[Statement]]) -> Statement:
    return next(statement for statement in statements() if statement.name == name)
