"""Delta and Iceberg tables: which snapshot is read, what is refused, and the figures by DuckDB."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest
from extensions import figures_of

import kanon_sql as kanon
from kanon_sql.engines.duckdb.lakehouse import Snapshot, snapshot_of, table_format


def parquet(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.execute(f"copy (select 'a' as zip, 1 as age) to '{path}'")


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """The folder of a Delta table, with commits 0 to 11 and a checkpoint of the tenth."""
    log = tmp_path / "people" / "_delta_log"
    log.mkdir(parents=True)
    for version in range(12):
        (log / f"{version:020}.json").write_text("{}")
    (log / f"{10:020}.checkpoint.parquet").write_text("")
    (log / f"{12:020}.json.tmp").write_text("{}")
    parquet(tmp_path / "people" / "year=2024" / "old.parquet")
    return tmp_path / "people"


def iceberg(folder: Path, **metadata: Any) -> Path:
    """The folder of an Iceberg table with two metadata files, of which the second is newer."""
    (folder / "metadata").mkdir(parents=True)
    told = {"format-version": 2, "location": folder.as_uri(), "current-snapshot-id": 7}
    for version in (1, 2):
        file = folder / "metadata" / f"v{version}.metadata.json"
        file.write_text(json.dumps(told | metadata | {"last-updated-ms": version}))
        os.utime(file, (version, version))
    parquet(folder / "data" / "0.parquet")
    return folder


def test_the_last_commit_of_a_delta_table_is_its_version(delta: Path) -> None:
    found = snapshot_of(str(delta), "delta")

    assert found.words == "Delta version 11"
    assert found.from_item(has_floats=False) == f"delta_scan('{delta}', version = 11)"
    assert Path(found.evidence).name == f"{11:020}.json"


def test_a_cleaned_log_begins_with_its_checkpoint(delta: Path) -> None:
    for commit in (delta / "_delta_log").glob("*.json"):
        commit.unlink()

    assert snapshot_of(str(delta), "delta").words == "Delta version 10"


def test_an_iceberg_table_is_read_from_the_file_that_its_hint_names(tmp_path: Path) -> None:
    folder = iceberg(tmp_path / "people")
    (folder / "metadata" / "version-hint.text").write_text("1\n")

    found = snapshot_of(str(folder), "iceberg")

    assert Path(found.evidence).name == "v1.metadata.json"
    assert found.words == "Iceberg snapshot 7"


def test_without_a_hint_the_metadata_file_has_to_be_named(tmp_path: Path) -> None:
    folder = iceberg(tmp_path / "people")

    with pytest.raises(kanon.InputError, match=r"catalogue knows .* the latest here is .*v2\.meta"):
        snapshot_of(str(folder), "iceberg")

    named = folder / "metadata" / "v1.metadata.json"
    assert table_format(str(named)) == "iceberg"
    assert snapshot_of(str(named), "iceberg").evidence == str(named)


def test_no_filter_reaches_files_whose_bounds_lack_nan(tmp_path: Path) -> None:
    scans = [
        Snapshot("t", "", reader, "t", {}, "", ()).from_item(has_floats=True)
        for reader in ("delta_scan", "iceberg_scan")
    ]

    assert scans == [
        "delta_scan('t', can_have_nan = true, pushdown_filters = 'none')",
        "(select * from iceberg_scan('t', can_have_nan = true) offset 0)",
    ]


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"location": "s3://clinic/people"}, r"are in s3://, and only files of one place"),
        ({"properties": {"write.data.path": "gs://clinic"}}, r"are in gs://"),
        ({"format-version": None}, None),
    ],
)
def test_files_elsewhere_are_refused(
    tmp_path: Path, metadata: dict[str, Any], sentence: str | None
) -> None:
    file = iceberg(tmp_path / "people", **metadata) / "metadata" / "v1.metadata.json"
    if sentence is None:
        assert snapshot_of(str(file), "iceberg").words == "Iceberg snapshot 7"
        return
    with pytest.raises(kanon.InputError, match=sentence):
        snapshot_of(str(file), "iceberg")


def test_a_damaged_metadata_file_is_named(tmp_path: Path) -> None:
    file = iceberg(tmp_path / "people") / "metadata" / "v1.metadata.json"
    file.write_text("[]")

    with pytest.raises(kanon.InputError, match=r"v1\.metadata\.json is no metadata file"):
        snapshot_of(str(file), "iceberg")


def test_an_extension_is_never_downloaded(
    delta: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(kanon.MissingDriverError, match=r"no extension \"delta\" installed\. Inst"):
        kanon.audit(delta, ["zip"])

    assert not (tmp_path / ".duckdb").exists()


def test_a_session_of_the_user_is_asked_to_load_it(delta: Path) -> None:
    with (
        duckdb.connect() as connection,
        pytest.raises(kanon.MissingDriverError, match=r"loaded in this session\. Load it"),
    ):
        kanon.audit(delta, ["zip"], engine=connection)


@pytest.mark.parametrize("pattern", ["**/*.parquet", "year=2024/*.parquet", "year=*/"])
def test_the_files_of_a_table_are_not_read_as_plain_parquet(delta: Path, pattern: str) -> None:
    with pytest.raises(kanon.InputError, match=r"but a table \(_delta_log is in it\)"):
        kanon.audit(f"{delta}/{pattern}", ["zip"])


def test_a_folder_called_metadata_is_no_table(tmp_path: Path) -> None:
    parquet(tmp_path / "data" / "0.parquet")
    (tmp_path / "metadata").mkdir()

    assert table_format(str(tmp_path)) is None
    assert kanon.audit(f"{tmp_path}/data/*.parquet", ["zip"]).tables[0].summary.records == 1


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The figures of the script, in an environment whose DuckDB has the extensions."""
    return figures_of("lakehouse.py", tmp_path_factory)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_deleted_records_are_not_counted(audited: dict[str, Any], form: str) -> None:
    found = audited["people"][form]

    assert (found["status"], found["records"], found["k"]) == ("holds", 6, 2)
    [snapshot] = found["snapshots"].values()
    assert snapshot.startswith({"delta": "Delta version 2", "iceberg": "Iceberg snapshot "}[form])
    assert snapshot.rpartition(" ")[2] in found["sql"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_nan_is_found_in_a_file_whose_bounds_lack_it(audited: dict[str, Any], form: str) -> None:
    assert audited["above"][form]["records"] == 3


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_other_uses_of_a_snapshot(audited: dict[str, Any]) -> None:
    assert (audited["hinted"]["records"], audited["hinted"]["k"]) == (6, 2)
    assert (audited["empty"]["status"], audited["empty"]["records"]) == ("no_data", 0)
    assert audited["linked"] == {"all": "Delta version 2"}
    assert audited["released"] == 3  # Datafly's step 4 suppresses k records where it does any
