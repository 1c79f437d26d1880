"""The subject of a sign-off report, as its audience may see it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from kanon_sql.errors import SpecError, described_value, option
from kanon_sql.models.catalogue import MODELS
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.report.document import Block, Heading
from kanon_sql.report.words.numbers import KEPT_TOGETHER, counted, number, percent, printable
from kanon_sql.results.check import CheckResult
from kanon_sql.results.confidential import FEWER, LEAST_CELL, for_outsiders, is_hidden
from kanon_sql.results.diff import Diff
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, ReleaseFindings, Tradeoff
from kanon_sql.results.table import AuditFindings, Summary, TableResult
from kanon_sql.results.worksheet import Attempts

Audience = Literal["internal", "external"]
AUDIENCES: tuple[Audience, ...] = ("internal", "external")
ShownSql = Literal["attached", "linked"]
SHOWN_SQL: tuple[ShownSql, ...] = ("attached", "linked")


@dataclass(frozen=True)
class Signed:
    """A result with supplementary ones. `digest` is that of the result's file."""

    result: AuditFindings
    digest: str
    earlier: Diff | None = None
    profiles: tuple[TableProfile, ...] = ()
    costs: tuple[Tradeoff, ...] = ()
    attempts: Attempts | None = None
    audience: Audience = "internal"
    min_cell: int = LEAST_CELL
    sql: ShownSql = "attached"
    """Whether the page has the statements, or their SHA-256 and how to print them."""
    file: str | None = None
    """The result's file, if it is read from one."""
    unsealed: tuple[str, ...] = ()
    """What has no seal, in words."""
    whole: AuditFindings = field(init=False, repr=False)
    """The result as internal readers get it."""

    def __post_init__(self) -> None:
        if self.audience not in AUDIENCES:
            raise SpecError(f"audience is internal or external; found {self.audience!r}.")
        if self.sql not in SHOWN_SQL:
            raise SpecError(
                f"{option('sql')} must be attached or linked; found {described_value(self.sql)}."
            )
        if self.sql == "linked" and self.is_external:
            raise SpecError(
                f"{option('sql', 'linked')} is for internal readers; external ones get no SQL. "
                f"Leave out one of the two."
            )
        if self.min_cell < 1 or self.min_cell == 2:
            raise SpecError(
                f"min-cell is 1, which shows every count, or 3 or more; found {self.min_cell}. "
                '"Fewer than 2" would be one.'
            )
        object.__setattr__(self, "whole", self.result)
        if self.is_external:
            object.__setattr__(self, "result", for_outsiders(self.result, self.min_cell))

    @property
    def is_external(self) -> bool:
        return self.audience == "external"

    @property
    def anonymization(self) -> Anonymization | None:
        """How the release was made, if the result is one."""
        return self.result.anonymization if isinstance(self.result, ReleaseFindings) else None

    @property
    def status(self) -> str:
        """The overall status; a trade-off is "measured"."""
        return self.result.status if self.result.tables or not self.costs else "measured"

    @property
    def answered(self) -> tuple[TableResult, ...]:
        """The tables with results."""
        return tuple(
            table for table in self.result.tables if table.status not in ("no_data", "error")
        )

    def under_its_name(self, table: TableResult, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks, under the table's name if there are several tables."""
        content = list(blocks)
        if content and len(self.result.tables) > 1:
            yield Heading([printable(table.name)])
        yield from content

    @property
    def is_rounded(self) -> bool:
        """Whether small counts are pooled, and others rounded."""
        return self.is_external and self.min_cell > 1

    @property
    def fewest_classes(self) -> int:
        """Minimum number of classes shown to this audience; 0 for no bound.

        With fewer, sizes and records reveal the number: a smallest class of 500 among 1,000 records
        is one of two.
        """
        return 3 * self.min_cell if self.is_rounded else 0

    def is_coarse(self, summary: Summary) -> bool:
        """Whether a table has too few classes to show this audience their sizes."""
        return 0 < (summary.classes or 0) < self.fewest_classes

    def withholds(self, table: TableResult) -> bool:
        """Whether a confidential threshold leaves this audience nothing but verdicts: the size of
        each class bounds it."""
        return self.is_external and any(map(is_hidden, table.checks))

    def hides_sizes(self, table: TableResult) -> bool:
        """Whether this audience gets nothing but verdicts, for either reason."""
        return self.withholds(table) or self.is_coarse(table.summary)

    def is_small(self, count: int) -> bool:
        """Whether a count is too small to be shown to this audience."""
        return self.is_external and 0 < count < self.min_cell

    def records(self, table: TableResult) -> str:
        """The records; for external readers never fewer than the people, who are counted
        exactly."""
        records, people = table.summary.records or 0, table.summary.people
        if people is None or records == people:
            return number(records)
        # Next to the people the difference could be a few.
        if self.is_small(records - people):
            return f"{number(people)} to {number(people + self.min_cell - 1)}"
        return self.cell(records)

    def least(self, size: int) -> str:
        """The size of a smallest class that no check requires."""
        return f"{FEWER} {number(self.min_cell)}" if self.is_small(size) else number(size)

    def cell(self, count: int, noun: str = "", of: int | None = None) -> str:
        """A count with its noun; for external readers rounded, or pooled if small, or if all but a
        small count `of` a whole."""
        is_whole = of is not None and of - count < self.min_cell and not self.is_small(count)
        if self.is_rounded and is_whole:
            return f"{'all' if count == of else 'nearly all'} {plural_of(noun)}".strip()
        return self._cell(count, noun, self.min_cell)

    def classes(self, count: int, noun: str = "class") -> str:
        """A number of classes; pooled below a higher threshold than records are."""
        return self._cell(count, noun, max(self.fewest_classes, 1))

    def _cell(self, count: int, noun: str, least: int) -> str:
        def words(many: int) -> str:
            return counted(many, noun) if noun else number(many)

        if self.is_external and 0 < count < least:
            return f"{FEWER} {number(least)} {plural_of(noun)}".strip()
        if count and self.is_rounded:
            return f"about {words(self._rounded(count, least))}"
        return words(count)

    @staticmethod
    def _rounded(count: float, least: int) -> int:
        """Round to a multiple of the minimum cell, so that differences reveal no small count."""
        return max(1, round(count / least)) * least

    def portion(self, count: int, total: int, noun: str) -> str:
        """A count with its share of the whole, which a small one lacks."""
        if self.is_small(count) or not total:
            return self.cell(count, noun)
        if self.is_rounded and total - count < self.min_cell:
            return f"{'nearly ' if count < total else ''}all of {counted(total, noun)}"
        return f"{self.cell(count, noun)} ({self.share(count / total, total)})"

    def share(self, fraction: float, total: int) -> str:
        """A share of the whole; for external readers that of the rounded count."""
        few = min(self.min_cell / total, 1) if total else 1
        if not self.is_rounded or fraction in (0, 1):
            return percent(fraction)
        if fraction * total < self.min_cell:
            return f"less than {percent(few)}"
        if total - fraction * total < self.min_cell:
            return f"more than {percent(1 - few)}"
        return self._share_of(fraction, total, self.min_cell)

    def given_away(self, check: CheckResult, count: int, total: int) -> str:
        """The share of all people (records) who are in homogeneous classes; that of a few classes
        of a known size would reveal the number of these classes."""
        if not 0 < (check.violating_classes or check.achieved or 0) < self.fewest_classes:
            return self.share(count / total, total)
        least = number(self.min_cell)
        return f"{FEWER} {least}" if self.is_small(count) else f"{least} or more"

    def part(self, count: int, total: int) -> str:
        """A count of a whole, as in `about 230 of 1,859`."""
        if self.is_small(count):
            return self.cell(count)
        if self.is_rounded and total - count < self.min_cell:
            return f"{'nearly ' if count < total else ''}all of {number(total)}"
        return f"{self.cell(count)} of {number(total)}"

    def among(self, people: int, table: TableResult) -> str:
        """The chance of finding a person among so many at least; no more than its comparison with
        one record, where the size of the smallest class is not shown."""
        if self.hides_sizes(table):
            return "among fewer people than one record does"
        if self.is_small(people):
            return f"with a chance above {percent(1 / self.min_cell)}"
        return f"with a chance of {percent(1 / people)} at most"

    def highest(self, chance: float, *, is_required: bool) -> str:
        """A highest risk; for external readers pooled if its class is small, and no check requires
        the size."""
        if self._shows_highest(chance, is_required):
            return percent(chance)
        return f"more than {percent(1 / self.min_cell)}"

    def shown_highest(self, chance: float, *, is_required: bool) -> float:
        """A highest risk as far as this audience is shown it; else 1."""
        return chance if self._shows_highest(chance, is_required) else 1

    def _shows_highest(self, chance: float, is_required: bool) -> bool:
        return is_required or not chance or not self.is_small(round(1 / chance))

    def average(self, chance: float, total: int, highest: float = 1) -> str:
        """An average risk, classes divided by members; for external readers a bound, of classes
        rounded up, that is never above the highest."""
        if not self.is_rounded:
            return percent(chance)
        classes = math.ceil(chance * total / self.fewest_classes) * self.fewest_classes
        return f"at most {percent(min(classes / total, highest))}"

    def _share_of(self, fraction: float, total: int, least: int) -> str:
        return percent(min(self._rounded(fraction * total, least) / total, 1))


def members_of(table: TableResult) -> int:
    """Number of people, or of records: the denominator of shares."""
    return table.summary.people or table.summary.records or 0


def bound_of(attacker: str, key: str, table: TableResult) -> float | None:
    """The risk's threshold: explicit, or implied by a required k."""
    for check in table.checks:
        bound = check.parameters.get(f"max_{key}")
        if check.model == f"{attacker}_risk" and bound is not None:
            return float(bound)
    if key == "highest":
        for check in table.checks:
            is_bound = MODELS[check.model].attacker == attacker
            of_all = is_bound and not check.parameters.get("columns")
            if of_all and check.parameters.get("k"):
                return 1 / int(check.parameters["k"])
    return None


def violating(check: CheckResult, table: TableResult, signed: Signed) -> str:
    """The records, people and classes that violate a check, and a reference's gaps."""
    if MODELS[check.model].of_reference and check.violating_classes:
        return "; ".join([_of_reference(check, signed), *_lacking(check, signed)])
    parts = []
    in_both = check.details.get("in_both")
    if 0 < (check.violating_classes or 0) < signed.fewest_classes:
        # The members of a few classes of a known size reveal the number of these classes.
        return "; ".join([signed.classes(check.violating_classes or 0), *_lacking(check, signed)])
    if check.violating_people:
        attacked = check.details.get("attacked") if check.details.get("drawn") else None
        of_people = in_both or attacked or table.summary.people or 0
        of_whom = " of those in both" if in_both else " of those attacked" if attacked else ""
        parts.append(f"{signed.portion(check.violating_people, of_people, 'person')}{of_whom}")
    if check.violating_records and not (signed.is_rounded and check.violating_people):
        parts.append(signed.portion(check.violating_records, table.summary.records or 0, "record"))
    reach = ", ".join(parts)
    if check.violating_classes:
        joint = " of both" if in_both else ""
        reach = f"{reach} in {signed.classes(check.violating_classes)}{joint}".strip()
    return "; ".join([*([reach] if reach else []), *_lacking(check, signed)])


def _of_reference(check: CheckResult, signed: Signed) -> str:
    """The people of a reference that a check concerns; they are no share of the table."""
    people = check.violating_people
    many = (check.violating_records or 0) if people is None else people
    whose = printable(REFERENCE.called(str(check.parameters.get("reference"))))
    classes = signed.classes(check.violating_classes or 0)
    return f"{signed.cell(many, 'person')} of {whose} in {classes}"


def _lacking(check: CheckResult, signed: Signed) -> Iterator[str]:
    """Why a reference can't contain the release."""
    for key, words in (
        ("unmatched_classes", "the reference lacks"),
        ("exceeding_classes", "the reference has fewer people than the release in"),
    ):
        count = check.details.get(key)
        if isinstance(count, int) and count:
            yield f"{words} {signed.classes(count)}"


def plural_of(noun: str) -> str:
    """The plural of a noun; "" for none."""
    return counted(2, noun).split(KEPT_TOGETHER)[1] if noun else ""


def digest_of(text: str) -> str:
    """The hexadecimal SHA-256 digest of a text.

    >>> digest_of("select 1")[:12]
    '822ae07d4783'
    """
    return hashlib.sha256(text.encode()).hexdigest()
