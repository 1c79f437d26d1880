"""An audit as GitHub Actions workflow commands: an annotation per failing check.

Accepted violations are notices; checks that hold or were measured are debug lines, shown only with
debugging on, as GitHub displays ten annotations of a kind. The last line summarises the audit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.question.spec import TablePlaces
from kanon_sql.question.yaml_document import Place
from kanon_sql.report.pipelines.outcomes import (
    CheckOutcome,
    TableOutcomes,
    file_name,
    outcomes,
    summary,
)
from kanon_sql.results.table import AuditFindings

_COMMANDS = {
    "warned": "warning",
    **dict.fromkeys(("violated", "no_data", "error"), "error"),
    **dict.fromkeys(("accepted", "undecided"), "notice"),
}
"""The command of an outcome; the others are debug lines."""


def render(result: AuditFindings, places: Sequence[TablePlaces] = ()) -> str:
    """The result as workflow commands, without a final newline."""
    by_table = outcomes(result, places)
    return write(by_table, summary(by_table))


def write(by_table: Sequence[TableOutcomes], last_line: str) -> str:
    """The outcomes as workflow commands, with a line below."""
    lines = [line for table in by_table for line in _of_table(table)]
    return "\n".join([*lines, _inert(last_line)])


def _of_table(table_outcomes: TableOutcomes) -> Iterator[str]:
    for outcome in table_outcomes.outcomes:
        yield _of_check(outcome)
    for warning in table_outcomes.warnings:
        message = f"{table_outcomes.name}: {warning}"
        yield _command("warning", "kanon-sql", message, table_outcomes.place)


def _of_check(outcome: CheckOutcome) -> str:
    command = _COMMANDS.get(outcome.kind)
    if command is None:
        return f"::debug::{_message(outcome.text)}"
    return _command(command, outcome.title, outcome.text, outcome.place)


def _command(command: str, title: str, message: str, place: Place | None) -> str:
    properties = {"title": title}
    if place:
        file = file_name(place.file)
        where = {"file": file, "line": str(place.line), "col": str(place.column)}
        properties = where | properties
    encoded = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{command} {encoded}::{_message(message)}"


def _message(text: str) -> str:
    r"""Escape a text as a command's message.

    >>> _message("67.5 %\nof all")
    '67.5 %25%0Aof all'
    """
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return _inert(escaped)


def _property(text: str) -> str:
    """Escape a text as a property value, which ends at a comma or colon.

    >>> _property("a,b: 5 %")
    'a%2Cb%3A 5 %25'
    """
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _inert(text: str) -> str:
    """Defuse `##[…]`, which the runner parses as a command anywhere in a line."""
    return text.replace("##[", "## [")
