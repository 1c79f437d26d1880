"""What a check adds to the SQL that measures classes, and what its columns are called.

Every column of a check's begins with the check's label: its model's name, with a number where
the same model is asked twice in one statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kanon_sql.binding import BoundCheck, BoundColumn, BoundSpec
from kanon_sql.models import (
    DeltaPresence,
    Homogeneity,
    JournalistRisk,
    KMap,
    Model,
    ReferenceModel,
    SensitiveModel,
    TCloseness,
)
from kanon_sql.templates import macro_names, render, render_known

BESIDE = {"k_e_anonymity": "distinct", "delta_disclosure": "present_only"}
"""What a model measures of a class beside what it achieves."""


@dataclass(frozen=True)
class LabelledCheck:
    """A check with the label that its columns begin with."""

    check: BoundCheck
    label: str


def labelled(checks: Iterable[BoundCheck]) -> tuple[LabelledCheck, ...]:
    """The checks of one statement, each with a label of its own."""
    seen = Counter[str]()
    found = []
    for check in checks:
        name = check.model.name()
        seen[name] += 1
        found.append(LabelledCheck(check, name if seen[name] == 1 else f"{name}_{seen[name]}"))
    return tuple(found)


def class_columns(
    bound: BoundSpec, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> list[str]:
    """What is measured of each class, every column once."""
    columns: dict[str, None] = {}
    for each in checks:
        macro = f"{each.check.model.name()}_columns"
        if macro in macro_names():
            columns |= dict.fromkeys(_known(macro, bound, sensitive, each).splitlines())
    return list(columns)


def class_measures(
    bound: BoundSpec, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> Iterator[str]:
    """What each check on a sensitive attribute says of one class."""
    for each in checks:
        model, label = each.check.model, each.label
        if isinstance(model, Homogeneity):
            continue
        yield f"{_known(model.name(), bound, sensitive, each)} as kanon_{label}"
        if _beside(model):
            beside = _known(f"{model.name()}_beside", bound, sensitive, each)
            yield f"{beside} as kanon_{label}_{BESIDE[model.name()]}"
        if _may_be_infinite(model):
            infinite = _known(f"{model.name()}_infinite", bound, sensitive, each)
            yield render("flag", predicate=infinite, name=f"{label}_infinite")
        if each.check.gates:
            violated = _known(f"{model.name()}_violated", bound, sensitive, each)
            yield render("flag", predicate=violated, name=f"{label}_violating")


def sensitive_measures(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What all classes say together, for each check on a sensitive attribute."""
    for each in checks:
        model, label = each.check.model, each.label
        if isinstance(model, Homogeneity):
            continue
        assert isinstance(model, SensitiveModel)
        least = model.worst == "least"
        yield render("worst_class", least=least, name=label)
        if _beside(model):
            name = f"{label}_{BESIDE[model.name()]}"
            yield render("worst_class", least=least, name=name)
        if _may_be_infinite(model):
            yield render("flagged_classes", name=f"{label}_infinite")
        if each.check.gates:
            yield render("flagged_classes", name=f"{label}_violating")
            yield render("flagged_records", name=f"{label}_violating")


def _beside(model: Model) -> bool:
    return model.name() in BESIDE


def _may_be_infinite(model: Model) -> bool:
    return f"{model.name()}_infinite" in macro_names()


def reference_measures(checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """What the classes say together, for each check against a reference."""
    for each in checks:
        model, label = each.check.model, each.label
        assert isinstance(model, ReferenceModel)
        population = "kanon_union" if model.missing == "union" else "kanon_population"
        match model:
            case KMap(k=int(k)):
                yield from _violating(f"{population} < {k}", label)
            case JournalistRisk():
                at_risk = render("journalist_risk", bound=model.threshold)
                yield render("people_where", predicate=at_risk, name=f"{label}_at_risk")
                bound = model.class_bound
                if bound is not None:
                    yield from _violating(render("journalist_risk", bound=bound), label)
            case DeltaPresence():
                yield render("presence", population=population, label=label)
                if model.gates:
                    out = render(
                        "delta_presence_violated",
                        population=population,
                        min=model.min,
                        max=model.max,
                    )
                    yield render("classes_where", predicate=out, name=f"{label}_violating")
                    yield render(
                        "population_where",
                        predicate=out,
                        population=population,
                        name=f"{label}_violating",
                    )


def needs_values(model: Model) -> bool:
    """Whether a check looks at the sensitive values themselves, so that hashes will not do."""
    return model.name() == "k_e_anonymity" or has_own_step(model)


def has_own_step(model: Model) -> bool:
    """Whether a check is answered by a statement of its own: all distances but the equal one."""
    return isinstance(model, TCloseness) and model.distance != "equal"


def _violating(predicate: str, label: str) -> Iterator[str]:
    yield render("classes_where", predicate=predicate, name=f"{label}_violating")
    yield render("records_where", predicate=predicate, name=f"{label}_violating")


def _known(macro: str, bound: BoundSpec, sensitive: BoundColumn, each: LabelledCheck) -> str:
    unknown = bound.spec.sensitive_nulls == "unknown"
    return render_known(
        macro,
        **{
            **each.check.model.parameters,
            "sensitive": sensitive,
            "entity": bound.entity,
            "unknown": unknown,
            "label": each.label,
            "counted": render(
                "counted", sensitive=sensitive, entity=bound.entity, unknown=unknown
            ).strip(),
        },
    )
