"""What known events tell of people, in plain Python over every combination."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import combinations
from typing import Any

Record = Mapping[str, Any]
Event = tuple[Any, ...]
Combination = tuple[tuple[Event, int], ...]
"""The events of a combination, each with how often it occurs."""
Z = 1.959963984540054


class People:
    """The events of each person, with how often they have each."""

    def __init__(
        self, records: Sequence[Record], entity: str, events: Sequence[str], known: Sequence[str]
    ) -> None:
        self.columns = events
        self.events: dict[Any, Counter[Event]] = {}
        self.known: dict[Any, set[Event]] = {}
        for record in records:
            person, event = record[entity], tuple(record[each] for each in events)
            self.events.setdefault(person, Counter())[event] += 1
            self.known.setdefault(person, set()).add(tuple(record[each] for each in known))

    def held(self, person: Any, times: bool) -> Counter[Event]:
        """The person's events: a set, or as often as they occur."""
        found = self.events[person]
        return found if times else Counter(dict.fromkeys(found, 1))

    def crowd(self, person: Any, combination: Combination, times: bool) -> int:
        """How many people have all of these events, and are known to be like this person."""
        return sum(
            self.known[other] == self.known[person]
            and all(self.held(other, times)[event] >= often for event, often in combination)
            for other in self.events
        )

    def chosen(self, person: Any, size: int, times: bool) -> Counter[Combination]:
        """Every combination of so many of a person's records, and how many choices give it."""
        slots = sorted(self.held(person, times).elements(), key=repr)
        return Counter(
            tuple(sorted(Counter(each).items(), key=repr)) for each in combinations(slots, size)
        )


def figures(records: Sequence[Record], people: People) -> dict[str, Any] | None:
    """The events of the table at a glance."""
    if not records:
        return None
    numbers = [len(events) for events in people.events.values()]
    return {
        "columns": list(people.columns),
        "distinct": len({event for events in people.events.values() for event in events}),
        "person_events": sum(numbers),
        "fewest": min(numbers),
        "most": max(numbers),
        "records_with_null_event": sum(
            any(record[each] is None for each in people.columns) for record in records
        ),
    }


def km_anonymity(people: People, k: int | None, m: int, times: bool) -> dict[str, Any]:
    """Terrovitis et al. 2008, section 3."""
    by_size, shortfall, crowds, violators = [], {}, [], set()
    for size in range(1, m + 1):
        occurring: dict[Any, int] = {}
        for person in people.events:
            for combination in people.chosen(person, size, times):
                crowd = people.crowd(person, combination, times)
                occurring[frozenset(people.known[person]), combination] = crowd
                if crowd < (k or 0):
                    violators.add(person)
        crowds += occurring.values()
        below = None if k is None else sum(crowd < k for crowd in occurring.values())
        by_size.append({"size": size, "combinations": len(occurring), "violating": below})
        if k is not None:
            shortfall[str(size)] = sum(max(k - crowd, 0) for crowd in occurring.values())
    achieved = min(crowds)
    return {
        "achieved": achieved,
        "holds": None if k is None else achieved >= k,
        "violating_classes": None,
        "violating_records": None,
        **({} if k is None else {"violating_people": len(violators)}),
        "violating_combinations": None
        if k is None
        else sum(each["violating"] or 0 for each in by_size),
        "complete": True,
        "by_size": by_size,
        "shortfall_by_size": shortfall,
    }


def expanded(people: People, m: int) -> int:
    """How many combinations there are to expand, of events that somebody else has too."""
    shared = [
        sum(people.crowd(person, ((event, 1),), False) > 1 for event in people.events[person])
        for person in people.events
    ]
    return sum(math.comb(number, size) for number in shared for size in range(2, m + 1))


def known_events(people: People, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Everyone attacked with every combination, or a draw of them."""
    m, k, times = parameters["m"], parameters["k"], parameters["times"]
    is_exact = m == 1 or (m <= 3 and expanded(people, m) <= parameters["max_combinations"])
    everyone = len(people.events)
    numbers = {person: people.held(person, times).total() for person in people.events}
    fewer = sum(number < m for number in numbers.values())
    if is_exact:
        worst, at_random = _every_combination(people, m, k, times)
        random = {name: float(sum(each) / everyone) for name, each in at_random.items()}
    else:
        worst = [people.crowd(*each, times) for each in draw(people, parameters)]
    attacked, below = len(worst), sum(crowd < k for crowd in worst)
    found = {
        "share": below / attacked,
        "alone": sum(crowd == 1 for crowd in worst),
        "highest": float(Fraction(1, min(worst))),
        "average": float(sum(Fraction(1, crowd) for crowd in worst) / attacked),
    }
    if not is_exact:
        random = found | {"alone": found["alone"] / attacked}
    bounds = {
        "max_share": Fraction(below, everyone),
        "max_highest": Fraction(1, min(worst)),
        "max_average": sum(Fraction(1, crowd) for crowd in worst) / everyone,
    }
    given = {name: Fraction(str(parameters[name])) for name in bounds if name in parameters}
    exceeded = any(bounds[name] > bound for name, bound in given.items())
    holds, evidence = (not exceeded, "exact") if is_exact else (False, "witnesses")
    if not is_exact and not exceeded:
        bound = given.get("max_share")
        is_rare = bound is not None and _tail(below, attacked, bound) < Fraction(25, 1000)
        holds, evidence = (False, "interval") if is_rare else (None, "draw")
    return {
        "achieved": found["share"],
        "holds": holds if given else None,
        "violating_classes": None,
        "violating_records": None,
        "violating_people": below,
        "drawn": not is_exact,
        "evidence": evidence,
        "attacked": attacked,
        "fewer": fewer,
        "interval": None if is_exact else wilson(below, attacked),
        "worst": found if is_exact else None,
        "random": random,
        "highest": found["highest"],
        "average": found["average"],
    }


def _every_combination(
    people: People, m: int, k: int, times: bool
) -> tuple[list[int], dict[str, list[Fraction]]]:
    """Each person's smallest crowd, and their chances at random."""
    worst: list[int] = []
    at_random: dict[str, list[Fraction]] = {"share": [], "alone": [], "average": []}
    for person in people.events:
        size = min(m, people.held(person, times).total())
        choices = people.chosen(person, size, times)
        crowds = {each: people.crowd(person, each, times) for each in choices}
        worst.append(min(crowds.values()))
        whole = choices.total()
        for name, of in (
            ("share", lambda crowd: Fraction(crowd < k)),
            ("alone", lambda crowd: Fraction(crowd == 1)),
            ("average", lambda crowd: Fraction(1, crowd)),
        ):
            at_random[name].append(
                sum((of(crowds[each]) * n for each, n in choices.items()), Fraction(0)) / whole
            )
    return worst, at_random


def draw(people: People, parameters: Mapping[str, Any]) -> Iterator[tuple[Any, Combination]]:
    """The people attacked, each with the events that are known."""
    seed, times = parameters["seed"], parameters["times"]
    order = sorted(people.events, key=lambda person: digest(seed, person))
    for person in order[: parameters["sample"]]:
        slots = [
            (event, copy)
            for event, often in people.held(person, times).items()
            for copy in range(1, often + 1)
        ]
        slots.sort(key=lambda slot: digest(seed, person, *slot[0], *([slot[1]] if times else [])))
        known = Counter(event for event, _ in slots[: parameters["m"]])
        yield person, tuple(known.items())


def digest(seed: int, *cells: Any) -> str:
    """The hash by which a draw is ordered."""
    texts = ("," if cell is None else f",{len(text(cell))}:{text(cell)}" for cell in cells)
    return hashlib.md5(f"{seed}{''.join(texts)}".encode()).hexdigest()


def text(cell: Any) -> str:
    match cell:
        case bool():
            return str(cell).lower()
        case datetime():
            fraction = f".{cell.microsecond:06d}".rstrip("0") if cell.microsecond else ""
            return f"{cell:%Y-%m-%d %H:%M:%S}{fraction}"
        case date():
            return cell.isoformat()
    return str(cell)


def wilson(found: int, attacked: int) -> list[float]:
    n, x = attacked, found
    centre = (x / n + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * math.sqrt(x * (n - x) / n**3 + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return [0.0 if x == 0 else centre - half, 1.0 if x == n else centre + half]


def _tail(found: int, attacked: int, share: Fraction) -> Fraction:
    """The chance that so many attacks or more succeed, exactly."""
    return sum(
        (
            math.comb(attacked, x) * share**x * (1 - share) ** (attacked - x)
            for x in range(found, attacked + 1)
        ),
        Fraction(0),
    )
