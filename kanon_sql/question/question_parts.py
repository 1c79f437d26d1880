"""What the parts of a question are made of: columns, checks, words, other tables."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from kanon_sql.errors import SpecError, described_value, located, refuse_repeated, repeated
from kanon_sql.files import codec, shown_url
from kanon_sql.models.base import Count, Model
from kanon_sql.models.catalogue import MODELS, model_named
from kanon_sql.models.described import Described
from kanon_sql.question.date_formats import known_dates
from kanon_sql.question.other_tables import AGAINST, EARLIER, HOLDOUT, ORIGINAL, REFERENCE

Source = Annotated[Any, AfterValidator(shown_url), Field(repr=False)]
"""A file, a glob, a URL or a table name, or the data itself; the secrets of a URL are shown by
nothing."""


class SpecPart(Described, BaseModel):
    """A part of a question."""

    model_config = ConfigDict(arbitrary_types_allowed=True)


def _check_from_mapping(value: Any) -> Any:
    """Read `{k_anonymity: {k: 5}}`, `{homogeneity: {sensitive: s}}` or a model itself."""
    if isinstance(value, Model):
        return value
    if isinstance(value, str) and ":" not in value:
        value = {value: {}}
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(
            "must be one model with its parameters, as in {k_anonymity: {k: 5}}, and in Python "
            "KAnonymity(k=5)."
        )
    [(name, parameters)] = value.items()
    if not isinstance(parameters, dict | None):
        raise ValueError(f"the parameters of {name} must be a mapping, as in {{k: 5}}.")
    return model_named(str(name))(**(parameters or {}))


@dataclass(frozen=True)
class CheckSchema:
    """The JSON Schema of one check: a model's name, or one model with its own parameters."""

    models: Mapping[str, type[Model]]

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: Any) -> dict[str, Any]:
        one_model = {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": {name: model.model_json_schema() for name, model in self.models.items()},
        }
        return {"anyOf": [{"enum": list(self.models)}, one_model]}


AnyCheck = Annotated[
    Model,
    BeforeValidator(_check_from_mapping),
    PlainSerializer(lambda check: {check.name(): check.parameters}),
]
Check = Annotated[AnyCheck, CheckSchema(MODELS)]


def names(value: Any) -> Any:
    """Let one column stand for a list of one."""
    return [value] if isinstance(value, str) else value


def allow_names_alone(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of columns take their names alone too: one, or a list."""
    full = {
        key: schema.pop(key) for key in ("type", "items", "additionalProperties") if key in schema
    }
    names = {"type": "array", "items": {"type": "string"}}
    schema["anyOf"] = [{"type": "string"}, names, *([full] if full != names else [])]


def allow_levels(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of columns take levels too, as quasi-identifiers have them."""
    allow_names_alone(schema)
    schema["anyOf"].append({"type": "object", "additionalProperties": {"type": "object"}})


ColumnNames = Annotated[
    list[str], BeforeValidator(names), Field(json_schema_extra=allow_names_alone)
]
SensitiveNames = Annotated[list[str], BeforeValidator(names), Field(json_schema_extra=allow_levels)]


Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty: an empty one would be taken for one that is not given."""


def _known(encoding: str) -> str:
    codec(encoding)
    return encoding


Encoding = Annotated[str, AfterValidator(_known)]
"""The name of a codec of Python."""
Written = Annotated[str | dict[str, str], BeforeValidator(known_dates)]
"""The format of dates, or that of each column."""


def _totals(value: Any) -> str:
    """`true`, `shown`, or `rounded:` and the base of which each total is a multiple.

    >>> _totals(True), _totals("rounded: 5")
    ('true', 'rounded:5')
    """
    text = "true" if value is True else str(value).replace(" ", "")
    word, colon, base = text.partition(":")
    is_base = re.fullmatch(r"[0-9]+(\.[0-9]+)?", base) and Decimal(base)
    if text not in ("true", "shown") and not (word == "rounded" and colon and is_base):
        raise ValueError("must be true, shown, or rounded: and a base, as in rounded:5")
    return text


Totals = Annotated[
    str,
    BeforeValidator(_totals),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": True},
                {"type": "string", "pattern": "^(true|shown|rounded:[0-9.]+)$"},
            ]
        }
    ),
]
"""What totals are: the sums of all their parts, of those shown, or rounded each on its own."""


class ReferenceSpec(SpecPart):
    """The reidentification dataset: the population that an attacker could match against."""

    source: Source
    """A file, a glob or a table."""
    columns: dict[str, str] = {}
    """The reference's name of a quasi-identifier, if it differs."""
    where: Text | None = None
    """A SQL condition; only the reference's records that satisfy it are read."""
    entity: Text | None = None
    """The reference's column that identifies the person; people are counted instead of records."""
    weight: Text | None = None
    """The reference's column with the number of people that each record stands for."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Generalise the reference to the levels that the table already has, by the table's
    hierarchies."""
    header: bool | None = None
    """Whether the first line of the reference names its columns."""
    encoding: Encoding | None = None
    """The encoding of the reference, if it is a text file and not UTF-8."""
    skip: Count | None = None
    """How many lines of the reference stand above its header."""
    dates: Written | None = None
    """How the reference writes dates as text, for all columns or of one."""

    @model_validator(mode="after")
    def _require_one_unit(self) -> Self:
        if self.entity and self.weight:
            raise ValueError(
                "has both entity and weight; people are counted by one or the other, not both."
            )
        return self


class EarlierReleaseSpec(SpecPart):
    """An earlier release of the same people, linked to this one by the entity."""

    source: Source
    """A file, a glob or a table."""
    columns: dict[str, str] = {}
    """The earlier release's name of a quasi-identifier, a sensitive attribute or the entity, if it
    differs."""
    entity: Text | None = None
    """The earlier release's column that identifies the person (default: the entity of the
    table)."""
    quasi_identifiers: Annotated[list[str], BeforeValidator(names)] = []
    """The earlier release's quasi-identifiers, if they differ from those of the table."""
    where: Text | None = None
    """A SQL condition; only the earlier release's records that satisfy it are read."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Generalise the earlier release to the levels that were published, by the table's
    hierarchies."""
    header: bool | None = None
    """Whether the first line of the earlier release names its columns."""
    encoding: Encoding | None = None
    """The encoding of the earlier release, if it is a text file and not UTF-8."""
    skip: Count | None = None
    """How many lines of the earlier release stand above its header."""
    dates: Written | None = None
    """How the earlier release writes dates as text, for all columns or of one."""


class OriginalSpec(SpecPart):
    """The table that a synthetic one was made from."""

    source: Source
    """A file, a glob or a table."""
    columns: dict[str, str] = {}
    """The original's name of a column, if it differs."""
    entity: Text | None = None
    """The original's column that identifies the person; people are counted instead of records
    (default: the entity of the table)."""
    where: Text | None = None
    """A SQL condition; only the original's records that satisfy it are read."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Generalise the original, and the holdout, to the levels that the table already has, by the
    table's hierarchies."""
    header: bool | None = None
    """Whether the first line of the original names its columns."""
    encoding: Encoding | None = None
    """The encoding of the original, if it is a text file and not UTF-8."""
    skip: Count | None = None
    """How many lines of the original stand above its header."""
    dates: Written | None = None
    """How the original writes dates as text, for all columns or of one."""


class HoldoutSpec(SpecPart):
    """Records that the generator of a synthetic table has not seen; they have the columns, the
    entity and the levels of the original."""

    source: Source
    """A file, a glob or a table."""
    where: Text | None = None
    """A SQL condition; only the holdout's records that satisfy it are read."""
    header: bool | None = None
    """Whether the first line of the holdout names its columns."""
    encoding: Encoding | None = None
    """The encoding of the holdout, if it is a text file and not UTF-8."""
    skip: Count | None = None
    """How many lines of the holdout stand above its header."""
    dates: Written | None = None
    """How the holdout writes dates as text, for all columns or of one."""

    def read_as(self, original: OriginalSpec) -> OriginalSpec:
        """The holdout with the columns, the entity and the levels of the original."""
        return original.model_copy(
            update={key: getattr(self, key) for key in type(self).model_fields}
        )


def source_alone(value: Any) -> Any:
    """Let a source stand for a table of which nothing else is said."""
    is_part = value is None or isinstance(value, Mapping | OriginalSpec | HoldoutSpec)
    return value if is_part else {"source": value}


def allow_source_alone(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of another table take its source too."""
    schema["anyOf"] = [{"type": "string"}, *schema["anyOf"]]


class AgainstSpec(SpecPart):
    """A second table of the same kind, to be compared cell by cell."""

    source: Source
    """A file, a glob or a table."""
    by: ColumnNames = []
    """The dimensions of the second table, by the names of this table's (default: all of them)."""
    columns: dict[str, str] = {}
    """The second table's name of a dimension, of the figure or of the contributor, if it
    differs."""
    where: Text | None = None
    """A SQL condition; only the second table's rows that satisfy it are read."""
    header: bool | None = None
    """Whether the first line of the second table names its columns."""
    encoding: Encoding | None = None
    """The encoding of the second table, if it is a text file and not UTF-8."""
    skip: Count | None = None
    """How many lines of the second table stand above its header."""
    dates: Written | None = None
    """How the second table writes dates as text, for all columns or of one."""


OtherTableSpec = ReferenceSpec | EarlierReleaseSpec | OriginalSpec
"""A holdout is read as the original is."""
SPECS: dict[str, type[SpecPart]] = {
    REFERENCE.key: ReferenceSpec,
    EARLIER.key: EarlierReleaseSpec,
    ORIGINAL.key: OriginalSpec,
    HOLDOUT.key: HoldoutSpec,
    AGAINST.key: AgainstSpec,
}
"""The part of a spec that describes each kind of other table, by its key."""


EXAMPLE = "zip: {levels: [{mask: right}]}"
HIERARCHY_PLACE = f"belongs to its quasi-identifier: quasi_identifiers: {{{EXAMPLE}}}"


def generalisable(value: Any) -> Any:
    """Accept a plain list of columns as quasi-identifiers without levels."""
    return _by_name(
        value, f"To generalise a column, write a mapping, as in {{{EXAMPLE}, sex: {{}}}}."
    )


def sensitive_at_levels(value: Any) -> Any:
    """Let sensitive attributes have levels beside an original, as quasi-identifiers have them."""
    sensitive = value.get("sensitive") if isinstance(value, Mapping) else None
    if not isinstance(sensitive, Mapping):
        return value
    if value.get("original") is None:
        with located("sensitive"):
            raise SpecError(
                "levels of a sensitive attribute are for a synthetic table, and there is no "
                "original: list its name alone, as in [diagnosis]."
            )
    return {**value, "sensitive": list(sensitive), "sensitive_levels": sensitive}


def _reviewed(value: Any) -> Any:
    """Accept a plain list of columns, and a text in place of `{why: text}`."""
    columns = _by_name(
        value,
        "To say why a column is harmless, write a mapping, as in {ward: {why: one of three}}.",
    )
    if not isinstance(columns, dict):
        return columns
    return {
        name: {"why": column} if isinstance(column, str) else column
        for name, column in columns.items()
    }


def _by_name(value: Any, otherwise: str) -> Any:
    value = names(value)
    if isinstance(value, list | tuple):
        if not all(isinstance(name, str) for name in value):
            raise ValueError(f"a list holds names only. {otherwise}")
        refuse_repeated(value, 'column "{}" is named twice.')
        return {name: {} for name in value}
    if isinstance(value, dict):
        return {name: {} if settings is None else settings for name, settings in value.items()}
    description = described_value(value)
    raise ValueError(f"must be columns, as in [zip, sex]; found {description}. {otherwise}")


class ReviewedSpec(SpecPart, BaseModel):
    """A column reviewed as harmless."""

    why: str | None = None
    """The reason, which the report prints; without one an audit warns of a column whose value
    singles out many."""


ReviewedColumns = Annotated[
    dict[str, ReviewedSpec], BeforeValidator(_reviewed), Field(json_schema_extra=allow_names_alone)
]


def _date_text(value: Any) -> Any:
    """A date as people write it, so that YAML's own dates are as good as text."""
    return value.isoformat() if isinstance(value, date) else value


DateText = Annotated[str, BeforeValidator(_date_text), Field(min_length=1)]


def faults_of_roles(
    roles: Iterable[tuple[str, str]],
    lists: Mapping[str, Sequence[str]],
    folded: Callable[[str], str] = str,
) -> Iterator[str]:
    """A sentence for each column with a second role, and for each that a list names twice."""
    role_by_column: dict[str, str] = {}
    for column, role in roles:
        first_role = role_by_column.setdefault(folded(column), role)
        if first_role != role:
            yield f'column "{column}" is both {first_role} and {role}; give it one role.'
    for key, columns in lists.items():
        for column in repeated(map(folded, columns)):
            yield f'column "{column}" is named twice in {key}.'
