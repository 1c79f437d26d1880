"""The README's blocks, run as a reader would run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from places import ROOT
from warehouses import postgres

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.results.baseline import Baseline

README = (ROOT / "README.md").read_text()
FOUND, VIOLATED = 0, 1


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def written():
    """The files that earlier audits left: two results and a baseline."""
    people = pa.table({"zip": ["02138", "02138", "02139"]})
    result = kanon.audit(people, quasi_identifiers="zip", checks=[kanon.KAnonymity(k=2)])
    return {
        "old.json": result.to_json(),
        "new.json": result.to_json(),
        "baseline.json": Baseline.of([result]).to_json(),
    }


@pytest.fixture
def clinic(tmp_path, monkeypatch, written):
    """The files that the README's examples are about."""
    monkeypatch.chdir(tmp_path)
    people = 60
    zips = [f"0213{person % 3}" for person in range(people)]
    years = [1950 + 10 * (person % 2) for person in range(people)]
    sexes = ["F" if person % 4 < 2 else "M" for person in range(people)]
    patients = {
        "patient_id": list(range(people)),
        "name": [f"Person {person}" for person in range(people)],
        "zip": zips,
        "birth_year": years,
        "sex": sexes,
        "diagnosis": ["flu" if person % 5 else "asthma" for person in range(people)],
    }
    voters = {"zip_code": zips * 2, "birth_year": years * 2, "sex": sexes * 2}
    pq.write_table(pa.table(patients), "patients.parquet")
    masked = {"zip": [f"{zip[:3]}**" for zip in zips], "birth_year": years}
    pq.write_table(pa.table(masked), "release.parquet")
    pq.write_table(pa.table(voters), "voters.parquet")
    for spec in blocks("yaml"):
        Path(spec.splitlines()[0].removeprefix("# ")).write_text(spec)
    Path("zips.csv").write_text(blocks("csv")[0])
    for name, text in written.items():
        Path(name).write_text(text)


@pytest.mark.parametrize("block", blocks("python"))
def test_python(block):
    exec(compile(block, "README.md", "exec"), {})


COMMANDS = [
    line[2:]
    for block in blocks("console")
    for line in block.replace("\\\n", "").splitlines()
    if line[:2] == "$ "
]


def not_about_a_file(told: str) -> list[str]:
    """The lines of stderr that do not say which file was written."""
    return [line for line in told.splitlines() if " written" not in line]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command, clinic, capsys):
    program, *arguments = shlex.split(command.partition(" > ")[0])
    if arguments[0] == "baseline":
        Path("baseline.json").unlink()
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert (program, ended.value.code in (FOUND, VIOLATED)) == ("kanon-sql", True)
    assert not_about_a_file(capsys.readouterr().err) == []


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Postgres with the patients."""
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.run(
            "create table patients as select n as patient_id, 'Person ' || n as name, "
            "'0213' || n % 3 as zip, 1950 + n % 2 as birth_year, "
            "case when n % 4 < 2 then 'F' else 'M' end as sex from generate_series(1, 60) as n"
        )
        yield running.url


IN_A_WAREROOT = [
    line for block in blocks("bash") for line in block.splitlines() if "postgresql://" in line
]


@pytest.mark.parametrize("command", IN_A_WAREROOT)
def test_in_a_warehouse(command, clinic, warehouse, capsys):
    program, *arguments = shlex.split(command)
    with pytest.raises(SystemExit) as ended:
        main([warehouse if "://" in each else each for each in arguments])
    assert (program, ended.value.code, capsys.readouterr().err) == ("kanon-sql", FOUND, "")


def test_what_the_readme_promises_of_its_examples(clinic):
    """The spec of the README holds on data made for it, and its plain audit does too."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", "kanon.yml", "--output", "result.json", "--format", "json"])
    assert ended.value.code == FOUND


def steps(block: object) -> Iterator[str]:
    """Every command of kanon-sql in a pipeline's definition."""
    if isinstance(block, str) and block.startswith("kanon-sql "):
        yield block
    elif isinstance(block, dict):
        yield from (step for part in block.values() for step in steps(part))
    elif isinstance(block, list):
        yield from (step for part in block for step in steps(part))


PIPELINES = [yaml.safe_load(block) for block in blocks("yml")]


@pytest.mark.parametrize("command", [step for pipeline in PIPELINES for step in steps(pipeline)])
def test_pipelines(command, clinic, capsys):
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert (ended.value.code, not_about_a_file(capsys.readouterr().err)) == (FOUND, [])


def test_the_hooks_that_the_readme_names_are_there():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [named] = [each["repos"][0]["hooks"] for each in PIPELINES if "repos" in each]
    assert [hook["id"] for hook in named] == [hook["id"] for hook in hooks]
