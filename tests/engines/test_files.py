"""Files are read whole and as they stand, or refused with the line."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
import re
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import sqlglot
from real_data import DATA

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import InputError, MissingDriverError, SpecError
from kanon_sql.sql.tables import Column, Table

MARKER = "Jane-Marker-7731"


def read(path: Path | str, **options: Any) -> list[tuple[Any, ...]]:
    """All records of `path`, in file order."""
    with DuckDBEngine(text=TextOptions(**options)) as engine:
        table = engine.table(path)
        return [tuple(row.values()) for row in engine.query(f"from {table.sql}")]


def written(folder: Path, content: bytes | str, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path: Path | str, **options: Any) -> str:
    """The sentence with which `path` is refused, without its folder."""
    with pytest.raises(InputError) as refused:
        read(path, **options)
    return str(refused.value).replace(f"{Path(path).parent}/", "")


def test_a_csv_file_is_a_table_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "zip,age\n02138,34\n")
    monkeypatch.chdir(tmp_path)
    with DuckDBEngine() as engine:
        table = engine.table("people.csv")
        assert replace(table, nearly_all=Table.nearly_all) == Table(
            name="people.csv",
            sql=(
                "read_csv('people.csv', auto_detect = false, header = true, delim = ',', "
                "quote = '\"', escape = '\"', comment = '', strict_mode = true, "
                "null_padding = false, ignore_errors = false, "
                "columns = {'zip': 'VARCHAR', 'age': 'VARCHAR'})"
            ),
            columns=(Column("zip", "VARCHAR"), Column("age", "VARCHAR")),
            text=True,
            parsed=True,
        )


@pytest.mark.parametrize(
    ("content", "records"),
    [
        pytest.param("a,b\n02138,1\n2138,1.0\n", [("02138", "1"), ("2138", "1.0")], id="spelling"),
        pytest.param("a,b\n#x,1\n2,3\n", [("#x", "1"), ("2", "3")], id="hash-is-no-comment"),
        pytest.param('a,b\n,""\nNA,null\n', [(None, None), ("NA", "null")], id="empty-is-null"),
        pytest.param("a\n1\n\n3\n\n", [("1",), (None,), ("3",), (None,)], id="blank-in-one-column"),
        pytest.param("a,b\n1,2\n\n\n", [("1", "2")], id="blank-lines-at-the-end"),
        pytest.param("a,b\r\n1,2\r\n", [("1", "2")], id="crlf"),
        pytest.param("a,b\r1,2\r", [("1", "2")], id="cr"),
        pytest.param("a,b\n1,2", [("1", "2")], id="no-last-newline"),
        pytest.param("a,b\n", [], id="header-only"),
        pytest.param("a,b", [], id="header-only-without-newline"),
        pytest.param("\ufeffa,b\n1,2\n", [("1", "2")], id="byte-order-mark"),
        pytest.param("a;b\n1;2,3\n", [("1", "2,3")], id="semicolon"),
        pytest.param("a|b\n1|2\n", [("1", "2")], id="bar"),
        pytest.param("a\tb\n1\t2\n", [("1", "2")], id="tab"),
        pytest.param('"a,b";c\n1;2\n', [("1", "2")], id="delimiter-in-a-quoted-name"),
        pytest.param('a,b\n"x\ny","""q"""\n', [("x\ny", '"q"')], id="newline-and-quotes-in-values"),
        pytest.param('a,b\r\n"x\ny",1\r\n', [("x\ny", "1")], id="lf-in-quotes-in-a-crlf-file"),
        pytest.param("a,b\n5' 10\",6\n", [("5' 10\"", "6")], id="bare-quote-inside-a-value"),
        pytest.param('a,b\n"x ""y"" ""z""",1\n', [('x "y" "z"', "1")], id="space-between-quotes"),
        pytest.param("a,b\n 1 , 2\n", [(" 1 ", " 2")], id="spaces-stay"),
        pytest.param("a,b\n\\N,\\\n", [("\\N", "\\")], id="backslash-is-a-character"),
        pytest.param("a,b\nx\0,y\n", [("x\0", "y")], id="nul-byte"),
    ],
)
def test_every_record_is_read_as_it_stands(
    tmp_path: Path, content: str, records: list[tuple[Any, ...]]
) -> None:
    assert read(written(tmp_path, content)) == records


def test_a_tsv_file_prefers_the_tab(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a,b\tc\n1,2\t3\n", "people.tsv")) == [("1,2", "3")]


def test_a_gzipped_file_is_read_and_counted_unpacked(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b'a,b\n"1\n",2\n'), "people.csv.gz")
    assert read(path) == [("1\n", "2")]


def test_null_strings_are_null_quoted_or_not(tmp_path: Path) -> None:
    path = written(tmp_path, 'a,b\nNA,"NA"\n,na\n')
    assert read(path, null_strings=("NA",)) == [(None, None), (None, "na")]


def test_a_delimiter_can_be_named(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a,b^c\n1,2^3\n"), delimiter="^") == [("1,2", "3")]
    with pytest.raises(SpecError, match="A delimiter is one character"):
        DuckDBEngine(text=TextOptions(delimiter="ab"))


def test_a_line_of_16_million_bytes_is_read(tmp_path: Path) -> None:
    long = "x" * 16_000_000
    assert read(written(tmp_path, f"a,b\n{long},1\n2,3\n")) == [(long, "1"), ("2", "3")]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_beyond_the_buffer_is_read_whole(tmp_path: Path, newline: str) -> None:
    records = 1_100_000
    lines = (f'{i},"some, ""long"" text {i % 7}"{newline}' for i in range(records))
    path = written(tmp_path, f"a,b{newline}" + "".join(lines))
    assert path.stat().st_size > 1 << 25
    with DuckDBEngine(threads=4) as engine:
        table = engine.table(path)
        [row] = engine.query(
            f"select count(*) as n, sum(cast(a as bigint)) as total, count(distinct b) as texts "
            f"from {table.sql}"
        )
    assert row == {"n": records, "total": records * (records - 1) // 2, "texts": 7}


VALUES = ["", "a", "é", "1", 'x"y', '"', "a,b", "l\nm", "l\r\nm", " s ", "#c", "NA", ' "q" ', ";"]


def random_csv(seed: int) -> bytes:
    """A CSV file of nasty values; every second one is damaged in a place or two."""
    chance = random.Random(seed)
    width = chance.choice([1, 2, 3])
    pool = chance.sample(VALUES, chance.randint(1, len(VALUES)))
    text = io.StringIO()
    writer = csv.writer(
        text,
        quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        lineterminator=chance.choice(["\n", "\r\n", "\r"]),
    )
    writer.writerow("xyz"[:width])
    for _ in range(chance.choice([0, 1, 5, 300])):
        writer.writerow([chance.choice(pool) for _ in range(width)])
    data = text.getvalue().encode()
    for _ in range(chance.choice([0, 1, 2]) if seed % 2 else 0):
        at = chance.randrange(width * 2, len(data) + 1)
        damage = chance.choice([b'"', b",", b"\n", b"\r", b" ", b"", b"\xff", b'""', b"\n\n"])
        data = data[:at] + damage + data[at + chance.randint(0, 1) :]
    return data


def csv_module(data: bytes, is_named: bool) -> list[tuple[str | None, ...]] | None:
    """The records by Python's csv module, or None where it or a table can't have them."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError):
        return None
    width = len(rows[0])
    records = [row or [""] for row in rows[is_named:] if row or width == 1]
    if any(len(record) != width for record in records):
        return None
    return [tuple(value or None for value in record) for record in records]


def test_random_files_are_read_as_the_csv_module_reads_them_or_refused(tmp_path: Path) -> None:
    read_whole = 0
    for seed in range(300):
        data = random_csv(seed)
        path = written(tmp_path, data, f"{seed}.csv")
        is_named = bool(seed % 3)
        try:
            records = read(path, delimiter=",", header=is_named)
        except InputError:
            continue
        assert records == csv_module(data, is_named), f"seed {seed}"
        read_whole += 1
    assert read_whole > 150


EXCEL = "is not UTF-8. If Excel wrote the file, encoding='cp1252' reads it."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "people.csv is empty: it has no bytes. Was it written to the end?"),
        (
            b"\na,b\n",
            "people.csv: the first line is blank. It must hold the column names; skip=1 leaves out "
            "a line above them.",
        ),
        (
            b"a,b\n1,2\nJane-Marker-7731\n",
            "people.csv: line 3 has 1 field, the header 2. Complete it.",
        ),
        (
            b'a,b\n"x\ny",2\nJane-Marker-7731,2,3\n',
            "people.csv: line 4 has 3 fields, the header 2. Put quotes around a field that holds "
            '",".',
        ),
        (
            b"a,b\n1,2,\n",
            "people.csv: line 2 has 3 fields, the header 2. Complete the header; if the lines "
            "above are a title, skip=1 leaves them out.",
        ),
        (
            b"a,b\n1,2\n\nJane-Marker-7731,4\n",
            "people.csv: line 3 is blank. Remove it; if the lines up to it are a title, skip=3 "
            "leaves them out.",
        ),
        (
            b"a,b\n" + 10 * b"1,2\n" + b"\n1,2\n",
            "people.csv: line 12 is blank. Remove it.",
        ),
        (
            b'a,b\n"Jane-Marker-7731"x,2\n',
            "people.csv: line 2 has text after the closing quote of a field. Double each quote "
            "inside a field.",
        ),
        (
            b'a,b\n1,2\n3,"Jane-Marker-7731\n',
            "people.csv: a quote in line 3 is not closed. Close or remove it.",
        ),
        (
            b'a,b\n1,"Jane-Marker-7731\n3,4\n5,"6"\n',
            "people.csv: a quote in line 2 is not closed. Close or remove it.",
        ),
        (
            b'a,b\n "Jane-Marker-7731",2\n',
            "people.csv: line 2 has a space before the quote of a field. Remove the space.",
        ),
        (
            b"a,b\n1,2\r\nJane-Marker-7731,4\n",
            "people.csv: line 2 ends with CRLF, the first line with LF. Save the file with one "
            "kind of line end.",
        ),
        (b"a,b\n1,2\nJos\xe9 Jane-Marker-7731,4\n", f"people.csv: line 3 {EXCEL}"),
        (b"Jos\xe9,b\n1,2\n", f"people.csv: line 1 {EXCEL}"),
        (
            "a,b\n1,2\n".encode("utf-16"),
            "people.csv is UTF-16. Read it with encoding='utf-16'.",
        ),
        (
            "a,b\n1,2\n".encode("utf-16-be"),
            "people.csv is UTF-16. Read it with encoding='utf-16-be'.",
        ),
        (b'"a,b\n1,2\n', "people.csv: a quote in line 1 is not closed. Close or remove it."),
        (
            b"Stays of 2024\nWard 7\nzip;sex;dx\n02138;F;flu\n02138;M;flu\n",
            "people.csv: line 3 has 3 fields, the first line 1. If the lines above are a title, "
            "skip=2 leaves them out; if not, name the delimiter.",
        ),
        (
            b"a,b\n" + b"x" * (17 << 20) + b",1\n",
            "people.csv has a line longer than 16 MiB. If it is not meant to, look for a quote "
            "that is never closed.",
        ),
    ],
)
def test_a_csv_file_that_can_not_be_read_whole_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    assert refusal(written(tmp_path, content)) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,,b\n1,2,3\n", "people.csv: column 2 has no name in the header. Give it one."),
        ("a,b,a\n1,2,3\n", 'people.csv has two columns named "a". Rename one.'),
        (
            "zip,ZIP\n1,2\n",
            'people.csv has the columns "zip" and "ZIP", which differ only by case. Rename one.',
        ),
    ],
)
def test_a_header_that_names_no_columns_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    assert refusal(written(tmp_path, content), header=True) == message


@pytest.mark.parametrize(
    ("content", "doubt"),
    [
        ("Jane-Marker-7731,33\nJohn,44\n", "field 2 is a number"),
        ("name,2019,2020\nJohn,1,2\n", "field 2 is a number"),
        ("Jane-Marker-7731;17.03.1985\n", "field 2 is a date"),
        ("Jane-Marker-7731\t1985-03-17T12:00:00Z\n", "field 2 is a date"),
        ("Jane-Marker-7731,17 Mar 1985\n", "field 2 is a date"),
        ("\ufeffjane.marker@7731.org,flu\nx,hiv\n", "field 1 is an e-mail address"),
        ("Jane-Marker-7731,,flu\nx,y,z\n", "field 2 is empty"),
        ("Jane-Marker-7731,flu,Flu\nx,y,z\n", "field 3 is there twice"),
        ('"Jane-Marker-7731","flu"\n"Jane-Smithy-7732","hiv"\n', "field 1 looks like the values"),
        ("Zq7zip1\nZq7zip22\n", "field 1 looks like the values"),
        ("SW1A 2AA,flu\nM1 1AE,hiv\nEC1A 1BB,flu\n", "field 1 looks like the values"),
        ("9f86d081,flu\n60303ae2,hiv\n", "field 1 looks like the values"),
        ("Jane-Marker-7731,flu\nJohn,hiv\nMary,flu\n", "field 2 looks like the values"),
        ("Marker,male,flu\nJohn1,male,hiv\nMary2,female,hiv\n", "field 2 looks like the values"),
        ("Marker,male\nJohn1,female\nMary2,male\n", "field 2 looks like the values"),
    ],
)
def test_a_first_line_that_looks_like_a_record_is_asked_about(
    tmp_path: Path, content: str, doubt: str
) -> None:
    path = written(tmp_path, content)
    message = refusal(path)
    assert message.startswith(
        f"people.csv: the first line looks like a record, not like the names of columns: {doubt}"
    )
    of_title = " If it is a title, skip=1 leaves it out."
    assert message.removesuffix(of_title).endswith(
        "Its cells are withheld, as they may be a person's. Say whether it is a header: "
        "header='yes', or header='no' for columns called column_1, column_2 and so on."
    )
    assert message.endswith(of_title) == doubt.endswith("empty")
    assert not {MARKER, "flu", "7731"} & {*message.split()}
    records = read(path, header=False)
    assert len(records) == len(content.splitlines())
    first = content.removeprefix("\ufeff").replace('"', "")
    assert records[0][0] == re.split(r"[,;\t\n]", first)[0]


@pytest.mark.parametrize(
    "content",
    [
        "name,city,job\nJohn,Boston,cook\nMary,Salem,judge\n",
        "disease\nflu\nhiv\n",
        "a,b\na,1\n",
        "icd10,city\nJ45,Boston\nE11.9,Salem\n",
        "q1,q2\nyes,no\n",
        "#,%,name\n1,2,John\n",
        "id\n",
        "address1\n12 Main St\n7 Pine St\n",
        "sex,x1\nF,0.1\nM,0.2\n",
        "male,age\nmale,33\nfemale,44\n",
        "q1,q2\nv05,w12\nv12,w03\n",
        ",zip,ill\n0,1,a\n1,1,b\n",
    ],
)
def test_a_plain_header_is_not_asked_about(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content)
    assert read(path) == read(path, header=True)


def real_files() -> list[Path]:
    """Public files with a header, of other programs and of the course."""
    folders = ("adult", "arx_adult", "datafly", "peers", "public", "cases")
    files = (file for folder in folders for file in (DATA / folder).glob("*.csv"))
    without_header = ("hierarchy", "generalization", "f8_excel_sep")
    return sorted(file for file in files if not any(word in str(file) for word in without_header))


def test_real_headers_are_not_asked_about_and_real_records_are(tmp_path: Path) -> None:
    files = real_files()
    if not files:
        pytest.skip(f"there are no public data sets in {DATA}")
    text = {"encoding": "latin-1"}
    asked: dict[bool, list[str]] = {True: [], False: []}
    for file in files:
        header, _, records = file.read_bytes().partition(b"\n")
        for is_named, content in ((True, header + b"\n" + records), (False, records)):
            path = written(tmp_path, b"".join(content.splitlines(True)[:100]), file.name)
            options = text if not is_utf_8(path) else {}
            try:
                read(path, **options)
            except InputError as error:
                asked[is_named] += [file.name] * ("looks like a record" in str(error))
    assert len(files) >= 39
    assert asked[True] == []
    assert len(asked[False]) == len(files)


def is_utf_8(path: Path) -> bool:
    try:
        return bool(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return False


def test_a_first_column_without_a_name_is_called_column_1(tmp_path: Path) -> None:
    path = written(tmp_path, ",zip\n0,02138\n1,02138\n")
    with DuckDBEngine() as engine:
        table = engine.table(path)
    assert (table.column_names, table.has_index) == (("column_1", "zip"), True)
    assert "the first line looks like a record" in refusal(
        written(tmp_path, ",zip\nAnn,1\nBob,2\n")
    )
    assert read(path, header=True) == [("Ann", "1"), ("Bob", "2")]
    result = kanon.audit(written(tmp_path, ",zip\n0,02138\n1,02138\n"), ["zip"])
    assert result.tables[0].warnings[0] == (
        "people.csv has no name for its first column, which numbers the records: it is called "
        "column_1. If a program wrote it as an index, leave it out of the file."
    )


def test_each_file_has_its_own_header(tmp_path: Path) -> None:
    named = written(tmp_path, "age\n33\n", "named.csv")
    nameless = written(tmp_path, "33\n44\n", "nameless.csv")
    with DuckDBEngine(text=TextOptions(header={str(nameless): False})) as engine:
        tables = [engine.table(str(path)) for path in (named, nameless)]
        assert [table.column_names for table in tables] == [("age",), ("column_1",)]
        assert [len(engine.query(f"from {table.sql}")) for table in tables] == [1, 2]


def test_files_of_a_glob_are_each_asked_about(tmp_path: Path) -> None:
    written(tmp_path, "name,age\nJohn,33\n", "p1.csv")
    written(tmp_path, f"{MARKER},44\n", "p2.csv")
    assert refusal(f"{tmp_path}/p*.csv").startswith("p2.csv: the first line looks like a record")
    assert read(f"{tmp_path}/p*.csv", header=False)[-1] == (MARKER, "44")


def test_a_value_too_many_is_refused_even_if_it_reads_as_null(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n1,2,NA\n")
    assert refusal(path, null_strings=("NA",)).startswith("people.csv: line 2 has 3 fields")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("people.csv", "people.csv: no such file. Files here: people.parquet, visits.csv."),
        ("peopl*.tsv", "peopl*.tsv: no file matches. Files here: people.parquet, visits.csv."),
        ("a/b.csv", "a/b.csv: no such file."),
        ("", "the name of a table or file is empty. Is it a variable that is not set?"),
        ("none/b.csv", "none/b.csv: no such file. There is no folder none."),
        (
            "ftp://user:p@ss@clinic.org/b.csv?signature=key",
            "ftp://…@clinic.org/b.csv?…: local files are read, and those at s3://, gs://, az:// "
            "and https://. Download it first.",
        ),
    ],
)
def test_a_file_that_is_not_there_names_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    for name in ("visits.csv", "people.parquet", "notes.md", ".people.csv"):
        written(tmp_path, "text", name)
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InputError) as refused:
        read(target)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "data",
            "data is a folder. Its Parquet files are named with a slash at the end, data/, others "
            "with a glob, data/*.csv.",
        ),
        (
            "kanon.yml",
            "kanon.yml is a spec, and a table is needed. In Python, "
            "AuditSpec.from_file('kanon.yml') reads it.",
        ),
        (
            "notes.md",
            "notes.md: the name does not give the format of the file. Its suffix should be one of "
            ".parquet .pq .csv .tsv .txt .csv.gz .tsv.gz .txt.gz .json .jsonl .ndjson .arrow "
            ".feather .ipc.",
        ),
        (
            "torn.parquet",
            "torn.parquet can't be read as Parquet: it is truncated, damaged or of another format. "
            "Write it again.",
        ),
        (
            "torn.json",
            "torn.json can't be read as JSON objects, one a line or in one array: it is truncated, "
            "damaged or of another format. Write it again.",
        ),
        (
            "torn.arrow",
            "torn.arrow can't be read as Arrow: it is truncated, damaged or of another format. "
            "Write it again.",
        ),
        ("torn.csv.gz", "torn.csv.gz is not a whole gzip file. Fetch or pack it again."),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    (tmp_path / "data").mkdir()
    written(tmp_path, "text", "notes.md")
    written(tmp_path, "version: 1", "kanon.yml")
    duckdb.sql(f"select '{MARKER}' as a from range(9)").write_parquet(f"{tmp_path}/whole.parquet")
    written(tmp_path, (tmp_path / "whole.parquet").read_bytes()[:-20], "torn.parquet")
    written(tmp_path, f'[{{"a": "{MARKER}"}}, {{"a', "torn.json")
    written(tmp_path, MARKER, "torn.arrow")
    written(tmp_path, gzip.compress(MARKER.encode() * 9)[:-9], "torn.csv.gz")
    monkeypatch.chdir(tmp_path)
    assert refusal(target) == message


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("pattern", ["*", "**/*", "?p1", "*/*"])
def test_a_glob_leaves_out_dot_files_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, pattern: str
) -> None:
    """What a killed program leaves would double every record, and make k 2 where it is 1."""
    monkeypatch.chdir(tmp_path)
    people = duckdb.sql("select 'a' || range as zip from range(3)")
    for name in ("data/xp1", "data/.p1", ".old/p1", ".old/xp1"):
        Path(name).parent.mkdir(exist_ok=True)
        people.to_csv(f"{name}.csv") if kind == "csv" else people.to_parquet(f"{name}.parquet")
    glob = f"{pattern}.{kind}" if "/" in pattern else f"data/{pattern}.{kind}"

    [table] = kanon.audit(glob, quasi_identifiers="zip").tables

    assert (table.summary.records, table.summary.k) == (3, 1)
    assert f"data/.p1.{kind}" in table.warnings[0]
    assert (f".old/p1.{kind}" in table.warnings[0]) is ("/" in pattern)


def test_a_dot_file_that_is_named_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".cache").mkdir()
    monkeypatch.chdir(tmp_path)
    written(tmp_path / ".cache", "a\n1\n", ".p1.csv")
    for path in (".cache/.p1.csv", ".cache/.p*.csv", ".c*/.*.csv"):
        assert read(path) == [("1",)]
    for pattern in ("*.csv", "[.]p1.csv"):
        assert refusal(f".cache/{pattern}") == (
            f"{pattern}: no file matches but dot files, which a * leaves out: .p1.csv."
        )


def test_files_of_a_csv_glob_need_one_header(tmp_path: Path) -> None:
    written(tmp_path, "a,b\n1,2\n", "p1.csv")
    written(tmp_path, "a,b\r\n3,4\r\n", "p2.csv")
    assert read(f"{tmp_path}/p*.csv") == [("1", "2"), ("3", "4")]
    written(tmp_path, "a,c\n5,6\n", "p3.csv")
    assert refusal(f"{tmp_path}/p*.csv") == (
        "p3.csv: the first line differs from that of p1.csv. Files read as one table need one "
        "header, with the same names in the same order and one delimiter."
    )


def parquet(folder: Path, select: str, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    duckdb.sql(select).write_parquet(str(folder / name))
    return folder / name


@pytest.mark.parametrize(
    ("select", "fault"),
    [
        ("select 1 as a", 'p2.parquet has no column "b" that p1.parquet has.'),
        ("select 1 as a, 'x' as b, 2 as c", 'p2.parquet has a column "c" that p1.parquet lacks.'),
        ("select 1 as a, 2 as b", 'p2.parquet has column "b" in another type than p1.parquet.'),
    ],
)
def test_files_of_a_parquet_glob_need_the_same_columns(
    tmp_path: Path, select: str, fault: str
) -> None:
    parquet(tmp_path, "select 1 as a, 'x' as b", "p1.parquet")
    parquet(tmp_path, select, "p2.parquet")
    assert refusal(f"{tmp_path}/p*.parquet") == (
        f"{fault} Files read as one table need the same columns."
    )


def test_a_parquet_glob_stays_a_glob_and_keeps_its_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in (1, 2):
        parquet(tmp_path, f"select {part} as a, date '2020-01-01' as d", f"p{part}.parquet")
    monkeypatch.chdir(tmp_path)
    with DuckDBEngine() as engine:
        table = engine.table("p*.parquet")
        assert (table.name, table.sql) == ("p*.parquet", "read_parquet('p*.parquet')")
        assert [(column.name, column.type) for column in table.columns] == [
            ("a", "INTEGER"),
            ("d", "DATE"),
        ]
        assert engine.query(f"select sum(a) as total from {table.sql}") == [{"total": 3}]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.float16()])
def test_nan_is_found_beyond_the_bounds_that_a_parquet_file_tells(
    tmp_path: Path, kind: pa.DataType
) -> None:
    """Writers leave NaN out of the least and the greatest value of a column."""
    income = pa.array([1.0, 2.0, float("nan"), None, 3.0, float("nan")], kind)
    pyarrow.parquet.write_table(
        pa.table({"zip": ["02138"] * 6, "income": income}), tmp_path / "p.pq"
    )

    def audited(**question: Any) -> kanon.TableResult:
        [table] = kanon.audit(tmp_path / "p.pq", **question).tables
        return table

    assert audited(quasi_identifiers="zip", where="income > 100").summary.records == 2
    spread = audited(
        quasi_identifiers="zip",
        sensitive="income",
        checks=[kanon.KEAnonymity(k=2, e=1, sensitive="income")],
    )
    assert spread.checks[0].achieved == 2
    assert spread.checks[0].holds


INSTANT = 1577836800123456789  # 2020-01-01 00:00:00.123456789
DAY = 86400 * 10**9
NS_UNREAD = duckdb.__version__ < "2"
"""Whether DuckDB has no type for points in time with a zone in nanoseconds, nor reads INT96."""


def int96(path: Path, *columns: list[int]) -> Path:
    """A Parquet file with points in time, as nanoseconds since 1970, in columns of type INT96; by
    their bytes, as writers in Arrow hold no date after 2262."""
    near = [[INSTANT + 97 * place for place, _ in enumerate(column)] for column in columns]
    table = {f"t{n}": pa.array(column, pa.timestamp("ns")) for n, column in enumerate(near)}
    pyarrow.parquet.write_table(
        pa.table({**table, "zip": ["a"] * len(columns[0])}),
        path,
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
        compression="none",
    )

    def raw(instant: int) -> bytes:
        days, nanoseconds = divmod(instant, DAY)
        return struct.pack("<qi", nanoseconds, days + 2440588)

    content = path.read_bytes()
    for column, stand_ins in zip(columns, near, strict=True):
        values = b"".join(map(raw, stand_ins))
        assert content.count(values) >= 1
        content = content.replace(values, b"".join(map(raw, column)), 1)
    path.write_bytes(content)
    return path


def classes_of(source: Any, column: str) -> int | str:
    """The number of classes by a column, or what it is refused for."""
    try:
        [table] = kanon.audit(source, column).tables
    except kanon.KanonError as error:
        return str(error)
    return table.summary.classes


@pytest.mark.parametrize(
    ("columns", "classes"),
    [
        ([[INSTANT, INSTANT - 1]], [2]),
        ([[INSTANT, INSTANT - 1, INSTANT]], [2]),
        ([[0, 1000, 10**18], [1, 2, 3]], [3, 3]),
        ([[-62135596800 * 10**9, 253402300799 * 10**9, 0]], [3]),
        ([[-62135596800 * 10**9, 253402300799 * 10**9], [1, 2]], [2, "INT96"]),
        ([[-62135596800 * 10**9, -62135596800 * 10**9 + 1]], ["INT96"]),
    ],
)
def test_int96_is_read_to_the_nanosecond_or_refused_by_name(
    tmp_path: Path, columns: list[list[int]], classes: list[int | str]
) -> None:
    file = int96(tmp_path / "p.parquet", *columns)
    for name, expected in enumerate(classes):
        found = classes_of(file, f"t{name}")
        if expected == "INT96" or NS_UNREAD:
            assert (
                f'column "t{name}" of p.parquet holds timestamps of Parquet\'s type INT96' in found
            )
        else:
            assert found == expected
    [table] = kanon.audit(f"{tmp_path}/*.parquet", "zip").tables
    assert table.summary.classes == 1
    refused = [f"t{name}" for name, one in enumerate(classes) if one == "INT96" or NS_UNREAD]
    assert [warning[1:3] for warning in table.warnings if "INT96" in warning] == refused


def test_int96_is_exact_in_globs_references_and_releases(tmp_path: Path) -> None:
    for part in (1, 2):
        (tmp_path / f"part={part}").mkdir()
        int96(tmp_path / f"part={part}" / "p.parquet", [INSTANT, INSTANT - part])
    if NS_UNREAD:
        assert "INT96" in str(classes_of(f"{tmp_path}/*/p.parquet", "t0"))
        return
    [table] = kanon.audit(
        f"{tmp_path}/*/p.parquet",
        "t0",
        k_map=1,
        references={"all": kanon.ReferenceSpec(source=f"{tmp_path}/part=2/p.parquet")},
    ).tables
    assert (table.summary.classes, table.summary.k) == (3, 1)
    assert [check.achieved for check in table.checks if check.model == "k_map"] == [0]
    kanon.anonymize(f"{tmp_path}/*/p.parquet", ["zip"], k=2, output=tmp_path / "release.parquet")
    assert classes_of(tmp_path / "release.parquet", "t0") == 3


@pytest.mark.parametrize(
    ("values", "because"),
    [
        (pa.array([Decimal(f"{10**39}.0{n}") for n in "12"]), "decimals of more than 38 digits"),
        (pa.array([1, 2], pa.timestamp("ns", "UTC")), NS_UNREAD and "holds nanoseconds"),
        (pa.array([1, 2], pa.time64("ns")), NS_UNREAD and "holds nanoseconds"),
        (pa.array([1, 2], pa.timestamp("ns")), ""),
        (pa.array([Decimal(f"{10**34}.0{n}") for n in "12"]), ""),
        (pa.array([2**63, 2**63 + 1], pa.uint64()), ""),
    ],
)
def test_parquet_is_read_value_for_value_or_refused_by_name(
    tmp_path: Path, values: pa.Array, because: str
) -> None:
    pyarrow.parquet.write_table(pa.table({"a": values}), tmp_path / "p.parquet")
    if because:
        assert because in classes_of(tmp_path / "p.parquet", "a")
    else:
        assert classes_of(tmp_path / "p.parquet", "a") == 2


def test_folders_named_like_columns_are_text(tmp_path: Path) -> None:
    for zip_code in ("02138", "2138"):
        parquet(tmp_path / f"zip={zip_code}", "select 1 as a", "p.parquet")
    assert read(f"{tmp_path}/*/p.parquet") == [(1, "02138"), (1, "2138")]


def test_a_folder_of_parquet_files_is_named_with_a_slash_as_in_spark(tmp_path: Path) -> None:
    folder = tmp_path / "visits[1]"
    for zip_code in ("02138", "02139"):
        parquet(folder / f"zip={zip_code}", "select 1 as a", "p.parquet")
    assert read(f"{folder}/") == [(1, "02138"), (1, "02139")]
    written(tmp_path, "tables: [{source: 'visits[1]/', quasi_identifiers: [zip]}]", "kanon.yml")
    [table] = kanon.audit(kanon.AuditSpec.from_file(tmp_path / "kanon.yml")).tables
    assert (table.name, table.summary.records) == ("visits[1]", 2)

    parquet(folder / "more", "select 1 as a", "p.parquet")
    assert "the folder more in it is not read" in (said := refusal(f"{folder}/"))
    assert said.endswith("or with a glob: people/*/*.parquet.")


def test_nothing_that_a_glob_matches_is_left_out_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parquet(Path("visits", "dx=flu"), "select 1 as a", "p.parquet")
    parquet(Path("elsewhere"), "select 2 as a", "p.parquet")
    linked, broken, other = Path("visits/dx=HIV"), Path("visits/dx=flu/q.parquet"), "dx=flu/q.pq"

    linked.symlink_to("../elsewhere")
    assert sorted(read("visits/*/*.parquet")) == [(1, "flu"), (2, "HIV")]
    for path in ("visits/", "visits/**/*.parquet"):
        assert "visits/dx=…/p.parquet lies in a linked folder, which **" in refusal(path)
    linked.unlink()

    broken.symlink_to("nowhere")
    for path in ("visits/", "visits/*/*.parquet"):
        assert "visits/dx=…/q.parquet is a broken link. Mend or remove it." in refusal(path)
    broken.unlink()

    parquet(Path("visits"), "select 3 as a", other)
    assert "visits/dx=…/q.pq in it is not read" in refusal("visits/")
    Path("visits", other).unlink()

    monkeypatch.setattr(os, "access", lambda folder, _: "dx=flu" not in str(folder))
    for path in ("visits/", "visits/*/p.parquet"):
        assert refusal(path) == (
            "visits/dx=…/ can't be read: permission denied. Its records would be missing."
        )


@pytest.mark.parametrize("kind", ["a link to a folder", "a link to a file", "a hard link"])
def test_a_file_that_a_glob_matches_twice_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    parquet(Path("2024"), "select 1 as a", "p.parquet")
    if kind == "a link to a folder":
        Path("latest").symlink_to("2024")
    else:
        Path("latest").mkdir()
        link = Path("latest/p.parquet")
        link.symlink_to("../2024/p.parquet") if "hard" not in kind else link.hardlink_to(
            "2024/p.parquet"
        )

    message = refusal("*/p.parquet").replace("./", "")  # DuckDB 1.5 begins a path with it
    assert "latest/p.parquet is the same file as 2024/p.parquet" in message
    assert read("2024/*.parquet") == [(1,)]


@pytest.mark.parametrize("path", ["visits/", "visits/*/*/*.parquet", "visits/dx=flu/*/*.parquet"])
def test_no_refusal_holds_a_value_that_is_the_name_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for place, sex in enumerate("FM"):
        parquet(Path("visits", "dx=flu", f"sex={sex}"), f"select 1 as a{place}", "p.parquet")
    dx = "flu" if "flu" in path else "…"
    first, second = (
        f"visits/dx={dx}/sex=…/p.parquet (file {place} of 2 by path)" for place in "12"
    )
    with pytest.raises(InputError) as refused:
        read(path)
    assert str(refused.value) == (
        f'{second} has no column "a0" that {first} has. Files read as one table need the same '
        "columns."
    )


ANOTHER_VALUE = (
    "and a folder above it gives that column another value, which other readers would read in its "
    "place. Rename the folder or the column."
)
FORMS = ["parquet", "csv", "json", "arrow"]


def in_folder(folder: Path, select: str, form: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if form == "arrow":
        pyarrow.feather.write_feather(duckdb.sql(select).to_arrow_table(), folder / "p.arrow")
    else:
        duckdb.sql(f"copy ({select}) to '{folder}/p.{form}' (format {form})")
    return folder / f"p.{form}"


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_that_gives_a_column_of_its_files_another_value_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """DuckDB and polars read the folder's value: k = 1 for them, where the files hold k = 2."""
    monkeypatch.chdir(tmp_path)
    for zip_code in ("02138", "02139"):
        in_folder(tmp_path / f"zip={zip_code}", "select '0213*' as zip, 'a' as a", form)
    assert refusal(f"*/p.{form}").replace("./", "") == (
        f'zip=…/p.{form} (file 1 of 2 by path) has a column "zip", {ANOTHER_VALUE}'
    )
    masked = Path("zip=02138", f"p.{form}")
    assert refusal(masked) == f'p.{form} has a column "zip", {ANOTHER_VALUE}'
    if form != "arrow":
        read_by_duckdb = duckdb.sql(f"select zip from '*/p.{form}' order by zip").fetchall()
        assert read_by_duckdb == [("02138",), ("02139",)]


@pytest.mark.parametrize(
    ("folder", "value", "forms"),
    [
        ("zip=02138", "'02138'", FORMS),
        ("ZIP=a%20b", "'a b'", FORMS),
        ("month=02", "2", ["parquet", "json", "arrow"]),
        ("day=2024-02-01", "date '2024-02-01'", FORMS),
        ("share=1.50", "1.5::double", ["parquet", "json", "arrow"]),
        ("zip=__HIVE_DEFAULT_PARTITION__", "null::varchar", FORMS),
    ],
)
def test_a_folder_may_repeat_what_each_of_its_files_has(
    tmp_path: Path, folder: str, value: str, forms: list[str]
) -> None:
    """A number of a text file is text, and 2 is not 02 there."""
    name = folder.partition("=")[0]
    select = f"select {value} as {name.lower()}, n as a from range(3) as r(n)"
    [[there]] = duckdb.sql(f"select {value}").fetchall()
    for form in FORMS:
        file = in_folder(tmp_path / folder, select, form)
        if form in forms:
            assert [str(row[0]) for row in read(file)] == [str(there)] * 3
        else:
            assert "another value" in refusal(file)


@pytest.mark.parametrize(
    "select",
    [
        "select '02138' as zip union all select '02139'",
        "select '02138' as zip union all select null",
        "select 2138 as zip",
        "select '2138' as zip",
        "select null::varchar as zip",
    ],
)
def test_a_folder_is_held_against_every_value_of_its_files(tmp_path: Path, select: str) -> None:
    file = parquet(tmp_path / "zip=02138", select, "p.parquet")
    if "select 2138" in select:  # a number has no leading zero
        assert read(file) == [(2138,)]
    else:
        assert refusal(file) == f'p.parquet has a column "zip", {ANOTHER_VALUE}'


def test_two_folders_may_not_spell_one_value(tmp_path: Path) -> None:
    """Who reads folders as text tells 02 and 2 apart."""
    for month in ("02", "2"):
        parquet(tmp_path / f"month={month}", "select 2 as month", "p.parquet")
    assert "another value" in refusal(f"{tmp_path}/*/p.parquet")


def test_a_folder_within_one_that_is_a_column_is_not_read_in_its_place(tmp_path: Path) -> None:
    """DuckDB would: then everyone in the file has one zip code, and they are one class."""
    select = "select '1' as zip, 'a' as a"
    beside = parquet(tmp_path / "runs" / "zip=1" / "year=2", select, "p.parquet")
    assert refusal(beside) == (
        'p.parquet has a column "zip", and a folder above it gives that column a value too, which '
        "would be read in its place. Rename the folder or the column."
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["", "b=1", "A=1", "a=2/b=1", "a=1/a=2"])
def test_folders_of_different_names_are_refused(tmp_path: Path, form: str, other: str) -> None:
    """DuckDB ignores all of them then, or the second, and tells nobody."""
    for folder in ("a=1", other):
        in_folder(tmp_path / folder, "select 'x' as v", form)
    assert "each file must lie in folders that give the same columns a value" in refusal(
        f"{tmp_path}/**/p.{form}"
    )


@pytest.mark.parametrize("form", ["csv", "json", "arrow"])
def test_folders_of_other_files_that_tell_records_apart_are_a_column(
    tmp_path: Path, form: str
) -> None:
    """A folder that all files share tells nobody apart, and is no column of them."""
    for zip_code in ("02138", "2138"):
        in_folder(tmp_path / f"zip={zip_code}", "select 'x' as a", form)
    assert read(f"{tmp_path}/*/p.{form}") == [("x", "02138"), ("x", "2138")]
    assert read(f"{tmp_path}/zip=02138/p.{form}") == [("x",)]
    [table] = kanon.audit(f"{tmp_path}/*/p.{form}", "zip").tables
    assert table.summary.k == 1


def test_brackets_and_quotes_in_a_path_are_no_glob(tmp_path: Path) -> None:
    written(tmp_path, "a\nwrong\n", "p1.csv")
    assert read(written(tmp_path, "a\nright\n", "p[1].csv")) == [("right",)]
    assert read(written(tmp_path, 'it\'s "a"\nx\n', "o'hara.csv")) == [("x",)]


@pytest.mark.parametrize("name", ["x[1].parquet", "a*b.parquet", "what?.parquet", "x[1].json"])
def test_a_name_like_a_glob_is_read_wherever_it_is_named_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    people = duckdb.sql("select 'right' as a")
    people.to_parquet(str(tmp_path / "p")) if "parquet" in name else None
    written(tmp_path, (tmp_path / "p").read_bytes() if "parquet" in name else '{"a":"right"}', name)
    monkeypatch.chdir(tmp_path)
    for path in (name, f"./{name}", f"../{tmp_path.name}//{name}", tmp_path / name):
        assert read(path) == [("right",)]


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "arrow", "csv.gz"])
def test_a_pipe_and_a_device_are_no_files(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / f"p.{kind}")
    (tmp_path / f"null.{kind}").symlink_to(os.devnull)
    needed = "and a file is needed, as it is read more than once. Write its content to one first."
    assert refusal(tmp_path / f"p.{kind}") == f"p.{kind} is a pipe, {needed}"
    assert refusal(tmp_path / f"null.{kind}") == f"null.{kind} is a device, {needed}"


def test_a_pipe_of_which_nothing_is_known_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "people")
    assert refusal(tmp_path / "people").startswith("people: the name does not give the format")


def test_columns_that_differ_only_by_case_are_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "A": [2]}).write_parquet(tmp_path / "p.parquet")
    written(tmp_path, '[{"a": 1, "A": 2}]', "p.json")
    pyarrow.feather.write_feather(pa.table({"a": [1], "A": [2]}), str(tmp_path / "p.arrow"))
    fault = "which differ only by case. Rename one."
    assert refusal(tmp_path / "p.parquet") == f'p.parquet has the columns "a" and "A", {fault}'
    assert refusal(tmp_path / "p.json") == f'p.json has the columns "A" and "a", {fault}'
    assert refusal(tmp_path / "p.arrow") == f'p.arrow has the columns "a" and "A", {fault}'


@pytest.mark.parametrize(
    ("content", "type_", "values"),
    [
        ('[{"a": "2020-1-1"}, {"a": "2020-01-01"}]', "VARCHAR", ["2020-1-1", "2020-01-01"]),
        ('{"a": "AB"}\n{"a": null}\n', "VARCHAR", ["AB", None]),
        ('[{"a": 9007199254740993}, {"a": 1}]', "BIGINT", [9007199254740993, 1]),
        ('[{"a": 1.5}, {"a": 2}]', "DOUBLE", [1.5, 2.0]),
        ('[{"a": 1}, {"a": "1"}]', "JSON", ["1", '"1"']),
        ('[{"a": {"d": "2020-1-1"}}]', "JSON", ['{"d":"2020-1-1"}']),
        ('[{"a": null}]', None, [None]),
    ],
)
def test_json_keeps_distinct_values_distinct(
    tmp_path: Path, content: str, type_: str | None, values: list[Any]
) -> None:
    path = written(tmp_path, content, "people.json")
    with DuckDBEngine() as engine:
        table = engine.table(path)
        assert type_ in (None, table.columns[0].type)
        assert [row["a"] for row in engine.query(f"from {table.sql}")] == values


def test_json_integers_that_would_be_rounded_are_refused(tmp_path: Path) -> None:
    content = '[{"a": 9007199254740993}, {"a": 9007199254740992}, {"a": 0.5}]'
    assert refusal(written(tmp_path, content, "people.json")) == (
        'people.json: column "a" has integers of more than 15 digits next to fractions, or beyond '
        "38 digits, which would be rounded. Write its values as strings."
    )


ROUNDED = (
    "a fraction or an exponent whose digits a number of 64 bits does not hold as they are written, "
    "and different values would become one. Write its values as strings."
)


@pytest.mark.parametrize(
    "content",
    [
        '[{"a": 0.12345678901234567890}, {"a": 0.12345678901234567891}]',
        '{"a": 1e400}\n{"a": 1E+500}\n',
        '{"a": 1e-400}\n',
        '{"a": 4e-324}\n',
        '{"a": 0.1}\n{"a": 9007199254740993.0}\n',
        '{"a": [{"b": 1}, {"b": [-0.12345678901234567890]}]}\n',
        '{"a": 0.12345678901234567890}\n{"a": "text"}\n{"a": [1]}\n',
        '{"b": "0.5", "a": 1.00000000000000000001}\n',
    ],
)
def test_json_fractions_that_would_be_rounded_are_refused(tmp_path: Path, content: str) -> None:
    assert refusal(written(tmp_path, content, "people.json")) == (
        f'people.json: column "a" has {ROUNDED}'
    )


def test_every_file_of_a_json_glob_has_its_fractions_looked_at(tmp_path: Path) -> None:
    written(tmp_path, '{"a": 0.5}', "p1.ndjson")
    written(tmp_path, '{"a": 0.12345678901234567890}', "p2.ndjson")
    assert refusal(f"{tmp_path}/p*.ndjson") == f'p*.ndjson: column "a" has {ROUNDED}'


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("0.1", 0.1),
        ("0.30000000000000004", 0.30000000000000004),
        ("2.50000000000000000000", 2.5),
        ("-1.7976931348623157E308", -1.7976931348623157e308),
        ("5e-324", 5e-324),
        ("0e400", 0.0),
        ("1e23", 1e23),
    ],
)
def test_json_fractions_that_a_double_holds_are_read(
    tmp_path: Path, number: str, value: float
) -> None:
    content = f'{{"a": {number}, "b": "\\"1e400, 0.12345678901234567890"}}'
    [(read_as, _)] = read(written(tmp_path, content, "people.json"))
    assert repr(read_as) == repr(value)


def test_a_json_record_with_a_key_twice_is_refused_without_its_values(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, f'[{{"a": "{MARKER}", "a": "x"}}]', "people.json"))
    assert message == (
        "a JSON file can't be read whole: a record is damaged, has a key twice, or changed since "
        "the start."
    )


@pytest.mark.parametrize("name", ["p.arrow", "p.feather", "p.ipc"])
def test_arrow_files_are_read_in_both_formats(tmp_path: Path, name: str) -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    pyarrow.feather.write_feather(table, str(tmp_path / name))
    with pa.ipc.new_stream(str(tmp_path / f"s{name}"), table.schema) as stream:
        stream.write_table(table)
    assert read(tmp_path / name) == read(tmp_path / f"s{name}") == [(1, "x"), (2, None)]


def test_a_stream_that_was_cut_off_or_follows_another_is_refused(tmp_path: Path) -> None:
    """A reader ends at the end of the file, or of the first stream, without a word."""
    table = pa.table({"a": [1, 2]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
        one_batch = sink.tell()
        stream.write_table(table)
    whole = sink.getvalue().to_pybytes()

    for content in (whole[:one_batch], whole[:-8], whole + whole):
        path = tmp_path / "p.arrow"
        path.write_bytes(content)
        assert refusal(path).startswith("p.arrow can't be read as Arrow: it is truncated")
    path.write_bytes(whole)
    assert read(path) == [(1,), (2,)] * 2


def test_arrow_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingDriverError, match=r"pip install 'kanon-sql\[arrow\]'"):
        read(written(tmp_path, b"x", "p.arrow"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("it's.csv", 'a\'b,"c""d"\n"x\ny",2\n'),
        ("p.json", '[{"a": "x", "b\'": {"c": 1}}]'),
    ],
)
def test_the_from_text_survives_sqlglot(tmp_path: Path, name: str, content: str) -> None:
    path = written(tmp_path, content, name)
    with DuckDBEngine(text=TextOptions(null_strings=("N'A",))) as engine:
        sql = f"select * from {engine.table(path).sql}"
        again = sqlglot.parse_one(sql, read="duckdb").sql("duckdb")
        assert engine.query(again) == engine.query(sql) != []


@pytest.mark.parametrize(
    "content",
    [
        f"a,b\n{MARKER}\n",
        f"a,b\n{MARKER},1,2\n",
        f'a,b\n"{MARKER}"x,1\n',
        f'a,b\n1,"{MARKER}\n',
        f"a,b\n\udce9{MARKER},1\n",
        f' "{MARKER}",b\n "{MARKER}",1\n',
    ],
)
def test_no_refusal_holds_a_value(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content.encode("utf-8", "surrogateescape"))
    assert MARKER not in refusal(path).partition("header")[0]


# --- a file where a database is asked ---------------------------------------------------------


def test_a_file_that_is_not_there_is_neither_table_nor_file_of_a_duckdb(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    duckdb.connect(database).close()

    with DuckDBEngine(database=database) as engine, pytest.raises(InputError) as refused:
        engine.table("voters.parquet")

    assert str(refused.value) == (
        "there is no table or view voters.parquet in the database, and no such file. It has no "
        "tables."
    )


def test_a_database_that_reads_no_files_says_so() -> None:
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(InputError) as refused:
        kanon.connect(connection, dialect="sqlite").table("voters.parquet")

    assert str(refused.value) == (
        "there is no table or view voters.parquet that you may read in the database, and it reads "
        "no files: with a connection, a table and its references are tables of one database. Copy "
        "the file into it and name that table, or leave out the connection if all are files. Only "
        "a hierarchy may be a CSV file beside them. It has no tables."
    )


def test_a_table_that_is_not_there_names_the_nearest_of_many(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    with duckdb.connect(database) as connection:
        for number in range(30):
            connection.execute(f"create table ward_{number:02} (n integer)")
        connection.execute("create table patients (n integer)")

    with DuckDBEngine(database=database) as engine, pytest.raises(InputError) as refused:
        engine.table("pateint")

    said = str(refused.value)
    assert said.startswith(
        "there is no table or view pateint in the database. Tables and views: patients, "
    )
    assert said.endswith(' and 23 more. Did you mean "patients"?')


def test_a_table_of_an_attached_database_is_named_with_its_schema() -> None:
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as clinic; create table clinic.visits (n integer)")
        with (
            DuckDBEngine(connection=connection) as engine,
            pytest.raises(InputError, match=r'Did you mean "clinic\.main\.visits"\?$'),
        ):
            engine.table("clinic.visits")


def test_a_database_is_told_from_a_file(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    duckdb.connect(database).close()

    with pytest.raises(InputError) as as_table:
        kanon.audit(str(database), quasi_identifiers=["zip"])
    with pytest.raises(kanon.SpecError) as as_url:
        kanon.audit("visits", engine="clinic.duckdb", quasi_identifiers=["zip"])

    assert str(as_table.value) == (
        f"{database} is a database; name one of its tables, and engine='duckdb:{database}'."
    )
    assert str(as_url.value) == "a DuckDB file is connected to as duckdb:clinic.duckdb."


def test_a_database_of_sqlite_is_said_to_be_one(tmp_path: Path) -> None:
    database = str(tmp_path / "clinic.db")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("create table visits (zip text)")

    for data, engine in ((database, None), ("visits", database), ("visits", f"duckdb:{database}")):
        with pytest.raises(kanon.KanonError, match=rf"SQLite.*\bsqlite:{database}'?\."):
            kanon.audit(data, ["zip"], engine=engine)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"first": 5}, "has no first records"),
        ({"output": "release.parquet"}, "the records of a release stay in snowflake"),
    ],
)
def test_no_driver_is_recommended_where_it_would_not_help(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(kanon.SpecError, match=said):
        kanon.anonymize("t", engine="snowflake://a/d", quasi_identifiers=["zip"], k=2, **asked)


def test_one_mark_is_one_mark(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("area;n\na;1,5\nb;(D)\na;2,5\n")

    with kanon.connect(delimiter=";", decimal=",", marks="(D)") as engine:
        numbers = engine.query(f"select n from {engine.table(str(file)).sql}")

    assert [row["n"] for row in numbers] == ["1.5", "(D)", "2.5"]
