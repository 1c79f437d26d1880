"""The privacy models: their parameters, their thresholds and their words. No SQL, no data.

A model is one class here and one macro of the same name in `templates/macros/shared`. The class
name in snake case is the model's name everywhere: YAML key, `--check`, macro, `model` in the
JSON.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from kanon_sql.described import Described
from kanon_sql.errors import SpecError, did_you_mean, found_instead, share_meant


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
        raise ValueError("must be a list of values, as in [HIV, syphilis]")
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


Need = Literal["shares", "ranks", "distances"]
Worst = Literal["least", "greatest"]
"""Which of two figures is the worse one."""
SLACK = 1e-12
"""What floating point may add to a number, so that a bound that is met exactly stays met."""
SLACK_OF_DISTANCES = 1e-9
"""The same for a distance, which is a sum over all values."""
AT_RISK = 0.2
"""A record is at risk where its chance of being re-identified is above this (El Emam 2013)."""


def exactly(threshold: int | float) -> Fraction:
    """The threshold as the decimal that was written.

    >>> exactly(0.29)
    Fraction(29, 100)
    """
    return Fraction(str(threshold))


_LACKED: dict[str, Worst] = dict.fromkeys(
    ("unmatched_classes", "unmatched_records", "exceeding_classes"), "greatest"
)
"""How much of the release a reference does not contain, in the result of a model that asks it."""
_MACHANAVAJJHALA = (
    "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond "
    "k-anonymity, ACM TKDD 1(1)"
)
_EL_EMAM = "El Emam 2013, Guide to the de-identification of personal health information, chapter 16"


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
    thresholds: ClassVar[tuple[str, ...]]
    """The parameters that make it gate; any one is enough."""
    worst: ClassVar[Worst]
    """Which of two tables is worse by what it achieves; of classes, which one is the table's."""
    beside_worst: ClassVar[Mapping[str, tuple[Worst, str]]] = {}
    """What it says beside what it achieves, with the threshold that judges it."""
    with_wildcards: ClassVar[bool] = False
    """Whether it is defined where NULL matches everything, so that records form no classes."""
    is_estimate: ClassVar[bool] = False
    """Whether it speaks of a population that nobody has looked at."""
    read_off_sizes: ClassVar[bool] = False
    """Whether the sizes of the classes say it all, so that it needs no macro of its own."""

    def __init__(self, *by_place: Any, **parameters: Any) -> None:
        """Raise `SpecError` for a parameter that is unknown or out of its range.

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

        >>> KMap.name(), KEAnonymity.name()
        ('k_map', 'k_e_anonymity')
        """
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def gates(self) -> bool:
        """Whether a threshold is given, so that the check can fail."""
        return any(getattr(self, threshold) is not None for threshold in self.thresholds)

    @property
    def figures(self) -> dict[str, Worst]:
        """The numbers of its result that say how well it does, and which way each gets worse.

        What it achieves is always one; what it says beside that is, where it is demanded.

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
    def parameters(self) -> dict[str, Any]:
        """Every parameter in force, thresholds that are not given left out."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class SensitiveModel(Model):
    """A model of what the records of a class share; it is judged on the worst class."""

    needs: ClassVar[frozenset[Need]] = frozenset()
    """What it compares the values of a class with."""
    beside: ClassVar[str | None] = None
    """What it measures of a class beside what it achieves."""
    may_be_infinite: ClassVar[bool] = False
    """Whether no threshold does for some classes."""

    sensitive: str | None = None
    """The sensitive attribute; may be left out where only one is declared."""
    with_other_sensitive: bool = False
    """Whether the other sensitive attributes count as known, as quasi-identifiers are."""

    @property
    def named_values(self) -> tuple[Any, ...]:
        """The sensitive values that it names, if any."""
        return ()

    @property
    def reads_values(self) -> bool:
        """Whether it looks at what the values are, not only at whether they are the same."""
        return False

    @property
    def has_own_distance(self) -> bool:
        """Whether values are not all equally far apart."""
        return False


class ReferenceModel(Model):
    """A model that compares the release with a table of the people who could be meant."""

    reference: str | None = None
    """The name of the reference table; may be left out where there is only one."""
    match: Literal["containment", "exact"] = "containment"
    """Whether a generalised cell of the release takes in the reference cells it stands for."""
    missing: Literal["strict", "union", "error"] = "strict"
    """A class that the reference lacks counts 0, or its own size, or ends the audit."""


# --- the size of a class --------------------------------------------------------------------


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    title: ClassVar = "k-anonymity"
    promise: ClassVar = (
        "Every combination of quasi-identifier values occurs in at least k records, so these "
        "columns never point at fewer than k of them."
    )
    formula: ClassVar = "min f ≥ k, over all classes"
    silence: ClassVar = (
        "It says nothing of what the records of a class share: if all have the same diagnosis, "
        "knowing the class is knowing the diagnosis."
    )
    source: ClassVar = (
        "Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3"
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True

    k: Count | None = None
    """The fewest records (people, where an entity is set) that a class may have."""


class KMap(ReferenceModel):
    """Every class of the release has at least k matches in the reference (Sweeney 2002)."""

    title: ClassVar = "k-map"
    promise: ClassVar = (
        "Every combination of quasi-identifier values in the release occurs at least k times in "
        "the reidentification dataset, so linking the two never leaves fewer than k candidates."
    )
    formula: ClassVar = "min F ≥ k, over the classes of the release"
    silence: ClassVar = (
        "It is void for someone who knows that the target is in the release; k-anonymity is the "
        "model against them."
    )
    source: ClassVar = (
        "Sweeney 2002, Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5), section 2"
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True

    k: Count | None = None
    """The fewest records (people) of the reference that a class of the release may match."""


class DeltaPresence(ReferenceModel):
    """Whether someone is in the release stays uncertain (Nergiz, Atzori, Clifton 2007)."""

    title: ClassVar = "δ-presence"
    promise: ClassVar = (
        "For every person of the reference, the chance of being in the release stays within two "
        "bounds, so nobody learns that someone is in it, or is not."
    )
    formula: ClassVar = "min ≤ f / F ≤ max, over all classes of the reference (f = 0 included)"
    silence: ClassVar = (
        "It hides membership only; what the release says of its members is for the models of "
        "sensitive values. It counts on the reference having everyone."
    )
    source: ClassVar = (
        "Nergiz, Atzori, Clifton 2007, Hiding the presence of individuals from shared databases, "
        "ACM SIGMOD, definition of (δmin, δmax)-presence"
    )
    thresholds: ClassVar = ("min", "max")
    worst: ClassVar = "greatest"

    min: Share | None = None
    """The least chance that a person of the reference is in the release."""
    max: NotNegative | None = None
    """The greatest chance."""

    @property
    def figures(self) -> dict[str, Worst]:
        """Either end of what it achieves, and how much of the release the reference lacks."""
        return {"min": "least", "max": "greatest", **_LACKED}

    @model_validator(mode="after")
    def _bounds_in_order(self) -> DeltaPresence:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min must not be above max")
        return self


# --- what a class shares --------------------------------------------------------------------


class Homogeneity(SensitiveModel):
    """No class has a single value of the sensitive attribute (Machanavajjhala et al. 2007)."""

    title: ClassVar = "homogeneity"
    promise: ClassVar = (
        "No class has a single value of the sensitive attribute, so belonging to a class never "
        "gives the value away."
    )
    formula: ClassVar = "no class has one distinct sensitive value"
    silence: ClassVar = (
        "Two values are enough to pass, however rare the second is; l-diversity and t-closeness "
        "ask for more."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, section 2.1 (homogeneity attack)"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ()

    @property
    def gates(self) -> bool:
        return True


class LDiversity(SensitiveModel):
    """Every class has at least l values of the sensitive attribute."""

    title: ClassVar = "l-diversity"
    promise: ClassVar = (
        "Every class has at least l different values of the sensitive attribute, so whoever can "
        "rule out l − 2 of them is still unsure."
    )
    formula: ClassVar = "|distinct sensitive values of a class| ≥ l, over all classes"
    silence: ClassVar = (
        "It counts values and not how often they occur: a class of 99 HIV and one flu has l = 2. "
        "Values that mean nearly the same count as different."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, section 3 (distinct l-diversity)"
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: Count | None = None  # noqa: E741 - the name that the field uses
    """The fewest different values that a class may have."""


class EntropyLDiversity(SensitiveModel):
    """The values of each class are as uncertain as l equally likely ones."""

    title: ClassVar = "entropy l-diversity"
    promise: ClassVar = (
        "Guessing the sensitive value of someone in a class is at least as uncertain as drawing "
        "one of l equally likely values."
    )
    formula: ClassVar = "−Σ q ln q ≥ ln l, over all classes"
    silence: ClassVar = (
        "It can't hold where one value is common in the whole table, and it takes values that "
        "mean nearly the same for different ones."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definition 4.1"
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: OneOrMore | None = None  # noqa: E741 - the name that the field uses
    """The least effective number of values, exp of the entropy; it need not be whole."""


class RecursiveClDiversity(SensitiveModel):
    """The most frequent value of a class is not too frequent, nor are the rest too rare."""

    title: ClassVar = "recursive (c,l)-diversity"
    promise: ClassVar = (
        "Even when l − 2 other values are ruled out, the most frequent value of a class is less "
        "than c times as frequent as all that remain."
    )
    formula: ClassVar = "r₁ < c · (rₗ + … + rₘ), where r₁ ≥ … ≥ rₘ count the values of a class"
    silence: ClassVar = (
        "It looks at one class alone: a value that is rare everywhere else may still be likely "
        "in it. Values named in allowed may become known."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definitions 4.2 and 4.5 (positive disclosure)"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("c",)
    needs: ClassVar = frozenset({"ranks"})
    may_be_infinite: ClassVar = True

    c: Positive | None = None
    """How many times as frequent as the rest the most frequent value must stay below."""
    l: Count  # noqa: E741 - the name that the field uses
    """From which value on, counted from the most frequent, the rest begins."""
    allowed: Values | None = None
    """Values that may become known."""

    @property
    def named_values(self) -> tuple[Any, ...]:
        return self.allowed or ()


class AlphaKAnonymity(SensitiveModel):
    """No sensitive value is held by more than a share α of a class, and k-anonymity."""

    title: ClassVar = "(α,k)-anonymity"
    promise: ClassVar = (
        "No sensitive value is held by more than a share α of a class, and every class has at "
        "least k records."
    )
    formula: ClassVar = "max q ≤ α and f ≥ k, over all classes"
    silence: ClassVar = (
        "A value that is rare in the table may be as frequent in a class as α allows, which "
        "tells much of its members; δ-disclosure and β-likeness look at that."
    )
    source: ClassVar = (
        "Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an enhanced k-anonymity model for privacy "
        "preserving data publishing, ACM KDD"
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("alpha", "k")
    beside_worst: ClassVar = {"k": ("least", "k")}

    alpha: PositiveShare | None = None
    """The largest share of a class that may hold one value."""
    k: Count | None = None
    """The fewest records (people) that a class may have."""
    values: Values | None = None
    """The values that it is about; all of them where none are named."""

    @property
    def named_values(self) -> tuple[Any, ...]:
        return self.values or ()


class PSensitiveKAnonymity(SensitiveModel):
    """Every class has at least p sensitive values and k records (Truta, Vinay 2006)."""

    title: ClassVar = "p-sensitive k-anonymity"
    promise: ClassVar = (
        "Every class has at least p different values of the sensitive attribute, and at least k "
        "records."
    )
    formula: ClassVar = "|distinct sensitive values of a class| ≥ p and f ≥ k, over all classes"
    silence: ClassVar = (
        "As with l-diversity, the values may be as unequally frequent, or mean as nearly the "
        "same, as they like."
    )
    source: ClassVar = (
        "Truta, Vinay 2006, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    worst: ClassVar = "least"
    thresholds: ClassVar = ("p", "k")
    beside_worst: ClassVar = {"k": ("least", "k")}

    p: Count | None = None
    """The fewest different values that a class may have."""
    k: Count | None = None
    """The fewest records (people) that a class may have."""


class KEAnonymity(SensitiveModel):
    """The numbers of each class differ, and span at least e (Zhang et al. 2007)."""

    title: ClassVar = "(k,e)-anonymity"
    promise: ClassVar = (
        "Every class has at least k different values, and its largest and smallest number are at "
        "least e apart, so belonging to a class never gives an amount away."
    )
    formula: ClassVar = "|distinct values| ≥ k and max − min ≥ e, over all classes"
    silence: ClassVar = (
        "All numbers of a class but one may lie close together: only the two ends are looked at."
    )
    source: ClassVar = (
        "Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE"
    )
    worst: ClassVar = "least"
    thresholds: ClassVar = ("k", "e")
    beside: ClassVar = "distinct"
    beside_worst: ClassVar = {"distinct": ("least", "k")}

    k: Count | None = None
    """The fewest different values that a class may have. It is not the size of the class."""
    e: NotNegative | None = None
    """The least difference of a class's largest and smallest number."""

    @property
    def reads_values(self) -> bool:
        return True


class TCloseness(SensitiveModel):
    """The values of each class are spread as those of the table are (Li, Li, V. 2007)."""

    title: ClassVar = "t-closeness"
    promise: ClassVar = (
        "How the sensitive values are spread in a class differs from how they are spread in the "
        "table by t at most, so belonging to a class tells little."
    )
    formula: ClassVar = "EMD(q, p) ≤ t, over all classes (EMD: the earth mover's distance)"
    silence: ClassVar = (
        "What the whole table tells of everyone it does not hide, and a rare value may become "
        "many times more likely in a class within a small t; β-likeness looks at that."
    )
    source: ClassVar = (
        "Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and "
        "l-diversity, ICDE, sections 3 and 4"
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("t",)
    needs: ClassVar = frozenset({"shares", "distances"})

    t: Share | None = None
    """The largest distance from the table that a class may have."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """How far two values are apart: all alike, by rank, or by their place in a tree."""
    order: Values | None = None
    """The values in their order, where they are no numbers and no dates."""
    hierarchy: str | None = None
    """A CSV file without header: the value, then its ancestors up to one root."""

    @property
    def reads_values(self) -> bool:
        return self.has_own_distance

    @property
    def has_own_distance(self) -> bool:
        return self.distance != "equal"

    @model_validator(mode="after")
    def _distance_has_what_it_needs(self) -> TCloseness:
        if self.order is not None and self.distance != "ordered":
            raise ValueError("order is for distance: ordered")
        if self.hierarchy is not None and self.distance != "hierarchical":
            raise ValueError("hierarchy is for distance: hierarchical")
        if self.hierarchy is None and self.distance == "hierarchical":
            raise ValueError(
                "distance: hierarchical needs a hierarchy: a CSV file with the value and then "
                "its ancestors up to one root"
            )
        order = self.order or ()
        if len(set(map(str, order))) < len(order):
            raise ValueError("order names a value twice")
        if None in order:
            raise ValueError("order must not name NULL, which ranks last")
        return self


class DeltaDisclosure(SensitiveModel):
    """No value is much more or less frequent in a class than in the table."""

    title: ClassVar = "δ-disclosure privacy"
    promise: ClassVar = (
        "Every sensitive value of the table is in every class about as frequent as in the table, "
        "by a factor below exp(δ) either way."
    )
    formula: ClassVar = "|ln(q / p)| < δ, over all classes and all values of the table"
    silence: ClassVar = (
        "What the whole table tells of everyone it does not hide. Read over the values that a "
        "class has only (present_only) it may get worse when classes are merged."
    )
    source: ClassVar = (
        "Brickell, Shmatikov 2008, The cost of privacy: destruction of data-mining utility in "
        "anonymized data publishing, ACM KDD, section 4"
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("delta",)
    beside: ClassVar = "present_only"
    may_be_infinite: ClassVar = True
    needs: ClassVar = frozenset({"shares"})

    delta: Positive | None = None
    """What the natural logarithm of the factor must stay below."""


class BasicBetaLikeness(SensitiveModel):
    """No value becomes more likely in a class by a factor of more than 1 + β."""

    title: ClassVar = "basic β-likeness"
    promise: ClassVar = (
        "No sensitive value is more frequent in a class than in the table by more than β times "
        "its share there."
    )
    formula: ClassVar = "(q − p) / p ≤ β, over all classes and the values with q > p"
    silence: ClassVar = (
        "A common value may still become certain, as its relative gain stays small; enhanced "
        "β-likeness forbids that. That a value becomes less likely is not looked at."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 2"
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    needs: ClassVar = frozenset({"shares"})

    beta: NotNegative | None = None
    """The largest relative gain that a value may have."""


class EnhancedBetaLikeness(SensitiveModel):
    """As basic β-likeness, with a lower bound for frequent values (Cao, Karras 2012)."""

    title: ClassVar = "enhanced β-likeness"
    promise: ClassVar = (
        "No sensitive value is more frequent in a class than in the table by more than β, or "
        "−ln p where that is less, times its share there."
    )
    formula: ClassVar = "(q − p) / p ≤ min(β, −ln p), over all classes and the values with q > p"
    silence: ClassVar = (
        "That a value becomes less likely in a class is not looked at, nor what the whole table "
        "tells of everyone."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 3"
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    may_be_infinite: ClassVar = True
    needs: ClassVar = frozenset({"shares"})

    beta: NotNegative | None = None
    """The largest relative gain that a value may have."""


# --- the risk of being re-identified --------------------------------------------------------


class RiskModel(Model):
    """A bound on the chance of being re-identified."""

    thresholds: ClassVar = ("max_highest", "max_average", "max_at_risk")
    worst: ClassVar = "greatest"
    beside_worst: ClassVar = {
        "average": ("greatest", "max_average"),
        "at_risk": ("greatest", "max_at_risk"),
    }

    max_highest: Share | None = None
    """The highest chance that anyone may have."""
    max_average: Share | None = None
    """The highest average chance."""
    max_at_risk: Share | None = None
    """The largest share of records (people) with a chance above the threshold."""
    threshold: Share = AT_RISK
    """Above which chance a record is at risk."""

    @property
    def class_bound(self) -> Number | None:
        """The chance above which a class violates the model; None where only an average does."""
        if self.max_highest is not None:
            return self.max_highest
        return self.threshold if self.max_at_risk is not None else None


class ProsecutorRisk(RiskModel):
    """The chance to be found by someone who knows that one is in the table (El Emam 2013)."""

    title: ClassVar = "prosecutor risk"
    promise: ClassVar = (
        "Someone who knows that a person is in the table, and knows their quasi-identifiers, "
        "finds their record with a bounded chance."
    )
    formula: ClassVar = (
        "highest 1 / min f, average classes / Σ f, at risk: share with 1 / f > threshold"
    )
    silence: ClassVar = (
        "Finding the record is not needed to learn from it: what a class shares is known of all "
        "its members."
    )
    source: ClassVar = _EL_EMAM
    read_off_sizes: ClassVar = True
    with_wildcards: ClassVar = True


class JournalistRisk(RiskModel, ReferenceModel):
    """The chance to be found by someone who looks in a reference first (El Emam 2013)."""

    title: ClassVar = "journalist risk"
    promise: ClassVar = (
        "Someone who does not know who is in the table, and links it with the reference, finds a "
        "person with a bounded chance."
    )
    formula: ClassVar = (
        "highest 1 / min F, average max(classes / Σ F, Σ (f / F) / Σ f), "
        "at risk: share with 1 / F > threshold"
    )
    silence: ClassVar = (
        "Whoever knows that the target is in the table has the prosecutor's chance, which is "
        "higher."
    )
    source: ClassVar = _EL_EMAM

    @property
    def figures(self) -> dict[str, Worst]:
        """What it achieves, and what the reference lacks unless that is made up for."""
        return super().figures | (_LACKED if self.missing != "union" else {})


class MarketerRisk(ReferenceModel):
    """The share of people that linking everyone finds (El Emam 2013)."""

    title: ClassVar = "marketer risk"
    promise: ClassVar = (
        "Linking every record with the reference finds the right person for a bounded share."
    )
    formula: ClassVar = "Σ (f / F) / Σ f ≤ max_average"
    silence: ClassVar = "It is an average: single people may be found with certainty."
    source: ClassVar = _EL_EMAM
    thresholds: ClassVar = ("max_average",)
    worst: ClassVar = "greatest"

    max_average: Share | None = None
    """The largest share of records that may be linked to the right person."""

    @property
    def figures(self) -> dict[str, Worst]:
        """What it achieves, and what the reference lacks unless that is made up for."""
        return super().figures | (_LACKED if self.missing != "union" else {})


class SampleUniqueness(Model):
    """The share of records that are alone in their class (Skinner, Elliot 2002)."""

    title: ClassVar = "sample uniqueness"
    promise: ClassVar = "Only a bounded share of the records is alone in its class."
    formula: ClassVar = "Σ f over classes with f = 1, divided by Σ f, ≤ max_share"
    silence: ClassVar = (
        "A class of two is no safer than its other member is discreet; k-anonymity bounds the "
        "smallest class."
    )
    source: ClassVar = (
        "Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2"
    )
    thresholds: ClassVar = ("max_share",)
    worst: ClassVar = "greatest"
    with_wildcards: ClassVar = True

    max_share: Share | None = None
    """The largest share of records that may be alone."""


# --- estimates without a reference ----------------------------------------------------------


class PopulationUniqueness(Model):
    """An estimate of how many people are unique in the population (Dankar et al. 2012)."""

    title: ClassVar = "population uniqueness"
    promise: ClassVar = (
        "By estimate, only a bounded share of the population that the table is a sample of is "
        "unique in these columns."
    )
    formula: ClassVar = (
        "estimated uniques / population ≤ max_share; dankar: Pitman where at most a tenth was "
        "sampled, else the lesser of SNB and Zayatz"
    )
    silence: ClassVar = (
        "It is an estimate for simple random samples, often off by a tenth and more: look at all "
        "three. It does not say who is unique."
    )
    source: ClassVar = (
        "Dankar, El Emam, Neisa, Roffey 2012, Estimating the re-identification risk of clinical "
        "data sets, BMC Medical Informatics and Decision Making 12:66"
    )
    thresholds: ClassVar = ("max_share",)
    worst: ClassVar = "greatest"
    read_off_sizes: ClassVar = True
    is_estimate: ClassVar = True

    population: Count
    """How many people the table is a sample of."""
    max_share: Share | None = None
    """The largest estimated share of unique people."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """Which estimate is judged; all three are reported."""


class KMapEstimate(Model):
    """k-map in a population of which the table is a sample, by test (El Emam, Dankar 2008)."""

    title: ClassVar = "k-map estimate"
    promise: ClassVar = (
        "Every class is so large in the sample that, by a statistical test, at least k people of "
        "the population share its values."
    )
    formula: ClassVar = (
        "min f ≥ k′, the least k′ with P(f ≥ k′) ≤ alpha if f is Poisson with mean "
        "k · n / population"
    )
    silence: ClassVar = (
        "It is an estimate for simple random samples, and like k-map void for someone who knows "
        "that the target is in the table."
    )
    source: ClassVar = (
        "El Emam, Dankar 2008, Protecting privacy using k-anonymity, JAMIA 15(5), methods D3 and D4"
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    read_off_sizes: ClassVar = True
    is_estimate: ClassVar = True

    k: Count
    """The fewest people of the population that a class may match."""
    population: Count
    """How many people the table is a sample of."""
    alpha: Probability = 0.05
    """The chance of taking a class of k people for a larger one."""
    test: Literal["zero_truncated_poisson", "poisson"] = "zero_truncated_poisson"
    """Whether the test knows that a class it sees is not empty."""


MODELS: dict[str, type[Model]] = {
    cls.name(): cls
    for cls in (
        KAnonymity,
        KMap,
        DeltaPresence,
        Homogeneity,
        LDiversity,
        EntropyLDiversity,
        RecursiveClDiversity,
        AlphaKAnonymity,
        PSensitiveKAnonymity,
        KEAnonymity,
        TCloseness,
        DeltaDisclosure,
        BasicBetaLikeness,
        EnhancedBetaLikeness,
        ProsecutorRisk,
        JournalistRisk,
        MarketerRisk,
        SampleUniqueness,
        PopulationUniqueness,
        KMapEstimate,
    )
}
"""Every model by its name, in the order in which people read of them."""


def model_named(name: str) -> type[Model]:
    """The model of this name. Raises `SpecError` that names the nearest one."""
    if name not in MODELS:
        raise SpecError(
            f'there is no model "{name}".{did_you_mean(name, MODELS)} kanon-sql explain lists the '
            f"{len(MODELS)} there are."
        )
    return MODELS[name]


def short_checks(
    demands: Mapping[str, Any], sensitive: Sequence[str], reference: str | None
) -> list[Model]:
    """The checks that `k`, `l`, `t` and `k_map` ask for, l and t of each sensitive attribute.

    >>> [check.name() for check in short_checks({"k": 5, "l": 2}, ["diagnosis"], None)]
    ['k_anonymity', 'l_diversity']

    Raises `SpecError` for a threshold that is out of its range.
    """
    k, l_, t, k_map = (demands.get(key) for key in ("k", "l", "t", "k_map"))
    checks: list[Model] = [] if k is None else [KAnonymity(k=k)]
    checks += [LDiversity(l=l_, sensitive=name) for name in sensitive if l_ is not None]
    checks += [TCloseness(t=t, sensitive=name) for name in sensitive if t is not None]
    return checks if k_map is None else [*checks, KMap(k=k_map, reference=reference)]


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
