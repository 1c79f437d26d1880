"""The page Levels: what each level of each quasi-identifier gives, with the searches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kanon_sql.anonymizing.anonymizer import anonymize
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.tradeoff import KS, tradeoff
from kanon_sql.explore.address import ALGORITHMS
from kanon_sql.explore.view import Page, PageView, below_k, share, unique_share
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.question.spec import AuditSpec
from kanon_sql.report import document as blocks
from kanon_sql.report import release as releases
from kanon_sql.report.charts import cost_of_k, is_drawn
from kanon_sql.report.document import Block, Button, Cell, Choices, Control, Heading, Link, Prose
from kanon_sql.report.tradeoff import levels_in_words
from kanon_sql.report.words import numbers
from kanon_sql.results.release import Algorithm, Point, Tradeoff

_WAYS = {
    "optimal": "the levels that lose least, proved over all combinations",
    "datafly": "coarsens the column with most values until it holds: fast, loses more",
    "local": "each class only as coarse as it must be: loses least, has no single level",
}


def page(view: PageView) -> Page:
    """How coarse the values must be, from the set of the open look."""
    return Page("How coarse must it be?", view.lead, _blocks(view))


def _blocks(view: PageView) -> Iterator[Block]:
    size = [KAnonymity(k=view.question.k)] if view.question.k else []
    raw = view.look.audit({}, size, sensitive=False)
    below, smallest = below_k(raw)
    name = numbers.number(smallest)
    yield view.strip(view.lost)
    if 0 < view.lost.suppressed < (raw.summary.records or 0):
        share_of_all = numbers.short_share(view.lost.suppressed, raw.summary.records or 0)
        yield Prose(
            [
                "The figures above are of all records. A release at these levels leaves out the "
                f"{numbers.counted(view.lost.suppressed, 'record')} ({share_of_all}) in violation "
                "of a check."
            ]
        )
    yield Prose(
        [
            f"Raw values: k {numbers.number_or_none(raw.summary.k)}, "
            f"{numbers.short_share(below, raw.summary.records or 0)} below {name}, "
            f"{unique_share(raw)} unique."
        ]
    )
    yield view.thresholds()
    yield Heading(["Levels"], "section")
    yield Prose(
        [
            f"Choose a level of each column. Below {name}: the share of the records that would be "
            f"in classes of fewer than {name}, with the other columns as they are. A hierarchy "
            "file is given when explore is started, by --hierarchy COL=FILE."
        ]
    )
    yield Choices(buttons=[Link("Find levels for me", "#find")])
    yield from _cards(view)
    yield from view.warnings()
    yield _search_form(view)
    yield Choices(buttons=[Link("Take it with you", view.to("/evidence"))], style="next")


def _cards(view: PageView) -> Iterator[Block]:
    """A card for each quasi-identifier, with what each of its levels gives."""
    # A level that is chosen by hand is not that of the local search.
    is_local = view.question.algorithm == "local"
    by_hand = replace(view.question, algorithm=ALGORITHMS[0]) if is_local else view.question
    now, levels = view.question.level_of, view.look.levels()
    nodes = [{**now, name: level} for name in now for level, _ in enumerate(levels[name])]
    below = iter(view.look.below(nodes, view.question.k or 2))
    for number, name in enumerate(now):
        rows: list[list[Cell]] = [
            [
                Link(
                    f"{level} · {at.label}",
                    view.to("/levels", by_hand.at({name: level}), f"c{number}"),
                    level == now[name],
                ),
                numbers.number(at.values),
                share(next(below), view.result.summary.records or 0),
            ]
            for level, at in enumerate(levels[name])
        ]
        yield _card(view, number, name, rows)


def _card(view: PageView, number: int, name: str, rows: Sequence[Sequence[Cell]]) -> Choices:
    lost, is_fixed = view.lost.by_column.get(name), name in view.table.files
    builder = Control(
        f"hierarchy.{name}",
        f"How {name} is generalised, as in width:5,10 or mask:right",
        view.question.hierarchies.get(name, ""),
    )
    notes = [
        *([] if lost is None else [f"lost {numbers.short_percent(lost)}"]),
        *(["its hierarchy is that of the command"] if is_fixed else []),
    ]
    return Choices(
        name,
        " · ".join(notes),
        f"c{number}",
        action="" if is_fixed else f"/levels#c{number}",
        hidden=view.hidden(f"hierarchy.{name}", f"level.{name}"),
        controls=[] if is_fixed else [builder],
        buttons=[] if is_fixed else [Button("Build")],
        header=("level", "values", f"below {numbers.number(view.question.k or 2)}"),
        rows=rows,
        figures=(1, 2),
        style="card",
    )


# --- the searches ----------------------------------------------------------------------------


def _search_form(view: PageView) -> Choices:
    """The form of the searches."""
    question = view.question
    ways = [
        Control("algorithm", name, name, "radio", hint=words, is_on=name == question.algorithm)
        for name, words in _WAYS.items()
    ]
    most = Control("max_suppressed", "Records that may be suppressed", question.max_suppressed,
                   "number", hint="a number, or a share as in 1%")  # fmt: skip
    return Choices(
        "Find levels for me",
        action="/find",
        hidden=view.hidden("algorithm", "max_suppressed"),
        controls=[*ways, most],
        buttons=[
            Button("Find levels", is_main=True),
            Button("Compare values of k", action="/tradeoff"),
        ],
        anchor="find",
        style="list",
    )


def _search(view: PageView, algorithm: Algorithm) -> tuple[AuditSpec, ReleaseOptions]:
    """The spec of a search, without levels, and its options."""
    options = ReleaseOptions(
        algorithm=algorithm,
        max_suppressed=view.question.max_suppressed or None,
        pull_frequencies=not view.table.is_local,
    )
    return AuditSpec(tables=[view.spec.model_copy(update={"levels": {}})]), options


def found(view: PageView) -> Page:
    """The outcome of a search, as the page of the release has it."""
    result = anonymize(*_search(view, view.question.algorithm), run=view.table.run)
    outcome, raw = result.anonymization, replace(view.question, levels={})
    links = [Link("Back to the levels", view.to("/levels"))]
    if not outcome.reached_top and outcome.levels is not None:
        links = [Link("Use these levels", view.to("/levels", raw.at(outcome.levels))), *links]
    elif not outcome.reached_top and view.question.algorithm == "local":
        links = [Link("Use this release", view.to("/evidence", raw)), *links]
    _, *of_release = releases.page(result)
    shown = [shown for block in of_release if (shown := _without_command(block))]
    about = numbers.quasi_identifiers(result.tables[0].quasi_identifiers)
    return Page("Which levels are enough?", about, [Choices(buttons=links, style="next"), *shown])


def _without_command(block: Block) -> Block | None:
    """A block of the release's page without its command, which the page Evidence has."""
    if isinstance(block, blocks.Verbatim | Heading):
        return None
    if isinstance(block, blocks.Points):
        # A warning ends with what to do about it in a terminal.
        texts = [re.split(r"(?<=[.]) ", each) for each in block.sentences]
        without = [" ".join(part for part in text if "--" not in part) for text in texts]
        return block._replace(sentences=[text for text in without if text])
    if isinstance(block, Prose):
        sentences = [each for each in block.sentences if "--" not in each]
        is_kept = sentences and block.style != "footer"
        return block._replace(sentences=sentences) if is_kept else None
    return block


def costs(view: PageView) -> Page:
    """What each k costs, as a chart and as a table whose rows lead to their levels."""
    result = tradeoff(*_search(view, "optimal"), KS, view.table.run).tradeoff
    most = f"with at most {numbers.counted(result.max_suppressed, 'record')} suppressed"
    lead = f"The least loss for each k, {most if result.max_suppressed else 'with all records'}."
    return Page("What does each k cost?", lead, _costs(view, result))


def _costs(view: PageView, result: Tradeoff) -> Iterator[Block]:
    chart = cost_of_k(result, view.question.k)
    if is_drawn(chart):
        words = "The loss for each k. The table has the same points; each row leads to its levels."
        yield blocks.Grid("", blocks.named_row(""), (), drawing=blocks.Drawing(chart, words))
    is_proved = result.search is not None and result.search.optimal
    yield Choices(
        header=("use", "lost", "suppressed", "levels"),
        rows=[
            [
                _use(view, point),
                numbers.short_percent(point.lost(result.metric)),
                numbers.number_or_none(point.suppressed),
                levels_in_words(point),
            ]
            for point in result.points
        ],
        figures=(1, 2),
        caption="No other choice of these levels loses less (proved)."
        if is_proved
        else "Not every row is proved to be the least possible.",
        style="table",
    )
    if result.warnings:
        yield blocks.Points(result.warnings, "warning")
    yield Choices(buttons=[Link("Back to the levels", view.to("/levels"))])


def _use(view: PageView, point: Point) -> Cell:
    """The link to the levels of a k."""
    name = numbers.number(point.k)
    if point.levels is None:
        return name
    address = view.to("/levels", replace(view.question, levels={}, k=point.k).at(point.levels))
    text = f"k{numbers.KEPT_TOGETHER}{name}"
    return Link(text, address, point.k == view.question.k, f"Use the levels of k {name}")
