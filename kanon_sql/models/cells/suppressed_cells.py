"""Which suppressed cells of a table can be derived: as it is published, or as its records would be
published with exactly the sensitive cells suppressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from kanon_sql.auditing.fetched_sets import fetch_hub
from kanon_sql.engines.base import Hub
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, plural
from kanon_sql.models.cells.cell_question import CellCheck, CellQuestion, Dimension
from kanon_sql.models.cells.derivability import MOST_UNKNOWNS, Derivation, DerivedRelations, derive
from kanon_sql.models.cells.models import Derivable
from kanon_sql.models.cells.plan import CellStatements, is_repeated
from kanon_sql.models.cells.published_plan import (
    CellRelation,
    PublishedCells,
    inwards,
    nodes_of,
)
from kanon_sql.models.cells.whole_tables import MOST_SECONDS
from kanon_sql.results.cells import CellCheckResult
from kanon_sql.sql.quoting import generated_or_quoted
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

MOST_CELLS = 5_000_000
"""Maximum number of cells that are fetched, or searched."""
MOST_ADDED_UP = 500_000
"""Maximum number of cells whose totals are added up without a derivability check: above, that
takes longer than the other rules."""
FIGURES = "kanon_figures"


class Derived(NamedTuple):
    """The results of derivability checks by number, with counts and warnings of the table."""

    checks: Mapping[int, CellCheckResult]
    implied_cells: int
    absent_cells: int
    warnings: Sequence[str]
    intervals: Sequence[Row] | None = None
    """The labels, the interval and the step of each hidden cell, if they are listed."""
    figures: Sequence[Row] | None = None
    """The cells made from records with the same labels, if they are listed."""
    is_exact: bool = False
    """Whether the intervals are exact where their cells are decided."""


NOTHING = Derived({}, 0, 0, ())
Listing = Literal["no", "steps", "intervals"]
"""Whether each cell is listed, and with its exact interval."""


def derived_cells(
    table: CellStatements,
    checks: Mapping[int, CellCheck],
    session: Session,
    cells: int,
    *,
    listing: Listing,
    doubtful: bool,
) -> Derived:
    """Derive the suppressed cells of a table as it is published, or of one made from records its
    sensitive cells, if just these were suppressed; `doubtful` if a row may be a total that isn't
    declared.

    Raises `InputError` if totals don't add up; if nothing was required of a published table, that
    is a warning.
    """
    is_published = isinstance(table, PublishedCells)
    adds_up = isinstance(table, PublishedCells) and table.has_totals and cells <= MOST_ADDED_UP
    if not checks and not adds_up:
        return NOTHING
    if (table.question.spec.declared_totals or "").startswith("rounded"):
        results = {n: _undecided_result(check, totals=True) for n, check in checks.items()}
        return NOTHING._replace(checks=results)
    if cells > MOST_CELLS:
        return _unsearched_results(table.question, checks, _limit_message(cells))
    with _hub(session) as hub, DerivedRelations(hub, frozenset({FIGURES})) as run:
        is_listed, figures = bool(checks) and listing != "no", None
        fetching = table.listed if is_listed and not is_published else table.each_cell
        with _fetched(fetching(FIGURES), session, hub, once=is_published):
            if isinstance(table, PublishedCells):
                relation = _as_published(table, run, bool(checks), doubtful)
            else:
                relation = _from_records(table, run)
                if is_listed:
                    dimensions = _record_dimensions(table.question)
                    figures = run.rows("labelled_figures", figures=FIGURES, dimensions=dimensions)
        try:
            derived = _derived(hub, relation, checks, listing)
        except InputError as error:
            if not is_published:
                raise
            return _unsearched_results(table.question, checks, error.marked)
    return derived._replace(figures=figures)


def json_number(figure: Any) -> int | float | None:
    """A figure as a number of JSON, whatever type the engine gives it."""
    if figure is None:
        return None
    return int(figure) if figure == int(figure) else float(figure)


def _unsearched_results(
    question: CellQuestion, checks: Mapping[int, CellCheck], why: str
) -> Derived:
    """The results of a table that can't be searched. Raises `InputError` if one was required."""
    if any(check.gates for check in checks.values()):
        raise InputError(f"{question.resolved.table.name}: {why}") from None
    return Derived({n: _undecided_result(check) for n, check in checks.items()}, 0, 0, [why])


def undecided(checks: Mapping[int, CellCheck], hidden: int) -> Derived:
    """The results where contributors lie in several cells, so that no margin is a sum of cells, and
    nothing follows by subtraction."""
    nothing = Derivation(hidden, 0, 0, 0, 0, 0, hidden, None, 0, 0, 0, holds=not hidden)
    results = {
        number: _result(check, replace(nothing, holds=not hidden or model.undecided == "pass"))
        for number, check in checks.items()
        if isinstance(model := check.model, Derivable)
    }
    warning = (
        "some contributors lie in several cells, so that totals are no sums of cells, and whether "
        "a cell follows by subtraction can't be told."
    )
    return Derived(results, 0, 0, [warning] if hidden else [])


def _derived(
    hub: Session, relation: CellRelation, checks: Mapping[int, CellCheck], listing: Listing
) -> Derived:
    models = [check.model for check in checks.values() if isinstance(check.model, Derivable)]
    models = models or [Derivable()]
    is_exact = listing == "intervals"
    derivations = derive(hub, relation, models, exact=is_exact, listed=listing != "no")
    results = {
        number: _result(check, derivation)
        for (number, check), derivation in zip(checks.items(), derivations, strict=False)
    }
    warnings = []
    if left := max(derivation.undecided_cells for derivation in derivations):
        why = (
            "a row may be a total that is not declared"
            if relation.doubtful
            else f"pip install 'kanon-sql[estimates]' decides up to {MOST_UNKNOWNS:,} cells that "
            "hang together"
            if any(derivation.lacks_scipy for derivation in derivations)
            else f"the search for tables of whole numbers ended at its limit of {MOST_SECONDS:g} s "
            "for cells that hang together"
            if any(derivation.is_cut_short for derivation in derivations)
            else f"more than {MOST_UNKNOWNS:,} unknown cells hang together, or the figures are too "
            "large for linear programming to be exact"
        )
        hidden = plural(derivations[0].suppressed, "suppressed cell")
        warnings.append(f"can't tell for {left:,} of {hidden}: {why}.")
    first = derivations[0]
    counts = (first.implied_cells, first.absent_cells)
    return Derived(results, *counts, warnings, first.intervals, is_exact=is_exact)


def _undecided_result(check: CellCheck, *, totals: bool = False) -> CellCheckResult:
    """The result of a measure that this table does not allow, or of a check if `totals` don't."""
    details: dict[str, Any] = dict.fromkeys(DETAILS)
    if totals and check.gates:
        details["evidence"] = "totals"
    return CellCheckResult(
        check.model.name(), check.model.model_dump(), None, None, details=details
    )


DETAILS = (
    *("suppressed", "derived_cells", "by_subtraction", "by_bounds", "by_linear_programming"),
    *("by_integer_programming", "undecided_cells", "small_remainders", "steps", "narrowest"),
)


def _result(check: CellCheck, derivation: Derivation) -> CellCheckResult:
    return CellCheckResult(
        model=check.model.name(),
        parameters=check.model.model_dump(),
        holds=derivation.holds if check.gates else None,
        achieved=derivation.derived_cells,
        details={
            **{name: getattr(derivation, name) for name in DETAILS},
            "narrowest": json_number(derivation.narrowest),
        },
    )


# --- relations ------------------------------------------------------------------------------


@contextmanager
def _hub(session: Session) -> Iterator[Session]:
    """A session of the embedded engine: the own one, or a private one to fetch cells into. Its
    statements are not logged, as nobody could run one of them alone."""
    engine = session.engine
    if engine.materialises and isinstance(engine, Hub):
        yield replace(session, sql_by_step={})
        return
    with fetch_hub(session.run, session.started, session.expired) as (private, _):
        yield replace(session, engine=private, sql_by_step={})


@contextmanager
def _fetched(
    step: Statement, session: Session, hub: Session, *, once: bool = False
) -> Iterator[None]:
    """The rows of a statement as a relation of the hub, which is read `once` or more often."""
    if session.engine is hub.engine:
        (session.create_view if once else session.materialise)(step)
    else:
        rows = session.rows(step)
        columns = list(rows[0])
        texts = [[None if cell is None else str(cell) for cell in row.values()] for row in rows]
        hub.engine.materialise_rows(step.name, columns, texts)
    try:
        yield
    finally:
        hub.engine.drop(step.name)


def _as_published(
    table: PublishedCells, run: DerivedRelations, is_checked: bool, doubtful: bool
) -> CellRelation:
    """The cells that a published table shows."""
    spec, type = table.question.spec, _type(table.decimals)
    cells = run.make(
        "published", "typed_cells", figures=FIGURES, dimensions=table.places, type=type
    )
    parents: list[str | None] = []
    for number, dimension in enumerate(table.question.dimensions, start=1):
        rows = [(node, parent) for node, (_, parent) in nodes_of(dimension).items()]
        columns = ("kanon_node", "kanon_parent")
        parents.append(run.make_rows(f"parents_{number}", columns, rows) if rows else None)
    low, high = spec.value_bounds if is_checked else (None, None)
    low, high = inwards(low, "low", spec), inwards(high, "high", spec)
    is_count = not spec.is_magnitude
    return CellRelation(
        relation=cells,
        dimensions=len(parents),
        parents=tuple(parents),
        whole=is_count,
        absent=spec.absent,
        low=low,
        high=high,
        totals=spec.declared_totals,
        doubtful=doubtful,
    )


def _from_records(table: CellStatements, run: DerivedRelations) -> CellRelation:
    """The cells of a table made from records, of which the sensitive ones are suppressed."""
    question, type = table.question, _type(table.exact.decimals)
    dimensions = _record_dimensions(question)
    [least] = run.rows("least_figure", figures=FIGURES, type=type)
    low = Decimal(0) if (least["kanon_least"] or 0) >= 0 else None
    cells = run.make(
        "published",
        "cells_of_records",
        figures=FIGURES,
        dimensions=dimensions,
        type=type,
        low="null" if low is None else "0",
    )
    parents = tuple(
        run.make(
            f"parents_{dimension['number']}",
            "nodes_of_records",
            figures=FIGURES,
            levels=dimension["levels"],
        )
        if len(dimension["levels"]) > 1
        else None
        for dimension in dimensions
    )
    return CellRelation(cells, len(parents), parents, question.value is None, "zero", low, None)


def _type(decimals: int | None) -> str:
    """The type of the figures in the embedded engine."""
    return "double" if decimals is None else f"decimal(38, {decimals})"


def _limit_message(cells: int) -> str:
    return (
        f"{cells:,} cells are more than the {MOST_CELLS:,} that derivable can search. Ask it of a "
        "part of the table, or of fewer dimensions."
    )


def _record_dimensions(question: CellQuestion) -> list[dict[str, Any]]:
    return [_record_dimension(question, index) for index in range(len(question.dimensions))]


def _record_dimension(question: CellQuestion, index: int) -> dict[str, Any]:
    """A dimension for `cells_of_records`: each level's label, parent and groupings."""
    dimension = question.dimensions[index]
    levels = [
        {
            "label": _label(dimension, level),
            "parent": _parent(dimension, level),
            "repeated": is_repeated(dimension, level),
            "groupings": [g.number for g in question.groupings if g.levels[index] == level],
        }
        for level in range(len(dimension.levels))
    ]
    totals = [grouping.number for grouping in question.groupings if grouping.levels[index] is None]
    return {"number": index + 1, "levels": levels, "totals": totals}


def _label(dimension: Dimension, level: int) -> str:
    """A label with its level, which also tells NULL from a label."""
    at = dimension.levels[level]
    column = generated_or_quoted(at.alias)
    # -0.0 + 0 is 0.0: the two are one value, whose cells may show either.
    value = f"{column} + 0" if at.type.startswith(("DOUBLE", "FLOAT", "REAL")) else column
    return f"concat('{level}', ':' || cast({value} as varchar))"


def _parent(dimension: Dimension, level: int) -> str | None:
    """The label above, that is not a repetition of this one; None below the total."""
    if level + 1 == len(dimension.levels):
        return None
    repeated = is_repeated(dimension, level + 1)
    above = _label(dimension, level + 1)
    if repeated is None:
        return above
    further = _parent(dimension, level + 1) or "null"
    return f"case when {repeated} then {further} else {above} end"
