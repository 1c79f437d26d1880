"""Is what `explain` says of its examples what the auditor says?"""

from __future__ import annotations

import asking
import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql.cli import main
from kanon_sql.explain import EXAMPLES, QUASI_IDENTIFIERS, WIDTH, Rows, overview, page
from kanon_sql.models import MODELS, SensitiveModel


def test_every_model_has_an_example() -> None:
    assert list(EXAMPLES) == list(MODELS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("holds", [True, False])
def test_an_example_is_what_it_is_said_to_be(name: str, holds: bool) -> None:
    example = EXAMPLES[name]
    rows = example.holds if holds else example.fails
    references = {"register": asking.table(example.columns, example.reference)}

    [table] = kanon.audit(
        asking.table(example.columns, rows),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive=[example.sensitive] if issubclass(MODELS[name], SensitiveModel) else [],
        references=references if example.reference else None,
        checks=[example.model(name)],
    ).tables

    assert len(rows) == 6
    assert table.checks[0].holds is holds
    assert table.checks[0].details.get("unmatched_classes", 0) == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_page_says_everything_and_its_sql_runs(name: str) -> None:
    example, model = EXAMPLES[name], MODELS[name]
    text = page(name)
    prose, _, sql = text.partition("on the table of the example (macro ")

    assert [line for line in prose.splitlines() if len(line) > WIDTH] == []
    for part in (model.title, model.promise, model.formula, model.silence, model.source):
        assert _words(part) in _words(prose)
    with duckdb.connect() as connection:
        _create(connection, "patients", example.columns, example.holds)
        _create(connection, "register", example.columns, example.reference)
        assert connection.execute(sql.partition(")")[2]).fetchall()


def _create(
    connection: duckdb.DuckDBPyConnection, name: str, columns: tuple[str, ...], rows: Rows
) -> None:
    connection.register(f"{name}_rows", asking.table(columns, rows))
    connection.execute(f"create table {name} as from {name}_rows")


def _words(text: str) -> str:
    return " ".join(text.split())


def test_alone_it_lists_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain"])

    listed = capsys.readouterr().out
    assert ended.value.code == 0
    assert [name for name in MODELS if f"{name}: " not in listed] == []
    assert listed.strip() == overview()


def test_a_misspelled_model_is_refused_with_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "l-diversity"])

    assert ended.value.code == 2
    assert 'Did you mean "l_diversity"?' in capsys.readouterr().err
