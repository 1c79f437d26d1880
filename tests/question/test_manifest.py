"""Which tables of a dbt project are audited, and what is asked of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql.auditing import auditor
from kanon_sql.auditing.auditor import audit, published_tables
from kanon_sql.cli.main import main
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.question.dbt.manifest import read_manifest
from kanon_sql.question.spec import SelectedTables

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


def project(tmp_path: Path, described: str = "models: []", manifest: str = "target") -> Path:
    """A dbt project with what its YAML says of its models; the folder of the manifest."""
    (tmp_path / "dbt_project.yml").write_text("name: clinic\n")
    (tmp_path / "models").mkdir(exist_ok=True)
    (tmp_path / "models" / "schema.yml").write_text(described)
    (tmp_path / manifest).mkdir(parents=True, exist_ok=True)
    return tmp_path / manifest


def selected(
    tmp_path: Path,
    *nodes: dict[str, Any],
    select: tuple[str, ...] = (),
    connect: str | None = "duckdb:x",
    adapter: str = "duckdb",
    **more: Any,
) -> SelectedTables:
    path = tmp_path / "manifest.json"
    manifest = {
        "metadata": {"adapter_type": adapter, "project_name": "clinic"},
        "nodes": {node["unique_id"]: node for node in nodes},
        "sources": {},
    }
    path.write_text(json.dumps(manifest))
    return read_manifest(path, select, connect, **more)


def refused(tmp_path: Path, *nodes: dict[str, Any], select: tuple[str, ...] = ()) -> str:
    with pytest.raises(kanon.SpecError) as error:
        selected(tmp_path, *nodes, select=select)
    return str(error.value)


def test_a_model_with_roles_is_audited_on_the_connection_given(
    tmp_path: Path, warehouse: str
) -> None:
    chosen = selected(tmp_path, model(demands={"k": 5, "l": 3, "t": 0.4}), connect=warehouse)
    assert chosen.spec is not None

    [table] = auditor.audit(chosen.spec, RunOptions()).tables

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

    [table] = auditor.audit(chosen.spec, RunOptions()).tables

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
    assert table.quasi_identifiers["zip"].has_mask


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ((), ["patients", "visits"]),
        (("patients",), ["patients"]),
        (("patients visits",), ["patients", "visits"]),
        (("v*",), ["visits"]),
        (("tag:gold",), ["patients"]),
        (("path:models/marts",), ["visits"]),
        (("path:./models/marts/",), ["visits"]),
        (("models/marts",), ["visits"]),
        (("models/patients.sql",), ["patients"]),
        (("",), []),
        (("patients", " "), []),
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
        "ssn": column("identifier", tags=["pii"]),
        "zip": column("quasi_identifier", tags=["pii"]),
    }

    described = project(tmp_path, "models:\n  - name: released\n")
    [notes] = selected(described, node).notes

    assert [note.partition(" ")[0] for note in notes] == ['"email"', '"phone"', '"iban"', '"ssn"']
    assert "still in the table. Drop it" in notes[-1]


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (model(demands=None), "has no checks"),
        (model(demands={}), "has no checks"),
        (model(roles={"diagnosis": "sensitive"}), "no column has the role quasi_identifier"),
        (model(roles={}), "no column has the role quasi_identifier"),
        (model(roles={"zip": "quasi_identifer"}), "role must be one of"),
        (model(demands={"kk": 5}), 'unknown key "kk"'),
        (model(demands={"k": 0}), "k must be a whole number, 1 or more; found 0."),
        (model(demands={"k": "4"}), "found the text '4'. Write it without quotes."),
        (model(demands={"k": True}), "k must be a whole number, 1 or more; found True."),
        (model(demands={"t": "0.2"}), "found the text '0.2'. Write it without quotes."),
        (model(demands={"k": 2, "checks": {"k_anonymity": {"k": 500}}}), "found a mapping"),
        (model(demands={"checks": "k_anonymity"}), "checks must be a list of models"),
        (model(demands={"checks": ["k_anonymity"]}), "has no checks"),
        (model(demands={"checks": []}), "has no checks"),
        (model(roles={"zip": "quasi_identifier"}, demands={"l": 2}), "role sensitive"),
        (model(demands={"k_map": 5}), "k_map needs a reference"),
        (model(demands={"k_map": 5, "reference": "populaton"}), 'no model, seed or source "pop'),
        (model(roles={**ROLES, "a": "entity", "b": "entity"}), "a and b are each"),
        (model(meta={"kanon_sql": {"k": 3}}), "differ in kanon_sql"),
        (model(meta={"kanonSql": {"k": 3}}), "the key kanonSql, which is spelled kanon_sql"),
        (
            model(columns={"zip": {"meta": {"kanon-sql": {"role": "sensitive"}}}}),
            "the meta of column zip has the key kanon-sql, which is spelled kanon_sql",
        ),
    ],
)
def test_what_is_incomplete_is_refused(tmp_path: Path, node: dict[str, Any], said: str) -> None:
    message = refused(tmp_path, node)

    assert message.startswith("models/schema.yml: released: ")
    assert said in message


def test_selectors_that_are_not_known_are_refused(tmp_path: Path) -> None:
    for selector in ("@released", "2+released", "released,other", "released+3"):
        assert "the only supported operator of dbt is + before or after" in refused(
            tmp_path, model(), select=(selector,)
        )
    assert "path:FOLDER, access:public, state:modified" in refused(
        tmp_path, model(), select=("config:x",)
    )
    assert "name its folder with" in refused(tmp_path, model(), select=("state:modified",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", ":1: this is not JSON"),
        ("[]", "is not a dbt manifest"),
        ("{}", "is not a dbt manifest"),
    ],
)
def test_a_file_that_is_no_manifest(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "manifest.json").write_text(text)

    with pytest.raises(kanon.InputError, match=said):
        read_manifest(tmp_path / "manifest.json", (), "duckdb:x")
    with pytest.raises(kanon.InputError, match="can't be read"):
        read_manifest(tmp_path / "none.json", (), "duckdb:x")


def test_a_connection_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match=r"no profiles.yml in .*engine='duckdb:FILE'"):
        selected(tmp_path, model(), connect=None)


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
    assert "can't be combined with --k." in error

    assert run(capsys, *asked, "--output", str(tmp_path / "result.json"))[0] == 1
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["asked"].startswith("kanon-sql audit --manifest ")

    code, out, error = run(capsys, "audit")
    assert (code, out) == (2, "")
    assert "name what to audit" in error


def test_a_pipeline_is_pointed_to_the_model(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    target = project(tmp_path, "version: 2\nmodels:\n  - name: other\n  - name: released\n")
    selected(target, model(demands={"k": 20}))
    asked = ("audit", "--manifest", str(target / "manifest.json"), "--connect", warehouse)

    code, out, _ = run(capsys, *asked, "--format", "github")

    assert code == 1
    assert "models/schema.yml,line=4" in out


def test_a_source_is_found_in_its_yaml(tmp_path: Path) -> None:
    described = (
        "sources:\n  - name: raw\n    tables:\n      - name: other\n      - name: released\n"
    )
    source = model(
        resource_type="source",
        unique_id="source.clinic.raw.released",
        source_name="raw",
        original_file_path="models/schema.yml",
        patch_path=None,
    )

    [place] = selected(project(tmp_path, described), source).places

    assert (place.table.file, place.table.line) == (tmp_path / "models" / "schema.yml", 5)


# What dbt has kept


WRITTEN = "models:\n  - name: released\n    config: {meta: {kanon_sql: {%s}}}\n"


@pytest.mark.parametrize("manifest", ["target", "build/dbt/target", "."])
@pytest.mark.parametrize("repeated", ["", "    description: one\n    description: other\n"])
def test_two_metas_of_which_dbt_kept_one_are_refused(
    tmp_path: Path, manifest: str, repeated: str
) -> None:
    """`config(meta=…)` in the model replaces the YAML's: less would be asked than is written."""
    folder = project(tmp_path, WRITTEN % "k: 5" + repeated, manifest)
    message = refused(folder, model(demands={"k": 1}))
    assert message.startswith("models/schema.yml: released: its config.meta.kanon_sql differs from")
    assert "dbt parse" in message

    for kept in ("k: \"{{ var('k') }}\"", "k: 1"):
        folder = project(tmp_path, WRITTEN % kept + repeated, manifest)
        chosen = selected(folder, model(demands={"k": 1}))
        assert (chosen.spec is not None, chosen.notes) == (True, ((),))


@pytest.mark.parametrize(
    "settings",
    [
        "+meta: {kanon_sql: {k: 5, l: 3}}",
        "clinic: {+meta: {kanon_sql: {l: 3}}}",
        "clinic: {staging: {meta: {kanon_sql: {k: 2, l: 3}}}}",
    ],
)
def test_a_demand_of_the_whole_project_is_not_lost(tmp_path: Path, settings: str) -> None:
    """The meta of a model replaces what dbt_project.yml demands of all."""
    folder = project(tmp_path)
    (tmp_path / "dbt_project.yml").write_text(f"name: clinic\nmodels: {{{settings}}}\n")
    node = model(fqn=["clinic", "staging", "released"])

    assert "dbt_project.yml sets l for it, but " in refused(folder, node)

    kept = model(fqn=["clinic", "staging", "released"], demands={"k": 2, "l": 3})
    assert selected(folder, kept).spec is not None


def test_a_demand_of_another_folder_is_none(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (tmp_path / "dbt_project.yml").write_text(
        "name: clinic\nmodels: {clinic: {staging: {+meta: {kanon_sql: {l: 3}}}}}\n"
    )

    assert selected(folder, model(fqn=["clinic", "marts", "released"])).spec is not None


def test_a_damaged_node_is_said(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"nodes": {"model.clinic.a": None}}))
    with pytest.raises(kanon.InputError, match="a node is not a mapping"):
        read_manifest(path, (), "duckdb:x")

    assert selected(project(tmp_path), model(tags=5)).spec is not None


def test_the_yaml_is_read_as_dbt_reads_it(tmp_path: Path) -> None:
    written = "k: 5, with_other_sensitive: yes, where: 2025-01-01"
    kept = {"k": 5, "with_other_sensitive": True, "where": "2025-01-01"}

    assert selected(project(tmp_path, WRITTEN % written), model(demands=kept)).spec is not None


@pytest.mark.parametrize("role", ["quasi_identifier", "insensitive"])
def test_a_role_that_the_manifest_does_not_have_yet_is_noticed(tmp_path: Path, role: str) -> None:
    age = {"name": "age", "config": {"meta": {"kanon_sql": {"role": role}}}}
    folder = project(tmp_path, json.dumps({"models": [{"name": "released", "columns": [age]}]}))
    for kept in (model(), model(roles={}, demands=None), model(roles={"age": "sensitive"})):
        message = refused(folder, kept)
        assert "the meta of column age differs from" in message
        assert "If the manifest is older than the file, run dbt parse." in message


def test_a_manifest_without_its_project_is_said(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: another\n")
    [[note]] = selected(tmp_path, model()).notes
    assert "can't verify that dbt kept all of its settings" in note


def test_the_project_around_the_current_folder_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    project(here, WRITTEN % "k: 9")
    monkeypatch.chdir(here / "models")

    assert "differs from" in refused(away, model(demands={"k": 1}))


# Of one name, and of none


def test_versions_and_others_of_one_name_are_told_apart(tmp_path: Path) -> None:
    versions = [
        model(unique_id=f"model.clinic.released.v{number}", version=number) for number in (1, 2)
    ]
    versions[0]["columns"]["email"] = column(tags=["pii"])
    folder = project(
        tmp_path, "models:\n  - name: released\n    versions: [{v: 1}, {v: 2, config: {}}]\n"
    )
    chosen = selected(folder, *versions)
    assert [table.name for table in chosen.spec.tables] == ["released.v1", "released.v2"]
    assert [len(notes) for notes in chosen.notes] == [1, 0]
    assert [
        table.name for table in selected(folder, *versions, select=("released.v2",)).spec.tables
    ] == ["released.v2"]

    source = model(resource_type="source", unique_id="source.clinic.raw.released")
    both = selected(tmp_path, model(), source, select=("released",))
    assert [table.name for table in both.spec.tables] == [
        "model.clinic.released", "source.clinic.raw.released",
    ]  # fmt: skip


def test_a_reference_that_may_be_several_is_refused_with_the_candidates(tmp_path: Path) -> None:
    def asked(reference: str) -> tuple[dict[str, Any], ...]:
        return (
            model(demands={"k_map": 5, "reference": reference}),
            model("population", {}, demands=None, resource_type="seed",
                  unique_id="seed.clinic.population"),
            model("population", {}, demands=None, resource_type="source", source_name="raw",
                  unique_id="source.clinic.raw.population",
                  relation_name='"dev"."raw"."population"'),
        )  # fmt: skip

    assert "write seed.clinic.population or source.clinic.raw.population." in refused(
        tmp_path, *asked("population")
    )
    for reference in ("raw.population", "source.clinic.raw.population"):
        [table] = selected(tmp_path, *asked(reference)).spec.tables
        assert table.references[reference].source == '"dev"."raw"."population"'


def test_a_manifest_with_nothing_where_dbt_has_a_config(tmp_path: Path) -> None:
    node = model(tags=None)
    node["columns"]["note"] = {"config": None, "meta": None, "tags": None}
    assert selected(tmp_path, {**node, "config": None}).spec is not None


def test_a_table_of_another_database_is_not_taken_for_one_of_its_name(
    tmp_path: Path, warehouse: str, capsys: Any
) -> None:
    folder = project(tmp_path)
    asked = ("audit", "--manifest", str(folder / "manifest.json"), "--connect", warehouse)

    selected(folder, model(relation_name='"lake"."main"."released"'))
    code, out, error = run(capsys, *asked)
    assert (code, out) == (2, "")
    assert "is in the database lake, and this is dev. Connect to lake." in error

    selected(folder, model(relation_name='"dev"."main"."released"'))
    assert run(capsys, *asked)[0] == 0


def test_a_selector_that_selects_nothing_leaves_nothing_to_audit(
    tmp_path: Path, warehouse: str, capsys: Any
) -> None:
    folder = project(tmp_path)
    selected(folder, model(), model("silent", {}, demands=None))
    asked = ("audit", "--manifest", str(folder / "manifest.json"), "--connect", warehouse)

    for idle in ("relaesed", "silent", "tag:none"):
        code, out, error = run(capsys, *asked, "--select", "released", "--select", idle)
        assert (code, f"--select {idle} selects no model of" in error) == (4, True)
        assert "holds" not in out
        asked_dry = (*asked, "--dry-run", "--select", idle)
        code, _, error = run(capsys, *asked_dry)
        assert (code, f"--select {idle} selects no model of" in error) == (4, True)
    assert 'Did you mean "released"?' in run(capsys, *asked, "--select", "relaesed")[2]
    assert run(capsys, *asked, "--select", "released tag:privacy")[0] == 0
    assert (
        "the only supported operator of dbt is +"
        in run(capsys, *asked, "--select", "released,tag:a")[2]
    )


@pytest.mark.parametrize("ending", ["json", "sarif", "xml", "md", "txt"])
def test_the_result_is_written_whatever_its_name_ends_with(
    tmp_path: Path, warehouse: str, capsys: Any, ending: str
) -> None:
    folder = project(tmp_path)
    selected(folder, model())
    manifest, output = folder / "manifest.json", tmp_path / f"result.{ending}"

    code, out, error = run(
        capsys, "audit", "--manifest", str(manifest), "--connect", warehouse,
        "--output", str(output),
    )  # fmt: skip

    assert (code, out, error) == (0, "", f"{output} written: holds.\n")
    if ending == "json":
        asked = json.loads(output.read_text())["asked"]
        assert asked == f"kanon-sql audit --manifest {manifest} --connect {warehouse}"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("audit", "released · 60 records"),
        ("compile", 'from "main"."released"'),
        ("validate", "released: 4 columns, 2 of them quasi-identifiers"),
        ("baseline", '"baseline": 1'),
    ],
)
def test_every_command_that_asks_takes_a_manifest(
    tmp_path: Path, warehouse: str, capsys: Any, command: str, said: str
) -> None:
    folder = project(tmp_path)
    selected(folder, model(), model("passing", relation_name=None))
    asked = (command, "--manifest", str(folder / "manifest.json"), "--connect", warehouse)

    code, out, error = run(capsys, *asked)
    assert (code, said in out) == (0, True)
    assert error.startswith("warning: models/schema.yml: passing is ephemeral")

    code, _, error = run(capsys, *asked, "--exclude", "released")
    assert (code, "passing is ephemeral" in error) == (4, True)
    code, _, error = run(capsys, *asked, "--select", "nothing")
    assert (code, "--select nothing selects no model of" in error) == (4, True)
    code, _, error = run(capsys, command, "people.csv", "--qi", "zip", "--exclude", "released")
    assert (code, "--exclude is for a dbt project" in error) == (2, True)
    code, _, error = run(capsys, command)
    assert (code, "name what to audit" in error) == (2, True)


def test_every_model_that_is_at_fault_is_told(tmp_path: Path) -> None:
    message = refused(tmp_path, model("one", demands={}), model("other", roles={}))
    assert [line.split(": ")[1] for line in message.splitlines()] == ["one", "other"]


def test_levels_are_for_quasi_identifiers(tmp_path: Path) -> None:
    node = model()
    node["columns"]["diagnosis"]["config"]["meta"]["kanon_sql"]["levels"] = ["suppress"]
    assert "column diagnosis: levels is for a quasi_identifier, and its role is sensitive." in (
        refused(tmp_path, node)
    )


def test_a_manifest_is_never_overwritten(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    folder = project(tmp_path)
    selected(folder, model())
    file = str(folder / "manifest.json")
    code, _, error = run(
        capsys, "audit", "--manifest", file, "--connect", warehouse, "--output", file, "--overwrite"
    )
    assert (code, "will not be written" in error) == (2, True)


def test_a_fault_that_only_the_table_shows_names_the_model(
    tmp_path: Path, warehouse: str, capsys: Any
) -> None:
    folder = project(tmp_path)
    lacking = model("population", roles={"zipcode": "quasi_identifier"})
    selected(folder, model(), lacking)
    asked = ("audit", "--manifest", str(folder / "manifest.json"), "--connect", warehouse)
    code, out, error = run(capsys, *asked)
    assert (code, out) == (2, "")
    assert error.startswith('error: population: dev.main.population has no column "zipcode".')


# --- events -----------------------------------------------------------------------------------


def test_columns_with_the_role_event_are_the_events_of_a_person(
    tmp_path: Path, warehouse: str
) -> None:
    roles = {"zip": "event", "diagnosis": "event", "patient": "entity", "sex": "insensitive"}
    node = model(roles=roles, demands={"checks": [{"km_anonymity": {"k": 3, "m": 1}}]})

    chosen = selected(tmp_path, node, connect=warehouse)
    assert chosen.spec is not None
    [table] = chosen.spec.tables
    [result] = auditor.audit(chosen.spec, RunOptions()).tables

    assert (list(table.events), table.quasi_identifiers, table.entity) == (
        ["zip", "diagnosis"], {}, "patient",
    )  # fmt: skip
    [check] = [check for check in result.checks if check.holds is not None]
    assert (check.model, check.holds, check.achieved) == ("km_anonymity", True, 5)


# --- published tables -------------------------------------------------------------------------


def published(name: str = "released", **parts: Any) -> dict[str, Any]:
    """A model whose meta has a published table, and nothing of records."""
    return model(name, {}, demands={"published": parts})


OF_RECORDS: dict[str, Any] = {"by": ["zip", "sex"], "checks": [{"min_contributors": {"n": 11}}]}


def cells_of(tmp_path: Path, *nodes: dict[str, Any], **more: Any) -> SelectedTables:
    return selected(tmp_path, *nodes, keys=("published",), **more)


def test_a_published_table_of_a_model_is_read_from_its_meta(tmp_path: Path, warehouse: str) -> None:
    chosen = cells_of(tmp_path, published(**OF_RECORDS), connect=warehouse)
    assert chosen.spec is not None

    [table] = audit(chosen.spec, RunOptions(), kind=published_tables()).tables

    expected = kanon.tables(
        "released", by=["zip", "sex"], checks=[kanon.MinContributors(n=11)], engine=warehouse
    )
    [of_table] = expected.tables
    assert (table.name, table.status) == ("released", "violated")
    assert table.checks == of_table.checks


def test_a_model_may_declare_both_kinds(tmp_path: Path) -> None:
    both = model(demands={"k": 2, "published": OF_RECORDS})
    alone = published("alone", **OF_RECORDS)

    records = selected(tmp_path, both, alone)
    cells = cells_of(tmp_path, both, alone)

    assert records.spec
    assert [table.name for table in records.spec.tables] == ["released"]
    assert records.spec.published == []
    assert cells.spec
    assert [table.name for table in cells.spec.published] == ["released", "alone"]
    assert cells.spec.tables == []


def test_a_second_table_is_another_node(tmp_path: Path) -> None:
    against = {"last_year": {"source": "before", "where": "sex = 'F'"}, "all": "released"}
    node = published("now", **OF_RECORDS, against=against)

    chosen = cells_of(tmp_path, node, model(), model("before"), select=("now",))

    assert chosen.spec is not None
    [table] = chosen.spec.published
    assert {name: (each.source, each.where) for name, each in table.against.items()} == {
        "last_year": ('"dev"."main"."before"', "sex = 'F'"),
        "all": ('"dev"."main"."released"', None),
    }


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"by": ["zip"], "treshold": 3}, 'unknown key "treshold" in kanon_sql.published.'),
        ({"by": ["zip"], "source": "x"}, 'unknown key "source" in kanon_sql.published.'),
        ({"by": []}, "by names no dimension"),
        ({"by": ["zip"], "count": "n"}, "Add cells: true, or leave it out."),
        ({"by": ["zip"], "against": {"x": "nobody"}}, '"nobody" is no model, seed or source.'),
        ({"by": ["zip"], "checks": [{"k_anonymity": {"k": 2}}]}, "is a model of records"),
    ],
)
def test_what_can_not_be_a_published_table_is_refused(
    tmp_path: Path, parts: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(kanon.SpecError) as error:
        cells_of(tmp_path, published(**parts))

    assert str(error.value).startswith("models/schema.yml: released: ")
    assert sentence in str(error.value)


def test_without_a_published_table_nothing_is_looked_at(tmp_path: Path) -> None:
    chosen = cells_of(tmp_path, model())

    assert chosen.spec is None
    assert "no model of" in chosen.reason
    assert "has config.meta.kanon_sql.published, so nothing was audited" in chosen.reason


def test_the_published_table_in_the_yaml_must_be_that_of_the_manifest(tmp_path: Path) -> None:
    described = """
models:
  - name: released
    config: {meta: {kanon_sql: {published: {by: [zip, sex, age]}}}}
"""
    target = project(tmp_path, described)

    with pytest.raises(kanon.SpecError, match=r"its config\.meta\.kanon_sql differs from"):
        cells_of(target, published(**OF_RECORDS))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 1, "VIOLATED"),
        (("--select", "nothing"), 4, "selects no model"),
        (("--by", "zip"), 2, "Write it into the config.meta.kanon_sql.published of the model"),
        (("--threshold", "3"), 2, "can't be combined with --threshold"),
    ],
)
def test_the_command_reads_a_manifest(
    tmp_path: Path,
    warehouse: str,
    capsys: Any,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    cells_of(tmp_path, published(**OF_RECORDS))
    manifest = str(tmp_path / "manifest.json")

    ended, out, err = run(
        capsys, "tables", "--manifest", manifest, "--connect", warehouse, *arguments
    )

    assert ended == code
    assert said in (err if code > 1 else out)
    assert (out == "") == (code > 1)


def both_kinds(tmp_path: Path) -> tuple[str, ...]:
    """The options of a manifest with a model of both kinds, and one of each."""
    of_records = model(demands={"k": 2, "published": OF_RECORDS})
    selected(tmp_path, of_records, published("alone", **OF_RECORDS), model("other"))
    return "--manifest", str(tmp_path / "manifest.json")


def test_compile_takes_both_kinds(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    with duckdb.connect(warehouse.removeprefix("duckdb:")) as database:
        database.execute("create table alone as from released")
        database.execute("create table other as from released")
    asked = (*both_kinds(tmp_path), "--connect", warehouse)

    ended, out, _ = run(capsys, "compile", *asked, "--step", "cells")

    assert ended == 0
    asked_of = [line.split()[7] for line in out.splitlines() if line.startswith("-- Question")]
    assert asked_of == ["dev.main.released", "dev.main.alone"]
    ended, out, _ = run(capsys, "validate", *asked)
    assert [line for line in out.splitlines() if "was not found" not in line] == [
        "released: 4 columns, 2 of them quasi-identifiers; 1 check, 7 statements.",
        "other: 4 columns, 2 of them quasi-identifiers; 1 check, 7 statements.",
        "released: 4 columns, 2 of them dimensions; 1 check, 1 statement.",
        "alone: 4 columns, 2 of them dimensions; 1 check, 1 statement.",
    ]


def test_a_baseline_accepts_both_kinds(tmp_path: Path, warehouse: str, capsys: Any) -> None:
    asked = (*both_kinds(tmp_path), "--connect", warehouse, "--select", "released")
    file = str(tmp_path / "baseline.json")

    ended, _, _ = run(capsys, "baseline", *asked, "--output", file)

    assert ended == 0
    for command in ("audit", "tables"):
        ended, _, err = run(capsys, command, *asked, "--baseline", file)
        assert ended == 0, err


def test_a_manifest_without_either_kind_is_refused(tmp_path: Path, capsys: Any) -> None:
    selected(tmp_path, model(roles={}, demands={}))

    ended, out, err = run(capsys, "validate", "--manifest", str(tmp_path / "manifest.json"))

    assert (ended, out) == (4, "")
    assert "has roles or checks for kanon-sql, or config.meta.kanon_sql.published" in err
