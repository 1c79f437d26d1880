"""A question as the arguments of a Python call ask it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar

from pydantic import BaseModel

from kanon_sql.errors import SpecError, did_you_mean, kind_of
from kanon_sql.spec.builders import parse_builder
from kanon_sql.spec.earlier_release import EarlierReleaseSpec
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import short_checks
from kanon_sql.spec.question_parts import ReferenceSpec
from kanon_sql.spec.spec import AuditSpec, TableSpec, Unassigned, advice, table_spec

Names = str | Iterable[str]
QuasiIdentifiers = Names | Mapping[str, Any]
Checks = Model | Iterable[Model | str | Mapping[str, Any]] | Mapping[str, Any]


class Parts(TypedDict, total=False):
    """What else `audit` takes of a table, and all other calls with it."""

    entity: str | None
    identifiers: Names
    insensitive: Names
    unassigned: Unassigned
    where: str | None
    first: int | None
    nulls: Literal["value", "wildcard"]
    sensitive_nulls: Literal["value", "unknown"]
    levels: Mapping[str, int] | None
    hierarchy_faults: Literal["error", "warn"]
    with_other_sensitive: bool
    weight: str | None
    null_strings: Names
    delimiter: str | None
    header: bool | Literal["yes", "no"] | None
    name: str | None
    release: Mapping[str, str]


# --- a question by its names ----------------------------------------------------------------

_Takes = ParamSpec("_Takes")
_Gives = TypeVar("_Gives")
_MEANT = {
    "qi": "quasi_identifiers",
    "qis": "quasi_identifiers",
    "quasi": "quasi_identifiers",
    "model": "checks",
    "models": "checks",
    "connection": "engine",
    "connect": "engine",
}
"""What people call a parameter whose name is not near."""


def knows_its_parameters(call: Callable[_Takes, _Gives]) -> Callable[_Takes, _Gives]:
    """The same call, which says of a parameter that it does not have which one is meant."""
    own = inspect.signature(call).parameters
    takes_parts = any(each.kind is each.VAR_KEYWORD for each in own.values())
    known = [
        *(name for name, each in own.items() if each.kind is not each.VAR_KEYWORD),
        *(TableSpec.model_fields if takes_parts else ()),
    ]

    @functools.wraps(call)
    def asked(*given: _Takes.args, **named: _Takes.kwargs) -> _Gives:
        unknown = next((name for name in named if name not in known), None)
        if unknown is not None:
            raise SpecError(f'{call.__name__} has no parameter "{unknown}".{_instead(unknown)}')
        return call(*given, **named)

    def _instead(name: str) -> str:
        if name in _MEANT:
            return did_you_mean(_MEANT[name], known)
        if name in ("hierarchy", "hierarchies", *GeneralizationHierarchy.model_fields):
            return advice(name, TableSpec)
        return did_you_mean(name, known)

    return asked


def spec_asked(
    data: Any,
    quasi_identifiers: QuasiIdentifiers,
    sensitive: Names,
    checks: Checks,
    references: Any,
    earlier_releases: Any,
    demands: Mapping[str, Any],
    **parts: Any,
) -> AuditSpec:
    tables = _references(references)
    columns = names_listed("sensitive", sensitive)
    asked = {
        "quasi_identifiers": _quasi_identifiers(quasi_identifiers),
        "sensitive": columns,
        "checks": _models(checks),
        "references": tables,
        "earlier_releases": _earlier_releases(earlier_releases),
        **{key: _part(key, value) for key, value in parts.items()},
    }
    if isinstance(data, AuditSpec):
        unsaid: tuple[Any, ...] = (None, False, [], {}, "value", "error")
        beside = [
            key
            for key, value in {**asked, **demands}.items()
            if value not in unsaid or key == "unassigned" or (key == "header" and value is False)
        ]
        if beside:
            raise SpecError(
                f"an AuditSpec asks the question itself, so {', '.join(beside)} has no place "
                "beside it."
            )
        return data
    asked["checks"] = [*_demanded(demands, columns, list(tables)), *asked["checks"]]
    return AuditSpec(tables=[table_spec(source=data, **asked)])


def _quasi_identifiers(names: QuasiIdentifiers) -> dict[str, Any] | list[str]:
    if isinstance(names, Mapping):
        return {_column(name): _hierarchy(name, each) for name, each in names.items()}
    return names_listed("quasi_identifiers", names)


def _hierarchy(name: Any, given: Any) -> Any:
    """A hierarchy as a spec has it; a text is a builder or a file, as on the command line."""
    if not isinstance(given, str):
        return given
    try:
        return parse_builder(given)
    except SpecError as error:
        raise SpecError(f"quasi_identifiers.{name}: {error}") from None


def _models(checks: Any) -> list[Any]:
    """The models asked; one alone stands for a list, and a mapping for one from name to
    parameters."""
    if isinstance(checks, Mapping):
        return [{name: parameters} for name, parameters in checks.items()]
    if checks is None:
        return []
    one = isinstance(checks, Model | str) or not isinstance(checks, Iterable)
    return [checks] if one else list(checks)


def _demanded(demands: Mapping[str, Any], sensitive: list[str], references: list[str]) -> list[Any]:
    """The checks that `k`, `l`, `t` and `k_map` ask for."""
    for key in ("l", "t"):
        if demands.get(key) is not None and not sensitive:
            raise SpecError(f'{key} needs a sensitive attribute, as in sensitive="COL".')
    if demands.get("k_map") is not None and not references:
        raise SpecError("k_map needs a reference: references={NAME: TABLE}.")
    if demands.get("k_map") is not None and len(references) > 1:
        raise SpecError(
            "k_map is ambiguous with several references: write "
            f"checks=[KMap({demands['k_map']}, reference={references[0]!r})]."
        )
    return [*short_checks(demands, sensitive, references[0] if references else None)]


def _by_name(name: str, tables: Any, spec: type[BaseModel]) -> Mapping[Any, Any]:
    """Tables by their names; the only one may stand alone, with what is said of it too."""
    is_mapping = isinstance(tables, Mapping)
    is_one = is_mapping and len(tables) > 1 and {"source"} <= set(tables) <= set(spec.model_fields)
    return tables if is_mapping and not is_one else {name: tables}


def _references(references: Any) -> dict[str, Any]:
    """The reidentification datasets by name; one that has none is called `reference`."""
    if references is None:
        return {}
    named = _by_name("reference", references, ReferenceSpec)
    return {
        str(name): each if isinstance(each, ReferenceSpec | Mapping) else {"source": each}
        for name, each in named.items()
    }


def _earlier_releases(releases: Any) -> dict[str, Any]:
    """The earlier releases by name; one that has none is called `earlier`."""
    if releases is None:
        return {}
    named = _by_name("earlier", releases, EarlierReleaseSpec)
    return {
        str(name): each if isinstance(each, EarlierReleaseSpec | Mapping) else {"source": each}
        for name, each in named.items()
    }


def _part(key: str, value: Any) -> Any:
    """A part of the question as a spec has it; None is what is not said."""
    if key in ("identifiers", "insensitive", "undecided", "null_strings"):
        return names_listed(key, value)
    if key == "levels":
        if not isinstance(value, Mapping | None):
            raise SpecError(
                f'levels must map columns to levels, as in {{"zip": 2}}; found {kind_of(value)}.'
            )
        return by_column(key, value)
    return value


def by_column(parameter: str, given: Any) -> dict[str, Any]:
    """What is said of some columns, by their names."""
    if not isinstance(given, Mapping | None):
        raise SpecError(
            f'{parameter} must map columns to values, as in {{"zip": 2}}; found {kind_of(given)}.'
        )
    return {_column(name): value for name, value in (given or {}).items()}


def names_listed(parameter: str, names: Any) -> list[str]:
    """Column names, in an order that is the same on every run."""
    if names is None:
        return []
    if isinstance(names, str | int):
        return [_column(names)]
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise SpecError(f"{parameter} must be a column or a list of them; found {kind_of(names)}.")
    found = [_column(name) for name in names]
    return sorted(found) if isinstance(names, set | frozenset) else found


def _column(name: Any) -> Any:
    """A column's name; pandas numbers the columns of a frame that was given none."""
    is_number = isinstance(name, int) and not isinstance(name, bool)
    return str(name) if is_number else name


def path_given(output: str | Path | None, parameter: str = "output") -> Path | None:
    """The path of a file, if one is named."""
    if isinstance(output, str | Path | None):
        return Path(output) if output is not None else None
    raise SpecError(f"{parameter} must be the path of a file; found {kind_of(output)}.")
