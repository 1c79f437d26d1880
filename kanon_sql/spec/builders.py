"""Hierarchy builders in one argument of the command line: `age:5,10`, `mask:right`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.files import is_typed_file
from kanon_sql.spec.hierarchy import SUPPRESS, Bound, GeneralizationHierarchy

BUILDERS = {
    "width": "width:5,10,20",
    "round": "round:10,100",
    "depths": "depths:1,2",
    "mask": "mask:right",
    "date": "date:month,year,5y",
    "prefix": "prefix:3,2",
    "cuts": "cuts:18,40,65",
    "top": "top:90",
    "bottom": "bottom:18",
    "suppress": "suppress",
}
_DEFAULTS = {"mask": ["right"], "date": ["month", "year"]}
"""The arguments of a builder that is given without any."""


def parse_builder(text: str, *, tables: bool = False) -> GeneralizationHierarchy:
    """The hierarchy that a command-line argument names: a file, a builder with its arguments, or
    with `tables` a table of the database.

    >>> parse_builder("width:5,10,suppress").levels
    [Width(width=5), Width(width=10), 'suppress']

    Raises `SpecError` if it is neither.
    """
    name, colon, rest = text.partition(":")
    is_table = tables and not colon and name not in BUILDERS
    is_there = Path(text).is_file() or (name not in BUILDERS and Path(text).exists())
    if is_there or is_typed_file(text) or is_table:
        return GeneralizationHierarchy(hierarchy=text)
    if name not in BUILDERS:
        raise SpecError(
            f"{text}: there is no such file, and no builder of that name. Builders: "
            f"{' · '.join(BUILDERS.values())}.{did_you_mean(name, BUILDERS)}"
        )
    arguments = [argument.strip() for argument in rest.split(",")] if colon else []
    last: list[Any] = [SUPPRESS] if name == SUPPRESS or arguments[-1:] == [SUPPRESS] else []
    if name == SUPPRESS and arguments:
        raise SpecError(f"{text}: suppress takes no arguments.")
    if arguments[-1:] == [SUPPRESS]:
        arguments.pop()
    arguments = arguments or _DEFAULTS.get(name, [])
    if name != SUPPRESS and not all(arguments or [""]):
        raise SpecError(f"{text}: {name} lacks an argument. Write it as {BUILDERS[name]}.")
    try:
        return GeneralizationHierarchy(levels=[*_built(name, arguments), *last])
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise SpecError(f"{text}: {fault['ctx']['error']}") from None


def _built(name: str, arguments: list[str]) -> Iterator[Any]:
    """The levels of a builder, as in a spec."""
    if name == "date":
        for argument in arguments:
            years = re.fullmatch(r"([0-9]+)y", argument)
            yield {"years": int(years[1])} if years else argument
    elif name in ("depths", "cuts"):
        yield {name: [_read_number(argument) for argument in arguments]}
    else:
        yield from ({name: _read_number(argument)} for argument in arguments)


def parse_clip(text: str) -> list[Bound]:
    """The lowest and highest value in `10:90`; one side may be empty.

    >>> parse_clip("10:90"), parse_clip(":60"), parse_clip("-3.5:")
    ([10, 90], [None, 60], [-3.5, None])

    Raises `SpecError` if it is not a clip.
    """
    sides = text.split(":")
    bounds: list[Any] = [_read_number(side.strip()) if side.strip() else None for side in sides]
    if len(sides) != 2 or any(isinstance(bound, str) for bound in bounds):
        raise SpecError(f"{text!r} is not a clip; write the lowest and the highest value as 10:90.")
    try:
        GeneralizationHierarchy(clip=bounds)
    except ValidationError as error:
        raise SpecError(str(error.errors(include_url=False)[0]["ctx"]["error"])) from None
    return bounds


def _read_number(text: str) -> int | float | str:
    """The number in a text, or the text if it is none."""
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)", text) else text
