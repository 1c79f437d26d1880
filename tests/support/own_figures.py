"""The figures of checks' own statements, asked beside an audit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kanon_sql.auditing import auditor
from kanon_sql.auditing.check_statement import check_statement
from kanon_sql.engines.session import Session
from kanon_sql.plan.plan import Plan
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult

Figure = int | None
Compared = list[tuple[CheckResult, Figure]]


@contextmanager
def own_figures() -> Iterator[Compared]:
    """The figure of each check's own statement, asked right after the audit of a table."""
    compared: Compared = []
    answered = auditor.answered

    def also(plan: Plan, session: Session, show_values: bool = False) -> TableResult:
        result = answered(plan, session, show_values)
        for check, found in zip(plan.question.checks, result.checks, strict=True):
            statement = check_statement(plan.question, check)
            if statement is not None and found.holds is not None:
                compared.append((found, int(session.row(statement)["failures"])))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auditor, "answered", also)
        yield compared


def agrees(check: CheckResult, figure: Figure) -> bool:
    """0 where the check holds; else what the audit counts, 1 at least where it counts nothing."""
    assert figure is not None
    if check.holds:
        return figure == 0
    counted = check.violating_records
    if counted is None:
        counted = check.violating_people
    return figure == counted if counted else figure >= 1
