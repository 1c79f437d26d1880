"""Compares a check with an earlier audit: same check or another, better or worse.

Each model declares in which direction its figures get worse; no model is treated specially here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import CheckResult, Summary, TableResult, plain_json
from kanon_sql.spec.models.base import Model, Worst
from kanon_sql.spec.models.catalogue import ALL_MODELS, CELL_MODELS
from kanon_sql.sql.quoting import SLACK_OF_DISTANCES

Change = Literal["same", "better", "worse", "changed"]
"""`changed`: neither better nor worse, or not comparable."""
Demand = Literal["same", "weaker", "stricter", "changed"]
"""Change of a check's thresholds; `changed` is weaker in one and stricter in another."""
By = Literal["share", "count"]
"""Compare records and people by share, as tables grow and shrink, or by number."""
Sizes = tuple[Summary, Summary]
"""The summaries of both tables, as denominators."""
VIOLATING: dict[str, Worst] = dict.fromkeys(
    ("violating_classes", "violating_records", "violating_people"), "greatest"
)
IN_CELLS = ("violating_cells", "undecided_cells", "small_remainders")
"""The counts by which a rule for cells gets worse, besides its achieved figure."""
_IN_RECORDS = {"violating_classes": "violating_records", "unmatched_classes": "unmatched_records"}
"""For counts of classes, the figure with the records in them."""
_PARTS = ("records", "people", "classes")
QUESTION = {
    "quasi_identifiers": "quasi-identifiers",
    "entity": "entity",
    "events": "events",
    "levels": "levels",
    "nulls": "nulls",
    "sensitive_nulls": "sensitive nulls",
    "where": "filter",
    "first": "number of first records",
    "sources": "references or hierarchies",
}
"""The parts of a question that must agree for tables to be comparable, with their display names."""
CELL_QUESTION = {
    "by": "dimensions",
    "value": "value",
    "contributor": "contributor",
    "weight": "weight",
    "published": "records or published cells",
    "margins": "margins",
    "figure": "kind of figure",
    "where": "filter",
    "first": "number of first records",
    "against": "second tables",
}
"""The same for a published table."""
OTHER_RECORDS = ("where", "first", "sources", "against")
"""Parts that may differ while figures stay comparable: another filter is like another file."""


@dataclass(frozen=True)
class Figure:
    """A figure of both results, and how it changed."""

    name: str
    old: Any
    new: Any
    change: Change
    of: tuple[int, int] | None = None
    """The old and the new denominator, where shares are compared."""
    is_judged: bool = True
    """Whether a change can be better or worse."""

    def to_dict(self) -> dict[str, Any]:
        of = {"of": dict(zip(("old", "new"), self.of, strict=True))} if self.of else {}
        return {"old": self.old, "new": self.new, **of, "change": self.change}


def figure(
    name: str, old: Any, new: Any, worst: Worst | None, of: tuple[int, int] | None = None
) -> Figure:
    """Compare a figure, or its share `of` the totals; without `worst` it can only differ."""
    if worst is None:
        return Figure(name, old, new, "same" if old == new else "changed", is_judged=False)
    if of is None or not (_is_number(old) and _is_number(new)):
        return Figure(name, old, new, change(old, new, worst))
    # Cross-multiply, so that counts stay integers.
    return Figure(name, old, new, change(old * of[1], new * of[0], worst), of)


def change(before: Any, after: Any, worst: Worst) -> Change:
    """Compare two values of a figure whose `worst` direction is known.

    >>> change(5, 3, "least"), change(0.1, 0.1 + 1e-12, "greatest"), change(None, 3, "least")
    ('worse', 'same', 'changed')
    """
    if before == after:
        return "same"
    if not (_is_number(before) and _is_number(after)):
        return "changed"
    if _is_same(before, after):
        return "same"
    return "worse" if (after < before) == (worst == "least") else "better"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(before: float, after: float) -> bool:
    """Whether two numbers are equal up to rounding of sums; integers are compared exactly."""
    if isinstance(before, int) and isinstance(after, int):
        return before == after
    return math.isclose(before, after, rel_tol=SLACK_OF_DISTANCES, abs_tol=SLACK_OF_DISTANCES)


def figures(check: CheckResult) -> dict[str, Worst]:
    """The figures by which a check is compared, with their worst direction."""
    if check.model in CELL_MODELS:
        return model_of(check).figures | {
            name: "greatest" for name in IN_CELLS if check.details.get(name) is not None
        }
    found = {**model_of(check).figures, **VIOLATING}
    if check.violating_people is None:
        # No entity, or written by a version without this figure.
        del found["violating_people"]
    return found


def changes(before: CheckResult, after: CheckResult, sizes: Sizes | None) -> Iterator[Figure]:
    """Compare every figure of a check; violations are judged only if the thresholds are the same.

    With the `sizes` of both tables, shares are compared. Counts of classes are judged only if the
    records in them are unknown, as the same share of violating records may fall into more or fewer
    classes. Measured checks lack that figure, and are judged where either count is zero.
    """
    then, now = before.figures, after.figures
    as_before = demand(before, after) == "same"
    for name, worst in figures(after).items():
        if name == "violating_people" and then.get(name) is None:
            continue
        of = _whole_of(name, before, after, sizes) if sizes else None
        twin = _IN_RECORDS.get(_counted(name, after), "")
        # In composition, people violate and no records, so their count is decisive.
        twins = (twin, "violating_people") if name == "violating_classes" else (twin,)
        is_complete = any(None not in (then.get(each), now.get(each)) for each in twins)
        if of and not is_complete and twin and then.get(name) and now.get(name):
            # The number of records is unknown.
            is_same = then[name] == now[name]
            yield Figure(name, then[name], now[name], "same" if is_same else "changed")
            continue
        is_share = of or (sizes and _is_of_reference(name, after))
        is_judged = (as_before or name not in (*VIOLATING, *IN_CELLS)) and not (
            is_share and is_complete
        )
        yield figure(name, then.get(name), now.get(name), worst if is_judged else None, of)


def _whole_of(
    name: str, before: CheckResult, after: CheckResult, sizes: Sizes
) -> tuple[int, int] | None:
    """The denominators of a figure in both results, or None.

    In composition these are the people in both releases, whatever the number of new ones, and for
    known events the people attacked. Violations in a reference have no known denominator.
    """
    if _is_of_reference(name, after):
        return None
    part_of = _part_of(name, after)
    then, now = (
        each.details.get("in_both", each.details.get("attacked")) for each in (before, after)
    )
    if part_of == "people" and then and now:
        return then, now
    return totals(part_of, sizes)


def _is_of_reference(name: str, check: CheckResult) -> bool:
    """Whether a figure counts violations in a reference."""
    return name in VIOLATING and ALL_MODELS[check.model].of_reference


def counted_as(check: CheckResult) -> tuple[bool, int]:
    """How a check on events was counted: whether events were drawn, and the number of sizes of
    combinations that were counted. A draw or fewer sizes show fewer violations of the same table.

    >>> counted_as(CheckResult("known_events", {"m": 4}, None, 0.5, details={"drawn": True}))
    (True, 0)
    """
    sizes = check.details.get("by_size", ())
    counted = sum(each["combinations"] is not None for each in sizes)
    return bool(check.details.get("drawn")), counted


def totals(part_of: str | None, sizes: Sizes) -> tuple[int, int] | None:
    """The denominators in both tables; None unless both are known."""
    if part_of is None:
        return None
    then, now = (getattr(each, part_of) for each in sizes)
    return (then, now) if then and now else None


def _part_of(name: str, check: CheckResult) -> str | None:
    """The summary field that a count is a part of, or None."""
    counted = _counted(name, check)
    return next((part for part in _PARTS if counted.endswith(f"_{part}")), None)


def _counted(name: str, check: CheckResult) -> str:
    """The name of a figure, where `achieved` may be the number of violating classes."""
    is_count = name == "achieved" and ALL_MODELS[check.model].counts_violations
    return "violating_classes" if is_count else name


def demand(before: CheckResult, after: CheckResult) -> Demand:
    """Compare the thresholds of a check, all of them together.

    >>> five, two = (CheckResult("k_anonymity", {"k": k}, True, 7) for k in (5, 2))
    >>> demand(five, two), demand(two, five)
    ('weaker', 'stricter')
    """
    model = ALL_MODELS[after.model]
    found = {
        _of_threshold(
            before.parameters.get(name), after.parameters.get(name), _worst_of(name, after)
        )
        for name in model.thresholds
    } - {"same"}
    return found.pop() if len(found) == 1 else ("changed" if found else "same")


def _worst_of(threshold: str, check: CheckResult) -> Worst:
    """The worst direction of the figure that a threshold limits."""
    model = model_of(check)
    companions = {judge: worst for worst, judge in model.companion_figures.values()}
    own = model.worst_thresholds.get(threshold) or companions.get(threshold)
    return own or model.figures.get(threshold) or model.worst


def _of_threshold(before: Any, after: Any, worst: Worst) -> Demand:
    if before == after:
        return "same"
    if before is None or after is None:
        return "stricter" if before is None else "weaker"
    return "weaker" if change(before, after, worst) == "worse" else "stricter"


def model_of(check: CheckResult) -> Model:
    """The model with its parameters."""
    return ALL_MODELS[check.model](**check.parameters)


def judged_figures(check: CheckResult) -> Iterator[tuple[str, Any, Any, Worst]]:
    """Each threshold in force of a check: its name, the figure that it bounds, the bound, and which
    way the figure gets worse.

    >>> list(judged_figures(CheckResult("k_anonymity", {"k": 5}, True, 7)))
    [('k', 7, 5, 'least')]
    """
    model = model_of(check)
    companions = {
        threshold: (key, worst) for key, (worst, threshold) in model.companion_figures.items()
    }
    for name in model.thresholds:
        bound = check.parameters.get(name)
        if bound is None:
            continue
        key, worst = companions.get(name, ("", model.worst))
        figure = check.details.get(key) if key else check.achieved
        if isinstance(figure, Mapping):
            figure, worst = figure.get(name), model.figures[name]
        if model.computed_bound:
            bound = check.details.get(model.computed_bound, bound)
        yield name, figure, bound, worst


def table_figures(table: TableResult, check: CheckResult) -> dict[str, Any]:
    """The figures of the table that a baseline judges with a check, by name."""
    found = {"uniques": table.summary.uniques} | {
        f"{attacker}.{name}": value
        for attacker, risks in table.risk.items()
        for name, value in (risks or {}).items()
    }
    names = model_of(check).table_figures
    homogeneous = next((each for each in table.checks if is_homogeneity_of(check, each)), None)
    return {name: found[name] for name in names if found.get(name) is not None} | {
        f"homogeneity.{name}": homogeneous.figures[name]
        for name in ("achieved", *VIOLATING)
        if homogeneous and homogeneous.figures.get(name) is not None
    }


def is_homogeneity_of(check: CheckResult, other: CheckResult) -> bool:
    """Whether another check counts the classes with a single value of a check's attribute."""
    about = ("sensitive", "with_other_sensitive")
    return (
        (check.model, other.model) != ("homogeneity", "homogeneity")
        and other.model == "homogeneity"
        and all(check.parameters.get(key, False) == other.parameters.get(key) for key in about)
    )


def check_key(check: CheckResult, table: TableResult, *, thresholds: bool = True) -> str:
    """Identity of a check: its model and all parameters.

    If other sensitive attributes count as known, these too. Without `thresholds`, checks that
    differ only in these are equal.
    """
    left_out = () if thresholds else ALL_MODELS[check.model].thresholds
    parameters = {key: value for key, value in check.parameters.items() if key not in left_out}
    if parameters.get("with_other_sensitive"):
        parameters["with_other_sensitive"] = sorted(table.sensitive)
    return f"{check.model} {_canonical(parameters)}"


def question(table: TableResult) -> dict[str, Any]:
    """The parts of a table's question that affect the meaning of every check."""
    if isinstance(table, CellsResult):
        found = {part: getattr(table, part) for part in CELL_QUESTION}
        return found | {"by": sorted(table.by), "against": sorted(table.against)}
    question = {part: getattr(table, part) for part in QUESTION}
    question["quasi_identifiers"] = sorted(table.quasi_identifiers)
    question["events"] = sorted(table.events.columns) if table.events else None
    question["levels"] = {
        name: level for name, level in (table.levels or {}).items() if level
    } or None
    return question


def table_key(table: TableResult) -> str:
    """Identity of a table: its name and question."""
    return _canonical({"name": table.name, **question(table)})


def other_questions(one: TableResult, other: TableResult) -> list[str]:
    """Keys of `QUESTION` in which two tables differ."""
    first, second = question(one), question(other)
    return [
        part
        for part in QUESTION | CELL_QUESTION
        if _canonical(first.get(part)) != _canonical(second.get(part))
    ]


def _canonical(value: Any) -> str:
    """Canonical JSON, equal only for equal values: 1 is 1.0, and neither is true."""
    return json.dumps(_whole_numbers(plain_json(value)), sort_keys=True, ensure_ascii=False)


def _whole_numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _whole_numbers(item) for key, item in value.items()}
        case list():
            return [_whole_numbers(item) for item in value]
    return value
