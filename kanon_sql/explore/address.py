"""The address of a page, which is the whole question.

An address names columns, roles, builders, levels and thresholds, each once. Nothing else is
accepted: no path, no SQL, no file name. A refusal repeats nothing of the address.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from kanon_sql.errors import SpecError
from kanon_sql.question.arguments import threshold_checks
from kanon_sql.question.hierarchy import GeneralizationHierarchy, built, expanded

ROLES = {
    "qi": "quasi_identifiers",
    "sensitive": "sensitive",
    "identifier": "identifiers",
    "entity": "entity",
    "insensitive": "insensitive",
}
"""The roles of an address, each with its key in a spec."""
REQUESTS = ("measure", "without", "sets", "peek")
"""What is slow, and shown when a button asks for it."""
ALGORITHMS = ("optimal", "datafly", "local")
FILE = "file"
"""The builder of a column whose hierarchy was given with the command."""
LONGEST_BUILDER, MOST = 200, 10**9


class RefusedAddress(Exception):
    """An address that is no question, in a sentence that repeats nothing of it."""


@dataclass(frozen=True)
class Question:
    """What is asked of a table: roles, hierarchies and levels by column, thresholds, requests."""

    roles: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    """The builder of each column that has one."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """The levels above the raw value."""
    k: int | None = None
    l: int | None = None  # noqa: E741
    t: float | None = None
    ask: tuple[str, ...] = ()
    algorithm: str = ALGORITHMS[0]
    max_suppressed: str = ""

    def of(self, role: str) -> list[str]:
        """The columns of a role, in the order of the table."""
        return [column for column, given in self.roles.items() if given == role]

    def with_role(self, column: str, role: str) -> Question:
        """The question with another role of a column."""
        return replace(self, roles={**self.roles, column: role})

    def at(self, levels: Mapping[str, int]) -> Question:
        """The question with other levels of some columns."""
        return replace(self, levels={**self.levels, **levels})

    def without_levels_of(self, column: str) -> Question:
        """The question without a hierarchy and a level of a column."""
        hierarchies = {name: how for name, how in self.hierarchies.items() if name != column}
        levels = {name: level for name, level in self.levels.items() if name != column}
        return replace(self, hierarchies=hierarchies, levels=levels)

    @property
    def level_of(self) -> dict[str, int]:
        """The level of each quasi-identifier."""
        return {column: self.levels.get(column, 0) for column in self.of("qi")}

    @property
    def checks(self) -> list[Any]:
        """The checks of its thresholds; l and t are about each sensitive attribute."""
        sensitive = self.of("sensitive")
        of_values = {"l": self.l, "t": self.t} if sensitive else {}
        return threshold_checks({"k": self.k, **of_values}, sensitive, [])


def query(question: Question, columns: Sequence[str]) -> str:
    """The canonical query of a question: columns in the order of the table, no default."""
    return urlencode(list(fields_of(question, columns)))


def fields_of(question: Question, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The fields of the canonical query."""
    by_column = {
        "role": question.roles,
        "hierarchy": question.hierarchies,
        "level": question.levels,
    }
    for name, values in by_column.items():
        for column in columns:
            if values.get(column):
                yield f"{name}.{column}", str(values[column])
    for name in ("k", "l", "t"):
        if (value := getattr(question, name)) is not None:
            yield name, f"{value:g}" if name == "t" and float(f"{value:g}") == value else str(value)
    if question.ask:
        yield "ask", ",".join(name for name in REQUESTS if name in question.ask)
    if question.algorithm != ALGORITHMS[0]:
        yield "algorithm", question.algorithm
    if question.max_suppressed:
        yield "max_suppressed", question.max_suppressed


def parsed(
    text: str, columns: Sequence[str], given: Mapping[str, GeneralizationHierarchy] | None = None
) -> Question:
    """The question of a query. `given` are the hierarchies that no address can change. Raises
    `RefusedAddress`."""
    try:
        fields = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError:
        raise RefusedAddress("The address can't be read as the fields of a form.") from None
    values: dict[str, str] = {}
    for name, value in fields:
        column = _column(name, columns)
        if column in values:
            raise RefusedAddress("A field of the address is given twice.")
        values[column] = value
    return _question({name: value for name, value in values.items() if value}, columns, given or {})


def _column(name: str, columns: Sequence[str]) -> str:
    """The name of a field; that of a column has its spelling, as forms send other line ends."""
    kind, dot, column = name.partition(".")
    if not dot:
        return name
    if column not in columns:
        column = column.replace("\r\n", "\n")
    if kind not in ("role", "hierarchy", "level") or column not in columns:
        raise RefusedAddress("A field of the address is about a column that the table lacks.")
    return f"{kind}.{column}"


def _question(
    values: dict[str, str], columns: Sequence[str], given: Mapping[str, GeneralizationHierarchy]
) -> Question:
    def of_columns(kind: str) -> dict[str, str]:
        named = ((column, values.pop(f"{kind}.{column}", "")) for column in columns)
        return {column: value for column, value in named if value}

    roles, builders, levels = map(of_columns, ("role", "hierarchy", "level"))
    if not set(roles.values()) <= ROLES.keys():
        raise RefusedAddress(f"A role is none of {', '.join(ROLES)}.")
    if [*roles.values()].count("entity") > 1:
        raise RefusedAddress("Two columns are the entity; one column identifies the person.")
    heights = {column: _height(column, builders.get(column, ""), given) for column in columns}
    at = {column: _whole(level, 0, MOST) for column, level in levels.items()}
    if any(level > heights[column] for column, level in at.items()):
        raise RefusedAddress("A level is above the top of its hierarchy.")
    asked = tuple(filter(None, values.pop("ask", "").split(",")))
    algorithm = values.pop("algorithm", ALGORITHMS[0])
    thresholds = {name: _whole(values.pop(name), 1, MOST) for name in "kl" if name in values}
    t, suppressed = _share(values.pop("t", "")), values.pop("max_suppressed", "")
    if values:
        raise RefusedAddress("The address has a field that is no part of a question.")
    if not set(asked) <= set(REQUESTS):
        raise RefusedAddress(f"What is asked for is none of {', '.join(REQUESTS)}.")
    if algorithm not in ALGORITHMS:
        raise RefusedAddress(f"The algorithm is none of {', '.join(ALGORITHMS)}.")
    if not re.fullmatch(r"([0-9]{1,10}|100%|[0-9]{1,2}([.][0-9]{1,6})?%)?", suppressed, re.ASCII):
        raise RefusedAddress("max_suppressed is a number of records, or a share as in 5%.")
    return Question(
        roles,
        {column: text for column, text in builders.items() if text != FILE},
        {column: level for column, level in at.items() if level},
        **thresholds,
        t=t,
        ask=tuple(name for name in REQUESTS if name in asked),
        algorithm=algorithm,
        max_suppressed=suppressed,
    )


def _height(column: str, text: str, given: Mapping[str, GeneralizationHierarchy]) -> float:
    """The highest level of a column, infinite where only the data tell. Raises `RefusedAddress`
    for a text that is no builder."""
    if column in given or text == FILE:
        if column not in given or text not in ("", FILE):
            raise RefusedAddress(
                "The hierarchy of a column is a file only if the command names it."
            )
        return math.inf
    if not text:
        return 1
    try:
        if len(text) > LONGEST_BUILDER:
            raise SpecError("")
        hierarchy = built(text)
    except SpecError:
        raise RefusedAddress(
            "A hierarchy is no builder, such as width:5,10 or mask:right."
        ) from None
    return math.inf if hierarchy.has_mask else len(list(expanded(hierarchy.levels or ())))


def _whole(text: str, least: int, most: int) -> int:
    if re.fullmatch(r"[0-9]{1,10}", text, re.ASCII) and least <= int(text) <= most:
        return int(text)
    raise RefusedAddress("A level, k or l is no whole number in its range.")


def _share(text: str) -> float | None:
    if not text:
        return None
    if re.fullmatch(r"[0-9]{0,20}([.][0-9]{0,20})?(e-[0-9]{1,2})?", text, re.ASCII):
        try:
            if 0 <= float(text) <= 1:
                return float(text)
        except ValueError:
            pass
    raise RefusedAddress("t is no number from 0 to 1.")
