"""The SQL macros of `templates/`, Python's side of the host contract.

The macros in `templates/macros/shared` are plain Jinja that dbt loads unchanged. Where the hosts
differ, a name in the `kanon_sql` namespace has two implementations: the functions of `HOST` here,
and the macros of `templates/macros/dbt_only/host.sql` in dbt. A column is a `BoundColumn` or, as
always in dbt, a plain name of unknown type. `templates/searching` is for the lattice search on any
engine, `templates/duckdb` for the embedded engine, `templates/warehouses` for the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment
from sqlglot import exp

from kanon_sql.errors import SpecError
from kanon_sql.sql.bytecode_cache import compiled
from kanon_sql.sql.quoting import (
    DIALECT,
    SLACK,
    SLACK_OF_DISTANCES,
    exactly,
    generated_or_quoted,
    identifier,
    literal,
    positive_int,
    value_as_text,
)
from kanon_sql.sql.tables import family


def _ident(column: Any) -> str:
    """The column's quoted name, where records are read."""
    return identifier(column if isinstance(column, str) else column.name)


def _type_of(column: Any) -> str:
    """The column's type; "" for a plain name."""
    return "" if isinstance(column, str) else column.type


def _is_text(column: Any) -> bool:
    """Whether numbers must be parsed from the column's text."""
    return isinstance(column, str) or bool(column.is_text)


def _source(column: Any) -> str:
    """The SELECT expression of a column: raw, or generalised under its own name."""
    generalised = getattr(column, "generalised", None)
    return f"{generalised} as {_ident(column)}" if generalised else _ident(column)


def _alias(column: Any) -> str:
    """The column's name in CTEs above the records."""
    return generated_or_quoted(column if isinstance(column, str) else column.alias)


def _hash(value: str) -> str:
    """The hash that replaces a value in GROUP BY: half of it, which sorts faster."""
    return f"cast(hash({value}) >> 32 as uinteger)"


def _key(column: Any) -> str:
    """The GROUP BY key of a column: its value, or its hash if proven exact."""
    return _hash(_ident(column)) if getattr(column, "hashed", False) else _ident(column)


def _is_null(column: Any, of: str | None = None) -> str:
    """Predicate: a key is NULL; `of` qualifies it with a CTE."""
    key = f"{of}.{_alias(column)}" if of else _alias(column)
    is_hashed = getattr(column, "hashed", False)
    return f"{key} = {_hash('null')}" if is_hashed else f"{key} is null"


def _is_known(column: Any) -> str:
    """Predicate: a key is not NULL."""
    if getattr(column, "hashed", False):
        return f"{_alias(column)} <> {_hash('null')}"
    return f"{_alias(column)} is not null"


def _is_star(column: Any) -> str:
    """Predicate: a key is `*`."""
    if getattr(column, "hashed", False):
        return f"{_alias(column)} = {_hash(literal('*'))}"
    if (place := getattr(column, "star", None)) is not None:
        return f"{_alias(column)} = {place}"
    is_varchar = _type_of(column) == "VARCHAR"
    return f"{_alias(column) if is_varchar else f'cast({_alias(column)} as varchar)'} = '*'"


def _is_value(column: Any, value: Any) -> str:
    """Predicate: a key equals a value of the spec.

    Text is compared, except for numbers, where 0.5 equals 0.50.
    """
    if value is None:
        return _is_null(column)
    if family(_type_of(column)) == "number" and _is_number(value):
        return f"{_alias(column)} = {value_as_text(value)}"
    text = literal(value_as_text(value))
    if getattr(column, "hashed", False):
        return f"{_alias(column)} = {_hash(text)}"
    if _type_of(column) == "VARCHAR":
        return f"{_alias(column)} = {text}"
    return f"{_as_text(_alias(column), _type_of(column))} = {text}"


def _is_number(value: Any) -> bool:
    is_float = isinstance(value, float) and math.isfinite(value)
    return is_float or (isinstance(value, int) and not isinstance(value, bool))


def _finite_number(column: Any) -> str:
    """A value as a finite number that can be subtracted; otherwise NULL."""
    value, type = _alias(column), _type_of(column)
    if family(type) != "number":
        value = f"try_cast({value} as double)"
    elif type.startswith(("HUGEINT", "UHUGEINT")):
        value = f"cast({value} as double)"
    elif type.startswith("DECIMAL"):
        return value
    elif not type.startswith(("DOUBLE", "FLOAT", "REAL")):
        return f"cast({value} as decimal(38, 0))"
    return f"case when abs({value}) <= 1.7976931348623157e308 then {value} end"


def _least_difference(column: Any, threshold: Any) -> str:
    """The lower bound of a difference between two values, in the difference's type."""
    type = _type_of(column)
    decimals = re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", type)
    is_integer = family(type) == "number" and not type.startswith(
        ("DOUBLE", "FLOAT", "REAL", "HUGEINT", "UHUGEINT", "DECIMAL")
    )
    if not is_integer and not decimals:
        return f"{float(threshold)!r} * (1 - {SLACK!r})"
    digits = int(decimals[1]) if decimals else 0
    steps = math.ceil(exactly(threshold) * 10**digits)
    text = f"{steps:0{digits + 1}d}"
    exact = f"{text[:-digits]}.{text[-digits:]}" if digits else text
    return f"cast({exact} as decimal(38, {digits}))"


def _order_keys(value: str, type: str) -> list[str]:
    """ORDER BY keys of values.

    Text, and columns of unknown type, are ordered by their number, then their date, as dates don't
    cast to numbers.
    """
    if type and family(type) != "text":
        return [value]
    value = value if type else f"cast({value} as varchar)"
    return [f"try_cast({value} as double)", f"try_cast({value} as timestamp)"]


def _fraction(threshold: Any) -> tuple[int, int]:
    """A threshold as a fraction (numerator, denominator) of its decimal digits: 0.29 is 29 and 100.

    Integers of 18 digits can be multiplied by it.
    """
    precision = 10**17
    exact = min(Fraction(round(exactly(threshold) * precision), precision), Fraction(precision))
    denominator = next(10**digits for digits in range(18) if 10**digits % exact.denominator == 0)
    return exact.numerator * (denominator // exact.denominator), denominator


def _least_size(bound: Any) -> int | None:
    """The smallest class size whose reciprocal is within the bound; None for 0."""
    numerator, denominator = _fraction(bound)
    return -(-denominator // numerator) if numerator else None


def _as_text(value: str, type: str) -> str:
    """The text of a value; an integral number has no decimal point."""
    if type.startswith(("DOUBLE", "FLOAT", "REAL", "DECIMAL")):
        # The type makes engines that drop trailing zeros print every digit.
        number = f"cast({value} as {type.lower()})" if type.startswith("DECIMAL(") else value
        return (
            f"case when {value} = floor({value}) and abs({value}) < 1e15 "
            f"then cast(try_cast({value} as bigint) as varchar) else cast({number} as varchar) end"
        )
    return f"cast({value} as varchar)"


_DATE_FORMATS = {"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}


def _rows_as_text(rows: Sequence[tuple[str, str]], divider: str) -> str:
    """Rows as one multi-line literal, each value preceded by the divider.

    Raises `SpecError` for a value with a line break.
    """
    text = "\n     ".join(f"{divider}{value}{divider}{label}" for value, label in rows)
    if len(text.splitlines()) != len(rows):
        raise SpecError("a value of the hierarchy has a line break in it; write it in one line.")
    return exp.Literal.string(text).sql(dialect=DIALECT)


def _unused_character(rows: Sequence[tuple[str, str]]) -> str:
    """A character that no value contains, preferably a usual column separator."""
    used = {character for row in rows for value in row for character in value}
    return next(
        char for char in ("|", ";", "~", *map(chr, range(0xE000, 0xF900))) if char not in used
    )


def _lines(text: str) -> str:
    """The lines of a text as rows, unnested in SELECT."""
    return f"unnest(string_split(\n    {text},\n    chr(10)\n))"


def _split_part(text: str, divider: str, index: int) -> str:
    """The 1-based field of a text split at dividers."""
    return f"split_part({text}, {literal(divider)}, {index})"


HOST = {
    # names of a column
    "ident": _ident,
    "source": _source,
    "alias": _alias,
    "key": _key,
    "type_of": _type_of,
    "is_text": _is_text,
    # predicates and keys on a column's values
    "is_null": _is_null,
    "is_known": _is_known,
    "is_star": _is_star,
    # Only text can be a star.
    "may_be_star": _is_text,
    "is_value": _is_value,
    "finite_number": _finite_number,
    "spelled_number": lambda column: f"try_cast({_alias(column)} as double)",
    "least_difference": _least_difference,
    "order_keys": _order_keys,
    # functions spelled differently by engines
    "same": lambda left, right: f"{left} is not distinct from {right}",
    # of a group that is known to have one
    "only_value": lambda value: f"any_value({value})",
    "texts_in_order": lambda text, order: f"string_agg({text}, ',' order by {order})",
    # the whole text
    "matches": lambda text, pattern: f"regexp_full_match({text}, '{pattern}')",
    # of a text in another one, from 1; 0 if it is not there
    "position": lambda part, text: f"position({part} in {text})",
    "cast_or_null": lambda text, type: f"try_cast({text} as {type})",
    # of a column that text may spell
    "decimal_or_null": lambda column, type: f"try_cast({_ident(column)} as {type})",
    # A precondition verifies that a weight is an integer.
    "weight_of": lambda column: f"cast({_ident(column)} as bigint)",
    "as_text": _as_text,
    # truncated to day, month or year
    "date_text": lambda date, part: f"strftime({date}, '{_DATE_FORMATS[part]}')",
    "pad_right": lambda text, length: f"rpad({text}, {length}, '*')",
    "pad_left": lambda text, length: f"lpad({text}, {length}, '*')",
    # all of a shorter text
    "suffix": lambda text, length: f"right({text}, {length})",
    # an integer expression that ends with an error when it is evaluated
    "raised": lambda message: f"cast(error({message}) as integer)",
    "about_the_test": tuple,
    # values of a question, as SQL
    "literal": literal,
    "positive_int": positive_int,
    "number": lambda threshold: repr(float(threshold)),
    "numerator": lambda threshold: _fraction(threshold)[0],
    "denominator": lambda threshold: _fraction(threshold)[1],
    "least_size": _least_size,
    "slack": lambda: repr(SLACK),
    "slack_of_distances": lambda: repr(SLACK_OF_DISTANCES),
    # types
    "text_type": lambda: "varchar",
    "float_type": lambda: "double",
    "exact_type": lambda: "decimal(18, 0)",
    "whole_type": lambda: "bigint",
    "widest_type": lambda digits=0: f"decimal(38, {digits})",
}
"""The host contract: every name on which dbt and Python differ.

The macros in `macros/shared` use nothing else, so both hosts must define every name.
"""

EMBEDDED = {
    "hash": _hash,
    "rows_as_text": _rows_as_text,
    "unused_character": _unused_character,
    "lines": _lines,
    "part": _split_part,
}
"""Further functions for the macros in `templates/duckdb`."""


def folder() -> Path:
    """The templates folder: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


_MACRO_OR_END = re.compile(
    r"^{%-?\s*(?:macro\s+(?P<name>\w+)\(|endmacro\s*-?%})", re.MULTILINE | re.ASCII
)


class _Source(NamedTuple):
    """A macro's text, padded with empty lines so that errors report the file's line numbers."""

    path: Path
    text: str


@cache
def _sources() -> dict[str, _Source]:
    """Every macro's source by name."""
    sources: dict[str, _Source] = {}
    for place in ("macros/shared", "searching", "duckdb", "warehouses"):
        for path in sorted((folder() / place).glob("*.sql")):
            text = path.read_text(encoding="utf-8")
            bounds = _MACRO_OR_END.finditer(text)
            for macro, end in zip(bounds, bounds, strict=True):
                name = macro["name"]
                if name in sources or name in HOST or name in EMBEDDED:
                    raise RuntimeError(f"the macro {name} is defined twice, in {path.name} too")
                padding = "\n" * text.count("\n", 0, macro.start())
                sources[name] = _Source(path, padding + text[macro.start() : end.end()])
    return sources


@cache
def _names_by_file() -> dict[Path, list[str]]:
    """Macro names by file."""
    names: dict[Path, list[str]] = {}
    for name, source in _sources().items():
        names.setdefault(source.path, []).append(name)
    return names


class _Macros(dict[str, Any]):
    """Host functions and macros by name, resolved as `kanon_sql.name` within macros.

    A macro is compiled on first use, as a question needs few of them.
    """

    def __init__(self) -> None:
        super().__init__(HOST | EMBEDDED)
        self._environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        self._environment.globals["kanon_sql"] = _Namespace(self)
        self._environment.globals["return"] = _return

    def __missing__(self, name: str) -> Any:
        source = _sources()[name]
        siblings = {
            macro: partial(self._call_sibling, macro) for macro in _names_by_file()[source.path]
        }
        code = compiled(
            name,
            source.text,
            source.path,
            lambda: self._environment.compile(source.text, name, str(source.path)),
        )
        variables = self._environment.make_globals(siblings)
        template = Template.from_code(self._environment, code, variables)
        self[name] = macro = _Macro(getattr(template.module, name))
        return macro

    def _call_sibling(self, name: str, *by_place: Any, **by_name: Any) -> Any:
        """Call a macro from another one of the same file."""
        return self[name](*by_place, **by_name)


class _ReturnedError(Exception):
    """Ends a macro with a non-text value, like dbt's `return`."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def _return(value: Any) -> None:
    raise _ReturnedError(value)


class _Macro(NamedTuple):
    """A macro that may return a value instead of text."""

    template_macro: Any

    @property
    def arguments(self) -> tuple[str, ...]:
        """Parameter names."""
        return tuple(self.template_macro.arguments)

    def __call__(self, *by_place: Any, **by_name: Any) -> Any:
        try:
            return self.template_macro(*by_place, **by_name)
        except _ReturnedError as returned:
            return returned.value


class _Namespace:
    """The macros as attributes of the `kanon_sql` namespace."""

    def __init__(self, macros: _Macros) -> None:
        self._macros = macros

    def __getattr__(self, name: str) -> Any:
        try:
            return self._macros[name]
        except KeyError:
            raise AttributeError(name) from None


@cache
def _macros() -> _Macros:
    return _Macros()


def render(macro: str, **arguments: Any) -> str:
    """Render a macro, stripped."""
    text: str = _macros()[macro](**arguments)
    return text.strip()


def render_known(macro: str, **arguments: Any) -> str:
    """Render a macro with those of the arguments that it declares."""
    return render(macro, **_accepted_arguments(macro, arguments))


def declared(macro: str, **arguments: Any) -> list[Mapping[str, str]]:
    """The list a macro returns, given those of the arguments that it declares."""
    returned: list[Mapping[str, str]] = _macros()[macro](**_accepted_arguments(macro, arguments))
    return returned


def _accepted_arguments(macro: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _macros()[macro].arguments
    return {name: arguments[name] for name in parameters if name in arguments}


def macro_names() -> list[str]:
    """Names of all macros, without host functions."""
    return sorted(_sources())
