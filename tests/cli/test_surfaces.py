"""What is asked of every command: help in groups, names that complete, and silence."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import ClassVar, Literal, get_args, get_origin, get_type_hints

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import ROOT
from pyarrow import csv

import kanon_sql as kanon
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.cli.command_record import ARGUMENTS, command_line
from kanon_sql.cli.main import COMMANDS, main
from kanon_sql.cli.option_kinds import Grouped
from kanon_sql.cli.options import OF_CELLS, OF_RELEASE, OF_RUN, OF_SETS, OF_TABLE
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.models.described import texts_below
from kanon_sql.profiling.profile_plan import Identifying
from kanon_sql.results.release import SEARCHES


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
    places = [out.index(f"\n{group}:") for group in Grouped.headings if f"\n{group}:" in out]
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
        told[name] = command_line(context)
    assert told == {**{name: f"kanon-sql {name}" for name in told}, "demo": told["demo"]}
    assert told["demo"] == "kanon-sql demo kanon-demo"


OVERWRITING = [
    ("audit",), ("baseline",), ("demo",), ("diff",), ("hierarchy", "new"), ("init",), ("profile",),
    ("lineage",), ("report",), ("tables",), ("tradeoff",), ("worksheet",),
]  # fmt: skip
"""The commands that replace files, and write neither a release nor a contract that they read."""


@pytest.mark.parametrize("command", OVERWRITING, ids=" ".join)
def test_force_is_for_a_release_alone(capsys, command):
    _, shown, _ = run(capsys, *command, "--help")
    assert ("--overwrite" in shown, "--force" in shown) == (True, False)
    code, out, err = run(capsys, *command, "--force", "people.parquet", "people.parquet")
    assert (code, out) == (2, "")
    assert "there is no --force any more. Write --overwrite to replace existing files." in err


def test_a_release_keeps_no_order_of_its_source(capsys):
    code, out, err = run(capsys, "anonymize", "people.parquet", "--qi", "zip", "--keep-order")
    assert (code, out) == (2, "")
    assert "there is no --keep-order any more. A release is always in the order of what it" in err
    assert "--keep-order" not in run(capsys, "anonymize", "--help")[1]


def test_every_command_that_overwrites_is_tested():
    def leaves(command: click.Command, path: tuple[str, ...] = ()):
        context = click.Context(command)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                yield from leaves(command.get_command(context, name), (*path, name))
        else:
            yield path, {flag for each in command.params for flag in each.opts}

    found = sorted(path for path, flags in leaves(main) if "--overwrite" in flags)
    assert found == sorted([*OVERWRITING, ("anonymize",), ("compile",)])


def test_every_algorithm_stands_in_the_help(capsys):
    _, out, _ = run(capsys, "anonymize", "--help")

    assert f"--algorithm {'|'.join(SEARCHES)}" in out


def test_quiet_tells_verdicts_and_warnings_alone(capsys):
    code, out, err = run(capsys, *AUDIT, "--k", "2", "--quiet", "--output", "told.txt")
    assert (code, out, err) == (1, "", "")
    assert Path("told.txt").read_text().splitlines() == [
        "people.parquet · 3 records · quasi-identifiers zip · sensitive illness",
        "",
        "  VIOLATED  k-anonymity          k is 1, asked for 2",
        "            1 record (33.3 %) in 1 class of fewer than 2 records",
        "  measured  homogeneity illness  2 classes with a single illness",
        "            3 records (100 %) give it away: 1 class of 2 or more records shares",
        "            one value, 1 record is alone",
        "",
        "  warning   The illness of 3 records (100.0 %) is certain: their class has no",
        "            other. A check of l-diversity or homogeneity bounds how many.",
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
    assert "In the worst class 100 % have the same illness" in words


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


SHELL_ALONE = {
    "baseline", "connect", "dry_run", "exclude", "format", "inherit", "keep_order", "manifest",
    "output", "output_dir", "overwrite", "profiles_dir", "quiet", "result", "select", "state",
    "step", "until", "verbose", "by", "force", "also", "memory_limit", "threads", "timeout",
    "show_values", "into", "server", "audience",
}  # fmt: skip
"""Options on files, tables of a project, and what is printed; Python has them where they apply."""
IN_PYTHON = {
    "target": "data", "check": "checks", "reference": "references", "earlier": "earlier_releases",
    "hierarchy": "quasi_identifiers", "clip": "quasi_identifiers", "cells": "published",
}  # fmt: skip
"""Options that Python spells otherwise."""


PARTS = ("reference_", "earlier_", "original_", "holdout_", "against_")
"""How the options for the parts of another table begin."""


@pytest.mark.parametrize("verb", ["audit", "anonymize", "profile", "tradeoff", "compile", "tables"])
def test_an_option_is_a_keyword_in_python(verb):
    keywords = set(inspect.signature(getattr(kanon, verb)).parameters)
    options = {each.name for each in main.get_command(click.Context(main), verb).params}
    others = {name for name in options if name.startswith(PARTS)}
    if verb == "compile":
        cells = main.get_command(click.Context(main), "tables").params
        others |= {each.name for each in cells} - keywords

    names = IN_PYTHON | ({"hierarchy": "hierarchies"} if verb == "tables" else {})
    assert {names.get(name, name) for name in options - others} - keywords <= SHELL_ALONE


MODELS = {
    OF_TABLE: kanon.TableSpec,
    OF_CELLS: kanon.PublishedSpec,
    OF_RELEASE: ReleaseOptions,
    OF_RUN: RunOptions,
    OF_SETS: Identifying,
}


@pytest.mark.parametrize("fields", MODELS, ids=lambda fields: fields.model)
def test_an_option_has_what_its_model_declares(fields):
    """Options are built from the source of a model, which help need not import."""
    model = MODELS[fields]
    texts = texts_below(model)
    for name, annotation in get_type_hints(model).items():
        if not name.startswith("_") and get_origin(annotation) is not ClassVar and name in texts:
            field = fields[name]
            assert field.text == texts[name]
            assert field.default in (None, getattr(model, name, None), default_of(model, name))
            choices = field.settings.get("type")
            if get_origin(annotation) is Literal and isinstance(choices, click.Choice):
                assert tuple(choices.choices) == get_args(annotation)
                assert field.default == default_of(model, name)


def default_of(model, name):
    field = getattr(model, "model_fields", {}).get(name)
    return field.default if field else getattr(model, name, None)


def test_the_choices_of_a_release_stand_in_its_help():
    hints = get_type_hints(ReleaseOptions)
    command = main.get_command(click.Context(main), "anonymize")
    shown = {each.name: each.metavar for each in command.params}
    for name in ("suppressed", "emit", "untouched"):
        choices = get_args(hints[name])
        literal = choices if isinstance(choices[0], str) else get_args(choices[0])
        assert shown[name] == "|".join(literal)


def every_option():
    """Each option of each command, with the command's name."""
    group = main.get_command(click.Context(main), "hierarchy")
    for above in (main, group):
        for name in above.list_commands(click.Context(above)):
            command = above.get_command(click.Context(above), name)
            yield from ((name, each) for each in command.params if isinstance(each, click.Option))


SEVERAL_FORMS = {"FORMAT", "ALGORITHM", "K", "OUTPUT", "DIALECT"}
"""Variables whose values differ by command, for one meaning: a format, k, a file."""
BY_COMMAND = {"BY": "DIFF_BY", "SUPPRESSED": "ANONYMIZE_SUPPRESSED"}
"""Variables of two meanings, with one that goes before for one of these."""


def test_a_variable_means_the_same_to_every_command():
    forms, before = defaultdict(set), set()
    for _, option in every_option():
        names = [each.removeprefix("KANON_SQL_") for each in option.envvar or ()]
        before.update(pair for pair in BY_COMMAND.items() if list(pair[::-1]) == names)
        for name in names:
            forms[name].add((option.name, option.metavar or str(option.type)))

    several = {name for name, found in forms.items() if len(found) > 1}
    assert several <= SEVERAL_FORMS | set(BY_COMMAND)
    assert before == set(BY_COMMAND.items())
    assert {"COMPILE_FORMAT", "COMPILE_FORCE"} <= set(forms)


def test_a_format_for_results_is_none_for_sql(capsys, monkeypatch):
    monkeypatch.setenv("KANON_SQL_FORMAT", "json")
    code, out, _ = run(capsys, "compile", *AUDIT[1:])
    assert (code, out[:2]) == (0, "--")


def test_a_variable_that_sets_no_option_is_named(capsys, monkeypatch):
    monkeypatch.setenv("KANON_SQL_THREDS", "1")
    monkeypatch.setenv("KANON_SQL_GAP", "3%")  # of another command
    told = 'warning: KANON_SQL_THREDS sets no option. Did you mean "KANON_SQL_THREADS"?\n'
    assert run(capsys, *AUDIT)[2] == told
    assert run(capsys, *AUDIT, "--nope")[2].startswith(told)
    assert run(capsys, *AUDIT, "-q")[2] == ""


def test_a_group_of_commands_prints_its_help(capsys):
    code, out, told = run(capsys, "hierarchy")
    assert (code, out.startswith("Usage: kanon-sql hierarchy "), told) == (0, True, "")
