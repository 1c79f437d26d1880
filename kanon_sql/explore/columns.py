"""The page Columns: each column with a selection of its role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kanon_sql.explore.table import ROLE_OF
from kanon_sql.explore.view import Page, PageView
from kanon_sql.profiling.propose import proposed_by_name
from kanon_sql.question.date_formats import ORDERS
from kanon_sql.report.document import Block, Button, Cell, Choices, Control, Link, Prose
from kanon_sql.report.words import numbers
from kanon_sql.results.profile import BY_NAME
from kanon_sql.sql.tables import Column

ROLE_WORDS = {
    "": "— undecided —",
    "qi": "quasi-identifier",
    "sensitive": "sensitive",
    "identifier": "identifier",
    "entity": "person (entity)",
    "insensitive": "insensitive",
}
_LEAD = (
    "The roles are proposed; you decide. A quasi-identifier is what a neighbour, an employer or a "
    "register may know of a person. In doubt, choose it: more of them make the figures stricter, "
    "never milder."
)
_MEASURED = (
    "Unique: records whose value occurs once. Adds: records that become unique only when the "
    "column joins those that single out more. One that adds little may tell much beside fewer."
)
_BY_NAME = "The roles are suggested by the names of the columns alone; their values are not read."


def page(view: PageView) -> Page:
    """Every column with its role, and what suggests one."""
    return Page("Which columns could someone know?", _LEAD, _blocks(view))


def _blocks(view: PageView) -> Iterator[Block]:
    is_measured = view.table.is_measured or "measure" in view.question.ask
    yield from view.notice()
    for column, written in view.table.assumed_dates.items():
        words = f"{numbers.printable(column)} is read as {ORDERS.get(written, written)}."
        yield Prose(["Another format is given when explore is started, by --date-format."],
                    name=words)  # fmt: skip
    measure = Button("Measure the columns", name="ask", value=view.question.asking("measure"),
                     action="/columns")  # fmt: skip
    yield Choices(
        action="/risk",
        hidden=view.hidden("role", *([] if is_measured else ["ask"])),
        buttons=[
            Button("Measure the risk", is_main=True),
            Button("Only update the roles", action="/columns"),
            *([] if is_measured else [measure]),
            Link("Back to the proposal", "/"),
        ],
        header=("column", "role", "type", "looks like", "values", "NULL", "unique", "adds"),
        rows=list(_measured(view) if is_measured else _named(view)),
        figures=(4, 5, 6, 7),
        caption=_MEASURED if is_measured else _BY_NAME,
        style="table",
    )


def _named(view: PageView) -> Iterator[list[Cell]]:
    for column, each in zip(view.table.columns, proposed_by_name(view.table.columns), strict=True):
        looks = ROLE_WORDS[ROLE_OF[each.section]] if each.section in ROLE_OF else ""
        yield [*_row(column, view, looks, each.reason), "", "", "", ""]


def _measured(view: PageView) -> Iterator[list[Cell]]:
    proposal = view.table.proposal()
    by_name: dict[str, Any] = {each.column: each for each in proposal.measured}
    records, members = view.table.records or proposal.spec.records, proposal.members
    for column in view.table.columns:
        each = by_name.get(column.name)
        row = _row(column, view, each.looks_like if each else "", each.why if each else "")
        figures = [""] * 4
        if each and each.distinct is not None:
            figures = [
                numbers.number(each.distinct),
                numbers.short_share(each.nulls or 0, records),
                numbers.short_share(each.alone or 0, members),
                "" if each.adds is None else numbers.short_share(each.adds, members),
            ]
        yield [*row, *figures]


def _row(column: Column, view: PageView, looks_like: str, why: str) -> list[Cell]:
    """The first cells of a row: name, role, type, and what the column looks like."""
    role, name = view.question.roles.get(column.name, ""), column.name
    options = list(ROLE_WORDS.items())
    chosen = Control(f"role.{name}", f"Role of {name}", role, "select", options, is_on=not role)
    looks, reason = looks_like.replace("_", "-"), why.removeprefix(BY_NAME)
    return [name, chosen, column.type.lower(), f"{looks}: {reason}" if looks else reason]
