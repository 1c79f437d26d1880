"""A check's own statement: one figure, 0 where the check holds, for other test runners.

An audit reads several checks off one statement; this is the `<model>_failures` macro of one check,
as in its dbt test, summed up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kanon_sql.models.base import ReferenceModel
from kanon_sql.models.earlier.models import ComposedModel
from kanon_sql.models.events.models import EventModel
from kanon_sql.models.values.plan import order_of_values, other_sensitive
from kanon_sql.plan.check_sql import reference_of
from kanon_sql.plan.join_columns import column_pair, entity_pair, sides
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable, ResolvedQuestion
from kanon_sql.plan.steps import other_records, records, step, with_entity, with_files_as_ctes
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.statement import Statement

_MOST_EVENTS = 2
"""Maximum number of events in the dbt tests, whose macros these are."""


def check_statement(question: ResolvedQuestion, check: BoundCheck) -> Statement | None:
    """The check's own statement: 0, or the records (people) at risk, 1 or more.

    Where the table is empty or can't be judged, the database raises an error. None for an estimate,
    for events that are drawn or more than the macro counts, and for a check without a threshold.
    """
    if not check.gates or check.model.answered_by == "estimate" or not _is_counted(check):
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


def _is_counted(check: BoundCheck) -> bool:
    """Whether the macro counts every combination of the events that an attacker knows."""
    if not isinstance(check.model, EventModel):
        return True
    parameters = check.model.parameters
    return bool(
        parameters["m"] == 1
        or (parameters["m"] <= _MOST_EVENTS and parameters["max_combinations"] > 0)
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
        **dict(_with_reference(question, check)),
        **dict(_with_earlier(question, check, sensitive)),
        **dict(_with_events(question, check)),
    }


def _with_reference(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    model = check.model
    if not isinstance(model, ReferenceModel):
        return
    reference = reference_of(question, check)
    yield "sides", sides(question, reference, model.match)
    yield "union", model.missing == "union"
    yield "complete", model.missing == "error"


def _with_earlier(
    question: ResolvedQuestion, check: BoundCheck, sensitive: Sequence[BoundColumn]
) -> Iterator[tuple[str, Any]]:
    model = check.model
    if not isinstance(model, ComposedModel):
        return
    releases: Mapping[str, OtherTable] = question.earlier
    assert model.earlier is not None
    earlier = releases[model.earlier]
    people = entity_pair(question, earlier)
    earlier_sensitive = [earlier.sensitive[column.name] for column in sensitive]
    columns = [*earlier.quasi_identifiers, people.reference, *earlier_sensitive]
    yield "entities", people
    yield "earlier", other_records(earlier, columns)
    yield "earlier_columns", list(earlier.quasi_identifiers)
    for column, other in zip(sensitive, earlier_sensitive, strict=True):
        yield "values", column_pair(question, earlier, column, other)


def _with_events(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    if not isinstance(check.model, EventModel):
        return
    columns = [*question.quasi_identifiers, *question.events]
    yield "relation", records(question, with_entity(question, columns))
    yield "columns", columns
    yield "known", list(question.quasi_identifiers)
