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
    from kanon_sql.anonymizing.result import AnonymizationResult
    from kanon_sql.anonymizing.tradeoff import TradeoffResult
    from kanon_sql.api import anonymize, audit, compile, from_json, init, profile, tradeoff
    from kanon_sql.auditing.compiler import CompiledAudit
    from kanon_sql.auditing.result import AuditResult
    from kanon_sql.engines import connect
    from kanon_sql.errors import (
        EngineError,
        InputError,
        KanonError,
        MissingDriverError,
        PrivacyViolation,
        SpecError,
    )
    from kanon_sql.profiling.result import ProfileResult
    from kanon_sql.results.table import CheckResult, TableResult
    from kanon_sql.spec.earlier_release import EarlierReleaseSpec
    from kanon_sql.spec.hierarchy import GeneralizationHierarchy
    from kanon_sql.spec.models.closeness import (
        BasicBetaLikeness,
        DeltaDisclosure,
        EnhancedBetaLikeness,
        TCloseness,
    )
    from kanon_sql.spec.models.composition import ComposedKAnonymity, ComposedLDiversity
    from kanon_sql.spec.models.diversity import (
        AlphaKAnonymity,
        EntropyLDiversity,
        Homogeneity,
        KEAnonymity,
        LDiversity,
        PSensitiveKAnonymity,
        RecursiveClDiversity,
    )
    from kanon_sql.spec.models.estimates import KMapEstimate, PopulationUniqueness
    from kanon_sql.spec.models.reference import DeltaPresence, KMap
    from kanon_sql.spec.models.risk import JournalistRisk, MarketerRisk, ProsecutorRisk
    from kanon_sql.spec.models.sizes import KAnonymity, SampleUniqueness
    from kanon_sql.spec.spec import AuditSpec, ReferenceSpec, TableSpec

_HOMES = {
    "AnonymizationResult": "anonymizing.result",
    "anonymize": "api",
    "audit": "api",
    "compile": "api",
    "from_json": "api",
    "init": "api",
    "profile": "api",
    "tradeoff": "api",
    "TradeoffResult": "anonymizing.tradeoff",
    "CompiledAudit": "auditing.compiler",
    "connect": "engines",
    "EngineError": "errors",
    "InputError": "errors",
    "KanonError": "errors",
    "MissingDriverError": "errors",
    "PrivacyViolation": "errors",
    "SpecError": "errors",
    "GeneralizationHierarchy": "spec.hierarchy",
    "AlphaKAnonymity": "spec.models.diversity",
    "BasicBetaLikeness": "spec.models.closeness",
    "ComposedKAnonymity": "spec.models.composition",
    "ComposedLDiversity": "spec.models.composition",
    "DeltaDisclosure": "spec.models.closeness",
    "DeltaPresence": "spec.models.reference",
    "EnhancedBetaLikeness": "spec.models.closeness",
    "EntropyLDiversity": "spec.models.diversity",
    "Homogeneity": "spec.models.diversity",
    "JournalistRisk": "spec.models.risk",
    "KAnonymity": "spec.models.sizes",
    "KEAnonymity": "spec.models.diversity",
    "KMap": "spec.models.reference",
    "KMapEstimate": "spec.models.estimates",
    "LDiversity": "spec.models.diversity",
    "MarketerRisk": "spec.models.risk",
    "PSensitiveKAnonymity": "spec.models.diversity",
    "PopulationUniqueness": "spec.models.estimates",
    "ProsecutorRisk": "spec.models.risk",
    "RecursiveClDiversity": "spec.models.diversity",
    "SampleUniqueness": "spec.models.sizes",
    "TCloseness": "spec.models.closeness",
    "ProfileResult": "profiling.result",
    "AuditResult": "auditing.result",
    "CheckResult": "results.table",
    "TableResult": "results.table",
    "AuditSpec": "spec.spec",
    "EarlierReleaseSpec": "spec.earlier_release",
    "ReferenceSpec": "spec.spec",
    "TableSpec": "spec.spec",
}

__all__ = [
    "AlphaKAnonymity",
    "AnonymizationResult",
    "AuditResult",
    "AuditSpec",
    "BasicBetaLikeness",
    "CheckResult",
    "CompiledAudit",
    "ComposedKAnonymity",
    "ComposedLDiversity",
    "DeltaDisclosure",
    "DeltaPresence",
    "EarlierReleaseSpec",
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
    "TradeoffResult",
    "anonymize",
    "audit",
    "compile",
    "connect",
    "from_json",
    "init",
    "profile",
    "tradeoff",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("kanon_sql.results.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"kanon_sql.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
