"""Which tables of a dbt project are audited, and what is asked of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql import auditor
from kanon_sql.cli import main
from kanon_sql.manifest import Selected, read_manifest

ROLES = {"zip": "quasi_identifier", "sex": "quasi_identifier", "diagnosis": "sensitive"}


def column(role: str | None = None, **more: Any) -> dict[str, Any]:
    said = {"kanon_sql": {"role": role}} if role else {}
    return {"config": {"meta": said}, "meta": said, "tags": [], **more}


def model(name: str = "released", roles: dict[str, str] = ROLES, **parts: Any) -> dict[str, Any]:
    """A model as dbt writes it; `demands` is what its meta says to kanon-sql."""
    demands = parts.pop("demands", {"k": 2})
    meta = {"kanon_sql": demands} if demands is not None else {}
    return {
        "resource_type": "model",
        "unique_id": f"model.clinic.{name}",
        "name": name,
        "relation_name": f'"dev"."main"."{name}"',
        "original_file_path": f"models/{name}.sql",
        "patch_path": "clinic://models/schema.yml",
        "tags": ["privacy"],
        "config": {"meta": meta},
        "meta": meta,
        "columns": {each: column(role) for each, role in roles.items()},
        **parts,
    }


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    path = tmp_path / "dev.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name in ("released", "population"):
            connection.execute(
                f"create table {name} as select '0213' || range % 3 as zip, "
                "case when range % 2 = 0 then 'F' else 'M' end as sex, "
                "'d' || range % 4 as diagnosis, range as patient from range(60)"
            )
    return f"duckdb:{path}"


def selected(
    tmp_path: Path, *nodes: dict[str, Any], select: tuple[str, ...] = (), connect: str = "duckdb:x"
) -> Selected:
    path = tmp_path / "manifest.json"
    manifest = {
        "metadata": {"adapter_type": "duckdb"},
        "nodes": {node["unique_id"]: node for node in nodes},
        "sources": {},
    }
    path.write_text(json.dumps(manifest))
    return read_manifest(path, select, connect)


def refused(tmp_path: Path, *nodes: dict[str, Any], select: tuple[str, ...] = ()) -> str:
    with pytest.raises(kanon.SpecError) as error:
        selected(tmp_path, *nodes, select=select)
    return str(error.value)


def test_a_model_with_roles_is_audited_on_the_connection_given(
    tmp_path: Path, warehouse: str
) -> None:
    chosen = selected(tmp_path, model(demands={"k": 5, "l": 3, "t": 0.4}), connect=warehouse)
    assert chosen.spec is not None

    [table] = auditor.audit(chosen.spec).tables

    assert (table.name, table.quasi_identifiers, table.sensitive) == (
        "released", ("zip", "sex"), ("diagnosis",),
    )  # fmt: skip
    asked = [(check.model, check.holds) for check in table.checks if check.holds is not None]
    assert asked == [("k_anonymity", True), ("l_diversity", False), ("t_closeness", False)]


def test_a_reference_is_another_node(tmp_path: Path, warehouse: str) -> None:
    nodes = [
        model(demands={"k_map": 5, "reference": "population", "reference_entity": "patient"}),
        model("population", {}, demands=None),
    ]
    chosen = selected(tmp_path, *nodes, connect=warehouse)
    assert chosen.spec is not None

    [table] = auditor.audit(chosen.spec).tables

    assert next((check.model, check.achieved) for check in table.checks) == ("k_map", 10)


def test_levels_and_every_role(tmp_path: Path) -> None:
    roles = {**ROLES, "name": "identifier", "patient": "entity", "note": "insensitive"}
    node = model(roles=roles, demands={"checks": [{"k_anonymity": {"k": 3}}]})
    node["columns"]["zip"]["config"]["meta"]["kanon_sql"]["levels"] = [{"mask": "right"}]

    chosen = selected(tmp_path, node)

    assert chosen.spec is not None
    [table] = chosen.spec.tables
    assert (table.identifiers, table.entity, table.sensitive) == (
        ["name"],
        "patient",
        ["diagnosis"],
    )
    assert table.quasi_identifiers["zip"].masks


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ((), ["patients", "visits"]),
        (("patients",), ["patients"]),
        (("patients visits",), ["patients", "visits"]),
        (("v*",), ["visits"]),
        (("tag:gold",), ["patients"]),
        (("path:models/marts",), ["visits"]),
        (("tag:nothing",), []),
        (("raw",), []),
    ],
)
def test_what_is_selected(tmp_path: Path, select: tuple[str, ...], names: list[str]) -> None:
    nodes = [
        model("patients", tags=["gold"]),
        model("visits", patch_path="clinic://models/marts/visits.yml"),
        model("raw", {}, demands=None),
    ]

    chosen = selected(tmp_path, *nodes, select=select)

    assert [table.name for table in chosen.spec.tables] == names if names else chosen.spec is None


def test_a_column_marked_as_personal_without_a_part_is_noted(tmp_path: Path) -> None:
    node = model()
    node["columns"] |= {
        "email": column(tags=["pii"]),
        "phone": {"config": {"meta": {}, "tags": ["PII"]}, "meta": {}},
        "iban": {"config": {"meta": {"classification": "personal"}}},
        "zip": column("quasi_identifier", tags=["pii"]),
    }

    notes = selected(tmp_path, node).notes["released"]

    assert [note.partition(" ")[0] for note in notes] == ['"email"', '"phone"', '"iban"']


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (model(demands=None), "demands nothing"),
        (model(demands={}), "demands nothing"),
        (model(roles={"diagnosis": "sensitive"}), "no column has the role quasi_identifier"),
        (model(roles={}), "no column has the role quasi_identifier"),
        (model(roles={"zip": "quasi_identifer"}), "role must be one of"),
        (model(demands={"kk": 5}), 'unknown key "kk"'),
        (model(demands={"k": 0}), "k"),
        (model(roles={"zip": "quasi_identifier"}, demands={"l": 2}), "role sensitive"),
        (model(demands={"k_map": 5}), "k_map needs a reference"),
        (model(demands={"k_map": 5, "reference": "populaton"}), 'no model, seed or source "pop'),
        (model(relation_name=None), "ephemeral"),
        (model(roles={**ROLES, "a": "entity", "b": "entity"}), "a and b are each"),
        (model(meta={"kanon_sql": {"k": 3}}), "differ in kanon_sql"),
    ],
)
def test_what_is_incomplete_is_refused(tmp_path: Path, node: dict[str, Any], said: str) -> None:
    message = refused(tmp_path, node)

    assert message.startswith("models/schema.yml: released: ")
    assert said in message


def test_selectors_of_the_graph_are_refused(tmp_path: Path) -> None:
    assert "graph operators" in refused(tmp_path, model(), select=("+released",))
    assert "path:FOLDER" in refused(tmp_path, model(), select=("state:modified",))


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", ":1: this is no JSON"), ("[]", "is no dbt manifest"), ("{}", "is no dbt manifest")],
)
def test_a_file_that_is_no_manifest(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(kanon.InputError, match=said):
        read_manifest(tmp_path / "manifest.json", (), "duckdb:x")
    with pytest.raises(kanon.InputError, match="can't be read"):
        read_manifest(tmp_path / "none.json", (), "duckdb:x")


def test_a_connection_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match="--connect"):
        selected(tmp_path, model(), connect=None)  # type: ignore[arg-type]


def run(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


def test_the_command_line_audits_a_manifest(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    node = model(demands={"k": 20})
    node["columns"]["email"] = column(tags=["pii"])
    selected(tmp_path, node, model("population", {}, demands=None))
    asked = ("audit", "--manifest", str(tmp_path / "manifest.json"), "--connect", warehouse)

    code, out, _ = run(capsys, *asked)
    assert code == 1
    assert "released" in out
    assert '"email" is marked as personal' in out

    code, out, _ = run(capsys, *asked, "--select", "nothing", "--format", "json")
    assert (code, json.loads(out)["status"], json.loads(out)["tables"]) == (4, "no_data", [])

    code, out, error = run(capsys, *asked, "--k", "5")
    assert (code, out) == (2, "")
    assert "--k has no place beside it" in error

    code, out, error = run(capsys, "audit")
    assert (code, out) == (2, "")
    assert "name what to audit" in error


def test_a_pipeline_is_pointed_to_the_model(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    target = tmp_path / "target"
    target.mkdir()
    selected(target, model(demands={"k": 20}))
    (tmp_path / "models").mkdir()
    text = "version: 2\nmodels:\n  - name: other\n  - name: released\n"
    (tmp_path / "models" / "schema.yml").write_text(text)
    asked = ("audit", "--manifest", str(target / "manifest.json"), "--connect", warehouse)

    code, out, _ = run(capsys, *asked, "--format", "github")

    assert code == 1
    assert "models/schema.yml,line=4" in out


def test_two_metas_of_which_dbt_kept_one_are_refused(tmp_path: Path) -> None:
    """`config(meta=…)` in the model replaces the YAML's: less would be asked than is written."""
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "models").mkdir()
    described = tmp_path / "models" / "schema.yml"
    written = "models:\n  - name: released\n    config: {meta: {kanon_sql: {k: %s}}}\n"

    described.write_text(written % 5)
    message = refused(target, model(demands={"k": 1}))
    assert message.startswith("models/schema.yml: released: its config.meta.kanon_sql here")

    described.write_text(written % "\"{{ var('k') }}\"")
    assert selected(target, model(demands={"k": 1})).spec is not None
    described.write_text(written % 1)
    assert selected(target, model(demands={"k": 1})).spec is not None
