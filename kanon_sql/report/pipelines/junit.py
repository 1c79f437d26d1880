"""An audit as JUnit XML, readable by Jenkins, GitLab and GitHub reporters.

A suite is a table and a test case is a check. Elements and attributes follow the schema that
Jenkins validates against (junit-10.xsd of its xUnit plugin), so locations are in a test case's
text, not in attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from kanon_sql.report.pipelines.outcomes import CheckOutcome, TableOutcomes, file_name, outcomes
from kanon_sql.results.table import AuditFindings
from kanon_sql.spec.spec import TablePlaces

_ENDS = {
    **dict.fromkeys(("violated", "no_data"), "failure"),
    "error": "error",
    **dict.fromkeys(("accepted", "undecided", "measured", "unasked"), "skipped"),
}
"""The child element of a test case, by outcome; none if the check holds."""


def render(result: AuditFindings, places: Sequence[TablePlaces] = ()) -> str:
    """The result as JUnit XML, without a final newline."""
    found = outcomes(result, places)
    root = ElementTree.Element(
        "testsuites",
        name="kanon-sql",
        tests=str(sum(len(each.outcomes) for each in found)),
        failures=str(sum(each.count("violated", "no_data") for each in found)),
        errors=str(sum(each.count("error") for each in found)),
        time=_seconds(sum(each.table.seconds for each in found)),
    )
    for each in found:
        _add_suite(root, each)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode")


def _add_suite(root: ElementTree.Element, found: TableOutcomes) -> None:
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=found.name,
        tests=str(len(found.outcomes)),
        failures=str(found.count("violated", "no_data")),
        errors=str(found.count("error")),
        skipped=str(found.count("accepted", "undecided", "measured", "unasked")),
        time=_seconds(found.table.seconds),
    )
    if found.place:
        suite.set("file", file_name(found.place.file))
    for outcome in found.outcomes:
        _add_case(suite, outcome)
    if found.warnings:
        ElementTree.SubElement(suite, "system-out").text = "\n".join(
            f"warning: {warning}" for warning in found.warnings
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
