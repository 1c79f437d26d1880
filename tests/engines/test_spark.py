"""Spark: how it is reached, what it reads, that its answers are DuckDB's, and how it is left."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from java import java_home
from sparks import Cluster, environment, free_port, local_spark, until
from values_at_levels import CITIES, MASKS, VALUES_AT_LEVELS, column

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit
from kanon_sql.engines.failures import silenced
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.semantic_checks import canaries, require_trustworthy
from kanon_sql.engines.spark.engine import Spark, is_session
from kanon_sql.engines.spark.sessions import VALUE_LOGGERS, Launched
from kanon_sql.sql.dialects import translated

if java_home() is None:
    pytest.skip("there is no Java 17 for Spark to run on", allow_module_level=True)

PEOPLE = pa.table(
    {
        "zip": ["02138", "02138", "2138", None, "02139", "02139", "", "東京"],
        "age": pa.array([34, 36, 34, 51, None, 90, 12, -3], pa.int32()),
        "height": [1.75, float("nan"), -0.0, 0.0, None, float("inf"), 1e-4, 1.6],
        "born": [date(1931, 3, 5), date(999, 1, 1), None, *[date(2020, 2, 29)] * 5],
        "seen": pa.array([datetime(2025, 1, 31, 9, 0, 0, 500000), None] * 4, pa.timestamp("us")),
        "paid": pa.array([Decimal("0.10"), Decimal("7.25"), None, None] * 2, pa.decimal128(20, 2)),
        "sex": ["F", "f", "F ", "M", None, "M", "M", "M"],
        "well": [True, False, None, True, True, False, None, True],
    }
)
LONG = {str(number): [str(number // 10), "*"] for number in range(-10, 300)}
"""A hierarchy that is joined."""

ASKED: dict[str, dict[str, Any]] = {
    "raw": {"quasi_identifiers": ["zip", "height"], "sensitive": ["sex"]},
    "others": {"quasi_identifiers": ["born", "paid", "well"], "sensitive": ["seen", "age"]},
    "condition": {
        "quasi_identifiers": ["sex"],
        "where": "age >= 18 and born > date '1000-01-01' and zip <> '' and seen is not null",
    },
    "width": {
        "quasi_identifiers": {"age": {"clip": [0, 80], "levels": [{"width": 5}, {"width": 20}]}},
        "levels": {"age": 2},
    },
    "mask": {
        "quasi_identifiers": {"zip": {"levels": [{"mask": "left"}]}, "age": {}},
        "levels": {"zip": 2, "age": 1},
    },
    "years": {
        "quasi_identifiers": {
            "born": {"levels": ["year", {"years": 5}]},
            "seen": {"levels": ["month"]},
        },
        "levels": {"born": 2, "seen": 1},
    },
    "joined": {
        "quasi_identifiers": {"age": {"hierarchy": LONG}, "well": {}},
        "levels": {"age": 1},
        "sensitive": ["sex"],
        "checks": [kanon.TCloseness(t=0.5, distance="ordered", order=["F", "f", "F ", "M"])],
    },
}


@pytest.fixture
def session() -> Iterator[Any]:
    """A session as someone would have it, with settings and temporary views of its own."""
    own = local_spark().newSession()
    yield own
    own.catalog.clearCache()


def figures(table: Any, **asked: Any) -> dict[str, Any]:
    return asking.figures(kanon.audit(table, **asked))


def with_view(session: Any, name: str = "people", table: pa.Table = PEOPLE) -> Any:
    session.createDataFrame(table).createOrReplaceTempView(name)
    return session


# --- the same answers --------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_the_answers_are_those_of_duckdb(asked: dict[str, Any], session: Any) -> None:
    found = figures("people", engine=with_view(session), **asked)

    assert found == asking.near(figures(PEOPLE, **asked))


def test_several_tables_at_once_have_the_answers_of_one_after_the_other(session: Any) -> None:
    for name in ("first", "second", "third"):
        with_view(session, name)
    tables = [
        {"name": f"{name} by {column}", "source": name, "quasi_identifiers": [column]}
        for name in ("first", "second", "third")
        for column in ("zip", "sex")
    ]
    spec = kanon.AuditSpec.model_validate({"version": 1, "tables": tables})
    barrier = threading.Barrier(3, timeout=60)
    threads, met = set(), threading.local()

    def meet(question: str, progress: Any) -> None:
        if not hasattr(met, "so"):
            met.so = barrier.wait()
        threads.add(threading.get_ident())

    found = audit(spec, RunOptions(session, jobs=3, watch=meet))

    def plain(result: Any) -> Any:
        return [{**each, "seconds": None} for each in result.to_dict()["tables"]]

    assert len(threads) == 3
    assert plain(found) == plain(kanon.audit(spec, engine=session))
    assert session.sparkContext.getLocalProperty("spark.scheduler.pool") is None


def test_the_logs_stay_silent_until_the_last_statement_ends() -> None:
    """A statement that ends must not let PySpark print the error of another one, with values."""
    loggers = [logging.getLogger(name) for name in VALUE_LOGGERS]
    before = [logger.level for logger in loggers]
    first, second = silenced(*VALUE_LOGGERS), silenced(*VALUE_LOGGERS)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not any(logger.isEnabledFor(logging.CRITICAL) for logger in loggers)
    second.__exit__(None, None, None)
    assert [logger.level for logger in loggers] == before


def test_every_label_is_that_of_duckdb(session: Any) -> None:
    """All in one statement, which is what takes the time."""
    cases = [
        (type, column(type, builder), level, labels)
        for type, builder, level, labels in VALUES_AT_LEVELS
        if type != "HUGEINT" and not type.startswith("ENUM")
    ]
    cases += [
        ("VARCHAR", column("VARCHAR", builder, longest=5), level, labels)
        for builder, level, labels in MASKS
    ]
    cities = column("VARCHAR", {"hierarchy": CITIES})
    cases += [("VARCHAR", cities, 2, {raw: above[1] for raw, above in CITIES.items()})]
    parts = [
        f"select {number} as kanon_case, kanon_text, {levels.sql(level, 'v')} as kanon_label from "
        f"(select kanon_text, cast(kanon_text as {type}) as v from ({_texts(labels)}) as a) as b"
        for number, (type, levels, level, labels) in enumerate(cases)
    ]

    answer = session.sql(translated(" union all ".join(parts), "spark")).collect()

    expected = {
        (number, None if value is None else str(value)): label
        for number, (*_, labels) in enumerate(cases)
        for value, label in labels.items()
    }
    assert {(row[0], row[1]): row[2] for row in answer} == expected


def _texts(values: Any) -> str:
    texts = ["null" if value is None else "'" + str(value).replace("'", "''") + "'"
             for value in values]  # fmt: skip
    return " union all ".join(f"select {text} as kanon_text" for text in texts)


@pytest.mark.parametrize(
    ("text", "type", "number"),
    [
        ("1d", "double", None), ("1f", "double", None), (" 1.5e2 ", "double", 150.0),
        ("1\n", "double", 1.0), ("1\nx", "double", None), ("0x1", "double", None),
        ("2025", "date", None), ("2025-01", "date", None), ("2025-02-30", "date", None),
        ("2025-01-31 09:00:00", "date", date(2025, 1, 31)), ("2025-01-31x", "date", None),
        ("2025-01-31", "timestamp", datetime(2025, 1, 31)), ("12:00", "timestamp", None),
        ("9223372036854775808", "double", 2.0**63),
    ],
)  # fmt: skip
def test_a_text_is_a_number_or_a_date_only_where_it_reads_as_one(
    text: str, type: str, number: Any, session: Any
) -> None:
    sql = translated(f"select try_cast('{text}' as {type}) as kanon_value", "spark")

    assert session.sql(sql).collect()[0][0] == number


def test_a_line_break_at_the_end_is_part_of_a_text(session: Any) -> None:
    sql = "select regexp_full_match('1' || chr(10), '[0-9]+') as kanon_matches"

    assert session.sql(translated(sql, "spark")).collect()[0][0] is False


def test_a_number_has_a_text_whatever_it_is(session: Any) -> None:
    numbers = pa.table({"x": [float("inf"), -float("inf"), float("nan"), -0.0, 1e19, 2.5, None]})
    asked = {"quasi_identifiers": ["x"], "checks": [kanon.KMap(k=2)]}
    with_view(session, "numbers", numbers)

    found = figures("numbers", references={"all": "numbers"}, engine=session, **asked)

    assert found == asking.near(figures(numbers, references={"all": numbers}, **asked))


def test_numbers_too_large_are_not_all_one(session: Any) -> None:
    numbers = pa.table({"x": [1e19, 1e25, -1e30, 3.0]})
    asked = {"quasi_identifiers": {"x": {"levels": [{"round": 10}]}}, "levels": {"x": 1}}

    for table, engine in ((numbers, None), ("numbers", with_view(session, "numbers", numbers))):
        with pytest.raises(kanon.InputError, match="3 values"):
            kanon.audit(table, engine=engine, **asked)


# --- what is read ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The table in two files of a folder."""
    data = tmp_path / "data of [1]"
    data.mkdir()
    pq.write_table(PEOPLE.slice(0, 3), data / "one.parquet")
    pq.write_table(PEOPLE.slice(3), data / "two.parquet")
    return data


def test_a_file_a_folder_and_a_glob_are_read(folder: Path, session: Any) -> None:
    asked = {"quasi_identifiers": ["zip", "age"], "sensitive": ["sex"]}
    escaped = str(folder).replace("[", "\\[").replace("]", "\\]")

    found = [
        figures(f"{escaped}{rest}", engine=session, **asked)
        for rest in ("/", "/*.parquet", "/one.parquet")
    ]

    whole, part = figures(PEOPLE, **asked), figures(str(folder / "one.parquet"), **asked)
    assert found == asking.near([whole, whole, part])
    assert session.catalog.listTables() == []


def test_files_of_other_types_are_told(tmp_path: Path, session: Any) -> None:
    for name, type in (("a", pa.int32()), ("b", pa.int64())):
        pq.write_table(pa.table({"n": pa.array([1, 2], type)}), tmp_path / f"{name}.parquet")

    with pytest.raises(kanon.InputError, match="a column has other types in it than in the rest"):
        kanon.audit(f"{tmp_path}/", engine=session, quasi_identifiers=["n"])


def test_a_file_that_is_asked_about_again_is_read_anew_in_one_view(
    folder: Path, session: Any
) -> None:
    file = folder / "one.parquet"
    path = str(file).replace("[", "\\[").replace("]", "\\]")
    with kanon.connect(session) as engine:
        found = []
        for some in (PEOPLE.slice(0, 3), PEOPLE.drop_columns(["sex"]), PEOPLE.slice(0, 2)):
            pq.write_table(some, file)
            audited = kanon.audit(path, engine=engine, quasi_identifiers=["zip"])
            found.append(audited.tables[0].summary.records)
            views = [view.name for view in session.catalog.listTables()]

    assert found == [3, len(PEOPLE), 2]
    assert len(views) == 1


def test_folders_are_columns_of_text(tmp_path: Path, session: Any) -> None:
    for value in ("02", "2"):
        (tmp_path / f"part={value}").mkdir()
        pq.write_table(pa.table({"n": [1]}), tmp_path / f"part={value}" / "a.parquet")
    asked = {"quasi_identifiers": ["part", "n"], "engine": session}

    with pytest.raises(kanon.InputError, match="Spark would read 02 and 2 as equal"):
        kanon.audit(f"{tmp_path}/", **asked)
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")

    assert kanon.audit(f"{tmp_path}/", **asked).tables[0].summary.classes == 2


def test_a_folder_is_not_read_in_place_of_a_column(tmp_path: Path, session: Any) -> None:
    """Spark would: then everyone in the folder has one zip code, and they are one class."""
    (tmp_path / "zip=1").mkdir()
    pq.write_table(pa.table({"zip": ["02138", "02139"]}), tmp_path / "zip=1" / "a.parquet")
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")

    with pytest.raises(kanon.InputError, match='has a column "zip", and a folder above it'):
        kanon.audit(f"{tmp_path}/", quasi_identifiers="zip", engine=session)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("people.csv", "Spark reads only Parquet and tables here"),
        ("peple", 'Tables and views: people. Did you mean "people"?'),
        ("nothing/here.parquet", "finds no file"),
        ("kanon_missing.people", "no table or view kanon_missing.people"),
    ],
)
def test_what_is_not_there_or_not_read_is_refused(target: str, message: str, session: Any) -> None:
    with pytest.raises(kanon.InputError, match=None) as refused:
        kanon.audit(target, quasi_identifiers=["zip"], engine=with_view(session))

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("select 1 as Age, 2 as age", "differ only by case"),
        ("select array(1, 2) as sex", 'column "sex"'),
        ("select named_struct('a', 1) as sex", 'column "sex"'),
        ("select interval '1' month as sex", "some different values as equal"),
    ],
)
def test_columns_of_which_classes_would_be_wrong_are_refused(
    select: str, message: str, session: Any
) -> None:
    session.sql(select).createOrReplaceTempView("people")
    with pytest.raises(kanon.KanonError, match=None) as refused:
        kanon.audit("people", quasi_identifiers=["sex"], engine=session)

    assert message in str(refused.value)


def test_varying_characters_are_text(session: Any) -> None:
    session.sql("create table varying (b varchar(3)) using parquet")
    try:
        session.sql("insert into varying values ('a'), ('a '), ('A')")
        found = kanon.audit("default.varying", quasi_identifiers=["b"], engine=session)
    finally:
        session.sql("drop table varying")

    assert found.tables[0].summary.classes == 3
    assert "`spark_catalog`.`default`.`varying`" in found.tables[0].sql["classes"]


def test_a_moment_is_that_of_utc(session: Any) -> None:
    moments = pa.table({"t": pa.array([datetime(2024, 12, 31, 23, 30)], pa.timestamp("us", "UTC"))})
    asked = {"quasi_identifiers": {"t": {"levels": ["year"]}}, "levels": {"t": 1}}
    view = with_view(session, "moments", moments)

    assert kanon.audit("moments", engine=view, where="year(t) = 2024", **asked).tables[0].summary.k
    assert {column.type for column in Spark(view).table("moments").columns} == {
        "TIMESTAMP WITH TIME ZONE"
    }


# --- someone's session -------------------------------------------------------------------------


def test_a_session_is_known_without_pyspark(session: Any) -> None:
    assert is_session(session)
    assert not is_session("spark:local[2]")


def test_a_session_is_left_as_it_was(folder: Path, session: Any) -> None:
    with_view(session)

    def state() -> Any:
        views = sorted(view.name for view in session.catalog.listTables())
        return views, session.conf.getAll, session.getTags()

    before = state()
    kanon.audit("people", quasi_identifiers=["zip"], engine=session)
    kanon.audit(f"{folder.parent}/*/one.parquet", quasi_identifiers=["zip"], engine=session)

    assert state() == before
    assert session.sql("select 1").collect() == [(1,)]


@pytest.mark.parametrize(
    ("setting", "value", "right"),
    [
        ("spark.sql.session.timeZone", "Europe/Berlin", "UTC"),
        ("spark.sql.ansi.enabled", "false", "true"),
        ("spark.sql.parser.escapedStringLiterals", "true", "false"),
        ("spark.sql.parser.quotedRegexColumnNames", "true", "false"),
        ("spark.sql.files.ignoreCorruptFiles", "true", "false"),
    ],
)
def test_a_setting_that_would_change_answers_is_refused_and_left(
    setting: str, value: str, right: str, session: Any
) -> None:
    session.conf.set(setting, value)

    with pytest.raises(kanon.SpecError, match=f"Set {setting} to {right}"):
        kanon.connect(session)

    assert session.conf.get(setting) == value


def test_a_connect_session_that_is_refused_keeps_nothing_of_ours() -> None:
    class SparkSession(SimpleNamespace):
        __module__ = "pyspark.sql.connect.session"

    handlers: list[Any] = []
    session = SparkSession(
        conf={"spark.sql.ansi.enabled": "false"},
        addTag=None,
        removeTag=None,
        interruptTag=None,
        registerProgressHandler=handlers.append,
    )

    with pytest.raises(kanon.SpecError, match=r"Set spark\.sql\.ansi\.enabled"):
        kanon.connect(session)

    assert handlers == []


def test_settings_that_change_between_two_audits_are_noticed(session: Any) -> None:
    asked = {"quasi_identifiers": ["zip"]}
    with kanon.connect(with_view(session)) as engine:
        assert kanon.audit("people", engine=engine, **asked)
        session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")

        with pytest.raises(kanon.SpecError, match=r"Set spark\.sql\.session\.timeZone to UTC"):
            kanon.audit("people", engine=engine, **asked)


WRONGS = {
    "kanon_literals": (r"length('a\\\'b')", r"length('a\\\\\'b')"),
    "kanon_texts_compare": ("'a' <> 'A'", "'a' <> 'A' collate utf8_lcase"),
    "kanon_oldest_dates": ("'yyyy-MM-dd'", "'yy-MM-dd'"),
    "kanon_moments": ("as timestamp)", "as date)"),
}


@pytest.mark.parametrize("wrong", WRONGS)
def test_a_canary_sings_where_spark_does_otherwise(wrong: str, session: Any) -> None:
    right, otherwise = WRONGS[wrong]

    class Otherwise(Spark):
        def in_dialect(self, sql: str) -> str:
            said = super().in_dialect(sql)
            assert right in said
            return said.replace(right, otherwise)

    sentence = canaries("spark")[wrong].sentence("spark")
    with pytest.raises(kanon.InputError, match=re.escape(sentence)):
        require_trustworthy(Otherwise(session))


def test_every_canary_of_spark_is_tested() -> None:
    assert [*canaries("postgres"), *WRONGS] == list(canaries("spark"))


def test_a_column_that_may_identify_people_is_warned_of(session: Any) -> None:
    numbered = PEOPLE.append_column("number", pa.array(range(8)))
    asked = {"quasi_identifiers": ["sex"]}

    found = kanon.audit("people", engine=with_view(session, table=numbered), **asked)

    assert found.tables[0].warnings == kanon.audit(numbered, **asked).tables[0].warnings
    assert any(each.startswith('"number" has about') for each in found.tables[0].warnings)


def test_what_looks_like_a_variable_is_not_replaced(session: Any) -> None:
    table = pa.table({"plan": ["${x}", "b", "b"]})
    asked = {
        "quasi_identifiers": {"plan": {"hierarchy": {"${x}": ["a"], "b": ["b"]}}},
        "levels": {"plan": 1},
    }
    with_view(session, "plans", table)

    with pytest.raises(kanon.SpecError, match=r"spark.sql.variable.substitute to false"):
        kanon.audit("plans", engine=session, **asked)
    session.conf.set("spark.sql.variable.substitute", "false")

    assert figures("plans", engine=session, **asked) == asking.near(figures(table, **asked))


def test_a_view_called_as_a_set_of_the_sql_is_read(session: Any) -> None:
    asked = {"quasi_identifiers": ["zip"], "sensitive": ["sex"], "entity": "age"}
    table = PEOPLE.filter(pa.compute.is_valid(PEOPLE["age"]))
    for name in ("classes", "people", "class_values"):
        found = figures(name, engine=with_view(session, name, table), **asked)
        assert found == asking.near(figures(table, **asked))


def test_validate_finds_a_question_that_spark_cannot_read(session: Any) -> None:
    with Spark(with_view(session)) as spark:
        people = spark.table("people").sql
        with pytest.raises(kanon.SpecError, match="rejects"):
            spark.check(f"select nothing from {people}")
        with pytest.raises(kanon.SpecError, match="DATATYPE_MISMATCH"):
            spark.check(f"select zip from {people} where well > 2")


def test_an_error_holds_no_value(session: Any) -> None:
    with (
        Spark(with_view(session)) as spark,
        pytest.raises(kanon.InputError, match="a value can't be converted") as refused,
    ):
        spark.query(f"select cast(zip as double) as x from {spark.table('people').sql}")

    assert "東京" not in str(refused.value)


def test_what_spark_says_of_a_statement_is_told_before_it_reads_rows_alone(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.errors import AnalysisException

    def failing(*_: Any) -> None:
        raise AnalysisException(message="there is no table p00001")

    with Spark(with_view(session)) as spark:
        people = spark.table("people").sql
        with pytest.raises(kanon.SpecError, match="UNRESOLVED_COLUMN"):
            spark.query(f"select nothing from {people}")
        monkeypatch.setattr(type(session.range(1)), "collect", failing)
        with pytest.raises(kanon.SpecError, match="The message is withheld") as failed:
            spark.query(f"select zip from {people}")

    assert "p00001" not in str(failed.value)


# --- a query that takes long -------------------------------------------------------------------


def test_a_time_limit_ends_a_query_and_not_the_session(session: Any) -> None:
    session.range(10**12).selectExpr("id % 7 as zip", "id as n").createOrReplaceTempView("big")
    started = time.monotonic()

    result = kanon.audit("big", quasi_identifiers=["zip"], engine=session, timeout=2)

    assert time.monotonic() - started < 20
    assert "time limit" in result.to_dict()["tables"][0]["error"]
    assert session.sql("select count(*) from big limit 0").collect() == []
    assert figures("people", quasi_identifiers=["zip"], engine=with_view(session))


def test_a_query_tells_how_far_it_is(session: Any) -> None:
    session.range(10**12).selectExpr("id % 7 as zip", "id as n").createOrReplaceTempView("big")
    with Spark(session) as spark, ThreadPoolExecutor() as other:
        sql = f"select max(n) as n from {spark.table('big').sql}"
        assert spark.progress() == ""
        running = other.submit(spark.query, sql)
        until(lambda: spark.progress() == "0 of 2 tasks")
        spark.cancel()

        with pytest.raises(kanon.EngineError, match="stopped"):
            running.result()
        until(lambda: spark.progress() == "")


def test_other_queries_of_the_session_go_on_when_one_is_cancelled(session: Any) -> None:
    with Spark(with_view(session)) as spark:
        spark.cancel()
        assert spark.query(f"select count(*) as n from {spark.table('people').sql}") == [{"n": 8}]


# --- by URL ------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["spark://127.0.0.1:{port}", "sc://127.0.0.1:{port}/;token=dear"])
def test_what_does_not_listen_is_said_at_once(url: str) -> None:
    port = free_port()
    with pytest.raises(kanon.EngineError, match=None) as refused:
        kanon.connect(url.format(port=port))

    assert str(refused.value) == f"Spark can't be reached: nothing listens at 127.0.0.1:{port}."


def test_a_second_spark_in_a_process_is_refused(session: Any) -> None:
    with pytest.raises(kanon.SpecError, match="runs a Spark already"):
        kanon.connect("spark:local[1]")


@pytest.mark.parametrize("url", ["spark:local[2]", "sc://127.0.0.1:1"])
def test_a_missing_pyspark_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if url.startswith("sc:"):
        monkeypatch.setattr("kanon_sql.engines.spark.sessions._require_reachable", lambda _: None)
        monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", None)
    else:
        monkeypatch.setitem(sys.modules, "pyspark", None)

    extra = "spark-connect" if url.startswith("sc:") else "spark"
    with pytest.raises(kanon.MissingDriverError, match=rf"pip install 'kanon-sql\[{extra}\]'"):
        kanon.connect(url)


def command(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """An audit by the command line, in a process and a folder of its own."""
    program = [sys.executable, "-c", "from kanon_sql.cli import main; main()", "audit", *arguments]
    home = str(Path(kanon.__file__).parent.parent)
    return subprocess.run(
        [*program, "--format", "json"],
        env=os.environ | environment() | {"PYTHONPATH": home} | environ,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


QUESTION = ["--qi", "zip,age", "--sensitive", "sex", "--k", "2"]


def of_command(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 1, run.stderr
    [table] = json.loads(run.stdout)["tables"]
    return {part: table[part] for part in ("summary", "histogram", "checks")}


@pytest.fixture
def expected() -> Any:
    found = figures(
        PEOPLE,
        quasi_identifiers=["zip", "age"],
        sensitive=["sex"],
        checks=[kanon.KAnonymity(k=2)],
    )
    return asking.near({part: found[part] for part in ("summary", "histogram", "checks")})


def test_a_local_spark_leaves_nothing_behind(folder: Path, expected: Any) -> None:
    run = command(folder, "*.parquet", *QUESTION, "--connect", "spark:local[2]")

    assert of_command(run) == expected
    assert run.stderr == ""
    assert sorted(file.name for file in folder.iterdir()) == ["one.parquet", "two.parquet"]


def test_a_path_is_told_as_it_is_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    launched = Launched("spark:local[2]", None, None, folder, None)
    here = str(folder).replace("[", "\\[").replace("]", "\\]")

    assert launched.path("one.parquet") == f"file:{here}/one.parquet"
    assert launched.path("*.parquet") == f"file:{here}/*.parquet"
    assert launched.path(f"{folder}/") == f"file:{here}"
    assert launched.path("s3a://bucket/*.parquet") == "s3a://bucket/*.parquet"


def test_files_that_spark_would_leave_out_are_refused(folder: Path) -> None:
    launched = Launched("spark:local[2]", None, None, folder, None)
    (folder / "one.parquet").rename(folder / "_one.parquet")

    for target in (f"{folder}/", f"{folder.parent}/*/*.parquet"):
        with pytest.raises(kanon.InputError, match=r"_one\.parquet does"):
            launched.path(target)


def test_a_folder_that_is_a_table_of_its_own_format_is_refused(folder: Path) -> None:
    (folder / "_delta_log").mkdir()

    with pytest.raises(kanon.InputError, match="Name the table instead"):
        Launched("spark:local[2]", None, None, folder, None).path(f"{folder}/")


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie", "metadata"])
def test_a_session_refuses_it_too(folder: Path, session: Any, log: str) -> None:
    """Spark reads every file of the folder, also those whose records were deleted."""
    escaped = str(folder).replace("[", "\\[").replace("]", "\\]")
    (folder / log).mkdir()
    (folder / log / "00000.json").write_text("{}", encoding="utf-8")

    with pytest.raises(kanon.InputError, match=f"a table \\({re.escape(log)} is in it\\)"):
        kanon.audit(f"{escaped}/", engine=session, quasi_identifiers=["zip"])


def test_a_cluster_answers(folder: Path, cluster: Cluster, expected: Any) -> None:
    options = (*QUESTION, "--connect", cluster.url)
    before = len(cluster.applications())

    run = command(folder, "*.parquet", *options, SPARK_CONF_DIR=str(cluster.settings))

    assert of_command(run) == expected
    [application] = cluster.applications()[before:]
    assert (application["name"], application["cores"]) == ("kanon-sql", 2)
    assert sorted(file.name for file in folder.iterdir()) == ["one.parquet", "two.parquet"]


def test_spark_connect_answers(folder: Path, connect_server: str, expected: Any) -> None:
    escaped = str(folder).replace("[", "\\[").replace("]", "\\]")

    run = command(folder, f"{escaped}/*.parquet", *QUESTION, "--connect", connect_server)

    assert of_command(run) == expected


ON_CONNECT = """
import json, sys, time, warnings
from concurrent.futures import ThreadPoolExecutor
warnings.simplefilter("ignore")
import pyarrow.parquet
from pyspark.sql import SparkSession
import kanon_sql as kanon

builder = SparkSession.builder.remote(sys.argv[2])
builder.config("spark.connect.progress.reportInterval", "100ms")
spark = builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
table = pyarrow.parquet.read_table(sys.argv[1])
spark.createDataFrame(table).createOrReplaceTempView("people")
masked = spark.sql("select replace(zip, '02139', '0213*') as zip, age from people")
masked.createOrReplaceTempView("masked")
spark.range(10**12).selectExpr("id % 7 as zip").createOrReplaceTempView("big")
asked = {"quasi_identifiers": ["zip", "age"], "engine": spark}
told = set()
with kanon.connect(spark) as engine, ThreadPoolExecutor() as other:
    running = other.submit(kanon.audit, "big", quasi_identifiers=["zip"], engine=engine, timeout=4)
    while not running.done():
        told.add(engine.progress())
        time.sleep(0.1)
    slow = running.result()
found = kanon.audit("people", **asked)
linked = kanon.audit("masked", **asked, references={"register": "people"}, k_map=2)
views = sorted(view.name for view in spark.catalog.listTables())
print(json.dumps([slow.to_dict(), found.to_dict(), linked.to_dict(), views, sorted(told)]))
"""


def test_a_connect_session_that_is_open_is_asked(tmp_path: Path, connect_server: str) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    home = str(Path(kanon.__file__).parent.parent)
    run = subprocess.run(
        [sys.executable, "-c", ON_CONNECT, str(tmp_path / "people.parquet"), connect_server],
        env=os.environ | environment() | {"PYTHONPATH": home},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert run.returncode == 0, run.stderr
    slow, found, linked, views, told = json.loads(run.stdout.splitlines()[-1])
    assert "time limit" in slow["tables"][0]["error"]
    [here] = kanon.audit(PEOPLE, quasi_identifiers=["zip", "age"]).to_dict()["tables"]
    assert found["tables"][0]["summary"] == asking.near(here["summary"])
    k_map = {"references": {"register": PEOPLE}, "k_map": 2}
    masked = PEOPLE.set_column(0, "zip", pc.replace_substring(PEOPLE["zip"], "02139", "0213*"))
    [here] = kanon.audit(masked, ["zip", "age"], **k_map).to_dict()["tables"]
    assert linked["tables"][0]["checks"][0] == asking.near(here["checks"][0])
    assert len(linked["tables"][0]["sql"]) > len(here["sql"]) + 5
    assert views == ["big", "masked", "people"]
    assert {"", "0 of 2 tasks"} <= set(told)


def test_a_folder_in_a_folder_is_not_left_out(folder: Path) -> None:
    (folder / "more").mkdir()
    pq.write_table(PEOPLE, folder / "more" / "three.parquet")

    with pytest.raises(kanon.InputError, match="the folder more in it is not read"):
        Launched("spark:local[2]", None, None, folder, None).path(f"{folder}/")


def test_no_log_shows_a_value(session: Any, capfd: pytest.CaptureFixture[str]) -> None:
    session.createDataFrame([("Ann Smith",)], "z string").createOrReplaceTempView("logged")

    with kanon.connect(session) as engine, pytest.raises(kanon.KanonError):
        engine.query('select cast("z" as integer) as z from logged')

    assert "Ann" not in "".join(capfd.readouterr())
