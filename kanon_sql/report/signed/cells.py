"""The sections on a published table: its finding, and what was looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kanon_sql.report.document import Block, Facts, Grid, GridRow, Points, Prose
from kanon_sql.report.words.cells import cells_sentence, cost_sentence, headline_of_cells
from kanon_sql.report.words.models import SIGNS, verdict
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    filter_words,
    listed,
    number,
    on_one_line,
    printable,
)
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import CheckResult, PolicyOutcome
from kanon_sql.spec.models.catalogue import CELL_MODELS

BESIDE_THE_RULES = (
    "Other tables of the same people: each may hold by itself and disclose a cell together with "
    "another one. kanon-sql tables … --against compares two; more than two are not looked at.",
    "What a reader knows from elsewhere: the rules count and compare cells, and look at nothing "
    "outside the table. kanon-sql explain limits.",
    "Which threshold is right is a judgement: it depends on who reads the table, and what harm "
    "would be done. kanon-sql explain thresholds.",
)
_READERS = {
    "min_contributors": "who knows that somebody is in a small cell",
    "dominance": "who contributed much to a cell, and subtracts that from its sum",
    "p_percent": "who contributed much to a cell, and subtracts that from its sum",
    "group_disclosure": "who knows to which group somebody belongs",
    "derivable": "who adds and subtracts the figures that are shown",
    "differences": "who also has the second table",
}
"""The reader that each rule is about."""


def rules(table: CellsResult) -> Iterator[Block]:
    """Each rule with its verdict, what it found, and the sentence that it rests on."""
    if cost := cost_sentence(table):
        yield Prose([cost], "flush")
    yield Grid(
        "What was required, what was found, and where each rule comes from.",
        GridRow(("verdict", "rule", "found", "concerns", "rests on"), ()),
        [_row(check, table) for check in table.checks],
    )
    known = dict.fromkeys(_READERS[each.model] for each in table.checks if each.model in _READERS)
    if known:
        yield Prose(["Readers considered:"])
        yield Points([f"One {each}." for each in known])


def _row(check: CheckResult, table: CellsResult) -> GridRow:
    found = verdict(check, table)
    sign = SIGNS[found.status]
    words = (f"{sign}{KEPT_TOGETHER}{found.word}", found.title, found.achieved, found.extent)
    return GridRow((*words, _basis(check, table)), ())


def _basis(check: CheckResult, table: CellsResult) -> str:
    """The sentence of the policy that requires a check, with its address."""
    policy = next((each for each in table.policies if each.id == check.policy), None)
    if policy is None:
        return "" if check.holds is None else "required by whoever ran it"
    said = [f"“{on_one_line(text)}”" for text in _quotes(check, policy)]
    return printable(" ".join([*said, f"{policy.id}, {policy.address}"]))


def _quotes(check: CheckResult, policy: PolicyOutcome) -> list[str]:
    """The sentences on a check; of several rules of one model, those with its numbers."""
    about = [each["text"] for each in policy.quotes if each["about"] == check.model]
    bounds = [check.parameters.get(name) for name in CELL_MODELS[check.model].thresholds]
    numbers = [f"{bound:g}" for bound in bounds if isinstance(bound, int | float)]
    own = [text for text in about if all(re.search(rf"\b{each}\b", text) for each in numbers)]
    return own or about


def scope(table: CellsResult) -> Iterator[Block]:
    """The cells that were judged, and how they were made or read."""
    yield Facts(list(_facts(table)))


def _facts(table: CellsResult) -> Iterator[tuple[str, str]]:
    summary = table.cells
    if table.published:
        yield "Read", "the table as it goes out, one row a cell"
    else:
        yield "Read", f"its {counted(summary.records or 0, 'record')}"
        yield (
            "Contributors",
            f"{number(summary.contributors or 0)}, identified by {printable(table.contributor)}"
            if table.contributor
            else "not counted: every record is assumed to be of another contributor",
        )
    yield "Figure", headline_of_cells(table)[-1 if not table.published else 1]
    yield "Dimensions", listed(table.by)
    yield "Cells", cells_sentence(table)
    if table.margins is not None:
        yield "Margins", _margins(table.margins)
    if table.weight:
        yield "Survey weight", f"{printable(table.weight)}, assumed to be confidential"
    if table.against:
        yield "Compared with", listed(list(table.against))
    rows = "row" if table.published else "record"
    yield "Filter", filter_words(table, rows, f"all {rows}s")


def _margins(margins: str | tuple[tuple[str, ...], ...]) -> str:
    if isinstance(margins, str):
        return {"all": "all totals are published", "none": "no total is published"}[margins]
    return "; ".join(listed(each) if each else "the grand total" for each in margins)
