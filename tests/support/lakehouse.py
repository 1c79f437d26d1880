"""Audits Delta and Iceberg tables where DuckDB has the extensions, and prints the figures."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import deltalake
import pyarrow
from pyiceberg.catalog.sql import SqlCatalog

import kanon_sql as kanon

FORMATS = ("delta", "iceberg")
PEOPLE = pyarrow.table({"zip": ["a", "a", "b", None], "age": [1, 1, 2, 3]})
ONE = pyarrow.table({"x": [1.0, float("nan")], "s": ["a", "b"]})
TWO = pyarrow.table({"x": [5.0, 6.0], "s": ["c", "d"]})


def install_extensions(home: Path, *names: str) -> None:
    """Put the extensions of the packages where DuckDB looks for installed ones."""
    for name in ("avro", "delta", "iceberg", *names):
        found = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert found is not None
        assert found.origin is not None
        for file in Path(found.origin).parent.glob("extensions/*/*.duckdb_extension"):
            there = home / ".duckdb" / "extensions" / file.parent.name / "linux_amd64"
            there.mkdir(parents=True, exist_ok=True)
            (there / file.name).write_bytes(file.read_bytes())


def make_tables(folder: Path) -> dict[str, str]:
    """The tables by name: people with a deleted record, and files whose bounds lack a NaN."""
    deltalake.write_deltalake(folder / "people", PEOPLE)
    deltalake.write_deltalake(folder / "people", PEOPLE, mode="append")
    deltalake.DeltaTable(folder / "people").delete("zip = 'b'")
    deltalake.write_deltalake(folder / "nan", ONE)
    deltalake.write_deltalake(folder / "nan", TWO, mode="append")

    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=folder.as_uri())
    catalog.create_namespace("n")
    people = catalog.create_table("n.people", PEOPLE.schema)
    people.append(PEOPLE)
    people.append(PEOPLE)
    people.delete("zip = 'b'")
    nan = catalog.create_table("n.nan", ONE.schema)
    nan.append(ONE)
    nan.append(TWO)
    empty = catalog.create_table("n.empty", ONE.schema)
    return {
        "delta people": str(folder / "people"),
        "delta nan": str(folder / "nan"),
        "iceberg people": people.metadata_location.removeprefix("file://"),
        "iceberg nan": nan.metadata_location.removeprefix("file://"),
        "iceberg empty": empty.metadata_location.removeprefix("file://"),
    }


def figures(table: str, quasi_identifiers: list[str], **asked: Any) -> dict[str, Any]:
    [found] = kanon.audit(table, quasi_identifiers, k=2, **asked).tables
    summary = found.summary
    return {
        "status": found.status,
        "records": summary.records,
        "k": summary.k,
        "snapshots": dict(found.snapshots),
        "sql": " ".join(found.sql.values()),
    }


def main(folder: Path) -> None:
    install_extensions(Path.home())
    tables = make_tables(folder)
    people = {each: figures(tables[f"{each} people"], ["zip", "age"]) for each in FORMATS}
    above = {each: figures(tables[f"{each} nan"], ["s"], where="x > 2") for each in FORMATS}
    hint = Path(tables["iceberg people"])
    (hint.parent / "version-hint.text").write_text(hint.name.removesuffix(".metadata.json"))
    linked = kanon.audit(PEOPLE, ["zip"], references={"all": tables["delta people"]}, k_map=2)
    released = kanon.anonymize(tables["delta people"], ["zip", "age"], k=3)
    print(
        json.dumps(
            {
                "people": people,
                "above": above,
                "hinted": figures(str(hint.parent.parent), ["zip"]),
                "empty": figures(tables["iceberg empty"], ["s"]),
                "released": released.tables[0].summary.records,
                "linked": dict(linked.tables[0].snapshots),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
