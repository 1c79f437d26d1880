"""What is printed in encodings other than UTF-8, as those of pipes on Windows, and to nobody."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from kanon_sql.cli.main import COMMANDS, main
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.report.explain import explained
from kanon_sql.report.guides import guide_names
from kanon_sql.results.release import METRICS

ENCODINGS = ["cp1252", "cp437", "cp932", "latin-1"]

FILES = {
    "Größe-東.csv": "zip,Straße,病\n1,Zürich,flu\n1,Zürich,HIV\n1,Łódź,flu\n2,東京,flu\n",
    "street.csv": "Zürich,北 ≥ ½,*\nŁódź,北 ≥ ½,*\n東京,東,*\n",
    "kanon.yml": """\
version: 1
tables:
  - source: Größe-東.csv
    quasi_identifiers: {zip: {}, Straße: {hierarchy: street.csv}}
    identifiers: [病]
    checks: [k_anonymity: {k: 5}]
""",
}
ASKED = "Größe-東.csv --qi zip,Straße --k 5"

FOR_PEOPLE = [
    "--help",
    "--version",
    "hierarchy",
    *(f"{name} --help" for names in COMMANDS.values() for name in names),
    f"audit {ASKED} --sensitive 病 --l 2 --show-values -v",
    f"audit {ASKED} --dry-run",
    f"audit {ASKED} --format markdown",
    "audit Größe-東.csv --qi Straße,東 --k 5",
    "audit nowhere-東京.csv --qi zip",
    "tables Größe-東.csv --by Straße --threshold 2 --show-values",
    "validate kanon.yml",
    "profile Größe-東.csv --qi zip,Straße --subsets 2 --show-values",
    "anonymize Größe-東.csv --qi zip,Straße --hierarchy Straße=street.csv --k 2 --identifiers 病",
    "tradeoff Größe-東.csv --qi zip,Straße --hierarchy Straße=street.csv --k 2",
    "policy",
    "policy essnet-handbook",
    "explain",
    "diff {result} {result}",
    "demo shown",
]
FOR_PROGRAMS = [
    (f"audit {ASKED} --format json", "json"),
    (f"audit {ASKED} --format sarif", "json"),
    (f"audit {ASKED} --format junit", "xml"),
    (f"audit {ASKED} --format openlineage", "lines"),
    (f"audit {ASKED} --format github", "text"),
    ("tables Größe-東.csv --by Straße --threshold 2 --format json", "json"),
    ("profile Größe-東.csv --qi zip,Straße --format json", "json"),
    (f"baseline {ASKED}", "json"),
    ("policy --format json", "json"),
    ("schema", "json"),
    ("diff {result} {result} --format json", "json"),
    ("report {result}", "text"),
    ("init Größe-東.csv", "text"),
    ("compile kanon.yml --level Straße=1", "text"),
    (f"compile {ASKED} --where Straße='東京'", "text"),
    ("compile kanon.yml --format odcs", "text"),
    ("dbt-package", "text"),
]
assert {name for names in COMMANDS.values() for name in names} == {
    command.split()[0]
    for command in [*FOR_PEOPLE, *(command for command, _ in FOR_PROGRAMS)]
    if not command.startswith("-")
}, "every command is run, if only for its help"


@dataclass(frozen=True)
class Printed:
    code: int
    out: bytes
    err: bytes


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("encodings")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("SOURCE_DATE_EPOCH", "1700000000")
        for name, text in FILES.items():
            Path(name).write_text(text, encoding="utf-8")
        written = printed("audit kanon.yml --output result.json", "utf-8")
        assert written.code == 1, written.err
        yield


@cache
def printed(command: str, encoding: str) -> Printed:
    """What a command line prints to streams of an encoding, as Python opens them for a pipe."""
    out, err = io.BytesIO(), io.BytesIO()
    arguments = command.format(result="result.json").replace("shown", f"shown-{encoding}").split()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
        patched.setattr(sys, "stderr", io.TextIOWrapper(err, encoding, "backslashreplace"))
        with pytest.raises(SystemExit) as ended:
            main(arguments, prog_name="kanon-sql")
        sys.stdout.flush()
        sys.stderr.flush()
        # Its streams are closed with it.
        return Printed(int(ended.value.code or 0), out.getvalue(), err.getvalue())


SPELLINGS = {"…": r"\.\.\.", "█": "#"}


def as_written(text: str, encoding: str) -> str:
    """A pattern of the text in which anything readable stands for what the encoding lacks."""

    def pattern(character: str) -> str:
        # cp932 reads its minus sign as a full-width one.
        written = character.encode(encoding, "ignore").decode(encoding)
        return re.escape(written) or SPELLINGS.get(character, r"[ -~]{1,10}?")

    return "".join(map(pattern, text))


def without_times(text: str) -> str:
    """The text without seconds, and with one name for the demo's folder of each encoding."""
    return re.sub(r"\d+\.\d s\b", "0 s", re.sub(r"shown-[\w-]*\w", "shown", text))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("command", FOR_PEOPLE)
def test_people_read_what_the_encoding_has_and_something_like_the_rest(
    command: str, encoding: str
) -> None:
    ours, theirs = printed(command, encoding), printed(command, "utf-8")

    assert ours.code == theirs.code != 3
    for written, whole in ((ours.out, theirs.out), (ours.err, theirs.err)):
        pattern = as_written(without_times(whole.decode()), encoding)
        assert re.fullmatch(pattern, without_times(written.decode(encoding))), written


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(("command", "form"), FOR_PROGRAMS)
def test_a_format_for_programs_says_the_same_in_every_encoding(
    command: str, form: str, encoding: str
) -> None:
    ours, theirs = printed(command, encoding), printed(command, "utf-8")

    assert (ours.code, ours.err.decode(encoding) == "") == (theirs.code, theirs.err == b"")
    if form == "text":
        assert ours.out == theirs.out
        return
    # Escaped, so that whoever reads the pipe in its own encoding and whoever reads it as UTF-8
    # have the same.
    assert ours.out.isascii()
    assert not theirs.out.isascii()
    assert content(ours.out, form) == content(theirs.out, form)


def content(text: bytes, form: str) -> object:
    """What a reader of the format finds, without times."""
    if form == "xml":
        elements = ElementTree.fromstring(text).iter()
        return [(e.tag, {**e.attrib, "time": ""}, e.text, e.tail) for e in elements]
    documents = text.splitlines() if form == "lines" else [text]
    return [json.loads(document, object_hook=untimed) for document in documents]


def untimed(pairs: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in pairs.items() if key != "seconds"}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_spec_and_sql_keep_names_and_texts(encoding: str) -> None:
    proposed = yaml.safe_load(printed("init Größe-東.csv", encoding).out)
    names = {"zip", "Straße", "病"}
    assert names == {
        name
        for key in ("quasi_identifiers", "sensitive", "identifiers", "insensitive", "undecided")
        for name in proposed["tables"][0].get(key) or ()
    }
    assert "'東京'" in printed(f"compile {ASKED} --where Straße='東京'", encoding).out.decode()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_of_the_manual_has_a_spelling_in_every_encoding(encoding: str) -> None:
    for name in [*guide_names(), *ALL_MODELS, *METRICS]:
        shown = printed(f"explain {name}", encoding).out.decode(encoding)
        assert shown.count("\\") == explained(name).count("\\"), name


def shell(command: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    """Run `kanon-sql …` in a shell as a process of its own, whose streams have the encoding."""
    return subprocess.run(
        command.replace("kanon-sql", f"{sys.executable} -m kanon_sql"),
        shell=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("handler", "name"), [("", "Grosse-東"), (":xmlcharrefreplace", "Gr&#246;&#223;e-東")]
)
def test_a_process_replaces_what_its_pipe_lacks_unless_the_environment_says_how(
    handler: str, name: str
) -> None:
    ended = shell(f"kanon-sql audit {ASKED}", f"cp932{handler}")

    assert (ended.returncode, ended.stderr) == (1, b"")
    assert ended.stdout.decode("cp932").startswith(f"{name}.csv ")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"audit {ASKED}", 1),
        (f"audit {ASKED} --format json", 1),
        (f"compile {ASKED}", 0),
        ("--help", 0),
        ("audit --help", 0),
        ("hierarchy --help", 0),
        ("hierarchy", 0),
        ("--version", 0),
    ],
)
def test_nobody_who_reads_changes_no_exit_code(command: str, code: int) -> None:
    gone = shell(f"(sleep 0.2; kanon-sql {command}; echo exit $? >&2) | true", "cp1252")
    assert gone.stderr.decode() == f"exit {code}\n"
    closed = shell(f"kanon-sql {command} >&-", "cp1252")
    assert (closed.returncode, closed.stderr) == (code, b"")


@pytest.mark.parametrize(("command", "code"), [(f"audit {ASKED} -v", 1), ("audit no.csv", 2)])
def test_nobody_who_reads_the_messages_changes_no_exit_code(command: str, code: int) -> None:
    gone = shell(f"((sleep 0.2; kanon-sql {command}; echo exit $? >&3) 2>&1 | true) 3>&1", "cp437")
    assert gone.stdout.decode() == f"exit {code}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.parametrize("command", [f"audit {ASKED}", "--help", "audit --help", "--version"])
def test_what_cannot_be_printed_is_an_error(command: str) -> None:
    ended = shell(f"kanon-sql {command} > /dev/full", "cp1252")
    assert (ended.returncode, ended.stderr.decode()) == (
        3,
        "error: the result can't be printed: No space left on device.\n",
    )
