"""The tables of a dbt project that say of themselves what is private, as its manifest has them.

A column's part stands in its `config.meta.kanon_sql.role`, what is demanded of the table in the
model's own `config.meta.kanon_sql`. Both are taken from there and nowhere else: dbt replaces a
`meta` by another without a word, and an audit that went on with what is left would ask too little.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from kanon_sql.errors import Faults, InputError, SpecError, did_you_mean, option
from kanon_sql.spec.dbt.project import Description, Project, mapping, meta_of
from kanon_sql.spec.models.catalogue import short_checks
from kanon_sql.spec.spec import AuditSpec, TablePlaces, TableSpec, table_spec
from kanon_sql.spec.yaml_document import Place

Role = Literal["quasi_identifier", "sensitive", "identifier", "entity", "weight", "insensitive"]

ROLES: tuple[Role, ...] = get_args(Role)
_OURS = "kanon_sql"
"""The key in a meta under which a project speaks to kanon-sql."""
_KEYS = (
    "k", "l", "t", "k_map", "checks", "reference", "reference_columns", "reference_entity",
    "reference_where", "reference_weight", "entity", "where", "nulls", "sensitive_nulls",
    "with_other_sensitive",
)  # fmt: skip
_OF_A_QUASI_IDENTIFIER = ("hierarchy", "levels", "clip")
_OF_A_COLUMN = ("role", *_OF_A_QUASI_IDENTIFIER)
_MARKS = {"pii", "personal", "personal_data"}
_KINDS = ("model", "seed", "snapshot", "source")


@dataclass(frozen=True)
class SelectedTables:
    """The tables to audit, with what a reader must know of each beside its audit."""

    spec: AuditSpec | None
    """None where nothing is to be audited; then `reason` says why."""
    reason: str = ""
    notes: tuple[tuple[str, ...], ...] = ()
    """Of each table, what belongs among its warnings."""
    places: tuple[TablePlaces, ...] = ()
    """Where the project describes each table."""


def read_manifest(path: str | Path, select: Iterable[str], connect: str | None) -> SelectedTables:
    """The tables of a manifest that have roles and are selected: all that have, without `select`.

    A selector is a model's name, `tag:NAME`, `path:FOLDER` or a path; each may have a `*`. One
    that selects nothing, as an empty one does, leaves nothing to audit, whatever the others select.

    Raises `InputError` for a file that is no manifest, `SpecError` for roles or demands that are
    incomplete or can't be understood.
    """
    manifest = _Manifest.read(Path(path))
    selectors = [each for text in select for each in text.split() or [""]]
    asked = [node for node in manifest.nodes if node.is_selected(selectors)]
    with Faults() as faults:
        for node in asked:
            with faults.collected():
                manifest.refuse_replaced_meta(node)
    chosen = [node for node in asked if node.speaks]
    idle = [each for each in selectors if not any(node.matches(each) for node in chosen)]
    if idle or not chosen:
        return SelectedTables(None, _nothing(path, idle, manifest))
    if connect is None:
        raise SpecError(
            f"{path} does not say how to connect to the warehouse: "
            f"{option('engine', 'duckdb:FILE')}."
        )
    tables = []
    with Faults() as faults:
        for node in chosen:
            with faults.collected():
                tables.append(manifest.table(node, connect))
    return SelectedTables(
        AuditSpec(tables=tables),
        notes=tuple(tuple(manifest.notes(node)) for node in chosen),
        places=tuple(TablePlaces(manifest.place(node)) for node in chosen),
    )


def _nothing(path: str | Path, idle: list[str], manifest: _Manifest) -> str:
    """Why nothing is audited."""
    if not idle:
        return f"no model of {path} says anything to kanon-sql, so nothing was audited."
    names = [node.called for node in manifest.nodes if node.speaks]
    near = did_you_mean(idle[0], [name for name in names if name != idle[0]])
    return (
        f"{option('select', ' '.join(idle) or repr(''))} selects no model of {path} that says "
        f"anything to kanon-sql, so nothing was audited.{near}"
    )


@dataclass(frozen=True)
class _Node:
    """A model, seed, snapshot or source of the project."""

    name: str
    unique_id: str
    kind: str
    """As dbt calls what it is: model, seed, snapshot or source."""
    path: tuple[str, ...]
    """The project or package, the folders and the name, by which dbt_project.yml means it."""
    version: str | None
    source: str | None
    """The source that a table is of, if it is of one."""
    package: str | None
    relation: str | None
    location: str
    """The YAML file that describes it, else the file that it is made by."""
    is_described: bool
    original: str
    tags: tuple[str, ...]
    meta: Mapping[str, Any]
    """What its own `meta` says to kanon-sql."""
    columns: Mapping[str, Mapping[str, Any]]
    """The same of each column that says something."""
    marked: tuple[str, ...]
    """The columns that are tagged or classified as personal."""

    @property
    def called(self) -> str:
        """Its name as `dbt ls` has it: that of a version with the version."""
        return f"{self.name}.v{self.version}" if self.version else self.name

    @property
    def names(self) -> tuple[str, ...]:
        """All that a project may call it."""
        of_source = (f"{self.source}.{self.name}",) if self.source else ()
        return (self.name, self.called, self.unique_id, *of_source)

    @property
    def speaks(self) -> bool:
        """Whether it says anything to kanon-sql."""
        return bool(self.meta or self.columns)

    def fail(self, sentence: str) -> SpecError:
        return SpecError(f"{self.location}: {self.called}: {sentence}")

    def is_selected(self, selectors: list[str]) -> bool:
        return not selectors or any(self.matches(each) for each in selectors)

    def matches(self, selector: str) -> bool:
        """Whether a selector of dbt's means this node."""
        method, colon, wanted = selector.partition(":")
        if not colon and "/" in selector:
            method, colon, wanted = "path", ":", selector
        if any(operator in selector for operator in "+@,"):
            raise SpecError(
                f"{option('select', selector)}: graph operators and intersections are dbt's own. "
                "Name the models, a tag or a path."
            )
        if not colon:
            return any(fnmatchcase(name, selector) for name in self.names)
        if method == "tag":
            return any(fnmatchcase(tag, wanted) for tag in self.tags)
        if method == "path":
            folder = wanted.removeprefix("./").rstrip("/")
            return any(
                fnmatchcase(file, folder) or file.startswith(f"{folder}/")
                for file in (self.original, self.location)
            )
        raise SpecError(
            f"{option('select', selector)}: there is a model's name, tag:NAME or path:FOLDER."
        )

    def with_role(self, role: Role) -> list[str]:
        return [name for name, said in self.columns.items() if said.get("role") == role]

    def exposed_marks(self) -> Iterator[str]:
        """A sentence for each column that is marked as personal and has no part in the audit."""
        for name in self.marked:
            role = self.columns.get(name, {}).get("role")
            if role == "identifier":
                yield (
                    f'"{name}" is marked as personal in the dbt project, and is an identifier that '
                    "is still in the table. Drop it before the table is published."
                )
            elif role in (None, "insensitive"):
                yield (
                    f'"{name}" is marked as personal in the dbt project and is neither a '
                    "quasi-identifier nor sensitive nor an identifier. Give it its role."
                )


@dataclass(frozen=True)
class _Manifest:
    """A manifest with every node that could be a table, and the project that it is of."""

    path: Path
    nodes: tuple[_Node, ...]
    project: Project

    @classmethod
    def read(cls, path: Path) -> _Manifest:
        """Raises `InputError` for what is none, `SpecError` for a meta that is no mapping."""
        if path.suffix.lower() in (".yml", ".yaml"):
            raise InputError(
                f"{path} is YAML, and a manifest is JSON. dbt parse writes it: "
                f"{option('manifest', str(path.parent / 'target' / 'manifest.json'))}."
            )
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
        raw = [*found["nodes"].values(), *mapping(found.get("sources")).values()]
        if not all(isinstance(each, dict) for each in raw):
            raise InputError(
                f"{path} is a damaged manifest: a node of it is no mapping. dbt parse writes it "
                "anew."
            )
        project = Project.of_manifest(path, mapping(found.get("metadata")).get("project_name"))
        nodes = tuple(_node(each) for each in raw if each.get("resource_type") in _KINDS)
        return cls(path, nodes, project)

    def table(self, node: _Node, connect: str) -> TableSpec:
        """What is asked of a node. Raises `SpecError` unless it is said in full."""
        _refuse_unknown(node)
        quasi_identifiers = node.with_role("quasi_identifier")
        if not quasi_identifiers:
            raise node.fail(
                "no column has the role quasi_identifier, so nothing can be asked. Give each "
                "column that someone may know of a person config.meta.kanon_sql.role."
            )
        sensitive = node.with_role("sensitive")
        entity, weight = _one(node, "entity"), _one(node, "weight")
        references, source = self._references(node), _source(node)
        try:
            table = table_spec(
                source=source,
                name=self._name(node),
                connect=connect,
                quasi_identifiers={name: _hierarchy(node, name) for name in quasi_identifiers},
                sensitive=sensitive,
                identifiers=node.with_role("identifier"),
                insensitive=node.with_role("insensitive"),
                entity=entity,
                weight=weight,
                references=references,
                checks=_checks(node, sensitive),
                **{
                    key: node.meta[key]
                    for key in ("where", "nulls", "sensitive_nulls", "with_other_sensitive")
                    if key in node.meta
                },
            )
        except SpecError as error:
            raise node.fail(error.marked) from None
        if not any(check.gates for check in table.checks):
            raise node.fail(
                "its columns have roles, and its config.meta.kanon_sql demands nothing: k, l, t, "
                "k_map, or checks with a threshold. (dbt keeps only one meta of a model: the "
                "YAML, config() or dbt_project.yml.)"
            )
        return table

    def notes(self, node: _Node) -> Iterator[str]:
        """What a reader of a node's audit must know besides."""
        yield from node.exposed_marks()
        if node.is_described and self._description(node) is None:
            yield (
                f"{node.location} was not found in {self.project.folder}, or does not describe "
                f"{node.called} there, so whether dbt has kept what it says was not seen. Leave "
                "the manifest in its project, or run kanon-sql there."
            )

    def place(self, node: _Node) -> Place:
        """Where the project describes a node: at its name, if the file is there and has it."""
        found = self._description(node)
        return found.place if found else Place(self._file(node), 1, 1)

    def refuse_replaced_meta(self, node: _Node) -> None:
        """Raise if the YAML says something else to kanon-sql than what the manifest has of it, or
        if dbt_project.yml says something that the manifest no longer has.

        What dbt would render first can't be compared, and is left to dbt.
        """
        for meta in self.project.metas(node.kind, node.path):
            lost = [key for key in mapping(meta.get(_OURS)) if key not in node.meta]
            if lost:
                raise node.fail(
                    f"dbt_project.yml says {' and '.join(lost)} of it, and {self.path} does not: "
                    "dbt replaces one kanon_sql by another. Say all of it in one place, or run dbt "
                    "parse if the manifest is older."
                )
        if not (node.speaks or self.project.mentions(self._file(node), _OURS)):
            return
        found = self._description(node)
        if found is None:
            return
        pairs = [("its config.meta.kanon_sql", found.meta, node.meta)]
        pairs += [
            (f"the meta of column {name}", meta, node.columns.get(name, {}))
            for name, meta in found.columns.items()
        ]
        for where, meta, kept in pairs:
            if _OURS in meta and not _is_kept(meta[_OURS], kept):
                raise node.fail(
                    f"{where} is not what {self.path} has. Is the manifest older than the file? "
                    "Then dbt parse writes it anew. Else config() in the model or dbt_project.yml "
                    "has a meta too, and one replaces the other: say it in one place."
                )

    def _name(self, node: _Node) -> str:
        """What a node is called in the result: by its whole name where another is called alike."""
        calls = Counter(each.called for each in self.nodes if each.speaks)
        return node.called if calls[node.called] == 1 else node.unique_id

    def _file(self, node: _Node) -> Path:
        return self.project.file(node.location, node.package)

    def _description(self, node: _Node) -> Description | None:
        return self.project.description(self._file(node), node.name, node.version, node.source)

    def _references(self, node: _Node) -> dict[str, Any]:
        name = node.meta.get("reference")
        if name is None:
            lonely = [key for key in node.meta if key.startswith("reference_")]
            if lonely or node.meta.get("k_map") is not None:
                raise node.fail(
                    f"{lonely[0] if lonely else 'k_map'} needs a reference: the name of a model, "
                    "seed or source."
                )
            return {}
        found = [each for each in self.nodes if name in each.names]
        if not found:
            known = [each.called for each in self.nodes]
            raise node.fail(
                f'there is no model, seed or source "{name}" for its reference.'
                f"{did_you_mean(str(name), known)}"
            )
        if len(found) > 1:
            candidates = " or ".join(each.unique_id for each in found)
            raise node.fail(f'"{name}" for its reference may be any of several: say {candidates}.')
        own = {
            key.removeprefix("reference_"): value
            for key, value in node.meta.items()
            if key.startswith("reference_")
        }
        return {str(name): {"source": _source(found[0]), **own}}


def _source(node: _Node) -> str:
    """The node's table as the warehouse calls it, its database included: another database that
    has a table of this name is never asked for it."""
    if node.relation is None:
        raise node.fail("it is ephemeral, so there is no table to audit. Materialise it.")
    return node.relation


def _is_kept(written: Any, kept: Any) -> bool:
    """Whether dbt has kept what is written."""
    match written:
        case str() if "{{" in written:
            return True
        case dict():
            return (
                isinstance(kept, Mapping)
                and {str(key) for key in written} == set(kept)
                and all(_is_kept(each, kept[str(key)]) for key, each in written.items())
            )
        case list():
            return (
                isinstance(kept, list)
                and len(written) == len(kept)
                and all(map(_is_kept, written, kept))
            )
        case date():
            return bool(written.isoformat() == kept)
    return bool(written == kept)


def _node(raw: Mapping[str, Any]) -> _Node:
    original = str(raw.get("original_file_path") or "")
    is_source = raw.get("resource_type") == "source"
    patch = raw.get("patch_path") or (original if is_source else "")
    location = str(patch or original)
    location = location.partition("://")[2] or location
    name, version = str(raw.get("name")), raw.get("version")
    columns = {str(name): column for name, column in mapping(raw.get("columns")).items()}
    whose = f"{location}: {name}:"
    said = {
        each: _said(column, f"{whose} the meta of column {each}")
        for each, column in columns.items()
    }
    return _Node(
        name=name,
        unique_id=str(raw.get("unique_id")),
        kind=str(raw.get("resource_type")),
        path=_texts(raw.get("fqn")),
        version=None if version is None else str(version),
        source=str(raw.get("source_name")) if is_source else None,
        package=raw.get("package_name"),
        relation=raw.get("relation_name"),
        location=location,
        is_described=bool(patch),
        original=original,
        tags=_texts(raw.get("tags")),
        meta=_said(raw, f"{whose} its meta"),
        columns={each: found for each, found in said.items() if found},
        marked=tuple(each for each, column in columns.items() if _is_marked(column)),
    )


def _said(raw: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What a `meta` says to kanon-sql: `config.meta` and the older `meta` must not differ."""
    metas = [mapping(mapping(raw.get("config")).get("meta")), mapping(raw.get("meta"))]
    said = [meta[_OURS] for meta in metas if _OURS in meta]
    if any(each != said[0] for each in said):
        raise SpecError(f"{where} and its config.meta differ in kanon_sql. Keep config.meta.")
    if said and not isinstance(said[0], dict):
        raise SpecError(f"kanon_sql in {where} must be a mapping; found {said[0]!r}.")
    return said[0] if said else {}


def _texts(found: Any) -> tuple[str, ...]:
    """One text, or a list of them; anything else says nothing."""
    if isinstance(found, str):
        return (found,)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _is_marked(column: Mapping[str, Any]) -> bool:
    config, meta = mapping(column.get("config")), meta_of(column)
    tags = [*_texts(column.get("tags")), *_texts(config.get("tags"))]
    marks = {str(mark).lower() for mark in (*tags, meta.get("classification"))}
    return bool(_MARKS & marks) or meta.get("pii") is True


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
        role = said.get("role")
        if role not in ROLES:
            found = f"found {role!r}" if "role" in said else "it has none"
            raise node.fail(f"column {name}: role must be one of {', '.join(ROLES)}; {found}.")
        idle = [key for key in _OF_A_QUASI_IDENTIFIER if key in said]
        if idle and role != "quasi_identifier":
            raise node.fail(
                f"column {name}: {idle[0]} is for a quasi_identifier, and its role is {role}."
            )


def _hierarchy(node: _Node, column: str) -> dict[str, Any]:
    said = node.columns[column]
    return {key: said[key] for key in _OF_A_QUASI_IDENTIFIER if key in said}


def _one(node: _Node, role: Literal["entity", "weight"]) -> str | None:
    """The one column of a role, which the model may name instead."""
    named = [*node.with_role(role), *([node.meta[role]] if node.meta.get(role) else [])]
    if len(set(named)) > 1:
        raise node.fail(f"{' and '.join(map(str, named))} are each called the {role}; choose one.")
    return str(named[0]) if named else None


def _checks(node: _Node, sensitive: list[str]) -> list[Any]:
    """What is demanded, the short forms first."""
    demands = node.meta
    for key in ("l", "t"):
        if demands.get(key) is not None and not sensitive:
            raise SpecError(f"{key} needs a column with the role sensitive.")
    checks = demands.get("checks")
    if not isinstance(checks, list | None):
        raise SpecError(
            "checks must be a list of models, as in [{k_anonymity: {k: 5}}]; found "
            f"{'a mapping' if isinstance(checks, dict) else repr(checks)}."
        )
    return [*short_checks(demands, sensitive, demands.get("reference")), *(checks or ())]
