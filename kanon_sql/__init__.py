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

    from kanon_sql.anonymizing.release.result import AnonymizationResult as AnonymizationResult
    from kanon_sql.anonymizing.tradeoff import TradeoffResult as TradeoffResult
    from kanon_sql.api import anonymize as anonymize
    from kanon_sql.api import audit as audit
    from kanon_sql.api import compile as compile
    from kanon_sql.api import explain as explain
    from kanon_sql.api import from_json as from_json
    from kanon_sql.api import init as init
    from kanon_sql.api import lineage as lineage
    from kanon_sql.api import policies as policies
    from kanon_sql.api import profile as profile
    from kanon_sql.api import tables as tables
    from kanon_sql.api import tradeoff as tradeoff
    from kanon_sql.auditing.compiler import CompiledAudit as CompiledAudit
    from kanon_sql.auditing.result import AuditResult as AuditResult
    from kanon_sql.engines import connect as connect
    from kanon_sql.errors import EngineError as EngineError
    from kanon_sql.errors import InputError as InputError
    from kanon_sql.errors import KanonError as KanonError
    from kanon_sql.errors import MissingDriverError as MissingDriverError
    from kanon_sql.errors import PrivacyViolation as PrivacyViolation
    from kanon_sql.errors import SpecError as SpecError
    from kanon_sql.models import *
    from kanon_sql.profiling.result import ProfileResult as ProfileResult
    from kanon_sql.question.contract import read_spec as read_spec
    from kanon_sql.question.hierarchy import GeneralizationHierarchy as GeneralizationHierarchy
    from kanon_sql.question.policy import Policy as Policy
    from kanon_sql.question.published import PublishedSpec as PublishedSpec
    from kanon_sql.question.question_parts import AgainstSpec as AgainstSpec
    from kanon_sql.question.question_parts import EarlierReleaseSpec as EarlierReleaseSpec
    from kanon_sql.question.question_parts import ReferenceSpec as ReferenceSpec
    from kanon_sql.question.spec import AuditSpec as AuditSpec
    from kanon_sql.question.table import TableSpec as TableSpec
    from kanon_sql.results.check import CheckResult as CheckResult
    from kanon_sql.results.table import TableResult as TableResult
    from kanon_sql.tracing.result import LineageResult as LineageResult

_HOMES = {
    name: module
    for module, names in {
        "anonymizing.release.result": "AnonymizationResult",
        "anonymizing.tradeoff": "TradeoffResult",
        "api": "anonymize audit compile explain from_json "
        "init lineage policies profile tables tradeoff",
        "auditing.compiler": "CompiledAudit",
        "auditing.result": "AuditResult",
        "engines": "connect",
        "errors": "EngineError InputError KanonError MissingDriverError PrivacyViolation SpecError",
        "profiling.result": "ProfileResult",
        "question.contract": "read_spec",
        "question.hierarchy": "GeneralizationHierarchy",
        "question.policy": "Policy",
        "question.published": "PublishedSpec",
        "question.question_parts": "AgainstSpec EarlierReleaseSpec ReferenceSpec",
        "question.spec": "AuditSpec",
        "question.table": "TableSpec",
        "results.check": "CheckResult",
        "results.table": "TableResult",
        "tracing.result": "LineageResult",
    }.items()
    for name in names.split()
}


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
