"""A check's own statement: one figure, 0 where the check holds, for other test runners.

An audit reads several checks off one statement; this is the `<model>_failures` macro of one check,
as in its dbt test, summed up.
"""

from __future__ import annotations

from typing import Any

from kanon_sql.models.values.plan import order_of_values, other_sensitive
from kanon_sql.plan.family_plan import plan_of
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import records, step, with_entity, with_files_as_ctes
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.statement import Statement


def check_statement(question: ResolvedQuestion, check: BoundCheck) -> Statement | None:
    """The check's own statement: 0, or the records (people) at risk, 1 or more.

    Where the table is empty or can't be judged, the database raises an error. None for an estimate,
    for events that are drawn or more than the macro counts, and for a check without a threshold.
    """
    if not check.gates or not check.model.has_own_statement:
        return None
    name = check.model.name()
    failures = render_known(f"{name}_failures", **_statement_arguments(question, check))
    return step(
        question,
        name,
        f"Does {check.model.title} hold for {question.table.name}? 0 if so, else what is at risk.",
        render("sum_of_failures", statement=with_files_as_ctes(failures, question)),
        type(check.model),
    )


def _statement_arguments(question: ResolvedQuestion, check: BoundCheck) -> dict[str, Any]:
    """Every argument that the macro of a check may take, by name."""
    columns = [*question.quasi_identifiers, *other_sensitive(question, check)]
    sensitive = [check.column] if check.column else []
    return {
        **check.model.parameters,
        "relation": records(question, with_entity(question, [*columns, *sensitive])),
        "columns": columns,
        "sensitive": check.column,
        "entity": question.entity,
        "unknown": question.unknown,
        "wildcard": question.wildcard,
        "order": order_of_values(check),
        "paths": [list(path) for path in check.paths],
        "all_occur": False,
        **dict(plan_of(check.model).own_arguments(question, check)),
    }
