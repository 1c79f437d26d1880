"""A release as SQL: a chain of views from the records as they lie to what may be published.

Knows the templates, touches no database. The views are what is shipped and what is run: the file
that is written holds the rows of the last one.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kanon_sql.anonymization_result import GeneralizationStep, Suppressed
from kanon_sql.binding import BoundColumn, BoundSpec, find
from kanon_sql.dialects import COLLATING, translated
from kanon_sql.engines.base import Column, Table
from kanon_sql.engines.frames import FRAMES
from kanon_sql.errors import SpecError, plural
from kanon_sql.frequency_sets import PRIVATE, QuasiIdentifier, kept_labels, label_of
from kanon_sql.templates import identifier, render
from kanon_sql.version import VERSION
from kanon_sql.violations import violating_classes

VIOLATING = "violating_classes"
CLASSES = "classes"
DONORS = "donor_classes"
NUMBERED = "numbered_records"
RELEASE = "release"
_SHIPPED = "kanon_"
_OURS = re.compile(
    rf"{_SHIPPED}(step_\d+|{VIOLATING}|{CLASSES}|{DONORS}|{NUMBERED}|{RELEASE})|{PRIVATE}.*"
)
_RAW = "kanon_raw_"


class Ordered(NamedTuple):
    """A column that records are put in order by."""

    name: str
    type: str


@dataclass(frozen=True)
class View:
    """One view of the chain: its name, what it is in a sentence or two, and its SELECT."""

    name: str
    words: tuple[str, ...]
    sql: str

    def statement(self, in_own_words: Callable[[str], str]) -> str:
        """What creates the view, in the words of an engine."""
        return f"create view {self.name} as\n{in_own_words(self.sql)}"


@dataclass(frozen=True)
class Chain:
    """The views of one release, each reading only those before it."""

    bound: BoundSpec
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    steps: tuple[GeneralizationStep, ...]
    k: int
    """How many records those suppressed must be, if there are any."""
    class_size: int
    """How many each class must keep."""
    suppressed_as: Suppressed
    has_donors: bool
    """Whether records are suppressed in step 4."""
    kept: bool = False
    """Whether the views are for this run: under names of their own, with the labels of large
    hierarchies kept beside them."""
    dialect: str = "duckdb"

    def named(self, what: str) -> str:
        """What a view is called: where it is kept for a run, as no table of the user's is."""
        return f"{PRIVATE if self.kept else _SHIPPED}{what}"

    @property
    def records(self) -> tuple[View, ...]:
        """The records as they lie, and at each step."""
        return tuple(self._generalised())

    @property
    def last(self) -> str:
        """The view of the records at the levels of the release."""
        return self.named(f"step_{len(self.steps)}")

    @property
    def violating(self) -> View:
        return View(
            self.named(VIOLATING),
            ("The violating classes: below k, or failing a demanded check.",),
            violating_classes(self.released, self.last),
        )

    @property
    def donors(self) -> tuple[View, ...]:
        """What step 4 suppresses besides."""
        if not self.has_donors:
            return ()
        columns = list(self.released.quasi_identifiers)
        return (
            View(
                self.named(CLASSES),
                ("Every class with its size.",),
                render(
                    "class_counts", relation=self.last, columns=columns, entity=self.bound.entity
                ),
            ),
            View(
                self.named(DONORS),
                (
                    "The suppressed records are fewer than k and could be told apart, so the "
                    "smallest classes above k donate some (Sweeney's step 4): how many each.",
                ),
                self.donor_classes(()),
            ),
            self.numbered,
        )

    def donor_classes(self, also: Sequence[str]) -> str:
        """How many records each class gives; `also` are more columns of the classes."""
        return render(
            "donor_classes",
            classes=self.named(CLASSES),
            violating=self.named(VIOLATING),
            columns=list(self.released.quasi_identifiers),
            k=self.k,
            least=self.class_size,
            also=list(also),
            by_bytes=self.dialect in COLLATING,
        )

    @property
    def numbered(self) -> View:
        return View(
            self.named(NUMBERED),
            ("The records of the donor classes, numbered in the order in which they go.",),
            render(
                "numbered_records",
                records=self.last,
                donors=self.named(DONORS),
                columns=list(self.released.quasi_identifiers),
                order=list(self._order()),
                by_bytes=self.dialect in COLLATING,
                shown=[
                    *(column.name for column in self.columns),
                    *(f"{_RAW}{name}" for name in self.raw),
                ],
            ),
        )

    @property
    def release(self) -> View:
        what = "are *" if self.suppressed_as == "star" else "are left out"
        return View(
            self.named(RELEASE),
            (f"What may be published: the records of violating classes {what}.",),
            render(
                "released_records",
                records=self.last,
                violating=self.named(VIOLATING),
                columns=list(self.columns),
                quasi_identifiers=list(self.released.quasi_identifiers),
                star=self.suppressed_as == "star",
                donors=self.named(DONORS) if self.has_donors else None,
                numbered=self.named(NUMBERED) if self.has_donors else None,
            ),
        )

    @property
    def views(self) -> tuple[View, ...]:
        """The chain in the order in which it can be created."""
        return (*self.records, self.violating, *self.donors, self.release)

    @property
    def views_to_run(self) -> tuple[View, ...]:
        """Those that a run defines: the classes are known where it has kept them."""
        if not self.kept:
            return self.views
        return (*self.records, *([self.numbered] if self.has_donors else []), self.release)

    def statements(self, in_own_words: Callable[[str], str]) -> tuple[str, ...]:
        """What creates each view, in the words of an engine."""
        return tuple(view.statement(in_own_words) for view in self.views)

    @property
    def published(self) -> Table:
        """The last view as a table to ask of."""
        generalised = {step.attribute for step in self.steps}
        if self.suppressed_as == "star":
            generalised |= {each.name for each in self.bound.quasi_identifiers}
        columns = tuple(
            Column(
                each.name,
                "VARCHAR" if each.name in generalised else each.type,
                merges=each.merges,
            )
            for each in self.columns
        )
        return Table(
            self.bound.table.name,
            identifier(self.named(RELEASE)),
            columns,
            ordered=False,
            embedded=self.bound.table.embedded,
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are published, in the order of the table."""
        dropped = {find(name, self.bound.table).name for name in self.bound.spec.identifiers}
        return tuple(each for each in self.bound.table.columns if each.name not in dropped)

    @property
    def released(self) -> BoundSpec:
        """The same question of the records at the levels of the release."""
        generalised = {step.attribute for step in self.steps}
        quasi_identifiers = tuple(
            replace(each, type="VARCHAR") if each.name in generalised else each
            for each in self.bound.quasi_identifiers
        )
        table = Table(self.bound.table.name, self.last, self.columns, self.bound.table.text)
        return replace(
            self.bound,
            roles=replace(self.bound.roles, table=table, where=None),
            quasi_identifiers=quasi_identifiers,
            keys=quasi_identifiers,
        )

    @property
    def raw(self) -> dict[str, Column]:
        """What travels along, by the name that it has in the table: the raw values of what is
        generalised, and for step 4, which looks at all columns, the identifiers."""
        generalised = {step.attribute for step in self.steps}
        published = {column.name for column in self.columns}
        return {
            column.name: column
            for column in self.bound.table.columns
            if column.name in generalised or (self.has_donors and column.name not in published)
        }

    def raw_name(self, column: BoundColumn) -> str:
        """What the views call the raw value of a column."""
        return f"{_RAW}{column.name}" if column.name in self.raw else column.name

    @property
    def _source(self) -> str:
        """What the first view reads: of a data frame, which is in no database, the table of the
        name that it was given."""
        table, name = self.bound.table, self.bound.spec.name
        return identifier(name) if name and table.name in FRAMES and not self.kept else table.sql

    def _order(self) -> Iterator[Ordered]:
        for column in self.bound.table.columns:
            travels = column.name in self.raw
            yield Ordered(f"{_RAW}{column.name}" if travels else column.name, column.type)

    def _generalised(self) -> Iterator[View]:
        bound, raw = self.bound, list(self.raw.values())
        yield View(
            self.named("step_0"),
            (f"The records of {bound.table.name} as they lie.",),
            render(
                "raw_records",
                relation=self._source,
                columns=list(self.columns),
                raw=raw,
                where=bound.where.sql if bound.where else None,
                first=bound.spec.first,
            ),
        )
        by_name = {each.name: each for each in self.quasi_identifiers}
        for number, step in enumerate(self.steps, start=1):
            levels, place = by_name[step.attribute].levels, by_name[step.attribute].place
            value = identifier(f"{_RAW}{step.attribute}")
            joined = levels.is_joined(step.to_level)
            label = label_of(
                levels,
                step.to_level,
                f"records.{value}" if joined else value,
                kept_labels(place, step.to_level) if joined and self.kept else None,
                portable=self.dialect != "duckdb",
            )
            yield View(
                self.named(f"step_{number}"),
                _words(number, step, levels.label(step.to_level - 1)),
                render(
                    "generalised_records",
                    finer=self.named(f"step_{number - 1}"),
                    columns=list(self.columns),
                    raw=raw,
                    generalised=step.attribute,
                    label=label.sql,
                    joined=label.joined,
                ),
            )


def refuse_taken_names(bound: BoundSpec) -> None:
    """Raise `SpecError` for a column that is called as the views call one of their own, or for a
    table without a schema that would be taken for one of the views."""
    table = bound.table
    for each in (table, *(reference.table for reference in bound.references.values())):
        if not each.embedded and _OURS.fullmatch(each.sql.strip('"`')):
            raise SpecError(
                f"{each.name} is called as a view of a release is, and has no schema that would "
                "tell them apart. Rename it."
            )
    needed = {"kanon_donated", "kanon_number"}
    needed |= {f"{_RAW}{column.name}".casefold() for column in table.columns}
    for column in table.columns:
        if column.name.casefold() in needed:
            raise SpecError(
                f'{table.name} has a column "{column.name}", a name that the views of a release '
                "need for themselves. Rename it."
            )


def _words(number: int, step: GeneralizationStep, label_before: str) -> tuple[str, ...]:
    return (
        f"Generalisation {number}: {step.attribute} from level {step.to_level - 1} "
        f"({label_before}) to level {step.to_level} ({step.label}).",
        f"Before it, {step.attribute} had {plural(step.distinct_before, 'value')}, and violating "
        f"classes had {plural(step.records_violating, 'record')}.",
    )


def as_text(chain: Chain, run: Sequence[str], closing: Sequence[str], dialect: str) -> str:
    """The chain as a file: every view under what it is, ready to run.

    `run` are its statements in the chain's own dialect, as they were run.
    """
    executed = dialect == chain.dialect
    label = _as_executed(chain) if executed else f"{dialect}, generated and not executed"
    head = [
        f"{chain.bound.table.name} as it may be released, by kanon-sql {VERSION} with Datafly "
        "(Sweeney 2002, Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5)).",
        f"Demanded: {'; '.join(_demands(chain.bound))}.",
        *closing,
        f"Dialect: {label}.",
    ]
    if not executed and chain.bound.table.sql.startswith("read_"):
        head.append("Put the name of your table where kanon_step_0 reads it.")
    statements = run if executed else _generated(chain, dialect)
    views = zip(chain.views, statements, strict=True)
    parts = [f"{_comment(view.words)}\n{statement};" for view, statement in views]
    return "\n\n\n".join([_comment(head), *parts]) + "\n"


def _generated(chain: Chain, dialect: str) -> tuple[str, ...]:
    """The statements in another dialect."""
    views = replace(chain, dialect=dialect).views
    return tuple(translated(view.statement(str), dialect) for view in views)


def _as_executed(chain: Chain) -> str:
    if chain.bound.table.embedded:
        return f"{chain.dialect}, as executed"
    return (
        f"{chain.dialect}. What each view selects was executed there, as a common table "
        "expression; no view was created"
    )


def _demands(bound: BoundSpec) -> Iterator[str]:
    """The checks that gate, as an option would ask them."""
    for check in bound.checks:
        if check.gates:
            asked = check.model.model_dump(exclude_defaults=True, exclude_none=True)
            parameters = ", ".join(f"{key} {value}" for key, value in asked.items())
            yield f"{check.model.name()} ({parameters})" if parameters else check.model.name()


def _comment(sentences: Sequence[str]) -> str:
    lines = (
        line
        for sentence in sentences
        for line in textwrap.wrap(" ".join(sentence.split()), width=96, break_on_hyphens=False)
    )
    return "\n".join(f"-- {line}" for line in lines)
