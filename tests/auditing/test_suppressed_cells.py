"""Derivability and policies of tables, from the records and as they are published."""

from __future__ import annotations

import csv
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from commands import run
from generated import fewer
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit, published_tables
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.question.policy import policy_named, policy_names
from kanon_sql.question.spec import AuditSpec, published_spec
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult

Rows = Sequence[Sequence[Any]]
OVERCLAIMS = re.compile(r"\b(compliant|compliance|anonymous|safe)\b", re.IGNORECASE)


def write(file: Path, columns: Sequence[str], rows: Rows) -> Path:
    with file.open("w", encoding="utf-8", newline="") as open_file:
        writer = csv.writer(open_file)
        writer.writerow(columns)
        writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    return file


def cells(file: Path, **parts: Any) -> CellsResult:
    spec = AuditSpec(published=[published_spec(source=str(file), **parts)])
    [table] = audit(
        spec, RunOptions(), kind=published_tables(), show_values=parts.pop("show", False)
    ).tables
    assert isinstance(table, CellsResult)
    return table


def derivable(table: CellsResult) -> CheckResult:
    return next(each for each in table.checks if each.model == "derivable")


def published(counts: Mapping[tuple[str, ...], int], n: int) -> list[list[Any]]:
    """A table with all its margins, in which counts below n are starred."""
    dimensions = len(next(iter(counts)))
    whole: Counter[tuple[str, ...]] = Counter()
    for key, count in counts.items():
        for total in itertools.product((False, True), repeat=dimensions):
            node = tuple(
                "All" if is_total else each for each, is_total in zip(key, total, strict=True)
            )
            whole[node] += count
    return [[*key, "*" if count < n else count] for key, count in whole.items()]


@st.composite
def counted(draw: st.DrawFn) -> dict[tuple[str, ...], int]:
    """Counts of two or three dimensions; a combination may have none."""
    shape = draw(st.sampled_from([(3, 3), (2, 4), (2, 2, 2)]))
    labels = [[f"{'abc'[place]}{each}" for each in range(size)] for place, size in enumerate(shape)]
    keys = draw(
        st.lists(st.sampled_from(list(itertools.product(*labels))), min_size=1, unique=True)
    )
    return {key: draw(st.integers(1, 9)) for key in keys}


FIGURES = ("suppressed", "derived_cells", "by_subtraction", "by_bounds", "undecided_cells", "steps")


@fewer
@given(counted(), st.integers(2, 6))
def test_from_records_it_is_what_the_starred_table_gives_away(
    tmp_path_factory: pytest.TempPathFactory, counts: dict[tuple[str, ...], int], n: int
) -> None:
    folder = tmp_path_factory.mktemp("cells")
    by = [f"d{place}" for place in range(len(next(iter(counts))))]
    records = [key for key, count in counts.items() for _ in range(count)]

    here = cells(
        write(folder / "records.csv", by, records),
        by=by,
        header=True,
        checks=[{"min_contributors": {"n": n}}, "derivable"],
    )
    there = cells(
        write(folder / "table.csv", [*by, "n"], published(counts, n)),
        by=by,
        header=True,
        value="n",
        cells=True,
        suppressed=["*"],
        total_label="All",
        checks=["derivable"],
    )

    first, second = derivable(here), derivable(there)
    assert first.holds == second.holds
    assert {key: first.details[key] for key in FIGURES} == {
        key: second.details[key] for key in FIGURES
    }
    assert here.cells.sensitive_cells == first.details["suppressed"]


def test_a_magnitude_is_added_with_its_signs(tmp_path: Path) -> None:
    rows = [["N", 90], ["N", -80], ["S", 5], ["S", 5], ["S", 6], ["W", 40], ["W", 40], ["W", 50]]
    file = write(tmp_path / "firms.csv", ["region", "gain"], rows)

    table = cells(
        file, by=["region"], value="gain", checks=[{"min_contributors": {"n": 3}}, "derivable"]
    )

    assert derivable(table).details["by_subtraction"] == 1
    assert table.warnings


def test_labels_that_a_hierarchy_repeats_are_told_apart(tmp_path: Path) -> None:
    """The label 1 is a place of region 2 here, and a region too."""
    rows = [
        [place] for place, count in [("1", 2), ("3", 9), ("4", 8), ("5", 7)] for _ in range(count)
    ]
    (tmp_path / "regions.csv").write_text("1,2\n3,2\n4,1\n5,1\n", encoding="utf-8")

    table = cells(
        write(tmp_path / "people.csv", ["place"], rows),
        by=["place"],
        hierarchies={"place": str(tmp_path / "regions.csv")},
        checks=[{"min_contributors": {"n": 3}}, "derivable"],
    )

    assert (table.cells.cells, derivable(table).details["by_subtraction"]) == (7, 1)


def test_the_levels_of_a_builder_have_totals_too(tmp_path: Path) -> None:
    rows = [[age] for age, count in [(21, 2), (24, 9), (31, 8), (38, 7)] for _ in range(count)]

    table = cells(
        write(tmp_path / "people.csv", ["age"], rows),
        by=["age"],
        hierarchies={"age": "width:10"},
        checks=[{"min_contributors": {"n": 3}}, "derivable"],
    )

    assert (table.cells.cells, derivable(table).details["by_subtraction"]) == (7, 1)


def test_people_in_several_cells_leave_it_open(tmp_path: Path) -> None:
    rows = [["a", "p1"], ["a", "p2"], *([["b", f"p{n}"] for n in range(2, 9)])]
    file = write(tmp_path / "visits.csv", ["ward", "person"], rows)

    table = cells(
        file,
        by=["ward"],
        contributor="person",
        checks=[{"min_contributors": {"n": 3}}, "derivable"],
    )

    check = derivable(table)
    assert (check.holds, check.achieved, check.details["undecided_cells"]) == (False, 0, 1)
    assert "totals are no sums of cells" in " ".join(table.warnings)
    alone = cells(
        write(tmp_path / "once.csv", ["ward", "person"], rows[:1] + rows[3:]),
        by=["ward"],
        contributor="person",
        checks=[{"min_contributors": {"n": 3}}, "derivable"],
    )
    assert derivable(alone).achieved == 1


@pytest.mark.parametrize("type", [pyarrow.float64(), pyarrow.float32()])
def test_both_spellings_of_zero_are_one_node(type: pyarrow.DataType) -> None:
    """Each cell of the value may come with either, by its first record."""
    shelves = {"A": [0.0] * 2 + [1.0] * 9, "B": [-0.0] * 7 + [1.0] * 8}
    records = [(ward, shelf) for ward, each in shelves.items() for shelf in each]
    wards, values = zip(*records, strict=True)
    table = pyarrow.table({"ward": wards, "shelf": pyarrow.array(values, type)})

    [found] = kanon.tables(table, ["ward", "shelf"], threshold=3, derivable=True).tables

    check = next(each for each in found.checks if each.model == "derivable")
    assert (check.details["suppressed"], check.achieved) == (1, 1)


OF_TWO = [["a", "x", 5], ["a", "All", 5], ["b", "y", 7], ["b", "All", 9], ["All", "All", 14]]
"""Without the rows of (a, y) and (b, x), which are 0 and at most 2."""


def test_a_combination_without_a_row_may_be_suppressed(tmp_path: Path) -> None:
    rows = [*OF_TWO, ["All", "x", 7], ["All", "y", 7]]
    file = write(tmp_path / "t.csv", ["r", "s", "n"], rows)
    asked = {"by": ["r", "s"], "value": "n", "cells": True, "total_label": "All"}

    table = cells(file, absent="suppressed", checks=["derivable"], **asked)

    check = derivable(table)
    # x and y are all of s, so (a, y) is proven to be 0, (b, x) to be 2.
    assert (check.details["suppressed"], check.achieved) == (2, 1)
    assert table.cells.absent_cells == 2
    with pytest.raises(kanon.InputError, match="2 of 6 totals are not the sum"):
        cells(file, checks=["derivable"], **asked)


def test_a_label_without_any_row_may_be_suppressed(tmp_path: Path) -> None:
    """Without the totals of x and y a third value of s may have any of the 2 in b."""
    file = write(tmp_path / "t.csv", ["r", "s", "n"], OF_TWO)

    [table] = kanon.tables(
        str(file),
        ["r", "s"],
        value="n",
        published=True,
        total_label="All",
        absent="suppressed",
        derivable=True,
        show_values=True,
    ).tables

    check = derivable(table)
    # (a, y) is counted, (a, a third one) is not, as both are proven to be 0.
    assert (check.details["suppressed"], check.achieved, check.holds) == (3, 0, True)
    assert table.shown is not None
    found = {(each["r"], each["s"], each["low"], each["high"]) for each in table.shown["intervals"]}
    assert found == {("a", "y", 0, 0), ("b", "x", 0, 2), ("b", "(no row)", 0, 2)}


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "x", 5], ["a", "All", -1], ["b", "y", 7], ["b", "All", 7], ["All", "All", 6]],
        # Over a margin that is not shown: the rows a and b without the columns y and z are (a, x).
        [
            *[["a", "All", -1], ["b", "All", 1], ["c", "z", 4], ["c", "x", 0], ["c", "y", 0]],
            *[["All", "y", 2], ["All", "z", 5], ["b", "x", 0], ["c", "All", 4]],
        ],
    ],
)
def test_where_figures_may_be_negative_labels_without_a_row_hide_all(
    tmp_path: Path, rows: list[Any]
) -> None:
    """But at the least that a figure can be: -6 is the sum of twice -3."""
    file = write(tmp_path / "t.csv", ["r", "s", "n"], rows)
    asked = {"by": ["r", "s"], "value": "n", "cells": True, "total_label": "All"}
    asked |= {"absent": "suppressed", "magnitude": True, "checks": ["derivable"]}

    assert derivable(cells(file, value_bounds=[None, None], **asked)).achieved == 0
    if rows[1] == ["a", "All", -1]:
        assert derivable(cells(file, value_bounds=[-3, None], **asked)).holds is False


@pytest.mark.parametrize(
    ("rows", "marks", "expected"),
    [
        # All that is hidden is in a region without a row.
        ([["a", 12], ["b", 20], ["Total", 34]], [], (False, 1, 1)),
        ([["a", 12], ["b", 20], ["Total", 32]], [], (True, 0, 0)),
        # Region b would be 22 if there were no other.
        ([["a", 12], ["b", "*"], ["Total", 34]], ["*"], (True, 0, 2)),
    ],
)
def test_a_category_without_a_row_is_unknown(
    tmp_path: Path, rows: list[Any], marks: list[str], expected: tuple[bool, int, int]
) -> None:
    table = cells(
        write(tmp_path / "t.csv", ["region", "n"], rows),
        by=["region"],
        value="n",
        cells=True,
        total_label="Total",
        absent="suppressed",
        suppressed=marks,
        checks=["derivable"],
    )

    check = derivable(table)
    assert (check.holds, check.achieved, check.details["suppressed"]) == expected


# --- the screen and the command --------------------------------------------------------------

STARRED = [["N", "*"], ["S", 12], ["W", 10], ["Total", 25]]
ASKED = ("--by", "region", "--value", "n", "--published", "--total-label", "Total")


@pytest.fixture
def starred(tmp_path: Path) -> str:
    return str(write(tmp_path / "t.csv", ["region", "n"], STARRED))


def test_where_a_cell_is_suppressed_it_is_measured_unasked(starred: str) -> None:
    result = run("tables", starred, *ASKED, "--suppressed", "*", "--format", "json")

    [check] = [each for each in _table(result)["checks"] if each["model"] == "derivable"]
    assert (result.exit_code, check["holds"], check["achieved"]) == (0, None, 1)


def test_totals_that_do_not_add_up_end_only_what_is_required(tmp_path: Path) -> None:
    rows = [["N", "*"], ["S", 10], ["Total", 25], ["W", 10]]
    labelled = [["a", *row] for row in rows] + [["Total", "N", 3], ["Total", "S", 11]]
    labelled += [["Total", "W", 10], ["Total", "Total", 25]]
    file = str(write(tmp_path / "t.csv", ["year", "region", "n"], labelled))
    asked = ("--by", "year,region", *ASKED[2:], "--suppressed", "*")

    required = run("tables", file, *asked, "--derivable")
    measured = run("tables", file, *asked)

    assert (required.exit_code, required.stdout) == (2, "")
    assert "2 of 4 totals are not the sum of their parts, so nothing can be" in required.stderr
    assert "--absent suppressed" in required.stderr
    assert measured.exit_code == 0
    assert "not the sum of their parts" in " ".join(measured.stdout.split())


UNTOTALLED = [["N", "*"], ["S", 10], ["W", 8]]


def test_without_any_total_the_mark_is_all_that_is_known(tmp_path: Path) -> None:
    """A cell in no equation has just the figures of its mark, which no program would narrow."""
    file = write(tmp_path / "t.csv", ["region", "n"], UNTOTALLED)
    asked = {"by": ["region"], "value": "n", "cells": True, "checks": ["derivable"]}

    wide = cells(file, suppressed={"*": [1, 9]}, **asked)
    narrow = cells(file, suppressed={"*": [3, 3]}, **asked)

    assert (derivable(wide).holds, derivable(wide).details["undecided_cells"]) == (True, 0)
    assert (derivable(narrow).holds, derivable(narrow).details["by_bounds"]) == (False, 1)
    assert ["follows from nothing but its mark" in each for each in wide.warnings] == [True]


@pytest.mark.parametrize("has_scipy", [True, False])
@pytest.mark.parametrize(
    ("total", "label"), [("Total", None), ("Insgesamt", None), ("Total", {"region": "Totl"})]
)
def test_a_total_that_is_not_declared_leaves_it_open(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    total: str,
    label: dict[str, str] | None,
    has_scipy: bool,
) -> None:
    """No linear program helps, so none is proposed."""
    if not has_scipy:
        monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    file = write(tmp_path / "t.csv", ["region", "n"], [*UNTOTALLED, [total, 21]])
    declared = {"total_label": label} if label else {}

    table = cells(
        file,
        by=["region"],
        value="n",
        cells=True,
        suppressed=["*"],
        checks=["derivable"],
        **declared,
    )

    assert (derivable(table).holds, derivable(table).details["undecided_cells"]) == (False, 1)
    assert "--total-label" in table.warnings[0]
    assert "can't tell for 1 of 1 suppressed cell: a row may be a total" in table.warnings[1]


def test_totals_that_do_not_add_up_are_warned_of_by_every_check(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", ["region", "n"], [["N", 12], ["S", 10], ["Total", 25]])
    asked = {
        "by": ["region"],
        "value": "n",
        "cells": True,
        "checks": [{"min_contributors": {"n": 3}}],
    }

    [broken] = cells(file, total_label="Total", **asked).warnings
    [unused] = cells(file, total_label="Sum", **asked).warnings

    assert "1 of 1 total is not the sum of its parts" in broken
    assert "no row has the total that --total-label declares of region" in unused
    assert "Sum" not in unused


def test_a_table_too_large_to_search_ends_only_what_is_required(
    starred: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kanon_sql.models.cells.suppressed_cells.MOST_CELLS", 2)

    measured = run("tables", starred, *ASKED, "--suppressed", "*")
    required = run("tables", starred, *ASKED, "--suppressed", "*", "--derivable")

    assert (measured.exit_code, required.exit_code, required.stdout) == (0, 2, "")
    assert "cells are more than the 2 that derivable can search" in required.stderr


def test_no_figure_is_shown_unasked_and_labels_only_to_people(starred: str) -> None:
    rows = [["Northumbria", "*"], ["Somerset", 1212], ["Wales", 1010], ["Total", 3999]]
    with Path(starred).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["region", "n"], *rows])
    planted = ("Northumbria", "Somerset", "1212", "3999", "1777")
    for form in ("human", "json", "markdown", "junit", "sarif", "github"):
        result = run(
            "tables", starred, *ASKED, "--suppressed", "*", "--derivable", "--format", form
        )
        assert result.exit_code == 1
        # A person reads which cell can be computed; its label is published.
        named = ["Northumbria"] if form in ("human", "markdown") else []
        assert [each for each in planted if each in result.stdout] == named, form


def test_intervals_are_shown_on_request(starred: str) -> None:
    asked = ("tables", starred, *ASKED, "--suppressed", "*", "--show-values", "--format", "json")

    assert _table(run(*asked))["intervals"] == [
        {"region": "N", "totals": [], "low": 3.0, "high": 3.0}
    ]


def test_without_scipy_it_says_what_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["a", "x", "*"], ["a", "y", "*"], ["b", "x", "*"], ["b", "y", "*"]]
    rows += [["a", "All", 9], ["b", "All", 8], ["All", "x", 7], ["All", "y", 10]]
    file = str(write(tmp_path / "t.csv", ["r", "s", "n"], rows))
    asked = ("tables", file, "--by", "r,s", "--value", "n", "--published", "--suppressed", "*")
    asked = (*asked, "--total-label", "All", "--derivable")
    with_scipy = run(*asked)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)

    without = run(*asked)

    assert (with_scipy.exit_code, without.exit_code) == (0, 1)
    assert "no way was found" in with_scipy.stdout
    words = " ".join(without.stdout.split())
    assert "can't tell for 4 of 4 suppressed cells: pip install 'kanon-sql[estimates]'" in words
    forgiven = run(*asked[:-1], "--check", "derivable:undecided=pass")
    assert forgiven.exit_code == 0


def test_the_first_screen_says_what_would_follow(tmp_path: Path) -> None:
    rows = [[ward] for ward, count in [("a", 2), ("b", 9), ("c", 8)] for _ in range(count)]
    file = str(write(tmp_path / "visits.csv", ["ward"], rows))

    result = run("tables", file, "--by", "ward", "--threshold", "5", "--derivable")

    words = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "1 of 1 cell could be computed if just these were suppressed" in words
    assert "1 by subtraction in 1 round" in words
    assert "and hides none of them: more cells must go, or fewer dimensions" in words


# --- policies --------------------------------------------------------------------------------

OF_SIZES = [name for name in policy_names() if policy_named(name).required_size]


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("name", OF_SIZES)
def test_a_cell_at_the_limit_holds_and_one_below_does_not(
    name: str, missing: int, tmp_path: Path
) -> None:
    policy = policy_named(name)
    n = (policy.required_size or 0) - missing
    rows = [[ward] for ward, count in [("a", n), ("b", 40)] for _ in range(count)]
    file = write(tmp_path / "visits.csv", ["ward"], rows)

    table = cells(file, by=["ward"], policy=name)

    check = next(each for each in table.checks if each.model == "min_contributors")
    assert (check.policy, check.holds, check.achieved) == (name, not missing, n)
    [outcome] = table.policies
    answerable = [
        each.name()
        for each in policy.checks
        if each.name() not in ("dominance", "p_percent", "rounded")
    ]
    assert outcome.asked == len(answerable)
    assert outcome.held == (0 if missing else len(answerable))
    assert {each["model"] for each in outcome.not_asked} == (
        {each.name() for each in policy.checks} - set(answerable) | set(policy.wanted)
    )
    assert all(each["reason"] for each in outcome.not_asked)


GRID = [(15, True), (20, True), (14, False), (0, False), (105, False), (150, True)]


@pytest.mark.parametrize(("figure", "holds"), GRID)
def test_a_policy_of_rounding_asks_the_table_itself(
    figure: int, holds: bool, tmp_path: Path
) -> None:
    file = write(tmp_path / "t.csv", ["ward", "n"], [["a", figure], ["b", 20]])
    asked = {"by": ["ward"], "value": "n", "cells": True, "policy": "us-census-drb"}
    # From 15 on the grid is of 10, so 15 lies off it.
    expected = holds and figure != 15

    table = cells(file, **asked)

    assert (table.status == "holds", table.policies[0].held) == (expected, int(expected))


def test_concentration_at_the_limit(tmp_path: Path) -> None:
    """abs-datalab: exactly 50 % of a cell of 10 contributors holds, 67 % of two as well."""
    values = [50, 17, 5, 5, 5, 5, 5, 4, 3, 1]
    held = write(tmp_path / "held.csv", ["ward", "v"], [["a", value] for value in values])
    values[0], values[2] = 51, 4
    violated = write(tmp_path / "violated.csv", ["ward", "v"], [["a", value] for value in values])
    asked = {"by": ["ward"], "value": "v", "margins": "none", "policy": ["abs-datalab"]}

    assert cells(held, **asked).policies[0].held == 3
    assert cells(violated, **asked).policies[0].held == 1


def test_what_can_not_be_asked_is_listed_with_the_reason(starred: str) -> None:
    result = run(
        "tables",
        starred,
        *ASKED,
        "--suppressed",
        "*",
        "--policy",
        "acro-default",
        "--format",
        "json",
    )

    [policy] = _table(result)["policies"]
    assert [each["model"] for each in policy["not_asked"]] == ["dominance", "p_percent"]
    assert all("needs the records" in each["reason"] for each in policy["not_asked"])
    assert (policy["asked"], policy["held"], policy["read"]["by"]) == (1, 1, "owner")


def test_a_rule_without_a_number_is_the_user_s(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", ["ward", "v"], [["a", v] for v in (5, 4, 4, 3, 2, 2)])
    asked = {"by": ["ward"], "value": "v", "policy": "essnet-handbook"}

    [without] = cells(file, **asked).policies
    [with_p] = cells(file, **asked, checks=[{"p_percent": {"p": 10}}]).policies

    assert [each["model"] for each in without.not_asked] == ["p_percent"]
    assert (with_p.not_asked, with_p.asked, with_p.held) == ((), 2, 2)


def test_a_comparison_of_a_policy_is_made_with_every_second_table(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "question" / "test_policy.py").read_text(
        encoding="utf-8"
    )
    own = text.partition('OWN = """\\\n')[2].partition('"""')[0]
    own = own.replace("about: min_contributors", "about: differences")
    own = own.replace("min_contributors: {n: 6}", "differences: {n: 6}")
    (tmp_path / "own.yml").write_text(own, encoding="utf-8")
    here = write(tmp_path / "t.csv", ["ward"], [["a"]] * 20)
    write(tmp_path / "u.csv", ["ward"], [["a"]] * 18)
    against = {"before": {"source": str(tmp_path / "u.csv")}, "same": {"source": str(here)}}
    asked = {"by": ["ward"], "policy": str(tmp_path / "own.yml")}

    table = cells(here, against=against, **asked)

    checks = {each.parameters["against"]: each.holds for each in table.checks[:2]}
    assert checks == {"before": False, "same": True}
    assert table.policies[0].asked == 2
    with pytest.raises(kanon.SpecError, match="none of the rules"):
        cells(here, **asked)


@pytest.mark.parametrize("name", policy_names())
def test_no_output_overclaims(name: str, starred: str, tmp_path: Path) -> None:
    rows = [["a", value] for value in (50, 20, 20, 10)] * 10
    records = str(write(tmp_path / "records.csv", ["ward", "v"], rows))
    for asked in (
        (starred, *ASKED, "--suppressed", "*"),
        (records, "--by", "ward", "--value", "v"),
    ):
        for form in ("human", "json", "markdown"):
            result = run("tables", *asked, "--policy", name, "--format", form)
            assert not OVERCLAIMS.search(result.stdout)


# --- an external audience --------------------------------------------------------------------

CONFIDENTIAL = ("--p-percent", "17", "--check", "dominance:n=2,k=63")


def test_confidential_parameters_are_hidden_from_outsiders(tmp_path: Path) -> None:
    rows = [["a", value] for value in (500, 20, 20, 10)] + [["b", value] for value in (9, 8, 8, 7)]
    file = str(write(tmp_path / "firms.csv", ["ward", "turnover"], rows))
    asked = ("tables", file, "--by", "ward", "--value", "turnover", "--threshold", "6")
    asked = (*asked, *CONFIDENTIAL, "--policy", "essnet-handbook")

    inside = run(*asked, "--format", "json")
    for form in ("human", "json", "markdown", "junit", "sarif", "github"):
        outside = run(*asked, "--audience", "external", "--format", form)
        assert outside.exit_code == inside.exit_code == 1
        assert not re.search(r"\b(17|63)\b", outside.stdout), form
        assert "select" not in outside.stdout
    table = json.loads(run(*asked, "--audience", "external", "--format", "json").stdout)["tables"][
        0
    ]
    found = {each["model"]: each for each in table["checks"] if each["holds"] is not None}

    assert found["dominance"]["parameters"]["k"] == "confidential"
    assert found["p_percent"]["achieved"] is found["dominance"]["achieved"] is None
    sizes = [each for each in table["checks"] if each["model"] == "min_contributors"]
    assert {each["achieved"] for each in sizes} == {"fewer than 6"}


def test_a_spec_names_what_is_confidential(tmp_path: Path) -> None:
    rows = [["a", value] for value in (500, 20, 20, 10)]
    write(tmp_path / "firms.csv", ["ward", "turnover"], rows)
    (tmp_path / "kanon.yml").write_text(
        "published:\n  - source: firms.csv\n    by: [ward]\n    value: turnover\n"
        "    checks: [{dominance: {n: 1, k: 63}}]\n    confidential: [dominance.k]\n"
        "    policy: bundesbank-rdsc\n",
        encoding="utf-8",
    )

    result = run(
        "tables", str(tmp_path / "kanon.yml"), "--audience", "external", "--format", "json"
    )

    assert "63" not in result.stdout.partition('"seal"')[0]
    checks = [each for each in _table(result)["checks"] if each["model"] == "dominance"]
    assert {each["parameters"].get("k") for each in checks} == {"confidential"}


def test_a_parameter_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", ["ward"], [["a"]])
    with pytest.raises(kanon.SpecError, match='dominance has no parameter "kk"'):
        cells(file, by=["ward"], confidential=["dominance.kk"])


def _table(result: Any) -> dict[str, Any]:
    assert result.stderr == ""
    [table] = json.loads(result.stdout)["tables"]
    found: dict[str, Any] = table
    return found
