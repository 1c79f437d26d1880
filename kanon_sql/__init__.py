"""Audits the privacy of a table where it lies, by SQL that anyone can read and run.

    import kanon_sql as kanon

    result = kanon.audit("patients.parquet", ["zip", "age", "sex"], sensitive="disease", k=5)
    print(result)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.anonymization_result import AnonymizationResult
    from kanon_sql.api import anonymize, audit, compile, from_json, profile
    from kanon_sql.compiler import CompiledAudit
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
    from kanon_sql.models import (
        AlphaKAnonymity,
        BasicBetaLikeness,
        DeltaDisclosure,
        DeltaPresence,
        EnhancedBetaLikeness,
        EntropyLDiversity,
        Homogeneity,
        JournalistRisk,
        KAnonymity,
        KEAnonymity,
        KMap,
        KMapEstimate,
        LDiversity,
        MarketerRisk,
        PopulationUniqueness,
        ProsecutorRisk,
        PSensitiveKAnonymity,
        RecursiveClDiversity,
        SampleUniqueness,
        TCloseness,
    )
    from kanon_sql.profile_result import ProfileResult
    from kanon_sql.result import AuditResult, CheckResult, TableResult
    from kanon_sql.spec import AuditSpec, ReferenceSpec, TableSpec

_HOMES = {
    "AnonymizationResult": "anonymization_result",
    "anonymize": "api",
    "audit": "api",
    "compile": "api",
    "from_json": "api",
    "profile": "api",
    "CompiledAudit": "compiler",
    "connect": "engines",
    "EngineError": "errors",
    "InputError": "errors",
    "KanonError": "errors",
    "MissingDriverError": "errors",
    "PrivacyViolation": "errors",
    "SpecError": "errors",
    "GeneralizationHierarchy": "hierarchy",
    "AlphaKAnonymity": "models",
    "BasicBetaLikeness": "models",
    "DeltaDisclosure": "models",
    "DeltaPresence": "models",
    "EnhancedBetaLikeness": "models",
    "EntropyLDiversity": "models",
    "Homogeneity": "models",
    "JournalistRisk": "models",
    "KAnonymity": "models",
    "KEAnonymity": "models",
    "KMap": "models",
    "KMapEstimate": "models",
    "LDiversity": "models",
    "MarketerRisk": "models",
    "PSensitiveKAnonymity": "models",
    "PopulationUniqueness": "models",
    "ProsecutorRisk": "models",
    "RecursiveClDiversity": "models",
    "SampleUniqueness": "models",
    "TCloseness": "models",
    "ProfileResult": "profile_result",
    "AuditResult": "result",
    "CheckResult": "result",
    "TableResult": "result",
    "AuditSpec": "spec",
    "ReferenceSpec": "spec",
    "TableSpec": "spec",
}

__all__ = [
    "AlphaKAnonymity",
    "AnonymizationResult",
    "AuditResult",
    "AuditSpec",
    "BasicBetaLikeness",
    "CheckResult",
    "CompiledAudit",
    "DeltaDisclosure",
    "DeltaPresence",
    "EngineError",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "GeneralizationHierarchy",
    "Homogeneity",
    "InputError",
    "JournalistRisk",
    "KAnonymity",
    "KEAnonymity",
    "KMap",
    "KMapEstimate",
    "KanonError",
    "LDiversity",
    "MarketerRisk",
    "MissingDriverError",
    "PSensitiveKAnonymity",
    "PopulationUniqueness",
    "PrivacyViolation",
    "ProfileResult",
    "ProsecutorRisk",
    "RecursiveClDiversity",
    "ReferenceSpec",
    "SampleUniqueness",
    "SpecError",
    "TCloseness",
    "TableResult",
    "TableSpec",
    "anonymize",
    "audit",
    "compile",
    "connect",
    "from_json",
    "profile",
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
