"""The tables of a dbt project that say of themselves what is private, as its manifest has them.

A column's role stands in its `config.meta.kanon_sql.role`, what is demanded of the table in the
model's own `config.meta.kanon_sql`; the tests of this package name roles and checks too. A meta
overrides the tests, and what differs is said: dbt replaces a `meta` by another without a word, and
an audit that went on with what is left would ask too little.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import Faults, InputError, SpecError, did_you_mean, option
from kanon_sql.spec.dbt.generic_tests import GenericTest, referred
from kanon_sql.spec.dbt.node import (
    KINDS,
    OF_A_QUASI_IDENTIFIER,
    OURS,
    Node,
    node_of,
    refuse_unknown,
)
from kanon_sql.spec.dbt.profiles import connection_of
from kanon_sql.spec.dbt.project import Description, Project, mapping
from kanon_sql.spec.dbt.selection import Selection
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import short_checks
from kanon_sql.spec.spec import AuditSpec, SelectedTables, TablePlaces, TableSpec, table_spec
from kanon_sql.spec.yaml_document import Place


def read_manifest(
    path: str | Path,
    select: Iterable[str],
    connect: str | None,
    *,
    exclude: Iterable[str] = (),
    state: str | Path | None = None,
    profiles_dir: str | Path | None = None,
) -> SelectedTables:
    """The tables of a manifest that have roles and are selected: all that have, without `select`.

    Selectors are those of `Selection`; `state` is the folder of an older manifest.json. A selector
    that selects nothing, as an empty one does, leaves nothing to audit, whatever the others select.
    Without `connect` the project's `profiles.yml` says where the tables lie.

    Raises `InputError` for a file that is no manifest, `SpecError` for roles or demands that are
    incomplete or can't be understood.
    """
    manifest = Manifest.read(Path(path))
    before = Manifest.read(Path(state) / "manifest.json").nodes if state is not None else None
    selection = Selection(manifest.nodes, before)
    selectors = [each for text in select for each in text.split() or [""]]
    excluded = selection.of("exclude", (each for text in exclude for each in text.split()))
    found = {each: selection.of("select", [each]) - excluded for each in selectors}
    wanted = frozenset().union(*found.values()) if found else None
    asked = [
        node
        for node in manifest.nodes
        if node.unique_id not in excluded and (wanted is None or node.unique_id in wanted)
    ]
    with Faults() as faults:
        for node in asked:
            with faults.collected():
                manifest.refuse_replaced_meta(node)
    speaking = {node.unique_id for node in asked if node.speaks}
    skipped = tuple(
        f"{node.location}: {node.called} is ephemeral, so there is no table to audit, and it was "
        "skipped. Materialise it."
        for node in asked
        if node.speaks and node.is_ephemeral
    )
    chosen = [node for node in asked if node.speaks and not node.is_ephemeral]
    idle = [each for each, ids in found.items() if not speaking & ids]
    if idle or not chosen:
        why = [*skipped, _nothing(path, idle, manifest)] if idle or not skipped else skipped
        return SelectedTables(None, "\n".join(why))
    if connect is None:
        connect = connection_of(manifest.project, manifest.adapter, profiles_dir)
    tables, notes = [], []
    with Faults() as faults:
        for node in chosen:
            with faults.collected():
                table, differences = manifest.table(node, connect)
                tables.append(table)
                notes.append((*manifest.notes(node), *differences))
    return SelectedTables(
        AuditSpec(tables=tables),
        notes=tuple(notes),
        places=tuple(TablePlaces(manifest.place(node)) for node in chosen),
        skipped=skipped,
    )


def _nothing(path: str | Path, idle: list[str], manifest: Manifest) -> str:
    """Why nothing is audited."""
    if not idle:
        return f"no model of {path} has roles or checks for kanon-sql, so nothing was audited."
    names = [node.called for node in manifest.nodes if node.speaks]
    near = did_you_mean(idle[0], [name for name in names if name != idle[0]])
    return (
        f"{option('select', ' '.join(idle) or repr(''))} selects no model of {path} that has roles "
        f"or checks for kanon-sql, so nothing was audited.{near}"
    )


@dataclass(frozen=True)
class Manifest:
    """A manifest with every node that could be a table, and the project that it is of."""

    path: Path
    nodes: tuple[Node, ...]
    project: Project
    adapter: str | None
    """The kind of warehouse that it was written for."""

    @classmethod
    def read(cls, path: Path) -> Manifest:
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
            raise InputError(f"{path}:{error.lineno}: this is not JSON: {error.msg}.") from None
        if not isinstance(found, dict) or not isinstance(found.get("nodes"), dict):
            raise InputError(
                f"{path} is not a dbt manifest: it has no nodes. dbt parse writes "
                "target/manifest.json."
            )
        raw = [*found["nodes"].values(), *mapping(found.get("sources")).values()]
        if not all(isinstance(each, dict) for each in raw):
            raise InputError(
                f"{path} is a damaged manifest: a node is not a mapping. Write it again with dbt "
                "parse."
            )
        metadata = mapping(found.get("metadata"))
        project = Project.of_manifest(path, metadata.get("project_name"))
        nodes = [node_of(each) for each in raw if each.get("resource_type") in KINDS]
        tests = [
            test
            for each in raw
            if each.get("resource_type") == "test" and (test := GenericTest.of(each))
        ]
        with_tests = (
            replace(node, tests=tuple(test for test in tests if _is_on(test, node)))
            for node in nodes
        )
        return cls(path, tuple(with_tests), project, metadata.get("adapter_type"))

    def table(self, node: Node, connect: str) -> tuple[TableSpec, list[str]]:
        """What is asked of a node, and what its tests say otherwise. Raises `SpecError` unless it
        is said in full."""
        refuse_unknown(node)
        node.refuse_two_roles()
        quasi_identifiers = node.with_role("quasi_identifier")
        if not quasi_identifiers:
            raise node.fail(
                "no column has the role quasi_identifier, so nothing can be audited. Give "
                "config.meta.kanon_sql.role to each column that someone could know of a person, or "
                "name the columns in a test."
            )
        sensitive = node.with_role("sensitive")
        asked: dict[str, Any] = {
            "quasi_identifiers": {name: _hierarchy(node, name) for name in quasi_identifiers},
            "sensitive": sensitive,
            "identifiers": node.with_role("identifier"),
            "insensitive": node.with_role("insensitive"),
            "entity": _one(node, "entity"),
            "weight": _one(node, "weight"),
            "references": self._references(node),
        }
        asked |= {
            key: value
            for key in ("where", "nulls", "sensitive_nulls")
            if (value := node.setting(key)) is not None
        }
        if "with_other_sensitive" in node.meta:
            asked["with_other_sensitive"] = node.meta["with_other_sensitive"]
        asked |= {"source": _source(node), "name": self._name(node), "connect": connect}
        try:
            of_meta = table_spec(**asked, checks=_checks(node, sensitive))
            more, differences = self._of_tests(node, of_meta)
            checks = [*of_meta.checks, *more.pop("checks")]
            table = table_spec(**{**asked, **more}, checks=checks)
        except SpecError as error:
            raise node.fail(error.marked) from None
        if not any(check.gates for check in table.checks):
            raise node.fail(
                "its columns have roles, and its config.meta.kanon_sql has no checks: k, l, t, "
                "k_map, or checks with a threshold. (dbt keeps only one meta of a model: the "
                f"YAML, config() or dbt_project.yml.){''.join(f' {each}' for each in differences)}"
            )
        return table, differences

    def _of_tests(self, node: Node, table: TableSpec) -> tuple[dict[str, Any], list[str]]:
        """What the tests of a node ask beyond its meta: checks, references and earlier releases.
        Second, a sentence for each test that is not asked as it stands."""
        others: dict[str, dict[str, Any]] = {
            "references": {
                name: {
                    "source": each.source,
                    **each.model_dump(exclude={"source"}, exclude_defaults=True),
                }
                for name, each in table.references.items()
            },
            "earlier_releases": {},
        }
        checks: list[Model] = []
        differences = []
        for test in node.tests:
            why = list(test.unlike(table))
            if not why:
                check = test.model(
                    **test.parameters,
                    **({"sensitive": test.sensitive} if test.sensitive else {}),
                    **test.with_other_sensitive(table),
                    **{key: self._other_table(test, key, others) for key in test.others},
                )
                of_meta = [each for each in table.checks if _asks_same(each, check, table)]
                if of_meta:
                    why = min((list(_differences(each, check, table)) for each in of_meta), key=len)
                elif check not in checks:
                    checks.append(check)
            if why:
                differences.append(f"dbt's test {test.name} is not run here: {'; '.join(why)}.")
            elif test.tolerates:
                differences.append(
                    f"dbt's test {test.name} tolerates some failures (error_if), and is checked "
                    "here in full."
                )
        return {"checks": checks, **others}, differences

    def _other_table(self, test: GenericTest, key: str, others: dict[str, dict[str, Any]]) -> str:
        """What the reference or earlier release of a test is called in the spec; it is put there
        unless it is there already."""
        said = test.others[key]
        name = referred(said["source"])
        found = [
            each for each in self.nodes if name in each.names and each.unique_id in test.upstream
        ]
        if not found:
            raise SpecError(f"the {key} of dbt's test {test.name} is not a node of {self.path}.")
        spec = {**said, "source": _source(found[0])}
        there = others["references" if key == "reference" else "earlier_releases"]
        called = next((each for each, known in there.items() if known == spec), None)
        if called is None:
            called = found[0].called
            while called in there:
                called += "_2"
            there[called] = spec
        return called

    def notes(self, node: Node) -> Iterator[str]:
        """What a reader of a node's audit must know besides."""
        yield from node.exposed_marks()
        has_meta = node.meta or node.columns
        if has_meta and node.is_described and self._description(node) is None:
            yield (
                f"{node.location} was not found in {self.project.folder}, or does not describe "
                f"{node.called} there, so kanon-sql can't verify that dbt kept all of its "
                "settings. Keep the manifest in its project, or run kanon-sql there."
            )

    def place(self, node: Node) -> Place:
        """Where the project describes a node: at its name, if the file is there and has it."""
        found = self._description(node)
        return found.place if found else Place(self._file(node), 1, 1)

    def refuse_replaced_meta(self, node: Node) -> None:
        """Raise if the YAML says something else to kanon-sql than what the manifest has of it, or
        if dbt_project.yml says something that the manifest no longer has.

        What dbt would render first can't be compared, and is left to dbt.
        """
        for meta in self.project.metas(node.kind, node.path):
            lost = [key for key in mapping(meta.get(OURS)) if key not in node.meta]
            if lost:
                raise node.fail(
                    f"dbt_project.yml says {' and '.join(lost)} of it, and {self.path} does not: "
                    "dbt keeps only one of several kanon_sql. Write all of it in one place, or run "
                    "dbt "
                    "parse if the manifest is older."
                )
        if not (node.speaks or self.project.mentions(self._file(node), OURS)):
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
            if OURS in meta and not _is_kept(meta[OURS], kept):
                raise node.fail(
                    f"{where} differs from {self.path}. If the manifest is older than the file, "
                    "run dbt parse. Otherwise config() in the model or dbt_project.yml has a meta "
                    "too, and one replaces the other: write it in one place."
                )

    def _name(self, node: Node) -> str:
        """What a node is called in the result: by its whole name where another is called alike."""
        calls = Counter(each.called for each in self.nodes if each.speaks)
        return node.called if calls[node.called] == 1 else node.unique_id

    def _file(self, node: Node) -> Path:
        return self.project.file(node.location, node.package)

    def _description(self, node: Node) -> Description | None:
        return self.project.description(self._file(node), node.name, node.version, node.source)

    def _references(self, node: Node) -> dict[str, Any]:
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
            raise node.fail(f'"{name}" for its reference is ambiguous: write {candidates}.')
        own = {
            key.removeprefix("reference_"): value
            for key, value in node.meta.items()
            if key.startswith("reference_")
        }
        return {str(name): {"source": _source(found[0]), **own}}


def _source(node: Node) -> str:
    """The node's table as the warehouse calls it, its database included: another database that
    has a table of this name is never asked for it."""
    if node.relation is None:
        raise node.fail("it is ephemeral, so there is no table to read. Materialise it.")
    return node.relation


def _is_on(test: GenericTest, node: Node) -> bool:
    if test.tested is not None:
        return test.tested == node.unique_id
    return node.unique_id in test.upstream and referred(test.relation) in node.names


def _filled(check: Model, table: TableSpec) -> dict[str, Any]:
    """The parameters of a check with the column and the reference that go without saying."""
    alone = {"sensitive": table.sensitive, "reference": list(table.references)}
    without_saying = {
        key: known[0]
        for key, known in alone.items()
        if key in type(check).model_fields and len(known) == 1
    }
    if table.with_other_sensitive and "with_other_sensitive" in type(check).model_fields:
        return without_saying | check.parameters | {"with_other_sensitive": True}
    return without_saying | check.parameters


def _asks_same(one: Model, other: Model, table: TableSpec) -> bool:
    """Whether two checks are of one model on one attribute, against one table."""
    a, b = _filled(one, table), _filled(other, table)
    about = ("sensitive", "reference", "earlier")
    return type(one) is type(other) and all(a.get(key) == b.get(key) for key in about)


def _differences(of_meta: Model, of_test: Model, table: TableSpec) -> Iterator[str]:
    """Where the check of a meta asks something else than that of a test. Lists are left out: they
    may hold values."""
    a, b = _filled(of_meta, table), _filled(of_test, table)
    for key in sorted({*a, *b}):
        if a.get(key) != b.get(key):
            of = f" = {b.get(key)} by {a.get(key)}" if key in of_meta.thresholds else ""
            yield f"config.meta.kanon_sql overrides its {key}{of}"


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


def _hierarchy(node: Node, column: str) -> dict[str, Any]:
    said = node.columns.get(column, {})
    return {key: said[key] for key in OF_A_QUASI_IDENTIFIER if key in said}


def _one(node: Node, role: Literal["entity", "weight"]) -> str | None:
    """The one column of a role, which the model may name instead."""
    named = [*node.with_role(role), *([node.meta[role]] if node.meta.get(role) else [])]
    if len(set(named)) > 1:
        raise node.fail(f"{' and '.join(map(str, named))} are each called the {role}; choose one.")
    return str(named[0]) if named else None


def _checks(node: Node, sensitive: list[str]) -> list[Any]:
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
