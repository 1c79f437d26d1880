"""The classes that a release must not contain: smaller than k, or failing another check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kanon_sql.models.base import ReferenceModel
from kanon_sql.models.earlier.models import ComposedKAnonymity
from kanon_sql.models.values.plan import of_distance, other_sensitive
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    class_arguments,
    class_verdicts,
    labelled,
    out_of_bounds,
    reference_of,
)
from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import (
    BoundCheck,
    BoundColumn,
    JoinedLabels,
    OtherTable,
    Pair,
    ResolvedQuestion,
)
from kanon_sql.plan.steps import other_records
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.quoting import identifier


def class_size(checks: Sequence[BoundCheck]) -> int | None:
    """The class size that satisfies every gating check on sizes; None without one."""
    sizes = [check.model.least_size for check in checks if check.gates]
    return max((size for size in sizes if size is not None), default=None)


def is_judged_by_class(check: BoundCheck) -> bool:
    """Whether the check is decided by each class of the table alone, so that a search can use it.

    An estimate is not: the class size that it requires depends on the number of records.
    """
    return check.model.judged_by_class and check.model.family in ("sizes", "values")


def sensitive_requirements(question: ResolvedQuestion) -> list[BoundCheck]:
    """The gating checks on sensitive values; all of them are judged by class."""
    return [check for check in question.checks if check.gates and check.model.family == "values"]


def compares_with_table(check: BoundCheck) -> bool:
    """Whether the check compares a class with the whole table's distribution."""
    return "shares" in check.model.needs


def reference_requirements(question: ResolvedQuestion) -> list[BoundCheck]:
    """The gating checks judged by a class's count in a reference.

    The reference must be readable at any level of the table, so it can't have levels of its own.
    """
    return [
        check
        for check in question.checks
        if check.gates and _is_judged_by_reference(question, check)
    ]


def _is_judged_by_reference(question: ResolvedQuestion, check: BoundCheck) -> bool:
    model = check.model
    if not isinstance(model, ReferenceModel) or model.reference is None:
        return False
    return model.judged_by_class and not reference_of(question, check).levels


def required_crowds(question: ResolvedQuestion) -> dict[str, int]:
    """By earlier release: minimum number of people who share their classes in both releases."""
    least: dict[str, int] = {}
    for check in question.checks:
        if check.gates and is_about_crowds(check):
            model = check.model
            assert isinstance(model, ComposedKAnonymity)
            assert model.earlier is not None
            least[model.earlier] = max(least.get(model.earlier, 0), model.k or 0)
    return least


def is_about_crowds(check: BoundCheck) -> bool:
    """Whether a check is about people who share their classes in two releases."""
    return isinstance(check.model, ComposedKAnonymity)


def too_rare(check: BoundCheck) -> str:
    """Predicate on a class with both its sizes known: it fails the reference check."""
    model = check.model
    assert isinstance(model, ReferenceModel)
    # Then the reference can't contain the release.
    predicates = ["kanon_population < kanon_size"] if model.needs_containment else []
    # A minimum is for classes of the reference: see `least_presence`.
    bounds = {name: bound for name, bound in model.class_bounds.items() if name != "min"}
    if bounds:
        predicates.append(out_of_bounds(model, bounds))
    return render("any_of", predicates=predicates)


def least_presence(check: BoundCheck) -> str | None:
    """Predicate on a reference class: its share in the release is below the check's minimum.

    None if the check has no minimum.
    """
    model = check.model
    if not isinstance(model, ReferenceModel) or not model.parameters.get("min"):
        return None
    least = model.parameters["min"]
    return render_known(model.predicate, population="kanon_population", min=least)


def is_monotone(question: ResolvedQuestion) -> bool:
    """Whether merging classes never increases the records in violating classes (monotone).

    That is, a passing class merged with any other class, passing or not, passes every check. It
    holds for sizes and numbers of distinct values (LeFevre, DeWitt, Ramakrishnan 2005;
    Machanavajjhala et al. 2007, section 4), not for distributions. Composed k-anonymity breaks it:
    the crowd that two releases share may be small within an otherwise passing class.
    """
    return not required_crowds(question) and _is_monotone_within_table(question)


def _is_monotone_within_table(question: ResolvedQuestion) -> bool:
    """`is_monotone` without the checks on earlier releases."""
    return all(
        check.model.only_grows and not other_sensitive(question, check)
        for check in [*sensitive_requirements(question), *reference_requirements(question)]
    )


def closed_under_merging(question: ResolvedQuestion) -> bool:
    """Whether merging two passing classes gives a passing class.

    If so, and nothing may be suppressed, a failing node rules out every finer one. It holds for
    shares and distances, as a union's lies between those of its parts (Machanavajjhala et al. 2007,
    section 4; Li, Li, Venkatasubramanian 2007, section 4.2), but not with an entity: someone in two
    classes counts once in their union. It holds for composition, as people who share the classes of
    two releases share coarser ones too.
    """
    if _is_monotone_within_table(question):
        return True
    by_share = [check for check in reference_requirements(question) if not check.model.only_grows]
    entities = [question.entity, *(reference_of(question, check).entity for check in by_share)]
    return not any(entities)


def with_k(question: ResolvedQuestion, k: int) -> ResolvedQuestion:
    """The question with the first gating k replaced."""
    checks = list(question.checks)
    for index, check in enumerate(checks):
        if check.gates and check.model.sets_k:
            checks[index] = replace(check, model=check.model.model_copy(update={"k": k}))
            break
    return replace(question, checks=tuple(checks))


def violating_classes(
    question: ResolvedQuestion,
    relation: str,
    *,
    rolled_up: bool = False,
    table_counts: Mapping[str, str] | None = None,
) -> str:
    """One SELECT of the violating classes by quasi-identifiers, with their records.

    `relation` holds records, or if `rolled_up` a frequency set over the quasi-identifiers, the
    checked sensitive attributes and the entity. If it has only some of the classes, `table_counts`
    has, by sensitive attribute, the relation with the whole table's counts per value.
    """
    statements = list(_statements(question, relation, rolled_up, table_counts or {}))
    return render("violating_by_any", statements=statements)


def too_small_classes(question: ResolvedQuestion, classes: str) -> str:
    """The violating classes, where only sizes are checked and `classes` has one row per class."""
    return render(
        "violating_classes",
        columns=list(question.quasi_identifiers),
        violating=render("too_few_records", k=class_size(question.checks)),
        classes=classes,
    )


def _statements(
    question: ResolvedQuestion, relation: str, rolled_up: bool, table_counts: Mapping[str, str]
) -> Iterator[str]:
    """One statement per sensitive attribute or own distance; the first also checks sizes."""
    size = class_size(question.checks)
    too_small = render("too_small", k=size) if size else None
    required = sensitive_requirements(question)
    alone = [check for check in required if not other_sensitive(question, check)]
    together = [check for check in alone if not check.model.has_own_distance]
    for sensitive in dict.fromkeys(check.column for check in together):
        labelled_checks = labelled(check for check in together if check.column == sensitive)
        yield _statement(
            question, relation, rolled_up, table_counts, labelled_checks, also=too_small
        )
        too_small = None
    for labelled_check in labelled(check for check in alone if check.model.has_own_distance):
        yield _statement(question, relation, rolled_up, table_counts, [labelled_check])
    if too_small:
        yield render(
            "k_anonymity",
            relation=relation,
            columns=list(question.quasi_identifiers),
            entity=question.entity,
            rolled_up=rolled_up,
            violating=too_small,
        )
    for labelled_check in labelled(check for check in required if check not in alone):
        yield _classes_with_parts(question, relation, rolled_up, table_counts, labelled_check)


def _classes_with_parts(
    question: ResolvedQuestion,
    relation: str,
    rolled_up: bool,
    table_counts: Mapping[str, str],
    labelled_check: LabelledCheck,
) -> str:
    """The classes with a failing part: the members who share their other sensitive values.

    The whole class is suppressed, as dropping one part would reveal these values.
    """
    others = other_sensitive(question, labelled_check.check)
    columns = (*question.quasi_identifiers, *others)
    bound_by_part = replace(question, quasi_identifiers=columns, keys=columns)
    return render(
        "classes_with_parts",
        relation=relation,
        columns=list(question.quasi_identifiers),
        parts=_statement(bound_by_part, relation, rolled_up, table_counts, [labelled_check]),
        rolled_up=rolled_up,
    )


def _statement(
    question: ResolvedQuestion,
    relation: str,
    rolled_up: bool,
    table_counts: Mapping[str, str],
    checks: Sequence[LabelledCheck],
    *,
    also: str | None = None,
) -> str:
    check = checks[0].check
    sensitive = check.column
    assert sensitive is not None
    verdicts = list(class_verdicts(question, sensitive, checks))
    failed = [verdict.expression for verdict in verdicts if verdict.name.endswith("_violated")]
    if any(check.model.counts_violations for check, _ in checks):
        failed.append(render("homogeneity", entity=question.entity, unknown=question.unknown))
    arguments = class_arguments(question, sensitive, checks)
    macro = "sensitive_values"
    if check.model.has_own_distance:
        macro = f"{check.model.parameters['distance']}_distance"
        arguments = {"class_measures": arguments["class_measures"], **of_distance(check)}
    return render(
        macro,
        relation=relation,
        columns=list(question.quasi_identifiers),
        sensitive=sensitive,
        entity=question.entity,
        unknown=question.unknown,
        rolled_up=rolled_up,
        whole=table_counts.get(sensitive.alias),
        violating=render("any_of", predicates=[*([also] if also else []), *failed]),
        **arguments,
    )


@dataclass(frozen=True)
class ReferredCell:
    """A reference column generalised like the release."""

    column: BoundColumn
    """The quasi-identifier it is compared with."""
    raw: str
    label: str
    joined: JoinedLabels | None
    type: str
    """Type of the raw value where both sides are compared as text; otherwise ""."""


def classes_with_reference(
    question: ResolvedQuestion,
    raw: ResolvedQuestion,
    relation: str,
    levels: Mapping[str, tuple[ColumnLevels, int]],
) -> Iterator[str]:
    """One SELECT per reference: the classes failing its checks, with their records.

    `relation` holds the records that `bound` describes, with some quasi-identifiers at `levels`;
    `raw` describes them before generalisation.
    """
    required = reference_requirements(question)
    for name in dict.fromkeys(reference_of(question, check).name for check in required):
        reference = question.references[name]
        checks = [check for check in required if reference_of(question, check) == reference]
        yield render(
            "records_beside_reference",
            relation=relation,
            columns=list(question.quasi_identifiers),
            entity=question.entity,
            reference=other_records(reference),
            cells=list(_cells(question, raw, reference, levels)),
            reference_entity=reference.entity,
            reference_weight=reference.weight,
            failing=render("any_of", predicates=[too_rare(check) for check in checks]),
        )


def _cells(
    question: ResolvedQuestion,
    raw: ResolvedQuestion,
    reference: OtherTable,
    levels: Mapping[str, tuple[ColumnLevels, int]],
) -> Iterator[ReferredCell]:
    for number, pair in enumerate(pairs(raw, reference, "exact"), start=1):
        column = question.quasi_identifiers[number - 1]
        value = f"kanon_raw.{identifier(pair.reference.name)}"
        if column.name not in levels:
            type = pair.reference.type if pair.how == "as_text" else ""
            yield ReferredCell(column, value, value, None, type)
            continue
        yield _labelled(column, pair, number, value, *levels[column.name])


def _labelled(
    column: BoundColumn, pair: Pair, index: int, value: str, of_table: ColumnLevels, level: int
) -> ReferredCell:
    levels = replace(of_table, type=pair.reference.type)
    if not levels.is_joined(level):
        return ReferredCell(column, value, levels.sql_of_any(level, value), None, "")
    name = f"kanon_referred_{index}"
    labels = levels.labels_sql(level, portable=True)
    joined = JoinedLabels(name, labels, levels.key(value))
    return ReferredCell(column, value, f"{name}.kanon_label", joined, "")
