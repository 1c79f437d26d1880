"""This package's generic tests in a dbt manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import MODELS
from kanon_sql.question.dbt.project import mapping
from kanon_sql.question.other_tables import OTHER_TABLES, OtherTableKind
from kanon_sql.question.table import TableSpec

_RENDERED = re.compile(r"\{\{|^\s*(env_var|ref|var|source|doc)\s*\(.+\)\s*$")
"""What dbt renders before a test runs, as `looks_like_func` in its clients/jinja.py has it."""
_REFERRED = re.compile(r"\b(ref|source)\s*\(([^()]*)\)")
_VERSION = re.compile(r",\s*v(?:ersion)?\s*=\s*['\"]?([\w.]+)['\"]?")
_OTHER_TABLES = tuple(kind.prefix for kind in OTHER_TABLES)
SETTINGS = ("where", "nulls", "sensitive_nulls")
_STRICT = ("!= 0", "!=0", "> 0", ">0", ">= 1", ">=1")


@dataclass(frozen=True)
class GenericTest:
    """A generic test of this package on one node."""

    name: str
    model: type[Model]
    tested: str | None
    """The unique id of the node; None for a source, which `relation` names."""
    relation: str
    """The relation under test, as Jinja."""
    upstream: tuple[str, ...]
    """The unique ids of all relations that the test reads."""
    quasi_identifiers: tuple[str, ...]
    sensitive: str | None
    entity: str | None
    events: tuple[str, ...]
    settings: Mapping[str, Any]
    """`where`, `nulls` and `sensitive_nulls`, which a spec has per table."""
    parameters: Mapping[str, Any]
    """The parameters of the model."""
    others: Mapping[OtherTableKind, Mapping[str, Any]]
    """The arguments of `reference` and `earlier`; each `source` is Jinja."""
    rendered: tuple[str, ...]
    """The arguments that only dbt can render."""
    severity: str
    tolerates: bool
    """Whether dbt tolerates some failures."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> GenericTest | None:
        """The test in a manifest node; None if it belongs to another package."""
        metadata, config = mapping(raw.get("test_metadata")), mapping(raw.get("config"))
        model = MODELS.get(str(metadata.get("name")))
        if model is None or metadata.get("namespace") != "kanon_sql":
            return None
        arguments = dict(mapping(metadata.get("kwargs")))
        arguments |= mapping(arguments.pop("arguments", None))
        relation = str(arguments.pop("model", ""))
        column = arguments.pop("column_name", None)
        if "sensitive" in model.model_fields and arguments.get("sensitive") is None:
            arguments["sensitive"] = column
        arguments = {key: value for key, value in arguments.items() if value is not None}
        quotes = arguments.pop("quote_columns", None) is True
        arguments["where"] = config.get("where")
        rendered = tuple(key for key, value in arguments.items() if _is_rendered(key, value))
        arguments = {key: value for key, value in arguments.items() if key not in rendered}
        names = arguments.pop("quasi_identifiers", ())
        others = {kind: _other_table(arguments, kind.prefix) for kind in OTHER_TABLES}
        return cls(
            name=str(raw.get("name")),
            model=model,
            tested=raw.get("attached_node"),
            relation=relation,
            upstream=tuple(map(str, mapping(raw.get("depends_on")).get("nodes") or ())),
            quasi_identifiers=tuple(
                _unquoted(name, quotes) for name in names if isinstance(names, list)
            ),
            sensitive=_unquoted(arguments.pop("sensitive", None), quotes),
            entity=_unquoted(arguments.pop("entity", None), quotes),
            events=tuple(_unquoted(event, quotes) for event in arguments.pop("events", ())),
            settings={key: arguments.pop(key, None) for key in SETTINGS},
            parameters=arguments,
            others={
                kind: _with_unquoted_names(other, quotes) for kind, other in others.items() if other
            },
            rendered=rendered,
            severity=str(config.get("severity") or "error").lower(),
            tolerates=str(config.get("error_if") or "!= 0") not in _STRICT,
        )

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column that the test names."""
        role_by_column: dict[str, str] = dict.fromkeys(self.quasi_identifiers, "quasi_identifier")
        role_by_column |= dict.fromkeys(self.events, "event")
        role_by_column |= {self.sensitive: "sensitive"} if self.sensitive else {}
        return role_by_column | ({self.entity: "entity"} if self.entity else {})

    @property
    def is_of_events(self) -> bool:
        return self.model.family == "events"

    @property
    def idle_because(self) -> str:
        """Why only dbt runs it; empty otherwise."""
        if self.rendered:
            return f"dbt alone can render its {' and '.join(self.rendered)}"
        return "dbt only warns of it" if self.severity == "warn" else ""

    @property
    def question(self) -> Question:
        """What it asks, as far as a table has it once for all of its checks."""
        return question(self.events, self.quasi_identifiers, self.entity, self.settings)

    def applies(self, setting: str) -> bool:
        """Whether a table setting can be taken from this test: dbt must be able to fail on it, and
        the setting must affect it."""
        return self.severity != "warn" and (setting != "sensitive_nulls" or bool(self.sensitive))

    def knows_other_sensitive(self, table: TableSpec) -> bool:
        """Whether its quasi-identifiers are the table's plus all other sensitive columns."""
        sensitive = _folded(table.sensitive)
        others = sensitive - _folded([self.sensitive or ""])
        return len(others) < len(sensitive) and _folded(self.quasi_identifiers) == (
            _folded(table.quasi_identifiers) | others
        )

    def with_other_sensitive(self, table: TableSpec) -> dict[str, bool]:
        """The parameter `with_other_sensitive`, if its quasi-identifiers imply it."""
        knows_others = _folded(self.quasi_identifiers) != _folded(table.quasi_identifiers)
        return {"with_other_sensitive": True} if knows_others else {}

    def differences_from(self, table: TableSpec) -> Iterator[str]:
        """The reasons why an audit of the table can't reproduce the test."""
        if self.idle_because:
            yield self.idle_because
        if self.rendered:
            return
        tested, declared = self.quasi_identifiers, table.quasi_identifiers
        if _folded(tested) != _folded(declared) and not self.knows_other_sensitive(table):
            named, roles = (", ".join(names) or "none" for names in (tested, declared))
            yield f"its quasi-identifiers are {named}, but those of the roles are {roles}"
        if self.sensitive and not _folded([self.sensitive]) <= _folded(table.sensitive):
            yield f'"{self.sensitive}" has another role than sensitive'
        entity, role = self.entity or "none", table.entity or "none"
        if entity.casefold() != role.casefold():
            yield f"its entity is {entity}, and the table's {role}"
        for key, value in self.settings.items():
            default = None if key == "where" else "value"
            counts = key != "sensitive_nulls" or self.sensitive
            if counts and (value or default) != (getattr(table, key) or default):
                yield f"its {key} is not the table's"


Question = tuple[frozenset[str], frozenset[str], str, str | None, str]


def question(
    events: Iterable[str],
    quasi_identifiers: Iterable[str],
    entity: str | None,
    settings: Mapping[str, Any],
) -> Question:
    """The question about a table in a form that can be compared."""
    known, folded = frozenset(_folded(quasi_identifiers)), (entity or "").casefold()
    nulls = settings.get("nulls") or "value"
    return frozenset(_folded(events)), known, folded, settings.get("where"), nulls


def referenced_node(text: str) -> str | None:
    """The name of the node that a `ref` or `source` refers to.

    >>> referenced_node("{{ get_where_subquery(ref('clinic', 'release', v=2)) }}")
    'release.v2'
    >>> referenced_node("source('raw', 'voters')")
    'raw.voters'
    """
    call = _REFERRED.search(text)
    if call is None:
        return None
    version = _VERSION.search(call[2])
    names = re.findall(r"['\"]([^'\"]+)['\"]", _VERSION.sub("", call[2]))
    if not names:
        return None
    name = ".".join(names) if call[1] == "source" else str(names[-1])
    return f"{name}.v{version[1]}" if version else name


def _is_rendered(key: str, value: Any) -> bool:
    if key in _OTHER_TABLES:
        return not isinstance(value, str) or referenced_node(value) is None
    if isinstance(value, Mapping):
        return any(_is_rendered("", item) for item in value.values())
    if isinstance(value, list):
        return any(_is_rendered("", item) for item in value)
    return isinstance(value, str) and bool(_RENDERED.search(value))


def _other_table(arguments: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The arguments about a reference or an earlier release, removed from `arguments`."""
    settings = {key.removeprefix(f"{prefix}_"): arguments.pop(key) for key in list(arguments)
             if key == prefix or key.startswith(f"{prefix}_")}  # fmt: skip
    return {"source" if key == prefix else key: value for key, value in settings.items()}


def _with_unquoted_names(table: Mapping[str, Any], quotes: bool) -> dict[str, Any]:
    """The arguments with column names unquoted."""

    def unquoted(key: str, value: Any) -> Any:
        match value:
            case _ if key in ("source", "where"):
                return value
            case list():
                return [_unquoted(item, quotes) for item in value]
            case dict():
                return {
                    _unquoted(column, quotes): _unquoted(other_column, quotes)
                    for column, other_column in value.items()
                }
        return _unquoted(value, quotes)

    return {key: unquoted(key, value) for key, value in table.items()}


def _unquoted(column: Any, quotes: bool) -> Any:
    """A column's name without SQL quotes; with `quote_columns`, names in a test are never quoted.

    >>> _unquoted('"post ""code"', False), _unquoted("zip", False), _unquoted(None, True)
    ('post "code', 'zip', None)
    """
    text = str(column)
    mark = text[:1]
    if column is None or quotes or len(text) < 3 or mark not in '"`' or text[-1] != mark:
        return column if column is None else text
    return text[1:-1].replace(mark * 2, mark)


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
