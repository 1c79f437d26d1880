"""The laws of synthetic tables: what must be so, whatever the tables, beside their original."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from commands import run
from generated import Filled, fewer
from hypothesis import given
from hypothesis import strategies as st
from warehouses import ENGINES

import kanon_sql as kanon
from kanon_sql.auditing.intervals import newcombe
from kanon_sql.results.diff import diff
from kanon_sql.results.table import ResultFile

KEYS = ["a", "b"]
RECORD = st.tuples(
    *(st.sampled_from((None, "x", "y", "z")) for _ in range(2)), st.sampled_from("uvw")
)
RECORDS = st.lists(RECORD, min_size=1, max_size=12).map(lambda rows: [("x", "y", "u"), *rows])
"""With one record that all tables have, so that every column has a value in common."""
MEASURED: list[Any] = [
    kanon.CopiedRecords(),
    kanon.ReplicatedUniques(),
    kanon.SinglingOut(m=1),
    kanon.SinglingOut(m=2),
    kanon.DisclosiveInSynthetic(sensitive="t"),
    kanon.CorrectAttribution(sensitive="t"),
]
Row = tuple[Any, ...]


def table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate("abt")}
    )


def numbered(rows: list[Row], of: str) -> pa.Table:
    """A table with a person for each record."""
    people = [f"{of}{number}" for number in range(len(rows))]
    return table(rows).append_column("person", pa.array(people))


def measured(
    s: list[Row], o: list[Row], h: list[Row] | None = None, *, of_people: bool = False
) -> dict[str, Any]:
    """Every measure, by model, and by m; `of_people` counts one for each record."""
    made = numbered if of_people else lambda rows, of: table(rows)
    original = {"source": made(o, "o"), "entity": "person"} if of_people else table(o)
    result = kanon.audit(
        table(s), KEYS, sensitive="t", original=original, holdout=made(h, "h") if h else None,
        checks=MEASURED,
    )  # fmt: skip
    checks = result.to_dict()["tables"][0]["checks"]
    return {f"{each['model']}{each['parameters'].get('m', '')}": each for each in checks}


@fewer
@given(RECORDS)
def test_the_original_itself_copies_everything(o: list[Row]) -> None:
    found = measured(o, o)
    copied, uniques = found["copied_records"], found["replicated_uniques"]
    told, guessed = found["disclosive_in_synthetic"], found["correct_attribution"]

    assert copied["copied"] == copied["attacked"] == copied["copying"] == len(o)
    assert copied["unique_copied"] == copied["unique_in_original"]
    assert uniques["replicated"] == uniques["unique_found"] == uniques["unique_in_original"]
    assert told["correct"] == told["claimed"] == told["disclosive_in_original"]
    assert guessed["achieved"] == pytest.approx(guessed["original"])
    assert guessed["matched"] == len(o)


@fewer
@given(RECORDS, RECORDS)
def test_figures_that_are_parts_of_one_another(s: list[Row], o: list[Row]) -> None:
    found = measured(s, o)
    uniques, told = found["replicated_uniques"], found["disclosive_in_synthetic"]
    one, two = found["singling_out1"], found["singling_out2"]

    assert told["correct"] <= told["claimed"] <= told["matched"] <= told["attacked"]
    assert uniques["replicated"] <= uniques["unique_found"] <= uniques["unique_in_original"]
    assert found["correct_attribution"]["zero_cap"] <= found["correct_attribution"]["achieved"]
    assert one["singled_out"] <= two["singled_out"] >= uniques["replicated"]


@fewer
@given(RECORDS, RECORDS)
def test_a_table_written_twice_lowers_what_is_unique_in_it_alone(
    s: list[Row], o: list[Row]
) -> None:
    once, twice = measured(s, o), measured(s * 2, o)

    assert twice["replicated_uniques"]["replicated"] == twice["singling_out2"]["claims"] == 0
    for name in ("unique_found", "found", "unique_in_original"):
        assert once["replicated_uniques"][name] == twice["replicated_uniques"][name]
    for name in ("copied_records", "disclosive_in_synthetic", "correct_attribution"):
        assert once[name]["achieved"] == pytest.approx(twice[name]["achieved"])


@fewer
@given(RECORDS, RECORDS, RECORDS, st.randoms())
def test_the_order_of_records_is_nothing(
    s: list[Row], o: list[Row], h: list[Row], chance: random.Random
) -> None:
    mixed = [chance.sample(rows, len(rows)) for rows in (s, o, h)]

    assert without_rounding(measured(*mixed)) == without_rounding(measured(s, o, h))


@fewer
@given(RECORDS, RECORDS, RECORDS)
def test_people_of_one_record_are_counted_as_records(
    s: list[Row], o: list[Row], h: list[Row]
) -> None:
    of_people, of_records = (
        json.dumps(measured(s, o, h, of_people=each), default=str) for each in (True, False)
    )
    rounded = partial(json.loads, parse_float=lambda figure: round(float(figure), 9))
    assert rounded(of_people) == rounded(of_records)


@fewer
@given(RECORDS, RECORDS, RECORDS)
def test_original_and_holdout_exchanged_turn_the_sign(
    s: list[Row], o: list[Row], h: list[Row]
) -> None:
    found, turned = measured(s, o, h), measured(s, h, o)

    for name, check in found.items():
        excess, low, high = check["holdout"]["excess"], *check["holdout"]["interval"]
        other = turned[name]["holdout"]
        assert excess == pytest.approx(-other["excess"], abs=1e-12)
        assert [low, high] == pytest.approx([-end for end in other["interval"][::-1]], abs=1e-12)


@fewer
@given(RECORDS, RECORDS, RECORDS, st.integers(1, 4), st.sampled_from([None, "person"]))
def test_different_records_of_one_hash_are_compared(
    s: list[Row], o: list[Row], h: list[Row], different: int, entity: str | None
) -> None:
    with duckdb.connect() as connection:
        for name, rows, first in (("s", s, 0), ("o", o, 0), ("h", h, 10)):
            persons = [first + number // 2 for number in range(len(rows))]
            connection.from_arrow(table(rows).append_column("person", [persons])).create(name)
        [audited] = kanon.audit(
            "s", KEYS, sensitive="t", identifiers=["person"],
            original={"source": "o", "entity": entity}, holdout="h",
            checks=[kanon.CopiedRecords()], engine=connection,
        ).tables  # fmt: skip
        sql = audited.sql["copied_records"]
        collides = re.sub(r"hash\(.*?\) as", f"hash(a, b) % {different} as", sql, flags=re.DOTALL)

        assert collides != sql
        assert connection.sql(collides).fetchall() == connection.sql(sql).fetchall()


@fewer
@given(RECORDS, RECORDS)
def test_a_copy_of_the_original_as_holdout_has_no_excess(s: list[Row], o: list[Row]) -> None:
    for check in measured(s, o, o).values():
        assert check["holdout"]["excess"] == pytest.approx(0, abs=1e-12)


def without_rounding(found: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(found), parse_float=lambda digits: round(float(digits), 9))


# --- levels, types, columns -----------------------------------------------------------------


def test_a_coarser_level_never_finds_more_who_are_alone() -> None:
    chance = random.Random(1)
    tables = [
        pa.table(
            {
                "age": [chance.randrange(90) for _ in range(60)],
                "zip": [str(chance.randrange(3)) for _ in range(60)],
            }
        )
        for _ in range(2)
    ]
    alone = [
        kanon.audit(
            tables[0], {"age": {"levels": [{"width": 5}, {"width": 10}, {"width": 30}]}, "zip": {}},
            original=tables[1], levels={"age": level}, checks=[kanon.ReplicatedUniques()],
        ).checks[0].details["unique_in_original"]
        for level in range(4)
    ]  # fmt: skip

    assert alone == sorted(alone, reverse=True)
    assert alone[0] > alone[-1]


def test_a_level_of_a_sensitive_attribute_gives_bands() -> None:
    s = pa.table({"zip": ["1", "2"], "income": [11_000, 25_000]})
    o = pa.table({"plz": ["1", "2"], "income": [14_000, 39_000]})
    [check] = kanon.audit(
        s, ["zip"], sensitive={"income": {"levels": [{"width": 10_000}]}}, levels={"income": 1},
        original={"source": o, "columns": {"zip": "plz"}},
        checks=[kanon.DisclosiveInSynthetic(sensitive="income")],
    ).checks  # fmt: skip

    assert (check.details["claimed"], check.details["correct"]) == (2, 1)


def test_a_mask_is_as_long_as_the_longest_value_of_all_tables() -> None:
    s, o = pa.table({"zip": ["12", "34"]}), pa.table({"zip": ["12", "3456"]})
    [check] = kanon.audit(
        s, {"zip": "mask:right"}, levels={"zip": 3}, original=o, checks=[kanon.ReplicatedUniques()]
    ).checks

    assert check.details["found"] == 2


def test_types_that_differ_are_compared_as_text() -> None:
    s, o = pa.table({"n": ["1", "2", "2"]}), pa.table({"n": [1, 2, 3]})
    [check] = kanon.audit(s, ["n"], original=o, checks=[kanon.ReplicatedUniques()]).checks

    assert (check.details["found"], check.details["replicated"]) == (2, 1)


def test_types_that_can_never_be_equal_are_refused() -> None:
    s, o = pa.table({"n": [True]}), pa.table({"n": [1]})
    with pytest.raises(kanon.SpecError, match="they can never be equal"):
        kanon.audit(s, ["n"], original=o)


def test_too_many_sets_are_refused() -> None:
    wide = pa.table({f"c{place}": ["x"] for place in range(101)})
    with pytest.raises(kanon.SpecError, match="101 columns have 5,151 sets of at most 2"):
        kanon.audit(wide, "*", original=wide)


def test_a_column_without_a_common_value_is_left_out_of_whole_records() -> None:
    s = pa.table({"zip": ["1", "2"], "day": ["Monday", "Friday"], "n": [1, 2]})
    o = pa.table({"zip": ["1", "2"], "day": ["mon", "fri"], "n": [1, 3], "more": ["a", "b"]})
    table = kanon.audit(s, ["zip"], original=o, checks=[kanon.CopiedRecords(max_share=0)]).tables[0]

    assert table.checks[0].details["columns"] == ["zip", "n"]
    assert table.checks[0].details["left_out"] == ["day"]
    assert table.checks[0].achieved == 0.5
    assert [each for each in table.warnings if '"day"' in each]


def test_a_column_that_is_empty_where_records_are_copied_is_left_out() -> None:
    s = pa.table({"zip": ["1", "1", "2", "2"], "day": [None, None, "Monday", "Friday"]})
    o = pa.table({"zip": ["1", "1", "2", "2"], "day": [None, None, "mon", "fri"]})
    [check] = kanon.audit(s, ["zip"], original=o, checks=[kanon.CopiedRecords()]).checks

    assert (check.details["left_out"], check.details["copied"]) == (["day"], 4)


def test_a_column_whose_type_is_never_equal_is_left_out_by_name() -> None:
    s = pa.table({"zip": ["1", "2"], "smokes": [True, False], "codes": [["a"], ["b"]]})
    o = pa.table({"zip": ["1", "2"], "smokes": [1, 0], "codes": [["a"], ["b"]]})
    [check] = kanon.audit(s, ["zip"], original=o, checks=[kanon.CopiedRecords()]).checks

    assert check.details["columns"] == ["zip"]
    assert check.details["left_out"] == ["smokes", "codes"]


def test_values_of_a_column_are_counted_unless_two_copied_records_have_one() -> None:
    s = pa.table({"zip": ["1", "2", "3"], "sex": ["m", "m", "w"], "n": [1, 2, 3]})
    counted = [
        "further_values_in_common" in kanon.audit(
            s, ["zip"], original=s.select(names), checks=[kanon.CopiedRecords()]
        ).tables[0].sql
        for names in (["zip", "sex"], ["zip", "sex", "n"])
    ]  # fmt: skip

    assert counted == [False, True]


def test_a_running_number_is_warned_of_where_some_records_are_copied() -> None:
    zips = [str(each % 3) for each in range(50)]
    s = pa.table({"n": list(range(50)), "zip": zips})
    o = pa.table({"n": list(range(50)), "zip": zips[20:] + ["0"] * 20})
    table = kanon.audit(s, ["zip"], original=o, checks=[kanon.CopiedRecords()]).tables[0]

    assert 0 < table.checks[0].details["copied"] < 50
    assert [each for each in table.warnings if "a running number in both tables" in each]


def test_a_running_number_is_warned_of() -> None:
    numbers = {"n": list(range(50)), "zip": [str(each % 3) for each in range(50)]}
    table = kanon.audit(pa.table(numbers), ["zip"], original=pa.table(numbers)).tables[0]

    assert [each for each in table.warnings if "a running number in both tables" in each]


def test_a_key_that_hardly_matches_is_warned_of() -> None:
    names = [f"{each:05}" for each in range(20)]
    s = pa.table({"zip": [*names[:4], *(str(int(name)) for name in names[4:])], "age": ["3"] * 20})
    o = pa.table({"zip": names, "age": ["3"] * 20})
    warnings = [
        kanon.audit(s, keys, original=o, checks=[kanon.ReplicatedUniques()]).tables[0].warnings
        for keys in (["zip", "age"], ["age"])
    ]

    assert [each for each in warnings[0] if '"zip" has 4 values in common' in each]
    assert not warnings[1]


def test_classes_of_a_synthetic_table_are_neither_better_nor_worse() -> None:
    o = table([("x", "y", "u"), ("y", "y", "u")])
    smaller, larger = (
        kanon.audit(table([("x", "y", "u")] * times), KEYS, original=o) for times in (1, 5)
    )
    compared = diff(*(ResultFile(Path("a.json"), each) for each in (smaller, larger))).tables[0]

    assert {figure.change for figure in (*compared.summary, *compared.risks)} <= {"same", "changed"}


# --- never green by mistake -----------------------------------------------------------------


def test_nobody_found_is_never_green() -> None:
    s, o = table([("x", "y", "u"), ("y", "x", "v")]), table([("x", "x", "u"), ("y", "y", "v")])
    result = kanon.audit(
        s, KEYS, sensitive="t", original=o,
        checks=[
            kanon.CorrectAttribution(sensitive="t", max_average=1),
            kanon.CopiedRecords(max_share=1),
        ],
    )  # fmt: skip

    assert [check.holds for check in result.checks] == [None, True]
    assert (result.status, result.holds) == ("measured", None)


def test_an_undecided_excess_is_never_green() -> None:
    s, o, h = ([(x, "y", "u") for x in text] for text in ("xyz", "xyzabcde", "zab"))
    result = kanon.audit(
        table(s), KEYS, original=table(o), holdout=table(h),
        checks=[kanon.ReplicatedUniques(max_share=1, max_excess=0.2)],
    )  # fmt: skip

    assert result.checks[0].details["evidence"] == "interval"
    assert (result.checks[0].holds, result.status) == (None, "measured")
    assert [each for each in result.tables[0].warnings if "is undecided" in each]


def test_k_of_a_synthetic_table_is_warned_of() -> None:
    rows = table([("x", "y", "u")])
    result = kanon.audit(rows, KEYS, original=rows, k=1)

    assert [each for each in result.tables[0].warnings if "synthetic table are nobody" in each]
    assert [check.model for check in result.checks] == ["k_anonymity"]


def test_what_is_measured_unasked() -> None:
    rows = table([("x", "y", "u")])
    result = kanon.audit(rows, KEYS, sensitive="t", original=rows)

    assert [check.model for check in result.checks] == [
        *("copied_records", "replicated_uniques", "singling_out"),
        *("disclosive_in_synthetic", "correct_attribution"),
    ]
    assert result.to_dict()["tables"][0]["original"] == {"records": 1, "people": None}
    assert result.to_dict()["tables"][0]["holdout"] is None


# --- the comparison with a holdout ----------------------------------------------------------


PUBLISHED = [
    (56, 70, 48, 80, 0.0524, 0.3339),
    (9, 10, 3, 10, 0.1705, 0.8090),
    (6, 7, 2, 7, 0.0582, 0.8062),
    (5, 56, 0, 29, -0.0381, 0.1926),
    (0, 10, 0, 20, -0.1611, 0.2775),
    (10, 10, 0, 20, 0.6791, 1.0),
]
"""Newcombe 1998, table II, method 10."""


@pytest.mark.parametrize(("x", "n", "y", "m", "low", "high"), PUBLISHED)
def test_the_interval_is_the_published_one(
    x: int, n: int, y: int, m: int, low: float, high: float
) -> None:
    assert newcombe(x, n, y, m) == pytest.approx((low, high), abs=5.1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("smaller", [1, 4])
def test_tables_without_memory_have_no_excess(smaller: int) -> None:
    """Drawn splits: unique counted in each table by itself would fail at a quarter. Copies are
    found."""
    chance = random.Random(7)

    def drawn(size: int) -> list[Row]:
        return [
            (str(int(chance.random() ** 2 * 12)), str(chance.randrange(9)), chance.choice("uvw"))
            for _ in range(size)
        ]

    by_name: dict[str, list[float]] = {}
    copies = []
    for number in range(100):
        o, h, s = drawn(200), drawn(200 // smaller), drawn(200)
        for name, check in measured(s, o, h).items():
            by_name.setdefault(name, []).append(check["holdout"]["excess"])
        if number < 20:
            memory = measured([*s[:100], *o[:100]], o, h)["replicated_uniques"]["holdout"]
            copies.append(memory["excess"])

    means = {name: fmean(excesses) for name, excesses in by_name.items()}
    assert all(abs(mean) < 0.012 for mean in means.values()), means
    assert fmean(copies) > 0


NUMBERS = [7, *(n + 0.5 for n in range(1, 40)), 1e15, 2.0**53]


@pytest.mark.parametrize(
    ("own", "there", "values"),
    [
        (pa.float64(), pa.decimal128(20, 2), NUMBERS),
        (pa.decimal128(20, 2), pa.float64(), NUMBERS),
        (pa.float32(), pa.float64(), [0.1, 2.5, 7.0]),
        (pa.float32(), pa.decimal128(20, 2), [0.1, 2.5, 7.0]),
        (pa.float64(), pa.int64(), [5, 10**15, 1_700_000_000_001_000, None]),
        (pa.int16(), pa.int64(), [5, -7, None]),
        (pa.decimal128(12, 4), pa.decimal128(20, 2), [1, 2.5]),
    ],
)
def test_equal_numbers_of_two_types_are_equal(
    own: pa.DataType, there: pa.DataType, values: list[float | None]
) -> None:
    def numbers(kind: pa.DataType) -> pa.Table:
        is_decimal = pa.types.is_decimal(kind)
        given = [Decimal(str(each)) if is_decimal else each for each in values]
        return pa.table({"n": pa.array(given, kind), "t": ["u"] * len(values)})

    [table] = kanon.audit(
        numbers(own), ["n"], sensitive="t", original=numbers(there), checks=[kanon.CopiedRecords()]
    ).tables

    [copied] = table.checks
    assert copied.achieved == 1


def test_people_of_the_holdout_are_found_whatever_the_type_of_their_number() -> None:
    original = pa.table({"p": pa.array([10**15 + 1, 2, 3], pa.int64()), "a": ["x", "y", "z"]})
    holdout = pa.table({"p": pa.array([10**15 + 1, 8.5], pa.float64()), "a": ["x", "y"]})

    with pytest.raises(kanon.KanonError, match="1 of 2 people of the holdout is in the original"):
        kanon.audit(
            original.select(["a"]), ["a"], original={"source": original, "entity": "p"},
            holdout=holdout,
        )  # fmt: skip


def test_the_original_as_its_own_holdout_is_told(tmp_path: Path) -> None:
    csv = tmp_path / "o.csv"
    csv.write_text("a,b\n1,2\n1,3\n2,4\n", encoding="utf-8")

    [table] = kanon.audit(csv, ["a", "b"], original=csv, holdout=csv).tables

    assert "The holdout is the original itself" in " ".join(table.warnings)


def test_an_undecided_check_is_left_out_of_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("a,t\nx,u\nq,v\nq,u\n", encoding="utf-8")
    Path("o.csv").write_text("a,t\nx,v\ny,u\nx,w\n", encoding="utf-8")
    asked = ("s.csv", "--original", "o.csv", "--holdout", "o.csv", "--qi", "a")
    asked += ("--check", "copied_records:max_share=0", "--check", "copied_records:max_excess=0.5")

    kept = run("baseline", *asked, "--output", "b.json")
    audited = run("audit", *asked, "--baseline", "b.json")

    assert (kept.exit_code, audited.exit_code) == (0, 0), audited.stderr
    assert "copied_records is undecided, so it is left out of the" in audited.stdout


def test_a_baseline_compares_the_figure_that_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer are singled out, and all claims are correct."""
    monkeypatch.chdir(tmp_path)
    asked = (
        "s.csv",
        "--original",
        "o.csv",
        "--qi",
        "a",
        "--check",
        "singling_out:m=1,max_rate=0.5",
    )

    def write(name: str, values: Iterable[int]) -> None:
        Path(name).write_text("a\n" + "".join(f"{each}\n" for each in values), encoding="utf-8")

    write("o.csv", range(20))
    write("s.csv", [*range(6), *range(90, 94)])
    kept = run("baseline", *asked, "--output", "b.json")
    same = run("audit", *asked, "--baseline", "b.json")
    write("s.csv", range(4))
    audited = run("audit", *asked, "--baseline", "b.json")

    assert (kept.exit_code, same.exit_code, audited.exit_code) == (0, 0, 1)
    assert "100 % of the claims correct, asked for at most 50.0 %" in " ".join(
        audited.stdout.split()
    )
    assert "rate 1 (was 0.6)" in audited.stdout


def test_open_lineage_has_the_figure_that_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("a\n0\n1\n90\n91\n", encoding="utf-8")
    Path("o.csv").write_text("a\n0\n1\n2\n3\n", encoding="utf-8")

    run("audit", "s.csv", "--original", "o.csv", "--qi", "a", "--check",
        "singling_out:m=1,max_rate=0.2", "--output", "events.jsonl")  # fmt: skip

    event = json.loads(Path("events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    [found] = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (found["expected"], found["actual"]) == ("0.2", "0.5")


@pytest.mark.postgres
def test_people_of_a_type_without_a_least_value(tmp_path: Path) -> None:
    """Postgres 17 and before has no min(uuid)."""
    with ENGINES["postgres"].started(tmp_path) as running:
        for name in ("made", "original"):
            running.run(
                f"create table {name} as select md5(n::text)::uuid as id, n % 7 as zip, "
                "n % 3 as age, n % 2 as dx from generate_series(1, 9) as numbers(n)"
            )
        [table] = kanon.audit(
            "made", ["zip", "age"], sensitive=["dx"], engine=running.url,
            original={"source": "original", "entity": "id"},
            checks=[
                kanon.CopiedRecords(), kanon.ReplicatedUniques(), kanon.SinglingOut(m=2),
                kanon.DisclosiveInSynthetic(sensitive="dx"),
                kanon.CorrectAttribution(sensitive="dx"),
            ],
        ).tables  # fmt: skip

    assert table.error is None
    assert [check.achieved for check in table.checks][:2] == [1, 1]


@pytest.mark.parametrize("engine", ["postgres", "sqlite", "mariadb", "clickhouse", "spark"])
@pytest.mark.parametrize("is_text_first", [True, False])
def test_a_number_is_found_in_text_however_it_ends(
    engine: str, is_text_first: bool, tmp_path: Path
) -> None:
    numbers = Filled(
        ("a", "b"), (pa.float64(), pa.decimal128(10, 2)),
        tuple((n / 2 - 1, Decimal(n) / 4) for n in range(8)),
    )  # fmt: skip
    texts = Filled(
        ("a", "b"), (pa.string(), pa.string()),
        tuple((repr(a), f"{b:.{n % 3 + 2}f}") for n, (a, b) in enumerate(numbers.rows)),
    )  # fmt: skip
    names = ("texts", "numbers") if is_text_first else ("numbers", "texts")
    with ENGINES[engine].started(tmp_path) as running:
        running.load("numbers", numbers)
        running.load("texts", texts)
        [table] = kanon.audit(
            names[0], ["a", "b"], engine=running.url, original=names[1],
            checks=[kanon.CopiedRecords(), kanon.ReplicatedUniques()],
        ).tables  # fmt: skip

    assert [check.achieved for check in table.checks] == [1, 1]


@pytest.mark.parametrize("is_text_first", [True, False])
def test_a_number_is_found_in_a_text_file(is_text_first: bool, tmp_path: Path) -> None:
    """A text file writes 1.0 where a float column has 1."""
    table = pa.table({"a": [n / 2 for n in range(9)], "b": [Decimal(n) / 4 for n in range(9)]})
    paths = [tmp_path / "typed.parquet", tmp_path / "text.csv"]
    pyarrow.parquet.write_table(table, paths[0])
    pyarrow.csv.write_csv(table, paths[1])
    made, original = reversed(paths) if is_text_first else paths

    [found] = kanon.audit(
        made, ["a"], original=original, checks=[kanon.CopiedRecords(), kanon.ReplicatedUniques()]
    ).tables

    assert [check.achieved for check in found.checks] == [1, 1]


# --- never green by mistake ------------------------------------------------------------------

INCOMPLETE = {
    "no value in common": ([None, "9001", "9002"], [None, "7001", "7002"], None),
    "nested": ([[1], [2], [3]], [[1], [4], [5]], None),
    "not in the holdout": (["1", "2", "3"], ["1", "4", "5"], {"zip": ["q"], "ill": ["z"]}),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_copies_that_a_missing_column_would_tell_apart_are_undecided(case: str) -> None:
    """The first record is alone by all columns and whole in the synthetic table. Without one of
    them the second is equal to it, so that nobody is alone."""
    further, of_original, holdout = INCOMPLETE[case]
    known = {"zip": ["a", "c", "b"], "ill": ["x", "y", "x"]}
    original = {"zip": ["a", "a", "b"], "ill": ["x", "x", "y"], "e": of_original}

    def asked(max_share: float) -> Any:
        return kanon.audit(
            pa.table({**known, "e": further}),
            ["zip"],
            sensitive="ill",
            original=pa.table(original),
            holdout=pa.table(holdout) if holdout else None,
            checks=[kanon.CopiedRecords(max_share=max_share)],
        ).tables[0]

    [check] = asked(0).checks
    assert (check.achieved, check.details["copied"], check.holds) == (0, 2, None)
    assert "2 of 3 are copied" in " ".join(asked(0).warnings)
    assert asked(0.7).checks[0].holds is True


def test_keys_that_nobody_shares_and_a_holdout_that_is_the_original_are_told() -> None:
    original = pa.table({"zip": ["a", "b"], "age": [1, 2], "ill": ["x", "y"]})
    synthetic = pa.table({"zip": ["a", "b"], "age": [2, 1], "ill": ["x", "y"]})
    [table] = kanon.audit(
        synthetic,
        ["zip", "age"],
        sensitive="ill",
        original=original,
        checks=[kanon.ReplicatedUniques(max_share=0), kanon.DisclosiveInSynthetic(max_share=0)],
    ).tables
    assert [check.holds for check in table.checks] == [True, True]
    assert any(each.startswith("Nobody of the original is found") for each in table.warnings)


def test_the_original_is_no_holdout(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"zip": ["a", "b"]}), tmp_path / "o.parquet")
    [table] = kanon.audit(
        pa.table({"zip": ["a", "c"]}),
        ["zip"],
        original=tmp_path / "o.parquet",
        holdout=tmp_path / "o.parquet",
        checks=[kanon.CopiedRecords(max_excess=0.9)],
    ).tables
    assert table.checks[0].undecided
