"""An audit as OpenLineage run events, a line each: START, then COMPLETE or FAIL, for each table.

A run is the audit of one table, whose checks are assertions on its dataset and tests of the run.
Figures come from the same outcomes as in the other formats, and no value of the data is in them.
Nothing is sent.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kanon_sql.errors import SpecError
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.spec import TablePlaces
from kanon_sql.report.pipelines.outcomes import CheckOutcome, TableOutcomes, outcomes
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import judged_figures
from kanon_sql.results.json_part import json_of_part, plain_json
from kanon_sql.results.table import AuditFindings, TableResult
from kanon_sql.results.version import VERSION

PRODUCER = f"https://github.com/kanon-sql/kanon-sql/tree/v{VERSION}"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_COLUMNS = {
    "audit": ("quasi_identifiers", "entity", "nulls"),
    "tables": ("by", "value", "contributor"),
}
"""By the command of a table, what a check is about."""
_FACETS = {
    "jobType": ("JobTypeJobFacet", "2-0-4"),
    "processing_engine": ("ProcessingEngineRunFacet", "1-1-1"),
    "parent": ("ParentRunFacet", "1-2-0"),
    "test": ("TestRunFacet", "1-0-1"),
    "errorMessage": ("ErrorMessageRunFacet", "1-0-1"),
    "dataQualityMetrics": ("DataQualityMetricsInputDatasetFacet", "1-0-3"),
    "dataQualityAssertions": ("DataQualityAssertionsDatasetFacet", "1-1-0"),
}
"""The schema of each facet with its version, by key."""
_STATUS = {"holds": "pass", **dict.fromkeys(("violated", "accepted", "no_data"), "fail")}
"""The status of a test, by outcome; the others are skipped."""
_ASSERTED = ("holds", "violated", "accepted")
"""The outcomes that become assertions on the dataset."""
_FAILED = ("violated", "no_data", "error")
"""The statuses of a table whose run fails."""
_RUN_ID_NAMESPACE = uuid.UUID("8a0c6b4a-6d5b-5f0e-9c43-3f1d9a1f7c55")
"""The namespace of run ids that follow from a result."""
Facet = dict[str, Any]


@dataclass(frozen=True)
class Emission:
    """The settings of a run from the environment: its namespace, its parent and its time."""

    namespace: str = "default"
    parent: tuple[str, str, str] | None = None
    """Namespace, job and run id."""
    time: datetime | None = None
    """The fixed time of all events; ids then follow from the result."""


def emission(environment: Mapping[str, str] = os.environ) -> Emission:
    """Read OPENLINEAGE_NAMESPACE, OPENLINEAGE_PARENT_ID and SOURCE_DATE_EPOCH.

    Raises `SpecError` for a parent or a time that can't be read.
    """
    return Emission(
        environment.get("OPENLINEAGE_NAMESPACE") or "default",
        _parent(environment.get("OPENLINEAGE_PARENT_ID") or ""),
        _fixed_time(environment.get("SOURCE_DATE_EPOCH") or ""),
    )


def _parent(parent_id: str) -> tuple[str, str, str] | None:
    if not parent_id:
        return None
    above, _, run = parent_id.rpartition("/")
    namespace, _, job = above.rpartition("/")
    try:
        if not namespace or not job:
            raise ValueError
        return namespace, job, str(uuid.UUID(run))
    except ValueError:
        raise SpecError(
            "OPENLINEAGE_PARENT_ID must be namespace/job/run, where run is a UUID, as in "
            f"default/nightly/{uuid.UUID(int=0)}."
        ) from None


def _fixed_time(seconds: str) -> datetime | None:
    if not seconds:
        return None
    try:
        if not re.fullmatch("[0-9]+", seconds):
            raise ValueError
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise SpecError(
            "SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, as in 1767225600."
        ) from None


def render(
    result: AuditFindings, places: Sequence[TablePlaces] = (), emitted: Emission | None = None
) -> str:
    """The result as JSON Lines, without a final newline."""
    emitted = emitted or emission()
    by_table = outcomes(result, places)
    events = [
        event for index, table in enumerate(by_table) for event in _run(table, index, emitted)
    ]
    return "\n".join(json.dumps(event, ensure_ascii=False, allow_nan=False) for event in events)


def _run(table_outcomes: TableOutcomes, index: int, emitted: Emission) -> Iterator[dict[str, Any]]:
    """The two events of one table's audit."""
    table = table_outcomes.table
    ended = emitted.time or datetime.now(UTC)
    began = emitted.time or ended - timedelta(seconds=table.seconds)
    job = {
        "namespace": emitted.namespace,
        "name": f"kanon-sql.{table.command}.{table_outcomes.name}",
        "facets": _facet(
            "jobType", processingType="BATCH", integration="KANON_SQL", jobType="TEST"
        ),
    }
    run_id = str(_run_id(table, index, emitted))
    facets = _run_facets(table, emitted)
    datasets = table.lineage.datasets if table.lineage else ()
    inputs: list[Facet] = [
        {"namespace": dataset.namespace, "name": dataset.name} for dataset in datasets
    ]
    yield _event(began, "START", job, {"runId": run_id, "facets": facets}, inputs)
    tests = [_test(outcome, check) for outcome, check in _checked(table_outcomes)]
    facets = facets | _facet("test", tests=tests)
    if table.status == "error":
        [failed] = [outcome for outcome in table_outcomes.outcomes if outcome.kind == "error"]
        facets |= _facet("errorMessage", message=failed.text, programmingLanguage="SQL")
    if inputs and (of_input := _input_facets(table_outcomes)):
        inputs = [{**inputs[0], "inputFacets": of_input}, *inputs[1:]]
    event_type = "FAIL" if table.status in _FAILED else "COMPLETE"
    yield _event(ended, event_type, job, {"runId": run_id, "facets": facets}, inputs)


def _event(
    time: datetime, event_type: str, job: Facet, run: Facet, inputs: Sequence[Facet]
) -> dict[str, Any]:
    return {
        "eventTime": f"{time:%Y-%m-%dT%H:%M:%S}{_fraction(time)}Z",
        "eventType": event_type,
        "producer": PRODUCER,
        "schemaURL": SCHEMA,
        "job": job,
        "run": run,
        "inputs": list(inputs),
        "outputs": [],
    }


def _fraction(time: datetime) -> str:
    return f".{time.microsecond // 1000:03}" if time.microsecond else ""


def _run_id(table: TableResult, index: int, emitted: Emission) -> uuid.UUID:
    """A new id; of a fixed time, the id that follows from the result."""
    if emitted.time is None:
        return uuid.uuid4()
    identity = [emitted.namespace, index, emitted.time.isoformat(), plain_json(table.to_dict())]
    return uuid.uuid5(_RUN_ID_NAMESPACE, json.dumps(identity, sort_keys=True))


def _facet(key: str, /, **parts: Any) -> Facet:
    """A facet by its key, as part of the facets of a job, a run or a dataset."""
    schema_name, release = _FACETS[key]
    schema = f"https://openlineage.io/spec/facets/{release}/{schema_name}.json#/$defs/{schema_name}"
    return {key: {"_producer": PRODUCER, "_schemaURL": schema, **parts}}


def _run_facets(table: TableResult, emitted: Emission) -> Facet:
    facets: Facet = {}
    if table.lineage and table.lineage.engine_version:
        version = table.lineage.engine_version
        facets |= _facet("processing_engine", name=table.engine, version=version)
    if emitted.parent:
        namespace, job, run = emitted.parent
        facets |= _facet("parent", run={"runId": run}, job={"namespace": namespace, "name": job})
    return facets


def _input_facets(table_outcomes: TableOutcomes) -> Facet:
    facets: Facet = {}
    records = table_outcomes.table.summary.records
    if records is not None:
        facets |= _facet("dataQualityMetrics", rowCount=records, columnMetrics={})
    if asserted := list(_assertions(table_outcomes)):
        facets |= _facet("dataQualityAssertions", assertions=asserted)
    return facets


def _checked(table_outcomes: TableOutcomes) -> Iterator[tuple[CheckOutcome, CheckResult | None]]:
    """Each outcome with its check; the one of a table that could not be audited comes first."""
    checks = table_outcomes.table.checks
    without = len(table_outcomes.outcomes) - len(checks)
    yield from zip(table_outcomes.outcomes, [*[None] * without, *checks], strict=True)


def _assertions(table_outcomes: TableOutcomes) -> Iterator[Facet]:
    table = table_outcomes.table
    lineage = table.lineage if table.checks else None
    statements = lineage.statements if lineage else (None,) * len(table.checks)
    checked = [(outcome, check) for outcome, check in _checked(table_outcomes) if check is not None]
    for (outcome, check), statement in zip(checked, statements, strict=True):
        if outcome.kind not in _ASSERTED:
            continue
        column = check.parameters.get("sensitive")
        # The statement counts what the audit drew at random.
        is_counted = statement and not check.details.get("drawn")
        yield {
            "assertion": f"kanon_sql.{check.model}",
            "success": outcome.kind == "holds",
            **({"column": column} if column else {}),
            "severity": _severity(outcome),
            "name": outcome.name,
            "description": outcome.promise,
            **_figures(check),
            **({"contentType": "sql", "content": statement} if is_counted else {}),
            "params": plain_json(_parameters(table, check)),
        }


def _test(outcome: CheckOutcome, check: CheckResult | None) -> Facet:
    return {
        "name": outcome.name,
        "status": _STATUS.get(outcome.kind, "skip"),
        "severity": _severity(outcome),
        "type": f"kanon_sql.{check.model if check else 'audit'}",
        **(_figures(check) if check else {}),
    }


def _severity(outcome: CheckOutcome) -> str:
    return "warn" if outcome.kind == "accepted" else "error"


def _figures(check: CheckResult) -> Facet:
    """The threshold and the result of a check, as texts."""
    model = ALL_MODELS[check.model]
    thresholds = {
        name: check.parameters[name] for name in model.thresholds if name in check.parameters
    }
    texts: Facet = {}
    if model.counts_violations:
        texts["expected"] = "0"
    elif thresholds:
        texts["expected"] = _text(
            next(iter(thresholds.values())) if len(thresholds) == 1 else thresholds
        )
    figures = {name: figure for name, figure, *_ in judged_figures(check)}
    if {threshold for _, threshold in model.companion_figures.values()} & figures.keys():
        texts["actual"] = _text(next(iter(figures.values())) if len(figures) == 1 else figures)
    elif check.achieved is not None:
        texts["actual"] = _text(check.achieved)
    return texts


def _text(value: Any) -> str:
    json_value = plain_json(value)
    return json_value if isinstance(json_value, str) else json.dumps(json_value)


def _parameters(table: TableResult, check: CheckResult) -> Facet:
    parameters = {
        name: len(value) if isinstance(value, list | tuple) else value
        for name, value in check.parameters.items()
    }
    columns = {key: json_of_part(getattr(table, key)) for key in _COLUMNS[table.command]}
    return {"parameters": parameters, **columns, **(check.violations or check.details)}
