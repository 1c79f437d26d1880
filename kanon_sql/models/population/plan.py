"""The step on survey weights."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.errors import SpecError
from kanon_sql.models.base import Model
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import PlannedStep, records, step, with_entity, with_records
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

SURVEY = "survey_classes"
"""The step on survey weights."""


SURVEY_CLASSES = 1_000_000
"""Maximum number of rows of the survey step: distinct pairs of class size and weight sum.

They are needed for the individual risk.
"""


def bound(model: Model, scope: CheckScope) -> BoundCheck:
    """An estimate. Raises `SpecError` without SciPy."""
    require_scipy(model.name())
    return BoundCheck(model, requested=True)


def require_scipy(model: str) -> None:
    """Raise `SpecError` with the install command if SciPy, which the model needs, is missing."""
    try:
        import scipy.special  # noqa: F401
    except ImportError:
        raise SpecError(f"{model} needs SciPy: pip install 'kanon-sql[estimates]'") from None


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step on survey weights; none without them."""
    if question.weight:
        yield PlannedStep(statement=_survey(question), when=with_records)


def _survey(question: ResolvedQuestion) -> Statement:
    columns = list(question.quasi_identifiers)
    assert question.weight is not None
    return step(
        question,
        SURVEY,
        f"How many classes of {question.table.name} have each size and each sum of "
        f"{question.weight.name}? More than {SURVEY_CLASSES:,} rows are not answered.",
        render(
            "survey_classes",
            relation=records(question, with_entity(question, [*columns, question.weight])),
            columns=columns,
            weight=question.weight,
            entity=question.entity,
            first=SURVEY_CLASSES + 1,
        ),
    )
