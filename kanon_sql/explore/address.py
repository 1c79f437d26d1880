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
from kanon_sql.question.hierarchy import SUPPRESS, GeneralizationHierarchy, built, expanded
from kanon_sql.results.release import Algorithm

ROLES = {
    "qi": "quasi_identifiers",
    "sensitive": "sensitive",
    "identifier": "identifiers",
    "entity": "entity",
    "insensitive": "insensitive",
}
"""The roles of an address, each with its key in a spec."""
REQUESTS = ("count", "measure", "without", "sets", "peek")
"""What is slow, and shown when a button asks for it."""
ALGORITHMS: tuple[Algorithm, ...] = ("optimal", "datafly", "local")
FILE = "file"
"""The builder of a column whose hierarchy was given with the command."""
LONGEST_BUILDER, MOST = 200, 10**9
OF_COLUMNS = ("role", "hierarchy", "level")
_SHARE = r"(?=[.]?[0-9])[0-9]{0,20}([.][0-9]{0,20})?(e-[0-9]{1,2})?"
_SUPPRESSED = r"([0-9]{1,10}|100%|[0-9]{1,2}([.][0-9]{1,6})?%)?"


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
    l: int | None = None
    t: float | None = None
    ask: tuple[str, ...] = ()
    algorithm: Algorithm = ALGORITHMS[0]
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

    def asking(self, what: str) -> str:
        """The requests of a question with another one, as a field of an address has them."""
        return ",".join([*self.ask, what])

    @property
    def level_of(self) -> dict[str, int]:
        """The level of each quasi-identifier."""
        return {column: self.levels.get(column, 0) for column in self.of("qi")}

    @property
    def raised(self) -> dict[str, int]:
        """The levels above the raw value, of quasi-identifiers."""
        return {column: level for column, level in self.level_of.items() if level}

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
    values: tuple[Mapping[str, Any], ...]
    values = (question.roles, question.hierarchies, question.levels)
    for kind, by_column in zip(OF_COLUMNS, values, strict=True):
        for column in columns:
            if by_column.get(column):
                yield f"{kind}.{column}", str(by_column[column])
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
    names = [_spelled(name, columns) for name, _ in fields]
    _require(len({*names}) == len(names), "A field of the address is given twice.")
    values = {name: value for name, (_, value) in zip(names, fields, strict=True) if value}
    roles, builders, levels = (
        {name: values.pop(f"{kind}.{name}") for name in columns if f"{kind}.{name}" in values}
        for kind in OF_COLUMNS
    )
    _require({*roles.values()} <= ROLES.keys(), f"A role is none of {', '.join(ROLES)}.")
    _require(
        [*roles.values()].count("entity") < 2,
        "Two columns are the entity; one column identifies the person.",
    )
    heights = {name: _height(name, builders.get(name, ""), given or {}) for name in columns}
    at = {name: _whole(level, 0) for name, level in levels.items()}
    _require(
        all(level <= heights[name] for name, level in at.items()),
        "A level is above the top of its hierarchy.",
    )
    asked, t = {*filter(None, values.pop("ask", "").split(","))}, values.pop("t", "")
    algorithm: Any = values.pop("algorithm", ALGORITHMS[0])
    suppressed = values.pop("max_suppressed", "")
    thresholds = {name: _whole(values.pop(name), 1) for name in "kl" if name in values}
    _require(not values, "The address has a field that is no part of a question.")
    _require(asked <= {*REQUESTS}, f"What is asked for is none of {', '.join(REQUESTS)}.")
    _require(algorithm in ALGORITHMS, f"The algorithm is none of {', '.join(ALGORITHMS)}.")
    _require(not t or (_matches(_SHARE, t) and float(t) <= 1), "t is no number from 0 to 1.")
    _require(
        _matches(_SUPPRESSED, suppressed),
        "max_suppressed is a number of records, or a share as in 5%.",
    )
    return Question(
        roles,
        {name: text for name, text in builders.items() if text != FILE},
        {name: level for name, level in at.items() if level},
        **thresholds,
        t=float(t) if t else None,
        ask=tuple(name for name in REQUESTS if name in asked),
        algorithm=algorithm,
        max_suppressed=suppressed,
    )


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise RefusedAddress(sentence)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


def _spelled(name: str, columns: Sequence[str]) -> str:
    """The name of a field; that of a column has its spelling, as forms send other line ends."""
    kind, dot, column = name.partition(".")
    if not dot:
        return name
    if column not in columns:
        column = column.replace("\r\n", "\n")
    _require(
        kind in OF_COLUMNS and column in columns,
        "A field of the address is about a column that the table lacks.",
    )
    return f"{kind}.{column}"


def _height(column: str, text: str, given: Mapping[str, GeneralizationHierarchy]) -> float:
    """The highest level of a column, infinite where only the data tell. Raises `RefusedAddress`
    for a text that is no builder."""
    if column in given or text == FILE:
        _require(
            column in given and text in ("", FILE),
            "The hierarchy of a column is a file only if the command names it.",
        )
        return math.inf
    try:
        hierarchy = built(text or SUPPRESS if len(text) <= LONGEST_BUILDER else "")
    except SpecError:
        raise RefusedAddress(
            "A hierarchy is no builder, such as width:5,10 or mask:right."
        ) from None
    return math.inf if hierarchy.has_mask else len(list(expanded(hierarchy.levels or ())))


def _whole(text: str, least: int) -> int:
    _require(
        _matches("[0-9]{1,10}", text) and least <= int(text) <= MOST,
        f"A level, k or l is no whole number from {least} to {MOST:,}.",
    )
    return int(text)
