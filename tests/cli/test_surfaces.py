"""What is asked of every command: help in groups, names that complete, and silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import ROOT
from pyarrow import csv

from kanon_sql.cli.command_record import ARGUMENTS, command_asked
from kanon_sql.cli.help import GROUPS
from kanon_sql.cli.main import COMMANDS, main
from kanon_sql.results.release import Algorithm


@pytest.fixture(autouse=True)
def people(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = {"zip": ["02138", "02138", "02139"], "illness": ["flu", "flu", "HIV"]}
    pq.write_table(pa.table(columns), "people.parquet")


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="kanon-sql")
    told = capsys.readouterr()
    return int(ended.value.code), told.out, told.err


AUDIT = ("audit", "people.parquet", "--qi", "zip", "--sensitive", "illness")


def test_audit_has_its_options_in_groups_and_two_examples(capsys):
    _, out, _ = run(capsys, "audit", "--help")
    places = [out.index(f"\n{group}:") for group in GROUPS if f"\n{group}:" in out]
    assert places == sorted(places)
    assert len(places) >= 7
    examples = out.partition("Examples:")[2]
    assert examples.count("kanon-sql audit ") == 2
    messages = out.partition("\nMessages:")[2].partition("Examples:")[0]
    assert "TARGET" not in messages
    assert [line.split()[0] for line in messages.splitlines() if line.startswith("  -")] == [
        "-v,", "-q,", "-h,",
    ]  # fmt: skip


def test_every_command_is_in_the_file_that_is_said():
    context = click.Context(main)
    for room, names in COMMANDS.items():
        import_module(f"kanon_sql.cli.{room}")
        of_the_room = f"kanon_sql.cli.{room}"
        found = [main.get_command(context, name) for name in names]
        assert {getattr(each.callback, "__module__", None) for each in found} == {of_the_room}
    assert sorted(main.commands) == main.list_commands(context)


def test_a_command_without_arguments_is_kept_as_that():
    group = click.Context(main)
    told = {}
    for name in main.list_commands(group):
        command = main.get_command(group, name)
        context = command.make_context(name, [], parent=group, resilient_parsing=True)
        context.meta[ARGUMENTS] = (name,)
        told[name] = command_asked(context)
    assert told == {**{name: f"kanon-sql {name}" for name in told}, "demo": told["demo"]}
    assert told["demo"] == "kanon-sql demo kanon-demo"


def test_every_algorithm_stands_in_the_help(capsys):
    _, out, _ = run(capsys, "anonymize", "--help")

    assert f"--algorithm {'|'.join(get_args(Algorithm))}" in out


def test_quiet_tells_verdicts_and_warnings_alone(capsys):
    code, out, err = run(capsys, *AUDIT, "--k", "2", "--quiet", "--output", "told.txt")
    assert (code, out, err) == (1, "", "")
    assert Path("told.txt").read_text().splitlines() == [
        "people.parquet · 3 records · quasi-identifiers zip · sensitive illness",
        "",
        "  VIOLATED  k-anonymity          k is 1, asked for 2",
        "            1 record (33.3 %) in 1 class of fewer than 2 records",
        "  measured  homogeneity illness  2 classes with a single illness",
        "            1 class of 2 or more records shares one value, 1 record is alone",
    ]
    code, out, err = run(capsys, *AUDIT, "-q", "--k", "2")
    assert (code, "by the size" in out, "k is 1" in out, err) == (1, False, True, "")
    _, out, _ = run(capsys, *AUDIT, "-q", "--format", "json")
    assert json.loads(out)["status"] == "measured"
    code, _, err = run(capsys, "audit", "people.parquet", "--qi", "zipcode", "-q")
    assert (code, "has no column" in err or "no column" in err) == (2, True)


def test_quiet_can_stand_in_the_environment(capsys, monkeypatch):
    monkeypatch.setenv("KANON_SQL_QUIET", "1")
    _, out, _ = run(capsys, *AUDIT)
    assert "by the size" not in out


def test_what_is_measured_reads_from_what_matters_first(capsys):
    _, out, _ = run(capsys, *AUDIT)
    words = " ".join(out.split())
    places = [words.index(f"measured {title} illness") for title in (
        "homogeneity", "(α,k)-anonymity", "t-closeness", "l-diversity", "δ-disclosure privacy",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "1 class of 2 or more records has one illness throughout" in words
    assert "In the worst class 100 % have one illness" in words


def test_distances_of_numbers_are_offered_in_order(capsys):
    pay = pa.table({"zip": ["a", "a", "b"], "income": [30, 31, 3000]})
    pq.write_table(pay, "pay.parquet")
    csv.write_csv(pay, "pay.csv")
    for name in ("pay.parquet", "pay.csv"):
        _, out, _ = run(capsys, "audit", name, "--qi", "zip", "--sensitive", "income")
        assert "distance=ordered ranks them" in " ".join(out.split())
    Path("mixed.csv").write_text("zip,income\na,30\na,some\nb,\n")
    _, out, _ = run(capsys, "audit", "mixed.csv", "--qi", "zip", "--sensitive", "income")
    assert "distance=ordered" not in out
    _, out, _ = run(capsys, *AUDIT)
    assert "distance=ordered" not in out


def test_a_shell_completes_names():
    told = subprocess.run(
        [sys.executable, "-c", "from kanon_sql.cli.main import main; main(prog_name='kanon-sql')"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_KANON_SQL_COMPLETE": "bash_complete",
            "COMP_WORDS": "kanon-sql rep",
            "COMP_CWORD": "1",
        },
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == ["plain,report"]
    assert "_KANON_SQL_COMPLETE=bash_source" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--max-suppressed", "0.05"], "--max-suppressed must be a number of records"),
        (["--metric", "loss"], "Leave out --metric, or ask for --algorithm optimal."),
        (["--gap", "3%"], "--gap is for the algorithm optimal"),
        (["--algorithm", "optimal", "--gap", "3"], "--gap must be a share above 0%"),
        (["--algorithm", "optimal", "--metric", "precision", "--weight-of", "zip=2"],
         "--weight-of: they are for the metric loss"),
    ],
)  # fmt: skip
def test_an_error_of_a_search_names_the_option(given, said, capsys):
    code, _, told = run(capsys, "anonymize", *AUDIT[1:4], "--k", "2", *given)
    assert (code, said in told) == (2, True), told
