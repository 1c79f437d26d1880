"""Compares two results: tables, checks, sizes and risks, for better or worse.

Each model declares in which direction its figures get worse; no model is treated specially here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import (
    CheckResult,
    ResultFile,
    Summary,
    TableResult,
    Tabular,
    plain_json,
)
from kanon_sql.results.version import FORMAT, VERSION
from kanon_sql.spec.models.base import Model, Worst
from kanon_sql.spec.models.catalogue import ALL_MODELS, CELL_MODELS
from kanon_sql.sql.quoting import SLACK_OF_DISTANCES

Change = Literal["same", "better", "worse", "changed"]
"""`changed`: neither better nor worse, or not comparable."""
ThresholdChange = Literal["same", "weaker", "stricter", "changed"]
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
_SIZE_FIELDS = ("records", "people", "classes")
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
    directions = {**model_of(check).figures, **VIOLATING}
    if check.violating_people is None:
        # No entity, or written by a version without this figure.
        del directions["violating_people"]
    return directions


def changes(before: CheckResult, after: CheckResult, sizes: Sizes | None) -> Iterator[Figure]:
    """Compare every figure of a check; violations are judged only if the thresholds are the same.

    With the `sizes` of both tables, shares are compared. Counts of classes are judged only if the
    records in them are unknown, as the same share of violating records may fall into more or fewer
    classes. Measured checks lack that figure, and are judged where either count is zero.
    """
    then, now = before.figures, after.figures
    as_before = threshold_change(before, after) == "same"
    for name, worst in figures(after).items():
        if name == "violating_people" and then.get(name) is None:
            continue
        of = _denominators(name, before, after, sizes) if sizes else None
        in_records = _IN_RECORDS.get(_counted(name, after), "")
        # In composition, people violate and no records, so their count is decisive.
        members = (in_records, "violating_people") if name == "violating_classes" else (in_records,)
        is_complete = any(None not in (then.get(key), now.get(key)) for key in members)
        if of and not is_complete and in_records and then.get(name) and now.get(name):
            # The number of records is unknown.
            is_same = then[name] == now[name]
            yield Figure(name, then[name], now[name], "same" if is_same else "changed")
            continue
        is_share = of or (sizes and _is_of_reference(name, after))
        is_judged = (as_before or name not in (*VIOLATING, *IN_CELLS)) and not (
            is_share and is_complete
        )
        yield figure(name, then.get(name), now.get(name), worst if is_judged else None, of)


def _denominators(
    name: str, before: CheckResult, after: CheckResult, sizes: Sizes
) -> tuple[int, int] | None:
    """The denominators of a figure in both results, or None.

    In composition these are the people in both releases, whatever the number of new ones, and for
    known events the people attacked. Violations in a reference have no known denominator.
    """
    if _is_of_reference(name, after):
        return None
    size_field = _size_field(name, after)
    then, now = (
        check.details.get("in_both", check.details.get("attacked")) for check in (before, after)
    )
    if size_field == "people" and then and now:
        return then, now
    return totals(size_field, sizes)


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
    counted = sum(row["combinations"] is not None for row in sizes)
    return bool(check.details.get("drawn")), counted


def totals(size_field: str | None, sizes: Sizes) -> tuple[int, int] | None:
    """The denominators in both tables; None unless both are known."""
    if size_field is None:
        return None
    then, now = (getattr(summary, size_field) for summary in sizes)
    return (then, now) if then and now else None


def _size_field(name: str, check: CheckResult) -> str | None:
    """The summary field that a count is a part of, or None."""
    counted = _counted(name, check)
    return next((field for field in _SIZE_FIELDS if counted.endswith(f"_{field}")), None)


def _counted(name: str, check: CheckResult) -> str:
    """The name of a figure, where `achieved` may be the number of violating classes."""
    is_count = name == "achieved" and ALL_MODELS[check.model].counts_violations
    return "violating_classes" if is_count else name


def threshold_change(before: CheckResult, after: CheckResult) -> ThresholdChange:
    """Compare the thresholds of a check, all of them together.

    >>> five, two = (CheckResult("k_anonymity", {"k": k}, True, 7) for k in (5, 2))
    >>> threshold_change(five, two), threshold_change(two, five)
    ('weaker', 'stricter')
    """
    model = ALL_MODELS[after.model]
    differences = {
        _change_of_threshold(
            before.parameters.get(name), after.parameters.get(name), _worst_direction(name, after)
        )
        for name in model.thresholds
    } - {"same"}
    return differences.pop() if len(differences) == 1 else ("changed" if differences else "same")


def _worst_direction(threshold: str, check: CheckResult) -> Worst:
    """The worst direction of the figure that a threshold limits."""
    model = model_of(check)
    companions = {judge: worst for worst, judge in model.companion_figures.values()}
    own = model.worst_thresholds.get(threshold) or companions.get(threshold)
    return own or model.figures.get(threshold) or model.worst


def _change_of_threshold(before: Any, after: Any, worst: Worst) -> ThresholdChange:
    if before == after:
        return "same"
    if before is None or after is None:
        return "stricter" if before is None else "weaker"
    return "weaker" if change(before, after, worst) == "worse" else "stricter"


def model_of(check: CheckResult) -> Model:
    """The model with its parameters."""
    return ALL_MODELS[check.model](**check.parameters)


def judged_figures(check: CheckResult) -> Iterator[tuple[str, Any, Any, Worst]]:
    """Each threshold in force of a check: its name, its figure, the bound, and the worst direction
    of the figure.

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
    values = {"uniques": table.summary.uniques} | {
        f"{attacker}.{name}": value
        for attacker, risks in table.risk.items()
        for name, value in (risks or {}).items()
    }
    names = model_of(check).table_figures
    homogeneous = next((other for other in table.checks if is_homogeneity_of(check, other)), None)
    return {name: values[name] for name in names if values.get(name) is not None} | {
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
        parts = {key: getattr(table, key) for key in CELL_QUESTION}
        return parts | {"by": sorted(table.by), "against": sorted(table.against)}
    question = {key: getattr(table, key) for key in QUESTION}
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
        key
        for key in QUESTION | CELL_QUESTION
        if _canonical(first.get(key)) != _canonical(second.get(key))
    ]


def _canonical(value: Any) -> str:
    """Canonical JSON, equal only for equal values: 1 is 1.0, and neither is true."""
    return json.dumps(_with_integers(plain_json(value)), sort_keys=True, ensure_ascii=False)


def _with_integers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _with_integers(item) for key, item in value.items()}
        case list():
            return [_with_integers(item) for item in value]
    return value


SEVERAL_RELEASES = (
    "Several releases about the same people are a risk of their own, which no comparison of "
    "results measures: whoever holds both can link them. An audit with both measures it: kanon-sql "
    "explain releases."
)
Presence = Literal["in_both", "appeared", "vanished"]
_SUMMARY: dict[str, Worst | None] = {
    "records": None,
    "people": None,
    "classes": None,
    "k": "least",
    "average_class_size": None,
    "largest_class": None,
    "uniques": "greatest",
    "records_with_null_qi": None,
    "suppressed": None,
}
"""Worst direction of the summary's figures; None for those that can only differ."""
_RISKS = ("highest", "average", "at_risk", "expected_reidentifications")
_COUNTED_RISKS = ("expected_reidentifications",)
_FAILED_STATUSES = ("violated", "no_data", "error")
_RELEASE_FIELDS = ("algorithm", "suppressed", "suppressed_as", "step4")
_METRICS = ("precision", "loss", "discernibility", "non_uniform_entropy")


@dataclass(frozen=True)
class CheckDiff:
    """A check in both results, or in one of them."""

    old: CheckResult | None
    new: CheckResult | None
    figures: tuple[Figure, ...] = ()
    is_comparable: bool = True
    """Whether its figures mean the same in both."""

    @property
    def check(self) -> CheckResult:
        """The check's newest result."""
        check = self.new or self.old
        assert check is not None
        return check

    @property
    def presence(self) -> Presence:
        return _presence(self.old, self.new)

    @property
    def demand(self) -> ThresholdChange:
        """How its thresholds changed; a check that no longer gates is weaker."""
        if self.old is None or self.new is None:
            return "weaker" if self.is_dropped else "same"
        return "weaker" if self.is_dropped else threshold_change(self.old, self.new)

    @property
    def is_dropped(self) -> bool:
        """Whether the check gated and no longer does."""
        gated, gates = (
            check is not None and (check.holds is not None or check.undecided)
            for check in (self.old, self.new)
        )
        return gated and not gates

    @property
    def is_undecided(self) -> bool:
        """Whether a draw decided nothing in one of the results, so that they are not compared."""
        return any(check.undecided for check in (self.old, self.new) if check)

    @property
    def is_counted_differently(self) -> bool:
        """Whether the figures are exact in one result and a bound or a draw in the other."""
        return not (self.old is None or self.new is None) and counted_as(self.old) != counted_as(
            self.new
        )

    @property
    def change(self) -> Change:
        """Whether the check got better or worse: by its verdict, otherwise by its figures.

        A new check is worse if it is violated. If the thresholds or the question changed, nothing
        is better; a figure that fell is worse whether or not the check holds.
        """
        if self.is_undecided:
            return "changed"
        if self.new is None or self.old is None:
            return "worse" if self.new is not None and self.new.holds is False else "changed"
        then, now, same_thresholds = self.old.holds, self.new.holds, self.demand == "same"
        if now is False and (then or (then is None and same_thresholds)):
            return "worse"
        if not self.is_comparable:
            return "changed"
        if then is False and now and same_thresholds:
            return "better"
        figure_changes = {figure.change for figure in self.figures if figure.is_judged}
        if then is not now or not same_thresholds:
            return "worse" if "worse" in figure_changes else "changed"
        return next((change for change in _BY_GRAVITY if change in figure_changes), "same")

    def to_dict(self) -> dict[str, Any]:
        old, new = self.old, self.new
        return {
            "model": self.check.model,
            "parameters": _old_and_new(old, new, "parameters"),
            "presence": self.presence,
            "change": self.change,
            "demand": self.demand,
            "holds": _old_and_new(old, new, "holds"),
            "figures": {figure.name: figure.to_dict() for figure in self.figures},
        }


_BY_GRAVITY: tuple[Change, ...] = ("worse", "changed", "better", "same")


@dataclass(frozen=True)
class TableDiff:
    """A table in both results, or in one of them."""

    old: TableResult | None
    new: TableResult | None
    changed_questions: tuple[str, ...] = ()
    """Keys of `QUESTION` in which the questions differ."""
    summary: tuple[Figure, ...] = ()
    risks: tuple[Figure, ...] = ()
    checks: tuple[CheckDiff, ...] = ()

    @property
    def table(self) -> TableResult:
        """The table's newest result."""
        table = self.new or self.old
        assert table is not None
        return table

    @property
    def presence(self) -> Presence:
        return _presence(self.old, self.new)

    @property
    def is_comparable(self) -> bool:
        """Whether the figures mean the same in both."""
        return set(self.changed_questions) <= set(OTHER_RECORDS)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Former quasi-identifiers and entity, no longer used: the question is weaker."""
        if self.old is None or self.new is None or isinstance(self.new, CellsResult):
            return ()
        columns = (*self.old.quasi_identifiers, *([self.old.entity] if self.old.entity else ()))
        used = {*self.new.quasi_identifiers, self.new.entity}
        return tuple(column for column in columns if column not in used)

    @property
    def is_weaker(self) -> bool:
        """Whether any requirement was dropped or weakened."""
        threshold_changes = {check.demand for check in self.checks}
        return bool(self.left_out) or not threshold_changes.isdisjoint({"weaker", "changed"})

    @property
    def status_change(self) -> Change:
        """How the status changed.

        Worse is a new table that is violated or has no verdict, and one left without records. A
        weaker question is never better.
        """
        if self.new is None:
            return "changed"
        if self.old is None:
            return "worse" if self.new.status in _FAILED_STATUSES else "changed"
        if self.new.status == "no_data" != self.old.status:
            return "worse"
        difference = _change_of_status(self.old.status, self.new.status)
        is_better = self.is_comparable and not self.is_weaker
        return "changed" if difference == "better" and not is_better else difference

    @property
    def is_worse(self) -> bool:
        """Whether anything of the table got worse or was dropped."""
        is_dropped = any(check.is_dropped for check in self.checks)
        return bool(self.left_out) or is_dropped or self.got_worse

    @property
    def got_worse(self) -> bool:
        """Whether a verdict or a figure got worse."""
        all_changes = [
            self.status_change,
            *(figure.change for figure in (*self.summary, *self.risks)),
            *(check.change for check in self.checks),
        ]
        return "worse" in all_changes

    def to_dict(self) -> dict[str, Any]:
        old, new = self.old, self.new
        return {
            "name": _old_and_new(old, new, "name"),
            "presence": self.presence,
            "status": {**_old_and_new(old, new, "status"), "change": self.status_change},
            "question": {
                key: {"old": question(old).get(key), "new": question(new).get(key)}
                for key in self.changed_questions
                if old and new
            },
            "comparable": self.is_comparable,
            "left_out": list(self.left_out),
            "summary": {figure.name: figure.to_dict() for figure in self.summary},
            "risk": {risk.name: risk.to_dict() for risk in self.risks},
            "checks": [check.to_dict() for check in self.checks],
        }


@dataclass(frozen=True)
class Diff(Tabular):
    """The differences between an old and a new result. Prints itself like the command line."""

    old: str
    """The file name."""
    new: str
    tables: tuple[TableDiff, ...]
    made: tuple[Figure, ...] = ()
    """Differences in levels, suppression and metrics, if both results are releases."""

    @property
    def is_worse(self) -> bool:
        """Whether any verdict, judged figure, k or risk got worse.

        Also if a table, a requirement, a quasi-identifier or the entity is gone.
        """
        return bool(self.vanished) or any(table.is_worse for table in self.tables)

    @property
    def vanished(self) -> tuple[TableDiff, ...]:
        """Tables that are no longer audited, unless one with an equal key appeared."""
        appeared = {table_key(table.new) for table in self.tables if table.new and not table.old}
        return tuple(
            table
            for table in self.tables
            if table.old and not table.new and table_key(table.old) not in appeared
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-compatible values."""
        document = {
            "kanon_sql": VERSION,
            "format": FORMAT,
            "old": self.old,
            "new": self.new,
            "worse": self.is_worse,
            "several_releases": SEVERAL_RELEASES,
            "tables": [table.to_dict() for table in self.tables],
            "anonymization": {figure.name: figure.to_dict() for figure in self.made},
        }
        in_json_types: dict[str, Any] = plain_json(document)
        return in_json_types

    def rows(self) -> list[dict[str, Any]]:
        """Every figure of both results, with its table, what it belongs to, and its change."""
        figures: list[tuple[str | None, str, Figure]] = [
            (table.table.name, whose, figure)
            for table in self.tables
            for whose, figures in (
                ("summary", table.summary),
                ("risk", table.risks),
                *((check.check.model, check.figures) for check in table.checks),
            )
            for figure in figures
        ]
        figures += [(None, "release", figure) for figure in self.made]
        return [
            {"table": table, "of": whose, "figure": figure.name}
            | {key: getattr(figure, key) for key in ("old", "new", "change")}
            for table, whose, figure in figures
        ]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


def diff(old: ResultFile, new: ResultFile, by: By = "share") -> Diff:
    """Compare two results, records and people by `share` or `count`.

    Tables are matched by name and question, otherwise by a name unique in both results; two single
    tables are compared whatever their names.
    """
    pairs = _paired_tables(old.result.tables, new.result.tables)
    return Diff(
        str(old.path),
        str(new.path),
        tuple(table_diff(before, after, by) for before, after in pairs),
        tuple(_release_figures(old.anonymization, new.anonymization)),
    )


# --- matching ---------------------------------------------------------------------------------


def _paired_tables(
    old: Sequence[TableResult], new: Sequence[TableResult]
) -> list[tuple[TableResult | None, TableResult | None]]:
    if len(old) == len(new) == 1:
        return [(old[0], new[0])]
    return _paired(old, new, (table_key, lambda table: table.name))


def _paired_checks(
    old: TableResult, new: TableResult
) -> list[tuple[CheckResult | None, CheckResult | None]]:
    """Match equal checks, then those that differ only in thresholds."""
    before = [(check, old) for check in old.checks]
    after = [(check, new) for check in new.checks]
    keys = (lambda item: check_key(*item), lambda item: check_key(*item, thresholds=False))
    return [
        (one[0] if one else None, other[0] if other else None)
        for one, other in _paired(before, after, keys)
    ]


def _paired(
    old: Sequence[Any], new: Sequence[Any], keys: Sequence[Callable[[Any], str]]
) -> list[tuple[Any, Any]]:
    """Match each of `new` with an old item by key, in the order of `new`; the rest follows.

    A key matches if it is unique on both sides; later keys apply to the rest.
    """
    partner: dict[int, int] = {}
    for key in keys:
        left = _by_key(old, key, set(partner.values()))
        for name, places in _by_key(new, key, set(partner)).items():
            if len(places) == 1 and len(left.get(name, [])) == 1:
                partner[places[0]] = left[name][0]
    taken = set(partner.values())
    return [
        *((old[partner[i]] if i in partner else None, item) for i, item in enumerate(new)),
        *((item, None) for i, item in enumerate(old) if i not in taken),
    ]


def _by_key(
    items: Sequence[Any], key: Callable[[Any], str], matched: set[int]
) -> dict[str, list[int]]:
    places_by_key: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if place not in matched:
            places_by_key.setdefault(key(item), []).append(place)
    return places_by_key


# --- comparing --------------------------------------------------------------------------------


def table_diff(old: TableResult | None, new: TableResult | None, by: By) -> TableDiff:
    """The differences of one table, with records and people compared by `share` or `count`."""
    if old is None or new is None:
        checks = [CheckDiff(None, check) for check in new.checks] if new else []
        return TableDiff(old, new, checks=tuple(checks))
    changed_questions = tuple(other_questions(old, new))
    sizes = (old.summary, new.summary) if by == "share" else None
    counted = "records" if new.entity is None else "people"
    compared = TableDiff(
        old,
        new,
        changed_questions,
        tuple(_summary(old, new, sizes, counted)),
        tuple(_risks(old.risk, new.risk, sizes, counted)),
        tuple(_check(*pair, sizes) for pair in _paired_checks(old, new)),
    )
    return compared if compared.is_comparable else _not_compared(compared)


def _not_compared(table: TableDiff) -> TableDiff:
    """The same differences, with their figures marked as not comparable."""
    checks = (
        replace(check, figures=_unjudged(check.figures), is_comparable=False)
        for check in table.checks
    )
    return replace(
        table, summary=_unjudged(table.summary), risks=_unjudged(table.risks), checks=tuple(checks)
    )


def _unjudged(compared: Sequence[Figure]) -> tuple[Figure, ...]:
    return tuple(figure(item.name, item.old, item.new, None) for item in compared)


def _check(old: CheckResult | None, new: CheckResult | None, sizes: Sizes | None) -> CheckDiff:
    if old is None or new is None:
        return CheckDiff(old, new)
    compared = CheckDiff(old, new, tuple(changes(old, new, sizes)))
    if compared.is_undecided or compared.is_counted_differently:
        return replace(compared, figures=_unjudged(compared.figures), is_comparable=False)
    return compared


def _summary(
    old: TableResult, new: TableResult, sizes: Sizes | None, counted: str
) -> Iterator[Figure]:
    if isinstance(old, CellsResult) and isinstance(new, CellsResult):
        for field in fields(new.cells):
            then, now = getattr(old.cells, field.name), getattr(new.cells, field.name)
            if (then, now) != (None, None):
                yield figure(field.name, then, now, None)
        return
    for name, worst in _SUMMARY.items():
        then, now = getattr(old.summary, name), getattr(new.summary, name)
        of = totals(counted, sizes) if sizes and name == "uniques" else None
        if (then, now) != (None, None):
            yield figure(name, then, now, worst, of)


def _risks(
    old: Mapping[str, Any], new: Mapping[str, Any], sizes: Sizes | None, counted: str
) -> Iterator[Figure]:
    for attacker in dict.fromkeys([*old, *new]):
        then, now = old.get(attacker) or {}, new.get(attacker) or {}
        for name in _RISKS:
            if name in then or name in now:
                of = totals(counted, sizes) if sizes and name in _COUNTED_RISKS else None
                yield figure(f"{attacker}.{name}", then.get(name), now.get(name), "greatest", of)


def _release_figures(
    old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> Iterator[Figure]:
    """The levels, suppression and metrics of two releases; only checks can be better or worse."""
    if old is None or new is None:
        return
    then, now = _flattened(old), _flattened(new)
    for name in dict.fromkeys([*then, *now]):
        yield figure(name, then.get(name), now.get(name), None)


def _flattened(anonymization: Mapping[str, Any]) -> dict[str, Any]:
    levels, metrics = (anonymization.get(group) or {} for group in ("levels", "metrics"))
    return {
        **{f"level.{name}": level for name, level in levels.items()},
        **{name: anonymization.get(name) for name in _RELEASE_FIELDS if name in anonymization},
        **{name: metrics.get(name) for name in _METRICS if metrics.get(name) is not None},
    }


def _old_and_new(old: object, new: object, attribute: str) -> dict[str, Any]:
    """A part of both; None where one is missing."""
    return {"old": getattr(old, attribute, None), "new": getattr(new, attribute, None)}


def _presence(old: object, new: object) -> Presence:
    if old is None:
        return "appeared"
    return "vanished" if new is None else "in_both"


def _change_of_status(old: str, new: str) -> Change:
    if old == new:
        return "same"
    if new in _FAILED_STATUSES:
        return "changed" if old in _FAILED_STATUSES else "worse"
    return "better" if old in _FAILED_STATUSES and new == "holds" else "changed"
