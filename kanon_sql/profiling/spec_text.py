"""Writes a proposed spec as YAML text, with the reason for each line in a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.report.words.numbers import printable

Part = Literal["identifiers", "quasi_identifiers", "sensitive", "undecided"]

_PLAIN = re.compile(r"[^\W\d][\w-]*")
_OTHERWISE_READ = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


@dataclass(frozen=True)
class ProposedColumn:
    """A column with its proposed role and the reason."""

    name: str
    part: Part
    reason: str
    levels: tuple[Any, ...] = ()
    """Levels of a quasi-identifier; if empty, a hierarchy file could define them."""


@dataclass(frozen=True)
class ProposedSpec:
    """The content of a spec file for one table; roles that the user gave have no reason."""

    table: str
    """Display name of the table."""
    records: int
    source: str | None
    """None for data that no file can name."""
    columns: tuple[ProposedColumn, ...]
    k: int
    entity: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the table, such as connect, where or delimiter."""
    schema: str | None = None
    """The file of the JSON Schema, for editors, beside the spec."""
    several: bool = False
    """Whether some people have several records."""
    by_connection: bool = False
    """Whether it was read through a connection object, which no file can name."""

    def of(self, part: Part) -> list[ProposedColumn]:
        return [each for each in self.columns if each.part == part]

    @property
    def text(self) -> str:
        """The file, without a newline at its end."""
        return "\n".join(_lines(self))


def _lines(spec: ProposedSpec) -> Iterator[str]:
    if spec.schema:
        yield f"# yaml-language-server: $schema={spec.schema}"
        yield "#"
    yield from _comment(
        f"A first spec, proposed from {printable(spec.table)}: {spec.records:,} records. "
        "It is guessed from names and counts, so nothing is decided yet: read every line. The "
        "widths are round numbers, chosen by the range of the values; this file has no value of "
        "the table, unless a column name is one."
    )
    yield ""
    yield "version: 1"
    yield "tables:"
    if spec.source is None:
        yield f"  - source:    # a file can't name a {spec.table}: write which file or table it is"
    else:
        yield f"  - source: {scalar(spec.source)}"
    if spec.by_connection:
        yield "    # connect: a URL; from Python a connection can be passed as engine instead"
    for key, value in spec.settings.items():
        yield f"    {key}: {_flow(value)}"
    if spec.entity:
        yield f"    entity: {scalar(spec.entity)}    # identifies a person: people are counted"
        if spec.several:
            yield (
                "    events: []    # people have several records: what makes an event, as in "
                "[ward, month]?"
            )
    else:
        yield ("    # entity: person_id    # identifies a person, if people have several records")
    yield from _names(
        spec, "identifiers", "They identify a person directly and are never published."
    )
    yield from _quasi_identifiers(spec)
    yield from _names(spec, "sensitive", "What must not become known about a person.")
    yield from _undecided(spec)
    yield from _checks(spec)
    yield from _reference(spec)


def _comment(text: str, indent: str = "") -> Iterator[str]:
    line = f"{indent}#"
    for word in text.split():
        if len(line) + 1 + len(word) > 96:
            yield line
            line = f"{indent}#"
        line = f"{line} {word}"
    yield line


def _names(spec: ProposedSpec, part: Part, meaning: str) -> Iterator[str]:
    columns = spec.of(part)
    if not columns:
        return
    yield ""
    yield from _comment(meaning, "    ")
    yield f"    {part}:"
    for column in columns:
        yield f"      - {scalar(column.name)}{_because(column.reason)}"


def _quasi_identifiers(spec: ProposedSpec) -> Iterator[str]:
    yield ""
    yield from _comment(
        "What somebody may know about a person: from a register, as a neighbour, from what people "
        "publish. The levels are for anonymize.",
        "    ",
    )
    columns = spec.of("quasi_identifiers")
    if not columns:
        yield "    quasi_identifiers: {}    # none was recognised: name them"
        return
    yield "    quasi_identifiers:"
    for column in columns:
        yield f"      {scalar(column.name)}:{_because(column.reason)}"
        levels = column.levels or ("suppress",)
        yield f"        levels: {_flow(list(levels))}"
        if not column.levels:
            file = re.sub(r"[^\w-]+", "_", column.name).strip("_") or "column"
            yield (
                f"        # hierarchy: hierarchies/{file}.csv    # in place of levels; kanon-sql "
                "hierarchy new begins one"
            )


def _undecided(spec: ProposedSpec) -> Iterator[str]:
    columns = spec.of("undecided")
    if not columns:
        return
    yield ""
    yield from _comment(
        'To be decided by a person, since a quasi-identifier that is missed makes a false "holds": '
        "move each to its role, or to insensitive if it reveals nothing about a person. "
        "Until then this file is refused.",
        "    ",
    )
    yield "    undecided:"
    for column in columns:
        yield f"      - {scalar(column.name)}{_because(column.reason)}"


def _checks(spec: ProposedSpec) -> Iterator[str]:
    yield ""
    yield from _comment(
        "The required checks, as a start: kanon-sql explain thresholds says how to choose.", "    "
    )
    yield "    checks:"
    yield f"      - k_anonymity: {{k: {spec.k}}}"
    for column in spec.of("sensitive"):
        yield f"      - l_diversity: {{l: 2, sensitive: {scalar(column.name)}}}"


def _reference(spec: ProposedSpec) -> Iterator[str]:
    columns = [column.name for column in spec.of("quasi_identifiers")][:2]
    renamed = ", ".join(f"{scalar(name)}: its_own_name" for name in columns)
    yield ""
    yield from _comment(
        "The people whom a record could be about, if there is a register: a check k_map counts "
        "how many of them match.",
        "    ",
    )
    yield "    # references:"
    yield "    #   register:"
    yield "    #     source: register.parquet"
    yield f"    #     columns: {{{renamed}}}"
    yield "    #     entity: person_id"


def _because(reason: str) -> str:
    return f"    # {' '.join(reason.split())}" if reason else ""


def scalar(text: str) -> str:
    """A text as a YAML scalar, quoted if it could be parsed as something else.

    >>> print(scalar("Größe"), scalar("no"), scalar("a: b"), scalar("x\\ny"), scalar("🏠"))
    Größe "no" "a: b" "x\\ny" "🏠"
    """
    if _PLAIN.fullmatch(text) and text.isprintable() and text.lower() not in _OTHERWISE_READ:
        return text
    # YAML reads JSON escapes alike; non-printable characters get numeric escapes valid in both.
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in quoted)


def _flow(value: Any) -> str:
    """Plain values in YAML flow style, on one line.

    >>> _flow([{"width": 5}, "suppress"])
    '[{width: 5}, suppress]'
    """
    match value:
        case dict():
            return (
                f"{{{', '.join(f'{scalar(key)}: {_flow(each)}' for key, each in value.items())}}}"
            )
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            return scalar(value)
        case bool():
            return str(value).lower()
    return str(value)


def shortly(reasons: Sequence[str]) -> str:
    """The non-empty reasons, joined."""
    return "; ".join(each for each in reasons if each)
