"""The exposure of each model, what covers it, what would."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kanon_sql.errors import plural
from kanon_sql.question.dbt.node import Node
from kanon_sql.results.lineage import (
    Carried,
    ColumnLineage,
    Covered,
    Exposure,
    ModelLineage,
    ProposedRoles,
    Read,
    ReadKind,
    SelectedBy,
    Unclear,
)
from kanon_sql.sql.flow_rules import (
    AGGREGATED,
    DERIVED,
    HASHED,
    HOWS,
    PERSONS,
    Doubt,
    Origin,
    TracedColumn,
)
from kanon_sql.sql.query_scope import Relation
from kanon_sql.tracing.people import People
from kanon_sql.tracing.project import (
    PERSONAL,
    FollowedProject,
    declared_roles,
    origin_name,
)

ROLES = (
    "identifier", PERSONAL, "quasi_identifier", "event", "entity", "sensitive", "weight",
)  # fmt: skip
"""The roles in the order in which a column takes one."""
OF_PEOPLE = ("identifier", PERSONAL)
KNOWN = ("quasi_identifier", "event")
_K = 5
_M = 2


def origin_label(origin: Origin) -> str:
    """An origin in words: `source.table.column` or `model.column`."""
    return f"{origin.node}.{origin.column}"


def grouped_by_role(origins: Iterable[Origin]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The labels of origins by role, in the order of the roles."""
    found = set(origins)
    for role in ROLES:
        labels = sorted(origin_label(each) for each in found if each.role == role)
        if labels:
            yield role, tuple(labels)


@dataclass(frozen=True)
class ExposedModel:
    """A model with its relation, as far as its exposure depends on them alone."""

    node: Node
    relation: Relation

    @cached_property
    def declared(self) -> Mapping[str, str]:
        """The declared role of each column, by its name in lower case."""
        roles = declared_roles(self.node).items()
        return {name.casefold(): role for name, role in roles if role != PERSONAL}

    def role(self, name: str, column: TracedColumn) -> str | None:
        """What a column is: as declared, else the first role that it carries strongly."""
        return self.declared.get(name.casefold()) or self.inherited(column)

    def inherited(self, column: TracedColumn) -> str | None:
        """The first role that a column carries strongly; a figure of a group is no identifier."""
        weakest = AGGREGATED if self.relation.is_groups else DERIVED
        limits = {"entity": HASHED, "identifier": DERIVED, PERSONAL: DERIVED}
        ways = [(each.role, how) for each, how in column.flows.items()]
        strong = {role for role, how in ways if how <= limits.get(role, weakest)}
        if "entity" in strong and not column.is_mixed:
            # A hash over the entity and other columns is a key, which tells no value of theirs.
            strong -= {role for role in ROLES[2:4] if _is_hashed(column, {role, "entity"})}
        return next((role for role in ROLES if role in strong), None)

    @cached_property
    def roles(self) -> Mapping[str, str | None]:
        return {name: self.role(name, column) for name, column in self.relation.columns}

    def names(self, *roles: str) -> tuple[str, ...]:
        """The columns of some roles."""
        return tuple(name for name, role in self.roles.items() if role in roles)

    @cached_property
    def doubts(self) -> frozenset[Doubt]:
        relation = self.relation
        return relation.doubts.union(
            relation.rest.doubts, *(column.doubts for _, column in relation.columns)
        )

    @property
    def exposure(self) -> Exposure:
        rest = self.relation.rest
        roles = {*self.roles.values(), None if rest.doubts else self.inherited(rest)}
        if roles & {*OF_PEOPLE}:
            return "identified"
        if self.relation.is_groups:
            if roles & {*KNOWN, "sensitive"} or self._counts_persons:
                return "table"
        elif roles & {*KNOWN}:
            return "quasi_identified"
        if self.doubts:
            return "cant_tell"
        if "entity" in roles:
            return "linkable"
        return "sensitive" if "sensitive" in roles else "none"

    @property
    def _counts_persons(self) -> bool:
        """Whether a figure is one of identifiers, as a number of e-mail addresses."""
        return any(origin.role in OF_PEOPLE for origin in self.relation.whole.flows)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The exposing columns without a role of their own; `*` for those nobody can name."""
        own = {*self.declared, *self._of_published_table}
        exposing = {*OF_PEOPLE, *KNOWN}
        if self.relation.is_groups:
            exposing.add("sensitive")
        found = [
            name
            for name, column in self.relation.columns
            if name.casefold() not in own and (self.inherited(column) in exposing or column.doubts)
        ]
        rest = self.relation.rest
        return (*found, *(["*"] if self.inherited(rest) in exposing or rest.doubts else []))

    @property
    def _of_published_table(self) -> set[str]:
        """The columns that the rules of its published table name."""
        rules = self.node.published or {}
        named = [rules.get(key) for key in ("by", "value", "count", "contributor")]
        columns = (each if isinstance(each, list) else [each] for each in named if each)
        return {str(name).casefold() for names in columns for name in names}

    @property
    def audit(self) -> Covered:
        is_complete = self.node.lineage is not None and not self.names(*KNOWN)
        if not (self.node.gates or is_complete):
            return "none"
        return "partly" if self.missing else "audited"

    @property
    def gap(self) -> bool:
        return self.exposure not in ("linkable", "sensitive", "none") and self.audit != "audited"

    @property
    def proposal(self) -> ProposedRoles | None:
        """What closes the gap, if there is one and lineage is known."""
        if not self.gap or self.doubts or "*" in self.missing:
            return None
        own = self.declared
        columns = {
            name: "undecided" if role == PERSONAL else role
            for name, role in self.roles.items()
            if role is not None and name.casefold() not in own
        }
        if self.relation.is_groups and not self.node.gates:
            return self._published(columns)
        for role in ("entity", "weight"):
            if len(self.names(role)) > 1:
                columns = {name: each for name, each in columns.items() if each != role}
        entity = len(self.names("entity")) == 1
        if not entity:
            columns = {
                name: "quasi_identifier" if role == "event" else role
                for name, role in columns.items()
            }
        meta: dict[str, Any] = {}
        if not self.node.gates:
            if self.names("quasi_identifier") or (self.names("event") and not entity):
                meta = {"k": _K}
            elif self.names("event"):
                meta = {"checks": [{"km_anonymity": {"k": _K, "m": _M}}]}
            else:
                meta = {"lineage": "declared"}
        return ProposedRoles(meta, columns)

    def _published(self, roles: Mapping[str, str]) -> ProposedRoles | None:
        """The rules of a published table: dimensions, the figure, and the count beside it."""
        dimensions = self.dimensions
        if not dimensions:
            return None
        figures = [
            (name, column) for name, column in self.relation.columns if name not in dimensions
        ]
        counts = [name for name, column in figures if column.figure]
        people = [name for name, column in figures if column.figure == "people"]
        values = [
            name
            for name, column in figures
            if column.flows
            and not column.figure
            and roles.get(name) not in (*OF_PEOPLE, "undecided")
        ]
        count = next(iter([*people, *counts]), None)
        value = next(iter(values), None)
        table: dict[str, Any] = {"cells": True, "by": [*dimensions]}
        if value or count:
            table["value"] = value or count
        if value and count:
            table["count"] = count
        named = {*dimensions, value, count}
        columns = {name: role for name, role in roles.items() if name not in named}
        return ProposedRoles({"published": table}, columns)

    @property
    def dimensions(self) -> tuple[str, ...]:
        if not self.relation.is_groups:
            return ()
        return tuple(name for name, column in self.relation.columns if column.is_dimension)

    @property
    def notes(self) -> Iterator[str]:
        for name, column in self.relation.columns:
            hows = [how for origin, how in column.flows.items() if origin.role == "identifier"]
            if HASHED in hows and self.roles[name] == "identifier":
                yield f"{name}: a hash of an identifier is an identifier"
        if len(self.names("entity")) > 1:
            yield f"{plural(len(self.names('entity')), 'column')} identify a person"


def _is_hashed(column: TracedColumn, roles: set[str]) -> bool:
    """Whether every origin of some roles was hashed."""
    return all(how == HASHED for each, how in column.flows.items() if each.role in roles)


def model_lineage(project: FollowedProject, node: Node, people: People) -> ModelLineage:
    """All findings on one model."""
    relation = project.relations[node.unique_id]
    model = ExposedModel(node, relation)
    file, line = _place(project, node)
    of = people.classes(relation.people)
    notes = list(model.notes)
    if len(of) > 1:
        notes.append(f"other people are joined in: {', '.join(of)}")
    return ModelLineage(
        name=node.display_name,
        unique_id=node.unique_id,
        file=file,
        line=line,
        materialized=node.materialized,
        published=tuple(_published(project, node)),
        kind="groups" if relation.is_groups else "records",
        exposure=model.exposure,
        audit=model.audit,
        missing=model.missing if model.audit == "partly" else (),
        gap=model.gap,
        entity=model.names("entity"),
        people=of,
        dimensions=model.dimensions,
        selected_by=tuple(SelectedBy(*each) for each in grouped_by_role(relation.selected)),
        drops=_drops(project, node, relation),
        reads=tuple(_reads(project, node)),
        without_entity=tuple(
            sorted(
                origin_name(project.nodes[each])
                for each in project.without_entity[node.unique_id]
                if each in project.nodes
            )
        ),
        columns=tuple(_column(model, name, column) for name, column in _listed(node, relation)),
        open=relation.is_open,
        cant_tell=tuple(_unclear(project, doubt) for doubt in sorted(model.doubts)),
        notes=tuple(notes),
        proposal=model.proposal,
    )


def _place(project: FollowedProject, node: Node) -> tuple[str, int]:
    """The line of a model's name in its YAML, or the first of its SQL."""
    place = project.manifest.described_at(node)
    return (node.location, place.line) if place else (node.original, 1)


def _published(project: FollowedProject, node: Node) -> Iterator[str]:
    if node.access == "public":
        yield "access: public"
    for name, ids in sorted(project.manifest.exposures.items()):
        if node.unique_id in ids:
            yield f"exposure: {name}"


def _listed(node: Node, relation: Relation) -> Iterator[tuple[str, TracedColumn]]:
    """The columns of a model, with those of `select *` that its YAML alone lists."""
    yield from relation.columns
    for name in node.described if relation.is_open else ():
        if name.casefold() not in relation.by_name:
            yield name, relation.unlisted_as(name.casefold())


def _column(model: ExposedModel, name: str, column: TracedColumn) -> ColumnLineage:
    by_way: dict[tuple[int, int], list[str]] = {}
    for origin, how in column.flows.items():
        by_way.setdefault((ROLES.index(origin.role), how), []).append(origin_label(origin))
    return ColumnLineage(
        name=name,
        role=model.role(name, column),
        declared=model.declared.get(name.casefold()),
        figure=column.figure,
        cant_tell=bool(column.doubts),
        carries=tuple(
            Carried(ROLES[role], HOWS[how], tuple(sorted(labels)))
            for (role, how), labels in sorted(by_way.items())
        ),
    )


def _drops(project: FollowedProject, node: Node, relation: Relation) -> tuple[str, ...]:
    """The identifiers that are read and not carried on."""
    read = {
        origin
        for each in project.reads[node.unique_id]
        for origin, how in project.relations[each].whole.flows.items()
        if origin.role in OF_PEOPLE and how <= DERIVED
    }
    return tuple(sorted(origin_label(each) for each in read - set(relation.whole.flows)))


def _reads(project: FollowedProject, node: Node) -> Iterator[Read]:
    """The tables that a model reads, also through ephemeral models."""
    seen, ahead = set[str](), list(project.reads[node.unique_id])
    while ahead:
        unique_id = ahead.pop(0)
        if unique_id in seen:
            continue
        seen.add(unique_id)
        parent = project.nodes[unique_id]
        if parent.is_ephemeral:
            ahead += project.reads[unique_id]
        else:
            yield Read(origin_name(parent), _kind(project.relations[unique_id]))


def _kind(relation: Relation) -> ReadKind:
    roles = {origin.role for origin in relation.whole.flows}
    if relation.doubts or relation.rest.doubts:
        return "cant_tell"
    if relation.is_groups and roles:
        return "figures"
    if roles & {*PERSONS}:
        return "people"
    return "attributes" if roles else "reference"


def _unclear(project: FollowedProject, doubt: Doubt) -> Unclear:
    node = project.nodes[doubt.node]
    line = None if doubt.reason in ("python_model", "not_compiled") else doubt.line
    return Unclear(doubt.reason, doubt.what, node.display_name, node.original, line)


def listed(models: Sequence[ModelLineage]) -> tuple[ModelLineage, ...]:
    """Published models first, then gaps, then by name."""
    return tuple(sorted(models, key=lambda each: (not each.published, not each.gap, each.name)))
