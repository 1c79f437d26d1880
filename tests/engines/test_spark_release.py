"""Releases that Spark's cluster writes: DuckDB's records, whole in their place or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import asking
import pyarrow.parquet as pq
import pytest
from java import java_home
from searches import Cells, anonymize, cells, figures
from sparks import Cluster, environment, local_spark

import kanon_sql as kanon
from kanon_sql.engines.spark.engine import Spark

if java_home() is None:
    pytest.skip("there is no Java 17 for Spark to run on", allow_module_level=True)

VISITS = asking.table(
    ["visit", "person", "age", "area", "diagnosis"],
    [
        (
            n,
            n // 2,
            None if n % 40 == 7 else 20 + n % 17,
            f"{n % 23:03d}",
            "HIV" if n % 5 else "flu",
        )
        for n in range(120)
    ],
)
AREAS = {f"{n:03d}": [f"{n // 10:02d}*", "***"] for n in range(240)}
AGES = {"age": {"levels": [{"width": 5}, {"width": 15}]}}
RELEASES: dict[str, dict[str, Any]] = {
    "donated": {
        "quasi_identifiers": AGES,
        "identifiers": ["visit", "person"],
        "k": 14,
        "where": "visit < 113",
        "max_suppressed": 14,
    },
    "starred": {
        "quasi_identifiers": {**AGES, "area": {}},
        "identifiers": ["visit", "person"],
        "k": 20,
        "suppressed": "star",
        "max_suppressed": 25,
    },
    "labels joined": {
        "quasi_identifiers": {"area": {"hierarchy": AREAS}},
        "sensitive": "diagnosis",
        "checks": [{"l_diversity": {"l": 2, "sensitive": "diagnosis"}}],
        "k": 12,
        "untouched": "drop",
    },
    "people": {
        "quasi_identifiers": {"age": {"levels": [{"cuts": [25, 30]}, "suppress"]}},
        "entity": "person",
        "k": 20,
    },
    "optimal": {
        "quasi_identifiers": {**AGES, "area": {"levels": [{"mask": "right"}]}},
        "identifiers": ["visit", "person"],
        "k": 4,
        "max_suppressed": "10%",
        "algorithm": "optimal",
    },
    "local": {
        "quasi_identifiers": {**AGES, "area": {"levels": [{"mask": "right"}]}},
        "identifiers": ["visit", "person"],
        "k": 4,
        "max_suppressed": 5,
        "algorithm": "local",
    },
}
PULLED = {"optimal": True, "local": True}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    own = local_spark().newSession()
    own.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    own.read.parquet(str(tmp_path / "visits.parquet")).createOrReplaceTempView("visits")
    yield own
    own.catalog.clearCache()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where releases are written."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def of_duckdb(question: Mapping[str, Any], folder: Path) -> tuple[kanon.AnonymizationResult, Cells]:
    file = folder.parent / "expected.parquet"
    result = anonymize(VISITS, question, output=file)
    return result, cells(pq.read_table(file).to_pylist())


def written(folder: Path, names: list[str]) -> Cells:
    """The records of a folder as DuckDB reads them, in the columns of a file."""
    table = pq.read_table(folder, partitioning=None if not names else "hive")
    return cells(table.select(names or table.column_names).to_pylist())


@pytest.mark.parametrize("name", RELEASES)
def test_the_release_is_that_of_duckdb(name: str, session: Any, folder: Path) -> None:
    question, place = RELEASES[name], folder / "release"

    result = anonymize(
        "visits",
        question,
        engine=session,
        output=str(place),
        pull_frequencies=PULLED.get(name, False),
    )

    expected, records = of_duckdb(question, folder)
    assert written(place, []) == records
    assert result.tables[0].summary == expected.tables[0].summary
    assert figures(result)["levels"] == figures(expected)["levels"]
    assert figures(result)["step4"] == figures(expected)["step4"]
    assert result.anonymization.untouched == expected.anonymization.untouched
    release = result.anonymization.release
    assert release is not None
    assert expected.anonymization.release is not None
    assert (release.path, release.records) == (str(place), sum(records.values()))
    assert release.columns == expected.anonymization.release.columns
    assert os.listdir(folder) == ["release"]
    views = [view.name for view in session.catalog.listTables()]
    assert views == ["visits"]


@pytest.mark.parametrize("column", ["diagnosis", "age", "AREA"])
def test_folders_are_named_by_the_values_of_a_column(
    column: str, session: Any, folder: Path
) -> None:
    question, place = RELEASES["starred"], folder / "release"

    anonymize("visits", question, engine=session, output=str(place), partition_by=column)

    _, records = of_duckdb(question, folder)
    split = column.lower()
    assert {each.name.partition("=")[0] for each in place.iterdir() if each.is_dir()} == {split}
    read = session.read.parquet(str(place)).select("age", "area", "diagnosis")
    assert cells([each.asDict() for each in read.collect()]) == records
    first, second = (each for each in ("age", "area", "diagnosis") if each != split)
    for file in place.rglob("*.parquet"):
        rows = [
            ((row[first] is None, row[first] or ""), (row[second] is None, row[second] or ""))
            for row in pq.ParquetFile(file).read().to_pylist()
        ]
        # Not the order of the source, which would link the release to another one.
        assert rows == sorted(rows)


def test_what_fails_its_audit_is_not_written(session: Any, folder: Path) -> None:
    question = {**RELEASES["donated"], "sensitive": "diagnosis", "max_suppressed": 0, "k": 2}
    question["checks"] = [{"t_closeness": {"t": 0.0, "sensitive": "diagnosis"}}]

    failed = anonymize("visits", question, engine=session, output=str(folder / "release"))

    assert failed.exit_code == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("full", "is not empty, and Spark replaces no folder here"),
        ("full/file", "is a file; name a folder"),
        ("missing/release", "there is no folder .*missing to write"),
        ("full/file/release", "there is no folder .*file to write"),
        (
            "nosuch://bucket/release",
            r"can't be written by Spark \(UnsupportedFileSystemException\)",
        ),
        ("release.csv", "Spark writes a release as a folder of Parquet"),
    ],
)
def test_a_place_that_can_t_be_written_is_refused(
    place: str, message: str, session: Any, folder: Path
) -> None:
    (folder / "full").mkdir()
    (folder / "full" / "file").write_text("of someone")
    output = place if ":" in place else str(folder / place)

    with pytest.raises(kanon.SpecError, match=message):
        anonymize("visits", RELEASES["donated"], engine=session, output=output)

    assert [str(each.relative_to(folder)) for each in sorted(folder.rglob("*"))] == [
        "full",
        "full/file",
    ]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("person", '"person" is not in the release'),
        ("nothing", 'no column "nothing"'),
        ("born", r'values of "born" \(TIMESTAMP\) can\'t name folders'),
        ("note", "would be read as NULL from folders named by its values"),
    ],
)
def test_a_column_that_can_t_name_folders_is_refused(
    column: str, message: str, session: Any, folder: Path
) -> None:
    session.sql(
        "select *, timestamp_ntz '2020-01-01 00:00:00' as born, '' as note from visits"
    ).createOrReplaceTempView("more")

    with pytest.raises(kanon.KanonError, match=message):
        anonymize(
            "more",
            RELEASES["donated"],
            engine=session,
            output=str(folder / "release"),
            partition_by=column,
        )

    assert list(folder.iterdir()) == []


def test_folders_are_split_in_spark_alone(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match="partition_by splits a folder that Spark writes"):
        anonymize(
            VISITS, RELEASES["donated"], output=tmp_path / "r.parquet", partition_by="diagnosis"
        )


def test_a_job_that_fails_leaves_nothing(
    session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files seen at the start are read: one that is gone is an error, and none is skipped."""
    source = folder.parent / "source"
    source.mkdir()
    pq.write_table(VISITS, source / "one.parquet")
    pq.write_table(VISITS, source / "two.parquet")
    write = Spark.write_folder

    def after_a_change(engine: Spark, *given: Any) -> Any:
        (source / "two.parquet").unlink()
        return write(engine, *given)

    monkeypatch.setattr(Spark, "write_folder", after_a_change)
    with pytest.raises(kanon.KanonError, match="a file can't be read") as failed:
        anonymize(f"{source}/", RELEASES["donated"], engine=session, output=str(folder / "release"))

    assert failed.value.exit_code in (2, 3)
    assert list(folder.iterdir()) == []


def test_a_table_that_grows_meanwhile_is_noticed(
    session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Spark.write_folder

    def after_a_change(engine: Spark, *given: Any) -> Any:
        more = session.createDataFrame(VISITS).union(session.createDataFrame(VISITS))
        for view in session.catalog.listTables():
            if view.name.startswith("temporary view"):
                more.createOrReplaceTempView(f"`{view.name}`")
        return write(engine, *given)

    monkeypatch.setattr(Spark, "write_folder", after_a_change)
    with pytest.raises(kanon.EngineError, match="visits changed while its release was being made"):
        anonymize("visits", RELEASES["donated"], engine=session, output=str(folder / "release"))

    assert list(folder.iterdir()) == []


def test_ctrl_c_leaves_nothing(session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(engine: Spark, sql: str, new: Any, column: str | None) -> Any:
        half = Path(new.path.removeprefix("file:"))
        half.mkdir(parents=True)
        (half / "part-0.parquet").write_text("half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(Spark, "write_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        anonymize("visits", RELEASES["donated"], engine=session, output=str(folder / "release"))

    assert list(folder.iterdir()) == []


# --- clusters ------------------------------------------------------------------------------------


def command(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A release by the command line, in a process and a folder of its own."""
    program = [sys.executable, "-c", "from kanon_sql.cli import main; main()", "anonymize"]
    home = str(Path(kanon.__file__).parent.parent)
    asked = ["--qi", "age", "--hierarchy", "age=width:5,15", "--identifiers", "visit,person"]
    return subprocess.run(
        [*program, *arguments, *asked, "--k", "14", "--format", "json"],
        env=os.environ | environment() | {"PYTHONPATH": home} | environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def is_released(run: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert run.returncode == 0, run.stderr
    release = json.loads(run.stdout)["anonymization"]["release"]
    question = {"quasi_identifiers": AGES, "identifiers": ["visit", "person"], "k": 14}
    _, records = of_duckdb(question, folder)
    assert (release["path"], release["records"]) == ("release", sum(records.values()))
    assert written(folder / "release", ["age", "area", "diagnosis"]) == records
    assert os.listdir(folder) == ["release"]


def test_a_cluster_writes(tmp_path: Path, folder: Path, cluster: Cluster) -> None:
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    before = len(cluster.applications())

    run = command(
        folder,
        "../visits.parquet",
        *("--connect", cluster.url, "--output", "release/", "--partition-by", "diagnosis"),
        SPARK_CONF_DIR=str(cluster.settings),
    )

    is_released(run, folder)
    [application] = cluster.applications()[before:]
    assert application["cores"] == 2


def test_spark_connect_writes(tmp_path: Path, folder: Path, connect_server: str) -> None:
    pq.write_table(VISITS, tmp_path / "visits.parquet")
    file = f"{tmp_path}/visits.parquet"

    run = command(folder, file, "--connect", connect_server, "--output", "release")

    is_released(run, folder)
