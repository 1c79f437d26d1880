"""Synthetic tables nobody thought of: three tables of few values, with people in some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import oracle
from generated import BOOLEAN, DATE, INTEGER, NAMES, PERSON, TEXT, TIME, Filled, Kind
from hypothesis import assume
from hypothesis import strategies as st
from oracle_of_synthesis import Units

KINDS = (TEXT, TEXT, INTEGER, DATE, BOOLEAN, TIME)
OF_ORIGINAL, OF_HOLDOUT = PERSON.values, ("h", "H", "h ", "é")
BOUNDS = st.sampled_from((0, 0.1, 0.25, 0.33, 0.5, 1))
DIFFERENCES = st.sampled_from((-1, -0.2, 0, 0.1, 0.5, 0.9, 1))


@dataclass(frozen=True)
class Synthesis:
    """A synthetic table, its original and a holdout, with what is asked of them."""

    table: Filled
    original: Filled
    holdout: Filled | None
    question: oracle.Question


def checks(sensitive: str | None, with_holdout: bool) -> st.SearchStrategy[dict[str, Any]]:
    """One of the models with some of its bounds."""
    excess = {"max_excess": DIFFERENCES} if with_holdout else {}
    shares = {"max_share": BOUNDS, **excess}
    models: dict[str, st.SearchStrategy[dict[str, Any]]] = {
        "copied_records": st.fixed_dictionaries({}, optional=shares),
        "replicated_uniques": st.fixed_dictionaries({}, optional=shares),
        "singling_out": st.fixed_dictionaries(
            {"m": st.integers(1, 3)}, optional={**shares, "max_rate": BOUNDS}
        ),
    }
    if sensitive is not None:
        target = {"sensitive": st.just(sensitive)}
        models["disclosive_in_synthetic"] = st.fixed_dictionaries(target, optional=shares)
        models["correct_attribution"] = st.fixed_dictionaries(
            target, optional={"max_average": BOUNDS, "max_gain": DIFFERENCES, **excess}
        )
    return st.sampled_from(list(models)).flatmap(
        lambda name: models[name].map(lambda parameters: {name: parameters})
    )


@st.composite
def syntheses(draw: st.DrawFn, kinds: tuple[Kind, ...] = KINDS) -> Synthesis:
    """Up to ten records each, of one to three keys, at times a target and a column beside."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=7, max_size=7, unique=True))
    person, other_name = names[5], names[6]
    keys = names[: draw(st.integers(1, 3))]
    sensitive = draw(st.sampled_from([None, names[3]]))
    columns = [*keys, *([sensitive] if sensitive else []), *names[4 : 4 + draw(st.integers(0, 1))]]
    drawn = [draw(st.sampled_from(kinds)) for _ in columns]
    some = [
        draw(st.lists(st.sampled_from((None, *k.values)), min_size=1, max_size=3)) for k in drawn
    ]
    row = st.tuples(*map(st.sampled_from, some))
    people = draw(st.sampled_from(["none", "none", "of both", "of the original"]))

    def table(least: int, most: int, who: tuple[str, ...] | None, named: list[str]) -> Filled:
        whose = st.sampled_from(who) if who else st.just(())
        rows = draw(st.lists(st.tuples(row, whose), min_size=least, max_size=most))
        cells = tuple((*values, one) if who else values for values, one in rows)
        types = [kind.type for kind in drawn] + ([PERSON.type] if who else [])
        return Filled((*named, *([person] if who else [])), tuple(types), cells)

    renamed = {keys[0]: other_name} if draw(st.booleans()) else {}
    there = [renamed.get(name, name) for name in columns]
    own = OF_ORIGINAL if people == "of both" else None
    others = None if people == "none" else (OF_ORIGINAL, OF_HOLDOUT)
    synthetic = table(1, 10, own, columns)
    original = table(1, 10, others and others[0], there)
    holdout = table(1, 8, others and others[1], there) if draw(st.booleans()) else None
    for place in range(len(columns)):
        s, o = ({r[place] for r in t.rows} - {None} for t in (synthetic, original))
        assume(bool(s & o) or not (s or o))
    entity = None if people == "none" else person
    asked = draw(st.lists(checks(sensitive, holdout is not None), max_size=4))
    return Synthesis(
        synthetic,
        original,
        holdout,
        oracle.Question(
            quasi_identifiers=keys,
            sensitive=[sensitive] if sensitive else [],
            entity=person if people == "of both" else None,
            sensitive_nulls=draw(st.sampled_from(["value", "value", "unknown"])),
            original=Units(original.records, entity, renamed),
            holdout=Units(holdout.records, entity, renamed) if holdout else None,
            checks=asked,
        ),
    )


SHARES = {"max_share": 0.3, "max_excess": 0.2}
ALL_CHECKS: list[dict[str, dict[str, Any]]] = [
    {"copied_records": SHARES},
    {"replicated_uniques": SHARES},
    {"singling_out": {"m": 2, "max_rate": 0.4, **SHARES}},
    {"disclosive_in_synthetic": {"sensitive": "n", **SHARES}},
    {"disclosive_in_synthetic": {"sensitive": "n", "allowed": ["a'", "b"], "max_share": 0}},
    {"correct_attribution": {"sensitive": "n", "max_average": 0.5, "max_gain": 0.1}},
]
NAMED = ("it's", 'a"b', "zip ☃", "n", "select")
TYPED = (TEXT.type, INTEGER.type, TEXT.type, TEXT.type, DATE.type)


def everything(people: str) -> Synthesis:
    """Every model of three tables: with people in `none` of them, in `both`, or the `original`."""

    def table(seed: int, records: int, whose: str) -> Filled:
        rows = [
            (
                (None, "a", "A", "a ")[(each * seed) % 4],
                (1, 2, None)[(each + seed) % 3],
                ("x", "y")[each % (1 + seed % 3) % 2],
                ("a'", "b", None, "d" if seed == 5 else "c")[(each * seed + each // 3) % 4],
                DATE.values[each * seed % len(DATE.values)],
            )
            for each in range(records)
        ]
        own = [(*row, f"{whose}{place * 2 // 3}") for place, row in enumerate(rows)]
        names, types = (*NAMED, "person"), (*TYPED, TEXT.type)
        return Filled(names, types, tuple(own)) if whose else Filled(NAMED, TYPED, tuple(rows))

    whose = {"none": ("", "", ""), "both": ("s", "o", "h"), "original": ("", "o", "h")}[people]
    synthetic, original, holdout = (
        table(seed, records, who)
        for seed, records, who in zip((1, 3, 5), (23, 17, 11), whose, strict=True)
    )
    entity = "person" if people != "none" else None
    return Synthesis(
        synthetic,
        original,
        holdout,
        oracle.Question(
            quasi_identifiers=NAMED[:3],
            sensitive=["n"],
            entity="person" if people == "both" else None,
            original=Units(original.records, entity),
            holdout=Units(holdout.records, entity),
            checks=ALL_CHECKS,
        ),
    )
