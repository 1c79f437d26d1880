"""Lineage of a project that dbt compiled: the manifest is dbt's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commands import run

from kanon_sql.tracing.lineage import lineage_of

pytest.importorskip("dbt.cli.main", reason="dbt-core is not installed")

DBT = Path(sys.executable).parent / "dbt"
ROLES = {
    "patients": {
        "patient_id": "entity",
        "email": "identifier",
        "zip": "quasi_identifier",
        "sex": "quasi_identifier",
        "diagnosis": "sensitive",
    },
    "zip_codes": {"zip": None, "county": None},
}
SEEDS = {
    "patients": (
        "patient_id,email,zip,sex,diagnosis\n1,a@x.org,02138,F,flu\n2,b@x.org,02139,M,HIV\n"
    ),
    "zip_codes": "zip,county\n02138,Kent\n02139,Essex\n",
}
MODELS = {
    "staged": (
        "{{ config(materialized='ephemeral') }}\n"
        "select patient_id as person, email, zip, sex, diagnosis from {{ ref('patients') }}"
    ),
    "by_county": (
        "select s.person, md5(s.email) as contact, z.county, s.sex\n"
        "from {{ ref('staged') }} as s\nleft join {{ ref('zip_codes') }} as z on z.zip = s.zip"
    ),
    "counted": (
        "select county, count(*) as n from {{ ref('by_county') }} group by county -- no person"
    ),
    "grows": (
        "{{ config(materialized='incremental', unique_key='person') }}\n"
        "select person, sex from {{ ref('by_county') }}\n"
        "{% if is_incremental() %}where person > (select max(person) from {{ this }}){% endif %}"
    ),
    "ill": "select person, sex from {{ ref('staged') }} where diagnosis = 'HIV'",
    "kent": "{{ config(access='public') }}\nselect county from {{ ref('zip_codes') }}",
}


def described(name: str, roles: dict[str, str | None]) -> dict[str, object]:
    columns = [
        {"name": column, "config": {"meta": {"kanon_sql": {"role": role}}}}
        for column, role in roles.items()
        if role
    ]
    return {"name": name, "columns": columns}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after `dbt build`, so that its incremental model reads itself, then compiled."""
    folder = tmp_path_factory.mktemp("clinic")
    texts = {
        "dbt_project.yml": {
            "name": "clinic",
            "profile": "clinic",
            "seeds": {"+quote_columns": True},
        },
        "profiles.yml": {
            "clinic": {
                "target": "dev",
                "outputs": {"dev": {"type": "duckdb", "path": "dev.duckdb"}},
            }
        },
        "seeds/seeds.yml": {"seeds": [described(name, roles) for name, roles in ROLES.items()]},
        "models/models.yml": {
            "models": [{"name": "by_county"}, {"name": "kent"}],
            "exposures": [
                {
                    "name": "weekly",
                    "type": "dashboard",
                    "owner": {"email": "owner@example.org"},
                    "depends_on": ["ref('counted')"],
                }
            ],
        },
    }
    for name, content in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(content))
    for name, text in SEEDS.items():
        (folder / "seeds" / f"{name}.csv").write_text(text)
    for name, text in MODELS.items():
        (folder / "models" / f"{name}.sql").write_text(text)
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
    for verb in ("build", "compile"):
        ended = subprocess.run(
            [str(DBT), verb, "--profiles-dir", "."],
            cwd=folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout
    return folder


def test_what_the_models_of_a_real_project_expose(project: Path) -> None:
    result = lineage_of(project / "target" / "manifest.json")

    assert {model.name: (model.exposure, model.kind) for model in result.models} == {
        "by_county": ("identified", "records"),
        "counted": ("table", "groups"),
        "grows": ("quasi_identified", "records"),
        "ill": ("quasi_identified", "records"),
        "kent": ("none", "records"),
    }
    assert result.lineage.summary.cant_tell == 0


def test_how_its_columns_carry(project: Path) -> None:
    found = {model.name: model for model in lineage_of(project / "target/manifest.json").models}

    assert {
        column.name: [(each.role, each.how, each.origins) for each in column.carries]
        for column in found["by_county"].columns
    } == {
        "person": [("entity", "carried", ("patients.patient_id",))],
        "contact": [("identifier", "hashed", ("patients.email",))],
        "county": [("quasi_identifier", "looked_up", ("patients.zip",))],
        "sex": [("quasi_identifier", "carried", ("patients.sex",))],
    }
    assert found["ill"].selected_by[0].origins == ("patients.diagnosis",)
    assert (found["by_county"].file, found["by_county"].line) == ("models/models.yml", 9)
    assert found["counted"].published == ("exposure: weekly",)


def test_the_gate_of_its_published_models(project: Path) -> None:
    ended = run("lineage", str(project / "target/manifest.json"), "--fail-on-unaudited",
                "--format", "github")  # fmt: skip

    assert ended.exit_code == 1
    assert "title=counted has figures about groups of people" in ended.output
    assert "title=kent" not in ended.output


def test_a_manifest_of_dbt_parse_is_refused(project: Path, tmp_path: Path) -> None:
    subprocess.run(
        [str(DBT), "parse", "--profiles-dir", ".", "--target-path", str(tmp_path / "parsed"),
         "--no-partial-parse"],
        cwd=project, env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True, check=True,
    )  # fmt: skip

    ended = run("lineage", str(tmp_path / "parsed" / "manifest.json"))

    assert ended.exit_code == 2
    assert "has no compiled SQL: it was written by dbt parse. Run dbt compile." in ended.stderr
