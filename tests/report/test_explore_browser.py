"""The local page in a browser: nothing that axe finds fault with, by keyboard alone, no script."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local_page import LocalPage, figures

from tests.support.browser import CHROMIUM, Browser, browser

AXE = os.environ.get("KANON_SQL_AXE")
PEOPLE = 300
LONG = "a very long name of a column "
ASKED = {"role.pid": "identifier", "role.zip": "qi", "role.born": "qi", "role.sex": "qi",
         "role.ill": "sensitive", "hierarchy.zip": "mask:right",
         "hierarchy.born": "width:10,20,suppress"}  # fmt: skip


def written(folder: Path) -> None:
    columns = {
        "pid": list(range(PEOPLE)),
        "zip": [f"0213{n % 7}" for n in range(PEOPLE)],
        "born": [1930 + n * n % 70 for n in range(PEOPLE)],
        "sex": ["fm"[n % 2] for n in range(PEOPLE)],
        "ill": ["flu" if n % 3 else "asthma" for n in range(PEOPLE)],
        "stay": [n % 9 for n in range(PEOPLE)],
    }
    pq.write_table(pa.table(columns), folder / "patients.parquet")
    wide = {f"{LONG * 4}{n}"[-100:] if n < 9 else f"column_{n}": [n, n + 1] for n in range(200)}
    pq.write_table(pa.table(wide), folder / "wide.parquet")
    (folder / "review").mkdir()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    written(folder)
    return folder


@pytest.fixture(scope="module")
def page(folder) -> Iterator[LocalPage]:
    with LocalPage(folder, "patients.parquet", "--output", "review") as opened:
        yield opened


@pytest.fixture(scope="module")
def wide(folder) -> Iterator[LocalPage]:
    with LocalPage(folder, "wide.parquet") as opened:
        yield opened


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[Browser]:
    missing = "Chromium" if CHROMIUM is None else "axe-core" if AXE is None else None
    if missing and os.environ.get("KANON_SQL_NO_SKIPS"):
        pytest.fail(f"there is no {missing}")
    if missing:
        pytest.skip(f"there is no {missing}")
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def at(page: LocalPage, path: str) -> str:
    return f"http://127.0.0.1:{page.port}{path}"


def asked(route: str, **given: object) -> str:
    more = {name.replace("__", "."): value for name, value in given.items()}
    return f"{route}?{urlencode({**ASKED, **more})}"


STATES = {
    "columns": "/",
    "undecided": "/columns",
    "violated": asked("/risk", k=5, l=2),
    "measured": asked("/risk"),
    "sets": asked("/risk", k=5, ask="without,sets"),
    "levels": asked("/levels", k=5, l=2, level__zip=1),
    "holds": asked("/levels", k=2, level__zip=5, level__born=3, level__sex=1),
    "found": asked("/find", k=5, max_suppressed="5%"),
    "costs": asked("/tradeoff", k=5, max_suppressed="5%"),
    "evidence": asked("/evidence", k=5, l=2, level__zip=2),
    "unanswerable": asked("/levels", k=5, hierarchy__zip="date:year"),
    "refused": "/risk?role.zip=qi&k=0",
    "nowhere": "/nothing",
}


def faults(chromium: Browser, width: int) -> list[object]:
    """What axe finds, and whether the page is wider than the screen."""
    assert AXE is not None
    chromium.value(Path(AXE).read_text(encoding="utf-8"))
    found = chromium.value(
        "axe.run().then(found => found.violations.map(each => "
        "[each.id, each.nodes.map(node => node.html.slice(0, 200))]))"
    )
    wide = chromium.value("document.documentElement.scrollWidth")
    return [*found, *([["wide", wide]] if wide > width else [])]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_no_fault_in_any_state(page, chromium, state, scheme):
    chromium.visit(at(page, f"/?token={page.token}"))
    for width in (1280, 390):
        chromium.visit(at(page, STATES[state]), scheme=scheme, width=width)
        assert chromium.value("document.querySelectorAll('h1').length") == 1
        assert faults(chromium, width) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_with_many_columns_of_long_names(wide, chromium, scheme):
    chromium.visit(at(wide, f"/?token={wide.token}"))
    names = [f"{LONG * 4}{n}"[-100:] for n in range(3)]
    levels = f"/levels?{urlencode({f'role.{name}': 'qi' for name in names})}"
    for path in ("/columns", levels):
        for width in (1280, 390):
            chromium.visit(at(wide, path), scheme=scheme, width=width)
            assert faults(chromium, width) == []


def test_axe_finds_no_fault_with_a_page_that_still_counts(page, chromium, tmp_path):
    """The bytes of such a page, as they are sent before its figures."""
    from kanon_sql.report.html import explore_part

    steps = [(name, f"/{name}", name == "Risk") for name in ("Columns", "Risk", "Levels")]
    head = explore_part("head", title="Risk", name="t", about="9 records", steps=steps)
    ticks = "".join(explore_part("tick", text=f"How many? · {n} s") for n in range(3))
    rest = explore_part("rest", question="How?", lead="", blocks=[], seconds="1 s")
    for name, text in (("counts", ""), ("ready", explore_part("ready") + rest)):
        file = tmp_path / f"{name}.html"
        file.write_text(head + explore_part("running") + ticks + text, encoding="utf-8")
        chromium.open(file, width=390)
        found = [fault for fault in faults(chromium, 390) if fault[0] != "page-has-heading-one"]
        assert found == []
        shown = chromium.value("getComputedStyle(document.querySelector('.running')).display")
        assert shown == ("none" if text else "block")
        ticks_shown = chromium.value(
            "[...document.querySelectorAll('.tick')].map(t => getComputedStyle(t).display)"
        )
        assert ticks_shown == ["none", "none", "block"]


# --- by keyboard, without scripts -----------------------------------------------------------

FOCUS = "(e => (e.tagName + ' ' + (e.innerText || e.name || '')).trim())(document.activeElement)"


def tab_to(chromium: Browser, wanted: str) -> None:
    """Go on by the keyboard until something has the focus."""
    for _ in range(120):
        chromium.press("Tab", 9)
        if chromium.value(FOCUS) == wanted:
            return
    raise AssertionError(f"the keyboard does not reach {wanted}")


def follow(chromium: Browser, key: Callable[[], None], until: str) -> None:
    """Press a key that leads to another page, and wait for it."""
    key()
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.1)
        try:
            chromium.loaded()
            if chromium.value("document.querySelector('h1')?.innerText") == until:
                return
        except AssertionError:
            continue
    raise AssertionError(f"{until!r} does not come")


def test_from_the_printed_address_to_a_saved_spec_by_keyboard_without_scripts(
    page, chromium, folder
):
    chromium.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.visit(at(page, f"/?token={page.token}"), width=1280)
        assert chromium.value("location.pathname") == "/columns"

        def enter() -> None:
            chromium.press("Enter", 13, "\r")

        chromium.press("Tab", 9)
        assert chromium.value(FOCUS) == "A Skip to the figures"
        tab_to(chromium, "BUTTON Measure the risk")
        follow(chromium, enter, "How easily is someone found?")
        tab_to(chromium, "A Coarsen the levels")
        follow(chromium, enter, "How coarse must it be?")
        before = chromium.value("document.querySelector('#figure-lost').value")
        tab_to(chromium, "A 2 \u00b7 mask 2 from the right")
        follow(chromium, enter, "How coarse must it be?")
        assert chromium.value("location.hash") == "#c0"
        assert "level.zip=2" in chromium.value("location.search")
        lost = chromium.value("document.querySelector('#figure-lost').value")
        assert float(lost) > float(before)
        chromium.value("history.back()")
        time.sleep(0.5)
        chromium.loaded()
        assert chromium.value("document.querySelector('#figure-lost').value") == before
        chromium.value("history.forward()")
        time.sleep(0.5)
        chromium.loaded()
        assert chromium.value("document.querySelector('#figure-lost').value") == lost
        tab_to(chromium, "A Take it with you")
        follow(chromium, enter, "Take it with you")
        tab_to(chromium, "INPUT report")
        chromium.press(" ", 32, " ")
        tab_to(chromium, "BUTTON Save")
        enter()
        time.sleep(1)
        chromium.loaded()
        assert "Saved: patients.kanon.yml." in chromium.value("document.body.innerText")
    finally:
        chromium.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert [file.name for file in (folder / "review").iterdir()] == ["patients.kanon.yml"]
    assert "zip: 2" in (folder / "review" / "patients.kanon.yml").read_text()


def test_no_script_can_run_on_a_page(page, chromium):
    chromium.visit(at(page, asked("/risk", k=5)))
    chromium.value(
        "(s => { s.textContent = 'window.ran = 1'; document.body.append(s) })"
        "(document.createElement('script'))"
    )
    assert chromium.value("window.ran === undefined")


def test_another_page_of_the_browser_gets_nothing(page, chromium, tmp_path):
    """A page of another origin, here a file, can neither read, nor frame, nor send the form."""
    chromium.visit(at(page, f"/?token={page.token}"))
    (tmp_path / "other.html").write_text("<!doctype html><title>x</title><body></body>")
    chromium.open(tmp_path / "other.html")
    target = at(page, asked("/risk", k=5))
    read = f"fetch({target!r}, {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
    assert chromium.value(read) == "refused"
    saved = at(page, "/save")
    chromium.value(
        f"(f => {{ f.action = {saved!r}; f.method = 'post'; document.body.append(f); f.submit() }})"
        "(document.createElement('form'))"
    )
    time.sleep(1)
    chromium.loaded()
    assert "token" in chromium.value("document.body.innerText")


def test_a_page_without_styles_reads_in_order(page):
    _, text = page.go(asked("/levels", k=5))
    assert text.index("<h1>") < text.index('class="strip"') < text.index('class="cards"')
    assert figures(text)["records"] == str(PEOPLE)
