"""The content and audience of a sign-off report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kanon_sql.report.document import Block, Heading
from kanon_sql.report.words.numbers import counted, number, percent, printable
from kanon_sql.results.costs import Costs
from kanon_sql.results.diff import Diff
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, ReleaseFindings
from kanon_sql.results.table import AuditFindings, CheckResult, TableResult
from kanon_sql.results.worksheet import Attempts
from kanon_sql.spec.models.catalogue import MODELS
from kanon_sql.spec.question_parts import the_reference

Audience = Literal["internal", "external"]
AUDIENCES: tuple[Audience, ...] = ("internal", "external")
LEAST_CELL = 10
"""Minimum count shown to external readers."""


@dataclass(frozen=True)
class Signed:
    """A result with supplementary ones. `digest` is that of the result's file."""

    result: AuditFindings
    digest: str
    earlier: Diff | None = None
    profiles: tuple[TableProfile, ...] = ()
    costs: tuple[Costs, ...] = ()
    attempts: Attempts | None = None
    audience: Audience = "internal"
    min_cell: int = LEAST_CELL

    @property
    def is_external(self) -> bool:
        return self.audience == "external"

    @property
    def made(self) -> Anonymization | None:
        """How the release was made, if the result is one."""
        return self.result.anonymization if isinstance(self.result, ReleaseFindings) else None

    @property
    def status(self) -> str:
        """The overall status; a trade-off is "measured"."""
        return self.result.status if self.result.tables or not self.costs else "measured"

    @property
    def answered(self) -> tuple[TableResult, ...]:
        """The tables with results."""
        return tuple(each for each in self.result.tables if each.status not in ("no_data", "error"))

    def under_its_name(self, table: TableResult, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks, under the table's name if there are several tables."""
        found = list(blocks)
        if found and len(self.result.tables) > 1:
            yield Heading([printable(table.name)])
        yield from found

    def is_small(self, count: int) -> bool:
        """Whether a count is too small to be shown to this audience."""
        return self.is_external and 0 < count < self.min_cell

    @property
    def _is_rounded(self) -> bool:
        return self.is_external and self.min_cell > 1

    def _rounded(self, count: float) -> int:
        """To a multiple of the least cell: no small count is a difference of such figures."""
        return max(1, round(count / self.min_cell)) * self.min_cell

    def cell(self, count: int, noun: str = "") -> str:
        """A count with what it counts; outside rounded, or that it is a small one."""
        if self.is_small(count):
            few = f"fewer than {number(self.min_cell)}"
            return f"{few} {counted(2, noun).split(chr(160))[1]}" if noun else few
        if count and self._is_rounded:
            return f"about {self._counted(self._rounded(count), noun)}"
        return self._counted(count, noun)

    @staticmethod
    def _counted(count: int, noun: str) -> str:
        return counted(count, noun) if noun else number(count)

    def portion(self, count: int, whole: int, noun: str) -> str:
        """A count with its share of the whole, which a small one lacks."""
        if self.is_small(count) or not whole:
            return self.cell(count, noun)
        if self._is_rounded and whole - count < self.min_cell:
            return f"{'nearly ' if count < whole else ''}all of {counted(whole, noun)}"
        return f"{self.cell(count, noun)} ({self.share(count / whole, whole)})"

    def share(self, fraction: float, whole: int) -> str:
        """A share of the whole; outside it is that of a rounded count, and gives no small one."""
        few = min(self.min_cell / whole, 1) if whole else 1
        if not self._is_rounded or fraction in (0, 1):
            return percent(fraction)
        if fraction * whole < self.min_cell:
            return f"less than {percent(few)}"
        if whole - fraction * whole < self.min_cell:
            return f"more than {percent(1 - few)}"
        return percent(min(self._rounded(fraction * whole) / whole, 1))


def members_of(table: TableResult) -> int:
    """How many people, or records, shares are taken of."""
    return table.summary.people or table.summary.records or 0


def violating(check: CheckResult, table: TableResult, signed: Signed) -> str:
    """The records, people and classes that violate a check, and a reference's gaps."""
    if MODELS[check.model].of_reference and check.violating_classes:
        return "; ".join([_of_reference(check, signed), *_lacking(check, signed)])
    parts = []
    in_both = check.details.get("in_both")
    # Who is in a few classes of a known size says how many classes these are.
    counts = [check.violating_people or 0, check.violating_records or 0]
    if signed.is_small(check.violating_classes or 0) and not signed.is_small(max(counts)):
        few = signed.cell(check.violating_classes or 0, "class")
        return "; ".join([few, *_lacking(check, signed)])
    if check.violating_people:
        of_people = in_both or table.summary.people or 0
        of_whom = " of those in both" if in_both else ""
        parts.append(f"{signed.portion(check.violating_people, of_people, 'person')}{of_whom}")
    if check.violating_records:
        parts.append(signed.portion(check.violating_records, table.summary.records or 0, "record"))
    reach = ", ".join(parts)
    if check.violating_classes:
        joint = " of both" if in_both else ""
        reach = f"{reach} in {signed.cell(check.violating_classes, 'class')}{joint}".strip()
    return "; ".join([*([reach] if reach else []), *_lacking(check, signed)])


def _of_reference(check: CheckResult, signed: Signed) -> str:
    """The people of a reference that a check concerns; they are no share of the table."""
    people = check.violating_people
    many = (check.violating_records or 0) if people is None else people
    whose = printable(the_reference(str(check.parameters.get("reference"))))
    classes = signed.cell(check.violating_classes or 0, "class")
    return f"{signed.cell(many, 'person')} of {whose} in {classes}"


def _lacking(check: CheckResult, signed: Signed) -> Iterator[str]:
    """Why a reference can't contain the release."""
    for key, words in (
        ("unmatched_classes", "the reference lacks"),
        ("exceeding_classes", "the reference has fewer people than the release in"),
    ):
        count = check.details.get(key)
        if isinstance(count, int) and count:
            yield f"{words} {signed.cell(count, 'class')}"


def digest_of(text: str) -> str:
    """The hexadecimal SHA-256 digest of a text.

    >>> digest_of("select 1")[:12]
    '822ae07d4783'
    """
    return hashlib.sha256(text.encode()).hexdigest()
