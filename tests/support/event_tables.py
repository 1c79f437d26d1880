"""Event tables nobody thought of: people with few events each, of which many are shared."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import oracle
import pyarrow
from generated import BOOLEAN, DATE, IN_A_LIST, INTEGER, NAMES, TEXT, TIME, Filled, Kind
from hypothesis import strategies as st

KINDS = (TEXT, INTEGER, DATE, BOOLEAN, TIME)
"""The types with a text that is the same in every database; a float has none."""
PEOPLE = ("p", "P", "p ", "", "é")


@st.composite
def event_tables(
    draw: st.DrawFn, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Filled, oracle.Question]:
    """Up to five people with up to five records each; at times quasi-identifiers are known too."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4, unique=True))
    events = names[1 : 2 + draw(st.integers(0, 1))]
    drawn = [draw(st.sampled_from(kinds)) for _ in range(2)]
    some = [
        draw(st.lists(st.sampled_from((None, *kind.values)), min_size=1, max_size=3))
        for kind in drawn
    ]
    rows = []
    for person in draw(st.lists(st.sampled_from(PEOPLE), max_size=5, unique=True)):
        known = draw(st.sampled_from((None, "x", "y")))
        for _ in range(draw(st.integers(1, 5))):
            cells = [draw(st.sampled_from(values)) for values in some]
            rows.append((person, *cells, known))
    table = Filled(
        tuple(names),
        (pyarrow.string(), *(kind.type for kind in drawn), pyarrow.string()),
        tuple(rows),
    )
    checks = draw(st.lists(st.one_of(km_anonymity(), known_events()), max_size=3))
    return table, oracle.Question(
        quasi_identifiers=names[3:] if draw(st.booleans()) else [],
        entity=names[0],
        events=events,
        checks=checks,
    )


def km_anonymity() -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    return st.fixed_dictionaries(
        {"m": st.integers(1, 3)},
        optional={"k": st.integers(1, 4), "times": st.booleans()},
    ).map(lambda parameters: {"km_anonymity": parameters})


def known_events() -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """Drawn for four events, and for fewer where no combination may be counted."""
    shares = st.sampled_from((0, 0.25, 0.33, 0.5, 0.6, 1))
    return st.fixed_dictionaries(
        {"m": st.integers(1, 4)},
        optional={
            "k": st.integers(2, 4),
            "times": st.booleans(),
            "max_combinations": st.sampled_from((0, 500_000_000)),
            "seed": st.sampled_from((0, 1, 7)),
            "max_share": shares,
            "max_highest": shares,
            "max_average": shares,
        },
    ).map(lambda parameters: {"known_events": parameters})


VISITS = Filled(
    ("it's", 'a"b', "zip ☃", "kanon_records", "n", "{{ x }}"),
    (
        pyarrow.string(),
        pyarrow.string(),
        pyarrow.date32(),
        pyarrow.int64(),
        pyarrow.timestamp("us"),
        pyarrow.string(),
    ),
    tuple(
        (
            f"p{person}{'é' if person % 3 else ''}",
            (None, *IN_A_LIST.values[:9])[(person * 7 + visit * visit) % 10],
            (None, date(1899, 12, 31), date(2038, 1, 20))[(person + visit) % 3],
            (None, -(2**53) - 1, 0, 10)[visit % 4],
            (None, datetime(2025, 1, 31, 9), datetime(2025, 1, 31, 9, 0, 0, 120_000))[visit % 3],
            (None, "x")[person % 2],
        )
        for person in range(14)
        for visit in range(1 + person % 5)
    ),
)
CHECKS = [
    {"km_anonymity": {"k": 2, "m": 3}},
    {"km_anonymity": {"k": 3, "m": 2, "times": True}},
    {"known_events": {"m": 1, "max_share": 0.5}},
    {"known_events": {"m": 2, "max_average": 0.9, "times": True}},
    {"known_events": {"m": 3, "k": 3, "max_share": 0.5, "max_highest": 1}},
    {"known_events": {"m": 2, "max_combinations": 0, "max_share": 1}},
    {"known_events": {"m": 4, "times": True, "seed": 7}},
]


def visits(events: list[str], quasi_identifiers: list[str]) -> tuple[Filled, oracle.Question]:
    """Every form of both models, of events with NULL, dates, moments and odd texts."""
    question = oracle.Question(
        quasi_identifiers=quasi_identifiers, entity="it's", events=events, checks=CHECKS
    )
    return VISITS, question
