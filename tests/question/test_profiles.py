"""Which connection a dbt project's profiles.yml names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from test_manifest import model, selected

import kanon_sql as kanon
from kanon_sql.engines.names import url_of
from kanon_sql.question.dbt.project import Project, connection_of

SECRET = "p@ss/word"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("DBT_PROFILES_DIR", "DBT_TARGET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "clinic"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: clinic\nprofile: clinic\n")
    return Project(folder, "clinic")


def profiles(folder: Path, target: str = "dev", **outputs: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    said = {"clinic": {"target": target, "outputs": outputs}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(said))
    return folder


SERVER = {"host": "db.example", "port": 5433, "user": "ann@x", "password": SECRET, "dbname": "d"}


@pytest.mark.parametrize(
    ("output", "url"),
    [
        ({"type": "postgres", **SERVER, "sslmode": "require"},
         "postgresql://ann%40x:p%40ss%2Fword@db.example:5433/d?sslmode=require"),
        ({"type": "postgres", "host": "/run/pg", "user": "ann", "pass": "", "port": 5432,
          "dbname": "d"}, "postgresql://ann@/d?host=%2Frun%2Fpg"),
        ({"type": "redshift", **SERVER},
         "redshift://ann%40x:p%40ss%2Fword@db.example:5433/d"),
        ({"type": "snowflake", "account": "ab1", "user": "ann", "password": SECRET,
          "database": "d", "schema": "s", "warehouse": "w"},
         "snowflake://ann:p%40ss%2Fword@ab1/d/s?warehouse=w"),
        ({"type": "bigquery", "method": "oauth", "project": "p", "dataset": "s"},
         "bigquery://p/s"),
        ({"type": "databricks", "host": "h", "http_path": "/sql/1", "token": SECRET,
          "catalog": "c", "schema": "s"},
         "databricks://token:p%40ss%2Fword@h/?http_path=%2Fsql%2F1&catalog=c&schema=s"),
        ({"type": "trino", "method": "none", "host": "h", "port": 8080, "user": "ann",
          "database": "c", "schema": "s"}, "trino://ann@h:8080/c/s"),
        ({"type": "clickhouse", "host": "h", "port": 8123, "user": "ann", "schema": "s",
          "secure": False}, "clickhouse://ann@h:8123/s?secure=false"),
    ],
)  # fmt: skip
def test_the_url_of_a_target(project: Project, output: dict[str, Any], url: str) -> None:
    profiles(project.folder, dev=output)

    found = connection_of(project, output["type"], None)

    assert found == url
    assert url_of(found).password in (None, SECRET)


def test_a_duckdb_file_lies_in_the_project(project: Project) -> None:
    profiles(project.folder, dev={"type": "duckdb", "path": "data/dev.duckdb"})
    expected = f"duckdb:{project.folder / 'data/dev.duckdb'}"
    assert connection_of(project, "duckdb", None) == expected


def test_the_environment_is_rendered(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    output = SERVER | {
        "type": "postgres",
        "port": "{{ env_var('PORT', '5434') | as_number }}",
        "password": "{{ env_var('DBT_ENV_SECRET_PASSWORD') }}",
    }
    folder = profiles(tmp_path / "secrets", "{{ env_var('WHICH', 'prod') }}", prod=output)

    with pytest.raises(kanon.SpecError, match="takes DBT_ENV_SECRET_PASSWORD from the environment"):
        connection_of(project, None, folder)
    monkeypatch.setenv("DBT_ENV_SECRET_PASSWORD", SECRET)
    expected = "postgresql://ann%40x:p%40ss%2Fword@db.example:5434/d"
    assert connection_of(project, None, folder) == expected
    monkeypatch.setenv("DBT_PROFILES_DIR", str(folder))
    monkeypatch.setenv("DBT_TARGET", "prod")
    assert connection_of(project, None, None) == expected


def test_the_home_folder_is_looked_at_last(project: Project, tmp_path: Path) -> None:
    profiles(tmp_path / "home" / ".dbt", dev={"type": "duckdb", "path": "/home.duckdb"})
    assert connection_of(project, None, None) == "duckdb:/home.duckdb"
    profiles(project.folder, dev={"type": "duckdb", "path": "/own.duckdb"})
    assert connection_of(project, None, None) == "duckdb:/own.duckdb"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"type": "duckdb"}, "no connection can be made from the target dev, which is duckdb"),
        ({"type": "duckdb", "path": "md:clinic"}, "no connection can be made from"),
        ({"type": "oracle", **SERVER}, "which is oracle"),
        ({"type": "bigquery", "method": "service-account", "project": "p", "dataset": "d",
          "keyfile": SECRET}, "(dataset, keyfile, method, project, type)"),
        ({"type": "postgres", "host": f"{{{{ nothing('{SECRET}') }}}}"}, "can't be rendered"),
        ({}, "has no target dev of the profile clinic that dbt_project.yml names"),
    ],
)  # fmt: skip
def test_what_no_url_can_be_made_of(project: Project, output: dict[str, Any], said: str) -> None:
    profiles(project.folder, dev=output)
    with pytest.raises(kanon.SpecError) as error:
        connection_of(project, None, None)
    assert said in str(error.value)
    assert SECRET not in str(error.value)


def test_a_profile_of_another_warehouse_is_refused(project: Project) -> None:
    profiles(project.folder, dev={"type": "postgres", **SERVER})
    with pytest.raises(kanon.SpecError, match="was written for duckdb, and the target dev of"):
        connection_of(project, "duckdb", None)


def test_a_damaged_file_repeats_nothing(project: Project) -> None:
    (project.folder / "profiles.yml").write_text(f"clinic: {{password: {SECRET}, ]")
    with pytest.raises(kanon.InputError) as error:
        connection_of(project, None, None)
    assert SECRET not in str(error.value)


def test_no_secret_is_in_a_spec_or_a_failure(
    project: Project, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from kanon_sql.cli.main import main

    output = {"type": "postgres", **SERVER, "host": "localhost", "port": 1}
    chosen = selected(
        project.folder, model(), connect=None, profiles_dir=profiles(tmp_path / "p", dev=output),
        adapter="postgres",
    )  # fmt: skip
    assert SECRET not in repr(chosen)
    assert "p%40ss" not in repr(chosen)
    with pytest.raises(SystemExit):
        main(["audit", "--manifest", str(project.folder / "manifest.json"), "--profiles-dir",
              str(tmp_path / "p"), "--format", "json"])  # fmt: skip
    told = "".join(capsys.readouterr())
    assert "Postgres" in told
    assert SECRET not in told
    assert "p%40ss" not in told
