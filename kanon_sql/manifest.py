"""The tables of a dbt project that say of themselves what is private, as its manifest has them.

A column's part stands in its `config.meta.kanon_sql.role`, what is demanded of the table in the
model's own `config.meta.kanon_sql`. Both are taken from there and nowhere else: dbt replaces a
`meta` by another without a word, and an audit that went on with what is left would ask too little.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import InputError, SpecError, did_you_mean
from kanon_sql.result import AuditResult
from kanon_sql.spec import AuditSpec, TablePlaces, TableSpec, table_spec
from kanon_sql.yaml_document import Place, YamlDocument

Role = Literal["quasi_identifier", "sensitive", "identifier", "entity", "weight", "insensitive"]

ROLES: tuple[Role, ...] = (
    "quasi_identifier", "sensitive", "identifier", "entity", "weight", "insensitive",
)  # fmt: skip
_DEMANDS = ("k", "l", "t", "k_map", "checks")
_KEYS = (
    *_DEMANDS, "reference", "reference_columns", "reference_entity", "reference_where",
    "reference_weight", "entity", "where", "nulls", "sensitive_nulls", "with_other_sensitive",
)  # fmt: skip
_OF_A_COLUMN = ("role", "hierarchy", "levels", "clip")
_OF_A_QUASI_IDENTIFIER = _OF_A_COLUMN[1:]
_MARKS = {"pii", "personal", "personal_data"}


@dataclass(frozen=True)
class Selected:
    """The tables to audit, with what a reader must know of each beside its audit, by its name."""

    spec: AuditSpec | None
    """None where nothing was selected."""
    notes: Mapping[str, tuple[str, ...]]
    places: tuple[TablePlaces, ...] = ()
    """Where the project describes each table."""

    def noted(self, result: AuditResult) -> AuditResult:
        """The audit of these tables, with what a reader must know besides among its warnings."""
        tables = (
            replace(each, warnings=(*self.notes.get(each.name, ()), *each.warnings))
            for each in result.tables
        )
        return replace(result, tables=tuple(tables))


def read_manifest(path: str | Path, select: Iterable[str], connect: str | None) -> Selected:
    """The tables of a manifest that have roles and are selected: all that have, without `select`.

    A selector is a model's name, `tag:NAME` or `path:FOLDER`; each may have a `*`. Raises
    `InputError` for a file that is no manifest, `SpecError` for roles or demands that are
    incomplete or can't be understood.
    """
    manifest = _Manifest.read(Path(path))
    chosen = [node for node in manifest.tagged() if _is_selected(node, list(select))]
    if not chosen:
        return Selected(None, {})
    if connect is None:
        raise SpecError(
            f"{path} does not say how to connect to the warehouse: --connect duckdb:FILE."
        )
    tables = [manifest.table(node, connect) for node in chosen]
    return Selected(
        AuditSpec(tables=tables),
        {node.name: tuple(node.unassigned_marks()) for node in chosen},
        tuple(TablePlaces(_place(manifest.project, node)) for node in chosen),
    )


def _is_selected(node: _Node, select: list[str]) -> bool:
    return not select or any(node.matches(each) for text in select for each in text.split())


def _place(project: Path, node: _Node) -> Place:
    """Where the project describes a node: at its name, if the file is there and has it."""
    file = project / node.location
    try:
        document = YamlDocument.read(file)
    except SpecError:
        return Place(file, 1, 1)
    for kind in ("models", "seeds", "snapshots"):
        described = document.value.get(kind) if isinstance(document.value, dict) else None
        for number, each in enumerate(described or ()):
            if isinstance(each, dict) and each.get("name") == node.name:
                return document.place((kind, number))
    return Place(file, 1, 1)


def _refuse_replaced_meta(project: Path, node: _Node) -> None:
    """Raise if the YAML says something else to kanon-sql than what dbt has kept of it.

    What dbt would render first can't be compared, and is left to dbt.
    """
    described = _described(project / node.location, node.name)
    written = _said(node, described) if described else {}
    if written and "{{" not in str(written) and written != node.meta:
        raise node.fail(
            "its config.meta.kanon_sql here is not what dbt has kept: config() in the model or "
            "dbt_project.yml has a meta too, and one replaces the other. Say it in one place."
        )


def _described(file: Path, name: str) -> Mapping[str, Any] | None:
    """What a YAML file says of a node."""
    try:
        value = YamlDocument.read(file).value
    except SpecError:
        return None
    for kind in ("models", "seeds", "snapshots"):
        for each in (value.get(kind) if isinstance(value, dict) else None) or ():
            if isinstance(each, dict) and each.get("name") == name:
                return each
    return None


@dataclass(frozen=True)
class _Node:
    """A model, seed, snapshot or source of the project."""

    name: str
    unique_id: str
    relation: str | None
    location: str
    tags: tuple[str, ...]
    meta: Mapping[str, Any]
    """What its own `meta` says to kanon-sql."""
    columns: Mapping[str, Mapping[str, Any]]
    """The same of each column."""
    marked: tuple[str, ...]
    """The columns that are tagged or classified as personal."""

    def fail(self, sentence: str) -> SpecError:
        return SpecError(f"{self.location}: {self.name}: {sentence}")

    def matches(self, selector: str) -> bool:
        """Whether a selector of dbt's means this node."""
        method, colon, wanted = selector.partition(":")
        if not colon:
            if "+" in selector or "@" in selector:
                raise SpecError(
                    f"--select {selector}: graph operators are dbt's own. Name the models, a tag "
                    "or a path."
                )
            return fnmatchcase(self.name, selector)
        if method == "tag":
            return any(fnmatchcase(tag, wanted) for tag in self.tags)
        if method == "path":
            folder = wanted.rstrip("/")
            return fnmatchcase(self.location, folder) or self.location.startswith(f"{folder}/")
        raise SpecError(f"--select {selector}: there is a model's name, tag:NAME or path:FOLDER.")

    def with_role(self, role: Role) -> list[str]:
        return [name for name, said in self.columns.items() if said.get("role") == role]

    def unassigned_marks(self) -> Iterator[str]:
        """A sentence for each column that is marked as personal and has no part."""
        for name in self.marked:
            if self.columns.get(name, {}).get("role") in (None, "insensitive"):
                yield (
                    f'"{name}" is marked as personal in the dbt project and is neither a '
                    "quasi-identifier nor sensitive nor an identifier. Give it its role."
                )


class _Manifest:
    """A manifest with every node that could be a table."""

    def __init__(self, path: Path, nodes: list[_Node], adapter: str | None) -> None:
        self._path, self._nodes, self._adapter = path, nodes, adapter

    @classmethod
    def read(cls, path: Path) -> _Manifest:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"{path} can't be read: {reason}.") from None
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{error.lineno}: this is no JSON: {error.msg}.") from None
        if not isinstance(found, dict) or not isinstance(found.get("nodes"), dict):
            raise InputError(
                f"{path} is no dbt manifest, as it has no nodes. dbt parse writes "
                "target/manifest.json."
            )
        kinds = ("model", "seed", "snapshot", "source")
        raw = [*found["nodes"].values(), *found.get("sources", {}).values()]
        nodes = [_node(each) for each in raw if each.get("resource_type") in kinds]
        return cls(path, nodes, found.get("metadata", {}).get("adapter_type"))

    @property
    def project(self) -> Path:
        """The project's folder: the manifest lies in its target folder."""
        return self._path.parent.parent

    def tagged(self) -> Iterator[_Node]:
        """The nodes that say something to kanon-sql."""
        for node in self._nodes:
            if node.meta or any(node.columns.values()):
                yield node

    def table(self, node: _Node, connect: str) -> TableSpec:
        """What is asked of a node. Raises `SpecError` unless it is said in full."""
        _refuse_unknown(node)
        _refuse_replaced_meta(self.project, node)
        demands = dict(node.meta)
        quasi_identifiers = node.with_role("quasi_identifier")
        if not quasi_identifiers:
            raise node.fail(
                "no column has the role quasi_identifier, so nothing can be asked. Give each "
                "column that someone may know of a person config.meta.kanon_sql.role."
            )
        if not any(demands.get(key) for key in _DEMANDS):
            raise node.fail(
                "its columns have roles, and its config.meta.kanon_sql demands nothing: k, l, t, "
                "k_map or checks. (dbt keeps only one meta of a model: the YAML, config() or "
                "dbt_project.yml.)"
            )
        sensitive = node.with_role("sensitive")
        entity, weight = _one(node, "entity"), _one(node, "weight")
        references, checks = self._references(node), list(_checks(node, sensitive))
        source = self._source(node)
        try:
            return table_spec(
                source=source,
                name=node.name,
                connect=connect,
                quasi_identifiers={name: _hierarchy(node, name) for name in quasi_identifiers},
                sensitive=sensitive,
                identifiers=node.with_role("identifier"),
                entity=entity,
                weight=weight,
                references=references,
                checks=checks,
                **{
                    key: demands[key]
                    for key in ("where", "nulls", "sensitive_nulls", "with_other_sensitive")
                    if key in demands
                },
            )
        except SpecError as error:
            raise node.fail(str(error)) from None

    def _references(self, node: _Node) -> dict[str, Any]:
        name = node.meta.get("reference")
        if name is None:
            lonely = [key for key in node.meta if key.startswith("reference_")]
            if lonely or node.meta.get("k_map"):
                raise node.fail(
                    f"{lonely[0] if lonely else 'k_map'} needs a reference: the name of a model, "
                    "seed or source."
                )
            return {}
        found = [each for each in self._nodes if each.name == name]
        if len(found) != 1:
            names = [each.name for each in self._nodes]
            raise node.fail(
                f"there {'are several nodes' if found else 'is no model, seed or source'} "
                f'"{name}" for its reference.{did_you_mean(str(name), names)}'
            )
        own = {
            key.removeprefix("reference_"): value
            for key, value in node.meta.items()
            if key.startswith("reference_")
        }
        return {str(name): {"source": self._source(found[0]), **own}}

    def _source(self, node: _Node) -> str:
        """The node's table as the warehouse calls it; a DuckDB file has one database."""
        if node.relation is None:
            raise node.fail("it is ephemeral, so there is no table to audit. Materialise it.")
        if self._adapter != "duckdb":
            return node.relation
        return ".".join(_identifiers(node.relation)[-2:])


def _node(raw: Mapping[str, Any]) -> _Node:
    location = str(raw.get("patch_path") or raw.get("original_file_path") or "")
    columns = {str(name): column for name, column in raw.get("columns", {}).items()}
    node = _Node(
        name=str(raw.get("name")),
        unique_id=str(raw.get("unique_id")),
        relation=raw.get("relation_name"),
        location=location.partition("://")[2] or location,
        tags=tuple(raw.get("tags", ())),
        meta={},
        columns={},
        marked=tuple(name for name, column in columns.items() if _is_marked(column)),
    )
    said = {name: _said(node, column, name) for name, column in columns.items()}
    return replace(
        node, meta=_said(node, raw), columns={name: each for name, each in said.items() if each}
    )


def _said(node: _Node, raw: Mapping[str, Any], column: str | None = None) -> Mapping[str, Any]:
    """What a `meta` says to kanon-sql: `config.meta` and the older `meta` must not differ."""
    metas = [raw.get("config", {}).get("meta"), raw.get("meta")]
    said = [meta["kanon_sql"] for meta in metas if isinstance(meta, dict) and "kanon_sql" in meta]
    where = f"the meta of column {column}" if column else "its meta"
    if any(each != said[0] for each in said):
        raise node.fail(f"{where} and its config.meta differ in kanon_sql. Keep config.meta.")
    if said and not isinstance(said[0], dict):
        raise node.fail(f"kanon_sql in {where} must be a mapping; found {said[0]!r}.")
    return said[0] if said else {}


def _is_marked(column: Mapping[str, Any]) -> bool:
    config = column.get("config", {})
    meta = {**column.get("meta", {}), **config.get("meta", {})}
    marks = {*column.get("tags", ()), *config.get("tags", ()), meta.get("classification")}
    return bool(_MARKS & {str(mark).lower() for mark in marks}) or meta.get("pii") is True


def _refuse_unknown(node: _Node) -> None:
    for key in node.meta:
        if key not in _KEYS:
            raise node.fail(f'unknown key "{key}" in kanon_sql.{did_you_mean(key, _KEYS)}')
    for name, said in node.columns.items():
        for key in said:
            if key not in _OF_A_COLUMN:
                raise node.fail(
                    f'column {name}: unknown key "{key}" in kanon_sql.'
                    f"{did_you_mean(key, _OF_A_COLUMN)}"
                )
        if said.get("role") not in ROLES:
            found = f"found {said['role']!r}" if "role" in said else "it has none"
            raise node.fail(f"column {name}: role must be one of {', '.join(ROLES)}; {found}.")


def _hierarchy(node: _Node, column: str) -> dict[str, Any]:
    said = node.columns[column]
    return {key: said[key] for key in _OF_A_QUASI_IDENTIFIER if key in said}


def _one(node: _Node, role: Literal["entity", "weight"]) -> str | None:
    """The one column of a role, which the model may name instead."""
    named = [*node.with_role(role), *([node.meta[role]] if node.meta.get(role) else [])]
    if len(set(named)) > 1:
        raise node.fail(f"{' and '.join(map(str, named))} are each called the {role}; choose one.")
    return str(named[0]) if named else None


def _checks(node: _Node, sensitive: list[str]) -> Iterator[Any]:
    demands = node.meta
    if demands.get("k") is not None:
        yield {"k_anonymity": {"k": demands["k"]}}
    for key, model in (("l", "l_diversity"), ("t", "t_closeness")):
        if demands.get(key) is None:
            continue
        if not sensitive:
            raise node.fail(f"{key} needs a column with the role sensitive.")
        yield from ({model: {key: demands[key], "sensitive": name}} for name in sensitive)
    if demands.get("k_map") is not None:
        yield {"k_map": {"k": demands["k_map"], "reference": demands.get("reference")}}
    yield from demands.get("checks") or ()


def _identifiers(relation: str) -> list[str]:
    """The quoted parts of a relation's name, still quoted."""
    parts, part, quoted = [], "", False
    for character in relation:
        if character == '"':
            quoted = not quoted
        if character == "." and not quoted:
            parts.append(part)
            part = ""
            continue
        part += character
    return [*parts, part]
