"""Levels that are searched beside an earlier release of the same people: what plain Python finds
by looking at every node."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest

import kanon_sql as kanon

Row = tuple[Hashable, ...]
HEIGHTS = {"zip": 3, "age": 2, "sex": 1}


def label(column: str, value: str | None, level: int) -> str | None:
    """What `mask:right` of two digits, `width:20` with suppress and suppress make of a value."""
    if column == "zip" and value is None:
        return None
    if level == HEIGHTS[column]:
        return "*" * (3 if column == "zip" else 1)
    if level == 0 or value is None:
        return value
    if column == "age":
        low = int(value) // 20 * 20
        return f"[{low},{low + 20})"
    return value[: 3 - level] + "*" * level


@dataclass(frozen=True)
class Case:
    """A table and an earlier release, a row for each record: whose it is, and what it shows."""

    now: list[Row]
    before: list[Row]
    k: int
    composed: int
    budget: int


def drawn(seed: int) -> Case:
    rng = random.Random(seed)
    people = rng.randint(6, 24)
    zips, ages = ["021", "022", "031", None], ["25", "31", "48", "50"]
    once = seed % 2 == 0

    def records(some: list[int]) -> Iterator[Row]:
        for person in some:
            for _ in range(1 if once else rng.choice([1, 1, 2])):
                yield (
                    person, rng.choice(zips if seed % 3 else zips[:3]), rng.choice(ages),
                    rng.choice("fm"),
                )  # fmt: skip

    everyone = list(range(people))
    now = list(records(rng.sample(everyone, rng.randint(people // 2, people))))
    before = [(p, z and z[:2], s) for p, z, _, s in records(everyone)]
    if rng.random() < 0.3:
        before = [(p, z, "f") for p, z, _ in before]
    return Case(now, before, rng.randint(1, 2), rng.randint(2, 4), rng.choice([0, 0, 3, 6]))


def classes_of(rows: list[Row]) -> dict[Hashable, frozenset[Row]]:
    """The classes of each person."""
    found: dict[Hashable, set[Row]] = defaultdict(set)
    for person, *shown in rows:
        found[person].add(tuple(shown))
    return {person: frozenset(classes) for person, classes in found.items()}


def small(now: list[Row], before: list[Row], k: int) -> set[Hashable]:
    """Those in both releases who share their classes of either with fewer than k."""
    here, there = classes_of(now), classes_of(before)
    both = {person: (here[person], there[person]) for person in here if person in there}
    crowds = Counter(both.values())
    return {person for person, classes in both.items() if crowds[classes] < k}


@dataclass(frozen=True)
class Best:
    precision: Fraction
    suppressed: int
    levels: tuple[int, ...]


NODES = list(product(*(range(height + 1) for height in HEIGHTS.values())))


def released(case: Case, node: tuple[int, ...]) -> tuple[list[Row], list[Row]]:
    """The records at a node, and those of them in classes that pass."""
    shown = [
        (person, *(label(c, v, h) for c, v, h in zip(HEIGHTS, values, node, strict=True)))
        for person, *values in case.now
    ]
    people: dict[Row, set[Hashable]] = defaultdict(set)
    for person, *values in shown:
        people[tuple(values)].add(person)
    alone = small(shown, case.before, case.composed)
    failing = {c for c, who in people.items() if len(who) < case.k or who & alone}
    return shown, [row for row in shown if row[1:] not in failing]


def exhaustive(case: Case, *, star: bool = False) -> Best | None:
    n, found = len(case.now), []
    for node in NODES:
        shown, kept = released(case, node)
        # Leaving out every class in which someone's crowd is too small leaves no such crowd.
        assert not small(kept, case.before, case.composed)
        s = n - len(kept)
        if s > case.budget:
            continue
        if star and s:
            starred = [(row[0], *(row[1:] if row in kept else ("*",))) for row in shown]
            if len({row[0] for row in shown if row not in kept}) < case.k:
                continue
            if small(starred, case.before, case.composed):
                continue
        heights = HEIGHTS.values()
        share = sum((Fraction(h, top) for h, top in zip(node, heights, strict=True)), Fraction())
        lost = share * (n - s) + len(HEIGHTS) * s
        found.append((lost, s, sum(node), node))
    if not found:
        return None
    lost, s, _, node = min(found)
    return Best(1 - lost / (n * len(HEIGHTS)), s, node)


def table(rows: list[Row], *names: str) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})


def searched(
    case: Case, algorithm: str = "optimal", metric: str | None = "precision", **more: object
) -> kanon.AnonymizationResult:
    hierarchies: Mapping[str, object] = {
        "zip": [{"mask": "right"}],
        "age": [{"width": 20}, "suppress"],
        "sex": ["suppress"],
    }
    return kanon.anonymize(
        table(case.now, "person", *HEIGHTS),
        quasi_identifiers={name: {"levels": levels} for name, levels in hierarchies.items()},
        entity="person",
        earlier_releases=kanon.EarlierReleaseSpec(
            source=table(case.before, "person", "zip", "sex"), quasi_identifiers=["zip", "sex"]
        ),
        checks=[kanon.KAnonymity(k=case.k), kanon.ComposedKAnonymity(k=case.composed)],
        algorithm=algorithm,
        metric=metric,
        max_suppressed=case.budget,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("seed", range(20))
def test_it_finds_what_exhaustive_search_finds(seed: int) -> None:
    case = drawn(seed)
    expected = exhaustive(case)

    found = searched(case).anonymization

    if expected is None:
        assert found.reached_top
        left_out = [
            (len(case.now) - len(kept), sum(node), node)
            for node in NODES
            if (kept := released(case, node)[1])
        ]
        assert (found.nearest is None) == (not left_out)
        if found.nearest is not None:
            nearest = tuple(found.nearest.levels.values())
            assert (found.nearest.records_violating, sum(nearest), nearest) == min(left_out)
        assert searched(case, "datafly", None).anonymization.nearest == found.nearest
        return
    assert found.nearest is None
    assert tuple(found.levels.values()) == expected.levels
    assert found.suppressed == expected.suppressed
    assert found.metrics.precision == pytest.approx(float(expected.precision), abs=1e-12)


def test_one_class_that_fails_by_the_earlier_release_is_said_to() -> None:
    """More suppression helps, although every record is in violating classes at the top."""
    people = {"zip": list("aaaabbbb"), "who": list(range(8))}
    earlier = {"zip": list("aaaacc"), "who": [0, 1, 2, 3, 4, 5]}
    vain = kanon.anonymize(
        pa.table(people), "zip", entity="who", k=3, algorithm="optimal",
        earlier_releases=pa.table(earlier), checks=[kanon.ComposedKAnonymity(k=3)],
    )  # fmt: skip
    text = " ".join(str(vain).split())

    assert "all records are one class, which fails too" in text
    assert "the crowds of 2 are the earlier release's" in text
    assert "which max_suppressed 4 would leave out" in text


def test_a_search_in_vain_says_which_levels_come_nearest() -> None:
    vain = (case for case in map(drawn, range(40)) if exhaustive(case) is None)
    case, near = next(
        (case, found) for case in vain if (found := searched(case)).anonymization.nearest
    )
    violating = near.anonymization.nearest.records_violating
    text = " ".join(str(near).split())

    assert "The nearest levels are zip " in text
    assert f"in violating classes there, which max_suppressed {violating} would leave out." in text
    again = searched(replace(case, budget=violating))
    assert again.holds


@pytest.mark.parametrize("seed", range(12))
def test_suppressed_records_that_stay_are_a_class_with_crowds_of_its_own(seed: int) -> None:
    case = replace(drawn(seed), budget=12)
    expected = exhaustive(case, star=True)

    result = searched(case, suppressed="star")
    found = result.anonymization

    assert found.reached_top == (expected is None)
    if expected is not None:
        assert tuple(found.levels.values()) == expected.levels
        assert found.suppressed == expected.suppressed
        assert result.holds
