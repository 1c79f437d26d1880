"""A baseline: what is accepted today, so that an audit fails on what got worse and on nothing else.

It accepts a check that is violated for as long as no figure of it gets worse. A check that held
must still hold, and a check or a table that it lacks gates as ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kanon_sql.comparison import (
    changes,
    check_key,
    figures,
    model_of,
    other_questions,
    question,
    table_key,
)
from kanon_sql.errors import SpecError, plural
from kanon_sql.result import AuditResult, CheckResult, InBaseline, Status, TableResult, plain_json
from kanon_sql.result_file import BASELINE_VERSION, read_baseline
from kanon_sql.version import VERSION


@dataclass(frozen=True)
class Baseline:
    """The tables that were looked at when the baseline was written, each with its demands."""

    tables: tuple[TableResult, ...]

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Raises `InputError` for a file that is no baseline."""
        baseline = cls(read_baseline(path))
        baseline._refuse_twins(f"{path}: ")
        return baseline

    @classmethod
    def of(cls, results: Iterable[AuditResult]) -> Baseline:
        """The baseline that accepts these results.

        Raises `SpecError` where there is nothing to accept: no data, a failed engine, no demand.
        """
        tables = tuple(_demanded(table) for result in results for table in result.tables)
        if not any(table.checks for table in tables):
            raise SpecError(
                "nothing was demanded, so there is nothing to accept. Give a threshold, as in "
                "--k 5, or checks in a spec."
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
                "checks": [_written(check) for check in table.checks],
            }
            for table in self.tables
        ]
        whole = {"kanon_sql": VERSION, "baseline": BASELINE_VERSION, "tables": tables}
        return json.dumps(plain_json(whole), indent=2, ensure_ascii=False, allow_nan=False)

    def held_against(self, result: AuditResult) -> AuditResult:
        """The same result, where what this baseline accepts violates nothing."""
        keys = [table_key(table) for table in result.tables]
        return replace(
            result,
            tables=tuple(
                self._accepting(table, is_twin=keys.count(key) > 1)
                for table, key in zip(result.tables, keys, strict=True)
            ),
        )

    def _accepting(self, table: TableResult, *, is_twin: bool) -> TableResult:
        if table.status in ("error", "no_data"):
            return table
        known = {table_key(each): each for each in self.tables}.get(table_key(table))
        if known is None or is_twin:
            why = _TWINS if is_twin else self._unknown(table)
            unknown = tuple(replace(check, accepted=False) for check in table.checks)
            return replace(table, checks=unknown, warnings=(*table.warnings, why))
        checks = tuple(_held_against(check, table, known) for check in table.checks)
        return replace(table, checks=checks, status=_status(table.status, checks))

    def _unknown(self, table: TableResult) -> str:
        """Why nothing of a table is accepted."""
        same_name = [each for each in self.tables if each.name == table.name]
        if not same_name:
            names = ", ".join(dict.fromkeys(each.name for each in self.tables))
            return (
                f"the baseline has no table {table.name}, so it accepts nothing here. It has "
                f"{names}."
            )
        other = " and ".join(other_questions(same_name[0], table))
        return (
            f"the baseline has {table.name} with another {other}, so it accepts nothing here. "
            "kanon-sql baseline writes it again."
        )

    def _refuse_twins(self, where: str) -> None:
        keys = [table_key(table) for table in self.tables]
        twin = next(
            (t for t, key in zip(self.tables, keys, strict=True) if keys.count(key) > 1), None
        )
        if twin is not None:
            raise SpecError(
                f"{where}two tables are called {twin.name} and are asked the same, so a baseline "
                "could not tell them apart. Give each a name in the spec."
            )


_TWINS = (
    "another table of this audit has the same name and question, so the baseline can't tell them "
    "apart and accepts nothing here. Give each a name in the spec."
)


def _demanded(table: TableResult) -> TableResult:
    """The table with the checks that gate."""
    if table.status in ("error", "no_data"):
        what = "has no data" if table.status == "no_data" else "could not be audited"
        raise SpecError(f"{table.name} {what}, so nothing of it can be accepted.")
    return replace(table, checks=tuple(each for each in table.checks if each.holds is not None))


def _written(check: CheckResult) -> dict[str, Any]:
    """A check without what is not compared."""
    own = set(check.figures) - set(model_of(check).figures)
    whole = replace(check, accepted=None, baseline=None).to_dict()
    kept = ("violating_classes", "violating_records")
    return {key: value for key, value in whole.items() if key not in own or key in kept}


def _held_against(check: CheckResult, table: TableResult, baseline: TableResult) -> CheckResult:
    """The check with what the baseline has of it."""
    accepted = {check_key(each, baseline): each for each in baseline.checks}
    known = accepted.get(check_key(check, table))
    if known is None or known.holds is None or check.holds is None:
        return replace(check, accepted=False)
    worse = tuple(_worse(known, check))
    then = {name: known.figures.get(name) for name in figures(check)}
    return replace(
        check,
        accepted=check.holds is False and not worse,
        baseline=InBaseline(known.holds, then, worse),
    )


def _worse(known: CheckResult, check: CheckResult) -> Iterator[str]:
    """Each figure of a violated check that the baseline does not accept as it is by now."""
    if check.holds:
        return
    if known.holds:
        yield "holds"
    for name, became in changes(known, check).items():
        if became in ("worse", "changed"):
            yield name


def _status(status: Status, checks: Sequence[CheckResult]) -> Status:
    """The status of a table once the checks that are accepted violate nothing."""
    if status != "violated" or any(each.holds is False and not each.accepted for each in checks):
        return status
    return "accepted"


def summary(baseline: Baseline) -> str:
    """How much a baseline accepts, in one sentence."""
    checks = [check for table in baseline.tables for check in table.checks]
    violated = sum(check.holds is False for check in checks)
    return (
        f"{plural(len(checks), 'check')} of {plural(len(baseline.tables), 'table')}, "
        f"{violated:,} of them violated and accepted"
    )
