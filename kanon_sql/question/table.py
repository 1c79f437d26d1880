"""The spec of a table of records: its source, its columns by role, its checks."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from kanon_sql.errors import SpecError, option
from kanon_sql.models.base import Count, FirstRecords, Model
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.other_tables import OTHER_TABLES, OtherTableKind
from kanon_sql.question.policy import Policies
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.question_parts import (
    Check,
    ColumnNames,
    DateText,
    EarlierReleaseSpec,
    Encoding,
    HoldoutSpec,
    OriginalSpec,
    OtherTableSpec,
    ReferenceSpec,
    ReviewedColumns,
    SensitiveNames,
    Source,
    SpecPart,
    Text,
    Written,
    allow_names_alone,
    allow_source_alone,
    faults_of_roles,
    generalisable,
    sensitive_at_levels,
    source_alone,
)
from kanon_sql.question.roles import ROLES, columns_by_role

Nulls = Literal["value", "wildcard"]
SensitiveNulls = Literal["value", "unknown"]
Unassigned = Literal["warn", "drop", "error"]
EntityInRelease = Literal["keep", "renumber", "drop"]


def _with_policies(checks: list[Model], info: ValidationInfo) -> list[Model]:
    """The checks, and those that the policies require of records."""
    required = list(checks)
    columns, references = (info.data.get(key, ()) for key in ("quasi_identifiers", "references"))
    for policy in info.data.get("policy", ()):
        asked, _ = policy.of_records(columns, references)
        required += [check for check in asked if check not in required]
    return required


class ReleaseSpec(SpecPart, BaseModel):
    """Facts about a release for the sign-off report."""

    recipient: DateText | None = None
    """Who receives the release."""
    purpose: DateText | None = None
    """The purpose of the release."""
    model: DateText | None = None
    """How access is given: to the public, under a contract, in a secure room."""
    review_by: DateText | None = None
    """The date of the next review, as in 2027-06-30."""


class LineageSpec(SpecPart, BaseModel):
    """The name of a table in a lineage catalogue, where it isn't that of its source."""

    namespace: DateText | None = None
    """The namespace of the dataset, as in postgres://host:5432."""
    name: DateText | None = None
    """The name of the dataset in its namespace."""


class TableSpec(SpecPart, BaseModel):
    """One table: its source, the roles of its columns, and the checks to run on it."""

    source: Source
    """A file, a glob or a table name; in Python also the data itself, which no repr shows."""
    name: Text | None = None
    """The table's name in the result; default: the name of the file or table."""
    connect: Annotated[str | None, Field(repr=False)] = None
    """The URL of the table's database: duckdb:FILE, sqlite:FILE, postgresql://…, snowflake://…;
    without it, the source is a file."""
    quasi_identifiers: Annotated[
        dict[str, GeneralizationHierarchy],
        BeforeValidator(generalisable),
        Field(json_schema_extra=allow_names_alone),
    ] = {}
    """Quasi-identifiers: the columns an attacker may know; '*' takes every column without another
    role.

    Each may have generalisation levels."""
    events: Annotated[
        dict[str, GeneralizationHierarchy],
        BeforeValidator(generalisable),
        Field(json_schema_extra=allow_names_alone),
    ] = {}
    """The columns that make an event of a person, such as a ward and a month; an attacker knows
    some events of a person. Needs an entity.

    Each may have generalisation levels. Quasi-identifiers may then be left out."""
    sensitive: SensitiveNames = []
    """Sensitive attributes, such as a diagnosis: what must not become known about a person.

    In a table with an original each may have generalisation levels."""
    sensitive_levels: Annotated[
        dict[str, GeneralizationHierarchy], BeforeValidator(generalisable), SkipJsonSchema()
    ] = {}
    """The sensitive attributes that have generalisation levels."""
    entity: Text | None = None
    """The column that identifies the person; k then counts people instead of records."""
    identifiers: ColumnNames = []
    """Direct identifiers, such as a name; a release never contains them."""
    insensitive: ReviewedColumns = {}
    """Columns reviewed as harmless; a release publishes them unchanged. As a mapping each says
    why."""
    undecided: ColumnNames = []
    """Columns whose role is still open. An audit refuses to run until all have one, because a
    missed quasi-identifier makes a check pass wrongly."""
    entity_in_release: EntityInRelease = "keep"
    """What a release does with the entity: publish it with a warning, replace it by random numbers,
    or drop it."""
    unassigned: Unassigned = "warn"
    """What a release does with columns that have no role: publish them with a warning, drop them,
    or refuse."""
    where: Text | None = None
    """A SQL condition; only the records that satisfy it are read."""
    first: FirstRecords | None = None
    """Read only the first N records, in the order of the file."""
    nulls: Nulls = "value"
    """NULL in a quasi-identifier: a value of its own (default), or a wildcard that matches every
    value."""
    sensitive_nulls: SensitiveNulls = "value"
    """NULL in a sensitive attribute: a value of its own (default), or unknown."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Generalise the table to these levels first."""
    hierarchy_faults: Literal["error", "warn"] = "error"
    """If a hierarchy is not a tree: refuse it as an error (default), or warn."""
    with_other_sensitive: bool = False
    """Assume that an attacker may know a person's other sensitive attributes, all but the one being
    checked."""
    weight: Text | None = None
    """The survey weight column: how many people of the population a record represents."""
    household: Text | None = None
    """The column that identifies the household of a person; measures the chance that at least one
    person of a household is found."""
    null_strings: ColumnNames = []
    """Text read as NULL in a text file, besides the empty field; a release writes the first."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """The character that separates the fields of a text file; detected on its first line by
    default."""
    decimal: Literal[".", ","] = "."
    """The mark before the decimals of a text file's numbers.

    With a comma, columns of such numbers are read, and released, with a point."""
    header: bool | None = None
    """Whether the first line of a text file names its columns; required if that line looks like a
    record.

    Without a header the columns are column_1, column_2 and so on."""
    encoding: Encoding | None = None
    """The encoding of a text file, any codec of Python, such as cp1252 or utf-16; UTF-8 by
    default."""
    skip: Count | None = None
    """How many lines of a text file stand above its header, such as a title."""
    dates: Written | None = None
    """How a file or data frame writes dates as text: dmy, mdy, ymd or a pattern such as %d.%m.%Y,
    for all columns or of one.

    By column, as in {birth: dmy}. The columns are read, and released, as in 1956-12-24."""
    references: dict[str, ReferenceSpec] = {}
    """Reference tables (the population an attacker could match against), by name."""
    earlier_releases: dict[str, EarlierReleaseSpec] = {}
    """Earlier releases of the same people, by name; an attacker may link them with this one."""
    original: Annotated[
        OriginalSpec | None,
        BeforeValidator(source_alone),
        Field(json_schema_extra=allow_source_alone),
    ] = None
    """The table that this one, a synthetic one, was made from."""
    holdout: Annotated[
        HoldoutSpec | None,
        BeforeValidator(source_alone),
        Field(json_schema_extra=allow_source_alone),
    ] = None
    """Records of the same population that the generator has not seen, for comparison."""
    policy: Policies = []
    """The rules of an institution, by identifier (kanon-sql policy lists them) or file; a threshold
    for cells becomes k-anonymity."""
    checks: Annotated[
        list[Check], AfterValidator(_with_policies), Field(validate_default=True)
    ] = []
    """The privacy models to check."""
    release: ReleaseSpec = ReleaseSpec()
    """Facts about the release for the sign-off report."""
    lineage: LineageSpec = LineageSpec()
    """The name of the table in lineage events."""

    def refuse_events(self, why: str) -> None:
        """Raise `SpecError` for an event table where classes are needed; `why` says so."""
        if self.events:
            coarser = option("levels", {next(iter(self.events)): 1})
            raise SpecError(
                f"{why}, and has no use for {option('events')}: audit the release, or audit "
                f"{coarser} to see what a coarser event gives."
            )

    def refuse_original(self, why: str) -> None:
        """Raise `SpecError` for a synthetic table where people are needed; `why` says so."""
        if self.original:
            raise SpecError(
                f"{why}, and the records of a synthetic table are nobody: leave out "
                f"{option('original')}, or audit the table beside it."
            )

    @property
    def figure_reading(self) -> dict[str, Any]:
        """How an engine reads the figures of a published table; a table of records has none."""
        return {}

    def others_of(self, kind: OtherTableKind) -> Iterator[tuple[str, Any]]:
        """The name and spec of each other table of a kind, as written."""
        for _, name, other in entries_of(self, [kind.key]):
            yield name or kind.prefix, other

    def other_tables(self) -> Iterator[tuple[OtherTableKind, str, OtherTableSpec]]:
        """The kind, name and spec of each other table."""
        for kind in OTHER_TABLES:
            for name, other in self.others_of(kind):
                is_holdout = isinstance(other, HoldoutSpec) and self.original
                yield kind, name, other.read_as(self.original) if is_holdout else other

    @property
    def sources(self) -> dict[str, Any]:
        """The other inputs as plain values: references, earlier releases, an original with its
        holdout, and the hierarchies of columns audited at a level."""
        inputs: dict[str, dict[str, Any]] = {}
        for kind, name, other in self.other_tables():
            described = other.model_dump(exclude={"source"}, exclude_defaults=True) | {
                "source": _source_label(other.source)
            }
            if kind.is_single:
                inputs[kind.key] = described
            else:
                inputs.setdefault(kind.key, {})[name] = described
        at_level = {
            *(name for name, level in self.levels.items() if level),
            *(name for _, _, other in self.other_tables() for name in other.levels),
        }
        inputs["hierarchies"] = {
            name: column.model_dump(exclude={"why"}, exclude_defaults=True)
            for name, column in self.column_hierarchies.items()
            if name in at_level
        }
        return {key: entry for key, entry in inputs.items() if entry}

    @property
    def column_hierarchies(self) -> dict[str, GeneralizationHierarchy]:
        """The generalisation hierarchy of each column that may have one."""
        return self.quasi_identifiers | self.events | self.sensitive_levels

    @model_validator(mode="before")
    @classmethod
    def _split_sensitive(cls, value: Any) -> Any:
        """The sensitive attributes may have levels beside an original."""
        return sensitive_at_levels(value)

    @model_validator(mode="after")
    def _require_original(self) -> Self:
        """Refuse what has no meaning beside an original, or without one."""
        if self.original is None:
            if self.holdout:
                raise ValueError(
                    "a holdout is compared with an original, the table that a synthetic one was "
                    f"made from: name it with {option('original', 'SRC')}."
                )
            return self
        settings = {
            "events": self.events,
            "weight": self.weight,
            "first": self.first,
            "nulls": self.nulls == "wildcard",
        }
        for key, is_set in settings.items():
            if is_set:
                shown = option(key, "wildcard") if key == "nulls" else option(key)
                raise ValueError(
                    f"{shown} can't be combined with {option('original')}: the records of a "
                    "synthetic table are compared as they are. Leave out one of the two."
                )
        at_both = {name.casefold() for name in self.levels if self.levels[name]}
        for name in self.original.levels:
            if name.casefold() in at_both:
                raise ValueError(
                    f'"{name}" is at a level in both {option("levels")} and '
                    f"{option('original.levels')}: the first acts on all tables, the second on "
                    "the original and the holdout alone. Give it one of the two."
                )
        return self

    @model_validator(mode="after")
    def _require_entity_of_events(self) -> Self:
        if not self.events:
            return self
        if not self.entity:
            raise ValueError(
                "events need an entity, the column that identifies the person: "
                f"{option('entity', 'COLUMN')}."
            )
        if self.weight or self.nulls == "wildcard":
            raise ValueError(
                f"events can't be combined with {'a weight' if self.weight else 'nulls: wildcard'}:"
                " people are counted, and NULL is a value. Leave out one of the two."
            )
        if not self.quasi_identifiers and self.household:
            raise ValueError(
                "household risk is read off classes, and there are no quasi-identifiers beside the "
                f"events: name them with {option('quasi_identifiers', 'COLUMN')}, or leave out "
                f"{option('household')}."
            )
        if not self.quasi_identifiers and (self.references or self.earlier_releases):
            other = "a reference" if self.references else "an earlier release"
            raise ValueError(
                f"{other} is compared by quasi-identifiers, and there are none beside the events: "
                f"name them with {option('quasi_identifiers', 'COLUMN')}, or leave it out."
            )
        for name, event in self.events.items():
            idle = next((k for k in ("keep", "at_most", "weight") if getattr(event, k)), None)
            if idle or event.at_most is not None:
                raise ValueError(
                    f"events.{name}: {idle or 'at_most'} is for a release, and events are only "
                    "audited. Leave it out."
                )
        return self

    @model_validator(mode="after")
    def _require_entity_of_release(self) -> Self:
        if self.entity_in_release != "keep" and not self.entity:
            raise ValueError(
                f"entity_in_release: {self.entity_in_release} needs an entity, the column that "
                f"identifies the person: {option('entity', 'COLUMN')}."
            )
        return self

    @model_validator(mode="after")
    def _require_one_role(self) -> Self:
        roles = ((column, role.phrase) for role, column in columns_by_role(self))
        of_roles = {role.key: getattr(self, role.key) for role in ROLES}
        lists = {key: names for key, names in of_roles.items() if isinstance(names, list)}
        if faults := [*faults_of_roles(roles, lists)]:
            raise ValueError("\n".join(faults))
        return self


def entries_of(
    table: TableSpec | PublishedSpec, keys: Iterable[str]
) -> Iterator[tuple[str, str, Any]]:
    """The entries of a table under these keys, each with its key and its name; a single one has
    none."""
    for key in keys:
        entries = getattr(table, key, None) or {}
        if isinstance(entries, SpecPart):
            yield key, "", entries
        elif isinstance(entries, Mapping):
            for name, entry in entries.items():
                yield key, name, entry


def _source_label(source: Any) -> str:
    """The name of a file or table; data are represented by their type."""
    return str(source) if isinstance(source, str | Path) else type(source).__name__
