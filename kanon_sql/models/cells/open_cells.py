"""An opened published table with its second tables, their columns resolved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from kanon_sql.auditing.facts import read_facts
from kanon_sql.auditing.opening import about
from kanon_sql.engines.base import Engine
from kanon_sql.errors import Faults, InputError, SpecError, located
from kanon_sql.models.cells.cell_question import CellCheck, CellQuestion, cell_question, table_of
from kanon_sql.models.cells.models import Differences
from kanon_sql.plan.binding import bind
from kanon_sql.plan.named_columns import NamedColumn
from kanon_sql.plan.question import DataFacts, Roles, same_name
from kanon_sql.plan.resolve import resolve
from kanon_sql.question.other_tables import AGAINST
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.question_parts import AgainstSpec, ReferenceSpec
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.tables import Table


class SecondTable(NamedTuple):
    """A table to compare with, and the dimensions of this table that it has, in its order."""

    question: CellQuestion
    shared: tuple[str, ...]


@dataclass(frozen=True)
class OpenCells:
    """A published table and its second tables, resolved on an engine."""

    question: CellQuestion
    others: Mapping[str, SecondTable]
    engine: Engine
    seconds: float


def to_open(spec: PublishedSpec) -> TableSpec:
    """The table with its second tables as references, so that their headers are known."""
    references = {
        name: ReferenceSpec(
            source=other.source,
            header=other.header,
            encoding=other.encoding,
            skip=other.skip,
            dates=other.dates,
        )
        for name, other in spec.against.items()
    }
    return table_of(spec).model_copy(update={"references": references})


def open_cells(
    spec: AuditSpec, index: int, engine: Engine, *, show_values: bool = False
) -> OpenCells:
    """Open a published table with its second tables, and resolve their columns."""
    started = time.monotonic()
    published = spec.published[index]

    def facts_of(roles: Roles) -> DataFacts:
        return read_facts(engine, roles, show_values=show_values)

    try:
        with located("source"):
            table = engine.table(published.source)
        seconds = {}
        for name, other in published.against.items():
            with located("against", name, "source"), about(AGAINST):
                seconds[name] = engine.table(other.source)
        question, others = resolved_cells(published, table, seconds, facts_of)
    except (SpecError, InputError) as error:
        engine.renew()
        for fault in (error, *getattr(error, "parts", ())):
            role, column = fault.location[:1], fault.location[1:]
            fault.location = (*(_KEYS.get(str(key), key) for key in role), *column)
        raise spec.with_location(error, index, "published") from None
    return OpenCells(question, others, engine, time.monotonic() - started)


def resolved_cells(
    published: PublishedSpec,
    table: Table,
    seconds: Mapping[str, Table],
    facts_of: Callable[[Roles], DataFacts],
) -> tuple[CellQuestion, dict[str, SecondTable]]:
    """The question on a published table and on those to compare with, resolved."""
    specs = {name: _second(published, other) for name, other in published.against.items()}
    with Faults() as faults:
        with faults.collected():
            roles = _roles(published, table)
        roles_there = {}
        for name, second in specs.items():
            with faults.collected(), _about_second(name):
                roles_there[name] = _roles(second, seconds[name])
    question = cell_question(published, bind(roles, facts_of(roles)))
    others = {}
    for name, there in roles_there.items():
        with _about_second(name):
            second_question = cell_question(specs[name], bind(there, facts_of(there)))
        own_names = _own_names(question, published.against[name].by or published.by)
        others[name] = SecondTable(second_question, tuple(own_names))
    return question, others


_KEYS = {"quasi_identifiers": "by", "entity": "contributor"}
"""What a published table calls the roles of a table of records."""


def _own_names(question: CellQuestion, names: Sequence[str]) -> Iterator[str]:
    """The dimensions of these names, in the spelling of the table."""
    own = [dimension.raw.name for dimension in question.dimensions]
    yield from (dimension for name in names for dimension in own if same_name(dimension, name))


def _roles(spec: PublishedSpec, table: Table) -> Roles:
    figures = [
        *(NamedColumn(name, (key,)) for key in ("value", "count") if (name := getattr(spec, key))),
        *(NamedColumn(flag, ("total_flag", name)) for name, flag in spec.total_flag.items()),
    ]
    return resolve(table_of(spec), table, {}, further=figures)


@contextmanager
def _about_second(name: str) -> Iterator[None]:
    """Let each fault say of which second table it is."""
    try:
        yield
    except SpecError as error:
        with Faults() as faults:
            for fault in error.parts or (error,):
                with faults.collected(), located("against", name):
                    raise SpecError(f"against {name}: {fault.marked}") from None


def _second(spec: PublishedSpec, other: AgainstSpec) -> PublishedSpec:
    """The spec of a second table, whose columns may have other names."""
    other_names = {own.casefold(): second for own, second in other.columns.items()}

    def other_name(own: str | None) -> str | None:
        return None if own is None else other_names.get(own.casefold(), own)

    by = other.by or spec.by
    return spec.model_copy(
        update={
            "source": other.source,
            "name": None,
            "by": [other_name(column) for column in by],
            "hierarchies": {
                other_name(name): hierarchy
                for name, hierarchy in spec.hierarchies.items()
                if name.casefold() in {column.casefold() for column in by}
            },
            "value": other_name(spec.value),
            "count": other_name(spec.count),
            "contributor": other_name(spec.contributor),
            "total_label": {
                other_name(column) if column != "*" else column: label
                for column, label in spec.total_label.items()
            },
            "total_flag": {
                other_name(column): other_name(flag) for column, flag in spec.total_flag.items()
            },
            "weight": None,
            "where": other.where,
            "first": None,
            "against": {},
            "checks": [],
            "policy": [],
        }
    )


def with_differences(table: OpenCells) -> Iterator[CellCheck]:
    """The checks, each comparison with its second table, and a comparison with each other table."""
    compared = set()
    for check in table.question.checks:
        model = check.model
        if isinstance(model, Differences):
            name = model.against or next(iter(table.others))
            compared.add(name)
            check = check._replace(model=model.model_copy(update={"against": name}))
        yield check
    for name in table.others:
        if name not in compared:
            yield CellCheck(Differences(against=name), requested=False)


def comparisons(table: OpenCells) -> Iterator[tuple[int, str, int | None]]:
    """The number of each comparison, the name of its second table, and the least difference."""
    for number, check in enumerate(with_differences(table), start=1):
        if isinstance(check.model, Differences) and check.model.against is not None:
            yield number, check.model.against, check.model.n
