"""Policies: an institution's rules as checks, with the sentences that they rest on.

A policy is a YAML file: one of those shipped in `policies`, known by its identifier, or a user's
own, known by its path. It adds no model; its checks are those of a spec.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from kanon_sql.errors import (
    SpecError,
    described_value,
    did_you_mean,
    plural,
    read_each,
    refuse_repeated,
)
from kanon_sql.models.base import CellModel, Model, ReferenceModel
from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS, MODELS, model_named
from kanon_sql.models.described import Fault, described_fault
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.question.other_tables import AGAINST, REFERENCE
from kanon_sql.question.question_parts import AnyCheck, CheckSchema, DateText, SpecPart, Totals
from kanon_sql.question.yaml_document import YamlDocument

FOLDER = Path(__file__).parent / "policies"
OWN_CONFIDENCE = "confidential"
"""What a quote is about if it demands that parameters stay confidential."""
OF_THE_DATA = "the data"
"""What a quote is about if it demands something of the data that no check can answer."""


def _require_parameter(name: str) -> str:
    """Refuse what is no parameter of a model, as a misspelt one would be shown to outsiders."""
    model, dot, parameter = name.partition(".")
    if not (dot and parameter):
        raise ValueError("must name a parameter of a model, as in dominance.k")
    fields = model_named(model).model_fields
    if parameter not in fields:
        raise ValueError(
            f'{model} has no parameter "{parameter}".{did_you_mean(parameter, list(fields))}'
        )
    return name


Confidential = list[
    Annotated[
        str,
        AfterValidator(_require_parameter),
        WithJsonSchema({"type": "string", "pattern": r"^[a-z_]+\.[a-z_]+$"}),
    ]
]
"""Parameters of models, as in dominance.k."""


class Quote(SpecPart, BaseModel):
    """A sentence of a policy, word for word."""

    about: str
    """The model of the check that rests on it, "confidential", or "the data", where a person must
    look."""
    text: Annotated[str, Field(min_length=1)]
    """The sentence."""
    page: str | None = None
    """The page it stands on."""


class PolicyRead(SpecPart, BaseModel):
    """How and when the text of a policy was read."""

    by: Literal["owner", "secondary"]
    """The issuer's own text, or somebody else's copy or account."""
    date: Annotated[
        DateText | None,
        Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", json_schema_extra={"format": "date"}),
    ]
    """The date, as in 2026-11-23; null if unknown."""
    how: str = ""
    """What was read."""


class NotAsked(SpecPart, BaseModel):
    """A rule of a policy that this input cannot answer."""

    model: str
    """The model."""
    parameters: dict[str, Any]
    """Its parameters; empty for a rule without a number."""
    reason: str
    """Why it is not asked."""


class Policy(SpecPart, BaseModel):
    """An institution's rules: its checks, and the sentence that each of them rests on."""

    policy: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    """The identifier, as the file is called."""
    title: str
    """What the rules are called."""
    issuer: str
    """Whose rules they are."""
    document: str
    """The document they stand in."""
    version: str
    """Its version or date."""
    address: Annotated[str, Field(json_schema_extra={"format": "uri"})]
    """Where it can be read."""
    status: Literal["law", "guidance", "contract", "practice", "software default"]
    """What kind of rules they are."""
    concerns: Literal["cells", "records"]
    """Whether the checks are those of published tables or those of an audit."""
    counts: Literal["contributors", "records"] | None = None
    """What its numbers count."""
    read: PolicyRead
    """How and when it was read."""
    quotes: Annotated[list[Quote], Field(min_length=1)]
    """The sentences that the checks rest on."""
    checks: Annotated[list[Annotated[AnyCheck, CheckSchema(ALL_MODELS)]], Field(min_length=1)]
    """The checks that it expands to."""
    wanted: list[str] = []
    """Models that the text requires without a number."""
    of_one_column: list[str] = []
    """Models that it asks of one quasi-identifier alone, as of a postcode."""
    totals: Totals | None = None
    """What it requires of totals: true, shown, or rounded to a base, as in --totals."""
    reading: str | None = None
    """How a doubtful word was read."""
    asks_a_person: list[str] = []
    """What no check can answer."""
    confidential: Confidential = []
    """Parameters that it wants kept from outsiders, as in dominance.k."""

    @model_validator(mode="after")
    def _require_quotes(self) -> Self:
        about = {quote.about for quote in self.quotes}
        for name in [
            *sorted(about - {OWN_CONFIDENCE, OF_THE_DATA}),
            *self.wanted,
            *self.of_one_column,
        ]:
            model_named(name)
        missing = next((check.name() for check in self.checks if check.name() not in about), None)
        if missing:
            raise ValueError(
                f"no quote is about {missing}. Quote the sentence that the check rests on."
            )
        if measured := next((check.name() for check in self.checks if not check.gates), None):
            raise ValueError(f"{measured} has no threshold, so it would never fail. Give it one.")
        models = MODELS if self.concerns == "records" else CELL_MODELS
        if other := next(
            (check.name() for check in self.checks if check.name() not in models), None
        ):
            raise ValueError(f"{other} is no model of {self.concerns}, which this policy concerns.")
        return self

    @property
    def required_size(self) -> int | None:
        """The fewest contributors of a cell that it allows."""
        return max(filter(None, map(_least_contributors, self.checks)), default=None)

    def of_records(
        self, columns: Collection[str], references: Collection[str]
    ) -> tuple[list[Model], list[NotAsked]]:
        """The checks for an audit of records by these quasi-identifiers, beside these references,
        and the rules that it does not check.

        A threshold for cells becomes k-anonymity with the same number. Raises `SpecError` if no
        rule of cells can be checked.
        """
        if self.concerns == "records":
            reasons = {
                check: self._why_not_of_records(check, columns, references) for check in self.checks
            }
            return [check for check in self.checks if not reasons[check]], [
                _not_asked(check.name(), check.parameters, reason)
                for check, reason in reasons.items()
                if reason
            ]
        required: list[Model] = (
            [] if self.required_size is None else [KAnonymity(self.required_size)]
        )
        cell_checks = [check for check in self.checks if _least_contributors(check) is None]
        not_asked = [_not_asked(check.name(), check.parameters, FOR_CELLS) for check in cell_checks]
        not_asked += [_not_asked(rule, {}, FOR_CELLS) for rule in self.wanted]
        if not required:
            raise SpecError(
                f"{self.policy} has no threshold for the size of a cell, so none of its rules can "
                "be asked of records. kanon-sql tables asks "
                f"{plural(len(cell_checks), 'rule')} of it."
            )
        return required, not_asked

    def _why_not_of_records(
        self, check: Model, columns: Collection[str], references: Collection[str]
    ) -> str | None:
        """Why a check can't be asked of records, or None."""
        if isinstance(check, ReferenceModel) and not references:
            return f"it needs {REFERENCE.a_noun}, {REFERENCE.holds}: --reference SRC"
        if check.name() in self.of_one_column and (len(columns) != 1 or "*" in columns):
            return "it is about one quasi-identifier alone, and is asked in an audit of that one"
        return None

    def of_cells(
        self, own: Sequence[Model], why_not: Callable[[Model], str | None], second: Sequence[str]
    ) -> tuple[list[Model], list[NotAsked]]:
        """The checks for a table, and the rules that are not checked.

        `own` are the user's checks, which may give a number that the policy does not; `why_not`
        returns why a check can't be run on this table, or None; `second` are the names of second
        tables. Raises `SpecError` if no rule can be checked.
        """
        if self.concerns == "records":
            raise SpecError(
                f"{self.policy} concerns records, so none of its rules can be asked of a table. "
                "kanon-sql audit asks them."
            )
        required: list[Model] = []
        not_asked = []
        for check in self.checks:
            compares = isinstance(check, CellModel) and check.compares_tables
            if compares and getattr(check, AGAINST.key) is None and second:
                required += [check.model_copy(update={"against": name}) for name in second]
            elif reason := why_not(check):
                not_asked.append(
                    _not_asked(check.name(), check.parameters, reason.removesuffix("."))
                )
            else:
                required.append(check)
        of_user = {model.name(): model for model in own if model.gates}
        for name in self.wanted:
            if name in of_user:
                required.append(of_user[name])
            else:
                not_asked.append(_not_asked(name, {}, f"it gives no number: {_option_hint(name)}"))
        if not required:
            raise SpecError(
                f"none of the rules of {self.policy} can be asked of this table: "
                f"{'; '.join(dict.fromkeys(rule.reason for rule in not_asked))}."
            )
        return required, not_asked

    def __str__(self) -> str:
        return self.policy


def _least_contributors(check: Model) -> int | None:
    return check.least_contributors if isinstance(check, CellModel) else None


FOR_CELLS = "a rule for the cells of a table: kanon-sql tables"


def _option_hint(model: str) -> str:
    example = ALL_MODELS[model].asked_as.removeprefix("tables … ")
    return f"name yours, as in {example}"


def _not_asked(model: str, parameters: dict[str, Any], reason: str) -> NotAsked:
    return NotAsked(model=model, parameters=parameters, reason=reason)


@cache
def policies() -> Mapping[str, Policy]:
    """Every shipped policy by its identifier."""
    return MappingProxyType({name: _shipped(name) for name in policy_names()})


@cache
def policy_names() -> tuple[str, ...]:
    """The identifiers of the shipped policies, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yml")))


@cache
def _shipped(name: str) -> Policy:
    return read_policy(FOLDER / f"{name}.yml")


def policy_named(name: str, folder: Path | None = None) -> Policy:
    """The policy of an identifier or of a file, whose path starts at `folder`.

    Raises `SpecError` that names the nearest identifier.
    """
    if name.lower().endswith((".yml", ".yaml")):
        return read_policy(folder / name if folder else Path(name))
    if name not in policy_names():
        begun = [known for known in policy_names() if known.startswith(f"{name.lower()}-")]
        near = f' Did you mean "{begun[0]}"?' if begun else did_you_mean(name, policy_names())
        raise SpecError(
            f'there is no policy "{name}".{near} kanon-sql policy '
            f"lists the {len(policy_names())} there are; a file of your own is named by its path, "
            "as in ./own.yml."
        )
    return _shipped(name)


def read_policy(path: Path) -> Policy:
    """Read a policy file. Raises `SpecError` with file, line and column for an invalid one."""
    document = YamlDocument.read(path)
    try:
        return Policy.model_validate(document.value)
    except ValidationError as error:
        location, message, at_key = _first_fault(error)
        raise document.error(location, message, at_key=at_key) from None


def _first_fault(error: ValidationError) -> Fault:
    faults = error.errors(include_url=False)
    fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    location = fault["loc"]
    match fault["type"]:
        case "value_error":
            return location, str(fault["ctx"]["error"]), False
        case "string_pattern_mismatch":
            description = described_value(fault["input"])
            return (
                location,
                f"must read like {_EXAMPLES[_key(location)]}; found {description}.",
                False,
            )
    model = {"read": PolicyRead, "quotes": Quote}.get(str(next(iter(location), "")), Policy)
    return described_fault(fault, "", lambda key: did_you_mean(key, model.model_fields))


_EXAMPLES = {"policy": "our-airlock", "date": "2026-11-23"}


def _key(location: tuple[int | str, ...]) -> str:
    return [str(text) for text in location if isinstance(text, str)][-1]


def _policies(value: Any, info: ValidationInfo) -> list[Policy]:
    """Policies from one or several identifiers, paths or policies."""
    folder = (info.context or {}).get("folder")
    if value is None:
        return []

    def resolved(policy: Any) -> Policy:
        if isinstance(policy, str | Path):
            policy = policy_named(str(policy), folder)
        if not isinstance(policy, Policy):
            raise SpecError(
                f"policy must be an identifier, as in cms-cell-11, or the path of a file; found "
                f"{described_value(policy)}."
            )
        return policy

    policies = read_each(resolved, value if isinstance(value, list | tuple) else [value])
    refuse_repeated((policy.policy for policy in policies), 'the policy "{}" is named twice.')
    return policies


Policies = Annotated[
    list[Policy],
    BeforeValidator(_policies),
    PlainSerializer(lambda policies: [policy.policy for policy in policies]),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One policy or several, by identifier or path."""


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy file, for editors."""
    schema = Policy.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "A kanon-sql policy",
    }
