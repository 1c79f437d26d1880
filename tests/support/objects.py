"""Audits objects in an S3 store and on a web server where DuckDB has the extensions, and prints the
figures."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import duckdb
import pyarrow
import pyarrow.feather
from commands import run
from lakehouse import PEOPLE, install_extensions, make_tables
from moto.server import ThreadedMotoServer
from pyiceberg.catalog.sql import SqlCatalog
from signals_reset import ended_by_signals
from web import Web

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine

SECRET = "PLANTED"
SIGNED = f"?X-Amz-Credential={SECRET}&X-Amz-Signature={SECRET}"
KANON = str(Path(sys.executable).with_name("kanon-sql"))


@contextmanager
def store() -> Iterator[Any]:
    """An S3 store on loopback, for which the environment has credentials; its client."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL + 1)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }
    try:
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="clinic")
        yield client
    finally:
        server.stop()


def write_files(folder: Path) -> None:
    """Visits of two years as Parquet, CSV, JSON and Arrow; a wide table, and a longer one."""
    for year in (2024, 2025):
        for suffix in ("parquet", "csv", "json"):
            file = folder / f"visits/{suffix}/year={year}/1.{suffix}"
            file.parent.mkdir(parents=True)
            duckdb.execute(
                f"copy (select range % 5 as zip, range % 2 as sex from range(20)) to '{file}'"
            )
    odd = folder / "visits/odd/a[1]*b.parquet"
    odd.parent.mkdir()
    odd.write_bytes((folder / "visits/parquet/year=2024/1.parquet").read_bytes())
    pyarrow.feather.write_feather(
        pyarrow.table({"zip": [1, 1], "sex": [0, 0]}), folder / "visits/two.arrow"
    )
    columns = ", ".join(f"hash(range + {n}) as c{n}" for n in range(8))
    for name, records in (("wide", 200_000), ("longer", 300_000)):
        duckdb.execute(
            f"copy (select range % 50 as zip, range % 2 as sex, range as number, {columns} "
            f"from range({records})) to '{folder}/{name}.parquet'"
        )


def upload(client: Any, folder: Path) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            client.upload_file(str(file), "clinic", str(file.relative_to(folder)))


def counts(table: str, **asked: Any) -> list[Any]:
    [found] = kanon.audit(table, ["zip"], k=2, **asked).tables
    return [found.name, found.status, found.summary.records, found.summary.k]


def refusal(ask: Callable[[], Any]) -> list[Any]:
    """The class, exit code and message of the error, or the error of the result."""
    try:
        [table] = ask().tables
    except kanon.KanonError as error:
        return [type(error).__name__, error.exit_code, str(error)]
    return ["result", table.status, table.error]


def forms(iceberg: str) -> dict[str, Any]:
    """How many records there are in each form."""
    bucket = "s3://clinic"
    return {
        "object": counts(f"{bucket}/visits/parquet/year=2024/1.parquet"),
        "glob": counts(f"{bucket}/visits/parquet/*/*.parquet"),
        "folder": counts(f"{bucket}/visits/parquet/"),
        "odd": counts(f"{bucket}/visits/odd/*.parquet"),
        "csv": counts(f"{bucket}/visits/csv/*/*.csv"),
        "json": counts(f"{bucket}/visits/json/*/*.json"),
        "arrow": counts(f"{bucket}/visits/two.arrow"),
        "delta": counts(f"{bucket}/delta"),
        "delta folder": counts(f"{bucket}/delta/"),
        "iceberg": counts(iceberg),
    }


def uses(folder: Path) -> dict[str, Any]:
    """Each use of a source, with an object in its place."""
    visits, local = "s3://clinic/visits/parquet/", f"{folder}/visits/parquet/"
    spec = folder / "kanon.yml"
    spec.write_text(f"tables:\n  - source: {visits}\n    quasi_identifiers: [zip, year]\n")
    by_hive = kanon.audit(visits, ["zip", "year"], k=2).tables[0]
    released = folder / "released.parquet"
    kanon.anonymize(visits, {"zip": {"levels": [{"width": 10}]}}, k=3, output=released)
    proposed = run("init", visits, "--output", f"{folder}/proposed.yml")
    return {
        "hive": by_hive.summary.classes,
        "in_sql": "s3://clinic/visits/parquet/year=2024/1.parquet" in by_hive.sql["classes"],
        "reference": kanon.audit(local, ["zip"], references={"all": visits}, k_map=2).status,
        "spec": kanon.audit(kanon.AuditSpec.from_file(spec)).tables[0].summary.records,
        "profile": kanon.profile(visits, ["zip"]).tables[0].summary.records,
        "released": kanon.audit(str(released), ["zip"], k=3).status,
        "proposed": f'source: "{visits}"' in (folder / "proposed.yml").read_text(),
        "init": proposed.exit_code,
        "compiled": str(kanon.compile(visits, ["zip"], k=2)).count("s3://clinic/visits") > 0,
        "parts of a table": refusal(lambda: kanon.audit("s3://clinic/delta/*.parquet", ["zip"])),
        "none": refusal(lambda: kanon.audit("s3://clinic/none/*.parquet", ["zip"])),
        "no object": refusal(lambda: kanon.audit("s3://clinic/none.parquet", ["zip"])),
        "output": refusal(
            lambda: kanon.anonymize(visits, ["zip"], k=3, output=f"s3://b/r.parquet?{SECRET}")
        ),
    }


def faults(web: Web) -> dict[str, Any]:
    """What is said where a server or the network fails."""
    paths = [f"{code}/wide.parquet" for code in (403, 404, 503)]
    paths += ["moved/wide.parquet", "cut/wide.parquet", "cut/a.csv", "*.parquet"]
    addresses = {path: f"{web.url}/{path}{SIGNED}" for path in paths}
    addresses["refused"] = f"http://127.0.0.1:1/wide.parquet{SIGNED}"
    addresses["changes"] = f"{web.url}/changes/wide.parquet{SIGNED}"
    addresses["grows"] = f"{web.url}/grows/wide.parquet{SIGNED}"
    asked = {
        name: refusal(lambda url=url: kanon.audit(url, ["zip"], k=2))
        for name, url in addresses.items()
    }
    shown = kanon.audit(f"{web.url}/wide.parquet{SIGNED}", ["zip"], k=2).tables[0].sql["classes"]
    asked["withheld"] = [shown.count("wide.parquet?…"), shown.count(SECRET)]
    return asked


def leaks(web: Web, folder: Path) -> dict[str, Any]:
    """How often the outputs hold a secret of the URLs, and how often the URL without it."""
    signed = f"http://ann:{SECRET}@{web.url.partition('://')[2]}/wide.parquet{SIGNED}"
    csv = f"{web.url}/visits/csv/year=2024/1.csv{SIGNED}"
    work = folder / "outputs"
    work.mkdir()
    commands = [
        ["audit", signed, "--qi", "zip", "--k", "2", "--format", form, "-v"]
        for form in ("human", "json", "markdown", "junit", "sarif", "github", "openlineage")
    ]
    commands += [
        ["audit", csv, "--qi", "zip", "--k-map", "2", "--reference", f"all={signed}", "-v"],
        ["audit", signed, "--qi", "zip", "--k", "2", "--output", "result.json"],
        ["report", "result.json", "--output", "report.html"],
        ["baseline", signed, "--qi", "zip", "--k", "2", "--output", "baseline.json"],
        ["compile", signed, "--qi", "zip", "--k", "2"],
        ["profile", signed, "--qi", "zip", "--format", "json"],
        ["init", signed, "--output", "kanon.yml"],
        ["audit", "kanon.yml"],
        ["audit", signed, "--qi", "nothing", "--k", "2"],
        ["audit", signed, "--qi", "zip", "--where", "zip = date '2'"],
        ["anonymize", csv, "--qi", "zip", "--k", "2", "--output", "r.csv", "--result", "r.json"],
    ]
    said = ""
    ends = []
    os.chdir(work)
    for command in commands:
        ended = run(*command)
        said += ended.stdout + ended.stderr
        ends.append(ended.exit_code)
    os.chdir(folder)
    said += "".join(file.read_text("utf-8", "replace") for file in work.rglob("*"))
    return {"secrets": said.count(SECRET), "urls": said.count("wide.parquet?…"), "ends": ends}


def waiting(web: Web, folder: Path) -> dict[str, Any]:
    """The end of a command while the server doesn't answer: exit code, whether soon, leftovers."""
    spill = folder / "spill"
    spill.mkdir()
    found: dict[str, Any] = {}
    for name, path, limit in (
        ("limit", "late/visits/csv/year=2024/1.csv", ["--timeout", "2"]),
        ("interrupt", "late/wide.parquet", []),
    ):
        command = [KANON, "audit", f"{web.url}/{path}", "--qi", "zip", "--k", "2", *limit]
        web.late.clear()
        process = subprocess.Popen(
            ended_by_signals(command), stderr=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(spill)},
        )  # fmt: skip
        try:
            assert web.late.wait(60), "the server was not asked"
            started = time.monotonic()
            if not limit:
                process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        found[name] = [process.returncode, time.monotonic() - started < 20, said.strip()]
    found["left"] = sorted(file.name for file in spill.iterdir())
    return found


def bytes_sent(web: Web) -> dict[str, int]:
    """What the server sends for audits of declared columns, and for the queries by hand."""
    url, size = f"{web.url}/wide.parquet", (web.folder / "wide.parquet").stat().st_size
    others = ["number", *(f"c{n}" for n in range(8))]

    def sent(ask: Callable[[], Any]) -> int:
        before = web.bytes_sent
        ask()
        return web.bytes_sent - before

    def by_hand(sql: str) -> Callable[[], Any]:
        return lambda: duckdb.connect().execute(f"load httpfs; {sql}").fetchall()

    zips = f"select zip, count(*) from '{url}'"
    return {
        "file": size,
        "by hand": sent(by_hand(f"select zip, sex, count(*) from '{url}' group by all")),
        "audit": sent(lambda: kanon.audit(url, ["zip", "sex"], k=2, identifiers=others)),
        "filtered by hand": sent(by_hand(f"{zips} where number < 1000 group by all")),
        "filtered audit": sent(
            lambda: kanon.audit(url, ["zip"], k=2, where="number < 1000", identifiers=others)
        ),
        "all row groups": sent(by_hand(f"{zips} where number % 2 = 0 group by all")),
    }


def locked(web: Web) -> list[Any]:
    """What a statement may read once the question is known."""
    answers: list[Any] = []
    with DuckDBEngine() as engine:
        table = engine.table(f"{web.url}/wide.parquet{SIGNED}")
        answers.append(engine.query(f"select count(*) as n from {table.sql}")[0]["n"])
        for other in (f"{web.url}/longer.parquet", f"{web.url}/wide.parquet", "/etc/passwd"):
            try:
                engine.query(f"select count(*) from read_blob('{other}')")
                answers.append("read")
            except kanon.EngineError as error:
                answers.append(str(error))
    return answers


def through_views(web: Web, folder: Path) -> dict[str, Any]:
    """A local view, for which no server is asked, beside a view over an object."""
    database = str(folder / "views.duckdb")
    with duckdb.connect(database) as connection:
        connection.execute("load httpfs")
        for name, path in (("far", f"{web.url}/wide.parquet{SIGNED}"), ("near", "wide.parquet")):
            connection.execute(f"create view {name} as from read_parquet('{path}')")
    asked = {"engine": f"duckdb:{database}"}
    before = dict(web.requests)
    near = counts("near", **asked)
    return {"near": near, "asked": web.requests != before, "far": counts("far", **asked)}


def with_persistent_secret() -> list[Any]:
    """An audit where DuckDB keeps the credentials, and the environment has none."""
    server = os.environ.pop("AWS_ENDPOINT_URL").partition("://")[2]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        del os.environ[name]
    with duckdb.connect() as connection:
        connection.execute("load httpfs")
        for kind in ("s3", "gcs"):
            connection.execute(
                f"create persistent secret clinic_{kind} (type {kind}, key_id 'key', secret "
                f"'{SECRET}', endpoint '{server}', use_ssl false, url_style 'path')"
            )
    return [counts(f"{at}://clinic/visits/parquet/year=2024/1.parquet") for at in ("s3", "gs")]


def in_a_session(web: Web) -> dict[str, Any]:
    """An audit in a session of the user, before and after it has the extension."""
    url = f"{web.url}/wide.parquet{SIGNED}"
    with duckdb.connect() as connection:
        before = refusal(lambda: kanon.audit(url, ["zip"], k=2, engine=connection))
        connection.execute("load httpfs")
        text = f"{web.url}/visits/csv/year=2024/1.csv"
        return {
            "before": before,
            "after": counts(url, engine=connection),
            "text": counts(text, engine=connection),
        }


def main(folder: Path) -> None:
    install_extensions(Path.home(), "httpfs", "aws", "azure")
    write_files(folder)
    with store() as client, Web(folder) as web:
        (folder / "tables").mkdir()
        os.rename(make_tables(folder / "tables")["delta people"], folder / "delta")
        upload(client, folder)
        places = {"s3.endpoint": os.environ["AWS_ENDPOINT_URL"], "s3.access-key-id": "key"}
        catalog = SqlCatalog(
            "c",
            uri=f"sqlite:///{folder}/objects.db",
            warehouse="s3://clinic/warehouse",
            **{**places, "s3.secret-access-key": SECRET, "s3.region": "us-east-1"},
        )
        catalog.create_namespace("n")
        people = catalog.create_table("n.people", PEOPLE.schema)
        people.append(PEOPLE)
        people.append(PEOPLE)
        people.delete("zip = 'b'")
        found = {
            "forms": forms(people.metadata_location),
            "uses": uses(folder),
            "faults": faults(web),
            "leaks": leaks(web, folder),
            "waiting": waiting(web, folder),
            "bytes": bytes_sent(web),
            "locked": locked(web),
            "session": in_a_session(web),
            "views": through_views(web, folder),
            "persistent": with_persistent_secret(),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
