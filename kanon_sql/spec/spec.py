"""The question: which table, which columns play which part, which checks. No SQL, no database.

A spec comes from a YAML file, from the command line's options or from Python; all three become
the same `AuditSpec`, and bad input is refused here with the place where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from kanon_sql.errors import SpecError, did_you_mean, found_instead
from kanon_sql.files import file_kind, file_of_url
from kanon_sql.spec.earlier_release import EarlierReleaseSpec
from kanon_sql.spec.hierarchy import KINDS_OF_LEVELS, GeneralizationHierarchy
from kanon_sql.spec.models.base import Count
from kanon_sql.spec.models.closeness import TCloseness
from kanon_sql.spec.question_parts import (
    BESIDE_A_COLUMN,
    Check,
    ColumnNames,
    ReferenceSpec,
    SpecPart,
    Words,
    first_repeated,
    generalisable,
    or_names_alone,
)
from kanon_sql.spec.yaml_document import Place, YamlDocument

Nulls = Literal["value", "wildcard"]
SensitiveNulls = Literal["value", "unknown"]
Unassigned = Literal["warn", "drop", "error"]


class ReleaseSpec(SpecPart, BaseModel):
    """What the report says of a release, in the words of who answers for it."""

    recipient: Words | None = None
    """Who receives it."""
    purpose: Words | None = None
    """What for."""
    model: Words | None = None
    """How it is released: to the public, under a contract, in a secure room."""
    review_by: Words | None = None
    """When it is to be looked at again, as in 2027-06-30."""


class TableSpec(SpecPart, BaseModel):
    """One table and what is asked of it."""

    source: Any = Field(repr=False)
    """A file, a glob or a table, or from Python the data itself, which no repr may show."""
    name: str | None = None
    """What the result calls the table; the file's or table's own name without it."""
    connect: Annotated[str | None, Field(repr=False)] = None
    """Where the table lies, as in duckdb:warehouse.duckdb or postgresql://…; a file without it."""
    quasi_identifiers: Annotated[
        dict[str, GeneralizationHierarchy],
        BeforeValidator(generalisable),
        Field(json_schema_extra=or_names_alone),
    ] = {}
    """What an attacker may know of a person. "*" is every column that has no other part; those
    that are named beside it may be generalised."""
    sensitive: ColumnNames = []
    """What must not become known of a person."""
    entity: str | None = None
    """The column that says which person a record is about; k then counts distinct people."""
    identifiers: ColumnNames = []
    """Columns that name a person outright and are never published."""
    insensitive: ColumnNames = []
    """Columns of which somebody decided that they tell nothing of a person; they are published as
    they are."""
    undecided: ColumnNames = []
    """Columns of which a person has yet to decide which part they play. While there are any,
    nothing is audited: a quasi-identifier that was missed makes a false "holds"."""
    unassigned: Unassigned = "warn"
    """What becomes in a release of columns that no part is given to: they are published with a
    warning, dropped, or refused."""
    where: str | None = None
    """Only the records for which this holds."""
    first: Count | None = None
    """Only the first so many records, in the order of the file."""
    nulls: Nulls = "value"
    """NULL in a quasi-identifier is a value of its own, or a wildcard that matches everything."""
    sensitive_nulls: SensitiveNulls = "value"
    """NULL in a sensitive attribute is a value of its own, or unknown."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Look at the table as it would be with these quasi-identifiers at these levels."""
    hierarchy_faults: Literal["error", "warn"] = "error"
    """Whether a hierarchy that is no clean tree is refused, or goes on with a warning."""
    with_other_sensitive: bool = False
    """Whether someone may know all sensitive attributes but the one that a check is about."""
    weight: str | None = None
    """The survey weight of a record: how many people of the population it stands for."""
    null_strings: ColumnNames = []
    """What else stands for NULL in a text file, beside the empty field; a release has the first."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """What separates the fields of a text file; found on its first line without it."""
    header: bool | None = None
    """Whether the first line of a text file names its columns; where it looks like a record, that
    must be said. Without names they are column_1, column_2 and so on."""
    references: dict[str, ReferenceSpec] = {}
    """Reidentification datasets by name."""
    earlier_releases: dict[str, EarlierReleaseSpec] = {}
    """Earlier releases of the same people by name, which someone may link with this one."""
    checks: list[Check] = []
    """The privacy models asked of the table."""
    release: ReleaseSpec = ReleaseSpec()
    """What the report says of the release."""

    @property
    def beside(self) -> tuple[ReferenceSpec | EarlierReleaseSpec, ...]:
        """What else holds people: the references and the earlier releases."""
        return (*self.references.values(), *self.earlier_releases.values())

    @property
    def sources(self) -> dict[str, Any]:
        """What is read beside the table, as plain values: each reference and earlier release, and
        the hierarchy of each column that is looked at a level."""
        references, earlier_releases = (
            {
                name: each.model_dump(exclude={"source"}, exclude_defaults=True)
                | {"source": _spoken_source(each.source)}
                for name, each in beside.items()
            }
            for beside in (self.references, self.earlier_releases)
        )
        at_level = {
            *(name for name, level in self.levels.items() if level),
            *(name for each in self.beside for name in each.levels),
        }
        hierarchies = {
            name: each.model_dump(exclude={"why"}, exclude_defaults=True)
            for name, each in self.quasi_identifiers.items()
            if name in at_level
        }
        found = {
            "references": references,
            "earlier_releases": earlier_releases,
            "hierarchies": hierarchies,
        }
        return {part: each for part, each in found.items() if each}

    @model_validator(mode="after")
    def _columns_play_one_part(self) -> TableSpec:
        seen: dict[str, str] = {}
        for part, column in self._parts():
            if seen.setdefault(column, part) != part:
                raise ValueError(
                    f'column "{column}" is both {seen[column]} and {part}; give it one role.'
                )
        for part, columns in (
            ("sensitive", self.sensitive),
            ("identifiers", self.identifiers),
            ("insensitive", self.insensitive),
            ("undecided", self.undecided),
        ):
            repeated = first_repeated(columns)
            if repeated is not None:
                raise ValueError(f'column "{repeated}" is named twice in {part}.')
        return self

    def _parts(self) -> Iterator[tuple[str, str]]:
        yield from (("a quasi-identifier", column) for column in self.quasi_identifiers)
        yield from (("sensitive", column) for column in self.sensitive)
        yield from (("an identifier", column) for column in self.identifiers)
        yield from (("insensitive", column) for column in self.insensitive)
        yield from (("undecided", column) for column in self.undecided)
        if self.entity:
            yield "the entity", self.entity
        if self.weight:
            yield "the weight", self.weight


class Defaults(SpecPart, BaseModel):
    """What holds for every table that does not say otherwise."""

    connect: Annotated[str | None, Field(repr=False)] = None
    nulls: Nulls = "value"
    sensitive_nulls: SensitiveNulls = "value"
    null_strings: ColumnNames = []
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    header: bool | None = None


@dataclass(frozen=True)
class TablePlaces:
    """Where a table and its checks are asked for."""

    table: Place
    checks: tuple[Place, ...] = ()
    """In the order in which a result has the checks that were asked: first those that gate."""


class AuditSpec(SpecPart, BaseModel):
    """Everything one audit asks, over one or several tables."""

    version: Literal[1] = 1
    defaults: Defaults = Defaults()
    tables: Annotated[list[TableSpec], Field(min_length=1)]

    _document: YamlDocument | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _names_differ(self) -> AuditSpec:
        repeated = first_repeated([table.name for table in self.tables if table.name])
        if repeated is not None:
            raise ValueError(f'two tables have the name "{repeated}".')
        return self

    def files(self, engine: Any = None) -> Iterator[str]:
        """Every file that an audit may read: it is never written. `engine` may name one too."""
        if self._document is not None:
            yield str(self._document.path)
        for connect in (engine, *(table.connect for table in self.tables)):
            if isinstance(connect, str) and (file := file_of_url(connect)):
                yield file
        for table in self.tables:
            sources = [table.source, *(each.source for each in table.beside)]
            sources += [each.hierarchy for each in table.quasi_identifiers.values()]
            sources += [getattr(check, "hierarchy", None) for check in table.checks]
            yield from (str(each) for each in sources if isinstance(each, str | Path))

    def pointed(self, error: SpecError, table: int) -> SpecError:
        """The error with the place in the file that the spec came from, if it came from one; else
        with the name of the table, where there are several."""
        if self._document is None:
            name = self.tables[table].name if len(self.tables) > 1 else None
            return SpecError(f"{name}: {error.marked}") if name else error
        return self._document.error(("tables", table, *error.location), error.marked)

    def places(self) -> tuple[TablePlaces, ...]:
        """Where each table is asked for, in the file that the spec came from, if it did."""
        document = self._document
        if document is None:
            return ()
        return tuple(
            TablePlaces(
                document.place(("tables", place)),
                tuple(
                    document.place(("tables", place, "checks", number))
                    for number in sorted(
                        range(len(table.checks)), key=lambda number: not table.checks[number].gates
                    )
                ),
            )
            for place, table in enumerate(self.tables)
        )

    @model_validator(mode="before")
    @classmethod
    def _apply_defaults(cls, value: Any) -> Any:
        match value:
            case {"defaults": dict(defaults), "tables": list(tables)}:
                return {
                    **value,
                    "tables": [
                        defaults | table if isinstance(table, dict) else table for table in tables
                    ],
                }
        return value

    @classmethod
    def from_file(cls, path: str | Path) -> AuditSpec:
        """The spec that a YAML file holds; relative files in it are looked for beside it.

        Raises `SpecError` with file, line and column for anything that is not a spec.
        """
        document = YamlDocument.read(Path(path))
        try:
            spec = cls.model_validate(document.value)
        except ValidationError as error:
            location, message, at_key = _first_fault(error)
            raise document.error(location, message, at_key=at_key) from None
        for place, source in _sources(spec):
            if not isinstance(source, str):
                message = f"must be a file, a glob or a table; found {found_instead(source)}."
                raise document.error(place, message)
        folder = Path(path).parent
        located = spec.model_copy(
            update={"tables": [_beside(table, folder) for table in spec.tables]}
        )
        located._document = document
        return located


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **AuditSpec.model_json_schema(),
        "title": "kanon-sql spec",
    }


@dataclass(frozen=True)
class SelectedTables:
    """The tables of a target or a manifest, with what a reader must know beside their audit."""

    spec: AuditSpec | None
    """None where nothing is to be audited; then `reason` says why."""
    reason: str = ""
    notes: tuple[tuple[str, ...], ...] = ()
    """Of each table, what belongs among its warnings."""
    places: tuple[TablePlaces, ...] = ()
    """Where each table is asked for."""
    skipped: tuple[str, ...] = ()
    """What has roles and can't be audited: a sentence each."""


def table_spec(**parts: Any) -> TableSpec:
    """The spec of one table, from Python or the command line.

    Raises `SpecError` worded for someone who wrote no file.
    """
    try:
        return TableSpec(**parts)
    except ValidationError as error:
        location, message, _ = _first_fault(error)
        place = ".".join(str(step) for step in location if isinstance(step, str))
        raise SpecError(f"{place}: {message}" if place else message) from None


def _sources(spec: AuditSpec) -> Iterator[tuple[Sequence[int | str], Any]]:
    """Every source of a spec with its place, references and earlier releases included."""
    for number, table in enumerate(spec.tables):
        yield ("tables", number, "source"), table.source
        for name, reference in table.references.items():
            yield ("tables", number, "references", name, "source"), reference.source
        for name, earlier in table.earlier_releases.items():
            yield ("tables", number, "earlier_releases", name, "source"), earlier.source


def _beside(table: TableSpec, folder: Path) -> TableSpec:
    """The same table with relative files taken from `folder`."""

    def resolved(source: str) -> str:
        is_there = table.connect is not None and not _is_file_beside(source, table.connect, folder)
        # Path forgets the slash that names a folder of files.
        slash = "/" if source.endswith("/") else ""
        return source if is_there else f"{folder / source}{slash}"

    connect = table.connect
    if connect and (file := file_of_url(connect)):
        connect = f"{connect.partition(':')[0]}:{folder / file}"
    references = {
        name: reference.model_copy(update={"source": resolved(reference.source)})
        for name, reference in table.references.items()
    }
    earlier_releases = {
        name: earlier.model_copy(update={"source": resolved(earlier.source)})
        for name, earlier in table.earlier_releases.items()
    }
    checks = [
        check.model_copy(update={"hierarchy": str(folder / check.hierarchy)})
        if isinstance(check, TCloseness) and check.hierarchy
        else check
        for check in table.checks
    ]

    def located(hierarchy: GeneralizationHierarchy) -> GeneralizationHierarchy:
        name = hierarchy.hierarchy
        if not isinstance(name, str):
            return hierarchy
        file = folder / name
        if table.connect and not file_kind(name) and not file.is_file():
            return hierarchy
        return hierarchy.model_copy(update={"hierarchy": str(file)})

    quasi_identifiers = {
        name: located(hierarchy) for name, hierarchy in table.quasi_identifiers.items()
    }
    return table.model_copy(
        update={
            "source": resolved(table.source),
            "quasi_identifiers": quasi_identifiers,
            "connect": connect,
            "references": references,
            "earlier_releases": earlier_releases,
            "checks": checks,
        }
    )


def _is_file_beside(source: str, connect: str, folder: Path) -> bool:
    """Whether a source is a file in this folder, and the database one that reads files too."""
    reads_files = connect.startswith(("duckdb:", "spark:"))
    return (
        reads_files and bool(file_kind(source)) and bool(glob(str(folder / source), recursive=True))
    )


def _spoken_source(source: Any) -> str:
    """A file or table by its name, data by their kind: they are never shown."""
    return str(source) if isinstance(source, str | Path) else type(source).__name__


def _first_fault(error: ValidationError) -> tuple[Sequence[int | str], str, bool]:
    """Where the first fault lies, one sentence for it, and whether it is the key that is wrong."""
    faults = error.errors(include_url=False)
    fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    found = found_instead(fault["input"])
    location = fault["loc"]
    match fault["type"]:
        case "extra_forbidden":
            key, place = str(location[-1]), _place(location[:-1])
            instead = advice(key, _part_at(location[:-1]))
            return location, f'unknown key "{key}"{place}.{instead}', True
        case "missing":
            return (
                location[:-1],
                f'the key "{location[-1]}" is missing{_place(location[:-1])}.',
                False,
            )
        case "value_error":
            cause = fault["ctx"]["error"]
            if isinstance(cause, SpecError) and cause.key and isinstance(fault["input"], dict):
                location = (*location, *fault["input"], cause.key)
            return location, str(cause), False
        case "literal_error":
            return location, f"must be {fault['ctx']['expected']}; found {found}.", False
        case "bool_parsing" | "bool_type":
            return location, f"must be yes or no; found {found}.", False
        case "too_short" | "string_too_short":
            return location, "must not be empty.", False
        case "string_too_long":
            return location, f"must be one character; found {found}.", False
        case "int_type" if "levels" in location:
            message = (
                f"must be the number of a level; found {found}. The hierarchy of a column "
                f"{BESIDE_A_COLUMN}."
            )
            return location, message, False
        case "model_type" if _part_at(location) is GeneralizationHierarchy:
            message = (
                "must say how to generalise the column, as in {levels: [{mask: right}]} or "
                f"{{hierarchy: {location[-1]}.csv}}; found {found}."
            )
            return location, message, False
        case _:
            wanted = next((words for kind, words in _KINDS.items() if kind in fault["type"]), None)
            wanted = wanted or fault["msg"].removeprefix("Input should be ")
            return location, f"must be {wanted}; found {found}.", False


_KINDS = {
    "invalid_key": "written with names for keys",
    "model": "a mapping of keys to values",
    "dict": "a mapping of keys to values",
    "list": "a list",
    "string": "text",
}
"""What pydantic calls a kind of value, and what people do."""


def _place(location: Sequence[int | str]) -> str:
    """The place in words that fit after a key's name: ` in tables[0].references.voters`."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return f" in {steps.lstrip('.')}" if steps else ""


def _part_at(location: Sequence[int | str]) -> type[BaseModel]:
    """What the mapping at `location` is."""
    match [step for step in location if isinstance(step, str)]:
        case []:
            return AuditSpec
        case ["defaults"]:
            return Defaults
        case [_, "references", _]:
            return ReferenceSpec
        case [_, "earlier_releases", _]:
            return EarlierReleaseSpec
        case [_, "quasi_identifiers", _]:
            return GeneralizationHierarchy
        case _:
            return TableSpec


def advice(key: str, part: type[BaseModel]) -> str:
    """Where a key belongs that a mapping does not know, or the nearest that it does."""
    if part is GeneralizationHierarchy:
        if key in KINDS_OF_LEVELS:
            return " Levels are a list, also of one, as in levels: [{mask: right}]."
    elif key in ("hierarchies", *GeneralizationHierarchy.model_fields):
        return f" The hierarchy of a column {BESIDE_A_COLUMN}."
    elif part is AuditSpec and key in TableSpec.model_fields:
        or_once = ", or once under defaults" if key in Defaults.model_fields else ""
        return f" It belongs to each table, next to its source{or_once}."
    return did_you_mean(key, part.model_fields)


SHOWN = 20
"""How many classes are shown at most where values may be shown."""
