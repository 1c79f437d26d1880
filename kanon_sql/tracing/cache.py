"""A cache of relations by the checksum of what they rest on: names alone, no SQL, no value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.errors import InputError
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import write_atomically
from kanon_sql.sql.flow_rules import Doubt, Origin, TracedColumn
from kanon_sql.sql.query_scope import Relation

FILE = "lineage.json"
_SETS = ("selected", "people")
_FLAGS = ("is_open", "is_groups", "has_loose_key", "node")


class Found(NamedTuple):
    """What one query defines, with what was noticed on the way."""

    relation: Relation
    same: frozenset[tuple[Origin, Origin]] = frozenset()
    without_entity: frozenset[str] = frozenset()
    reads: tuple[str, ...] = ()
    is_known: bool = True
    """Whether the manifest has every table that was read."""


class Cache:
    """The relations of a former run, and those of this run; without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE if folder else None
        self._before = _read(self._file) if self._file else {}
        self._used: dict[str, Any] = {}
        self._digests: dict[int, str] = {}

    def key(
        self,
        dialect: str,
        node: str,
        kind: str,
        sql: str,
        keys: Sequence[str],
        roles: Sequence[str],
        before: Sequence[Relation],
    ) -> str:
        """The checksum of a node's SQL, the keys of a snapshot, its roles and what it refs; empty
        without a folder."""
        if self._file is None:
            return ""
        tables = [*map(self._digest, before)]
        parts = [VERSION, version("sqlglot"), dialect, node, kind, sql, [*keys], [*roles], tables]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _digest(self, relation: Relation) -> str:
        if id(relation) not in self._digests:
            text = json.dumps(_of_relation(relation), sort_keys=True)
            self._digests[id(relation)] = sha256(text.encode()).hexdigest()
        return self._digests[id(relation)]

    def get(self, key: str, relation_of: Callable[[str], Relation | None]) -> Found | None:
        """What a query defines, if the relations that it read without a ref are the same."""
        stored = self._before.get(key)
        if stored is None:
            return None
        try:
            found, digests = _found(stored), [*stored["digests"].items()]
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        for unique_id, digest in digests:
            relation = relation_of(unique_id)
            if relation is None or self._digest(relation) != digest:
                return None
        self._used[key] = stored
        return found

    def put(self, key: str, found: Found, unasked: Mapping[str, Relation]) -> None:
        """Keep what a query defines, with the relations that it read without a ref."""
        if self._file is not None:
            digests = {unique_id: self._digest(each) for unique_id, each in unasked.items()}
            self._used[key] = {**_stored(found), "digests": digests}

    def save(self) -> None:
        """Write what this run used. Raises `InputError` if the folder can't be written."""
        if self._file is None or self._used == self._before:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self._file.parent} can't be written: {error.strerror}.") from None
        write_atomically(self._file, json.dumps(self._used))


def _read(file: Path) -> Mapping[str, Any]:
    """The relations in a file; none if it can't be read."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _stored(found: Found) -> dict[str, Any]:
    return {
        "relation": _of_relation(found.relation),
        "same": sorted(map(list, found.same)),
        "without_entity": sorted(found.without_entity),
        "reads": list(found.reads),
    }


def _found(stored: Mapping[str, Any]) -> Found:
    return Found(
        _relation(stored["relation"]),
        frozenset((Origin(*one), Origin(*other)) for one, other in stored["same"]),
        frozenset(stored["without_entity"]),
        tuple(stored["reads"]),
    )


def _of_relation(relation: Relation) -> dict[str, Any]:
    return {
        **{key: getattr(relation, key) for key in _FLAGS},
        **{key: sorted(getattr(relation, key)) for key in _SETS},
        "doubts": sorted(relation.doubts),
        "numbered": sorted(relation.numbered),
        "rest": _of_column(relation.rest),
        "columns": [[name, _of_column(column)] for name, column in relation.columns],
    }


def _relation(stored: Mapping[str, Any]) -> Relation:
    selected, people = (frozenset(Origin(*each) for each in stored[key]) for key in _SETS)
    return Relation(
        **{key: stored[key] for key in _FLAGS},
        selected=selected,
        people=people,
        doubts=frozenset(Doubt(*each) for each in stored["doubts"]),
        numbered=frozenset(stored["numbered"]),
        rest=_column(stored["rest"]),
        columns=tuple((name, _column(column)) for name, column in stored["columns"]),
    )


def _of_column(column: TracedColumn) -> list[Any]:
    flows = sorted([*origin, how] for origin, how in column.flows.items())
    doubts = sorted(map(list, column.doubts))
    return [flows, doubts, *column[2:]]


def _column(stored: Sequence[Any]) -> TracedColumn:
    flows, doubts, *others = stored
    return TracedColumn(
        {Origin(*origin): how for *origin, how in flows},
        frozenset(Doubt(*each) for each in doubts),
        *others,
    )
