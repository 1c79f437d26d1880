"""The relations of a dbt project's nodes, each read from those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kanon_sql.errors import InputError
from kanon_sql.question.dbt.manifest import Manifest
from kanon_sql.question.dbt.node import Node
from kanon_sql.question.roles import NAMES
from kanon_sql.sql.flow_rules import (
    CARRIED,
    HASH,
    NOTHING,
    PERSONS,
    Doubt,
    Origin,
    TracedColumn,
    merged,
)
from kanon_sql.sql.flows import INLINED, Reader, Unreadable, name_parts
from kanon_sql.sql.query_scope import UNKNOWN, Relation, fixed_point
from kanon_sql.tracing.cache import Cache, Found

PERSONAL = "personal"
"""What a column without a role is followed as, if it is marked as personal."""


@dataclass
class FollowedProject:
    """A project, with the relation of each node once it was read."""

    manifest: Manifest
    dialect: str | None
    cache: Cache
    relations: dict[str, Relation] = field(default_factory=dict)
    same: set[tuple[Origin, Origin]] = field(default_factory=set)
    """The pairs of identifiers or entities that are the same people's."""
    reads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The nodes that each node reads."""
    without_entity: dict[str, frozenset[str]] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, manifest: Manifest, dialect: str | None, cache: Cache) -> FollowedProject:
        """The project with every node read, in the order in which they depend on one another."""
        project = cls(manifest, dialect, cache)
        project._refuse_uncompiled()
        for node in manifest.nodes:
            project._relation(node.unique_id)
        project._relate()
        return project

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        return {node.unique_id: node for node in self.manifest.nodes}

    @cached_property
    def _ids_by_relation(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        """The nodes of each relation: a seed and its source are one."""
        ids: dict[tuple[str, ...], list[str]] = {}
        for node in self.manifest.nodes:
            ids.setdefault(self._key(node), []).append(node.unique_id)
        return ids

    @cached_property
    def _keys(self) -> dict[str, tuple[str, ...]]:
        return {}

    def _key(self, node: Node) -> tuple[str, ...]:
        """The name of a node's relation, or of the CTE that an ephemeral model becomes."""
        if node.unique_id not in self._keys:
            name = f"{node.name}_v{node.version}" if node.version else node.name
            self._keys[node.unique_id] = (
                (f"{INLINED}{name}".casefold(),)
                if node.relation is None
                else name_parts(node.relation, self.dialect)
            )
        return self._keys[node.unique_id]

    def _refuse_uncompiled(self) -> None:
        """Raise `InputError` for a manifest that dbt parse wrote."""
        models = [node for node in self.manifest.nodes if node.kind == "model"]
        in_sql = [node for node in models if node.language == "sql"]
        if in_sql and not any(node.sql for node in in_sql):
            raise InputError(
                f"{self.manifest.path} has no compiled SQL: it was written by dbt parse. Run dbt "
                "compile."
            )

    def _relation(self, unique_id: str) -> Relation | None:
        """The relation of a node, after those that it reads; None while it is being read, and for a
        node that is gone."""
        if unique_id not in self.nodes:
            return None
        ahead = [(unique_id, False)]
        while ahead:
            each, is_ready = ahead.pop()
            if is_ready:
                self._follow(self.nodes[each])
            elif each not in self._begun:
                self._begun.add(each)
                ahead.append((each, True))
                ahead += [(before, False) for before in self._before(self.nodes[each])]
        return self.relations.get(unique_id)

    def _before(self, node: Node) -> list[str]:
        """The nodes that a node reads, with the others of their relations."""
        parents = [self.nodes[each] for each in node.parents if each in self.nodes]
        ids = (each for parent in parents for each in self._ids_by_relation[self._key(parent)])
        return [each for each in dict.fromkeys(ids) if each != node.unique_id]

    # --- one node ---------------------------------------------------------------------------

    def _follow(self, node: Node) -> None:
        if node.kind in ("source", "seed") or node.lineage is not None:
            found = Found(Relation(is_open=True))
        else:
            found = self._read(node)
        declared = self._declared(node, found.relation)
        # What the rows of its query were asked by stays there.
        relation = replace(declared, node=node.unique_id, asks=NOTHING, is_correlated=False)
        self.relations[node.unique_id] = relation
        self.same |= found.same
        self.without_entity[node.unique_id] = found.without_entity
        parents = (each for each in node.parents if each in self.nodes)
        self.reads[node.unique_id] = tuple(dict.fromkeys([*parents, *found.reads]))

    def _read(self, node: Node) -> Found:
        """The relation of a node's SQL, from the cache if nothing that it rests on has changed."""
        parents = [each for each in node.parents if each in self.relations]
        whole = merged([NOTHING, *(self.relations[each].whole for each in parents)])
        if node.language != "sql":
            return self._opaque(node, "python_model", 1, whole)
        if not node.sql:
            return self._opaque(node, "not_compiled", 1, whole)
        roles = sorted(f"{name} {role}" for name, role in declared_roles(node).items())
        before = {
            each: self.relations[each] for each in self._before(node) if each in self.relations
        }
        key = self.cache.key(
            self.dialect or "",
            node.unique_id,
            node.kind,
            node.sql,
            node.keys,
            roles,
            [*before.values()],
        )
        found = self.cache.get(key, self._relation)
        if found is None:
            try:
                found = self._parsed(node)
            except Unreadable as unreadable:
                found = self._opaque(node, unreadable.reason, unreadable.line, whole)
            if found.is_known:
                unasked = {each: self.relations[each] for each in found.reads if each not in before}
                self.cache.put(key, found, unasked)
        return found

    def _parsed(self, node: Node) -> Found:
        own, nodes = self._key(node), dict[str, None]()
        reads_itself, is_known = False, True
        reader: Reader

        def read(known: Relation) -> Relation:
            nonlocal reader

            def tables(parts: Sequence[str]) -> Relation | None:
                nonlocal reads_itself, is_known
                if tuple(parts) == own:
                    reads_itself = True
                    return known
                ids = self._ids_by_relation.get(tuple(parts), ())
                found = [each for each in ids if self._relation(each) is not None]
                nodes.update(dict.fromkeys(found))
                is_known = is_known and bool(found)
                return _as_one([self.relations[each] for each in found])

            reader = Reader(node.unique_id, self.dialect, tables)
            return self._declared(node, reader.read(node.sql or ""))

        relation = read(UNKNOWN)
        if reads_itself:
            doubts = frozenset({Doubt("recursion", "", node.unique_id, 1)})
            relation = fixed_point(read, doubts)
        if node.kind == "snapshot":
            keys = [relation.by_name.get(key.casefold(), relation.whole) for key in node.keys]
            scd = ("dbt_scd_id", merged([NOTHING, *keys]).by(HASH))
            relation = replace(relation, columns=(*relation.columns, scd), is_open=True)
        reads = tuple(each for each in nodes if each != node.unique_id)
        same, without_entity = frozenset(reader.same), frozenset(reader.without_entity)
        return Found(relation, same, without_entity, reads, is_known)

    def _opaque(self, node: Node, reason: str, line: int, whole: TracedColumn) -> Found:
        """The relation of a node that can't be read: all that its parents carry."""
        if not whole.is_carrying:
            return Found(Relation(is_open=True))
        doubts = frozenset({Doubt(reason, "", node.unique_id, line)})
        parents = [self.relations[each] for each in node.parents if each in self.relations]
        relation = Relation(
            is_open=True,
            rest=whole.doubted(doubts),
            doubts=doubts,
            people=frozenset().union(*(each.people for each in parents)),
            selected=frozenset().union(*(each.selected for each in parents)),
        )
        return Found(relation)

    def _declared(self, node: Node, relation: Relation) -> Relation:
        """A relation with the roles that its node declares, which stand before inherited ones."""
        columns, people = list(relation.columns), set(relation.people)
        place = {name.casefold(): number for number, (name, _) in enumerate(columns)}
        name = origin_name(node)
        for column, role in declared_roles(node).items():
            number = place.get(column.casefold())
            inherited = relation.rest if number is None else columns[number][1]
            kept = {origin: how for origin, how in inherited.flows.items() if origin.role == role}
            if role == "insensitive":
                flows = {}
            elif role == PERSONAL:
                flows = {**inherited.flows, Origin(name, column, role): CARRIED}
            else:
                flows = kept or {Origin(name, column, role): CARRIED}
            if role in PERSONS and not kept:
                people.add(Origin(name, column, role))
            doubts = inherited.doubts if role == PERSONAL else frozenset()
            value = inherited._replace(flows=flows, doubts=doubts, is_constant=False)
            if number is None:
                columns.append((column, value))
            else:
                columns[number] = (columns[number][0], value)
        return replace(relation, columns=tuple(columns), people=frozenset(people))

    def _relate(self) -> None:
        """Add the people that a test `relationships` says are the same, and those of one row."""
        for child, column, parent, field_ in self.manifest.relationships:
            nodes = [node for node in self.manifest.nodes if parent in node.names]
            for node in nodes[:1]:
                ends = (self.relations.get(child), column), (self.relations[node.unique_id], field_)
                values = [
                    relation.by_name.get(name.casefold(), NOTHING).persons if relation else []
                    for relation, name in ends
                ]
                self.same |= {(one, other) for one in values[0] for other in values[1]}
        for node in self.manifest.nodes:
            name = origin_name(node)
            own = [each for each in self.relations[node.unique_id].people if each.node == name]
            self.same |= {(own[0], other) for other in own[1:]}


def declared_roles(node: Node) -> dict[str, str]:
    """The role of each column in a node's YAML and tests, with the columns marked as personal."""
    roles = {name: role for role in NAMES for name in node.with_role(role)}
    if entity := node.meta.get("entity"):
        roles.setdefault(str(entity), "entity")
    known = {name.casefold() for name in roles}
    return roles | {name: PERSONAL for name in node.personal if name.casefold() not in known}


def origin_name(node: Node) -> str:
    """How a node is named in the origin of a column."""
    return f"{node.source}.{node.name}" if node.source else node.display_name


def _as_one(relations: Sequence[Relation]) -> Relation | None:
    """The relation of several nodes that are one table; None for no node."""
    if len(relations) < 2:
        return relations[0] if relations else None
    columns: dict[str, tuple[str, TracedColumn]] = {}
    for relation in relations:
        for name, column in relation.columns:
            first, found = columns.setdefault(name.casefold(), (name, column))
            if found is not column:
                # A role that both declare has one origin, the first.
                roles = {origin.role for origin in found.flows}
                flows = {each: how for each, how in column.flows.items() if each.role not in roles}
                columns[name.casefold()] = first, merged([found, column._replace(flows=flows)])
    return replace(
        relations[0],
        columns=tuple(columns.values()),
        is_open=any(each.is_open for each in relations),
        numbered=frozenset().union(*(each.numbered | each.repeated for each in relations)),
        rest=merged([NOTHING, *(each.rest for each in relations)]),
        selected=frozenset().union(*(each.selected for each in relations)),
        people=frozenset().union(*(each.people for each in relations)),
        doubts=frozenset().union(*(each.doubts for each in relations)),
    )
