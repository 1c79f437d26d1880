"""Data contracts by the Open Data Contract Standard (ODCS) v3, read as a spec.

A column's role is in its custom property `kanonSql`, with the keys that a dbt project has in
`config.meta.kanon_sql`; a table's checks are in that of the schema object, or are its `custom`
quality rules of engine kanon-sql. A `sql` rule is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kanon_sql.errors import Faults, SpecError, did_you_mean, in_one, option, with_keys
from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import model_named
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.question.dbt.manifest import (
    declared_checks,
    is_same_check,
    settings_by_role,
    settings_of_other,
    with_defaults,
)
from kanon_sql.question.dbt.node import MARKS, Node, is_spelled_as, refuse_unknown
from kanon_sql.question.other_tables import EARLIER, HOLDOUT, ORIGINAL, REFERENCE
from kanon_sql.question.spec import (
    AuditSpec,
    SelectedTables,
    TablePlaces,
    table_spec,
    with_paths_in,
)
from kanon_sql.question.table import TableSpec
from kanon_sql.question.yaml_document import YamlDocument, as_yaml

PROPERTY = "kanonSql"
"""The custom property that holds the settings of kanon-sql."""
ENGINE = "kanon-sql"
"""The engine of a custom rule that is a check of kanon-sql."""
OF_CONTRACTS = (
    REFERENCE.key, EARLIER.key, "levels", "first", "null_strings", "delimiter", "header",
    "hierarchy_faults", ORIGINAL.key, HOLDOUT.key,
)  # fmt: skip
"""The settings of a table that a contract has beyond those of a dbt project."""
_FILES = {"local": "path", "s3": "location", "gcs": "location", "azure": "location"}
"""The types of servers that hold files, with the key of their path."""
SERVERS = {
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "mysql": "mysql",
    "clickhouse": "clickhouse",
}
"""The types of servers that have a host and a database, with the scheme of their URL."""


@suggests_parameters
def read_spec(path: str | Path, server: str | None = None) -> AuditSpec:
    """The spec in a YAML file: its own, or that of a data contract; relative paths start at its
    folder.

    `server` names the server of a contract that has several. Raises `SpecError` with file, line and
    column for an invalid spec, and for a server of anything but a contract.
    """
    if YamlDocument.read(Path(path)).is_contract:
        of_contract = read_contract(Path(path), server=server).spec
        assert of_contract is not None
        return of_contract
    if server is not None:
        raise SpecError(f"{path} is no data contract, and has no server {server}.")
    return AuditSpec.from_file(path)


def read_contract(
    path: Path,
    *,
    select: Iterable[str] = (),
    server: str | None = None,
    connect: str | None = None,
) -> SelectedTables:
    """The selected tables of a contract that have roles; all of them without `select`.

    They lie at `server`, which may be left out if there is one, or behind `connect`. Raises
    `SpecError` for a contract that can't be read, and for incomplete or invalid roles and checks.
    """
    contract = Contract.read(path)
    chosen = contract.selected(list(select))
    place = contract.server(server) if connect is None else None
    tables, notes = [], []
    with Faults() as faults:
        for entry in chosen:
            with faults.collected():
                refuse_unknown(entry.node, OF_CONTRACTS)
                table = contract.table(entry, place, connect)
                tables.append(with_paths_in(table, path.parent))
                notes.append(tuple(entry.node.personal_columns_exposed()))
    spec = AuditSpec(tables=tables)
    spec._contract = path
    places = tuple(
        TablePlaces(contract.document.place(("schema", entry.index))) for entry in chosen
    )
    return SelectedTables(spec, notes=tuple(notes), places=places)


@dataclass(frozen=True)
class SchemaObject:
    """A table of a contract, with its settings as those of a dbt node."""

    index: int
    """Its number in the contract."""
    node: Node
    physical_name: str
    rule_checks: tuple[Model, ...]
    """The checks of its custom rules."""


@dataclass(frozen=True)
class Contract:
    """A data contract: its document and its tables."""

    document: YamlDocument
    objects: tuple[SchemaObject, ...]

    @classmethod
    def read(cls, path: Path) -> Contract:
        """Read a contract. Raises `SpecError` with the place of a fault."""
        document = YamlDocument.read(path)
        version = document.value.get("apiVersion")
        if not re.fullmatch(r"v3(\.[0-9]+)*", str(version)):
            raise document.error(
                ("apiVersion",),
                f"the contract is of apiVersion {version}, and kanon-sql reads v3.*.",
            )
        declared = document.value.get("schema")
        if not isinstance(declared, list) or not all(_is_named(item) for item in declared):
            raise document.error(("schema",), "schema must be a list of objects with a name.")
        _refuse_repeated_names(document, ("schema",), declared)
        for key in ("customProperties", "quality"):
            if _holds_settings(document.value.get(key)):
                raise document.error(
                    (key,),
                    "settings and rules of kanon-sql are read at a schema object and at its "
                    "columns alone. Move them there.",
                )
        objects = tuple(
            _schema_object(document, index, item) for index, item in enumerate(declared)
        )
        return cls(document, objects)

    def selected(self, names: Sequence[str]) -> list[SchemaObject]:
        """The tables with roles of these names, or all. Raises `SpecError` if there are none."""
        annotated = [
            entry for entry in self.objects if entry.node.is_annotated or entry.rule_checks
        ]
        if not any(
            settings.get("role") for entry in annotated for settings in entry.node.columns.values()
        ):
            raise self.document.error(
                ("schema",),
                f"no column has a role in its customProperties: {PROPERTY}, so nothing can be "
                "audited. Give one to each column that someone could know of a person.",
            )
        known = [entry.node.name for entry in annotated]
        unknown = [
            SpecError(
                f"{option('select', name)}: {self.document.path} has no such table with "
                f"roles.{did_you_mean(name, known)}"
            )
            for name in names
            if name not in known
        ]
        if unknown:
            raise in_one(unknown)
        return [entry for entry in annotated if not names or entry.node.name in names]

    def server(self, name: str | None) -> Mapping[str, Any] | None:
        """The server of this name, or the only one. Raises `SpecError`."""
        listed = self.document.value.get("servers") or []
        servers = {str(entry.get("server")): entry for entry in listed if isinstance(entry, dict)}
        if name is None and len(servers) == 1:
            return next(iter(servers.values()))
        if name in servers:
            return servers[name]
        names = ", ".join(servers) or "none"
        reason = (
            f"there is no server {name}. Servers: {names}.{did_you_mean(name, servers)}"
            if name is not None
            else f"name the server of the tables, {option('server', 'NAME')}. Servers: {names}."
        )
        raise self.document.error(("servers",), reason)

    def table(
        self, entry: SchemaObject, server: Mapping[str, Any] | None, connect: str | None
    ) -> TableSpec:
        """The spec of a table. Raises `SpecError` for missing or invalid roles and checks."""
        node = entry.node
        advice = "Give it to each column that someone could know of a person."
        settings = {
            "name": node.name,
            **settings_by_role(node, advice),
            **self._location(entry, server, connect),
            REFERENCE.key: self._references(node, server, connect),
        }
        setting_keys = (
            "where",
            "nulls",
            "sensitive_nulls",
            "with_other_sensitive",
            *OF_CONTRACTS[1:],
        )
        settings |= {key: node.meta[key] for key in setting_keys if key in node.meta}
        if EARLIER.key in settings:
            settings[EARLIER.key] = self._others(node, EARLIER.key, server, connect)
        for kind in (ORIGINAL, HOLDOUT):
            if kind.key in settings:
                settings[kind.key] = self._single(settings[kind.key], server, connect)
        try:
            of_table = table_spec(**settings, checks=declared_checks(node, settings["sensitive"]))
            more = list(_additional_checks(entry, of_table))
            return table_spec(**settings, checks=[*of_table.checks, *more])
        except SpecError as error:
            raise node.fail(with_keys(error.marked, TableSpec.model_fields)) from None

    def _location(
        self, entry: SchemaObject, server: Mapping[str, Any] | None, connect: str | None
    ) -> dict[str, Any]:
        """The source of a table, with its connection or its delimiter."""
        if server is None:
            return {"source": entry.physical_name, "connect": connect}
        kind = server.get("type")
        if kind in _FILES and isinstance(path := server.get(_FILES[kind]), str):
            place = {"source": path.replace("{model}", entry.node.name)}
            delimiter = server.get("delimiter")
            return place | ({"delimiter": delimiter} if delimiter else {})
        if (connection := _connection(server)) is not None:
            schema = server.get("schema")
            source = f"{schema}.{entry.physical_name}" if schema else entry.physical_name
            return {"source": source, "connect": connection}
        raise self.document.error(
            ("servers",),
            f"the server {server.get('server')} is of type {kind}: name its connection, "
            f"{option('connect', 'URL')}.",
        )

    def _references(
        self, node: Node, server: Mapping[str, Any] | None, connect: str | None
    ) -> dict[str, Any]:
        """The references of a table, the one of the short keys among them."""
        references = self._others(node, REFERENCE.key, server, connect)
        settings = settings_of_other(node, REFERENCE)
        name = node.meta.get("reference")
        if name is None or name in references:
            if settings:
                raise node.fail("reference_… describes a reference, and there is no reference.")
            return references
        target = self._named(str(name))
        if target is None:
            names = [entry.node.name for entry in self.objects]
            raise node.fail(
                f'there is no schema object "{name}" for its reference.'
                f"{did_you_mean(str(name), names)}"
            )
        source = self._location(target, server, connect)["source"]
        return {**references, str(name): {"source": source, **settings}}

    def _others(
        self, node: Node, key: str, server: Mapping[str, Any] | None, connect: str | None
    ) -> dict[str, Any]:
        """References or earlier releases; a source may be another table of the contract."""
        others = node.meta.get(key) or {}
        if not isinstance(others, dict) or not all(isinstance(e, dict) for e in others.values()):
            raise node.fail(f"{key} must say where each one is, as in {{voters: {{source: …}}}}.")
        located_others = {}
        for name, other in others.items():
            target = self._named(other.get("source", name))
            source = {"source": self._location(target, server, connect)["source"]} if target else {}
            located_others[name] = {**other, **source}
        return located_others

    def _single(
        self, other: Any, server: Mapping[str, Any] | None, connect: str | None
    ) -> dict[str, Any]:
        """An original or a holdout; its source may be another table of the contract."""
        described = dict(other) if isinstance(other, dict) else {"source": other}
        target = self._named(described.get("source"))
        source = {"source": self._location(target, server, connect)["source"]} if target else {}
        return described | source

    def _named(self, name: Any) -> SchemaObject | None:
        return next((entry for entry in self.objects if entry.node.name == name), None)


def _connection(server: Mapping[str, Any]) -> str | None:
    """The URL of a database, which has no user: the driver takes its own from the environment."""
    kind, database, host = (server.get(key) for key in ("type", "database", "host"))
    if kind == "duckdb" and isinstance(database, str):
        return f"duckdb:{database}"
    if kind in SERVERS and isinstance(database, str) and isinstance(host, str):
        port = f":{server['port']}" if server.get("port") else ""
        return f"{SERVERS[kind]}://{host}{port}/{quote(database, safe='')}"
    return None


def _additional_checks(entry: SchemaObject, table: TableSpec) -> Iterator[Model]:
    """The checks that custom rules add to those of the table's settings.

    Raises `SpecError` for a check that both declare with different parameters.
    """
    additional: list[Model] = []
    for rule in entry.rule_checks:
        declared_alike = [
            declared for declared in table.checks if is_same_check(declared, rule, table)
        ]
        parameters = with_defaults(rule, table)
        if declared_alike and parameters not in [
            with_defaults(declared, table) for declared in declared_alike
        ]:
            raise SpecError(
                f"{rule.name()} is demanded by {PROPERTY} and by a custom rule, and they differ. "
                "Keep one of them."
            )
        if not declared_alike and rule not in additional:
            additional.append(rule)
    yield from additional


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and bool(value["name"])


def _holds_settings(value: Any) -> bool:
    """Whether a value of a contract holds settings or rules of kanon-sql, at any depth."""
    if isinstance(value, list):
        return any(_holds_settings(item) for item in value)
    if not isinstance(value, dict):
        return False
    return (
        is_spelled_as(value.get("property"), PROPERTY)
        or is_spelled_as(value.get("engine"), ENGINE)
        or any(_holds_settings(item) for item in value.values())
    )


def _refuse_repeated_names(
    document: YamlDocument, location: tuple[int | str, ...], items: Sequence[Mapping[str, Any]]
) -> None:
    """Raise `SpecError` for a name that is declared twice, as one of its settings would be lost."""
    names: set[str] = set()
    for index, item in enumerate(items):
        if item["name"] in names:
            raise document.error(
                (*location, index), f'"{item["name"]}" is declared twice. Declare it once.'
            )
        names.add(item["name"])


def _list_of(
    document: YamlDocument, location: tuple[int | str, ...], entry: Mapping[str, Any], key: str
) -> list[Any]:
    """A list of a contract, empty if it is not there. Raises `SpecError` for anything else."""
    listed = entry.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list):
        example = {
            "customProperties": f"[{{property: {PROPERTY}, value: {{…}}}}]",
            "quality": f"[{{type: custom, engine: {ENGINE}, implementation: {{…}}}}]",
        }[key]
        raise document.error((*location, key), f"{key} must be a list, as in {example}.")
    return listed


def _schema_object(
    document: YamlDocument, index: int, schema_object: Mapping[str, Any]
) -> SchemaObject:
    name = schema_object["name"]
    location: tuple[int | str, ...] = ("schema", index)
    properties = schema_object.get("properties") or []
    if not isinstance(properties, list) or not all(_is_named(column) for column in properties):
        raise document.error(
            (*location, "properties"), "properties must be a list of columns with a name."
        )
    _refuse_repeated_names(document, (*location, "properties"), properties)
    columns, checks = {}, list(_rule_checks(document, location, schema_object, None))
    for number, column in enumerate(properties):
        column_location = (*location, "properties", number)
        if _holds_settings([column.get("properties"), column.get("items")]):
            raise document.error(
                column_location,
                "a part of a column can't have a role or a rule. Give it to the column.",
            )
        if settings := _settings(document, column_location, column):
            columns[str(column["name"])] = settings
        checks += _rule_checks(document, column_location, column, str(column["name"]))
    physical = schema_object.get("physicalName")
    node = Node(
        name=name,
        unique_id=name,
        kind="table",
        relation=name,
        location=str(document.path),
        is_described=True,
        original=str(document.path),
        meta=_settings(document, location, schema_object),
        columns=columns,
        personal=tuple(str(column["name"]) for column in properties if _is_personal(column)),
        key=PROPERTY,
        home="the contract",
    )
    return SchemaObject(index, node, physical if isinstance(physical, str) else name, tuple(checks))


def _settings(
    document: YamlDocument, location: tuple[int | str, ...], entry: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The value of the custom property `kanonSql`. Raises `SpecError` unless it is a mapping."""
    custom = [
        item
        for item in _list_of(document, location, entry, "customProperties")
        if isinstance(item, dict) and is_spelled_as(item.get("property"), PROPERTY)
    ]
    values: list[Any] = [entry.get("value") for entry in custom]
    for item in custom:
        if item["property"] != PROPERTY:
            raise document.error(
                (*location, "customProperties"),
                f"the property {item['property']} is spelled {PROPERTY}.",
            )
    if len(values) > 1 or not all(isinstance(value, dict) for value in values):
        raise document.error(
            (*location, "customProperties"),
            f"{PROPERTY} must be one property whose value is a mapping, as in "
            "{role: quasi_identifier}.",
        )
    settings: Mapping[str, Any] = values[0] if values else {}
    return settings


def _rule_checks(
    document: YamlDocument,
    location: tuple[int | str, ...],
    entry: Mapping[str, Any],
    column: str | None,
) -> Iterator[Model]:
    """The checks of the custom rules of this engine; a column's are on its sensitive values."""
    for index, rule in enumerate(_list_of(document, location, entry, "quality")):
        if not isinstance(rule, dict) or not is_spelled_as(rule.get("engine"), ENGINE):
            continue
        if rule["engine"] != ENGINE:
            raise document.error(
                (*location, "quality", index), f"the engine {rule['engine']} is spelled {ENGINE}."
            )
        rule_location = (*location, "quality", index, "implementation")
        implementation = rule.get("implementation")
        if not isinstance(implementation, dict) or not isinstance(implementation.get("model"), str):
            raise document.error(
                rule_location, "implementation must name a model, as in {model: k_anonymity, k: 5}."
            )
        parameters = {key: value for key, value in implementation.items() if key != "model"}
        try:
            model = model_named(implementation["model"])
            if column is not None and "sensitive" in model.model_fields:
                parameters = {"sensitive": column} | parameters
            yield model(**parameters)
        except SpecError as error:
            raise document.error(rule_location, error.marked) from None


def _is_personal(column: Mapping[str, Any]) -> bool:
    """Whether the contract says that a column is personal, or not public."""
    classification = column.get("classification")
    tags = column.get("tags")
    marked = {str(tag).lower() for tag in (tags if isinstance(tags, list) else [])}
    is_public = classification is None or str(classification).lower() == "public"
    return bool(MARKS & marked) or not is_public


# --- writing rules --------------------------------------------------------------------------

RULE_ID_PREFIX = "kanon_sql_"
"""Prefix of the ids of the rules that kanon-sql writes; it replaces no other rule."""
_PLACEHOLDER = re.compile(r"\$\{|\{\w+\}")


def refuse_placeholders(text: str) -> None:
    """Raise `SpecError` for a placeholder, which a reader of contracts would replace in a query."""
    if placeholder := _PLACEHOLDER.search(text):
        raise SpecError(
            f"a name or a value in the SQL holds {placeholder[0]}, which readers of contracts "
            "replace. Rename it, or leave its check out of the contract."
        )


def with_rules(
    path: Path,
    rules: Mapping[str, Sequence[Mapping[str, Any]]],
    required_tables: Iterable[str] = (),
) -> str:
    """The text of a contract with these rules of its tables in place of those written before.

    Every other line stays. Raises `SpecError` if the contract lacks a table of the rules or of
    `required_tables`, and for rules in flow style or with anchors, which can't be replaced by line.
    """
    contract = Contract.read(path)
    names = [entry.node.name for entry in contract.objects]
    for name in (*rules, *required_tables):
        if name not in names:
            raise SpecError(
                f"{path} has no schema object {name}, which the rules need. Objects: "
                f"{', '.join(names)}.{did_you_mean(name, names)}"
            )
    with path.open(encoding="utf-8", newline="") as file:
        lines = file.read().splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
    # From the last table to the first, so that the numbers of the lines before stay.
    for entry in reversed(contract.objects):
        if entry.node.name in rules:
            _replace(contract.document, lines, entry.index, rules[entry.node.name], end)
    return "".join(lines)


def _replace(
    document: YamlDocument,
    lines: list[str],
    index: int,
    rules: Sequence[Mapping[str, Any]],
    end: str,
) -> None:
    """Replace the rules of one table within the lines of the file."""
    location = ("schema", index, "quality")
    items = document.items(location)
    if items is None:
        column, last = document.mapping_lines(("schema", index))
        block = [f"{' ' * column}quality:{end}", *_yaml_lines(rules, column + 2, end)]
        lines[last:last] = block if rules else []
        return
    old_rules = document.value["schema"][index]["quality"]
    is_foreign = [
        not (isinstance(rule, dict) and str(rule.get("id", "")).startswith(RULE_ID_PREFIX))
        for rule in old_rules
    ]
    insertion_line = max(
        (items.ends[n] for n, foreign in enumerate(is_foreign) if foreign), default=items.starts[0]
    )
    new_lines = _yaml_lines(rules, items.column, end)
    if not rules and not any(is_foreign):
        raise document.error(location, "no rule would be left. Remove quality by hand.")
    lines[insertion_line:insertion_line] = new_lines
    for number in reversed(range(len(is_foreign))):
        if not is_foreign[number]:
            begins, ends = items.starts[number], items.ends[number]
            shift = len(new_lines) if begins >= insertion_line else 0
            del lines[begins + shift : ends + shift]


def _yaml_lines(rules: Sequence[Mapping[str, Any]], column: int, end: str) -> list[str]:
    text = as_yaml([dict(rule) for rule in rules], in_lines=True)
    return [f"{' ' * column}{line}{end}" if line else end for line in text.splitlines()]
