"""The family of checks on what classes share of a sensitive attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kanon_sql.auditing.findings import CheckFinding, Violations, result_of
from kanon_sql.errors import plural
from kanon_sql.models.base import SensitiveModel
from kanon_sql.models.values.models import Homogeneity, RecursiveClDiversity
from kanon_sql.models.values.plan import (
    AttributeStep,
    DistanceStep,
    DiverseBySpellingStep,
    NamedValuesStep,
    SensitiveStep,
    SpellingsStep,
    ValuesStep,
)
from kanon_sql.plan.answers import Answers, Sizes, total
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck, reads_values
from kanon_sql.results.check import CheckResult
from kanon_sql.sql.tables import Row, family


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check on a sensitive attribute."""
    model = check.model
    if isinstance(model, Homogeneity):
        return _homogeneity(check, plan, answers)
    assert isinstance(model, SensitiveModel)
    return result_of(check, _sensitive_finding(check, model, plan, answers))


def fields(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The sensitive attributes that are numbers or dates."""
    return {"numbers": tuple(_numbers(plan, answers))} if _are_read(plan) else {}


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """Warnings about sensitive attributes that are constant or diverse by spelling alone, and about
    values of checks that never occur."""
    if plan.question.wildcard:
        yield (
            "nulls: wildcard: the sensitive attributes are not measured, because compatible "
            "records form no classes."
        )
    if not _are_read(plan):
        return
    for attribute in plan.question.sensitive:
        yield from _constant_warning(attribute.name, plan, answers)
        yield from _sham_diversity(attribute.name, plan, answers)
    yield from _unmatched_values(plan, answers)


def _are_read(plan: Plan) -> bool:
    """Whether the sensitive values of classes are read."""
    return bool(plan.question.quasi_identifiers) and reads_values(plan.question)


def _numbers(plan: Plan, answers: Answers) -> Iterator[str]:
    """The sensitive attributes that are numbers or dates, by type or by all their texts."""
    for column in plan.question.sensitive:
        values = row_on(SpellingsStep, column.name, plan, answers)
        is_read = values and 0 < values["kanon_known_values"] == values["kanon_numbers"]
        if is_read or family(column.type) in ("number", "time"):
            yield column.name


def _homogeneity(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    sizes, label, of_people = _rows_of(check, plan, answers)
    classes = total(sizes, "kanon_homogeneous_classes")
    singletons = sum(
        int(row["kanon_homogeneous_classes"]) for row in sizes if row["kanon_size"] == 1
    )
    details = {"singleton_classes": singletons}
    if plan.question.entity:
        details["several_valued_classes"] = total(sizes, "kanon_certain_among_others_classes")
    records = total(sizes, "kanon_homogeneous_records")
    people = _violating_people(
        plan, sizes, of_people, "kanon_homogeneous_classes", f"kanon_{label}_violated_people"
    )
    violating = Violations(classes, records, people)
    verdict = result_of(check, CheckFinding(classes, classes == 0, details, violating))
    # Reported without a check too: the records and people whose value is certain.
    return replace(verdict, violating_records=records, violating_people=people)


def _sensitive_finding(
    check: BoundCheck, model: SensitiveModel, plan: Plan, answers: Answers
) -> CheckFinding:
    """The verdict of a check on a sensitive attribute: its measure in the worst class."""
    rows, label, of_people = _rows_of(check, plan, answers)
    column = f"kanon_{label}"
    achieved = _worst(model, (row[column] for row in rows))
    if any(row.get(f"{column}_infinite_classes") for row in rows):
        achieved = math.inf
    classes, records = (
        sum(int(row.get(f"{column}_violated_{counted}") or 0) for row in rows)
        for counted in ("classes", "records")
    )
    people = _violating_people(
        plan, rows, of_people, f"{column}_violated_classes", f"{column}_violated_people"
    )
    details = _companion_figures(model, achieved, column, rows)
    return CheckFinding(achieved, classes == 0, details, Violations(classes, records, people))


def _rows_of(check: BoundCheck, plan: Plan, answers: Answers) -> tuple[Sizes, str, Row | None]:
    """The rows that answer a check on a sensitive attribute, its label in their columns, and the
    row counted in people, if any."""
    for distance in plan.of(DistanceStep):
        if distance.labelled.check is check:
            name = distance.name
            return answers.rows(name), distance.labelled.label, answers.people_of(name)
    for read in plan.of(SensitiveStep):
        for other, label in read.checks:
            if other is check:
                return answers.rows(read.name), label, answers.people_of(read.name)
    raise AssertionError(f"no step answers {check.model.name()}")


def _violating_people(
    plan: Plan, rows: Sizes, of_people: Row | None, classes: str, people: str
) -> int | None:
    """Number of people in a violating class. If each person is in one class, the sum of those
    classes' sizes."""
    if plan.question.entity is None:
        return None
    if of_people is not None:
        return int(of_people.get(people) or 0)
    return sum(int(row.get("kanon_size", 0)) * int(row.get(classes) or 0) for row in rows)


def _worst(model: SensitiveModel, figures: Iterator[Any]) -> int | float | None:
    """The least or greatest measure over the classes; None if no class has one."""
    measures = [measure for measure in figures if measure is not None]
    if not measures:
        return None
    worst = min(measures) if model.worst == "least" else max(measures)
    return worst if isinstance(worst, int) else float(worst) + 0.0  # -0.0 is 0.


def _companion_figures(
    model: SensitiveModel, achieved: Any, column: str, rows: Sizes
) -> dict[str, Any]:
    """Further measures of a model, as details of its result."""
    match model:
        case RecursiveClDiversity(allowed=None):
            return {"confidence": _confidence(achieved, model.l)}
        case SensitiveModel(companion=str(name)):
            return {name: _worst(model, (row[f"{column}_{name}"] for row in rows))}
        case SensitiveModel() if "k" in model.companion_figures:
            return {"k": min(int(row["kanon_size"]) for row in rows)}
    return {}


def _confidence(c: float, l: int) -> float:
    """Confidence in a value in the worst class, with l - 2 other values ruled out."""
    if math.isinf(c):
        return 1.0
    return c if l == 1 else c / (c + 1)


def row_on(kind: type[AttributeStep], name: str, plan: Plan, answers: Answers) -> Row | None:
    """The row of the step of a kind on a sensitive attribute; None if it was not run."""
    steps = (step for step in plan.of(kind) if step.column.name == name)
    return next((answers.row(step.name) for step in steps), None)


def _constant_warning(name: str, plan: Plan, answers: Answers) -> Iterator[str]:
    """A warning about a constant sensitive attribute, which classes cannot reveal more of."""
    row = row_on(ValuesStep, name, plan, answers)
    if row is None or row["kanon_values"] > 1:
        return
    if row["kanon_values"] == 0:
        yield (
            f"{name} is NULL in every record, so no model on it shows that anything is protected."
        )
    elif not row["kanon_nulls"]:
        yield (
            f"{name} has the same value in every record: everyone in the table has it. "
            "t-closeness, δ-disclosure and β-likeness compare with the table and hold anyway."
        )


def _sham_diversity(name: str, plan: Plan, answers: Answers) -> Iterator[str]:
    read = next(step for step in plan.of(SensitiveStep) if step.column.name == name)
    sizes = answers.rows(read.name)
    by_null = 0 if plan.question.unknown else total(sizes, "kanon_diverse_by_null_classes")
    if by_null:
        yield (
            f"{plural(by_null, 'class')} {_verb(by_null)} one {name} plus missing values: anyone "
            f"who ignores the missing ones knows the {name}. To count missing values as no value: "
            "--sensitive-nulls unknown."
        )
    row = row_on(DiverseBySpellingStep, name, plan, answers)
    by_spelling = int(row["kanon_diverse_by_spelling_classes"] or 0) if row else 0
    if by_spelling:
        yield (
            f"{plural(by_spelling, 'class')} {_verb(by_spelling)} several values of {name} by "
            "spelling alone: they differ by case, outer spaces or the way a number is written."
        )


def _verb(count: int) -> str:
    return "has" if count == 1 else "have"


def _unmatched_values(plan: Plan, answers: Answers) -> Iterator[str]:
    of_values = (
        (step, row) for step in plan.of(NamedValuesStep) for row in answers.rows(step.name)
    )
    for step, row in of_values:
        lacking = step.named - int(row["kanon_occurring"] or 0)
        if lacking:
            values = (
                "The one value" if step.named == 1 else f"{lacking:,} of the {step.named:,} values"
            )
            yield (
                f"{values} named in {step.check.model.name()} never "
                f"{'occurs' if step.named == 1 else 'occur'} in "
                f"{step.check.model.parameters['sensitive']}: check the spelling."
            )
