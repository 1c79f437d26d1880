"""The wording of checks on a synthetic table beside its original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    exact_percent,
    listed,
    number,
    percent,
    printable,
    short_percent,
    short_share,
    wording,
)
from kanon_sql.report.words.phrases import Phrases, attribute
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import MadeFrom, TableResult


class LookUp(NamedTuple):
    """What somebody does who looks a person up, with the shares for whom it succeeds."""

    words: str
    original: str
    holdout: str


class HoldoutComparison(NamedTuple):
    """A check beside the holdout: both shares, their difference and its interval."""

    words: str
    shares: tuple[float, float]
    excess: float
    interval: tuple[float, float]

    @property
    def figures(self) -> tuple[str, ...]:
        """The shares, then the difference and its interval in points."""
        excess, low, high = (f"{100 * end:.1f}" for end in (self.excess, *self.interval))
        return (*map(short_percent, self.shares), excess, f"{low} to {high}")


def headline(table: TableResult) -> list[str]:
    """The parts of the heading of a synthetic table: what it was made from, and what is known."""
    assert table.original is not None
    records = counted(table.summary.records or 0, "record")
    parts = [f"{records}, made from {_sized('original', table.original, table)}"]
    if table.holdout is not None:
        parts.append(f"holdout {_sized('holdout', table.holdout, table)}")
    parts.append(f"known: {listed(table.quasi_identifiers)}")
    if table.sensitive:
        parts.append(f"to be found: {listed(table.sensitive)}")
    return parts


def _sized(key: str, other: MadeFrom, table: TableResult) -> str:
    """Another table by its source, with its size."""
    source = printable(str(table.sources.get(key, {}).get("source", key)))
    return f"{source} ({_people_of(other)})"


def _people_of(other: MadeFrom) -> str:
    records = counted(other.records, "record")
    return records if other.people is None else f"{records} of {counted(other.people, 'person')}"


def units(table: TableResult) -> str:
    """What is counted of the original."""
    return "people" if table.original and table.original.people is not None else "records"


def floor(table: TableResult) -> list[str]:
    """The closing sentences: what the figures leave out."""
    words: Mapping[str, str] = wording("synthetic")
    return [words["floor"], *([] if table.holdout else [words["without_holdout"]])]


def gate(table: TableResult) -> str:
    """How to require something of a synthetic table."""
    return str(wording("synthetic")["gate"])


def attacks(table: TableResult) -> list[LookUp]:
    """The attackers one by one, by the checks that were made, from whoever finds somebody to
    whoever guesses."""
    order = list(PHRASES)[1:] + list(PHRASES)[:1]
    checks = sorted(_first_of_each(table), key=lambda check: order.index(check.model))
    return [attack for check in checks for attack in _attacks(check, table)]


def comparisons(table: TableResult) -> list[HoldoutComparison]:
    """Each check beside the holdout."""
    compared: list[HoldoutComparison] = []
    for check in _first_of_each(table):
        holdout = check.details["holdout"] or {}
        if holdout.get("interval") is not None:
            name = check.parameters.get("sensitive")
            words = check.model.replace("_", " ") + (f" {printable(name)}" if name else "")
            shares = holdout["share_in_original"], holdout["share"]
            words = f"{len(compared) + 1}. {words}"
            compared.append(
                HoldoutComparison(words, shares, holdout["excess"], holdout["interval"])
            )
    return compared


def _first_of_each(table: TableResult) -> Iterator[CheckResult]:
    """Each model once for each attribute, or number of columns."""
    seen = set()
    for check in table.checks:
        about = (check.model, check.parameters.get("sensitive"), check.parameters.get("m"))
        if check.details.get("attacked") and about not in seen and check.model in PHRASES:
            seen.add(about)
            yield check


def _attacks(check: CheckResult, table: TableResult) -> Iterator[LookUp]:
    details, words = check.details, wording("attacks")
    total, keys = details["attacked"], listed(table.quasi_identifiers)
    shares = details["holdout"] or {}
    of_original, of_holdout = (
        short_percent(shares.get(name)) for name in ("share_in_original", "share")
    )
    match check.model:
        case "copied_records":
            yield LookUp(words["copied"], short_percent(check.achieved), NONE)
        case "replicated_uniques":
            found = short_share(shares["found"], shares["attacked"]) if "found" in shares else NONE
            yield LookUp(words["found"].format(keys), short_share(details["found"], total), found)
            yield LookUp(words["replicated"], short_percent(check.achieved), NONE)
        case "singling_out":
            singled_out = words["singled_out"].format(check.parameters["m"])
            yield LookUp(singled_out, short_percent(check.achieved), NONE)
        case "disclosive_in_synthetic":
            told = words["told"].format(attribute(check))
            yield LookUp(told, short_percent(check.achieved), of_holdout)
        case "correct_attribution":
            guessed = words["guessed"].format(attribute(check))
            average = short_percent(shares.get("average"))
            yield LookUp(guessed, short_percent(check.achieved), average)
            by_shares = None if check.achieved is None else _by_shares(check)
            yield LookUp(words["baseline"], short_percent(by_shares), NONE)
    if shares and check.model in wording("alone_in_both"):
        alone = wording("alone_in_both")[check.model]
        yield LookUp(alone, of_original, of_holdout)


# --- checks ---------------------------------------------------------------------------------


def _points(difference: float) -> str:
    """A difference of shares."""
    points = abs(difference) * 100
    shown = f"{points:.1f}" if points >= 0.1 else f"{points:.2g}"
    return f"{shown}{KEPT_TOGETHER}points"


def _above(difference: float, of: str) -> str:
    return f"{_points(difference)} {'below' if difference < 0 else 'above'} {of}"


def _bounds(check: CheckResult, words: Mapping[str, str]) -> str | None:
    """What is required; of several bounds each in words of its own."""
    bounds = [
        words[name].format(_at_most(check.parameters[name], name))
        for name in words
        if check.parameters.get(name) is not None
    ]
    return ", ".join(bounds) or None


def _at_most(bound: float, name: str) -> str:
    if name in ("max_excess", "max_gain"):
        return f"at most {bound * 100:g}{KEPT_TOGETHER}points"
    return "none" if bound == 0 else f"at most {exact_percent(bound)}"


_EXCESS = {"max_excess": "{} above the holdout"}
_SHARE = {"max_share": "{}", **_EXCESS}


def _phrases(check: CheckResult, result: str, extent: str, words: Mapping[str, str]) -> Phrases:
    """The phrases of a check, with its comparison with the holdout."""
    holdout: Mapping[str, Any] = check.details["holdout"] or {}
    given = [name for name in words if check.parameters.get(name) is not None]
    excess = holdout.get("excess")
    if "max_excess" in given:
        above = "no holdout to compare with" if excess is None else _above(excess, "the holdout")
        result = above if given == ["max_excess"] else f"{result}, {above}"
    parts = [extent]
    if holdout.get("share") is not None:
        shares = (percent(holdout[key]) for key in ("share_in_original", "share"))
        parts.append(wording("beside_holdout")[check.model].format(*shares))
    if check.undecided:
        parts = [_why_undecided(check)]
    return Phrases(result, "; ".join(filter(None, parts)), _bounds(check, words))


def _why_undecided(check: CheckResult) -> str:
    holdout: Mapping[str, Any] = check.details["holdout"] or {}
    if check.parameters.get("max_excess") is not None and holdout.get("interval"):
        low, high = (f"{100 * end:.1f}" for end in holdout["interval"])
        return f"with {number(holdout['attacked'])} in the holdout it may be {low} to {high} points"
    is_copied = check.details.get("copied", 0) > check.details.get("unique_copied", 0)
    why: str = wording("synthetic")["incomplete" if is_copied else "nobody"]
    return why


def _copied(check: CheckResult, table: TableResult) -> Phrases:
    details = check.details
    extent = (
        f"{number(details['unique_copied'])} of {number(details['attacked'])} {units(table)} of "
        f"the original that nobody else has are in the synthetic table, whole "
        f"({counted(len(details['columns']), 'column')})"
    )
    return _phrases(check, f"{_share_or_none(check)} copied", extent, _SHARE)


def _share_or_none(check: CheckResult) -> str:
    return NONE if check.achieved is None else percent(check.achieved)


def _replicated(check: CheckResult, table: TableResult) -> Phrases:
    details = check.details
    extent = (
        f"{number(details['replicated'])} of {number(details['attacked'])} {units(table)} are "
        f"alone in the original by their {listed(table.quasi_identifiers)}, and again in the "
        f"synthetic table; {number(details['unique_found'])} of the "
        f"{number(details['unique_in_original'])} alone are found there"
    )
    return _phrases(check, f"{_share_or_none(check)} alone in both", extent, _SHARE)


def _singled_out(check: CheckResult, table: TableResult) -> Phrases:
    details = check.details
    claims = f"{number(details['correct'])} of {counted(details['claims'], 'claim')} are correct"
    extent = (
        f"{number(details['singled_out'])} of {number(details['attacked'])} {units(table)} by at "
        f"most {check.parameters['m']} of their {listed(table.quasi_identifiers)}; {claims}"
    )
    words = {"max_share": "{}", "max_rate": "{} of the claims correct", **_EXCESS}
    result = f"{_share_or_none(check)} singled out"
    if check.parameters.get("max_rate") is not None and details["rate"] is not None:
        rate = f"{percent(details['rate'])} of the claims correct"
        only = all(check.parameters.get(name) is None for name in ("max_share", "max_excess"))
        result = rate if only else f"{result}, {rate}"
    return _phrases(check, result, extent, words)


def _disclosive(check: CheckResult, table: TableResult) -> Phrases:
    details, name = check.details, attribute(check)
    told = percent(details["claimed"] / details["attacked"]) if details["attacked"] else NONE
    other = ", other than those that are allowed," if check.parameters.get("allowed") else ""
    extent = f"{told} find one {name}{other} with their {listed(table.quasi_identifiers)}"
    if details["precision"] is not None:
        extent += f"; for {percent(details['precision'])} of them it is theirs"
    return _phrases(check, f"{name} of {_share_or_none(check)}", extent, _SHARE)


def _by_shares(check: CheckResult) -> float:
    """The chance of a correct guess by the original's shares. In JSON, `baseline` is the former
    result of a check that was compared with a baseline."""
    by_shares: float = check.details.get("baseline", check.achieved - check.details["gain"])
    return by_shares


def _attribution(check: CheckResult, table: TableResult) -> Phrases:
    details, name = check.details, attribute(check)
    matched = f"{number(details['matched'])} of {number(details['attacked'])} {units(table)}"
    words = {"max_average": "{}", "max_gain": "{} above a guess without it", **_EXCESS}
    if check.achieved is None:
        return _phrases(check, f"{name} of nobody", "", words)
    by_shares = f"by the original's shares, without it, {percent(_by_shares(check))}"
    result = f"{name} guessed with {percent(check.achieved)}"
    if check.parameters.get("max_gain") is not None:
        result += f", {_above(details['gain'], 'a guess without it')}"
    return _phrases(check, result, f"{matched} are found; {by_shares}", words)


PHRASES = {
    "copied_records": _copied,
    "replicated_uniques": _replicated,
    "singling_out": _singled_out,
    "disclosive_in_synthetic": _disclosive,
    "correct_attribution": _attribution,
}
