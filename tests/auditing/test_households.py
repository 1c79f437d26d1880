"""Household risk where people see it: the page, the report, a baseline, a release."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from commands import run

import kanon_sql as kanon
from kanon_sql.report.words.numbers import NONE
from kanon_sql.results.baseline import Baseline

FAMILIES = "home,zip\n1,x\n1,x\n2,x\n2,y\n3,y\n"
SAID = (
    "Of 3 households, at least one person is found with a chance of 66.7 % at most; averaged over "
    "the records, that is 58.9 % (household risk). The chance is above 20 % for 100 % of the "
    "records."
)


def plain(text: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", text).split())


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(FAMILIES)
    return tmp_path


def test_the_page_says_it_beside_prosecutor_risk(files: Path) -> None:
    shown = plain(run("audit", "people.csv", "--qi", "zip", "--household", "home").stdout)

    assert SAID in shown
    assert "(unassigned)" not in shown


def test_the_report_has_it_for_internal_readers_alone(files: Path) -> None:
    """Homes of two people each, in classes of sixty: 1 - (59/60)^2 = 3.3 %."""
    rows = "\n".join(f"{n // 2},{n % 4}" for n in range(240))
    (files / "many.csv").write_text(f"home,zip\n{rows}\n")
    run("audit", "many.csv", "--qi", "zip", "--household", "home", "--output", "result.json")

    run("report", "result.json", "--output", "inside.html")
    run("report", "result.json", "--output", "outside.html", "--audience", "external")

    inside, outside = (
        plain((files / f"{name}.html").read_text()) for name in ("inside", "outside")
    )
    assert f"household highest {NONE} 3.3&nbsp;% household average {NONE} 3.3&nbsp;%" in inside
    assert "1 - Π (1 - 1/size)" in inside
    assert "household" not in outside


def test_a_baseline_notices_that_it_got_worse() -> None:
    """Two people move into one home; the classes stay as they are."""
    before, after = (
        kanon.audit(
            pa.table({"home": homes, "zip": ["x"] * 6}), "zip", household="home", k=7, name="people"
        )
        for homes in ([1, 2, 3, 4, 5, 6], [1, 1, 3, 4, 5, 6])
    )
    baseline = Baseline.of([before])

    assert baseline.applied_to(before, "share").status == "accepted"
    assert baseline.applied_to(after, "share").status == "violated"


def test_a_release_warns_that_it_has_the_household() -> None:
    table = pa.table({"home": [1, 1, 2, 2], "zip": ["x", "x", "x", "x"]})

    result = kanon.anonymize(table, "zip", k=2, household="home")

    assert (
        'The household "home" is in the release and links the people of a household. If it is '
        "used anywhere else, replace it." in result.tables[0].warnings
    )
