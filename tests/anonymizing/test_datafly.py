"""Datafly by SQL: the published examples, the oracle on generated tables, laws, and what is written
to a file."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asking
import duckdb
import oracle_datafly
import pyarrow
import pytest
from generated import few, fewer
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle_datafly import Asked
from published_datafly import AT_NODES, DATAFLY, asked, frequencies, levels
from pyarrow import parquet
from searches import EXERCISE, Cells, Drawn, anonymize, cells, figures, labels, questions

import kanon_sql as kanon
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.search import datafly_counts


def written(path: Path) -> list[dict[str, Any]]:
    """The records of a Parquet file."""
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def views(result: kanon.AnonymizationResult) -> list[list[dict[str, Any]]]:
    """What each view of the chain holds in a DuckDB that knows nothing else."""
    connection = duckdb.connect()
    for view in result.anonymization.views:
        connection.execute(view)
    created = connection.execute(
        "select view_name from duckdb_views() where not internal order by view_oid"
    )
    names = [name.replace('"', '""') for (name,) in created.fetchall()]
    return [connection.sql(f'from "{name}"').to_arrow_table().to_pylist() for name in names]


# --- worked examples ------------------------------------------------------------------------


@pytest.mark.parametrize("example", DATAFLY.values(), ids=DATAFLY)
def test_worked_example(example: dict[str, Any], tmp_path: Path) -> None:
    table = asking.table(example["columns"], example["rows"])
    records = asking.records(example["columns"], example["rows"])

    result = anonymize(table, example["asked"], output=tmp_path / "release.parquet")

    found = asking.part_of(figures(result), example["expected"])
    assert found == asking.near(example["expected"])
    assert (result.exit_code, result.holds) == (0, True)
    expected = oracle_datafly.anonymize(records, asked(example))
    assert expected.removed == example["removed"]
    assert cells(written(tmp_path / "release.parquet")) == cells(expected.rows)


def test_the_slide_table_by_table(tmp_path: Path) -> None:
    example = DATAFLY["slide"]
    names = list(example["asked"]["quasi_identifiers"])
    raw = tmp_path / "raw.parquet"
    parquet.write_table(asking.table(example["columns"], example["rows"]), raw)

    result = anonymize(raw, example["asked"])

    found = [Counter(tuple(row[n] for n in names) for row in rows) for rows in views(result)]
    [before, after] = map(frequencies, example["frequencies"])
    released = Counter({cells: records for cells, records in after.items() if records > 1})
    # Between the last step and the release is a view of what is suppressed.
    different = [each for each, _ in groupby(found)]
    assert (different[:2], different[-1]) == ([before, after], released)


def test_the_slides_last_table(tmp_path: Path) -> None:
    example = DATAFLY["slide"]
    table = asking.table(example["columns"], example["rows"])

    anonymize(table, example["asked"], output=tmp_path / "release.csv")

    with (tmp_path / "release.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == example["columns"]
    assert sorted(rows) == sorted(example["released"])


@pytest.mark.parametrize(("example", "node"), AT_NODES.values(), ids=AT_NODES)
def test_node_of_a_lattice(example: dict[str, Any], node: str) -> None:
    table = asking.table(example["columns"], example["rows"])

    [found] = kanon.audit(
        table,
        quasi_identifiers=example["quasi_identifiers"],
        levels=levels(example, node),
        hierarchy_faults="warn",
    ).tables

    assert found.summary.k == example["k"][node]


def test_the_chapters_digits() -> None:
    """Near and Abuah, chapter 2: five people at depths 0, 1 and 2."""
    [example] = {id(e): e for e, _ in AT_NODES.values() if e["id"] == "chapter"}.values()
    table = asking.table(example["columns"], example["rows"])
    truncated = {name: {"levels": [{"depths": [1, 2]}]} for name in example["columns"]}

    found = [
        kanon.audit(table, quasi_identifiers=truncated, levels=dict.fromkeys(truncated, depth))
        for depth in (0, 1, 2)
    ]

    assert [each.tables[0].summary.k for each in found] == [1, 1, 5]


@few
@given(questions())
def test_a_table(drawn: Drawn) -> None:
    expected = oracle_datafly.anonymize(drawn.records, drawn.asked)

    with TemporaryDirectory() as folder:
        output = Path(folder) / "release.parquet"
        result = anonymize(drawn.table, drawn.question, output=output)
        rows = written(output) if output.exists() else None

    found = asking.part_of(figures(result), expected.figures)
    assert found == asking.near(expected.figures)
    assert result.holds == expected.holds
    if expected.holds:
        assert rows is not None
        assert cells(rows) == cells(expected.rows)
    else:
        assert rows is None


@fewer
@given(questions(checks=False, people=False, bounds=("100%",)))
def test_a_table_of_which_anything_may_go(drawn: Drawn) -> None:
    """Step 4 runs wherever fewer than k are suppressed."""
    expected = oracle_datafly.anonymize(drawn.records, drawn.asked)

    result = anonymize(drawn.table, drawn.question)

    assert asking.part_of(figures(result), expected.figures) == asking.near(expected.figures)


@few
@given(questions(checks=False, people=False))
def test_a_table_whose_nodes_are_counted_at_once(drawn: Drawn) -> None:
    """As they are of a large table of which nearly every record is alone."""
    expected = oracle_datafly.anonymize(drawn.records, drawn.asked)

    with counted_at_once():
        result = anonymize(drawn.table, drawn.question)

    assert asking.part_of(figures(result), expected.figures) == asking.near(expected.figures)


@pytest.mark.parametrize("columns", [3, 9])
def test_nodes_counted_at_once_and_one_by_one(columns: int) -> None:
    """Nine columns of a thousand values each don't fit in a number of 64 bits."""
    draw = random.Random(columns)
    names = [f"column {number}" for number in range(columns)]
    table = pyarrow.table(
        {name: [int(1000 * draw.random() ** 3) for _ in range(3000)] for name in names}
    )
    question = {
        "quasi_identifiers": {
            name: {"levels": [{"width": 7}, {"width": 35}, {"width": 210}, "suppress"]}
            for name in names
        },
        "k": 3,
        "max_suppressed": 0,
    }

    one_by_one = anonymize(table, question)
    with counted_at_once():
        at_once = anonymize(table, question)

    assert figures(at_once) == asking.near(figures(one_by_one))
    assert len({step["records_violating"] for step in figures(at_once)["steps"]}) > columns


@contextmanager
def counted_at_once() -> Iterator[None]:
    """Count the nodes of any table so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datafly_counts, "LARGE", 0)
        patch.setattr(datafly_counts, "ALIKE", 1000)
        yield


@fewer
@given(questions(people=False))
def test_what_it_was_before(drawn: Drawn) -> None:
    audited = kanon.audit(
        drawn.table,
        quasi_identifiers=list(drawn.asked.hierarchies),
        sensitive=drawn.asked.sensitive,
        checks=drawn.demanded,
    )

    before = anonymize(drawn.table, drawn.question).to_dict()["anonymization"]["before"]

    [table] = asking.near(audited.to_dict()["tables"])
    assert before["summary"] == table["summary"]
    assert before["checks"] == table["checks"]


# --- laws -----------------------------------------------------------------------------------


def at_levels(drawn: Drawn, levels: Mapping[str, int]) -> kanon.TableResult:
    """The audit of the table as it would be at these levels."""
    [table] = kanon.audit(
        drawn.table,
        quasi_identifiers=drawn.question["quasi_identifiers"],
        entity=drawn.asked.entity,
        levels=levels,
        hierarchy_faults="warn",
        checks=[kanon.KAnonymity(k=drawn.asked.k)],
    ).tables
    return table


def path(result: kanon.AnonymizationResult) -> list[dict[str, int]]:
    """The nodes of the lattice that a search came by, the last one included."""
    node = dict.fromkeys(result.anonymization.levels, 0)
    nodes = [node]
    for step in result.anonymization.steps:
        node = node | {step.attribute: step.to_level}
        nodes.append(node)
    return nodes


@fewer
@given(questions(checks=False))
def test_rolling_up_is_recounting(drawn: Drawn) -> None:
    result = anonymize(drawn.table, drawn.question)

    counted = [at_levels(drawn, node).checks[0].violating_records for node in path(result)]

    anonymization = result.anonymization
    found = [step.records_violating for step in anonymization.steps]
    assert [*found, anonymization.records_violating] == counted
    assert path(result)[-1] == dict(anonymization.levels)


@fewer
@given(questions(nested=True, checks=False))
def test_generalising_never_lowers_k(drawn: Drawn) -> None:
    result = anonymize(drawn.table, drawn.question)

    found = [vars(at_levels(drawn, node).summary) for node in path(result)]

    assert all(finer["k"] <= coarser["k"] for finer, coarser in pairwise(found))
    assert all(finer["classes"] >= coarser["classes"] for finer, coarser in pairwise(found))


@fewer
@given(questions())
def test_the_chain_of_views_is_the_file(drawn: Drawn) -> None:
    with TemporaryDirectory() as folder:
        raw, output = Path(folder) / "it's raw.parquet", Path(folder) / "release.parquet"
        parquet.write_table(drawn.table, raw)
        result = anonymize(raw, drawn.question, output=output, force=True)
        assume(output.exists())

        assert cells(views(result)[-1]) == cells(written(output))


@fewer
@given(questions(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(drawn: Drawn, random: Any) -> None:
    order = random.sample(range(drawn.table.num_rows), drawn.table.num_rows)
    shuffled = replace(drawn, table=drawn.table.take(order))

    (found, rows), (expected, expected_rows) = _released(shuffled), _released(drawn)

    assert _without_views(found) == asking.near(_without_views(expected))
    assert rows == expected_rows


@fewer
@given(questions(bounds=(0, 1)), st.randoms(use_true_random=False))
def test_the_order_of_columns_changes_nothing(drawn: Drawn, random: Any) -> None:
    """But for step 4, which goes by their order; with a bound below k it doesn't run."""
    assume(drawn.asked.k > 1)
    names = random.sample(drawn.table.column_names, drawn.table.num_columns)
    shuffled = replace(drawn, table=drawn.table.select(names))

    (found, rows), (expected, _) = _released(shuffled), _released(drawn)

    assert _without_views(found) == asking.near(_without_views(expected))
    kept = oracle_datafly.anonymize(shuffled.records, drawn.asked)
    assert rows == (cells(kept.rows) if kept.holds else None)


def _released(drawn: Drawn) -> tuple[dict[str, Any], Cells | None]:
    with TemporaryDirectory() as folder:
        output = Path(folder) / "release.parquet"
        result = anonymize(drawn.table, drawn.question, output=output)
        return figures(result), cells(written(output)) if output.exists() else None


def _without_views(figures: dict[str, Any]) -> dict[str, Any]:
    """What may be compared of two runs: not their files, not how they name their tables, and not
    the order of columns."""
    untouched = figures["untouched"]
    kept = {key: value for key, value in figures.items() if key not in ("views", "release")}
    return kept | {"untouched": untouched | {"columns": sorted(untouched["columns"])}}


@fewer
@given(questions(people=False))
def test_the_release_is_what_was_promised(drawn: Drawn) -> None:
    """A release that is written has every check hold, and is found so by an audit of its own."""
    with TemporaryDirectory() as folder:
        output = Path(folder) / "release.parquet"
        result = anonymize(drawn.table, drawn.question, output=output)
        assume(output.exists())
        again = kanon.audit(
            output,
            quasi_identifiers=list(drawn.asked.hierarchies),
            sensitive=drawn.asked.sensitive,
            checks=drawn.demanded,
        )

    assert again.holds
    [table], [found] = again.tables, result.tables
    assert vars(found.summary) == asking.near(vars(table.summary))
    assert [check.to_dict() for check in found.checks] == asking.near(
        [check.to_dict() for check in table.checks]
    )


def exercise(records: int) -> tuple[Path, list[dict[str, Any]]]:
    path = EXERCISE / f"db_{records}.csv"
    if not path.is_file():
        pytest.skip(
            f"datafly/{path.name} is not here; put it beside the checkout in shared/data, or name "
            "its folder in KANON_SQL_DATA"
        )
    with path.open(newline="", encoding="utf-8") as file:
        return path, list(csv.DictReader(file))


@pytest.mark.parametrize("options", [{"k": 2}, {"k": 5, "max_suppressed": "1%"}], ids=str)
@pytest.mark.parametrize("records", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_exercise(records: int, options: dict[str, Any], tmp_path: Path) -> None:
    """Dado1513, python-datafly-to-complete: the hierarchy of ages is not nested, and cities have
    two parents."""
    path, rows = exercise(records)
    names = {name: f"{name}_generalization" for name in ("age", "city_birth", "zip_code")}
    stated = {"sensitive": ["disease"], "identifiers": ["id"], **options}
    hierarchies = {name: labels(file) for name, file in names.items()}
    expected = oracle_datafly.anonymize(
        rows, Asked(hierarchies=hierarchies, listed=list(names), **stated)
    )

    result = anonymize(
        path,
        {
            "quasi_identifiers": {
                name: {"hierarchy": str(EXERCISE / f"{file}.csv")} for name, file in names.items()
            },
            "hierarchy_faults": "warn",
            **stated,
        },
        output=tmp_path / "release.parquet",
    )

    found = asking.part_of(figures(result), expected.figures)
    assert found == asking.near(expected.figures)
    assert cells(written(tmp_path / "release.parquet")) == cells(expected.rows)


# --- files ----------------------------------------------------------------------------------

PEOPLE_OF_TWO_TOWNS = asking.table(
    ["name", "born", "zip", "paid", "diagnosis", "since"],
    [
        ("Ann", 1960, "02138", Decimal("10.50"), "flu", date(2025, 1, 31)),
        ("Bob", 1961, "02139", Decimal("0.10"), "cold, mild", None),
        ("Cid", 1970, "02141", None, None, date(2025, 2, 1)),
        ("Dee", 1970, "02142", Decimal("7.00"), 'a "cold"', date(2025, 2, 2)),
    ],
)
TWO_TOWNS: dict[str, Any] = {
    "quasi_identifiers": {
        "born": {"levels": [{"width": 10}]},
        "zip": {"hierarchy": {z: [z[:4] + "*"] for z in ("02138", "02139", "02141", "02142")}},
    },
    "identifiers": ["name"],
    "k": 2,
    "max_suppressed": 0,
}
IN_VAIN: dict[str, Any] = {"quasi_identifiers": {"q": {"hierarchy": {"x": ["x"], "y": ["y"]}}}}


def test_the_columns_that_are_no_quasi_identifiers_pass_through(tmp_path: Path) -> None:
    output = tmp_path / "release.parquet"

    result = anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=output)

    release = parquet.read_table(output)
    assert release.column_names == ["born", "zip", "paid", "diagnosis", "since"]
    for name in ("paid", "diagnosis", "since"):
        assert release.schema.field(name).type == PEOPLE_OF_TWO_TOWNS.schema.field(name).type
    assert cells(release.to_pylist()) == Counter(
        [
            ("[1960,1970)", "0213*", "10.50", "flu", "2025-01-31"),
            ("[1960,1970)", "0213*", "0.10", "cold, mild", None),
            ("[1970,1980)", "0214*", None, None, "2025-02-01"),
            ("[1970,1980)", "0214*", "7.00", 'a "cold"', "2025-02-02"),
        ]
    )
    found = result.anonymization.release
    assert found is not None
    assert (found.path, found.records, found.columns) == (str(output), 4, 5)


def test_a_quasi_identifier_at_level_0_keeps_its_type(tmp_path: Path) -> None:
    output = tmp_path / "release.parquet"
    table = asking.table(["q", "r"], [(1, "x"), (1, "x"), (2, "y"), (2, "y")])

    anonymize(table, {"quasi_identifiers": ["q", "r"], "k": 2}, output=output)

    assert parquet.read_table(output).schema.field("q").type == pyarrow.int64()


def test_text_is_written_as_csv_reads_it(tmp_path: Path) -> None:
    output = tmp_path / "release.csv"

    anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=output)

    header, *lines = output.read_text(encoding="utf-8").splitlines()
    assert header == "born,zip,paid,diagnosis,since"
    assert sorted(lines) == [
        '"[1960,1970)",0213*,0.10,"cold, mild",',
        '"[1960,1970)",0213*,10.50,flu,2025-01-31',
        '"[1970,1980)",0214*,,,2025-02-01',
        '"[1970,1980)",0214*,7.00,"a ""cold""",2025-02-02',
    ]


def test_a_csv_stays_text(tmp_path: Path) -> None:
    raw, output = tmp_path / "raw.csv", tmp_path / "release.csv"
    raw.write_text("zip,code\n02138,01\n02138,1.0\n2138,NA\n2138,\n", encoding="utf-8")

    result = anonymize(raw, {"quasi_identifiers": ["zip"], "k": 2}, output=output)

    assert result.anonymization.classes == 2
    assert sorted(output.read_text(encoding="utf-8").splitlines()) == sorted(
        ["zip,code", "02138,01", "02138,1.0", "2138,NA", "2138,"]
    )


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_nothing_else_is_written(name: str, tmp_path: Path) -> None:
    anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=tmp_path / name)

    assert [each.name for each in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["release.csv", "release.parquet"])
def test_a_file_that_exists_is_kept(name: str, tmp_path: Path) -> None:
    output = tmp_path / name
    output.write_text("theirs", encoding="utf-8")

    with pytest.raises(kanon.KanonError) as refused:
        anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=output)
    kept = output.read_text(encoding="utf-8")
    anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=output, overwrite=True)

    assert refused.value.exit_code == 2
    assert str(output) in str(refused.value)
    assert kept == "theirs"
    assert output.read_bytes() != b"theirs"
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_data_themselves_are_never_written_over(overwrite: bool, tmp_path: Path) -> None:
    raw = tmp_path / "raw.parquet"
    parquet.write_table(PEOPLE_OF_TWO_TOWNS, raw)
    before = raw.read_bytes()

    with pytest.raises(kanon.KanonError) as refused:
        anonymize(raw, TWO_TOWNS, output=tmp_path / "." / "raw.parquet", overwrite=overwrite)

    assert refused.value.exit_code == 2
    assert raw.read_bytes() == before
    assert list(tmp_path.iterdir()) == [raw]


def test_the_data_under_another_name_are_never_written_over(tmp_path: Path) -> None:
    raw, link = tmp_path / "raw.parquet", tmp_path / "link.parquet"
    parquet.write_table(PEOPLE_OF_TWO_TOWNS, raw)
    link.symlink_to(raw)
    before = raw.read_bytes()

    with pytest.raises(kanon.KanonError):
        anonymize(raw, TWO_TOWNS, output=link, overwrite=True)

    assert raw.read_bytes() == before
    assert link.is_symlink()


@pytest.mark.parametrize("place", ["none/release.csv", "a file/release.csv", "release.xlsx", "."])
def test_a_file_that_can_t_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("theirs", encoding="utf-8")

    with pytest.raises(kanon.KanonError) as refused:
        anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS, output=tmp_path / place)

    assert refused.value.exit_code == 2
    assert [each.name for each in tmp_path.iterdir()] == ["a file"]


def test_a_release_that_fails_in_the_engine_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that is not UTF-8 is met only where the records are copied."""
    raw = tmp_path / "raw.parquet"
    parquet.write_table(PEOPLE_OF_TWO_TOWNS, raw, compression="none")
    torn = raw.read_bytes().replace(b"cold, mild", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe")
    raw.write_bytes(torn)
    output = tmp_path / "out" / "release.csv"
    output.parent.mkdir()

    try:
        result = anonymize(raw, TWO_TOWNS, output=output)
        failed = result.exit_code == 3
    except kanon.KanonError as error:
        failed = error.exit_code in (2, 3)

    assert failed
    assert list(output.parent.iterdir()) == []


def test_the_top_in_vain_writes_nothing(tmp_path: Path) -> None:
    table = asking.table(["q"], [("x",), ("x",), ("y",)])

    result = anonymize(
        table, {**IN_VAIN, "k": 2, "max_suppressed": 0}, output=tmp_path / "release.csv"
    )

    found = result.anonymization
    assert (result.exit_code, result.holds, found.reached_top) == (1, False, True)
    assert [(step.attribute, step.to_level, step.records_violating) for step in found.steps] == [
        ("q", 1, 1)
    ]
    assert (found.levels, found.suppressed, found.step4, found.k, found.classes) == (
        {"q": 1}, 0, 0, 1, 2,
    )  # fmt: skip
    assert found.release is None
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_fails_its_audit_is_written_by_force_alone(tmp_path: Path) -> None:
    """One record as `*` is a class of one."""
    table = asking.table(["q"], [("x",), ("x",), ("y",)])
    starred = {"quasi_identifiers": ["q"], "k": 2, "max_suppressed": 1, "suppressed": "star"}
    output = tmp_path / "release.csv"

    result = anonymize(table, starred, output=output)
    unforced = output.exists()
    asking_to_overwrite = anonymize(table, starred, output=output, overwrite=True)
    assert (asking_to_overwrite.exit_code, output.exists()) == (1, False)
    forced = anonymize(table, starred, output=output, force=True)

    assert (result.exit_code, result.anonymization.release, unforced) == (1, None, False)
    assert forced.exit_code == 1
    assert sorted(output.read_text(encoding="utf-8").split()) == ["*", "q", "x", "x"]
    with pytest.raises(kanon.SpecError, match=r"release\.csv exists; add overwrite=True"):
        anonymize(table, starred, output=output, force=True)


def test_step_4_may_break_a_check_that_held(tmp_path: Path) -> None:
    """The donor's last record is its only cold. The audit of the release has the last word."""
    rows = [("x", "flu"), ("x", "flu"), ("x", "a cold"), ("y", "flu")]
    table = asking.table(["q", "s"], rows)
    moved = asking.table(["q", "s"], [*rows[:2], ("x", "the cold"), rows[3]])
    demanded = {
        "quasi_identifiers": ["q"], "sensitive": ["s"], "k": 2,
        "checks": [{"l_diversity": {"l": 2, "sensitive": "s"}}],
    }  # fmt: skip

    kept = anonymize(table, demanded, output=tmp_path / "kept.csv")
    lost = anonymize(moved, demanded, output=tmp_path / "lost.csv")

    assert (kept.exit_code, kept.anonymization.step4) == (0, 1)
    assert (lost.exit_code, lost.anonymization.step4, lost.anonymization.release) == (1, 1, None)
    assert [each.name for each in tmp_path.iterdir()] == ["kept.csv"]


def test_identifiers_take_part_in_the_order_of_step_4(tmp_path: Path) -> None:
    """All columns, as they lie: the identifier is never published, and is the first of them."""
    rows = [("2", "x", "a"), ("3", "x", "b"), ("1", "x", "c"), ("9", "y", "d")]
    output = tmp_path / "release.parquet"

    anonymize(
        asking.table(["id", "q", "other"], rows),
        {"quasi_identifiers": ["q"], "identifiers": ["id"], "k": 2},
        output=output,
    )

    assert cells(written(output)) == Counter([("x", "a"), ("x", "c")])


def test_where_comes_first(tmp_path: Path) -> None:
    rows = [("x", 1), ("x", 2), ("y", 3), ("z", 0), ("w", 0)]
    output = tmp_path / "release.parquet"

    result = anonymize(
        asking.table(["q", "n"], rows),
        {"quasi_identifiers": ["q"], "k": 2, "where": "n > 0", "max_suppressed": "34%"},
        output=output,
    )

    found = result.anonymization
    assert (found.max_suppressed, found.suppressed, found.levels) == (1, 1, {"q": 0})
    assert found.before.summary.records == 3
    assert cells(written(output)) == Counter([("x", "1"), ("x", "2")])


# --- what can't be asked --------------------------------------------------------------------


def test_more_than_the_table_has() -> None:
    with pytest.raises(kanon.InputError):
        anonymize(PEOPLE_OF_TWO_TOWNS, TWO_TOWNS | {"k": 5})


def test_a_table_without_records(tmp_path: Path) -> None:
    result = anonymize(PEOPLE_OF_TWO_TOWNS.slice(0, 0), TWO_TOWNS, output=tmp_path / "release.csv")

    assert (result.status, result.exit_code, result.holds) == ("no_data", 4, False)
    assert result.anonymization.release is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", ["34%", "0.34", 0.34, "34 %"])
def test_a_share_is_a_percentage_or_a_fraction(bound: Any) -> None:
    asked = ReleaseOptions(max_suppressed=bound, algorithm="optimal", gap=bound)
    assert [asked.allowed(records=records, k=2) for records in (3, 50, 100)] == [1, 17, 34]
    assert asked.share_of_gap == 0.34


def test_a_value_that_the_hierarchy_lacks_stays_an_error() -> None:
    table = asking.table(["q"], [("x",), ("z",)])

    with pytest.raises(kanon.InputError) as refused:
        anonymize(table, {**IN_VAIN, "k": 2, "hierarchy_faults": "warn"})

    assert '1 value of "q", held by 1 record, is not in the hierarchy' in str(refused.value)
