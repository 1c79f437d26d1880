"""Opens a published table and its second tables, and resolves their columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kanon_sql.auditing.result import read_facts
from kanon_sql.engines.base import Engine
from kanon_sql.errors import InputError, SpecError, located
from kanon_sql.plan.cells import CellCheck, CellQuestion, cell_question, table_of
from kanon_sql.plan.question import DataFacts, Roles, same_name
from kanon_sql.plan.resolve import bind
from kanon_sql.plan.resolve_roles import resolve
from kanon_sql.spec.models.cells import Differences
from kanon_sql.spec.published import PublishedSpec
from kanon_sql.spec.question_parts import AgainstSpec, ReferenceSpec
from kanon_sql.spec.spec import AuditSpec, TableSpec
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
        name: ReferenceSpec(source=other.source, header=other.header)
        for name, other in spec.against.items()
    }
    return table_of(spec).model_copy(update={"references": references})


def open_cells(
    spec: AuditSpec, place: int, engine: Engine, *, show_values: bool = False
) -> OpenCells:
    """Open a published table with its second tables, and resolve their columns."""
    started = time.monotonic()
    published = spec.published[place]

    def facts_of(roles: Roles) -> DataFacts:
        return read_facts(engine, roles, show_values=show_values)

    try:
        with located("source"):
            table = engine.table(published.source)
        seconds = {}
        for name, other in published.against.items():
            with located("against", name, "source"):
                seconds[name] = engine.table(other.source)
        question, others = resolved_cells(published, table, seconds, facts_of)
    except (SpecError, InputError) as error:
        engine.renew()
        role, column = error.location[:1], error.location[1:]
        error.location = (*(_KEYS.get(str(key), key) for key in role), *column)
        raise spec.with_location(error, place, "published") from None
    return OpenCells(question, others, engine, time.monotonic() - started)


def resolved_cells(
    published: PublishedSpec,
    table: Table,
    seconds: Mapping[str, Table],
    facts_of: Callable[[Roles], DataFacts],
) -> tuple[CellQuestion, dict[str, SecondTable]]:
    """The question on a published table and on those to compare with, resolved."""
    question = _resolved(published, table, facts_of)
    others = {
        name: SecondTable(
            _second(published, name, other, seconds[name], facts_of),
            tuple(_own_names(question, other.by or published.by)),
        )
        for name, other in published.against.items()
    }
    return question, others


_KEYS = {"quasi_identifiers": "by", "entity": "contributor"}
"""What a published table calls the roles of a table of records."""


def _own_names(question: CellQuestion, names: Sequence[str]) -> Iterator[str]:
    """The dimensions of these names, in the spelling of the table."""
    own = [dimension.raw.name for dimension in question.dimensions]
    yield from (dimension for name in names for dimension in own if same_name(dimension, name))


def _resolved(
    spec: PublishedSpec, table: Table, facts_of: Callable[[Roles], DataFacts]
) -> CellQuestion:
    roles = resolve(table_of(spec), table, {})
    return cell_question(spec, bind(roles, facts_of(roles)))


def _second(
    spec: PublishedSpec,
    name: str,
    other: AgainstSpec,
    table: Table,
    facts_of: Callable[[Roles], DataFacts],
) -> CellQuestion:
    """The question on a second table, whose columns may have other names."""
    other_names = {own.casefold(): second for own, second in other.columns.items()}

    def other_name(own: str | None) -> str | None:
        return None if own is None else other_names.get(own.casefold(), own)

    by = other.by or spec.by
    own = spec.model_copy(
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
    try:
        return _resolved(own, table, facts_of)
    except SpecError as error:
        raise SpecError(f"against {name}: {error.marked}") from None


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
