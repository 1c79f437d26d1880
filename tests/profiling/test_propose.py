"""A spec to begin with: what is proposed, what is left open, and what no file may hold."""

from __future__ import annotations

import csv
import json
import math
import stat
from collections import Counter
from datetime import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from generated import NAMES
from real_data import DATA

import kanon_sql as kanon
from kanon_sql.cli import main
from kanon_sql.cli.demo import write as write_demo
from kanon_sql.question.spec import AuditSpec, json_schema

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there are no data in {DATA}")

PEOPLE = pyarrow.table(
    {
        "patient_id": [f"P{n}" for n in range(60)],
        "birthDate": [f"19{50 + n % 30}-01-0{1 + n % 2}" for n in range(60)],
        "age": [20 + n % 43 for n in range(60)],
        "PLZ": [f"0213{n % 7}" for n in range(60)],
        "sexe": ["femme", "homme"] * 30,
        "diagnosis": ["influenza", "HIV", "asthma"] * 20,
        "x27": [n % 4 for n in range(60)],
        "Gehalt": [1000 * n for n in range(60)],
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(PEOPLE, "people.parquet")
    return tmp_path


def parts(text: str, folder: Path) -> dict[str, Any]:
    """What a proposed file says, once it is read."""
    file = folder / "proposed.yml"
    file.write_text(text)
    [table] = AuditSpec.from_file(file).tables
    return {
        "identifiers": table.identifiers,
        "quasi_identifiers": {
            name: each.model_dump(exclude_none=True)["levels"]
            for name, each in table.quasi_identifiers.items()
        },
        "sensitive": table.sensitive,
        "undecided": table.undecided,
        "checks": [each.parameters for each in table.checks],
    }


def test_the_schema_that_a_spec_names_is_there(folder: Path) -> None:
    assert "$schema" not in kanon.init("people.parquet").text
    Path("specs").mkdir()
    written = kanon.init("people.parquet", output="specs/kanon.yml")
    name = written.text.partition("$schema=")[2].splitlines()[0]
    schema = folder / "specs" / name
    assert json.loads(schema.read_text()) == json_schema()
    schema.write_text("{}")
    kanon.init("people.parquet", output="specs/kanon.yml", overwrite=True)
    assert schema.read_text() == "{}", "a file that is there is somebody's"


def test_each_column_gets_the_part_that_it_looks_like(folder: Path) -> None:
    proposal = kanon.init("people.parquet")

    found = parts(proposal.text, folder)
    assert found["identifiers"] == ["patient_id"]
    assert found["sensitive"] == ["diagnosis", "Gehalt"]
    assert found["undecided"] == ["x27"] == list(proposal.undecided)
    levels = found["quasi_identifiers"]
    assert levels["birthDate"] == ["month", "year", {"years": 5}, "suppress"]
    assert [level if level == "suppress" else level["width"] for level in levels["age"]] == [
        5,
        10,
        20,
        "suppress",
    ]
    assert levels["PLZ"] == [{"mask": "right"}]
    assert levels["sexe"] == ["suppress"]
    assert "# hierarchy: hierarchies/sexe.csv" in proposal.text
    assert "100 % distinct: identifier" in proposal.text


def test_no_value_of_the_table_is_in_it(folder: Path) -> None:
    text = kanon.init("people.parquet").text

    values = {str(value) for name in PEOPLE.column_names for value in PEOPLE[name].to_pylist()}
    words = set(text.replace(",", " ").replace("}", " ").split())
    assert {value for value in values & words if len(value) > 3} == set()
    assert "this file has no value of the table" in " ".join(text.replace("#", " ").split())


def test_what_is_undecided_is_refused_until_a_person_decides(folder: Path) -> None:
    kanon.init("people.parquet", output="kanon.yml")
    spec = AuditSpec.from_file("kanon.yml")

    for verb in (kanon.audit, kanon.compile, kanon.anonymize):
        with pytest.raises(kanon.SpecError, match=r"kanon\.yml:\d+:\d+: .*undecided: x27"):
            verb(spec)
    assert kanon.profile(spec).status == "measured"

    decided = Path("kanon.yml").read_text().replace("undecided:", "insensitive:")
    Path("kanon.yml").write_text(decided)
    assert kanon.audit(AuditSpec.from_file("kanon.yml")).status == "violated"


def test_undecided_columns_are_refused_from_python_too() -> None:
    table = kanon.TableSpec(source=PEOPLE, quasi_identifiers=["PLZ"], undecided=["age"])

    with pytest.raises(kanon.SpecError, match="undecided: age"):
        kanon.audit(AuditSpec(tables=[table]))


def test_what_was_decided_stays_so(folder: Path) -> None:
    text = kanon.init(
        "people.parquet", sensitive="x27", identifiers="PLZ", entity="patient_id"
    ).text

    found = parts(text, folder)
    assert found["identifiers"] == ["PLZ"]
    assert "x27" in found["sensitive"]
    assert "entity: patient_id" in text


@pytest.mark.parametrize("where", [".", "specs"])
def test_the_file_finds_its_table_from_where_it_lies(folder: Path, where: str) -> None:
    Path(where).mkdir(exist_ok=True)
    file = Path(where) / "kanon.yml"

    kanon.init("people.parquet", output=file)

    assert kanon.profile(AuditSpec.from_file(file)).status == "measured"


def test_a_table_of_a_database_is_named_with_it(folder: Path) -> None:
    with duckdb.connect("clinic.duckdb") as database:
        database.execute("create table visits as from 'people.parquet'")
    Path("specs").mkdir()

    kanon.init("visits", engine="duckdb:clinic.duckdb", output="specs/kanon.yml")

    assert "connect:" in Path("specs/kanon.yml").read_text()
    assert kanon.profile(AuditSpec.from_file("specs/kanon.yml")).status == "measured"


def test_a_connection_that_no_file_can_name_is_said_so(folder: Path) -> None:
    with duckdb.connect() as database:
        database.execute("create table visits as from 'people.parquet'")

        kanon.init("visits", engine=database, output="kanon.yml")

        assert "# connect: a URL; from Python a connection" in Path("kanon.yml").read_text()
        spec = AuditSpec.from_file("kanon.yml")
        assert kanon.profile(spec, engine=database).status == "measured"


def test_a_password_is_not_written_down() -> None:
    with pytest.raises(kanon.SpecError, match="env:NAME") as refused:
        kanon.init("visits", engine="postgresql://ann:hidden@localhost/clinic")
    assert "hidden" not in str(refused.value)


def test_odd_names_are_read_back(folder: Path) -> None:
    names = [name for name in NAMES if "\n" not in name]
    unique = list({name.casefold(): name for name in names}.values())
    odd = pyarrow.table({name: [n % 3 for n in range(6)] for name in unique})
    pyarrow.parquet.write_table(odd, "odd.parquet")

    found = parts(kanon.init("odd.parquet").text, folder)

    read = [*found["identifiers"], *found["quasi_identifiers"], *found["sensitive"]]
    assert sorted([*read, *found["undecided"]]) == sorted(unique)


def test_names_of_every_script_are_written_as_people_read_them(folder: Path) -> None:
    names = [
        "Größe",
        "年齢",
        "🏠 x",
        "nb\u00a0sp",
        "zero\u200bwidth",
        "\x7f",
        "no",
        "1e3",
    ]
    table = pyarrow.table({name: list(range(30)) * 2 for name in names})
    pyarrow.parquet.write_table(table, "every.parquet")

    text = kanon.init("every.parquet").text

    found = parts(text, folder)
    assert sorted([*found["quasi_identifiers"], *found["undecided"]]) == sorted(names)
    assert "\n      Größe:    # name suggests body measurement" in text
    assert "\n      - 年齢    # " in text
    assert '\n      - "🏠 x"    # ' in text
    assert [each for each in text if not each.isprintable() and each != "\n"] == []


LEVELS = {
    "Geburtsdatum": (
        [f"{1 + n % 28:02}.03.19{n:02}" for n in range(60)],
        ["month", "year", 5, "suppress"],
    ),
    "time_of_birth": ([time(n % 24, n) for n in range(60)], ["suppress"]),
    "age": ([float(n % 40) if n % 7 else math.nan for n in range(60)], ["suppress"]),
    "edad": ([n % 40 / 10_000 for n in range(60)], [1e-4, 5e-4, 1e-3, "suppress"]),
    "alter": ([n % 40 for n in range(60)], [5, 10, 20, "suppress"]),
}
"""Values of a column by its name, and the levels or the widths that fit them."""


@pytest.mark.parametrize("name", LEVELS)
def test_levels_fit_what_the_values_are_like(name: str, folder: Path) -> None:
    values, levels = LEVELS[name]
    pyarrow.parquet.write_table(pyarrow.table({name: values, "sexe": ["f", "m"] * 30}), "x.parquet")

    text = kanon.init("x.parquet").text

    proposed = parts(text, folder)["quasi_identifiers"][name]
    widths = [each if isinstance(each, str) else next(iter(each.values())) for each in proposed]
    assert widths == levels
    at_level = Path("proposed.yml").read_text() + f"    levels: {{{name}: 1}}\n"
    Path("proposed.yml").write_text(at_level)
    [found] = kanon.audit(AuditSpec.from_file("proposed.yml")).tables
    assert found.summary.records == 60


PUBLISHED = {
    "arx_adult/adult.csv": {
        *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
        "occupation",
    },
    "adult/adult.csv": {
        *("age", "education", "marital-status", "occupation", "race", "sex", "native-country"),
        "workclass",
    },
    "datafly/db_100.csv": {"age", "city_birth", "zip_code"},
    "peers/healthcare-dataset-stroke-data.csv": {"gender", "age", "bmi", "work_type"},
    "peers/sdc_testdata.csv": {"urbrur", "roof", "walls", "water", "electcon", "relat", "sex"},
    "peers/drug_type.csv": {"Age", "Sex"},
}
"""The quasi-identifiers that publications use for these tables."""


@needs_data
@pytest.mark.parametrize("file", PUBLISHED)
def test_no_published_quasi_identifier_is_taken_for_something_harmless(
    file: str, folder: Path
) -> None:
    found = parts(kanon.init(DATA / file).text, folder)

    assert PUBLISHED[file] <= {*found["quasi_identifiers"], *found["undecided"]}


def test_the_demo_gets_its_own_parts_back(folder: Path) -> None:
    write_demo(Path("demo"))

    found = parts(kanon.init("demo/patients.csv").text, folder)

    assert set(found["identifiers"]) == {"patient_id", "name"}
    assert {"birth_year", "sex", "zip"} <= set(found["quasi_identifiers"])
    assert found["sensitive"] == ["diagnosis"]


# --- the command ----------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([*arguments], prog_name="kanon-sql")
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_command_writes_and_says_what_is_left(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, out, err = run(capsys, "init", "people.parquet", "--output", "kanon.yml")

    assert (code, out) == (0, "")
    assert err == "kanon.yml written: 1 column to be decided by a person.\n"
    assert run(capsys, "validate", "kanon.yml")[0] == 2
    assert run(capsys, "init", "people.parquet", "--output", "kanon.yml")[0] == 2
    assert run(capsys, "init", "people.parquet", "--output", "kanon.yml", "--overwrite")[0] == 0
    assert run(capsys, "init", "people.parquet")[1] == Path("kanon.yml").read_text()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["people.csv"], 2),
        (["kanon.yml"], 2),
        (["people.parquet", "--output", "people.parquet", "--overwrite"], 2),
        (["people.parquet", "--output", "kanon.json"], 2),
        (["people.parquet", "--where", "age > 1000"], 4),
    ],
)
def test_what_the_command_cannot_do_ends_with_its_code(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], code: int
) -> None:
    found, out, err = run(capsys, "init", *arguments)

    assert (found, out) == (code, "")
    assert err.startswith("error: ")


@pytest.mark.parametrize(("rows", "options"), [("", []), ("a,b\n", ["--where", "1 = 0"])])
def test_of_a_table_without_records_nothing_is_proposed(
    capsys: pytest.CaptureFixture[str], folder: Path, rows: str, options: list[str]
) -> None:
    Path("empty.csv").write_text(f"zip,sex\n{rows}")

    code, out, err = run(capsys, "init", "empty.csv", "--output", "kanon.yml", *options)

    assert (code, out) == (4, "")
    assert "empty.csv: no record was found, so nothing can be proposed for its columns." in err
    assert not Path("kanon.yml").exists()


# --- a hierarchy file -----------------------------------------------------------------------


def test_a_hierarchy_begins_with_the_values_of_a_column(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    asked = ["hierarchy", "new", "PLZ=prefix:3", "--from", "people.parquet", "--output", "h.csv"]

    assert run(capsys, *asked)[0] == 2
    code, out, err = run(capsys, *asked, "--show-values")

    assert (code, out, err) == (0, "", "h.csv written: 7 values, personal data.\n")
    lines = Path("h.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == [f"0213{n}" for n in range(7)]
    assert all(line.endswith(",*") for line in lines)
    assert stat.S_IMODE(Path("h.csv").stat().st_mode) == 0o600
    released = kanon.anonymize(
        "people.parquet", {"PLZ": {"hierarchy": "h.csv"}}, k=10, untouched="drop"
    )
    assert released.anonymization.levels == {"PLZ": 1}


@pytest.mark.parametrize(
    "column", ["PLZ", "age=width:5,10", "age=width:5,suppress", "birthDate=date:month,year"]
)
def test_every_hierarchy_can_be_used_as_it_stands(
    capsys: pytest.CaptureFixture[str], folder: Path, column: str
) -> None:
    name = column.partition("=")[0]
    code, _, err = run(
        capsys, "hierarchy", "new", column, "--from", "people.parquet", "--output", "h.csv",
        "--show-values",
    )  # fmt: skip

    assert code == 0, err
    [top] = {line.rsplit(",", 1)[1] for line in Path("h.csv").read_text().splitlines()}
    height = len(Path("h.csv").read_text().splitlines()[0].split(",")) - 1
    asked = {name: {"hierarchy": "h.csv"}}
    assert top == "*"
    if '"' not in Path("h.csv").read_text():
        [table] = kanon.audit("people.parquet", asked, levels={name: height}, k=60).tables
        assert table.summary.classes == 1


def test_groups_are_proposed_that_keep_the_order_and_merge_what_is_rare(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    ages = [str(n) for n in range(18, 78) for _ in range(10)]
    jobs = ["clerk"] * 300 + ["nurse"] * 280 + ["other"] * 10 + ["judge"] * 9 + ["miner"]
    days = ["2024-02-01", "2023-12-31", "2024-01-15"] * 200
    pyarrow.parquet.write_table(
        pyarrow.table(
            {"age": ages, "job": jobs, "day": days, "text": [str(n) for n in range(600)]}
        ),
        "survey.parquet",
    )

    def rows(column: str) -> list[list[str]]:
        code, _, err = run(
            capsys, "hierarchy", "new", column, "--from", "survey.parquet", "--output", "h.csv",
            "--show-values", "--overwrite",
        )  # fmt: skip
        assert code == 0, err
        with Path("h.csv").open(newline="") as file:
            return list(csv.reader(file))

    assert rows("age")[:4] == [
        ["18", "18 to 20", "18 to 29", "*"],
        ["19", "18 to 20", "18 to 29", "*"],
        ["20", "18 to 20", "18 to 29", "*"],
        ["21", "21 to 23", "18 to 29", "*"],
    ]
    for share, level in ((0.05, 1), (0.2, 2)):
        sizes = Counter(row[level] for row in rows("age") for _ in range(10))
        assert min(sizes.values()) >= share * 600
    assert rows("job") == [
        ["clerk", "clerk", "*"],
        ["judge", "other values", "*"],
        ["miner", "other values", "*"],
        ["nurse", "nurse", "*"],
        ["other", "other values", "*"],
    ]
    assert [row[0] for row in rows("day")] == ["2023-12-31", "2024-01-15", "2024-02-01"]
    for column in ("age", "job", "text"):
        rows(column)
        asked = {column: {"hierarchy": "h.csv"}}
        assert kanon.anonymize("survey.parquet", asked, k=30, untouched="drop").holds


def test_a_column_with_an_equals_sign_is_quoted(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("odd.csv").write_text('"c=d","a""b"\n11,x\n23,y\n')
    asked = ["--from", "odd.csv", "--show-values", "--overwrite", "--output", "h.csv"]

    def first_line(column: str) -> str:
        code, _, err = run(capsys, "hierarchy", "new", column, *asked)
        assert code == 0, err
        return Path("h.csv").read_text().splitlines()[0]

    assert first_line('"c=d"=mask:right') == "11,1*,**,*"
    assert first_line('"c=d"') == "11,*"
    assert first_line('"a""b"') == "x,*"


@pytest.mark.parametrize(
    "arguments",
    [
        ["sexe=width:5", "--output", "h.csv"],
        ["sex", "--output", "h.csv"],
        ["age=widths:5", "--output", "h.csv"],
        ["age", "--output", "people.parquet", "--overwrite"],
        ["age", "--output", "nowhere/h.csv"],
    ],
)
def test_what_no_hierarchy_can_be_made_of_is_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str]
) -> None:
    code, out, err = run(
        capsys, "hierarchy", "new", *arguments, "--from", "people.parquet", "--show-values"
    )

    assert (code, out) == (2, "")
    assert err.startswith("error: ")


def test_amounts_are_no_numbers_of_people_and_weights_none_of_their_parts(folder):
    several = range(400)
    pyarrow.parquet.write_table(
        pyarrow.table(
            {
                "expend": [917 * each % 10_007 for each in several],
                "x1": [917 * (each % 390) for each in several],
                "x2": [917 * each for each in several],
                "household_weights": [100 + each % 9 for each in several],
                "fnlwgt": [100 + each % 300 for each in several],
            }
        ),
        "survey.parquet",
    )

    proposed = parts(kanon.init("survey.parquet").text, folder)

    assert proposed["sensitive"] == ["expend"]
    assert proposed["identifiers"] == ["x2"]
    assert proposed["quasi_identifiers"] == {}
    assert set(proposed["undecided"]) == {"x1", "household_weights", "fnlwgt"}


def test_one_record_is_one_record() -> None:
    proposed = str(kanon.init(pyarrow.table({"a": [1]})))

    assert "proposed from pyarrow.Table: 1 record. " in proposed
    assert "; 1 value; " in proposed
