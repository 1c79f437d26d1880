"""The wording of checks on events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    exact_percent,
    listed,
    number,
    percent,
    quasi_identifiers,
    short_percent,
)
from kanon_sql.report.words.phrases import Phrases
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import Events, TableResult

_WORDS = ("", "one event", "two events", "three events")


class HasEvents(Protocol):
    """A result on a table that may have events."""

    @property
    def events(self) -> Events | None: ...

    @property
    def quasi_identifiers(self) -> tuple[str, ...]: ...


class CurvePoint(NamedTuple):
    """The figures of one number of known events."""

    m: int
    k: int
    times: bool
    figures: Mapping[str, Any]


def points(table: TableResult) -> list[CurvePoint]:
    """The figures of each number of known events, in ascending order, each once."""
    by_key: dict[tuple[int, bool, int], CurvePoint] = {}
    for check in table.checks:
        if check.model == "known_events" and check.achieved is not None:
            k, times, m = (check.parameters[name] for name in ("k", "times", "m"))
            by_key.setdefault((k, times, m), CurvePoint(m, k, times, check.details))
    return [by_key[key] for key in sorted(by_key)]


def headline(table: HasEvents) -> list[str]:
    """The events of a heading, with how many there are and how many a person has."""
    events = table.events
    if events is None:
        return []
    known_columns = [quasi_identifiers(table.quasi_identifiers)] if table.quasi_identifiers else []
    some = (
        number(events.most)
        if events.fewest == events.most
        else f"{number(events.fewest)} to {number(events.most)}"
    )
    return [
        *known_columns,
        f"events {listed(events.columns)} ({number(events.distinct)} different, {some} a person)",
    ]


def few(k: int) -> str:
    """The crowd of the people who are found: alone, or among few."""
    return "alone" if k == 2 else f"among fewer than {number(k)} people"


def curve_title(of: Sequence[CurvePoint]) -> str:
    words = few(of[0].k)
    often = ", each as often as it occurs" if of[0].times else ""
    return f"{words[:1].upper()}{words[1:]}, by how many of a person's events are known{often}"


def curves(table: TableResult, least: int = 2) -> list[list[CurvePoint]]:
    """The curves of an audit, by k and times: at least so many numbers of known events."""
    by_bounds: dict[tuple[int, bool], list[CurvePoint]] = {}
    for point in points(table):
        by_bounds.setdefault((point.k, point.times), []).append(point)
    return [curve for curve in by_bounds.values() if len(curve) >= least]


def draw_notes(table: TableResult) -> list[str]:
    """A sentence on each draw of events, with the number of people attacked and the seed."""
    drawn = {
        (check.parameters["seed"], check.details["attacked"])
        for check in table.checks
        if check.details.get("drawn")
    }
    return [
        f"Where events were drawn, {counted(attacked, 'person')} were attacked with the seed "
        f"{seed}. A draw proves violations and never that a bound is kept."
        for seed, attacked in sorted(drawn)
    ]


CURVE = ("events known",), ("at random", "", "worst choice")
"""The headings of a curve, text and figures."""


def curve_rows(
    curve: Sequence[CurvePoint], people: int
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The cells of each row of a curve, text and figures. More events never find fewer people, so
    the worst choice of a draw is at least that of fewer events."""
    least = 0.0
    for point in curve:
        figures = point.figures
        shares = figures["random"] if figures["drawn"] else figures["worst"]
        least = max(least, shares["share"] * figures["attacked"] / people)
        yield _curve_row(point, least)


def _curve_row(point: CurvePoint, least: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    figures = point.figures
    random = short_percent(figures["random"]["share"])
    if not figures["drawn"]:
        return (number(point.m),), (random, "", short_percent(figures["worst"]["share"]))
    drawn = f"({_range(figures['interval'])}, drawn)"
    return (number(point.m),), (random, drawn, f"at least {short_percent(least)}")


def _range(interval: Sequence[float]) -> str:
    low, high = (f"{100 * end:.1f}" for end in interval)
    return f"{low} to {high}"


def worst_case(curve: Sequence[CurvePoint], people: int) -> list[str]:
    """The worst case of the largest number of events with an exact result."""
    exact = [point for point in curve if not point.figures["drawn"]]
    if not exact:
        return []
    point = exact[-1]
    worst = point.figures["worst"]
    event_count = _WORDS[point.m]
    if worst["alone"]:
        chance = (
            f"with certainty in the worst case for {number(worst['alone'])} of "
            f"{counted(people, 'person')}, and with a chance of"
        )
    else:
        chance = f"with a chance of {percent(worst['highest'])} at most, and of"
    most = (
        "it is the one that tells most"
        if point.m == 1
        else f"the {event_count.split()[0]} are those that tell most"
    )
    return [
        f"Someone who knows {event_count} of a person finds them {chance} "
        f"{percent(worst['average'])} on average if {most}."
    ]


def advice(events: Events | None, levels: Mapping[str, int] | None = None) -> str:
    """A suggestion for larger crowds: the next level of the last column."""
    if events is None:
        return ""
    leave = ", or leave a column out" if len(events.columns) > 1 else ""
    level = f"{listed(events.columns[-1:])}={(levels or {}).get(events.columns[-1], 0) + 1}"
    return f"Coarser events have larger crowds: --level {level}{leave}."


def _known_events(check: CheckResult, table: TableResult) -> Phrases:
    """The result of a check, how far it reaches, and its requirement."""
    m, k = check.parameters["m"], check.parameters["k"]
    details = check.details
    requirement = _requirement(check)
    share = percent(check.achieved)
    attacked, people = details["attacked"], table.summary.people or details["attacked"]
    events = "event" if m == 1 else "events"
    if not details["drawn"]:
        result = f"{share} {few(k)}{_further_figures(check)}"
        extent = (
            f"{number(check.violating_people or 0)} of {counted(people, 'person')} are "
            f"{few(k)} in the worst case; at random {percent(details['random']['share'])}"
        )
        return Phrases(result, extent, requirement)
    if check.undecided:
        result = f"a draw found {share} {few(k)}{_further_figures(check)}"
        return Phrases(
            result,
            f"that does not show that no choice of {m} {events} does worse",
            requirement,
        )
    of_all = "at least " if attacked == people else ""
    result = f"{of_all}{share} {few(k)}{_further_figures(check)}"
    whom = counted(attacked, "person")
    extent = (
        f"{number(check.violating_people or 0)} of {whom} were {few(k)} with {m} {events} drawn at "
        f"random (95{KEPT_TOGETHER}% interval {_percents(details['interval'])})"
    )
    return Phrases(result, extent, requirement)


def _percents(interval: Sequence[float]) -> str:
    low, high = (f"{100 * end:.1f}{KEPT_TOGETHER}%" for end in interval)
    return f"{low} to {high}"


_BOUNDS = {"max_share": "", "max_highest": "highest ", "max_average": "average "}


def _further_figures(check: CheckResult) -> str:
    """The further figures that are bounded."""
    figures = [
        f"{name} {percent(check.details[name])}"
        for name in ("highest", "average")
        if check.parameters.get(f"max_{name}") is not None
    ]
    return "".join(f", {figure}" for figure in figures)


def _requirement(check: CheckResult) -> str | None:
    bounds = [
        f"{words}at most {exact_percent(check.parameters[name])}"
        for name, words in _BOUNDS.items()
        if check.parameters.get(name) is not None
    ]
    return ", ".join(bounds) or None


def _km_anonymity(check: CheckResult, table: TableResult) -> Phrases:
    """The result of a check, how far it reaches, and its requirement."""
    m, k = check.parameters["m"], check.parameters.get("k")
    by_size = check.details["by_size"]
    combinations = sum(row["combinations"] or 0 for row in by_size)
    counted_to = max(row["size"] for row in by_size if row["combinations"] is not None)
    of_events = f"at most {counted_to} events" if counted_to > 1 else "one event"
    result = f"k is {'at most ' if not check.details['complete'] else ''}{number(check.achieved)}"
    requirement = None if k is None else number(k)
    uncounted = (
        ""
        if check.details["complete"]
        else f"; those of {counted_to + 1} events are too many to count"
    )
    if check.holds is False:
        people = table.summary.people or 0
        share = percent((check.violating_people or 0) / people) if people else ""
        extent = (
            f"{number(check.details['violating_combinations'])} of {number(combinations)} "
            f"combinations of {of_events} are shared by fewer than {counted(k or 0, 'person')}; "
            f"they occur in {counted(check.violating_people or 0, 'person')} ({share})"
        )
    else:
        extent = (
            f"each of {number(combinations)} combinations of {of_events} is shared by "
            f"{counted(check.achieved, 'person')} or more"
        )
    return Phrases(f"{result} for m = {m}", f"{extent}{uncounted}", requirement)


PHRASES = {"km_anonymity": _km_anonymity, "known_events": _known_events}
