"""The comparison of two results, for better or worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from kanon_sql.models.base import Worst
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import (
    Change,
    Figure,
    Tables,
    ThresholdChange,
    changes,
    counted_as,
    figure,
    threshold_change,
)
from kanon_sql.results.identity import (
    OTHER_RECORDS,
    check_key,
    other_questions,
    table_key,
)
from kanon_sql.results.json_part import plain_json
from kanon_sql.results.table import ResultFile, TableResult
from kanon_sql.results.tabular import Tabular
from kanon_sql.results.version import FORMAT, VERSION

By = Literal["share", "count"]
"""Compare records and people by share, as tables grow and shrink, or by number."""


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

        A new check, and one that was undecided, is worse if it is violated. If the thresholds or
        the question changed, nothing is better; a figure that fell is worse whether or not the
        check holds.
        """
        if self.is_undecided:
            if self.new is not None and self.new.holds is False and self.demand == "same":
                return "worse"
            return "same" if self.old == self.new else "changed"
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
        if self.old is None or self.new is None or not self.new.has_classes:
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
                key: {"old": old.question.get(key), "new": new.question.get(key)}
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
    unsealed: tuple[str, ...] = ()
    """The files without a seal, so that an edit is not noticed."""

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
        tuple(str(side.path) for side in (old, new) if not side.result.sealed),
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
    for index, item in enumerate(items):
        if index not in matched:
            places_by_key.setdefault(key(item), []).append(index)
    return places_by_key


# --- comparing --------------------------------------------------------------------------------


def table_diff(old: TableResult | None, new: TableResult | None, by: By) -> TableDiff:
    """The differences of one table, with records and people compared by `share` or `count`."""
    if old is None or new is None:
        checks = [CheckDiff(None, check) for check in new.checks] if new else []
        return TableDiff(old, new, checks=tuple(checks))
    changed_questions = tuple(other_questions(old, new))
    tables = (old, new) if by == "share" else None
    members = _members(old, new) if by == "share" else None
    compared = TableDiff(
        old,
        new,
        changed_questions,
        tuple(_summary(old, new, members)),
        tuple(_risks(old.risk, new.risk, members)),
        tuple(_check(*pair, tables) for pair in _paired_checks(old, new)),
    )
    if old.original and new.original:
        # The records of a synthetic table are nobody, whatever their classes.
        compared = replace(
            compared, summary=_unjudged(compared.summary), risks=_unjudged(compared.risks)
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


def _members(old: TableResult, new: TableResult) -> tuple[int, int] | None:
    """The people, or records, of both tables; None unless both are known."""
    counted = "records" if new.entity is None else "people"
    then, now = (getattr(table.summary, counted) for table in (old, new))
    return (then, now) if then and now else None


def _check(old: CheckResult | None, new: CheckResult | None, tables: Tables | None) -> CheckDiff:
    if old is None or new is None:
        return CheckDiff(old, new)
    compared = CheckDiff(old, new, tuple(changes(old, new, tables)))
    if compared.is_undecided or compared.is_counted_differently:
        return replace(compared, figures=_unjudged(compared.figures), is_comparable=False)
    return compared


def _summary(
    old: TableResult, new: TableResult, members: tuple[int, int] | None
) -> Iterator[Figure]:
    if isinstance(old, CellsResult) and isinstance(new, CellsResult):
        for field in fields(new.cells):
            then, now = getattr(old.cells, field.name), getattr(new.cells, field.name)
            if (then, now) != (None, None):
                yield figure(field.name, then, now, None)
        return
    for name, worst in _SUMMARY.items():
        then, now = getattr(old.summary, name), getattr(new.summary, name)
        of = members if name == "uniques" else None
        if (then, now) != (None, None):
            yield figure(name, then, now, worst, of)


def _risks(
    old: Mapping[str, Any], new: Mapping[str, Any], members: tuple[int, int] | None
) -> Iterator[Figure]:
    for attacker in dict.fromkeys([*old, *new]):
        then, now = old.get(attacker) or {}, new.get(attacker) or {}
        for name in _RISKS:
            if name in then or name in now:
                of = members if name in _COUNTED_RISKS else None
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
