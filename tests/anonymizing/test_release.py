"""What a release may not give away, overwrite or lose."""

from __future__ import annotations

import json
import os
import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from generated import few
from hypothesis import given
from hypothesis import strategies as st
from places import TESTS

import kanon_sql as kanon
from kanon_sql.anonymizing.release.views import CLASSES, DONORS, NUMBERED, VIOLATING
from kanon_sql.auditing import auditor
from kanon_sql.cli.main import main
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.files import LockedFolder
from kanon_sql.results.writing import refuse_to_overwrite

ROWS = [("a", f"N{n:02d}", f"secret {hash((n, 7)) % 97}") for n in range(14)] + [
    ("b", "N90", "x"),
    ("b", "N91", "y"),
    ("c", "N92", "z"),
]
"""Fourteen records above k, two of them to give in step 4, and three that violate."""


def people(rows: list[tuple[str, str, str]] = ROWS) -> pa.Table:
    return pa.table(dict(zip(("q", "name", "secret"), zip(*rows, strict=True), strict=True)))


def released(folder: Path, table: Any, **asked: Any) -> tuple[kanon.AnonymizationResult, list[Any]]:
    path = folder / "release.parquet"
    result = kanon.anonymize(table, **asked, output=path, overwrite=True, force=True)
    return result, pq.read_table(path).to_pylist()


def test_no_order_of_what_is_not_published(tmp_path: Path) -> None:
    """A class that gives records in step 4 comes out in an order that its own columns decide."""
    shuffled = random.Random(1).sample(ROWS, len(ROWS))

    result, rows = released(
        tmp_path, people(shuffled), quasi_identifiers="q", k=5, identifiers="name"
    )

    assert result.anonymization.step4 > 0
    secrets = [row["secret"] for row in rows if row["q"] == "a"]
    assert secrets == sorted(secrets)


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_statements_of_its_audit_read_the_file_that_was_written(
    tmp_path: Path, algorithm: Any, ending: str
) -> None:
    path = tmp_path / f"people's.{ending}"

    result = kanon.anonymize(
        people(ROWS), quasi_identifiers="q", k=5, algorithm=algorithm, output=path
    )

    with duckdb.connect() as connection:
        assert result.tables[0].sql
        for sql in result.tables[0].sql.values():
            assert connection.execute(sql).fetchall()


@pytest.mark.parametrize("name", [VIOLATING, CLASSES, DONORS, NUMBERED, "step_0"])
def test_a_table_called_like_a_view_of_ours(tmp_path: Path, name: str) -> None:
    """Whoever has run the views of a release in a database has tables of these names in it."""
    path = tmp_path / "clinic.duckdb"
    name = f"people_release_{name}"
    with duckdb.connect(str(path)) as connection:
        connection.register("people", people())
        connection.execute("create table people as from people")
        connection.execute(f"create table {name} as select 'a' as q")
    asked: dict[str, Any] = {
        "quasi_identifiers": {"q": {}},
        "engine": f"duckdb:{path}",
        "checks": [kanon.KMap(k=5, reference="voters")],
        "references": {"voters": name},
        "max_suppressed": 3,
        "k": 3,
    }

    result = kanon.anonymize("people", **asked)

    [k_map] = [check for check in result.tables[0].checks if check.model == "k_map"]
    assert (k_map.holds, k_map.achieved) == (False, 1)
    with pytest.raises(kanon.SpecError, match="has the name of a view of the release"):
        kanon.anonymize("people", **asked, output=tmp_path / "views.sql")


@pytest.mark.parametrize("name", ["visits", "Visits", "people", "stay"])
def test_no_view_is_called_as_a_table_of_the_database(tmp_path: Path, name: str) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", people())
        connection.execute("create table stored as from given")
        connection.execute("create view people as from stored")
        connection.execute("create table visits as select 1 as a; create table stay_step_0 (a int)")
    asked: dict[str, Any] = {"quasi_identifiers": "q", "engine": f"duckdb:{path}", "k": 5}

    with pytest.raises(kanon.SpecError, match=r"Call the views something else: view_name\."):
        kanon.anonymize("people", **asked, view_name=name, output=tmp_path / "views.sql")
    written = kanon.anonymize("people", **asked, view_name=name, output=tmp_path / "people.csv")

    assert written.status == "holds"


def test_views_replace_those_of_an_earlier_release(tmp_path: Path) -> None:
    path, views = tmp_path / "clinic.duckdb", tmp_path / "views.sql"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", people())
        connection.execute("create table people as from given")
    for _ in range(2):
        kanon.anonymize(
            "people",
            "q",
            k=5,
            engine=f"duckdb:{path}",
            view_name="open",
            output=views,
            overwrite=True,
        )
        with duckdb.connect(str(path)) as connection:
            connection.execute(views.read_text())


def test_no_view_is_called_as_the_table_that_a_frame_will_be(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"quasi_identifiers": "q", "k": 5, "output": tmp_path / "views.sql"}

    with pytest.raises(kanon.SpecError, match="a view of the release people would be called"):
        kanon.anonymize(people(), **asked, name="people", view_name="people")


def test_step_4_leaves_each_class_what_is_demanded_of_it(tmp_path: Path) -> None:
    rows = [("a", f"{n}", "s") for n in range(12)] + [("b", f"{n}", "s") for n in range(11)]
    rows += [("c", "1", "s"), ("c", "2", "s")]
    risk = kanon.ProsecutorRisk(max_highest=0.1)

    result, kept = released(tmp_path, people(rows), quasi_identifiers="q", k=4, checks=[risk])

    sizes = {value: sum(row["q"] == value for row in kept) for value in ("a", "b", "c")}
    assert (result.status, result.anonymization.step4) == ("holds", 2)
    assert sizes == {"a": 11, "b": 10, "c": 0}


def test_a_reference_keeps_its_levels_in_the_audit_of_the_release() -> None:
    mask = {"zip": {"levels": [{"mask": "right"}]}}
    release = pa.table({"zip": ["0213*", "0213*", "0214*", "0214*"]})
    raw = pa.table({"zip": ["02138", "02139", "02141", "02142", "02142"]})
    asked: dict[str, Any] = {
        "quasi_identifiers": mask,
        "references": {"all": kanon.ReferenceSpec(source=raw, levels={"zip": 1})},
        "checks": [kanon.KMap(k=2, reference="all")],
    }

    result = kanon.anonymize(release, k=2, **asked)

    assert [check.achieved for check in result.tables[0].checks if check.model == "k_map"] == [2]
    assert result.status == "holds"


def test_nothing_that_is_read_is_written_over(tmp_path: Path) -> None:
    table, reference, hierarchy = (tmp_path / name for name in ("p.csv", "r.csv", "h.csv"))
    table.write_text("q\n" + "a\n" * 5)
    reference.write_text("q\n" + "a\n" * 5)
    hierarchy.write_text("a,*\n")
    before = [path.read_bytes() for path in (table, reference, hierarchy)]
    asked: dict[str, Any] = {
        "quasi_identifiers": {"q": {"hierarchy": str(hierarchy)}},
        "references": {"voters": str(reference)},
        "k": 2,
        "overwrite": True,
    }

    for output in (table, reference, hierarchy):
        with pytest.raises(kanon.SpecError, match="will not be written"):
            kanon.anonymize(str(table), **asked, output=output)

    assert [path.read_bytes() for path in (table, reference, hierarchy)] == before


@pytest.mark.parametrize(
    ("ending", "other"), [("parquet", "csv"), ("csv", "tsv"), ("tsv", "parquet")]
)
def test_a_release_goes_into_the_folder_that_a_glob_reads(
    tmp_path: Path, ending: str, other: str
) -> None:
    """Under a name that the glob leaves out, as the next audit would read it otherwise."""
    source = tmp_path / f"part.{ending}"
    delimiter = {"csv": ",", "tsv": "\t"}.get(ending)
    people = duckdb.sql("select 'a' as zip, 'x,y' as name from range(5)")
    people.to_csv(str(source), sep=delimiter) if delimiter else people.to_parquet(str(source))
    for pattern in (f"*.{ending}", f"**/*.{ending}", f"?*.{ending}"):
        output = tmp_path / f"release.{other}"
        output.unlink(missing_ok=True)
        result = kanon.anonymize(
            f"{tmp_path}/{pattern}", quasi_identifiers="zip", k=5, output=output
        )
        assert (result.status, result.tables[0].summary.records) == ("holds", 5)
        assert sorted(os.listdir(tmp_path)) == [f"part.{ending}", f"release.{other}"]


def test_what_a_killed_run_left_is_removed_and_said(tmp_path: Path) -> None:
    output = tmp_path / "release.csv"
    with LockedFolder(tmp_path, ".other.csv.", ".kanon-sql") as living:
        killed = tmp_path / f".release.csv.{'0' * 16}.kanon-sql"
        killed.mkdir()
        (killed / "unfinished").write_text("zip\n02138\n")
        not_a_folder = tmp_path / f".release.csv.{'1' * 16}.kanon-sql"
        not_a_folder.write_text("whoever wrote this")
        result = kanon.anonymize(people(), quasi_identifiers="q", k=5, output=output)

        assert list(result.tables[0].warnings[:2]) == [
            f"{killed} was left over by a run that was killed, and is removed.",
            f"{not_a_folder} may be left over by a run that was killed. Remove it, unless another "
            "run writes there.",
        ]
        assert {*tmp_path.iterdir()} == {living, not_a_folder, output}


VIEWS = {
    "a view": "create view people as from '{file}'",
    "a view of a glob": "create view people as from read_csv('{folder}/s*.csv')",
    "a view of a view": "create view v as from '{file}'; create view people as from v",
    "a macro": "create macro m() as table from '{file}'; create view people as from m()",
    "another form": "create view people as from read_csv('{folder}/source.tsv', delim = '\t')",
    "a database beside": "attach '{folder}/source.csv' as b; create table people as select 'a' q",
}
"""What a table may be in a session, that reads a file nobody named to us."""


@pytest.mark.parametrize("what", VIEWS)
def test_no_file_that_an_open_session_reads_is_written_over(tmp_path: Path, what: str) -> None:
    file = tmp_path / ("source.tsv" if what == "another form" else "source.csv")
    if what != "a database beside":
        file.write_text("q\n" + "a\n" * 5)
    with duckdb.connect() as connection:
        connection.execute(VIEWS[what].format(file=file, folder=tmp_path))
        connection.execute("create table b.t as select 1 as a") if "beside" in what else None
        before = file.read_bytes()
        for engine in (connection, kanon.connect(connection)):
            with pytest.raises(kanon.SpecError, match="is read by what is audited and will not be"):
                kanon.anonymize(
                    "people", quasi_identifiers="q", k=1, engine=engine, output=file, overwrite=True
                )
        assert file.read_bytes() == before


def test_no_file_that_a_relation_reads_is_written_over(tmp_path: Path) -> None:
    file = tmp_path / "source.csv"
    file.write_text("q\n" + "a\n" * 5)
    with duckdb.connect() as connection, kanon.connect() as engine:
        if duckdb.__version__ < "2":
            with pytest.raises(kanon.InputError, match=r"from DuckDB 2\.0 on"):
                engine.table(connection.sql(f"from '{file}'"))
            return
        engine.table(connection.sql(f"from '{file}'"))
        with pytest.raises(kanon.SpecError, match="is read by what is audited"):
            refuse_to_overwrite([file], engine.files_read())


def test_no_database_of_sqlite_is_written_over(tmp_path: Path) -> None:
    file, beside = tmp_path / "clinic.sql", tmp_path / "beside.sql"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("create table people as select 'a' as q union all select 'a'")
        connection.execute(f"attach '{beside}' as b")
        connection.execute("create table b.t as select 1 as a")
        for output in (beside, file):
            before = output.read_bytes()
            asked: dict[str, Any] = {"quasi_identifiers": "q", "k": 1, "overwrite": True}
            with pytest.raises(kanon.SpecError, match="is read by what is audited"):
                kanon.anonymize(
                    "people", **asked, engine=kanon.connect(connection, dialect="sqlite"),
                    output=output,
                )  # fmt: skip
            assert output.read_bytes() == before


COMMANDS = {
    "audit": "audit people --connect duckdb:clinic.duckdb --qi q --output source.txt --overwrite",
    "dry run": "audit people --connect duckdb:clinic.duckdb --qi q --dry-run "
    "--output source.txt --overwrite",
    "profile": "profile people --connect duckdb:clinic.duckdb --qi q "
    "--output source.txt --overwrite",
    "compile": "compile people --connect duckdb:clinic.duckdb --qi q "
    "--output source.txt --overwrite",
    "baseline": "baseline people --connect duckdb:clinic.duckdb --qi q --k 1 "
    "--output source.json --overwrite",
    "result": "anonymize people --connect duckdb:clinic.duckdb --qi q --k 1 "
    "--result source.txt --overwrite",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_no_command_writes_over_what_a_view_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = (Path("source.txt"), Path("source.json"))
    for source in sources:
        source.write_text('q\n{"a":1}\n')
    with duckdb.connect("clinic.duckdb") as database:
        database.execute("create view people as from read_csv('source.*', columns={'q': 'text'})")

    with pytest.raises(SystemExit) as ended:
        main(command.split())

    assert ended.value.code == 2
    assert "is read by what is audited and will not be written" in capsys.readouterr().err
    assert [source.read_text() for source in sources] == ['q\n{"a":1}\n'] * 2


def test_a_mask_is_as_long_as_the_records_that_are_asked_about(tmp_path: Path) -> None:
    table = pa.table({"zip": ["123", "124", "1234567"], "old": [False, False, True]})
    mask = {"zip": {"levels": [{"mask": "right"}]}}

    made = kanon.anonymize(table, quasi_identifiers=mask, k=2, max_suppressed=0, where="not old")
    levels = made.anonymization.levels
    looked = kanon.audit(table, quasi_identifiers=mask, levels=levels, where="not old")

    assert (levels, looked.tables[0].summary.k) == ({"zip": 1}, 2)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "snowflake"])
def test_a_large_hierarchy_travels_as_rows(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "views.sql"
    hierarchy = {f"{n:03d}": [f"{n // 100}**"] for n in range(300)}
    table = pa.table({"zip": list(hierarchy)})

    asked = {"quasi_identifiers": {"zip": {"hierarchy": hierarchy}}, "k": 50}
    kanon.anonymize(table, **asked, name="codes", output=path, dialect=dialect)

    text = path.read_text()
    assert "generated and not executed" in text
    assert not any(word in text.upper() for word in ("SPLIT", "UNNEST(", "EXPLODE"))


def test_a_number_that_a_float_would_round_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accounts.csv"
    path.write_text("account\n" + "".join(f"{2**60 + n}\n" for n in range(20)))
    widths = {"account": {"levels": [{"width": 10}]}}

    for ask in (
        lambda: kanon.anonymize(path, quasi_identifiers=widths, k=2, max_suppressed=0),
        lambda: kanon.audit(path, quasi_identifiers=widths, levels={"account": 1}),
    ):
        with pytest.raises(kanon.InputError, match='20 values of "account"'):
            ask()


def test_a_column_that_is_no_number_everywhere_passes_through(tmp_path: Path) -> None:
    path = tmp_path / "nan.parquet"
    numbers = [1.5, None, float("nan"), -0.0, float("inf")] * 4
    pq.write_table(pa.table({"g": ["a"] * 9 + ["b"] * 9 + ["c", "d"], "x": numbers}), path)

    result, rows = released(tmp_path, str(path), quasi_identifiers="g", k=3)

    assert (result.status, result.anonymization.step4, len(rows)) == ("holds", 1, 17)


def test_an_integer_that_parquet_would_round_keeps_its_value(tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "create table t as select 100000000000000000000::hugeint + range as n from range(8)"
        )
        connection.execute("create table u as select interval 1 day as x, 'a' as q from range(8)")

        made = kanon.anonymize("t", quasi_identifiers="n", k=1, engine=connection, output=path)
        with pytest.raises(kanon.InputError, match="INTERVAL"):
            kanon.anonymize(
                "u", quasi_identifiers="q", k=2, engine=connection, output=path, overwrite=True
            )

    assert made.anonymization.classes == 8
    assert {row["n"] for row in pq.read_table(path).to_pylist()} == {10**20 + n for n in range(8)}


def test_the_suppressed_as_a_class_that_fails_are_explained() -> None:
    result = kanon.anonymize(
        people(), quasi_identifiers="q", k=5, max_suppressed=3, suppressed="star"
    )

    assert result.status == "violated"
    assert 'suppressed="remove"' in " ".join(str(result).split())


def test_validate_finds_what_a_hierarchy_lacks(tmp_path: Path) -> None:
    spec = tmp_path / "kanon.yml"
    (tmp_path / "people.csv").write_text("zip\n02138\n02139\n")
    (tmp_path / "zip.csv").write_text("02138,*\n")
    spec.write_text(
        "version: 1\ntables:\n- source: people.csv\n"
        "  quasi_identifiers: {zip: {hierarchy: zip.csv}}\n"
    )

    with pytest.raises(kanon.InputError, match='1 value of "zip"'):
        auditor.validate(kanon.AuditSpec.from_file(spec))


def test_a_file_called_json_holds_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")

    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "people.parquet", "--qi", "q", "--k", "5", "--result", "r.json"])

    assert ended.value.code == 0
    assert json.loads((tmp_path / "r.json").read_text())["anonymization"]["algorithm"] == "datafly"

    with pytest.raises(SystemExit):
        main(["audit", "people.parquet", "--qi", "q", "--k", "5", "--output", "r.xml"])

    assert (tmp_path / "r.xml").read_text().startswith("<?xml")


# --- the views, as text to read and as they run ------------------------------------------------

GOLDEN = TESTS / "golden" / "releases"
VISITS = """
create table visits as
select
    range as visit,
    range // 2 as person,
    'Person ' || range // 2 as name,
    20 + range % 17 as age,
    printf('%03d', range % 23) as area,
    case when range % 5 = 0 then 'HIV' when range % 3 = 0 then 'flu' else 'cold' end as diagnosis
from range(120)
"""
AREAS = {f"{n:03d}": [f"{n // 10:02d}*", "***"] for n in range(240)}
RELEASES: dict[str, dict[str, Any]] = {
    "donated_and_starred": {
        "quasi_identifiers": {"age": {"levels": [{"width": 5}, {"width": 15}]}},
        "identifiers": ["name", "visit", "person"],
        "k": 14,
        "suppressed": "star",
        "where": "visit < 113",
        "max_suppressed": 14,
    },
    "labels_joined": {
        "quasi_identifiers": {"area": {"hierarchy": AREAS}},
        "sensitive": "diagnosis",
        "checks": [kanon.LDiversity(l=2, sensitive="diagnosis")],
        "k": 12,
    },
    "people": {
        "quasi_identifiers": {"age": {"levels": [{"cuts": [25, 30]}, "suppress"]}},
        "identifiers": "name",
        "entity": "person",
        "k": 20,
    },
    "people_left_out": {
        "quasi_identifiers": {"age": {"levels": [{"cuts": [25, 30]}, "suppress"]}},
        "identifiers": "name",
        "entity": "person",
        "entity_in_release": "drop",
        "suppressed": "star",
        "max_suppressed": 30,
        "k": 20,
    },
}


@pytest.mark.parametrize("name", RELEASES)
def test_the_views_are_those_that_were_read_and_run_as_they_stand(
    name: str, tmp_path: Path
) -> None:
    golden, file = GOLDEN / f"{name}.sql", tmp_path / "views.sql"
    asked = RELEASES[name]
    with duckdb.connect() as connection:
        connection.execute(VISITS)
        kanon.anonymize("visits", **asked, engine=connection, output=file)
        path = tmp_path / "release.parquet"
        kanon.anonymize("visits", **asked, engine=connection, output=path)
        if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(file.read_text())

        assert file.read_text() == golden.read_text()
        connection.execute(golden.read_text())
        both = "select count(*) from (from visits_release except all from read_parquet(?))"
        other = "select count(*) from (from read_parquet(?) except all from visits_release)"
        assert [connection.execute(sql, [str(path)]).fetchall() for sql in (both, other)] == [
            [(0,)],
            [(0,)],
        ]


# --- one definition of a value: in the sets, in the views and in the file ------------------------


@pytest.mark.parametrize(
    "how", [{"clip": [10, 90], "levels": ["suppress"]}, {"levels": [{"width": 50}, "suppress"]}]
)
@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_a_suppressed_null_is_in_the_class_of_the_others(
    tmp_path: Path, how: dict[str, Any], suppressed: Any
) -> None:
    """A text column whose levels read numbers: NULL has no number, and becomes `*` all the same."""
    source, path = tmp_path / "ages.csv", tmp_path / "release.csv"
    source.write_text("age,n\n" + "".join(f"{age},{n}\n" for n, age in enumerate([21, 22, 71, ""])))

    result = kanon.anonymize(
        source,
        quasi_identifiers={"age": how},
        k=3,
        max_suppressed=0,
        suppressed=suppressed,
        output=path,
    )

    metrics, summary = result.anonymization.metrics, result.tables[0].summary
    assert (result.status, summary.classes, summary.k) == ("holds", 1, 4)
    assert (metrics.average_class_size, metrics.discernibility) == (4, 16)
    assert [row.partition(",")[0] for row in path.read_text().splitlines()[1:]] == ["*"] * 4


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([0.0, -0.0], 1),
        ([float("nan"), -float("nan")], 1),
        ([float("inf"), -float("inf")], 2),
        ([1e22, 1e-7], 2),
    ],
    ids=str,
)
def test_floats_that_are_equal_are_spelled_alike(
    tmp_path: Path, ending: str, values: list[float], classes: int
) -> None:
    path = tmp_path / f"release.{ending}"

    result = kanon.anonymize(
        pa.table({"q": values * 3}), quasi_identifiers="q", k=3, max_suppressed=0, output=path
    )

    found = (
        pq.read_table(path)["q"].to_pylist()
        if ending == "parquet"
        else path.read_text().split()[1:]
    )
    assert (result.status, result.anonymization.classes, len(set(map(repr, found)))) == (
        "holds",
        classes,
        classes,
    )


@pytest.mark.parametrize(
    ("values", "null_strings"),
    [(["", None], ()), (["NA", None], ["NA"]), (["NA", "-"], ["NA", "-"])],
)
def test_classes_that_a_text_file_would_merge_are_not_written_to_one(
    tmp_path: Path, values: list[str | None], null_strings: list[str]
) -> None:
    table = pa.table({"q": values * 3})
    asked: dict[str, Any] = {"quasi_identifiers": "q", "k": 3, "max_suppressed": 0}

    with pytest.raises(kanon.InputError, match="reads back as NULL"):
        kanon.anonymize(table, **asked, null_strings=null_strings, output=tmp_path / "r.csv")
    made = kanon.anonymize(table, **asked, output=tmp_path / "r.parquet")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.parquet"]
    assert made.anonymization.classes == 2


TEXTS = st.sampled_from(
    (
        *(None, "", " ", "a", '"', "a,b", "a;b", "x\ny", "x\r\ny", "\r", "NA", "null", "\t", "\0"),
        *("\\N", ' "q" ', "\ufeffa", "\x0b", "\u2028", "é", "1", "1.0", "#c"),
    )
)


@few
@given(
    st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[TEXTS] * width), max_size=5)),
    st.lists(st.sampled_from(["NA", "null", " ", "1", "é"]), max_size=2),
    st.sampled_from([",", ";", "\t", None]),
    st.sampled_from(["release.csv", "release.tsv"]),
)
def test_a_text_file_is_read_back_as_it_was_written_or_refused(
    rows: list[tuple[str | None, ...]], null_strings: list[str], delimiter: str | None, name: str
) -> None:
    names = list("xyz"[: len(rows[0]) if rows else 1])
    with (
        TemporaryDirectory() as folder,
        DuckDBEngine(text=TextOptions(delimiter, tuple(null_strings))) as engine,
    ):
        path = Path(folder) / name
        engine.will_write(path, path)
        engine.materialise_rows("kept", names, rows)
        if {cell for row in rows for cell in row} & {"", *null_strings}:
            with pytest.raises(kanon.InputError, match="reads back as NULL"):
                engine.write("kept", path)
            return
        engine.write("kept", path)
        found = engine.query(f"from {engine.table(str(path)).sql}")

    assert [tuple(row.values()) for row in found] == rows


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_null_is_written_as_it_is_read(tmp_path: Path, algorithm: Any, suppressed: Any) -> None:
    table = pa.table({"q": ["a", None, "b"] * 4 + ["c"], "s": ["x", None] * 6 + ["y"]})
    asked: dict[str, Any] = {"quasi_identifiers": "q", "k": 4, "max_suppressed": 1}
    asked |= {"algorithm": algorithm, "suppressed": suppressed, "insensitive": "s"}
    path = tmp_path / "release.csv"

    made = kanon.anonymize(table, **asked, null_strings="NA", force=True, output=path)

    assert "NULL is NA." in str(made)
    assert made.to_dict()["anonymization"]["release"]["null_string"] == "NA"
    fields = {field for line in path.read_text().splitlines() for field in line.split(",")}
    assert "NA" in fields
    assert "" not in fields
    audited = kanon.audit(str(path), quasi_identifiers="q", null_strings="NA")
    assert audited.tables[0].summary == made.tables[0].summary
    for text in ("", "NA"):
        empty = table.set_column(1, "s", pa.array([text, None] * 6 + ["y"]))
        with pytest.raises(
            kanon.InputError, match=r'"s" is an empty text or one of null_strings in'
        ):
            kanon.anonymize(empty, **asked, null_strings="NA", overwrite=True, output=path)


# --- the order of a release ---------------------------------------------------------------------


def typed(rows: int = 60) -> pa.Table:
    """Many types, shuffled, with NULLs, and each record twice apart from its number."""
    numbers = random.Random(3).sample(range(rows), rows)
    ages = [None if n % 7 == 0 else 20 + n % 17 for n in numbers]
    return pa.table(
        {
            "note": pa.array(
                [None if n % 5 == 0 else f"n{n % 9}" for n in numbers]
            ).dictionary_encode(),
            "age": ages,
            "share": [None if n % 11 == 0 else n % 4 / 3 for n in numbers],
            "tags": [["x"] * (n % 3) for n in numbers],
            "sex": ["fm"[n % 2] for n in numbers],
        }
    )


def sort_key(row: dict[str, Any], names: list[str]) -> list[tuple[bool, Any]]:
    """NULL last, and each value by itself."""
    return [(row[name] is None, row[name] if row[name] is not None else 0) for name in names]


@pytest.mark.parametrize("suppressed", ["remove", "star"])
@pytest.mark.parametrize("max_suppressed", [0, 12])
def test_a_release_is_in_the_order_of_what_it_publishes(
    tmp_path: Path, suppressed: Any, max_suppressed: int
) -> None:
    """Quasi-identifiers as they were declared, then the other columns; the source's order, which
    would link it to other releases, is in it nowhere (Sweeney 2002, unsorted matching)."""
    table, shuffled = typed(), typed().take(random.Random(5).sample(range(60), 60))
    asked: dict[str, Any] = {
        "quasi_identifiers": {"sex": {}, "age": {"levels": [{"width": 5}, {"width": 10}]}},
        "k": 6,
        "max_suppressed": max_suppressed,
        "suppressed": suppressed,
    }

    result, rows = released(tmp_path, table, **asked)
    _, again = released(tmp_path, shuffled, **asked)

    assert (bool(result.anonymization.suppressed), len(rows) > 30) == (max_suppressed > 0, True)
    assert rows == sorted(
        rows, key=lambda row: sort_key(row, ["sex", "age", "note", "share", "tags"])
    )
    assert again == rows


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_the_order_of_the_source_is_never_kept(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"release.{ending}"
    numbers = random.Random(1).sample(range(50_000), 50_000)
    table = pa.table({"q": ["a"] * len(numbers), "n": numbers})
    asked: dict[str, Any] = {"quasi_identifiers": "q", "k": 5, "output": path}

    kanon.anonymize(table, **asked)

    if ending == "parquet":
        written = pq.read_table(path)["n"].to_pylist()
    else:
        written = [int(line[2:]) for line in path.read_text().splitlines()[1:]]
    assert written == sorted(numbers)
    with pytest.raises(
        kanon.SpecError, match=r'"keep_order"\. A release is always in the order of'
    ):
        kanon.anonymize(table, **asked, keep_order=True)


def test_values_of_an_enum_are_in_the_order_of_their_texts(tmp_path: Path) -> None:
    """The order in which its values are listed may be that in which the source has them."""
    path = tmp_path / "release.parquet"
    with duckdb.connect() as connection:
        connection.execute("create type kind as enum ('zebra', 'ape', 'unused')")
        connection.execute(
            "create table t as select case when range % 2 = 0 then 'ape' else 'zebra' end::kind "
            "as q from range(10)"
        )
        kanon.anonymize("t", quasi_identifiers="q", k=5, engine=connection, output=path)

    column = pq.read_table(path)["q"]
    assert column.to_pylist() == ["ape"] * 5 + ["zebra"] * 5
    assert b"unused" not in path.read_bytes()


def test_an_order_that_does_not_fit_in_memory_is_spilled(tmp_path: Path) -> None:
    source, path = tmp_path / "people.parquet", tmp_path / "release.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "copy (select range % 50 as q, md5(cast(hash(range) as varchar)) as x, "
            f"hash(range) as y from range(1000000)) to '{source}' (format parquet)"
        )

    result = kanon.anonymize(
        source, quasi_identifiers="q", k=5, output=path, memory_limit="100MB", threads=1
    )

    with duckdb.connect() as connection:
        [[records, descents]] = connection.execute(
            "select count(*), count(*) filter (where before is not null and (q, x) < before) from "
            "(select q, x, lag((q, x)) over () as before from read_parquet(?))",
            [str(path)],
        ).fetchall()
    assert (result.status, records, descents) == ("holds", 1_000_000, 0)


# --- what goes out untouched --------------------------------------------------------------------


def students() -> pa.Table:
    numbers = range(24)
    return pa.table(
        {
            "sex": ["fm"[n % 2] for n in numbers],
            "person": [n // 2 for n in numbers],
            "score": [n % 5 for n in numbers],
            "diagnosis": ["flu" if n % 3 else "cold" for n in numbers],
        }
    )


def test_what_goes_out_untouched_is_said(tmp_path: Path) -> None:
    """Of a person's two records one is f and one is m: all are alone with their number."""
    path = tmp_path / "release.csv"

    result = kanon.anonymize(
        students(), quasi_identifiers="sex", sensitive="diagnosis", k=5, output=path
    )

    assert result.status == "holds"
    assert result.to_dict()["anonymization"]["untouched"] == {
        "columns": ["person", "score"],
        "alone": 24,
    }
    [warning] = [each for each in result.tables[0].warnings if each.startswith("Unassigned and")]
    assert warning == (
        'Unassigned and released unchanged: "person", "score". 24 records '
        "are alone in them and the quasi-identifiers together. Leave them out "
        '(unassigned="drop", or identifiers), make them quasi-identifiers, or declare them '
        "insensitive in a spec."
    )
    for text in (str(result), result._repr_html_()):
        assert "24 records are alone" in " ".join(text.split())


def test_one_column_that_goes_out_untouched_is_said() -> None:
    result = kanon.anonymize(students(), "sex", sensitive="diagnosis", identifiers="person", k=5)

    [warning] = [each for each in result.tables[0].warnings if each.startswith("Unassigned and")]
    assert "make it a quasi-identifier, or declare" in warning
    assert warning.endswith("declare it insensitive in a spec.")


def test_a_release_takes_the_place_of_a_file_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "release.csv"
    os.mkfifo(pipe)

    with pytest.raises(kanon.SpecError, match=r"release\.csv is a pipe, and a release is a file"):
        kanon.anonymize(students(), "sex", k=5, output=pipe, overwrite=True)

    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("asked", "untouched", "header"),
    [
        ({"untouched": "drop"}, {"columns": [], "alone": 0}, "sex,diagnosis"),
        ({"unassigned": "drop"}, {"columns": [], "alone": 0}, "sex,diagnosis"),
        (
            {"insensitive": ["person"], "unassigned": "drop"},
            {"columns": [], "alone": 0},
            "sex,person,diagnosis",
        ),
        (
            {"insensitive": ["person"]},
            {"columns": ["score"], "alone": 0},
            "sex,person,score,diagnosis",
        ),
        (
            {"identifiers": ["person"], "insensitive": ["score"], "unassigned": "error"},
            {"columns": [], "alone": 0},
            "sex,score,diagnosis",
        ),
    ],
    ids=str,
)
def test_what_becomes_of_columns_without_a_part(
    tmp_path: Path, asked: dict[str, Any], untouched: dict[str, Any], header: str
) -> None:
    path = tmp_path / "release.csv"

    result = kanon.anonymize(
        students(), quasi_identifiers="sex", sensitive="diagnosis", k=5, output=path, **asked
    )

    assert result.to_dict()["anonymization"]["untouched"] == untouched
    assert path.read_text().splitlines()[0] == header
    told = any("Unassigned and released" in each for each in result.tables[0].warnings)
    assert told == bool(untouched["columns"])


def test_columns_without_a_part_are_refused(tmp_path: Path, capsys: Any) -> None:
    source, path = tmp_path / "students.parquet", tmp_path / "release.csv"
    pq.write_table(students(), source)
    spec = tmp_path / "kanon.yml"
    spec.write_text(
        "version: 1\ntables:\n- source: students.parquet\n  quasi_identifiers: [sex]\n"
        "  sensitive: [diagnosis]\n  unassigned: error\n  checks: [{k_anonymity: {k: 5}}]\n"
    )
    message = '2 unassigned columns: "person", "score"'

    with pytest.raises(kanon.SpecError, match=message):
        kanon.anonymize(kanon.AuditSpec.from_file(spec), output=path)
    for more, code in (([], 2), (["--dry-run"], 2), (["--untouched", "drop"], 0)):
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", str(spec), "--output", str(path), *more])
        assert ended.value.code == code
        assert (message in capsys.readouterr().err) == (code == 2)

    assert path.read_text().splitlines()[0] == "sex,diagnosis"


def test_an_insensitive_column_plays_one_part() -> None:
    for asked in ({"sensitive": "score"}, {"identifiers": "score"}, {"entity": "score"}):
        with pytest.raises(kanon.SpecError, match="one role"):
            kanon.anonymize(students(), quasi_identifiers="sex", k=5, insensitive="score", **asked)
    with pytest.raises(kanon.SpecError, match="scor"):
        kanon.anonymize(students(), quasi_identifiers="sex", k=5, insensitive="scor")


def test_a_weight_that_goes_out_is_said() -> None:
    weighted = students().append_column("weight", [[1 + n % 3 for n in range(24)]])

    result = kanon.anonymize(weighted, quasi_identifiers="sex", k=5, weight="weight")

    assert any(
        'The weight "weight" is in the release' in each for each in result.tables[0].warnings
    )


# --- the views in a database --------------------------------------------------------------------


def test_views_run_twice_and_for_two_tables_in_one_schema(tmp_path: Path) -> None:
    asked = RELEASES["donated_and_starred"]
    with duckdb.connect() as connection:
        connection.execute(VISITS)
        connection.execute("create table calls as select * replace (age + 1 as age) from visits")
        for table in ("visits", "calls"):
            kanon.anonymize(table, **asked, engine=connection, output=tmp_path / f"{table}.sql")
        for table in ("visits", "calls", "visits", "calls"):
            connection.execute((tmp_path / f"{table}.sql").read_text())
        ages = [
            sorted(connection.execute(f"select distinct age from {table}_release").fetchall())
            for table in ("visits", "calls")
        ]
        dropping = [
            line.removeprefix("-- ")
            for table in ("visits", "calls")
            for line in (tmp_path / f"{table}.sql").read_text().splitlines()
            if line.startswith("-- drop view")
        ]
        for line in dropping:
            connection.execute(line)
        left = connection.execute("select count(*) from duckdb_views() where not internal")
        assert left.fetchall() == [(0,)]
    assert ages[0] != ages[1]


@pytest.mark.parametrize("name", RELEASES)
def test_a_single_view_is_the_same_release(tmp_path: Path, name: str) -> None:
    asked, path = RELEASES[name], tmp_path / "view.sql"
    with duckdb.connect() as connection:
        connection.execute(VISITS)
        chain = kanon.anonymize("visits", **asked, engine=connection)
        single = kanon.anonymize(
            "visits", **asked, engine=connection, output=path, single_view=True, view_name="for_you"
        )
        for view in chain.anonymization.views:
            connection.execute(view)
        connection.execute(path.read_text())

        views = connection.execute(
            "select view_name from duckdb_views() where not internal and view_name like 'for%'"
        )
        assert views.fetchall() == [("for_you",)]
        assert len(single.anonymization.views) == 1
        released = [
            connection.execute(f"from {view}").fetchall() for view in ("visits_release", "for_you")
        ]
    assert released[0] == released[1]
    assert "Personal data" not in path.read_text()


@pytest.mark.parametrize(
    "dialect", ["postgres", "snowflake", "tsql", "sqlite", "mysql", "bigquery"]
)
def test_a_script_that_can_be_run_again_in_each_dialect(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "views.sql"
    kanon.anonymize(
        people(), quasi_identifiers="q", k=5, output=path, dialect=dialect, name="staff"
    )

    text = path.read_text()
    creating = {
        "tsql": "create or alter view",
        "sqlite": "create view",
        "postgres": "create view",
    }
    assert f"\n{creating.get(dialect, 'create or replace view')} staff_release as" in text
    assert "\ndrop view if exists staff_release;\n" in text
    is_whole = "\nbegin;\n" in text and "\ncommit;\n" in text
    assert is_whole == (dialect in ("sqlite", "postgres"))
    assert ("order by all of its columns" in text) == (dialect == "tsql")
    *_, last = text.partition("from published_records")
    by_flag = re.search(r"case when .q. is null then 1 else 0 end,\s+.q.", last) is not None
    assert by_flag == (dialect in ("mysql", "bigquery"))
    assert text.rstrip().endswith("-- drop view staff_release_step_0;")


def test_who_is_alone_with_what_is_untouched_is_counted_in_people(tmp_path: Path) -> None:
    """One person has both records of a note that nobody else has."""
    rows = [("p1", "a", "n1"), ("p1", "a", "n1"), ("p2", "a", "n2"), ("p3", "a", "n2")]
    table = pa.table(
        dict(zip(["pid", "zip", "note"], map(list, zip(*rows, strict=True)), strict=True))
    )

    result = kanon.anonymize(table, ["zip"], k=3, entity="pid")

    [untouched] = [result.anonymization.untouched]
    assert untouched.to_dict() == {"columns": ["note"], "alone": 1}
    assert (
        "1 person is alone in it and the quasi-identifiers together."
        in result.tables[0].warnings[0]
    )


def test_a_release_of_some_files_says_which_it_left_out(tmp_path: Path) -> None:
    for name in ("a.csv", ".b.csv"):
        (tmp_path / name).write_text("zip\n" + "02138\n" * 5)

    result = kanon.anonymize(str(tmp_path / "*.csv"), ["zip"], k=2)
    known = kanon.profile(str(tmp_path / "*.csv"), ["zip"])

    assert [
        ".b.csv" in said for said in (result.tables[0].warnings[0], known.tables[0].warnings[0])
    ] == [True, True]


def test_the_algorithms_are_compared_side_by_side(tmp_path: Path) -> None:
    rows = "\n".join(f"{20 + n % 13},{'ab'[n % 2]}" for n in range(60))
    (tmp_path / "people.csv").write_text(f"age,sex\n{rows}\n")
    release = tmp_path / "release.csv"
    asked = ["anonymize", str(tmp_path / "people.csv"), "--qi", "age,sex", "--k", "5",
             "--hierarchy", "age=width:5,10,20", "--max-suppressed", "5%"]  # fmt: skip

    done = run(*asked, "--compare", "--output", str(release), "--format", "json")
    made = json.loads(done.stdout)["anonymization"]
    alone = {
        name: json.loads(run(*asked, "--algorithm", name, "--format", "json").stdout)
        for name in ("datafly", "optimal", "local")
    }

    assert release.exists()
    assert made["algorithm"] == "datafly"
    assert made["compared"] == [
        {
            "algorithm": name,
            "holds": True,
            "loss": found["anonymization"]["metrics"]["loss"],
            "suppressed": found["anonymization"]["suppressed"],
            "classes": found["tables"][0]["summary"]["classes"],
        }
        for name, found in alone.items()
    ]
    shown = run(*asked, "--compare").stdout
    assert "The same question to each algorithm:" in shown
    assert "--compare shows" not in shown
