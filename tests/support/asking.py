"""One question, put to kanon-sql and to the oracle alike, and their answers in the same shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import oracle
import pyarrow
import pytest
from consistency import contradictions

import kanon_sql as kanon
from kanon_sql.models.catalogue import model_named

Rows = Sequence[Sequence[Any]]


def table(columns: Sequence[str], rows: Rows, types: Sequence[Any] = ()) -> pyarrow.Table:
    """The rows as an Arrow table; a column's type is that of its values where none is given."""
    cells = [
        pyarrow.array([row[place] for row in rows], types[place] if types else None)
        for place in range(len(columns))
    ]
    return pyarrow.Table.from_arrays(cells, names=list(columns))


def records(columns: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """The rows as the oracle reads them."""
    return [dict(zip(columns, row, strict=True)) for row in rows]


def audit(
    data: Any,
    question: oracle.Question,
    references: Mapping[str, Any] | None = None,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    hierarchies_of_events: Mapping[str, Any] | None = None,
    of_references: Mapping[str, Any] | None = None,
    earlier_releases: Mapping[str, Any] | None = None,
    original: Any = None,
    holdout: Any = None,
    **options: Any,
) -> kanon.AuditResult:
    """What kanon-sql answers; `references`, `earlier_releases`, `original` and `holdout` hold the
    data of those of the question, and `of_references` what else is said of each reference."""
    if question.original:
        entity, columns = question.original.entity, dict(question.original.columns or {})
        options["original"] = {"source": original, "columns": columns, "entity": entity}
        options["holdout"] = {"source": holdout} if question.holdout else None
    result = kanon.audit(
        data,
        quasi_identifiers=hierarchies or question.quasi_identifiers,
        sensitive=question.sensitive,
        entity=question.entity,
        **({"events": hierarchies_of_events or question.events} if question.events else {}),
        nulls=question.nulls,
        sensitive_nulls=question.sensitive_nulls,
        **({"weight": question.weight} if question.weight else {}),
        household=question.household,
        references={
            name: kanon.ReferenceSpec(
                source=(references or {})[name],
                columns=dict(reference.columns or {}),
                entity=reference.entity,
                weight=reference.weight,
                **(of_references or {}),
            )
            for name, reference in (question.references or {}).items()
        },
        earlier_releases={
            name: kanon.EarlierReleaseSpec(
                source=(earlier_releases or {})[name],
                columns=dict(earlier.columns or {}),
                quasi_identifiers=list(earlier.quasi_identifiers),
                entity=earlier.entity,
            )
            for name, earlier in (question.earlier_releases or {}).items()
        },
        checks=[model(check) for check in question.checks],
        **options,
    )
    # What an audit finds is read again, and no figure of it contradicts another one.
    assert contradictions(kanon.from_json(result.to_dict())) == []
    return result


def model(check: Mapping[str, Mapping[str, Any]]) -> Any:
    """The model that a spec file writes as `{k_anonymity: {k: 5}}`."""
    [(name, parameters)] = check.items()
    return model_named(name)(**parameters)


def figures(result: kanon.AuditResult) -> dict[str, Any]:
    """The numbers and verdicts of a result with one table, without its words and its SQL."""
    [found] = result.to_dict()["tables"]
    assert "error" not in found, found["error"]
    checks = [{k: v for k, v in each.items() if k != "assumes"} for each in found["checks"]]
    parts = ("status", "summary", "histogram", "risk")
    events = {"events": found["events"]} if found["events"] else {}
    # The columns that can't be compared depend on all values, which an oracle need not look at.
    checks = [{k: v for k, v in each.items() if k != "left_out" or v} for each in checks]
    return {part: found[part] for part in parts} | {"checks": checks} | events


def near(expected: Any, relative: float = 1e-9) -> Any:
    """The same value, equal to any whose numbers differ by a billionth at most.

    Estimators, which solve equations step by step, may differ by a millionth.
    """
    match expected:
        case float():
            return pytest.approx(expected, rel=relative, abs=1e-12)
        case Mapping():
            relative = 1e-6 if "estimates" in expected else relative
            return {key: near(value, relative) for key, value in expected.items()}
        case list() | tuple():
            return [near(value, relative) for value in expected]
    return expected


def part_of(found: Any, expected: Any) -> Any:
    """What `found` says of the things that `expected` speaks of; of checks, the first ones."""
    match expected:
        case Mapping():
            spoken = {key: found.get(key, "nothing") for key in expected}
            if "checks" in spoken:
                spoken["checks"] = spoken["checks"][: len(expected["checks"])]
            return {key: part_of(spoken[key], expected[key]) for key in expected}
        case list() if len(found) == len(expected):
            return [part_of(f, e) for f, e in zip(found, expected, strict=True)]
    return found
