"""The outcomes of an audit for pipelines, one per check.

The machine-readable formats (JUnit, SARIF, workflow commands) are rendered from these, so they
agree. None contains a value of the data or of a spec.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import plural
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.spec import TablePlaces
from kanon_sql.question.yaml_document import Place
from kanon_sql.report.words import models, numbers, tables
from kanon_sql.report.words.numbers import printable
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import AuditFindings, TableResult

OutcomeKind = Literal[
    "holds",
    "violated",
    "warned",
    "accepted",
    "undecided",
    "measured",
    "unasked",
    "no_data",
    "error",
]
"""The outcome of a check, or with `no_data` and `error` of its table.

The checks of a table without data are `unasked`; what no gate is about is `warned`.
"""
_WORDS: dict[OutcomeKind, str] = {
    "holds": "holds",
    "violated": "is violated",
    "warned": "is not covered",
    "accepted": "is violated, as the baseline accepts",
    "undecided": "is undecided",
    "measured": "was measured, nothing required",
    "unasked": "could not be evaluated",
    "no_data": "no data",
    "error": "the audit failed",
}
_COUNTED: dict[OutcomeKind, str] = {
    "accepted": "{0} accepted by the baseline",
    "undecided": "{0} undecided",
    "measured": "{0} measured",
    "no_data": "{0} of {1} without data",
    "error": "{0} of {1} failed in the engine",
}
"""Parts of the summary line; {0} is the number, {1} the number of tables."""


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one check, or of a table that could not be audited."""

    kind: OutcomeKind
    table: str
    rule: str
    """The model's name, or `no_data` or `error`; stable between audits."""
    name: str
    """The check's unique name within its table: model and parameters."""
    title: str
    """For example `k-anonymity is violated`."""
    text: str
    """The finding as one sentence."""
    place: Place | None
    """Its location in a spec file, if any."""
    promise: str = ""
    """What the model promises, in the words of the table."""


@dataclass(frozen=True)
class TableOutcomes:
    """The outcomes of one table, with its warnings."""

    table: TableResult
    place: Place | None
    outcomes: tuple[CheckOutcome, ...]

    @property
    def name(self) -> str:
        return printable(self.table.name)

    @property
    def warnings(self) -> list[str]:
        return [one_line(warning) for warning in tables.warnings(self.table)]

    def count(self, *kinds: OutcomeKind) -> int:
        return sum(outcome.kind in kinds for outcome in self.outcomes)


_NO_SELECTION = TableOutcomes(
    TableResult("selection", "", "no_data", ()),
    None,
    (
        CheckOutcome(
            kind="no_data",
            table="selection",
            rule="no_data",
            name="audit",
            title="nothing was selected",
            text="nothing was selected, so nothing was audited.",
            place=None,
        ),
    ),
)
"""The outcome of an audit without tables."""


def outcomes(result: AuditFindings, places: Sequence[TablePlaces] = ()) -> list[TableOutcomes]:
    """Every outcome of an audit, table by table; `places` are their locations in a spec.

    An audit without tables has one too, so that an empty selection doesn't pass silently.
    """
    if not result.tables:
        return [_NO_SELECTION]
    by_table = []
    for number, table in enumerate(result.tables):
        table_places = places[number] if places else None
        place = table_places.table if table_places else None
        by_table.append(TableOutcomes(table, place, tuple(_of_table(table, table_places))))
    return by_table


def summary(by_table: Sequence[TableOutcomes]) -> str:
    """The outcome of an audit in one line.

    >>> summary(outcomes(AuditFindings((), "0.1.0")))
    'kanon-sql: nothing was selected, so nothing was audited.'
    """
    if by_table == [_NO_SELECTION]:
        return f"kanon-sql: {_NO_SELECTION.outcomes[0].text}"

    def counted(*kinds: OutcomeKind) -> int:
        return sum(table.count(*kinds) for table in by_table)

    gated = counted("holds", "violated", "accepted", "undecided")
    tables = plural(len(by_table), "table")
    parts = [f"{counted('violated')} of {plural(gated, 'check')} violated"] if gated else []
    for kind, words in _COUNTED.items():
        parts += [words.format(number, tables)] if (number := counted(kind)) else []
    return f"kanon-sql: {', '.join(parts) or 'nothing was required'}."


def file_name(file: Path) -> str:
    """The file relative to the repository on GitHub or GitLab, or to the working directory.

    A file outside of it has its absolute path.
    """
    root = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    absolute = Path(os.path.normpath(file.absolute()))
    return (absolute.relative_to(root) if absolute.is_relative_to(root) else absolute).as_posix()


def one_line(text: str) -> str:
    """The text on one line, with ordinary spaces."""
    return printable(numbers.with_spaces(text).replace("\n", " "))


def _of_table(table: TableResult, table_places: TablePlaces | None) -> Iterator[CheckOutcome]:
    place = table_places.table if table_places else None
    name = printable(table.name)
    unanswered = tables.unanswered(table)
    if unanswered:
        kind: OutcomeKind = "no_data" if table.status == "no_data" else "error"
        yield CheckOutcome(
            kind, name, kind, "audit", f"{name}: {_WORDS[kind]}", one_line(unanswered), place
        )
    places = table_places.checks if table_places else ()
    names: dict[str, int] = {}
    for number, check in enumerate(table.checks):
        own = check_name(check)
        names[own] = names.get(own, 0) + 1
        kind = "unasked" if unanswered else models.verdict_status(check)
        yield CheckOutcome(
            kind,
            name,
            check.model,
            own if names[own] == 1 else f"{own} #{names[own]}",
            f"{one_line(models.title(check))} {_WORDS[kind]}",
            f"{name}: {_sentence(check, table)}",
            places[number] if number < len(places) else place,
            tables.promise_in(table, check.model),
        )


def _sentence(check: CheckResult, table: TableResult) -> str:
    if table.status == "no_data":
        return f"{one_line(models.title(check))}: no data"
    verdict = models.verdict(check, table)
    finding = "; ".join(text for text in (verdict.achieved, verdict.extent) if text)
    return one_line(f"{verdict.title}: {finding}")


def check_name(check: CheckResult) -> str:
    """A check's name, stable between audits: its model and parameters.

    Of a list of values only the length is included, as they may be personal.

    >>> check_name(CheckResult("alpha_k_anonymity", {"alpha": 0.5, "values": ("HIV",)}, None, 1))
    'alpha_k_anonymity(alpha=0.5, values=1 named)'
    >>> check_name(CheckResult("k_anonymity", {"k": 5, "columns": ("zip", "sex")}, None, 1))
    'k_anonymity(k=5, columns=zip+sex)'
    """
    explicit = _explicit_parameters(check.model, check.parameters)
    if columns := explicit.get("columns"):
        explicit["columns"] = "+".join(columns)
    parameters = ", ".join(f"{key}={_parameter(value)}" for key, value in explicit.items())
    return f"{check.model}({parameters})" if parameters else check.model


def _explicit_parameters(model: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from the model's defaults."""
    fields = ALL_MODELS[model].model_fields
    return {key: value for key, value in parameters.items() if value != fields[key].default}


def _parameter(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{len(value)} named"
    return one_line(str(value))
