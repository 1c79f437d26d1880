"""The formats that pipelines read: hand-made results in, whole texts out, by their schemas."""

from __future__ import annotations

import dataclasses
import json
import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import click
import jsonschema
import pytest
import yaml
from audits import HOLDS, LINKED, VIOLATED, audited, text, with_checks
from places import ROOT

from kanon_sql import cli
from kanon_sql.auditing.result import AuditResult
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import EngineError, option
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.spec import AuditSpec, TablePlaces
from kanon_sql.question.yaml_document import Place
from kanon_sql.report.pipelines import github, junit, outcomes, sarif
from kanon_sql.results.check import CheckResult, InBaseline
from kanon_sql.results.table import TableResult

asking = import_module("kanon_sql.auditing.auditor")

ACCEPTED = dataclasses.replace(
    HOLDS,
    name="old.csv",
    status="accepted",
    checks=(
        CheckResult(
            "k_anonymity", {"k": 9}, False, 7, 10, 70,
            accepted=True,
            baseline=InBaseline(
                False, {"achieved": 7, "violating_classes": 12, "violating_records": 84}
            ),
        ),
    ),
)  # fmt: skip
EMPTY = dataclasses.replace(
    HOLDS,
    name="empty.csv",
    status="no_data",
    checks=(CheckResult("k_anonymity", {"k": 5}, None, None),),
)
BROKEN = TableResult(
    "big.parquet", "duckdb", "error", ("zip",), error="the memory limit was reached."
)
WARNED = dataclasses.replace(
    with_checks(*VIOLATED.checks, LINKED), warnings=('"ssn" differs in every record.',)
)
RESULT = audited(WARNED, HOLDS, ACCEPTED, EMPTY, BROKEN)
SPEC = Path("kanon.yml")
PLACES = tuple(
    TablePlaces(Place(SPEC, line, 5), tuple(Place(SPEC, line + 5 + n, 9) for n in range(checks)))
    for line, checks in ((3, 1), (20, 2), (40, 1), (60, 1), (80, 1))
)


@pytest.fixture(autouse=True)
def _anywhere(monkeypatch):
    """No pipeline around the tests, whose own variables would say where the repository is."""
    for variable in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(variable, raising=False)


# JUnit


def test_junit():
    assert junit.render(RESULT, PLACES) == text("pipeline.junit.xml")


ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "file"},
    "testcase": {"name", "classname"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
"""Of junit-10.xsd of Jenkins' xUnit plugin, what is written here; it allows no other attribute."""


def test_junit_has_nothing_that_the_schema_of_jenkins_refuses():
    root = ElementTree.fromstring(junit.render(RESULT, PLACES))
    assert {each.tag for each in root.iter()} == set(ATTRIBUTES)
    assert [each.tag for each in root.iter() if set(each.attrib) - ATTRIBUTES[each.tag]] == []
    assert all(
        re.fullmatch(r"\d{0,3}\.\d{3}", each.attrib["time"]) for each in root.iter("testsuite")
    )


def test_junit_counts_its_cases():
    root = ElementTree.fromstring(junit.render(RESULT, PLACES))
    for suite in root.iter("testsuite"):
        cases = list(suite.iter("testcase"))
        counted = {tag: len(list(suite.iter(tag))) for tag in ("failure", "error", "skipped")}
        assert len(cases) == int(suite.attrib["tests"])
        assert counted == {
            "failure": int(suite.attrib["failures"]),
            "error": int(suite.attrib["errors"]),
            "skipped": int(suite.attrib["skipped"]),
        }
    assert (root.attrib["failures"], root.attrib["errors"]) == ("3", "1")


def test_two_checks_alike_are_two_cases():
    twice = with_checks(HOLDS.checks[0], HOLDS.checks[0], table=HOLDS)
    root = ElementTree.fromstring(junit.render(audited(twice)))
    assert [case.attrib["name"] for case in root.iter("testcase")] == [
        "k_anonymity(k=5)",
        "k_anonymity(k=5) #2",
    ]


def test_junit_writes_names_that_xml_has_no_characters_for():
    table = dataclasses.replace(HOLDS, name='<a&"b\x00\ud800\n.csv')
    [suite] = ElementTree.fromstring(junit.render(audited(table)))
    assert suite.attrib["name"] == r'<a&"b\x00\ud800\n.csv'


# SARIF


def _object(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": False, "required": required,
            "properties": properties}  # fmt: skip


_TEXT = _object(["text"], text={"type": "string"})
_LOCATIONS = {
    "type": "array",
    "minItems": 1,
    "items": _object(
        [],
        physicalLocation=_object(
            ["artifactLocation"],
            artifactLocation=_object(
                [],
                uri={"type": "string", "pattern": r"^[A-Za-z0-9:/%._~-]+$"},
                uriBaseId={"const": "%SRCROOT%"},
            ),
            region=_object(
                [],
                startLine={"type": "integer", "minimum": 1},
                startColumn={"type": "integer", "minimum": 1},
            ),
        ),
        logicalLocations={
            "type": "array",
            "items": _object([], name={"type": "string"}, kind={"type": "string"}),
        },
    ),
}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_INDEX = {"type": "integer", "minimum": 0}
_RULE = _object(
    ["id"],
    id={"type": "string"},
    name={"type": "string", "pattern": "^[A-Za-z]+$"},
    shortDescription=_TEXT,
    fullDescription=_TEXT,
    help=_TEXT,
    defaultConfiguration=_object([], level=_LEVEL),
    properties=_object([], tags={"type": "array", "items": {"type": "string"}}),
)
_RUN = _object(
    ["tool", "results"],
    tool=_object(
        ["driver"],
        driver=_object(
            ["name"],
            name={"type": "string"},
            semanticVersion={"type": "string"},
            rules={"type": "array", "uniqueItems": True, "items": _RULE},
        ),
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    originalUriBaseIds={"type": "object", "additionalProperties": _object([], description=_TEXT)},
    invocations={
        "type": "array",
        "items": _object(
            ["executionSuccessful"],
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            toolExecutionNotifications={
                "type": "array",
                "items": _object(
                    ["message"],
                    level=_LEVEL,
                    message=_TEXT,
                    locations=_LOCATIONS,
                    associatedRule=_object([], id={"type": "string"}, index=_INDEX),
                ),
            },
        ),
    },
    results={
        "type": "array",
        "items": _object(
            ["message"],
            ruleId={"type": "string"},
            ruleIndex=_INDEX,
            kind={"const": "fail"},
            level=_LEVEL,
            message=_TEXT,
            locations=_LOCATIONS,
            partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
            suppressions={
                "type": "array",
                "items": _object(
                    ["kind"],
                    kind={"enum": ["inSource", "external"]},
                    status={"enum": ["accepted", "underReview", "rejected"]},
                    justification={"type": "string"},
                ),
            },
        ),
    },
)
SARIF = _object(
    ["version", "runs"],
    **{"$schema": {"type": "string"}, "version": {"const": "2.1.0"}},
    runs={"type": "array", "items": _RUN},
)
"""The part of the SARIF 2.1.0 schema that is needed here, and stricter: nothing else is written,
and each result has a location, without which code scanning refuses the whole file."""


def log(result: AuditResult, places=()) -> dict:
    return json.loads(sarif.render(result, places))


def test_sarif():
    assert sarif.render(RESULT, PLACES) == text("pipeline.sarif")


@pytest.mark.parametrize("places", [PLACES, ()])
def test_sarif_is_valid_by_its_schema(places):
    jsonschema.Draft202012Validator(SARIF).validate(log(RESULT, places))


def test_what_holds_or_was_measured_is_no_alert():
    [run] = log(RESULT, PLACES)["runs"]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("k_anonymity", "error"),
        ("k_map", "error"),
        ("k_anonymity", "note"),
        ("no_data", "error"),
    ]
    [invocation] = run["invocations"]
    told = invocation["toolExecutionNotifications"]
    assert [each["level"] for each in told] == [
        "none", "warning", "none", "none", "none", "error",
    ]  # fmt: skip
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 3)


@pytest.mark.parametrize("name", ALL_MODELS)
def test_every_model_is_a_rule_with_its_own_promise(name):
    rule = next(rule for rule in sarif.rules() if rule["id"] == name)
    assert rule["fullDescription"] == {"text": ALL_MODELS[name].promise}
    assert ALL_MODELS[name].limitation in rule["help"]["text"]


def test_a_result_points_at_its_rule():
    [run] = log(RESULT, PLACES)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [
        each["ruleId"] for each in run["results"]
    ]


def test_a_fingerprint_stays_when_lines_move_and_tells_tables_and_parameters_apart():
    def fingerprints(result: AuditResult, places) -> list[str]:
        [run] = log(result, places)["runs"]
        return [each["partialFingerprints"]["kanonSqlCheck/v1"] for each in run["results"]]

    [one] = fingerprints(audited(VIOLATED), PLACES)
    [moved] = fingerprints(audited(VIOLATED), PLACES[1:])
    [other] = fingerprints(audited(dataclasses.replace(VIOLATED, name="other")), PLACES)
    stricter = dataclasses.replace(VIOLATED.checks[0], parameters={"k": 6})
    [asked_more] = fingerprints(audited(with_checks(stricter)), PLACES)
    assert one == moved
    assert len({one, other, asked_more}) == 3


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("kanon.yml", {"uri": "kanon.yml", "uriBaseId": "%SRCROOT%"}),
        ("a b/ü%.yml", {"uri": "a%20b/%C3%BC%25.yml", "uriBaseId": "%SRCROOT%"}),
        ("x/../kanon.yml", {"uri": "kanon.yml", "uriBaseId": "%SRCROOT%"}),
        ("/elsewhere/kanon.yml", {"uri": "file:///elsewhere/kanon.yml"}),
    ],
)
def test_a_file_is_named_as_its_repository_names_it(file, artifact):
    places = (TablePlaces(Place(Path(file), 3, 5), ()),)
    [run] = log(audited(VIOLATED), places)["runs"]
    [location] = run["results"][0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == artifact


def test_a_step_in_a_folder_names_files_from_the_root_of_the_repository(monkeypatch, tmp_path):
    (tmp_path / "pipelines").mkdir()
    monkeypatch.chdir(tmp_path / "pipelines")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert outcomes.file_name(Path("kanon.yml")) == "pipelines/kanon.yml"


# Nothing at all


def test_an_audit_of_nothing_is_red_in_every_format():
    nothing = audited()
    said = "nothing was selected, so nothing was audited."

    root = ElementTree.fromstring(junit.render(nothing))
    [failure] = root.iter("failure")
    assert (root.attrib["tests"], root.attrib["failures"], failure.attrib["message"]) == (
        "1", "1", said,
    )  # fmt: skip

    jsonschema.Draft202012Validator(SARIF).validate(log(nothing))
    [result] = log(nothing)["runs"][0]["results"]
    assert (result["ruleId"], result["message"]["text"]) == ("no_data", said)

    assert github.render(nothing).splitlines() == [
        f"::error title=nothing was selected::{said}", f"kanon-sql: {said}",
    ]  # fmt: skip


# Workflow commands


def test_github():
    assert github.render(RESULT, PLACES) == text("pipeline.github.txt")


def test_github_without_a_spec_names_no_file():
    [error, debug, summary] = github.render(audited(VIOLATED)).splitlines()
    assert error.startswith("::error title=k-anonymity is violated::patients.parquet: k-anonymity:")
    assert debug.startswith("::debug::")
    assert summary == "kanon-sql: 1 of 1 check violated, 1 measured."


def test_a_name_is_never_a_command():
    name = "::stop-commands::x\n##[add-mask]a,b: 5 %"
    table = dataclasses.replace(VIOLATED, name=name)
    places = (TablePlaces(Place(Path("a,b:c%.yml"), 3, 5), ()),)
    lines = github.render(audited(table), places).splitlines()
    assert lines[0].startswith(
        "::error file=a%2Cb%3Ac%25.yml,line=3,col=5,title=k-anonymity is violated::"
        r"::stop-commands::x\n## [add-mask]a,b: 5 %25: k-anonymity:"
    )
    assert [line.partition("::")[0] for line in lines] == ["", "", lines[-1]]
    assert not any("##[" in line for line in lines)


@pytest.mark.parametrize(
    ("tables", "line"),
    [
        ([VIOLATED], "1 of 1 check violated, 1 measured"),
        ([HOLDS], "0 of 2 checks violated"),
        ([ACCEPTED, HOLDS], "0 of 3 checks violated, 1 accepted by the baseline"),
        ([EMPTY, HOLDS], "0 of 2 checks violated, 1 of 2 tables without data"),
        ([BROKEN], "1 of 1 table failed in the engine"),
        ([with_checks(VIOLATED.checks[1])], "1 measured"),
        (
            [
                with_checks(
                    HOLDS.checks[0],
                    dataclasses.replace(HOLDS.checks[0], holds=None, details={"evidence": "exact"}),
                )
            ],
            "0 of 2 checks violated, 1 undecided",
        ),
    ],
)
def test_the_last_line_says_how_it_ended(tables, line):
    assert github.render(audited(*tables)).splitlines()[-1] == f"kanon-sql: {line}."


# All of them


@pytest.mark.parametrize("render", [junit.render, sarif.render, github.render])
def test_no_value_is_written_even_where_it_is_shown_or_named(render):
    named = CheckResult(
        "alpha_k_anonymity", {"alpha": 0.5, "sensitive": "diagnosis", "values": ("HIV",)},
        False, 1.0, 3, 9, {"k": 1},
    )  # fmt: skip
    shown = {"small_classes": [{"zip": "02138"}]}
    table = dataclasses.replace(with_checks(named), shown=shown)
    written = render(audited(table), PLACES)
    assert "alpha" in written or "α" in written
    assert "HIV" not in written
    assert "02138" not in written


SPEC_TEXT = """\
version: 1
tables:
  - source: patients.csv
    quasi_identifiers: [zip]
    sensitive: [diagnosis]
    checks:
      - l_diversity
      - k_anonymity: {k: 1}
      - t_closeness
      - homogeneity:
          sensitive: diagnosis
  - name: again
    source: patients.csv
    quasi_identifiers: [zip]
    checks: [{k_anonymity: {k: 9}}]
"""
PATIENTS = "zip,diagnosis\n02138,flu\n02138,flu\n02139,asthma\n"


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """A spec that asks for what gates after what is measured."""
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text(PATIENTS)
    Path("kanon.yml").write_text(SPEC_TEXT)
    return AuditSpec.from_file("kanon.yml")


def test_every_check_has_the_line_where_it_is_asked_for(spec):
    found = outcomes.outcomes(asking.audit(spec, RunOptions()), spec.places())
    assert [
        [(outcome.rule, outcome.place.line) for outcome in table.outcomes] for table in found
    ] == [
        [("k_anonymity", 8), ("homogeneity", 10), ("l_diversity", 7), ("t_closeness", 9)],
        [("k_anonymity", 15)],
    ]


def test_what_was_measured_unasked_has_the_line_of_its_table(spec):
    Path("kanon.yml").write_text(SPEC_TEXT.replace("      - l_diversity\n", ""))
    spec = AuditSpec.from_file("kanon.yml")
    result = asking.audit(spec, RunOptions())
    found = outcomes.outcomes(
        dataclasses.replace(
            result,
            tables=tuple(
                dataclasses.replace(table, checks=(*table.checks, VIOLATED.checks[1]))
                for table in result.tables
            ),
        ),
        spec.places(),
    )
    assert [table.outcomes[-1].place.line for table in found] == [3, 11]


@pytest.fixture
def run(spec, capsys):
    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(list(arguments), prog_name="kanon-sql")
        return (ended.value.code, *capsys.readouterr())

    return typed


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("junit", '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kanon-sql" tests="5"'),
        ("sarif", '{\n  "$schema": "https://docs.oasis-open.org/sarif/'),
        ("github", "::debug::patients.csv: k-anonymity: k is 1, asked for 1; "),
    ],
)
def test_the_command_line_writes_it_and_ends_as_ever(run, form, begins):
    code, out, err = run("audit", "kanon.yml", "--format", form)
    assert (code, err) == (1, "")
    assert out.startswith(begins)
    written = run("audit", "kanon.yml", "--format", form, "--output", "result")
    assert written == (1, "", "result written: violated.\n")
    seconds = re.compile(r'time="[0-9.]+"')
    assert seconds.sub("", Path("result").read_text("utf-8")) == seconds.sub("", out)


@pytest.mark.parametrize("form", ["junit", "sarif", "github"])
def test_a_failed_engine_is_told_in_the_report_too(run, form, monkeypatch):
    monkeypatch.setattr(asking, "audit", lambda *_, **__: audited(BROKEN, HOLDS))
    code, out, err = run("audit", "kanon.yml", "--format", form)
    assert (code, err) == (3, "error: big.parquet: the memory limit was reached.\n")
    assert "the memory limit was reached" in out


@pytest.mark.parametrize(("command", "asked"), [("audit", "--qi"), ("tables", "--by")])
@pytest.mark.parametrize("form", ["junit", "sarif", "github", "openlineage"])
def test_a_table_that_can_not_be_opened_is_told_there_too(run, form, command, asked, monkeypatch):
    def slow(*_: object) -> None:
        raise EngineError(f"the time limit was reached. Raise {option('timeout')}.")

    monkeypatch.setattr(DuckDBEngine, "table", slow)
    code, out, err = run(
        *(command, "data/patients.csv", asked, "zip", "--format", form),
        *("--k", "2") if command == "audit" else ("--threshold", "2"),
    )
    assert (code, err) == (3, "error: the time limit was reached. Raise --timeout.\n")
    assert "patients.csv: the audit failed: the time limit was reached. Raise --timeout." in out
    if form == "openlineage":
        begun, ended = map(json.loads, out.splitlines())
        assert (begun["eventType"], ended["eventType"]) == ("START", "FAIL")
        assert ended["inputs"] == [
            {"namespace": "file", "name": str(Path("data/patients.csv").absolute())}
        ]


def test_the_environment_sets_the_format(run, monkeypatch):
    monkeypatch.setenv("KANON_SQL_FORMAT", "github")
    _, out, _ = run("audit", "kanon.yml")
    assert out.splitlines()[-1].startswith("kanon-sql: 2 of 3 checks violated")


# The hooks of pre-commit


HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_a_command_that_there_is(hook):
    program, command, *options = hook["entry"].split()
    parsed = cli.main.get_command(click.Context(cli.main), command)
    known = {flag for option in parsed.params for flag in option.opts}
    assert (program, hook["language"]) == ("kanon-sql", "python")
    assert {option for option in options if option.startswith("--")} <= known
    assert {"id", "name", "description", "entry", "language"} <= set(hook)


@pytest.mark.parametrize(
    ("file", "is_spec"),
    [("kanon.yml", True), ("privacy/kanon.yaml", True), ("patients.kanon.yml", True),
     ("mkdocs.yml", False), ("kanon.yml.bak", False)],
)  # fmt: skip
def test_the_hook_looks_at_specs(file, is_spec):
    [validate] = [hook for hook in HOOKS if hook["id"] == "kanon-sql-validate"]
    assert bool(re.search(validate["files"], file)) == is_spec


def test_validate_takes_several_specs_as_pre_commit_passes_them(run):
    Path("other.yaml").write_text(SPEC_TEXT)
    code, out, err = run("validate", "kanon.yml", "other.yaml")
    assert (code, err, len(out.splitlines())) == (0, "", 4)
    code, _, err = run("validate", "kanon.yml", "patients.csv")
    assert (code, "there are 2 targets" in err) == (2, True)
