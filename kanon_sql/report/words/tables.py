"""The wording of a report on a table: headline, verdicts, findings, advice.

Independent of terminal, Markdown and HTML. A non-breaking space is `\\u00a0`; writers of plain text
finally replace it, with `plain`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kanon_sql.errors import with_flags
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.models.events import words as events
from kanon_sql.models.synthetic import words as synthetic
from kanon_sql.models.values.words import ORDER, in_order, worst_class
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.question.spec import SHOWN
from kanon_sql.report.words.check_phrases import words_on_cells
from kanon_sql.report.words.models import STATUS_WORDS, Verdict, title, verdict
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    TO,
    counted,
    listed,
    members,
    name_and_snapshot,
    number,
    percent,
    printable,
    quasi_identifiers,
    significant_percent,
    wording,
)
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import AuditFindings, TableResult, homogeneous_members, members_by_size

if TYPE_CHECKING:
    from kanon_sql.results.profile import TableProfile

PERSONAL_DATA = "This output now contains personal data (--show-values). Handle it as such."


_BIN_STARTS = (1, 2, 5, 10, 100)


@dataclass(frozen=True)
class Bin:
    """The records (people) in classes of neighbouring sizes. `small` is below a required k."""

    label: str
    count: int
    share: str
    fraction: float
    small: bool
    note: str = ""
    count_text: str = ""
    """Text in place of a count that is not shown."""


class Formats(Protocol):
    """How a reader is shown the figures of a sentence."""

    def given_away(self, check: CheckResult, count: int, total: int) -> str:
        """How many of all people (records) are in homogeneous classes."""

    def part(self, count: int, total: int) -> str:
        """A count of a whole, as in `226 of 1,859`."""

    def among(self, people: int, table: TableResult) -> str:
        """The chance of finding a person among so many at least."""


class _Exact:
    """The figures as they are."""

    def given_away(self, check: CheckResult, count: int, total: int) -> str:
        return percent(count / total)

    def part(self, count: int, total: int) -> str:
        return f"{number(count)} of {number(total)}"

    def among(self, people: int, table: TableResult) -> str:
        return f"with a chance of {percent(1 / people)} at most"


EXACT = _Exact()


def headline(table: TableResult) -> list[str]:
    """The parts of the headline, joined on one line if it is wide enough."""
    hypothetical = []
    if table.levels:
        levels = ", ".join(f"{printable(name)} {level}" for name, level in table.levels.items())
        hypothetical = [f"If the table were generalised to {levels}"]
    if table.original:
        return [*hypothetical, name_and_snapshot(table), *synthetic.headline(table)]
    parts = [*hypothetical, name_and_snapshot(table), *sizes(table)]
    if not table.events:
        parts.append(quasi_identifiers(table.quasi_identifiers))
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    if table.nulls == "wildcard":
        parts.append("NULL matches every value")
    return parts


def sizes(table: TableResult | TableProfile) -> list[str]:
    """The numbers of records and people of a table, and its events."""
    summary = table.summary
    records, people = counted(summary.records or 0, "record"), summary.people
    if table.events:
        return [f"{records} of {counted(people or 0, 'person')}", *events.headline(table)]
    if people is None:
        return [records]
    return [records, f"{counted(people, 'person')} ({printable(table.entity or '')})"]


def verdicts(table: TableResult) -> list[Verdict]:
    """One line per check. Measured sensitive checks are sentences, the most important first."""
    if table.status != "measured":
        return [verdict(check, table) for check in table.checks]
    other_checks = [check for check in table.checks if check.model not in ORDER]
    return [
        *(verdict(check, table) for check in other_checks),
        *(_in_sentences(check, table) for check in in_order(table.checks)),
    ]


def _in_sentences(check: CheckResult, table: TableResult) -> Verdict:
    line, sentence = verdict(check, table), worst_class(check, table)
    return line._replace(extent=sentence) if sentence else line


def warnings(table: TableResult) -> list[str]:
    return [printable(warning) for warning in table.warnings]


def histogram_title(table: TableResult) -> str:
    counted_once = any(size.people is not None for size in table.histogram)
    of_several = "smallest " if counted_once else ""
    return f"{members(table).capitalize()} by the size of their {of_several}class"


def histogram(table: TableResult, fewest: int = 0) -> list[Bin]:
    """The class sizes in few bins, with a boundary at every required k.

    Neighbouring bins are merged until each has at least `fewest` classes; then the first begins
    at 1, unless a size is required.
    """
    required = _required(table)
    starts = _merged(sorted({*_BIN_STARTS, *required}), table, fewest)
    ends = [*(start - 1 for start in starts[1:]), None]
    sizes = members_by_size(table.histogram, table.entity)
    counts = [
        sum(count for size, count in sizes if start <= size and (end is None or size <= end))
        for start, end in zip(starts, ends, strict=True)
    ]
    total = sum(counts)
    bins = [
        Bin(
            label=_bin_label(start, end),
            count=count,
            share=percent(count / total),
            fraction=count / total,
            small=start < max(required, default=0),
            note="alone in their class" if (start, end) == (1, 1) else "",
        )
        for start, end, count in zip(starts, ends, counts, strict=True)
        if total
    ]
    return _without_empty_ends(bins)


def _merged(starts: Sequence[int], table: TableResult, fewest: int) -> list[int]:
    """The starts of bins that cut off at least `fewest` classes on either side."""
    if not fewest:
        return list(starts)

    def classes(start: int, end: float) -> int:
        return sum(bin.classes for bin in table.histogram if start <= bin.size < end)

    smallest = min((bin.size for bin in table.histogram), default=1)
    merged = [max(start for start in starts if start <= smallest) if _required(table) else 1]
    for start in starts:
        if min(classes(merged[-1], start), classes(start, math.inf)) >= fewest:
            merged.append(start)
    return merged


def required_k(table: TableResult) -> int | None:
    """The largest required k, or None."""
    return max(_required(table), default=None)


def is_k_of_all(check: CheckResult) -> bool:
    """Whether a check is k-anonymity by all quasi-identifiers."""
    return check.model == "k_anonymity" and not check.parameters.get("columns")


def _required(table: TableResult) -> set[int]:
    return {
        check.parameters["k"]
        for check in table.checks
        if is_k_of_all(check) and "k" in check.parameters
    }


def _bin_label(start: int, end: int | None) -> str:
    if end is None:
        return f"{start:,}+"
    return f"{start:,}" if start == end else f"{start:,}{TO}{end:,}"


def _without_empty_ends(bins: Sequence[Bin]) -> list[Bin]:
    filled = [position for position, size in enumerate(bins) if size.count]
    return list(bins[filled[0] : filled[-1] + 1]) if filled else []


def findings(table: TableResult) -> list[str]:
    """The meaning of the class sizes for each kind of attacker."""
    if table.original:
        return synthetic.floor(table)
    return [
        *_prosecutor(table),
        *_assumed_attackers(table),
        *_generalised_references(table),
        *_journalist(table),
        *_individual(table),
        *_household(table),
        *events.worst_case(events.points(table), table.summary.people or 0),
    ]


def _prosecutor(table: TableResult) -> Iterator[str]:
    """The risk of people known to be in the table."""
    risk = table.risk.get("prosecutor")
    if not risk:
        return
    uniques, whose = table.summary.uniques, members(table)
    of_all = sum(size.count for size in histogram(table))
    chance = (
        f"with certainty for {number(uniques)} of {number(of_all)} {whose}, and with a chance of"
        if uniques
        else f"with a chance of {percent(risk['highest'])} at most, and of"
    )
    known, by_all = "these columns", found_by_all_records(table)
    if by_all:
        known, by_all = "these columns of one record", f"; whoever knows all their classes {by_all}"
    yield (
        f"Someone who knows that a person is in this table, and knows {known}, finds the "
        f"person {chance} {percent(risk['average'])} on average (prosecutor risk){by_all}. "
        f"{_above_threshold(risk, table)}"
    )


def found_by_all_records(table: TableResult, formats: Formats = EXACT) -> str:
    """Whom somebody finds who knows all classes of a person, as in `finds 226 of 1,859 people with
    certainty`; empty where each person is in one class."""
    if not table.classes_overlap:
        return ""
    k, uniques = table.profile
    if k is None:
        return "may find more, which this result does not say"
    if uniques:
        return f"finds {formats.part(uniques, table.summary.people or 0)} people with certainty"
    return f"finds the person {formats.among(k, table)}"


def _assumed_attackers(table: TableResult) -> Iterator[str]:
    """The attacker assumed by each check against a reference."""
    assumed = {
        title(check): check.details["assumes"]
        for check in table.checks
        if "assumes" in check.details
    }
    for check_title, attacker in assumed.items():
        yield f"{check_title} assumes this attacker: {attacker}."


def _generalised_references(table: TableResult) -> Iterator[str]:
    """The levels at which references were read, if generalised."""
    levels = {
        check.parameters["reference"]: check.details["reference_levels"]
        for check in table.checks
        if "reference_levels" in check.details
    }
    for reference, by_column in levels.items():
        named = ", ".join(f"{printable(column)} {level}" for column, level in by_column.items())
        yield (
            f"The records of {printable(REFERENCE.called(reference))} were compared as if "
            f"generalised to {named}."
        )


def _journalist(table: TableResult) -> Iterator[str]:
    """The risk of people not known to be in the table, through a reference."""
    risk = table.risk.get("journalist")
    if risk:
        linked, by_all = "Linking through the reference finds a person", ""
        if table.classes_overlap:
            linked = "Linking one record of a person through the reference finds them"
            by_all = "; what all their classes give there is not measured"
        yield (
            f"{linked} with a chance of {percent(risk['highest'])} at most, and of "
            f"{percent(risk['average'])} on average (journalist risk){by_all}. "
            f"{_above_threshold(risk, table)}"
        )


def _individual(table: TableResult) -> Iterator[str]:
    """The risk of survey respondents, by how many people each represents."""
    risk = table.risk.get("individual")
    if risk:
        yield (
            f"By the survey weights, {number(risk['expected_reidentifications'])} correct "
            f"re-identifications are expected; a person's chance{_from_one(table)} is "
            f"{percent(risk['highest'])} at most, and {percent(risk['average'])} on average "
            "(individual risk, an estimate)."
        )


def _household(table: TableResult) -> Iterator[str]:
    """The risk that at least one person of a household is found."""
    risk = table.risk.get("household")
    if risk:
        households = counted(int(risk["households"]), "household")
        yield (
            f"Of {households}, at least one person is found with a chance of "
            f"{percent(risk['highest'])} at most; averaged over the {members(table)}, that is "
            f"{percent(risk['average'])} (household risk). {_above_threshold(risk, table)}"
        )


def _above_threshold(risk: Mapping[str, Any], table: TableResult) -> str:
    whom = f"{percent(risk['at_risk'])} of the" if risk["at_risk"] else "none of the"
    above = significant_percent(risk["threshold"])
    return f"The chance{_from_one(table)} is above {above} for {whom} {members(table)}."


def _from_one(table: TableResult) -> str:
    return " from one record" if table.classes_overlap else ""


def limitations(table: TableResult) -> list[tuple[str, str]]:
    """Title and limitation of each model that holds."""
    models = dict.fromkeys(check.model for check in table.checks if check.holds)
    return [(ALL_MODELS[name].title, limitation_in(table, name)) for name in models]


def limitation_in(table: TableResult, model: str) -> str:
    """A model's limitation, in the words of the table."""
    return _about(limitation(model, table.sensitive), table)


def promise_in(table: TableResult, model: str) -> str:
    """What a model promises, in the words of the table."""
    return _about(ALL_MODELS[model].promise, table)


def _about(text: str, table: TableResult) -> str:
    return text if table.has_classes else str(words_on_cells().about(text, table))


def limitation(model: str, sensitive: Sequence[str]) -> str:
    """A model's limitation, in the words of the one sensitive attribute."""
    text = ALL_MODELS[model].limitation
    return text.replace("sensitive value", printable(sensitive[0])) if len(sensitive) == 1 else text


def outcome(table: TableResult) -> str:
    """The outcome of the gating checks, as a sentence."""
    gated = [check for check in table.checks if check.holds is not None]
    accepted = sum(bool(check.accepted) for check in gated)
    violated = sum(check.holds is False for check in gated) - accepted
    undecided = sum(check.undecided for check in table.checks)
    required = len(gated) + undecided
    if undecided and not violated:
        which = _checks_in_words(undecided, required)
        return f"{which} undecided, so the table is not shown to hold what was required."
    if not gated:
        return "Nothing was required, so nothing can fail."
    if accepted:
        return _outcome_with_baseline(violated, accepted, required)
    if violated:
        return f"{_checks_in_words(violated, required)} violated."
    if holds_and_discloses(table):
        return f"What was asked holds; {disclosures(table)}."
    if len(gated) == 1:
        return "The check holds."
    return f"{'Both' if len(gated) == 2 else f'All {len(gated)}'} checks hold."


def holds_and_discloses(table: TableResult) -> bool:
    """Whether the checks hold over classes that give a sensitive value away, or people whom all
    their records give away."""
    return table.status == "holds" and bool(disclosures(table))


def _checks_in_words(checks: int, of: int) -> str:
    """As in `The check is`, or `2 of 3 checks are`."""
    return (
        "The check is" if of == 1 else f"{checks} of {of} checks {'is' if checks == 1 else 'are'}"
    )


def disclosures(table: TableResult, formats: Formats = EXACT, *, sizes: bool = True) -> str:
    """What checks that hold leave open, as in `42.6 % of the records give their salary-class away`;
    empty if nothing. Without `sizes`, nothing that follows from those of the classes."""
    given_away = ", ".join(
        f"{formats.given_away(check, count, total)} of the {members(table)} give their "
        f"{printable(str(check.parameters['sensitive']))} away"
        for check, count, total in homogeneous_members(table.checks, table.summary)
        if sizes
    )
    found = found_by_all_records(table, formats) if tells_more_by_all_records(table) else ""
    by_all = f"whoever knows all classes of a person {found}" if found else ""
    return "; ".join(filter(None, [given_away, by_all]))


def tells_more_by_all_records(table: TableResult) -> bool:
    """Whether all classes of a person say more than one of them."""
    k, uniques = table.profile
    of_one, alone = table.summary.k or 0, table.summary.uniques or 0
    return table.classes_overlap and (k is None or k < of_one or (uniques or 0) > alone)


def _outcome_with_baseline(violated: int, accepted: int, gated: int) -> str:
    if violated:
        accepts = f"the baseline accepts {accepted} more"
        return f"{_checks_in_words(violated, gated)} violated; {accepts}."
    accepts = "the baseline accepts that: nothing got worse."
    return f"{_checks_in_words(accepted, gated)} violated, and {accepts}"


THRESHOLDS = "Thresholds in use, and whose they are: kanon-sql explain thresholds."
"""A reference to sourced thresholds; none is quoted here."""


def advice(table: TableResult) -> list[str]:
    """Suggestions for next steps."""
    is_coarse_enough = table.events is None or table.status == "holds"
    coarser = [] if is_coarse_enough else [events.advice(table.events, table.levels)]
    is_open = table.status == "measured" and not any(check.undecided for check in table.checks)
    if table.events and not table.quasi_identifiers:
        gate = (
            "With --check km_anonymity:k=5,m=2 the audit ends with exit code 1 if two events of a "
            "person are shared by fewer than 5 people."
        )
        return [*([gate] if is_open else []), *coarser]
    if table.original:
        return [synthetic.gate(table)] if is_open else list(_new_baseline(table))
    if is_open:
        return [
            "With --k 5 the audit ends with exit code 1 if a class is smaller than 5.",
            THRESHOLDS,
        ]
    return [*_larger_classes(table), *coarser, *_new_baseline(table)]


def _larger_classes(table: TableResult) -> Iterator[str]:
    if table.status != "violated":
        return
    yield (
        "Fewer or coarser quasi-identifiers make larger classes: leave one out to see its "
        "effect, or publish years for dates and the first digits of codes."
    )
    too_small = any(is_k_of_all(check) and check.holds is False for check in table.checks)
    if too_small and table.shown is None and table.nulls == "value":
        yield "--show-values lists classes that are too small."


def _new_baseline(table: TableResult) -> Iterator[str]:
    """Advice to update a baseline when checks got better than it accepts."""
    better = [title(check) for check in table.checks if _is_better(check)]
    if better:
        yield (
            f"Better than the baseline accepts: {listed(better)}. kanon-sql baseline writes it "
            "again and keeps the improvement."
        )


def _is_better(check: CheckResult) -> bool:
    if check.baseline is None or check.baseline.holds or check.baseline.worse:
        return False
    return bool(check.holds or check.baseline.better)


def footer(table: TableResult | TableProfile, where: str = "kanon-sql compile shows") -> str:
    """Duration, engine and number of statements, and where they are found, unless these are left
    out."""
    engine = f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine}"
    if not table.sql:
        return engine
    statements = counted(len(table.sql), "statement")
    them = "it" if len(table.sql) == 1 else "them"
    return f"{engine} · {statements}, {where} {them}"


def unanswered(
    table: TableResult | TableProfile,
    activity: str = "audit",
    consequence: str = "nothing is shown to hold",
) -> str | None:
    """The sentence for a table without results, or None."""
    name = printable(table.name)
    if table.status == "error":
        return f"{name}: the {activity} failed: {with_flags(table.error or '')}"
    if table.status == "no_data":
        return (
            f"{name}: no data. No record was found, so {consequence} (exit code 4). Check the "
            "source and the filter."
        )
    return None


def closing(result: AuditFindings) -> str | None:
    """A closing line for several tables, or None for a single one."""
    if len(result.tables) == 1:
        return None
    if not result.tables:
        return "Nothing was selected, so nothing is shown to hold (exit code 4)."
    by_status: dict[str, list[str]] = {}
    for table in result.tables:
        by_status.setdefault(table.status, []).append(table.name)
    parts = (
        f"{len(names)} {STATUS_WORDS[status]} ({listed(names)})"
        for status, names in by_status.items()
    )
    return f"{len(result.tables)} tables: {'; '.join(parts)}."


def shown_heading(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The title of a step's rows, noting truncation and that there are none."""
    title = wording("shown").get(name, name)
    some = title if rows else f"{title}: none"
    return f"{title}, the first {SHOWN} of them" if len(rows) == SHOWN else some
