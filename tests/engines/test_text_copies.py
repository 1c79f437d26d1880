"""A text file in another encoding, or below a title, gives the records that it has in UTF-8."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import duckdb
import pytest
from test_files import random_csv, read, refusal, written

import kanon_sql as kanon
from kanon_sql.engines.duckdb import text_copies
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import InputError, SpecError

CODECS = ["cp1252", "latin-1", "utf-16", "utf-16-be", "utf-8-sig", "gb18030", "mac-roman", "cp850"]
TITLES = ["", "Stays\n", 'The "first\n\n', "Größe; 1,2\r\n", "a\rb\r"]


def outcome(path: Path, **options: object) -> object:
    try:
        return read(path, delimiter=",", header=True, **options)
    except InputError:
        return "refused"


@pytest.mark.parametrize("chunk", [1, 2, 3, 1 << 22])
def test_random_files_have_the_records_of_their_copy_in_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(text_copies, "CHUNK", chunk)
    chance, read_whole = random.Random(chunk), 0
    for seed in range(60):
        data = random_csv(seed)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        if not text.strip("\r\n"):
            continue
        codec, title = chance.choice(CODECS), chance.choice(TITLES)
        expected = outcome(written(tmp_path, text, f"{seed}.csv"))
        skip = len(title.splitlines())
        path = written(tmp_path, (title + text).encode(codec), f"{seed}_copied.csv")
        assert outcome(path, encoding=codec, skip=skip) == expected, (seed, codec, title)
        read_whole += expected != "refused"
    assert read_whole > 25


@pytest.mark.parametrize(
    ("content", "options", "records"),
    [
        (b"name\nCaf\xe9\n", {"encoding": "latin-1"}, [("Café",)]),
        (b"price\n5 \x80\n", {"encoding": "cp1252"}, [("5 €",)]),
        ("zip\n01234\n".encode("utf-16"), {"encoding": "utf-16"}, [("01234",)]),
        ("zip\n01234\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, [("01234",)]),
        (b"sep=;\na;b\n1;x,y\n", {}, [("1", "x,y")]),
        (b'"sep=;"\r\na;b\r\n1;2\r\n', {}, [("1", "2")]),
        (b"\xef\xbb\xbfsep=,\na;b,c\n1,2\n", {}, [("1", "2")]),
        ("sep=\t\nzip\tname\n1\tä\n".encode("utf-16"), {"encoding": "utf-16"}, [("1", "ä")]),
        (b"Stays\nsep=;\na;b\n1;2\n", {"skip": 1}, [("1", "2")]),
        (b"sep=;\na;b\n1;2\n", {"delimiter": ";"}, [("1", "2")]),
        (b"\n\na,b\n1,2\n", {"skip": 2}, [("1", "2")]),
        (b"Stays\r\na,b\r\n1,2\r\n", {"skip": 1}, [("1", "2")]),
        (b"Stays\ra,b\r1,2", {"skip": 1}, [("1", "2")]),
        (b"Stays\n1,2\n3,4\n", {"skip": 1, "header": False}, [("1", "2"), ("3", "4")]),
    ],
)
def test_what_a_copy_gives(
    tmp_path: Path, content: bytes, options: dict[str, object], records: list[tuple[str, ...]]
) -> None:
    assert read(written(tmp_path, content), **options) == records
    zipped = written(tmp_path, gzip.compress(content), "people.csv.gz")
    assert read(zipped, **options) == records


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "a,b\n1,2\n3,\u0141\n".encode(),
            {"encoding": "cp1252"},
            "people.csv is UTF-8, so cp1252 would give it other characters. Leave out encoding.",
        ),
        (
            b"a,b\n1,2\r\n3,\x81\n",
            {"encoding": "cp1252"},
            "people.csv: line 3 can't be decoded as cp1252. Name the encoding that the file was "
            "written in.",
        ),
        (
            b"Stays\na,b\n1,\xe9\n",
            {"skip": 1},
            "people.csv: line 3 is not UTF-8. If Excel wrote the file, encoding='cp1252' reads it.",
        ),
        (
            "a,b\n".encode("utf-16"),
            {"encoding": "latin-1"},
            "people.csv is UTF-16. Read it with encoding='utf-16'.",
        ),
        (
            b"Stays\n\na,b\n1,2\n3\n",
            {"skip": 2},
            "people.csv: line 5 has 1 field, the header 2. Complete it.",
        ),
        (
            b'Stays\na,b\n1,"2\n3,4\n',
            {"skip": 1},
            "people.csv: a quote in line 3 is not closed. Close or remove it.",
        ),
        (b"a,b\n1,2\n", {"skip": 2}, "people.csv has no line below the 2 left out."),
        (b"a,b\n1,2\n", {"skip": 9}, "people.csv has no line below the 9 left out."),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 22])
def test_the_fault_is_named_in_the_original(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    options: dict[str, object],
    message: str,
    chunk: int,
) -> None:
    if chunk > 1 or "utf-16" not in message:
        monkeypatch.setattr(text_copies, "CHUNK", chunk)
    assert refusal(written(tmp_path, content), **options) == message


@pytest.mark.parametrize("name", ["hex", "rot13", "no-such"])
def test_an_encoding_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, "a\n1\n")
    refused = pytest.raises(SpecError, match=f"must be a codec of Python.* found '{name}'")
    with DuckDBEngine(text=TextOptions(encoding=name)) as engine, refused:
        engine.table(path)


def test_a_copy_is_private_and_gone_after_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = written(tmp_path, b"name\nCaf\xe9\n")
    with DuckDBEngine(text=TextOptions(encoding="cp1252")) as engine:
        table = engine.table(path)
        copies = [file for file in tmp_path.rglob("people.csv") if file != path]
        assert [file.read_bytes() for file in copies] == ["name\nCafé\n".encode()]
        [folder] = {copies[0].relative_to(tmp_path).parts[0]}
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
        assert engine.query(f"from {table.sql}") == [{"name": "Café"}]
        assert engine.table(path) == table
    assert [file for file in tmp_path.rglob("people.csv") if file != path] == []


def test_decimal_commas_of_a_copy_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "Größe\nzip;kg\n1;70,5\n1;70,5\n".encode("cp1252"))
    settings = {"encoding": "cp1252", "skip": 1, "decimal": ","}
    assert read(path, **settings) == [("1", "70.5"), ("1", "70.5")]
    assert kanon.audit(path, ["zip", "kg"], **settings).tables[0].summary.k == 2


def test_files_of_a_glob_and_of_folders_are_copied_each(tmp_path: Path) -> None:
    for year in ("2024", "2025"):
        (tmp_path / f"year={year}").mkdir()
        written(tmp_path / f"year={year}", f"Year {year}\nname\nZoë\n".encode("cp1252"))
    records = read(f"{tmp_path}/*/people.csv", encoding="cp1252", skip=1)
    assert records == [("Zoë", "2024"), ("Zoë", "2025")]


def test_each_table_has_its_own_encoding_and_title(tmp_path: Path) -> None:
    release = written(tmp_path, "Title\nname\nZoë\nZoë\n".encode("cp1252"), "release.csv")
    register = written(tmp_path, "name\nZoë\nZoë\nZoë\n", "register.csv")
    check = kanon.KMap(k=3)
    for engine in (None, duckdb.connect()):
        result = kanon.audit(
            release,
            ["name"],
            checks=[check],
            references={"register": register},
            encoding="cp1252",
            skip=1,
            engine=engine,
        )
        assert result.holds


def test_a_release_of_another_encoding_is_utf_8(tmp_path: Path) -> None:
    path = written(tmp_path, "Title\nname;zip\nZoë;1\nZoë;2\n".encode("cp1252"))
    release = tmp_path / "release.csv"
    options = {"max_suppressed": 0, "encoding": "cp1252", "skip": 1}
    kanon.anonymize(path, ["zip"], k=2, output=release, **options)
    assert release.read_text(encoding="utf-8").splitlines()[1:] == ["Zoë,*", "Zoë,*"]
