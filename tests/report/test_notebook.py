"""Every result shows itself in a notebook: in the words of Python, with nothing cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kanon_sql as kanon
from kanon_sql.report.html import BLOCKS

FUNCTIONS = "audit|tables|compile|anonymize|profile|tradeoff|init|explain"
LEVELS = {"zip": {"levels": [{"mask": "right"}]}, "born": {"levels": [{"width": 10}, "suppress"]}}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory) -> Path:
    zips = [f"0213{n % 3}" for n in range(60)]
    born = [1950 + n % 17 for n in range(60)]
    illness = [("flu", "asthma", "measles")[n % 7 % 3] for n in range(60)]
    path = tmp_path_factory.mktemp("clinic") / "patients.parquet"
    ward = [f"ward {n % 4}" for n in range(60)]
    pq.write_table(pa.table({"zip": zips, "born": born, "ward": ward, "illness": illness}), path)
    return path


def made(path: Path, **options):
    return kanon.anonymize(path, LEVELS, sensitive="illness", k=3, **options)


RESULTS = {
    "audit": lambda path: kanon.audit(path, ["zip", "born"], sensitive="illness", k=3, l=2),
    "measured": lambda path: kanon.audit(path, ["zip", "born"], sensitive="illness"),
    "compile": lambda path: kanon.compile(path, ["zip", "born"], k=3),
    "profile": lambda path: kanon.profile(path),
    "profile of quasi-identifiers": lambda path: kanon.profile(path, ["zip", "born"], k=3),
    "datafly": made,
    "optimal": lambda path: made(path, algorithm="optimal"),
    "local": lambda path: made(path, algorithm="local"),
    "tradeoff": lambda path: kanon.tradeoff(path, LEVELS, k=[2, 3, 50]),
    "events": lambda path: kanon.audit(path, entity="born", events=["ward"]),
    "cells": lambda path: kanon.tables(path, by=["zip", "ward"]),
    "cells and a rule": lambda path: kanon.tables(path, by=["zip", "ward"], threshold=6),
    "diff": lambda path: RESULTS["audit"](path).diff(RESULTS["measured"](path)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_notebook_is_told_what_python_has(name, clinic):
    page = RESULTS[name](clinic)._repr_html_()
    shown = re.sub(r"<style>.*?</style>|<pre.*?</pre>", "", page, flags=re.DOTALL)
    assert not re.search(rf"(?<![\w-])--[a-z]|kanon-sql ({FUNCTIONS})\b|exit code", shown)
    assert not set(BLOCKS) & set(shown), "a bar of letters, where a page can draw one"
    assert "<script" not in page


@pytest.mark.parametrize("name", [each for each in RESULTS if each != "compile"])
def test_what_python_prints_names_no_flag(name, clinic):
    assert not re.search(r"(?<![\w)-])--?[a-z]|exit code", str(RESULTS[name](clinic)))


def test_a_page_that_a_notebook_names_can_be_read_there(clinic):
    named = set()
    for name in RESULTS:
        shown = RESULTS[name](clinic)._repr_html_()
        named |= set(re.findall(r"kanon\.explain\(&quot;([^&]+)&quot;\)", shown))
    assert {"thresholds", "releases"} <= named
    assert all(f"({each})" in kanon.explain(each).splitlines()[0] for each in named)


def test_an_explanation_shows_itself_as_it_is_read():
    page = kanon.explain("l-diversity")
    assert repr(page) == str(page) == page
    assert page.splitlines()[0] == "l-diversity (l_diversity)"
    assert "The models, by what they measure." in kanon.explain()
    with pytest.raises(kanon.SpecError, match='Did you mean "thresholds"'):
        kanon.explain("treshold's")


def test_a_command_is_a_call(clinic):
    page = RESULTS["tradeoff"](clinic)._repr_html_()
    call = r"kanon\.anonymize\(…, k=\d+, algorithm=&quot;optimal&quot;, metric=&quot;loss&quot;"
    assert re.search(call, page)


@pytest.mark.parametrize("attribute", ["age", "income", "dx"])
def test_no_article_stands_before_the_name_of_a_column(attribute):
    sizes = [1, 2, 3, 9]
    table = pa.table(
        {
            "zip": [str(n) for n, size in enumerate(sizes) for _ in range(size)],
            attribute: [str(n % 4) for size in sizes for n in range(size)],
        }
    )
    words = " ".join(str(kanon.audit(table, ["zip"], sensitive=attribute)).split())
    assert f"value of {attribute}" in words
    assert not re.search(rf"(?<!one )(?<!with )\b[Aa]n? {attribute}\b", words)
    assert "usual" not in words
    assert "like guessing one of 1 " not in words
    assert 'explain("thresholds")' in words


def test_what_is_alone_stands_apart_only_from_something():
    table = pa.table({"zip": ["a", "b", "b"], "illness": ["flu", "flu", "asthma"]})
    words = " ".join(str(kanon.audit(table, ["zip"], sensitive="illness")).split())
    assert "1 record is alone in the class" in words
    assert "Apart from these" not in words


ODD = {
    "data": lambda: kanon.audit("survey.xlsx", ["zip"], k=2),
    "no file": lambda: kanon.audit("nowhere.csv", ["zip"], k=2),
    "no column": lambda: kanon.audit(pa.table({"zip": ["1"]}), ["zap"], k=2),
    "share": lambda: kanon.anonymize(pa.table({"zip": ["1"]}), "zip", k=2, max_suppressed="x"),
    "gap": lambda: kanon.anonymize(pa.table({"zip": ["1"]}), "zip", k=2, algorithm="local", gap=1),
    "server": lambda: kanon.audit("people", ["zip"], engine="mssql://host/db"),
    "result": lambda: kanon.from_json("{}"),
    "sensitive": lambda: kanon.audit(pa.table({"zip": ["1"]}), ["zip"], l=2),
    "subsets": lambda: kanon.profile(pa.table({"zip": ["1"]}), suda=9),
    "nothing to publish": lambda: kanon.audit(pa.table({"zip": ["1"]}), ["zip"], k=2)
    .raise_if_violated(),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_error_has_the_words_of_python(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("survey.xlsx").touch()
    with pytest.raises(kanon.KanonError) as raised:
        ODD[name]()
    assert not re.search(r"(?<![\w-])--[a-z]|exit code", str(raised.value))
    assert raised.value.__cause__ is None
    assert raised.value._render_traceback_()[-1] == (
        f"{type(raised.value).__name__}: {raised.value}"
    )


def test_a_warning_has_the_words_of_python():
    table = pa.table({"zip": ["1"] * 4, "ill": ["flu", None] * 2, "note": ["a", "b", "c", "d"]})
    audit = kanon.audit(table, ["zip"], sensitive="ill", k=2)
    release = kanon.anonymize(table, ["zip"], sensitive="ill", k=2)
    told = [*audit.tables[0].warnings, *release.tables[0].warnings]
    assert any('sensitive_nulls="unknown"' in each for each in told)
    assert any('unassigned="drop"' in each for each in told)
    assert not re.search(r"(?<![\w-])--[a-z]", " ".join(told))


def test_a_result_is_one_line_at_a_prompt(clinic):
    audit, tradeoff = RESULTS["audit"](clinic), RESULTS["tradeoff"](clinic)
    parts = (audit, audit.tables[0], audit.checks, audit.checks[0], audit.histogram, tradeoff,
             audit.tables[0].risk, tradeoff.tradeoff, RESULTS["profile"](clinic).tables[0],
             RESULTS["diff"](clinic), RESULTS["datafly"](clinic).release)  # fmt: skip
    for each in parts:
        assert len(repr(each)) < 160, repr(each)
        assert "\n" not in repr(each)


def test_a_chart_is_a_picture_where_there_is_no_vega_lite(clinic):
    for chart in (
        RESULTS["audit"](clinic).chart("risk"),
        RESULTS["tradeoff"](clinic).chart(),
    ):
        assert "<svg" in chart._repr_mimebundle_()["image/svg+xml"]


def test_a_page_has_the_colours_of_the_notebook(clinic):
    """A dark theme sets the text of tables to white, and says so in variables."""
    page = RESULTS["audit"](clinic)._repr_html_()
    style = re.search(r"<style>.*?</style>", page, flags=re.DOTALL)[0]
    for variable in ("--jp-content-font-color1", "--vscode-editor-foreground"):
        assert style.rindex(variable) > style.index("--ink: #1b2126")
    assert re.search(r"(\.kanon-sql){3} thead, (\.kanon-sql){3} tr \{ background: none", style)
