"""How the values of a quasi-identifier may be generalised, level by level. Words only, no SQL."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from kanon_sql.errors import SpecError

Number = int | float
Paths = tuple[tuple[str, ...], ...]
"""The leaves of a tree, each with its ancestors from the nearest to the farthest."""


class _Level(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Width(_Level):
    width: PositiveInt | PositiveFloat
    """Intervals [a, a + width), found by floor."""


class Round(_Level):
    round: PositiveInt
    """Truncation toward zero to a multiple of this."""


class Depths(_Level):
    depths: list[PositiveInt]
    """Truncation toward zero of so many decimal digits."""


class Mask(_Level):
    mask: Literal["left", "right"]
    """One character after the other becomes `*`, from this end."""


class Prefix(_Level):
    prefix: PositiveInt
    """The first so many characters."""


class Cuts(_Level):
    cuts: list[Number]
    """Intervals between these numbers."""


class Years(_Level):
    years: PositiveInt
    """Periods of so many years."""


Level = (
    Literal["day", "month", "quarter", "year", "suppress"]
    | Width
    | Round
    | Depths
    | Mask
    | Prefix
    | Cuts
    | Years
)
Bound = Number | None


class GeneralizationHierarchy(BaseModel):
    """What may become of a quasi-identifier's values; with nothing given, one level: suppress."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    clip: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest value kept; null leaves a side open."""
    levels: list[Level] | None = None
    """From the finest level to the coarsest."""
    hierarchy: str | None = None
    """A CSV file without header: the raw value, then one column a level."""


# --- trees from files -----------------------------------------------------------------------

_DELIMITERS = ";,\t|"


def read_tree(path: str | Path) -> Paths:
    """The leaves of the tree in a CSV file, each with its ancestors below the root.

    The file has no header: the value, then its ancestors up to the root, which all share. Its
    delimiter is found on its first line. Raises `SpecError` with file and line for a file that
    is no tree: lines of unequal length, a value twice, a node under two parents, several roots.
    """
    rows = _rows(Path(path))
    first_line, first = rows[0]
    parents: dict[tuple[int, str], tuple[int, str]] = {}
    leaves: dict[str, int] = {}
    for line, row in rows:
        if len(row) != len(first):
            raise SpecError(
                f"{path}:{line}: this line has {len(row)} columns, line {first_line} has "
                f"{len(first)}. Give every value the same number of ancestors, and repeat one "
                "where it has fewer."
            )
        if row[0] in leaves:
            raise SpecError(f"{path}:{line}: line {leaves[row[0]]} has the same value already.")
        leaves[row[0]] = line
        for height, (node, parent) in enumerate(pairwise(row)):
            known_line, known = parents.setdefault((height, node), (line, parent))
            if known != parent:
                raise SpecError(
                    f'{path}:{line}: "{node}" lies under "{parent}" here and under "{known}" in '
                    f"line {known_line}, so it is no tree. Give it one parent."
                )
    roots = {row[-1] for _, row in rows}
    if len(first) < 2 or len(roots) > 1:
        raise SpecError(
            f"{path}: the last column has {len(roots)} different values. The last column must be "
            "the root, the same in every line, so that any two values have an ancestor in common."
        )
    return tuple(tuple(row[:-1]) for _, row in rows)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of a hierarchy file that are not blank, each with its number."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SpecError(f"{path}: the hierarchy can't be read: {reason}.") from None
    first = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(text.splitlines(), delimiter=delimiter, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise SpecError(f"{path}:{reader.line_num}: this line is no CSV: {error}.") from None
    if not rows:
        raise SpecError(f"{path}: the hierarchy is empty.")
    return rows
