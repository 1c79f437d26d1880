"""The warnings of every audit, a sentence or two each."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from kanon_sql.auditing.other_columns import other_columns_warnings
from kanon_sql.errors import plural
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.question.hierarchy import DATES, Years
from kanon_sql.question.hierarchy_table import summary as summary_of_faults
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import Summary, homogeneous_members
from kanon_sql.sql.tables import Table

_MOST_CERTAIN = 0.05
"""Share of the records (people) above which a warning names certain sensitive values."""


def warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """The warnings of every audit, whatever was checked, a sentence or two each."""
    if not answers.sizes:
        return
    yield from left_out(plan.question)
    yield from time_zones(
        plan.question, [name for name, at in plan.question.spec.levels.items() if at]
    )
    referred = (column for other in plan.question.others for column in other.generalised)
    faults = [
        summary_of_faults(level.levels.faults, show_values=plan.question.facts.show_values)
        for level in (*plan.question.levels, *referred)
    ]
    for fault in dict.fromkeys(faults):
        yield from fault.splitlines()
    for column in plan.question.roles.unassigned:
        if plan.question.table.embedded and column.unusable_because:
            yield f'"{column.name}" is not looked at: it {column.unusable_because}'
    yield from other_columns_warnings(plan, answers)


def certain_values(checks: Iterable[CheckResult], summary: Summary) -> Iterator[str]:
    """A warning about each attribute that a class makes certain and no homogeneity check covers."""
    checks = tuple(checks)
    diverse = [
        check.parameters["sensitive"]
        for check in checks
        if check.model == "l_diversity" and check.holds is not None
    ]
    for check, count, out_of in homogeneous_members(checks, summary):
        if check.holds is None and count > _MOST_CERTAIN * out_of:
            members = "record" if summary.people is None else "person"
            sensitive = check.parameters["sensitive"]
            advice = " A check of l-diversity or homogeneity bounds how many."
            yield (
                f"The {sensitive} of {plural(count, members)} ({100 * count / out_of:.1f} %) is "
                f"certain: their class has no other.{'' if sensitive in diverse else advice}"
            )


WITH_ZONE = ("WITH TIME ZONE", "TIMESTAMPTZ_NS")
"""How the type of a point in time with a zone ends."""


def time_zones(question: ResolvedQuestion, generalised: Container[str]) -> Iterator[str]:
    """A warning about each quasi-identifier with a time zone that is generalised to dates."""
    for column in question.roles.quasi_identifiers:
        levels = question.roles.hierarchy(column).levels or ()
        has_dates = any(level in DATES or isinstance(level, Years) for level in levels)
        if has_dates and column.name in generalised and column.type.endswith(WITH_ZONE):
            yield f'"{column.name}" has a time zone. Its days, months and years are those of UTC.'


def zones_kept(table: Table, but: Container[str]) -> Iterator[str]:
    """A warning that names the columns, `but` some, that a release publishes with a time zone."""
    names = [
        f'"{column.name}"'
        for column in table.columns
        if column.type.endswith(WITH_ZONE) and column.name not in but
    ]
    if names:
        yield (
            f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} a time zone: a data frame "
            "keeps it, a file holds the same points in time in UTC."
        )


def left_out(question: ResolvedQuestion) -> Iterator[str]:
    """Warnings about files that a glob skips, and about a column that the header doesn't name."""
    for table in question.tables:
        if table.has_index:
            yield (
                f"{table.name} has no name for its first column, which numbers the records: it is "
                "called column_1. If a program wrote it as an index, leave it out of the file."
            )
        if table.left_out:
            yield (
                f"{table.name} leaves out {', '.join(table.left_out)}, as a shell does: a name "
                "that begins with a dot is hidden, and may be left by an interrupted program."
            )
