"""The lineage of a dbt project, by its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kanon_sql.errors import InputError, NoDataError, option
from kanon_sql.question.dbt.manifest import Manifest
from kanon_sql.question.dbt.node import refuse_unknown
from kanon_sql.results.lineage import Gate, LineageSummary, ModelLineage, ProjectLineage
from kanon_sql.results.version import VERSION
from kanon_sql.sql.flows import dialect_of
from kanon_sql.tracing.cache import Cache
from kanon_sql.tracing.exposure import listed, model_lineage
from kanon_sql.tracing.people import People, compositions
from kanon_sql.tracing.project import FollowedProject, declared_roles
from kanon_sql.tracing.result import NOTHING_PUBLISHED, LineageResult, refuse_unknown_gate


def followed(manifest: Manifest, cache: str | Path | None = None) -> FollowedProject:
    """A project with the roles of every node.

    Raises `InputError` if no SQL is compiled, `SpecError` for an unknown role or key, `NoDataError`
    if no column has a role.
    """
    for node in manifest.nodes:
        if node.is_annotated:
            refuse_unknown(node)
    if not any(declared_roles(node) for node in manifest.nodes):
        raise NoDataError(
            f"no column of {manifest.path} has a role, so nothing was followed. Give each column "
            "of a source that someone could know of a person its config.meta.kanon_sql.role."
        )
    dialect = dialect_of(manifest.adapter)
    kept = Cache(Path(cache) if cache is not None else None)
    project = FollowedProject.of(manifest, dialect, kept)
    kept.save()
    return project


def lineage_of(
    manifest: str | Path,
    *,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    state: str | Path | None = None,
    cache: str | Path | None = None,
    gate: Gate | None = None,
) -> LineageResult:
    """What the selected models of a project expose.

    Roles are followed through the whole project; a selection says which models are shown and gated.
    Raises the errors of `followed`, and `NoDataError` for a selection without a model or a gate
    about none.
    """
    if gate is not None:
        refuse_unknown_gate(gate)
    if Path(manifest).suffix.lower() in (".yml", ".yaml"):
        raise InputError(
            f"{manifest} is YAML, and lineage takes the manifest of a dbt project, "
            "target/manifest.json, which dbt compile writes. A spec is for kanon-sql audit."
        )
    if Path(manifest).is_dir():
        raise InputError(
            f"{manifest} is a folder. Name the manifest that dbt compile writes in its project, "
            "target/manifest.json."
        )
    read = Manifest.read(Path(manifest))
    if not read.nodes:
        raise InputError(f"{manifest} has no node. Run dbt compile in the project.")
    ids_by_selector, selected = read.selected(select, exclude, state)
    unmatched = [name for name, ids in ids_by_selector.items() if not ids]
    shown = [node for node in selected if node.kind in ("model", "snapshot")]
    if unmatched or not shown:
        if not ids_by_selector:
            raise NoDataError(f"{manifest} has no model{' left' if exclude else ''}.")
        chosen = option("select", " ".join(unmatched or ids_by_selector))
        raise NoDataError(f"{chosen} selects no model of {manifest}.")
    project = followed(read, cache)
    people = People(project.same)
    every = [
        model_lineage(project, node, people)
        for node in read.nodes
        if node.kind in ("model", "snapshot") and node.materialized != "ephemeral"
    ]
    ids = {node.unique_id for node in shown}
    models = listed([model for model in every if model.unique_id in ids])
    composed = tuple(
        each
        for each in compositions(every, project.relations, people)
        if {model.name for model in models} & {*each.models}
    )
    result = LineageResult(
        ProjectLineage(
            project=read.project.name or "",
            manifest=str(manifest),
            dialect=project.dialect or "",
            gate=gate,
            summary=_summary(models),
            models=models,
            compositions=composed,
            warnings=tuple(_warnings(project)),
        ),
        VERSION,
        folder=read.project.folder,
    )
    if result.status == "no_data":
        raise NoDataError(NOTHING_PUBLISHED)
    return result


def _warnings(project: FollowedProject) -> Iterator[str]:
    adapter = project.manifest.adapter
    if project.dialect is None and adapter:
        yield f"there is no parser for the SQL of {adapter}, so it was read as standard SQL."


def _summary(models: tuple[ModelLineage, ...]) -> LineageSummary:
    columns = [column for model in models for column in model.columns]
    exposed = [model for model in models if model.exposes]
    unclear = [model for model in models if model.cant_tell]
    return LineageSummary(
        models=len(models),
        columns=len(columns),
        with_role=sum(column.role not in (None, "insensitive") for column in columns),
        certain=len(models) - len(unclear),
        exposed=len(exposed),
        audited=sum(model.audit == "audited" for model in exposed),
        partly=sum(model.audit == "partly" for model in exposed),
        gaps=sum(model.gap for model in exposed),
        cant_tell=len(unclear),
    )
