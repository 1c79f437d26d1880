"""Is what `explain` says of its examples what the auditor says, and what the formulas give?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import log2, prod, sqrt

import asking
import duckdb
import pytest

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import SpecError
from kanon_sql.models.base import SensitiveModel
from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS, MODELS
from kanon_sql.models.earlier.models import ComposedModel
from kanon_sql.models.examples import PERSON, QUASI_IDENTIFIERS, Rows
from kanon_sql.models.synthetic.models import SyntheticModel
from kanon_sql.report.explain import (
    explained,
    metric_page,
    overview,
    page,
)
from kanon_sql.report.guides import WIDTH, guide, guide_names
from kanon_sql.results.release import EXAMPLE_RELEASE, METRICS


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("holds", [True, False])
def test_an_example_is_what_it_is_said_to_be(name: str, holds: bool) -> None:
    example = MODELS[name].example
    rows = example.holds if holds else example.fails
    beside = {
        "references": {"register": asking.table(example.columns, example.reference)}
        if example.reference
        else None,
        "original": asking.table(example.columns, example.original) if example.original else None,
        "earlier_releases": {"before": asking.table(example.columns, example.rows(example.earlier))}
        if example.earlier
        else None,
    }

    [table] = kanon.audit(
        asking.table(example.columns, example.rows(rows)),
        quasi_identifiers=() if example.roles else QUASI_IDENTIFIERS,
        **example.roles,
        sensitive=[example.sensitive]
        if issubclass(MODELS[name], SensitiveModel | ComposedModel | SyntheticModel)
        else [],
        entity=PERSON if example.earlier or example.roles else None,
        **beside,
        checks=[MODELS[name](**example.parameters)],
    ).tables

    assert len(rows) == 6
    assert table.checks[0].holds is holds
    assert table.checks[0].details.get("unmatched_classes", 0) == 0


@pytest.mark.parametrize("name", MODELS)
def test_a_page_says_everything_and_its_sql_runs(name: str) -> None:
    model = MODELS[name]
    example = model.example
    text = page(name)
    prose, _, sql = text.partition("on the table of the example (macro ")

    assert [line for line in prose.splitlines() if len(line) > WIDTH] == []
    for part in (model.title, model.promise, model.formula, model.limitation, model.source):
        assert _words(part) in _words(prose)
    with duckdb.connect() as connection:
        _create(connection, "patients", example.columns, example.rows(example.holds))
        _create(connection, "register", example.columns, example.reference)
        _create(connection, "before", example.columns, example.rows(example.earlier))
        _create(connection, "original", example.columns, example.original)
        assert connection.execute(sql.partition(")")[2]).fetchall()


def _create(
    connection: duckdb.DuckDBPyConnection, name: str, columns: tuple[str, ...], rows: Rows
) -> None:
    connection.register(f"{name}_rows", asking.table(columns, rows))
    connection.execute(f"create table {name} as from {name}_rows")


def _words(text: str) -> str:
    return " ".join(text.split())


# --- metrics ---------------------------------------------------------------------------------

LEVELS, HEIGHTS = {"race": 0, "zip": 1}, {"race": 1, "zip": 2}


def _column(rows: Iterable[tuple[str, ...]], name: str) -> list[str]:
    return [row[EXAMPLE_RELEASE["columns"].index(name)] for row in rows]


def _pairs(name: str) -> list[tuple[str, str]]:
    """The raw and the released value of each record."""
    return list(
        zip(
            _column(EXAMPLE_RELEASE["raw"], name),
            _column(EXAMPLE_RELEASE["released"], name),
            strict=True,
        )
    )


def _sizes() -> list[int]:
    keys = zip(*(_column(EXAMPLE_RELEASE["released"], name) for name in LEVELS), strict=True)
    return list(Counter(keys).values())


def _loss_of(name: str) -> float:
    leaves = {
        released: {v for v, g in _pairs(name) if g == released} for _, released in _pairs(name)
    }
    lost = [
        (len(leaves[g]) - 1) / (len(set(_column(EXAMPLE_RELEASE["raw"], name))) - 1)
        for _, g in _pairs(name)
    ]
    return sum(lost) / len(lost)


def _precision() -> float:
    return 1 - sum(LEVELS[name] / HEIGHTS[name] for name in LEVELS) / len(LEVELS)


def _loss() -> float:
    return sum(_loss_of(name) for name in LEVELS) / len(LEVELS)


def _loss_geometric() -> float:
    return prod(_loss_of(name) + 1 for name in LEVELS) ** (1 / len(LEVELS)) - 1


def _discernibility() -> float:
    return sum(size**2 for size in _sizes())


def _average_class_size() -> float:
    return len(EXAMPLE_RELEASE["released"]) / len(_sizes())


def _non_uniform_entropy() -> float:
    lost = most = 0.0
    for name in LEVELS:
        raw, released = (Counter(column) for column in zip(*_pairs(name), strict=True))
        lost += sum(log2(released[g] / raw[v]) for v, g in _pairs(name))
        most += sum(log2(len(EXAMPLE_RELEASE["raw"]) / raw[v]) for v, _ in _pairs(name))
    return lost / most


def _association(rows: Iterable[tuple[str, ...]] = EXAMPLE_RELEASE["released"]) -> float:
    values, diseases = _column(rows, "zip"), _column(rows, "disease")
    found, n = Counter(zip(values, diseases, strict=True)), len(values)
    expected = {
        (v, s): of_v * of_s / n
        for v, of_v in Counter(values).items()
        for s, of_s in Counter(diseases).items()
    }
    chi_square = sum((found[pair] - many) ** 2 / many for pair, many in expected.items())
    return sqrt(chi_square / (n * (min(len(set(values)), len(set(diseases))) - 1)))


COMPUTED: dict[str, Callable[[], float]] = {
    "precision": _precision,
    "loss": _loss,
    "loss_geometric": _loss_geometric,
    "discernibility": _discernibility,
    "average_class_size": _average_class_size,
    "non_uniform_entropy": _non_uniform_entropy,
    "association": _association,
}


@pytest.mark.parametrize("name", METRICS)
def test_the_number_of_a_metric_is_what_its_formula_gives(name: str) -> None:
    computed = COMPUTED[name]()

    metric = METRICS[name]
    assert metric.value == pytest.approx(computed)
    assert f"{computed:.4g}" in metric.example or f"{computed:.1%}"[:-1] in metric.example


def test_a_zip_code_of_one_disease_gives_it_away() -> None:
    assert _association(EXAMPLE_RELEASE["raw"]) == pytest.approx(1)


@pytest.mark.parametrize("name", METRICS)
def test_the_page_of_a_metric_says_everything(name: str) -> None:
    metric, text = METRICS[name], metric_page(name)

    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    for part in (
        metric.title, metric.sentence, metric.range, metric.formula, metric.letters,
        metric.counting, metric.limitation, metric.source, metric.example,
    ):  # fmt: skip
        assert part.strip()
        assert _words(part) in _words(text)


def test_the_page_of_datafly_has_five_steps_and_its_limit() -> None:
    text = guide("datafly")

    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert [number for number in range(1, 10) if f"    {number}. " in text] == [1, 2, 3, 4, 5]
    assert "What it does not promise It does not promise a minimal release." in _words(text)


def test_the_page_of_values_says_what_zero_is() -> None:
    text = guide("values")

    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert "0.0 and -0.0 are equal" in _words(text)


def test_the_page_of_subsets_works_its_example_out() -> None:
    text = guide("subsets")
    three = asking.table(["a", "b", "c"], [(2, 0, 0), (1, 3, 6), (1, 0, 0)])

    [table] = kanon.profile(three, ["a", "b", "c"], suda="all").tables

    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert table.special_uniques is not None
    assert (table.special_uniques.score, table.special_uniques.highest) == (8, 4)
    assert table.special_uniques.contributions == {"a": 100 * 4 / 8, "b": 37.5, "c": 37.5}
    assert "the records score 2, 4 and 2. Of the total of 8, sets with a score 4" in _words(text)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("k-anonymity", "k_anonymity"), ("K Anonymity", "k_anonymity"), ("k", "k_anonymity"),
        ("(α,k)-anonymity", "alpha_k_anonymity"), ("δ-presence", "delta_presence"),
        ("enhanced β-likeness", "enhanced_beta_likeness"), ("t closeness", "t_closeness"),
        ("kmap", "k_map"), ("Cramer", "association"), ("Cramér's V", "association"),
        ("recursive c,l", "recursive_cl_diversity"), ("SUDA2", "subsets"), ("DIS-SUDA", "subsets"),
        ("earth mover's distance", "t_closeness"), ("Pitman", "population_uniqueness"),
        ("Samarati", "optimal"), ("Mondrian", "local"), ("Snowflake", "warehouses"),
        ("worksheet", "references"), ("notebook", "python"), ("pre-commit", "pipelines"),
        ("differential privacy", "limits"), ("differential", "limits"), ("ε", "limits"),
        ("DP", "limits"), ("dbt", "dbt"),
        ("m-invariance", "releases"), ("linkage attack", "references"), ("limits", "limits"),
        ("non-uniform entropy", "non_uniform_entropy"), ("data-fly", "datafly"),
        ("entity", "entities"), ("people", "entities"), ("ARX", "coming-from-arx"),
        ("quasi identifiers", "quasi-identifiers"), ("QI", "quasi-identifiers"),
    ],
)  # fmt: skip
def test_a_name_may_be_written_as_people_write_it(
    written: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explained(written) == explained(name)
    with pytest.raises(SystemExit) as ended:
        main(["explain", *written.split()])
    assert (ended.value.code, capsys.readouterr().out.strip()) == (0, explained(name).strip())


@pytest.mark.parametrize("name", CELL_MODELS)
def test_a_model_of_cells_fails_and_holds_as_its_page_says(name: str) -> None:
    example = CELL_MODELS[name].example
    words = explained(name).partition("Deciding SQL")[0]

    def holds(rows: Rows) -> bool:
        cells = asking.table(list(example.columns), [tuple(map(str, row)) for row in rows])
        settings = {key: each for key, each in example.settings.items() if key != "cells"}
        settings["suppressed"] = settings.get("suppressed", "").strip("'") or ()
        second = [tuple(map(str, row)) for row in example.second]
        return kanon.tables(
            cells,
            published=example.settings.get("cells", False),
            against=asking.table(list(example.columns), second) if second else None,
            checks=[CELL_MODELS[name](**example.parameters)],
            **settings,
        ).holds

    assert [line for line in words.splitlines() if len(line) > WIDTH] == []
    assert (holds(example.fails), holds(example.holds)) == (False, True)


@pytest.mark.parametrize("name", [*ALL_MODELS, *METRICS, *guide_names()])
def test_every_title_is_a_name_too(name: str) -> None:
    title = explained(name).splitlines()[0].rpartition(" (")[0]
    assert title
    if name not in guide_names():
        assert explained(title) == explained(name)


# --- the command -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (None, overview()),
        ("k_map", page("k_map")),
        ("precision", metric_page("precision")),
        ("datafly", guide("datafly")),
        ("entities", guide("entities")),
        ("entity", guide("entities")),
        ("subsets", guide("subsets")),
        ("suda", guide("subsets")),
        ("values", guide("values")),
    ],
)
def test_each_name_has_its_page(name: str | None, text: str) -> None:
    assert explained(name) == text


@pytest.mark.parametrize(
    ("name", "near"),
    [("l-divversity", "l_diversity"), ("Precison", "precision"), ("warehuses", "warehouses")],
)
def test_an_unknown_name_is_refused_with_the_nearest_of_all(name: str, near: str) -> None:
    with pytest.raises(SpecError, match=f'Did you mean "{near}"') as refused:
        explained(name)

    assert f"the {len(ALL_MODELS)} models and the {len(METRICS)} metrics" in str(refused.value)


def test_the_page_on_people_says_what_the_auditor_does() -> None:
    text = " ".join(guide("entities").split())
    panel = [("alone", "rare"), *((f"p{n}", f"c{c}") for n in range(9) for c in range(10))]
    both = [("a", "A", "flu"), ("a", "A", "cold"), ("b", "A", "flu")]

    [table] = kanon.audit(
        asking.table(["who", "q"], panel), quasi_identifiers="q", entity="who"
    ).tables
    [certain] = kanon.audit(
        asking.table(["who", "q", "s"], both), quasi_identifiers="q", sensitive="s", entity="who"
    ).tables

    assert (table.summary.people, table.summary.uniques) == (10, 1)
    assert "10 people, of whom 1 (10 %) is alone, and not 1 of 91" in text
    said = {check.model: check.achieved for check in certain.checks}
    assert [said[name] for name in ("homogeneity", "l_diversity", "entropy_l_diversity")] == [1] * 3
    assert [line for line in guide("entities").splitlines() if len(line) > WIDTH] == []


def test_alone_it_lists_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain"])

    listed = capsys.readouterr().out
    assert ended.value.code == 0
    assert [
        name
        for name in (*ALL_MODELS, *METRICS, "datafly", "entities", "subsets", "values")
        if f"{name}: " not in listed
    ] == []
    assert listed.strip() == overview()
