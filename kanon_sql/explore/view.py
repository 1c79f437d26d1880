"""A question about a table with the blocks that several pages have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.look import Look, Lost
from kanon_sql.explore.address import Question, fields_of, query
from kanon_sql.explore.table import ExploredTable
from kanon_sql.question.table import TableSpec
from kanon_sql.report import audit as audits
from kanon_sql.report import document as blocks
from kanon_sql.report.document import Block, Button, Choices, Control, Datum, Link, Prose
from kanon_sql.report.words import numbers, tables
from kanon_sql.report.words.models import SIGNS, STATUS_WORDS
from kanon_sql.results.table import TableResult

_MOST_LISTED = 12
"""Number of undecided columns up to which they are named."""
_THRESHOLDS = {
    "k": "records in each class, at least",
    "l": "different sensitive values in each class, at least",
    "t": "distance of each class from the whole table, at most",
}


class Page(NamedTuple):
    """A page: its question as a heading, what it is about, its blocks."""

    question: str
    lead: str
    blocks: Iterable[Block]


class PageView:
    """A question about a table, on the page of a route."""

    def __init__(self, table: ExploredTable, route: str, question: Question) -> None:
        self.table, self.route, self.question = table, route, question
        self.names = question.of("qi")

    # --- where it leads -----------------------------------------------------------------------

    def to(self, route: str, question: Question | None = None, anchor: str = "") -> str:
        """The address of a page, of this question if no other is given."""
        text = query(question or self.question, self.table.names)
        return f"{route}{'?' if text else ''}{text}{f'#{anchor}' if anchor else ''}"

    def hidden(self, *but: str) -> list[tuple[str, str]]:
        """The fields of the question, but for those that a form has itself."""
        fields = fields_of(self.question, self.table.names)
        return [field for field in fields if not {field[0], field[0].partition(".")[0]} & {*but}]

    def request(self, word: str, title: str, note: str, button: str) -> Choices:
        """A button for what is slow, or holds values."""
        asks = Button(button, name="ask", value=self.question.asking(word))
        return Choices(
            title, note, action=self.route, hidden=self.hidden("ask"), buttons=[asks]
        )  # fmt: skip

    # --- what it is about ---------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Whether its figures are counted only if a button asks for them."""
        return self.table.is_large and "count" not in self.question.ask

    @cached_property
    def spec(self) -> TableSpec:
        """The spec. Raises `SpecError`."""
        return self.table.spec(self.question)

    @property
    def undecided(self) -> list[str]:
        """The columns without a role."""
        return [name for name in self.table.names if name not in self.question.roles]

    @cached_property
    def look(self) -> Look:
        return self.table.look(self.question)

    @cached_property
    def result(self) -> TableResult:
        """The audit, but for the warnings about columns that no check reads."""
        peeks = self.table.show_values and "peek" in self.question.ask and self.route == "/risk"
        return self.look.audit(self.question.level_of, self.question.checks, show_values=peeks)

    @cached_property
    def lost(self) -> Lost:
        """The information lost at these levels."""
        return self.look.lost(self.question.level_of, self.question.checks)

    @property
    def lead(self) -> str:
        """The question in words."""
        table, question = self.result, self.question
        parts = [numbers.quasi_identifiers(table.quasi_identifiers)]
        if table.sensitive:
            parts.append(f"sensitive {numbers.listed(table.sensitive)}")
        if table.entity:
            parts.append(f"people by {numbers.printable(table.entity)}")
        labels = self.look.levels()
        raised = [
            f"{numbers.printable(name)} at {labels[name][level].label}"
            for name, level in question.raised.items()
        ]
        if raised:
            parts.append(f"generalised: {', '.join(raised)}")
        of_values = [name for name in "lt" if getattr(question, name) is not None]
        if of_values and not table.sensitive:
            parts.append(f"{' and '.join(of_values)} not checked: no column is sensitive")
        return " · ".join(parts)

    # --- its blocks ---------------------------------------------------------------------------

    def warnings(self) -> Iterator[Block]:
        """All warnings."""
        of_others = self.look.beside(self.spec.insensitive, self.spec.identifiers)
        if self.question.raised:
            of_others = tuple(f"At raw values: {each[:1].lower()}{each[1:]}" for each in of_others)
        warnings = (*self.result.warnings, *of_others)
        return audits.warnings(replace(self.result, warnings=warnings))

    def strip(self, lost: Lost | None = None) -> blocks.Strip:
        """The figures above every page: verdict, k, records below k, unique records, what is
        lost."""
        table, summary, k = self.result, self.result.summary, tables.required_k(self.result)
        gated = [check for check in table.checks if check.holds is not None]
        violated = sum(check.holds is False for check in gated)
        below, size = below_k(table)
        word = {"measured": "nothing required"}.get(table.status, STATUS_WORDS[table.status])
        sign = f"{SIGNS.get(table.status, '')} {word}".strip()
        reach = f"{violated} of {len(gated)} violated" if gated else "no threshold given"
        records, unique = summary.records or 0, summary.uniques or 0
        figures = [
            _figure("checks", Datum(sign, "status", table.status), reach, status=table.status),
            _figure(
                "k",
                Datum(numbers.number_or_none(summary.k), "k", str(summary.k or 0)),
                f"required: {numbers.number(k)}" if k else "the smallest class",
            ),
            _figure(
                f"in classes below {numbers.number(size)}",
                Datum(numbers.short_share(below, records)),
                *(_count("below", below), " of ", _count("records", records), " records"),
            ),
            _figure(
                "unique",
                Datum(numbers.short_share(unique, summary.people or records)),
                _count("unique", unique),
                *("; ", _count("classes", summary.classes or 0), " classes in all"),
            ),
        ]
        if lost is not None:
            without = numbers.counted(lost.suppressed, "record")
            note = f"{numbers.short_percent(lost.with_suppression)} with {without} suppressed"
            shown = numbers.short_percent(lost.by_levels)
            datum = Datum(shown, "lost", repr(lost.by_levels or 0.0))
            note = note if lost.suppressed else "by these levels"
            figures.append(_figure("information lost", datum, note))
        return blocks.Strip(figures)

    def thresholds(self) -> Choices:
        """The form of k, l and t."""
        names = "klt" if self.question.of("sensitive") else "k"
        given = dict(fields_of(self.question, []))
        return Choices(
            action=self.route,
            hidden=self.hidden(*names),
            controls=[
                Control(name, name, given.get(name, ""), "number", hint=_THRESHOLDS[name])
                for name in names
            ],
            buttons=[Button("Update")],
            anchor="thresholds",
        )

    def notice(self) -> Iterator[Block]:
        """A notice of the columns without a role."""
        names = self.undecided
        if not names:
            return
        of = numbers.counted(len(self.table.columns), "column")
        which = f"{numbers.number(len(names))} of {of} undecided"
        yield Prose(
            [
                "Figures hold for the quasi-identifiers you name and for no other column. A spec "
                "with undecided columns is refused until each has a role."
            ],
            name=f"{which}{f': {numbers.listed(names)}' if len(names) <= _MOST_LISTED else ''}.",
        )
        if self.route != "/columns":
            yield Choices(buttons=[Link("Decide", self.to("/columns"))])


def _figure(title: str, shown: Datum, *note: Datum | str, status: str = "") -> blocks.StripFigure:
    data = [Datum(part) if isinstance(part, str) else part for part in note]
    return blocks.StripFigure(title, shown, data, status)


def _count(name: str, value: int) -> Datum:
    return Datum(numbers.number(value), name, str(value))


def below_k(table: TableResult) -> tuple[int, int]:
    """The number of records in classes that are too small, and the size; without a required k the
    unique ones."""
    for check in table.checks:
        if check.model == "k_anonymity" and check.parameters.get("k"):
            return check.violating_records or 0, int(check.parameters["k"])
    return sum(each.records for each in table.histogram if each.size == 1), 2


def share(count: int, total: int) -> blocks.ShareCell:
    """A share as a cell with a bar."""
    fraction = count / total if total else 0.0
    return blocks.ShareCell("none" if not count else numbers.short_percent(fraction), fraction)


def unique_share(table: TableResult) -> str:
    """The share of the records, or people, that are unique."""
    summary = table.summary
    return numbers.short_share(summary.uniques or 0, summary.people or summary.records or 0)
