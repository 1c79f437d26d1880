"""What follows from a published table about the cells that it suppresses.

Subtraction to a fixpoint, bounds, and programs on small connected components: linear ones, and for
counts integer ones. Each finding is a proof: the interval found for a cell contains every figure
that fits the table.

SciPy is imported where it is used; without it the last step is left out, and cells stay undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, option, plural
from kanon_sql.models.cells.linear_programs import LinearProgram, batches_of, ends_of, has_scipy
from kanon_sql.models.cells.models import Derivable
from kanon_sql.models.cells.published_plan import CellRelation
from kanon_sql.models.cells.whole_tables import (
    HiddenCell,
    refuse_outside,
)
from kanon_sql.results.cells import NOT_DERIVED, UNDECIDED
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

MOST_BOUND_ROUNDS = 100
"""Maximum rounds of bounds; every round is sound, so stopping early only leaves cells open."""
MOST_UNKNOWNS = 1_000
"""Maximum number of unknowns in a component that linear programming decides."""
RELATIVE_SLACK = 2**-52
"""Error allowed for each term in sums of floating-point figures, relative to the largest."""
PREFIX = "kanon_derived_"
"""Prefix of the temporary relations made here."""


@dataclass(frozen=True)
class Derivation:
    """The result of a derivability check; `holds` if nothing is derived, undecided (if the check
    fails then), or left over as a small remainder."""

    suppressed: int
    derived_cells: int
    by_subtraction: int
    by_bounds: int
    by_linear_programming: int
    by_integer_programming: int
    undecided_cells: int
    small_remainders: int | None
    steps: int
    """Rounds of subtraction."""
    implied_cells: int
    absent_cells: int
    holds: bool
    lacks_scipy: bool = False
    """Whether cells are undecided because SciPy is missing."""
    is_cut_short: bool = False
    """Whether the search for tables of whole numbers reached a limit."""
    narrowest: float | None = None
    """The least width of the interval of a cell that is not derived; None if it is unknown, or
    no interval has two ends."""
    intervals: Sequence[Row] | None = field(default=None, repr=False)
    """The labels, the interval and the `kanon_step` of each hidden cell, if requested."""


def derive(
    session: Session,
    cells: CellRelation,
    checks: Sequence[Derivable],
    *,
    exact: bool = False,
    listed: bool = False,
) -> list[Derivation]:
    """One result for each check of a table.

    With `listed`, the results have the interval of each hidden cell, as narrow as the checks needed
    it; with `exact` its exact one, by programs in small components.

    Raises `InputError` if totals don't add up or a bound is
    contradicted, `EngineError` once the time limit is reached.
    """
    relations_read = frozenset({cells.relation, *filter(None, cells.parents)})
    with DerivedRelations(session, relations_read) as relations:
        return _Table(relations, cells).derivations(checks, exact=exact, listed=listed)


class DerivedRelations:
    """The temporary relations of a derivation, made of given ones and dropped at the end."""

    def __init__(self, session: Session, relations_read: frozenset[str]) -> None:
        self.session = session
        self._relations_read = relations_read
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop(*reversed(self._made))

    def make(self, name: str, macro: str, **arguments: Any) -> str:
        """Materialise a macro's rows, in place of an earlier relation of this name."""
        relation = f"{PREFIX}{name}"
        self.session.materialise(self._statement(relation, macro, arguments))
        self._made.append(relation)
        return relation

    def make_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
        """Materialise literal rows."""
        relation = f"{PREFIX}{name}"
        self.session.engine.materialise_rows(relation, columns, rows)
        self._made.append(relation)
        return relation

    def rows(self, macro: str, **arguments: Any) -> list[Row]:
        return self.session.rows(self._statement(f"{PREFIX}{macro}", macro, arguments))

    def drop(self, *relations: str) -> None:
        for relation in relations:
            self.session.engine.drop(relation)
            self._made.remove(relation)

    def _statement(self, name: str, macro: str, arguments: dict[str, Any]) -> Statement:
        sql = render(macro, **arguments)
        tables = self._relations_read | frozenset(self._made)
        return Statement(name, QUESTIONS[macro], sql, tables=tables)


QUESTIONS = {
    **dict.fromkeys(
        (
            *("typed_cells", "least_figure", "cells_of_records", "nodes_of_records"),
            "labelled_figures",
        ),
        "What does each cell of the table show?",
    ),
    "table_shape": "Which dimensions have totals?",
    "table_nodes": "Which nodes has each dimension?",
    "node_ancestors": "Which ancestors has each node?",
    "keyed_cells": "Which nodes has each cell?",
    "with_absent_cells": "Which combinations have no row?",
    "parents_of_cells": "Does the table show every margin of its cells?",
    "cells_with_margins": "Which margins do the cells imply?",
    "equation_terms": "Which cells add up to which?",
    "equations": "What do the shown cells of each equation leave?",
    "table_of_equations": "Do the totals add up?",
    "totals_of_shown": "Are totals the sums of what is shown?",
    "cells_as_shown": "What does each cell show, if what is hidden counts as 0?",
    "terms_of_shown": "Which cells add up to which, without those that are hidden?",
    "unseen_zeros": "Which labels without a row have none to hide?",
    "unknown_cells": "Which cells are unknown?",
    "open_terms": "Which unknown cells has each equation?",
    "cells_by_subtraction": "Which cells are the only unknown one of an equation?",
    "subtraction_faults": "How many cells follow, and do they contradict the table?",
    "completed_faults": "Do the equations without an unknown still add up?",
    "open_after_subtraction": "What is left of each equation?",
    "unknown_after_subtraction": "Which cells are still unknown?",
    "narrowed_bounds": "How narrow do the equations make each unknown?",
    "moved_bounds": "Has a bound moved, or has a cell no figure left?",
    "derived_counts": "How many suppressed cells follow?",
    "wide_terms": "Which unknowns are still open?",
    "joined_parts": "Which unknowns hang together?",
    "moved_parts": "Has a part grown?",
    "hidden_intervals": "Which figures can each hidden cell have?",
    "small_parts": "Which parts are small enough for linear programming?",
}


class _Table:
    """The equations of one table, and how far each step gets with them."""

    def __init__(self, relations: DerivedRelations, cells: CellRelation) -> None:
        self._run, self._cells = relations, cells
        numbers = list(range(1, cells.dimensions + 1))
        [shape] = relations.rows("table_shape", cells=cells.relation, dimensions=numbers)
        self._numbers = numbers
        self._has_total = [bool(shape[f"kanon_has_total_{number}"]) for number in numbers]
        self._type = str(shape["kanon_type"] or "DECIMAL(38,0)")
        is_exact = self._type not in ("DOUBLE", "FLOAT")
        terms = 0 if is_exact else int(shape["kanon_cells"])
        self._slack = float(shape["kanon_largest"]) * terms * RELATIVE_SLACK
        self._steps = 0

    def derivations(
        self, checks: Sequence[Derivable], *, exact: bool, listed: bool
    ) -> list[Derivation]:
        run, slack = self._run, _number(self._slack)
        nodes, cells, terms = self._equations()
        if self._cells.totals != "true":
            terms = self._without_sums_of_shown(terms, cells)
        equations = run.make("equations", "equations", terms=terms, cells=cells)
        remainders = sorted({check.remainder for check in checks if check.remainder is not None})
        sums = self._sums(equations, cells, remainders)
        unknown = run.make("unknown_0", "unknown_cells", cells=cells)
        hidden = int(sums["kanon_suppressed"]) + int(sums["kanon_absent"])
        terms = run.make("open_0", "open_terms", terms=terms, equations=equations, cells=cells)
        if hidden:
            terms, unknown = self._subtracted(terms, unknown)
            unknown = self._narrowed(terms, unknown)
        if self._cells.absent == "suppressed":
            [unseen] = run.rows(
                "unseen_zeros", unknown=unknown, cells=cells, dimensions=self._numbers, slack=slack
            )
            sums = {**sums, "kanon_absent": sums["kanon_absent"] - unseen["kanon_zeros"]}
            hidden -= unseen["kanon_zeros"]
        widths = sorted({float(check.width) for check in checks})
        [counts] = run.rows(
            "derived_counts",
            unknown=unknown,
            open=terms,
            slack=slack,
            widths=[_number(w) for w in widths],
        )
        solved, judged = int(counts["kanon_solved"]), int(counts["kanon_hidden"])
        narrow = {w: int(counts[f"kanon_narrow_{number}"]) for number, w in enumerate(widths, 1)}
        free = {
            w: 0 if self._cells.doubtful else int(counts[f"kanon_free_{number}"])
            for number, w in enumerate(widths, 1)
        }
        is_open = solved + narrow[widths[0]] + free[widths[0]] < judged
        programmed: list[HiddenCell] = []
        least = counts["kanon_narrowest"]
        narrowest: float | None = math.inf if least is None else float(least)
        if is_open and has_scipy():
            programmed, narrowest = self._programmed(terms, unknown, widths, narrowest, exact)
        if narrowest is not None and not self._cells.whole:
            narrowest = float(f"{narrowest:.9g}")  # without the inaccuracy of programs
        intervals = None
        if exact or listed:
            hidden_rows = self._intervals(nodes, cells, unknown, terms, programmed, widths[-1])
            intervals = list(hidden_rows)
        derivations = []
        for check in checks:
            width = float(check.width)
            decided = [
                cell
                for cell in programmed
                if cell.is_decided(width) and not cell.bounds_width <= width + self._slack
            ]
            followed = [cell for cell in decided if cell.is_within(width)]
            in_reals = sum(cell.real_width <= width + cell.slack for cell in followed)
            derived = solved + narrow[width] + len(followed)
            undecided = judged - solved - narrow[width] - free[width] - len(decided)
            is_known = narrowest is not None and width < narrowest < math.inf and not undecided
            small = None
            if check.remainder is not None:
                small = int(sums[f"kanon_remainders_{remainders.index(check.remainder) + 1}"])
            derivations.append(
                Derivation(
                    suppressed=hidden,
                    derived_cells=derived,
                    by_subtraction=solved,
                    by_bounds=narrow[width],
                    by_linear_programming=in_reals,
                    by_integer_programming=len(followed) - in_reals,
                    undecided_cells=undecided,
                    small_remainders=small,
                    steps=self._steps,
                    implied_cells=int(sums["kanon_implied"]),
                    absent_cells=int(sums["kanon_absent"]),
                    holds=not (derived or small or (undecided and check.undecided == "fail")),
                    lacks_scipy=undecided > 0 and not has_scipy(),
                    is_cut_short=self._cells.whole
                    and not all(cell.is_decided(width) for cell in programmed),
                    narrowest=narrowest if is_known else None,
                    intervals=intervals,
                )
            )
        return derivations

    def _equations(self) -> tuple[str, str, str]:
        """The nodes, the cells with implied margins, and the terms of the equations."""
        run, source, numbers = self._run, self._cells, self._numbers
        shapes = zip(numbers, source.parents, self._has_total, strict=True)
        dimensions = [
            {"number": number, "parents": parents, "has_total": has_total}
            for number, parents, has_total in shapes
        ]
        hides_absent, ancestors = source.absent == "suppressed", ""
        nodes = run.make(
            "nodes",
            "table_nodes",
            cells=source.relation,
            dimensions=dimensions,
            unseen=hides_absent,
        )
        cells = keyed = run.make(
            "keyed",
            "keyed_cells",
            cells=source.relation,
            nodes=nodes,
            dimensions=numbers,
            type=self._type,
            integers=source.whole,
        )
        if hides_absent:
            ancestors = run.make("ancestors", "node_ancestors", nodes=nodes)
            cells = keyed = run.make(
                "keyed_with_absent",
                "with_absent_cells",
                keyed=keyed,
                nodes=nodes,
                ancestors=ancestors,
                dimensions=numbers,
                type=self._type,
                low=_bound(source.low),
                high=_bound(source.high),
            )
        # Most tables show every margin of their cells; else the implied ones are added.
        terms = run.make("terms", "equation_terms", cells=cells, nodes=nodes, dimensions=numbers)
        [counts] = run.rows(
            "parents_of_cells", cells=cells, nodes=nodes, terms=terms, dimensions=numbers
        )
        if counts["kanon_parents"] == counts["kanon_shown"]:
            return nodes, cells, terms
        run.drop(terms)
        ancestors = ancestors or run.make("ancestors", "node_ancestors", nodes=nodes)
        is_positive = source.low is not None and source.low >= 0
        cells = run.make(
            "cells",
            "cells_with_margins",
            keyed=keyed,
            ancestors=ancestors,
            dimensions=numbers,
            type=self._type,
            low="0" if is_positive else "null",
        )
        terms = run.make("terms", "equation_terms", cells=cells, nodes=nodes, dimensions=numbers)
        return nodes, cells, terms

    def _without_sums_of_shown(self, terms: str, cells: str) -> str:
        """The terms, without those of totals that are calculated anew from what is shown.

        Raises `InputError` if totals are declared so and are not, or if nobody says and they are.
        """
        slack = _number(self._slack)
        [totals] = self._run.rows("totals_of_shown", terms=terms, cells=cells, slack=slack)
        if self._cells.totals is None and not (totals["kanon_totals"] and totals["kanon_hiding"]):
            return terms
        are_sums = not totals["kanon_unequal"] and self._add_up_as_shown(terms, cells)
        if self._cells.totals is None and not are_sums:
            return terms
        if self._cells.totals is None:
            raise InputError(
                "every total of a suppressed cell is the sum of its shown parts. Are totals "
                f"calculated anew from what is shown ({option('totals', 'shown')}), or are they "
                f"true, so that those cells are 0 ({option('totals', 'true')})?"
            )
        if not are_sums:
            raise InputError(
                f"totals are not the sums of what is shown ({option('totals', 'shown')}). Are they "
                f"true ({option('totals', 'true')}), or rounded each on its own "
                f"({option('totals', 'rounded:BASE')})?"
            )
        return self._run.make("terms_of_shown", "terms_of_shown", terms=terms, cells=cells)

    def _add_up_as_shown(self, terms: str, cells: str) -> bool:
        """Whether all totals are the sums of their parts, if hidden cells count as 0."""
        with DerivedRelations(self._run.session, frozenset({terms, cells})) as run:
            table = copy(self)
            table._run = run
            shown = run.make("cells_as_shown", "cells_as_shown", terms=terms, cells=cells)
            equations = run.make("equations", "equations", terms=terms, cells=shown)
            unknown = run.make("unknown_0", "unknown_cells", cells=shown)
            terms = run.make("open_0", "open_terms", terms=terms, equations=equations, cells=shown)
            try:
                table._sums(equations, shown, ())
                table._subtracted(terms, unknown)
            except InputError:
                return False
            return True

    def _sums(self, equations: str, cells: str, remainders: Sequence[float]) -> Row:
        """Figures on the whole table. Raises `InputError` if totals don't add up."""
        [sums] = self._run.rows(
            "table_of_equations",
            equations=equations,
            cells=cells,
            slack=_number(self._slack),
            low=_bound(self._cells.low),
            high=_bound(self._cells.high),
            remainders=[_number(remainder) for remainder in remainders],
        )
        broken, complete = int(sums["kanon_broken"]), int(sums["kanon_complete"])
        if broken:
            of_all = f"{broken:,} of {plural(complete, 'total')}"
            raise InputError(
                f"{of_all} {_sums_message(broken)}, so nothing can be concluded: {self._doubts()}."
            )
        outside = int(sums["kanon_outside"])
        if outside:
            raise InputError(
                f"{plural(outside, 'figure')} {'lies' if outside == 1 else 'lie'} outside of what "
                "everyone is taken to know of any figure. Set "
                f"{option('value_bounds', 'LOW..HIGH')}, or .. if figures may be negative."
            )
        return sums

    def _doubts(self) -> str:
        """Why totals may not add up, with what says so."""
        missing = f"rows are missing ({option('absent', 'suppressed')}), or "
        rounded = f"totals are rounded each on its own ({option('totals', 'rounded:BASE')})"
        return f"{'' if self._cells.absent == 'suppressed' else missing}{rounded}"

    def _subtracted(self, terms: str, unknown: str) -> tuple[str, str]:
        """The open terms and the unknown cells after subtraction to a fixpoint."""
        run, slack = self._run, _number(self._slack)
        while True:
            solved = run.make("found", "cells_by_subtraction", open=terms)
            [faults] = run.rows("subtraction_faults", found=solved, unknown=unknown, slack=slack)
            if not faults["kanon_found"]:
                run.drop(solved)
                return terms, unknown
            if faults["kanon_outside"]:
                refuse_outside()
            [left] = run.rows("completed_faults", open=terms, found=solved, slack=slack)
            if faults["kanon_broken"] or left["kanon_broken"]:
                broken = int(faults["kanon_broken"] or left["kanon_broken"])
                raise InputError(
                    f"{plural(broken, 'total')} {_sums_message(broken)} whatever the suppressed "
                    f"cells are, so nothing can be concluded: {self._doubts()}."
                )
            self._steps += 1
            before = (solved, terms, unknown)
            terms = run.make(
                f"open_{self._steps}", "open_after_subtraction", open=terms, found=solved
            )
            unknown = run.make(
                f"unknown_{self._steps}",
                "unknown_after_subtraction",
                unknown=unknown,
                found=solved,
                step=self._steps,
            )
            run.drop(*before)

    def _narrowed(self, terms: str, unknown: str) -> str:
        """The unknown cells with the bounds that the equations give them."""
        run, slack = self._run, _number(self._slack)
        for step in range(1, MOST_BOUND_ROUNDS + 1):
            after = run.make(f"bounds_{step}", "narrowed_bounds", open=terms, unknown=unknown)
            [moved] = run.rows("moved_bounds", before=unknown, after=after, slack=slack)
            if moved["kanon_impossible"]:
                refuse_outside()
            run.drop(unknown)
            unknown = after
            if not moved["kanon_moved"]:
                break
        return unknown

    def _programmed(
        self,
        terms: str,
        unknown: str,
        widths: Sequence[float],
        narrowest: float | None,
        exact: bool,
    ) -> tuple[list[HiddenCell], float | None]:
        """The hidden cells of the components that linear programming decides, and the width of the
        narrowest interval wider than the first of `widths`, of these and of what is known."""
        run, slack = self._run, _number(self._slack)
        terms = run.make("parts_0", "wide_terms", open=terms, unknown=unknown, slack=slack)
        # A component that still grows after so many rounds has more unknowns than rounds.
        for step in range(1, MOST_UNKNOWNS + 2):
            after = run.make(f"parts_{step}", "joined_parts", terms=terms)
            [moved] = run.rows("moved_parts", before=terms, after=after)
            run.drop(terms)
            terms = after
            if not moved["kanon_moved"]:
                break
        rows = run.rows("small_parts", terms=terms, unknown=unknown, most=MOST_UNKNOWNS)
        cells: list[HiddenCell] = []
        for batch in batches_of(rows):
            program = LinearProgram(
                batch, widths, run.session, whole=self._cells.whole, exact=exact
            )
            cells += program.cells()
            if narrowest is not None:
                narrowest = program.narrowest(narrowest)
        return cells, narrowest

    def _intervals(
        self,
        nodes: str,
        cells: str,
        unknown: str,
        terms: str,
        programmed: Iterable[HiddenCell],
        width: float,
    ) -> Iterator[Row]:
        """The labels and the interval of each hidden cell, and the step that derives it to
        `width`."""
        better = {hidden.cell: hidden for hidden in programmed}
        rows = self._run.rows(
            "hidden_intervals",
            nodes=nodes,
            cells=cells,
            unknown=unknown,
            open=terms,
            dimensions=self._numbers,
            slack=_number(self._slack),
        )
        for row in rows:
            hidden = better.get(row["kanon_cell"])
            low, high = row["kanon_low"], row["kanon_high"]
            if hidden is not None:
                low, high = _finite(hidden.low), _finite(hidden.high)
            step = self._step_of(row, hidden, width)
            yield {**row, "kanon_low": low, "kanon_high": high, "kanon_step": step}

    def _step_of(self, row: Row, hidden: HiddenCell | None, width: float) -> str:
        """The step by which a hidden cell follows, as the counts of a check take it."""
        low, high = ends_of(row)
        if row["kanon_state"] == 2 and low >= -self._slack and high <= self._slack:
            return NOT_DERIVED
        if row["kanon_solved"]:
            return f"subtraction, round {row['kanon_solved']}"
        if high - low <= width + self._slack:
            return "bounds"
        if hidden is None:
            is_exact = row["kanon_is_free"] and not self._cells.doubtful
            return NOT_DERIVED if is_exact else UNDECIDED
        if not hidden.is_decided(width):
            return UNDECIDED
        if not hidden.is_within(width):
            return NOT_DERIVED
        is_linear = hidden.real_width <= width + hidden.slack
        return "linear programming" if is_linear else "integer programming"


def _sums_message(count: int) -> str:
    return "is not the sum of its parts" if count == 1 else "are not the sum of their parts"


def _number(value: float | Decimal) -> str:
    """A number as SQL, without an exponent."""
    return f"{Decimal(str(value)):f}"


def _bound(value: Decimal | None) -> str:
    return "null" if value is None else _number(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
