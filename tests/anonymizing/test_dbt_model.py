"""A release as a dbt model: what its two files say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import kanon_sql as kanon
from kanon_sql.anonymizing.recoding import recoded_views
from kanon_sql.sql import macros

PEOPLE = pa.table(
    {
        "zip": [f"0213{n % 4}" for n in range(40)],
        "age": [20 + n for n in range(40)],
        "sex": ["F", "M"] * 20,
        "name": [f"n{n}" for n in range(40)],
        "diagnosis": ["flu", "asthma", "flu", "cold"] * 10,
    }
)
QUASI_IDENTIFIERS = {
    "zip": {"levels": [{"mask": "right"}]},
    "age": {"clip": [25, None], "levels": [{"width": 10}, {"width": 20}, "suppress"]},
    "sex": {"hierarchy": {"F": ["person"], "M": ["person"]}},
}


def emitted(folder: Path, **parts: Any) -> tuple[str, Any]:
    """The model, and what its YAML says."""
    path = folder / "released.sql"
    anonymized(path, **parts)
    return path.read_text(), yaml.safe_load(path.with_suffix(".yml").read_text())


def anonymized(path: Path, **parts: Any) -> kanon.AnonymizationResult:
    asked = {
        "name": "people",
        "quasi_identifiers": QUASI_IDENTIFIERS,
        "k": 5,
        "identifiers": "name",
        **parts,
    }
    return kanon.anonymize(PEOPLE, **asked, output=path, emit="dbt-model")


def test_the_model_is_the_single_view_with_a_ref(tmp_path: Path) -> None:
    sql, _ = emitted(tmp_path, max_suppressed=0)
    view = kanon.anonymize(
        PEOPLE, QUASI_IDENTIFIERS, name="people", k=5, identifiers="name", max_suppressed=0,
        single_view=True,
    ).anonymization.views[0]  # fmt: skip

    select = re.sub(r"^--.*\n", "", sql, flags=re.MULTILINE).strip()
    assert select.replace('{{ ref("people") }}', '"people"') == view.partition(" as\n")[2].replace(
        "from people\n", 'from "people"\n'
    )
    assert '"name"' not in sql
    assert "kanon_size < 5" in sql


def test_the_properties_have_roles_and_tests(tmp_path: Path) -> None:
    checks = [kanon.LDiversity(l=2, sensitive="diagnosis")]
    _, properties = emitted(tmp_path, checks=checks, sensitive="diagnosis")

    [model] = properties["models"]
    roles = {
        column["name"]: column["config"]["meta"]["kanon_sql"]["role"] for column in model["columns"]
    }
    assert roles == {
        "zip": "quasi_identifier", "age": "quasi_identifier", "sex": "quasi_identifier",
        "diagnosis": "sensitive",
    }  # fmt: skip
    names = ["zip", "age", "sex"]
    assert model["data_tests"] == [
        {"kanon_sql.k_anonymity": {
            "name": "kanon_sql_k_anonymity_released",
            "arguments": {"quasi_identifiers": names, "k": 5, "quote_columns": True}}},
        {"kanon_sql.l_diversity": {
            "name": "kanon_sql_l_diversity_released_diagnosis",
            "arguments": {"quasi_identifiers": names, "l": 2, "sensitive": "diagnosis",
                          "quote_columns": True}}},
        {"kanon_sql.share_left_out": {
            "name": "kanon_sql_share_left_out_released",
            "arguments": {"made_of": "ref('people')", "max_share": 0.125}}},
    ]  # fmt: skip
    demanded = model["config"]["meta"]["kanon_sql"]["checks"]
    assert demanded == [
        {"k_anonymity": {"k": 5}},
        {"l_diversity": {"l": 2, "sensitive": "diagnosis"}},
    ]


def test_what_a_model_can_not_ask(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match="whole table"):
        emitted(tmp_path, where="age > 30")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(kanon.SpecError, match=r"a \.sql file"):
        kanon.anonymize(
            PEOPLE, quasi_identifiers="zip", k=2, output=tmp_path / "r.csv", emit="dbt-model"
        )


UNASKABLE: dict[str, tuple[dict[str, Any], str]] = {
    "a reference": (
        {"references": {"voters": PEOPLE}, "checks": [kanon.KMap(k=1, reference="voters")]},
        "k_map compares with a table that the dbt project has under a name of its own",
    ),
    "its own name": ({"name": "released"}, "would be called released, as what it is made of"),
    "several files": ({"name": "data/*.parquet"}, "is no name of one. Give the table its name"),
    "Jinja": (
        {
            "sensitive": "diagnosis",
            "checks": [
                kanon.AlphaKAnonymity(alpha=1, sensitive="diagnosis", values=["flu", "{{ 1 / 0 }}"])
            ],
        },
        "has {{ in it, which dbt would render in the .yml of the model",
    ),
}


def test_a_name_that_dbt_refuses(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match="dbt takes no model called 'my model'"):
        kanon.anonymize(
            PEOPLE,
            name="people",
            quasi_identifiers="zip",
            k=2,
            output=tmp_path / "my model.sql",
            emit="dbt-model",
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", UNASKABLE)
def test_what_its_tests_can_not_ask(name: str, tmp_path: Path) -> None:
    parts, words = UNASKABLE[name]

    with pytest.raises(kanon.SpecError) as refused:
        emitted(tmp_path, **parts)
    assert words in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_tree_is_no_test(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("flu,lung,any\nasthma,lung,any\ncold,nose,any\n")
    check = kanon.TCloseness(
        t=1, sensitive="diagnosis", distance="hierarchical", hierarchy=str(tree)
    )

    with pytest.raises(kanon.SpecError, match="with a hierarchical distance is no dbt test"):
        emitted(tmp_path, sensitive="diagnosis", checks=[check])
    assert list(tmp_path.iterdir()) == [tree]


def test_neither_file_is_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "released.yml").write_text("mine")

    with pytest.raises(kanon.SpecError, match=r"released\.yml exists; add overwrite=True"):
        emitted(tmp_path)
    assert not (tmp_path / "released.sql").exists()


def test_the_refusal_names_both_files(tmp_path: Path) -> None:
    emitted(tmp_path)

    with pytest.raises(
        kanon.SpecError, match=r"released\.sql and \S+released\.yml exist; add overwrite=True"
    ):
        emitted(tmp_path)


@pytest.mark.parametrize("change", ["", "# mine\n", "      - not_null\n"])
def test_force_never_replaces_what_a_person_wrote(tmp_path: Path, change: str) -> None:
    emitted(tmp_path)
    description = tmp_path / "released.yml"
    written = description.read_text()
    description.write_text(written + change if change else "models: [{name: released}]\n")
    before = description.read_text()

    with pytest.raises(kanon.SpecError, match=r"what a person wrote in \S+released\.yml stays"):
        emitted(tmp_path)
    result = anonymized(tmp_path / "released.sql", overwrite=True)

    assert description.read_text() == before
    assert (tmp_path / "released.yml.new").read_text() == written
    assert "released.yml was edited by hand and left" in result.tables[0].warnings[-1]


def test_force_replaces_what_was_written_here(tmp_path: Path) -> None:
    emitted(tmp_path)
    written = (tmp_path / "released.yml").read_text()

    result = anonymized(tmp_path / "released.sql", overwrite=True)

    assert {file.name for file in tmp_path.iterdir()} == {"released.sql", "released.yml"}
    assert (tmp_path / "released.yml").read_text() == written
    assert not any("by hand" in warning for warning in result.tables[0].warnings)


# --- in a project -----------------------------------------------------------------------------

ODD = "{{ 1 / 0 }} {% raw %} {# none #}"
PATIENTS = pa.table(
    {
        ODD: [f"{ODD} {n % 2}" for n in range(40)],
        **{name: PEOPLE[name] for name in ("zip", "sex", "name")},
        "order": PEOPLE["age"],
        "diagnosis": ["flu", "asthma", "flu", None] * 10,
        "user": ["nurse", "cook", "nurse", "smith", "cook"] * 8,
    }
)
OF_PATIENTS = {"zip": QUASI_IDENTIFIERS["zip"], "order": QUASI_IDENTIFIERS["age"], "sex": {}}
DIVERSE = [kanon.LDiversity(l=2, sensitive="diagnosis")]
EMITTED: dict[str, dict[str, Any]] = {
    "plain": {},
    "starred": {"suppressed": "star", "max_suppressed": 10},
    "diverse": {"sensitive": "diagnosis", "checks": DIVERSE},
    "unknown": {"sensitive": "diagnosis", "checks": DIVERSE, "sensitive_nulls": "unknown"},
    "by_class": {"algorithm": "local"},
    "by_many_classes": {"algorithm": "local", "suppressed": "star"},
    "odd": {
        "quasi_identifiers": {
            "sex": {"hierarchy": {"F": [f"{ODD} it's"], "M": ["{{{ -}}"]}},
            "zip": {},
        },
        "algorithm": "optimal",
    },
    "about_people": {"entity": "name", "identifiers": ()},
    "all_known": {
        "sensitive": ["diagnosis", "user"],
        "with_other_sensitive": True,
        "checks": [kanon.LDiversity(l=1, sensitive=name) for name in ("diagnosis", "user")],
    },
}


VISITS = "zip,age,born,sex\n" + "".join(
    f"{10_000 + n % 7},{20 + n % 30},19{50 + n % 40}-01-01,{'FM'[n % 2]}\n" for n in range(90)
)
"""A seed, whose columns dbt gives types to."""


def _anonymized_seed(project: Path, output: Path) -> None:
    kanon.anonymize(
        project / "seeds" / "visits.csv",
        {
            "zip": {"levels": [{"mask": "right"}]},
            "age": {"levels": [{"width": 10}, {"width": 50}]},
            "born": {"levels": ["year", {"years": 20}]},
        },
        k=5,
        algorithm="optimal",
        max_suppressed="5%",
        output=output,
        **({"emit": "dbt-model"} if output.suffix == ".sql" else {}),
    )


THINNED = """
models:
  - name: thinned
    data_tests:
      - kanon_sql.share_left_out:
          name: too_few
          arguments: {made_of: ref('patients'), max_share: 0.1}
          config: {severity: warn, store_failures: true}
      - kanon_sql.share_left_out: {arguments: {made_of: ref('patients'), max_share: 0.99}}
"""


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dbt project with a model for each way to release the patients, built."""
    pytest.importorskip("dbt.cli.main", reason="dbt-core is not installed")
    folder = tmp_path_factory.mktemp("emitted")
    (folder / "dbt_project.yml").write_text(
        "{name: clinic, profile: clinic, models: {+materialized: table}}"
    )
    (folder / "profiles.yml").write_text(
        "clinic: {target: dev, outputs: {dev: {type: duckdb, path: clinic.duckdb}}}"
    )
    (folder / "packages.yml").write_text(f"packages: [{{local: '{macros.folder()}'}}]")
    (folder / "models").mkdir()
    for name, parts in EMITTED.items():
        with pytest.MonkeyPatch.context() as few:
            if name == "by_many_classes":
                few.setattr(recoded_views, "MOST_CASES", 0)
            _anonymized(folder / "models" / f"{name}.sql", emit="dbt-model", **parts)
        _anonymized(folder / f"{name}.parquet", **parts)
    pq.write_table(PATIENTS, folder / "raw.parquet")
    (folder / "seeds").mkdir(exist_ok=True)
    (folder / "seeds" / "visits.csv").write_text(VISITS)
    for output in ("models/of_seed.sql", "of_seed.parquet"):
        _anonymized_seed(folder, folder / output)
    (folder / "models" / "patients.sql").write_text("select * from read_parquet('raw.parquet')")
    (folder / "models" / "thinned.sql").write_text('select * from {{ ref("patients") }} limit 10')
    (folder / "models" / "thinned.yml").write_text(THINNED)
    assert _run(folder, "dbt", "deps").returncode == 0
    run = _run(folder, "dbt", "build")
    assert run.returncode == 0, run.stdout
    return folder


def _anonymized(output: Path, **parts: Any) -> None:
    asked = {"quasi_identifiers": OF_PATIENTS, "k": 5, "identifiers": "name", **parts}
    kanon.anonymize(PATIENTS, name="patients", output=output, **asked)


def _run(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / command[0]), *command[1:]],
        cwd=project,
        env=os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": "."},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [*EMITTED, "of_seed"])
def test_dbt_makes_the_release_that_was_audited(name: str, project: Path) -> None:
    columns = ", ".join(f'"{each}"' for each in pq.read_schema(project / f"{name}.parquet").names)
    with duckdb.connect(str(project / "clinic.duckdb"), read_only=True) as connection:
        in_dbt, released = (
            connection.sql(f"select {columns} from {source} order by all").fetchall()
            for source in (f"main.{name}", f"read_parquet('{project / name}.parquet')")
        )

    assert in_dbt == released
    assert len(released) > 0


@pytest.mark.slow
def test_the_seed_lies_with_those_of_the_project(project: Path) -> None:
    assert sorted(file.name for file in (project / "seeds").iterdir()) == [
        "by_many_classes_cuts.csv",
        "visits.csv",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", EMITTED)
def test_its_tests_ran_and_hold(name: str, project: Path) -> None:
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    ended = [
        each["status"] for each in results
        if each["unique_id"].startswith("test.") and re.search(rf"_{name}[._]", each["unique_id"])
    ]  # fmt: skip

    properties = yaml.safe_load((project / "models" / f"{name}.yml").read_text())
    assert not any("True" in each["unique_id"] for each in results)
    assert ended == ["pass"] * len(properties["models"][0]["data_tests"])


@pytest.mark.slow
def test_a_model_that_leaves_out_too_many_fails(project: Path) -> None:
    with duckdb.connect(str(project / "clinic.duckdb"), read_only=True) as connection:
        [row] = connection.execute("select * from main_dbt_test__audit.too_few").fetchall()
    left_out = PATIENTS.num_rows - 10
    assert row == (
        "violated", left_out, PATIENTS.num_rows, 10,
        "thinned", "share_left_out", "", "max_share = 0.1",
    )  # fmt: skip


@pytest.mark.slow
def test_what_was_unknown_is_unknown_to_the_tests(project: Path) -> None:
    """A class of flu and NULL has one value where NULL is none."""
    properties = yaml.safe_load((project / "models" / "unknown.yml").read_text())
    compiled = project / "target" / "compiled" / "clinic" / "models" / "unknown.yml"
    [diversity] = compiled.glob("kanon_sql_l_diversity_*")

    assert properties["models"][0]["config"]["meta"]["kanon_sql"]["sensitive_nulls"] == "unknown"
    assert "kanon_counted" in diversity.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", EMITTED)
def test_its_roles_and_demands_can_be_audited(name: str, project: Path) -> None:
    run = _run(
        project, "kanon-sql", "audit", "--manifest", "target/manifest.json",
        "--select", name,
    )  # fmt: skip

    assert (run.returncode, run.stderr) == (0, "")
    assert "is not run here" not in run.stdout
