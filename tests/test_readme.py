"""The README and the pages that ship: each command is run, each figure and link is looked up."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from commands import run
from gallery import EXAMPLES, GALLERY, as_printed
from goldens import kept
from links import HERE, broken_links, tracked
from page_index import judged, page_index, policy_rows
from places import HOUSE, ROOT
from warehouses import postgres

import kanon_sql as kanon
from kanon_sql.cli import demo
from kanon_sql.cli.main import main
from kanon_sql.models.catalogue import MODELS
from kanon_sql.report.explain import explained
from kanon_sql.report.guides import DBT, WIDTH, guide, guide_names, markdown_of
from kanon_sql.results.baseline import Baseline

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {name: markdown_of(name) for name in guide_names()}
DOCUMENTS = {"README": README, **PAGES}
FOUND, VIOLATED = 0, 1


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def every(language: str) -> list[tuple[str, str]]:
    """The blocks of all documents, each with the document's name."""
    return [(name, block) for name, text in DOCUMENTS.items() for block in blocks(language, text)]


@pytest.fixture(scope="module")
def written():
    """The files that earlier audits left: two results and a baseline."""
    people = pa.table({"zip": ["02138", "02138", "02139"]})
    result = kanon.audit(people, quasi_identifiers="zip", checks=[kanon.KAnonymity(k=2)])
    return {
        "old.json": result.to_json(),
        "new.json": result.to_json(),
        "patients.json": result.to_json(),
        "why.json": result.to_json(),
        "baseline.json": Baseline.of([result]).to_json(),
    }


@pytest.fixture
def clinic(tmp_path, monkeypatch, written):
    """The files that the examples are about."""
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
    pq.write_table(pa.table(patients).slice(0, 50), "patients_2024.parquet")
    masked = {"zip": [f"{zip[:3]}**" for zip in zips], "birth_year": years}
    pq.write_table(pa.table(masked), "release.parquet")
    pq.write_table(pa.table(voters), "voters.parquet")
    synthetic = pa.table(patients).drop_columns(["patient_id", "name"])
    pq.write_table(synthetic.slice(0, 40), "synthetic.parquet")
    pq.write_table(pa.table(patients).slice(40, 20), "rest.parquet")
    pq.write_table(pa.table(patients).slice(0, 40), "train.parquet")
    for _, spec in every("yaml"):
        Path(spec.splitlines()[0].removeprefix("# ")).write_text(spec)
    Path("admissions.csv").write_text(blocks("csv", PAGES["derivability"])[0])
    stays = zip(zips, patients["diagnosis"], strict=True)
    counted = [demo.Patient("", "", 0, "", zip_code, None, what) for zip_code, what in stays]
    demo._write_csv(Path("published.csv"), demo.Cell, demo._cells(counted))
    lines = [f"{zip};24.12.{year};Grippe" for zip, year in zip(zips, years, strict=True)]
    stays = "\n".join(["Aufenthalte in Köln", "", "plz;geburtsdatum;diagnose", *lines, ""])
    Path("stays.csv").write_text(stays, encoding="cp1252")
    Path("zips.csv").write_text(blocks("csv", PAGES["hierarchies"])[0])
    assert Path("zips.csv").read_text().splitlines()[0].startswith(zips[0])
    for name, text in written.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(("name", "block"), every("python"))
def test_python(name, block):
    exec(compile(block, name, "exec"), {})


COMMANDS = [
    (name, line[2:])
    for name, block in every("console")
    for line in block.replace("\\\n", "").splitlines()
    if line[:2] == "$ "
]


def not_about_a_file(told: str) -> list[str]:
    """The lines of stderr that do not say which file was written."""
    return [line for line in told.splitlines() if " written" not in line]


def result_of(arguments: list[str]) -> list[str]:
    """The files that a command is asked to write."""
    return [value for flag, value in pairwise(arguments) if flag in ("--output", "--result")]


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_commands(name, command, clinic, capsys):
    program, *arguments = shlex.split(command.partition(" > ")[0])
    for file in result_of(arguments):
        Path(file).unlink(missing_ok=True)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    err = capsys.readouterr().err
    assert (program, ended.value.code in (FOUND, VIOLATED)) == ("kanon-sql", True), err
    assert not_about_a_file(err) == []


def test_the_readme_is_pasted_where_the_demo_left_its_reader(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        main(["demo", str(tmp_path / "demo")])
    monkeypatch.chdir(tmp_path / "demo")
    for _, command in (each for each in COMMANDS if each[0] == "README"):
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code in (FOUND, VIOLATED), (command, capsys.readouterr().err)


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


IN_A_WAREHOUSE = [
    line for _, block in every("bash") for line in block.splitlines() if "postgresql://" in line
]


@pytest.mark.parametrize("command", IN_A_WAREHOUSE)
def test_in_a_warehouse(command, clinic, warehouse, capsys):
    program, *arguments = shlex.split(command)
    with pytest.raises(SystemExit) as ended:
        main([warehouse if "://" in each else each for each in arguments])
    assert (program, ended.value.code, capsys.readouterr().err) == ("kanon-sql", FOUND, "")


def test_what_the_readme_promises_of_its_examples(clinic):
    """The spec of the README holds on data made for it, and its plain audit does too."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", "kanon.yml", "--output", "kept.json", "--format", "json"])
    assert ended.value.code == FOUND


def steps(block: object) -> Iterator[str]:
    """Every command of kanon-sql in a pipeline's definition."""
    if isinstance(block, str) and block.startswith("kanon-sql "):
        yield block
    elif isinstance(block, dict):
        yield from (step for part in block.values() for step in steps(part))
    elif isinstance(block, list):
        yield from (step for part in block for step in steps(part))


PIPELINES = [yaml.safe_load(block) for block in blocks("yml", PAGES["pipelines"])]


@pytest.mark.parametrize("command", [step for pipeline in PIPELINES for step in steps(pipeline)])
def test_pipelines(command, clinic, capsys):
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert (ended.value.code, not_about_a_file(capsys.readouterr().err)) == (FOUND, [])


def test_the_hooks_that_a_page_names_are_there():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    [named] = [each["repos"][0]["hooks"] for each in PIPELINES if "repos" in each]
    assert [hook["id"] for hook in named] == [hook["id"] for hook in hooks]


# --- the first screen -------------------------------------------------------------------------


def timeless(page: str) -> str:
    """A page without how long it took."""
    return re.sub(r"^[0-9.]+ s · duckdb", "… s · duckdb", page, flags=re.M)


def test_the_demo_prints_what_the_readme_shows(tmp_path, capsys):
    [shown] = blocks("text", README)
    with pytest.raises(SystemExit):
        main(["demo", str(tmp_path / "demo")])
    printed = capsys.readouterr().out.partition("\n\nThese people")[0]
    assert timeless(printed) == timeless(shown.rstrip("\n"))


def test_the_select_behind_the_demo_gives_its_figures(tmp_path, monkeypatch):
    [query] = blocks("sql", README)
    demo.write(tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    [(classes, records)] = duckdb.sql(query).fetchall()
    assert f"{records:,} records (82.1 %) in {classes:,} classes of fewer than 5" in README
    assert len(query.splitlines()) <= 10


def test_the_readme_is_short():
    lines = len(README.splitlines())
    assert lines <= 240, f"README.md has {lines} lines of 240: shorten it, or move some to a page"


# --- figures and links ------------------------------------------------------------------------

MEASURED = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("document", "figures"),
    [
        ("README", ["0.48 s", "720 s", "64.7 s", "0.89 GiB"]),
        ("coming-from-pycanon", ["56.90 s", "0.19 s", "0.48 s", "720 s"]),
    ],
)
def test_a_figure_is_one_that_was_measured(document, figures):
    text = " ".join(DOCUMENTS[document].split())
    assert [each for each in figures if each not in text or each not in MEASURED] == []


def test_the_classes_that_a_risk_demands_are_what_the_page_says():
    rows = re.findall(r"^\| (0\.\d+) \| (\d+) \|$", PAGES["thresholds"], re.MULTILINE)
    assert len(rows) == 5
    for risk, size in rows:
        allowed = kanon.ProsecutorRisk(max_highest=float(risk))
        data = {"zip": ["a"] * int(size)}
        fewer = {"zip": ["a"] * (int(size) - 1)}
        assert kanon.audit(pa.table(data), ["zip"], checks=allowed).holds, risk
        assert not kanon.audit(pa.table(fewer), ["zip"], checks=allowed).holds, risk


def test_the_numbers_for_cells_are_those_of_the_policies():
    """KANON_SQL_UPDATE_GOLDEN=1 writes the rows anew."""
    head = "| policy | whose | rules | kind of source | how it was read |\n|---|---|---|---|---|\n"
    above, _, below = PAGES["thresholds"].partition(head)
    rest = below.partition("\n\n")[2]
    expected = f"{above}{head}{policy_rows()}\n{rest}"
    assert kept(HOUSE / "report" / "pages" / "thresholds.md", expected) == expected


LINKED = {**DOCUMENTS, "templates/README": (ROOT / "templates" / "README.md").read_text("utf-8")}


@pytest.mark.parametrize("name", LINKED)
def test_a_link_leads_somewhere(name):
    folder = ROOT / "templates" if name == "templates/README" else ROOT
    links = [each for each in re.findall(r"\]\(([^)#]+)", LINKED[name]) if "://" not in each]
    assert [link for link in links if not (folder / link).exists()] == []
    pages = re.findall(r"kanon-sql explain ([a-zα-ω_-]+)", LINKED[name].replace("\n", " "))
    for page in pages:
        explained(page)


@pytest.mark.parametrize("name", [*PAGES, DBT])
def test_a_page_is_read_in_a_terminal(name):
    text = guide(name)
    prose = [line for line in text.splitlines() if len(line) > WIDTH]
    pasted = markdown_of(name)
    assert [line for line in prose if line[4:] not in pasted] == []
    assert (text.startswith("# "), re.findall(r"\*\*[a-z]", text)) == (False, [])


def test_the_readme_names_every_page():
    assert [name for name in PAGES if f"pages/{name}.md" not in README] == []


# --- what a code host shows ---------------------------------------------------------------------


@pytest.mark.parametrize("name", tracked(".md"))
def test_every_link_and_anchor_leads_somewhere(name):
    file = ROOT / name
    broken = broken_links(file, file.read_text(encoding="utf-8"))
    assert not broken, f"{name} links to what is not there: {', '.join(broken)}"


def test_a_broken_link_or_anchor_is_found():
    text = "[a](nowhere.md) [b](README.md#try-it) [c](README.md#no) ![d](x.png) `[e](y.md)` "
    text += f"[f](https://example.org) [g]({HERE}no.md) [h](#a-title)\n\n[i]: z.md 'Z'\n"
    text = f"[j](no.md 'J') [k][I] [l][m] [n][] `a[b][c]` {text}"
    broken = ["no.md", "nowhere.md", "README.md#no", "x.png", f"{HERE}no.md", "#a-title", "z.md"]
    broken += ["m", "n"]
    assert broken_links(ROOT / "unwritten.md", text) == broken


INDEX = HOUSE / "report" / "pages" / "README.md"


def test_the_index_of_the_pages_is_the_one_that_is_generated():
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    assert kept(INDEX, page_index()) == page_index()


def test_the_index_names_every_page_and_every_model_and_is_no_page():
    index = INDEX.read_text(encoding="utf-8")
    assert [name for name in PAGES if f"]({name}.md)" not in index] == []
    assert [name for name in MODELS if f"| `{name}` |" not in index] == []
    assert "README" not in PAGES
    with pytest.raises(kanon.SpecError):
        explained("README")


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        ("k_anonymity", "class"), ("homogeneity", "class"), ("prosecutor_risk", "record"),
        ("journalist_risk", "record"), ("marketer_risk", "table"), ("sample_uniqueness", "table"),
        ("population_uniqueness", "table"), ("k_map_estimate", "class"),
        ("delta_presence", "person"), ("composed_k_anonymity", "person"),
    ],
)  # fmt: skip
def test_the_index_says_what_is_judged(model, unit):
    assert judged(MODELS[model]) == unit


SAMPLES = {
    "result.json": ["audit", "kanon.yml", "--threads", "1", "--output", "result.json"],
    "report.html": ["report", "result.json", "--output", "report.html"],
    "result.sarif": ["audit", "kanon.yml", "--output", "result.sarif"],
    "events.jsonl": ["audit", "kanon.yml", "--threads", "1", "--output", "events.jsonl"],
    "contract.odcs.yaml": [
        *("compile", "kanon.yml", "--format", "odcs", "--output", "contract.odcs.yaml"),
    ],
}
"""What each sample is written by, in the folder of the demo. On one thread, sums of floating-point
numbers have one order."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """The samples as they are written now, on a fixed day; curves are left to other tests, as they
    depend on the version of the library that draws them."""
    folder = tmp_path_factory.mktemp("samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SOURCE_DATE_EPOCH", "1795478400")
        patch.setattr("kanon_sql.auditing.subjects.today", lambda: "2026-11-24")
        patch.setitem(sys.modules, "vl_convert", None)
        demo.write(folder / "demo")
        patch.chdir(folder / "demo")
        for arguments in SAMPLES.values():
            assert run(*arguments).exit_code in (FOUND, VIOLATED)
    return folder / "demo"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_what_the_demo_gives(name, samples):
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    text = (samples / name).read_text(encoding="utf-8").replace(str(samples), "/demo")
    stored = kept(ROOT / ".github" / "samples" / name, text)
    assert _without_versions(stored) == _without_versions(text)
    assert re.findall(r"/(?:tmp|home|root|work|Users|var)/", text) == []


def _without_versions(text):
    """The bytes of a Parquet file, and so its SHA-256 and the id of a run, depend on the version of
    DuckDB, which is named in events too."""
    text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "…", text)
    return re.sub(r'("name": "duckdb", "version": ")[^"]+', r"\1…", text)


def test_there_are_no_other_samples():
    folder = ROOT / ".github" / "samples"
    assert {each.name for each in folder.iterdir()} == set(SAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_gallery_prints_what_it_shows(name, tmp_path):
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    text = as_printed(name, tmp_path / name)
    assert kept(GALLERY / name / "README.md", text) == text


def test_the_gallery_lists_its_examples_and_the_readme_links_what_a_code_host_shows():
    listed = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert [name for name in EXAMPLES if f"]({name}/README.md)" not in listed] == []
    linked = ("kanon_sql/report/pages/README.md", "tests/gallery/README.md",
              ".github/CONTRIBUTING.md")  # fmt: skip
    assert [each for each in linked if f"]({each})" not in README] == []
