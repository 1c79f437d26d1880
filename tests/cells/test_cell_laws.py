"""Laws of the rules for cells: what changes nothing, and what follows from what."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow
from generated import fewer
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon

Ledger = list[tuple[str | None, str | None, int, int | None]]
NAMES = ("region", "sector", "firm", "turnover")
TYPES = (pyarrow.string(), pyarrow.string(), pyarrow.int64(), pyarrow.int64())
LABELS = ("a, b", "Total", "NULL", "🦉", "it's", '"x"', "*", "", " ")
"""Labels that an option, SQL or a total could trip over."""


@st.composite
def ledgers(draw: st.DrawFn, least: int = 0) -> Ledger:
    some = st.sampled_from
    record = st.tuples(
        some(["N", "S", None]),
        some(["a", "b", "c"]),
        st.integers(1, 4),
        some([None, least, 1, 2, 5, 10, 10, 90, 100]),
    )
    return draw(st.lists(record, min_size=1, max_size=14))


CHECKS = [
    kanon.MinContributors(n=2),
    kanon.MinContributors(n=2, zeros="disclosive"),
    kanon.Dominance(n=1, k=60),
    kanon.Dominance(n=2, k=80),
    kanon.PPercent(p=25),
    kanon.GroupDisclosure(),
    kanon.Derivable(),
]


def checks_of(ledger: Ledger, checks: Sequence[Any] = CHECKS, **given: Any) -> list[dict[str, Any]]:
    table = pyarrow.Table.from_pylist(
        [dict(zip(NAMES, row, strict=True)) for row in ledger],
        schema=pyarrow.schema(list(zip(NAMES, TYPES, strict=True))),
    )
    asked = {"value": "turnover", "checks": checks, **given}
    [result] = kanon.tables(table, ["region", "sector"], **asked).tables
    return [each.to_dict() for each in result.checks]


def close(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures, rounded where a quotient was."""
    return [
        {key: round(each, 9) if isinstance(each, float) else each for key, each in check.items()}
        for check in found
    ]


WHOSE = st.sampled_from([None, "firm"])


@fewer
@given(ledgers(), WHOSE, st.randoms(use_true_random=False))
def test_the_order_of_the_records_changes_nothing(
    ledger: Ledger, contributor: str | None, chance: random.Random
) -> None:
    shuffled = chance.sample(ledger, len(ledger))

    assert close(checks_of(shuffled, contributor=contributor)) == close(
        checks_of(ledger, contributor=contributor)
    )


@fewer
@given(ledgers(), WHOSE, st.permutations(LABELS))
def test_the_names_of_the_labels_change_nothing(
    ledger: Ledger, contributor: str | None, labels: list[str]
) -> None:
    called = dict(zip(["N", "S", "a", "b", "c"], labels, strict=False))
    renamed = [
        (None if region is None else called[region], called[sector or ""], *rest)
        for region, sector, *rest in ledger
    ]

    assert close(checks_of(renamed, contributor=contributor)) == close(
        checks_of(ledger, contributor=contributor)
    )


@fewer
@given(ledgers(), WHOSE, st.sampled_from([3, 1000, 10**6]))
def test_the_unit_of_the_value_changes_nothing(
    ledger: Ledger, contributor: str | None, factor: int
) -> None:
    scaled = [
        (*key, firm, None if value is None else value * factor) for *key, firm, value in ledger
    ]

    here = checks_of(ledger, contributor=contributor)
    for check in here:
        if check.get("narrowest") is not None:
            check["narrowest"] *= factor
    assert close(checks_of(scaled, contributor=contributor)) == close(here)


@fewer
@given(ledgers(), WHOSE, st.data())
def test_a_record_more_in_a_cell_never_lowers_its_contributors(
    ledger: Ledger, contributor: str | None, data: st.DataObject
) -> None:
    region, sector, _, _ = data.draw(st.sampled_from(ledger))
    threshold = [kanon.MinContributors(n=3)]
    more = [*ledger, (region, sector, data.draw(st.integers(1, 5)), 7)]

    [before] = checks_of(ledger, threshold, contributor=contributor, value=None)
    [after] = checks_of(more, threshold, contributor=contributor, value=None)

    assert after["achieved"] >= before["achieved"]
    assert after["violating_cells"] <= before["violating_cells"]


@fewer
@given(ledgers(), WHOSE, st.integers(1, 4), st.sampled_from([None, "turnover"]))
def test_zeros_that_disclose_never_hold_where_zeros_that_are_allowed_do_not(
    ledger: Ledger, contributor: str | None, n: int, value: str | None
) -> None:
    both = [kanon.MinContributors(n=n, zeros=zeros) for zeros in ("allowed", "disclosive")]

    allowed, disclosive = checks_of(ledger, both, contributor=contributor, value=value)[:2]

    assert allowed["holds"] or not disclosive["holds"]
    assert disclosive["violating_cells"] >= allowed["violating_cells"]


@fewer
@given(ledgers(), WHOSE, st.sampled_from([(50, 100), (80, 25), (90, 11)]))
def test_what_is_safe_under_dominance_of_two_is_safe_under_p_percent(
    ledger: Ledger, contributor: str | None, bounds: tuple[int, int]
) -> None:
    """k = 100 · 100 / (100 + p)."""
    k, p = bounds
    of_two = kanon.Dominance(n=2, k=k)

    dominance, p_percent = checks_of(
        ledger, [of_two, kanon.PPercent(p=p)], contributor=contributor
    )[:2]

    assert p_percent["holds"] or not dominance["holds"]
    assert p_percent["violating_cells"] <= dominance["violating_cells"]


@fewer
@given(
    st.lists(st.integers(0, 9), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1),
    st.sets(st.integers(0, 5)),
)
def test_showing_a_suppressed_cell_never_hides_another(
    counts: list[int], hidden: set[int], shown: set[int]
) -> None:
    """A finer pattern of suppression never derives fewer of the cells that are left."""
    many, few_ = (_derived(counts, each) for each in (hidden, hidden - shown))

    assert few_ >= many - len(hidden & shown)


def _derived(counts: list[int], hidden: set[int]) -> int:
    """How many cells of a table of two rows and three columns can be computed."""
    inner = [(f"r{place // 3}", f"c{place % 3}", count) for place, count in enumerate(counts)]
    cells = [
        (region, sector, "*" if place in hidden else str(count))
        for place, (region, sector, count) in enumerate(inner)
    ]
    for keys in ({"r0"}, {"r1"}, {"c0"}, {"c1"}, {"c2"}, set()):
        total = sum(count for *key, count in inner if keys <= set(key))
        name = next(iter(keys), "")
        row = name if name.startswith("r") else "Total"
        cells.append((row, name if name.startswith("c") else "Total", str(total)))
    table = pyarrow.table(dict(zip(("row", "column", "n"), zip(*cells, strict=True), strict=True)))
    [result] = kanon.tables(
        table,
        ["row", "column"],
        value="n",
        published=True,
        suppressed="*",
        total_label="Total",
        totals="true",
        derivable=True,
    ).tables
    return int(result.checks[0].achieved)
