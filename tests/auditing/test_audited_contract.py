"""Contracts that an audit is compiled to: read again, and run by somebody else's tool."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from places import TESTS
from planted import traces

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit
from kanon_sql.auditing.contract import compile_contract, of_database
from kanon_sql.cli.main import main
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import SpecError
from kanon_sql.question.contract import read_spec
from kanon_sql.question.spec import AuditSpec
from kanon_sql.results.table import AuditFindings
from kanon_sql.sql.tables import Table

PATIENTS = """
select
    lpad(cast(n * n % 7 as varchar), 5, '0') as zip,
    date '2001-01-31' + cast(n % 3 as integer) as born,
    case when n % 11 > 0 then n % 4 end as visits,
    cast(n % 5 as double) / 2 as score,
    n % 2 = 0 as smoker,
    case n % 3 when 0 then 'flu' when 1 then 'cold' else 'Zeppelin' end as dx,
    'p' || n // 2 as person
from range(60) as numbers (n)
"""
VOTERS = """
select
    lpad(cast(n % 6 as varchar), 5, '0') as zip_code,
    date '2001-01-31' + cast(n % 3 as integer) as born,
    'v' || n as voter
from range(90) as numbers (n)
"""
SPEC = """\
version: 1
tables:
  - name: patients
    source: patients.parquet
    quasi_identifiers: {zip: {levels: [{mask: right}]}, born: {}}
    sensitive: [dx, visits]
    insensitive: [smoker]
    identifiers: [person]
    where: "zip <> '00009'"
    references: {voters: {source: voters.parquet, columns: {zip: zip_code}, entity: voter}}
    checks:
      - k_anonymity: {k: 3}
      - k_anonymity: {k: 4}
      - l_diversity: {l: 2, sensitive: dx}
      - alpha_k_anonymity: {alpha: 0.5, sensitive: dx, values: [flu]}
      - t_closeness: {t: 0.4, sensitive: visits, distance: ordered}
      - k_map: {k: 3, reference: voters}
      - delta_presence: {min: 0.1, max: 5, reference: voters}
      - prosecutor_risk: {max_highest: 0.2, max_at_risk: 0.5}
      - k_map_estimate: {k: 2, population: 900}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, query in (("patients", PATIENTS), ("voters", VOTERS)):
        for form in ("parquet", "csv"):
            duckdb.sql(f"copy ({query}) to '{name}.{form}'")
    (tmp_path / "kanon.yml").write_text(SPEC)
    (tmp_path / "csv.yml").write_text(SPEC.replace(".parquet", ".csv"))
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments), prog_name="kanon-sql")
        return (int(end.value.code or 0), *capsys.readouterr())

    return typed


def audited(file: str) -> AuditFindings:
    return audit(read_spec(file), RunOptions())


def asked(result: AuditFindings) -> list[tuple[Any, ...]]:
    return [
        (each.model, each.parameters, each.holds, each.achieved, each.violating_records)
        for each in result.checks
    ]


def rules(text: str, kind: str = "sql") -> list[dict[str, Any]]:
    document = yaml.safe_load(text)
    return [each for each in document["schema"][0]["quality"] if each["type"] == kind]


@pytest.mark.parametrize("spec", ["kanon.yml", "csv.yml"])
def test_a_contract_is_read_again_as_the_question_it_was_made_of(run: Run, spec: str) -> None:
    code, _, err = run("compile", spec, "--format", "odcs", "--output", "p.odcs.yaml")

    assert (code, err.count("written")) == (0, 1)
    before, after = audited(spec), audited("p.odcs.yaml")
    assert sorted(asked(before), key=str) == sorted(asked(after), key=str)
    assert before.tables[0].where == after.tables[0].where
    assert before.tables[0].insensitive == after.tables[0].insensitive


def test_every_column_is_declared_by_its_type_and_text_files_have_text(run: Run) -> None:
    types = {
        "zip": "string", "born": "date", "visits": "integer", "score": "number",
        "smoker": "boolean", "dx": "string", "person": "string",
    }  # fmt: skip
    for spec, expected in (("kanon.yml", types), ("csv.yml", dict.fromkeys(types, "string"))):
        document = yaml.safe_load(run("compile", spec, "--format", "odcs")[1])
        [patients, voters] = document["schema"]

        assert {e["name"]: e["logicalType"] for e in patients["properties"]} == expected
        assert [each["name"] for each in voters["properties"]] == ["zip_code", "born", "voter"]
        assert voters["name"] == "voters"


def test_the_rules_of_a_contract(run: Run) -> None:
    out = run("compile", "kanon.yml", "--format", "odcs")[1]
    first, *_ = rules(out)
    demand, *_ = rules(out, "custom")

    query = first.pop("query")
    assert first == {
        "id": "kanon_sql_k_anonymity_k_3",
        "name": "k_anonymity(k=3)",
        "description": f"k-anonymity: {kanon.KAnonymity.promise}",
        "type": "sql",
        "mustBe": 0,
        "unit": "rows",
        "severity": "error",
        "dimension": "conformity",
    }
    assert query.startswith("select coalesce(sum(failures), 0) as failures\nfrom (\n")
    assert "from ${table}" in query
    assert demand == {
        "id": "kanon_sql_k_anonymity_k_3_asked",
        "type": "custom",
        "engine": "kanon-sql",
        "implementation": {"model": "k_anonymity", "k": 3},
    }
    ids = [each["id"] for each in yaml.safe_load(out)["schema"][0]["quality"]]
    assert len(ids) == len(set(ids))


def test_the_statements_give_the_figures_of_the_audit(run: Run) -> None:
    """Run by DuckDB on tables of these names."""
    found = rules(run("compile", "kanon.yml", "--format", "odcs")[1])
    with duckdb.connect() as connection:
        for name in ("patients", "voters"):
            connection.execute(f"create view {name} as from '{name}.parquet'")
        figures = {
            each["name"]: connection.execute(each["query"].replace("${table}", "patients"))
            .fetchall()[0][0]
            for each in found
        }  # fmt: skip

    checks = [each for each in audited("kanon.yml").checks if each.model != "k_map_estimate"]
    assert len(figures) == len([each for each in checks if each.holds is not None])
    for figure, check in zip(figures.values(), checks, strict=False):
        assert (figure == 0) is check.holds
        assert check.holds or not check.violating_records or figure == check.violating_records


def test_what_others_can_not_judge_has_a_demand_alone_and_a_warning(run: Run) -> None:
    code, out, err = run("compile", "kanon.yml", "--format", "odcs")

    named = [each["implementation"]["model"] for each in rules(out, "custom")]
    assert code == 0
    assert "k_map_estimate" in named
    assert "k_map_estimate" not in [each["name"].partition("(")[0] for each in rules(out)]
    assert err == (
        "warning: patients: k_map_estimate(k=2, population=900) has no sql rule, so that only "
        "kanon-sql judges it.\n"
    )


@pytest.mark.parametrize(
    "more", ["    levels: {zip: 1}\n", "    weight: score\n", "    first: 9\n"]
)
def test_levels_weights_and_parts_have_demands_alone(run: Run, folder: Path, more: str) -> None:
    (folder / "kanon.yml").write_text(SPEC.replace("    checks:\n", f"{more}    checks:\n"))

    code, out, err = run("compile", "kanon.yml", "--format", "odcs")

    assert (code, rules(out)) == (0, [])
    assert "k_anonymity(k=3)" in err


def test_into_a_contract_only_own_rules_change(run: Run, folder: Path) -> None:
    text = (
        "# ours\napiVersion: v3.1.0\nkind: DataContract\nschema:\n  - name: voters\n"
        "  - name: patients # it\n"
    )
    (folder / "c.yaml").write_text(text)

    code, out, _ = run("compile", "kanon.yml", "--format", "odcs", "--into", "c.yaml")
    run("compile", "kanon.yml", "--format", "odcs", "--into", "c.yaml", "--output", "n.yaml")
    again = run("compile", "kanon.yml", "--format", "odcs", "--into", "n.yaml")[1]

    assert code == 0
    assert out.startswith(f"{text}    quality:\n      - id: kanon_sql_k_anonymity_k_3\n")
    assert (folder / "n.yaml").read_text() == out == again
    assert (folder / "c.yaml").read_text() == text


def test_a_contract_is_replaced_only_by_force(run: Run, folder: Path) -> None:
    text = "apiVersion: v3.1.0\nkind: DataContract\nschema:\n  - name: patients\n  - name: voters\n"
    (folder / "c.yaml").write_text(text)
    into = ("compile", "kanon.yml", "--format", "odcs", "--into", "c.yaml", "--output", "c.yaml")

    for more in ((), ("--overwrite",)):
        code, out, err = run(*into, *more)
        assert (code, out, "add --force" in err) == (2, "", True)
    assert (folder / "c.yaml").read_text() == text
    assert run(*into, "--force")[0] == 0
    assert "kanon_sql_k_anonymity_k_3" in (folder / "c.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "odcs", "--step", "classes"), "--step is for --format sql"),
        (("--format", "odcs", "--dialect", "spark"), "--dialect is for --format sql"),
        (("--into", "c.yaml"), "--into is for --format odcs"),
        (("--force",), "--force is for --format odcs"),
        (("--format", "odcs", "--force"), "--into FILE --output FILE"),
        (("--format", "odcs", "--into", "none.yaml"), "there is no file none.yaml"),
        (("--format", "odcs", "--select", "patient"), 'Did you mean "patients"?'),
        (("--select", "patients"), "is for a dbt project"),
    ],
)
def test_options_that_do_not_go_together(run: Run, options: tuple[str, ...], message: str) -> None:
    code, out, err = run("compile", "kanon.yml", *options)

    assert (code, out) == (2, "")
    assert message in err


def table(**more: Any) -> AuditSpec:
    asked = {
        "source": "patients.parquet",
        "quasi_identifiers": ["zip"],
        "checks": [kanon.KAnonymity(k=2)],
    }
    return AuditSpec(tables=[asked | more])


def test_all_tables_lie_at_one_server(folder: Path, run: Run) -> None:
    apart = {"voters": kanon.ReferenceSpec(source="voters.csv", columns={"zip": "zip_code"})}

    with pytest.raises(SpecError, match=r"\{model\}.parquet and \{model\}.csv") as refused:
        compile_contract(table(references=apart))
    assert "--select NAME" in str(refused.value) or "select" in str(refused.value)

    (folder / "two.yml").write_text(
        SPEC.replace("version: 1\n", "version: 1\n")
        + "  - {name: other, source: voters.csv, quasi_identifiers: [zip_code]}\n"
    )
    assert run("compile", "two.yml", "--format", "odcs")[0] == 2
    assert run("compile", "two.yml", "--format", "odcs", "--select", "patients")[0] == 0
    assert run("compile", "two.yml", "--format", "odcs", "--select", "other")[0] == 0


def test_published_tables_have_no_rules_and_are_named(folder: Path, run: Run) -> None:
    published = (
        "published:\n  - {name: monthly, source: voters.csv, by: [zip_code], "
        "checks: [{min_contributors: {n: 3}}]}\n"
    )
    (folder / "both.yml").write_text(SPEC + published)
    (folder / "published.yml").write_text("version: 1\n" + published)

    code, out, err = run("compile", "both.yml", "--format", "odcs")
    assert code == 0
    assert "warning: monthly: left out, as a contract has no rules for published tables." in err
    assert "monthly" not in out

    code, out, err = run("compile", "published.yml", "--format", "odcs")
    assert (code, out) == (2, "")
    assert "every table of the spec is published" in err


@pytest.mark.parametrize("said", ["${HOME}", "{table}", "{model}", "{column}", "a{schema}b"])
def test_what_readers_would_replace_is_refused(said: str, folder: Path) -> None:
    duckdb.sql(f"copy (select 'x' as \"{said}\", 'flu' as dx) to 'odd.parquet'")
    checks = [kanon.AlphaKAnonymity(alpha=0.5, values=[said], sensitive="dx")]

    for more in (
        {"source": "odd.parquet", "quasi_identifiers": ["dx"]},
        {"where": f"zip <> '{said}'"},
        {"sensitive": ["dx"], "checks": checks},
    ):
        with pytest.raises(SpecError) as refused:
            compile_contract(table(**more))
        assert "which readers of contracts replace" in str(refused.value)


def test_data_in_memory_lie_nowhere() -> None:
    source = duckdb.sql("select 'x' as zip").to_arrow_table()

    with pytest.raises(SpecError, match="data in memory lie nowhere"):
        compile_contract(table(source=source))


def test_a_database_of_duckdb(folder: Path, run: Run) -> None:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute("create table patients as from 'patients.parquet'")
    spec = table(source="patients", connect="duckdb:clinic.duckdb")

    compiled = compile_contract(spec)
    (folder / "d.yaml").write_text(compiled.text)

    [server] = yaml.safe_load(compiled.text)["servers"]
    assert server == {
        "server": "database", "type": "duckdb", "database": "clinic.duckdb", "schema": "main",
    }  # fmt: skip
    assert run("audit", "d.yaml")[0] == 0


def test_events_are_read_again(folder: Path, run: Run) -> None:
    (folder / "events.yml").write_text(
        "version: 1\ntables:\n  - source: patients.parquet\n    entity: person\n"
        "    events: {zip: {levels: [{mask: right}]}, born: {}}\n"
        "    checks: [{km_anonymity: {k: 2}}, {known_events: {m: 2, max_share: 0.1}},\n"
        "      {known_events: {m: 4, max_share: 0.1}}]\n"
    )
    code, out, err = run("compile", "events.yml", "--format", "odcs")
    (folder / "e.yaml").write_text(out)

    assert (code, "known_events(m=4, max_share=0.1) has no sql rule" in err) == (0, True)
    assert sorted(asked(audited("e.yaml")), key=str) == sorted(
        asked(audited("events.yml")), key=str
    )
    with duckdb.connect() as connection:
        found = [
            connection.execute(each["query"].replace("${table}", "'patients.parquet'")).fetchall()
            for each in rules(out)
        ]
    km, known, _ = audited("events.yml").checks
    assert found == [[(each.violating_people,)] for each in (km, known)]


def test_a_server_has_no_user_in_a_contract() -> None:
    visits = Table("visits", '"health"."visits"', ())
    url = "postgresql://ann:secret@h/clinic"

    assert of_database(url, visits) == (
        {"server": "database", "type": "postgres", "host": "h", "port": 5432,
         "database": "clinic", "schema": "health"},
        "visits",
    )  # fmt: skip
    assert of_database("mysql://ann@h:3307/clinic", visits)[0] == {
        "server": "database", "type": "mysql", "host": "h", "port": 3307, "database": "clinic",
    }  # fmt: skip
    for other in ("postgresql:///clinic?host=/run", "snowflake://ann@account/db"):
        with pytest.raises(SpecError, match="into the contract that there is"):
            of_database(other, visits)


def test_a_contract_that_lacks_the_reference_is_refused(run: Run, folder: Path) -> None:
    (folder / "c.yaml").write_text(
        "apiVersion: v3.1.0\nkind: DataContract\nschema:\n  - name: patients\n"
    )

    code, out, err = run("compile", "kanon.yml", "--format", "odcs", "--into", "c.yaml")

    assert (code, out) == (2, "")
    assert "c.yaml has no schema object voters" in err


def test_a_server_s_rules_go_into_a_contract_in_its_dialect(folder: Path) -> None:
    with sqlite3.connect(folder / "clinic.db") as connection:
        connection.execute("create table patients (zip text)")
        connection.executemany("insert into patients values (?)", [("1",), ("1",), ("2",)])
    connection.close()
    (folder / "c.yaml").write_text(
        "apiVersion: v3.1.0\nkind: DataContract\nschema:\n  - name: patients\n"
    )
    spec = table(source="patients", connect="sqlite:clinic.db")

    with pytest.raises(SpecError, match="into the contract that there is"):
        compile_contract(spec)
    compiled = compile_contract(spec, into=folder / "c.yaml")

    [found] = rules(compiled.text)
    query = found["query"].replace("${table}", "patients")
    assert sqlite3.connect(folder / "clinic.db").execute(query).fetchall() == [(1,)]


def test_a_hierarchy_file_s_values_are_in_no_rule(folder: Path, run: Run) -> None:
    (folder / "tree.csv").write_text(
        "flu,Zeppelinitis,any\ncold,Zeppelinitis,any\nZeppelin,other,any\n"
    )
    tree = {"t_closeness": {"t": 0.1, "sensitive": "dx", "distance": "hierarchical",
                            "hierarchy": "tree.csv"}}  # fmt: skip
    (folder / "sub").mkdir()
    for name, above in (("kanon.yml", ""), ("sub/kanon.yml", "../")):
        source, file = f"{above}patients.parquet", f"{above}tree.csv"
        tree["t_closeness"]["hierarchy"] = file
        asked = {"source": source, "quasi_identifiers": ["zip"], "sensitive": ["dx"],
                 "checks": [tree]}  # fmt: skip
        (folder / name).write_text(yaml.safe_dump({"version": 1, "tables": [asked]}))
        out = run("compile", name, "--format", "odcs", "--output", "t.yaml", "--overwrite")
        text = (folder / "t.yaml").read_text()

        assert (out[0], rules(text), traces(text)) == (0, [], [])
        [demand] = rules(text, "custom")
        assert demand["implementation"]["hierarchy"] == "tree.csv"
        assert run("audit", "t.yaml")[0] == run("audit", name)[0] == 0


def test_the_whole_text_of_a_contract(run: Run, folder: Path) -> None:
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    (folder / "kanon.yml").write_text(SPEC.partition("      - k_anonymity: {k: 4}")[0])
    out = run("compile", "kanon.yml", "--format", "odcs")[1]
    file = TESTS / "reports" / "contract.odcs.yaml"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.write_text(out, encoding="utf-8")

    assert out == file.read_text(encoding="utf-8")


def test_no_value_of_the_data_is_in_a_contract(run: Run) -> None:
    for form in ("kanon.yml", "csv.yml"):
        assert traces(run("compile", form, "--format", "odcs")[1]) == []


# --- somebody else's tool -------------------------------------------------------------------

CLI = "datacontract-cli[duckdb]==1.2.8"


@pytest.fixture(scope="module")
def datacontract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """datacontract-cli in an environment of its own, as it needs another DuckDB."""
    given = os.environ.get("KANON_SQL_DATACONTRACT")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("datacontract")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    installed = subprocess.run(
        [folder / "bin" / "pip", "install", "--quiet", CLI], capture_output=True, text=True
    )
    if installed.returncode:
        pytest.skip(f"{CLI} can't be installed here")
    return folder / "bin" / "datacontract"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("spec", ["kanon.yml", "csv.yml"])
def test_datacontract_has_the_verdicts_and_figures_of_the_audit(
    run: Run, folder: Path, datacontract: Path, spec: str
) -> None:
    run("compile", spec, "--format", "odcs", "--output", "p.odcs.yaml")

    tested = subprocess.run(
        [datacontract, "test", "p.odcs.yaml", "--output", "found.json", "--output-format", "json"],
        capture_output=True,
        text=True,
        cwd=folder,
    )

    found = json.loads((folder / "found.json").read_text())["checks"]
    figures = [
        int(match[1])
        if (match := re.search(r"was ([0-9]+), expected", each["reason"] or ""))
        else 0
        for each in found
        if each["type"] == "model_quality_sql"
    ]
    checks = [each for each in audited(spec).checks if each.model != "k_map_estimate"]
    gated = [each for each in checks if each.holds is not None]
    assert len(figures) == len(gated), tested.stdout
    for figure, check in zip(figures, gated, strict=True):
        assert (figure == 0) is check.holds, check
        assert check.holds or not check.violating_records or figure == check.violating_records
    assert {each.holds for each in gated} == {True, False}
    assert not [each for each in found if each["result"] == "error"]


def test_the_traps_are_told_on_the_page() -> None:
    page = (TESTS.parent / "kanon_sql" / "report" / "pages" / "pipelines.md").read_text("utf-8")

    for told in ("OpenLineage", "Marquez", "DataHub", "OpenMetadata", "datacontract"):
        assert told in page
