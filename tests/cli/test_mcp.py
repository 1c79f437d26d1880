"""The assistant's server: rounded counts, closed arguments, a guard, a budget and a log."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import os
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from generated import few
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult
from planted import DIAGNOSES, NAMES, ZIPS, traces

from kanon_sql.assistant.figures import HIDDEN, ShownFigures, shown_parameters
from kanon_sql.assistant.question_log import question_log
from kanon_sql.assistant.server import TOOLS, Assistant, tables_by_name
from kanon_sql.cli.main import main
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.question.spec import AuditSpec
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import Metrics, Point
from kanon_sql.results.table import HistogramBin, Summary, TableResult

FEW = "fewer than 10"
ALL_BUT_FEW = "all but fewer than 10"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(rows: list[tuple[Any, ...]], columns: tuple[str, ...] = ("a", "b", "s")) -> None:
    """A table with these records."""
    texts = [[None if row[place] is None else str(row[place]) for row in rows]
             for place in range(len(columns))]  # fmt: skip
    data = [pa.array(each, pa.string()) for each in texts]
    pq.write_table(pa.table(dict(zip(columns, data, strict=True))), "t.parquet")


def spec(**more: Any) -> dict[str, Any]:
    table = {
        "name": "t",
        "source": "t.parquet",
        "quasi_identifiers": ["a", "b"],
        "sensitive": ["s"],
        "checks": [{"k_anonymity": {"k": 5}}, {"homogeneity": {"sensitive": "s"}}],
        **more,
    }
    Path("kanon.yml").write_text(yaml.safe_dump({"version": 1, "tables": [table]}))
    return table


@contextmanager
def assistant(log: str = "log.jsonl", **how: Any) -> Iterator[Assistant]:
    tables = tables_by_name(AuditSpec.from_file("kanon.yml"))
    with question_log(Path(log)) as opened:
        yield Assistant(tables, opened, **how)


def asked(server: Assistant, tool: str, **arguments: Any) -> dict[str, Any]:
    return server.call(tool, arguments)[0]


def lines(log: str = "log.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(log).read_text().splitlines()]


def classes(*sizes: int, b: str = "x", s: str = "own") -> list[tuple[Any, ...]]:
    """Records in classes of these sizes; each class has its own `a`."""
    return [(f"a{number}", b, s) for number, size in enumerate(sizes) for _ in range(size)]


# --- the protocol -----------------------------------------------------------------------------


def talk(server: Assistant, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    async def conversation() -> list[CallToolResult]:
        async with Client(server.server()) as client:
            return [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(conversation())


def test_tools_have_closed_arguments_and_only_read() -> None:
    written(classes(12, 3))
    spec()

    async def listed(server: Assistant) -> Any:
        async with Client(server.server()) as client:
            return (await client.list_tools()).tools

    with assistant() as server:
        tools = asyncio.run(listed(server))
    assert [tool.name for tool in tools] == list(TOOLS)
    assert {tool.input_schema["additionalProperties"] for tool in tools} == {False}
    assert {tool.annotations.read_only_hint for tool in tools} == {True}


def test_the_sdk_client_reads_answers_and_refusals() -> None:
    written(classes(12, 3))
    spec()
    with assistant() as server:
        found, refused = talk(
            server, ("audit", {"table": "t"}), ("audit", {"table": "t", "where": "a = 'a0'"})
        )
    assert not found.is_error
    assert json.loads(found.content[0].text) == found.structured_content  # type: ignore[union-attr]
    assert found.structured_content["questions_left"] == 49
    assert refused.is_error
    assert refused.structured_content["refused"] == "question"


# --- figures ----------------------------------------------------------------------------------


def test_an_audit_tells_typed_figures_alone() -> None:
    written(classes(*[1] * 23, *[3] * 8, *[7] * 4, 30))
    spec()
    with assistant() as server:
        answer = asked(server, "audit", table="t")
    assert answer.pop("not_shown").startswith("values, figures below 10, the SQL;")
    assert answer == {
        "table": "t",
        "quasi_identifiers": ["a", "b"],
        "sensitive": ["s"],
        "entity": None,
        "status": "violated",
        "records": 100,
        "classes": 30,
        "uniques": 20,
        "sizes": [
            {"size": "1", "records": 20},
            {"size": "2-4", "records": 20},
            {"size": "5-9", "records": 20},
            {"size": "10-99", "records": 30},
        ],
        "checks": [
            {
                "model": "k_anonymity",
                "parameters": {"k": 5},
                "holds": False,
                "achieved": FEW,
                "violating_records": 40,
                "violating_classes": ALL_BUT_FEW,
            },
            {
                "model": "homogeneity",
                "parameters": {"sensitive": "s", "with_other_sensitive": False},
                "holds": False,
                "achieved": 30,
                "violating_records": 100,
                "violating_classes": 30,
            },
        ],
        "warnings": 1,
        "questions_left": 49,
    }


def test_people_are_counted_beside_records() -> None:
    rows = [(*row, f"p{number // 2}") for number, row in enumerate(classes(24, 24))]
    written(rows, ("a", "b", "s", "p"))
    spec(entity="p", checks=[{"k_anonymity": {"k": 20}}])
    with assistant() as server:
        answer = asked(server, "audit", table="t")
    assert (answer["records"], answer["people"], answer["uniques"]) == (40, 20, 0)
    assert answer["sizes"] == [{"size": "10-99", "records": 40, "people": 20}]
    assert answer["checks"][0]["violating_people"] == 20
    assert answer["checks"][0]["achieved"] == 10


def figures(**summary: Any) -> ShownFigures:
    return ShownFigures(TableResult("t", "duckdb", "measured", (), summary=Summary(**summary)))


@pytest.mark.parametrize(
    ("count", "whole", "told"),
    [
        (0, None, 0), (1, None, FEW), (9, None, FEW), (10, None, 10), (19, None, 10),
        (1_234, None, 1_230), (None, None, None), (100, 100, 100), (99, 100, ALL_BUT_FEW),
        (91, 100, ALL_BUT_FEW), (90, 100, 90), (5, 7, FEW), (0, 5, 0),
    ],
)  # fmt: skip
def test_a_count_is_rounded_down_and_pooled(count: Any, whole: Any, told: Any) -> None:
    assert figures().count(count, whole) == told


TEN = {"records": 1_000, "classes": 100, "uniques": 0, "k": 10}
FIGURES = [
    ("k_anonymity", {"k": 3}, 4, {}, FEW),
    ("k_anonymity", {"k": 3}, 14, {}, 10),
    ("k_map", {"k": 3}, 0, {}, 0),
    ("k_map", {"k": 3}, 7, {}, FEW),
    ("composed_k_anonymity", {"k": 3}, 2, {}, FEW),
    ("k_map_estimate", {"k": 3, "population": 5_000}, 12, {}, 10),
    ("homogeneity", {"sensitive": "s"}, 3, {}, FEW),
    ("homogeneity", {"sensitive": "s"}, 95, {}, ALL_BUT_FEW),
    ("l_diversity", {"l": 2, "sensitive": "s"}, 3, {}, 3),
    ("p_sensitive_k_anonymity", {"p": 2, "k": 3, "sensitive": "s"}, 2, {}, 2),
    ("composed_l_diversity", {"l": 2, "sensitive": "s"}, 1, {}, 1),
    ("entropy_l_diversity", {"l": 2, "sensitive": "s"}, 2.123456, {}, 2.1),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.123456, {}, 0.12),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.0, {}, 0.0),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.00123, {}, "less than 0.01"),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.9987, {}, "more than 0.99"),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.163456, {"largest_class": 60}, 0.2),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.123456, {"largest_class": 9}, HIDDEN),
    ("t_closeness", {"t": 0.2, "sensitive": "s"}, 0.123456, {"records": 49}, HIDDEN),
    ("alpha_k_anonymity", {"alpha": 0.5, "sensitive": "s"}, 1.0, {}, 1.0),
    ("basic_beta_likeness", {"beta": 1, "sensitive": "s"}, 3334.67, {"records": 10_007},
     "more than 1000"),
    ("basic_beta_likeness", {"beta": 1, "sensitive": "s"}, 3334.67, {"records": 3_456},
     "more than 340"),
    ("basic_beta_likeness", {"beta": 1, "sensitive": "s"}, 98.765, {}, 99.0),
    ("enhanced_beta_likeness", {"beta": 1, "sensitive": "s"}, 101.0, {}, "more than 100"),
    ("recursive_cl_diversity", {"c": 1, "l": 2, "sensitive": "s"}, 1.003, {}, 1.0),
    ("entropy_l_diversity", {"l": 2, "sensitive": "s"}, 1.05, {}, "less than 1.1"),
    ("delta_disclosure", {"delta": 1, "sensitive": "s"}, 4.7, {}, "more than 4.6"),
    ("delta_disclosure", {"delta": 1, "sensitive": "s"}, 4.5, {}, 4.5),
    ("delta_disclosure", {"delta": 1, "sensitive": "s"}, float("inf"), {}, "Infinity"),
    ("k_e_anonymity", {"k": 2, "e": 5, "sensitive": "s"}, 918_273.5, {}, HIDDEN),
    ("k_e_anonymity", {"k": 2, "e": 5, "sensitive": "s"}, 918_273, {}, HIDDEN),
    ("delta_presence", {"min": 0, "max": 1}, {"min": 0.0123, "max": 0.987}, {},
     {"min": 0.01, "max": 0.99}),
    ("prosecutor_risk", {"max_highest": 0.2}, 1 / 7, {}, "more than 0.1"),
    ("prosecutor_risk", {"max_highest": 0.2}, 1 / 24, {}, 0.05),
    ("journalist_risk", {"max_highest": 0.2}, 1 / 3, {}, "more than 0.1"),
    ("marketer_risk", {"max_average": 0.2}, 0.4567, {}, 0.46),
    ("sample_uniqueness", {"max_share": 0.2}, 0.007, {"uniques": 7}, FEW),
    ("sample_uniqueness", {"max_share": 0.2}, 0.127, {"uniques": 127}, 0.12),
    ("population_uniqueness", {"population": 5_000, "max_share": 0.2}, 0.0456, {}, 0.05),
]  # fmt: skip


@pytest.mark.parametrize(("model", "parameters", "achieved", "summary", "told"), FIGURES)
def test_what_is_achieved_is_told_by_what_it_measures(
    model: str, parameters: dict[str, Any], achieved: Any, summary: dict[str, Any], told: Any
) -> None:
    check = CheckResult(model, parameters, True, achieved)
    shown = figures(**{**TEN, **summary})
    assert shown._check(check)["achieved"] == told


def test_the_loss_of_a_release_tells_no_suppressed_record() -> None:
    """Where every level is 0, the loss is the share of suppressed records."""
    shown = figures(records=10_007)
    losses = {0.0003: "less than 0.001", 0.123: 0.12, 0.9995: "more than 0.999", 0.0: 0.0}
    for loss, told in losses.items():
        metrics = Metrics(0.5, loss, None, None, None, None, None, {})
        point = Point(3, {"a": 0}, None, 3, 100, metrics, 0.0)
        assert shown.cost(point) == {"k": 3, "levels": {"a": 0}, "loss": told, "suppressed": FEW}


FEWEST_SHOWN = 3
"""The smallest `--min-cell`, for which small tables are many."""
Cells = tuple[tuple[int, ...], ...]
"""The records of each class by sensitive value."""


def tables_of(records: int, number: int, values: int) -> Iterator[Cells]:
    """Every table of so many records in so many classes, whose order says nothing."""

    def parts(whole: int, count: int) -> Iterator[tuple[int, ...]]:
        if count == 1:
            yield (whole,)
            return
        for first in range(whole + 1):
            yield from ((first, *rest) for rest in parts(whole - first, count - 1))

    for flat in parts(records, number * values):
        cells = tuple(flat[place : place + values] for place in range(0, number * values, values))
        if all(map(any, cells)) and list(cells) == sorted(cells):
            yield cells


def measured(cells: Cells) -> dict[str, float]:
    """What the models of ratios measure of a table, by their formulas."""
    total, values = sum(map(sum, cells)), range(len(cells[0]))
    shares = [sum(one[value] for one in cells) / total for value in values]
    of_classes = [[count / sum(one) for count in one] for one in cells]
    pairs = [(q, p) for one in of_classes for q, p in zip(one, shares, strict=True) if p]
    ordered = [sorted(one, reverse=True) for one in cells]
    return {
        "alpha_k_anonymity": max(map(max, of_classes)),
        "t_closeness": max(
            sum(max(q - p, 0) for q, p in zip(one, shares, strict=True)) for one in of_classes
        ),
        "basic_beta_likeness": max(q / p - 1 for q, p in pairs),
        "delta_disclosure": max(abs(math.log(q / p)) if q else math.inf for q, p in pairs),
        "entropy_l_diversity": min(
            math.exp(-sum(q * math.log(q) for q in one if q)) for one in of_classes
        ),
        "recursive_cl_diversity": max(
            one[0] / sum(one[1:]) if any(one[1:]) else math.inf for one in ordered
        ),
    }


NEEDED: dict[str, dict[str, Any]] = {"recursive_cl_diversity": {"c": 9, "l": 2}}


def told_of(cells: Cells, ratios: dict[str, float]) -> dict[str, Any]:
    """The answer of an audit on a table with such figures."""
    sizes = Counter(map(sum, cells))
    checks = [
        CheckResult(model, {**NEEDED.get(model, {}), "sensitive": "s"}, None, value)
        for model, value in ratios.items()
    ]
    summary = Summary(
        records=sum(map(sum, cells)), classes=len(cells), k=min(sizes), largest_class=max(sizes),
        uniques=sizes[1],
    )  # fmt: skip
    bins = [HistogramBin(size, many, size * many) for size, many in sorted(sizes.items())]
    table = TableResult(
        "t", "duckdb", "measured", ("a",), summary=summary, histogram=bins, checks=checks
    )
    return ShownFigures(table, FEWEST_SHOWN).audit()


def printed(answer: Any) -> Iterator[float]:
    """Every number of an answer, also those in words."""
    if isinstance(answer, dict | list):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from printed(part)
    elif isinstance(answer, str):
        last = answer.rpartition(" than ")[2]
        yield from [float(last)] if last.replace(".", "", 1).isdigit() else []
    elif isinstance(answer, int | float):
        yield answer


def inversions(model: str, ratio: float, count: float) -> Iterator[float]:
    """The counts that follow from a ratio and a count."""
    if model == "delta_disclosure":
        ratio = math.exp(min(ratio, 99))
    elif model == "entropy_l_diversity" and 1 < ratio < 2:
        yield count * rarer_of_two(ratio)
    yield ratio * count
    yield abs(1 - ratio) * count
    yield count / ratio
    yield count / (1 + ratio)
    yield count * ratio / (1 + ratio)
    if ratio != 1:
        yield count / abs(1 - ratio)


def rarer_of_two(number: float) -> float:
    """The share of the rarer of two values that have this effective number."""
    low, high = 0.0, 0.5
    for _ in range(50):
        half = (low + high) / 2
        entropy = -sum(share * math.log(share) for share in (half, 1 - half) if share)
        low, high = (half, high) if math.exp(entropy) < number else (low, half)
    return low


def small_counts(cells: Cells) -> set[int]:
    """The counts of a table that no answer may tell."""
    counts = [sum(one) for one in cells] + [count for one in cells for count in one]
    counts += [sum(one[value] for one in cells) for value in range(len(cells[0]))]
    return {count for count in counts if 0 < count < FEWEST_SHOWN}


def discovered(cells: Cells, answer: dict[str, Any], ratios: dict[str, Any]) -> set[int]:
    """The small counts of a table that two printed figures give."""
    records = answer["records"]
    if not isinstance(records, int):
        return set()
    every = [records, records + FEWEST_SHOWN - 1]
    told = {(model, one) for model, each in ratios.items() for one in {*printed(each)} - {0.0, 1.0}}
    found: set[int] = set()
    for model, ratio in told:
        ends = [[*inversions(model, one, n)] for one in as_printed(ratio) for n in every]
        found |= only_ones(zip(*ends, strict=False))
        for _, other in told:
            apart = [abs(one - two) for one in as_printed(ratio) for two in as_printed(other)]
            found |= only_ones([[gap * n for gap in apart for n in every]])
    return found & small_counts(cells)


def as_printed(ratio: float) -> tuple[float, float]:
    """The ends of what is rounded to these two digits."""
    half = 10.0 ** (math.floor(math.log10(ratio)) - 1) / 2
    return ratio - half, ratio + half


def only_ones(ranges: Iterable[Sequence[float]]) -> set[int]:
    """The whole numbers that are alone in the range of some numbers."""
    whole = [range(math.ceil(min(each)), math.floor(max(each)) + 1) for each in ranges]
    return {each[0] for each in whole if len(each) == 1}


ROWS_AND_CLASSES = [(range(2, 22), 2, 2), (range(3, 12), 3, 2), (range(2, 10), 2, 3)]


@pytest.mark.parametrize(("sizes", "number", "values"), ROWS_AND_CLASSES)
def test_no_two_figures_of_an_answer_give_a_small_count(
    sizes: Any, number: int, values: int
) -> None:
    """Every table of so many records: no product, quotient or difference of what is printed is one
    of its small counts, and no other count."""
    as_they_are = 0
    for cells in (cells for records in sizes for cells in tables_of(records, number, values)):
        ratios = measured(cells)
        answer = told_of(cells, ratios)
        told = {check["model"]: check["achieved"] for check in answer["checks"]}
        assert all(number == float(f"{number:.2g}") for number in printed([*told.values()]))
        assert discovered(cells, answer, told) == set(), (cells, answer)
        exact = {name: value for name, value in ratios.items() if value < math.inf}
        as_they_are += bool(discovered(cells, answer, exact))
    # Two digits of the ratios themselves would give many.
    assert as_they_are > 20


def test_a_rare_value_does_not_follow_from_beta() -> None:
    """The case that a quotient gave: 10,007 people, 3 of them alone with a value of their class."""
    rows = [("rare", "x", "own")] * 3 + [("a", "x", f"s{n % 4}") for n in range(10_004)]
    written(rows)
    spec(checks=[{"basic_beta_likeness": {"beta": 9, "sensitive": "s"}}])
    with assistant() as server:
        answer = asked(server, "audit", table="t")
    [check] = [each for each in answer["checks"] if each["model"] == "basic_beta_likeness"]
    assert (answer["records"], check["achieved"]) == (10_000, "more than 1000")


def test_an_event_table_is_told_by_its_people_alone() -> None:
    rows = [(f"p{person}", f"w{place}", "1") for person in range(120) for place in range(3)]
    rows += [(f"p{person}", f"rare {person}", "1") for person in range(14)]
    written([*rows, ("p0", ZIPS[0], "1")], ("person", "ward", "hour"))
    checks: list[Any] = [{"km_anonymity": {"k": 5}}]
    checks += [{"known_events": {"m": m, "max_share": 0.01}} for m in (2, 4)]
    spec(
        quasi_identifiers=[], sensitive=[], entity="person", events=["ward", "hour"], checks=checks
    )

    with assistant() as server:
        [described] = asked(server, "tables")["tables"]
        answer = asked(server, "audit", table="t")
        profile = server.call("profile", {"table": "t"})[0]
        sql = asked(server, "compile", table="t")["sql"]

    assert (described["quasi_identifiers"], described["events"]) == ([], ["ward", "hour"])
    assert (answer["records"], answer["people"], answer["sizes"]) == (370, 120, [])
    told = [(each["achieved"], each["violating_people"]) for each in answer["checks"]]
    assert told == [(FEW, 10), (0.083, 10), (0.083, 10)]
    assert (profile["refused"], "no quasi-identifiers" in profile["why"]) == ("question", True)
    assert '"ward"' in sql
    assert traces(json.dumps([described, answer, profile, sql])) == []


def test_the_people_of_an_original_are_told_of_in_no_audit() -> None:
    written(classes(12, 20))
    spec(original="t.parquet", checks=[], levels={"s": 0})
    with assistant() as server:
        refused = asked(server, "audit", table="t")
        profiled = asked(server, "profile", table="t")

    assert (refused["refused"], "with an original" in refused["why"]) == ("question", True)
    assert profiled["records"] == 30


def test_a_list_of_values_is_told_by_its_length_and_a_path_never() -> None:
    told = shown_parameters(
        {"k": 3, "values": ("HIV", "flu"), "sensitive": "s", "hierarchy": "/home/x.csv"}
    )
    assert told == {"k": 3, "values": 2, "sensitive": "s"}


ROWS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from("pq"), st.sampled_from("st")), max_size=70
)
ONE = st.tuples(st.sampled_from("xyzw"), st.sampled_from("pqr"), st.sampled_from("st"))


def rounded(count: int, whole: int | None = None) -> int | str:
    if count in range(1, 10):
        return FEW
    if count and whole is not None and whole - count in range(1, 10):
        return ALL_BUT_FEW
    return count // 10 * 10


def oracle(rows: list[tuple[str, str, str]]) -> dict[str, Any]:
    """What is told of a table by the rule alone, in plain Python."""
    sizes = Counter(row[:2] for row in rows)
    values = {names: {row[2] for row in rows if row[:2] == names} for names in sizes}
    alike = [names for names in sizes if len(values[names]) == 1]
    small = [names for names in sizes if sizes[names] < 5]

    def records(names: list[Any]) -> int:
        return sum(sizes[each] for each in names)

    bins: list[list[int]] = [[]]
    for start, end in ((1, 1), (2, 4), (5, 9), (10, 99)):
        bins[-1] += [size for size in sizes.values() if start <= size <= end]
        if sum(bins[-1]) >= 10:
            bins.append([])
    rest = bins.pop()
    if bins:
        bins[-1] += rest
    n = len(rows)
    return {
        "records": rounded(n),
        "classes": rounded(len(sizes)),
        "uniques": rounded(sum(size == 1 for size in sizes.values()), n),
        "sizes": [rounded(sum(each)) for each in bins],
        "k": [rounded(min(sizes.values())), rounded(records(small), n),
              rounded(len(small), len(sizes))],
        "homogeneity": [rounded(len(alike), len(sizes)), rounded(records(alike), n),
                        rounded(len(alike), len(sizes))],
    }  # fmt: skip


@few
@given(rows=ROWS, one=ONE)
def test_a_table_and_the_table_with_one_record_more_are_told_by_the_rule_alone(
    rows: list[tuple[str, str, str]], one: tuple[str, str, str], tmp_path_factory: Any
) -> None:
    """The game: whoever sees the answer on one of two tables guesses which it was. Where the rule
    gives the same figures, nothing else in the answer may differ."""
    answers = []
    for table in (rows, [*rows, one]):
        os.chdir(tmp_path_factory.mktemp("game"))
        written(table)
        spec()
        with assistant() as server:
            answer = asked(server, "audit", table="t")
        answers.append(answer)
        if not table:
            assert answer["status"] == "no_data"
            continue
        by_model = {
            each["model"]: [each["achieved"], each["violating_records"], each["violating_classes"]]
            for each in answer["checks"]
        }
        assert {
            **{name: answer[name] for name in ("records", "classes", "uniques")},
            "sizes": [each["records"] for each in answer["sizes"]],
            "k": by_model["k_anonymity"],
            "homogeneity": by_model["homogeneity"],
        } == oracle(table)
    if rows and oracle(rows) == oracle([*rows, one]):
        verdicts = [[check.pop("holds") for check in answer["checks"]] for answer in answers]
        for answer in answers:
            del answer["status"], answer["warnings"]
            for each in answer["sizes"]:
                del each["size"]
        assert answers[0] == answers[1] or verdicts[0] != verdicts[1]


# --- the guard --------------------------------------------------------------------------------


def differing(records: int) -> list[tuple[Any, ...]]:
    """The records alone in `a`, `b`, and not in `a`, are this many."""
    return [("same", f"b{number}", "s") for number in range(records)] + [
        ("same", "crowd", each) for each in "st" * 60
    ]


@pytest.mark.parametrize(("records", "refused"), [(0, False), (3, True), (9, True), (10, False),
                                                  (30, False)])  # fmt: skip
@pytest.mark.parametrize("finer_first", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_nested_sets_that_differ_by_few_records_are_refused(
    records: int, refused: bool, finer_first: bool, restarted: bool
) -> None:
    written(differing(records))
    spec()
    questions: list[dict[str, Any]] = [{}, {"without": ["b"]}]
    first, second = questions if finer_first else questions[::-1]
    with assistant() as server:
        assert "refused" not in asked(server, "audit", table="t", **first)
        answer = asked(server, "audit", table="t", **second)
    if restarted:
        Path("log.jsonl").unlink()
        with assistant() as server:
            asked(server, "audit", table="t", **first)
        with assistant() as server:
            answer = asked(server, "audit", table="t", **second)
    assert answer.get("refused") == ("guard" if refused else None)


@pytest.mark.parametrize(
    ("records", "other", "refused"),
    [
        (3, {}, True),
        (10, {}, False),
        (3, {"where": "b <> 'b0'"}, False),
        (3, {"quasi_identifiers": ["A"], "checks": []}, True),
    ],
)
@pytest.mark.parametrize("finer_first", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_two_tables_of_the_same_data_are_compared(
    records: int, other: dict[str, Any], refused: bool, finer_first: bool, restarted: bool
) -> None:
    written(differing(records))
    fine = spec()
    coarse = {**fine, "name": "u", "quasi_identifiers": ["a"], **other}
    Path("kanon.yml").write_text(yaml.safe_dump({"version": 1, "tables": [fine, coarse]}))
    first, second = ("t", "u") if finer_first else ("u", "t")
    with assistant() as server:
        assert "refused" not in asked(server, "audit", table=first)
        answer = asked(server, "audit", table=second) if not restarted else {}
    if restarted:
        with assistant() as server:
            answer = asked(server, "audit", table=second)
    assert answer.get("refused") == ("guard" if refused else None)


@pytest.mark.parametrize("restarts", [(), ("profile",), ("audit",), ("profile", "audit")])
def test_a_profile_between_two_audits_hides_no_figure_from_the_guard(
    restarts: tuple[str, ...],
) -> None:
    """Seven people of fifteen records violate k; a profile tells no violating people."""
    rows = [("a1", "x", "st"[n % 2], f"p{n % 7}") for n in range(15)]
    rows += [("a2", "x", "st"[n % 2], f"q{n}") for n in range(30)]
    written(rows, ("a", "b", "s", "p"))
    spec(entity="p", checks=[{"k_anonymity": {"k": 9}}])
    with assistant() as first:
        assert "refused" not in asked(first, "audit", table="t")
        if "profile" not in restarts:
            assert "refused" not in asked(first, "profile", table="t")
        if not restarts:
            assert asked(first, "audit", table="t", without=["a"])["refused"] == "guard"
    with assistant() as second:
        if "profile" in restarts:
            assert "refused" not in asked(second, "profile", table="t")
        if "audit" not in restarts:
            assert asked(second, "audit", table="t", without=["a"])["refused"] == "guard"
    with assistant() as third:
        assert asked(third, "audit", table="t", without=["a"])["refused"] == "guard"


def test_sets_that_are_not_nested_are_not_compared() -> None:
    rows = [(f"a{n % 50}", f"b{n // 20}", "st"[n % 2]) for n in range(200)]
    written([*rows, ("alone", "b1", "s"), ("alone2", "b1", "s")])
    spec()
    with assistant() as server:
        answers = [asked(server, "audit", table="t", without=[name]) for name in ("a", "b")]
    assert not [each for each in answers if "refused" in each]


def test_a_profile_hides_the_sets_that_the_guard_refuses() -> None:
    written(differing(3))
    spec()
    with assistant() as server:
        profile = asked(server, "profile", table="t")
        audit = asked(server, "audit", table="t", without=["b"])
    columns = {each["column"]: each for each in profile["columns"]}
    assert columns["a"]["share_alone"] == HIDDEN  # a alone is the table without b
    assert columns["b"]["without"] == HIDDEN
    assert columns["b"]["share_alone"] == FEW
    assert columns["s"] == {"column": "s", "role": "sensitive", "share_alone": 0.0}
    assert audit["refused"] == "guard"


def test_a_profile_tells_what_leaving_out_each_gives_and_the_guard_remembers_it() -> None:
    written(differing(30))
    spec()
    with assistant() as server:
        profile = asked(server, "profile", table="t")
    columns = {each["column"]: each for each in profile["columns"]}
    assert columns["b"]["without"] == {"records": 150, "classes": FEW, "uniques": 0, "small": 0}
    assert (profile["uniques"], profile["small"], profile["small_below"]) == (30, 30, 10)
    written(differing(33))
    with assistant() as server:
        # The data changed, so the sets told before are counted again: all differ by 33.
        assert "refused" not in asked(server, "audit", table="t", without=["b"])


# --- repetitions and the budget ---------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 11, 24, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


def test_the_same_question_gets_the_same_answer_though_the_data_changed() -> None:
    written(classes(12, 12))
    spec()
    clock = Clock()
    with assistant(now=clock) as server:
        first = asked(server, "audit", table="t", without=[])
    written(classes(*[20] * 5))
    clock.time += timedelta(hours=23)
    with assistant(now=clock) as server:
        again = asked(server, "audit", table="t")
        assert again == first
        clock.time += timedelta(hours=2)
        assert asked(server, "audit", table="t")["records"] == 100
    assert [line["outcome"] for line in lines()] == ["answered", "repeated", "answered"]


def test_another_spec_is_another_question() -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        asked(server, "audit", table="t")
    spec(quasi_identifiers=["a"])
    with assistant() as server:
        assert asked(server, "audit", table="t")["quasi_identifiers"] == ["a"]
    spec(quasi_identifiers=["a"], checks=[{"k_anonymity": {"k": 20}}])
    with assistant() as server:
        check, _ = asked(server, "audit", table="t")["checks"]  # homogeneity is measured unasked
    assert (check["parameters"], check["holds"]) == ({"k": 20}, False)


def test_the_budget_is_of_the_log_and_outlives_the_process() -> None:
    written(classes(12, 12))
    spec()
    clock = Clock()
    with assistant(questions=3, now=clock) as server:
        assert asked(server, "audit", table="t")["questions_left"] == 2
        assert asked(server, "audit", table="t")["questions_left"] == 2  # a repetition is free
        assert asked(server, "tables")["questions_left"] == 2
        assert asked(server, "audit", table="nobody")["questions_left"] == 1  # a refusal is not
    with assistant(questions=3, now=clock) as server:
        assert asked(server, "tradeoff", table="t")["questions_left"] == 0
        refused = asked(server, "profile", table="t")
        assert (refused["refused"], refused["questions_left"]) == ("budget", 0)
        assert "refused" not in asked(server, "audit", table="t")
        assert "refused" not in asked(server, "explain", topic="k-anonymity")
    clock.time += timedelta(hours=24, seconds=1)
    with assistant(questions=3, now=clock) as server:
        assert asked(server, "profile", table="t")["questions_left"] == 2


# --- refusals ---------------------------------------------------------------------------------

REFUSED = [
    ("Zeppelin", {}),
    ("audit", {}),
    ("audit", {"table": "Zeppelin"}),
    ("audit", {"table": 4711}),
    ("audit", {"table": ["t"]}),
    ("audit", {"table": "t", "Zeppelin": 1}),
    ("audit", {"table": "t", "where": "a = 'Zeppelin'"}),
    ("audit", {"table": "t", "k": 4711}),
    ("audit", {"table": "t", "without": "a"}),
    ("audit", {"table": "t", "without": ["Zeppelin"]}),
    ("audit", {"table": "t", "without": ["s"]}),
    ("audit", {"table": "t", "without": ["a", "a"]}),
    ("audit", {"table": "t", "without": ["a", "b"]}),
    ("audit", {"table": "t", "without": [{"a": "Zeppelin"}]}),
    ("audit", {"table": "t", "without": None}),
    ("profile", {"table": "t", "without": ["a"]}),
    ("tradeoff", {"table": "t", "k": [1]}),
    ("tables", {"Zeppelin": 1}),
    ("explain", {"topic": "Zeppelin"}),
    ("explain", {"topic": "k_anonymity" * 5_000}),
    ("explain", {"topic": None}),
    ("explain", {"topic": "k\ud800anonymity"}),
    ("explain", {"topic": "k\nanonymity"}),
    ("explain", {"topic": ["k_anonymity"]}),
    ("compile", {"table": "t", "dialect": "Zeppelin"}),
]


@pytest.mark.parametrize(("tool", "arguments"), REFUSED)
def test_any_other_argument_is_refused_without_repeating_it(
    tool: str, arguments: dict[str, Any]
) -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        answer, is_error = server.call(tool, arguments)
    assert is_error
    assert set(answer) == {"refused", "why", "questions_left"}
    assert (answer["refused"], answer["questions_left"]) == ("question", 49)
    [line] = lines()
    assert (line["outcome"], line["reason"], line["answer"]) == ("refused", "question", answer)
    told = json.dumps([answer, line]).casefold()
    assert [each for each in ("zeppelin", "4711") if each in told] == []


def test_a_question_that_can_t_be_computed_is_refused() -> None:
    written([(None, "x", "s"), *classes(12, 12)])
    spec(nulls="wildcard", checks=[{"k_anonymity": {"k": 5}}])
    with assistant() as server:
        assert asked(server, "tradeoff", table="t")["refused"] == "question"
        assert "refused" not in asked(server, "audit", table="t")


def test_a_database_that_fails_is_an_engine_refusal_without_its_message() -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        Path("t.parquet").write_bytes(b"Zeppelin-4711")
        for tool in ("audit", "profile", "tradeoff", "compile"):
            answer = asked(server, tool, table="t")
            assert answer["refused"] == "engine"
            assert traces(json.dumps(answer)) == []
    assert {line["outcome"] for line in lines()} == {"failed"}


# --- planted values ---------------------------------------------------------------------------


def test_no_answer_and_no_log_holds_a_value(capfd: pytest.CaptureFixture[str]) -> None:
    """In cells, in names of columns outside the spec, in conditions, in parameters and errors."""
    header = "zip,person,diagnosis,Xanthippe's zeppelin,rumpel"
    rows = [
        f'{zips},{name.strip()},"{values}",zeppelin,91827'
        for zips in ZIPS
        for name in NAMES
        for values in DIAGNOSES
    ]
    Path("people.csv").write_text("\n".join([header, *rows * 3, ""]))
    table = {
        "name": "people",
        "source": "people.csv",
        "header": True,
        "quasi_identifiers": {
            "zip": {"levels": [{"mask": "right"}]},
            "person": {"hierarchy": "names.csv"},
        },
        "sensitive": ["diagnosis"],
        "where": "zip <> 'Zeppelin-1' and 91827 <> 918273",
        "checks": [
            {"k_anonymity": {"k": 50}},
            {"alpha_k_anonymity": {"alpha": 0.1, "values": ["Rumpelstilz"]}},
            {"recursive_cl_diversity": {"c": 2, "l": 2, "allowed": ["rumpelstilz"]}},
        ],
    }
    Path("names.csv").write_text("Xanthippe,X\nXenophon,X\n")
    Path("kanon.yml").write_text(yaml.safe_dump({"version": 1, "tables": [table]}))
    calls = [
        ("tables", {}),
        ("audit", {"table": "people"}),
        ("audit", {"table": "people", "without": ["zip"]}),
        ("profile", {"table": "people"}),
        ("tradeoff", {"table": "people"}),
        ("compile", {"table": "people"}),
        ("audit", {"table": "people", "rumpel": "Zeppelin"}),
    ]
    with assistant() as server:
        answers = [result.model_dump_json() for result in talk(server, *calls)]
        # A hierarchy that lacks a value is an error of the engine with figures.
        Path("names.csv").write_text("Xanthippe,X\n")
        answers += [result.model_dump_json() for result in talk(server, calls[4])]
    said = capfd.readouterr()
    for text in (*answers, Path("log.jsonl").read_text(), said.out, said.err):
        assert traces(text) == []
    assert [each["outcome"] for each in lines()[:6]] == ["answered"] * 6


def test_compile_tells_the_names_of_the_spec_alone() -> None:
    written(classes(12, 12), ("a", "b", "zeppelin"))
    spec(sensitive=[], where="b <> 'Rumpelstilz' and 91827 > 2", checks=[{"k_anonymity": {"k": 5}}])
    with assistant() as server:
        sql = asked(server, "compile", table="t")["sql"]
    assert traces(sql) == []
    assert '"a"' in sql
    assert "from read_parquet(?)" in sql
    assert [each for each in sql.split() if each.strip("(),").isdigit()] == []


# --- the log ----------------------------------------------------------------------------------


def test_the_log_is_private_and_a_chain() -> None:
    written(classes(12, 12))
    spec()
    Path("log.jsonl").touch(mode=0o644)
    with assistant() as server:
        told = [asked(server, "audit", table="t"), asked(server, "tables")]
    with assistant() as server:
        told.append(asked(server, "audit", table="nobody"))
    assert stat.S_IMODE(Path("log.jsonl").stat().st_mode) == 0o600
    texts, calls = Path("log.jsonl").read_text().splitlines(), lines()
    assert list(calls[0]) == [
        "time", "number", "tool", "arguments", "outcome", "reason", "answer", "previous",
    ]  # fmt: skip
    assert [call["number"] for call in calls] == [1, 2, 3]
    assert [call["answer"] for call in calls] == told
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    assert [call["previous"] for call in calls] == [None, *digests[:-1]]
    assert calls[2]["arguments"] == {"table": "not told"}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"questions_left": 49', '"questions_left": 48', 1),
        lambda text: text.partition("\n")[2],
        lambda text: "".join(text.splitlines(keepends=True)[:1] * 2),
        lambda text: text[:-1],
        lambda text: text[:-20] + "\n",
        lambda text: text + "{}\n",
        lambda text: text + "\n",
        lambda text: "[" * 10_000 + "\n",
    ],
    ids=["edited", "removed", "doubled", "open end", "cut", "added", "empty line", "nested"],
)
def test_a_broken_chain_is_refused_at_the_start(
    change: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        for name in ("a", "b"):
            asked(server, "audit", table="t", without=[name])
        asked(server, "tables")
    log = Path("log.jsonl")
    log.write_text(change(log.read_text()))
    before = log.read_text()
    with pytest.raises(InputError, match="does not continue the log"), assistant():
        pass
    assert log.read_text() == before
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "kanon.yml", "--log", "log.jsonl"])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert "log.jsonl:" in told.err


def test_no_answer_leaves_without_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        asked(server, "audit", table="t")
        before = Path("log.jsonl").read_bytes()

        def full(*_: Any) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("kanon_sql.assistant.question_log.os.fsync", full)
        with pytest.raises(EngineError, match="No space left"):
            asked(server, "tables")
    assert Path("log.jsonl").read_bytes() == before


def test_nothing_raised_leaves_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    written(classes(12, 12))
    spec()

    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("Zeppelin-4711")

    with assistant() as server:
        monkeypatch.setattr("kanon_sql.api.audit", fails)
        [result] = talk(server, ("audit", {"table": "t"}))
    assert result.structured_content["refused"] == "engine"
    assert traces(result.model_dump_json() + Path("log.jsonl").read_text()) == []


def test_a_log_that_was_removed_ends_the_answers() -> None:
    written(classes(12, 12))
    spec()
    with assistant() as server:
        asked(server, "tables")
        Path("log.jsonl").unlink()
        with pytest.raises(EngineError, match="it was removed"):
            asked(server, "tables")


def test_a_log_has_one_server() -> None:
    with (
        question_log(Path("log.jsonl")),
        pytest.raises(SpecError, match="in use by another server"),
        question_log(Path("log.jsonl")),
    ):
        pass


# --- the command ------------------------------------------------------------------------------

BAD = [
    (["kanon.yml"], 2, "Missing option '--log'"),
    (["t.parquet", "--log", "l"], 2, "is no spec file"),
    (["nowhere.yml", "--log", "l"], 2, "nowhere.yml"),
    (["kanon.yml", "--log", "."], 2, "is a folder"),
    (["kanon.yml", "--log", "/dev/null"], 2, "is no regular file"),
    (["kanon.yml", "--log", "kanon.yml"], 2, "does not continue the log"),
    (["kanon.yml", "--log", "no/where"], 3, "can't be written"),
    (["kanon.yml", "--log", "l", "--min-cell", "2"], 2, "--min-cell is 3 or more"),
    (["kanon.yml", "--log", "l", "--questions", "0"], 2, "--questions must be"),
    (["undecided.yml", "--log", "l"], 2, "undecided"),
    (["broken.yml", "--log", "l"], 2, "q"),
    (["star.yml", "--log", "l"], 2, "stands for every column"),
    (["twice.yml", "--log", "l"], 2, "two tables are called"),
    (["no_table.yml", "--log", "l"], 2, "gone.parquet"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), BAD)
def test_bad_input_ends_with_a_sentence_before_anything_is_answered(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(classes(12, 12))
    table = spec()
    for name, more in {
        "undecided": {"undecided": ["q"]},
        "broken": {"checks": [{"l_diversity": {"l": 2, "sensitive": "q"}}]},
        "star": {"quasi_identifiers": ["*"], "sensitive": [], "checks": []},
        "no_table": {"source": "gone.parquet"},
    }.items():
        one = {"version": 1, "tables": [{**table, **more}]}
        Path(f"{name}.yml").write_text(yaml.safe_dump(one))
    table.pop("name")
    Path("twice.yml").write_text(yaml.safe_dump({"version": 1, "tables": [table, table]}))
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (code, ""), told.err
    assert words in told.err
    assert not Path("l").exists()


def test_without_the_sdk_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(classes(12, 12))
    spec()
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "kanon.yml", "--log", "log.jsonl"])
    assert ended.value.code == 2
    assert "pip install 'kanon-sql[mcp]'" in capsys.readouterr().err
    assert not Path("log.jsonl").exists()


def over_stdio(
    command: str, *calls: tuple[str, dict[str, Any]], limit: str = "unlimited"
) -> tuple[list[dict[str, Any]], str]:
    """The answers of a server of its own, and what it printed on stderr. No file that it writes may
    be larger than `limit` blocks."""
    script = (
        f"ulimit -f {limit}; {sys.executable} -m kanon_sql mcp {command}; echo ended with $?>&2"
    )
    server = StdioServerParameters(
        command="sh",
        args=["-c", script],
        cwd=str(Path.cwd()),
        # Else the limit cuts off the compiled modules too.
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    answers: list[dict[str, Any]] = []

    async def conversation() -> None:
        with open("stderr.txt", "w") as errors, contextlib.suppress(BaseExceptionGroup):
            async with Client(stdio_client(server, errors)) as client:
                for name, given in calls:
                    answers.append((await client.call_tool(name, given)).structured_content)

    asyncio.run(conversation())
    return answers, Path("stderr.txt").read_text()


def test_over_stdio_a_closed_stdin_ends_with_0() -> None:
    written(classes(12, 12))
    spec()
    answers, errors = over_stdio(
        "kanon.yml --log log.jsonl --questions 2 --min-cell 20",
        ("audit", {"table": "t"}),
        ("nothing", {}),
        ("profile", {"table": "t"}),
    )
    assert (answers[0]["records"], answers[0]["uniques"]) == (20, 0)
    assert [each.get("refused") for each in answers] == [None, "question", "budget"]
    assert errors == "ended with 0\n"
    assert [line["number"] for line in lines()] == [1, 2, 3]


def test_over_stdio_a_log_that_can_t_be_written_ends_with_3() -> None:
    written(classes(12, 12))
    spec()
    calls = [("explain", {"topic": "limits"})] * 20
    answers, errors = over_stdio("kanon.yml --log log.jsonl", *calls, limit="32")
    assert "can't be written: File too large" in errors
    assert errors.endswith("ended with 3\n")
    assert 0 < len(lines()) == len(answers) < 20


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def call(arguments: str, number: str = "2", name: str = '"audit"') -> str:
    """A call of a tool as a line, by the texts of its parts."""
    params = f'{{"name": {name}, "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'


INVALID, UNREADABLE = -32600, -32700
LINES: dict[str, tuple[str, int | str | None, int | None]] = {
    "surrogate": (call('{"table": "\\ud800"}'), 2, INVALID),
    "surrogate as a tool": (call("{}", name='"\\udfff"'), 2, INVALID),
    "surrogate as an id": (call("{}", '"\\ud800"'), None, INVALID),
    "nested": (call(f'{{"table": {"[" * 900}{"]" * 900}}}'), 2, INVALID),
    "nested deeper": (call(f'{{"table": {"[" * 99_999}{"]" * 99_999}}}'), None, UNREADABLE),
    "no number": (call('{"table": NaN}'), None, UNREADABLE),
    "huge": (call(f'{{"table": {"9" * 5_000}}}'), None, UNREADABLE),
    "twice": (call('{"table": "t", "table": "u"}'), None, UNREADABLE),
    "fraction as an id": (call('{"table": "t"}', "1.5"), None, INVALID),
    "object as an id": (call('{"table": "t"}', "{}"), None, INVALID),
    "no object": ("[]", None, INVALID),
    "no JSON": ("hello", None, UNREADABLE),
    "another version": ('{"jsonrpc": "1.0", "id": 2, "method": "ping"}', 2, INVALID),
    "too long": (call(f'{{"table": "{"x" * (1 << 21)}"}}'), None, INVALID),
    # Questions that are read, and refused as any other.
    "long": (call(f'{{"table": "{"x" * 500_000}"}}'), 2, None),
    "infinite": (call('{"table": 1e999}'), 2, None),
    "nested a little": (call('{"table": [[[[{}]]]]}'), 2, None),
    "latin": (call('{"table": "\udce9"}'), 2, None),
    "null": (call("null"), 2, None),
}


def test_every_line_has_an_answer() -> None:
    """Also one that the SDK can't read, and would pass over."""
    written(classes(12, 12))
    spec()
    command = [sys.executable, "-m", "kanon_sql", "mcp", "kanon.yml", "--log", "log.jsonl"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout

        def asks(line: str) -> dict[str, Any]:
            server.stdin.write(f"{line}\n".encode(errors="surrogateescape"))
            server.stdin.flush()
            answer: dict[str, Any] = json.loads(server.stdout.readline())
            return answer

        asks(json.dumps(HELLO))
        server.stdin.write(f"{json.dumps(ready)}\n\n \r\n".encode())
        answers = {name: asks(line) for name, (line, _, _) in LINES.items()}
        last = asks(call('{"table": "t"}', "99"))
        out, err = server.communicate(timeout=60)
    found = {
        name: (answer["id"], answer.get("error", {}).get("code"))
        for name, answer in answers.items()
    }
    assert found == {name: (number, code) for name, (_, number, code) in LINES.items()}
    refused = [answer["result"]["isError"] for answer in answers.values() if "result" in answer]
    assert refused == [True] * 5
    told = json.dumps([answer.get("error") for answer in answers.values()])
    assert [part for part in ("xxx", "ud800", "[[[", "hello") if part in told] == []
    assert last["result"]["structuredContent"]["records"] == 20
    assert (server.returncode, out, err) == (0, b"", b"")
    assert [line["outcome"] for line in lines()] == [*["refused"] * 5, "answered"]


def test_ctrl_c_ends_with_0_and_in_silence() -> None:
    """Asked by the handshake of older clients, without the SDK."""
    written(classes(12, 12))
    spec()
    command = [sys.executable, "-m", "kanon_sql", "mcp", "kanon.yml", "--log", "log.jsonl"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(f"{json.dumps(HELLO)}\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert answer["result"]["serverInfo"]["name"] == "kanon-sql"
    assert (server.returncode, out, err) == (0, "", "")
