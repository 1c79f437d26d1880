"""A model, seed, snapshot or source of a dbt manifest, with its `meta.kanon_sql`; selects nodes by
the common subset of dbt's selectors.

https://docs.getdbt.com/reference/node-selection/syntax
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean, in_one, option
from kanon_sql.models.catalogue import model_named
from kanon_sql.question.dbt.generic_tests import SETTINGS, GenericTest, Question, question
from kanon_sql.question.dbt.project import mapping, meta_of
from kanon_sql.question.roles import NAMES
from kanon_sql.question.spec import TablesKey


@dataclass(frozen=True)
class Selection:
    """The nodes of a project, and those of an older manifest."""

    nodes: Sequence[Node]
    before: Sequence[Node] | None = None
    """The nodes of the older manifest that `state:` compares with."""

    def of(self, key: str, selectors: Iterable[str]) -> frozenset[str]:
        """The unique ids of the nodes that any selector matches; `key` is the option, for messages.

        Selectors are a name, `tag:`, `path:`, `access:` or `state:`, with a `+` before it for its
        ancestors and behind it for its descendants. Raises `SpecError` for any other.
        """
        unique_ids: frozenset[str] = frozenset()
        for selector in selectors:
            unique_ids |= self._of(key, selector)
        return unique_ids

    def _of(self, key: str, selector: str) -> frozenset[str]:
        inner = selector.removeprefix("+").removesuffix("+")
        if any(operator in inner for operator in "+@,"):
            raise SpecError(
                f"{option(key, selector)}: the only supported operator of dbt is + before or "
                "after a selector. Replace intersections and other operators by the models' names."
            )
        unique_ids = frozenset(
            node.unique_id for node in self.nodes if self._matches(key, inner, node)
        )
        parents = {node.unique_id: node.parents for node in self.nodes}
        children: dict[str, list[str]] = {}
        for node in self.nodes:
            for parent in node.parents:
                children.setdefault(parent, []).append(node.unique_id)
        before = _reached(unique_ids, parents) if selector.startswith("+") else frozenset()
        after = _reached(unique_ids, children) if selector.endswith("+") else frozenset()
        return unique_ids | before | after

    def _matches(self, key: str, selector: str, node: Node) -> bool:
        method, colon, pattern = selector.partition(":")
        if not colon and "/" in selector:
            method, colon, pattern = "path", ":", selector
        if not colon:
            return any(fnmatchcase(name, selector) for name in node.names)
        if method == "tag":
            return any(fnmatchcase(tag, pattern) for tag in node.tags)
        if method == "path":
            folder = pattern.removeprefix("./").rstrip("/")
            return any(
                fnmatchcase(file, folder) or file.startswith(f"{folder}/")
                for file in (node.original, node.location)
            )
        if method == "access" and pattern in ACCESSES:
            return node.access == pattern
        if method == "state" and pattern in ("modified", "new"):
            return self._is_changed(key, selector, node)
        raise SpecError(
            f"{option(key, selector)}: a selector is a model's name, tag:NAME, path:FOLDER, "
            "access:public, state:modified or state:new."
        )

    def _is_changed(self, key: str, selector: str, node: Node) -> bool:
        if self.before is None:
            raise SpecError(
                f"{option(key, selector)} compares with an older manifest: name its folder with "
                f"{option('state', 'FOLDER')}."
            )
        old = next((other for other in self.before if other.unique_id == node.unique_id), None)
        if old is None or selector == "state:new":
            return old is None
        return old.content != node.content


def _reached(
    start: frozenset[str], edges: dict[str, tuple[str, ...]] | dict[str, list[str]]
) -> frozenset[str]:
    """The nodes reachable over edges."""
    reached: set[str] = set()
    ahead = list(start)
    while ahead:
        for unique_id in edges.get(ahead.pop(), ()):
            if unique_id not in reached:
                reached.add(unique_id)
                ahead.append(unique_id)
    return frozenset(reached)


META_KEY = "kanon_sql"
"""The key in a meta that holds the settings of kanon-sql."""
PUBLISHED_KEY = "published"
"""The key in these settings for a table that is published."""
LINEAGE_KEY = "lineage"
"""The key in these settings for a model whose roles are complete."""
DECLARED = "declared"
"""The value of that key."""
ACCESSES = ("private", "protected", "public")
KINDS = ("model", "seed", "snapshot", "source")
QUASI_IDENTIFIER_KEYS = ("hierarchy", "levels", "clip")
_TABLE_KEYS = (
    "k", "l", "t", "k_map", "checks", "reference", "reference_columns", "reference_entity",
    "reference_where", "reference_weight", "entity", "where", "nulls", "sensitive_nulls",
    "with_other_sensitive", "original", "original_columns", "original_entity", "original_where",
    "holdout", "holdout_where",
)  # fmt: skip
_COLUMN_KEYS = ("role", *QUASI_IDENTIFIER_KEYS)
MARKS = {"pii", "personal", "personal_data"}


@dataclass(frozen=True, kw_only=True)
class Node:
    """A model, seed, snapshot or source of the project."""

    name: str
    unique_id: str
    kind: str
    """The resource type in dbt: model, seed, snapshot or source."""
    path: tuple[str, ...] = ()
    """The node's fqn in dbt: project or package, folders and name."""
    version: str | None = None
    source: str | None = None
    """The source a source table belongs to."""
    package: str | None = None
    relation: str | None
    location: str
    """The YAML file that describes it, else its own file."""
    is_described: bool
    original: str
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Any]
    """Its own `meta.kanon_sql`, without a published table and lineage."""
    columns: Mapping[str, Mapping[str, Any]]
    """The `meta.kanon_sql` of each column that has one."""
    personal: tuple[str, ...]
    """The columns tagged or classified as personal."""
    described: tuple[str, ...] = ()
    """Every column that its YAML lists."""
    parents: tuple[str, ...] = ()
    """The unique ids of its upstream nodes."""
    fingerprint: tuple[Any, ...] = ()
    """The checksum of its file, and its unrendered configuration."""
    tests: tuple[GenericTest, ...] = ()
    """The tests of this package on it."""
    idle: tuple[GenericTest, ...] = ()
    """Tests that only dbt runs, and that give no roles."""
    about: str = ""
    """What tells this question from the node's first."""
    key: str = META_KEY
    """The key of its settings, in messages."""
    home: str = "the dbt project"
    """What declares it, in messages."""
    published: Mapping[str, Any] | None = None
    """The table that is published, by the keys of its spec."""
    lineage: str | None = None
    """`declared` if its roles are complete, so that it inherits none."""
    sql: str | None = None
    """Its compiled SQL."""
    language: str = "sql"
    materialized: str = ""
    access: str = ""
    """Whether other projects may read it: private, protected or public."""
    inherited: tuple[str, ...] = ()
    """Sentences on the roles that it inherits; with these it may be measured without a check."""
    keys: tuple[str, ...] = ()
    """The columns of a snapshot's key and time."""

    @property
    def display_name(self) -> str:
        """Its name as in `dbt ls`, with the version if it has one."""
        return f"{self.name}.v{self.version}" if self.version else self.name

    @property
    def names(self) -> tuple[str, ...]:
        """All names a project may refer to it by."""
        of_source = (f"{self.source}.{self.name}",) if self.source else ()
        return (self.name, self.display_name, self.unique_id, *of_source)

    @property
    def content(self) -> tuple[Any, ...]:
        """Everything that changes with its SQL or with its audit."""
        return (*self.fingerprint, self.settings, self.columns, self.personal, self.tests)

    @property
    def is_ephemeral(self) -> bool:
        """Whether it is only a CTE of other models."""
        return self.relation is None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its whole `meta.kanon_sql`."""
        others = {PUBLISHED_KEY: self.published, LINEAGE_KEY: self.lineage}
        return {**self.meta, **{key: value for key, value in others.items() if value is not None}}

    @property
    def is_annotated(self) -> bool:
        """Whether it declares roles or checks."""
        return bool(self.meta or self.columns or self.tests)

    def declares(self, key: TablesKey) -> bool:
        """Whether it declares a table of records, or one that is published."""
        if key == "published":
            return self.published is not None
        return self.is_annotated and not self.is_origin

    @property
    def is_origin(self) -> bool:
        """Whether its roles are followed by lineage alone, as no check is declared with them."""
        may_be = self.kind in ("source", "seed") or self.lineage is not None
        return may_be and not self.has_checks

    @property
    def has_checks(self) -> bool:
        """Whether it declares more than roles."""
        return bool(self.meta or self.tests)

    @property
    def gates(self) -> bool:
        """Whether an audit of it can fail: by a check with a threshold, or the rules of a table."""
        checks = self.meta.get("checks")
        listed = checks if isinstance(checks, list) else []
        entries = [{each: None} if isinstance(each, str) else each
                   for each in listed if isinstance(each, str | dict)]  # fmt: skip
        thresholds = [self.meta.get(key) for key in ("k", "l", "t", "k_map")]
        return (
            self.published is not None
            or any(threshold is not None for threshold in thresholds)
            or any(_has_threshold(*each) for entry in entries for each in entry.items())
            or any(not test.idle_because for test in self.tests)
        )

    def fail(self, sentence: str) -> SpecError:
        return SpecError(f"{self.location}: {self.display_name}: {sentence}")

    @property
    def question(self) -> Question:
        """What its metas and its tests ask of the table once for all checks."""
        named = [*self.with_role("entity"), self.meta.get("entity")]
        settings = {key: self.setting(key) for key in SETTINGS}
        columns = (self.with_role("event"), self.with_role("quasi_identifier"))
        return question(*columns, named[0], settings)

    def questions(self) -> Iterator[Node]:
        """The node once for each question: that of its metas and its tests of records, and those of
        its tests of events that ask another one. None if only dbt runs its tests."""
        of_events = [test for test in self.tests if test.is_of_events]
        of_records = [test for test in self.tests if not test.is_of_events]
        is_asked = bool(self.meta or self.columns or not all(t.idle_because for t in of_records))
        idle = of_events if is_asked else self.tests
        own = replace(
            self,
            tests=tuple(of_records) if is_asked else (),
            idle=tuple(test for test in idle if test.idle_because),
        )
        tests_by_question: dict[Question, list[GenericTest]] = {}
        if own.with_role("quasi_identifier") or own.with_role("event"):
            tests_by_question[own.question] = []
        for test in of_events:
            if not test.idle_because:
                tests_by_question.setdefault(test.question, []).append(test)
        first, *others = list(tests_by_question.values()) or [[]]
        if is_asked or first:
            yield replace(own, tests=(*own.tests, *first))
        abouts = [_about(tests[0]) for tests in others]
        for about, tests in zip(abouts, others, strict=True):
            is_clear = abouts.count(about) == 1
            yield self._about_events(tests, about if is_clear else f"{about}, {tests[0].name}")

    def _about_events(self, tests: Sequence[GenericTest], about: str) -> Node:
        """The node with the question of these tests alone; of its metas, the other columns keep
        their roles unless an attacker knows them."""
        roles = {name.casefold() for name in tests[0].roles}
        columns = {
            name: column
            for name, column in self.columns.items()
            if column.get("role") in ("sensitive", "identifier", "insensitive")
            and name.casefold() not in roles
        }
        return replace(self, tests=tuple(tests), meta={}, columns=columns, about=about)

    def with_role(self, role: str) -> list[str]:
        """The columns of a role. A column's meta overrides the tests' role for it;
        quasi-identifiers or an entity declared in metas replace the tests' entirely."""
        columns = [name for name, column in self.columns.items() if column.get("role") == role]
        if (columns and role in ("quasi_identifier", "entity")) or self.meta.get(role):
            return columns
        annotated = {name.casefold() for name in self.columns}
        for test in self.tests:
            for name, of_test in test.roles.items():
                if of_test == role and name.casefold() not in annotated:
                    annotated.add(name.casefold())
                    columns.append(name)
        return columns

    def refuse_two_roles(self) -> None:
        """Raise `SpecError` if tests give a column two roles and no meta decides."""
        annotated = {name.casefold() for name in self.columns}
        role_by_column: dict[str, tuple[str, str]] = {}
        for test in self.tests:
            for name, role in test.roles.items():
                other, first = role_by_column.setdefault(name.casefold(), (role, test.name))
                if other != role and name.casefold() not in annotated:
                    raise self.fail(
                        f'"{name}" is {other} in the test {first} and {role} in {test.name}. Give '
                        "it its config.meta.kanon_sql.role, which overrides the tests."
                    )

    def setting(self, key: str) -> Any:
        """A table setting: from the meta if there is one, else from the tests if all agree."""
        if self.meta:
            return self.meta.get(key)
        values = {test.settings[key] for test in self.tests if test.applies(key)}
        return values.pop() if len(values) == 1 else None

    def personal_columns_exposed(self) -> Iterator[str]:
        """A warning for each column marked as personal that the audit treats as harmless or
        publishes."""
        for name in self.personal:
            role = self.columns.get(name, {}).get("role")
            if role == "identifier":
                yield (
                    f'"{name}" is marked as personal in {self.home}, and is an identifier that '
                    "is still in the table. Drop it before the table is published."
                )
            elif role in (None, "insensitive"):
                yield (
                    f'"{name}" is marked as personal in {self.home} and is neither a '
                    "quasi-identifier nor sensitive nor an identifier. Give it its role."
                )


def _has_threshold(name: Any, parameters: Any) -> bool:
    """Whether a check of a meta can fail: one without a threshold is measured."""
    try:
        model = model_named(str(name))
    except SpecError:
        return False
    return not model.thresholds or any(
        mapping(parameters).get(threshold) is not None for threshold in model.thresholds
    )


def _about(test: GenericTest) -> str:
    """What a test asks about, in words."""
    known = f" of {', '.join(test.quasi_identifiers)}" if test.quasi_identifiers else ""
    return f"events {', '.join(test.events)}{known}"


def parsed_node(raw: Mapping[str, Any]) -> Node:
    """Parse a node of a manifest. Raises `SpecError` for a meta that is no mapping."""
    original = str(raw.get("original_file_path") or "")
    is_source = raw.get("resource_type") == "source"
    patch = raw.get("patch_path") or (original if is_source else "")
    location = str(patch or original)
    location = location.partition("://")[2] or location
    name, version = str(raw.get("name")), raw.get("version")
    columns = {str(name): column for name, column in mapping(raw.get("columns")).items()}
    prefix = f"{location}: {name}:"
    meta = dict(_settings(raw, f"{prefix} its meta"))
    published = meta.pop(PUBLISHED_KEY, None)
    if published is not None and not isinstance(published, dict):
        raise SpecError(
            f"{prefix} kanon_sql.published must be a mapping, as in {{by: [region], value: n}}; "
            f"found {published!r}."
        )
    config = mapping(raw.get("config"))
    lineage = meta.pop(LINEAGE_KEY, None)
    if lineage not in (None, DECLARED):
        raise SpecError(
            f"{prefix} kanon_sql.lineage must be declared; found {lineage!r}."
            f"{did_you_mean(str(lineage), [DECLARED])}"
        )
    settings = {
        name: _settings(column, f"{prefix} the meta of column {name}")
        for name, column in columns.items()
    }
    # Before dbt 1.3 the compiled SQL was the key `compiled_sql`.
    compiled = raw.get("compiled_code", raw.get("compiled_sql"))
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
        meta=meta,
        columns={
            name: column_settings for name, column_settings in settings.items() if column_settings
        },
        personal=tuple(name for name, column in columns.items() if _is_personal(column)),
        described=tuple(columns),
        parents=_texts(mapping(raw.get("depends_on")).get("nodes")),
        fingerprint=(raw.get("checksum"), raw.get("unrendered_config")),
        published=published,
        lineage=lineage,
        sql=compiled if isinstance(compiled, str) else None,
        language=str(raw.get("language") or "sql"),
        materialized=str(config.get("materialized") or ""),
        keys=(*_texts(config.get("unique_key")), *_texts(config.get("updated_at"))),
        access=str(raw.get("access") or config.get("access") or ""),
    )


def _settings(raw: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
    """The `kanon_sql` settings of `config.meta` or the older `meta`; raises `SpecError` if they
    differ, or if the key is spelled otherwise."""
    metas = [mapping(mapping(raw.get("config")).get("meta")), mapping(raw.get("meta"))]
    for key in [key for meta in metas for key in meta if key != META_KEY]:
        if is_spelled_as(key, META_KEY):
            raise SpecError(f"{subject} has the key {key}, which is spelled {META_KEY}.")
    settings = [meta[META_KEY] for meta in metas if META_KEY in meta]
    if any(setting != settings[0] for setting in settings):
        raise SpecError(f"{subject} and its config.meta differ in kanon_sql. Keep config.meta.")
    if settings and not isinstance(settings[0], dict):
        raise SpecError(f"kanon_sql in {subject} must be a mapping; found {settings[0]!r}.")
    return settings[0] if settings else {}


def is_spelled_as(name: Any, expected: str) -> bool:
    """Whether a name equals the expected one up to case and punctuation.

    >>> is_spelled_as("kanonSql", META_KEY), is_spelled_as("soda", META_KEY)
    (True, False)
    """
    letters, expected_letters = (
        re.sub("[^a-z0-9]", "", str(value).casefold()) for value in (name, expected)
    )
    return letters == expected_letters


def _texts(value: Any) -> tuple[str, ...]:
    """A text or a list of texts as a tuple; empty for anything else."""
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _is_personal(column: Mapping[str, Any]) -> bool:
    config, meta = mapping(column.get("config")), meta_of(column)
    tags = [*_texts(column.get("tags")), *_texts(config.get("tags"))]
    marks = {str(mark).lower() for mark in (*tags, meta.get("classification"))}
    return bool(MARKS & marks) or meta.get("pii") is True


def refuse_unknown(node: Node, further_keys: tuple[str, ...] = ()) -> None:
    """Raise `SpecError` for each key of the meta that is neither known nor one of `further_keys`,
    and for each unknown role."""
    if faults := [*_unknown_in(node, (*_TABLE_KEYS, *further_keys))]:
        raise in_one(faults)


def _unknown_in(node: Node, keys: tuple[str, ...]) -> Iterator[SpecError]:
    for key in node.meta:
        if key not in keys:
            yield node.fail(f'unknown key "{key}" in {node.key}.{did_you_mean(key, keys)}')
    for name, settings in node.columns.items():
        for key in settings:
            if key not in _COLUMN_KEYS:
                yield node.fail(
                    f'column {name}: unknown key "{key}" in {node.key}.'
                    f"{did_you_mean(key, _COLUMN_KEYS)}"
                )
        role = settings.get("role")
        if role not in NAMES:
            description = f"found {role!r}" if "role" in settings else "it has none"
            suggestion = did_you_mean(str(role), NAMES) if "role" in settings else ""
            yield node.fail(
                f"column {name}: role must be one of {', '.join(NAMES)}; {description}.{suggestion}"
            )
        idle = [key for key in QUASI_IDENTIFIER_KEYS if key in settings]
        if idle and role in NAMES and role not in ("quasi_identifier", "event"):
            yield node.fail(
                f"column {name}: {idle[0]} is for a quasi_identifier, and its role is {role}."
            )
