"""The base of every privacy model: its parameters, its thresholds, its words.

A model is one class here and one macro of the same name in `templates/macros/shared`. The class
name in snake case is the model's name everywhere: YAML key, `--check`, macro, `model` in the
JSON.
"""

# No `from __future__ import annotations` where pydantic models are: it would evaluate the text of
# each annotation, and that of these class variables again for every model.
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_before_validator_function

from kanon_sql.errors import SpecError, described_value, did_you_mean, fraction_hint, percentage
from kanon_sql.models.described import Described
from kanon_sql.models.examples import ExampleOf

Number = int | float


def python_number(value: Any) -> Any:
    """A NumPy number or a Decimal as the Python number with the same digits."""
    if type(value) in (bool, int, float) or not isinstance(value, Real | Decimal):
        return value
    return int(value) if isinstance(value, Integral) else float(str(value))


_HOLDS = {"minimum": ge, "exclusiveMinimum": gt, "maximum": le, "exclusiveMaximum": lt}


@dataclass(frozen=True, eq=False)
class Bounds:
    """The range of a number, for its validator and its JSON Schema."""

    words: str
    """What is allowed, worded to follow "must be"."""
    limits: Mapping[str, Number]
    """By the keywords of JSON Schema."""
    is_whole: bool = False
    is_share: bool = False
    """Whether a percentage is allowed too, as text."""

    def _checked(self, raw: Any) -> Any:
        percent = percentage(raw) if self.is_share and isinstance(raw, str) else None
        value = python_number(raw if percent is None else percent)
        is_number = isinstance(value, int if self.is_whole else (int, float))
        # A whole number may be larger than any float: it is compared with counts only.
        is_finite = is_number and (self.is_whole or abs(value) <= sys.float_info.max)
        fits = is_number and not isinstance(value, bool) and is_finite
        if not fits or not all(_HOLDS[key](value, limit) for key, limit in self.limits.items()):
            raise ValueError(f"must be {self.words}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return no_info_before_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: Any) -> dict[str, Any]:
        number = {"type": "integer" if self.is_whole else "number", **self.limits}
        percent = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?%\s*$"}
        return {"anyOf": [number, percent]} if self.is_share else number


def _value_list(value: Any) -> Any:
    """Refuse empty and nested lists; NULL is allowed."""
    is_flat = isinstance(value, list | tuple) and not any(
        isinstance(item, list | tuple | dict) for item in value
    )
    if not is_flat or not value:
        raise ValueError("must be a list of at least one value, as in [first, second]")
    return tuple(value)


def _column_set(value: Any) -> Any:
    """The names of a column set, which a text joins by +, without duplicates."""
    names = [name.strip() for name in value.split("+")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names:
        raise ValueError("must be names of quasi-identifiers, as in zip+sex or [zip, sex]")
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("must be names of quasi-identifiers, as in zip+sex or [zip, sex]")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f'names "{twice}" twice')
    return tuple(names)


Count = Annotated[int, Bounds("a whole number, 1 or more", {"minimum": 1}, is_whole=True)]
FirstRecords = Annotated[
    int,
    Bounds("a whole number from 1 to 10^18", {"minimum": 1, "maximum": 10**18}, is_whole=True),
]
CountFromZero = Annotated[int, Bounds("a whole number, 0 or more", {"minimum": 0}, is_whole=True)]
Share = Annotated[
    Number, Bounds("a number from 0 to 1", {"minimum": 0, "maximum": 1}, is_share=True)
]
PositiveShare = Annotated[
    Number,
    Bounds(
        "a number above 0 and no more than 1", {"exclusiveMinimum": 0, "maximum": 1}, is_share=True
    ),
]
Probability = Annotated[
    Number,
    Bounds(
        "a number between 0 and 1", {"exclusiveMinimum": 0, "exclusiveMaximum": 1}, is_share=True
    ),
]
Positive = Annotated[Number, Bounds("a number above 0", {"exclusiveMinimum": 0})]
NotNegative = Annotated[Number, Bounds("a number, 0 or more", {"minimum": 0})]
Ratio = Annotated[Number, Bounds("a number, 0 or more", {"minimum": 0}, is_share=True)]
OneOrMore = Annotated[Number, Bounds("a number, 1 or more", {"minimum": 1})]
Values = Annotated[
    tuple[Any, ...],
    BeforeValidator(_value_list),
    WithJsonSchema({"type": "array", "minItems": 1}),
]


ColumnSet = Annotated[
    tuple[str, ...],
    BeforeValidator(_column_set),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"type": "string"}},
                {"type": "string"},
            ]
        }
    ),
]


Need = Literal["shares", "bounds", "class_shares", "ranks", "table_values"]
Worst = Literal["least", "greatest"]
"""Which of two figures is worse."""
Scale = Literal["share", "factor", "logarithm", "effective number"]
"""What a figure is that is no count."""


AT_RISK = 0.2
"""A record is at risk if its chance of re-identification is above this (El Emam 2013)."""


LACKED = ("unmatched_classes", "unmatched_records", "exceeding_classes")
"""Figures on how much of the release a reference does not contain."""


class ClassWords(NamedTuple):
    """Templates in which {0} is the figure, and {k} and the like are details of the result.

    They are for models that are judged on their worst class. If more than the numbers varies,
    `report/words` chooses the sentence.
    """

    found: str
    """The result."""
    violating: str
    """The violating classes, after their number; {0} is the threshold."""
    worst: str
    """The worst class of a check that holds."""
    thresholds: Sequence[str] = ()
    """The order in which thresholds are printed, if it differs from the model's."""
    sentence: str = "In the worst class of {sensitive} the figure is {0}."
    """The worst class, in a sentence without formulas; {share} is in per cent."""
    always: bool = False
    """Whether the worst class is printed even if nothing is required."""
    certain: bool = False
    """Whether a class also fails if all its people have one value, whatever others they have."""


IN_WORDS = tomllib.loads(
    files("kanon_sql.models").joinpath("models.toml").read_text(encoding="utf-8")
)
"""What each model says of itself, by its name."""


FIGURES_OF_SIZES = (
    *("uniques", "prosecutor.average", "prosecutor.at_risk"),
    *("individual.highest", "individual.average"),
    *("household.highest", "household.average", "household.at_risk"),
)
FIGURES_OF_MATCHES = (
    *("journalist.highest", "journalist.average", "journalist.at_risk", "marketer.average"),
)


class Model(Described):
    """A privacy model with its parameters. Frozen and comparable.

    Its words (`title` to `holds_when`, `words`, `share_words`) are in `models.toml`, its example in
    `examples.toml`.
    """

    title: ClassVar[str]
    """Its usual name."""
    promise: ClassVar[str]
    """Its guarantee when it holds, in one sentence."""
    formula: ClassVar[str]
    """Its formula: f is the size of a class, F that of its match in the
    reference, q the share of a sensitive value in a class and p its share in the table."""
    limitation: ClassVar[str]
    """Its limitations."""
    source: ClassVar[str]
    """The paper and the definition."""
    asked_as: ClassVar[str]
    """The command line options that require it."""
    holds_when: ClassVar[str]
    """The condition under which it holds, for a cell of a table."""
    example: ClassVar[Any] = ExampleOf()
    """A table that violates it, and one that satisfies it."""
    thresholds: ClassVar[tuple[str, ...]]
    """The parameters that are thresholds; any one makes the model gate."""
    table_thresholds: ClassVar[tuple[str, ...]] = ()
    """The thresholds on all classes together; each class must meet the other ones by itself."""
    size_threshold: ClassVar[str | None] = None
    """The threshold that is a class size."""
    value_list: ClassVar[str | None] = None
    """The parameter that names sensitive values."""
    relations: ClassVar[frozenset[Need]] = frozenset()
    """The relations that its SQL needs besides the classes, whatever its parameters."""
    words: ClassVar[ClassWords | None] = None
    """The sentences on its worst class; None if `report/words` chooses them."""
    share_words: ClassVar[str] = ""
    """What its only figure is a share of; {0} is "records" or "people"."""
    family: ClassVar[str]
    """The family that it belongs to: the room that its class stands in."""
    needs_classes: ClassVar[bool] = True
    """Whether it is about the classes of the table, which need quasi-identifiers."""
    in_one_statement: ClassVar[bool] = True
    """Whether one statement decides it, as in its dbt test."""
    worst: ClassVar[Worst]
    """Which of two results is worse; the result of a table is that of its worst class."""
    worst_thresholds: ClassVar[Mapping[str, Worst]] = {}
    """Which of two values is weaker, of a threshold that does not bound its figure."""
    companion_figures: ClassVar[Mapping[str, tuple[Worst, str]]] = {}
    """Further figures of its result, each with its direction and its threshold."""
    interval_bounds: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """The figure of each threshold that is judged by an interval, and where its ends are: it is
    violated above the lower end."""
    with_wildcards: ClassVar[bool] = False
    """Whether it is defined for NULL as a wildcard, where records form no classes."""
    of_reference: ClassVar[bool] = False
    """Whether the violating classes and people are those of a reference, not of the table."""
    is_strict: ClassVar[bool] = False
    """Whether a figure equal to the threshold violates it."""
    in_percent: ClassVar[bool] = False
    """Whether its figures and thresholds are shares, printed in per cent."""
    computed_bound: ClassVar[str | None] = None
    """The detail of its result with the bound in force, if it depends on the table."""
    counts_violations: ClassVar[bool] = False
    """Whether its result is the number of violating classes; the bound is then 0."""
    counts_values: ClassVar[bool] = False
    """Whether its result is a number of distinct values, at most the size of a class."""
    scale: ClassVar[Scale] = "share"
    """What its figure is, where it is no count."""
    share_of: ClassVar[Literal["", "members", "attacked", "population"]] = ""
    """What its figure is a share of, if of one number: the table's people (records), those whom an
    attacker knows something of, the population."""
    is_average: ClassVar[bool] = False
    """Whether that share is a mean of risks."""
    attacker: ClassVar[str] = ""
    """The attacker whose highest risk its k bounds."""
    title_parameters: ClassVar[tuple[str, ...]] = ()
    """The parameters that its title names."""
    of_numbers: ClassVar[bool] = False
    """Whether the sensitive values must be numbers."""
    only_grows: ClassVar[bool] = False
    """Whether a passing class still passes when merged with any other class."""
    read_off_sizes: ClassVar[bool] = False
    """Whether class sizes are enough, so that it needs no macro of its own."""
    listed: ClassVar = ("gates", "name", "parameters")

    def __init__(self, *by_place: Any, **parameters: Any) -> None:
        """Raise `SpecError` for an unknown or invalid parameter.

        >>> from kanon_sql import KAnonymity
        >>> KAnonymity(3) == KAnonymity(k=3)
        True
        """
        super().__init__(**_by_name(type(self), by_place, parameters))

    @classmethod
    def refusal(cls, fault: Any) -> SpecError:
        """One sentence on an invalid parameter."""
        key = str(fault["loc"][0]) if fault["loc"] else ""
        return SpecError(_invalid(cls, fault, key), key=key or None)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        thresholds = getattr(cls, "thresholds", ())
        cls.family = cls.__module__.split(".")[-2]
        cls.unnamed = thresholds if len(thresholds) == 1 else ()
        for key, words in IN_WORDS.get(cls.name(), {}).items():
            setattr(cls, key, ClassWords(**words) if key == "words" else words)

    @classmethod
    def closing(cls) -> list[str]:
        """What a model guarantees, its formula, its limits and its source."""
        sections = [("Guarantee", "promise"), ("Formula", "formula"), ("Limits", "limitation"),
                ("Source", "source")]  # fmt: skip
        return [
            textwrap.fill(f"{title}: {getattr(cls, key)}", 92, subsequent_indent="    ")
            for title, key in sections
            if hasattr(cls, key)
        ]

    @classmethod
    def name(cls) -> str:
        """The name in YAML, JSON, SQL and on the command line.

        >>> from kanon_sql import KEAnonymity, KMap
        >>> KMap.name(), KEAnonymity.name()
        ('k_map', 'k_e_anonymity')
        """
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def gates(self) -> bool:
        """Whether a threshold is given, so the check can fail."""
        return bool(self._required(self.thresholds))

    @property
    def has_own_statement(self) -> bool:
        """Whether one statement answers it alone, as its dbt test does."""
        return self.in_one_statement

    @property
    def least_size(self) -> int | None:
        """The required class size in records (people), if there is one."""
        return getattr(self, self.size_threshold) if self.size_threshold else None

    @property
    def sets_k(self) -> bool:
        """Whether it requires a k of all quasi-identifiers, which a search may replace."""
        return False

    @property
    def violating_below(self) -> float | None:
        """The size below which a class violates it, for models of class sizes."""
        return self.least_size

    @property
    def judged_by_class(self) -> bool:
        """Whether each class passes or fails by itself."""
        return not self._required(self.table_thresholds)

    @property
    def class_thresholds(self) -> dict[str, Any]:
        """The given thresholds that each class must meet by itself."""
        of_classes = (name for name in self.thresholds if name not in self.table_thresholds)
        return {name: getattr(self, name) for name in self._required(of_classes)}

    def _required(self, thresholds: Iterable[str]) -> list[str]:
        return [threshold for threshold in thresholds if getattr(self, threshold) is not None]

    @property
    def needs_containment(self) -> bool:
        """Whether it holds only if a reference contains every record of the release."""
        return False

    @property
    def figures(self) -> dict[str, Worst]:
        """Its figure, or the two ends of its range, and in which direction it gets worse.

        >>> from kanon_sql import DeltaPresence, ProsecutorRisk
        >>> ProsecutorRisk().figures, DeltaPresence().figures
        ({'achieved': 'greatest'}, {'min': 'least', 'max': 'greatest'})
        """
        return {"achieved": self.worst}

    @property
    def described(self) -> Mapping[str, str]:
        """The figures of its result that make it no worse with these parameters, with the
        reason."""
        return {}

    @property
    def table_figures(self) -> tuple[str, ...]:
        """The figures of the summary and the risks that a baseline judges with this check: they
        can get worse even if every record violates it already.

        >>> from kanon_sql import KAnonymity
        >>> KAnonymity(k=5).table_figures
        ('uniques', 'prosecutor.average', 'prosecutor.at_risk', 'individual.highest', \
'individual.average', 'household.highest', 'household.average', 'household.at_risk')
        """
        return FIGURES_OF_SIZES if self.family == "sizes" or self.least_size else ()

    @property
    def needs(self) -> frozenset[Need]:
        """The relations that its SQL needs besides the classes."""
        return self.relations

    @property
    def named_values(self) -> tuple[Any, ...]:
        """The sensitive values named in its parameters."""
        return (getattr(self, self.value_list) if self.value_list else None) or ()

    @property
    def reads_values(self) -> bool:
        """Whether the sensitive values themselves matter, and not only whether they are equal."""
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
        """Every parameter in force, without the thresholds that are not given."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


class SensitiveModel(Model):
    """A model of the sensitive values of a class, judged on the worst class."""

    companion: ClassVar[str | None] = None
    """The column of a further figure that it measures of each class."""
    may_be_infinite: ClassVar[bool] = False
    """Whether its figure may be infinite, so that no threshold is met."""

    sensitive: str | None = None
    """The sensitive attribute; optional if only one is declared."""
    with_other_sensitive: bool = False
    """Whether the attacker also knows the other sensitive attributes."""

    @property
    def knows_others(self) -> bool:
        return self.with_other_sensitive


class ReferenceModel(Model):
    """A model that compares the release with a table of people."""

    statement: ClassVar[str] = "k_map"
    """The macro of its statement."""
    predicate: ClassVar[str] = ""
    """The macro of the predicate for a violating class, which takes `class_bounds`."""

    reference: str | None = None
    """The name of the reference table; optional if there is only one."""
    match: Literal["containment", "exact"] = "containment"
    """A generalised cell matches the reference values that it covers, or only equal ones."""
    missing: Literal["strict", "union", "error"] = "strict"
    """A class with too few matches counts these (strict) or its own size (union); one without any
    may be refused (error)."""

    @property
    def class_bounds(self) -> dict[str, Any]:
        """The bounds that single classes can violate."""
        return self.class_thresholds

    @property
    def needs_containment(self) -> bool:
        return self.missing != "union"

    @property
    def described(self) -> Mapping[str, str]:
        """What the reference lacks, where the release's own people stand in."""
        stand_in = self.missing == "union" and not self.needs_containment
        return dict.fromkeys(LACKED, "the release's own people stand in") if stand_in else {}

    @property
    def table_figures(self) -> tuple[str, ...]:
        """The risks of linking the table with its reference."""
        return FIGURES_OF_MATCHES


class CellModel(Model):
    """A rule for the cells of a table, asked by `kanon-sql tables`."""

    needs_value: ClassVar[bool] = False
    """Whether it is defined for the sums of a magnitude only, made from records."""
    needs_cells: ClassVar[bool] = False
    """Whether it is defined for a table that is published only, not for its records."""
    counts_contributors: ClassVar[bool] = False
    """Whether it compares numbers of contributors."""
    of_concentration: ClassVar[bool] = False
    """Whether it bounds how much of a cell a few contributors have."""
    is_searched: ClassVar[bool] = False
    """Whether it is computed step by step, so that no statement decides it."""
    is_primary: ClassVar[bool] = False
    """Whether it judges each cell by itself."""
    compares_tables: ClassVar[bool] = False
    """Whether it compares the table with a second one, which its parameter `against` names."""

    @property
    def least_contributors(self) -> int | None:
        """The required number of contributors of each cell, if there is one."""
        return None

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that it names."""
        return ()


def _by_name(
    model: type[Model], by_place: Sequence[Any], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters by name. Only a model's single threshold may be positional: of two, a reader
    could not tell which is which."""
    named = dict(zip(model.unnamed, by_place, strict=False))
    if len(by_place) > len(named):
        how = f"{model.unnamed[0]} alone without its name" if model.unnamed else "names"
        raise SpecError(
            f"{model.__name__} takes {how}. Its parameters: {', '.join(model.model_fields)}."
        )
    if twice := next((name for name in named if name in parameters), None):
        raise SpecError(f"{model.__name__} is given {twice} twice.", key=twice)
    return named | dict(parameters)


def _invalid(model: type[Model], fault: Any, key: str) -> str:
    parameters = list(model.model_fields)
    match fault["type"]:
        case "extra_forbidden":
            return (
                f'{model.name()} has no parameter "{key}". Its parameters: {", ".join(parameters)}.'
                f"{did_you_mean(key, parameters)}"
            )
        case "missing":
            return f"{model.name()} needs {key}."
        case "greater_than_equal":
            return (
                f"{model.name()}: {key} must be a whole number, 1 or more; "
                f"found {described_value(fault['input'])}."
            )
        case "literal_error":
            return (
                f"{model.name()}: {key} must be {fault['ctx']['expected']}; "
                f"found {described_value(fault['input'])}."
            )
        case _:
            reason = fault["msg"].removeprefix("Value error, ")
            if not key:
                return f"{model.name()}: {reason}."
            return f"{model.name()}: {key} {reason}; found {_described_input(fault['input'])}."


def _described_input(value: Any) -> str:
    """A rejected value for a message; a number in quotes is labelled as text."""
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", value):
        return f"the text {value!r}. Write it without quotes"
    return f"{described_value(value)}.{fraction_hint(value)}".removesuffix(".")
