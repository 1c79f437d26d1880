"""Audits the privacy of a table where it lies, by SQL that anyone can read and run.

    import kanon_sql as kanon

    result = kanon.audit(
        "patients.parquet",
        quasi_identifiers=["zip", "age", "sex"],
        sensitive=["disease"],
        checks=[kanon.KAnonymity(k=5)],
    )
    print(result)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.api import audit, compile
    from kanon_sql.auditor import CompiledAudit
    from kanon_sql.engines import connect
    from kanon_sql.errors import (
        EngineError,
        InputError,
        KanonError,
        MissingDriverError,
        PrivacyViolation,
        SpecError,
    )
    from kanon_sql.hierarchy import GeneralizationHierarchy
    from kanon_sql.models import Homogeneity, KAnonymity, KMap
    from kanon_sql.result import AuditResult, CheckResult, TableResult
    from kanon_sql.spec import AuditSpec, ReferenceSpec, TableSpec

_HOMES = {
    "audit": "api",
    "compile": "api",
    "CompiledAudit": "auditor",
    "connect": "engines",
    "EngineError": "errors",
    "InputError": "errors",
    "KanonError": "errors",
    "MissingDriverError": "errors",
    "PrivacyViolation": "errors",
    "SpecError": "errors",
    "GeneralizationHierarchy": "hierarchy",
    "Homogeneity": "models",
    "KAnonymity": "models",
    "KMap": "models",
    "AuditResult": "result",
    "CheckResult": "result",
    "TableResult": "result",
    "AuditSpec": "spec",
    "ReferenceSpec": "spec",
    "TableSpec": "spec",
}

__all__ = [
    "AuditResult",
    "AuditSpec",
    "CheckResult",
    "CompiledAudit",
    "EngineError",
    "GeneralizationHierarchy",
    "Homogeneity",
    "InputError",
    "KAnonymity",
    "KMap",
    "KanonError",
    "MissingDriverError",
    "PrivacyViolation",
    "ReferenceSpec",
    "SpecError",
    "TableResult",
    "TableSpec",
    "audit",
    "compile",
    "connect",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("kanon_sql.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"kanon_sql.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
