"""The `AuditSpec` of a Python call's arguments."""

from __future__ import annotations

import functools
import inspect
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypedDict, TypeVar

from pydantic import BaseModel

from kanon_sql.errors import (
    NO_SOURCE_ORDER,
    KanonError,
    SpecError,
    described_value,
    did_you_mean,
    in_one,
    kind_of,
    option,
)
from kanon_sql.files import is_url_of_object, without_credentials
from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import short_checks, short_rules
from kanon_sql.models.described import texts_below
from kanon_sql.question.hierarchy import (
    BUILDERS,
    DATES,
    KINDS_OF_LEVELS,
    SUPPRESS,
    GeneralizationHierarchy,
    parse_builder,
)
from kanon_sql.question.other_tables import AGAINST, EARLIER, REFERENCE, OtherTableKind
from kanon_sql.question.question_parts import SPECS, source_alone
from kanon_sql.question.roles import ROLES, Names, QuasiIdentifiers, RoleArguments
from kanon_sql.question.spec import AuditSpec, advice, published_spec, table_spec
from kanon_sql.question.table import TableSpec, Unassigned

Checks = Model | Iterable[Model | str | Mapping[str, Any]] | Mapping[str, Any]


class Thresholds(TypedDict, total=False):
    """The thresholds besides `k`."""

    l: int | None
    t: float | None
    k_map: int | None


class SourceArguments(TypedDict, total=False):
    """How a table is read, whether its records are judged or its cells."""

    where: str | None
    first: int | None
    weight: str | None
    hierarchy_faults: Literal["error", "warn"]
    null_strings: Names
    delimiter: str | None
    decimal: Literal[".", ","]
    header: bool | Literal["yes", "no"] | None
    encoding: str | None
    skip: int | None
    dates: str | Mapping[str, str] | None
    name: str | None


class CellRules(TypedDict, total=False):
    """The rules for the cells of a table in short."""

    threshold: int | None
    dominance: Iterable[Sequence[float]] | Sequence[float] | None
    p_percent: float | None
    derivable: bool
    min_difference: int | None


class CellArguments(SourceArguments, total=False):
    """The settings of a table that is published."""

    value: str | None
    contributor: str | None
    margins: Any
    hierarchies: Mapping[str, Any] | None
    suppressed: Any
    total_label: Any
    total_flag: Mapping[str, str] | None
    count: str | None
    magnitude: bool
    value_bounds: Any
    absent: Literal["zero", "suppressed"]
    totals: Any
    thousands: Literal[".", ",", " ", "'", "space"] | None
    flags: bool
    wide: str | None
    policy: Names


class TableArguments(SourceArguments, RoleArguments, total=False):
    """The settings of a table that every function of the API takes besides the main ones."""

    unassigned: Unassigned
    nulls: Literal["value", "wildcard"]
    sensitive_nulls: Literal["value", "unknown"]
    levels: Mapping[str, int] | None
    with_other_sensitive: bool
    policy: Any
    release: Mapping[str, str]
    lineage: Mapping[str, str]


# --- keyword arguments ----------------------------------------------------------------------

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")
_SYNONYMS = {
    "qi": "quasi_identifiers",
    "qis": "quasi_identifiers",
    "quasi": "quasi_identifiers",
    "model": "checks",
    "models": "checks",
    "connection": "engine",
    "connect": "engine",
    "force": "overwrite",
}
"""Synonyms of parameters that a similarity search doesn't find."""


_TYPES: dict[str, tuple[Any, str]] = {
    "bool": (bool, "True or False"),
    "int": (Integral, "a whole number"),
    "str": (str, "text"),
    "str | None": (str | None, "text"),
    "str | Path | None": (str | Path | None, "the path of a file"),
}
"""The types that a call checks, and what they are in words; the others are checked where used."""


def keywords_of(
    *models: type[Any],
) -> Callable[[Callable[_Parameters, _Returned]], Callable[_Parameters, _Returned]]:
    """Decorator like `suggests_parameters`; unpacked keywords have their defaults in `models`."""
    return lambda call: suggests_parameters(call, models)


def suggests_parameters(
    call: Callable[_Parameters, _Returned], models: Sequence[type[Any]] | None = None
) -> Callable[_Parameters, _Returned]:
    """Decorator: an unknown keyword raises `SpecError` with the parameter probably meant, as does a
    value of another type for texts, paths and switches. The signature lists the keywords of an
    unpacked `TypedDict`, and with `models` the docstring ends with a sentence on each."""
    signature = inspect.signature(call)
    listed = [
        listed_parameter
        for parameter in signature.parameters.values()
        for listed_parameter in (list(_unpacked(parameter, call, models or ())) or [parameter])
    ]
    parameter_names = [parameter.name for parameter in listed]
    typed = {
        parameter.name: _TYPES[parameter.annotation]
        for parameter in listed
        if parameter.annotation in _TYPES
    }

    @functools.wraps(call)
    def checked_call(*positional: _Parameters.args, **named: _Parameters.kwargs) -> _Returned:
        unknown = [
            SpecError(f'{call.__name__} has no parameter "{name}".{_suggestion(name)}')
            for name in named
            if name not in parameter_names
        ]
        if unknown:
            raise in_one(unknown)
        for name, value in {
            **dict(zip(parameter_names, positional, strict=False)),
            **named,
        }.items():
            types, expected = typed.get(name, (object, ""))
            if not isinstance(value, types):
                raise SpecError(f"{name} must be {expected}; found {described_value(value)}.")
        try:
            return call(*positional, **named)
        except KanonError as error:
            # The frames between the caller and this wrapper are of no use to the caller.
            raise error.with_traceback(None) from error.__cause__

    def _suggestion(name: str) -> str:
        if name == "keep_order":
            return f" {NO_SOURCE_ORDER}"
        if name in _SYNONYMS:
            return did_you_mean(_SYNONYMS[name], parameter_names)
        if name in ("hierarchy", "hierarchies", *GeneralizationHierarchy.model_fields):
            return advice(name, TableSpec)
        return did_you_mean(name, parameter_names)

    vars(checked_call)["__signature__"] = signature.replace(parameters=listed)
    if models is not None:
        of_parameters = list(_in_words(call.__name__, parameter_names, models))
        paragraphs = [inspect.cleandoc(call.__doc__ or ""), "\n".join(of_parameters)]
        checked_call.__doc__ = "\n\nParameters:\n\n".join(paragraphs)
    return checked_call


def _in_words(call: str, names: Iterable[str], models: Sequence[type[Any]]) -> Iterator[str]:
    """Each parameter of a function with the sentence that describes it."""
    text = files("kanon_sql.question").joinpath("parameters.toml").read_text(encoding="utf-8")
    own = tomllib.loads(text)
    sentences = dict(own["all"])
    for model in models:
        described: Any = model
        sentences |= texts_below(described)
    sentences |= own["all"] | own.get(call, {})
    for name in filter(sentences.__contains__, names):
        # What follows the first paragraph is about spec files.
        sentence = " ".join(sentences[name].partition("\n\n")[0].split())
        yield textwrap.fill(f"{name}: {sentence}", 92, subsequent_indent="    ")


def _unpacked(
    parameter: inspect.Parameter, call: Callable[..., Any], models: Sequence[type[Any]]
) -> Iterator[inspect.Parameter]:
    """The keywords of `**name: Unpack[TYPED_DICT]`."""
    if parameter.kind is parameter.VAR_KEYWORD:
        typed = call.__globals__[parameter.annotation[len("Unpack[") : -1]]
        for name, annotation in typed.__annotations__.items():
            text = getattr(annotation, "__forward_arg__", annotation)
            default = _default(name, models)
            if default is None and text == "bool":
                default = False
            yield inspect.Parameter(name, parameter.KEYWORD_ONLY, default=default, annotation=text)


def _default(name: str, models: Sequence[type[Any]]) -> Any:
    """The default of a field in the first of the models that has it."""
    for model in models:
        if issubclass(model, BaseModel) and name in model.model_fields:
            return model.model_fields[name].get_default(call_default_factory=True)
        if name in getattr(model, "__dataclass_fields__", ()):
            return getattr(model, name, None)
    return None


def only(keywords: Any, arguments: Any) -> dict[str, Any]:
    """The arguments given for the keywords of a `TypedDict`."""
    return {name: arguments[name] for name in keywords.__annotations__ if name in arguments}


def spec_from_arguments(
    data: Any,
    quasi_identifiers: QuasiIdentifiers,
    sensitive: Names,
    checks: Checks,
    references: Any,
    earlier_releases: Any,
    thresholds: Mapping[str, Any],
    **table_arguments: Any,
) -> AuditSpec:
    tables = _other_tables(REFERENCE, references)
    columns = column_list("sensitive", sensitive)
    has_levels = isinstance(sensitive, Mapping)
    arguments = {
        "quasi_identifiers": _quasi_identifiers(quasi_identifiers),
        "sensitive": _quasi_identifiers(sensitive, "sensitive") if has_levels else columns,
        "checks": _models(checks),
        "references": tables,
        "earlier_releases": _other_tables(EARLIER, earlier_releases),
        **{key: _argument(key, value) for key, value in table_arguments.items()},
    }
    if isinstance(data, AuditSpec):
        defaults: tuple[Any, ...] = (None, False, [], {}, "value", "error", ".")
        superfluous = [
            key
            for key, value in {**arguments, **thresholds}.items()
            if value not in defaults or key == "unassigned" or (key == "header" and value is False)
        ]
        _refuse_arguments_with_spec(superfluous)
        if not data.tables:
            raise SpecError("the AuditSpec has published tables only, which tables() checks.")
        return data
    arguments["checks"] = [
        *threshold_checks(thresholds, columns, list(tables)),
        *arguments["checks"],
    ]
    return AuditSpec(tables=[table_spec(source=data, **arguments)])


def published_from_arguments(
    data: Any,
    by: Names,
    checks: Checks,
    against: Any,
    rules: Mapping[str, Any],
    **settings: Any,
) -> AuditSpec:
    """The spec of a published table, from the arguments of `tables`."""
    if isinstance(data, AuditSpec):
        arguments = {"by": column_list("by", by), "checks": _models(checks), "against": against}
        _refuse_arguments_with_spec([name for name, argument in arguments.items() if argument])
        if not data.published:
            raise SpecError("the AuditSpec has no published tables; audit checks its records.")
        return data
    others = _other_tables(AGAINST, against)
    # A default counts as not given, so that it contradicts nothing.
    defaults = {"margins": "all", "absent": "zero", "suppressed": (), "magnitude": False}
    # None is the label of a total in GROUPING SETS, and elsewhere not given.
    settings = {
        key: value
        for key, value in settings.items()
        if (value is not None or key == "total_label")
        and (key not in defaults or value != defaults[key])
    }
    for key in ("hierarchies", "total_flag"):
        settings[key] = by_column(key, settings.get(key))
    settings["null_strings"] = column_list("null_strings", settings.get("null_strings"))
    settings["checks"] = [*_rules(rules, list(others)), *_models(checks)]
    dimensions = column_list("by", [by] if isinstance(by, Mapping) else by)
    spec = published_spec(source=data, by=dimensions, against=others, **settings)
    return AuditSpec(published=[spec])


def _refuse_arguments_with_spec(superfluous: Sequence[str]) -> None:
    if superfluous:
        raise SpecError(
            f"an AuditSpec can't be combined with {', '.join(superfluous)}. Set it in the spec."
        )


def _rules(rules: Mapping[str, Any], against: list[str]) -> list[Any]:
    """The rules for cells that the short forms stand for."""
    dominance = rules.get("dominance") or ()
    pairs = list(dominance) if isinstance(dominance, Iterable) else [dominance]
    if len(pairs) == 2 and all(isinstance(pair, int | float) for pair in pairs):
        pairs = [tuple(pairs)]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        description = described_value(dominance)
        raise SpecError(f"dominance must be pairs of n and k, as in (2, 67); found {description}.")
    return rule_checks({**rules, "dominance": pairs}, against)


def rule_checks(rules: Mapping[str, Any], against: Sequence[str]) -> list[Model]:
    """The rules that the short forms stand for, dominance by pairs of n and k."""
    if rules.get("min_difference") is not None and not against:
        raise SpecError(
            f"{option('min_difference')} needs a second table: {option('against', 'SRC')}."
        )
    return short_rules(rules, against)


def _quasi_identifiers(
    names: QuasiIdentifiers, parameter: str = "quasi_identifiers"
) -> dict[str, Any] | list[str]:
    if isinstance(names, Mapping):
        return {_column(name): _hierarchy(name, hierarchy) for name, hierarchy in names.items()}
    return column_list(parameter, names)


def _hierarchy(name: Any, value: Any) -> Any:
    """A hierarchy as in a spec, or its levels alone in any form that Python has for them."""
    if not isinstance(value, Mapping) or "levels" not in value:
        return _levels(name, value) or value
    levels = _levels(name, value["levels"])
    others = {key: setting for key, setting in value.items() if key != "levels"}
    return value if levels is None else others | levels


def _levels(name: Any, value: Any) -> dict[str, Any] | None:
    """The part of a hierarchy that a short form stands for; None for any other value.

    Short forms are a builder or a file as on the command line, a width or several (`[5, 10]`), one
    builder with its arguments (`{"date": "year"}`), a list of levels in any of these forms
    (`[5, "suppress"]`), and a frame: the raw value, then one column per level.
    """
    try:
        if _is_frame(value):
            return {"hierarchy": _ancestors(value)}
        levels = [level for form in _several(value) for level in _level(form)]
    except SpecError as error:
        raise SpecError(f"quasi_identifiers.{name}: {error}") from None
    if any(level is None for level in levels):
        return None
    match levels:
        case [GeneralizationHierarchy() as file]:
            return file.model_dump(exclude_defaults=True)
    return {"levels": levels} if levels else None


def _several(value: Any) -> list[Any]:
    """A value or the items of a list, a range, and a numpy array or pandas Series of numbers.

    A Series of texts is most likely the column itself, whose values no error may show.
    """
    items = value.tolist() if hasattr(value, "tolist") else value
    if items is not value and any(isinstance(item, str) for item in _several(items)):
        return [value]
    return list(items) if isinstance(items, list | tuple | range) else [items]


def _level(value: Any) -> Iterator[Any]:
    """The levels that one short form stands for; None for any other value."""
    match value:
        case bool() | None:
            yield None
        case int() | float():
            yield {"width": value}
        case str() if value in (*DATES, SUPPRESS):
            yield value
        case str() | Path():
            hierarchy = parse_builder(str(value))
            yield from hierarchy.levels or (hierarchy,)
        case Mapping() if len(value) == 1 and next(iter(value)) in BUILDERS:
            [(builder, arguments)] = value.items()
            several = _several(arguments)
            yield from parse_builder(f"{builder}:{','.join(map(str, several))}").levels or (None,)
        case Mapping() if next(iter(value), None) in KINDS_OF_LEVELS:
            yield value
        case _:
            yield None


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and (hasattr(value, "to_dict") or hasattr(value, "to_pydict"))


_MISSING = ("None", "nan", "NaT", "<NA>")


def _ancestors(frame: Any) -> dict[str, list[str]]:
    """The ancestors of each raw value of a pandas, polars or pyarrow table. Raises `SpecError` for
    a missing value, and for a raw value with two parents."""
    names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
    ancestors: dict[str, list[str]] = {}
    for cells in zip(*(_several(_cells(frame[name])) for name in names), strict=True):
        if any(not isinstance(cell, str) and str(cell) in _MISSING for cell in cells):
            raise SpecError("the frame lacks a value. Give each raw value a label at every level.")
        raw, *above = map(str, cells)
        if ancestors.setdefault(raw, above) != above:
            raise SpecError("the frame gives a raw value two parents. Give each value one row.")
    return ancestors


def _cells(column: Any) -> Any:
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def _models(checks: Any) -> list[Any]:
    """The checks as a list, from one model, a list, or a mapping from name to parameters."""
    if isinstance(checks, Mapping):
        return [{name: parameters} for name, parameters in checks.items()]
    if checks is None:
        return []
    is_single = isinstance(checks, Model | str) or not isinstance(checks, Iterable)
    return [checks] if is_single else list(checks)


def threshold_checks(
    thresholds: Mapping[str, Any], sensitive: Sequence[str], references: Sequence[str]
) -> list[Any]:
    """The checks that the short forms `k`, `l`, `t` and `k_map` stand for."""
    for key in ("l", "t"):
        if thresholds.get(key) is not None and not sensitive:
            raise SpecError(
                f"{option(key)} needs a sensitive attribute: {option('sensitive', 'COL')}."
            )
    k = thresholds.get("k_map")
    if k is not None and not references:
        raise SpecError(f"{option('k_map')} needs a reference: {option('references', 'SRC')}.")
    if k is not None and len(references) > 1:
        checks = [option("checks", {"k_map": {"k": k, "reference": name}}) for name in references]
        raise SpecError(
            f"{option('k_map')} is ambiguous with several references: write {' or '.join(checks)}."
        )
    return [*short_checks(thresholds, sensitive, references[0] if references else None)]


def _other_tables(kind: OtherTableKind, tables: Any) -> dict[str, Any]:
    """Other tables of a kind by name. The only one may stand alone, also as a mapping."""
    if tables is None:
        return {}
    spec, is_mapping = SPECS[kind.key], isinstance(tables, Mapping)
    # One table alone may be called "source".
    is_one = is_mapping and {"source"} <= set(tables) <= set(spec.model_fields)
    is_one = is_one and (kind is AGAINST or len(tables) > 1)
    named = tables if is_mapping and not is_one else {kind.prefix: tables}
    return {
        str(name): table if isinstance(table, spec | Mapping) else {"source": table}
        for name, table in named.items()
    }


def _argument(key: str, value: Any) -> Any:
    """The value of an argument as a spec has it; None means not given."""
    role = next((role for role in ROLES if role.key == key), None)
    if role and role.is_generalisable:
        return _quasi_identifiers(value, key)
    if key in ("original", "holdout"):
        return source_alone(value)
    if key == "insensitive" and isinstance(value, Mapping):
        return by_column(key, value)
    if key == "null_strings" or (role and not role.is_single):
        return column_list(key, value)
    if key == "levels":
        if not isinstance(value, Mapping | None):
            raise SpecError(
                f'levels must map columns to levels, as in {{"zip": 2}}; found {kind_of(value)}.'
            )
        return by_column(key, value)
    return value


def by_column(parameter: str, mapping: Any) -> dict[str, Any]:
    """The mapping from column to value, with column names as text."""
    if not isinstance(mapping, Mapping | None):
        raise SpecError(
            f'{parameter} must map columns to values, as in {{"zip": 2}}; found {kind_of(mapping)}.'
        )
    return {_column(name): value for name, value in (mapping or {}).items()}


def column_list(parameter: str, names: Any) -> list[str]:
    """Column names, null strings or marks as a list; a set is sorted, so that the order is the same
    on every run."""
    if names is None:
        return []
    several = (
        [names] if isinstance(names, str | bytes) or not isinstance(names, Iterable) else names
    )
    columns = [_column(name) for name in several]
    wrong = [name for name in columns if not isinstance(name, str)]
    if wrong:
        noun = "text" if parameter in ("null_strings", "marks") else "column"
        raise SpecError(
            f"{parameter} must be a {noun} or a list of them; found {kind_of(wrong[0])}."
        )
    return sorted(columns) if isinstance(names, set | frozenset) else columns


def _column(name: Any) -> Any:
    """A column's name as text; pandas numbers the columns of a frame without a header."""
    is_number = isinstance(name, int) and not isinstance(name, bool)
    return str(name) if is_number else name


def require_local(output: str) -> None:
    """Raise `SpecError` for an address in place of an output file."""
    if is_url_of_object(output):
        raise SpecError(
            f"{without_credentials(output)}: files are written here, and copied to a store from "
            "here; only Spark writes its releases there."
        )


def path_argument(output: str | Path | None, parameter: str = "output") -> Path | None:
    """The path of an output file, or None. Raises `SpecError` for an address."""
    if isinstance(output, str):
        require_local(output)
    if isinstance(output, str | Path | None):
        return Path(output) if output is not None else None
    raise SpecError(f"{parameter} must be the path of a file; found {kind_of(output)}.")
