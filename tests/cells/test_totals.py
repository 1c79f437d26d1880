"""What the totals of a published table are: true, of what is shown, or rounded each on its own."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commands import run
from generated import few
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.question.policy import policy_named
from kanon_sql.question.published import PublishedSpec

BY = ["region", "sex"]
Counts = dict[tuple[str, str], int]


def file_of(folder: Path, cells: dict[tuple[str, ...], Any]) -> Path:
    """A table of one or two dimensions."""
    file = folder / "t.csv"
    names = BY[: len(next(iter(cells)))]
    rows = [[*names, "n"], *([*key, str(figure)] for key, figure in cells.items())]
    file.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return file


def asked(file: Path, by: list[str] = BY, **more: Any) -> Any:
    arguments = {"value": "n", "published": True, "suppressed": "*", "total_label": "Total"}
    [table] = kanon.tables(str(file), by, **{**arguments, **more}).tables
    return table


def derivable(table: Any) -> Any:
    return next(check for check in table.checks if check.model == "derivable")


def with_totals(shown: dict[tuple[str, str], Any], of: Counts) -> dict[tuple[str, ...], Any]:
    """The cells, and every total of the counts in `of`."""
    totals: Counter[tuple[str, str]] = Counter()
    for (region, sex), count in of.items():
        for key in ((region, "Total"), ("Total", sex), ("Total", "Total")):
            totals[key] += count
    return {**shown, **totals}


TRUE = {("a", "f"): 10, ("a", "m"): 3, ("b", "f"): 12, ("b", "m"): 9}
MARKED = {**TRUE, ("a", "m"): "*"}
REDACTED = {key: count for key, count in TRUE.items() if key != ("a", "m")}


def test_totals_are_true_where_nothing_is_said(tmp_path: Path) -> None:
    file = file_of(tmp_path, with_totals(MARKED, TRUE))

    assert derivable(asked(file, derivable=True)).achieved == 1
    assert asked(file).totals == "true"
    with pytest.raises(kanon.InputError, match="are not the sums of what is shown"):
        asked(file, derivable=True, totals="shown")


def test_totals_of_what_is_shown_give_nothing_away(tmp_path: Path) -> None:
    file = file_of(tmp_path, with_totals(MARKED, REDACTED))

    with pytest.raises(kanon.InputError, match=r"calculated anew from what is shown \(totals='sho"):
        asked(file, derivable=True)
    table = asked(file)
    assert (derivable(table).achieved, derivable(table).holds, table.status) == (
        (None, None, "measured")
    )
    assert "every total of a suppressed cell is the sum of its shown parts" in table.warnings[0]
    table = asked(file, derivable=True, totals="shown")
    assert (derivable(table).holds, derivable(table).achieved, table.totals) == (True, 0, "shown")
    # If they are true, the cell is 0.
    assert derivable(asked(file, derivable=True, totals="true")).achieved == 1
    assert derivable(asked(file, derivable=True, totals=True)).achieved == 1


@pytest.mark.parametrize(
    "left_out", [[("a", "Total"), ("b", "Total")], [("Total", "f"), ("b", "Total")]]
)
def test_over_margins_that_are_not_shown_too(tmp_path: Path, left_out: list[Any]) -> None:
    cells = with_totals(MARKED, REDACTED)
    file = file_of(tmp_path, {key: n for key, n in cells.items() if key not in left_out})

    with pytest.raises(kanon.InputError, match="sum of its shown parts"):
        asked(file, derivable=True)
    assert derivable(asked(file, derivable=True, totals="shown")).achieved == 0


def test_a_suppressed_total_of_shown_parts_follows_all_the_same(tmp_path: Path) -> None:
    cells = {**with_totals(MARKED, REDACTED), ("b", "Total"): "*", ("a", "Total"): "*"}

    table = asked(file_of(tmp_path, cells), derivable=True, totals="shown")

    # (b, Total) is 21; (a, Total) is the sum of what is shown of it, which nobody seeks.
    assert (derivable(table).achieved, derivable(table).details["by_subtraction"]) == (1, 1)


@pytest.mark.parametrize(
    ("marks", "refused"),
    [({"*": (0, 0)}, False), ({"*": (0, 4)}, True), ({"*": (1, 4)}, True), ({"*": None}, True)],
)
def test_a_mark_that_says_zero_leaves_nothing_to_ask(
    tmp_path: Path, marks: Any, refused: bool
) -> None:
    file = file_of(tmp_path, {("a",): 10, ("b",): 12, ("c",): "*", ("Total",): 22})

    if refused:
        with pytest.raises(kanon.InputError, match="sum of its shown parts"):
            asked(file, ["region"], suppressed=marks, derivable=True)
    else:
        assert derivable(asked(file, ["region"], suppressed=marks, derivable=True)).achieved == 1


@pytest.mark.parametrize(
    "cells",
    [
        {("a",): 10, ("b",): "*", ("c",): "*"},
        {("a",): 10, ("b",): "*", ("c",): 2, ("Total",): "*"},
        {("a",): 10, ("b",): 2, ("Total",): "*"},
    ],
)
def test_nothing_is_asked_where_no_total_is_shown(tmp_path: Path, cells: Any) -> None:
    assert asked(file_of(tmp_path, cells), ["region"], derivable=True).status in (
        ("holds", "violated")
    )


# --- rounded ---------------------------------------------------------------------------------

ROUNDED = {
    ("a", "f"): 10,
    ("a", "m"): "*",
    ("b", "f"): 15,
    ("b", "m"): 10,
    ("a", "Total"): 15,
    ("b", "Total"): 20,
    ("Total", "f"): 20,
    ("Total", "m"): 15,
    ("Total", "Total"): 35,
}


def test_rounded_totals_leave_one_check_undecided(tmp_path: Path) -> None:
    file = file_of(tmp_path, ROUNDED)

    with pytest.raises(kanon.InputError, match=r"2 of 4 totals.*\(totals='rounded:BASE'\)"):
        asked(file, derivable=True, threshold=8)
    table = asked(file, derivable=True, threshold=8, totals="rounded:5")
    check = derivable(table)
    assert (check.holds, check.achieved, check.undecided, table.status) == (
        (None, None, True, "measured")
    )
    assert [each.holds for each in table.checks if each.model == "min_contributors"] == [True]
    assert asked(file, derivable=True, threshold=11, totals="rounded:5").status == "violated"
    assert not derivable(asked(file, totals="rounded:5")).undecided


def test_totals_that_are_not_rounded_to_the_base_are_refused(tmp_path: Path) -> None:
    file = file_of(tmp_path, {**ROUNDED, ("a", "Total"): 14})

    with pytest.raises(kanon.InputError, match="1 total is no multiple of the base"):
        asked(file, derivable=True, totals="rounded:5")


def test_the_screen_says_that_it_can_not_tell(tmp_path: Path) -> None:
    file = str(file_of(tmp_path, ROUNDED))
    options = ("--by", "region,sex", "--value", "n", "--published", "--total-label", "Total")
    options += ("--suppressed", "*", "--derivable", "--totals", "rounded:5")

    result = run("tables", file, *options)

    assert result.exit_code == 0
    assert "undecided  derivable  can't tell: totals are rounded, each on its own" in result.stdout
    assert "not shown to hold what was required" in " ".join(result.stdout.split())


# --- who says it -----------------------------------------------------------------------------


def test_a_policy_that_asks_for_it_implies_it(tmp_path: Path) -> None:
    file = file_of(tmp_path, with_totals(MARKED, REDACTED))

    table = asked(file, policy="opensafely")

    assert policy_named("opensafely").totals == "shown"
    assert (table.totals, derivable(table).holds) == ("shown", True)
    assert derivable(asked(file, policy="opensafely", totals="true")).holds is False
    assert "totals: shown" in run("policy", "opensafely").stdout


def test_policies_that_disagree_are_refused(tmp_path: Path) -> None:
    other = policy_named("opensafely").model_copy(update={"policy": "other", "totals": "true"})
    settings = {"source": "t.csv", "cells": True, "by": BY, "value": "n"}
    both: list[Any] = [policy_named("opensafely"), other]

    with pytest.raises(kanon.SpecError, match="totals are shown by opensafely and true by other"):
        kanon.AuditSpec(published=[PublishedSpec(**settings, policy=both)])
    assert PublishedSpec(**settings, policy=both, totals="shown").declared_totals == "shown"


# --- what is found is true -------------------------------------------------------------------

TABLES = st.fixed_dictionaries(
    {key: st.sampled_from([0, 1, 2, 3, 3, 8]) for key in itertools.product("ab", "xyz")}
).filter(lambda counts: any(counts.values()))


def truth(counts: Counts, labels: tuple[str, str], seen: tuple[set[str], set[str]]) -> int:
    """The figure of a cell, or of all labels together that no row has."""
    return sum(
        count
        for key, count in counts.items()
        if all(
            label in (own, "Total") or (label == "(no row)" and own not in of)
            for own, label, of in zip(key, labels, seen, strict=True)
        )
    )


@pytest.mark.parametrize("absent", [False, True])
@settings(few, max_examples=30)
@given(counts=TABLES, totals=st.booleans())
def test_no_interval_leaves_out_the_truth(
    tmp_path_factory: pytest.TempPathFactory, absent: bool, counts: Counts, totals: bool
) -> None:
    """Cells below 4 are starred, or have no row; totals are those of all, or of what is shown."""
    of = counts if totals or absent else {k: n for k, n in counts.items() if n == 0 or n >= 4}
    cells = with_totals({k: n for k, n in counts.items() if n or not absent}, of)
    inner = {key for key in cells if "Total" not in key}
    small = {key for key, n in cells.items() if 0 < n < 4 and (absent or key in inner)}
    if absent:
        shown = {key: n for key, n in cells.items() if key not in small and n}
    else:
        shown = {key: "*" if key in small else n for key, n in cells.items()}
    if ("Total", "Total") not in shown or all("Total" in key for key in shown):
        return
    file = file_of(tmp_path_factory.mktemp("drawn"), shown)
    more: dict[str, Any] = {"absent": "suppressed"} if absent else {}
    more |= {"totals": "true" if totals or absent else "shown"}

    table = asked(file, derivable=True, show_values=True, **more)

    seen = tuple({key[place] for key in shown} for place in (0, 1))
    for each in (table.shown or {}).get("intervals", ()):
        labels = tuple("Total" if name in each["totals"] else each[name] for name in BY)
        low, high = each["low"], each["high"]
        assert low <= truth(counts, labels, seen) <= (high if high is not None else 99), labels
