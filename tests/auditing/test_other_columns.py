"""What an audit says of all the columns together that no check uses."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow
import pytest

import kanon_sql as kanon
from kanon_sql.auditing.opening import opening, planned
from kanon_sql.auditing.other_columns import Alone, alone_with_others
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import run_within
from kanon_sql.plan import other_columns
from kanon_sql.plan.answers import Answers, uniques
from kanon_sql.question.spec import AuditSpec

MILLION = 1_000_000
SHOWS = "profile shows what each of them adds."
SHOWS_IT = "profile shows what it adds."
SAMPLED = "It is estimated from a sample; profile counts exactly what each of them adds."
SAMPLED_IT = "It is estimated from a sample; profile counts exactly what it adds."


def together(source: object, **question: object) -> list[str]:
    """What is said of all other columns."""
    spec = AuditSpec(tables=[{"source": source, "quasi_identifiers": ["zip"]} | question])
    [table] = kanon.audit(spec).tables
    return [said for said in table.warnings if said.startswith("With ")]


def made(tmp_path: Path, columns: str, records: int = MILLION) -> str:
    """A Parquet file of so many records, numbered by `i`."""
    path = str(tmp_path / "people.parquet")
    duckdb.sql(f"select {columns} from range({records}) as numbers(i)").write_parquet(path)
    return path


def estimated(said: Sequence[str], truth: int) -> list[str]:
    """What is said, with ABOUT for an estimate that is close to the truth; the hash by which is
    sampled is another one in the next version of DuckDB."""

    def about(found: re.Match[str]) -> str:
        is_close = 0.96 * truth <= float(found[1].replace(",", "")) <= 1.01 * truth
        return "ABOUT" if is_close else found[0]

    return [re.sub(r"about ([\d,]+)(?= of)", about, each) for each in said]


# --- counted -----------------------------------------------------------------------------------


def test_a_hundred_records_are_counted() -> None:
    numbers = range(100)
    data = pyarrow.table(
        {
            "zip": ["1"] * 100,
            "height": [each % 10 for each in numbers],
            "shoe": [each // 10 for each in numbers],
            "pet": ["cat", "dog"] * 50,
        }
    )

    assert together(data.select(["zip", "height", "shoe"])) == [
        f'With "height", "shoe" (unassigned), all 100 records are alone. {SHOWS}'
    ]
    assert together(data.select(["zip", "height", "pet"])) == []
    assert together(data, insensitive={"shoe": "of no use"}, identifiers="pet") == [
        f'With "height" (unassigned) and "shoe" (insensitive), all 100 records are alone. {SHOWS}'
    ]


def test_of_a_wide_table_the_first_columns_are_named() -> None:
    data = pyarrow.table(
        {"zip": ["1"] * 60, **{f"c{n}": [m >> n % 6 & 1 for m in range(60)] for n in range(500)}}
    )

    assert together(data) == [
        'With "c0", "c1", "c2", "c3", "c4" and 495 more (unassigned), all 60 records are alone. '
        + SHOWS
    ]


def test_what_is_said_begins_above_a_twentieth() -> None:
    """NULL is a value like any other."""
    few = pyarrow.table({"zip": ["1"] * 40, "code": [*[None] * 38, 1, 2]})
    more = pyarrow.table({"zip": ["1"] * 40, "code": [*["a"] * 37, None, "b", "c"]})

    assert together(few) == []
    assert together(more) == [f'With "code" (unassigned), 3 of 40 records are alone. {SHOWS_IT}']


def test_who_is_alone_without_them_is_not_added_by_them() -> None:
    zips = [f"z{each // 2}" if each < 20 else f"z{each}" for each in range(40)]
    data = pyarrow.table({"zip": zips, "pet": [*["cat"] * 18, "cat", "dog", *["cat"] * 20]})

    assert together(data) == []
    assert together(data, where="zip <> 'z0'") == [
        f'With "pet" (unassigned), 22 of 38 records are alone. {SHOWS_IT}'
    ]


def test_people_are_counted_once() -> None:
    data = pyarrow.table(
        {
            "zip": ["1"] * 12,
            "who": [1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6],
            "ward": [1, 2, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5],
        }
    )

    assert together(data, entity="who") == [
        f'With "ward" (unassigned), 2 of 6 people are alone. {SHOWS_IT}'
    ]


def test_a_wildcard_says_how_null_is_counted() -> None:
    data = pyarrow.table({"zip": [None, "1"] * 10, "code": [*range(20)]})

    [said] = together(data, nulls="wildcard")

    assert said.startswith('With "code" (unassigned), all 20 records are alone, counting NULL as a')


# --- sampled -----------------------------------------------------------------------------------


SOME, ALL = other_columns.PART, other_columns.SAMPLE


@pytest.mark.parametrize(
    ("columns", "truth", "steps", "said"),
    [
        ("i % 7 as pet, i % 10 as shoe", 0, [ALL], []),
        (
            "i as code, i % 7 as pet",
            MILLION,
            [SOME],
            [
                'With "code", "pet" (unassigned), ABOUT of 1 million records are alone. ' + SAMPLED,
                '"code" has about as many different values as there are records (estimated from a '
                "sample), so it may identify people by itself. If it is published, it is a "
                "quasi-identifier; if not, declare it as an identifier or as the entity.",
            ],
        ),
        (
            "i % 1000 as height, i // 1000 as shoe",
            MILLION,
            [ALL],
            [
                'With "height", "shoe" (unassigned), ABOUT of 1 million records are alone. '
                + SAMPLED
            ],
        ),
        (
            "if(i % 5 = 0, i, i % 5) as code",
            MILLION // 5,
            [ALL],
            [f'With "code" (unassigned), ABOUT of 1 million records are alone. {SAMPLED_IT}'],
        ),
        # The column that says most in the file says too little.
        (
            "hash(i % 250000) as family, i // 250000 as child",
            MILLION,
            [SOME, ALL],
            [
                'With "family", "child" (unassigned), ABOUT of 1 million records are alone. '
                + SAMPLED
            ],
        ),
    ],
)
def test_a_million_records_are_sampled(
    tmp_path: Path, columns: str, truth: int, steps: list[str], said: list[str]
) -> None:
    [table] = kanon.audit(made(tmp_path, f"'1' as zip, {columns}"), ["zip"]).tables

    assert list(table.sql) == ["classes", *steps]
    assert estimated(table.warnings, truth) == said


@pytest.mark.parametrize("files", [1, 3, 50])
def test_windows_of_a_large_table_are_read_first(
    files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody is alone there, nothing more is read; some that lie together are found."""
    monkeypatch.setattr(other_columns, "LEAST_WITH_WINDOWS", MILLION)
    each = MILLION // files + 1

    def run(code: str) -> tuple[list[str], list[str]]:
        for file in range(files):
            records = f"range({file * each}, {(file + 1) * each}) as numbers(i)"
            query = f"select '1' as zip, {code} as code, i % 7 as pet from {records}"
            duckdb.sql(query).write_parquet(f"{tmp_path}/{file}.parquet")
        [table] = kanon.audit(f"{tmp_path}/*.parquet", ["zip"]).tables
        return list(table.sql), estimated(table.warnings, MILLION // 15)

    assert run("i % 100") == (["classes", other_columns.WINDOWS_READ], [])
    steps, said = run(f"if(i between 300000 and {300_000 + MILLION // 15}, i, 0)")
    assert steps[:2] == ["classes", other_columns.WINDOWS_READ]
    assert said == [
        f'With "code", "pet" (unassigned), ABOUT of 1 million records are alone. {SAMPLED}'
    ]


def test_an_insensitive_column_that_differs_in_every_record(tmp_path: Path) -> None:
    source = made(tmp_path, "'1' as zip, i as lab, i % 3 as ward")
    asked = {"source": source, "quasi_identifiers": ["zip"]}

    def warned(insensitive: object) -> list[str]:
        [table] = kanon.audit(AuditSpec(tables=[asked | {"insensitive": insensitive}])).tables
        return estimated(table.warnings, MILLION)

    alone, harmful = warned(["lab", "ward"])
    assert alone.startswith('With "lab", "ward" (insensitive), ABOUT of 1 million')
    assert harmful.startswith(
        '"lab" is declared insensitive, and it has about as many different values as there are '
        "records (estimated from a sample), so it identifies people. Make it"
    )
    assert warned({"lab": "a batch", "ward": "large"}) == [alone]


def test_with_a_condition_the_records_are_counted_first(tmp_path: Path) -> None:
    """As its number of records is known then, not before."""
    source = made(tmp_path, "'1' as zip, i as code", 1_200_000)

    def run(where: str) -> tuple[list[str], str]:
        [table] = kanon.audit(source, ["zip"], where=where).tables
        return list(table.sql), table.warnings[0]

    assert run("code < 1000") == (
        ["classes", "other_columns", "unassigned"],
        f'With "code" (unassigned), all 1,000 records are alone. {SHOWS_IT}',
    )
    assert run("code < 1100000")[0] == ["classes", "other_columns_sample"]


def test_people_of_many_records_are_sampled(tmp_path: Path) -> None:
    source = made(tmp_path, "'1' as zip, i // 4 as who, if(i % 12 = 0, i, i % 5) as code")

    [said] = estimated(together(source, entity="who"), MILLION // 12)

    assert said.startswith('With "code" (unassigned), ABOUT of 250,000 people are')


# --- sound -------------------------------------------------------------------------------------

COLUMNS: tuple[Callable[[random.Random, int], str], ...] = (
    lambda draw, records: f"i % {draw.choice([2, 7, 100, 5000, records // 2])}",
    lambda draw, records: f"hash(i + {draw.randrange(99)}) % {draw.choice([3, 50, 3000, records])}",
    lambda draw, records: f"i // {draw.choice([2, 3, 40, 1000])}",
    # as many bits as a number of each record, for fewer values
    lambda draw, records: f"hash(i % {draw.choice([records // 2, records * 3 // 4, records])})",
    # alone are some that lie together, or each of a few
    lambda draw, records: f"if(i < {int(records * draw.choice([0.02, 0.1, 0.5]))}, i, 0)",
    lambda draw, records: f"if(i % {draw.choice([2, 9, 30, 80])} = 0, i, i % 9)",
    lambda draw, records: f"if(hash(i) % 3 = 0, null, 'v' || i % {draw.choice([4, 900])})",
    lambda draw, records: f"floor(pow(hash(i) / pow(2, 64), 4) * {draw.choice([90, 9000, 10**6])})",
)


def drawn(seed: int, folder: Path, records: int) -> tuple[str, list[str]]:
    """A random table, and the names of its columns."""
    draw = random.Random(seed)
    columns = [draw.choice(COLUMNS)(draw, records) for _ in range(draw.randint(2, 5))]
    listed = [f"{sql} as c{number}" for number, sql in enumerate(columns)]
    return made(folder, ", ".join(listed), records), [f"c{n}" for n in range(len(columns))]


def bounds_and_truth(source: str, names: list[str]) -> tuple[Alone | None, int, int]:
    """What is known of who is alone in all columns, the truth, and who is in the first one."""
    spec = AuditSpec(tables=[{"source": source, "quasi_identifiers": names[:1]}])
    run = RunOptions()
    with opening(run) as engine_of:
        table = planned(spec, 0, engine_of(spec.tables[0]))
        answers = Answers()

        def alone(session: object) -> Alone | None:
            run_steps(table.plan.steps, session, answers)  # type: ignore[arg-type]
            return alone_with_others(table.plan, answers)

        known = run_within(table.engine, run, alone, lambda session, error: None, spent=0)
    [(truth,)] = duckdb.sql(
        f"select count(*) from (select 1 from '{source}' group by {', '.join(names)} "
        "having count(*) = 1)"
    ).fetchall()
    return known, truth, uniques(answers)


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_sample_is_near_the_truth(
    seed: int, windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five standard deviations, where 2.5 are printed: no chance fails. Nothing is known only where
    the windows have few who are alone, and then few are."""
    records = 1_300_000
    monkeypatch.setattr(other_columns, "LEAST_WITH_WINDOWS", 0 if windows else records + 1)
    known, truth, _ = bounds_and_truth(*drawn(seed, tmp_path, records))

    if known is None:
        assert windows
        assert truth <= 0.05 * records
    else:
        half = (known.most - known.least) / 2
        assert known.least - half <= truth <= known.most + half
