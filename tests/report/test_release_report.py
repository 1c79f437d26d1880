"""The reports of a release: hand-made results in, whole texts out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from pages import as_html, as_markdown, as_text
from places import TESTS
from releases import FEASIBLE, IN_VAIN, MADE, STEPS, k_anonymity, released
from rich.cells import cell_len

import kanon_sql as kanon
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.report import terminal
from kanon_sql.report.release_tables import step_line
from kanon_sql.report.words.numbers import in_python
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import (
    Association,
    Before,
    GeneralizationStep,
    Metrics,
    Release,
)
from kanon_sql.results.table import Summary

TEXTS = TESTS / "reports"
"""The whole texts, as files that can be looked at."""


def closeness(holds: bool, achieved: float, classes: int = 0, records: int = 0) -> CheckResult:
    parameters = {"t": 0.2, "sensitive": "diagnosis", "distance": "equal"}
    return CheckResult("t_closeness", parameters, holds, achieved, classes, records)


NOT_WRITTEN = released(replace(MADE, release=None))

STAR = released(
    replace(MADE, suppressed_as="star", release=Release("views.sql", None, None, "views")),
    summary=Summary(1_204_311, classes=44_121, k=5, suppressed=1_977),
    warnings=("1,977 records are suppressed and kept; they are a class of their own.",),
)

STEP_4 = released(
    replace(MADE, max_suppressed=5, records_violating=3, suppressed=7, step4=4),
    checks=(k_anonymity(5, True, 5), closeness(True, 0.17)),
)

FAILS = released(
    replace(MADE, release=None),
    status="violated",
    checks=(k_anonymity(5, True, 5), closeness(False, 0.31, classes=12, records=220)),
)

ONE = released(
    replace(
        MADE,
        levels={"age": 0},
        labels={"age": "raw value"},
        steps=(),
        records_violating=0,
        suppressed=0,
        max_suppressed=5,
        metrics=Metrics(1.0, 0.0, 0.0, 104, 52 / 6, 0.0, 0.0, {"age": 0.0}),
        associations=(),
        views=("create view one",),
        before=Before("people.csv", Summary(52, classes=6, k=5), (k_anonymity(5, True, 5),)),
        release=Release("out.csv", 52, 1),
    ),
    name="people.csv",
    quasi_identifiers=("age",),
    sensitive=(),
    summary=Summary(52, classes=6, k=5),
    checks=(k_anonymity(5, True, 5),),
    sql={"classes": "select 1"},
)

_LONG = "date_of_birth_as_recorded_at_the_first_admission"
WIDE = released(
    replace(
        MADE,
        levels={_LONG: 2, "住所の郵便番号": 1},
        labels={_LONG: "column 2 of admission_dates_of_the_region.csv", "住所の郵便番号": "prefix"},
        steps=(
            GeneralizationStep(_LONG, 1, "column 1 of admission_dates.csv", 61_204, 812_340),
            GeneralizationStep("住所の郵便番号", 1, "prefix", 9_310, 300_811),
        ),
        metrics=replace(MADE.metrics, loss_by_quasi_identifier={_LONG: 0.5}),
        associations=(Association(_LONG, "diagnosis_at_discharge_from_the_ward", 0.5, 0.25),),
        before=replace(MADE.before, summary=Summary(901_204_311_000, classes=812_001_444_901, k=1)),
    ),
    quasi_identifiers=(_LONG, "住所の郵便番号"),
    summary=Summary(901_202_334_000, classes=442_120_000_000, k=5),
)

RESULTS = {
    "feasible": FEASIBLE,
    "in_vain": IN_VAIN,
    "not_written": NOT_WRITTEN,
    "star": STAR,
    "step_4": STEP_4,
    "fails": FAILS,
    "one": ONE,
    "wide": WIDE,
}


def text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8").removesuffix("\n")


# For a terminal


@pytest.mark.parametrize("name", RESULTS)
def test_a_release_says_how_it_was_made_what_it_cost_and_whether_it_holds(name: str) -> None:
    assert as_text(RESULTS[name]) == text(f"anonymized_{name}.txt")


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("width", [60, 80, 100, 133])
def test_no_line_is_wider_than_asked_and_no_number_is_broken(
    result: AnonymizationResult, width: int
) -> None:
    whole, folded = as_text(result, width=1_000), as_text(result, width=width)

    assert [line for line in folded.splitlines()[:-1] if cell_len(line) > width] == []
    assert set(re.findall(r"\d[\d,.]*", folded)) == set(re.findall(r"\d[\d,.]*", whole))


def test_a_wide_terminal_has_the_steps_in_columns() -> None:
    lines = as_text(WIDE, width=150).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("     1  "))
    assert lines[first : first + 2] == [
        f"     1  {_LONG}  0 → 1  column 1 of admission_dates.csv  61,204     812,340  < 0.1 %",
        f"     2  住所の郵便番号{' ' * 36}0 → 1  prefix{' ' * 25}   9,310     300,811  < 0.1 %",
    ]


def test_colour_adds_nothing_but_colour() -> None:
    coloured = as_text(FAILS, colour=True)

    assert "\x1b[1;31m  VIOLATED" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == as_text(FAILS)


def test_a_release_that_fails_is_written_with_force() -> None:
    forced = replace(FAILS.anonymization, release=Release("release.parquet", 1_202_334, 14))

    words = _words(as_text(replace(FAILS, anonymization=forced)))
    assert "The release fails its own audit: t-closeness diagnosis. holds" in words
    assert (
        "It was written anyway (--force). release.parquet written: 1,202,334 records, 14 columns."
        in words
    )


def test_a_table_that_is_suppressed_whole_has_no_release() -> None:
    nothing = released(status="no_data", summary=Summary(0), checks=())

    assert _words(as_text(nothing)) == (
        "patients.parquet: all 1,204,311 records would be suppressed, so nothing is left to "
        "release (exit code 4). With a lower --max-suppressed the values are generalised further "
        "instead."
    )


def test_a_table_without_records_has_no_release() -> None:
    empty = released(
        replace(MADE, before=Before("patients.parquet", Summary(0), ())), status="no_data"
    )

    assert as_text(empty).startswith("patients.parquet: no data.")
    assert as_markdown(empty).startswith("**patients.parquet: no data.")
    assert "patients.parquet: no data." in as_html(empty)


def test_metrics_that_are_undefined_are_no_numbers() -> None:
    undefined = Metrics(None, None, None, None, None, None, None, {})
    page = _words(as_text(released(replace(MADE, metrics=undefined))))

    assert "before 1,204,311 812,001 1 – – 1.5 after 1,202,334 44,120 5 – – –" in page  # noqa: RUF001
    assert "geometric loss –, non-uniform entropy –, discernibility –." in page  # noqa: RUF001


def test_the_steps_of_a_run_stand_below_each_other() -> None:
    lines = [step_line(step, place, step.to_level - 1) for place, step in enumerate(STEPS, start=1)]

    assert lines == [
        "     1  birth_date    0 → 1  month                      61,204      812,340",
        "     2  birth_date    1 → 2  year                        9,310      300,811",
        "     3  zip           0 → 1  mask 1 from the right       1,022       80,114",
    ]


# For a document and a notebook


def test_markdown() -> None:
    assert as_markdown(STEP_4) == text("anonymized_step_4.md")


def test_notebook() -> None:
    assert as_html(ONE) == text("anonymized_one.html")


def test_a_result_prints_itself() -> None:
    assert str(STAR) == terminal.write(in_python(STAR.brief()))
    assert STAR._repr_html_() == as_html(STAR)


def test_no_name_is_read_as_a_mark() -> None:
    step = GeneralizationStep("<b>*zip*|x", 1, "month", 12, 12)
    made = replace(
        MADE, steps=(step,), levels={step.attribute: 1}, labels={step.attribute: "month"}
    )

    assert "<b>*zip" not in as_html(released(made))
    assert "&lt;b&gt;*zip*|x" in as_html(released(made))
    assert r"\<b\>\*zip\*\|x" in as_markdown(released(made))


@pytest.mark.parametrize("shown", [as_text, as_markdown, as_html])
@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_no_report_calls_a_release_safe_or_anonymous(
    shown: Callable[[AnonymizationResult], str], result: AnonymizationResult
) -> None:
    words = set(re.findall(r"[a-z-]+", shown(result).lower()))

    assert "k-anonymity" in words
    assert words.isdisjoint({"safe", "anonymous"})


def _words(page: str) -> str:
    return " ".join(page.split())


def test_a_terminal_shows_the_verdict_first_and_the_tables_on_request() -> None:
    whole, brief = as_text(FEASIBLE), terminal.write(FEASIBLE.brief())

    assert whole.splitlines()[:3] == brief.splitlines()[:3]
    assert brief.splitlines()[2] == "The check holds."
    assert brief.splitlines()[-1].endswith(
        "-v shows its course, its losses and what no check covers"
    )
    assert "suppressed (at most" in whole
    assert "suppressed (at most" not in brief


def test_a_figure_stands_beside_that_of_the_original_table() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    changed = kanon.anonymize(table, ["a"], sensitive="s", k=4, max_suppressed=0)
    same = kanon.anonymize(table.slice(0, 2), ["a"], sensitive="s", k=2)

    assert "no class with a single s; before: 1 class with a single s " in _words(str(changed))
    assert "no class with a single s; as before\n" in str(same)
    assert "  k is 2, asked for 2; as before\n" in str(same)


def test_a_figure_before_keeps_its_number_where_it_is_the_required_one() -> None:
    """k was 2 and becomes 4, where 2 is required: each figure ends with the same number."""
    table = pa.table({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    changed = kanon.anonymize(table, ["a"], sensitive="s", k=2, l=2, max_suppressed=0)

    lines = [line.strip() for line in str(changed).splitlines() if ", asked for" in line]
    assert lines == [
        "holds     k-anonymity    k is 4, asked for 2; before: k is 2",
        "holds     l-diversity s  l is 2, asked for 2; before: l is 1",
    ]


def test_a_column_that_differs_in_every_record_has_no_association() -> None:
    """V is 1 whatever the other column is: only v, with two values, is associated with s."""
    rows = {"id": [1, 2, 3, 4, 5, 6], "v": list("aaabbb"), "s": list("xxyxyy")}
    made = kanon.anonymize(pa.table(rows), ["id", "v"], sensitive="s", k=1)

    of_id, of_v = made.anonymization.associations
    assert (of_id.before, of_id.after) == (None, None)
    assert (of_v.before, of_v.after) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    grids = [grid for grid in made.page() if getattr(grid, "title", "").startswith("Association")]
    assert [row.words for row in grids[0].rows] == [("v", "s")]


def test_no_association_is_no_table() -> None:
    made = kanon.anonymize(pa.table({"id": [1, 2], "s": ["x", "y"]}), ["id"], sensitive="s", k=1)

    assert "Association" not in as_text(made)


def test_a_release_of_nothing_is_a_sentence() -> None:
    table = pa.table({"a": [1, 2], "s": ["x", "y"]})
    result = kanon.anonymize(table, ["a"], sensitive="s", k=2)

    assert "all 2 records would be suppressed" in str(result)
    assert as_text(result).startswith("pyarrow.Table: all 2 records would be suppressed")

    alone = kanon.anonymize(table.slice(1), ["a"], sensitive="s", k=1, l=2)
    assert "the only record would be suppressed" in str(alone)
