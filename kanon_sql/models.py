"""The privacy models: their parameters, their thresholds and their words. No SQL, no data.

A model is one class here and one macro of the same name in `templates/macros/shared`. The class
name in snake case is the model's name everywhere: YAML key, `--check`, macro, `model` in the
JSON.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from kanon_sql.errors import SpecError, did_you_mean


def _whole_number(value: Any) -> Any:
    """Refuse what would only become a count by rounding or parsing: true, 2.5, "5"."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be a whole number, 1 or more")
    return value


Count = Annotated[int, Field(ge=1), BeforeValidator(_whole_number)]


class Model(BaseModel):
    """A privacy model with the parameters it is asked with. Frozen and comparable."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    title: ClassVar[str]
    """What people call it."""
    promise: ClassVar[str]
    """What it means when it holds, in one sentence."""
    silence: ClassVar[str]
    """What it does not protect against, in one sentence."""
    source: ClassVar[str]
    """The paper and the definition."""

    def __init__(self, **parameters: Any) -> None:
        """Raise `SpecError` for a parameter that is unknown or out of its range."""
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            key = error.errors()[0]["loc"]
            message = describe_invalid(type(self), error)
            raise SpecError(message, key=str(key[0]) if key else None) from None

    @classmethod
    def name(cls) -> str:
        """The name that is the same everywhere.

        >>> KMap.name()
        'k_map'
        """
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def gates(self) -> bool:
        """Whether a threshold is given, so that the check can fail."""
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter in force, thresholds that are not given left out."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    title: ClassVar = "k-anonymity"
    promise: ClassVar = (
        "Every combination of quasi-identifier values occurs in at least k records, so these "
        "columns never point at fewer than k of them."
    )
    silence: ClassVar = (
        "It says nothing of what the records of a class share: if all have the same diagnosis, "
        "knowing the class is knowing the diagnosis."
    )
    source: ClassVar = (
        "Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3"
    )

    k: Count | None = None
    """The fewest records (people, where an entity is set) that a class may have."""

    @property
    def gates(self) -> bool:
        return self.k is not None


class KMap(Model):
    """Every class of the release has at least k matches in the reference (Sweeney 2002)."""

    title: ClassVar = "k-map"
    promise: ClassVar = (
        "Every combination of quasi-identifier values in the release occurs at least k times in "
        "the reidentification dataset, so linking the two never leaves fewer than k candidates."
    )
    silence: ClassVar = (
        "It is void for someone who knows that the target is in the release; k-anonymity is the "
        "model against them."
    )
    source: ClassVar = (
        "Sweeney 2002, Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5), section 2"
    )

    k: Count | None = None
    """The fewest records (people) of the reference that a class of the release may match."""
    reference: str | None = None
    """The name of the reference table; may be left out where there is only one."""
    match: Literal["containment", "exact"] = "containment"
    """Whether a generalised cell of the release takes in the reference cells it stands for."""
    missing: Literal["strict", "union", "error"] = "strict"
    """A class that the reference lacks counts 0, or its own size, or ends the audit."""

    @property
    def gates(self) -> bool:
        return self.k is not None


class Homogeneity(Model):
    """No class has a single value of the sensitive attribute (Machanavajjhala et al. 2007)."""

    title: ClassVar = "homogeneity"
    promise: ClassVar = (
        "No class has a single value of the sensitive attribute, so belonging to a class never "
        "gives the value away."
    )
    silence: ClassVar = (
        "Two values are enough to pass, however rare the second is; l-diversity and t-closeness "
        "ask for more."
    )
    source: ClassVar = (
        "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond "
        "k-anonymity, ACM TKDD 1(1), section 2.1 (homogeneity attack)"
    )

    sensitive: str | None = None
    """The sensitive attribute; may be left out where only one is declared."""

    @property
    def gates(self) -> bool:
        return True


MODELS: dict[str, type[Model]] = {cls.name(): cls for cls in (KAnonymity, KMap, Homogeneity)}
"""Every model by its name, in the order in which people read of them."""


def model_named(name: str) -> type[Model]:
    """The model of this name. Raises `SpecError` that names the nearest one."""
    if name not in MODELS:
        raise SpecError(
            f'there is no model "{name}". Models: {", ".join(MODELS)}.{did_you_mean(name, MODELS)}'
        )
    return MODELS[name]


def describe_invalid(model: type[Model], error: ValidationError) -> str:
    """One sentence for the first thing that is wrong with a model's parameters."""
    first = error.errors(include_url=False)[0]
    key = str(first["loc"][0]) if first["loc"] else ""
    known = list(model.model_fields)
    match first["type"]:
        case "extra_forbidden":
            return (
                f'{model.name()} has no parameter "{key}". Its parameters: {", ".join(known)}.'
                f"{did_you_mean(key, known)}"
            )
        case "missing":
            return f"{model.name()} needs {key}."
        case "greater_than_equal":
            return (
                f"{model.name()}: {key} must be a whole number, 1 or more; found {first['input']}."
            )
        case "literal_error":
            return (
                f"{model.name()}: {key} must be {first['ctx']['expected']}; "
                f"found {first['input']!r}."
            )
        case _:
            reason = first["msg"].removeprefix("Value error, ")
            return f"{model.name()}: {key} {reason}; found {first['input']!r}."
