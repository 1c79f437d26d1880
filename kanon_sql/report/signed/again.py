"""Reconstructs the command line that repeats an audit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kanon_sql.results.table import CheckResult, TableResult

_UNSAID = {"match": "containment", "missing": "strict", "distance": "equal",
           "with_other_sensitive": False}  # fmt: skip
"""Default values of parameters, which are omitted."""


def folded(command: str) -> str:
    """A command with one option per line, joined by backslashes.

    >>> print(folded("kanon-sql audit t.csv --qi 'a b' --k 5"))
    kanon-sql audit t.csv \\
        --qi 'a b' \\
        --k 5
    """
    try:
        given = shlex.split(command)
    except ValueError:  # not from a shell: the file was edited
        return command
    lines: list[list[str]] = [[]]
    for word in given:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return " \\\n    ".join(" ".join(words) for words in lines)


def command_of(table: TableResult) -> str:
    """The command line of a table's audit. Values named by a check are omitted."""
    return " \\\n    ".join(["kanon-sql audit " + _quoted(table.name), *_options(table)])


def _options(table: TableResult) -> Iterator[str]:
    yield f"--qi {_names(table.quasi_identifiers)}"
    if table.sensitive:
        yield f"--sensitive {_names(table.sensitive)}"
    if table.entity:
        yield f"--entity {_names([table.entity])}"
    if table.where:
        yield f"--where {_quoted(table.where)}"
    if table.first:
        yield f"--first {table.first}"
    if table.nulls != "value":
        yield f"--nulls {table.nulls}"
    if table.sensitive_nulls != "value":
        yield f"--sensitive-nulls {table.sensitive_nulls}"
    if table.levels:
        yield f"--level {_pairs(table.levels)}"
    for part, flag in (("references", "--reference"), ("earlier_releases", "--earlier")):
        for name, beside in (table.sources.get(part) or {}).items():
            yield from _beside(flag, name, beside)
    for check in table.checks:
        if check.holds is not None:
            yield f"--check {_quoted(_check(check))}"


def _beside(flag: str, name: str, beside: Mapping[str, Any]) -> Iterator[str]:
    """The options of a reference or an earlier release."""
    source = beside.get("source")
    yield f"{flag} {_quoted(f'{name}={source}')}"
    said = {
        "columns": _plain_pairs(beside.get("columns") or {}),
        "level": _plain_pairs(beside.get("levels") or {}),
        "qi": ",".join(map(_cell, beside.get("quasi_identifiers") or ())),
        **{key: beside.get(key) for key in ("where", "entity", "weight")},
    }
    for key, value in said.items():
        if value:
            yield f"{flag}-{key} {_quoted(f'{name}:{value}')}"


def _check(check: CheckResult) -> str:
    said = [
        f"{key}={_value(value)}"
        for key, value in check.parameters.items()
        if value is not None and _UNSAID.get(key) != value
    ]
    return f"{check.model}:{','.join(said)}" if said else check.model


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple() | Mapping():
            return "[…]"
    text = str(value)
    return f'"{text}"' if set(text) & set(',"[]{} ') else text


def _names(names: Sequence[str]) -> str:
    return _quoted(",".join(map(_cell, names)))


def _cell(text: str) -> str:
    """A name in a comma-separated list, quoted as in CSV if needed.

    >>> print(_cell('zip'), _cell('last, first'), _cell('the "name"'))
    zip "last, first" "the ""name\"""
    """
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if set(text) & set(',"') or text != text.strip() else text


def _pairs(pairs: Mapping[str, Any]) -> str:
    return _quoted(_plain_pairs(pairs))


def _plain_pairs(pairs: Mapping[str, Any]) -> str:
    return ",".join(_cell(f"{name}={value}") for name, value in pairs.items())


def _quoted(text: str) -> str:
    return shlex.quote(text)
