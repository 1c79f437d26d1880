"""The words of a report: numbers with their units, one sentence a model, what follows from it.

Nothing here knows a terminal, Markdown or HTML. A space that must not be folded is `\\u00a0`;
who writes plain text turns it into a space at the end, with `plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kanon_sql.models import MODELS
from kanon_sql.result import SHOWN, AuditResult, CheckResult, TableResult

KEPT_TOGETHER = "\u00a0"
PERSONAL_DATA = "This output now contains personal data (--show-values). Handle it as such."
STATUS_WORDS = {
    "holds": "holds",
    "violated": "VIOLATED",
    "measured": "measured",
    "no_data": "no data",
    "error": "failed",
}
_TO = "\u2013"
_BIN_STARTS = (1, 2, 5, 10, 100)
_PLURALS = {"class": "classes", "person": "people"}


class Phrases(NamedTuple):
    """What a check found: what is achieved beside what was asked, and how far it reaches."""

    achieved: str
    extent: str


@dataclass(frozen=True)
class Verdict:
    """One check in words: `status` is holds, violated or measured."""

    status: str
    title: str
    achieved: str
    extent: str

    @property
    def word(self) -> str:
        return STATUS_WORDS[self.status]


@dataclass(frozen=True)
class Bin:
    """The records (people) in classes of some neighbouring sizes. `small` is below a demanded k."""

    label: str
    count: int
    share: str
    fraction: float
    small: bool
    note: str = ""


# --- numbers and names ----------------------------------------------------------------------


def plain(text: str) -> str:
    """The text with ordinary spaces, once it is folded."""
    return text.replace(KEPT_TOGETHER, " ")


def number(value: int | float) -> str:
    """A number with its thousands apart; a fraction with four digits.

    >>> number(1204311), number(0.25), number(float("inf"))
    ('1,204,311', '0.25', 'infinite')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if value in (float("inf"), float("-inf")):
        return "infinite"
    return f"{value:,.4g}"


def counted(value: int, noun: str) -> str:
    """A number with the thing it counts.

    >>> plain(counted(1, "class")), plain(counted(2100, "class"))
    ('1 class', '2,100 classes')
    """
    word = noun if value == 1 else _PLURALS.get(noun, f"{noun}s")
    return f"{value:,}{KEPT_TOGETHER}{word}"


def percent(fraction: float) -> str:
    """A share that never rounds to nothing or to all.

    >>> [plain(percent(x)) for x in (0, 0.0001, 0.675, 0.9999, 1)]
    ['0 %', 'less than 0.1 %', '67.5 %', 'more than 99.9 %', '100 %']
    """
    if fraction in (0, 1):
        figure = f"{fraction:.0%}"[:-1]
    elif fraction < 0.001:
        figure = f"less than{KEPT_TOGETHER}0.1"
    elif fraction > 0.999:
        figure = f"more than{KEPT_TOGETHER}99.9"
    else:
        figure = f"{fraction * 100:.1f}"
    return f"{figure}{KEPT_TOGETHER}%"


def printable(name: str) -> str:
    r"""A name that can't move the cursor or break a line.

    >>> printable("zip\x1b[31m"), printable("Straße 🏠")
    ('zip\\x1b[31m', 'Straße 🏠')
    """
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in name
    )


def listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name) for name in names)


def cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Shown rows as text under their column names; nothing where there are no rows."""
    if not rows:
        return []
    values = ((("NULL" if v is None else str(v)) for v in row.values()) for row in rows)
    return [[printable(cell) for cell in row] for row in (rows[0], *values)]


def member(table: TableResult) -> str:
    """What a class is made of: records, or people where an entity is set."""
    return "person" if table.entity else "record"


def members(table: TableResult) -> str:
    return "people" if table.entity else "records"


# --- one entry a model ----------------------------------------------------------------------


def _k_anonymity(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    as_value = check.details.get("achieved_nulls_as_value")
    found = f"k is {number(check.achieved)}"
    if as_value is not None and as_value != check.achieved:
        found = (
            f"k is {number(as_value)} with NULL as a value, "
            f"{number(check.achieved)} with NULL as a wildcard"
        )
    if check.holds is False:
        extent = f"{_violating(check, table)} of fewer than {counted(k or 0, member(table))}"
    elif check.holds:
        extent = f"every class has {number(check.achieved)} or more {members(table)}"
    else:
        extent = f"the smallest class has {counted(check.achieved, member(table))}"
    return Phrases(_asked(found, k), extent)


def _k_map(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    reference = _reference(check)
    found = f"k is {number(check.achieved)} in {reference}"
    if check.holds is False:
        extent = f"{_violating(check, table)} that match fewer than {number(k or 0)} in {reference}"
    elif check.achieved == 0:
        unmatched = counted(check.details["unmatched_classes"], "class")
        extent = f"nobody in {reference} matches {unmatched} of the release"
    else:
        extent = f"every class matches {number(check.achieved)} or more in {reference}"
    return Phrases(_asked(found, k), extent)


def _homogeneity(check: CheckResult, table: TableResult) -> Phrases:
    sensitive = printable(check.parameters["sensitive"])
    if check.achieved == 0:
        return Phrases(f"no class with a single {sensitive}", "no class gives a value of it away")
    found = f"{counted(check.achieved, 'class')} with a single {sensitive}"
    alone = check.details.get("singleton_classes", 0)
    parts = _homogeneous_parts(check.achieved - alone, alone, table)
    if check.holds is None:
        return Phrases(found, parts)
    return Phrases(_asked(found, "none"), f"{_violating(check, table)}: {parts}")


def _homogeneous_parts(together: int, alone: int, table: TableResult) -> str:
    return (
        f"{counted(together, 'class')} of 2 or more {members(table)} "
        f"{'shares' if together == 1 else 'share'} one value, "
        f"{counted(alone, member(table))} {'is' if alone == 1 else 'are'} alone"
    )


def _any_model(check: CheckResult, table: TableResult) -> Phrases:
    """A model without an entry of its own: its measure and its thresholds by their names."""
    asked = ", ".join(
        f"{key} {number(value)}"
        for key, value in check.parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    found = f"reaches {_measure(check.achieved)}"
    extent = _violating(check, table) if check.violating_classes else ""
    return Phrases(_asked(found, asked or None), extent)


PHRASES: dict[str, Callable[[CheckResult, TableResult], Phrases]] = {
    "k_anonymity": _k_anonymity,
    "k_map": _k_map,
    "homogeneity": _homogeneity,
}
"""What is said of a model's result; a model that is not here gets its bare numbers."""


def verdict(check: CheckResult, table: TableResult) -> Verdict:
    """One check in words."""
    status = {True: "holds", False: "violated", None: "measured"}[check.holds]
    phrases = PHRASES.get(check.model, _any_model)(check, table)
    return Verdict(status, _title(check), phrases.achieved, phrases.extent)


def _title(check: CheckResult) -> str:
    """`homogeneity diagnosis`, `k-map voters`: the model and what it is judged on."""
    model = MODELS.get(check.model)
    about = (check.parameters.get(key) for key in ("sensitive", "reference"))
    return " ".join(
        [model.title if model else check.model, *(printable(name) for name in about if name)]
    )


def _asked(found: str, threshold: Any) -> str:
    if threshold is None:
        return found
    return f"{found}, asked for {number(threshold) if isinstance(threshold, int) else threshold}"


def _measure(achieved: Any) -> str:
    match achieved:
        case int() | float():
            return number(achieved)
        case dict():
            return ", ".join(f"{key} {_measure(value)}" for key, value in achieved.items())
    return str(achieved)


def _violating(check: CheckResult, table: TableResult) -> str:
    """`812,340 records (67.5 %) in 640,112 classes`, the records rows even where people count."""
    records, classes = check.violating_records or 0, check.violating_classes or 0
    share = percent(records / (table.summary.records or 1))
    return f"{counted(records, 'record')}{KEPT_TOGETHER}({share}) in {counted(classes, 'class')}"


def _reference(check: CheckResult) -> str:
    return printable(str(check.parameters.get("reference") or "the reference"))


# --- the parts of a table's report ----------------------------------------------------------


def headline(table: TableResult) -> list[str]:
    """What was looked at, in parts that stand in one line where it is wide enough."""
    people = table.summary.people
    parts = [printable(table.name), counted(table.summary.records or 0, "record")]
    if people is not None:
        parts.append(f"{counted(people, 'person')} ({printable(table.entity or '')})")
    parts.append(f"quasi-identifiers {listed(table.quasi_identifiers)}")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    if table.nulls == "wildcard":
        parts.append("NULL matches every value")
    return parts


def verdicts(table: TableResult) -> list[Verdict]:
    return [verdict(check, table) for check in table.checks]


def warnings(table: TableResult) -> list[str]:
    return [printable(warning) for warning in table.warnings]


def histogram_title(table: TableResult) -> str:
    return f"{members(table).capitalize()} by the size of their class"


def histogram(table: TableResult) -> list[Bin]:
    """The class sizes in few bins, such that every demanded k begins one."""
    demanded = {
        check.parameters["k"]
        for check in table.checks
        if check.model == "k_anonymity" and "k" in check.parameters
    }
    starts = sorted({*_BIN_STARTS, *demanded})
    ends = [*(start - 1 for start in starts[1:]), None]
    counts = [_members_between(table, start, end) for start, end in zip(starts, ends, strict=True)]
    total = sum(counts)
    bins = [
        Bin(
            label=_bin_label(start, end),
            count=count,
            share=percent(count / total),
            fraction=count / total,
            small=start < max(demanded, default=0),
            note="alone in their class" if start == 1 else "",
        )
        for start, end, count in zip(starts, ends, counts, strict=True)
        if total
    ]
    return _without_empty_ends(bins)


def _members_between(table: TableResult, start: int, end: int | None) -> int:
    """How many records (people) are in classes of these sizes; a person counts in each class."""
    return sum(
        bin_.size * bin_.classes if table.entity else bin_.records
        for bin_ in table.histogram
        if start <= bin_.size and (end is None or bin_.size <= end)
    )


def _bin_label(start: int, end: int | None) -> str:
    if end is None:
        return f"{start:,}+"
    return f"{start:,}" if start == end else f"{start:,}{_TO}{end:,}"


def _without_empty_ends(bins: Sequence[Bin]) -> list[Bin]:
    filled = [position for position, size in enumerate(bins) if size.count]
    return list(bins[filled[0] : filled[-1] + 1]) if filled else []


def findings(table: TableResult) -> list[str]:
    """What the sizes mean: a sentence or two for each kind of attacker."""
    return [*_prosecutor(table), *_assumed_attackers(table), *_journalist(table)]


def _prosecutor(table: TableResult) -> Iterator[str]:
    """The risk to someone of whom it is known that the table has them."""
    risk = table.risk.get("prosecutor")
    if not risk:
        return
    uniques, whose = table.summary.uniques, members(table)
    of_all = sum(size.count for size in histogram(table))
    found = (
        f"with certainty for {number(uniques)} of {number(of_all)} {whose}, and with a chance of"
        if uniques
        else f"with a chance of {percent(risk['highest'])} at most, and of"
    )
    yield (
        "Someone who knows that a person is in this table, and knows these columns, finds the "
        f"person {found} {percent(risk['average'])} on average (prosecutor risk). "
        f"{_above_threshold(risk, table)}"
    )


def _assumed_attackers(table: TableResult) -> Iterator[str]:
    """Whom a check against a reference has in mind, once for each reference."""
    assumed = {
        _title(check): check.details["assumes"]
        for check in table.checks
        if "assumes" in check.details
    }
    for title, attacker in assumed.items():
        yield f"{title} has this attacker in mind: {attacker}."


def _journalist(table: TableResult) -> Iterator[str]:
    """The risk to someone of whom it is not known, through a reference."""
    risk = table.risk.get("journalist")
    if risk:
        yield (
            f"Linking through the reference finds a person with a chance of "
            f"{percent(risk['highest'])} at most, and of {percent(risk['average'])} on average "
            f"(journalist risk). {_above_threshold(risk, table)}"
        )


def _above_threshold(risk: Mapping[str, Any], table: TableResult) -> str:
    threshold = f"{number(risk['threshold'] * 100)}{KEPT_TOGETHER}%"
    whom = f"{percent(risk['at_risk'])} of the" if risk["at_risk"] else "none of the"
    return f"The chance is above {threshold} for {whom} {members(table)}."


def silences(table: TableResult) -> list[tuple[str, str]]:
    """What each model that holds does not protect against, as (title, sentence)."""
    held = dict.fromkeys(check.model for check in table.checks if check.holds)
    return [(MODELS[name].title, MODELS[name].silence) for name in held if name in MODELS]


def outcome(table: TableResult) -> str:
    """How many of the checks that can fail do."""
    verdicts = [check.holds for check in table.checks if check.holds is not None]
    violated = verdicts.count(False)
    if not verdicts:
        return "Nothing was demanded, so nothing can fail."
    if len(verdicts) == 1:
        return "The check is violated." if violated else "The check holds."
    if violated:
        return f"{violated} of {len(verdicts)} checks {'is' if violated == 1 else 'are'} violated."
    return f"{'Both' if len(verdicts) == 2 else f'All {len(verdicts)}'} checks hold."


def advice(table: TableResult) -> list[str]:
    """What to try next."""
    if table.status == "measured":
        return ["With --k 5 the audit ends with exit code 1 if a class is smaller than 5."]
    if table.status != "violated":
        return []
    larger_classes = (
        "Fewer or coarser quasi-identifiers make larger classes: leave one out to see what it "
        "costs, or publish a year for a date and the first digits of a code."
    )
    too_small = any(check.model == "k_anonymity" and check.holds is False for check in table.checks)
    if too_small and table.shown is None and table.nulls == "value":
        return [larger_classes, "--show-values lists classes that are too small."]
    return [larger_classes]


def footer(table: TableResult) -> str:
    """How long it took, where, and how to see what was asked."""
    statements = counted(len(table.sql), "statement")
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · {statements}, "
        f"kanon-sql compile shows {'it' if len(table.sql) == 1 else 'them'}"
    )


def unanswered(table: TableResult) -> str | None:
    """The sentence for a table of which nothing can be said, or None."""
    name = printable(table.name)
    if table.status == "error":
        return f"{name}: the audit failed: {table.error}"
    if table.status == "no_data":
        return (
            f"{name}: no data. No record was found, so nothing is shown to hold (exit code 4). "
            "Look at the source and at the filter."
        )
    return None


def closing(result: AuditResult) -> str | None:
    """One line over several tables, or None for a single one."""
    if len(result.tables) == 1:
        return None
    by_status: dict[str, list[str]] = {}
    for table in result.tables:
        by_status.setdefault(table.status, []).append(table.name)
    parts = (
        f"{len(names)} {STATUS_WORDS[status]} ({listed(names)})"
        for status, names in by_status.items()
    )
    return f"{len(result.tables)} tables: {'; '.join(parts)}."


def shown_heading(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the rows of a step are, and whether there may be more of them."""
    title = {"small_classes": "Classes that are too small"}.get(name, name)
    return f"{title}, the first {SHOWN} of them" if len(rows) == SHOWN else title
