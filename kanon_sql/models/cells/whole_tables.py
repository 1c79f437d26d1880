"""The whole-number tables that fit the equations of a component of suppressed counts.

Programs are solved in floating point, and what they find is confirmed in whole numbers: a table by
adding up its equations, a bound by its dual multipliers, of which any give a valid one (Neumaier,
Shcherbina 2004, Safe bounds in linear and mixed-integer linear programming, Math. Program. 99).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NoReturn

from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, InputError, option
from kanon_sql.sql.tables import Row

MOST_SECONDS = 60.0
"""Limit of processor time for the search in one component: the same on a busy machine."""
MOST_SECONDS_AT_A_TIME = 60.0
"""Time limit of one integer program, which no signal ends."""
MOST_NODES = 1_000
"""Maximum nodes of one integer program."""
MOST_BOUNDS = 3_000
"""Maximum number of linear programs that prove bounds in one component."""
MOVING_GAP = 0.5
"""How much further than the nearest table another one may be, as a share of its distance."""
PENALTY = 1_000
"""The price of missing an equation by 1, beside that of a cell."""
DENOMINATOR = 720_720
"""The denominator of multipliers: a multiple of 1 to 16, which most are exact in."""
NEAR = 1e-6
"""Distance within which a figure in floating point is taken for a whole number."""

OPTIMAL, LIMITED, INFEASIBLE, UNBOUNDED = 0, 1, 2, 3
"""SciPy's status of a program."""

Ends = list[float]
"""The lower or the upper bounds of cells: whole numbers, or infinite."""


@dataclass
class HiddenCell:
    """A hidden cell: bounds that its exact interval lies in, and figures that occur."""

    cell: int
    low: float
    high: float
    bounds_width: float
    """The width before linear programming."""
    is_absent: bool
    slack: float
    """The accuracy of a figure; 0 of a count."""
    least: float = math.inf
    most: float = -math.inf
    """The least and the greatest figure observed in tables that fit; of a count, whole ones."""
    least_real: float = math.inf
    most_real: float = -math.inf
    """The same in tables of real numbers."""
    real_width: float = math.inf
    """The width after linear programming."""

    def observe(self, figure: float) -> None:
        self.least, self.most = min(self.least, figure), max(self.most, figure)

    def observe_real(self, figure: float) -> None:
        self.least_real = min(self.least_real, figure)
        self.most_real = max(self.most_real, figure)
        if self.slack:
            self.observe(figure)

    def narrow(self, sign: int, end: float) -> None:
        """Raise the lower bound (`sign` 1) or lower the upper one (-1). Raises `InputError` if no
        figure is left."""
        if sign == 1:
            self.low = max(self.low, end)
        else:
            self.high = min(self.high, end)
        if self.low > self.high + self.slack:
            refuse_outside()

    def is_cleared(self, width: float) -> bool:
        """Whether two tables that fit differ here by more than `width`."""
        return self.most - self.least > width + 2 * self.slack

    def is_decided(self, width: float | None) -> bool:
        """Whether the interval is known, or at least whether it is wider than `width`."""
        if self.is_attained(1) and self.is_attained(-1):
            return True
        return width is not None and (self.high - self.low <= width or self.is_cleared(width))

    def is_settled_in_reals(self, width: float | None) -> bool:
        """Whether no linear program is needed: the cell is decided, or tables of real numbers
        differ too much for one to derive it."""
        if self.is_decided(width):
            return True
        low, high = self.least_real, self.most_real
        if width is None or low > high:
            return False
        if not self.slack:
            low, high = math.ceil(low - NEAR), math.floor(high + NEAR)
        return high - low > width + 2 * self.slack

    def is_attained(self, sign: int) -> bool:
        """Whether a table that fits has the lower bound (`sign` 1) or the upper one (-1)."""
        if sign == 1:
            return self.least <= self.low + self.slack
        return self.most >= self.high - self.slack

    def open_ends(self, width: float | None) -> Iterator[int]:
        """The signs of the bounds that may still decide."""
        for sign in (1, -1):
            if not self.is_decided(width) and not self.is_attained(sign):
                yield sign

    def is_within(self, width: float) -> bool:
        """Whether the cell is derived to `width`; an absent cell that is proven 0 is not."""
        is_zero = self.is_absent and -self.slack <= self.low and self.high <= self.slack
        return self.high - self.low <= width + self.slack and not is_zero


class WholeTables:
    """The whole-number tables of one component, as far as they are sought.

    `hidden` are its hidden cells by their columns, which come in the order of the terms; they are
    judged at widths up to `widest`.
    """

    def __init__(
        self,
        terms: Sequence[Row],
        hidden: Mapping[int, HiddenCell],
        widest: float,
        session: Session,
    ) -> None:
        from scipy.sparse import csr_matrix

        columns = {row["kanon_cell"]: row for row in terms}
        equations = {row["kanon_equation"]: row["kanon_rest"] for row in terms}
        if any(rest != int(rest) for rest in equations.values()):
            refuse_outside()
        place = {cell: index for index, cell in enumerate(columns)}
        line = {equation: line for line, equation in enumerate(equations)}
        self._terms = [
            (line[row["kanon_equation"]], place[row["kanon_cell"]], int(row["kanon_sign"]))
            for row in terms
        ]
        self._sums = [-int(rest) for rest in equations.values()]
        self._low, self._high = map(list, zip(*map(whole_ends, columns.values()), strict=True))
        lines, places, signs = zip(*self._terms, strict=True)
        self._matrix = csr_matrix((signs, (lines, places)), shape=self.shape)
        self._hidden, self._widest, self._session = hidden, widest, session
        self._latest: list[int] = []
        self._deadline = math.inf
        self._bounds_left = MOST_BOUNDS

    @property
    def shape(self) -> tuple[int, int]:
        """The number of equations, and of unknown cells."""
        return len(self._sums), len(self._low)

    def add(self, figures: Sequence[float]) -> bool:
        """Observe a table of these figures, once rounded, if it fits."""
        table = [round(figure) for figure in figures]
        left = [-total for total in self._sums]
        for line, index, sign in self._terms:
            left[line] += sign * table[index]
        ends = zip(self._low, table, self._high, strict=True)
        if any(left) or not all(low <= figure <= high for low, figure, high in ends):
            return False
        self._latest = table
        for index, cell in self._hidden.items():
            cell.observe(table[index])
        return True

    def explore(self) -> None:
        """Seek tables between which each cell differs by more than every width. Raises `InputError`
        if there is none."""
        if not self._latest and self._seek({}) == INFEASIBLE and self._is_refuted(*self._box()):
            refuse_outside()
        for index, cell in self._hidden.items():
            for sign in (1, -1):
                if not cell.is_cleared(self._widest):
                    self._move(index, sign, self._widest, whole=False)

    def settle(self, width: float | None, columns: Iterable[int] | None = None) -> None:
        """Decide each cell, or those in some columns, to `width`, or find its interval: seek its
        least and its greatest figure, and prove that no table has one beyond."""
        if not self._latest:
            return
        for index in self._hidden if columns is None else columns:
            cell = self._hidden[index]
            for sign in cell.open_ends(width):
                self._move(index, sign, width, whole=True)
            for sign in cell.open_ends(width):
                self._seek({index: sign})
            for sign in cell.open_ends(width):
                self._prove(index, sign)

    def bound(
        self,
        index: int,
        sign: int,
        multipliers: Sequence[float],
        low: Ends | None = None,
        high: Ends | None = None,
    ) -> float:
        """A lower bound of a cell times `sign` in every table between `low` and `high`, by the
        multipliers of the equations: exact, whatever these are."""
        exact = [round(multiplier * DENOMINATOR) for multiplier in multipliers]
        rates = [0] * len(self._low)
        rates[index] = sign * DENOMINATOR
        for line, column, of_term in self._terms:
            rates[column] -= of_term * exact[line]
        least: float = sum(rate * total for rate, total in zip(exact, self._sums, strict=True))
        for rate, lowest, highest in zip(rates, low or self._low, high or self._high, strict=True):
            if rate:
                least += rate * (lowest if rate > 0 else highest)
        return least if math.isinf(least) else -(-least // DENOMINATOR)

    def _seek(self, objective: Mapping[int, int]) -> int:
        """Observe a table in which an objective is least, if one is found; the solver's status."""
        low, high = self._box()
        known = [abs(figure) for figure in (*low, *high, *self._sums, 0)]
        # Neither end is infinite, so that there is an optimum.
        reach = 2 * (max(filter(math.isfinite, known)) + self._widest + 1)
        status, figures = self._solved(
            [objective.get(index, 0) for index in range(len(low))],
            self._matrix,
            self._sums,
            [max(end, -reach) for end in low],
            [min(end, reach) for end in high],
        )
        if figures:
            self.add(figures)
        return status

    def _move(self, index: int, sign: int, width: float | None, *, whole: bool) -> None:
        """Observe the table nearest to the latest one in which a cell lies further down (`sign` 1)
        or up (-1) than `width`, or at its end, if one is found. Most of the nearest in real numbers
        are `whole` too."""
        cell, latest, (low, high) = self._hidden[index], self._latest, self._box()
        if width is None:
            end = cell.low if sign == 1 else cell.high
        else:
            step = math.floor(width) + 1
            end = cell.most - step if sign == 1 else cell.least + step
        if not latest or math.isinf(end) or not cell.low <= end <= cell.high:
            return
        if sign == 1:
            high[index] = end
        else:
            low[index] = end
        gains = [
            (max(lowest - at, 0), max(highest - at, 0), max(at - highest, 0), max(at - lowest, 0))
            for at, lowest, highest in zip(latest, low, high, strict=True)
        ]
        least_gain, most_gain, least_loss, most_loss = map(list, zip(*gains, strict=True))
        _, moved = self._solved(
            [1] * (2 * len(latest)),
            self._gains_and_losses,
            [0] * len(self._sums),
            least_gain + least_loss,
            most_gain + most_loss,
            gap=MOVING_GAP,
            whole=whole,
        )
        if moved:
            both = zip(latest, moved, moved[len(latest) :], strict=False)
            self.add([at + round(gain) - round(loss) for at, gain, loss in both])

    def _solved(
        self,
        costs: Sequence[float],
        matrix: Any,
        sums: Sequence[int],
        low: Ends,
        high: Ends,
        *,
        gap: float = 0.0,
        whole: bool = True,
    ) -> tuple[int, Sequence[float]]:
        """The status and the figures of a program, in whole numbers if wanted."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if self._is_exhausted():
            return LIMITED, ()
        timeout = self._session.run.timeout
        end = math.inf if timeout is None else self._session.started + timeout
        seconds = min(end - time.monotonic(), MOST_SECONDS_AT_A_TIME)
        solution = milp(
            costs,
            integrality=[int(whole)] * len(costs),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, sums, sums),
            options={
                "mip_rel_gap": gap,
                "node_limit": MOST_NODES,
                "time_limit": max(seconds, 0.1),
            },
        )
        return int(solution.status), () if solution.x is None else solution.x.tolist()

    def _prove(self, index: int, sign: int) -> None:
        """Narrow the bounds of a cell to what was observed, if no table has a figure beyond."""
        cell, (low, high) = self._hidden[index], self._box()
        if sign == 1:
            high[index] = cell.least - 1
        else:
            low[index] = cell.most + 1
        if self._is_refuted(low, high):
            cell.narrow(sign, cell.least if sign == 1 else cell.most)

    def _is_refuted(self, low: Ends, high: Ends) -> bool:
        """Whether no table lies between these bounds, which is proven by branch and bound."""
        boxes = [(low, high)]
        while boxes:
            box = self._tightened(*boxes.pop())
            if box is None:
                continue
            low, high = box
            wide = [index for index, end in enumerate(low) if end < high[index]]
            if not wide and not self.add(low):
                continue
            if not wide or self._is_exhausted():
                return False
            index = min(wide, key=lambda each: high[each] - low[each])
            if math.isinf(high[index] - low[index]):
                return False
            middle = (low[index] + high[index]) // 2
            boxes.append((low, [*high[:index], middle, *high[index + 1 :]]))
            boxes.append(([*low[:index], middle + 1, *low[index + 1 :]], high))
        return True

    def _tightened(self, low: Ends, high: Ends) -> tuple[Ends, Ends] | None:
        """Bounds as narrow as linear programs make them, each rounded inwards before the next; None
        if no table lies between."""
        low, high = [*low], [*high]
        points: list[Sequence[float]] = []
        is_moved = True
        while is_moved:
            is_moved = False
            for index, sign in product(range(len(low)), (1, -1)):
                ends, others = (low, high) if sign == 1 else (high, low)
                end = ends[index]
                if low[index] > high[index]:
                    return None
                if low[index] == high[index] or any(
                    _is_near(point[index], end) for point in points
                ):
                    continue
                if self._is_exhausted():
                    return low, high
                least, point = self._optimum(index, sign, low, high)
                if least > sign * others[index]:
                    return None
                if point is not None and self.add(point):
                    table: Ends = [round(figure) for figure in point]
                    return table, table
                if point is not None:
                    points.append(point)
                if least > sign * end:
                    ends[index] = sign * least
                    points = [
                        p for p in points if low[index] - NEAR <= p[index] <= high[index] + NEAR
                    ]
                    is_moved = True
        return low, high

    def _optimum(
        self, index: int, sign: int, low: Ends, high: Ends
    ) -> tuple[float, Sequence[float] | None]:
        """A lower bound of a cell times `sign` between these bounds, and a table of real numbers
        that has it, unless none fits. Equations may be missed at a price, so that the multipliers
        prove that, too."""
        from scipy.optimize import linprog

        lines, places = self.shape
        costs = [0] * places + [PENALTY] * (2 * lines)
        costs[index] = sign
        solution = linprog(
            costs,
            A_eq=self._with_misses,
            b_eq=self._sums,
            bounds=[*zip(low, high, strict=True), *[(0, math.inf)] * (2 * lines)],
            method="highs",
        )
        self._bounds_left -= 1
        if solution.status:
            return -math.inf, None
        least = self.bound(index, sign, solution.eqlin.marginals.tolist(), low, high)
        figures = solution.x.tolist()
        return least, figures[:places] if sum(figures[places:]) < NEAR else None

    @cached_property
    def _gains_and_losses(self) -> Any:
        """The matrix of the equations of what cells gain, beside what they lose."""
        from scipy.sparse import hstack

        return hstack([self._matrix, -self._matrix])

    @cached_property
    def _with_misses(self) -> Any:
        """The matrix of the equations, with what each is missed by in either direction."""
        from scipy.sparse import hstack, identity

        misses = identity(self.shape[0])
        return hstack([self._matrix, misses, -misses])

    def _box(self) -> tuple[Ends, Ends]:
        """The bounds of every cell, as far as they are proven."""
        low, high = [*self._low], [*self._high]
        for index, cell in self._hidden.items():
            low[index], high[index] = cell.low, cell.high
        return low, high

    def _is_exhausted(self) -> bool:
        """Whether a limit of the search is reached. Raises `EngineError` at that of the run."""
        refuse_expired(self._session)
        now = time.thread_time()
        self._deadline = min(self._deadline, now + MOST_SECONDS)
        return now >= self._deadline or not self._bounds_left


def whole_ends(row: Row) -> tuple[float, float]:
    """The bounds of an unknown count, rounded inwards; infinite where there is none."""
    low, high = row["kanon_low"], row["kanon_high"]
    lowest = -math.inf if low is None else math.ceil(low)
    return lowest, math.inf if high is None else math.floor(high)


def refuse_expired(session: Session) -> None:
    """Raise `EngineError` once the time limit of the run is reached."""
    if session.expired.is_set():
        raise EngineError("the time limit was reached during linear programming.")


def refuse_outside() -> NoReturn:
    raise InputError(
        "a suppressed cell would lie outside what its mark says, so no table fits these figures. "
        "Check the range of each mark, whether a total is less than its parts, and whether figures "
        f"are rounded ({option('totals', 'rounded:BASE')})."
    )


def _is_near(figure: float, end: float) -> bool:
    return abs(figure - end) < NEAR
