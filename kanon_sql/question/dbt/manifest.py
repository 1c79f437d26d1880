"""The tables of a dbt manifest whose project declares roles or checks.

A column's role is `config.meta.kanon_sql.role`, a table's checks are in the model's
`config.meta.kanon_sql`; the package's generic tests declare both too. A meta overrides the tests,
and differences are reported: dbt silently replaces one `meta` by another, so that an audit of the
rest would check too little.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.errors import (
    Faults,
    InputError,
    SpecError,
    did_you_mean,
    in_one,
    option,
    with_keys,
)
from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import short_checks
from kanon_sql.question.dbt.generic_tests import GenericTest, referenced_node
from kanon_sql.question.dbt.node import (
    KINDS,
    META_KEY,
    QUASI_IDENTIFIER_KEYS,
    Node,
    Selection,
    parsed_node,
    refuse_unknown,
)
from kanon_sql.question.dbt.project import Description, Project, connection_of, mapping
from kanon_sql.question.other_tables import OTHER_TABLES, REFERENCE, OtherTableKind
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.roles import ROLES, Role
from kanon_sql.question.spec import (
    AuditSpec,
    SelectedTables,
    TablePlaces,
    TablesKey,
    published_spec,
    table_spec,
)
from kanon_sql.question.table import TableSpec
from kanon_sql.question.yaml_document import Place


def read_manifest(
    path: str | Path,
    select: Iterable[str],
    connect: str | None,
    *,
    exclude: Iterable[str] = (),
    state: str | Path | None = None,
    profiles_dir: str | Path | None = None,
    keys: Sequence[TablesKey] = ("tables",),
    inherit: Inheriting | None = None,
) -> SelectedTables:
    """The selected tables of a manifest that declare roles; all of them without `select`.

    `keys` say whether these are tables of records, published tables, or both. `inherit` adds the
    tables without checks that inherit roles.

    Selectors are those of `Selection`; `state` is the folder of an older manifest.json. If any
    selector, such as an empty one, selects nothing, nothing is audited. Without `connect` the
    connection is read from the project's `profiles.yml`.

    Raises `InputError` for a file that is no manifest, `SpecError` for incomplete or invalid roles
    and checks.
    """
    manifest = Manifest.read(Path(path))
    ids_by_selector, requested = manifest.selected(select, exclude, state)
    with Faults() as faults:
        for node in requested:
            with faults.collected():
                manifest.refuse_replaced_meta(node)
    declared = [(key, node) for key in keys for node in requested if node.declares(key)]
    more, passed = list[Node](), list[str]()
    if inherit is not None:
        declared = [(key, node) for key, node in declared if key != "tables" or node.has_checks]
        ids = {node.unique_id for _, node in declared}
        more, passed = inherit(manifest, [each for each in requested if each.unique_id not in ids])
        declared += [("tables", node) for node in more]
    annotated = {node.unique_id for _, node in declared}
    asked = [
        (key, node, tuple(node.questions()) if key == "tables" else (node,))
        for key, node in declared
    ]
    skipped = [*dict.fromkeys(filter(None, (_skipped(node, own) for _, node, own in asked)))]
    skipped += passed
    chosen = [(key, question) for key, node, own in asked if node.relation for question in own]
    unmatched = [selector for selector, ids in ids_by_selector.items() if not annotated & ids]
    if unmatched or not chosen:
        reasons = skipped
        if unmatched or not skipped:
            reasons.append(_nothing_selected_message(path, unmatched, manifest, keys))
        return SelectedTables(None, "\n".join(reasons))
    if connect is None:
        connect = connection_of(manifest.project, manifest.adapter, profiles_dir)
    tables: dict[TablesKey, list[TableSpec | PublishedSpec]] = {}
    notes, places = [], []
    with Faults() as faults:
        for key, node in chosen:
            with faults.collected():
                table, differences = (
                    manifest.table(node, connect)
                    if key == "tables"
                    else (manifest.published(node, connect), [])
                )
                tables.setdefault(key, []).append(table)
                about = () if node.about else manifest.notes(node)
                notes.append((*node.inherited, *about, *differences))
                of_checks = manifest.places_of_tests(node, table.checks)
                places.append(TablePlaces(manifest.place(node), of_checks))
    return SelectedTables(
        AuditSpec.model_validate(tables),
        notes=tuple(notes),
        places=tuple(places),
        skipped=tuple(skipped),
    )


def _skipped(node: Node, questions: Sequence[Node]) -> str:
    """Why nothing is audited of a node; empty if something is."""
    if node.is_ephemeral:
        return (
            f"{node.location}: {node.display_name} is ephemeral, so there is no table to audit, "
            "and it was skipped. Materialise it."
        )
    if questions:
        return ""
    reasons = " ".join(_not_run(test, [test.idle_because]) for test in node.tests)
    return f"{node.location}: {node.display_name} was skipped: {reasons}"


def _nothing_selected_message(
    path: str | Path, unmatched: list[str], manifest: Manifest, keys: Sequence[TablesKey]
) -> str:
    """The message when there is nothing to audit."""
    declared = {
        "tables": "roles or checks for kanon-sql",
        "published": "config.meta.kanon_sql.published",
    }
    declaration = ", or ".join(declared[key] for key in keys)
    if not unmatched:
        return f"no model of {path} has {declaration}, so nothing was audited."
    names = [node.display_name for node in manifest.nodes if any(map(node.declares, keys))]
    suggestion = did_you_mean(unmatched[0], [name for name in names if name != unmatched[0]])
    return (
        f"{option('select', ' '.join(unmatched) or repr(''))} selects no model of {path} that has "
        f"{declaration}, so nothing was audited.{suggestion}"
    )


Inheriting = Callable[["Manifest", Sequence[Node]], tuple[list[Node], list[str]]]
"""Gives nodes the roles that they inherit, with a sentence on each that is skipped."""


class Relationship(NamedTuple):
    """A test `relationships`: each value of a column is one of a column of another node."""

    child: str
    column: str
    parent: str
    """The name of the other node, as `referenced_node` gives it."""
    field: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Relationship | None:
        """The relationship that a node of a manifest tests; None if it is no such test."""
        metadata = mapping(raw.get("test_metadata"))
        if metadata.get("name") != "relationships" or metadata.get("namespace"):
            return None
        arguments = dict(mapping(metadata.get("kwargs")))
        arguments |= mapping(arguments.pop("arguments", None))
        names = (arguments.get("column_name"), arguments.get("field"))
        parent = referenced_node(str(arguments.get("to")))
        child = raw.get("attached_node")
        if parent is None or child is None:
            return None
        return cls(str(child), str(names[0]), parent, str(names[1]))


@dataclass(frozen=True)
class Manifest:
    """A manifest: all nodes that could be tables, and their project."""

    path: Path
    nodes: tuple[Node, ...]
    project: Project
    adapter: str | None
    """The dbt adapter it was compiled for."""
    exposures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The unique ids of the nodes that each exposure reads, by its name."""
    relationships: tuple[Relationship, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest. Raises `InputError` if it is invalid, `SpecError` for a meta that is no
        mapping."""
        if path.suffix.lower() in (".yml", ".yaml"):
            raise InputError(
                f"{path} is YAML, and a manifest is JSON. dbt parse writes it: "
                f"{option('manifest', str(path.parent / 'target' / 'manifest.json'))}."
            )
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(
                f"{path} can't be read: {reason}. Name the manifest of a dbt project, "
                "target/manifest.json."
            ) from None
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{error.lineno}: this is not JSON: {error.msg}.") from None
        if not isinstance(manifest, dict) or not isinstance(manifest.get("nodes"), dict):
            raise InputError(
                f"{path} is not a dbt manifest: it has no nodes. dbt parse writes "
                "target/manifest.json."
            )
        raw = [*manifest["nodes"].values(), *mapping(manifest.get("sources")).values()]
        if not all(isinstance(node, dict) for node in raw):
            raise InputError(
                f"{path} is a damaged manifest: a node is not a mapping. Write it again with dbt "
                "parse."
            )
        metadata = mapping(manifest.get("metadata"))
        project = Project.of_manifest(path, metadata.get("project_name"))
        nodes = [parsed_node(node) for node in raw if node.get("resource_type") in KINDS]
        tests = [
            test
            for node in raw
            if node.get("resource_type") == "test" and (test := GenericTest.of(node))
        ]
        with_tests = (
            replace(node, tests=tuple(test for test in tests if _tests_node(test, node)))
            for node in nodes
        )
        return cls(
            path,
            tuple(with_tests),
            project,
            metadata.get("adapter_type"),
            _exposures(manifest),
            tuple(filter(None, map(Relationship.of, raw))),
        )

    def selected(
        self, select: Iterable[str], exclude: Iterable[str], state: str | Path | None
    ) -> tuple[dict[str, frozenset[str]], list[Node]]:
        """The unique ids of each selector, and the selected nodes; all of them without one.

        Raises `SpecError` for a selector that is not known.
        """
        before = Manifest.read(Path(state) / "manifest.json").nodes if state is not None else None
        selection = Selection(self.nodes, before)
        selectors = [part for patterns in select for part in patterns.split() or [""]]
        parts = (part for patterns in exclude for part in patterns.split())
        excluded = selection.of("exclude", parts)
        ids_by_selector = {
            selector: selection.of("select", [selector]) - excluded for selector in selectors
        }
        selected = frozenset().union(*ids_by_selector.values()) if ids_by_selector else None
        requested = [
            node
            for node in self.nodes
            if node.unique_id not in excluded and (selected is None or node.unique_id in selected)
        ]
        return ids_by_selector, requested

    def table(self, node: Node, connect: str) -> tuple[TableSpec, list[str]]:
        """The spec of a node's table, and a message for each test that differs from it.

        Raises `SpecError` for missing or invalid roles and checks.
        """
        refuse_unknown(node)
        node.refuse_two_roles()
        settings = settings_by_role(
            node,
            "Give config.meta.kanon_sql.role to each column that someone could know of a person, "
            "or name the columns in a test.",
        )
        settings["references"] = self._references(node)
        settings |= self._made_from(node)
        settings |= {
            key: value
            for key in ("where", "nulls", "sensitive_nulls")
            if (value := node.setting(key)) is not None
        }
        if "with_other_sensitive" in node.meta:
            settings["with_other_sensitive"] = node.meta["with_other_sensitive"]
        settings |= {"source": _source(node), "name": self._name(node), "connect": connect}
        try:
            of_meta = table_spec(**settings, checks=declared_checks(node, settings["sensitive"]))
            more, differences = self._additions_of_tests(node, of_meta)
            checks = [*of_meta.checks, *more.pop("checks")]
            table = table_spec(**{**settings, **more}, checks=checks)
        except SpecError as error:
            raise node.fail(with_keys(error.marked, TableSpec.model_fields)) from None
        if not any(check.gates for check in table.checks) and not node.inherited:
            raise node.fail(
                "its columns have roles, and its config.meta.kanon_sql has no checks: k, l, t, "
                "k_map, or checks with a threshold. (dbt keeps only one meta of a model: the "
                f"YAML, config() or dbt_project.yml.){' '.join(['', *differences])}"
            )
        return table, differences

    def published(self, node: Node, connect: str) -> PublishedSpec:
        """The spec of the published table of a node. Raises `SpecError`."""
        settings = {str(name): value for name, value in (node.published or {}).items()}
        location = {"source": _source(node), "name": self._name(node), "connect": connect}
        keys = [name for name in PublishedSpec.model_fields if name not in location]
        unknown = [
            node.fail(f'unknown key "{name}" in kanon_sql.published.{did_you_mean(name, keys)}')
            for name in settings
            if name not in keys
        ]
        if unknown:
            raise in_one(unknown)
        settings["against"] = {
            str(name): {
                **(mapping(entry) if isinstance(entry, dict) else {"source": entry}),
                "source": self._second(node, entry),
            }
            for name, entry in mapping(settings.get("against")).items()
        }
        try:
            return published_spec(**location, **settings)
        except SpecError as error:
            message = with_keys(error.marked, PublishedSpec.model_fields)
            raise node.fail(f"kanon_sql.published: {message}") from None

    def _second(self, node: Node, against: Any) -> str:
        """The relation of a second table, by the name of its model, seed or source."""
        name = mapping(against).get("source") if isinstance(against, dict) else against
        nodes = [node for node in self.nodes if name in node.names]
        if len(nodes) != 1:
            display_names = [node.display_name for node in self.nodes]
            fault = "ambiguous" if nodes else "no model, seed or source"
            raise node.fail(
                f'kanon_sql.published: against: "{name}" is {fault}.'
                f"{did_you_mean(str(name), display_names)}"
            )
        return _source(nodes[0])

    def _additions_of_tests(self, node: Node, table: TableSpec) -> tuple[dict[str, Any], list[str]]:
        """The checks, references and earlier releases that the tests of a node add to its meta, and
        a message for each test that the audit does not reproduce exactly."""
        others: dict[str, dict[str, Any]] = {kind.key: {} for kind in OTHER_TABLES}
        for kind in OTHER_TABLES:
            for name, other in table.others_of(kind):
                others[kind.key][name] = {
                    "source": other.source,
                    **other.model_dump(exclude={"source"}, exclude_defaults=True),
                }
        checks: list[Model] = []
        differences = []
        for test in node.tests:
            reasons = [*test.differences_from(table), *self._another(test, others)]
            if not reasons:
                check = test.model(
                    **test.parameters,
                    **({"sensitive": test.sensitive} if test.sensitive else {}),
                    **test.with_other_sensitive(table),
                    **{
                        kind.prefix: alias
                        for kind in test.others
                        if (alias := self._other_table(test, kind, others[kind.key]))
                        and not kind.is_single
                    },
                )
                of_meta = [model for model in table.checks if is_same_check(model, check, table)]
                if of_meta:
                    reasons = min(
                        (list(_differences(model, check, table)) for model in of_meta), key=len
                    )
                elif check not in checks:
                    checks.append(check)
            if reasons:
                differences.append(_not_run(test, reasons))
            elif test.tolerates:
                differences.append(
                    f"dbt's test {test.name} tolerates some failures (error_if), and is checked "
                    "here in full."
                )
        differences += (_not_run(test, [test.idle_because]) for test in node.idle)
        single = {
            kind.key: next(iter(others[kind.key].values()), None)
            for kind in OTHER_TABLES
            if kind.is_single
        }
        return {"checks": checks, **others, **single}, differences

    def _other_table(self, test: GenericTest, kind: OtherTableKind, tables: dict[str, Any]) -> str:
        """The name in the spec of the reference or earlier release of a test, added if it is
        new."""
        spec, node_name = self._spec_of_other(test, kind)
        alias = next((name for name, table in tables.items() if table == spec), None)
        if alias is None:
            alias = node_name
            while alias in tables:
                alias += "_2"
            tables[alias] = spec
        return alias

    def _another(self, test: GenericTest, others: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
        """Why a test is not of the table's original or holdout, of which there is one."""
        for kind in test.others if not test.rendered else ():
            known = others[kind.key]
            is_known = kind.is_single and bool(known)
            if is_known and self._spec_of_other(test, kind)[0] not in known.values():
                yield f"its {kind.noun} is not the table's"

    def _spec_of_other(self, test: GenericTest, kind: OtherTableKind) -> tuple[dict[str, Any], str]:
        """Another table of a test as a spec has it, and the name of its node."""
        arguments = test.others[kind]
        name = referenced_node(arguments["source"])
        nodes = [
            node for node in self.nodes if name in node.names and node.unique_id in test.upstream
        ]
        if not nodes:
            raise SpecError(
                f"the {kind.prefix} of dbt's test {test.name} is not a node of {self.path}."
            )
        return {**arguments, "source": _source(nodes[0])}, nodes[0].display_name

    def notes(self, node: Node) -> Iterator[str]:
        """Further warnings for the report of a node."""
        yield from node.personal_columns_exposed()
        has_meta = node.settings or node.columns
        if has_meta and node.is_described and self._description(node) is None:
            yield (
                f"{node.location} was not found in {self.project.folder}, or does not describe "
                f"{node.display_name} there, so kanon-sql can't verify that dbt kept all of its "
                "settings. Keep the manifest in its project, or run kanon-sql there."
            )

    def place(self, node: Node) -> Place:
        """The location of a node's name in the project's YAML, or the first line of its file."""
        return self.described_at(node) or Place(self._file(node), 1, 1)

    def places_of_tests(self, node: Node, checks: Sequence[Model]) -> tuple[Place, ...]:
        """The location of the test that asks each check, those with a threshold first; that of the
        node for a check of its meta, or where several tests might."""
        description = self._description(node) if node.is_described else None
        tests = description.tests if description else ()

        def place(check: Model) -> Place:
            parameters = check.parameters
            asked = [
                where
                for name, arguments, where in tests
                if name == f"kanon_sql.{check.name()}"
                and all(arguments[key] == parameters[key] for key in parameters.keys() & arguments)
            ]
            return asked[0] if len(asked) == 1 else self.place(node)

        return tuple(place(check) for check in sorted(checks, key=lambda each: not each.gates))

    def described_at(self, node: Node) -> Place | None:
        """The location of a node's name in the project's YAML; None if it is not described."""
        description = self._description(node) if node.is_described else None
        return description.place if description else None

    def refuse_replaced_meta(self, node: Node) -> None:
        """Raise `SpecError` if the project's YAML and the manifest differ in `meta.kanon_sql`.

        This covers settings of dbt_project.yml that the manifest lacks. Values with Jinja can't be
        compared and are left to dbt.
        """
        for meta in self.project.metas(node.kind, node.path):
            missing_keys = [key for key in mapping(meta.get(META_KEY)) if key not in node.settings]
            if missing_keys:
                raise node.fail(
                    f"dbt_project.yml sets {' and '.join(missing_keys)} for it, but {self.path} "
                    "does not: dbt keeps only one of several kanon_sql. Write all settings in one "
                    "place, or run dbt parse if the manifest is older."
                )
        is_declared = node.is_annotated or node.declares("published")
        if not (is_declared or self.project.contains(self._file(node), META_KEY)):
            return
        description = self._description(node)
        if description is None:
            return
        pairs = [("its config.meta.kanon_sql", description.meta, node.settings)]
        pairs += [
            (f"the meta of column {name}", meta, node.columns.get(name, {}))
            for name, meta in description.columns.items()
        ]
        for subject, meta, parsed in pairs:
            if META_KEY in meta and not _is_same_setting(meta[META_KEY], parsed):
                raise node.fail(
                    f"{subject} differs from {self.path}. If the manifest is older than the file, "
                    "run dbt parse. Otherwise config() in the model or dbt_project.yml has a meta "
                    "too, and one replaces the other: write it in one place."
                )

    def _name(self, node: Node) -> str:
        """The node's name in the result; its unique id if the name is ambiguous."""
        calls = Counter(
            node.display_name
            for node in self.nodes
            if node.is_annotated or node.declares("published")
        )
        name = node.display_name if calls[node.display_name] == 1 else node.unique_id
        return f"{name} ({node.about})" if node.about else name

    def _file(self, node: Node) -> Path:
        return self.project.file(node.location, node.package)

    def _description(self, node: Node) -> Description | None:
        return self.project.description(self._file(node), node.name, node.version, node.source)

    def _references(self, node: Node) -> dict[str, Any]:
        name = node.meta.get("reference")
        if name is None:
            settings = settings_of_other(node, REFERENCE)
            orphan_key = next((f"reference_{key}" for key in settings), None)
            if orphan_key or node.meta.get("k_map") is not None:
                raise node.fail(
                    f"{orphan_key or 'k_map'} needs a reference: the name of a model, seed or "
                    "source."
                )
            return {}
        source = _source(self._named(node, name, REFERENCE))
        return {str(name): {"source": source, **settings_of_other(node, REFERENCE)}}

    def _made_from(self, node: Node) -> dict[str, Any]:
        """The original and the holdout of a synthetic table."""
        singles = [kind for kind in OTHER_TABLES if kind.is_single]
        for kind in singles:
            settings = settings_of_other(node, kind)
            if settings and node.meta.get(kind.prefix) is None:
                raise node.fail(
                    f"{kind.prefix}_{next(iter(settings))} needs {kind.a_noun}: the name of a "
                    "model, seed or source."
                )
        return {
            kind.key: {
                "source": _source(self._named(node, node.meta[kind.prefix], kind)),
                **settings_of_other(node, kind),
            }
            for kind in singles
            if node.meta.get(kind.prefix) is not None
        }

    def _named(self, node: Node, name: Any, kind: OtherTableKind) -> Node:
        """The node that the meta of another one names. Raises `SpecError` unless it is one."""
        nodes = [node for node in self.nodes if name in node.names]
        if not nodes:
            display_names = [node.display_name for node in self.nodes]
            raise node.fail(
                f'there is no model, seed or source "{name}" for its {kind.noun}.'
                f"{did_you_mean(str(name), display_names)}"
            )
        if len(nodes) > 1:
            candidates = " or ".join(node.unique_id for node in nodes)
            raise node.fail(f'"{name}" for its {kind.noun} is ambiguous: write {candidates}.')
        return nodes[0]


def _exposures(manifest: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The nodes that each exposure reads by its name, also through metrics and saved queries."""
    read: dict[str, list[str]] = {
        str(unique_id): [*map(str, mapping(mapping(each).get("depends_on")).get("nodes") or ())]
        for key in ("exposures", "metrics", "saved_queries", "semantic_models")
        for unique_id, each in mapping(manifest.get(key)).items()
    }
    exposures: dict[str, tuple[str, ...]] = {}
    for unique_id, each in mapping(manifest.get("exposures")).items():
        nodes = [str(unique_id)]
        for node in nodes:
            nodes += [parent for parent in read.get(node, ()) if parent not in nodes]
        name = str(mapping(each).get("name"))
        # Packages may have exposures of one name.
        exposures[name] = (*exposures.get(name, ()), *nodes[1:])
    return exposures


def _source(node: Node) -> str:
    """The node's relation name with its database, so that a table of the same name in another
    database is never read."""
    if node.relation is None:
        raise node.fail("it is ephemeral, so there is no table to read. Materialise it.")
    return node.relation


def _not_run(test: GenericTest, reasons: Iterable[str]) -> str:
    return f"dbt's test {test.name} is not run here: {'; '.join(reasons)}."


def _tests_node(test: GenericTest, node: Node) -> bool:
    if test.tested is not None:
        return test.tested == node.unique_id
    return node.unique_id in test.upstream and referenced_node(test.relation) in node.names


def with_defaults(check: Model, table: TableSpec) -> dict[str, Any]:
    """The parameters of a check, with the default column and reference filled in."""
    choices = {"sensitive": table.sensitive, "reference": list(table.references)}
    defaults = {
        key: names[0]
        for key, names in choices.items()
        if key in type(check).model_fields and len(names) == 1
    }
    if table.with_other_sensitive and "with_other_sensitive" in type(check).model_fields:
        return defaults | check.parameters | {"with_other_sensitive": True}
    return defaults | check.parameters


def is_same_check(check: Model, other: Model, table: TableSpec) -> bool:
    """Whether two checks have the same model, attribute and other table."""
    a, b = with_defaults(check, table), with_defaults(other, table)
    about = ("sensitive", "m", "times", *(kind.prefix for kind in OTHER_TABLES))
    return type(check) is type(other) and all(a.get(key) == b.get(key) for key in about)


def _differences(of_meta: Model, of_test: Model, table: TableSpec) -> Iterator[str]:
    """How a meta's check differs from a test's. Lists are not shown, as they may contain values."""
    a, b = with_defaults(of_meta, table), with_defaults(of_test, table)
    for key in sorted({*a, *b}):
        if a.get(key) != b.get(key):
            of = f" = {b.get(key)} by {a.get(key)}" if key in of_meta.thresholds else ""
            yield f"config.meta.kanon_sql overrides its {key}{of}"


def _is_same_setting(declared: Any, parsed: Any) -> bool:
    """Whether the manifest has a setting as the YAML declares it."""
    match declared:
        case str() if "{{" in declared:
            return True
        case dict():
            return (
                isinstance(parsed, Mapping)
                and {str(key) for key in declared} == set(parsed)
                and all(_is_same_setting(item, parsed[str(key)]) for key, item in declared.items())
            )
        case list():
            return (
                isinstance(parsed, list)
                and len(declared) == len(parsed)
                and all(map(_is_same_setting, declared, parsed))
            )
        case date():
            return bool(declared.isoformat() == parsed)
    return bool(declared == parsed)


def settings_by_role(node: Node, advice: str) -> dict[str, Any]:
    """The columns of a node as settings of its table. Raises `SpecError` with `advice` if nothing
    can be audited."""
    by_role = {role: node.with_role(role.name) for role in ROLES if role.name}
    if not any(columns for role, columns in by_role.items() if role.is_generalisable):
        raise node.fail(
            f"no column has the role quasi_identifier, so nothing can be audited. {advice}"
        )
    return {role.key: _settings(node, role, columns) for role, columns in by_role.items()}


def _settings(node: Node, role: Role, columns: Sequence[str]) -> Any:
    """The columns of a role as a table's setting."""
    if role.is_single:
        return _single_column(node, role.name, columns)
    if not role.is_generalisable:
        return columns
    settings_by_column = {name: node.columns.get(name, {}) for name in columns}
    return {
        name: {key: settings[key] for key in QUASI_IDENTIFIER_KEYS if key in settings}
        for name, settings in settings_by_column.items()
    }


def settings_of_other(node: Node, kind: OtherTableKind) -> dict[str, Any]:
    """The settings of a node's reference, original or holdout, from its short keys."""
    prefix = f"{kind.prefix}_"
    return {
        key.removeprefix(prefix): value
        for key, value in node.meta.items()
        if key.startswith(prefix)
    }


def _single_column(node: Node, role: str, columns: Sequence[str]) -> str | None:
    """The one column of a role, which the model's meta may name too."""
    named = [*columns, *([node.meta[role]] if node.meta.get(role) else [])]
    if len(set(named)) > 1:
        raise node.fail(f"{' and '.join(map(str, named))} are each called the {role}; choose one.")
    return str(named[0]) if named else None


def declared_checks(node: Node, sensitive: list[str]) -> list[Any]:
    """The checks of a node, short forms first."""
    meta = node.meta
    for key in ("l", "t"):
        if meta.get(key) is not None and not sensitive:
            raise SpecError(f"{key} needs a column with the role sensitive.")
    checks = meta.get("checks")
    if not isinstance(checks, list | None):
        raise SpecError(
            "checks must be a list of models, as in [{k_anonymity: {k: 5}}]; found "
            f"{'a mapping' if isinstance(checks, dict) else repr(checks)}."
        )
    return [*short_checks(meta, sensitive, meta.get("reference")), *(checks or ())]
