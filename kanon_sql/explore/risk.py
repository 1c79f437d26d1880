"""The page Risk: the blocks of an audit with the share of each quasi-identifier in it."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.errors import EngineError
from kanon_sql.explore.view import Page, PageView, below_k, share, unique_share
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.profiling.profile_plan import Identifying
from kanon_sql.profiling.profiler import profile
from kanon_sql.question.spec import AuditSpec
from kanon_sql.report import audit as audits
from kanon_sql.report.document import Block, Choices, Heading, Link, Prose, Values, Verdicts
from kanon_sql.report.profile import subset_blocks
from kanon_sql.report.signed.figures import curve_of, sizes_of
from kanon_sql.report.words import numbers, tables

COUNTED_WITHOUT = 2_000_000
"""Number of classes times quasi-identifiers up to which the figures without each of them are
counted unasked."""


def page(view: PageView) -> Page:
    """How easily someone is found, from the set of the open look."""
    return Page("How easily is someone found?", view.lead, _blocks(view))


def _blocks(view: PageView) -> Iterator[Block]:
    result = view.result
    yield view.strip()
    yield view.thresholds()
    yield Heading(["Checks"], "section")
    if result.checks:
        yield Verdicts(tables.verdicts(result))
    yield from view.warnings()
    yield Heading(["Class sizes"], "section")
    yield from sizes_of(result)
    yield from curve_of(result)
    for finding in tables.findings(result):
        yield Prose([finding])
    yield from audits.limits(result)
    yield Prose([tables.outcome(result)], "strong")
    if result.shown:
        yield Heading(["The smallest classes"], "section")
        yield from (
            Values(tables.PERSONAL_DATA, [(tables.shown_heading(name, rows), numbers.cells(rows))])
            for name, rows in result.shown.items()
        )
    elif view.table.show_values:
        yield view.request("peek", "The smallest classes", "Their values are personal data.",
                           "Show the smallest classes")  # fmt: skip
    yield from _without_one(view)
    yield from _small_sets(view)
    yield Choices(buttons=[Link("Coarsen the levels", view.to("/levels"))], style="next")


def _without_one(view: PageView) -> Iterator[Block]:
    """The figures without each quasi-identifier, first the one that adds most."""
    names, question, title = view.names, view.question, "Without one of them"
    below = f"below {numbers.number(below_k(view.result)[1])}"
    if len(names) < 2:
        return
    is_quick = (view.result.summary.classes or 0) * len(names) <= COUNTED_WITHOUT
    if not is_quick and "without" not in question.ask:
        yield view.request("without", title, "What each quasi-identifier adds: the figures if it "
                           "were not published, and nobody knew it.",
                           "Measure without each of them")  # fmt: skip
        return
    checks = [KAnonymity(k=question.k)] if question.k else []
    without = {
        name: view.look.audit(question.level_of, checks, [name], sensitive=False) for name in names
    }
    by_risk = sorted(
        without.items(), key=lambda item: (below_k(item[1])[0], item[1].summary.uniques or 0)
    )
    to = {name: view.to("/risk", question.with_role(name, "identifier")) for name in names}
    yield Choices(
        title,
        header=("do not publish", "k", below, "unique"),
        rows=[
            [
                Link(name, to[name], label=f"Do not publish {name}"),
                numbers.number_or_none(result.summary.k),
                share(below_k(result)[0], result.summary.records or 0),
                unique_share(result),
            ]
            for name, result in by_risk
        ],
        figures=(1, 2, 3),
        caption="If one column were not published, and nobody knew it; the one that adds most to "
        "the risk comes first. A link makes it an identifier.",
        style="table",
    )


def _small_sets(view: PageView) -> Iterator[Block]:
    title = "Small sets of columns"
    if "sets" not in view.question.ask:
        yield view.request("sets", title, "An attacker rarely knows everything: how much do two or "
                           "three columns give away, at raw values?",
                           "Measure every set of up to three")  # fmt: skip
        return
    spec = view.table.base_spec(entity=view.spec.entity)
    identifying = Identifying(subsets=min(3, len(view.names)), columns=tuple(view.names))
    result = profile(
        AuditSpec(tables=[spec]), view.table.run, k=view.question.k, identifying=identifying
    )
    [found] = result.tables
    if found.error:
        raise EngineError(found.error)
    yield Heading([title], "section")
    yield from subset_blocks(found)
