"""The public names of kanon-sql, a privacy auditor of tables in place.

    import kanon_sql as kanon

    result = kanon.audit("patients.parquet", ["zip", "age", "sex"], sensitive="disease", k=5)
    print(result)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # What a type checker takes for true; typing is slow to import.
if TYPE_CHECKING:
    from typing import Any

    from kanon_sql.anonymizing.release.result import AnonymizationResult
    from kanon_sql.anonymizing.tradeoff import TradeoffResult
    from kanon_sql.api import (
        anonymize,
        audit,
        compile,
        explain,
        from_json,
        init,
        lineage,
        policies,
        profile,
        tables,
        tradeoff,
    )
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
    from kanon_sql.models.cells.models import *
    from kanon_sql.models.earlier.models import *
    from kanon_sql.models.events.models import *
    from kanon_sql.models.population.models import *
    from kanon_sql.models.reference.models import *
    from kanon_sql.models.sizes.models import *
    from kanon_sql.models.synthetic.models import *
    from kanon_sql.models.values.models import *
    from kanon_sql.profiling.result import ProfileResult
    from kanon_sql.question.contract import read_spec
    from kanon_sql.question.hierarchy import GeneralizationHierarchy
    from kanon_sql.question.policy import Policy
    from kanon_sql.question.published import PublishedSpec
    from kanon_sql.question.question_parts import AgainstSpec, EarlierReleaseSpec, ReferenceSpec
    from kanon_sql.question.spec import AuditSpec, TableSpec
    from kanon_sql.results.table import CheckResult, TableResult
    from kanon_sql.tracing.result import LineageResult

_HOMES = {
    "AnonymizationResult": "anonymizing.release.result",
    "anonymize": "api",
    "audit": "api",
    "compile": "api",
    "explain": "api",
    "from_json": "api",
    "init": "api",
    "lineage": "api",
    "policies": "api",
    "profile": "api",
    "tables": "api",
    "tradeoff": "api",
    "TradeoffResult": "anonymizing.tradeoff",
    "CompiledAudit": "auditing.compiler",
    "connect": "engines",
    "EngineError": "errors",
    "InputError": "errors",
    "LineageResult": "tracing.result",
    "KanonError": "errors",
    "MissingDriverError": "errors",
    "PrivacyViolation": "errors",
    "SpecError": "errors",
    "read_spec": "question.contract",
    "GeneralizationHierarchy": "question.hierarchy",
    "Policy": "question.policy",
    "ProfileResult": "profiling.result",
    "AuditResult": "auditing.result",
    "CheckResult": "results.table",
    "TableResult": "results.table",
    "AgainstSpec": "question.question_parts",
    "AuditSpec": "question.spec",
    "EarlierReleaseSpec": "question.question_parts",
    "PublishedSpec": "question.published",
    "ReferenceSpec": "question.question_parts",
    "TableSpec": "question.spec",
}

if TYPE_CHECKING:
    __all__ = [
        "AgainstSpec",
        "AnonymizationResult",
        "AuditResult",
        "AuditSpec",
        "CheckResult",
        "CompiledAudit",
        "EarlierReleaseSpec",
        "EngineError",
        "GeneralizationHierarchy",
        "InputError",
        "KanonError",
        "LineageResult",
        "MissingDriverError",
        "Policy",
        "PrivacyViolation",
        "ProfileResult",
        "PublishedSpec",
        "ReferenceSpec",
        "SpecError",
        "TableResult",
        "TableSpec",
        "TradeoffResult",
        "anonymize",
        "audit",
        "compile",
        "connect",
        "explain",
        "from_json",
        "init",
        "lineage",
        "policies",
        "profile",
        "read_spec",
        "tables",
        "tradeoff",
    ]
    """These and the models, which are read off the catalogue when somebody asks."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("kanon_sql.results.version").VERSION
    if name == "__all__":
        return sorted([*_HOMES, *_models()])
    if name in _HOMES:
        value = getattr(import_module(f"kanon_sql.{_HOMES[name]}"), name)
    elif name[:1].isupper() and name in (models := _models()):
        value = models[name]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _models() -> dict[str, Any]:
    """Every model by the name of its class."""
    models = import_module("kanon_sql.models.catalogue").ALL_MODELS.values()
    return {model.__name__: model for model in models}


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
