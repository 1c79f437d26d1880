"""A baseline: the violations accepted today, so that an audit fails only on what got worse.

It accepts a violated check as long as none of its figures gets worse. A check that held must still
hold, and checks or tables missing from it gate as usual.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kanon_sql.errors import SpecError, option, plural
from kanon_sql.results.comparison import (
    QUESTION,
    VIOLATING,
    By,
    Figure,
    changes,
    check_key,
    figures,
    model_of,
    other_questions,
    question,
    table_key,
)
from kanon_sql.results.stored import BASELINE_VERSION, read_baseline
from kanon_sql.results.table import (
    AuditFindings,
    CheckResult,
    InBaseline,
    Rows,
    Summary,
    TableResult,
    plain_json,
    status_of,
)
from kanon_sql.results.version import VERSION
from kanon_sql.spec.models.catalogue import MODELS

Held = TypeVar("Held", bound=AuditFindings)


@dataclass(frozen=True)
class Baseline:
    """The audited tables with their gating checks, when the baseline was written."""

    tables: tuple[TableResult, ...]

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a baseline. Raises `InputError` for any other file."""
        baseline = cls(read_baseline(path))
        baseline._refuse_twins(f"{path}: ")
        return baseline

    @classmethod
    def of(cls, results: Iterable[AuditFindings]) -> Baseline:
        """The baseline that accepts these results.

        Raises `SpecError` if there is nothing to accept: no data, a failed engine, no requirement.
        """
        tables = tuple(_demanded(table) for result in results for table in result.tables)
        if not any(table.checks for table in tables):
            raise SpecError(
                "nothing was demanded, so there is nothing to accept. Give a threshold, as in "
                f"{option('k', 5)}, or checks in a spec."
            )
        baseline = cls(tables)
        baseline._refuse_twins("")
        return baseline

    def to_json(self) -> str:
        tables = [
            {
                "name": table.name,
                **question(table),
                "quasi_identifiers": list(table.quasi_identifiers),
                "sensitive": list(table.sensitive),
                "summary": _sizes(table.summary),
                "checks": [_written(check) for check in table.checks],
            }
            for table in self.tables
        ]
        whole = {"kanon_sql": VERSION, "baseline": BASELINE_VERSION, "tables": tables}
        return json.dumps(plain_json(whole), indent=2, ensure_ascii=False, allow_nan=False)

    def held_against(self, result: Held, by: By = "share") -> Held:
        """The result with violations accepted as far as the baseline allows.

        Violating records are compared by their share of the table, or by `count`. Checks that the
        baseline has and the audit lacks become warnings.
        """
        asked = Counter(table_key(table) for table in result.tables)
        known = {table_key(table): table for table in self.tables}
        tables = [
            self._accepting(table, known.get(key), by, is_twin=asked[key] > 1)
            for table in result.tables
            for key in [table_key(table)]
        ]
        missing = self._missing(result.tables)
        if tables and missing:
            told = next((n for n, each in enumerate(tables) if each.status not in _UNANSWERED), 0)
            tables[told] = replace(tables[told], warnings=(*tables[told].warnings, missing))
        return replace(result, tables=tuple(tables))

    def __str__(self) -> str:
        """The numbers of checks and violations, as one sentence."""
        checks = [check for table in self.tables for check in table.checks]
        violated = sum(check.holds is False for check in checks)
        return (
            f"{plural(len(checks), 'check')} of {plural(len(self.tables), 'table')}, "
            f"{violated:,} of them violated and accepted"
        )

    def _accepting(
        self, table: TableResult, known: TableResult | None, by: By, *, is_twin: bool
    ) -> TableResult:
        """The table's checks compared with the baseline, with warnings for missing ones."""
        if table.status in _UNANSWERED:
            return table
        if known is None or is_twin:
            why = _TWINS if is_twin else self._why_unknown(table)
            unknown = Rows(replace(check, accepted=False) for check in table.checks)
            return replace(table, checks=unknown, warnings=(*table.warnings, why))
        checks = Rows(_held_against(check, table, known, by) for check in table.checks)
        return replace(
            table,
            checks=checks,
            status=status_of(checks),
            warnings=(*table.warnings, *_dropped(table, known), *_without_sizes(checks, known, by)),
        )

    def _why_unknown(self, table: TableResult) -> str:
        """Why nothing is accepted for a table that the baseline lacks."""
        same_name = [each for each in self.tables if each.name == table.name]
        if not same_name:
            names = ", ".join(dict.fromkeys(each.name for each in self.tables))
            return (
                f"the baseline has no table {table.name}, so it accepts nothing here. It has "
                f"{names}."
            )
        parts = ", ".join(QUESTION[part] for part in other_questions(same_name[0], table))
        return (
            f"the baseline has another question about {table.name} ({parts}), so it accepts "
            "nothing here. kanon-sql baseline writes it again."
        )

    def _missing(self, tables: Sequence[TableResult]) -> str:
        """A warning about baseline tables that this audit lacks; "" if there are none.

        A table with another question has a warning of its own.
        """
        asked = {table_key(table) for table in tables}
        known = {table_key(table) for table in self.tables}
        told = {table.name for table in tables if table_key(table) not in known}
        missing = [
            table.name
            for table in self.tables
            if table.checks and table_key(table) not in asked and table.name not in told
        ]
        if not missing:
            return ""
        return (
            f"the baseline has checks of {', '.join(dict.fromkeys(missing))} too, which this audit "
            "does not ask. kanon-sql baseline writes it again, if they are not needed any more."
        )

    def _refuse_twins(self, where: str) -> None:
        keys = Counter(table_key(table) for table in self.tables)
        twin = next((table for table in self.tables if keys[table_key(table)] > 1), None)
        if twin is not None:
            raise SpecError(
                f"{where}two tables are called {twin.name} and are asked the same, so a baseline "
                "could not tell them apart. Give each a name in the spec."
            )


_UNANSWERED = ("error", "no_data")
_TWINS = (
    "another table of this audit has the same name and question, so the baseline can't tell them "
    "apart and accepts nothing here. Give each a name in the spec."
)


def _dropped(table: TableResult, baseline: TableResult) -> Iterator[str]:
    """A warning per baseline check that is missing or has other thresholds."""
    demanded = [check for check in table.checks if check.holds is not None]
    same = {check_key(check, table) for check in demanded}
    about = {check_key(check, table, thresholds=False) for check in demanded}
    for check in baseline.checks:
        if check_key(check, baseline) in same:
            continue
        otherwise = check_key(check, baseline, thresholds=False) in about
        parameters = ", ".join(f"{key}={value}" for key, value in _told(check).items())
        yield (
            f"the baseline has {check.model}({parameters}), which is "
            f"{'demanded otherwise now' if otherwise else 'not demanded any more'}. kanon-sql "
            "baseline writes it again, if that is meant."
        )


def _without_sizes(checks: Sequence[CheckResult], baseline: TableResult, by: By) -> Iterator[str]:
    """A warning if shares are unknown in the baseline and a count got worse."""
    worse = {name for check in checks if check.baseline for name in check.baseline.worse}
    if by == "share" and baseline.summary.records is None and worse & set(VIOLATING):
        yield (
            f"the baseline of {baseline.name} does not say how many records there were, so that "
            "counts were compared and not shares. kanon-sql baseline writes it again."
        )


def _told(check: CheckResult) -> dict[str, Any]:
    """The parameters that identify a check, without values of the data."""
    kept = (*MODELS[check.model].thresholds, "sensitive", "reference")
    return {key: check.parameters[key] for key in kept if key in check.parameters}


def _demanded(table: TableResult) -> TableResult:
    """The table with its gating checks only."""
    if table.status in _UNANSWERED:
        what = "has no data" if table.status == "no_data" else "could not be audited"
        raise SpecError(f"{table.name} {what}, so nothing of it can be accepted.")
    return replace(table, checks=Rows(each for each in table.checks if each.holds is not None))


def _written(check: CheckResult) -> dict[str, Any]:
    """A check without figures that are never compared."""
    own = set(check.figures) - set(model_of(check).figures)
    whole = replace(check, accepted=None, baseline=None).to_dict()
    return {key: value for key, value in whole.items() if key not in own or key in VIOLATING}


def _sizes(summary: Summary) -> dict[str, int]:
    """The denominators of shares, as far as they are known."""
    found = {part: getattr(summary, part) for part in ("records", "people", "classes")}
    return {part: size for part, size in found.items() if size is not None}


def _held_against(
    check: CheckResult, table: TableResult, baseline: TableResult, by: By
) -> CheckResult:
    """The check compared with the baseline."""
    accepted = {check_key(each, baseline): each for each in baseline.checks}
    known = accepted.get(check_key(check, table))
    if known is None or known.holds is None or check.holds is None:
        return replace(check, accepted=False)
    sizes = (baseline.summary, table.summary) if by == "share" else None
    found = [figure for figure in changes(known, check, sizes) if figure.is_judged]
    worse = tuple(_worse(known, check, found))
    then = {name: known.figures.get(name) for name in figures(check)}
    return replace(
        check,
        accepted=check.holds is False and not worse,
        baseline=InBaseline(
            known.holds,
            then | _sizes(baseline.summary),
            worse,
            tuple(figure.name for figure in found if figure.change == "better"),
        ),
    )


def _worse(known: CheckResult, check: CheckResult, found: Sequence[Figure]) -> Iterator[str]:
    """Names of a violated check's figures that the baseline doesn't accept."""
    if check.holds:
        return
    if known.holds:
        yield "holds"
    for figure in found:
        if figure.change in ("worse", "changed"):
            yield figure.name
