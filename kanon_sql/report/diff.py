"""The page of a comparison of two results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kanon_sql.errors import InputError
from kanon_sql.report.display import Displayed
from kanon_sql.report.document import Block, Change, Changes, Heading, Prose, Verdicts
from kanon_sql.report.words import models, numbers, tables
from kanon_sql.report.words.models import STATUS_WORDS, Verdict
from kanon_sql.report.words.numbers import NONE, figure_name, percent, printable, sentence
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import Figure
from kanon_sql.results.confidential import check_for_outsiders
from kanon_sql.results.diff import SEVERAL_RELEASES, CheckDiff, Diff, TableDiff
from kanon_sql.results.identity import QUESTION
from kanon_sql.results.table import TableResult

_ALWAYS_SHOWN = ("records", "classes", "k", "cells")
"""Summary figures shown even if unchanged."""


@dataclass(frozen=True, repr=False)
class Comparison(Displayed, Diff):
    """The changes from one result to the next. Its string form is the command's output."""

    def page(self) -> Iterator[Block]:
        """The comparison in words and figures, for any writer of `kanon_sql.report`."""
        return page(self)

    def _in_a_line(self) -> str:
        return f"{self.old} → {self.new}: {'worse' if self.is_worse else 'not worse'}"


def page(diff: Diff) -> Iterator[Block]:
    """The changes of each table, and the overall outcome."""
    yield Heading([f"{printable(diff.old)} → {printable(diff.new)}"], "page")
    for name in diff.unsealed:
        yield Prose([f"{printable(name)}: {sentence('no_seal')}"])
    for table in diff.tables:
        yield from _section(table)
    if diff.made:
        yield Changes("How the release was made", [_release_change(figure) for figure in diff.made])
    yield Prose([_outcome(diff)], "strong")
    yield Prose([SEVERAL_RELEASES], "flush")


def in_words(diff: Diff) -> Iterator[Block]:
    """The changed verdicts without figures, as these would reveal small counts."""
    for table in diff.tables:
        yield Heading([_headline(table)])
        if table.checks:
            checks = [_without_figures(check, table.table) for check in table.checks]
            yield Verdicts(checks, are_changes=True)
    yield Prose([_outcome(diff)], "strong")
    yield Prose([SEVERAL_RELEASES], "flush")


def _section(table: TableDiff) -> Iterator[Block]:
    yield Heading([_headline(table)])
    for note in _notes(table):
        yield Prose([note])
    numbers = _numbers(table)
    if numbers:
        yield Changes("", numbers)
    if table.checks:
        checks = (
            Verdict(_check_word(diff), models.title(diff.check), *_check_text(diff, table))
            for diff in table.checks
        )
        yield Verdicts([*checks], are_changes=True)


def _names(table: TableDiff) -> str:
    names = dict.fromkeys(side.name for side in (table.old, table.new) if side)
    return " → ".join(printable(name) for name in names)


def _headline(table: TableDiff) -> str:
    statuses = dict.fromkeys(STATUS_WORDS[side.status] for side in (table.old, table.new) if side)
    if table.presence == "in_both":
        return f"{_names(table)} · {' → '.join(statuses)}"
    return f"{_names(table)} · {table.presence} · {' '.join(statuses)}"


def _notes(table: TableDiff) -> Iterator[str]:
    """Reasons for differences other than the data, and failed tables."""
    changed = ", ".join(QUESTION[key] for key in table.changed_questions)
    if not table.is_comparable:
        yield (f"The question changed ({changed}), so no figures are compared.")
    elif changed:
        yield f"The question changed ({changed}), so the figures differ for that reason too."
    if table.left_out:
        columns = numbers.listed(table.left_out)
        yield f"No longer a quasi-identifier or entity: {columns}. Less is required than before."
    for check in table.checks:
        if check.is_undecided and check.change == "changed":
            yield f"{models.title(check.check)} is undecided, so it is left out of the comparison."
        elif check.is_counted_differently:
            yield (
                f"{models.title(check.check)} was counted otherwise in one result (fewer sizes of "
                "combinations, or a draw), so its figures are not compared."
            )
    unanswered = tables.unanswered(table.new) if table.new else None
    if unanswered:
        yield unanswered


def _numbers(table: TableDiff) -> list[Change]:
    """Changed figures of summary and risks; records, classes and k are always included."""
    summary = [
        Change(figure_name(figure.name), *_old_and_new(figure, _text, "{}, {share}"), _word(figure))
        for figure in table.summary
        if figure.change != "same" or figure.name in _ALWAYS_SHOWN
    ]
    return [*summary, *(_risk(risk) for risk in table.risks if risk.change != "same")]


def _risk(figure: Figure) -> Change:
    attacker, _, name = figure.name.partition(".")
    show = _share if numbers.is_share(name) else _text
    cells = _old_and_new(figure, show, "{}, {share}")
    return Change(f"{attacker} risk, {figure_name(name)}", *cells, _word(figure))


def _release_change(figure: Figure) -> Change:
    first, _, name = figure.name.partition(".")
    is_level = first == "level" and name
    words = f"level of {printable(name)}" if is_level else figure_name(name or first)
    return Change(words, _text(figure.old), _text(figure.new), "")


def _word(figure: Figure) -> str:
    return figure.change if figure.change in ("worse", "better") else ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    return numbers.figure(value) if value is not None else NONE


def _share(value: Any) -> str:
    return percent(value) if value is not None else NONE


def _check_word(check: CheckDiff) -> str:
    """The label of a check's change: a new check is "new", even if violated."""
    return {"appeared": "new", "vanished": "gone", "in_both": check.change}[check.presence]


def _check_text(check: CheckDiff, table: TableDiff) -> tuple[str, str]:
    """The result of a check and the extent of its violations, before and after."""
    old, new = _verdict(check.old, table.old), _verdict(check.new, table.new)
    if old is None or new is None:
        single = new or old
        if single is None:
            return "", ""
        return f"{single.word}: {single.achieved}", single.extent if new else ""
    if old.achieved == new.achieved and old.status == new.status:
        achieved = f"{new.word}: {new.achieved}"
    else:
        achieved = f"{old.word}: {old.achieved} → {new.word}: {new.achieved}"
    counts = [
        figure for figure in check.figures if figure.change != "same" and figure.name != "achieved"
    ]
    return achieved, "; ".join(
        f"{figure_name(count.name)} {_values_before_and_after(count)}" for count in counts
    )


def _without_figures(check: CheckDiff, table: TableResult) -> Verdict:
    verdicts = [
        STATUS_WORDS[models.verdict_status(side)] for side in (check.old, check.new) if side
    ]
    verdict_words = " → ".join(dict.fromkeys(verdicts))
    title = models.title(check_for_outsiders(check.check, table))
    return Verdict(_check_word(check), title, verdict_words, "")


def _verdict(check: CheckResult | None, table: TableResult | None) -> Verdict | None:
    """A check in words; None if it is missing or was not evaluated."""
    if check is None or table is None or tables.unanswered(table):
        return None
    try:
        return models.verdict(check, table)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(
            f"a result has a {check.model} of {printable(table.name)} that is incomplete, or has "
            "another value in place of a number. Use the file as kanon-sql wrote it."
        ) from None


def _values_before_and_after(figure: Figure) -> str:
    show = _share if numbers.is_share(figure.name) else _text
    form = "{} in {total:,}" if figure.name.startswith("shortfall") else "{} of {total:,}, {share}"
    return " → ".join(_old_and_new(figure, show, form))


def _old_and_new(figure: Figure, show: Callable[[Any], str], form: str) -> tuple[str, str]:
    """A figure before and after, with its share if shares are compared and the totals differ."""
    old, new = show(figure.old), show(figure.new)
    if figure.of is None or not figure.is_judged or figure.of[0] == figure.of[1]:
        return old, new
    shares = (
        form.format(text, total=total, share=percent(value / total)) if value is not None else text
        for text, value, total in zip((old, new), (figure.old, figure.new), figure.of, strict=True)
    )
    return next(shares), next(shares)


def _outcome(diff: Diff) -> str:
    """The tables that got worse, vanished or have weaker requirements."""
    weakened = [table for table in diff.tables if table.new and table.is_weaker]
    other = [table for table in diff.tables if table.new and not table.is_comparable]
    failing = [table for table in diff.tables if table.new and table.got_worse]
    more = [table for table in failing if _only_new_ones_fail(table)]
    worse = [table for table in failing if table not in more]
    statements = [
        ("Something got worse in {}.", worse),
        ("What is newly required of {} is violated.", more),
        ("Vanished, so nothing is known of it any more: {}.", diff.vanished),
        ("Less is required of {} than before.", weakened),
        ("The question about {} changed, so whether it got worse can't be seen.",
         [table for table in other if table not in worse]),
        ("The question about {} changed, so what else got worse can't be seen.",
         [table for table in other if table in worse]),
    ]  # fmt: skip
    sentences = [
        words.format(", ".join(map(_names, tables))) for words, tables in statements if tables
    ]
    if not (failing or diff.vanished or other):
        sentences.insert(0, "Nothing that these models judge got worse.")
    return " ".join(sentences)


def _only_new_ones_fail(table: TableDiff) -> bool:
    """Whether only newly added checks got worse."""
    former = {figure.change for figure in (*table.summary, *table.risks)}
    former |= {check.change for check in table.checks if check.presence == "in_both"}
    appeared = {check.change for check in table.checks if check.presence == "appeared"}
    return table.presence == "in_both" and "worse" not in former and "worse" in appeared
