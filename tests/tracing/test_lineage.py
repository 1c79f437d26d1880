"""Lineage of roles through a dbt project: worked examples, laws, coverage, what closes a gap."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pytest
import yaml
from commands import run
from dbt_manifests import Case, flows, manifest, short
from places import TESTS

import kanon_sql as kanon
from kanon_sql.errors import NoDataError, PrivacyViolation
from kanon_sql.tracing.lineage import lineage_of

EXAMPLES = json.loads((TESTS / "tracing/worked_examples.json").read_text(encoding="utf-8"))
SOURCES = EXAMPLES["sources"]
CASES = {case["id"]: case for case in EXAMPLES["cases"]}


def written(folder: Path, case: Case, sources: Case = SOURCES) -> Path:
    """The manifest of a case in a folder."""
    path = folder / "target" / "manifest.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(manifest(case, sources)), encoding="utf-8")
    return path


def lineage(folder: Path, case: Case, sources: Case = SOURCES, **options: Any) -> dict[str, Any]:
    """The lineage of a case, as it is written."""
    result = lineage_of(written(folder, case, sources), **options)
    document: dict[str, Any] = json.loads(result.to_json())["lineage"]
    return document


def models(**sql: str) -> dict[str, Any]:
    return {"models": [{"name": name, "sql": text} for name, text in sql.items()]}


def by_name(document: Case) -> dict[str, Any]:
    return {model["name"]: model for model in document["models"]}


# --- worked examples ------------------------------------------------------------------------

READ: Mapping[str, Any] = {
    "columns": lambda model: {column["name"]: flows(column) for column in model["columns"]},
    "roles": lambda model: {column["name"]: column["role"] for column in model["columns"]},
    "cant_tell": lambda model: sorted({each["reason"] for each in model["cant_tell"]}),
    "selected_by": lambda model: [
        label for each in model["selected_by"] for label in short(each["from"])
    ],
    "people": lambda model: short(model["people"]),
    "drops": lambda model: short(model["drops"]),
    "reads": lambda model: {short([each["node"]])[0]: each["kind"] for each in model["reads"]},
}
"""How what is expected is read off a model; any other key is its own."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_worked_example(tmp_path: Path, case: Case) -> None:
    document = lineage(tmp_path, case)
    found = by_name(document)
    expected = {
        (name, key): value for name, each in case["expected"].items() for key, value in each.items()
    }
    actual = {
        (name, key): READ[key](found[name]) if key in READ else found[name][key]
        for name, key in expected
    }
    for (name, key), roles in expected.items():
        if key == "roles":
            actual[name, key] = {each: actual[name, key].get(each) for each in roles}

    assert actual == expected
    if "together" in case:
        told = [[each["models"], short(each["together"])] for each in document["compositions"]]
        assert told == case["together"]


@pytest.mark.parametrize(
    ("key", "is_text", "doubts"),
    [("compiled_sql", True, []), ("compiled_code", False, ["not_compiled"])],
    ids=["before dbt 1.3", "not a text"],
)
def test_compiled_sql_is_a_text(tmp_path: Path, key: str, is_text: bool, doubts: list[str]) -> None:
    path = written(
        tmp_path, models(contact="select zip from {{ patients }}", other="select 1 as one")
    )
    document = json.loads(path.read_text(encoding="utf-8"))
    contact = next(each for each in document["nodes"].values() if each["name"] == "contact")
    sql = contact.pop("compiled_code")
    contact[key] = sql if is_text else {"sql": sql}
    path.write_text(json.dumps(document), encoding="utf-8")

    found = by_name(json.loads(lineage_of(path).to_json())["lineage"])["contact"]

    assert [each["reason"] for each in found["cant_tell"]] == doubts
    assert [each["role"] for each in found["columns"]] == ([] if doubts else ["quasi_identifier"])


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("md5(patient_id || zip)", "entity"),
        (
            "md5(concat(case when random() < 0.5 then zip else patient_id end, patient_id))",
            "entity",
        ),
        ("case when random() < 0.5 then md5(patient_id || zip) else md5(patient_id) end", "entity"),
        ("left(md5(patient_id || zip), 8)", "entity"),
        ("case when random() < 0.5 then md5(patient_id) else md5(zip) end", "quasi_identifier"),
        ("md5(case when random() < 0.5 then patient_id else zip end)", "quasi_identifier"),
        ("upper(coalesce(md5(patient_id), md5(zip)))", "quasi_identifier"),
    ],
)
def test_a_hash_is_a_key_if_each_has_the_entity(tmp_path: Path, column: str, role: str) -> None:
    document = lineage(
        tmp_path, models(keys=f"select {column} as key from {{{{ patients }}}}"), cache=tmp_path
    )

    assert by_name(document)["keys"]["columns"][0]["role"] == role
    assert document == lineage(
        tmp_path, models(keys=f"select {column} as key from {{{{ patients }}}}"), cache=tmp_path
    )


def test_a_union_of_hashes_is_a_key_if_each_has_the_entity(tmp_path: Path) -> None:
    document = lineage(
        tmp_path,
        models(
            keys="select md5(patient_id) as key from {{ patients }} union all "
            "select md5(zip) from {{ patients }}"
        ),
    )

    assert by_name(document)["keys"]["columns"][0]["role"] == "quasi_identifier"


# --- laws -----------------------------------------------------------------------------------

CHAIN = models(
    stg="select patient_id as person, lower(email) as mail, zip, birth_date, sex, diagnosis "
    "from {{ patients }}",
    mart="select s.person, z.county, md5(s.mail) as contact, date_trunc('year', s.birth_date) as y "
    "from {{ stg }} s left join {{ zip_codes }} z on z.zip = s.zip where s.diagnosis = 'A'",
    visits_of="select m.person, m.county, count(*) as n, max(v.admitted) as last from {{ mart }} m "
    "join {{ visits }} v on v.patient_id = m.person group by 1, 2",
    yearly="select y, count(distinct person) as people from {{ mart }} group by all",
)


def carried(document: Case) -> set[tuple[str, str, str, str]]:
    """Each origin that each column carries, with its role."""
    return {
        (model["name"], column["name"], each["role"], label)
        for model in document["models"]
        for column in model["columns"]
        for each in column["carries"]
        for label in each["from"]
    }


@pytest.mark.parametrize("column", ["county", "region"])
def test_a_role_more_on_a_source_removes_none_downstream(tmp_path: Path, column: str) -> None:
    more = {**SOURCES, "zip_codes": {**SOURCES["zip_codes"], column: "quasi_identifier"}}

    assert carried(lineage(tmp_path, CHAIN)) <= carried(lineage(tmp_path, CHAIN, more))


@pytest.mark.parametrize("column", ["person", "mail", "zip", "birth_date", "diagnosis"])
def test_insensitive_at_a_model_only_removes(tmp_path: Path, column: str) -> None:
    stg, *others = CHAIN["models"]
    decided = {"models": [{**stg, "columns": {column: "insensitive"}}, *others]}

    assert carried(lineage(tmp_path, decided)) < carried(lineage(tmp_path, CHAIN))


def test_the_order_of_the_models_is_no_matter(tmp_path: Path) -> None:
    turned = {"models": CHAIN["models"][::-1]}

    assert lineage(tmp_path, turned) == lineage(tmp_path, CHAIN)


def test_an_ephemeral_model_gives_the_same_as_a_table(tmp_path: Path) -> None:
    stg, *others = CHAIN["models"]
    inlined = {"models": [{**stg, "materialized": "ephemeral"}, *others]}
    tables, ephemeral = (by_name(lineage(tmp_path, each)) for each in (CHAIN, inlined))

    assert tables.keys() - ephemeral.keys() == {"stg"}
    for name, model in ephemeral.items():
        assert model["columns"] == tables[name]["columns"]
        assert model["exposure"] == tables[name]["exposure"]


def test_from_the_cache_it_is_the_same(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cold = lineage(tmp_path, CHAIN, cache=cache)
    stored = (cache / "lineage.json").read_text(encoding="utf-8")

    assert lineage(tmp_path, CHAIN, cache=cache) == cold == lineage(tmp_path, CHAIN)
    assert (cache / "lineage.json").read_text(encoding="utf-8") == stored
    assert " from " not in stored


UNASKED = models(
    a='select zip from "db"."main"."z"',
    m="select zip from {{ a }}",
    z="select zip, sex from {{ patients }}",
)
"""A model that reads another by its table's name, without a ref."""


def test_a_table_that_no_ref_names_is_read_all_the_same(tmp_path: Path) -> None:
    found = by_name(lineage(tmp_path, UNASKED))

    assert {name: model["exposure"] for name, model in found.items()} == dict.fromkeys(
        "amz", "quasi_identified"
    )
    assert flows(found["a"]["columns"][0]) == "quasi_identifier carried patients.zip"
    assert found["a"]["reads"] == [{"node": "z", "kind": "attributes"}]


def test_a_model_without_a_relation_is_told_of(tmp_path: Path) -> None:
    """A manifest may lack the names of relations; only what is ephemeral is left out."""
    path = written(tmp_path, models(m="select zip from {{ patients }}"))
    document = json.loads(path.read_text())
    document["nodes"]["model.shop.m"]["relation_name"] = None
    path.write_text(json.dumps(document))

    assert [(each.name, each.exposure) for each in lineage_of(path).models] == [
        ("m", "quasi_identified")
    ]


def test_models_that_read_each_other_are_doubted(tmp_path: Path) -> None:
    circle = models(a='select zip from "db"."main"."b"', b='select zip from "db"."main"."a"')
    found = by_name(lineage(tmp_path, circle))

    assert [each["reason"] for each in found["b"]["cant_tell"]] == ["unknown_table"]


def test_a_cache_knows_what_changed_where_no_ref_is(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    lineage(tmp_path, UNASKED, cache=cache)
    *others, z = UNASKED["models"]
    less = {"models": [*others, {**z, "columns": {"zip": "insensitive"}}]}

    assert lineage(tmp_path, less, cache=cache) == lineage(tmp_path, less)
    assert (
        lineage(tmp_path, {"models": others}, cache=cache)["models"][0]["exposure"] == "cant_tell"
    )
    assert lineage(tmp_path, UNASKED, cache=cache) == lineage(tmp_path, UNASKED)


def test_a_cache_keeps_no_model_with_an_unknown_table(tmp_path: Path) -> None:
    """Its rows may depend on a table of which none of its columns is."""
    cache = tmp_path / "cache"
    read = 'select a.sex from {{ patients }} a join "db"."main"."z" z on z.zip = a.zip'
    unknown, known = models(a=read), models(a=read, z="select zip from {{ patients }}")
    lineage(tmp_path, unknown, cache=cache)

    assert lineage(tmp_path, known, cache=cache) == lineage(tmp_path, known)


def test_a_cache_knows_what_changed(tmp_path: Path) -> None:
    """A role taken from a source changes every model after it, whose SQL is the same."""
    cache = tmp_path / "cache"
    lineage(tmp_path, CHAIN, cache=cache)
    less = {**SOURCES, "patients": {**SOURCES["patients"], "zip": None}}

    assert lineage(tmp_path, CHAIN, less, cache=cache) == lineage(tmp_path, CHAIN, less)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x": 1}', "\0"])
def test_a_cache_that_cant_be_read_is_none(tmp_path: Path, text: str) -> None:
    cache = tmp_path / "cache"
    lineage(tmp_path, CHAIN, cache=cache)
    stored = json.loads((cache / "lineage.json").read_text())
    broken = json.dumps(dict.fromkeys(stored, 1)) if text == '{"x": 1}' else text
    (cache / "lineage.json").write_text(broken)

    assert lineage(tmp_path, CHAIN, cache=cache) == lineage(tmp_path, CHAIN)


# --- nodes ----------------------------------------------------------------------------------


def test_a_seed_and_its_source_share_their_roles(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        models(m="select zip, sex from {{ seeded }}"),
        {"seeded": {"zip": "quasi_identifier"}},
    )
    document = json.loads(path.read_text())
    source = document["sources"]["source.shop.raw.seeded"]
    seed = {**source, "resource_type": "seed", "unique_id": "seed.shop.seeded"}
    role = {"config": {"meta": {"kanon_sql": {"role": "quasi_identifier"}}}}
    seed["columns"] = {"sex": role, "zip": role}
    document["nodes"]["seed.shop.seeded"] = {
        key: value for key, value in seed.items() if key != "source_name"
    }
    path.write_text(json.dumps(document))

    [model] = lineage_of(path).models

    assert [(column.role, column.carries[0].origins) for column in model.columns] == [
        ("quasi_identifier", ("seeded.zip",)),
        ("quasi_identifier", ("seeded.sex",)),
    ]


def test_two_nodes_of_one_table_have_the_roles_of_both(tmp_path: Path) -> None:
    path = written(
        tmp_path, models(m="select zip from {{ seeded }}"), {"seeded": {"zip": "quasi_identifier"}}
    )
    document = json.loads(path.read_text())
    source = document["sources"]["source.shop.raw.seeded"]
    seed = {**source, "resource_type": "seed", "unique_id": "seed.shop.seeded"}
    seed["columns"] = {"zip": {"config": {"meta": {"kanon_sql": {"role": "sensitive"}}}}}
    document["nodes"]["seed.shop.seeded"] = {
        key: value for key, value in seed.items() if key != "source_name"
    }
    path.write_text(json.dumps(document))

    [model] = lineage_of(path).models

    assert {each.role for each in model.columns[0].carries} == {"quasi_identifier", "sensitive"}


def test_a_declared_role_keeps_its_origins_or_begins_a_new_one(tmp_path: Path) -> None:
    stg, *others = CHAIN["models"]
    roles = {"zip": "quasi_identifier", "sex": "sensitive", "person": "identifier"}
    found = lineage(tmp_path, {"models": [{**stg, "columns": roles}, *others]})

    columns = {column["name"]: flows(column) for column in by_name(found)["stg"]["columns"]}
    assert (columns["zip"], columns["sex"], columns["person"]) == (
        "quasi_identifier carried patients.zip",
        "sensitive carried stg.sex",
        "identifier carried stg.person",
    )


def test_a_declared_role_ends_doubts_and_a_mark_keeps_what_is_carried(tmp_path: Path) -> None:
    marked = {"tags": ["pii"]}
    found = lineage(
        tmp_path,
        {
            "models": [
                {
                    "name": "m",
                    "sql": "select cloak(zip) as known, cloak(sex) as open, zip as marked, "
                    "cloak(zip) as both from {{ patients }}",
                    "columns": {"known": "sensitive", "marked": marked, "both": marked},
                }
            ]
        },
    )

    columns = {column["name"]: flows(column) for column in by_name(found)["m"]["columns"]}
    assert columns["known"] == "sensitive carried m.known"
    assert columns["open"].endswith("?")
    assert set(columns["marked"].split("; ")) == {
        "personal carried m.marked", "quasi_identifier carried patients.zip",
    }  # fmt: skip
    assert columns["both"].endswith("?")


def test_a_model_that_cant_be_read_is_about_the_people_it_reads(tmp_path: Path) -> None:
    found = lineage(tmp_path, models(m="select ((( from {{ patients }}"))

    assert by_name(found)["m"]["people"] == ["raw.patients.patient_id"]


@pytest.mark.parametrize(
    "sql",
    [
        "select diagnosis, count(*) as n from {{ patients }} group by diagnosis",
        "select count(distinct email) as addresses from {{ patients }}",
    ],
    ids=["of sensitive values", "of identifiers"],
)
def test_figures_of_groups_are_a_table(tmp_path: Path, sql: str) -> None:
    assert by_name(lineage(tmp_path, models(m=sql)))["m"]["exposure"] == "table"


@pytest.mark.parametrize(
    ("sql", "missing"),
    [
        ("select p.zip, x.s from {{ patients }} p cross join elsewhere.things x", ["s"]),
        ("select p.zip, x.* from {{ patients }} p cross join elsewhere.things x", ["*"]),
        ("select zip from {{ patients }}", []),
    ],
    ids=["a doubted column", "columns that nobody listed", "every column"],
)
def test_what_an_audit_leaves_out(tmp_path: Path, sql: str, missing: list[str]) -> None:
    gated = {
        "name": "m", "sql": sql, "columns": {"zip": "quasi_identifier"},
        "meta": {"checks": [{"k_anonymity": {"k": 5}}]},
    }  # fmt: skip
    found = by_name(lineage(tmp_path, {"models": [gated]}))["m"]

    assert (found["missing"], found["audit"]) == (missing, "partly" if missing else "audited")


@pytest.mark.parametrize(("other", "is_composed"), [("zip", False), ("sex", True)])
def test_models_that_tell_the_same_compose_nothing(
    tmp_path: Path, other: str, is_composed: bool
) -> None:
    two = [
        {
            "name": name,
            "access": "public",
            "sql": f"select patient_id, {column} from {{{{ patients }}}}",
        }
        for name, column in (("a", "zip"), ("b", other))
    ]

    assert bool(lineage(tmp_path, {"models": two})["compositions"]) == is_composed


def test_a_filter_selects_every_model_after_it(tmp_path: Path) -> None:
    found = by_name(lineage(tmp_path, CHAIN))

    selected = {name: READ["selected_by"](model) for name, model in found.items()}
    assert selected == {
        "stg": [],
        "mart": ["patients.diagnosis"],
        "visits_of": ["patients.diagnosis"],
        "yearly": ["patients.diagnosis"],
    }


def test_a_snapshot_hashes_its_key(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        models(s="select email, sex from {{ patients }}", m="select dbt_scd_id as id from {{ s }}"),
    )
    document = json.loads(path.read_text())
    snapshot = document["nodes"]["model.shop.s"]
    snapshot["resource_type"] = "snapshot"
    snapshot["config"] |= {"unique_key": "email", "updated_at": "sex"}
    path.write_text(json.dumps(document))

    found = {model.name: model for model in lineage_of(path, cache=tmp_path).models}

    assert found["m"].exposure == "identified"

    snapshot["config"] |= {"unique_key": "sex"}
    path.write_text(json.dumps(document))
    found = {model.name: model for model in lineage_of(path, cache=tmp_path).models}

    assert found["m"].exposure == "quasi_identified"


def test_a_model_that_reads_itself_first_is_solved(tmp_path: Path) -> None:
    sql = "select * from {{ m }} union all select zip, sex from {{ patients }}"
    [model] = lineage(tmp_path, models(m=sql))["models"]

    assert {column["name"]: flows(column) for column in model["columns"]} == {
        "zip": "quasi_identifier carried patients.zip",
        "sex": "quasi_identifier carried patients.sex",
    }


def test_two_models_that_read_each_other_are_read(tmp_path: Path) -> None:
    """dbt refuses it, and a damaged manifest must not hang."""
    found = lineage(tmp_path, models(a="select zip from {{ b }}", b="select zip from {{ a }}"))

    assert {model["name"] for model in found["models"]} == {"a", "b"}


# --- coverage -------------------------------------------------------------------------------

GAPS = {
    "models": [
        {"name": "contacts", "sql": "select email, diagnosis from {{ patients }}"},
        {"name": "people", "sql": "select patient_id, zip, email, diagnosis from {{ patients }}"},
        {"name": "nobody", "sql": "select zip, sex from {{ patients }}"},
        {
            "name": "part",
            "sql": "select zip, sex from {{ patients }}",
            "columns": {"zip": "quasi_identifier"},
            "meta": {"k": 5},
        },
        {
            "name": "by_zip",
            "sql": "select zip, sex, count(*) as n, sum(0) as s from {{ patients }} group by 1, 2",
        },
        {
            "name": "costs",
            "sql": "select p.zip, count(distinct v.patient_id) as people, sum(v.cost) as cost, "
            "max(p.email) as contact from {{ visits }} v join {{ patients }} p using (patient_id) "
            "group by 1",
        },
    ]
}


def test_the_proposal_pasted_closes_the_gap(tmp_path: Path) -> None:
    before = by_name(lineage(tmp_path, GAPS))
    assert all(model["gap"] and model["proposal"] for model in before.values())
    pasted = {
        "models": [
            {
                **model,
                "meta": {**model.get("meta", {}), **before[model["name"]]["proposal"]["meta"]},
                "columns": {
                    **model.get("columns", {}),
                    **before[model["name"]]["proposal"]["columns"],
                },
            }
            for model in GAPS["models"]
        ]
    }

    after = by_name(lineage(tmp_path, pasted))

    assert {name: model["gap"] for name, model in after.items()} == dict.fromkeys(after, False)


def test_the_proposal_as_yaml_is_that_of_the_result(tmp_path: Path) -> None:
    result = lineage_of(written(tmp_path, GAPS))

    output = run("lineage", str(tmp_path / "target/manifest.json"), "--format", "yaml").output
    described = {each["name"]: each for each in yaml.safe_load(output)["models"]}

    assert described.keys() == {model.name for model in result.gaps}
    for model in result.gaps:
        assert model.proposal is not None
        own = described[model.name]
        meta = own.get("config", {"meta": {"kanon_sql": {}}})["meta"]["kanon_sql"]
        roles = {
            column["name"]: column["config"]["meta"]["kanon_sql"]["role"]
            for column in own.get("columns", ())
        }
        assert (meta, roles) == (model.proposal.meta, model.proposal.columns)


def test_an_event_table_is_proposed_its_own_check(tmp_path: Path) -> None:
    sources = {"stays": {"patient_id": "entity", "ward": "event"}}
    [model] = lineage(tmp_path, models(m="select patient_id, ward from {{ stays }}"), sources)[
        "models"
    ]

    assert model["proposal"]["meta"] == {"checks": [{"km_anonymity": {"k": 5, "m": 2}}]}


@pytest.mark.parametrize(
    ("check", "audit"),
    [
        ({"l_diversity": {"sensitive": "diagnosis"}}, "none"),
        ({"t_closeness": {"sensitive": "diagnosis", "distance": "equal"}}, "none"),
        ({"prosecutor_risk": {"threshold": 0.2}}, "none"),
        ({"k_anonymity": None}, "none"),
        ({"homogeneity": {"sensitive": "diagnosis"}}, "audited"),
        ("homogeneity", "audited"),
        ("k_anonymity", "none"),
        ({"l_diversity": {"sensitive": "diagnosis", "l": 2}}, "audited"),
    ],
    ids=str,
)
def test_a_check_without_a_threshold_covers_nothing(
    tmp_path: Path, check: dict[str, Any] | str, audit: str
) -> None:
    model = {
        "name": "m",
        "sql": "select zip, diagnosis from {{ patients }}",
        "meta": {"checks": [check]},
        "columns": {"zip": "quasi_identifier", "diagnosis": "sensitive"},
    }

    assert lineage(tmp_path, {"models": [model]})["models"][0]["audit"] == audit


def test_no_proposal_where_lineage_cant_be_told(tmp_path: Path) -> None:
    found = lineage(tmp_path, models(m="select cloak(email) as x from {{ patients }}"))

    assert found["models"][0]["proposal"] is None


# --- the command ----------------------------------------------------------------------------

PUBLIC = {"models": [{**model, "access": "public"} for model in CHAIN["models"][:1]]}


@pytest.mark.parametrize(
    ("case", "options", "code"),
    [
        (PUBLIC, [], 0),
        (PUBLIC, ["--fail-on-unaudited"], 1),
        (CHAIN, ["--fail-on-unaudited"], 4),
        (CHAIN, ["--fail-on-unaudited", "all"], 1),
        (CHAIN, ["--fail-on-unaudited=all", "--select", "nothing"], 4),
        (CHAIN, ["--select", "access:public"], 4),
        (models(m="select county from {{ zip_codes }}"), ["--fail-on-unaudited=all"], 0),
        (CASES["table-published"], ["--fail-on-unaudited=all"], 0),
    ],
)
def test_the_gate(tmp_path: Path, case: Case, options: list[str], code: int) -> None:
    ended = run("lineage", str(written(tmp_path, case)), *options)

    assert ended.exit_code == code, ended.output


def test_an_exposure_publishes_what_its_metrics_read(tmp_path: Path) -> None:
    path = written(
        tmp_path, models(a="select zip from {{ patients }}", b="select zip from {{ a }}")
    )
    document = json.loads(path.read_text(encoding="utf-8"))

    def reads(name: str, *nodes: str) -> dict[str, Any]:
        return {"name": name, "depends_on": {"nodes": [*nodes]}}

    document |= {
        "exposures": {
            "exposure.shop.weekly": reads("weekly", "metric.shop.zips"),
            "exposure.other.weekly": reads("weekly", "model.other.x"),
        },
        "metrics": {"metric.shop.zips": reads("zips", "semantic_model.shop.people")},
        "semantic_models": {"semantic_model.shop.people": reads("people", "model.shop.b")},
    }
    path.write_text(json.dumps(document), encoding="utf-8")

    found = by_name(json.loads(lineage_of(path).to_json())["lineage"])

    assert {name: each["published"] for name, each in found.items()} == {
        "a": [],
        "b": ["exposure: weekly"],
    }


def test_nothing_has_a_role(tmp_path: Path) -> None:
    path = written(tmp_path, models(m="select zip from {{ x }}"), {"x": {"zip": None}})

    ended = run("lineage", str(path))

    assert (ended.exit_code, ended.stderr.count("\n")) == (4, 1)


def test_in_python(tmp_path: Path) -> None:
    result = kanon.lineage(written(tmp_path, PUBLIC))

    assert [model.name for model in result.gaps] == ["stg"]
    assert "GAP" in str(result)
    assert repr(result) == "<LineageResult measured: 1 gap>"
    with pytest.raises(PrivacyViolation, match="1 model exposes people and is not audited: stg"):
        result.raise_if_unaudited()
    with pytest.raises(NoDataError):
        kanon.lineage(written(tmp_path, CHAIN)).raise_if_unaudited("published")


def test_a_selection_shows_less_and_follows_all(tmp_path: Path) -> None:
    whole, part = lineage(tmp_path, CHAIN), lineage(tmp_path, CHAIN, select=["mart"])

    assert part["models"] == [by_name(whole)["mart"]]
    assert part["summary"]["models"] == 1


def test_what_is_written_has_its_schema_and_its_report(tmp_path: Path) -> None:
    result = tmp_path / "lineage.json"
    ended = run("lineage", str(written(tmp_path, CASES["published"])), "--output", str(result))
    schema = json.loads(run("schema", "--of", "result").stdout)

    assert ended.exit_code == 0
    jsonschema.validate(json.loads(result.read_text()), schema)
    page = run("report", str(result)).stdout
    assert [
        text for text in ("1. Lineage", "2. Rules", "about the same people") if text not in page
    ] == []


def test_an_edited_lineage_is_noticed(tmp_path: Path) -> None:
    result = tmp_path / "lineage.json"
    run("lineage", str(written(tmp_path, CHAIN)), "--output", str(result))
    result.write_text(result.read_text().replace('"gap": true', '"gap": false', 1))

    ended = run("report", str(result))

    assert (ended.exit_code, "the seal contradicts the result" in ended.stderr) == (2, True)


# --- values ---------------------------------------------------------------------------------

PLANTED = "Ottoline"
EVERYWHERE = models(
    m=f"""
    with a as (select *, '{PLANTED}' as k, cloak(email, '{PLANTED}') from {{{{ patients }}}}
      where full_name = '{PLANTED}' and zip in ('{PLANTED}'))
    select case when full_name like '{PLANTED}%' then '{PLANTED}' end,
      '{PLANTED}', max('{PLANTED}' || zip), security.veil(email, '{PLANTED}') as v
    from a join read_csv('{PLANTED}.csv') f on f.x = '{PLANTED}', 'of/{PLANTED}.csv' g
    group by 1, 4 having max(zip) > '{PLANTED}' order by '{PLANTED}' limit 3
    """,
    broken=f"selec zip frm {{{{ patients }}}} where ('{PLANTED}",
    called=f"call told('{PLANTED}')",
    unread=f"select zip from {{{{ patients }}}} where x = '{PLANTED}' )",
)


@pytest.mark.parametrize(
    "form", ["human", "json", "markdown", "junit", "sarif", "github", "yaml", "-v", "-vv"]
)
def test_no_literal_of_the_sql_leaves(tmp_path: Path, form: str) -> None:
    cache = tmp_path / "cache"
    options = [form] if form.startswith("-") else ["--format", form]

    ended = run("lineage", str(written(tmp_path, EVERYWHERE)), *options, "--cache", str(cache))

    assert ended.exit_code == 0
    assert "broken" in ended.output or form == "yaml"
    assert PLANTED.casefold() not in ended.output.casefold()
    assert PLANTED.casefold() not in (cache / "lineage.json").read_text().casefold()


# --- an audit with inherited roles ----------------------------------------------------------


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    path = tmp_path / "dev.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("attach ':memory:' as db")
        connection.execute(
            "create table stg as select range as person, 'm' || range as mail, "
            "'0' || range % 3 as zip, date '1980-01-01' + (range % 4)::int as birth_date, "
            "'F' as sex, 'd' || range % 5 as diagnosis from range(60)"
        )
    shutil.copy(path, tmp_path / "db.duckdb")
    return f"duckdb:{tmp_path / 'db.duckdb'}"


def test_an_audit_with_inherited_roles_is_one_with_the_same_roles(
    tmp_path: Path, warehouse: str
) -> None:
    path = written(tmp_path, CHAIN)
    result_file = tmp_path / "result.json"

    ended = run("audit", "--manifest", str(path), "--inherit", "--k", "5", "--select", "stg",
                "--connect", warehouse, "--output", str(result_file))  # fmt: skip

    [table] = json.loads(result_file.read_text())["tables"]
    own = kanon.audit(
        "stg", ["zip", "birth_date", "sex"], sensitive="diagnosis", entity="person",
        identifiers="mail", k=5, engine=warehouse,
    ).tables[0]  # fmt: skip
    assert ended.exit_code == 0, ended.stderr
    assert table["summary"] == own.to_dict()["summary"]
    assert table["checks"] == own.to_dict()["checks"]
    assert any("inherited" in warning and "raw.patients.zip" in warning
               for warning in table["warnings"])  # fmt: skip


def test_what_cant_be_audited_is_not_silent(tmp_path: Path, warehouse: str) -> None:
    case = models(
        stg=CHAIN["models"][0]["sql"],
        unclear="select cloak(email) as x, zip from {{ patients }}",
        groups="select zip, count(*) as n from {{ patients }} group by 1",
        mails="select email from {{ patients }}",
        codes="select county from {{ zip_codes }}",
    )

    ended = run("audit", "--manifest", str(written(tmp_path, case)), "--inherit", "--connect",
                warehouse)  # fmt: skip

    assert ended.exit_code == 0, ended.stderr
    for name in ("unclear", "groups", "mails"):
        assert f"{name} was skipped" in ended.stderr
    assert "codes" not in ended.stderr


def test_nothing_is_left_to_audit(tmp_path: Path, warehouse: str) -> None:
    case = models(mails="select email from {{ patients }}")

    ended = run("audit", "--manifest", str(written(tmp_path, case)), "--inherit", "--connect",
                warehouse)  # fmt: skip

    assert ended.exit_code == 4
    assert "mails was skipped" in ended.stderr


def test_a_model_downstream_may_name_a_column_that_was_numbered(tmp_path: Path) -> None:
    """Also from the cache, and of a table whose second `zip` nobody listed."""
    chain = models(
        joined="select * from {{ patients }} a join {{ visits }} b using (patient_id)",
        numbered="select zip_1, zip from {{ joined }}",
    )
    cold = lineage(tmp_path, chain, cache=tmp_path / "cache")

    assert cold == lineage(tmp_path, chain, cache=tmp_path / "cache")
    columns = by_name(cold)["numbered"]["columns"]
    assert [(each["name"], each["role"]) for each in columns] == [
        ("zip_1", "quasi_identifier"),
        ("zip", "quasi_identifier"),
    ]


@pytest.mark.parametrize(
    "projection",
    [
        *("place.*", "place.a.*", "p.place.a.*", "place.visits.*"),
        *("place.* except (a)", "place.* replace (1 as a)"),
    ],
)
def test_the_fields_of_a_struct_carry_what_it_carries(tmp_path: Path, projection: str) -> None:
    project = {
        "dialect": "bigquery",
        "sources": {"people": {"place": "quasi_identifier"}, "visits": {"visit": None}},
        "models": [
            {
                "name": "fields",
                "sql": f"select {projection} from {{{{ people }}}} p, {{{{ visits }}}} visits",
            },
            {"name": "city", "sql": "select city from {{ fields }}"},
        ],
    }

    found = by_name(lineage(tmp_path, project, {}))

    assert found["fields"]["exposure"] == "quasi_identified"
    assert found["city"]["columns"][0]["role"] == "quasi_identifier"


def test_a_star_has_the_columns_that_its_model_describes(tmp_path: Path) -> None:
    model = {"name": "all", "sql": "select * from {{ visits }}", "columns": {"note": None}}

    found = by_name(lineage(tmp_path, {"models": [model]}))["all"]

    assert found["open"]
    assert {"name": "note", "carries": [], "role": None}.items() <= found["columns"][-1].items()
