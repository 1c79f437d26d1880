"""Objects in a store or on a web server: what is read and refused, and that no secret is shown.

What needs DuckDB's extensions runs in an environment of its own, as their packages are for one
version of DuckDB.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import run
from extensions import figures_of

import kanon_sql as kanon
from kanon_sql.engines.duckdb.objects import Objects, objects_at
from kanon_sql.files import shown_url, whole_url, without_credentials

SECRET = "5ec2e7"


# --- addresses, without a network ------------------------------------------------------------


@pytest.mark.parametrize(
    ("whole", "shown"),
    [
        ("s3://clinic/a@b/*.parquet", "s3://clinic/a@b/*.parquet"),
        (f"s3://key:{SECRET}@clinic/f.csv", "s3://…@clinic/f.csv"),
        (f"s3://clinic/f.csv?s3_secret_access_key={SECRET}", "s3://clinic/f.csv?…"),
        (f"https://host/f.csv?X-Amz-Signature={SECRET}&a=b@c", "https://host/f.csv?…"),
        (f"https://host:8080/f.csv#token={SECRET}", "https://host:8080/f.csv?…"),
        (f"https://ann:{SECRET}@host/f.csv", "https://…@host/f.csv"),
        (f"https://ann:{SECRET}/more@host/f.csv", "https://…"),
        (f"https://ann:{SECRET}?more@host/f.csv", "https://…"),
        (f"https://ann:a@{SECRET}@host/f.csv", "https://…@host/f.csv"),
        (f"az://clinic/f.csv?sv=2024&sig={SECRET}", "az://clinic/f.csv?…"),
        ("abfss://clinic@account.example/f.csv", "abfss://clinic@account.example/f.csv"),
        ("https://[::1]:8080/f.csv", "https://[::1]:8080/f.csv"),
    ],
)
def test_a_url_is_shown_without_its_secrets(whole: str, shown: str) -> None:
    assert without_credentials(whole) == shown
    assert without_credentials(f"all={whole}") == f"all={shown}"
    assert whole_url(shown_url(whole)) == whole


def test_two_urls_that_look_alike_are_told_apart() -> None:
    first, second = (shown_url(f"https://host/twins.csv?id={n}") for n in (1, 2))

    assert (first, second) == ("https://host/twins.csv?…", "https://host/twins.csv?…2")
    assert shown_url("https://host/twins.csv?id=1") == first
    assert whole_url(second) == "https://host/twins.csv?id=2"


@pytest.mark.parametrize("address", ["s3://clinic/p.parquet", f"https://host/p.csv?sig={SECRET}"])
def test_an_extension_is_never_downloaded(
    address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(
        kanon.MissingDriverError, match=r'no extension "httpfs" installed\. Install it, .*python -c'
    ) as raised:
        kanon.audit(address, ["zip"])

    assert SECRET not in str(raised.value)
    assert not (tmp_path / ".duckdb").exists()


def test_a_stored_address_lacks_its_signature(tmp_path: Path) -> None:
    spec = tmp_path / "kanon.yml"
    spec.write_text("tables: [{source: 'https://host/stored.csv?…', quasi_identifiers: [zip]}]")

    with pytest.raises(kanon.KanonError, match=r"stored\.csv\?…: its signature or password is wit"):
        kanon.audit(kanon.AuditSpec.from_file(spec))


def test_a_web_server_lists_nothing() -> None:
    with pytest.raises(kanon.InputError, match="a web server lists no files"):
        kanon.audit("https://host/*.parquet", ["zip"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("anonymize", "p.csv", "--qi", "zip", "--k", "2", "--output", f"s3://b/r.csv?{SECRET}"),
        ("audit", "p.csv", "--qi", "zip", "--output", f"gs://b/r.json?{SECRET}"),
        ("compile", "p.csv", "--qi", "zip", "--output", f"https://host/r.sql?{SECRET}"),
    ],
)
def test_nothing_is_written_to_a_store(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("zip\n1\n")

    ended = run(*arguments)

    assert ended.exit_code == 2
    assert "files are written here, and copied to a store from here" in ended.stderr
    assert SECRET not in ended.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["p.csv"]


def keys(*names: str) -> Any:
    """A listing of a bucket by DuckDB's own globs, over files of these names."""

    def listed(pattern: str) -> list[str]:
        quoted = ", ".join(f"('s3://b/{name}')" for name in names)
        glob = pattern.replace("**/*", "*").replace("**", "*")
        rows = duckdb.sql(f"select n from (values {quoted}) t(n) where n glob '{glob}' order by n")
        return [name for (name,) in rows.fetchall()]

    return listed


def test_a_folder_gives_its_parquet_files() -> None:
    listing = objects_at("s3://b/p/", keys("p/year=2024/1.parquet", "p/readme.md", "q/3.parquet"))

    assert listing.pattern == "s3://b/p/**/*.parquet"
    assert listing.files == ("s3://b/p/year=2024/1.parquet",)


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [
        ("s3://b/p/", "p/more/1.parquet", "the folder more in it is not read"),
        ("s3://b/p/", "p/1.csv", "no object matches"),
        ("s3://b/p/", "p/.hoodie/1", r"but a table \(\.hoodie is in it\)"),
        ("s3://b/p/*.parquet", "p/1.csv", "no object matches"),
    ],
)
def test_a_folder_that_is_not_read_whole_is_refused(url: str, name: str, message: str) -> None:
    with pytest.raises(kanon.InputError, match=message):
        objects_at(url, keys(name))


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json", ".hoodie/1"])
def test_parts_of_a_table_are_refused(log: str) -> None:
    for pattern in ("s3://b/p/*.parquet", "s3://b/p/year=2024/*.parquet"):
        with pytest.raises(kanon.InputError, match="s3://b/p is not a folder of Parquet files"):
            objects_at(pattern, keys("p/1.parquet", "p/year=2024/1.parquet", f"p/{log}"))


def test_a_table_in_a_bucket_is_found_with_or_without_a_slash() -> None:
    for url in ("s3://b/p", "s3://b/p/"):
        assert objects_at(url, keys("p/_delta_log/0.json")).format_name == "delta"
        assert objects_at(url, keys("p/metadata/a.metadata.json")).format_name == "iceberg"


def test_only_calls_of_readers_get_the_whole_url() -> None:
    url = shown_url(f"https://host/placed.parquet?sig={SECRET}")
    with duckdb.connect() as session:
        objects = Objects(session, is_ours=False, stopping=threading.Event())
        objects._know([url])
        executed = objects.in_place(
            f"select '{url}' as a from read_parquet(\n    ['{url}'],\n    x = '{url}')"
        )

    assert executed == (
        f"select '{url}' as a from read_parquet(\n    ['https://host/placed.parquet?sig={SECRET}'],"
        f"\n    x = '{url}')"
    )


# --- servers on loopback, in an environment of its own ---------------------------------------


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The figures of the script, in an environment whose DuckDB has the extensions."""
    return figures_of("objects.py", tmp_path_factory)


slow = pytest.mark.slow
patient = pytest.mark.timeout(900)


@slow
@patient
def test_every_form_is_read(asked: dict[str, Any]) -> None:
    assert asked["forms"] == {
        "object": ["1.parquet", "holds", 20, 4],
        "glob": ["*.parquet", "holds", 40, 8],
        "folder": ["parquet", "holds", 40, 8],
        "odd": ["*.parquet", "holds", 20, 4],
        "csv": ["*.csv", "holds", 40, 8],
        "json": ["*.json", "holds", 40, 8],
        "arrow": ["two.arrow", "holds", 2, 2],
        "delta": ["delta", "holds", 6, 2],
        "delta folder": ["delta", "holds", 6, 2],
        "iceberg": ["people", "holds", 6, 2],
    }


@slow
@patient
def test_every_use_of_a_source(asked: dict[str, Any]) -> None:
    uses = asked["uses"]
    sentences = {
        name: uses.pop(name) for name in ("parts of a table", "none", "no object", "output")
    }

    assert uses == {
        "hive": 10,
        "in_sql": True,
        "reference": "holds",
        "spec": 40,
        "profile": 40,
        "released": "holds",
        "proposed": True,
        "init": 0,
        "compiled": True,
    }
    assert {name: (kind, code) for name, (kind, code, _) in sentences.items()} == {
        "parts of a table": ("InputError", 2),
        "none": ("InputError", 2),
        "no object": ("InputError", 2),
        "output": ("SpecError", 2),
    }


FAULTS = {
    "403/wide.parquet": ("InputError", 2, "access is refused (403). A signature may have expired"),
    "404/wide.parquet": ("InputError", 2, "no such object (404)."),
    "503/wide.parquet": ("EngineError", 3, "the server failed (503), also when asked again."),
    "moved/wide.parquet": ("InputError", 2, "is redirected to http://…@127.0.0.1:1/wide.parquet?…"),
    "cut/wide.parquet": ("EngineError", 3, "the connection was cut, also when tried again."),
    "cut/a.csv": ("EngineError", 3, "the connection was cut, also when tried again."),
    "*.parquet": ("InputError", 2, "a web server lists no files."),
    "refused": ("EngineError", 3, "no connection: the server refuses it, or does not run."),
    "changes": ("result", "error", "changed while it was being audited; run again."),
    "grows": ("result", "error", "changed while it was being audited; run again."),
}


@slow
@patient
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_said_with_its_place_and_without_a_secret(
    asked: dict[str, Any], fault: str
) -> None:
    kind, code, words = FAULTS[fault]

    found = asked["faults"][fault]

    assert found[:2] == [kind, code]
    assert words in found[2]
    assert ".parquet?…" in found[2] or ".csv?…" in found[2]
    assert "PLANTED" not in found[2]


@slow
@patient
def test_no_output_holds_a_secret(asked: dict[str, Any]) -> None:
    assert asked["leaks"]["secrets"] == 0
    assert asked["leaks"]["urls"] > 10
    assert asked["leaks"]["ends"] == [0] * 15 + [2] * 2 + [0]
    assert asked["faults"]["withheld"] == [1, 0]


@slow
@patient
def test_a_limit_and_an_interrupt_end_the_wait_for_a_server(asked: dict[str, Any]) -> None:
    limit, interrupt = asked["waiting"]["limit"], asked["waiting"]["interrupt"]

    assert limit[:2] == [3, True]
    assert "the time limit was reached" in limit[2]
    assert interrupt == [130, True, "Interrupted; nothing was written."]
    assert asked["waiting"]["left"] == []


@slow
@patient
def test_only_the_columns_and_row_groups_of_the_question_are_sent(asked: dict[str, Any]) -> None:
    sent = asked["bytes"]

    assert sent["audit"] <= 1.01 * sent["by hand"]
    assert sent["filtered audit"] <= 1.01 * sent["filtered by hand"]
    assert sent["filtered audit"] < sent["all row groups"]
    assert 100 * sent["audit"] < sent["file"]


@slow
@patient
def test_only_the_addresses_of_the_question_are_read(asked: dict[str, Any]) -> None:
    records, *others = asked["locked"]

    assert records == 200_000
    assert len(others) == 3
    assert all("reads a file that the audit did not name" in said for said in others)


@slow
@patient
def test_a_view_reads_its_own_objects_only(asked: dict[str, Any]) -> None:
    assert asked["views"] == {
        "near": ["near", "holds", 200_000, 4000],
        "asked": False,
        "far": ["far", "holds", 200_000, 4000],
    }


@slow
@patient
def test_a_persistent_secret_of_duckdb_signs_in(asked: dict[str, Any]) -> None:
    assert asked["persistent"] == [["1.parquet", "holds", 20, 4]] * 2


@slow
@patient
def test_a_session_of_the_user_brings_its_own_extension(asked: dict[str, Any]) -> None:
    session = asked["session"]

    assert session["before"][0] == "MissingDriverError"
    assert session["before"][2].endswith("loaded in this session. Load it there: load httpfs")
    assert session["after"] == ["wide.parquet", "holds", 200_000, 4000]
    assert session["text"] == ["1.csv", "holds", 20, 4]
