"""The result of an audit, what its tables are assembled from, and the facts read from the data
before a question is bound: hierarchies in tables, and the longest value of each masked column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.engines.base import Engine
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, SpecError, located
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.named_columns import refuse_merging
from kanon_sql.plan.preconditions import WITH_ENTITY
from kanon_sql.plan.question import BoundColumn, DataFacts, OtherTableKey, ResolvedQuestion, Roles
from kanon_sql.plan.resolve import column_levels
from kanon_sql.plan.resolve_roles import hierarchy_sources, masked_columns, masked_in_other
from kanon_sql.plan.steps import Precondition, other_records
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.question.hierarchy_table import HierarchyTable, table_of_rows
from kanon_sql.question.other_tables import EARLIER, REFERENCE
from kanon_sql.report.display import Displayed
from kanon_sql.results.diff import Diff
from kanon_sql.results.table import AuditFindings, HistogramBin, Summary
from kanon_sql.sql.gate import require_select
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row, Table

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


Sizes = Sequence[Row]
"""Rows of the classes step, one per class size, ascending."""
Counted = Sequence[tuple[int, int]]
"""Pairs (size of the smallest class, number of people or records), ascending."""


@dataclass(frozen=True)
class Answers:
    """The rows of every step of an executed plan."""

    sizes: Sizes
    sensitive: Mapping[str, Sizes]
    """The rows of each step on a sensitive attribute, by the step's name."""
    distances: Mapping[str, Row]
    """The row of each distance step, by the step's name."""
    looks: Mapping[str, Row]
    """The rows of the optional steps that were run, by the step's name."""
    named_values: tuple[Row, ...]
    profiles: Sizes
    """Rows of the profiles step, one per number of people who share a profile, ascending; none
    without an entity."""
    people: Sizes | None
    """Rows of the people step, which runs if someone is in more than one class."""
    people_of: Mapping[str, Row]
    """Figures of class steps counted in people, by the step's name; for a step that is missing
    here, every person is in one class."""
    survey: Sequence[Row] | None
    matches: Mapping[str, Row]
    """The row of each reference step, by the step's name."""
    earlier: Mapping[str, Row]
    """The row of each step on an earlier release, by the step's name."""
    unassigned: Row | None
    """Approximate numbers of distinct values of the unassigned columns."""
    insensitive: Sequence[Row]
    """How many people (records) are alone in each insensitive column without a reason."""

    @property
    def counted(self) -> Counted:
        """Everyone once: people, or records without an entity."""
        if self.people is not None:
            return [(int(row["kanon_size"]), int(row["kanon_people"])) for row in self.people]
        if self.profiles:
            return [(int(row["kanon_size"]), people_in([row])) for row in self.sizes]
        return [(int(row["kanon_size"]), int(row["kanon_records"])) for row in self.sizes]


def everyone(counted: Counted) -> int:
    """Number of people (records): the denominator of every share."""
    return sum(count for _, count in counted)


def people_of_profiles(profiles: Sizes) -> int:
    """Number of people; each has exactly one profile."""
    return sum(int(row["kanon_size"]) * int(row["kanon_profiles"]) for row in profiles)


def total(rows: Sizes, column: str) -> int:
    """Sum of a column."""
    return sum(int(row[column]) for row in rows)


def people_in(sizes: Sizes) -> int:
    """Sum of the class sizes: people, if each is in one class, otherwise memberships."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def smallest(sizes: Sizes) -> int:
    """Size of the smallest class."""
    return int(sizes[0]["kanon_size"])


def summary(answers: Answers) -> Summary:
    """The key figures of a table."""
    sizes = answers.sizes
    if not sizes:
        return Summary(records=0)
    classes = total(sizes, "kanon_classes")
    return Summary(
        records=total(sizes, "kanon_records"),
        people=people_of_profiles(answers.profiles) if answers.profiles else None,
        classes=classes,
        k=smallest(sizes),
        average_class_size=people_in(sizes) / classes,
        largest_class=int(sizes[-1]["kanon_size"]),
        uniques=uniques(answers),
        records_with_null_qi=total(sizes, "kanon_with_null"),
        suppressed=total(sizes, "kanon_suppressed"),
    )


def uniques(answers: Answers) -> int:
    """Number of people (records) alone in a class."""
    return sum(count for size, count in answers.counted if size == 1)


def profile(answers: Answers) -> dict[str, int]:
    """The smallest number of people with the same set of classes, and the people whose set nobody
    else has; empty without an entity."""
    sizes = {int(row["kanon_size"]): int(row["kanon_profiles"]) for row in answers.profiles}
    return {"profile_k": min(sizes), "profile_uniques": sizes.get(1, 0)} if sizes else {}


def histogram(answers: Answers) -> tuple[HistogramBin, ...]:
    """For each class size, the number of classes, of their records, and of people whose smallest
    class has this size."""
    people = dict(answers.counted) if answers.profiles else None
    return tuple(
        HistogramBin(size, classes, records, None if people is None else people.get(size, 0))
        for size, classes, records in _classes_by_size(answers.sizes)
    )


def _classes_by_size(sizes: Sizes) -> list[tuple[int, int, int]]:
    """Each size, with its number of classes and of records."""
    return [
        (int(row["kanon_size"]), int(row["kanon_classes"]), int(row["kanon_records"]))
        for row in sizes
    ]


def has_same_classes(plan: Plan, answers: Answers) -> bool:
    """Whether all steps counted the same classes; each is a statement of its own."""
    sizes, records = _classes_by_size(answers.sizes), total(answers.sizes, "kanon_records")
    people = people_of_profiles(answers.profiles)
    counts = [
        int(row["kanon_people"]) for row in answers.people_of.values() if "kanon_people" in row
    ]
    if answers.people is not None:
        counts.append(total(answers.people, "kanon_people"))
    if any(count != people for count in counts):
        return False
    for read in plan.sensitive:
        rows = answers.sensitive[read.step.name]
        if total(rows, "kanon_records") != records:
            return False
        if not read.with_others and _classes_by_size(rows) != sizes:
            return False
    if any(int(row["kanon_records"] or 0) != records for row in answers.distances.values()):
        return False
    counted = {"kanon_classes": total(answers.sizes, "kanon_classes")}
    if not plan.question.wildcard:
        counted["kanon_sizes"] = people_in(answers.sizes)
    return all(
        int(row[column]) == count
        for row in answers.matches.values()
        for column, count in counted.items()
    )


def refuse_unmet(preconditions: Iterable[Precondition], session: Session) -> None:
    """Raise `InputError` for the first precondition that fails."""
    for precondition in preconditions:
        fault = precondition.fault(session.row(precondition.step))
        if fault is not None:
            raise InputError(fault)


def refuse_without_entity(question: ResolvedQuestion, sizes: Sizes) -> None:
    """Raise `InputError` if records have no entity: they belong to no countable person."""
    if question.entity is None:
        return
    counted = {name: total(sizes, name) for name in ("kanon_records", "kanon_without_entity")}
    fault = WITH_ENTITY.fault(counted, table=question.table.name, column=question.entity.name)
    if fault is not None:
        raise InputError(fault)


HierarchyReading = Literal["read", "opened"]
"""Whether all hierarchies in tables are read, or only opened unless a level of them is
requested."""


def read_facts(
    engine: Engine,
    roles: Roles,
    *,
    hierarchies: HierarchyReading = "read",
    show_values: bool = False,
) -> DataFacts:
    """The facts of the data that a bound question needs, with every hierarchy in a table read. If
    `hierarchies` is `opened`, only those with a requested level are read.

    Raises `SpecError` for a hierarchy without levels or with faults, `InputError` for one that
    cannot be read.
    """
    sources, requested = hierarchy_sources(roles, every=True), hierarchy_sources(roles)
    # An engine locks access to all files not named before its first query.
    tables = {}
    for name, source in sources.items():
        with located("quasi_identifiers", name, "hierarchy"):
            tables[name] = engine.table(source)
    rows = {
        name: hierarchy_rows(engine, sources[name], tables[name])
        for name in (tables if hierarchies == "read" else requested)
    }
    unread = sources.keys() - rows.keys()
    read = DataFacts(hierarchies=rows, show_values=show_values)
    levels = column_levels(roles, read, without=unread)
    return DataFacts(
        longest={
            column.name: longest_value(engine, roles.table, column, _chosen(roles, column))
            for column in masked_columns(roles)
        },
        hierarchies={
            name: level.table for name, level in levels.items() if level.table is not None
        },
        longest_in_other=dict(_longest_there(engine, roles)),
        show_values=show_values,
    )


def facts_unread(roles: Roles) -> DataFacts:
    """The facts without access to the tables: those in the question itself.

    Raises `SpecError` if a requested level needs more.
    """
    for source in hierarchy_sources(roles).values():
        raise SpecError(
            f"{source} would have to be read first, but only SQL is generated and nothing is read. "
            "Write the hierarchy to a CSV file."
        )
    levels = column_levels(roles, without=hierarchy_sources(roles, every=True))
    masked = [masked_in_other(roles, other) for other in roles.others]
    if masked_columns(roles) or any(masked):
        raise SpecError(
            "a mask is as long as the longest value, which is unknown without reading the table "
            "there. Connect to it, or use a prefix."
        )
    return DataFacts(
        hierarchies={name: level.table for name, level in levels.items() if level.table is not None}
    )


def longest_value(
    engine: Engine, table: Table, column: BoundColumn, relation: str | None = None
) -> int:
    """Length of the longest value, to which a mask pads all: in the table, or in a `relation` of
    some of its records."""
    [row] = _rows_of_macro(engine, table, "longest_value", relation, column=column)
    return int(row["kanon_longest"])


def _chosen(roles: Roles, column: BoundColumn) -> str:
    """The records that a question covers."""
    return render(
        "records",
        relation=roles.table.sql,
        columns=[column],
        where=roles.where.sql if roles.where else None,
        first=roles.spec.first,
    )


def hierarchy_rows(engine: Engine, name: str, table: Table) -> HierarchyTable:
    """The hierarchy in a table: the raw value, then one column per level, all as text."""
    for column in table.columns:
        refuse_merging(column, table)
    rows = _rows_of_macro(engine, table, "hierarchy_rows", columns=list(table.columns))
    return table_of_rows(name, table.column_names, [tuple(row.values()) for row in rows])


def _longest_there(engine: Engine, roles: Roles) -> Iterator[tuple[OtherTableKey, dict[str, int]]]:
    """The mask lengths in other tables. An earlier release was masked to its own longest value. The
    release is masked to its own too, which a longer value of a reference must not match."""
    for other in roles.others:
        longest = {}
        for column, there in masked_in_other(roles, other):
            records = other_records(other, [there]) if other.kind is EARLIER else None
            longest[column.name] = longest_value(engine, other.table, there, records)
            if other.kind is REFERENCE:
                own = longest_value(engine, roles.table, column, _chosen(roles, column))
                longest[column.name] = max(longest[column.name], own)
        yield other.key, longest


def _rows_of_macro(
    engine: Engine, table: Table, macro: str, relation: str | None = None, **arguments: Any
) -> list[Row]:
    sql = render(macro, relation=relation or table.sql, **arguments)
    require_select(sql, frozenset([table.sql]))
    return engine.query(sql)


@dataclass(frozen=True, repr=False)
class AuditResult(Displayed, AuditFindings):
    """The findings of an audit in every table. Its string form is the command's output."""

    def page(self) -> Iterator[Block]:
        """The result in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import audit

        return audit.page(self)

    @suggests_parameters
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        earlier: AuditFindings | str | Path | None = None,
        profile: Any = None,
        tradeoff: Any = None,
        worksheet: str | Path | None = None,
        audience: Literal["internal", "external"] = "internal",
        min_cell: int = 10,
        overwrite: bool = False,
    ) -> str | None:
        """Write the sign-off report as one HTML page; without a `path`, return it as text.

        It is a single file without scripts, holds counts only, and is identical for identical
        results. `earlier` is a result (or its JSON file) to compare with; `profile` and `tradeoff`
        are results (or JSON files) to include, as is a filled-in `worksheet`. `audience="external"`
        pools figures about fewer than `min_cell` records and omits the SQL.

        Raises `SpecError` for a file that exists, unless `overwrite` is set, that cannot be
        written, or whose name does not end with .html.
        """
        from kanon_sql.report.signed.inputs import page_of, returned_or_written

        def page() -> str:
            return page_of(
                self,
                earlier=earlier,
                profile=profile,
                tradeoff=tradeoff,
                worksheet=worksheet,
                audience=audience,
                min_cell=min_cell,
            )

        return returned_or_written(page, path, overwrite=overwrite)

    @suggests_parameters
    def chart(self, name: str, table: str | None = None) -> dict[str, Any]:
        """A chart as a Vega-Lite dictionary: `class_sizes` or `risk`, of `table` if there is more
        than one. Raises `SpecError` for another name."""
        from kanon_sql.report.signed.inputs import chart_of

        return chart_of(self.tables, name, table)

    def diff(self, earlier: AuditFindings | str | Path) -> Comparison:
        """The changes since an earlier result, or one in a JSON file: better, worse, checked less.

        Raises `InputError` for input that is not a result.
        """
        from kanon_sql.report.signed.inputs import file_of
        from kanon_sql.results.diff import diff

        return Comparison(
            **vars(diff(file_of(earlier, "earlier result"), file_of(self, "this result")))
        )


if TYPE_CHECKING:
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class Comparison(Displayed, Diff):
    """The changes from one result to the next. Its string form is the command's output."""

    def page(self) -> Iterator[Block]:
        """The comparison in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import diff

        return diff.page(self)

    def _in_a_line(self) -> str:
        return f"{self.old} → {self.new}: {'worse' if self.is_worse else 'not worse'}"
