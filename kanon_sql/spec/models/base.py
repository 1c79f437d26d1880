"""The privacy models: their parameters, their thresholds and their words. No SQL, no data.

A model is one class here and one macro of the same name in `templates/macros/shared`. The class
name in snake case is the model's name everywhere: YAML key, `--check`, macro, `model` in the
JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema

from kanon_sql.errors import SpecError, did_you_mean, found_instead, share_meant
from kanon_sql.spec.models.described import Described
from kanon_sql.spec.models.examples import Example
from kanon_sql.spec.models.words import ClassWords


def _whole_number(value: Any) -> Any:
    """Refuse what would only become a count by rounding or parsing: true, 2.5, "5"."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError("must be a whole number, 1 or more")
    return int(value)


def _plain(value: Any) -> Any:
    """A number of NumPy or a decimal as the one of Python that is written alike."""
    if type(value) in (bool, int, float) or not isinstance(value, Real | Decimal):
        return value
    return int(value) if isinstance(value, Integral) else float(str(value))


def _number(words: str, fits: Callable[[float], bool]) -> BeforeValidator:
    """Refuse what is no number, or none that `fits`; `words` say which numbers do."""

    def checked(given: Any) -> Any:
        value = _plain(given)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not fits(value):
            raise ValueError(f"must be {words}")
        return value

    return BeforeValidator(checked)


def _value_list(value: Any) -> Any:
    """Refuse an empty list and lists in lists; NULL stands for itself."""
    plain = isinstance(value, list | tuple) and not any(
        isinstance(each, list | tuple | dict) for each in value
    )
    if not plain or not value:
        raise ValueError("must be a list of values, as in [first, second]")
    return tuple(value)


Count = Annotated[int, Field(ge=1), BeforeValidator(_whole_number)]
Number = int | float
Share = Annotated[
    Number,
    _number("a number from 0 to 1", lambda x: 0 <= x <= 1),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
PositiveShare = Annotated[
    Number,
    _number("a number above 0 and no more than 1", lambda x: 0 < x <= 1),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
]
Probability = Annotated[
    Number,
    _number("a number between 0 and 1", lambda x: 0 < x < 1),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
]
Positive = Annotated[
    Number,
    _number("a number above 0", lambda x: x > 0),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
NotNegative = Annotated[
    Number,
    _number("a number, 0 or more", lambda x: x >= 0),
    WithJsonSchema({"type": "number", "minimum": 0}),
]
OneOrMore = Annotated[
    Number,
    _number("a number, 1 or more", lambda x: x >= 1),
    WithJsonSchema({"type": "number", "minimum": 1}),
]
Values = Annotated[
    tuple[Any, ...],
    BeforeValidator(_value_list),
    WithJsonSchema({"type": "array", "minItems": 1}),
]


Need = Literal["shares", "bounds", "class_shares", "ranks", "table_values"]
Answer = Literal["sizes", "values", "reference", "estimate", "earlier"]
"""What answers a model: the sizes of the classes, the sensitive values in them, their matches in a
reference, an estimate of the population by their sizes, or the same people in an earlier release.
"""
Worst = Literal["least", "greatest"]
"""Which of two figures is the worse one."""


AT_RISK = 0.2
"""A record is at risk where its chance of being re-identified is above this (El Emam 2013)."""


LACKED: dict[str, Worst] = dict.fromkeys(
    ("unmatched_classes", "unmatched_records", "exceeding_classes"), "greatest"
)
"""How much of the release a reference does not contain, in the result of a model that asks it."""


FIGURES_OF_SIZES = ("uniques", "prosecutor.average")
FIGURES_OF_MATCHES = ("journalist.average", "marketer.average")


class Model(Described):
    """A privacy model with the parameters it is asked with. Frozen and comparable."""

    title: ClassVar[str]
    """What people call it."""
    promise: ClassVar[str]
    """What it means when it holds, in one sentence."""
    formula: ClassVar[str]
    """When it holds, in mathematics: f is the size of a class, F that of its match in the
    reference, q the share of a sensitive value in a class and p its share in the table."""
    silence: ClassVar[str]
    """What it does not protect against, in one sentence."""
    source: ClassVar[str]
    """The paper and the definition."""
    asked_as: ClassVar[str]
    """How it is asked for on the command line."""
    holds_when: ClassVar[str]
    """When it holds, in a line of a table."""
    example: ClassVar[Example]
    """A table for which it fails, and one for which it holds."""
    thresholds: ClassVar[tuple[str, ...]]
    """The parameters that make it gate; any one is enough."""
    table_thresholds: ClassVar[tuple[str, ...]] = ()
    """Those of them that bound all classes together; each class must meet the others by itself."""
    words: ClassVar[ClassWords | None] = None
    """What describes its worst class; none where `report/words` chooses it."""
    share_words: ClassVar[str] = ""
    """Of what its only figure is the share; {0} are the records or people."""
    answered_by: ClassVar[Answer] = "sizes"
    """What its figures are read off."""
    worst: ClassVar[Worst]
    """Which of two tables is worse by what it achieves; of classes, which one is the table's."""
    beside_worst: ClassVar[Mapping[str, tuple[Worst, str]]] = {}
    """What it says beside what it achieves, with the threshold that judges it."""
    with_wildcards: ClassVar[bool] = False
    """Whether it is defined where NULL matches everything, so that records form no classes."""
    of_reference: ClassVar[bool] = False
    """Whether the classes and people that violate it are those of a reference, so that they are no
    part of the table."""
    is_strict: ClassVar[bool] = False
    """Whether what equals a threshold does not meet it."""
    in_percent: ClassVar[bool] = False
    """Whether its figures and thresholds are shares, to be written in per cent."""
    computed_bound: ClassVar[str | None] = None
    """The detail of its result that holds the bound in force, where the table decides it."""
    counts_violations: ClassVar[bool] = False
    """Whether what it achieves is the number of classes that violate it, so that none may."""
    counts_values: ClassVar[bool] = False
    """Whether it achieves a number of distinct values, at most the number of records of a class."""
    of_numbers: ClassVar[bool] = False
    """Whether the sensitive values must be numbers."""
    only_grows: ClassVar[bool] = False
    """Whether a class that passes still passes it together with any other class."""
    read_off_sizes: ClassVar[bool] = False
    """Whether the sizes of the classes say it all, so that it needs no macro of its own."""

    def __init__(self, *by_place: Any, **parameters: Any) -> None:
        """Raise `SpecError` for a parameter that is unknown or out of its range.

        >>> from kanon_sql import KAnonymity
        >>> KAnonymity(3) == KAnonymity(k=3)
        True
        """
        by_name = _by_name(type(self), by_place, parameters)
        try:
            super().__init__(**by_name)
        except ValidationError as error:
            key = error.errors()[0]["loc"]
            message = describe_invalid(type(self), error)
            raise SpecError(message, key=str(key[0]) if key else None) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        thresholds = getattr(cls, "thresholds", ())
        cls.unnamed = thresholds if len(thresholds) == 1 else ()

    @classmethod
    def name(cls) -> str:
        """The name that is the same everywhere.

        >>> from kanon_sql import KEAnonymity, KMap
        >>> KMap.name(), KEAnonymity.name()
        ('k_map', 'k_e_anonymity')
        """
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def gates(self) -> bool:
        """Whether a threshold is given, so that the check can fail."""
        return bool(self._given(self.thresholds))

    @property
    def least_size(self) -> int | None:
        """The records (people) that every class must have, if it demands any."""
        return None

    @property
    def violating_below(self) -> float | None:
        """The size below which a class violates it, where it is read off sizes."""
        return self.least_size

    @property
    def judged_by_class(self) -> bool:
        """Whether each class by itself fails it or passes it."""
        return not self._given(self.table_thresholds)

    @property
    def class_thresholds(self) -> dict[str, Any]:
        """The given thresholds that each class must meet by itself."""
        of_classes = (each for each in self.thresholds if each not in self.table_thresholds)
        return {each: getattr(self, each) for each in self._given(of_classes)}

    def _given(self, thresholds: Iterable[str]) -> list[str]:
        return [each for each in thresholds if getattr(self, each) is not None]

    @property
    def needs_containment(self) -> bool:
        """Whether it holds only if a reference contains every record of the release."""
        return False

    @property
    def figures(self) -> dict[str, Worst]:
        """The numbers of its result that say how well it does, and which way each gets worse.

        What it achieves is always one; what it says beside that is, where it is demanded.

        >>> from kanon_sql import ProsecutorRisk
        >>> ProsecutorRisk(max_average=0.1).figures
        {'achieved': 'greatest', 'average': 'greatest'}
        """
        demanded = {
            key: worst
            for key, (worst, threshold) in self.beside_worst.items()
            if getattr(self, threshold) is not None
        }
        return {"achieved": self.worst, **demanded}

    @property
    def table_figures(self) -> tuple[str, ...]:
        """The figures of the summary and the risks that a baseline judges with this check: where
        every record violates it already, they still get worse.

        >>> from kanon_sql import KAnonymity
        >>> KAnonymity(k=5).table_figures
        ('uniques', 'prosecutor.average')
        """
        return FIGURES_OF_SIZES if self.answered_by == "sizes" or self.least_size else ()

    @property
    def needs(self) -> frozenset[Need]:
        """What it compares a class, or the sensitive values of one, with."""
        return frozenset()

    @property
    def named_values(self) -> tuple[Any, ...]:
        """The sensitive values that it names, if any."""
        return ()

    @property
    def reads_values(self) -> bool:
        """Whether it looks at what the sensitive values are, not only at whether they are equal."""
        return False

    @property
    def has_own_distance(self) -> bool:
        """Whether sensitive values are not all equally far apart."""
        return False

    @property
    def knows_others(self) -> bool:
        """Whether the attacker knows the other sensitive attributes."""
        return False

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter in force, thresholds that are not given left out."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class SensitiveModel(Model):
    """A model of what the records of a class share; it is judged on the worst class."""

    answered_by: ClassVar = "values"
    beside: ClassVar[str | None] = None
    """What it measures of a class beside what it achieves."""
    may_be_infinite: ClassVar[bool] = False
    """Whether no threshold does for some classes."""

    sensitive: str | None = None
    """The sensitive attribute; may be left out where only one is declared."""
    with_other_sensitive: bool = False
    """Whether the other sensitive attributes count as known, as quasi-identifiers are."""

    @property
    def knows_others(self) -> bool:
        return self.with_other_sensitive


class ReferenceModel(Model):
    """A model that compares the release with a table of the people who could be meant."""

    answered_by: ClassVar = "reference"
    statement: ClassVar[str] = "k_map"
    """The macro of the statement that measures it."""
    predicate: ClassVar[str] = ""
    """The macro of the predicate for a class that violates it, which takes `class_bounds`."""

    reference: str | None = None
    """The name of the reference table; may be left out where there is only one."""
    match: Literal["containment", "exact"] = "containment"
    """Whether a generalised cell of the release takes in the reference cells it stands for."""
    missing: Literal["strict", "union", "error"] = "strict"
    """A class that the reference lacks counts 0, or its own size, or ends the audit."""

    @property
    def class_bounds(self) -> dict[str, Any]:
        """What makes a class violate it, if single classes can."""
        return self.class_thresholds

    @property
    def needs_containment(self) -> bool:
        return self.missing != "union"

    @property
    def figures(self) -> dict[str, Worst]:
        """What it achieves, and what the reference lacks unless that is made up for."""
        return super().figures | (LACKED if self.needs_containment else {})

    @property
    def table_figures(self) -> tuple[str, ...]:
        """The risks of linking the table with its reference."""
        return FIGURES_OF_MATCHES


def _by_name(
    model: type[Model], by_place: Sequence[Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters by their names. Only a threshold that is the model's only one has a place:
    of two, a reader could not tell which is which."""
    named = dict(zip(model.unnamed, by_place, strict=False))
    if len(by_place) > len(named):
        how = f"{model.unnamed[0]} alone without its name" if model.unnamed else "names"
        raise SpecError(
            f"{model.__name__} takes {how}. Its parameters: {', '.join(model.model_fields)}."
        )
    if twice := next((name for name in named if name in parameters), None):
        raise SpecError(f"{model.__name__} is given {twice} twice.", key=twice)
    return named | dict(parameters)


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
                f"{model.name()}: {key} must be a whole number, 1 or more; "
                f"found {found_instead(first['input'])}."
            )
        case "literal_error":
            return (
                f"{model.name()}: {key} must be {first['ctx']['expected']}; "
                f"found {found_instead(first['input'])}."
            )
        case _:
            reason = first["msg"].removeprefix("Value error, ")
            if not key:
                return f"{model.name()}: {reason}."
            return f"{model.name()}: {key} {reason}; found {_found(first['input'])}."


def _found(value: Any) -> str:
    """What stands where something else should; a number in quotes looks right, and is text."""
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", value):
        return f"the text {value!r}. Write it without quotes"
    return f"{found_instead(value)}.{share_meant(value)}".removesuffix(".")
