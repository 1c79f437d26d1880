"""The views of a release as a readable, runnable SQL file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kanon_sql.anonymizing.release.views import View, ViewChain
from kanon_sql.errors import without_control
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.results.release import Algorithm
from kanon_sql.results.version import VERSION
from kanon_sql.sql.dialects import translated
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.statement import require_readable

_FOUND_BY: dict[Algorithm, str] = {
    "datafly": "with Datafly (Sweeney 2002, Achieving k-anonymity privacy protection using "
    "generalization and suppression, IJUFKS 10(5))",
    "optimal": "with the levels that lose least (full-domain generalisation: Samarati 2001, "
    "Protecting respondents' identities in microdata release, IEEE TKDE 13(6))",
    "levels": "at levels that were given",
    "local": "with local recoding (after Fung, Wang, Yu 2005, Top-down specialization for "
    "information and privacy preservation, ICDE; that a rest stays is a rule of kanon-sql)",
}

_LONGEST_OF_CLICKHOUSE = 256 * 1024
"""Maximum size in bytes of a statement that ClickHouse parses by default."""


def as_text(chain: ViewChain, run: Sequence[str], closing: Sequence[str], dialect: str) -> str:
    """The chain as a SQL file: every view below a comment that describes it, ready to run.

    `run` are its statements in the chain's own dialect, as they were run.
    """
    executed = dialect == chain.dialect
    label = _as_executed(chain) if executed else f"{dialect}, generated and not executed"
    shipped = chain if executed else replace(chain, dialect=dialect)
    views = shipped.views
    head = [
        f"{chain.bound.table.name} as it may be released, by kanon-sql {VERSION} "
        f"{_FOUND_BY[chain.algorithm]}.",
        f"Demanded: {'; '.join(_demands(chain.bound))}.",
        *closing,
        f"Dialect: {label}.",
        *_what_is_personal(views, chain.bound.table.name),
        *_how_it_is_run(views, dialect),
    ]
    table = chain.bound.table
    if not executed and (table.sql.startswith("read_") or table.read_in_views):
        head.append(f"Put the name of your table where {views[0].name} reads it.")
    statements = run if executed else _generated(shipped)
    traits = TRAITS[dialect]
    before = "\n".join(f"{each};" for each in _before(views, statements, dialect))
    parts = [
        *([before] if before else []),
        *(
            f"{_comment(_words_of(view))}\n{require_readable(statement)};"
            for view, statement in zip(views, statements, strict=True)
        ),
        *(["commit;"] if traits.begins else []),
    ]
    between = f"\n{traits.ends_batch}\n\n\n".replace("\n\n\n\n", "\n\n\n")
    return between.join([f"{_comment(head)}\n\n\n{parts[0]}", *parts[1:], _drops(views)]) + "\n"


def _what_is_personal(views: Sequence[View], table: str) -> Iterator[str]:
    """Which views nobody else may read."""
    *before, release = views
    if before:
        yield (
            f"Personal data: {', '.join(view.name for view in before)}. They show raw values and "
            f"records that are left out: nobody may read them who may not read {table}. Only "
            f"{release.name} may be published."
        )
    else:
        yield f"{release.name} shows nothing but what may be published."


def _how_it_is_run(views: Sequence[View], dialect: str) -> Iterator[str]:
    """What a run does to the views of an earlier release, and what becomes of it if it fails."""
    traits, release = TRAITS[dialect], views[-1].name
    if traits.client:
        yield f"Run it with: {traits.client} FILE"
    if traits.begins:
        yield "Views of these names are replaced in one transaction: all of them, or none."
    else:
        yield (
            f"Views of these names are replaced, {release} last. {dialect} commits each statement, "
            f"so {release} is dropped first: a run that fails leaves none, rather than one that "
            "reads views of two releases. Run it again then."
        )
    if not traits.tracks_dependents:
        yield "Views of an earlier release that have other names stay: drop them by hand."
    elif len(views) > 1:
        yield f"Any other view that reads {views[0].name} is dropped with it."
    if not (traits.replaces_views and traits.begins) and dialect != "sqlite":
        yield f"Grant anew who may read {release}, where the grants on it went with the old one."


def _before(views: Sequence[View], statements: Sequence[str], dialect: str) -> Iterator[str]:
    """The statements that make room for the views."""
    traits, names = TRAITS[dialect], [view.name for view in views]
    longest = max(len(each.encode()) for each in statements)
    if dialect == "clickhouse" and longest > _LONGEST_OF_CLICKHOUSE:
        yield f"set max_query_size = {2 * longest}, max_ast_elements = {longest}"
    if traits.begins:
        yield traits.begins
    if traits.tracks_dependents:
        # An earlier release may have had more views, each of which reads the first.
        yield f"drop view if exists {names[-1]}"
        yield from [f"drop view if exists {names[0]} cascade"] if len(names) > 1 else []
    elif not traits.replaces_views:
        yield from (f"drop view if exists {name}" for name in reversed(names))
    elif not traits.begins:
        yield f"drop view if exists {names[-1]}"


def _words_of(view: View) -> tuple[str, ...]:
    return (*view.words, "Personal data.") if view.is_personal else view.words


def _drops(views: Sequence[View]) -> str:
    """Commented-out statements that drop the views."""
    release = views[-1]
    reads = ", which reads the others, " if len(views) > 1 else " "
    words = _comment(
        [f"To drop the views again, once {release.name}{reads}has been copied into a table:"]
    )
    return "\n".join([words, *(f"-- drop view {view.name};" for view in reversed(views))])


def _generated(chain: ViewChain) -> tuple[str, ...]:
    """The statements transpiled to a dialect in which nothing was run."""
    return chain.statements(lambda sql: translated(sql, chain.dialect))


def _as_executed(chain: ViewChain) -> str:
    if chain.bound.table.embedded:
        return f"{chain.dialect}, as executed"
    return (
        f"{chain.dialect}. What each view selects was executed there, as a common table "
        "expression; no view was created"
    )


def _demands(bound: ResolvedQuestion) -> Iterator[str]:
    """The gating checks with their parameters."""
    for check in bound.checks:
        if check.gates:
            asked = check.model.model_dump(exclude_defaults=True, exclude_none=True)
            parameters = ", ".join(f"{key} {value}" for key, value in asked.items())
            yield f"{check.model.name()} ({parameters})" if parameters else check.model.name()


def _comment(sentences: Sequence[str]) -> str:
    lines = (
        line
        for sentence in sentences
        for line in textwrap.wrap(
            without_control(" ".join(sentence.split())), width=96, break_on_hyphens=False
        )
    )
    return "\n".join(f"-- {line}" for line in lines)
