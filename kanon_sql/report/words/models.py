"""A check in words: status, title, result and extent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from kanon_sql.report.words.cells import title_of_rule
from kanon_sql.report.words.numbers import figure, figure_name, percent, printable
from kanon_sql.report.words.phrases import phrases
from kanon_sql.results.comparison import table_figures
from kanon_sql.results.table import CheckResult, TableResult
from kanon_sql.spec.models.catalogue import ALL_MODELS, CELL_MODELS

STATUS_WORDS = {
    "holds": "holds",
    "violated": "VIOLATED",
    "accepted": "accepted",
    "undecided": "undecided",
    "measured": "measured",
    "no_data": "no data",
    "error": "failed",
}


VerdictStatus = Literal["holds", "violated", "accepted", "undecided", "measured"]


class Verdict(NamedTuple):
    """One check in words."""

    status: VerdictStatus
    title: str
    achieved: str
    extent: str

    @property
    def word(self) -> str:
        return STATUS_WORDS[self.status]


def verdict(check: CheckResult, table: TableResult) -> Verdict:
    """One check in words."""
    found = phrases(check, table)
    extent = "; ".join(part for part in (found.extent, _beside_baseline(check, table)) if part)
    return Verdict(verdict_status(check), title(check), found.beside_required, extent)


def verdict_status(check: CheckResult) -> VerdictStatus:
    """The status of a check; `accepted` means violated and accepted by a baseline."""
    if check.holds is None:
        return "undecided" if check.undecided else "measured"
    if check.holds:
        return "holds"
    return "accepted" if check.accepted else "violated"


def _beside_baseline(check: CheckResult, table: TableResult) -> str:
    """The baseline's result of a violated check, in words."""
    if check.holds is not False or check.accepted is None:
        return ""
    if check.accepted:
        then = check.baseline.figures if check.baseline else {}
        had, records = then.get("violating_records"), then.get("records")
        if (
            not had
            or not records
            or ALL_MODELS[check.model].of_reference
            or (had, records)
            == (
                check.violating_records,
                table.summary.records,
            )
        ):
            return "accepted by the baseline"
        return f"accepted by the baseline, which had {share_of(had, records, 'records')}"
    if check.baseline is None:
        return "not in the baseline"
    if "holds" in check.baseline.worse:
        return "it held in the baseline"
    if not check.baseline.figures:
        return "worse than in the baseline"
    then, now = check.baseline.figures, {**check.figures, **table_figures(table, check)}
    of_reference = ALL_MODELS[check.model].of_reference
    sizes = {} if of_reference else vars(table.summary)
    worse = ", ".join(
        f"{figure_name(name)} {_with_share(name, now, sizes)} "
        f"(was {_with_share(name, then, {} if of_reference else then)})"
        for name in check.baseline.worse
    )
    return f"worse than in the baseline: {worse}"


def _with_share(name: str, figures: Mapping[str, Any], sizes: Mapping[str, Any]) -> str:
    """A figure, with its share of the records if it counts some; a risk is a share itself."""
    value = figures.get(name)
    if value is not None and name.endswith(".average"):
        return percent(value)
    people, records = sizes.get("people"), sizes.get("records")
    whole = (people or records) if name == "uniques" else records
    if value is None or not whole or not name.endswith(("_records", "uniques")):
        return figure(value)
    return share_of(value, whole)


def share_of(part: int, whole: int, noun: str = "") -> str:
    """A count out of its total, with the share.

    >>> from kanon_sql.report.words.numbers import plain
    >>> plain(share_of(765, 4856)), plain(share_of(647, 4000, "records"))
    ('765 of 4,856, 15.8 %', '647 of 4,000 records, 16.2 %')
    """
    return f"{part:,} of {whole:,}{f' {noun}' if noun else ''}, {percent(part / whole)}"


def title(check: CheckResult) -> str:
    """The model and its columns, as in `homogeneity diagnosis` or `k-map voters`."""
    if check.model in CELL_MODELS:
        return title_of_rule(check)
    about = (check.parameters.get(key) for key in ("sensitive", "reference", "earlier"))
    joined = ["(others known)"] if check.parameters.get("with_other_sensitive") else []
    named = [printable(name) for name in about if name]
    if check.model == "known_events":
        named.append(f"m={check.parameters['m']}")
    return " ".join([ALL_MODELS[check.model].title, *named, *joined])
