"""The demo: what it writes, and that what it proposes works."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from places import ROOT

from kanon_sql.cli import demo
from kanon_sql.cli.main import main
from kanon_sql.errors import SpecError


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The demo as it is written, in a folder whose name needs quoting."""
    written = tmp_path_factory.mktemp("demo") / "my demo"
    demo.write(written)
    return written


def rows(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect() as hub:
        return hub.read_parquet(str(path)).fetchall()


def test_it_writes_the_data_and_the_spec(folder):
    assert sorted(os.listdir(folder)) == [
        "kanon.yml",
        "patients.csv",
        "patients.parquet",
        "published.csv",
        "visits.parquet",
        "voters.parquet",
    ]
    assert (folder / "patients.csv").read_text().splitlines()[0] == (
        "patient_id,name,birth_year,sex,zip,admitted,diagnosis"
    )
    assert len(rows(folder / "patients.parquet")) == demo.PATIENTS
    assert len(rows(folder / "voters.parquet")) == demo.VOTERS


def test_parquet_and_csv_hold_the_same_records(folder):
    with (folder / "patients.csv").open(newline="") as file:
        _, *as_text = csv.reader(file)
    as_typed = rows(folder / "patients.parquet")
    assert [[str(value) for value in row] for row in as_typed] == as_text
    assert {type(value) for row in as_typed for value in row[4:5]} == {str}


def test_every_patient_is_a_voter(folder):
    voters = {voter[1:] for voter in rows(folder / "voters.parquet")}
    assert {patient[1:5] for patient in rows(folder / "patients.parquet")} <= voters


def test_the_same_people_are_drawn_each_time(folder, tmp_path):
    demo.write(tmp_path / "again")
    for name in os.listdir(folder):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_folder_that_holds_files_is_kept(folder, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SpecError, match="is not empty; name another folder, or add --overwrite"):
        demo.write(tmp_path)
    assert os.listdir(tmp_path) == ["mine.txt"]
    demo.write(tmp_path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == sorted([*os.listdir(folder), "mine.txt"])


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(SpecError, match="is a file; name a folder"):
        demo.write(tmp_path / "demo", overwrite=True)


@pytest.mark.parametrize("name", [".", "..", "../here"])
def test_it_is_written_where_one_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    if name == "..":
        (tmp_path / "here" / "below").mkdir()
        monkeypatch.chdir(tmp_path / "here" / "below")

    demo.write(Path(name), overwrite=True)

    assert {each.name for each in (tmp_path / "here").iterdir()} > {"kanon.yml", "patients.csv"}
    assert {each.name for each in tmp_path.iterdir()} == {"here"}


def test_nothing_is_left_where_it_could_not_be_written(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo, "_write_parquet", fail)
    with pytest.raises(SpecError, match=r"demo can't be written: No space left on device\.$"):
        demo.write(tmp_path / "demo")
    assert os.listdir(tmp_path) == []


def run(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="kanon-sql")
    return ended.value.code, capsys.readouterr().out


def test_the_command_audits_what_it_writes_and_ends_well(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out = run(capsys, "demo")
    assert code == 0
    assert out.startswith("patients · 2,000 records · quasi-identifiers birth_year, sex, zip")
    assert "  VIOLATED  k-anonymity            k is 1, asked for 5\n" in out
    assert "kanon-sql compile kanon-demo/kanon.yml\n" in out


def test_what_it_proposes_works_when_pasted(folder, capsys):
    lines = demo.next_commands(folder).splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("  kanon-sql")]
    # The last one serves a page until Ctrl-C: test_explore opens it.
    *commands, last = commands
    assert last[1:] == ["explore", str(folder / "patients.csv")]
    assert [run(capsys, *command[1:])[0] for command in commands] == [0, 0, 0, 1, 1]
    _, table_without_birth_year, visits, published, _ = commands
    _, out = run(capsys, *visits[1:])
    assert "events ward, month" in out
    _, out = run(capsys, *table_without_birth_year[1:])
    assert "  holds     k-anonymity" in out
    _, out = run(capsys, *published[1:])
    assert "  VIOLATED  derivable  6 of 103 cells can be computed\n" in out


def test_the_published_table_counts_the_patients_and_stars_small_cells(folder):
    with (folder / "patients.csv").open(newline="") as file:
        patients = [(row["zip"], row["diagnosis"]) for row in csv.DictReader(file)]
    with (folder / "published.csv").open(newline="") as file:
        cells = [(row["zip"], row["diagnosis"], row["n"]) for row in csv.DictReader(file)]

    def count(*cell: str) -> int:
        return sum(
            all(label in ("Total", own) for label, own in zip(cell, each, strict=True))
            for each in patients
        )

    assert len({cell[:2] for cell in cells}) == len(cells)
    assert [cell for cell in cells if cell[2] != "*" and int(cell[2]) != count(*cell[:2])] == []
    stars = [count(*cell[:2]) for cell in cells if cell[2] == "*"]
    assert (len(stars), min(stars), max(stars)) == (103, 1, 4)
    assert {cell[:2] for cell in cells} >= {*patients, ("Total", "Total")}


README = ROOT / "README.md"
PROGRAM = """\
#!{python}
import sys
from kanon_sql.cli.main import main
sys.exit(main())
"""


def pasted(lines: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a shell makes of some lines, in which this program is on no path."""
    environment = {
        **os.environ,
        "PATH": os.defpath,
        "PYTHONPATH": str(README.parent),
        "TMPDIR": str(folder),
    }
    return subprocess.run(
        ["bash", "-uo", "pipefail", "-c", lines],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_what_it_proposes_after_the_readme_works_when_pasted(tmp_path):
    program = tmp_path / ".venv" / "bin" / "kanon-sql"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    try_it = README.read_text(encoding="utf-8").partition("## Try it")[2].partition("```sh\n")[2]
    [command] = [line for line in try_it.partition("```")[0].splitlines() if " demo " in line]

    written = pasted(command, tmp_path)

    assert (written.returncode, written.stderr) == (0, "")
    proposed = written.stdout.partition("What to try next:")[2].splitlines()
    commands = [line.strip() for line in proposed if line.strip() and not line.startswith("  #")]
    assert len(commands) >= 4
    for line in commands:
        if " explore " in line:
            continue
        ran = pasted(line, tmp_path)
        assert (ran.stderr, ran.returncode in (0, 1)) == ("", True), line
        assert ran.stdout


def test_a_program_on_the_path_is_called_by_its_name(tmp_path, monkeypatch):
    program = tmp_path / "kanon-sql"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.own_command() == "kanon-sql"
    monkeypatch.setenv("PATH", os.defpath)
    assert demo.own_command() == str(program)
    monkeypatch.setattr(sys, "argv", ["/lib/kanon_sql/__main__.py"])
    assert demo.own_command() == f"{shlex.quote(sys.executable)} -m kanon_sql"
