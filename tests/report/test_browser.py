"""The page as a browser has it: nothing that axe finds fault with, nothing wider than the screen.

axe-core is what others wrote and is not kept here: KANON_SQL_AXE names its `axe.min.js`. It is
put into the page as developer tools do, since the page itself lets no script run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kanon_sql as kanon
from kanon_sql.cli import main
from tests.support.browser import CHROMIUM, Browser, browser

AXE = os.environ.get("KANON_SQL_AXE")
PAGES = {
    "audit": ["audited.json", "--profile", "profile.json", "--earlier-result", "before.json"],
    "release": ["made.json", "--tradeoff", "costs.json"],
    "costs": ["costs.json"],
    "names": ["names.json"],
}
LONG = "a very long name " * 40


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """A folder with each page, as people inside and outside have it."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _write_results()
        for name, given in PAGES.items():
            for audience in ("internal", "external"):
                _run("report", *given, "--audience", audience, "-q", "--output",
                     f"{name}-{audience}.html")  # fmt: skip
    return folder


def _write_results() -> None:
    people = 200
    table = {
        "zip": [f"0213{n % 7}" for n in range(people)],
        "born": [1930 + n * n % 70 for n in range(people)],
        "diagnosis": ["flu" if n % 3 else "asthma" for n in range(people)],
    }
    pq.write_table(pa.table(table), "patients.parquet")
    asked = ["patients.parquet", "--qi", "zip,born", "--sensitive", "diagnosis"]
    how = [*asked, "--hierarchy", "zip=mask:right", "--hierarchy", "born=width:10,20"]
    _run("audit", *asked, "--k", "2", "-q", "--output", "before.json")
    _run("audit", *asked, "--k", "5", "--l", "2", "--t", "0.2", "-q", "--output", "audited.json")
    _run("profile", "patients.parquet", "-q", "--output", "profile.json")
    _run("anonymize", *how, "--k", "5", "-q", "--output", "release.csv", "--result", "made.json")
    _run("tradeoff", *how, "-q", "--output", "costs.json")
    named = pa.table({LONG: table["zip"], "<b>&\u202e": table["diagnosis"]})
    result = kanon.audit(named, LONG, sensitive="<b>&\u202e", l=2, name=LONG)
    Path("names.json").write_text(result.to_json(), encoding="utf-8")


def _run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="kanon-sql")
    assert ended.value.code in (0, 1), arguments


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[Browser]:
    missing = "Chromium" if CHROMIUM is None else "axe-core" if AXE is None else None
    if missing and os.environ.get("KANON_SQL_NO_SKIPS"):
        pytest.fail(f"there is no {missing}")
    if missing:
        pytest.skip(f"there is no {missing}")
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("audience", ["internal", "external"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault_with_a_page(name, audience, scheme, pages, chromium):
    assert AXE is not None
    for width in (1200, 400):
        chromium.open(pages / f"{name}-{audience}.html", scheme=scheme, width=width)
        chromium.value(Path(AXE).read_text(encoding="utf-8"))
        assert chromium.value("matchMedia('(prefers-color-scheme: dark)').matches") == (
            scheme == "dark"
        )
        faults = chromium.value(
            "axe.run().then(found => found.violations.map(each => "
            "[each.id, each.nodes.map(node => node.html.slice(0, 200))]))"
        )
        assert faults == []
        assert chromium.value("document.documentElement.scrollWidth") <= width


def test_axe_is_heard(pages, chromium, tmp_path):
    assert AXE is not None
    (tmp_path / "bad.html").write_text("<html><body><img src=''><h3>a</h3></body></html>")
    chromium.open(tmp_path / "bad.html")
    chromium.value(Path(AXE).read_text(encoding="utf-8"))
    assert "image-alt" in chromium.value("axe.run().then(x => x.violations.map(y => y.id))")


JUPYTER = """
table { table-layout: fixed; margin-left: auto; margin-right: auto; }
td, th, tr { vertical-align: middle; padding: 0.5em; text-align: right; }
tbody tr:nth-child(odd) { background: rgb(245, 245, 245); }
"""
"""JupyterLab's rules for tables of an output; there each has the specificity of two classes."""


def test_a_notebook_aligns_no_text_to_the_right(chromium, tmp_path):
    table = pa.table({"zip": ["a"] * 9 + ["b"] * 2, "ill": [*"xyz" * 3, "x", "y"]})
    shown = kanon.audit(table, ["zip"], sensitive="ill", k=5)._repr_html_()
    rules = "".join(
        ", ".join(f":not(.x).output {each.strip()}" for each in selectors.split(",")) + rule
        for selectors, rule in ((s, "{" + r + "}") for s, _, r in (
            each.partition("{") for each in JUPYTER.split("}") if each.strip()))
    )  # fmt: skip
    (tmp_path / "notebook.html").write_text(
        f"<html><head><style>{rules}</style></head><body><div class=output>{shown}</div></body>",
        encoding="utf-8",
    )
    chromium.open(tmp_path / "notebook.html")
    sides = chromium.value(
        "[...document.querySelectorAll('td, th')].map(each => "
        "[each.classList.contains('figure'), getComputedStyle(each).textAlign])"
    )
    assert {tuple(each) for each in sides} == {(False, "left"), (True, "right")}
    left = chromium.value(
        "[...document.querySelectorAll('.track')].map(each => each.firstElementChild"
        ".getBoundingClientRect().left - each.getBoundingClientRect().left)"
    )
    assert left
    assert all(each < 20 for each in left)
