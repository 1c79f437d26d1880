"""The linear programs of the cells that a published table hides, by connected components."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from kanon_sql.engines.session import Session
from kanon_sql.models.cells.whole_tables import (
    INFEASIBLE,
    OPTIMAL,
    UNBOUNDED,
    HiddenCell,
    WholeTables,
    refuse_expired,
    refuse_outside,
    whole_ends,
)
from kanon_sql.sql.tables import Row

MOST_INTERVALS = 50
"""Maximum number of intervals computed in one program in search of the narrowest."""
MOST_TERMS = 4_000
"""Maximum number of terms of a linear program that combines several components."""
PRECISION = 1e-6
"""Accuracy of an optimum, for figures up to `WELL_SCALED`."""
WELL_SCALED = 1e8


def batches_of(terms: Iterable[Row]) -> Iterator[list[Row]]:
    """The terms of several components at a time, as one program can optimise a cell of each. One
    with large figures has a program of its own, since the figures of a program have one scale."""
    batch: list[Row] = []
    for _, group in groupby(terms, key=itemgetter("kanon_part")):
        component = list(group)
        if _largest(component) > WELL_SCALED:
            yield component
        elif len(batch) + len(component) > MOST_TERMS and batch:
            yield batch
            batch = component
        else:
            batch += component
    if batch:
        yield batch


def _largest(terms: Iterable[Row]) -> float:
    """The largest bound, or sum of unknowns."""
    keys = ("kanon_rest", "kanon_low", "kanon_high")
    figures = (row[key] for row in terms for key in keys)
    return max((abs(float(figure)) for figure in figures if figure is not None), default=0.0)


class _Part(NamedTuple):
    """A component within a program: its columns, its equations, and its hidden cells by column."""

    columns: slice
    equations: slice
    hidden: Mapping[int, HiddenCell]
    tables: WholeTables | None
    """The whole-number tables, if the figures are counts."""

    def observe(self, figures: Sequence[float]) -> None:
        """Observe a table of the whole program, in real numbers."""
        for index, cell in self.hidden.items():
            cell.observe_real(figures[index])
        if self.tables is not None:
            self.tables.add(figures[self.columns])


class LinearProgram:
    """The linear programs of some components: minimum and maximum of their cells.

    Components share no unknown, so the optimum of a sum of cells, one of each component, is that
    of each. Of counts, only what is confirmed in whole numbers is kept. Cells whose bounds are as
    narrow as the first of `widths` need no program, unless `exact` intervals are wanted.
    """

    def __init__(
        self,
        terms: Sequence[Row],
        widths: Sequence[float],
        session: Session,
        *,
        whole: bool,
        exact: bool,
    ) -> None:
        from scipy.sparse import csr_matrix

        self._session, self._widths, self._exact = session, widths, exact
        columns = {row["kanon_cell"]: row for row in terms}
        equations = {row["kanon_equation"]: -float(row["kanon_rest"]) for row in terms}
        place = {cell: index for index, cell in enumerate(columns)}
        line = {equation: line for line, equation in enumerate(equations)}
        self._scale = scale = max(1.0, _largest(terms) / WELL_SCALED)
        self._matrix = csr_matrix(
            (
                [float(row["kanon_sign"]) for row in terms],
                (
                    [line[row["kanon_equation"]] for row in terms],
                    [place[row["kanon_cell"]] for row in terms],
                ),
            ),
            shape=(len(line), len(place)),
        )
        self._sums = [equation / scale for equation in equations.values()]
        self._bounds = [
            (_scaled(row["kanon_low"], scale), _scaled(row["kanon_high"], scale))
            for row in columns.values()
        ]
        components = groupby(terms, key=itemgetter("kanon_part"))
        # A count that may be off by a half can't be rounded.
        is_accurate = not whole or PRECISION * scale < 0.5
        self._parts = [
            self._part(list(component), place, line, whole)
            for _, component in components
            if is_accurate
        ]

    def _part(
        self, terms: Sequence[Row], place: Mapping[int, int], line: Mapping[int, int], whole: bool
    ) -> _Part:
        """A component, whose terms come together."""
        columns = {row["kanon_cell"]: row for row in terms}
        first_column, first_line = place[terms[0]["kanon_cell"]], line[terms[0]["kanon_equation"]]
        slack = 0.0 if whole else PRECISION * self._scale
        hidden = {}
        for cell, row in columns.items():
            low, high = whole_ends(row) if whole else ends_of(row)
            is_wanted = self._exact or not high - low <= self._widths[0]
            if row["kanon_state"] in (1, 2) and is_wanted:
                is_absent = row["kanon_state"] == 2
                hidden[place[cell]] = HiddenCell(cell, low, high, high - low, is_absent, slack)
        own = {column - first_column: cell for column, cell in hidden.items()}
        tables = WholeTables(terms, own, self._widths[-1], self._session) if whole else None
        lines = {row["kanon_equation"] for row in terms}
        return _Part(
            slice(first_column, first_column + len(columns)),
            slice(first_line, first_line + len(lines)),
            hidden,
            tables,
        )

    def cells(self) -> Iterator[HiddenCell]:
        """The hidden cells, with what the programs tell of them. Raises `InputError` if no table
        fits."""
        hidden = {index: cell for part in self._parts for index, cell in part.hidden.items()}
        all_tables = [part.tables for part in self._parts if part.tables is not None]
        self._explore(hidden)
        for tables in all_tables:
            tables.explore()
        sought = [*self._widths, *([None] if self._exact else [])]
        for width in sought:
            self._optimise_each(width)
        for cell in hidden.values():
            cell.real_width = cell.high - cell.low
        for tables, width in product(all_tables, sought):
            tables.settle(width)
        yield from hidden.values()

    def narrowest(self, known: float) -> float | None:
        """The least width of an interval that is wider than the first of the widths, or `known` if
        that is less; None if a limit of the search is reached.

        Two figures that occur are a lower bound of a width, so most cells need no program.
        """
        cells = [
            (cell, part, index)
            for part in self._parts
            for index, cell in part.hidden.items()
            if not cell.high - cell.low <= self._widths[0] + cell.slack
        ]
        for _ in range(MOST_INTERVALS):
            exact = (cell for cell, _, _ in cells if cell.is_decided(None))
            known = min([known, *(cell.high - cell.low for cell in exact)])
            wide = [
                (cell.most - cell.least, index, cell, part)
                for cell, part, index in cells
                if cell.most - cell.least < known and not cell.is_decided(None)
            ]
            if not wide:
                return known
            _, index, cell, part = min(wide, key=itemgetter(0, 1))
            for sign in (1, -1):
                self._optimise({index: part}, sign)
            if part.tables is not None:
                part.tables.settle(None, [index - part.columns.start])
            if not cell.is_decided(None):
                break
        return None

    def _explore(self, hidden: Mapping[int, HiddenCell]) -> None:
        """Push cells up or down at random, all at once, until each differs by more than every width
        or two more tables clear none."""
        signs, left, before = Random(0), list(hidden), len(hidden) + 1
        while left and len(left) < before:
            objective = {index: signs.choice((1, -1)) for index in left}
            self._solved(objective)
            self._solved({index: -sign for index, sign in objective.items()})
            before = len(left)
            left = [index for index in left if not hidden[index].is_cleared(self._widths[-1])]

    def _optimise_each(self, width: float | None) -> None:
        """Narrow each cell that is not decided, one of each component at a time."""
        waiting = [(part, list(part.hidden)) for part in self._parts]
        while waiting:
            for sign in (1, -1):
                chosen = {}
                for part, places in waiting:
                    while places and part.hidden[places[-1]].is_settled_in_reals(width):
                        places.pop()
                    if places:
                        chosen[places[-1]] = part
                self._optimise(chosen, sign)
            waiting = [(part, places[:-1]) for part, places in waiting if places]

    def _optimise(self, parts: Mapping[int, _Part], sign: int) -> None:
        """Narrow one cell of each component to its minimum (`sign` 1) or maximum (-1)."""
        if not parts:
            return
        solution = self._solved(dict.fromkeys(parts, sign))
        if solution.status == OPTIMAL:
            for index, part in parts.items():
                part.hidden[index].narrow(sign, self._optimum(index, part, sign, solution))
        elif len(parts) > 1:
            for index, part in parts.items():
                self._optimise({index: part}, sign)
        elif solution.status == UNBOUNDED:
            [(index, part)] = parts.items()
            if part.tables is None:
                part.hidden[index].observe(-sign * math.inf)

    def _optimum(self, index: int, part: _Part, sign: int, solution: Any) -> float:
        """The optimum of a cell; of a count, what its multipliers prove."""
        if part.tables is None:
            return float(solution.x[index]) * self._scale
        multipliers = solution.eqlin.marginals[part.equations].tolist()
        return sign * part.tables.bound(index - part.columns.start, sign, multipliers)

    def _solved(self, objective: Mapping[int, int]) -> Any:
        """The solution of one program, whose table is observed."""
        from scipy.optimize import linprog

        refuse_expired(self._session)
        costs = [objective.get(index, 0) for index in range(len(self._bounds))]
        solution = linprog(
            costs, A_eq=self._matrix, b_eq=self._sums, bounds=self._bounds, method="highs"
        )
        if solution.status == INFEASIBLE:
            refuse_outside()
        if solution.status == OPTIMAL:
            figures = [value * self._scale for value in solution.x.tolist()]
            for part in self._parts:
                part.observe(figures)
        return solution


def has_scipy() -> bool:
    """Whether linear programming is available."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError:
        return False
    return True


def _scaled(end: Any, scale: float) -> float | None:
    return None if end is None else float(end) / scale


def ends_of(row: Row) -> tuple[float, float]:
    """The bounds of an unknown magnitude, infinite where there is none."""
    low, high = row["kanon_low"], row["kanon_high"]
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)
