"""The result of lineage as plain values, which are names of models, never values of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.json_part import UNWRITTEN, JsonPart

Gate = Literal["published", "all"]
Exposure = Literal[
    "identified", "quasi_identified", "table", "cant_tell", "linkable", "sensitive", "none"
]
"""What a model exposes; the last three are no gap."""
Covered = Literal["audited", "partly", "none"]
ReadKind = Literal["people", "attributes", "reference", "figures", "cant_tell"]
EXPOSING = ("identified", "quasi_identified", "table", "cant_tell")


@dataclass(frozen=True)
class Carried(JsonPart):
    """The origins of one role that a column carries in one way."""

    role: str
    how: str
    origins: tuple[str, ...] = field(metadata=UNWRITTEN)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "from": list(self.origins)}


@dataclass(frozen=True)
class ColumnLineage(JsonPart):
    """A column of a model, with what it carries, in the order of the roles."""

    name: str
    role: str | None
    declared: str | None
    """Its role in the model's YAML or tests."""
    figure: str | None
    """`count` for a number of records, `people` for one of people."""
    cant_tell: bool
    carries: tuple[Carried, ...]


@dataclass(frozen=True)
class SelectedBy(JsonPart):
    """The origins of one role that filters ask about."""

    role: str
    origins: tuple[str, ...] = field(metadata=UNWRITTEN)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "from": list(self.origins)}


@dataclass(frozen=True)
class Unclear(JsonPart):
    """A place where lineage is undetermined, in the model where it arose."""

    reason: str
    what: str
    node: str
    file: str
    compiled_line: int | None


@dataclass(frozen=True)
class Read(JsonPart):
    """A node that a model reads."""

    node: str
    kind: ReadKind


@dataclass(frozen=True)
class ProposedRoles(JsonPart):
    """What to write into the model's YAML: its `meta`, and the roles of columns without one."""

    meta: Mapping[str, Any]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class ModelLineage(JsonPart):
    """A model: what it carries of people, and whether that is audited."""

    name: str
    unique_id: str
    file: str
    line: int
    materialized: str
    published: tuple[str, ...]
    """Why it counts as published; empty if it does not."""
    kind: Literal["records", "groups"]
    exposure: Exposure
    audit: Covered
    missing: tuple[str, ...]
    """The exposing columns without a role; `*` for columns that nobody can name."""
    gap: bool
    entity: tuple[str, ...]
    people: tuple[str, ...]
    dimensions: tuple[str, ...]
    selected_by: tuple[SelectedBy, ...]
    drops: tuple[str, ...]
    """The identifiers that it reads and none of its columns carries."""
    reads: tuple[Read, ...]
    without_entity: tuple[str, ...]
    """The nodes without a role that it joins on an entity."""
    columns: tuple[ColumnLineage, ...]
    open: bool
    """Whether it has columns that nobody listed."""
    cant_tell: tuple[Unclear, ...]
    notes: tuple[str, ...]
    proposal: ProposedRoles | None

    @property
    def exposes(self) -> bool:
        return self.exposure in EXPOSING


@dataclass(frozen=True)
class ComposedTest(JsonPart):
    """A dbt test of what two models tell together."""

    model: str
    test: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Composition(JsonPart):
    """Published models about the same people, which tell more together."""

    people: str
    models: tuple[str, ...]
    together: tuple[str, ...]
    beyond: Mapping[str, tuple[str, ...]]
    """For each model, what the others tell besides."""
    proposals: tuple[ComposedTest, ...]


@dataclass(frozen=True)
class LineageSummary(JsonPart):
    """The figures of a project."""

    models: int
    columns: int
    with_role: int
    certain: int
    exposed: int
    audited: int
    partly: int
    gaps: int
    cant_tell: int


@dataclass(frozen=True)
class ProjectLineage(JsonPart):
    """The lineage of a dbt project."""

    project: str
    manifest: str
    dialect: str
    gate: Gate | None
    summary: LineageSummary
    models: tuple[ModelLineage, ...]
    compositions: tuple[Composition, ...]
    warnings: tuple[str, ...] = field(default=(), metadata=UNWRITTEN)
