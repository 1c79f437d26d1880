"""Handling of unassigned columns in a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.errors import SpecError, option, plural
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.results.release import Untouched
from kanon_sql.spec.spec import Unassigned


def what_becomes_of_untouched(bound: ResolvedQuestion, options: ReleaseOptions) -> Unassigned:
    """How the release treats unassigned columns: warn, drop or error."""
    return options.untouched or bound.spec.unassigned


def refuse_untouched(bound: ResolvedQuestion, options: ReleaseOptions) -> None:
    columns = [each.name for each in bound.roles.unassigned]
    if columns and what_becomes_of_untouched(bound, options) == "error":
        raise SpecError(
            f"{bound.table.name} has {plural(len(columns), 'unassigned column')}: "
            f"{_listed(columns)}. Give each a role: quasi-identifier, sensitive, "
            "identifier (left out), or insensitive in a spec."
        )

    kept = [] if what_becomes_of_untouched(bound, options) == "drop" else bound.roles.unassigned
    for column in (*bound.roles.insensitive, *kept):
        if bound.table.embedded and column.unusable_because:
            raise SpecError(
                f'column "{column.name}" of {bound.table.name} {column.unusable_because} Or leave '
                f"it out of the release: name it among the {option('identifiers')}."
            )


def untouched_warnings(untouched: Untouched, bound: ResolvedQuestion) -> Iterator[str]:
    """A warning that names the unassigned columns released unchanged."""
    if not untouched.columns:
        return
    them = "it" if len(untouched.columns) == 1 else "them"
    kind = "a quasi-identifier" if them == "it" else "quasi-identifiers"
    alone = ""
    if untouched.alone is not None:
        verb = "is" if untouched.alone == 1 else "are"
        members = plural(untouched.alone, "person" if bound.entity else "record")
        alone = f" {members} {verb} alone in {them} and the quasi-identifiers together."
    yield (
        f"Unassigned and released unchanged: {_listed(untouched.columns)}.{alone} Leave {them} out "
        f"(--unassigned drop, or --identifiers), make {them} {kind}, or declare {them} insensitive "
        "in a spec."
    )


def _listed(columns: Sequence[str]) -> str:
    """The first column names, with the number of the remaining ones."""
    shown = [f'"{name}"' for name in columns[:_SHOWN_COLUMNS]]
    more = len(columns) - len(shown)
    return ", ".join([*shown, *([f"and {more:,} more"] if more else [])])


_SHOWN_COLUMNS = 12
"""Maximum number of columns named in a sentence."""
