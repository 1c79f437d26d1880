"""An audit as JUnit XML.

A suite is a table and a test case is a check. Elements and attributes follow the schema that
Jenkins validates against (junit-10.xsd of its xUnit plugin), so locations are in a test case's
text, not in attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from kanon_sql.question.spec import TablePlaces
from kanon_sql.report.pipelines.outcomes import CheckOutcome, TableOutcomes, file_name, outcomes
from kanon_sql.results.table import AuditFindings

_ENDS = {
    **dict.fromkeys(("violated", "no_data"), "failure"),
    "error": "error",
    **dict.fromkeys(("accepted", "undecided", "measured", "unasked"), "skipped"),
}
"""The child element of a test case, by outcome; none if the check holds."""


def render(result: AuditFindings, places: Sequence[TablePlaces] = ()) -> str:
    """The result as JUnit XML, without a final newline."""
    return write(outcomes(result, places))


def write(by_table: Sequence[TableOutcomes]) -> str:
    """The outcomes as JUnit XML."""
    root = ElementTree.Element(
        "testsuites",
        name="kanon-sql",
        tests=str(sum(len(table.outcomes) for table in by_table)),
        failures=str(sum(table.count("violated", "no_data") for table in by_table)),
        errors=str(sum(table.count("error") for table in by_table)),
        time=_seconds(sum(table.table.seconds for table in by_table)),
    )
    for table in by_table:
        _add_suite(root, table)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _add_suite(root: ElementTree.Element, table_outcomes: TableOutcomes) -> None:
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=table_outcomes.name,
        tests=str(len(table_outcomes.outcomes)),
        failures=str(table_outcomes.count("violated", "no_data")),
        errors=str(table_outcomes.count("error")),
        skipped=str(table_outcomes.count("accepted", "undecided", "measured", "unasked")),
        time=_seconds(table_outcomes.table.seconds),
    )
    if table_outcomes.place:
        suite.set("file", file_name(table_outcomes.place.file))
    for outcome in table_outcomes.outcomes:
        _add_case(suite, outcome)
    if table_outcomes.warnings:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(
            f"warning: {warning}" for warning in table_outcomes.warnings
        )


def _add_case(suite: ElementTree.Element, outcome: CheckOutcome) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=_classname(outcome.table), name=outcome.name
    )
    element = _ENDS.get(outcome.kind)
    if element is None:
        return
    end = ElementTree.SubElement(case, element, message=outcome.text)
    if element == "skipped":
        return
    end.set("type", outcome.rule)
    lines = [
        *([f"{file_name(outcome.place.file)}:{outcome.place.line}"] if outcome.place else []),
        outcome.text,
        *(
            [outcome.promise, f"kanon-sql explain {outcome.rule} has the whole page."]
            if outcome.promise
            else []
        ),
    ]
    end.text = "\n".join(lines)


def _classname(table: str) -> str:
    """A class name without dots, as Jenkins splits it into packages there."""
    return f"kanon-sql.{table.replace('.', '_')}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"
