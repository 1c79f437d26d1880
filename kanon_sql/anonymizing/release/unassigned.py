"""The columns without a role in a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.errors import SpecError, option, plural
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.question.table import Unassigned
from kanon_sql.results.release import Untouched


def handling_of_unassigned(question: ResolvedQuestion, options: ReleaseOptions) -> Unassigned:
    """How the release treats unassigned columns: warn, drop or error."""
    return options.untouched or question.spec.unassigned


def refuse_unassigned(question: ResolvedQuestion, options: ReleaseOptions) -> None:
    columns = [column.name for column in question.roles.unassigned]
    if columns and handling_of_unassigned(question, options) == "error":
        raise SpecError(
            f"{question.table.name} has {plural(len(columns), 'unassigned column')}: "
            f"{_listed(columns)}. Give each a role: quasi-identifier, sensitive, "
            "identifier (left out), or insensitive in a spec."
        )

    released = (
        [] if handling_of_unassigned(question, options) == "drop" else question.roles.unassigned
    )
    for column in (*question.roles.insensitive, *released):
        is_in_the_way = question.table.embedded or not column.may_be_read
        if is_in_the_way and column.unusable_because:
            raise SpecError(
                f'column "{column.name}" of {question.table.name} {column.unusable_because} To '
                f"leave it out of the release, name it among the {option('identifiers')}."
            )


def unassigned_warnings(unassigned: Untouched, question: ResolvedQuestion) -> Iterator[str]:
    """A warning that names the unassigned columns released unchanged."""
    if not unassigned.columns:
        return
    them = "it" if len(unassigned.columns) == 1 else "them"
    kind = "a quasi-identifier" if them == "it" else "quasi-identifiers"
    alone = ""
    if unassigned.alone is not None:
        verb = "is" if unassigned.alone == 1 else "are"
        members = plural(unassigned.alone, "person" if question.entity else "record")
        alone = f" {members} {verb} alone in {them} and the quasi-identifiers together."
    yield (
        f"Unassigned and released unchanged: {_listed(unassigned.columns)}.{alone} Leave {them} "
        f"out (--unassigned drop, or --identifiers), make {them} {kind}, or declare {them} "
        "insensitive in a spec."
    )


def _listed(columns: Sequence[str]) -> str:
    """The first column names, with the number of the remaining ones."""
    shown = [f'"{name}"' for name in columns[:_SHOWN_COLUMNS]]
    more = len(columns) - len(shown)
    return ", ".join([*shown, *([f"and {more:,} more"] if more else [])])


_SHOWN_COLUMNS = 12
"""Maximum number of columns named in a sentence."""
