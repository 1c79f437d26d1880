"""Does what is called derived follow, whatever table fits? Every small table is tried in turn."""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest
import scipy.optimize
from generated import few, fewer
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, InputError
from kanon_sql.models.cells.derivability import Derivation, derive
from kanon_sql.models.cells.models import Derivable
from kanon_sql.models.cells.published_plan import CellRelation

TOTAL = "All"
Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Published:
    """Cells by their labels: a figure, or the range that a mark states."""

    cells: Mapping[Key, int | float | tuple[int | None, int | None]]
    trees: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """The parent of each label, by dimension; a label without one lies below the total."""
    absent: str = "zero"
    whole: bool = True
    low: int | None = 0
    type: str = "decimal(38, 0)"

    @property
    def dimensions(self) -> range:
        return range(len(next(iter(self.cells))))


@contextmanager
def opened(table: Published) -> Iterator[tuple[Session, CellRelation]]:
    """The table as the relation that the derivation reads."""
    numbers = [each + 1 for each in table.dimensions]
    with DuckDBEngine() as engine:
        rows = []
        for key, figure in table.cells.items():
            hidden = isinstance(figure, tuple)
            low, high = figure if isinstance(figure, tuple) else (None, None)
            lowest = table.low if low is None else low
            labels = [None if label == TOTAL else label for label in key]
            is_total = [int(label == TOTAL) for label in key]
            shown = None if hidden else figure
            bounds = (lowest, high) if hidden else (None, None)
            rows.append((*labels, *is_total, shown, int(hidden), *bounds))
        columns = [f"kanon_{kind}{each}" for kind in "dt" for each in numbers]
        figures = ["kanon_figure", "kanon_low", "kanon_high"]
        engine.materialise_rows(
            "rows_of_cells",
            [*columns, figures[0], "kanon_suppressed", *figures[1:]],
            rows,
        )
        typed = [
            *(f"cast(kanon_d{each} as varchar) as kanon_d{each}" for each in numbers),
            *(f"kanon_t{each}" for each in numbers),
            *(f"cast({each} as {table.type}) as {each}" for each in figures),
            "kanon_suppressed",
        ]
        engine.materialise("table_cells", f"select {', '.join(typed)} from rows_of_cells")
        parents: list[str | None] = [None] * len(numbers)
        for place, tree in table.trees.items():
            nodes = {*tree, *tree.values(), *(key[place] for key in table.cells)} - {TOTAL, None}
            parents[place] = f"tree_{place}"
            pairs = [(node, tree.get(str(node))) for node in sorted(map(str, nodes))]
            engine.materialise_rows(f"tree_{place}", ["kanon_node", "kanon_parent"], pairs)
        session = Session(engine, None, threading.Event(), time.monotonic())
        low = None if table.low is None else Decimal(table.low)
        yield (
            session,
            CellRelation(
                "table_cells", len(numbers), tuple(parents), table.whole, table.absent, low, None
            ),  # type: ignore[arg-type]
        )


def derived(
    table: Published, *, exact: bool = False, listed: bool = False, **parameters: Any
) -> Derivation:
    with opened(table) as (session, cells):
        [found] = derive(session, cells, [Derivable(**parameters)], exact=exact, listed=listed)
    return found


def listed_intervals(table: Published) -> list[tuple[Any, ...]]:
    """The labels of each hidden cell, and its interval."""
    found = derived(table, exact=True).intervals
    assert found is not None
    return [
        (
            *(
                TOTAL if row[f"kanon_t{each + 1}"] else row[f"kanon_d{each + 1}"]
                for each in table.dimensions
            ),
            row["kanon_low"],
            row["kanon_high"],
        )
        for row in found
    ]


def intervals(table: Published) -> Intervals:
    """The interval of each hidden cell, by its labels."""
    return {tuple(labels): (low, high) for *labels, low, high in listed_intervals(table)}


# --- the oracle ------------------------------------------------------------------------------


UNSEEN = "(no row)"


def lines(table: Published, place: int, label: str | None) -> list[str | None]:
    """A label and its ancestors; a label without any row is named by what lies above it."""
    found, tree = [label], table.trees.get(place, {})
    if str(label).startswith(UNSEEN):
        label = str(label).removeprefix(UNSEEN)
        found += [] if label == TOTAL else [label]
    while label in tree:
        label = tree[str(label)]
        found.append(label)
    return [*found, TOTAL]


def leaves(table: Published) -> list[Key]:
    """Every combination of the labels that occur and have no child, and if absent rows are
    suppressed, of one more below each total and each subtotal."""
    return list(itertools.product(*(_leaves_of(table, place) for place in table.dimensions)))


def _leaves_of(table: Published, place: int) -> list[str | None]:
    parents = set(table.trees.get(place, {}).values())
    labels = dict.fromkeys(key[place] for key in table.cells)
    unseen = []
    if table.absent == "suppressed":
        above = {node for label in labels if label != TOTAL for node in lines(table, place, label)}
        tops = {TOTAL} & labels.keys()
        unseen = [f"{UNSEEN}{node}" for node in sorted(above & parents | tops, key=str)]
    return [label for label in labels if label != TOTAL and label not in parents] + unseen


def fits(table: Published, most: int) -> Iterator[dict[Key, int]]:
    """Every table of counts up to `most` that looks like this one, with all its margins: leaf after
    leaf takes each figure, as long as no margin that is shown is passed."""
    unknown, whole = [], dict[Key, int]()
    above = {leaf: _above(table, leaf) for leaf in leaves(table)}
    for leaf, keys in above.items():
        shown = table.cells.get(leaf)
        is_hidden = isinstance(shown, tuple) or (shown is None and table.absent == "suppressed")
        unknown += [leaf] if is_hidden else []
        for key in keys:
            whole[key] = whole.get(key, 0) + (0 if is_hidden else int(shown or 0))  # type: ignore[arg-type]
    last = {key: leaf for leaf in unknown for key in above[leaf]}
    if not all(
        _agrees(figure, table.cells.get(key)) for key, figure in whole.items() if key not in last
    ):
        return

    def filled(place: int) -> Iterator[dict[Key, int]]:
        if place == len(unknown):
            yield dict(whole)
            return
        leaf = unknown[place]
        for _ in range(most + 1):
            if all(
                _agrees(whole[key], table.cells.get(key), last[key] != leaf) for key in above[leaf]
            ):
                yield from filled(place + 1)
            for key in above[leaf]:
                whole[key] += 1
        for key in above[leaf]:
            whole[key] -= most + 1

    yield from filled(0)


def _above(table: Published, leaf: Key) -> list[Key]:
    """A leaf, and every margin that it is part of."""
    return list(itertools.product(*(lines(table, *each) for each in enumerate(leaf))))


def _agrees(found: int, figure: Any, may_grow: bool = False) -> bool:
    """Whether a sum is what the table shows, or may still become it."""
    low, high = figure if isinstance(figure, tuple) else (figure, figure)
    return (low is None or may_grow or low <= found) and (high is None or found <= high)


Intervals = dict[Key, tuple[float | None, float | None]]


def possible(table: Published, most: int) -> Intervals:
    """The least and the greatest figure of each hidden cell in a table that fits. Where a label
    without any row is 0 in all of them, there may be no such label."""
    hidden = [key for key, figure in table.cells.items() if isinstance(figure, tuple)]
    if table.absent == "suppressed":
        hidden += [leaf for leaf in leaves(table) if leaf not in table.cells]
    least, greatest = dict[Key, int](), dict[Key, int]()
    for whole in fits(table, most):
        for key in hidden:
            figure = whole.get(key, 0)
            least[key] = min(least.get(key, figure), figure)
            greatest[key] = max(greatest.get(key, figure), figure)
    return {
        key: (least[key], greatest[key])
        for key in hidden
        if greatest[key] or UNSEEN not in str(key)
    }


MOST = 6
"""The grand total of a drawn table is at most this, so that every table that fits is tried."""


def assert_as_expected(table: Published, width: int = 0) -> Derivation:
    """What is derived is derived of every table that fits, and nothing else is; or it is said that
    this is undecided."""
    hidden = [
        most - least
        for key, (least, most) in possible(table, MOST).items()
        if key in table.cells or most
    ]

    found = derived(table, width=width)

    assert found.undecided_cells == 0
    assert found.derived_cells == sum(each <= width for each in hidden)
    in_programs = found.by_linear_programming + found.by_integer_programming
    assert found.derived_cells == found.by_subtraction + found.by_bounds + in_programs
    # Every cell lies below the grand total, so that each interval has two ends.
    assert found.narrowest == min((each for each in hidden if each > width), default=None)
    steps = [row["kanon_step"] for row in derived(table, width=width, listed=True).intervals or ()]
    ways = Counter(step.partition(",")[0] for step in steps)
    assert (ways["subtraction"], ways["bounds"]) == (found.by_subtraction, found.by_bounds)
    assert ways["linear programming"] == found.by_linear_programming
    assert ways["integer programming"] == found.by_integer_programming
    assert not ways["can't tell"]
    return found


@st.composite
def tables(draw: st.DrawFn) -> Published:
    """Tables of two or three dimensions, one perhaps with a hierarchy, and their margins; any cell
    may be suppressed, any margin but the grand total left out, any zero absent."""
    shape = draw(st.sampled_from([(2, 2), (2, 3), (4,), (2, 2, 2), (4, 2), (3, 2, 2), (4, 4)]))
    labels = [[f"{'abc'[place]}{each}" for each in range(size)] for place, size in enumerate(shape)]
    trees = {
        place: {f"{name}{each}": name.upper() * (1 + each // 2) for each in range(4)}
        for place, name in enumerate("abc"[: len(shape)])
        if shape[place] == 4 and draw(st.booleans())
    }
    combinations = list(itertools.product(*labels))
    records = draw(st.lists(st.sampled_from(combinations), max_size=MOST))
    frame = Published(dict.fromkeys(combinations, 0), trees)
    whole: dict[Key, int] = {}
    for leaf in combinations:
        for key in itertools.product(*(lines(frame, *each) for each in enumerate(leaf))):
            whole[key] = whole.get(key, 0) + records.count(leaf)
    absent = draw(st.sampled_from(["zero", "suppressed"]))
    hidden = draw(st.lists(st.sampled_from(sorted(whole)), max_size=12, unique=True))
    cells: dict[Key, Any] = {}
    grand = tuple(TOTAL for _ in shape)
    for key, figure in whole.items():
        if key == grand:
            cells[key] = figure
        elif key in hidden:
            high = draw(st.sampled_from([None, figure, figure + 1]))
            low = draw(st.sampled_from([None, 0, max(figure - 1, 0)]))
            cells[key] = (low, high)
        elif key in combinations:
            if not (figure == 0 and len(cells) % 2):
                cells[key] = figure
        elif draw(st.booleans()):
            cells[key] = figure
    table = Published(cells, trees, absent)
    unknown = [leaf for leaf in leaves(table) if not isinstance(table.cells.get(leaf, ()), int)]
    return table if len(unknown) <= 9 else replace(table, absent="zero")


@few
@given(tables())
def test_an_interval_is_that_of_all_tables_of_whole_numbers(table: Published) -> None:
    expected = [
        (*(UNSEEN if UNSEEN in str(label) else label for label in key), *ends)
        for key, ends in possible(table, MOST).items()
    ]

    found = listed_intervals(table)

    # A label without any row that has none in any table may be listed, or not.
    found = [each for each in found if UNSEEN not in each or each[-1]]
    assert sorted(found, key=str) == sorted(expected, key=str)


@few
@given(tables(), st.integers(0, 2))
def test_a_cell_is_derived_unless_two_tables_tell_it_apart(table: Published, width: int) -> None:
    assert_as_expected(table, width)


@fewer
@given(tables(), st.data())
def test_showing_one_more_cell_never_hides_another(table: Published, data: st.DataObject) -> None:
    hidden = [key for key, figure in table.cells.items() if isinstance(figure, tuple)]
    if not hidden:
        return
    shown = data.draw(st.sampled_from(hidden))
    figure = next(fits(table, MOST)).get(shown, 0)

    before, after = (
        intervals(table),
        intervals(replace(table, cells={**table.cells, shown: figure})),
    )

    derived_before = {key for key, (low, high) in before.items() if low == high}
    assert derived_before - {shown} <= {key for key, (low, high) in after.items() if low == high}


@fewer
@given(tables(), st.integers(2, 9))
def test_a_magnitude_times_a_number_has_intervals_times_that_number(
    table: Published, factor: int
) -> None:
    def scaled(by: int) -> Published:
        cells = {
            key: tuple(None if end is None else end * by for end in figure)
            if isinstance(figure, tuple)
            else figure * by
            for key, figure in table.cells.items()
        }
        return replace(table, cells=cells, whole=False, type="double")

    once, times = intervals(scaled(1)), intervals(scaled(factor))

    assert times == {
        key: tuple(pytest.approx((end or 0.0) * factor, abs=1e-5) for end in ends)
        for key, ends in once.items()
    }


# --- whole numbers ---------------------------------------------------------------------------

GAP = (("*.* **. ***", ".** **. *.*", "**. ... **."), 1)
"""Hidden cells of a 3 x 3 x 3 table, and their figure. Tables that fit differ by multiples of one
pattern, 1 in most cells and 2 in one: with marks from 0 to 2 half of it can be added, and no whole
one."""
LARGE_GAP = (
    (
        "***** ***22 2**2* 22*2* *****",
        "***** 2*2** **2*2 *22*2 *2***",
        "2**** **2** *2*2* ***2* 22***",
        "*2*** ***22 2**2* **2*2 *****",
        "*22*2 22**2 *2*** ***** **2*2",
    ),
    2,
)
"""Of these cells, all 2 with marks from 1 to 3, only one follows."""


def cube(
    drawing: tuple[Sequence[str], int],
    spread: int = 1,
    changed: Mapping[Key, int] = {},
    order: Sequence[int] = (0, 1, 2),
    **parts: Any,
) -> Published:
    """A table of three dimensions with its totals; each hidden cell has a mark that says its figure
    but for `spread`. Some inner figures may be `changed`, and the dimensions come in any order."""
    rows, figure = drawing
    hidden = {
        (f"a{a}", f"b{b}", f"c{c}"): mark == "*"
        for a, row in enumerate(rows)
        for b, line in enumerate(row.split())
        for c, mark in enumerate(line)
    }
    cells: dict[Key, Any] = {}
    for leaf in hidden:
        own = changed.get(leaf, figure)
        for key in itertools.product(*((label, TOTAL) for label in leaf)):
            cells[key] = cells.get(key, 0) + own
    for leaf, is_hidden in hidden.items():
        if is_hidden:
            cells[leaf] = (max(figure - spread, 0), figure + spread)
    turned = {tuple(key[place] for place in order): shown for key, shown in cells.items()}
    return Published(turned, **parts)


def test_a_count_follows_as_no_half_of_it_fits() -> None:
    """The reals leave the cell that changes by 2 from 0 to 2, the others from 0.5 to 1.5."""
    found = assert_as_expected(cube(GAP))

    assert (found.derived_cells, found.by_integer_programming) == (17, 1)
    assert set(intervals(cube(GAP)).values()) == {(1, 1)}
    magnitude = derived(cube(GAP, whole=False, type="double"))
    assert (magnitude.derived_cells, magnitude.undecided_cells) == (0, 0)


@fewer
@given(st.data())
def test_a_gap_is_found_however_the_table_is_turned(data: st.DataObject) -> None:
    keys = [key for key, shown in cube(GAP).cells.items() if isinstance(shown, tuple)]
    table = cube(
        GAP,
        data.draw(st.integers(1, 2)),
        data.draw(st.dictionaries(st.sampled_from(keys), st.integers(0, 2), max_size=3)),
        data.draw(st.permutations(range(3))),
    )
    place = data.draw(st.integers(0, 2))
    upper = table.dimensions[place]
    labels = sorted({str(key[upper]) for key in table.cells} - {TOTAL})
    tree = dict.fromkeys(labels[:2], "U")
    # A subtotal that is not published is unknown, and ties the cells together all the same.
    assert_as_expected(replace(table, trees={upper: tree}), data.draw(st.integers(0, 2)))


def test_one_cell_of_a_large_table_follows_as_counts_are_whole() -> None:
    found = derived(cube(LARGE_GAP))

    assert (found.suppressed, found.undecided_cells) == (87, 0)
    assert (found.derived_cells, found.by_integer_programming) == (1, 1)
    assert intervals(cube(LARGE_GAP))["a0", "b0", "c1"] == (2, 2)


def test_a_gap_between_large_figures_is_found() -> None:
    rows, _ = GAP

    found = derived(cube((rows, 10**9)))

    assert (found.derived_cells, found.by_integer_programming) == (17, 1)


def test_marks_that_no_table_of_whole_numbers_fits_are_refused() -> None:
    """Half of the pattern fits these totals alone."""
    table = cube(GAP)
    keys = [key for key, shown in table.cells.items() if isinstance(shown, tuple)]
    ends = {key: (0, 0) if key == ("a1", "b1", "c0") else (0, 2) for key in keys}

    with pytest.raises(InputError, match="no table fits these figures"):
        derived(replace(table, cells={**table.cells, **ends}))


@pytest.mark.parametrize("limit", ["MOST_SECONDS", "MOST_BOUNDS"])
def test_at_a_limit_of_the_search_a_cell_stays_undecided(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"kanon_sql.models.cells.whole_tables.{limit}", 0)

    found = derived(cube(LARGE_GAP))

    assert (found.derived_cells, found.is_cut_short, found.holds) == (0, True, False)
    assert found.undecided_cells >= 1


def test_a_solver_that_errs_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables are added up, and its multipliers give a bound whatever they are."""
    truth = possible(cube(GAP, 2), MOST)

    def erring(solve: Any) -> Any:
        def solved(*given: Any, **named: Any) -> Any:
            solution = solve(*given, **named)
            if solution.x is not None:
                solution.x = solution.x + 1
            if "eqlin" in solution:
                solution.eqlin.marginals = -3 * solution.eqlin.marginals
            return solution

        return solved

    for name in ("linprog", "milp"):
        monkeypatch.setattr(scipy.optimize, name, erring(getattr(scipy.optimize, name)))

    found = derived(cube(GAP, 2), exact=True)

    assert found.undecided_cells == found.suppressed == len(truth)
    assert found.intervals is not None
    assert all(row["kanon_low"] <= 1 <= row["kanon_high"] for row in found.intervals)


# --- cases -----------------------------------------------------------------------------------

HIDDEN = (None, None)
TWO_IN_EACH_LINE = Published(
    {
        **{("w", each): HIDDEN for each in "abc"},
        **{("x", each): HIDDEN for each in "ac"},
        **{("y", each): HIDDEN for each in "bd"},
        **{("z", each): HIDDEN for each in "bd"},
        ("w", "d"): 89,
        ("x", "b"): 124,
        ("x", "d"): 31,
        ("y", "a"): 92,
        ("y", "c"): 59,
        ("z", "a"): 800,
        ("z", "c"): 651,
        ("w", TOTAL): 230,
        ("x", TOTAL): 250,
        ("y", TOTAL): 336,
        ("z", TOTAL): 3127,
        (TOTAL, "a"): 1012,
        (TOTAL, "b"): 1262,
        (TOTAL, "c"): 779,
        (TOTAL, "d"): 890,
        (TOTAL, TOTAL): 3943,
    }
)
"""sdcTable's table: no line has fewer than two suppressed cells, and one still follows."""


def test_a_cell_follows_by_linear_programming_alone() -> None:
    found = derived(TWO_IN_EACH_LINE)

    assert (found.by_subtraction, found.by_bounds, found.by_linear_programming) == (0, 0, 1)
    assert intervals(TWO_IN_EACH_LINE)["w", "b"] == (47, 47)
    assert not found.holds


@pytest.mark.parametrize(("undecided", "holds"), [("fail", False), ("pass", True)])
def test_without_scipy_cells_stay_undecided(
    undecided: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)

    found = derived(TWO_IN_EACH_LINE, undecided=undecided)

    assert (found.derived_cells, found.undecided_cells) == (0, 9)
    assert found.holds is holds
    assert found.lacks_scipy


def test_a_part_of_too_many_unknowns_stays_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_sql.models.cells.derivability.MOST_UNKNOWNS", 8)

    found = derived(TWO_IN_EACH_LINE)

    assert (found.derived_cells, found.undecided_cells) == (0, 9)
    assert not found.lacks_scipy


@pytest.mark.parametrize("low", [0, None])
def test_parts_are_decided_alike_together_and_alone(
    low: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with totals and columns without any share no unknown; without bounds some optima are
    infinite."""
    cells: dict[Key, Any] = {}
    for place, row in enumerate("abcdef"):
        cells |= {(row, "x"): HIDDEN, (row, "y"): HIDDEN if place % 2 else (1, 4)}
        cells |= {(row, "z"): (2, 3) if place % 3 else 1, (row, TOTAL): 6 + place}
    table = Published(cells, whole=low is not None, low=low)

    together = intervals(table)
    monkeypatch.setattr("kanon_sql.models.cells.linear_programs.MOST_TERMS", 1)
    alone = intervals(table)

    assert together == alone
    assert together["b", "x"] == ((0, 5) if low == 0 else (None, None))


def test_several_checks_share_one_analysis() -> None:
    with opened(TWO_IN_EACH_LINE) as (session, cells):
        narrow, wide = derive(session, cells, [Derivable(), Derivable(width=1000, remainder=100)])

        assert (narrow.derived_cells, wide.derived_cells) == (1, 9)
        assert (narrow.small_remainders, wide.small_remainders) == (None, 2)


def test_floating_point_sums_are_allowed_their_error() -> None:
    table = Published(
        {("a",): 0.1, ("b",): 0.2, ("c",): HIDDEN, ("d",): 0.3, (TOTAL,): 0.7},
        whole=False,
        type="double",
    )

    assert derived(table).by_subtraction == 1
    assert intervals(table)["c",] == pytest.approx((0.1, 0.1))


def test_figures_that_may_be_negative_are_not_bounded_by_zero() -> None:
    cells = {("a",): HIDDEN, ("b",): HIDDEN, (TOTAL,): 0}

    assert derived(Published(cells)).derived_cells == 2
    assert derived(Published(cells, whole=False, low=None)).derived_cells == 0


def test_a_remainder_is_what_the_marks_hide_together() -> None:
    cells = {("a",): HIDDEN, ("b",): HIDDEN, ("c",): 50, (TOTAL,): 51}

    assert [derived(Published(cells), remainder=r).small_remainders for r in (1, 2)] == [0, 1]


def test_a_null_label_is_no_total() -> None:
    table = Published({(None,): HIDDEN, ("b",): 3, (TOTAL,): 5})

    assert intervals(table) == {(None,): (2, 2)}


def test_nothing_suppressed_holds() -> None:
    found = derived(Published({("a",): 1, ("b",): 2, (TOTAL,): 3}))

    assert (found.suppressed, found.derived_cells, found.holds) == (0, 0, True)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({("a",): 1, ("b",): 2, (TOTAL,): 4}, "1 of 1 total is not the sum of its parts"),
        ({("a",): (1, 9), ("b",): 2, (TOTAL,): 14}, "outside what its mark says"),
        ({("a",): (1, 3), ("b",): (1, 3), (TOTAL,): 9}, "outside what its mark says"),
        ({("a",): -1, ("b",): 2, (TOTAL,): 1}, "outside of what everyone is taken to know"),
        (
            {("a", "x"): HIDDEN, ("a", TOTAL): 4, (TOTAL, "x"): 5, (TOTAL, TOTAL): HIDDEN},
            "2 totals are not the sum of their parts",
        ),
    ],
)
def test_from_a_table_that_contradicts_itself_nothing_follows(
    cells: dict[Key, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        derived(Published(cells))


def test_the_time_limit_ends_linear_programming_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solve = scipy.optimize.linprog

    with opened(TWO_IN_EACH_LINE) as (session, cells):

        def slow(*given: Any, **named: Any) -> Any:
            session.expired.set()
            return solve(*given, **named)

        monkeypatch.setattr(scipy.optimize, "linprog", slow)
        with pytest.raises(EngineError, match="time limit was reached during linear programming"):
            derive(session, cells, [Derivable()])
        left = session.engine.query("select table_name from information_schema.tables")

    assert {row["table_name"] for row in left} == {"table_cells", "rows_of_cells"}
