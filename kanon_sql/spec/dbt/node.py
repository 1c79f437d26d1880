"""A model, seed, snapshot or source of a dbt manifest, with what it says to kanon-sql."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.spec.dbt.generic_tests import ROLES, GenericTest, Role
from kanon_sql.spec.dbt.project import mapping, meta_of

OURS = "kanon_sql"
"""The key in a meta under which a project speaks to kanon-sql."""
KINDS = ("model", "seed", "snapshot", "source")
OF_A_QUASI_IDENTIFIER = ("hierarchy", "levels", "clip")
_KEYS = (
    "k", "l", "t", "k_map", "checks", "reference", "reference_columns", "reference_entity",
    "reference_where", "reference_weight", "entity", "where", "nulls", "sensitive_nulls",
    "with_other_sensitive",
)  # fmt: skip
_OF_A_COLUMN = ("role", *OF_A_QUASI_IDENTIFIER)
_MARKS = {"pii", "personal", "personal_data"}


@dataclass(frozen=True)
class Node:
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
    parents: tuple[str, ...]
    """The unique ids of what it is made from."""
    written: tuple[Any, ...]
    """The checksum of its file, and its configuration as it stands there."""
    tests: tuple[GenericTest, ...] = ()
    """The tests of this package on it."""

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
    def content(self) -> tuple[Any, ...]:
        """What changes where its SQL does, or what an audit asks of it."""
        return (*self.written, self.meta, self.columns, self.marked, self.tests)

    @property
    def is_ephemeral(self) -> bool:
        """Whether it is a CTE of other models, and no table."""
        return self.relation is None

    @property
    def speaks(self) -> bool:
        """Whether it says anything to kanon-sql."""
        return bool(self.meta or self.columns or self.tests)

    def fail(self, sentence: str) -> SpecError:
        return SpecError(f"{self.location}: {self.called}: {sentence}")

    def with_role(self, role: Role) -> list[str]:
        """The columns of a role. A meta overrides the tests: a column that has one there has no
        other, and quasi-identifiers or an entity there are all of them."""
        said = [name for name, each in self.columns.items() if each.get("role") == role]
        if (said and role in ("quasi_identifier", "entity")) or self.meta.get(role):
            return said
        known = {name.casefold() for name in self.columns}
        for test in self.tests:
            for name, of_test in test.roles.items():
                if of_test == role and name.casefold() not in known:
                    known.add(name.casefold())
                    said.append(name)
        return said

    def refuse_two_roles(self) -> None:
        """Raise where tests give a column two roles, and no meta says which it has."""
        known = {name.casefold() for name in self.columns}
        found: dict[str, tuple[Role, str]] = {}
        for test in self.tests:
            for name, role in test.roles.items():
                other, first = found.setdefault(name.casefold(), (role, test.name))
                if other != role and name.casefold() not in known:
                    raise self.fail(
                        f'"{name}" is {other} in the test {first} and {role} in {test.name}. Give '
                        "it its config.meta.kanon_sql.role, which overrides the tests."
                    )

    def setting(self, key: str) -> Any:
        """What holds for the whole table: as its meta says, if it demands anything, else as all
        tests that can fail say."""
        if self.meta:
            return self.meta.get(key)
        said = {each.settings[key] for each in self.tests if each.is_asked_with(key)}
        return said.pop() if len(said) == 1 else None

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


def node_of(raw: Mapping[str, Any]) -> Node:
    """The node that a manifest describes. Raises `SpecError` for a meta that is no mapping."""
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
    return Node(
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
        parents=_texts(mapping(raw.get("depends_on")).get("nodes")),
        written=(raw.get("checksum"), raw.get("unrendered_config")),
    )


def _said(raw: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What a `meta` says to kanon-sql: `config.meta` and the older `meta` must not differ."""
    metas = [mapping(mapping(raw.get("config")).get("meta")), mapping(raw.get("meta"))]
    said = [meta[OURS] for meta in metas if OURS in meta]
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


def refuse_unknown(node: Node) -> None:
    """Raise `SpecError` for a key or a role of the meta that nobody knows."""
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
        idle = [key for key in OF_A_QUASI_IDENTIFIER if key in said]
        if idle and role != "quasi_identifier":
            raise node.fail(
                f"column {name}: {idle[0]} is for a quasi_identifier, and its role is {role}."
            )
