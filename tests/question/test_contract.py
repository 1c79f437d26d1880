"""Data contracts as specs: what is read, and what is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import SpecError
from kanon_sql.question.contract import read_contract, read_spec, with_rules
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec

ROLES = {"zip": "quasi_identifier", "age": "quasi_identifier", "dx": "sensitive", "id": "entity"}
PATIENTS = "zip,age,dx,id\n02138,3,flu,a\n02138,3,cold,b\n02139,4,flu,c\n"


def rule(model: str, **parameters: Any) -> dict[str, Any]:
    return {
        "id": f"kanon_sql_{model}",
        "type": "custom",
        "engine": "kanon-sql",
        "implementation": {"model": model, **parameters},
    }


def kanon_property(value: Any) -> list[dict[str, Any]]:
    return [{"property": "other", "value": 1}, {"property": "kanonSql", "value": value}]


def columns(**roles: Any) -> list[dict[str, Any]]:
    return [
        {"name": name, "customProperties": kanon_property({"role": role})}
        if isinstance(role, str)
        else {"name": name, **role}
        for name, role in roles.items()
    ]


def contract(*objects: dict[str, Any], **more: Any) -> dict[str, Any]:
    server = {"server": "files", "type": "local", "path": "data/{model}.csv", "format": "csv"}
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "x",
        "version": "1.0.0",
        "status": "active",
        "servers": [server],
        "schema": list(objects),
    } | more


def patients(settings: Any = None, rules: Any = (), **more: Any) -> dict[str, Any]:
    custom = {} if settings is None else {"customProperties": kanon_property(settings)}
    return (
        {"name": "patients", "properties": columns(**ROLES), "quality": list(rules)} | custom | more
    )


Write = Callable[[dict[str, Any]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(document: dict[str, Any]) -> Path:
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / "patients.csv").write_text(PATIENTS)
        (tmp_path / "data" / "voters.csv").write_text("zip_code,age,voter\n02138,3,x\n")
        path = tmp_path / "c.odcs.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path

    return written


def table(path: Path, **how: Any) -> TableSpec:
    spec = read_contract(path, **how).spec
    assert spec is not None
    [found] = spec.tables
    return found


# --- what is read ---------------------------------------------------------------------------


def test_roles_and_custom_rules_are_a_table(write: Write) -> None:
    path = write(contract(patients(rules=[rule("k_anonymity", k=2), rule("l_diversity", l=2)])))

    found = table(path)

    assert found.name == "patients"
    assert found.source == str(path.parent / "data" / "patients.csv")
    assert list(found.quasi_identifiers) == ["zip", "age"]
    assert (found.sensitive, found.entity) == (["dx"], "id")
    assert found.checks == [kanon.KAnonymity(k=2), kanon.LDiversity(l=2)]


def test_short_keys_are_demands_too(write: Write) -> None:
    settings = {"k": 2, "l": 3, "where": "age > '1'", "nulls": "value",
                "checks": [{"homogeneity": {"sensitive": "dx"}}]}  # fmt: skip

    found = table(write(contract(patients(settings))))

    assert found.checks == [
        kanon.KAnonymity(k=2),
        kanon.LDiversity(l=3, sensitive="dx"),
        kanon.Homogeneity(sensitive="dx"),
    ]
    assert found.where == "age > '1'"


@pytest.mark.parametrize("version", ["v3.0.0", "v3.0.2", "v3.1.0", "v3.2.0", "v3"])
def test_every_third_version_is_read(write: Write, version: str) -> None:
    document = contract(patients({"k": 2}), apiVersion=version)
    del document["status"]

    assert table(write(document)).checks == [kanon.KAnonymity(k=2)]


def test_both_may_say_the_same(write: Write) -> None:
    rules = [rule("k_anonymity", k=2), rule("k_anonymity", k=2), rule("l_diversity", l=2)]

    found = table(write(contract(patients({"k": 2}, rules))))

    assert found.checks == [kanon.KAnonymity(k=2), kanon.LDiversity(l=2)]


def test_references_are_other_tables_of_the_contract_or_files(write: Write) -> None:
    voters = {"name": "voters", "properties": columns(zip_code={})}
    named = {"source": "voters", "columns": {"zip": "zip_code"}, "entity": "voter"}
    filed = {"source": "data/voters.csv", "columns": {"zip": "zip_code"}, "entity": "voter"}
    short = {"k_map": 2, "reference": "voters", "reference_columns": {"zip": "zip_code"},
             "reference_entity": "voter"}  # fmt: skip

    specs = [
        table(write(contract(patients(settings, [rule("k_map", k=2)]), voters)))
        for settings in (
            {"references": {"voters": named}},
            {"references": {"voters": filed}},
            short,
        )
    ]

    [source] = {spec.references["voters"].source for spec in specs}
    assert source.endswith("/data/voters.csv")
    assert all(spec.references == specs[0].references for spec in specs)
    assert all(spec.checks[0].parameters["k"] == 2 for spec in specs)


def test_earlier_releases_levels_and_hierarchies(write: Write) -> None:
    zips = {"name": "zip", "customProperties": kanon_property(
        {"role": "quasi_identifier", "levels": [{"mask": "right"}]})}  # fmt: skip
    settings = {
        "levels": {"zip": 1},
        "earlier_releases": {"r1": {"source": "patients"}},
        "checks": [{"composed_k_anonymity": {"k": 1}}],
    }
    document = contract(patients(settings, properties=[zips, *columns(id="entity")]))

    found = table(write(document))

    assert found.levels == {"zip": 1}
    assert found.earlier_releases["r1"].source == found.source
    assert kanon.audit(AuditSpec(tables=[found])).tables[0].levels == {"zip": 1}


def test_a_rule_of_a_column_is_on_its_values(write: Write) -> None:
    properties = columns(**ROLES)
    properties[2]["quality"] = [rule("l_diversity", l=2)]

    found = table(write(contract(patients(properties=properties))))

    assert found.checks == [kanon.LDiversity(l=2, sensitive="dx")]


def test_sql_rules_and_those_of_others_are_never_read(write: Write) -> None:
    others = [
        {"id": "kanon_sql_k", "type": "sql", "query": "select 1", "mustBe": 0},
        {"type": "custom", "engine": "soda", "implementation": "checks: []"},
        {"type": "library", "rule": "rowCount", "mustBeGreaterThan": 1},
    ]

    assert table(write(contract(patients({"k": 1}, others)))).checks == [kanon.KAnonymity(k=1)]


def test_a_column_marked_as_personal_without_a_role_is_a_warning(write: Write) -> None:
    marked = {"phone": {"classification": "restricted"}, "mail": {"tags": ["PII"]},
              "ward": {"classification": "public"}, "bed": {"tags": ["clinic"]}}  # fmt: skip
    properties = [*columns(**ROLES), *columns(**marked)]

    selected = read_contract(write(contract(patients({"k": 1}, properties=properties))))

    assert [note.split('"')[1] for note in selected.notes[0]] == ["phone", "mail"]
    assert all("marked as personal in the contract" in note for note in selected.notes[0])


def test_a_table_of_a_database(write: Write) -> None:
    servers = [
        {"server": "here", "type": "duckdb", "database": "clinic.duckdb", "schema": "main"},
        {"server": "there", "type": "postgres", "host": "h", "port": 5432, "database": "d"},
    ]
    path = write(contract(patients({"k": 1}, physicalName="p_2025"), servers=servers))

    here, there = table(path, server="here"), table(path, connect="postgresql://h/d")

    assert (here.source, here.connect) == ("main.p_2025", f"duckdb:{path.parent}/clinic.duckdb")
    assert (there.source, there.connect) == ("p_2025", "postgresql://h/d")


@pytest.mark.parametrize(
    ("server", "source", "connect"),
    [
        (
            {"type": "postgres", "port": 5432, "schema": "s"},
            "s.patients",
            "postgresql://h:5432/d%2F",
        ),
        ({"type": "postgresql"}, "patients", "postgresql://h/d%2F"),
        ({"type": "mysql", "port": 3307}, "patients", "mysql://h:3307/d%2F"),
        ({"type": "clickhouse", "port": 8123}, "patients", "clickhouse://h:8123/d%2F"),
    ],
)
def test_a_server_with_a_host(
    write: Write, server: dict[str, Any], source: str, connect: str
) -> None:
    servers = [{"server": "there", "host": "h", "database": "d/", **server}]

    found = table(write(contract(patients({"k": 1}), servers=servers)))

    assert (found.source, found.connect) == (source, connect)


def test_a_table_of_events(write: Write) -> None:
    levels = {"role": "event", "levels": [{"prefix": 2}]}
    zips = {"name": "zip", "customProperties": kanon_property(levels)}
    rules = [rule("km_anonymity", k=1), rule("known_events", m=2), rule("known_events", m=4)]
    document = contract(patients(rules=rules, properties=[zips, *columns(id="entity")]))

    found = table(write(document))

    assert (list(found.events), found.quasi_identifiers, found.entity) == (["zip"], {}, "id")
    assert [check.name() for check in found.checks] == [
        each["implementation"]["model"] for each in rules
    ]
    [events] = [each.events for each in kanon.audit(AuditSpec(tables=[found])).tables]
    assert (events.columns, events.distinct) == (("zip",), 2)


def test_files_in_a_bucket(write: Write) -> None:
    server = {"server": "b", "type": "s3", "location": "s3://clinic/{model}/*.parquet",
              "format": "parquet"}  # fmt: skip

    found = table(write(contract(patients({"k": 1}), servers=[server])))

    assert found.source == "s3://clinic/patients/*.parquet"


# --- what is refused ------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an old version": (contract(patients({"k": 1}), apiVersion="v2.2.2"), {},
                       "apiVersion v2.2.2, and kanon-sql reads v3.*"),
    "no version": (contract(patients({"k": 1}), apiVersion=None), {}, "kanon-sql reads v3.*"),
    "no schema": (contract(schema="x"), {}, "schema must be a list of objects"),
    "a nameless table": (contract({"properties": []}), {}, "schema must be a list of objects"),
    "a nameless column": (contract(patients(properties=[{"x": 1}])), {}, "columns with a name"),
    "no role": (contract({"name": "t", "properties": [{"name": "zip"}]}), {},
                "no column has a role"),
    "no quasi-identifier": (contract(patients({"k": 1}, properties=columns(dx="sensitive"))), {},
                            "no column has the role quasi_identifier"),
    "an unknown role": (contract(patients(properties=columns(zip="quasi_identifer"))), {},
                        'Did you mean "quasi_identifier"?'),
    "an unknown key": (contract(patients({"wher": "x"})), {}, 'Did you mean "where"?'),
    "an unknown model": (contract(patients(rules=[rule("k_anonimity", k=1)])), {},
                         'Did you mean "k_anonymity"?'),
    "an unknown parameter": (contract(patients(rules=[rule("k_anonymity", n=1)])), {},
                             'has no parameter "n"'),
    "no model": (contract(patients(rules=[rule("k_anonymity") | {"implementation": "k"}])), {},
                 "implementation must name a model"),
    "two demands": (contract(patients({"k": 2}, [rule("k_anonymity", k=3)])), {},
                    "k_anonymity is demanded by kanonSql and by a custom rule, and they differ"),
    "a setting that is no mapping": (contract(patients("k")), {}, "value is a mapping"),
    "a property spelled otherwise": (contract(patients(
        customProperties=[{"property": "kanon_sql", "value": {"k": 2}}])), {},
        "the property kanon_sql is spelled kanonSql"),
    "a role spelled otherwise": (contract(patients(properties=[*columns(zip="quasi_identifier"), {
        "name": "age", "customProperties": [{"property": "KanonSQL", "value": {}}]}])), {},
        "the property KanonSQL is spelled kanonSql"),
    "properties that are no list": (contract(patients(properties=[{
        "name": "zip", "customProperties": {"kanonSql": {"role": "quasi_identifier"}}}])), {},
        "customProperties must be a list"),
    "rules that are no list": (contract(patients(quality=rule("k_anonymity", k=2))), {},
                               "quality must be a list"),
    "an engine spelled otherwise": (contract(patients(
        rules=[rule("k_anonymity", k=2) | {"engine": "kanon_sql"}])), {},
        "the engine kanon_sql is spelled kanon-sql"),
    "a role within a column": (contract(patients(properties=[*columns(**ROLES), {
        "name": "at", "properties": columns(street="quasi_identifier")}])), {},
        "a part of a column can't have a role"),
    "a role of a list's items": (contract(patients(properties=[*columns(**ROLES), {
        "name": "at", "items": {"properties": columns(street="quasi_identifier")}}])), {},
        "a part of a column can't have a role"),
    "settings of the whole": (contract(patients({"k": 1}), customProperties=kanon_property(
        {"k": 5})), {}, "read at a schema object and at its columns alone"),
    "rules of the whole": (contract(patients({"k": 1}), quality=[rule("k_anonymity", k=5)]), {},
                           "read at a schema object and at its columns alone"),
    "a column twice": (contract(patients({"k": 1}, properties=[
        *columns(zip="quasi_identifier", dx="sensitive"), {"name": "zip"}])), {},
        '"zip" is declared twice'),
    "a table twice": (contract(patients({"k": 1}), patients()), {},
                      '"patients" is declared twice'),
    "an unknown server": (contract(patients({"k": 1})), {"server": "file"},
                          'Did you mean "files"?'),
    "no server": (contract(patients({"k": 1}), servers=[]), {}, "Servers: none"),
    "several servers": (contract(patients({"k": 1}), servers=[{"server": "a"}, {"server": "b"}]),
                        {}, "Servers: a, b"),
    "a server of another kind": (contract(patients({"k": 1}), servers=[
        {"server": "a", "type": "kafka"}]), {}, "is of type kafka"),
    "an unknown table": (contract(patients({"k": 1})), {"select": ["patient"]},
                         'Did you mean "patients"?'),
    "an unknown reference": (contract(patients({"k_map": 1, "reference": "voter"}),
                                      {"name": "voters"}), {}, 'Did you mean "voters"?'),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name: str, write: Write) -> None:
    document, how, message = WRONG[name]
    path = write(document)

    with pytest.raises(SpecError) as refused:
        read_contract(path, **how)

    assert message in str(refused.value)
    assert str(path) in str(refused.value)


# --- on the command line --------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([str(each) for each in arguments], prog_name="kanon-sql")
        return (int(end.value.code or 0), *capsys.readouterr())

    return typed


def test_a_contract_is_a_spec_for_every_command(write: Write, run: Run) -> None:
    path = write(contract(patients({"k": 2})))

    assert run("audit", path)[0] == 1
    assert run("audit", path, "--select", "patients", "--server", "files")[0] == 1
    assert run("compile", path)[0] == run("validate", path)[0] == run("profile", path)[0] == 0
    assert run("audit", path, "--k", "1")[0] == 0
    assert "asked for 1" in run("audit", path, "--k", "1")[1]
    assert run("tradeoff", path, "--k", "2")[0] == 0
    assert run("anonymize", path)[0] != 2
    assert run("audit", path, "--format", "github")[1].startswith(f"::error file={path},line=")


@pytest.mark.parametrize(
    "command",
    [
        ("audit",),
        ("profile",),
        ("tradeoff", "--k", "2"),
        ("anonymize", "--dry-run"),
        ("worksheet", "--show-values", "--output", "sheet.csv"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_reads_the_named_server(
    command: tuple[str, ...], write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = contract(patients({"k": 2}))
    document["servers"].append({"server": "far", "type": "kafka"})
    path = write(document)
    monkeypatch.chdir(path.parent)
    name, *options = command

    assert run(name, path.name, "--server", "files", *options)[0] in (0, 1)
    code, out, err = run(name, path.name, *options)
    assert (code, out) == (2, "")
    assert "name the server of the tables, --server NAME. Servers: files, far." in err
    code, _, err = run(name, path.name, "--server", "far", *options)
    assert code == 2
    assert "name its connection, --connect URL" in err
    assert run(name, path.name, "--connect", "sqlite:none.db", *options)[0] == 2
    assert "can't be combined" not in run(name, path.name, "--connect", "sqlite:x", *options)[2]


def test_python_reads_the_named_server(write: Write, tmp_path: Path) -> None:
    document = contract(patients({"k": 2}))
    document["servers"].append({"server": "far", "type": "kafka"})
    path = write(document)

    assert read_spec(path, server="files").tables[0].name == "patients"
    with pytest.raises(SpecError, match="there is no server x"):
        read_spec(path, server="x")
    with pytest.raises(
        SpecError, match=r"is a data contract: kanon_sql\.read_spec\('.+'\) reads it"
    ):
        AuditSpec.from_file(path)
    (tmp_path / "kanon.yml").write_text("tables: [{source: a.csv, quasi_identifiers: [zip]}]")
    with pytest.raises(SpecError, match=r"kanon\.yml is no data contract"):
        read_spec(tmp_path / "kanon.yml", server="files")


# --- rules into a contract ------------------------------------------------------------------

TEXT = """\
# ours
apiVersion: v3.0.2
kind: DataContract   # keep
schema:
  - name: patients   # with a comment
    properties:
      - name: zip
        quality:
          - {type: library, rule: nullCount}
    quality:
      # mine
      - id: rows
        type: sql
        query: select 'kanon_sql_' from patients
        mustBeGreaterThan: 0

      # before an old one
      - id: kanon_sql_old
        type: sql
        query: |
          select 1

          # no comment
        mustBe: 0
      # after it
    tags: [a]   # the end
  - name: bare
    properties: []
    # of bare
  - name: voters
team: x"""
RULES = [{"id": "kanon_sql_a", "query": "select 1\nfrom x", "mustBe": 0}, {"id": "kanon_sql_b"}]
WRITTEN = """\
      - id: kanon_sql_a
        query: |-
          select 1
          from x
        mustBe: 0
      - id: kanon_sql_b
"""


def text_with(tmp_path: Path, text: str, rules: Any) -> str:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode())
    return with_rules(path, rules)


def test_only_own_rules_change_and_twice_is_once(tmp_path: Path) -> None:
    once = text_with(tmp_path, TEXT, {"patients": RULES})
    again = text_with(tmp_path, once, {"patients": RULES})

    begins = TEXT.index("      - id: kanon_sql_old")
    ends = TEXT.index("      # after it")
    without = TEXT[:begins] + TEXT[ends:]
    assert once.replace(WRITTEN, "") == f"{without}\n"
    assert WRITTEN in once
    assert again == once
    ids = [each["id"] for each in yaml.safe_load(once)["schema"][0]["quality"]]
    assert ids == ["rows", "kanon_sql_a", "kanon_sql_b"]


@pytest.mark.parametrize("name", ["bare", "voters"])
def test_a_table_without_rules_gets_some(tmp_path: Path, name: str) -> None:
    once = text_with(tmp_path, TEXT, {name: RULES})

    [found] = [each for each in yaml.safe_load(once)["schema"] if each["name"] == name]
    assert [each["id"] for each in found["quality"]] == ["kanon_sql_a", "kanon_sql_b"]
    assert text_with(tmp_path, once, {name: RULES}) == once
    added = "    quality:\n" + WRITTEN
    assert once.replace(added, "") == f"{TEXT}\n"


def test_where_all_rules_are_own_they_are_replaced(tmp_path: Path) -> None:
    text = TEXT.replace("- id: rows", "- id: kanon_sql_rows")

    once = text_with(tmp_path, text, {"patients": RULES})

    assert [each["id"] for each in yaml.safe_load(once)["schema"][0]["quality"]] == [
        "kanon_sql_a",
        "kanon_sql_b",
    ]
    assert text_with(tmp_path, once, {"patients": RULES}) == once


def test_line_ends_stay(tmp_path: Path) -> None:
    windows = TEXT.replace("\n", "\r\n")

    once = text_with(tmp_path, windows, {"patients": RULES})

    assert once.count("\n") == once.count("\r\n")
    assert once.replace("\r\n", "\n") == text_with(tmp_path, TEXT, {"patients": RULES})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("    quality:\n      # mine", "    quality: &q\n      # mine"), "anchors"),
        (TEXT.replace("- id: rows", "- &r\n        id: rows"), "anchors"),
        ("kind: DataContract\napiVersion: v3.1.0\nschema:\n  - name: patients\n"
         "    quality: [{id: a}]\n", "block style"),
        ("kind: DataContract\napiVersion: v3.1.0\nschema:\n  - {name: patients}\n", "flow style"),
        ("kind: DataContract\napiVersion: v3.1.0\nschema:\n  - name: patient\n",
         'Did you mean "patient"?'),
    ],
)  # fmt: skip
def test_rules_that_have_no_lines_of_their_own_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SpecError) as refused:
        text_with(tmp_path, text, {"patients": RULES})

    assert message in str(refused.value)
