"""The spec of an audit, without SQL, without a database.

A spec comes from a YAML file, from command-line options or from Python arguments; all three become
an `AuditSpec`. Invalid input is refused here with its location.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from kanon_sql.errors import (
    InputError,
    KanonError,
    Message,
    SpecError,
    described_value,
    did_you_mean,
    located,
    option,
    with_keys,
)
from kanon_sql.files import Decimal, file_kind, file_of_url
from kanon_sql.models.base import Bounds, Count, FirstRecords, Model
from kanon_sql.models.described import Fault, described_fault
from kanon_sql.models.values.models import TCloseness
from kanon_sql.question.hierarchy import KINDS_OF_LEVELS, GeneralizationHierarchy
from kanon_sql.question.other_tables import OTHER_TABLES, OtherTableKind
from kanon_sql.question.policy import Policies
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.question_parts import (
    HIERARCHY_PLACE,
    SPECS,
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
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.yaml_document import LISTS_OF_VALUES, Place, YamlDocument

Verb = TypeVar("Verb", bound=Callable[..., Any])
Nulls = Literal["value", "wildcard"]
SensitiveNulls = Literal["value", "unknown"]
Unassigned = Literal["warn", "drop", "error"]
EntityInRelease = Literal["keep", "renumber", "drop"]
TablesKey = Literal["tables", "published"]
"""The keys of a spec that list tables: those to audit, and those that are published."""


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

    def others_of(self, kind: OtherTableKind) -> Iterator[tuple[str, Any]]:
        """The name and spec of each other table of a kind, as written."""
        for _, name, other in _entries(self, [kind.key]):
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
    def _require_original(self) -> TableSpec:
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
    def _require_entity_of_events(self) -> TableSpec:
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
    def _require_entity_of_release(self) -> TableSpec:
        if self.entity_in_release != "keep" and not self.entity:
            raise ValueError(
                f"entity_in_release: {self.entity_in_release} needs an entity, the column that "
                f"identifies the person: {option('entity', 'COLUMN')}."
            )
        return self

    @model_validator(mode="after")
    def _require_one_role(self) -> TableSpec:
        roles = ((column, role.phrase) for role, column in columns_by_role(self))
        lists = {key: getattr(self, key) for key in ("sensitive", "identifiers", "undecided")}
        if faults := [*faults_of_roles(roles, lists)]:
            raise ValueError("\n".join(faults))
        return self


class Defaults(SpecPart, BaseModel):
    """Default settings for all tables."""

    connect: Annotated[str | None, Field(repr=False)] = None
    nulls: Nulls = "value"
    sensitive_nulls: SensitiveNulls = "value"
    null_strings: ColumnNames = []
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    decimal: Decimal = "."
    header: bool | None = None
    encoding: Encoding | None = None
    skip: Count | None = None
    dates: Written | None = None


@dataclass(frozen=True)
class TablePlaces:
    """The locations of a table and its checks in the spec file."""

    table: Place
    checks: tuple[Place, ...] = ()
    """In the order of the checks in a result: those with a threshold first."""


class AuditSpec(SpecPart, BaseModel):
    """The spec of an audit of one or several tables."""

    version: Annotated[int, Bounds("1", {"minimum": 1, "maximum": 1}, is_whole=True)] = 1
    defaults: Defaults = Defaults()
    tables: Annotated[list[TableSpec], Field(min_length=1)] = []
    published: Annotated[list[PublishedSpec], Field(min_length=1)] = []
    """The tables that are published, for `kanon-sql tables`."""

    _document: YamlDocument | None = PrivateAttr(default=None)
    _contract: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _require_distinct_names(self) -> AuditSpec:
        if not (self.tables or self.published):
            raise ValueError('the key "tables" is missing.')
        for key in get_args(TablesKey):
            names = [table.name for table in getattr(self, key)]
            for index, name in enumerate(names):
                if name is not None and name in names[:index]:
                    with located(key, index, "name"):
                        raise SpecError(f'two tables have the name "{name}".')
        return self

    def files(self, engine: Any = None) -> Iterator[str]:
        """All files that an audit may read, so that no output overwrites them; `engine` may name
        one."""
        if self._document is not None:
            yield str(self._document.path)
        if self._contract is not None:
            yield str(self._contract)
        tables: Sequence[TableSpec | PublishedSpec] = (*self.tables, *self.published)
        for connect in (engine, *(table.connect for table in tables)):
            if isinstance(connect, str) and (file := file_of_url(connect)):
                yield file
        for table in tables:
            sources = [
                table.source,
                *(other.source for _, _, other in _entries(table, SPECS)),
                *(entry.hierarchy for _, _, entry in _entries(table, _GENERALISED)),
                *(getattr(check, "hierarchy", None) for check in table.checks),
            ]
            yield from (str(source) for source in sources if isinstance(source, str | Path))

    def with_location(
        self, error: SpecError | InputError, table: int, key: TablesKey = "tables"
    ) -> SpecError | InputError:
        """The error, or each one of a list, with its location in the spec file; without a file,
        with the table's name if there are several. An error of the data has none but its own."""
        if isinstance(error, InputError) and not error.location:
            return error
        if self._document is None:
            tables: Sequence[TableSpec | PublishedSpec] = getattr(self, key)
            name = tables[table].name if len(tables) > 1 else None
            return type(error)(f"{name}: {error.marked}") if name else error
        document = self._document
        return type(error)(
            "\n".join(
                _in_file(document, (key, table, *part.location), part.marked)
                for part in getattr(error, "parts", ()) or (error,)
            )
        )

    @property
    def path(self) -> Path | None:
        """The spec file, if it was read from one."""
        return self._document.path if self._document else None

    @property
    def text(self) -> str | None:
        """The text of its file, without secrets and the values that checks name."""
        return self._document.text_without(LISTS_OF_VALUES) if self._document else None

    def places(self, key: TablesKey = "tables") -> tuple[TablePlaces, ...]:
        """The locations of the tables in the spec file; empty without a file."""
        document = self._document
        if document is None:
            return ()
        tables: Sequence[TableSpec | PublishedSpec] = getattr(self, key)
        return tuple(
            TablePlaces(
                document.place((key, index)),
                tuple(
                    document.place((key, index, "checks", number))
                    for number in sorted(
                        range(len(table.checks)), key=lambda number: not table.checks[number].gates
                    )
                ),
            )
            for index, table in enumerate(tables)
        )

    @model_validator(mode="before")
    @classmethod
    def _apply_defaults(cls, value: Any) -> Any:
        match value:
            case {"defaults": dict(defaults)}:
                of_cells = {
                    name: default
                    for name, default in defaults.items()
                    if name in PublishedSpec.model_fields
                }
                return value | {
                    key: [
                        inherited | table if isinstance(table, dict) else table
                        for table in value[key]
                    ]
                    for key, inherited in (("tables", defaults), ("published", of_cells))
                    if isinstance(value.get(key), list)
                }
        return value

    @classmethod
    def from_file(cls, path: str | Path) -> AuditSpec:
        """Read a spec from a YAML file; relative paths start at its folder.

        Raises `SpecError` with file, line and column for an invalid spec, and for a data contract,
        which `read_spec` reads too.
        """
        document = YamlDocument.read(Path(path))
        if document.is_contract:
            raise SpecError(
                f"{path} is a data contract: kanon_sql.read_spec({str(path)!r}) reads it."
            )
        try:
            spec = cls.model_validate(document.value, context={"folder": Path(path).parent})
        except ValidationError as error:
            faults = {
                document.place(fault[0]): _in_file(document, *fault)
                for fault in reversed(_faults(error))
            }
            raise SpecError("\n".join(text for _, text in sorted(faults.items()))) from None
        for place, source in _sources(spec):
            if not (isinstance(source, str) and source.strip()):
                message = f"must be a file, a glob or a table; found {described_value(source)}."
                raise SpecError(_in_file(document, place, message))
        folder = Path(path).parent
        located = spec.model_copy(
            update={
                key: [with_paths_in(table, folder) for table in getattr(spec, key)]
                for key in get_args(TablesKey)
            }
        )
        located._document = document
        return located


def _in_file(
    document: YamlDocument, location: Sequence[int | str], message: str, at_key: bool = False
) -> str:
    """A message with its location in a spec file, whose keys it names in place of parameters."""
    table = PublishedSpec if "published" in location[:1] else TableSpec
    sentence = with_keys(message, table.model_fields)
    for python, yaml in (("None", "null"), ("True", "true"), ("False", "false")):
        sentence = sentence.replace(f"; found {python}.", f"; found {yaml}.")
    return document.error(location, sentence, at_key=at_key).marked


def in_words_of_spec(verb: Verb) -> Verb:
    """Decorator of a function of a spec: its errors name the keys of the file, if there is one.

    Levels may be an option beside a spec, and are left as they are.
    """

    @functools.wraps(verb)
    def wrapper(spec: AuditSpec, *args: Any, **keywords: Any) -> Any:
        try:
            return verb(spec, *args, **keywords)
        except KanonError as error:
            if spec.path is not None:
                of_cells = PublishedSpec.model_fields if spec.published else {}
                keys = (TableSpec.model_fields | of_cells).keys() - {"levels"}
                error.args = (Message(with_keys(error.marked, keys)),)
            raise

    return cast(Verb, wrapper)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **AuditSpec.model_json_schema(),
        "title": "kanon-sql spec",
    }


@dataclass(frozen=True)
class SelectedTables:
    """The tables selected from a target or a dbt manifest, with notes for their reports."""

    spec: AuditSpec | None
    """None if there is nothing to audit; `reason` then says why."""
    reason: str = ""
    notes: tuple[tuple[str, ...], ...] = ()
    """For each table, further warnings."""
    places: tuple[TablePlaces, ...] = ()
    """The location of each table."""
    skipped: tuple[str, ...] = ()
    """One message for each table with roles that can't be audited."""


OneTable = TypeVar("OneTable", TableSpec, PublishedSpec)


def table_spec(**arguments: Any) -> TableSpec:
    """The spec of one table, from Python arguments or command-line options.

    Raises `SpecError` without a location in a file.
    """
    return _validated_spec(TableSpec, arguments)


def published_spec(**arguments: Any) -> PublishedSpec:
    """The spec of a published table, as `table_spec` has that of one to audit."""
    return _validated_spec(PublishedSpec, arguments)


def _validated_spec(kind: type[OneTable], arguments: Mapping[str, Any]) -> OneTable:
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        location, message, _ = _faults(error)[0]
        place = ".".join(str(step) for step in location if isinstance(step, str))
        raise SpecError(f"{place}: {message}" if place else message) from None


_SINGLE = tuple(kind.key for kind in OTHER_TABLES if kind.is_single)
"""The keys of the other tables of which there is one."""
_GENERALISED = ("quasi_identifiers", "events", "sensitive_levels", "hierarchies")
"""The keys of a table whose columns have hierarchies."""


def _entries(
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


def _sources(spec: AuditSpec) -> Iterator[tuple[Sequence[int | str], Any]]:
    """The source of each table and of each other table, with its location."""
    for key in get_args(TablesKey):
        for number, table in enumerate(getattr(spec, key)):
            yield (key, number, "source"), table.source
            for kind, name, other in _entries(table, SPECS):
                yield (key, number, kind, *([name] if name else []), "source"), other.source


def _source_in(source: str, connect: str | None, folder: Path) -> str:
    """A source with its relative path resolved against `folder`, unless it is a table."""
    is_table = connect is not None and not _is_file_in(source, connect, folder)
    # Path forgets the slash that names a folder of files.
    slash = "/" if source.endswith("/") else ""
    return source if is_table or "://" in source else f"{folder / source}{slash}"


def _connect_in(connect: str | None, folder: Path) -> str | None:
    if connect and (file := file_of_url(connect)):
        return f"{connect.partition(':')[0]}:{folder / file}"
    return connect


def _hierarchy_in(
    hierarchy: GeneralizationHierarchy, connect: str | None, folder: Path
) -> GeneralizationHierarchy:
    name = hierarchy.hierarchy
    if not isinstance(name, str):
        return hierarchy
    file = folder / name
    if connect and not file_kind(name) and not file.is_file():
        return hierarchy
    return hierarchy.model_copy(update={"hierarchy": str(file)})


def with_paths_in(table: OneTable, folder: Path) -> OneTable:
    """The table with relative paths resolved against `folder`."""
    moved: dict[str, Any] = {
        "source": _source_in(table.source, table.connect, folder),
        "connect": _connect_in(table.connect, folder),
    }
    for key, name, other in _entries(table, SPECS):
        source = _source_in(other.source, table.connect, folder)
        there = other.model_copy(update={"source": source})
        if name:
            moved.setdefault(key, {})[name] = there
        else:
            moved[key] = there
    for key, name, hierarchy in _entries(table, _GENERALISED):
        moved.setdefault(key, {})[name] = _hierarchy_in(hierarchy, table.connect, folder)
    if table.checks:
        moved["checks"] = [
            check.model_copy(update={"hierarchy": str(folder / check.hierarchy)})
            if isinstance(check, TCloseness) and check.hierarchy
            else check
            for check in table.checks
        ]
    return table.model_copy(update=moved)


def _is_file_in(source: str, connect: str, folder: Path) -> bool:
    """Whether a source is a file in this folder and the database can read files."""
    reads_files = connect.startswith(("duckdb:", "spark:"))
    return (
        reads_files and bool(file_kind(source)) and bool(glob(str(folder / source), recursive=True))
    )


def _source_label(source: Any) -> str:
    """The name of a file or table; data are represented by their type."""
    return str(source) if isinstance(source, str | Path) else type(source).__name__


def _faults(error: ValidationError) -> list[Fault]:
    """The location and message of each error, and whether the key itself is at fault. Unknown keys
    come first, and a key that is missing beside one is probably the same."""
    faults = error.errors(include_url=False)
    # The defaults are in every table, too.
    of_defaults = {fault["loc"][1:2] for fault in faults if fault["loc"][:1] == ("defaults",)}
    faults = [fault for fault in faults if fault["loc"][2:3] not in of_defaults - {()}]
    unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
    with_unknown_key = {fault["loc"][:-1] for fault in unknown}
    others = [
        fault
        for fault in faults
        if fault["type"] != "extra_forbidden"
        and not (fault["type"] == "missing" and fault["loc"][:-1] in with_unknown_key)
    ]
    return [_described(fault) for fault in (*unknown, *others)]


def _described(fault: Any) -> Fault:
    description = described_value(fault["input"])
    # The levels of sensitive attributes stand under these.
    as_written = ("sensitive" if step == "sensitive_levels" else step for step in fault["loc"])
    location = fault["loc"] = tuple(as_written)
    match fault["type"]:
        case "value_error":
            cause = fault["ctx"]["error"]
            if isinstance(cause, SpecError):
                of_check = cause.key and isinstance(fault["input"], dict)
                inside = (*fault["input"], cause.key) if of_check else cause.location
                fault["loc"] = (*location, *inside)
        case "greater_than_equal" if "levels" in location:
            return (
                location,
                f"must be the number of a level, 0 or more; found {description}.",
                False,
            )
        case "int_type" | "int_parsing" | "int_from_float" if "levels" in location:
            message = (
                f"must be the number of a level; found {description}. The hierarchy of a column "
                f"{HIERARCHY_PLACE}."
            )
            return location, message, False
        case "model_type" if _class_at(location) is GeneralizationHierarchy:
            message = (
                "must say how to generalise the column, as in {levels: [{mask: right}]} or "
                f"{{hierarchy: {location[-1]}.csv}}; found {description}."
            )
            return location, message, False
    above = _class_at(location[:-1])
    return described_fault(fault, _place(location[:-1]), lambda key: advice(key, above))


def _place(location: Sequence[int | str]) -> str:
    """The location as a phrase after a key's name: ` in tables[0].references.voters`."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return f" in {steps.lstrip('.')}" if steps else ""


def _class_at(location: Sequence[int | str]) -> type[BaseModel]:
    """The class of the mapping at `location`."""
    match [step for step in location if isinstance(step, str)]:
        case []:
            return AuditSpec
        case ["defaults"]:
            return Defaults
        case [_, key, _] if key in SPECS:
            return SPECS[key]
        case [_, key] if key in _SINGLE:
            return SPECS[key]
        case [_, "quasi_identifiers" | "events" | "sensitive" | "hierarchies", _]:
            return GeneralizationHierarchy
        case ["published", *_]:
            return PublishedSpec
        case _:
            return TableSpec


def advice(key: str, model: type[BaseModel]) -> str:
    """A closing sentence for an unknown key: where it belongs, or the most similar key."""
    if model is GeneralizationHierarchy:
        if key in KINDS_OF_LEVELS:
            return " Levels are a list, also of one, as in levels: [{mask: right}]."
    elif key in ("hierarchies", *GeneralizationHierarchy.model_fields):
        return f" The hierarchy of a column {HIERARCHY_PLACE}."
    elif model is AuditSpec and key in TableSpec.model_fields:
        defaults_hint = ", or once under defaults" if key in Defaults.model_fields else ""
        return f" It belongs to each table, next to its source{defaults_hint}."
    return did_you_mean(key, model.model_fields)


SHOWN = 20
"""Maximum number of classes listed with `show_values`."""
