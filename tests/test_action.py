"""The action for GitHub and the workflows of the pages fit their schemas; nothing runs them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from places import ROOT

from kanon_sql.cli.main import main
from kanon_sql.report.guides import markdown_of

ACTION = ROOT / ".github" / "actions" / "audit" / "action.yml"
WORKFLOW = r"^```yml\n(# \.github/workflows/.*?)^```$"


def faults(file: Path, schema: str) -> str:
    """What a file has that its schema has not."""
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)],
        capture_output=True,
        text=True,
    )
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr


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
    assert [call[1] for call in calls] == ["audit", "report", "audit", "audit"]
    for _, name, *given in calls:
        command = main.get_command(click.Context(main), name)
        known = {flag for option in command.params for flag in option.opts}
        assert {each for each in given if each.startswith("--")} <= known


def test_the_action_says_that_it_was_not_executed():
    assert "not executed" in ACTION.read_text(encoding="utf-8")
    assert "not been executed" in " ".join(markdown_of("pipelines").split()) or (
        "has\nnot been executed" in markdown_of("pipelines")
    )
