"""The action for GitHub and the workflows of the pages fit their schemas; nothing runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from places import ROOT
from schemas import faults

from kanon_sql.cli.main import main
from kanon_sql.report.guides import markdown_of

ACTION = ROOT / ".github" / "actions" / "audit" / "action.yml"
WORKFLOW = r"^```yml\n(# \.github/workflows/.*?)^```$"


def test_the_action_fits_the_schema_of_actions():
    assert faults(ACTION, "vendor.github-actions") == ""


@pytest.mark.parametrize("workflow", re.findall(WORKFLOW, markdown_of("pipelines"), re.M | re.S))
def test_a_workflow_of_the_pages_fits_the_schema_of_workflows(workflow, tmp_path):
    file = tmp_path / "privacy.yml"
    file.write_text(workflow)
    assert faults(file, "vendor.github-workflows") == ""
    [job] = yaml.safe_load(workflow)["jobs"].values()
    given = {name for step in job["steps"] for name in step.get("with", {})}
    known = set(yaml.safe_load(ACTION.read_text(encoding="utf-8"))["inputs"])
    assert given <= known


def test_the_action_calls_commands_and_options_that_there_are():
    steps = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    lines = [line.strip() for step in steps for line in step.get("run", "").splitlines()]
    calls = [shlex.split(line) for line in lines if line.startswith("kanon-sql ")]
    assert [call[1] for call in calls] == ["audit", "report"]
    for _, name, *given in calls:
        command = main.get_command(click.Context(main), name)
        known = {flag for option in command.params for flag in option.opts}
        assert {each for each in given if each.startswith("--")} <= known


def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **given: str):
    """What the step of the action does that audits, its inputs given."""
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    [step] = [each for each in action["runs"]["steps"] if each.get("id") == "audit"]
    values = {f"inputs.{name}": each["default"] for name, each in action["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in given.items()}
    values |= {
        "steps.names.outputs.result": str(tmp_path / "result.json"),
        "steps.names.outputs.report": str(tmp_path / "report.html"),
        "steps.names.outputs.sarif": str(tmp_path / "kanon.sarif"),
    }
    for name, value in step["env"].items():
        monkeypatch.setenv(name, values[value.strip("${} ")])
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "outputs"))
    program = tmp_path / "bin" / "kanon-sql"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho >> {tmp_path}/calls\nexec {sys.executable} -m kanon_sql "$@"'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_audit_gives_the_annotations_the_alerts_and_the_report(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("zip,age\n1,20\n1,20\n2,30\n")
    (tmp_path / "kanon.yml").write_text(
        "tables:\n- source: people.csv\n  quasi_identifiers: [zip]\n"
        "  checks: [{k_anonymity: {k: 2}}]\n"
    )
    ended = audited(
        tmp_path, monkeypatch, spec="kanon.yml", args="--threads=1\n--memory-limit\n1 GB\n"
    )

    assert ended.returncode == 1, ended.stderr
    assert "::error file=kanon.yml,line=4" in ended.stdout
    [table] = json.loads((tmp_path / "result.json").read_text())["tables"]
    assert (table["name"], table["summary"]["records"]) == ("people.csv", 3)
    [run] = json.loads((tmp_path / "kanon.sarif").read_text())["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["k_anonymity"]
    assert "people.csv" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "outputs").read_text() == "sarif=written\n"
    assert len((tmp_path / "calls").read_text()) == 2  # audit, report


def test_what_is_not_given_is_not_asked_and_a_bad_question_ends_the_job(tmp_path, monkeypatch):
    ended = audited(tmp_path, monkeypatch, manifest="manifest.json", select="people\ntag:pii\n")

    assert ended.returncode == 2
    assert "manifest.json" in ended.stderr
    assert not (tmp_path / "outputs").exists()


def test_the_action_says_that_it_was_not_executed():
    assert "not executed" in ACTION.read_text(encoding="utf-8")
    assert "not been executed" in " ".join(markdown_of("pipelines").split()) or (
        "has\nnot been executed" in markdown_of("pipelines")
    )
