"""The models of a dbt project with the roles that they inherit, as an audit takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kanon_sql.question.dbt.manifest import Manifest
from kanon_sql.question.dbt.node import Node
from kanon_sql.tracing.exposure import ExposedModel, origin_label
from kanon_sql.tracing.lineage import followed
from kanon_sql.tracing.project import PERSONAL


def inheriting(manifest: Manifest, nodes: Sequence[Node]) -> tuple[list[Node], list[str]]:
    """The nodes that expose people, with their inherited roles, and why others are skipped.

    Raises the errors of `followed`.
    """
    project = followed(manifest)
    found, skipped = list[Node](), list[str]()
    for node in nodes:
        if node.kind not in ("model", "snapshot") or node.is_ephemeral:
            continue
        model = ExposedModel(node, project.relations[node.unique_id])
        if model.exposure in ("linkable", "sensitive", "none"):
            continue
        reason = _not_auditable(model)
        if reason:
            skipped.append(f"{node.location}: {node.display_name} was skipped: {reason}")
        else:
            found.append(_with_roles(model))
    return found, skipped


def _not_auditable(model: ExposedModel) -> str:
    """Why a model that exposes people can't be audited with what it inherits; empty if it can."""
    if model.doubts:
        return "its lineage can't be told, as kanon-sql lineage says. Give its columns their roles."
    if "*" in model.missing:
        return "columns that nobody listed carry roles. List the columns in its SELECT."
    if model.relation.is_groups:
        return "a row is a group of records. kanon-sql tables audits it as a published table."
    if not model.names("quasi_identifier", "event"):
        return "it has no quasi-identifier, so nothing can be audited. Drop its identifiers."
    return ""


def _with_roles(model: ExposedModel) -> Node:
    """The node with the roles of all its columns, and a note on those that are inherited."""
    entities, weights = model.names("entity"), model.names("weight")
    roles = {name: role for name, role in model.roles.items() if role is not None}
    for role, several in (("entity", entities), ("weight", weights)):
        if len(several) > 1:
            roles = {name: each for name, each in roles.items() if each != role}
    if len(entities) != 1:
        roles = {
            name: "quasi_identifier" if role == "event" else role for name, role in roles.items()
        }
    roles = {name: "identifier" if role == PERSONAL else role for name, role in roles.items()}
    columns = dict(model.relation.columns)
    origins = {
        name: ", ".join(sorted(origin_label(each) for each in columns[name].flows))
        for name in roles
        if name.casefold() not in model.declared
    }
    notes = [
        "roles are inherited: "
        + "; ".join(f"{name} ({roles[name]}) from {of}" for name, of in origins.items())
    ]
    if len(entities) > 1:
        notes.append(
            f"{' and '.join(entities)} each identify a person, so records are counted, not people"
        )
    named = {name.casefold() for name in model.node.columns}
    inherited = {
        name: {"role": role} for name, role in roles.items() if name.casefold() not in named
    }
    return replace(
        model.node,
        columns={**model.node.columns, **inherited},
        inherited=tuple(f"{note[0].upper()}{note[1:]}." for note in notes),
    )
