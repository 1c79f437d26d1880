"""A baseline: the violations accepted today, so that an audit fails only on what got worse.

It is a stored result, and its gate is a rule on the comparison that `diff` makes of it and the
audit. A violated check is accepted as long as none of these gets worse: its own figures, the
figures of the table in the model's `table_figures`, and the number of classes with a single value
of its sensitive attribute. A check that held must still hold. Checks and tables that the baseline
lacks gate as without a baseline.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kanon_sql.errors import SpecError, option, plural
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.results.check import CheckResult, InBaseline
from kanon_sql.results.compared import (
    VIOLATING,
    Figure,
    flat_figures,
    is_homogeneity_of,
    judged,
    model_of,
    table_figures,
)
from kanon_sql.results.diff import By, CheckDiff, TableDiff, table_diff
from kanon_sql.results.identity import (
    QUESTION,
    check_key,
    other_questions,
    table_key,
)
from kanon_sql.results.seal import sealed
from kanon_sql.results.stored import BASELINE_VERSION, read_baseline
from kanon_sql.results.table import AuditFindings, TableResult, status_of
from kanon_sql.results.tabular import Rows
from kanon_sql.results.version import FORMAT, VERSION

Findings = TypeVar("Findings", bound=AuditFindings)


@dataclass(frozen=True)
class Baseline:
    """The audited tables with their gating checks, when the baseline was written."""

    tables: tuple[TableResult, ...]
    sealed: bool = True
    """Whether it has a seal, or of what was not stored, gets one."""

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a baseline. Raises `InputError` for any other file."""
        stored = read_baseline(path)
        baseline = cls(stored.tables, stored.sealed)
        baseline._refuse_duplicates(f"{path}: ")
        return baseline

    @classmethod
    def of(cls, results: Iterable[AuditFindings]) -> Baseline:
        """The baseline that accepts these results.

        Raises `SpecError` if there is nothing to accept: no data, a failed engine, no requirement.
        """
        accepted = [*results]
        tables = tuple(_as_accepted(table) for result in accepted for table in result.tables)
        checks = [check for table in tables for check in table.checks]
        is_open = all(check.holds is None for check in checks)
        if is_open and any(check.undecided for check in checks):
            raise SpecError("every check is undecided, so there is nothing to accept.")
        if is_open:
            raise SpecError(
                "no check has a threshold, so there is nothing to accept. Give one, as in "
                f"{option('k', 5)}, or checks in a spec."
            )
        baseline = cls(tables, all(result.sealed for result in accepted))
        baseline._refuse_duplicates("")
        return baseline

    def to_json(self) -> str:
        """The tables as in a result, marked as a baseline."""
        result = AuditFindings(self.tables, VERSION, sealed=False).to_dict()
        document = {"kanon_sql": VERSION, "format": FORMAT, "baseline": BASELINE_VERSION, **result}
        written = sealed(document) if self.sealed else document
        return json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False)

    def applied_to(self, result: Findings, by: By = "share") -> Findings:
        """The result with violations accepted as far as the baseline allows.

        Violating records are compared by their share of the table, or by `count`. Checks that the
        baseline has and the audit lacks become warnings.
        """
        audited = Counter(table_key(table) for table in result.tables)
        baseline_tables = {table_key(table): table for table in self.tables}
        tables = [
            self._accepting(table, baseline_tables.get(key), by, is_duplicate=audited[key] > 1)
            for table in result.tables
            for key in [table_key(table)]
        ]
        notes = [note for note in (self._missing(result.tables), self._without_seal()) if note]
        if tables and notes:
            reported = next(
                (n for n, table in enumerate(tables) if table.status not in _UNANSWERED), 0
            )
            tables[reported] = replace(
                tables[reported], warnings=(*tables[reported].warnings, *notes)
            )
        return replace(result, tables=tuple(tables))

    def __str__(self) -> str:
        """The number of checks that it accepts, as a phrase."""
        checks = [check for table in self.tables for check in _gated(table)]
        violated = sum(check.holds is False for check in checks)
        return (
            f"{plural(len(checks), 'check')} of {plural(len(self.tables), 'table')}, "
            f"{violated:,} of them violated and accepted"
            f"{'' if self.sealed else '. A result had no seal: an edited figure is not noticed'}"
        )

    def _accepting(
        self, table: TableResult, accepted: TableResult | None, by: By, *, is_duplicate: bool
    ) -> TableResult:
        """The table's checks compared with the baseline, with warnings for missing ones."""
        if table.status in _UNANSWERED:
            return table
        if accepted is None or is_duplicate:
            warning = _EQUAL_TABLES if is_duplicate else self._why_unknown(table)
            unknown = Rows(replace(check, accepted=False) for check in table.checks)
            return replace(table, checks=unknown, warnings=(*table.warnings, warning))
        compared = table_diff(accepted, table, by)
        checks = Rows(_judged(check, compared) for check in compared.checks if check.new)
        return replace(
            table,
            checks=checks,
            status=status_of(checks),
            warnings=(
                *table.warnings,
                *_warnings_on_missing_checks(table, accepted),
                *_warnings_on_counting(compared),
                *_warnings_on_missing_sizes(checks, accepted, by),
            ),
        )

    def _why_unknown(self, table: TableResult) -> str:
        """Why nothing is accepted for a table that the baseline lacks."""
        same_name = [other for other in self.tables if other.name == table.name]
        if not same_name:
            names = ", ".join(dict.fromkeys(table.name for table in self.tables))
            return (
                f"the baseline has no table {table.name}, so it accepts nothing here. It has "
                f"{names}."
            )
        changed = ", ".join(QUESTION[key] for key in other_questions(same_name[0], table))
        return (
            f"the baseline has another question about {table.name} ({changed}), so it accepts "
            "nothing here. kanon-sql baseline writes it again."
        )

    def _missing(self, tables: Sequence[TableResult]) -> str:
        """A warning about baseline tables that this audit lacks; "" if there are none.

        A table with another question has a warning of its own.
        """
        audited = {table_key(table) for table in tables}
        baseline_keys = {table_key(table) for table in self.tables}
        reported = {table.name for table in tables if table_key(table) not in baseline_keys}
        missing = [
            table.name
            for table in self.tables
            if _gated(table) and table_key(table) not in audited and table.name not in reported
        ]
        if not missing:
            return ""
        return (
            f"the baseline has checks of {', '.join(dict.fromkeys(missing))} too, which this audit "
            "does not ask. kanon-sql baseline writes it again, if they are not needed any more."
        )

    def _without_seal(self) -> str:
        """A warning that an edit of the baseline is not noticed; "" with a seal."""
        if self.sealed:
            return ""
        return (
            "the baseline has no seal, so an edited figure is not noticed. kanon-sql baseline "
            "writes it again, of the table or of a sealed result."
        )

    def _refuse_duplicates(self, where: str) -> None:
        keys = Counter(table_key(table) for table in self.tables)
        duplicate = next((table for table in self.tables if keys[table_key(table)] > 1), None)
        if duplicate is not None:
            raise SpecError(
                f"{where}two tables are called {duplicate.name} and have the same checks, so a "
                "baseline could not distinguish them. Give each a name in the spec."
            )


_UNANSWERED = ("error", "no_data")
_EQUAL_TABLES = (
    "another table of this audit has the same name and question, so the baseline can't tell them "
    "apart and accepts nothing here. Give each a name in the spec."
)


def _warnings_on_missing_checks(table: TableResult, baseline: TableResult) -> Iterator[str]:
    """A warning for each check of the baseline that is missing or has other thresholds."""
    undecided = [check for check in table.checks if check.undecided]
    for check in undecided:
        which = "".join(
            f" {key}={check.parameters[key]}"
            for key in ("m", "sensitive")
            if key in check.parameters
        )
        yield (
            f"{check.model}{which} is undecided, so it is left out of the comparison with the "
            "baseline."
        )
    required = [*_gated(table), *undecided]
    same = {check_key(check, table) for check in required}
    about = {check_key(check, table, thresholds=False) for check in required}
    for check in _gated(baseline):
        if check_key(check, baseline) in same:
            continue
        has_other_thresholds = check_key(check, baseline, thresholds=False) in about
        parameters = ", ".join(
            f"{key}={value}" for key, value in _identifying_parameters(check).items()
        )
        yield (
            f"the baseline has {check.model}({parameters}), which "
            f"{'has other thresholds now' if has_other_thresholds else 'is no longer checked'}. "
            "kanon-sql baseline writes it again, if that is intended."
        )


def _warnings_on_counting(table: TableDiff) -> Iterator[str]:
    """A warning for each violated check whose figures mean something else in the baseline."""
    for check in table.checks:
        if check.new and check.new.holds is False and check.is_counted_differently:
            yield (
                f"{check.new.model} m={check.new.parameters['m']} was counted otherwise in the "
                "baseline (fewer sizes of combinations, or a draw), so its figures can't be "
                "compared and nothing is accepted. Raise max_combinations, or write the baseline "
                "again with kanon-sql baseline."
            )


def _warnings_on_missing_sizes(
    checks: Sequence[CheckResult], baseline: TableResult, by: By
) -> Iterator[str]:
    """Warnings for a baseline of an older version, which lacks some figures to compare."""
    compared = [check for check in checks if check.baseline is not None and check.holds is False]
    if baseline.summary.uniques is None and any(
        model_of(check).table_figures for check in compared
    ):
        yield (
            f"the baseline of {baseline.name} lacks the numbers of uniques and the risks, so that "
            "these were not compared. kanon-sql baseline writes it again."
        )
    unknown = [
        name
        for check in compared
        for name, value in flat_figures(check).items()
        if value is not None
        and judged(name, check)
        and check.baseline
        and name not in check.baseline.figures
    ]
    if unknown:
        yield (
            f"the baseline of {baseline.name} lacks {', '.join(dict.fromkeys(unknown))}, as an "
            "earlier version wrote it, so that this was not compared. kanon-sql baseline writes it "
            "again."
        )
    worse = {name for check in checks if check.baseline for name in check.baseline.worse}
    if by == "share" and baseline.summary.records is None and worse & set(VIOLATING):
        yield (
            f"the baseline of {baseline.name} lacks the number of records, so that counts were "
            "compared and not shares. kanon-sql baseline writes it again."
        )


def _identifying_parameters(check: CheckResult) -> dict[str, Any]:
    """The parameters that identify a check, without values of the data."""
    identifying = (*ALL_MODELS[check.model].thresholds, "sensitive", "reference")
    found = {key: check.parameters[key] for key in identifying if key in check.parameters}
    columns = check.parameters.get("columns")
    return found | ({"columns": "+".join(columns)} if columns else {})


def _gated(table: TableResult) -> list[CheckResult]:
    """The checks that can fail."""
    return [check for check in table.checks if check.holds is not None]


def _as_accepted(table: TableResult) -> TableResult:
    """The table without a former baseline and without descriptive fields."""
    if table.status in _UNANSWERED:
        reason = "has no data" if table.status == "no_data" else "could not be audited"
        raise SpecError(f"{table.name} {reason}, so nothing of it can be accepted.")
    checks = Rows(replace(check, accepted=None, baseline=None) for check in table.checks)
    status = status_of(checks)
    return replace(table, checks=checks, status=status, warnings=(), sql={}, shown=None)


def _judged(check: CheckDiff, table: TableDiff) -> CheckResult:
    """The check with its baseline and whether its violation is accepted."""
    old, new = check.old, check.new
    assert new is not None
    if old is None or table.old is None or check.demand != "same" or None in (old.holds, new.holds):
        return replace(new, accepted=False)
    if check.is_counted_differently:
        # Fewer violations may have been found because fewer were looked for.
        return replace(new, accepted=False)
    own = [figure for figure in check.figures if figure.is_judged]
    of_table = list(_table_figures(new, table))
    worse = tuple(_worse(check, own, of_table))
    of_old = flat_figures(old)
    compared = [*(figure.name for figure in check.figures), *_beyond_intervals(new)]
    then = {name: of_old[name] for name in compared if name in of_old}
    sizes = {name: getattr(table.old.summary, name) for name in ("records", "people", "classes")}
    known_sizes = {name: size for name, size in sizes.items() if size is not None}
    return replace(
        new,
        accepted=new.holds is False and not worse,
        baseline=InBaseline(
            bool(old.holds),
            then | known_sizes | table_figures(table.old, new),
            worse,
            tuple(figure.name for figure in (*own, *of_table) if figure.change == "better"),
        ),
    )


def _table_figures(check: CheckResult, table: TableDiff) -> Iterator[Figure]:
    """The changed figures of the table that are judged with a check, if the baseline has them."""
    names = model_of(check).table_figures
    for figure in (*table.summary, *table.risks):
        if figure.name in names and figure.old is not None:
            yield figure
    for other in table.checks:
        if other.old and other.new and is_homogeneity_of(check, other.new):
            for figure in other.figures:
                if figure.is_judged and figure.old is not None and figure.change != "changed":
                    yield replace(figure, name=f"homogeneity.{figure.name}")


def _worse(check: CheckDiff, own: Sequence[Figure], of_table: Sequence[Figure]) -> Iterator[str]:
    """The figures of a violated check that are worse than accepted."""
    if check.new is None or check.old is None or check.new.holds:
        return
    if check.old.holds:
        yield "holds"
    for figure in (*own, *of_table):
        if figure.change in ("worse", "changed"):
            yield figure.name
    yield from sorted(_beyond_intervals(check.new) - _beyond_intervals(check.old))


def _beyond_intervals(check: CheckResult) -> set[str]:
    """The figures whose whole interval is above its bound."""
    figures = flat_figures(check)
    return {
        figure
        for threshold, (figure, ends) in model_of(check).interval_bounds.items()
        if figures.get(ends) is not None
        and check.parameters.get(threshold) is not None
        and figures[ends][0] > check.parameters[threshold]
    }
