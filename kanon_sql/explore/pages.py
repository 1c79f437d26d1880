"""The pages with their routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kanon_sql.explore import columns, evidence, levels, risk
from kanon_sql.explore.commands import audit_command
from kanon_sql.explore.view import Page, PageView
from kanon_sql.report.document import Block, Button, Choices, Control, Link, Prose, Verbatim
from kanon_sql.report.signed.evidence import folded
from kanon_sql.report.words import numbers

STEPS = {"/columns": "Columns", "/risk": "Risk", "/levels": "Levels", "/evidence": "Evidence"}
STEP_OF = {**{route: route for route in STEPS}, "/find": "/levels", "/tradeoff": "/levels"}
"""The step of each page."""
_PAGES: Mapping[str, Callable[[PageView], Page]] = {
    "/columns": columns.page,
    "/risk": risk.page,
    "/levels": levels.page,
    "/find": levels.found,
    "/tradeoff": levels.costs,
    "/evidence": evidence.page,
}
SECONDS_A_MILLION = 3
"""Seconds that the first figures take for a million records of which hardly two are alike."""


def answer(view: PageView) -> Page | evidence.Download:
    """The page or the file of a route. Raises the errors of an audit."""
    if view.route in evidence.FILES:
        return evidence.download(view)
    if view.route != "/columns" and view.waits:
        lead = numbers.quasi_identifiers(view.names)
        return Page("Count the figures now?", lead, _offer(view))
    return _PAGES[view.route](view)


def unanswered(view: PageView, sentence: str) -> Page:
    """The page of a question that can't be answered: why, and the way to other hierarchies."""
    return Page("This can't be answered", "", _way_out(view, sentence))


def _way_out(view: PageView, sentence: str) -> Iterator[Block]:
    step = STEP_OF.get(view.route, view.route)
    yield Prose([sentence], "strong")
    if step in ("/risk", "/levels"):
        names = [name for name in view.names if name not in view.table.files]
        builders = view.question.hierarchies
        yield Choices(
            "How columns are generalised",
            "As in width:5,10 or mask:right; without one they can only be suppressed.",
            action=step,
            hidden=view.hidden("hierarchy", "level"),
            controls=[Control(f"hierarchy.{name}", name, builders.get(name, "")) for name in names],
            buttons=[Button("Build", is_main=True)],
            style="list",
        )
    back = [to for to in ("/columns", "/levels", "/evidence") if to != step or to == "/evidence"]
    yield Choices(buttons=[Link(STEPS[to], view.to(to)) for to in back])


def _offer(view: PageView) -> Iterator[Block]:
    """The button of a large table that asks for its figures, and what they take."""
    size = "The number of records is not known yet."
    if (records := view.table.records) is not None:
        seconds = numbers.number(SECONDS_A_MILLION * records // 1_000_000)
        size = (
            f"For {numbers.counted(records, 'record')} that takes up to {seconds} seconds on "
            "two free cores, if hardly two are alike."
        )
    yield Prose(
        [
            "Each combination of the chosen columns is read once and kept with its count, within "
            f"the limit of memory and then on disk. {size} Thresholds and levels are then counted "
            "from it. The page shows what it counts; leaving it stops the count."
        ],
        name="Nothing is counted yet.",
    )
    yield Choices(
        action=view.route,
        hidden=view.hidden("ask"),
        buttons=[
            Button("Count", is_main=True, name="ask", value=view.question.asking("count")),
            Link("Choose other columns", view.to("/columns")),
            Link("Spec (kanon.yml)", view.to("/kanon.yml")),
        ],
    )
    yield Prose(["Or count in a terminal:"])
    yield Verbatim(folded(audit_command(view)))
