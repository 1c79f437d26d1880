"""What the generic tests of a dbt project say: roles, checks and what differs from a meta."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_manifest import ROLES, column, model, project, refused, selected

import kanon_sql as kanon
from kanon_sql.question.spec import SelectedTables

QI = ["zip", "sex"]
DESCRIBED = "models:\n  - name: released\n"


def generic(test: str, on: str = "released", *, reads: tuple[str, ...] = (), **given: Any) -> Any:
    """A generic test as dbt writes it; `config` is its own, the rest are its arguments."""
    config = {"severity": "ERROR", "where": None, "error_if": "!= 0", **given.pop("config", {})}
    node = f"model.clinic.{on}"
    return {
        "resource_type": "test",
        "unique_id": f"test.clinic.{test}_{on}.{hash(str(given))}",
        "name": f"{test}_{on}",
        "attached_node": given.pop("attached", node),
        "depends_on": {"nodes": [node, *(f"model.clinic.{each}" for each in reads)]},
        "config": config,
        "test_metadata": {
            "name": test,
            "namespace": "kanon_sql",
            "kwargs": {"model": f"{{{{ get_where_subquery(ref('{on}')) }}}}", **given},
        },
    }


def plain(name: str = "released", **parts: Any) -> dict[str, Any]:
    """A model that says nothing to kanon-sql itself."""
    return model(name, {}, **{"demands": None, **parts})


def table_of(chosen: SelectedTables) -> Any:
    assert chosen.spec is not None
    [table] = chosen.spec.tables
    return table


def test_tests_alone_give_roles_and_checks(tmp_path: Path) -> None:
    chosen = selected(
        tmp_path,
        plain(),
        generic("k_anonymity", quasi_identifiers=QI, k=5, entity='"Patient"', quote_columns=False),
        generic("l_diversity", quasi_identifiers=["sex", "zip"], column_name="diagnosis", l=2,
                entity="patient", sensitive_nulls="unknown"),
    )  # fmt: skip

    table = table_of(chosen)
    assert (list(table.quasi_identifiers), table.sensitive, table.entity) == (
        QI, ["diagnosis"], "Patient",
    )  # fmt: skip
    assert table.sensitive_nulls == "unknown"
    assert table.checks == [kanon.KAnonymity(k=5), kanon.LDiversity(l=2, sensitive="diagnosis")]
    assert chosen.notes == ((),)


def test_a_test_on_a_source_and_arguments_below_arguments(tmp_path: Path) -> None:
    source = plain(
        resource_type="source", unique_id="source.clinic.raw.released", source_name="raw"
    )
    asked = generic("k_anonymity", attached=None, arguments={"quasi_identifiers": QI, "k": 5})
    asked["depends_on"]["nodes"] = ["source.clinic.raw.released"]
    asked["test_metadata"]["kwargs"]["model"] = (
        "{{ get_where_subquery(source('raw', 'released')) }}"
    )

    assert table_of(selected(tmp_path, source, asked)).checks == [kanon.KAnonymity(k=5)]


def test_references_and_earlier_releases_of_tests(tmp_path: Path) -> None:
    linked = {"quasi_identifiers": QI, "entity": "patient", "reference": "ref('voters')",
              "reference_columns": {"zip": "zip_code"}}  # fmt: skip
    chosen = selected(
        tmp_path,
        plain(),
        plain("voters"),
        plain("release_2024"),
        generic("k_map", reads=("voters",), k=5, **linked),
        generic("journalist_risk", reads=("voters",), max_highest=0.2, **linked),
        generic("k_map", reads=("voters",), k=3, **linked, reference_where="state = 'MA'"),
        generic("composed_k_anonymity", reads=("release_2024",), k=2, quasi_identifiers=QI,
                entity="patient", earlier="ref('release_2024')", earlier_entity="person"),
    )  # fmt: skip

    table = table_of(chosen)
    assert {name: (each.columns, each.where) for name, each in table.references.items()} == {
        "voters": ({"zip": "zip_code"}, None),
        "voters_2": ({"zip": "zip_code"}, "state = 'MA'"),
    }
    assert table.earlier_releases["release_2024"].entity == "person"
    assert table.checks == [
        kanon.KMap(k=5, reference="voters"),
        kanon.JournalistRisk(max_highest=0.2, reference="voters"),
        kanon.KMap(k=3, reference="voters_2"),
        kanon.ComposedKAnonymity(k=2, earlier="release_2024"),
    ]


def test_a_meta_overrides_a_test_and_the_difference_is_said(tmp_path: Path) -> None:
    chosen = selected(
        project(tmp_path, DESCRIBED),
        model(demands={"k": 5}),
        generic("k_anonymity", quasi_identifiers=QI, k=3),
        generic("k_anonymity", quasi_identifiers=QI, k=5, quote_columns=True),
        generic("l_diversity", quasi_identifiers=["zip"], sensitive="diagnosis", l=2),
        generic("t_closeness", quasi_identifiers=QI, sensitive="zip", t=0.2),
    )

    assert table_of(chosen).checks == [kanon.KAnonymity(k=5)]
    assert chosen.notes == ((
        "dbt's test k_anonymity_released is not run here: config.meta.kanon_sql overrides its "
        "k = 3 by 5.",
        "dbt's test l_diversity_released is not run here: its quasi-identifiers are zip, but "
        "those of the roles are zip, sex.",
        'dbt\'s test t_closeness_released is not run here: "zip" has another role than '
        "sensitive.",
    ),)  # fmt: skip


def test_a_meta_and_tests_add_up_where_they_say_different_things(tmp_path: Path) -> None:
    node = plain()
    node["columns"]["email"] = column("identifier")
    asked = generic("sample_uniqueness", quasi_identifiers=QI, max_share=0.1)

    table = table_of(selected(tmp_path, node, asked))

    assert (table.identifiers, list(table.quasi_identifiers)) == (["email"], QI)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": {"severity": "warn"}}, "dbt only warns of it"),
        ({"config": {"where": "zip <> '{{ var(\"x\") }}'"}}, "dbt alone can render its where"),
        ({"k": "var('k', 5)"}, "dbt alone can render its k"),
        ({"quasi_identifiers": ["zip", "{{ var('x') }}"]}, "render its quasi_identifiers"),
        ({"entity": "visit"}, "its entity is visit, and the table's patient"),
        ({"nulls": "wildcard"}, "its nulls is not the table's"),
        ({"config": {"where": "zip is not null"}}, "its where is not the table's"),
    ],
)
def test_what_only_dbt_asks_is_said(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    test = generic("k_anonymity", **{"quasi_identifiers": QI, "k": 5, **given})
    test["test_metadata"]["kwargs"].setdefault("entity", "patient")
    node = model(roles={**ROLES, "patient": "entity"})

    chosen = selected(project(tmp_path, DESCRIBED), node, test)

    assert table_of(chosen).checks == [kanon.KAnonymity(k=2)]
    assert [said in note for [note] in chosen.notes] == [True]


def test_a_filter_that_all_tests_have_is_the_tables(tmp_path: Path) -> None:
    where = {"where": "zip is not null", "error_if": ">5"}
    test = generic("k_anonymity", quasi_identifiers=QI, k=5, config=where)

    chosen = selected(tmp_path, plain(), test)

    assert table_of(chosen).where == "zip is not null"
    assert chosen.notes == ((
        "dbt's test k_anonymity_released tolerates some failures (error_if), and is checked here "
        "in full.",
    ),)  # fmt: skip


def test_tests_of_which_none_asks_about_all_quasi_identifiers_are_refused(tmp_path: Path) -> None:
    message = refused(
        tmp_path,
        plain(),
        generic("k_anonymity", quasi_identifiers=["zip"], k=5),
        generic("k_anonymity", quasi_identifiers=["sex"], k=5),
    )
    assert "has no checks" in message
    assert "its quasi-identifiers are sex, but those of the roles are zip, sex." in message


def test_a_column_of_two_roles_is_refused_unless_a_meta_says_which(tmp_path: Path) -> None:
    asked = (
        generic("l_diversity", quasi_identifiers=QI, sensitive="stage", l=2),
        generic("sample_uniqueness", quasi_identifiers=[*QI, "STAGE"], max_share=0.1),
    )

    assert (
        'released: "STAGE" is sensitive in the test l_diversity_released and quasi_identifier in '
        "sample_uniqueness_released. Give it its config.meta.kanon_sql.role"
    ) in refused(tmp_path, plain(), *asked)

    node = plain()
    node["columns"]["stage"] = column("sensitive")
    assert len(table_of(selected(tmp_path, node, *asked)).checks) == 1


def test_quasi_identifiers_with_the_other_sensitive_columns(tmp_path: Path) -> None:
    roles = {**ROLES, "stage": "sensitive"}
    asked = generic("l_diversity", quasi_identifiers=[*QI, "stage"], sensitive="diagnosis", l=2)
    of_meta = {"l_diversity": {"l": 2, "sensitive": "diagnosis"}}
    folder = project(tmp_path, DESCRIBED)

    found = selected(folder, model(roles=roles), asked)
    told = selected(folder, model(roles=roles, demands={"checks": [of_meta]}), asked)
    alike = model(roles=roles, demands={"checks": [of_meta], "with_other_sensitive": True})

    check = kanon.LDiversity(l=2, sensitive="diagnosis", with_other_sensitive=True)
    assert table_of(found).checks == [kanon.KAnonymity(k=2), check]
    assert "overrides its with_other_sensitive" in told.notes[0][0]
    assert selected(folder, alike, asked).notes == ((),)


# Events

EVENTS = {"entity": "patient", "events": ["ward", "month"]}


def questions_of(chosen: SelectedTables) -> dict[str, tuple[Any, ...]]:
    """What each table is asked about: quasi-identifiers, events, entity, condition and checks."""
    assert chosen.spec is not None
    return {
        str(table.name): (
            *(list(table.quasi_identifiers), list(table.events), table.entity, table.where),
            *table.checks,
        )
        for table in chosen.spec.tables
    }


def test_a_test_of_events_asks_its_own_question(tmp_path: Path) -> None:
    """Of a person's records, while that of records has no person, and other columns."""
    chosen = selected(
        tmp_path,
        plain(),
        generic("k_anonymity", quasi_identifiers=QI, k=5),
        generic("known_events", m=2, k=2, max_share=0.5, **EVENTS),
        generic("km_anonymity", k=3, **EVENTS),
        generic("known_events", m=1, k=2, max_share=0, entity="patient", events=["zip", "month"]),
        generic("km_anonymity", k=3, quasi_identifiers=["cohort"], **EVENTS),
        generic("km_anonymity", k=4, config={"where": "ward = 'x'"}, **EVENTS),
    )

    events = ["ward", "month"]
    assert questions_of(chosen) == {
        "released": (QI, [], None, None, kanon.KAnonymity(k=5)),
        "released (events ward, month, known_events_released)": (
            *([], events, "patient", None),
            *(kanon.KnownEvents(m=2, k=2, max_share=0.5), kanon.KmAnonymity(k=3)),
        ),
        "released (events zip, month)": (
            *([], ["zip", "month"], "patient", None),
            kanon.KnownEvents(m=1, k=2, max_share=0),
        ),
        "released (events ward, month of cohort)": (
            *(["cohort"], events, "patient", None),
            kanon.KmAnonymity(k=3),
        ),
        "released (events ward, month, km_anonymity_released)": (
            *([], events, "patient", "ward = 'x'"),
            kanon.KmAnonymity(k=4),
        ),
    }
    assert chosen.notes == ((),) * 5
    assert len({place.table.line for place in chosen.places}) == 1


def test_tests_of_events_alone_are_the_models_question(tmp_path: Path) -> None:
    chosen = selected(tmp_path, plain(), generic("km_anonymity", k=3, **EVENTS))

    assert questions_of(chosen) == {
        "released": ([], ["ward", "month"], "patient", None, kanon.KmAnonymity(k=3))
    }


def test_events_beside_roles_of_a_meta_keep_the_roles_apart(tmp_path: Path) -> None:
    roles = {**ROLES, "email": "identifier", "ward": "sensitive"}
    chosen = selected(
        project(tmp_path, DESCRIBED),
        model(roles=roles, demands={"k": 5}),
        generic("km_anonymity", k=3, **EVENTS),
    )

    assert chosen.spec is not None
    of_records, of_events = chosen.spec.tables
    assert (list(of_records.quasi_identifiers), list(of_records.events)) == (QI, [])
    assert of_records.checks == [kanon.KAnonymity(k=5)]
    assert (list(of_events.quasi_identifiers), list(of_events.events)) == ([], ["ward", "month"])
    assert (of_events.identifiers, of_events.sensitive) == (["email"], ["diagnosis"])
    assert of_events.checks == [kanon.KmAnonymity(k=3)]


def test_events_of_a_meta_are_the_question_of_its_tests(tmp_path: Path) -> None:
    roles = {"ward": "event", "month": "event", "patient": "entity"}
    chosen = selected(
        project(tmp_path, DESCRIBED),
        model(roles=roles, demands={"checks": [{"km_anonymity": {"k": 2}}]}),
        generic("known_events", m=1, k=2, **EVENTS),
    )

    assert questions_of(chosen) == {
        "released": (
            *([], ["ward", "month"], "patient", None),
            *(kanon.KmAnonymity(k=2), kanon.KnownEvents(m=1, k=2)),
        )
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": {"severity": "warn"}}, "dbt only warns of it"),
        ({"k": "var('k', 5)"}, "dbt alone can render its k"),
    ],
)
@pytest.mark.parametrize(("test", "asked"), [("km_anonymity", EVENTS), ("k_anonymity", QI)])
def test_a_model_whose_tests_dbt_alone_runs_is_skipped_and_the_others_audited(
    tmp_path: Path, given: dict[str, Any], said: str, test: str, asked: Any
) -> None:
    columns = asked if isinstance(asked, dict) else {"quasi_identifiers": asked}
    idle = generic(test, "warned", **{"k": 3, **columns, **given})
    other = generic("k_anonymity", quasi_identifiers=QI, k=5)

    chosen = selected(tmp_path, plain("warned"), plain(), idle, other)

    assert [*questions_of(chosen)] == ["released"]
    assert chosen.skipped == (
        f"models/schema.yml: warned was skipped: dbt's test {test}_warned is not run here: {said}.",
    )
    assert selected(tmp_path, plain("warned"), idle).reason == chosen.skipped[0]


def test_a_test_of_events_that_dbt_alone_runs_is_noted(tmp_path: Path) -> None:
    idle = generic("known_events", m=2, k=2, config={"severity": "warn"}, **EVENTS)
    asked = generic("k_anonymity", quasi_identifiers=QI, k=5)

    chosen = selected(tmp_path, plain(), idle, asked)

    assert [*questions_of(chosen)] == ["released"]
    assert chosen.notes == ((
        "dbt's test known_events_released is not run here: dbt only warns of it.",
    ),)  # fmt: skip


def test_a_test_that_dbt_would_refuse_is_refused_by_its_model(tmp_path: Path) -> None:
    message = refused(tmp_path, plain(), generic("k_anonymity", quasi_identifiers=QI, k=0))
    assert message.startswith("models/schema.yml: released: k_anonymity: k must be a whole")


def test_an_ephemeral_model_with_roles_is_skipped(tmp_path: Path) -> None:
    passing = model("passing", relation_name=None)

    chosen = selected(tmp_path, passing, model())

    assert [table.name for table in chosen.spec.tables] == ["released"]
    assert chosen.skipped == (
        "models/schema.yml: passing is ephemeral, so there is no table to audit, and it was "
        "skipped. Materialise it.",
    )
    assert selected(tmp_path, passing).reason == chosen.skipped[0]


# Selectors


def graph() -> list[dict[str, Any]]:
    """raw → staged → released → report, all with roles."""
    names = ["raw", "staged", "released", "report"]
    return [
        model(
            name,
            depends_on={"nodes": [f"model.clinic.{names[place - 1]}"] if place else []},
            checksum={"name": "sha256", "checksum": name},
        )
        for place, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("select", "exclude", "names"),
    [
        (("staged+",), (), ["staged", "released", "report"]),
        (("+staged",), (), ["raw", "staged"]),
        (("+staged+",), ("report",), ["raw", "staged", "released"]),
        ((), ("released+", "tag:none"), ["raw", "staged"]),
        (("tag:privacy",), ("path:models/schema.yml",), None),
    ],
)
def test_selectors_as_dbt_has_them(
    tmp_path: Path, select: tuple[str, ...], exclude: tuple[str, ...], names: list[str] | None
) -> None:
    chosen = selected(tmp_path, *graph(), select=select, exclude=exclude)

    found = [table.name for table in chosen.spec.tables] if chosen.spec else None
    assert found == names


def test_what_changed_since_an_older_manifest(tmp_path: Path) -> None:
    raw, staged, released, report = graph()
    old = tmp_path / "old"
    old.mkdir()
    selected(old, raw, staged, released)
    staged["checksum"] = {"name": "sha256", "checksum": "another"}
    released["columns"]["age"] = column("quasi_identifier")
    raw["relation_name"] = '"prod"."main"."raw"'
    nodes = (raw, staged, released, report)

    def names(select: str) -> list[str]:
        chosen = selected(tmp_path, *nodes, select=(select,), state=old)
        assert chosen.spec is not None
        return [table.name for table in chosen.spec.tables]

    assert names("state:modified") == ["staged", "released", "report"]
    assert names("state:new") == ["report"]
    assert "selects no model" in selected(tmp_path, raw, select=("state:new",), state=old).reason


YAML_OF_TESTS = """\
models:
  - name: other
  - name: released
    data_tests:
      - kanon_sql.k_anonymity:
          arguments: {quasi_identifiers: [zip, sex], k: 5}
      - not_null
    columns:
      - name: diagnosis
        data_tests:
          - kanon_sql.l_diversity:
              quasi_identifiers: [zip, sex]
              l: 2
      - name: stage
        tests:
          - kanon_sql.l_diversity: {quasi_identifiers: [zip, sex], l: 2}
"""


def test_each_check_has_the_line_of_its_own_test(tmp_path: Path) -> None:
    chosen = selected(
        project(tmp_path, YAML_OF_TESTS),
        plain(patch_path="clinic://models/schema.yml"),
        generic("k_anonymity", quasi_identifiers=QI, k=5),
        generic("l_diversity", quasi_identifiers=QI, sensitive="diagnosis", l=2),
        generic("l_diversity", quasi_identifiers=QI, sensitive="stage", l=2),
        generic("t_closeness", quasi_identifiers=QI, sensitive="stage", t=0.2),
    )

    [places] = chosen.places
    checks = sorted(table_of(chosen).checks, key=lambda each: not each.gates)
    lines = {(check.name(), getattr(check, "sensitive", None)): place.line
             for check, place in zip(checks, places.checks, strict=True)}  # fmt: skip
    assert places.table.line == 3
    assert lines == {
        ("k_anonymity", None): 5,
        ("l_diversity", "diagnosis"): 11,
        ("l_diversity", "stage"): 16,
        ("t_closeness", "stage"): 3,  # which the YAML doesn't have
    }
