"""Verdicts of checks, composed releases and policies, from the rows of a plan's steps. Pure
arithmetic.

`Sizes` are the rows of the classes step, one per class size in ascending order; they determine
every figure that depends on the quasi-identifiers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from kanon_sql.auditing.estimates import (
    average_risk,
    journalist,
    marketer,
    population_uniqueness,
    required_class_size,
    row_of_people,
    share_at_risk,
)
from kanon_sql.auditing.events import judged, records_with_events
from kanon_sql.auditing.summary import profile
from kanon_sql.errors import InputError, plural
from kanon_sql.plan.answers import Answers, Sizes, everyone, smallest, total
from kanon_sql.plan.audit_plan import Plan, ReferenceStep
from kanon_sql.plan.earlier_plan import EarlierStep
from kanon_sql.plan.question import BoundCheck
from kanon_sql.plan.sensitive_plan import DistanceStep, SensitiveStep
from kanon_sql.question.models.base import Model, Number, ReferenceModel, SensitiveModel
from kanon_sql.question.models.composition import (
    ComposedKAnonymity,
    ComposedLDiversity,
    ComposedModel,
)
from kanon_sql.question.models.diversity import Homogeneity, RecursiveClDiversity
from kanon_sql.question.models.events import EventModel
from kanon_sql.question.models.risk import (
    JournalistRisk,
    KMapEstimate,
    MarketerRisk,
    PopulationUniqueness,
    ProsecutorRisk,
    RiskModel,
    SampleUniqueness,
)
from kanon_sql.question.models.sizes import DeltaPresence, KAnonymity, KMap
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.question.policy import NotAsked, Policy
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.spec import TableSpec
from kanon_sql.results.table import CheckResult, PolicyOutcome
from kanon_sql.sql.quoting import SLACK, exactly
from kanon_sql.sql.tables import Row


def refuse_strangers(plan: Plan, answers: Answers) -> None:
    """Raise `InputError` if nobody is in both releases: a check on nobody must not hold."""
    for earlier in plan.of(EarlierStep):
        crowds = earlier.row(answers)
        if crowds and not crowds["kanon_in_both"]:
            raise InputError(_no_common_people_message(plan, earlier, crowds))


def _no_common_people_message(plan: Plan, step: EarlierStep, crowds: Row) -> str:
    release, earlier = plan.question.table.name, plan.question.earlier[step.earlier]
    if not crowds["kanon_leavers"]:
        return f"{earlier.table.name}: {earlier.called} has no record to compare with."
    entities = [f'"{column.name}"' for column in (plan.question.entity, earlier.entity) if column]
    keys = " and ".join(dict.fromkeys(entities))
    return (
        f"nobody is in both {release} ({int(crowds['kanon_joiners']):,} people) and "
        f"{earlier.table.name} ({int(crowds['kanon_leavers']):,} people), so they can't be "
        f"compared. Are the keys in {keys} the same in both, or were they drawn anew for each "
        "release? The audit needs the original keys."
    )


def composed(check: BoundCheck, model: ComposedModel, plan: Plan, answers: Answers) -> CheckResult:
    """The verdict of a check on this release and an earlier one together.

    Violations are counted in people, so there are no records. A check that does not gate, or has no
    answer, has neither a verdict nor violations.
    """
    step = next(step for step in plan.of(EarlierStep) if step.earlier == model.earlier)
    row = step.row(answers)
    details: dict[str, Any] = {"in_both": int(row["kanon_in_both"])}
    match model:
        case ComposedKAnonymity():
            least, required, checks, place = "kanon_least", model.k, step.checks, ""
            alone = {"release": smallest(answers.sizes), "earlier": int(row["kanon_earlier_k"])}
            details |= {group: _one_sided_people(row, group) for group in ("joiners", "leavers")}
            details["alone"] = alone
            details["average"] = int(row["kanon_classes"]) / details["in_both"]
        case ComposedLDiversity():
            candidate = next(
                candidate for candidate in step.candidates if candidate.column == check.column
            )
            place = f"_{candidate.place}"
            least, required, checks = f"kanon_least{place}", model.l, candidate.checks
            for group in ("certain", "changed"):
                details[f"{group}_people"] = int(row[f"kanon_{group}{place}_people"])
        case _:
            raise AssertionError(f"{model.name()} is read off no earlier release")
    achieved = _or_none(row[least])
    classes = people = None
    if check.gates and required is not None and achieved is not None:
        label = next(label for other, label in checks if other is check)
        classes, people = (
            int(row[f"kanon_{label}_violated{place}_{unit}"]) for unit in ("classes", "people")
        )
    return CheckResult(
        check.model.name(),
        check.model.parameters,
        None if classes is None else achieved >= required,
        achieved,
        violating_classes=classes,
        violating_people=people,
        details=details,
    )


def _one_sided_people(row: Row, group: str) -> dict[str, int | None]:
    """The number of people in only one release, and the smallest number of them in a class."""
    return {"people": int(row[f"kanon_{group}"]), "k": _or_none(row[f"kanon_{group}_k"])}


Result = TypeVar("Result", bound=CheckResult)


def with_policies(
    spec: TableSpec | PublishedSpec, checks: Sequence[Result]
) -> tuple[list[Result], tuple[PolicyOutcome, ...]]:
    """The results, each with the first policy that requires it, and the outcome of each policy."""
    results = list(checks)
    outcomes = []
    for policy, models, unchecked in _policy_models(spec):
        ran = [index for index, result in enumerate(results) if _is_of(result, models)]
        for index in ran:
            results[index] = replace(results[index], policy=results[index].policy or policy.policy)
        held = sum(bool(results[index].holds) for index in ran)
        of_records = isinstance(spec, TableSpec)
        outcomes.append(_outcome(policy, len(ran), held, unchecked, of_records))
    return results, tuple(outcomes)


def _policy_models(
    spec: TableSpec | PublishedSpec,
) -> Iterator[tuple[Policy, Sequence[Model], Sequence[NotAsked]]]:
    for policy in spec.policy:
        if isinstance(spec, TableSpec):
            yield policy, *policy.of_records()
        else:
            yield policy, *spec.asked_by(policy)


def _is_of(result: CheckResult, models: Sequence[Model]) -> bool:
    """Whether a result is that of one of the models; an audit fills in columns and tables."""
    return (result.holds is not None or result.undecided) and any(
        result.model == model.name() and model.parameters.items() <= dict(result.parameters).items()
        for model in models
    )


def _outcome(
    policy: Policy, checked: int, held: int, unchecked: Sequence[NotAsked], of_records: bool
) -> PolicyOutcome:
    return PolicyOutcome(
        id=policy.policy,
        asked=checked,
        held=held,
        not_asked=tuple(rule.model_dump() for rule in unchecked),
        asks_a_person=tuple(policy.asks_a_person),
        read=policy.read.model_dump(exclude={"how"}),
        address=policy.address,
        issuer=policy.issuer,
        title=policy.title,
        version=policy.version,
        status=policy.status,
        quotes=tuple(quote.model_dump(exclude_none=True) for quote in policy.quotes),
        reading=policy.reading,
        confidential=tuple(policy.confidential),
        for_cells=of_records and policy.concerns == "cells",
    )


ASSUMED_ATTACKER = (
    "someone who does not know whether the person is in the release, and looks for them in a "
    "table like the reference; against one who knows, only k-anonymity counts"
)


class Violations(NamedTuple):
    """How many classes violate a check, with their records and people, as far as it is known."""

    classes: int | None = None
    records: int | None = None
    people: int | None = None


class CheckFinding(NamedTuple):
    """The achieved value of a check, its verdict and its violations."""

    achieved: Any
    holds: bool
    details: Mapping[str, Any] = {}
    violating: Violations = Violations()


def verdicts(plan: Plan, answers: Answers) -> Iterator[CheckResult]:
    """The verdict of each check, in the order of the spec."""
    has_records = answers.sizes or records_with_events(answers)
    for check in plan.question.checks:
        if not has_records:
            yield CheckResult(check.model.name(), check.model.parameters, None, None)
            continue
        match check.model:
            case EventModel():
                assert plan.events is not None
                yield judged(plan.events.of(check), answers)
            case ComposedModel():
                yield composed(check, check.model, plan, answers)
            case Homogeneity():
                yield _homogeneity(check, plan, answers)
            case KAnonymity() as model:
                yield _result(check, _k_anonymity(model, plan, answers))
            case SensitiveModel() as model:
                yield _result(check, _sensitive_finding(check, model, plan, answers))
            case ReferenceModel() as model:
                yield _result(check, _reference_finding(check, model, plan, answers))
            case ProsecutorRisk() as model:
                yield _result(check, _prosecutor_risk(model, plan, answers))
            case SampleUniqueness() as model:
                yield _result(check, _sample_uniqueness(model, answers))
            case PopulationUniqueness() as model:
                yield _result(check, _population_uniqueness(check, model, plan, answers))
            case KMapEstimate() as model:
                yield _result(check, _k_map_estimate(model, plan, answers))
            case _:
                raise AssertionError(f"nothing says whether {check.model.name()} holds")


def _k_anonymity(model: KAnonymity, plan: Plan, answers: Answers) -> CheckFinding:
    achieved = smallest(answers.sizes)
    below = _violations_below(model.violating_below, plan, answers)
    details: dict[str, Any] = {**profile(answers)}
    if plan.question.wildcard:
        details["achieved_nulls_as_value"] = min(
            int(row["kanon_size_as_value"]) for row in answers.sizes
        )
    return CheckFinding(achieved, not below.classes, details, below)


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
    verdict = _result(check, CheckFinding(classes, classes == 0, details, violating))
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


def _violations_below(than: float | None, plan: Plan, answers: Answers) -> Violations:
    """The classes below a size, and the people whose smallest class is one of them."""
    if than is None:
        return Violations()
    below = [row for row in answers.sizes if row["kanon_size"] < than]
    people = sum(count for size, count in answers.counted if size < than)
    return Violations(
        total(below, "kanon_classes"),
        total(below, "kanon_records"),
        people if plan.question.entity else None,
    )


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
        case SensitiveModel(beside=str(name)):
            return {name: _worst(model, (row[f"{column}_{name}"] for row in rows))}
        case SensitiveModel() if "k" in model.companion_figures:
            return {"k": min(int(row["kanon_size"]) for row in rows)}
    return {}


def _confidence(c: float, l: int) -> float:  # noqa: E741 - the name that the field uses
    """Confidence in a value in the worst class, with l - 2 other values ruled out."""
    if math.isinf(c):
        return 1.0
    return c if l == 1 else c / (c + 1)


# --- checks against a reference -------------------------------------------------------------


def _reference_finding(
    check: BoundCheck, model: ReferenceModel, plan: Plan, answers: Answers
) -> CheckFinding:
    step, label = next(
        (step, label)
        for step in plan.of(ReferenceStep)
        for other, label in step.checks
        if other is check
    )
    [row] = answers.rows(step.name)
    of_people = row_of_people(step, answers)
    unmatched, exceeding = (
        int(row[f"kanon_{fault}_classes"]) for fault in ("unmatched", "exceeding")
    )
    if model.missing == "error" and unmatched:
        raise InputError(
            f"{model.name()}: nobody in {REFERENCE.called(step.reference)} matches "
            f"{plural(unmatched, 'class')} of {plan.question.table.name} "
            f"({plural(int(row['kanon_unmatched_records']), 'record')}), and missing: error "
            "was asked."
        )
    contained = not (model.needs_containment and (unmatched or exceeding))
    details: dict[str, Any] = {
        "unmatched_classes": unmatched,
        "unmatched_records": int(row["kanon_unmatched_records"]),
        "exceeding_classes": exceeding,
    }
    levels = plan.question.spec.references[step.reference].levels
    if any(levels.values()):
        details["reference_levels"] = dict(levels)
    violating = (
        _or_none(row.get(f"kanon_{label}_violated_classes")),
        _or_none(row.get(f"kanon_{label}_violated_records")),
    )
    match model:
        case KMap():
            union = model.missing == "union"
            achieved: Any = int(row["kanon_least_union" if union else "kanon_least_population"])
            details |= {"assumes": ASSUMED_ATTACKER}
            holds = not violating[0]
        case DeltaPresence():
            achieved = {end: _or_none(row[f"kanon_{label}_{end}"], float) for end in ("min", "max")}
            violating = (violating[0], _or_none(row.get(f"kanon_{label}_violated_population")))
            # The people query is skipped where no class is out of bounds.
            if plan.question.references[step.reference].entity and not violating[0]:
                of_people = {f"kanon_{label}_violated_people": violating[0]}
            holds = contained and not violating[0]
        case JournalistRisk():
            by_person = plan.question.entity is not None
            risks = journalist(
                row, of_people, f"{label}_at_risk", model.threshold, by_person=by_person
            )
            achieved = risks["highest"]
            details |= {key: risks[key] for key in ("average", "at_risk")}
            holds = contained and _within_bounds(
                model,
                highest=Fraction(1, int(row["kanon_least_union"])),
                average=risks["average"],
                at_risk=Fraction(
                    int(of_people[f"kanon_{label}_at_risk_people"]), int(of_people["kanon_sizes"])
                ),
            )
        case MarketerRisk():
            achieved = marketer(of_people)
            holds = contained and _at_most(achieved, model.max_average)
        case _:
            raise AssertionError(f"{model.name()} is read off no reference")
    people = _or_none(of_people.get(f"kanon_{label}_violated_people"))
    return CheckFinding(achieved, holds, details, Violations(*violating, people))


def _or_none(value: Any, kind: type = int) -> Any:
    return None if value is None else kind(value)


# --- risks and estimates --------------------------------------------------------------------


def _prosecutor_risk(model: ProsecutorRisk, plan: Plan, answers: Answers) -> CheckFinding:
    highest = Fraction(1, smallest(answers.sizes))
    average, at_risk = (
        average_risk(plan.question, answers),
        share_at_risk(answers.counted, model.threshold),
    )
    holds = _within_bounds(model, highest=highest, average=average, at_risk=at_risk)
    details = {"average": float(average), "at_risk": float(at_risk)}
    return CheckFinding(
        float(highest), holds, details, _violations_below(model.violating_below, plan, answers)
    )


def _within_bounds(
    model: RiskModel, *, highest: Fraction, average: Fraction | float, at_risk: Fraction
) -> bool:
    """Whether all given bounds hold."""
    return (
        _at_most(highest, model.max_highest)
        and _at_most(average, model.max_average)
        and _at_most(at_risk, model.max_at_risk)
    )


def _at_most(figure: Fraction | float, bound: Number | None) -> bool:
    """Whether a number is within a bound; a floating-point sum may exceed it by the slack."""
    if bound is None:
        return True
    if isinstance(figure, Fraction):
        return figure <= exactly(bound)
    return figure <= float(bound) + SLACK


def _sample_uniqueness(model: SampleUniqueness, answers: Answers) -> CheckFinding:
    alone = sum(count for size, count in answers.counted if size == 1)
    share = Fraction(alone, everyone(answers.counted))
    return CheckFinding(float(share), _at_most(share, model.max_share))


def _population_uniqueness(
    check: BoundCheck, model: PopulationUniqueness, plan: Plan, answers: Answers
) -> CheckFinding:
    """Estimated population uniqueness. With an entity, estimated from profiles (the set of classes
    a person is in): each person has exactly one, so a sample of people is a sample of profiles, as
    the estimators assume. It is no sample of classes, because classes share people."""
    _refuse_small_population(model, plan, answers)
    estimates = population_uniqueness(_profile_sizes(answers), model.population)
    achieved = estimates.estimate(model.estimator)
    if achieved is None and check.gates:
        raise InputError(
            f"population_uniqueness: the estimator {model.estimator} has no estimate "
            f"for {plan.question.table.name}, so the check can't be judged. Choose another one, or "
            "measure without max_share to see all three."
        )
    shares = {name: estimates.estimate(name) for name in ("zayatz", "pitman", "snb")}
    holds = achieved is None or _at_most(float(achieved), model.max_share)
    return CheckFinding(achieved, holds, {"estimate": True, "estimates": shares})


def _k_map_estimate(model: KMapEstimate, plan: Plan, answers: Answers) -> CheckFinding:
    """The k-map estimate from class sizes. A person of a class is in the sample with a probability
    that does not depend on their other classes, so only the size of the sample is counted in
    people."""
    _refuse_small_population(model, plan, answers)
    required = required_class_size(
        model.k, everyone(answers.counted), model.population, float(model.alpha), model.test
    )
    below = _violations_below(required, plan, answers)
    details = {"required": required, "estimate": True}
    return CheckFinding(smallest(answers.sizes), not below.classes, details, below)


def _refuse_small_population(
    model: PopulationUniqueness | KMapEstimate, plan: Plan, answers: Answers
) -> None:
    counted = everyone(answers.counted)
    if model.population < counted:
        raise InputError(
            f"{model.name()}: a population of {model.population:,} is smaller than "
            f"{plan.question.table.name}, which has {counted:,} "
            f"{'people' if plan.question.entity else 'records'}. It is the number of people from "
            "which the table was sampled."
        )


def _profile_sizes(answers: Answers) -> dict[int, int]:
    """Number of profiles by size; of classes, without an entity."""
    rows, counted = (
        (answers.profiles, "kanon_profiles")
        if answers.profiles
        else (answers.sizes, "kanon_classes")
    )
    return {int(row["kanon_size"]): int(row[counted]) for row in rows}


def _result(check: BoundCheck, finding: CheckFinding) -> CheckResult:
    """The result of a check; one that does not gate has neither a verdict nor violations."""
    counted = finding.violating if check.gates else Violations()
    return CheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=finding.holds if check.gates else None,
        achieved=finding.achieved,
        violating_classes=counted.classes,
        violating_records=counted.records,
        violating_people=counted.people,
        details=finding.details,
    )
