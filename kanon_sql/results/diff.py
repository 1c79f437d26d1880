"""Compares two results: tables, checks, sizes and risks, for better or worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kanon_sql.results.cells import CellsResult
from kanon_sql.results.comparison import (
    OTHER_RECORDS,
    By,
    Change,
    Demand,
    Figure,
    Sizes,
    changes,
    check_key,
    counted_as,
    demand,
    figure,
    other_questions,
    question,
    table_key,
    totals,
)
from kanon_sql.results.stored import ResultFile
from kanon_sql.results.table import CheckResult, TableResult, Tabular, plain_json
from kanon_sql.results.version import FORMAT, VERSION
from kanon_sql.spec.models.base import Worst
from kanon_sql.sql.statement import Statement


@dataclass(frozen=True)
class ExpectedSearch:
    """What is known about a lattice search before it runs."""

    heights: Mapping[str, int]
    """Height of each quasi-identifier's hierarchy, masks excluded."""
    masked: frozenset[str]
    """Quasi-identifiers with an additional level per character of their longest value."""
    materialises: bool
    """Whether the records are read once and materialised, rather than at each step."""
    by_class: bool = False
    """Whether classes are specialised top-down (local recoding), not the table generalised."""
    at_once: int | None = None
    """Number of nodes evaluated per statement by the optimal search."""


@dataclass(frozen=True)
class ExpectedTable:
    """What a question on one table would run, and on which tables."""

    name: str
    engine: str
    reads: tuple[str, ...]
    steps: tuple[Statement, ...]
    search: ExpectedSearch | None = None
    """The search that follows the steps, if levels are searched."""


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
_BAD = ("violated", "no_data", "error")
_MADE = ("algorithm", "suppressed", "suppressed_as", "step4")
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
    def demand(self) -> Demand:
        """How its thresholds changed; a check that no longer gates is weaker."""
        if self.old is None or self.new is None:
            return "weaker" if self.is_dropped else "same"
        return "weaker" if self.is_dropped else demand(self.old, self.new)

    @property
    def is_dropped(self) -> bool:
        """Whether the check gated and no longer does."""
        gated, gates = (
            each is not None and (each.holds is not None or each.undecided)
            for each in (self.old, self.new)
        )
        return gated and not gates

    @property
    def is_undecided(self) -> bool:
        """Whether a draw decided nothing in one of the results, so that they are not compared."""
        return any(each.undecided for each in (self.old, self.new) if each)

    @property
    def is_counted_otherwise(self) -> bool:
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
        then, now, same_demand = self.old.holds, self.new.holds, self.demand == "same"
        if now is False and (then or (then is None and same_demand)):
            return "worse"
        if not self.is_comparable:
            return "changed"
        if then is False and now and same_demand:
            return "better"
        found = {each.change for each in self.figures if each.is_judged}
        if then is not now or not same_demand:
            return "worse" if "worse" in found else "changed"
        return next((each for each in _GRAVEST if each in found), "same")

    def to_dict(self) -> dict[str, Any]:
        old, new = self.old, self.new
        return {
            "model": self.check.model,
            "parameters": _both(old, new, "parameters"),
            "presence": self.presence,
            "change": self.change,
            "demand": self.demand,
            "holds": _both(old, new, "holds"),
            "figures": {each.name: each.to_dict() for each in self.figures},
        }


_GRAVEST: tuple[Change, ...] = ("worse", "changed", "better", "same")


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
        kept = {*self.new.quasi_identifiers, self.new.entity}
        return tuple(column for column in columns if column not in kept)

    @property
    def asks_less(self) -> bool:
        """Whether any requirement was dropped or weakened."""
        demands = {check.demand for check in self.checks}
        return bool(self.left_out) or not demands.isdisjoint({"weaker", "changed"})

    @property
    def status_change(self) -> Change:
        """How the status changed.

        Worse is a new table that is violated or has no verdict, and one left without records. A
        weaker question is never better.
        """
        if self.new is None:
            return "changed"
        if self.old is None:
            return "worse" if self.new.status in _BAD else "changed"
        if self.new.status == "no_data" != self.old.status:
            return "worse"
        found = _of_status(self.old.status, self.new.status)
        is_better = self.is_comparable and not self.asks_less
        return "changed" if found == "better" and not is_better else found

    @property
    def is_worse(self) -> bool:
        """Whether anything of the table got worse or was dropped."""
        is_dropped = any(check.is_dropped for check in self.checks)
        return bool(self.left_out) or is_dropped or self.got_worse

    @property
    def got_worse(self) -> bool:
        """Whether a verdict or a figure got worse."""
        found = [
            self.status_change,
            *(each.change for each in (*self.summary, *self.risks)),
            *(check.change for check in self.checks),
        ]
        return "worse" in found

    def to_dict(self) -> dict[str, Any]:
        old, new = self.old, self.new
        return {
            "name": _both(old, new, "name"),
            "presence": self.presence,
            "status": {**_both(old, new, "status"), "change": self.status_change},
            "question": {
                part: {"old": question(old).get(part), "new": question(new).get(part)}
                for part in self.changed_questions
                if old and new
            },
            "comparable": self.is_comparable,
            "left_out": list(self.left_out),
            "summary": {each.name: each.to_dict() for each in self.summary},
            "risk": {each.name: each.to_dict() for each in self.risks},
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
        return bool(self.gone) or any(table.is_worse for table in self.tables)

    @property
    def gone(self) -> tuple[TableDiff, ...]:
        """Tables that are no longer audited, unless one with an equal key appeared."""
        appeared = {table_key(table.new) for table in self.tables if table.new and not table.old}
        return tuple(
            table
            for table in self.tables
            if table.old and not table.new and table_key(table.old) not in appeared
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-compatible values."""
        whole = {
            "kanon_sql": VERSION,
            "format": FORMAT,
            "old": self.old,
            "new": self.new,
            "worse": self.is_worse,
            "several_releases": SEVERAL_RELEASES,
            "tables": [table.to_dict() for table in self.tables],
            "anonymization": {each.name: each.to_dict() for each in self.made},
        }
        plain: dict[str, Any] = plain_json(whole)
        return plain

    def rows(self) -> list[dict[str, Any]]:
        """Every figure of both results, with its table, what it belongs to, and its change."""
        figures: list[tuple[str | None, str, Figure]] = [
            (table.table.name, whose, each)
            for table in self.tables
            for whose, figures in (
                ("summary", table.summary),
                ("risk", table.risks),
                *((check.check.model, check.figures) for check in table.checks),
            )
            for each in figures
        ]
        figures += [(None, "release", each) for each in self.made]
        return [
            {"table": table, "of": whose, "figure": each.name}
            | {key: getattr(each, key) for key in ("old", "new", "change")}
            for table, whose, each in figures
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
        tuple(_made(old.anonymization, new.anonymization)),
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
    keys = (lambda each: check_key(*each), lambda each: check_key(*each, thresholds=False))
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
        *((old[partner[i]] if i in partner else None, each) for i, each in enumerate(new)),
        *((each, None) for i, each in enumerate(old) if i not in taken),
    ]


def _by_key(
    items: Sequence[Any], key: Callable[[Any], str], matched: set[int]
) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if place not in matched:
            found.setdefault(key(item), []).append(place)
    return found


# --- comparing --------------------------------------------------------------------------------


def table_diff(old: TableResult | None, new: TableResult | None, by: By) -> TableDiff:
    """The differences of one table, with records and people compared by `share` or `count`."""
    if old is None or new is None:
        checks = [CheckDiff(None, check) for check in new.checks] if new else []
        return TableDiff(old, new, checks=tuple(checks))
    asked_otherwise = tuple(other_questions(old, new))
    sizes = (old.summary, new.summary) if by == "share" else None
    counted = "records" if new.entity is None else "people"
    compared = TableDiff(
        old,
        new,
        asked_otherwise,
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


def _unjudged(found: Sequence[Figure]) -> tuple[Figure, ...]:
    return tuple(figure(each.name, each.old, each.new, None) for each in found)


def _check(old: CheckResult | None, new: CheckResult | None, sizes: Sizes | None) -> CheckDiff:
    if old is None or new is None:
        return CheckDiff(old, new)
    compared = CheckDiff(old, new, tuple(changes(old, new, sizes)))
    if compared.is_undecided or compared.is_counted_otherwise:
        return replace(compared, figures=_unjudged(compared.figures), is_comparable=False)
    return compared


def _summary(
    old: TableResult, new: TableResult, sizes: Sizes | None, counted: str
) -> Iterator[Figure]:
    if isinstance(old, CellsResult) and isinstance(new, CellsResult):
        for part in fields(new.cells):
            then, now = getattr(old.cells, part.name), getattr(new.cells, part.name)
            if (then, now) != (None, None):
                yield figure(part.name, then, now, None)
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


def _made(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[Figure]:
    """How two releases were made; only their checks can say which is better."""
    if old is None or new is None:
        return
    then, now = _flat(old), _flat(new)
    for name in dict.fromkeys([*then, *now]):
        yield figure(name, then.get(name), now.get(name), None)


def _flat(made: Mapping[str, Any]) -> dict[str, Any]:
    levels, metrics = (made.get(part) or {} for part in ("levels", "metrics"))
    return {
        **{f"level.{name}": level for name, level in levels.items()},
        **{name: made.get(name) for name in _MADE if name in made},
        **{name: metrics.get(name) for name in _METRICS if metrics.get(name) is not None},
    }


def _both(old: object, new: object, part: str) -> dict[str, Any]:
    """A part of both; None where one is missing."""
    return {"old": getattr(old, part, None), "new": getattr(new, part, None)}


def _presence(old: object, new: object) -> Presence:
    if old is None:
        return "appeared"
    return "vanished" if new is None else "in_both"


def _of_status(old: str, new: str) -> Change:
    if old == new:
        return "same"
    if new in _BAD:
        return "changed" if old in _BAD else "worse"
    return "better" if old in _BAD and new == "holds" else "changed"
