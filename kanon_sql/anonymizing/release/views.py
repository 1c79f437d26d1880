"""A release as SQL: a chain of views from the source records to the publishable ones.

Uses the templates and no database. The same views are shipped and run: the written file has the
rows of the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.search.lattice import PRIVATE, QuasiIdentifier, kept_labels, label_of
from kanon_sql.anonymizing.violating_classes import classes_with_reference, violating_classes
from kanon_sql.engines.duckdb.frames import FRAMES, frame_name
from kanon_sql.errors import SpecError, option, plural
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.question.table import EntityInRelease, TableSpec
from kanon_sql.results.release import Algorithm, Anonymization, GeneralizationStep, Suppressed
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.line_wrapping import wrapped
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT, identifier
from kanon_sql.sql.tables import Column, Table, find

VIOLATING = "violating_classes"
CLASSES = "classes"
DONORS = "donor_classes"
NUMBERED = "numbered_records"
RELEASE = "release"
IN_ORDER = "release_in_order"
LONGEST_NAME = 40
"""Maximum length of a release's name: Postgres truncates names to 63 bytes, and suffixes must
survive."""
_STEPS = rf"(step_\d+|{VIOLATING}|{CLASSES}|{DONORS}|{NUMBERED}|labels|levels|round_\d+)"
_HELPER_COLUMNS = re.compile(r"kanon_(label_\d+_\d+|class_\d+|levels)", re.IGNORECASE)
"""The helper columns in the views of a local recoding."""
PUBLISHED = "published_records"
RAW = "kanon_raw_"
NUMBER = "kanon_number"
"""The column with a record's position in an order."""


def view_name(name: str) -> str:
    """Name of the release of a table or file.

    >>> view_name("patients"), view_name("2025 visits"), view_name("patients_release")
    ('patients_release', '_2025_visits_release', 'patients_release')
    """
    cleaned = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "table"
    cleaned = f"_{cleaned}" if cleaned[0].isdigit() else cleaned
    if re.search(r"released?$", cleaned) and len(cleaned) <= LONGEST_NAME:
        return cleaned
    return f"{cleaned[: LONGEST_NAME - len('_release')]}_release"


def refuse_taken_names(question: ResolvedQuestion, name: str, *, shipped: bool) -> None:
    """Raise `SpecError` for a column whose name the views reserve, or for a table that would be
    confused with a view of the release `name`: because it has no schema, or because the views are
    `shipped`, to be created next to it and to the other tables stored there."""
    table = question.table
    generated = re.compile(rf"{re.escape(name)}(_{_STEPS})?|{PRIVATE}.*", re.IGNORECASE)
    for source in (table, *(other.table for other in question.others)):
        *schema, own = re.split(r"""["`]\.["`]""", source.sql.strip('"`'))
        is_named = not source.embedded or schema
        if is_named and (shipped or not schema) and generated.fullmatch(own):
            raise SpecError(
                f"{source.name} has the name of a view of the release {name} and would be mistaken "
                f"for it. Call the views something else: {option('view_name')}."
            )
    created = re.compile(rf"{re.escape(name)}(_{_STEPS})?", re.IGNORECASE)
    stored = (question.spec.name or "", *sorted(table.replaceable)) if shipped else ()
    if taken := next(filter(created.fullmatch, stored), None):
        raise SpecError(
            f"{taken} is a table of the database, and a view of the release {name} would be called "
            f"that too. Call the views something else: {option('view_name')}."
        )
    needed = {"kanon_donated", NUMBER}
    needed |= {f"{RAW}{column.name}".casefold() for column in table.columns}
    for column in table.columns:
        if column.name.casefold() in needed or _HELPER_COLUMNS.fullmatch(column.name):
            raise SpecError(
                f'{table.name} has a column "{column.name}", a name that the views of a release '
                "need for themselves. Rename it."
            )


class Ordered(NamedTuple):
    """A column of an ORDER BY."""

    name: str
    type: str


class NoViews(NamedTuple):
    """The reason that no views can express a release, and a remedy."""

    why: str
    help: str


PEOPLE = f"{PRIVATE}numbers_of_people"
"""The random number of each person in a run."""
START = "kanon_start"
"""The column for the lower end of an interval in a view."""


@dataclass(frozen=True)
class View:
    """One view of the chain: its name, its description in a sentence or two, and its SELECT."""

    name: str
    words: tuple[str, ...]
    sql: str
    is_personal: bool = True
    """Whether it shows data that must not be published."""


@dataclass(frozen=True)
class ViewChain:
    """The views of one release, each reading only earlier ones."""

    question: ResolvedQuestion
    quasi_identifiers: tuple[QuasiIdentifier, ...]
    steps: tuple[GeneralizationStep, ...]
    k: int
    """Minimum number of suppressed records, if there are any."""
    class_size: int
    """Minimum size of every released class."""
    suppressed_as: Suppressed
    has_donors: bool
    """Whether step 4 suppresses records."""
    name: str
    """Name of the release, and prefix of the other views' names."""
    dropped: tuple[str, ...] = ()
    """The columns that are not published."""
    is_single: bool = False
    """Whether a single view with the others as CTEs is shipped."""
    kept: bool = False
    """Whether the views are temporary views of this run: under private names, with the labels of
    large hierarchies in temporary tables."""
    dialect: str = DIALECT
    algorithm: Algorithm = "datafly"
    """The algorithm that found the levels."""
    no_views: NoViews | None = None
    """The reason that no views are shipped, if there is one."""
    first_in_order: str | None = None
    """The column that a release is ordered by before all others, if it is split by one."""
    entity_as: EntityInRelease = "keep"
    """What becomes of the entity."""
    is_linked: bool = False
    """Whether an entity that is dropped is still among the released columns, which is how the
    people in the classes are counted."""
    reads: str | None = None
    """The relation that the first view reads, if it is not the table under its own name."""

    @property
    def can_be_modelled(self) -> bool:
        """Whether the chain can be written as a dbt model."""
        return True

    @property
    def values(self) -> frozenset[str]:
        """The data values in the SQL of the views, other than those of hierarchy files."""
        return frozenset()

    def named(self, view: str) -> str:
        """Name of a view; temporary views have a private prefix that no user table has."""
        if self.kept:
            return f"{PRIVATE}{view}"
        return self.name if view == RELEASE else f"{self.name}_{view}"

    @property
    def records(self) -> tuple[View, ...]:
        """The source records, and the records after each step."""
        return tuple(self._generalised())

    @property
    def last(self) -> str:
        """The view of the records at the levels of the release."""
        return self.named(f"step_{len(self.steps)}")

    @property
    def violating(self) -> View:
        return View(
            self.named(VIOLATING),
            ("The violating classes: below k, or failing a required check.",),
            render(
                "violating_by_any",
                statements=[
                    violating_classes(self.released, self.last),
                    *self._violating_in_reference,
                ],
            ),
        )

    @property
    def _violating_in_reference(self) -> Iterator[str]:
        """SELECTs of the classes with too few people in a reference; only for the optimal search,
        which takes them into account."""
        if self.algorithm != "optimal":
            return
        by_name = {column.name: column for column in self.quasi_identifiers}
        levels = {
            step.attribute: (by_name[step.attribute].levels, step.to_level) for step in self.steps
        }
        yield from classes_with_reference(self.released, self.question, self.last, levels)

    @property
    def donors(self) -> tuple[View, ...]:
        """The views of the records that step 4 suppresses additionally."""
        if not self.has_donors:
            return ()
        columns = list(self.released.quasi_identifiers)
        return (
            View(
                self.named(CLASSES),
                ("Every class with its size.",),
                render(
                    "class_counts", relation=self.last, columns=columns, entity=self.question.entity
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
        """SQL of the number of records that each class donates; `also` are further class
        columns."""
        return render(
            "donor_classes",
            classes=self.named(CLASSES),
            violating=self.named(VIOLATING),
            columns=list(self.released.quasi_identifiers),
            k=self.k,
            least=self.class_size,
            also=list(also),
            by_bytes=TRAITS[self.dialect].collates,
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
                by_bytes=TRAITS[self.dialect].collates,
                shown=[
                    *(column.name for column in self.columns),
                    *(f"{RAW}{name}" for name in self.raw),
                ],
            ),
        )

    @property
    def release(self) -> View:
        """The publishable records, unordered."""
        treatment = "are *" if self.suppressed_as == "star" else "are left out"
        return View(
            self.named(RELEASE),
            (f"What may be published: the records of violating classes {treatment}.",),
            render(
                "released_records",
                records=self.last,
                violating=self.named(VIOLATING),
                columns=list(self.released_columns),
                quasi_identifiers=list(self.released.quasi_identifiers),
                star=self.suppressed_as == "star",
                donors=self.named(DONORS) if self.has_donors else None,
                numbered=self.named(NUMBERED) if self.has_donors else None,
            ),
            is_personal=False,
        )

    @property
    def shipped_release(self) -> View:
        """The publishable records ordered by their published values."""
        release = self.release
        if self.is_ordered:
            words = "In the order of what is published, which says nothing else."
        else:
            words = (
                f"A view of {self.dialect} has no order: read it with order by all of its columns, "
                "because the order of the source links it to other releases."
            )
        sets = [(PUBLISHED, release.sql)]
        sql = self._with_sets(sets, self.in_order(PUBLISHED)) if self.is_ordered else release.sql
        return replace(release, words=(*release.words, words), sql=sql)

    @property
    def is_ordered(self) -> bool:
        """Whether the last view has an ORDER BY."""
        return TRAITS[self.dialect].orders_views

    def in_order(self, published: str) -> str:
        """SQL of the publishable records ordered by their published values."""
        return render(
            "records_in_published_order",
            published=published,
            columns=list(self.released_columns),
            order=list(self.published_order),
            by_bytes=TRAITS[self.dialect].collates,
            embedded=self.question.table.embedded,
            by_flags=TRAITS[self.dialect].null_first,
        )

    @property
    def published_order(self) -> tuple[Column | BoundColumn, ...]:
        """The columns that a release is ordered by: the quasi-identifiers, then the others."""
        columns = {column.name: column for column in self.published.columns}
        first = [self.first_in_order] if self.first_in_order else []
        first += [column.name for column in self.question.quasi_identifiers]
        return tuple(columns[name] for name in dict.fromkeys([*first, *columns]))

    @property
    def views(self) -> tuple[View, ...]:
        """The shipped views, in order of creation; none where each reading would draw other
        numbers of people."""
        if self.entity_as == "renumber":
            return ()
        if self.is_single:
            return (self._all_in_one,)
        return (*self.before_release, self.shipped_release)

    @property
    def before_release(self) -> tuple[View, ...]:
        """The views that the last one depends on."""
        return (*self.records, self.violating, *self.donors)

    @property
    def _all_in_one(self) -> View:
        """The release as one view, with the earlier views as CTEs."""
        refuse_single_view(self.dialect)
        before, last = self.before_release, self.shipped_release
        sets = [(view.name, view.sql) for view in before]
        if self.is_ordered:
            sets.append((PUBLISHED, self.release.sql))
        select = self.in_order(PUBLISHED) if self.is_ordered else self.release.sql
        words = (*(word for view in before for word in view.words), *last.words)
        return replace(last, words=words, sql=self._with_sets(sets, select))

    @staticmethod
    def _with_sets(sets: Sequence[tuple[str, str]], select: str) -> str:
        return render("with_ctes", sets=sets, select=select)

    @property
    def views_to_run(self) -> tuple[View, ...]:
        """The views that a run creates; those of classes only if the run has not materialised
        them."""
        if not self.kept:
            return (*self.before_release, self.release)
        return (*self.records, *([self.numbered] if self.has_donors else []), self.release)

    def statements(self, transpile: Callable[[str], str]) -> tuple[str, ...]:
        """What creates each view, in the words of an engine, for whoever runs it."""
        own = {table.sql: table for table in self.question.tables if table.read_in_views}
        traits = TRAITS[self.dialect]
        is_temporary = any(table.temporary for table in own.values())
        create = (is_temporary and traits.create_temporary_view) or traits.create_view

        def created(view: View) -> str:
            sql = view.sql
            for name, table in own.items():
                sql = sql.replace(name, table.read_in_views)
            return f"{create} {view.name} as\n{wrapped(transpile(sql), self.dialect)}"

        return tuple(map(created, self.views))

    @property
    def published(self) -> Table:
        """The last view as a table to query."""
        texts = self.generalised
        if self.suppressed_as == "star":
            texts |= {column.name for column in self.question.quasi_identifiers}
        columns = tuple(
            Column(
                column.name,
                "VARCHAR" if column.name in texts else column.type,
                unusable_because=column.unusable_because,
            )
            for column in self.released_columns
        )
        return Table(
            self.question.table.name,
            identifier(self.named(RELEASE)),
            columns,
            ordered=False,
            embedded=self.question.table.embedded,
            dialect=self.question.table.dialect,
            approximates=self.question.table.approximates,
            samples=self.question.table.samples,
        )

    @property
    def generalised(self) -> frozenset[str]:
        """The quasi-identifiers published as labels."""
        return frozenset(step.attribute for step in self.steps)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the views, in table order; a label is text."""
        return tuple(
            replace(column, type="VARCHAR") if column.name in self.generalised else column
            for column in self.question.table.columns
            if column.name not in self.dropped
        )

    @property
    def released_columns(self) -> tuple[Column, ...]:
        """The published columns."""
        entity = self.question.entity
        if entity is None or self.is_linked or self.entity_as == "keep":
            return self.columns
        if self.entity_as == "drop":
            return tuple(column for column in self.columns if column.name != entity.name)
        return tuple(
            replace(column, type="BIGINT") if column.name == entity.name else column
            for column in self.columns
        )

    def renumbered(self, records: str) -> str:
        """SQL of released records with a random number in place of each entity."""
        return render(
            "renumbered_records",
            records=records,
            columns=list(self.columns),
            entity=self.question.entity,
            numbers=PEOPLE,
        )

    @property
    def released(self) -> ResolvedQuestion:
        """The question on the records at the levels of the release."""
        quasi_identifiers = tuple(
            replace(column, type="VARCHAR") if column.name in self.generalised else column
            for column in self.question.quasi_identifiers
        )
        table = Table(
            self.question.table.name,
            self.last,
            self.columns,
            self.question.table.text,
            dialect=self.question.table.dialect,
            approximates=self.question.table.approximates,
            samples=self.question.table.samples,
        )
        return replace(
            self.question,
            roles=replace(self.question.roles, table=table, where=None),
            quasi_identifiers=quasi_identifiers,
            keys=quasi_identifiers,
        )

    @cached_property
    def raw(self) -> dict[str, Column]:
        """Columns carried along with their raw values, by name in the table: the generalised ones,
        and, for step 4, which orders by all columns, the unpublished ones."""
        published = {column.name for column in self.columns}
        return {
            column.name: column
            for column in self.question.table.columns
            if column.name in self.generalised or (self.has_donors and column.name not in published)
        }

    def raw_name(self, column: BoundColumn) -> str:
        """Name of a column's raw value in the views."""
        return f"{RAW}{column.name}" if column.name in self.raw else column.name

    @property
    def _source(self) -> str:
        """The relation that the first view reads; for a data frame, which is in no database, the
        table name given by the user."""
        table, name = self.question.table, self.question.spec.name
        if self.reads is not None:
            return identifier(self.reads)
        if name and table.name in FRAMES and not self.kept:
            return identifier(name)
        return table.in_lines or table.sql

    def _order(self) -> Iterator[Ordered]:
        for column in self.question.table.columns:
            travels = column.name in self.raw
            yield Ordered(f"{RAW}{column.name}" if travels else column.name, column.type)

    @property
    def raw_records(self) -> View:
        """The source records, with the raw values of generalised columns."""
        question = self.question
        return View(
            self.named("step_0"),
            (f"The records of {question.table.name} as they lie.",),
            render(
                "raw_records",
                relation=self._source,
                columns=list(self.columns),
                raw=list(self.raw.values()),
                where=question.where.sql if question.where else None,
                first=question.spec.first,
                read_as_text=self.reads is not None and question.table.text,
            ),
        )

    def _generalised(self) -> Iterator[View]:
        raw = list(self.raw.values())
        yield self.raw_records
        by_name = {column.name: column for column in self.quasi_identifiers}
        reached = dict.fromkeys(by_name, 0)
        for number, step in enumerate(self.steps, start=1):
            levels, index = by_name[step.attribute].levels, by_name[step.attribute].number
            value = identifier(f"{RAW}{step.attribute}")
            joined = levels.is_joined(step.to_level)
            start = self._start(levels, step.to_level, value)
            label = label_of(
                levels,
                step.to_level,
                f"records.{value}" if joined else value,
                kept_labels(index, step.to_level) if joined and self.kept else None,
                portable=not TRAITS[self.dialect].embedded,
                start=start and START,
            )
            yield View(
                self.named(f"step_{number}"),
                self._words(number, step, reached[step.attribute], levels),
                render(
                    "generalised_records",
                    finer=self.named(f"step_{number - 1}"),
                    columns=list(self.columns),
                    raw=raw,
                    generalised=step.attribute,
                    label=label.sql,
                    joined=label.joined,
                    start=start,
                ),
            )
            reached[step.attribute] = step.to_level

    def _start(self, levels: ColumnLevels, level: int, value: str) -> str | None:
        """SQL of the lower end of an interval, computed once as a column if its name is free."""
        taken = {column.name.casefold() for column in self.columns}
        return None if START in taken else levels.start_sql(level, value)

    def _words(
        self, number: int, step: GeneralizationStep, level: int, levels: ColumnLevels
    ) -> tuple[str, ...]:
        """The description of a generalisation step; for Datafly with the counts before it."""
        done = (
            f"Generalisation {number}: {step.attribute} from level {level} ({levels.label(level)}) "
            f"to level {step.to_level} ({step.label})."
        )
        if self.algorithm != "datafly":
            return (done,)
        return (
            done,
            f"Before it, {step.attribute} had {plural(step.distinct_before, 'value')}, and "
            f"violating classes had {plural(step.records_violating, 'record')}.",
        )


def refuse_single_view(dialect: str) -> None:
    """Raise `SpecError` for a dialect that does not allow WITH within WITH."""
    if not TRAITS[dialect].nests_with:
        raise SpecError(
            f"WITH can't stand within WITH in {dialect}, so a release is no single view there. "
            "Leave out single_view."
        )


def dropped_columns(question: ResolvedQuestion, *, drops_unassigned: bool) -> tuple[str, ...]:
    """The columns that a release leaves out: identifiers and, if `drops_unassigned`, unassigned
    columns."""
    identifiers = {find(name, question.table).name for name in question.spec.identifiers}
    left_out = {column.name for column in question.roles.unassigned} if drops_unassigned else set()
    return tuple(
        column.name for column in question.table.columns if column.name in identifiers | left_out
    )


def is_unnamed_frame(table: TableSpec) -> bool:
    """Whether the source is a data frame without a table name."""
    return not table.name and frame_name(table.source) in FRAMES


def views_of_no_table(anonymization: Anonymization, table: TableSpec) -> Anonymization:
    """The same release, with a note in its views that they cannot be run yet."""
    note = (
        f"-- A {frame_name(table.source)} is no table. Say which one it will be, as in "
        'name="patients",\n-- and these views can be run.\n'
    )

    def noted(views: tuple[str, ...]) -> tuple[str, ...]:
        return (note + views[0], *views[1:]) if views else ()

    hidden = anonymization.views_without_values
    return replace(
        anonymization,
        views=noted(anonymization.views),
        views_without_values=None if hidden is None else noted(hidden),
    )


def require_name(table: TableSpec, *, writes_views: bool) -> None:
    """Raise `SpecError` for views of a data frame without a table name: nobody could run them."""
    if writes_views and is_unnamed_frame(table):
        raise SpecError(
            f"the views read a table, and a {frame_name(table.source)} is none. Say what the table "
            'is called that it will be in, as in name="patients".'
        )
