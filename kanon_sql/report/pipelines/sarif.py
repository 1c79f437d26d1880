"""An audit as SARIF 2.1.0 (OASIS), for code scanning.

Results are violated checks; accepted ones are suppressed. Checks that hold or were measured are
notifications of the run: code scanning raises an alert for every result, even of kind `pass`. Each
result has a location, as uploads without one are rejected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.spec import TablePlaces
from kanon_sql.question.yaml_document import Place
from kanon_sql.report.pipelines.outcomes import CheckOutcome, TableOutcomes, file_name, outcomes
from kanon_sql.results.table import AuditFindings, Written

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_FINGERPRINT = "kanonSqlCheck/v1"
_NO_DATA = {
    "id": "no_data",
    "name": "NoData",
    "shortDescription": {"text": "no data"},
    "fullDescription": {"text": "A table had no record, so nothing is shown to hold."},
    "help": {"text": "Check the source and the filter of the table."},
    "defaultConfiguration": {"level": "error"},
}


_RESULTS = ("violated", "warned", "accepted", "no_data")
"""The outcomes that are results; the others are notifications."""
_LEVELS = {"error": "error", "undecided": "note"}
"""Level of a notification by outcome, none for the others."""


def render(result: AuditFindings, places: Sequence[TablePlaces] = ()) -> str:
    """The result as SARIF, without a final newline."""
    return write(result, outcomes(result, places), rules())


def write(
    result: Written, by_table: Sequence[TableOutcomes], rules: Iterable[dict[str, Any]]
) -> str:
    """The outcomes of a result by these rules as SARIF."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(result, by_table, rules)]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _run(
    result: Written, by_table: Sequence[TableOutcomes], rules: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    every = [outcome for table in by_table for outcome in table.outcomes]
    used = [rule for rule in rules if any(check.rule == rule["id"] for check in every)]
    numbers = {rule["id"]: number for number, rule in enumerate(used)}
    driver = {"name": "kanon-sql", "semanticVersion": result.version, "rules": used}
    invocation = {
        "executionSuccessful": result.status != "error",
        "exitCode": result.exit_code,
        "toolExecutionNotifications": list(_notifications(by_table, numbers)),
    }
    return {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            "%SRCROOT%": {"description": {"text": "The root of the repository."}}
        },
        "invocations": [invocation],
        "results": [
            _result(outcome, numbers[outcome.rule]) for outcome in every if _is_result(outcome)
        ],
    }


def rules() -> Iterator[dict[str, Any]]:
    """Every possible rule, described by its model."""
    for name, model in ALL_MODELS.items():
        text = (
            f"{model.promise} It holds when {model.formula}. What it does not promise: "
            f"{model.limitation} Source: {model.source}. kanon-sql explain {name} has the "
            "whole page."
        )
        yield {
            "id": name,
            "name": model.__name__,
            "shortDescription": {"text": model.title},
            "fullDescription": {"text": model.promise},
            "help": {"text": text},
            "defaultConfiguration": {"level": "error"},
            "properties": {"tags": ["privacy"]},
        }
    yield _NO_DATA


def _is_result(outcome: CheckOutcome) -> bool:
    return outcome.kind in _RESULTS


def _result(outcome: CheckOutcome, number: int) -> dict[str, Any]:
    is_accepted = outcome.kind == "accepted"
    level = {"accepted": "note", "warned": "warning"}.get(outcome.kind, "error")
    suppressed = {
        "suppressions": [
            {
                "kind": "external",
                "status": "accepted",
                "justification": "The baseline accepts it as it is; nothing got worse.",
            }
        ]
    }
    return {
        "ruleId": outcome.rule,
        "ruleIndex": number,
        "kind": "fail",
        "level": level,
        "message": {"text": f"{outcome.text.rstrip('.')}."},
        "locations": [_location(outcome.table, outcome.place)],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(outcome)},
        **(suppressed if is_accepted else {}),
    }


def _notifications(
    by_table: Sequence[TableOutcomes], numbers: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Outcomes that are no results: failed engines, checks that hold or were measured, warnings."""
    for table in by_table:
        for outcome in table.outcomes:
            if _is_result(outcome):
                continue
            number = numbers.get(outcome.rule)
            rule = {"associatedRule": {"id": outcome.rule, "index": number}}
            yield {
                "level": _LEVELS.get(outcome.kind, "none"),
                "message": {"text": outcome.text},
                "locations": [_location(outcome.table, outcome.place)],
                **(rule if number is not None else {}),
            }
        for warning in table.warnings:
            yield {
                "level": "warning",
                "message": {"text": warning},
                "locations": [_location(table.name, table.place)],
            }


def _location(table: str, place: Place | None) -> dict[str, Any]:
    """The location of a check in its spec; without a spec, the table."""
    artifact = _artifact(place.file) if place else {"uri": quote(table)}
    region = {"startLine": place.line, "startColumn": place.column} if place else {"startLine": 1}
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": region},
        "logicalLocations": [{"name": table, "kind": "object"}],
    }


def _artifact(file: Path) -> dict[str, str]:
    """The file relative to the repository, or absolute if it is outside."""
    name = file_name(file)
    if Path(name).is_absolute():
        return {"uri": Path(name).as_uri()}
    return {"uri": quote(name), "uriBaseId": "%SRCROOT%"}


def _fingerprint(outcome: CheckOutcome) -> str:
    """A fingerprint of the check, independent of its line."""
    return hashlib.sha256(f"{outcome.table}\n{outcome.name}".encode()).hexdigest()
