"""The spec file: what it may say, what it means where it is silent, where an error points."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pytest
import yaml
from pyarrow import parquet

import kanon_sql as kanon
from kanon_sql.question.spec import json_schema
from kanon_sql.question.yaml_document import YamlDocument, scalar_or_list

WHOLE = """\
version: 1
defaults: {nulls: value, delimiter: ";"}
tables:
  - name: patients
    source: data/patients.csv
    entity: patient_id
    identifiers: [name]
    where: "admitted >= DATE '2025-01-01'"
    quasi_identifiers:
      age: {clip: [10, null], levels: [{width: 5}, {cuts: [18, 65]}, suppress]}
      zip: {levels: [{mask: right}]}
      birth_date: {levels: [month, year, {years: 5}]}
      education: {hierarchy: education.csv}
      income: {levels: [{round: 1000}, {depths: [3]}, {prefix: 2}]}
      sex: {}
    sensitive: [diagnosis]
    references:
      voters: {source: voters.csv, columns: {zip: zip_code}, entity: voter_id}
      census: {source: census.csv, weight: people, where: "age > 17"}
    checks:
      - k_anonymity: {k: 5}
      - k_map: {k: 10, reference: voters, match: exact, missing: union}
      - homogeneity: {sensitive: diagnosis}
"""


def spec(folder: Path, text: str) -> kanon.AuditSpec:
    (folder / "kanon.yml").write_text(text, encoding="utf-8")
    return kanon.AuditSpec.from_file(folder / "kanon.yml")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(kanon.SpecError) as refused:
        spec(folder, text)
    return str(refused.value).replace(f"{folder}/", "")


def test_a_table_says_only_what_it_needs(tmp_path: Path) -> None:
    [table] = spec(tmp_path, "tables:\n  - source: people.csv\n").tables

    assert table == kanon.TableSpec(source=str(tmp_path / "people.csv"))


def test_files_lie_beside_the_spec_and_tables_in_the_database(tmp_path: Path) -> None:
    tables = spec(
        tmp_path,
        """\
tables:
  - source: data/*.parquet
    references: {voters: {source: voters.csv}, census: {source: /data/census.csv}}
  - source: main.people
    connect: duckdb:clinic.duckdb
    references: {voters: {source: voters}}
""",
    ).tables

    found = [
        (table.source, table.connect, [each.source for each in table.references.values()])
        for table in tables
    ]
    assert found == [
        (f"{tmp_path}/data/*.parquet", None, [f"{tmp_path}/voters.csv", "/data/census.csv"]),
        ("main.people", f"duckdb:{tmp_path}/clinic.duckdb", ["voters"]),
    ]


@pytest.mark.parametrize(
    ("connect", "found"),
    [("duckdb:clinic.duckdb", True), ("spark:local[2]", True), ("postgresql://host/db", False)],
)
def test_a_database_that_reads_files_too_has_those_beside_the_spec(
    tmp_path: Path, connect: str, found: bool
) -> None:
    (tmp_path / "voters-1.parquet").touch()
    [table] = spec(
        tmp_path,
        f"tables: [{{source: people, connect: '{connect}', references: "
        "{v: {source: voters-*.parquet}, w: {source: absent.parquet}}}]",
    ).tables

    assert table.source == "people"
    assert {name: each.source for name, each in table.references.items()} == {
        "v": f"{tmp_path}/voters-*.parquet" if found else "voters-*.parquet",
        "w": "absent.parquet",
    }


def test_defaults_hold_for_tables_that_say_nothing_else(tmp_path: Path) -> None:
    tables = spec(
        tmp_path,
        """\
defaults: {nulls: wildcard, sensitive_nulls: unknown, null_strings: NA}
tables:
  - source: a.csv
  - {source: b.csv, nulls: value, null_strings: []}
""",
    ).tables

    assert [(t.nulls, t.sensitive_nulls, t.null_strings) for t in tables] == [
        ("wildcard", "unknown", ["NA"]),
        ("value", "unknown", []),
    ]


def test_words_stay_words(tmp_path: Path) -> None:
    [table] = spec(
        tmp_path, "tables: [{source: a.csv, sensitive: no, quasi_identifiers: [02138, on, 1e]}]"
    ).tables

    assert (table.sensitive, list(table.quasi_identifiers)) == (["no"], ["02138", "on", "1e"])


@pytest.mark.parametrize(
    "part",
    [
        "source: no.csv\n    quasi_identifiers: [zip]",
        "source: a.csv\n    quasi_identifiers: [zip]\n    references: {v: {source: no.csv}}",
        "source: a.csv\n    quasi_identifiers: [zip]\n    earlier_releases: {v: {source: no.csv}}",
        "source: a.csv\n    quasi_identifiers: {zip: {hierarchy: no.parquet}}",
        "source: a.csv\n    quasi_identifiers: {zip: {hierarchy: no.csv}}",
    ],
)
@pytest.mark.parametrize("verb", [kanon.audit, kanon.compile])
def test_a_missing_file_is_found_in_the_spec(tmp_path: Path, part: str, verb: Any) -> None:
    (tmp_path / "a.csv").write_text("zip,id\na,1\n", encoding="utf-8")
    asked = spec(tmp_path, f"tables:\n  - entity: id\n    {part}\n")

    with pytest.raises(kanon.KanonError) as refused:
        verb(asked)

    first, *_, line, marker = str(refused.value).splitlines()
    assert first.startswith(f"{tmp_path}/kanon.yml:")
    assert "no." in line[marker.index("^") : len(marker)]


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "kanon.yml").write_bytes("tables: [{source: Bücher.csv}]".encode("latin-1"))

    with pytest.raises(kanon.SpecError, match=r"kanon\.yml is not UTF-8 text"):
        kanon.AuditSpec.from_file(tmp_path / "kanon.yml")


# --- the same question from a file and from Python ------------------------------------------

PATIENTS = pyarrow.table(
    {"zip": ["02138", "02138", "02139"], "age": [34, 34, 51], "diagnosis": ["flu", "flu", "flu"]}
)
VOTERS = pyarrow.table({"zip_code": ["02138", "02138", "02139"], "age": [34, 34, 51]})


def test_a_file_and_python_ask_the_same(tmp_path: Path) -> None:
    parquet.write_table(PATIENTS, tmp_path / "patients.parquet")
    parquet.write_table(VOTERS, tmp_path / "voters.parquet")
    from_file = kanon.audit(
        spec(
            tmp_path,
            """\
tables:
  - source: patients.parquet
    where: age >= 18
    quasi_identifiers: [zip, age]
    sensitive: diagnosis
    references:
      voters: {source: voters.parquet, columns: {zip: zip_code}}
    checks:
      - k_anonymity: {k: 2}
      - k_map: {k: 1}
      - homogeneity: {sensitive: diagnosis}
""",
        )
    )

    from_python = kanon.audit(
        tmp_path / "patients.parquet",
        where="age >= 18",
        quasi_identifiers=["zip", "age"],
        sensitive="diagnosis",
        references={
            "voters": kanon.ReferenceSpec(
                source=tmp_path / "voters.parquet", columns={"zip": "zip_code"}
            )
        },
        checks=[kanon.KAnonymity(k=2), kanon.KMap(k=1), kanon.Homogeneity(sensitive="diagnosis")],
    )

    assert from_file.to_dict() == from_python.to_dict()
    assert [check["holds"] for check in from_file.to_dict()["tables"][0]["checks"]] == [
        False,
        True,
        False,
    ]


ASKED = {
    "violated": {"checks": [kanon.KAnonymity(k=2)]},
    "no_data": {"checks": [kanon.KAnonymity(k=2)], "where": "age > 99"},
    "holds": {"checks": [kanon.KAnonymity(k=1)]},
    "measured": {},
}
"""What to ask of the patients for each status, the worst first."""


@pytest.mark.parametrize(
    ("tables", "status", "exit_code"),
    [
        (["measured"], "measured", 0),
        (["measured", "holds"], "holds", 0),
        (["measured", "holds", "no_data"], "no_data", 4),
        (["measured", "holds", "no_data", "violated"], "violated", 1),
    ],
)
def test_the_worst_table_decides(tables: list[str], status: str, exit_code: int) -> None:
    result = kanon.audit(
        kanon.AuditSpec(
            tables=[
                kanon.TableSpec(source=PATIENTS, quasi_identifiers="zip", **ASKED[table])
                for table in tables
            ]
        )
    )

    assert [table.status for table in result.tables] == tables
    assert (result.status, result.exit_code) == (status, exit_code)


# --- the JSON Schema ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "text", "told"),
    [
        ("audit", "tables:\n  - {{{}, quasi_identifiers: [id], sensitive: [n], where: n > 1}}",
         "Compare them as text"),
        ("audit", "tables:\n  - {{{}, levels: {{n: 1}},\n    quasi_identifiers: {{n: "
         "{{levels: [{{width: 5}}]}}}}}}", "decimal: ',' reads numbers with a decimal comma"),
        ("tables", "published:\n  - {{{}, by: [n], contributor: id}}",
         """leave them out: where: '"id" is not null'."""),
        ("tables", "published:\n  - {{{}, by: [id], value: n, cells: true}}",
         "a declared mark: suppressed: MARK"),
    ],
)  # fmt: skip
def test_advice_on_the_data_of_a_spec_names_its_keys(
    tmp_path: Path, verb: str, text: str, told: str
) -> None:
    (tmp_path / "a.csv").write_text('n,id\n"1,5",1\n"2,5",\n', encoding="utf-8")

    with pytest.raises(kanon.KanonError) as refused:
        getattr(kanon, verb)(spec(tmp_path, text.format("source: a.csv")))

    assert told in str(refused.value)


def test_the_schema_accepts_what_a_spec_may_say(tmp_path: Path) -> None:
    spec(tmp_path, WHOLE)

    jsonschema.validate(yaml.safe_load(WHOLE), json_schema())


def changed(path: list[str | int], key: str, value: Any) -> dict[str, Any]:
    """The whole spec with one more key, or another value, at a place."""
    whole: dict[str, Any] = yaml.safe_load(WHOLE)
    part: Any = whole
    for step in path:
        part = part[step]
    part[key] = value
    return whole


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ([], "tabels", []),
        ([], "version", 2),
        (["defaults"], "nuls", "value"),
        (["tables", 0], "sorce", "a.csv"),
        (["tables", 0], "nulls", "none"),
        (["tables", 0, "quasi_identifiers", "age"], "levls", []),
        (["tables", 0, "quasi_identifiers", "age"], "levels", [{"wdth": 5}]),
        (["tables", 0, "references", "voters"], "colums", {}),
        (["tables", 0, "checks", 0, "k_anonymity"], "kk", 5),
        (["tables", 0, "checks", 0, "k_anonymity"], "k", 0),
        (["tables", 0, "checks", 1, "k_map"], "match", "fuzzy"),
        (["tables", 0, "checks", 1], "k_anonymity", {"k": 5}),
    ],
)
def test_the_schema_refuses_what_a_spec_may_not_say(
    tmp_path: Path, path: list[str | int], key: str, value: Any
) -> None:
    document = changed(path, key, value)

    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(document)
    refusal(tmp_path, json.dumps(document))


@pytest.mark.parametrize(
    ("key", "value"),
    [("quasi_identifiers", ["zip"]), ("sensitive", "diagnosis"), ("checks", ["k_anonymity"])],
)
def test_the_schema_accepts_the_short_forms(tmp_path: Path, key: str, value: Any) -> None:
    document = {"tables": [{"source": "a.csv", key: value}]}
    spec(tmp_path, json.dumps(document))

    jsonschema.validate(document, json_schema())


# What would never end


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)
"""Thirty lines, and as values more than there are atoms in a person."""


@pytest.mark.parametrize("read", [YamlDocument.read, YamlDocument.read_as_dbt_does])
def test_a_file_of_nested_aliases_is_refused(tmp_path: Path, read: Any) -> None:
    (tmp_path / "laughs.yml").write_text(LAUGHS, encoding="utf-8")
    with pytest.raises(kanon.SpecError) as refused:
        read(tmp_path / "laughs.yml")
    assert str(refused.value).splitlines()[0] == (
        f"{tmp_path}/laughs.yml:5:5: its aliases expand this to more than 100,000 values. Use "
        "fewer."
    )


@pytest.mark.parametrize("read", [YamlDocument.read, YamlDocument.read_as_dbt_does])
@pytest.mark.parametrize(
    "text", ["[" * 3000 + "]" * 3000, "".join(f"{' ' * n}a:\n" for n in range(3000)), "[" * 3000]
)
def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path, read: Any, text: str) -> None:
    (tmp_path / "deep.yml").write_text(text, encoding="utf-8")
    with pytest.raises(kanon.SpecError) as refused:
        read(tmp_path / "deep.yml")
    assert str(refused.value) == (
        f"{tmp_path}/deep.yml is nested more than 50 levels deep, and no spec needs more than a "
        "dozen. Look for brackets that are never closed."
    )


@pytest.mark.parametrize("text", ["[" * 3000, "[" * 99 + "]" * 99, "1" * 5000, "&a [*a]"])
def test_a_value_of_an_option_is_bounded_too(text: str) -> None:
    with pytest.raises(kanon.SpecError, match="is not a value: a number, a word or a"):
        scalar_or_list(text)


def test_a_pipe_is_no_spec(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "kanon.yml")
    with pytest.raises(kanon.SpecError, match=r"kanon.yml is a pipe, and a file is needed\.$"):
        kanon.AuditSpec.from_file(tmp_path / "kanon.yml")


# What Python says


def test_a_reference_is_a_mapping_too() -> None:
    people = pyarrow.table({"zip": ["02138", "02139"]})
    voters = pyarrow.table({"zip_code": ["02138", "02139", "02139"]})
    asked: dict[str, Any] = {"quasi_identifiers": "zip", "checks": [kanon.KMap(k=1)]}
    columns = {"zip": "zip_code"}

    mapped = kanon.audit(
        people, **asked, references={"voters": {"source": voters, "columns": columns}}
    )

    reference = kanon.ReferenceSpec(source=voters, columns=columns)
    named = kanon.audit(people, **asked, references={"voters": reference})
    assert [table.checks for table in mapped.tables] == [table.checks for table in named.tables]
    with pytest.raises(kanon.SpecError, match=r'unknown key "sorce" in references.voters. Did'):
        kanon.audit(people, **asked, references={"voters": {"sorce": voters}})
    with pytest.raises(kanon.SpecError, match=r'the key "source" is missing in references.voters'):
        kanon.audit(people, **asked, references={"voters": {}})


def test_a_count_may_be_larger_than_any_float() -> None:
    assert kanon.KAnonymity(k=10**400).k == 10**400
