"""The list of cells: which rule each breaks, and how a suppressed one is computed."""

from __future__ import annotations

import csv
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from commands import run
from generated import Filled, few, fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cells_oracle import BY, COUNTS, MAGNITUDES, SETTINGS, drawn, tables
from test_shown_cells import ONE
from warehouses import Database

import kanon_sql as kanon

PUBLISHED = """region,sex,n
N,F,12
N,M,0
N,Total,12
S,F,*
S,M,7
S,Total,10
W,F,5
W,Total,5
Total,F,20
Total,M,7
Total,Total,27
"""
ASKED = ("--by", "region,sex", "--value", "n", "--published", "--suppressed", "*")
ASKED = (*ASKED, "--total-label", "Total", "--threshold", "6", "--derivable")


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("published.csv").write_text(PUBLISHED, encoding="utf-8")
    return Path("published.csv")


def test_each_published_cell_is_listed_without_a_figure(published: Path) -> None:
    result = run("tables", str(published), *ASKED, "--cells", "cells.csv")

    assert (result.exit_code, result.stderr) == (1, "cells.csv written: 11 cells.\n")
    assert (
        Path("cells.csv").read_text(encoding="utf-8")
        == """\
region,sex,totals,primary,derivable,interval,ok
N,F,,,,,yes
N,M,,,,,yes
N,Total,sex,,,,yes
S,F,,,"subtraction, round 1",0,no
S,M,,,,,yes
S,Total,sex,,,,yes
W,F,,min_contributors:n=6,,,no
W,Total,sex,min_contributors:n=6,,,no
Total,F,region,,,,yes
Total,M,region,,,,yes
Total,Total,"region, sex",,,,yes
"""
    )


def test_figures_are_listed_on_request_for_their_owner_alone(published: Path) -> None:
    run("tables", str(published), *ASKED, "--cells", "cells.csv", "--show-values")

    with Path("cells.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["region"], row["sex"]): row for row in csv.DictReader(file)}
    assert [rows["S", "F"][name] for name in ("figure", "low", "high")] == ["", "3", "3"]
    assert [rows["W", "F"][name] for name in ("figure", "low", "high")] == ["5", "", ""]
    assert stat.S_IMODE(Path("cells.csv").stat().st_mode) == 0o600


def test_a_list_from_records_is_for_its_owner_alone(published: Path) -> None:
    run("tables", str(published), "--by", "region", "--threshold", "5", "--cells", "own.csv")
    run("tables", str(published), *ASKED, "--cells", "cells.csv")

    usual = stat.S_IMODE(published.stat().st_mode)
    modes = [stat.S_IMODE(Path(name).stat().st_mode) for name in ("own.csv", "cells.csv")]
    assert modes == [0o600, usual]


def test_a_page_names_the_first_five(published: Path) -> None:
    asked = ["13" if each == "6" else each for each in ASKED]

    first, all_of_them = (run("tables", str(published), *asked, *more) for more in ((), ("-v",)))

    assert "Cells that fail (region · sex), the first 5 of 8:" in first.stdout
    assert first.stdout.count("\n  - ") == 5
    assert "  - S · F: can be computed by subtraction, round 1\n" in first.stdout
    assert "  - N · Total: breaks threshold\n" in first.stdout
    assert all_of_them.stdout.count("\n  - ") == 8
    assert "the first 5" not in all_of_them.stdout


def test_outsiders_read_no_labels(published: Path) -> None:
    result = run("tables", str(published), *ASKED, "--audience", "external")

    assert "Cells that fail" not in result.stdout
    assert "S · F" not in result.stdout


def test_from_records_cells_are_listed_on_request_alone(tmp_path: Path) -> None:
    """Without the smallest of the firms in N·b, its other figure follows from the totals."""
    records = pyarrow.table(
        {
            "region": ["N", "N", "N", "S", "S", "S", "S"],
            "sector": ["a", "a", "b", "a", "a", "b", "b"],
            "turnover": [5, 6, 7, 4, 4, 3, 9],
        }
    )
    asked: Any = {"value": "turnover", "threshold": 2, "derivable": True}

    unlisted = kanon.tables(records, BY_SECTOR, **asked)
    listed = kanon.tables(records, BY_SECTOR, list_cells=True, **asked)

    assert "N · b" not in str(unlisted)
    assert "- N · b: breaks threshold; can be computed by subtraction, round 1" in str(listed)
    with pytest.raises(kanon.InputError, match="list_cells=True"):
        _ = unlisted.cells
    rows = listed.cells.rows()
    assert [row for row in rows if not row["ok"]] == [
        {
            "region": "N",
            "sector": "b",
            "totals": None,
            "primary": "min_contributors:n=2",
            "derivable": "subtraction, round 1",
            "interval": 0,
            "ok": False,
        }
    ]
    assert len(rows) == len(listed.cells.to_pandas()) == 9


BY_SECTOR = ["region", "sector"]


def test_a_dimension_may_be_called_as_a_column_of_the_list(tmp_path: Path) -> None:
    records = pyarrow.table({"OK": ["a", "a", "b"], "primary": ["x", "x", "y"]})

    result = kanon.tables(records, ["OK", "primary"], threshold=2, margins="none", list_cells=True)

    assert [list(row.values()) for row in result.cells.rows()] == [
        ["a", "x", None, None, None, None, True],
        ["b", "y", None, "min_contributors:n=2", None, None, False],
    ]
    assert list(result.cells.rows()[0])[:4] == ["OK", "primary", "totals", "kanon_primary"]


def test_where_nothing_is_required_no_cell_is_ok(tmp_path: Path) -> None:
    records = pyarrow.table({"region": ["a", "a", "b"]})

    result = kanon.tables(records, ["region"], list_cells=True)

    assert {cell.ok for cell in result.cells} == {None}


# --- the list and the verdicts agree --------------------------------------------------------


def assert_agrees(result: kanon.AuditResult) -> None:
    """The cells that break a rule are as many as its verdict says, and so are those derived."""
    cells, [table] = result.cells, result.tables
    broken = Counter(rule.partition(":")[0] for cell in cells for rule in cell.primary)
    by_rule = Counter(rule for cell in cells for rule in cell.primary)
    counted: Counter[str] = Counter()
    for check in table.checks:
        if check.model in ("min_contributors", "dominance", "p_percent", "rounded"):
            counted[check.model] += check.details["violating_cells"] or 0
        elif check.model == "differences":
            counted["differences"] += check.details["violating_cells"] or 0
        elif check.model == "derivable":
            derived = [cell for cell in cells if cell.derivable and cell.derivable.endswith("ing")]
            of_rounds = [cell for cell in cells if "subtraction" in str(cell.derivable)]
            of_bounds = [cell for cell in cells if cell.derivable == "bounds"]
            assert len(derived) + len(of_rounds) + len(of_bounds) == check.achieved
            left = [cell for cell in cells if cell.derivable == "can't tell"]
            assert len(left) == check.details["undecided_cells"]
    assert {name: n for name, n in broken.items() if name != "group_disclosure"} == {
        name: n for name, n in counted.items() if n
    }, by_rule
    disclosed = any(c.model == "group_disclosure" and c.holds is False for c in table.checks)
    assert bool(broken["group_disclosure"]) == disclosed
    assert (result.holds is False) == any(cell.ok is False for cell in cells)


CHECKS = [*COUNTS, kanon.Differences(n=3)]
DRAWN = tables(["whole"]).map(lambda t: Filled(t.names, t.types, (*t.rows, ONE)))


def listed(data: Any, other: Any, given: dict[str, Any], engine: Any = None) -> kanon.AuditResult:
    checks = [*CHECKS, *(MAGNITUDES if given["value"] else [])]
    if given["margins"] == "all" and not given["contributor"] and not given["weight"]:
        checks.append(kanon.Derivable())
    return kanon.tables(
        data, BY, checks=checks, against=other, engine=engine, list_cells=True, **given
    )


@settings(few, max_examples=60)
@given(DRAWN, DRAWN, SETTINGS)
def test_the_list_has_what_the_verdicts_count(table: Filled, other: Filled, given: Any) -> None:
    assert_agrees(listed(table.arrow, other.arrow, drawn(given)))


def test_every_engine_lists_the_same(database: Database) -> None:
    @settings(fewer, max_examples=3)
    @given(DRAWN, DRAWN, SETTINGS)
    def is_listed(table: Filled, other: Filled, given: Any) -> None:
        database.load("ledger", table)
        database.load("before", other)
        here = listed(table.arrow, other.arrow, drawn(given)).cells
        there = listed("ledger", "before", drawn(given), database.url).cells
        assert sorted(map(str, there.rows())) == sorted(map(str, here.rows()))

    is_listed()


MARKED = st.lists(st.sampled_from(["*", 1, 2, 3, 7]), min_size=4, max_size=4)


@settings(few, max_examples=60)
@given(MARKED, MARKED, st.integers(0, 2))
def test_a_published_list_has_what_the_verdicts_count(
    first: list[Any], second: list[Any], width: int
) -> None:
    """Marks hide ones and twos, so that totals are known."""
    rows = list(zip("aabb", "xyxy", first, strict=True))
    figures = [(r, s, second[n] if f == "*" else f, f == "*") for n, (r, s, f) in enumerate(rows)]
    whole = [(r, s, 2 if n == "*" else n, hidden) for r, s, n, hidden in figures]
    cells = [(r, s, "*" if hidden else str(n)) for r, s, n, hidden in whole]
    for region in "ab":
        cells.append((region, "T", str(sum(n for r, _, n, _ in whole if r == region))))
    for sex in "xy":
        cells.append(("T", sex, str(sum(n for _, s, n, _ in whole if s == sex))))
    table = dict(zip(("r", "s", "n"), map(list, zip(*cells, strict=True)), strict=True))

    result = kanon.tables(
        pyarrow.table(table),
        ["r", "s"],
        value="n",
        published=True,
        suppressed={"*": (0, 9)},
        total_label="T",
        checks=[kanon.MinContributors(n=3), kanon.Derivable(width=width)],
        list_cells=True,
    )

    assert_agrees(result)
    [check] = [check for check in result.checks if check.model == "derivable"]
    widths = [cell.interval for cell in result.cells if cell.derivable == "no"]
    assert check.details["narrowest"] == min(widths, default=None)
