"""The best levels: the same as exhaustive search finds, proved, and told as they are."""

from __future__ import annotations

import itertools
import json
import math
import operator
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracle_optimal as oracle
import pyarrow
import pytest
from click.testing import Result
from commands import run
from oracle_optimal import Hierarchy, Problem

import kanon_sql as kanon
from kanon_sql.anonymizing.release.options import METRIC_NAMES
from kanon_sql.errors import EngineError

DATA = os.environ.get("KANON_SQL_DATA")


# --- against exhaustive search --------------------------------------------------------------


def generated(seed: int, star: float = 0.2) -> tuple[Problem, dict[str, Any]]:
    """A table with its hierarchies and demands, and what of them only kanon-sql is told."""
    rng = random.Random(seed)
    hierarchies = {f"q{place}": _hierarchy(rng) for place in range(rng.randint(1, 3))}
    people = rng.randint(3, 25)
    records = [
        {name: _value(rng, each) for name, each in hierarchies.items()}
        | {"s": rng.choice("abc"), "o": rng.choice("xy"), "who": rng.randrange(people)}
        for _ in range(rng.randint(4, 40))
    ]
    n = len(records)
    problem = Problem(
        records,
        hierarchies,
        rng.choice(METRIC_NAMES),
        k=rng.randint(1, 4),
        max_suppressed=rng.choice([0, 0, rng.randint(1, n // 2), n]),
        star=rng.random() < star,
    )
    asked: dict[str, Any] = {}
    match rng.randrange(11):
        case 0:
            problem = replace(problem, passes=lambda group: _distinct(group) >= 2)
            asked = {"sensitive": "s", "checks": kanon.LDiversity(l=2, sensitive="s")}
        case 1:
            problem = replace(problem, passes=lambda group: _entropy(group) >= math.log(2) - 1e-12)
            asked = {"sensitive": "s", "checks": kanon.EntropyLDiversity(l=2, sensitive="s")}
        case 2:
            whole = Counter(record["s"] for record in records)
            problem = replace(problem, passes=lambda group: _distance(group, whole) <= 0.3 + 1e-9)
            asked = {"sensitive": "s", "checks": kanon.TCloseness(t=0.3, sensitive="s")}
        case 3:
            problem = replace(problem, entity="who", k=min(problem.k, people))
            asked = {"entity": "who"}
        case 4:
            problem = replace(problem, holds=lambda sizes: len(sizes) * 10 <= 3 * sum(sizes))
            asked = {"checks": kanon.ProsecutorRisk(max_average=0.3)}
        case 5:
            problem = replace(
                problem, holds=lambda sizes: sum(f for f in sizes if f < 5) * 10 <= 6 * sum(sizes)
            )
            asked = {"checks": kanon.ProsecutorRisk(max_at_risk=0.6)}
        case 6 | 9 | 10:
            problem, asked = _beside_reference(rng, problem)
        case 7:
            problem = replace(
                problem,
                passes=lambda group: all(
                    len({each["s"] for each in part}) >= 2 for part in _by_others(group)
                ),
            )
            check = kanon.LDiversity(l=2, sensitive="s", with_other_sensitive=True)
            asked = {"sensitive": ["s", "o"], "checks": check}
        case 8:
            whole = Counter(record["s"] for record in records)
            problem = replace(
                problem,
                passes=lambda group: all(
                    _distance(part, whole) <= 0.5 + 1e-9 for part in _by_others(group)
                ),
            )
            check = kanon.TCloseness(t=0.5, sensitive="s", with_other_sensitive=True)
            asked = {"sensitive": ["s", "o"], "checks": check}
    name = rng.choice(list(hierarchies))
    match rng.randrange(4):
        case 0:
            problem = replace(problem, highest={name: 0})
            asked["keep"] = name
        case 1:
            problem = replace(problem, highest={name: 1})
            asked["at_most"] = {name: 1}
        case 2 if problem.metric == "loss":
            problem = replace(problem, weights={name: 2.5})
            asked["weights"] = {name: 2.5}
    return problem, asked


def _beside_reference(rng: random.Random, problem: Problem) -> tuple[Problem, dict[str, Any]]:
    """A demand on how many a reference has of each class: records, people or weights, some of
    values that the table has not."""
    names = list(problem.hierarchies)
    extra = [
        {name: _value(rng, each) for name, each in problem.hierarchies.items()}
        for _ in range(rng.randint(0, 60))
    ]
    there: list[dict[str, Any]] = [
        {name: record[name] for name in names}
        | {"person": rng.randrange(40), "weight": rng.randint(0, 3)}
        for record in [*(r for r in problem.records if rng.random() < 0.9), *extra]
    ]
    how = rng.choice(["records", "entity", "weight"])
    wanted = rng.choice([2, 4, 5])
    missing = rng.choice(["strict", "union"])
    model = rng.choice(["k_map", "presence", "journalist"])
    if model == "presence":
        missing = "strict"

    def labels(record: oracle.Record, node: oracle.Node) -> tuple[Any, ...]:
        return tuple(
            each.label(record[name], level)
            for (name, each), level in zip(problem.hierarchies.items(), node, strict=True)
        )

    def people(inside: Sequence[oracle.Record]) -> int:
        match how:
            case "records":
                return len(inside)
            case "entity":
                return len({each["person"] for each in inside})
        return sum(each["weight"] for each in inside)

    def alike(group: Sequence[oracle.Record], node: oracle.Node | None) -> list[dict[str, Any]]:
        if node is None:
            return there
        own = labels(group[0], node)
        return [each for each in there if labels(each, node) == own]

    def passes(group: Sequence[oracle.Record], node: oracle.Node | None) -> bool:
        population = people(alike(group, node))
        least = max(population, len(group))
        match model:
            case "k_map":
                return (least if missing == "union" else population) >= wanted
            case "presence":
                return len(group) * 10 <= 8 * population
        return least >= wanted and (missing == "union" or population >= len(group))

    def covers(
        released: Sequence[tuple[Sequence[oracle.Record], oracle.Node | None]], node: oracle.Node
    ) -> bool:
        if any(at is None for _, at in released):
            return all(len(group) * 5 >= people(alike(group, at)) for group, at in released)
        sizes = {labels(group[0], node): len(group) for group, _ in released}
        classes: dict[tuple[Any, ...], list[oracle.Record]] = defaultdict(list)
        for each in there:
            classes[labels(each, node)].append(each)
        return all(sizes.get(cells, 0) * 5 >= people(inside) for cells, inside in classes.items())

    check: Any
    match model:
        case "k_map":
            check = kanon.KMap(k=wanted, reference="people", missing=missing)
        case "presence":
            least = rng.choice([None, 0.2])
            check = kanon.DeltaPresence(min=least, max=0.8, reference="people")
            if least:
                problem = replace(problem, holds_at=covers)
        case _:
            check = kanon.JournalistRisk(
                max_highest=1 / wanted,
                reference="people",
                missing=missing,
            )
    columns: dict[str, Any] = {name: [r[name] for r in there] for name in names}
    source = pyarrow.table(
        {name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()}
        | {
            name: pyarrow.array([r[name] for r in there], pyarrow.int64())
            for name in ("person", "weight")
        }
    )
    asked: dict[str, Any] = {"source": source}
    if how != "records":
        asked[how] = {"entity": "person", "weight": "weight"}[how]
    problem = replace(problem, passes_at=passes)
    return problem, {"checks": check, "references": {"people": asked}}


def _by_others(group: Sequence[oracle.Record]) -> list[list[oracle.Record]]:
    """A class in the parts that those know who know the other sensitive value."""
    return [[each for each in group if each["o"] == o] for o in {each["o"] for each in group}]


def _hierarchy(rng: random.Random) -> Hierarchy:
    """Mostly a tree; sometimes levels that don't follow from the one below."""
    size, height, is_nested = rng.randint(1, 6), rng.randint(1, 3), rng.random() < 0.75
    labels = [[f"v{value}"] for value in range(size)]
    for level in range(1, height + 1):
        groups = max(1, size - level * rng.randint(0, 2))
        chosen = {each[-1]: rng.randrange(groups) for each in labels}
        for each in labels:
            group = chosen[each[-1]] if is_nested else rng.randrange(groups)
            each.append(f"{level}.{group}")
    return Hierarchy({each[0]: each[1:] for each in labels}, suppress=rng.random() < 0.6)


def _value(rng: random.Random, hierarchy: Hierarchy) -> str | None:
    values = list(hierarchy.ancestors)
    return None if rng.random() < 0.05 else values[min(int(rng.expovariate(0.6)), len(values) - 1)]


def _distinct(group: Sequence[oracle.Record]) -> int:
    return len({record["s"] for record in group})


def _entropy(group: Sequence[oracle.Record]) -> float:
    counts = Counter(record["s"] for record in group).values()
    return -sum(each / len(group) * math.log(each / len(group)) for each in counts)


def _distance(group: Sequence[oracle.Record], whole: Counter[str]) -> float:
    counts, n = Counter(record["s"] for record in group), whole.total()
    return sum(abs(counts[value] / len(group) - whole[value] / n) for value in whole) / 2


def table_of(problem: Problem) -> pyarrow.Table:
    names = list(problem.records[0])
    types = {name: pyarrow.int64() if name == "who" else pyarrow.string() for name in names}
    return pyarrow.table(
        {name: pyarrow.array([r[name] for r in problem.records], types[name]) for name in names}
    )


def anonymized(problem: Problem, **asked: Any) -> kanon.AnonymizationResult:
    return kanon.anonymize(
        table_of(problem),
        {
            name: {
                "hierarchy": {value: list(labels) for value, labels in each.ancestors.items()},
                **({"levels": ["suppress"]} if each.suppress else {}),
            }
            for name, each in problem.hierarchies.items()
        },
        **{
            "k": problem.k,
            "algorithm": "optimal",
            "metric": problem.metric,
            "max_suppressed": problem.max_suppressed,
            "suppressed": "star" if problem.star else "remove",
            "hierarchy_faults": "warn",
            "untouched": "drop",
            **asked,
        },
    )


@pytest.mark.parametrize("seed", range(30))
def test_it_finds_what_exhaustive_search_finds(seed: int) -> None:
    problem, asked = generated(seed)
    expected = oracle.best(problem)
    found = anonymized(problem, **asked).anonymization

    assert found.search is not None
    if expected is None:
        assert found.reached_top
        assert not found.search.optimal
        return
    value = (
        found.metrics.loss_weighted if problem.weights else getattr(found.metrics, problem.metric)
    )
    if value is not None and found.classes is not None:
        lost = 1 - value if problem.metric == "precision" else value
        assert lost == pytest.approx(expected.value, rel=1e-9, abs=1e-9)
    assert tuple(found.levels.values()) == expected.node
    assert found.suppressed == expected.suppressed
    assert (found.search.optimal, found.search.gap) == (True, 0)
    assert list(found.steps) == []


@pytest.mark.parametrize("seed", range(200, 224))
def test_a_class_of_stars_passes_what_is_demanded_of_each(seed: int) -> None:
    """Suppressed records that stay are judged with the rest: what is found is published."""
    problem, asked = generated(seed, star=1)
    problem = replace(problem, max_suppressed=len(problem.records) // 2)
    expected = oracle.best(problem)
    result = anonymized(problem, **asked)
    found = result.anonymization

    assert found.reached_top == (expected is None)
    if expected is not None:
        assert tuple(found.levels.values()) == expected.node
        assert found.suppressed == expected.suppressed
        assert result.holds


@pytest.mark.parametrize("seed", range(4))
def test_people_of_several_classes_count_in_each(seed: int) -> None:
    """The table is spread as the audit of these classes has it, so what satisfies holds."""
    rng = random.Random(seed)
    rows = [(rng.choice("uvw"), rng.choice("aaabcd"), rng.randrange(10)) for _ in range(20)]
    columns = dict(zip(["q", "s", "who"], zip(*rows, strict=True), strict=True))
    check = kanon.TCloseness(t=0.2, sensitive="s")
    asked: dict[str, Any] = {"k": 1, "sensitive": "s", "checks": check, "entity": "who"}
    table = pyarrow.table(columns)
    raw = kanon.audit(table, ["q"], **asked)
    made = kanon.anonymize(table, ["q"], **asked, algorithm="optimal")

    assert (made.anonymization.suppressed, made.holds) == (0, True)
    assert dict(made.anonymization.levels or {}) == {"q": 0 if raw.holds else 1}


@pytest.mark.parametrize("seed", range(100, 115))
def test_all_minimal_nodes_are_found(seed: int) -> None:
    problem, asked = generated(seed)
    problem = replace(problem, entity=None, metric="loss")
    asked.pop("entity", None)
    names = list(problem.hierarchies)
    found = anonymized(problem, **asked, minimal_nodes=True).anonymization

    assert found.minimal_nodes is not None
    levels = [tuple(each.levels[name] for name in names) for each in found.minimal_nodes]
    assert levels == oracle.minimal(problem)
    kept = oracle.satisfying(problem)
    for node, each in zip(levels, found.minimal_nodes, strict=True):
        assert each.classes == len(kept[node])
        assert each.metrics.loss is None or each.metrics.loss == pytest.approx(
            oracle.lost(replace(problem, weights={}), node, kept[node])
        )


# --- as ARX finds them ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult() -> Path:
    if not DATA:
        pytest.skip("KANON_SQL_DATA names no folder")
    return Path(DATA) / "arx_adult"


METRICS = {
    "aecs": "average_class_size",
    "dm": "discernibility",
    "loss-am": "loss",
    "loss-gm": "loss_geometric",
    "nue": "non_uniform_entropy_bits",
    "precision": "precision",
}


def check_of(adult: Path, model: str) -> Any:
    """What ARX calls a model, as a check; of k-anonymity it is k."""
    name, *given = model.split(":")
    match name, given:
        case "k-anonymity", [k]:
            return int(k)
        case "k-map", [k, _]:
            return kanon.KMap(k=int(k), reference="population")
        case "k-map-poisson" | "k-map-ztp", [k, alpha, population]:
            return kanon.KMapEstimate(
                k=int(k),
                alpha=float(alpha),
                population=int(population),
                test="poisson" if name == "k-map-poisson" else "zero_truncated_poisson",
            )
        case "delta-presence", [_, most, _]:
            return kanon.DeltaPresence(max=float(most), reference="population")
        case "distinct-l", [column, l]:
            return kanon.LDiversity(l=int(l), sensitive=column)
        case "entropy-l", [column, l]:
            return kanon.EntropyLDiversity(l=float(l), sensitive=column)
        case "recursive-cl", [column, c, l]:
            return kanon.RecursiveClDiversity(c=float(c), l=int(l), sensitive=column)
        case "t-equal", [column, t]:
            return kanon.TCloseness(t=float(t), sensitive=column)
        case "t-hierarchical", [column, t]:
            tree = str(adult / f"adult_hierarchy_{column}.csv")
            return kanon.TCloseness(
                t=float(t), sensitive=column, distance="hierarchical", hierarchy=tree
            )
        case "t-ordered", [column, t]:
            lines = (adult / "adult.csv").read_text().splitlines()
            place = lines[0].split(";").index(column)
            order = sorted({line.split(";")[place] for line in lines[1:]})
            return kanon.TCloseness(t=float(t), sensitive=column, distance="ordered", order=order)
        case "basic-beta", [column, beta]:
            return kanon.BasicBetaLikeness(beta=float(beta), sensitive=column)
        case "enhanced-beta", [column, beta]:
            return kanon.EnhancedBetaLikeness(beta=float(beta), sensitive=column)
        case "delta-disclosure", [column, bits]:
            return kanon.DeltaDisclosure(delta=float(bits) * math.log(2), sensitive=column)
    raise AssertionError(model)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "opt-001", "opt-002", "opt-017", "opt-019", "opt-020", "opt-024", "opt-030", "opt-045",
        "opt-080", "opt-082", "opt-085", "opt-098", "opt-099", "opt-106", "opt-110", "opt-114",
        "opt-117", "opt-121", "opt-128", "opt-130", "opt-145", "opt-155", "opt-162", "opt-171",
        "opt-177", "opt-180", "opt-184", "opt-190", "opt-192", "opt-210",
    ],
)  # fmt: skip
def test_published_optima_agree(adult: Path, case: str) -> None:
    cases = json.loads((adult / "expected_optima.json").read_text())["cases"]
    found = next(each for each in cases if each["id"] == case)
    metric = METRICS[found["metric"]]
    # That the table is the sample alone is no demand.
    models = [each for each in found["models"] if not each.startswith("inclusion")]
    checks = [check_of(adult, each) for each in models]
    is_sample = "population" in found
    made = kanon.anonymize(
        adult / ("adult_subset.csv" if is_sample else "adult.csv"),
        {name: {"hierarchy": str(adult / file)} for name, file in found["hierarchies"].items()},
        k=next((each for each in checks if isinstance(each, int)), 1),
        checks=[each for each in checks if not isinstance(each, int)],
        references={"population": str(adult / "adult.csv")} if is_sample else None,
        algorithm="optimal",
        metric=metric.removesuffix("_bits"),  # type: ignore[arg-type]
        max_suppressed=f"{found['suppression_limit'] * 100:g}%",
        untouched="drop",
    )
    value = getattr(made.anonymization.metrics, metric)
    lost = 1 - value if metric == "precision" else value
    expected, search = found["expected"], made.anonymization.search

    levels, left_out = dict(made.anonymization.levels or {}), made.anonymization.suppressed
    # ARX cuts what each quasi-identifier loses to ten decimals.
    assert lost == pytest.approx(expected["loss"], rel=1e-9, abs=1e-9)
    assert {"levels": levels, "suppressed": left_out} in expected["optima"]
    assert search is not None
    assert (search.nodes, search.optimal) == (found["lattice_size"], True)
    # A release whose suppressed records are not spread as the others has another distribution.
    assert made.holds or (made.anonymization.suppressed and "TCloseness" in str(checks))


# --- what is told ---------------------------------------------------------------------------

TOWNS = {"levels": [{"prefix": 4}, {"prefix": 3}, "suppress"]}
AGES = {"levels": [{"width": 10}, {"width": 20}, "suppress"]}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = random.Random(7)
    rows = [
        f"02{rng.choice('13')}{rng.randrange(30):02},{rng.randrange(20, 60)}" for _ in range(90)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["zip,age", *rows]) + "\n")
    return tmp_path / "people.csv"


def asked_of(people: Path, *more: str) -> Result:
    return run(
        "anonymize", str(people), "--qi", "zip,age", "--hierarchy", "zip=prefix:4,3,suppress",
        "--hierarchy", "age=width:10,20,suppress", "--k", "3", "--algorithm", "optimal", *more,
    )  # fmt: skip


def test_the_release_is_written_and_holds(people: Path, tmp_path: Path) -> None:
    done = asked_of(people, "--output", str(tmp_path / "r.parquet"), "--format", "json")
    found = json.loads(done.stdout)
    audited = kanon.audit(tmp_path / "r.parquet", ["zip", "age"], k=3)

    assert (done.exit_code, audited.holds) == (0, True)
    assert found["anonymization"]["steps"] == []
    assert found["anonymization"]["metric"] == "loss"
    assert set(found["anonymization"]["search"]) == {
        "nodes", "looked_at", "bound", "gap", "optimal",
    }  # fmt: skip
    assert found["anonymization"]["search"]["bound"] == found["anonymization"]["metrics"]["loss"]
    assert kanon.from_json(found).to_dict()["anonymization"] == found["anonymization"]


def test_it_never_loses_more_than_datafly(people: Path) -> None:
    asked: dict[str, Any] = {"k": 3, "max_suppressed": 3}
    levels = {"zip": TOWNS, "age": AGES}
    best = kanon.anonymize(people, levels, algorithm="optimal", **asked)
    datafly = kanon.anonymize(people, levels, **asked)

    assert best.anonymization.metrics.loss <= datafly.anonymization.metrics.loss
    assert "proved" in str(best)


def test_the_views_say_the_levels_once(people: Path, tmp_path: Path) -> None:
    done = asked_of(people, "--output", str(tmp_path / "r.sql"))
    text = (tmp_path / "r.sql").read_text()

    assert done.exit_code == 0
    assert "Datafly" not in text
    assert text.count("-- Generalisation") == 2


def test_minimal_nodes_are_listed(people: Path) -> None:
    done = asked_of(people, "--minimal-nodes")

    assert done.exit_code == 0
    assert "can't be lowered" in done.stdout


def test_where_the_top_won_t_do_nothing_is_written(people: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.parquet"
    done = run(
        "anonymize", str(people), "--qi", "zip,age", "--hierarchy", "zip=prefix:4",
        "--hierarchy", "age=width:10", "--k", "50", "--algorithm", "optimal",
        "--output", str(output),
    )  # fmt: skip

    assert (done.exit_code, output.exists()) == (1, False)
    said = " ".join(done.stdout.split())
    assert "None of the 4 choices of levels" in said
    assert "and age (4 values left) go up to suppress" in said


def test_the_only_choice_of_levels_is_told_as_one(people: Path) -> None:
    done = run(
        "anonymize", str(people), "--qi", "zip,age", "--hierarchy", "zip=prefix:4",
        "--hierarchy", "age=width:10", "--keep", "zip,age", "--k", "50",
        "--algorithm", "optimal",
    )  # fmt: skip

    assert done.exit_code == 1
    assert "The only choice of levels doesn't meet" in " ".join(done.stdout.split())


def test_what_all_classes_together_fail_is_no_matter_of_a_class(people: Path) -> None:
    done = run(
        "anonymize", str(people), "--qi", "zip", "--hierarchy", "zip=prefix:4", "--k", "2",
        "--check", "prosecutor_risk:max_average=0.001", "--algorithm", "optimal",
    )  # fmt: skip

    assert done.exit_code == 1
    assert "a requirement on all classes together still fails" in " ".join(done.stdout.split())


def test_a_gap_that_will_do_is_proved(people: Path) -> None:
    levels = {"zip": TOWNS, "age": AGES}
    best = kanon.anonymize(people, levels, k=3, algorithm="optimal").anonymization
    near = kanon.anonymize(people, levels, k=3, algorithm="optimal", gap="90%").anonymization

    assert near.search is not None
    assert near.search.gap is not None
    assert near.search.gap <= 0.9
    assert near.metrics.loss * (1 - near.search.gap) <= best.metrics.loss + 1e-12
    assert near.search.bound <= best.metrics.loss + 1e-12


def test_a_time_limit_before_anything_is_found_is_a_failure(people: Path) -> None:
    with pytest.raises(EngineError, match="time limit"):
        kanon.anonymize(people, {"zip": TOWNS}, k=2, algorithm="optimal", timeout=1e-6)


def test_a_time_limit_ends_with_the_best_that_was_found(
    people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kanon_sql.anonymizing.search import optimal_search

    monkeypatch.setattr(
        optimal_search.Deadline, "is_over", lambda self, progress: bool(progress.best)
    )
    found = kanon.anonymize(people, {"zip": TOWNS, "age": AGES}, k=3, algorithm="optimal")
    search = found.anonymization.search

    assert search is not None
    assert (search.optimal, search.looked_at) == (False, 2)
    assert found.holds
    assert any(
        words in " ".join(str(found).split())
        for words in ("above the least possible", "with no proof")
    )


STOPPED = """
import os, signal, sys
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)
count = LatticeStatistics.count

def stopping(self, nodes, **named):
    count(self, nodes, **named)
    if len(self.looked_at) > 2:
        os.kill(os.getpid(), signal.SIGINT)

LatticeStatistics.count = stopping
main(sys.argv[1:])
"""


def test_ctrl_c_tells_the_best_that_was_found(people: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.parquet"
    ended = subprocess.run(
        [
            sys.executable, "-c", STOPPED, "anonymize", str(people), "--qi", "zip,age",
            "--hierarchy", "zip=prefix:4,3,suppress", "--hierarchy", "age=width:10,20,suppress",
            "--k", "3", "--algorithm", "optimal", "--output", str(output),
        ],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stdout, output.exists()) == (130, "", False)
    assert re.search(
        r"nothing was written\. Best so far: loss 1; better than 0\.\d+ is impossible\.",
        ended.stderr,
    )


def test_a_limit_ends_with_a_release_or_with_3(people: Path, tmp_path: Path) -> None:
    """Whenever it strikes: nothing is claimed that is not proved, and a release that is there
    holds."""
    for seconds in ("0.001", "0.3", "60"):
        output = tmp_path / f"{seconds}.parquet"
        done = asked_of(people, "--timeout", seconds, "--output", str(output), "--format", "json")
        assert done.exit_code in (0, 3)
        assert output.exists() is (done.exit_code == 0)
        if done.exit_code == 3:
            assert done.stdout == ""
            continue
        search = json.loads(done.stdout)["anonymization"]["search"]
        assert search["optimal"] is (search["gap"] == 0)
        assert kanon.audit(output, ["zip", "age"], k=3).holds


def test_a_level_that_only_renames_what_is_below_is_not_looked_at(people: Path) -> None:
    def found(towns: list[Any]) -> Any:
        levels = {"zip": {"levels": towns}, "age": AGES}
        one = kanon.anonymize(people, levels, k=3, algorithm="optimal").anonymization
        return one.classes, one.metrics.loss, one.search.looked_at

    # Every code has five characters.
    assert found([{"prefix": 5}, {"prefix": 4}, "suppress"]) == found([{"prefix": 4}, "suppress"])


# --- checks that no class decides ---------------------------------------------------------------

AUDITED = (
    kanon.ProsecutorRisk(max_average=0.25),
    kanon.PopulationUniqueness(population=400, max_share=0.01),
    kanon.JournalistRisk(max_average=0.12, reference="voters"),
    kanon.MarketerRisk(max_average=0.1, reference="voters"),
    kanon.DeltaPresence(min=0.2, max=1, reference="voters"),
)


@pytest.mark.parametrize("check", AUDITED, ids=lambda check: check.name())
@pytest.mark.parametrize("seed", range(3))
def test_a_check_that_no_class_decides_is_searched_by_audits(check: Any, seed: int) -> None:
    """The best node is that of an audit of every node."""
    draw = random.Random(seed)
    people = [(str(draw.randint(100, 139)), draw.randint(20, 59), n // 2) for n in range(60)]
    voters = [(zip, age) for zip, age, _ in people * 3 if draw.random() < 0.8] + [
        (str(draw.randint(100, 139)), draw.randint(20, 59)) for _ in range(60)
    ]
    table = pyarrow.table(dict(zip(("zip", "age", "who"), zip(*people, strict=True), strict=True)))
    asked = {
        "quasi_identifiers": {
            "zip": {"levels": [{"mask": "right"}]},
            "age": {"levels": [{"width": 5}, {"width": 20}, "suppress"]},
        },
        "references": {
            "voters": pyarrow.table(
                dict(zip(("zip", "age"), zip(*voters, strict=True), strict=True))
            )
        },
        "entity": "who" if check.name() == "prosecutor_risk" else None,
        "checks": [check],
        "k": 2,
    }
    satisfying = set()
    for node in itertools.product(range(4), range(4)):
        levels = dict(zip(("zip", "age"), node, strict=True))
        if kanon.audit(table, **asked, levels=levels, hierarchy_faults="warn").holds:
            satisfying.add(node)

    made = kanon.anonymize(table, **asked, algorithm="optimal", minimal_nodes=True)

    found = made.anonymization
    assert made.holds == bool(satisfying)
    assert not any("search ignores" in each for each in made.tables[0].warnings)
    if satisfying:
        minimal = {tuple(each.levels.values()): each.metrics.loss for each in found.minimal_nodes}
        assert set(minimal) == {
            node
            for node in satisfying
            if not any(all(map(operator.le, other, node)) for other in satisfying - {node})
        }
        assert found.metrics.loss == pytest.approx(min(minimal.values()))
        assert found.search.optimal
