"""Repeats a release to return its records as a data frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kanon_sql.anonymizing import anonymizer
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.engines import is_embedded
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.errors import EngineError
from kanon_sql.files import spill_folder
from kanon_sql.results.alike import are_alike
from kanon_sql.results.release import Form
from kanon_sql.spec.spec import AuditSpec


def made_again(
    spec: AuditSpec,
    wanted: ReleaseOptions,
    first: AnonymizationResult,
    engine: Any,
    limits: Mapping[str, Any],
) -> Callable[[Form], Any] | None:
    """A callback that repeats the release and returns its records; None for a database server, from
    which no records are fetched."""
    if not is_embedded(engine if engine is not None else spec.tables[0].connect):
        return None

    def made(form: Form) -> Any:
        with spill_folder() as folder:
            file = folder / "release.parquet"
            again = replace(wanted, output=file, dialect=None, emit="views")
            second = anonymizer.anonymize(spec, again, engine=engine, **limits)
            if not file.exists() or not _alike(first, second):
                raise EngineError(
                    "the data is not what it was when its release was made; call anonymize again."
                )
            with DuckDBEngine() as hub:
                return hub.records(hub.table(file), form)

    return made


_OF_A_FILE: dict[str, Any] = {"views": (), "views_without_values": None, "release": None}
"""The fields of a release that depend on its output file."""


def _alike(first: AnonymizationResult, second: AnonymizationResult) -> bool:
    """Whether two releases have the same levels or recoding, and the same figures."""
    same = replace(second.anonymization, **_OF_A_FILE)
    return are_alike(replace(first.anonymization, **_OF_A_FILE), same) and are_alike(
        [(each.summary, each.checks) for each in first.tables],
        [(each.summary, each.checks) for each in second.tables],
    )
