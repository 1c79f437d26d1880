"""The spec of an audit, without SQL, without a database.

A spec comes from a YAML file, from command-line options or from Python arguments; all three become
an `AuditSpec`. Invalid input is refused here with its location.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, cast, get_args

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, model_validator

from kanon_sql.errors import (
    InputError,
    KanonError,
    Message,
    SpecError,
    described_value,
    did_you_mean,
    in_one,
    located,
    with_keys,
)
from kanon_sql.files import Decimal, file_kind, file_of_url
from kanon_sql.models.base import Bounds, Count
from kanon_sql.models.described import Fault, described_fault
from kanon_sql.question.hierarchy import KINDS_OF_LEVELS, GeneralizationHierarchy
from kanon_sql.question.other_tables import OTHER_TABLES
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.question_parts import (
    HIERARCHY_PLACE,
    SPECS,
    ColumnNames,
    Encoding,
    SpecPart,
    Written,
)
from kanon_sql.question.roles import ROLES
from kanon_sql.question.table import Nulls, SensitiveNulls, TableSpec, entries_of
from kanon_sql.question.yaml_document import LISTS_OF_VALUES, Place, YamlDocument

Verb = TypeVar("Verb", bound=Callable[..., Any])
TablesKey = Literal["tables", "published"]
"""The keys of a spec that list tables: those to audit, and those that are published."""


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


class TablePlaces(NamedTuple):
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
    def _require_distinct_names(self) -> Self:
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
                *(other.source for _, _, other in entries_of(table, SPECS)),
                *(entry.hierarchy for _, _, entry in entries_of(table, _GENERALISED)),
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
    def from_file(cls, path: str | Path) -> Self:
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


class SelectedTables(NamedTuple):
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
        messages: dict[Any, str] = {}
        for location, message, _ in _faults(error):
            place = ".".join(str(step) for step in location if isinstance(step, str))
            messages.setdefault(location, f"{place}: {message}" if place else message)
        raise in_one(map(SpecError, messages.values())) from None


_SINGLE = tuple(kind.key for kind in OTHER_TABLES if kind.is_single)
"""The keys of the other tables of which there is one."""
_GENERALISED = (
    *(role.key for role in ROLES if role.is_generalisable),
    *("sensitive_levels", "hierarchies"),
)
"""The keys of a table whose columns have hierarchies."""


def _sources(spec: AuditSpec) -> Iterator[tuple[Sequence[int | str], Any]]:
    """The source of each table and of each other table, with its location."""
    for key in get_args(TablesKey):
        for number, table in enumerate(getattr(spec, key)):
            yield (key, number, "source"), table.source
            for kind, name, other in entries_of(table, SPECS):
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
    for key, name, other in entries_of(table, SPECS):
        source = _source_in(other.source, table.connect, folder)
        there = other.model_copy(update={"source": source})
        if name:
            moved.setdefault(key, {})[name] = there
        else:
            moved[key] = there
    for key, name, hierarchy in entries_of(table, _GENERALISED):
        moved.setdefault(key, {})[name] = _hierarchy_in(hierarchy, table.connect, folder)
    if table.checks:
        moved["checks"] = [
            check.model_copy(update={"hierarchy": str(folder / hierarchy)})
            if (hierarchy := getattr(check, "hierarchy", None))
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
    return [_described(part) for fault in (*unknown, *others) for part in _parts(fault)]


def _parts(fault: Any) -> Iterator[Any]:
    """A fault, or each one of which its error is the list."""
    cause = fault.get("ctx", {}).get("error")
    parts = [part for part in getattr(cause, "parts", ()) if part.key or part.location]
    yield from ({**fault, "ctx": {"error": part}} for part in parts or ())
    if not parts:
        yield fault


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
        case "list_type" if location[-1] == "clip":
            message = (
                f"must be the lowest and the highest value, as in [10, 90]; found {description}."
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
        case [_, key, _] if key in (*_GENERALISED, "sensitive"):
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
    elif model is TableSpec and key in ("k", "l", "t"):
        return " A threshold belongs to its check, as in checks: [{k_anonymity: {k: 5}}]."
    return did_you_mean(key, model.model_fields)


SHOWN = 20
"""Maximum number of classes listed with `show_values`."""
