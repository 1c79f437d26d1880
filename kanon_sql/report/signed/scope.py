"""The first three sections of a sign-off report: subject, finding, scope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kanon_sql.models.catalogue import CELL_MODELS, MODELS
from kanon_sql.models.synthetic.words import floor
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.report.document import Block, Facts, Grid, GridRow, Points, Prose
from kanon_sql.report.signed.subject import Signed, bound_of, digest_of, members_of, violating
from kanon_sql.report.words.check_phrases import words_on_cells
from kanon_sql.report.words.models import (
    SIGNS,
    STATUS_WORDS,
    Margin,
    margins,
    title,
    verdict,
    verdict_status,
)
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    filter_words,
    listed,
    member,
    number,
    on_one_line,
    percent,
    printable,
    sentence,
    wording,
)
from kanon_sql.report.words.tables import disclosures, found_by_all_records, unanswered, warnings
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import Anonymization
from kanon_sql.results.table import PolicyOutcome, TableResult


def _rules(table: CellsResult) -> Iterator[Block]:
    """Each rule with its verdict, its result, and the policy's sentence that requires it."""
    if cost := words_on_cells().cost_sentence(table):
        yield Prose([cost], "flush")
    yield Grid(
        "What was required, what was found, and where each rule comes from.",
        GridRow(("verdict", "rule", "found", "concerns", "rests on"), ()),
        [_row(check, table) for check in table.checks],
    )
    readers = wording("readers")
    reader_sentences = dict.fromkeys(
        readers[check.model] for check in table.checks if check.model in readers
    )
    if reader_sentences:
        yield Prose(["Readers considered:"])
        yield Points([f"One {sentence}." for sentence in reader_sentences])


def _row(check: CheckResult, table: CellsResult) -> GridRow:
    line = verdict(check, table)
    sign = SIGNS[line.status]
    words = (f"{sign}{KEPT_TOGETHER}{line.word}", line.title, line.achieved, line.extent)
    return GridRow((*words, _basis(check, table)), ())


def _basis(check: CheckResult, table: CellsResult) -> str:
    """The sentence of the policy that requires a check, with its address."""
    policy = next((policy for policy in table.policies if policy.id == check.policy), None)
    if policy is None:
        return "" if check.holds is None else "required by whoever ran it"
    quotes = [f"“{on_one_line(text)}”" for text in _quotes(check, policy)]
    return printable(" ".join([*quotes, f"{policy.id}, {policy.address}"]))


def _quotes(check: CheckResult, policy: PolicyOutcome) -> list[str]:
    """The sentences on a check; of several rules of one model, those with its numbers."""
    about = [quote["text"] for quote in policy.quotes if quote["about"] == check.model]
    bounds = [check.parameters.get(name) for name in CELL_MODELS[check.model].thresholds]
    numbers = [f"{bound:g}" for bound in bounds if isinstance(bound, int | float)]
    own = [text for text in about if all(re.search(rf"\b{number}\b", text) for number in numbers)]
    return own or about


def _facts_on_cells(table: CellsResult) -> Iterator[tuple[str, str]]:
    """The cells that were judged, and how they were made or read."""
    summary, words = table.cells, words_on_cells()
    if table.published:
        yield "Read", "the table as it goes out, one row a cell"
    else:
        records = "records" if summary.records is None else counted(summary.records, "record")
        yield "Read", f"its {records}"
        yield (
            "Contributors",
            f"{number(summary.contributors or 0)}, identified by {printable(table.contributor)}"
            if table.contributor
            else "not counted: every record is assumed to be of another contributor",
        )
    yield "Figure", words.headline_of_cells(table)[-1 if not table.published else 1]
    yield "Dimensions", listed(table.by)
    yield "Cells", words.cells_sentence(table)
    if table.margins is not None:
        yield "Margins", _margins(table.margins)
    if table.totals is not None:
        yield (
            "Totals",
            _TOTALS.get(table.totals)
            or (f"rounded to multiples of {table.totals.partition(':')[2]}, each on its own"),
        )
    if table.weight:
        yield "Survey weight", f"{printable(table.weight)}, assumed to be confidential"
    if table.against:
        yield "Compared with", listed(list(table.against))
    rows = "row" if table.published else "record"
    yield "Filter", filter_words(table, rows, f"all {rows}s")


_TOTALS = {
    "true": "the sums of all their parts",
    "shown": "calculated anew from what is shown",
}


def _margins(margins: str | tuple[tuple[str, ...], ...]) -> str:
    if isinstance(margins, str):
        return {"all": "all totals are published", "none": "no total is published"}[margins]
    return "; ".join(listed(margin) if margin else "the grand total" for margin in margins)


_NOT_RECORDED = "not recorded in this result"
_RELEASE = {"recipient": "Recipient", "purpose": "Purpose", "model": "How access is given",
            "review_by": "Review by"}  # fmt: skip


# --- 1 ----------------------------------------------------------------------------------------


def subject(signed: Signed) -> Iterator[Block]:
    """The subject of the audit, its date and version, with digests of result and SQL."""
    result = signed.result
    engines = listed(list(dict.fromkeys(table.engine for table in result.tables if table.engine)))
    statements = "\n\n".join(sql for table in result.tables for sql in table.sql.values())
    yield Facts(
        [
            ("Tables" if len(result.tables) > 1 else "Table", _names(signed)),
            ("Audited", result.audited or _NOT_RECORDED),
            ("By", f"kanon-sql {printable(result.version)}{f' on {engines}' if engines else ''}"),
            *_files(signed),
            ("SHA-256 of the result", signed.digest),
            ("Seal", _seal(signed)),
            ("SHA-256 of the SQL", digest_of(statements) if statements else _NOT_RECORDED),
        ]
    )
    yield Prose([sentence("counts_only"), *_audience_notes(signed)])


def _seal(signed: Signed) -> str:
    """Whether an edited figure would have been noticed."""
    if not signed.unsealed:
        return sentence("seal")
    missing = "; ".join(f"{name} has no seal" for name in signed.unsealed)
    return f"{missing}, so an edited figure is not noticed"


def _files(signed: Signed) -> Iterator[tuple[str, str]]:
    """The digests of the files that the result is about."""
    result = signed.result
    for file in result.files:
        path = printable(file.path)
        yield f"SHA-256 of the {file.role}", f"{file.sha256}{KEPT_TOGETHER}· {path}"
    if result.tables and not result.files:
        yield "SHA-256 of the files", _NOT_RECORDED


def _names(signed: Signed) -> str:
    release = signed.anonymization
    names = [
        *([release.before.name] if release else []),
        *(table.name for table in signed.result.tables),
    ]
    names = names or [cost.name for cost in signed.costs if cost.name]
    return (" → " if release else ", ").join(map(printable, dict.fromkeys(names))) or _NOT_RECORDED


def _audience_notes(signed: Signed) -> Iterator[str]:
    if not signed.is_external:
        return
    if not any(table.has_classes for table in signed.result.tables):
        yield (
            "It is for external readers: a size below its threshold, confidential parameters and "
            "what would bound them, and the SQL are left out."
        )
    else:
        yield (
            f"It is for external readers: except for what a check requires of a class, counts "
            f"below {number(signed.min_cell)}, and numbers of classes below "
            f"{number(signed.fewest_classes)}, are pooled or left out, and the SQL is left out."
        )


def headline(signed: Signed) -> str:
    """The disclosure by a table whose checks hold, as a sentence."""
    sentences = (
        f"What was asked holds; {disclosed}."
        for table in signed.answered
        if (disclosed := _disclosed(table, signed))
    )
    return next(sentences, "")


def _disclosed(table: TableResult, signed: Signed) -> str:
    """What the checks leave open, if all of them hold."""
    if table.status != "holds":
        return ""
    return disclosures(table, signed, sizes=not signed.hides_sizes(table))


# --- 2 ----------------------------------------------------------------------------------------


def finding(signed: Signed) -> Iterator[Block]:
    """Verdicts and margins, the attackers considered, and the release's recipient."""
    if signed.unsealed:
        yield Points([f"{_seal(signed)}."], "warning")
    for table in signed.result.tables:
        yield from signed.under_its_name(table, _finding(table, signed))


def _finding(table: TableResult, signed: Signed) -> Iterator[Block]:
    if why := unanswered(table):
        yield Prose([why], "strong")
        return
    yield Prose([outcome(table, signed), *_attack_chance(table, signed)], "flush")
    if isinstance(table, CellsResult):
        yield from _rules(table)
    else:
        yield _required(table, signed)
    if table.warnings:
        yield Points(warnings(table), "warning")
    yield Facts([(words, _release_fact(table, key)) for key, words in _RELEASE.items()])
    if table.has_classes:
        yield Prose(["Attackers considered:"])
        yield Points(list(_attackers(table)))


def _release_fact(table: TableResult, key: str) -> str | None:
    """A fact about the release from the spec; None is a blank to fill in."""
    fact = table.release.get(key)
    return None if fact is None else printable(str(fact))


def outcome(table: TableResult, signed: Signed) -> str:
    """Whether the checks on a table hold, in words."""
    gated = [check for check in table.checks if check.holds is not None]
    name, all_of = printable(table.name), len(gated)
    violated = sum(check.holds is False for check in gated)
    undecided = sum(check.undecided for check in table.checks)
    if undecided and not violated:
        checks = "the one check is" if all_of + undecided == 1 else _of_all(undecided, table)
        return f"What was required of {name} is not shown to hold: {checks} undecided."
    if not gated:
        return f"Nothing was required of {name}, so nothing is shown to hold or to fail."
    if not violated:
        checks = "the one check" if all_of == 1 else f"all {all_of} checks"
        disclosed = _disclosed(table, signed)
        return f"What was required of {name} holds: {checks}{disclosed and f'; {disclosed}'}."
    failures = f"{_of_all(violated, table)} violated"
    if undecided:
        failures += f" and {number(undecided)} undecided"
    accepted = sum(bool(check.accepted) for check in gated)
    if accepted == violated:
        return f"What was required of {name} does not hold: {failures}, as the baseline accepts."
    return f"What was required of {name} does not hold: {failures}."


def _of_all(checks: int, table: TableResult) -> str:
    """As in `1 of 3 checks is`, of the checks on a table that require something."""
    every = sum(check.holds is not None or check.undecided for check in table.checks)
    return f"{number(checks)} of {counted(every, 'check')} {'is' if checks == 1 else 'are'}"


def _attack_chance(table: TableResult, signed: Signed) -> Iterator[str]:
    """What one known record of a person gives, and what all of them give, unless the outcome says
    it."""
    risk = table.risk.get("prosecutor")
    if not table.has_classes:
        return
    found = found_by_all_records(table, signed)
    of_one = " of one record" if found else ""
    by_all = "" if not found or found in _disclosed(table, signed) else found
    if table.original:
        yield from floor(table)
    elif signed.withholds(table):
        yield sentence("sizes_withheld")
    elif signed.is_coarse(table.summary):
        yield (
            f"It has fewer than {number(signed.fewest_classes)} classes. Figures on their sizes "
            "would tell external readers how many, so the verdicts stand alone."
        )
    elif risk:
        bound = bound_of("prosecutor", "highest", table)
        highest = signed.highest(risk["highest"], is_required=bound is not None)
        most = signed.shown_highest(risk["highest"], is_required=bound is not None)
        average = signed.average(risk["average"], members_of(table), most)
        at_most = "at most" if highest == percent(risk["highest"]) else "in the worst case"
        yield (
            "An attacker who knows that a person is in it, and knows the quasi-identifiers"
            f"{of_one}, finds the person with a chance of {highest} {at_most} and "
            f"of {average} on average."
        )
    if by_all:
        yield f"Whoever knows all classes of a person {by_all}."


def _required(table: TableResult, signed: Signed) -> Grid:
    """Each check with its threshold, result and margin."""
    return Grid(
        "What was required and what was found. Margin: distance to the limit; negative where the "
        "limit is missed.",
        _HEADER,
        [row for check in table.checks for row in _rows(check, table, signed)],
    )


_HEADER = GridRow(("verdict", "check", "required", "found", "margin", "concerns"), ())


def _rows(check: CheckResult, table: TableResult, signed: Signed) -> Iterator[GridRow]:
    status = verdict_status(check)
    word = f"{SIGNS[status]}{KEPT_TOGETHER}{STATUS_WORDS[status]}"
    for index, margin in enumerate(margins(check)):
        fails = check.holds is False or MODELS[check.model].counts_violations
        is_shown = not index and fails and not signed.hides_sizes(table)
        reach = violating(check, table, signed) if is_shown else ""
        first = (word, title(check)) if not index else ("", "")
        shown = _pooled(margin, check, table, signed)
        yield GridRow((*first, shown.requirement, shown.result, shown.distance, reach), ())


def _pooled(margin: Margin, check: CheckResult, table: TableResult, signed: Signed) -> Margin:
    """The margin without figures from which external readers could derive a small count."""
    if signed.hides_sizes(table):
        return margin._replace(result=NONE, distance="")
    if not signed.is_rounded:
        return margin
    if MODELS[check.model].counts_violations:
        if not check.achieved:
            return margin
        return margin._replace(result=signed.classes(check.achieved, ""), distance="")
    share, total = _share_of_members(margin, check, table)
    if share is not None:
        is_average = margin.name == "max_average" or MODELS[check.model].is_average
        highest = check.achieved if margin.name == "max_average" else 1
        shown = signed.average(share, total, highest) if is_average else signed.share(share, total)
        return margin._replace(result=shown, distance="")
    if isinstance(margin.figure, int) or margin.name == "max_highest":
        is_size = check.holds is None and MODELS[check.model].thresholds[:1] == ("k",)
        return margin._replace(result=signed.least(margin.figure)) if is_size else margin
    # A quotient of counts in one class, such as a distance, gives the counts back.
    return margin._replace(result=NONE, distance="")


def _share_of_members(
    margin: Margin, check: CheckResult, table: TableResult
) -> tuple[float | None, int]:
    """The share of all records or people that was found, if it is one, and of how many."""
    match MODELS[check.model].share_of:
        case "population":
            return check.achieved, int(check.parameters["population"])
        case "members":
            return check.achieved, members_of(table)
    detail = {"max_at_risk": "at_risk", "max_average": "average"}.get(margin.name, "")
    return check.details.get(detail), members_of(table)


def _attackers(table: TableResult) -> Iterator[str]:
    words = wording("attackers")
    parameters = [check.parameters for check in table.checks]
    if table.original:
        yield words["synthetic"].format(listed(table.quasi_identifiers))
    elif table.risk.get("prosecutor"):
        several = ("of_one_record", "of_all_records")
        for attacker in several if table.classes_overlap else ("prosecutor",):
            yield words[attacker].format(listed(table.quasi_identifiers))
    if table.events:
        yield words["events"].format(listed(table.events.columns))
    for reference in dict.fromkeys(
        check.parameters["reference"]
        for check in table.checks
        if MODELS[check.model].family == "reference" and check.parameters.get("reference")
    ):
        yield words["journalist"].format(printable(REFERENCE.called(reference)))
    if table.risk.get("marketer"):
        yield words["marketer"]
    if table.sensitive:
        yield words["sensitive"].format(listed(table.sensitive))
    if any(given.get("with_other_sensitive") for given in parameters):
        yield words["with_other_sensitive"]
    for release in dict.fromkeys(given["earlier"] for given in parameters if given.get("earlier")):
        yield words["earlier"].format(printable(str(release)))
    yield words["not_considered"]


# --- 3 ----------------------------------------------------------------------------------------


def data_audited(signed: Signed) -> Iterator[Block]:
    """The records and columns considered, and their treatment."""
    for table in signed.answered:
        yield from signed.under_its_name(table, _data_audited(table, signed))


def _data_audited(table: TableResult, signed: Signed) -> Iterator[Block]:
    if isinstance(table, CellsResult):
        yield Facts(list(_facts_on_cells(table)))
        return
    yield Facts(list(_scope(table, signed)))
    if table.events and not table.quasi_identifiers:
        return
    yield Grid(
        "The quasi-identifiers: what somebody may know about a person, and how each was treated.",
        GridRow(("quasi-identifier", "treatment", "why"), ()),
        [
            GridRow((printable(name), _treatment(name, table, signed), _why(name, table)), ())
            for name in table.quasi_identifiers
        ],
    )


def _scope(table: TableResult, signed: Signed) -> Iterator[tuple[str, str]]:
    summary, release = table.summary, signed.anonymization
    is_exact = summary.people is None
    yield "Records", signed.records(table)
    if summary.people is not None:
        how = ", a random number" if release and release.entity_in_release == "renumber" else ""
        entity = printable(table.entity or "")
        yield "People", f"{number(summary.people)}, identified by {entity}{how}"
    elif release and release.entity_in_release == "drop":
        yield "People", "not counted: the release lacks the column by which its checks also hold"
    else:
        yield "People", "not counted: every record is assumed to be of another person"
    if release and signed.withholds(table):
        yield "Suppressed", "not shown, as the sizes of its classes are not"
    elif release:
        records_before = release.before.summary.records or 0
        is_few = signed.is_small(release.suppressed)
        exact = number if is_exact else signed.cell
        words_before = f"up to {signed.min_cell - 1} more" if is_few else exact(records_before)
        yield "Records before", words_before
        treatment = " and kept as *" if release.suppressed_as == "star" else " and left out"
        words = signed.portion(release.suppressed, records_before, "record")
        if is_exact and not is_few and release.suppressed_as == "remove":
            # It is the difference of the two above.
            share = percent(release.suppressed / max(records_before, 1))
            words = f"{counted(release.suppressed, 'record')} ({share})"
        yield "Suppressed", f"{words}{treatment}" if release.suppressed else "none"
    yield "Filter", filter_words(table, "record", "every record")
    for name, snapshot in table.snapshots.items():
        yield "Snapshot", f"{printable(name)}: {snapshot}"
    if table.events:
        yield "Events", _events(table, signed)
    if table.quasi_identifiers or not table.events:
        yield "NULL", _nulls(table, signed)
    if table.sensitive:
        yield "Sensitive", listed(table.sensitive)
    yield from _unassigned(table, signed)


def _events(table: TableResult, signed: Signed) -> str:
    """The columns of an event with their treatment, and the figures of the events."""
    events = table.events
    assert events is not None
    columns = [f"{printable(name)} ({_treatment(name, table, signed)})" for name in events.columns]
    text = f"{', '.join(columns)}; NULL is a value of its own"
    if signed.is_external:
        return text
    has, least, most = events.records_with_null_event, number(events.fewest), number(events.most)
    some = least if least == most else f"{least} to {most}"
    return (
        f"{text}, which {counted(has, 'record') if has else 'no record'} "
        f"{'has' if has < 2 else 'have'}. {number(events.distinct)} different, {some} a person"
    )


def _nulls(table: TableResult, signed: Signed) -> str:
    meaning = "matches every value" if table.nulls == "wildcard" else "is a value of its own"
    has = table.summary.records_with_null_qi or 0
    text = (
        f"in a quasi-identifier {meaning}; "
        f"{signed.cell(has, 'record', table.summary.records) if has else 'no record'} "
        f"{'has' if not has or (has == 1 and not signed.is_small(has)) else 'have'} one"
    )
    if table.sensitive:
        of_values = "unknown" if table.sensitive_nulls == "unknown" else "a value of its own"
        text += f". In a sensitive attribute it is {of_values}"
    return text


def _unassigned(table: TableResult, signed: Signed) -> Iterator[tuple[str, str]]:
    """Insensitive and unassigned columns, which are released unchanged."""
    if table.insensitive:
        whose = [
            printable(name) + (f" ({_why(name, table)})" if table.why.get(name) else "")
            for name in table.insensitive
        ]
        yield "Insensitive", f"{', '.join(whose)}: by decision, unchanged"
    release = signed.anonymization
    if release and release.untouched.columns:
        alone = release.untouched.alone
        with_them = (
            ""
            if alone is None
            else f"; in these and the quasi-identifiers together "
            f"{signed.cell(alone, member(table), members_of(table))} "
            f"{'is' if alone == 1 and not signed.is_small(alone) else 'are'} alone"
        )
        yield (
            "Unassigned columns",
            f"{listed(release.untouched.columns)}: released unchanged{with_them}",
        )
    elif release:
        yield "Unassigned columns", "none: every released column has a decided role"
    elif table.unassigned:
        used = "whole records only" if table.original else "no check uses them"
        yield "Unassigned columns", f"{listed(table.unassigned)}: {used}"


def _treatment(name: str, table: TableResult, signed: Signed) -> str:
    release = signed.anonymization
    clipped = _clipped(table.clip.get(name))
    if release is None:
        level = (table.levels or {}).get(name)
        return f"{clipped}audited at level {number(level)}" if level else "unchanged"
    level = (release.levels or {}).get(name)
    if level is None:
        return f"{clipped}{_by_group(name, release)}"
    if not level:
        return "level 0: unchanged"
    lost = release.metrics.loss_by_quasi_identifier.get(name)
    # The loss added by few suppressed records would reveal their number.
    share = "" if lost is None or signed.is_small(release.suppressed) else f", {percent(lost)} lost"
    return f"{clipped}level {number(level)}: {printable(release.labels.get(name, ''))}{share}"


def _by_group(name: str, release: Anonymization) -> str:
    """The final levels of a local recoding."""
    reached = sorted(release.recoded.levels_by_records.get(name, {})) if release.recoded else []
    if not reached or reached[-1] == 0:
        return "level 0: unchanged"
    return f"only as coarse as each class needs: levels {reached[0]} to {reached[-1]}"


def _clipped(clip: Sequence[Any] | None) -> str:
    """Clip bounds, applied before any level."""
    if not clip:
        return ""
    low, high = (None if bound is None else str(bound) for bound in clip)
    if low is None or high is None:
        return f"clipped at {low or high}, "
    return f"clipped to {low} to {high}, "


def _why(name: str, table: TableResult) -> str:
    return printable(table.why.get(name, ""))
