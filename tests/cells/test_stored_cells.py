"""A stored result of a published table: what is read again, compared, and accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from commands import run
from consistency import contradictions

import kanon_sql as kanon
from kanon_sql.question.spec import AuditSpec, published_spec
from kanon_sql.results.cells import CellsResult

LEDGER = [
    (region, sector, f"f{number % 9}", 10 + number)
    for region, sector, many in (("N", "a", 9), ("N", "b", 4), ("S", "a", 8), ("S", "b", 7))
    for number in range(many)
]
PUBLISHED = "region,sex,n\nN,m,12\nN,f,*\nN,Total,17\nS,m,30\nS,f,25\nS,Total,55\n"


def written(rows: list[tuple[Any, ...]]) -> str:
    lines = [",".join(map(str, row)) for row in [("region", "sector", "firm", "turnover"), *rows]]
    return "\n".join([*lines, ""])


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ledger.csv").write_text(written(LEDGER), encoding="utf-8")
    Path("cells.csv").write_text(PUBLISHED, encoding="utf-8")


QUESTIONS: dict[str, Callable[[], kanon.AuditResult]] = {
    "records": lambda: kanon.tables(
        "ledger.csv",
        by=["region", "sector"],
        value="turnover",
        contributor="firm",
        threshold=5,
        dominance=[2, 67],
        p_percent=5,
        derivable=True,
        margins=[["region"], []],
        checks=[kanon.GroupDisclosure(along=["sector"])],
    ),
    "policy": lambda: kanon.tables(
        "ledger.csv", by=["region", "sector"], value="turnover", policy="abs-datalab"
    ),
    "published": lambda: kanon.tables(
        "cells.csv",
        by=["region", "sex"],
        value="n",
        published=True,
        suppressed={"*": (1, 9)},
        total_label="Total",
        threshold=10,
        derivable=True,
        against={"other": "cells.csv"},
        min_difference=3,
        checks=[kanon.Rounded(bands=[[5, 5]])],
    ),
}


def of_a_snapshot() -> kanon.AuditResult:
    result = QUESTIONS["published"]()
    [table] = result.tables
    return replace(result, tables=(replace(table, snapshots={table.name: "Delta version 3"}),))


@pytest.mark.parametrize("asked", [*QUESTIONS.values(), of_a_snapshot], ids=[*QUESTIONS, "delta"])
def test_a_result_is_read_as_it_was_written(asked: Callable[[], kanon.AuditResult]) -> None:
    result = asked()

    for source in (result.to_json(), result.to_dict()):
        read = kanon.from_json(source)
        assert isinstance(read.tables[0], CellsResult)
        assert read == result
        assert read.to_json() == result.to_json()
        assert without_time(str(read)) == without_time(str(unlisted(result)))
        assert (read.exit_code, read.holds) == (result.exit_code, result.holds)


def unlisted(result: kanon.AuditResult) -> kanon.AuditResult:
    """Without the list of cells, which JSON leaves out as it has labels."""
    [table] = result.tables
    assert isinstance(table, CellsResult)
    return replace(result, tables=(replace(table, listed=None),))


def without_time(page: str) -> list[str]:
    return page.splitlines()[:-1]


def edited(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    document = json.loads(QUESTIONS["published"]().to_json())
    change(document["tables"][0])
    return document


def check_of(table: dict[str, Any], model: str) -> dict[str, Any]:
    return next(each for each in table["checks"] if each["model"] == model)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda table: check_of(table, "derivable").update(holds=True), "the seal contradicts"),
        (lambda table: check_of(table, "derivable").update(derived_cells=0), "the seal"),
        (lambda table: check_of(table, "derivable").update(derived_cells="x"), "derived_cells"),
        (lambda table: check_of(table, "min_contributors").update(achieved=3), "the seal"),
        (lambda table: table["summary"].update(inner_cells=99), "the seal contradicts"),
        (lambda table: table["summary"].update(cells="many"), "summary.cells"),
        (lambda table: table.update(status="holds"), "the seal contradicts"),
        (lambda table: table.update(by="region"), "by must be a list"),
        (lambda table: table.update(figure="sum"), "figure must be count or magnitude"),
    ],
)
def test_an_edited_figure_is_refused(change: Callable[[dict[str, Any]], None], place: str) -> None:
    with pytest.raises(kanon.InputError, match=place):
        kanon.from_json(edited(change))


def test_the_figures_of_a_published_table_agree() -> None:
    """And the law that says so notices one that does not."""
    for asked in QUESTIONS.values():
        assert contradictions(asked()) == []
    changes: list[Callable[[dict[str, Any]], None]] = [
        lambda table: check_of(table, "derivable").update(derived_cells=40),
        lambda table: check_of(table, "min_contributors").update(achieved=3),
        lambda table: table["summary"].update(inner_cells=99),
    ]
    for change in changes:
        document = edited(change)
        del document["seal"]
        assert contradictions(kanon.from_json(document))


def test_a_result_for_external_readers_is_not_taken_for_the_whole_one() -> None:
    QUESTION = ("tables", "ledger.csv", "--by", "region,sector", "--threshold", "10")
    run(*QUESTION, "--audience", "external", "--output", "outside.json")

    for command in (("report", "outside.json"), ("baseline", "outside.json")):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "was written for external readers" in result.stderr


# --- comparing -------------------------------------------------------------------------------


def tables(rows: list[tuple[Any, ...]], *more: str, out: str = "") -> Any:
    Path("ledger.csv").write_text(written(rows), encoding="utf-8")
    given = ("--by", "region,sector", "--value", "turnover", "--threshold", "5", *more)
    return run("tables", "ledger.csv", *given, *(("--output", out) if out else ()))


FEWER = [row for row in LEDGER if row[:2] != ("S", "b") or row[3] < 13]
"""A second cell is below the threshold."""


def test_more_violating_cells_are_worse() -> None:
    tables(LEDGER, out="old.json")
    tables(FEWER, out="new.json")

    worse = run("diff", "old.json", "new.json", "--fail-on-worse")
    better = run("diff", "new.json", "old.json", "--fail-on-worse")
    compared = json.loads(run("diff", "old.json", "new.json", "--format", "json").stdout)

    assert (worse.exit_code, better.exit_code) == (1, 0)
    assert "violating cells 1 → 2" in " ".join(worse.stdout.split())
    assert "Something got worse in ledger.csv." in worse.stdout
    [table] = compared["tables"]
    assert table["checks"][0]["figures"]["achieved"]["change"] == "worse"
    assert table["checks"][0]["figures"]["violating_cells"]["change"] == "worse"
    assert table["summary"]["records"]["change"] == "changed"


def test_other_dimensions_are_another_question() -> None:
    tables(LEDGER, out="old.json")
    run("tables", "ledger.csv", "--by", "region", "--threshold", "5", "--output", "new.json")

    result = run("diff", "old.json", "new.json")

    assert "The question changed (dimensions, value, kind of figure)" in " ".join(
        result.stdout.split()
    )


@pytest.mark.parametrize(
    ("old", "new", "demand"),
    [
        ("min_contributors:n=5", "min_contributors:n=3", "weaker"),
        ("dominance:n=2,k=60", "dominance:n=2,k=80", "weaker"),
        ("p_percent:p=10", "p_percent:p=5", "weaker"),
        ("derivable:width=3", "derivable", "weaker"),
        ("derivable", "derivable:width=3", "stricter"),
    ],
)
def test_a_weaker_rule_is_told(old: str, new: str, demand: str) -> None:
    question = ("tables", "ledger.csv", "--by", "region,sector", "--value", "turnover")
    run(*question, "--check", old, "--output", "old.json")
    run(*question, "--check", new, "--output", "new.json")

    compared = json.loads(run("diff", "old.json", "new.json", "--format", "json").stdout)

    model = old.partition(":")[0]
    checks = [
        each
        for each in compared["tables"][0]["checks"]
        if each["model"] == model and each["demand"] != "same"
    ]
    assert [each["demand"] for each in checks] == [demand]


def test_a_baseline_accepts_what_was_violated_until_it_gets_worse() -> None:
    tables(LEDGER, out="result.json")
    of_result = run("baseline", "result.json", "--output", "from_result.json")
    of_table = run(
        *("baseline", "ledger.csv", "--by", "region,sector", "--value", "turnover"),
        *("--threshold", "5", "--output", "from_table.json"),
    )
    assert (of_result.exit_code, of_table.exit_code) == (0, 0)

    for baseline in ("from_result.json", "from_table.json"):
        again = tables(LEDGER, "--baseline", baseline)
        worse = tables(FEWER, "--baseline", baseline)

        assert (again.exit_code, worse.exit_code) == (0, 1)
        assert "accepted by the baseline" in " ".join(again.stdout.split())
        assert "worse than in the baseline" in " ".join(worse.stdout.split())
        assert tables(LEDGER).exit_code == 1


def test_a_baseline_of_what_can_be_computed() -> None:
    given = ("--by", "region,sex", "--value", "n", "--published", "--suppressed", "*")
    question = ("tables", "cells.csv", *given, "--total-label", "Total", "--derivable")
    run("baseline", *question[1:], "--output", "base.json")

    assert run(*question, "--baseline", "base.json").exit_code == 0
    Path("cells.csv").write_text(PUBLISHED.replace("S,f,25", "S,f,*"), encoding="utf-8")
    result = run(*question, "--baseline", "base.json")

    assert result.exit_code == 1
    assert "worse than in the baseline: found 2 (was 1)" in " ".join(result.stdout.split())


def test_python_compares_and_frames_a_result() -> None:
    result = QUESTIONS["records"]()

    compared = result.diff(result)

    assert not compared.is_worse
    assert "dominance" in str(compared)
    frame = result.checks.to_pandas()
    assert frame["model"].iloc[0] == "min_contributors"
    assert frame["violating_cells"][0] == 1
    with pytest.raises(kanon.PrivacyViolation, match="threshold: the smallest cell has"):
        result.raise_if_violated()


# --- spec ------------------------------------------------------------------------------------

SPEC = """\
version: 1
published:
  - name: turnover
    source: ledger.csv
    by: [region, sector]
    value: turnover
    checks: [{min_contributors: {n: 5}}, derivable]
"""


@pytest.mark.parametrize("dialect", [None, "postgres"])
def test_compiled_data_in_memory_are_called_by_their_type(dialect: str | None) -> None:
    data = pyarrow.table({"region": ["zeppelin", "S"], "n": [3, 4]})
    spec = AuditSpec(published=[published_spec(source=data, by=["region"], value="n", cells=True)])

    compiled = kanon.compile(spec, dialect=dialect)

    assert [table.name for table in compiled.tables] == ["pyarrow.Table"]
    assert "zeppelin" not in compiled._repr_html_()


def test_a_spec_of_published_tables_is_validated_compiled_and_accepted() -> None:
    Path("kanon.yml").write_text(SPEC, encoding="utf-8")

    valid = run("validate", "kanon.yml")
    compiled = run("compile", "kanon.yml")
    accepted = run("baseline", "kanon.yml", "--output", "base.json")
    gated = run("tables", "kanon.yml", "--baseline", "base.json")

    assert valid.stdout == ("turnover: 4 columns, 2 of them dimensions; 2 checks, 3 statements.\n")
    assert "is computed in an embedded DuckDB" in " ".join(compiled.stdout.split()).replace(
        " -- ", " "
    )
    assert [each.exit_code for each in (valid, compiled, accepted, gated)] == [0, 0, 0, 0]


def test_a_table_is_validated_by_its_options() -> None:
    result = run("validate", "ledger.csv", "--by", "region", "--value", "turnover")

    assert result.stdout == "ledger.csv: 4 columns, 1 of them dimensions; 0 checks, 2 statements.\n"


def test_a_dry_run_runs_nothing() -> None:
    result = tables(LEDGER, "--derivable", "--dry-run")

    assert result.exit_code == 0
    assert "Nothing was run: 3 statements" in result.stdout
    assert "VIOLATED" not in result.stdout
