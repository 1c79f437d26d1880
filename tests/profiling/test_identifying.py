"""Which columns identify people: every small set, special uniques, and each column by itself.

Every figure is counted once more in plain Python, from the definitions: a set is looked at by
comparing records, a minimal sample unique by trying every smaller set.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import asking
import duckdb
import pyarrow
import pytest
from generated import KINDS, NAMES, PERSON, Filled, fewer, filled
from golden import TABLES
from hypothesis import given
from hypothesis import strategies as st
from pages import as_markdown, as_text
from places import TESTS
from real_data import DATA
from warehouses import ENGINES

import kanon_sql as kanon
from kanon_sql.cli import main
from kanon_sql.profiling.columns import meaning_of
from kanon_sql.results.profile import TableProfile

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"there are no data in {DATA}")


def profiled(data: Any, **question: Any) -> TableProfile:
    [table] = kanon.profile(data, **question).tables
    assert table.error is None, table.error
    return table


# --- the naive reading ----------------------------------------------------------------------

Record = dict[str, Any]


def cell(value: Any) -> Any:
    """A value as sets tell it apart: NULL is one, and so is NaN."""
    return "nan" if isinstance(value, float) and math.isnan(value) else (value,)


def alike(records: Sequence[Record], columns: Sequence[str]) -> list[list[Record]]:
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(cell(record[each]) for each in columns), []).append(record)
    return list(groups.values())


def naive_subset(
    records: Sequence[Record], columns: Sequence[str], entity: str | None, k: int
) -> dict[str, Any]:
    groups = alike(records, columns)
    sizes = [len({r[entity] for r in group}) if entity else len(group) for group in groups]
    small = [group for group, size in zip(groups, sizes, strict=True) if size < k]
    single = [group for group, size in zip(groups, sizes, strict=True) if size == 1]
    alone = [record for group in single for record in group]
    return {
        "columns": list(columns),
        "k": min(sizes),
        "classes": len(groups),
        "uniques": len({record[entity] for record in alone}) if entity else len(alone),
        "violating_classes": len(small),
        "violating_records": sum(map(len, small)),
        "violating_people": len({r[entity] for group in small for r in group}) if entity else None,
    }


def subsets_of(columns: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [each for n in range(1, size + 1) for each in combinations(columns, n)]


def minimal_uniques(
    records: Sequence[Record], columns: Sequence[str], size: int, nulls: str
) -> list[list[tuple[str, ...]]]:
    """Of each record the sets on which it is unique, and on no part of which it is."""

    def unique(number: int, names: Sequence[str]) -> bool:
        own = [cell(records[number][name]) for name in names]
        if nulls != "value" and (None,) in own:
            return False
        return not any(
            own == [cell(record[name]) for name in names]
            for place, record in enumerate(records)
            if place != number
        )

    found = []
    for number in range(len(records)):
        sets = [each for each in subsets_of(columns, size) if unique(number, each)]
        found.append([each for each in sets if not any(set(part) < set(each) for part in sets)])
    return found


def naive_special(
    records: Sequence[Record], columns: Sequence[str], size: int, nulls: str, fraction: float
) -> dict[str, Any]:
    found = minimal_uniques(records, columns, size, nulls)
    scores = [sum(math.factorial(len(columns) - len(each)) for each in sets) for sets in found]
    total = sum(scores)
    pairs = sum(len(group) == 2 for group in alike(records, columns))
    exponent = 1 + (8 - len(columns)) / 20
    special = [score for score in scores if score]
    in_all = math.fsum(score**-exponent for score in special)
    sizes = Counter(len(each) for sets in found for each in sets)
    of_column = {
        name: sum(
            math.factorial(len(columns) - len(each))
            for sets in found
            for each in sets
            if name in each
        )
        for name in columns
    }
    return {
        "columns": list(columns),
        "max_size": size,
        "nulls": "value" if nulls == "value" else "nobody",
        "records": len(special),
        "score": total,
        "highest": max(scores, default=0),
        "sampling_fraction": fraction,
        "dis": math.fsum(
            1 / (1 + 2 * pairs * (1 - fraction) / (fraction * score**exponent * in_all))
            for score in special
        ),
        "by_size": [{"size": n, "minimal_sample_uniques": sizes[n]} for n in sorted(sizes)],
        "contributions": {
            name: 100 * part / total if total else None for name, part in of_column.items()
        },
    }


EVERY_KIND = (*KINDS, *KINDS[:2])


@st.composite
def tables(draw: st.DrawFn, with_person: bool = False) -> Filled:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique_by=str.casefold))
    kinds = [draw(st.sampled_from(EVERY_KIND)) for _ in names]
    if with_person:
        names, kinds = [*names, "person"], [*kinds, PERSON]
    return draw(filled(tuple(names), tuple(kinds)).filter(lambda table: bool(table.rows)))


@fewer
@given(tables(), st.integers(1, 4), st.integers(1, 5))
def test_every_set_is_counted(table: Filled, size: int, k: int) -> None:
    found = profiled(table.arrow, columns=table.names, subsets=size, k=k)

    asked = subsets_of(table.names, min(size, len(table.names)))
    expected = [naive_subset(table.records, each, None, k) for each in asked]
    expected.sort(key=lambda each: -each["violating_records"])
    in_all = len(alike(table.records, table.names))
    assert [each.to_dict() for each in found.subsets or ()] == [
        {**each, "key": each["classes"] == in_all} for each in expected
    ]


@fewer
@given(tables(with_person=True), st.integers(1, 3), st.integers(1, 4))
def test_people_are_counted_once_in_every_set(table: Filled, size: int, k: int) -> None:
    *columns, person = table.names
    found = profiled(table.arrow, columns=columns, entity=person, subsets=size, k=k)

    expected = {
        tuple(each): naive_subset(table.records, each, person, k)
        for each in subsets_of(columns, min(size, len(columns)))
    }
    assert {
        each.columns: {k: v for k, v in each.to_dict().items() if k != "key"}
        for each in found.subsets or ()
    } == expected


@fewer
@given(tables(), st.data())
def test_special_uniques_are_what_the_definition_says(table: Filled, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(table.names)))
    nulls = data.draw(st.sampled_from(["value", ""]))
    fraction = data.draw(st.sampled_from([0.01, 0.3, 1.0]))
    found = profiled(
        table.arrow,
        quasi_identifiers=table.names,
        suda=size,
        sampling_fraction=fraction,
        **({"nulls": nulls} if nulls else {}),
    ).special_uniques

    expected = naive_special(table.records, table.names, size, nulls, fraction)
    assert found is not None
    assert found.to_dict() == asking.near(expected)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_database_in_which_nothing_is_kept_says_the_same(engine: str, tmp_path: Path) -> None:
    said: list[bool] = []
    with ENGINES[engine].started(tmp_path) as database:

        @fewer
        @given(tables(), st.sampled_from(["value", ""]))
        def same(table: Filled, nulls: str) -> None:
            said.append(is_same(database, table, nulls))

        same()
    # Not every database has every type and every name.
    assert said.count(True) > len(said) / 2


def is_same(database: Any, table: Filled, nulls: str) -> bool:
    """Whether the database can hold the table; what it then says must be the same as here."""
    asked: dict[str, Any] = {"columns": table.names, "subsets": 2, "suda": "all"}
    asked |= {"nulls": nulls} if nulls else {}
    try:
        database.load("people", table)
        [found] = kanon.profile("people", engine=database.url, **asked).tables
    except Exception:
        return False
    [here] = kanon.profile(table.arrow, **asked).tables
    assert found.error is None, found.error
    assert found.subsets == here.subsets
    assert found.special_uniques is not None
    assert here.special_uniques is not None
    assert found.special_uniques.to_dict() == asking.near(here.special_uniques.to_dict())
    return True


# --- worked examples ------------------------------------------------------------------------

THREE = [(2, 0, 0), (1, 3, 6), (1, 0, 0)]
"""The test of sdcMicro for SUDA2."""


def test_three_records_score_as_in_sdcmicro(tmp_path: Path) -> None:
    data = tmp_path / "three.csv"
    data.write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in THREE))

    table = profiled(
        data,
        quasi_identifiers=["a", "b", "c"],
        suda=3,
        scores=tmp_path / "scores.csv",
        show_values=True,
    )

    found = table.special_uniques
    assert found is not None
    assert (found.records, found.score, found.highest, found.dis) == (3, 8, 4, 3.0)
    assert found.contributions == {"a": 50.0, "b": 37.5, "c": 37.5}
    assert (tmp_path / "scores.csv").read_text() == "record,score\n1,2\n2,4\n3,2\n"
    assert stat.S_IMODE((tmp_path / "scores.csv").stat().st_mode) == 0o600
    assert any("DIS-SUDA is 1" in warning for warning in table.warnings)


def test_a_null_makes_nobody_special_unless_it_is_a_value(tmp_path: Path) -> None:
    rows = [(1, 1, 1), (1, 1, 2), (1, 2, 1), (None, 2, 1), (2, 1, 1), (2, 1, 1)]
    data = tmp_path / "six.csv"
    cells = [["" if each is None else str(each) for each in row] for row in rows]
    data.write_text("a,b,c\n" + "".join(",".join(each) + "\n" for each in cells))
    scores = tmp_path / "scores.csv"
    asked = {"quasi_identifiers": ["a", "b", "c"], "suda": 3, "scores": scores, "overwrite": True}

    profiled(data, show_values=True, **asked)
    usual = scores.read_text()
    profiled(data, show_values=True, nulls="value", **asked)

    assert usual == "record,score\n1,1\n2,2\n3,1\n"
    assert scores.read_text() == "record,score\n1,1\n2,2\n3,1\n4,2\n"


FIVE = ["urbrur", "roof", "walls", "water", "sex"]
SEVEN = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
ADULT = [
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
    *("occupation", "salary-class"),
]
PUBLISHED = [
    ("peers/sdc_testdata.csv", FIVE, 5, 12, 19, [0, 0, 7, 5, 0], 0.1391105239),
    ("peers/sdc_testdata.csv", FIVE, 3, 7, 14, [0, 0, 7], 0.0410041842),
    ("peers/sdc_testdata.csv", SEVEN, 7, 157, 4890, [1, 11, 94, 86, 35, 7, 1], 9.8310926537),
    ("peers/sdc_testdata.csv", SEVEN, 3, 76, 4296, [1, 11, 94], 0.8002753404),
    ("peers/sdc_testdata2.csv", SEVEN, 7, 93, 7321, [2, 18, 120, 114, 78, 1, 0], 93),
    ("arx_adult/adult_subset.csv", ADULT[:4], 4, 321, 517, [2, 119, 217, 50], 6.2585243717),
    ("arx_adult/adult.csv", ADULT, 3, 6240, 16_869_600, [2, 1204, 14890], None),
]
"""What sdcMicro 5.8.1 and ARX say of these tables: records, score, uniques by size, DIS-SUDA."""


@needs_data
@pytest.mark.parametrize(("file", "columns", "size", "records", "score", "sizes", "dis"), PUBLISHED)
def test_the_published_figures_are_met(
    file: str,
    columns: list[str],
    size: int,
    records: int,
    score: int,
    sizes: list[int],
    dis: float | None,
) -> None:
    found = profiled(DATA / file, columns=columns, suda=size).special_uniques

    assert found is not None
    assert (found.records, found.score) == (records, score)
    assert [(each.size, each.minimal_sample_uniques) for each in found.by_size] == [
        (place, count) for place, count in enumerate(sizes, start=1) if count
    ]
    if dis is not None:
        assert found.dis == pytest.approx(dis, abs=1e-9)


@needs_data
def test_the_unsafe_cells_of_a_survey_are_found() -> None:
    found = profiled(DATA / "peers/sdc_testdata.csv", columns=SEVEN, subsets=2, k=5)

    assert {each.columns: each.violating_classes for each in found.subsets or () if each.k < 5} == {
        ("relat",): 1,
        ("urbrur", "roof"): 1,
        ("urbrur", "electcon"): 1,
        ("urbrur", "relat"): 1,
        ("roof", "water"): 3,
        ("roof", "electcon"): 1,
        ("roof", "relat"): 9,
        ("walls", "relat"): 5,
        ("water", "electcon"): 3,
        ("water", "relat"): 14,
        ("electcon", "relat"): 3,
        ("relat", "sex"): 4,
    }


# --- laws -----------------------------------------------------------------------------------


@fewer
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_records_changes_nothing(table: Filled, chance: Any) -> None:
    rows = list(table.rows)
    chance.shuffle(rows)
    shuffled = Filled(table.names, table.types, tuple(rows))
    asked: dict[str, Any] = {"columns": table.names, "subsets": 3, "suda": "all"}

    one, other = profiled(table.arrow, **asked), profiled(shuffled.arrow, **asked)

    assert (one.subsets, one.special_uniques) == (other.subsets, other.special_uniques)


@fewer
@given(tables())
def test_no_set_is_less_anonymous_than_the_sets_around_it(table: Filled) -> None:
    found = profiled(table.arrow, columns=table.names, subsets=4).subsets or ()
    by_columns = {frozenset(each.columns): each for each in found}

    for columns, each in by_columns.items():
        for wider in (other for names, other in by_columns.items() if columns < names):
            assert each.k >= wider.k
            assert each.uniques <= wider.uniques
            assert each.violating_records <= wider.violating_records


# --- each column by itself ------------------------------------------------------------------


@fewer
@given(tables())
def test_each_column_is_counted_by_itself(table: Filled) -> None:
    found = profiled(table.arrow)

    n = len(table.rows)
    for each in found.columns or ():
        groups = [len(group) for group in alike(table.records, [each.column])]
        pairs = sum(size * (size - 1) for size in groups)
        assert each.distinct == len(groups)
        assert each.nulls == sum(record[each.column] is None for record in table.records)
        assert each.largest_share == max(groups) / n
        assert each.alone == groups.count(1)
        assert each.distinction == len(groups) / n
        assert each.separation == (pytest.approx(1 - pairs / (n * (n - 1))) if n > 1 else None)


PEOPLE = pyarrow.table(
    {
        "patient_id": [f"P{n}" for n in range(60)],
        "E-Mail": [f"p{n}@example.org" for n in range(60)],
        "birthDate": [f"19{50 + n % 30}-01-0{1 + n % 2}" for n in range(60)],
        "PLZ": [f"0213{n % 7}" for n in range(60)],
        "sexe": ["F", "M"] * 30,
        "diagnosis": ["flu", "HIV", "asthma"] * 20,
        "remarks": [f"seen on day {n}, told to come back after a week" for n in range(60)],
        "x27": [n % 4 for n in range(60)],
        "token": [str(n * 7919) for n in range(60)],
        "country": ["PT"] * 60,
        "tags": [["a"], ["b"]] * 30,
    }
)


def test_columns_are_recognised_by_name_and_by_value() -> None:
    found = {each.column: each for each in profiled(PEOPLE).columns or ()}

    assert {name: each.looks_like for name, each in found.items()} == {
        "patient_id": "identifier",
        "E-Mail": "identifier",
        "birthDate": "quasi_identifier",
        "PLZ": "quasi_identifier",
        "sexe": "quasi_identifier",
        "diagnosis": "sensitive",
        "remarks": "free_text",
        "x27": "undecided",
        "token": "identifier",
        "country": "constant",
        "tags": "nested",
    }
    assert found["tags"].distinct is None
    ranks = {name: each.rank for name, each in found.items() if each.rank}
    assert sorted(ranks) == ["PLZ", "birthDate", "sexe", "x27"]
    assert sorted(ranks.values()) == [1, 2, 3, 4]


def test_labels_are_no_free_text_however_long(tmp_path: Path) -> None:
    """A quasi-identifier that is taken for text is in no set that is asked."""
    labels = ["Upper secondary education, general", "Tertiary education of two years or more"]
    reply = ["Strongly agree with it as it stands", "Neither agree nor disagree with it"]
    table = pyarrow.table(
        {
            "education": labels * 30,
            "q7": reply * 30,
            "remarks": [f"seen on day {n}, told to come back after a week" for n in range(60)],
        }
    )

    found = profiled(table, subsets=1)

    assert [each.looks_like for each in found.columns or ()] == [
        *("quasi_identifier", "undecided", "free_text"),
    ]
    assert {each.columns for each in found.subsets or ()} == {("education",), ("q7",)}


@pytest.mark.parametrize("as_text", [False, True])
def test_a_date_that_nobody_else_has_is_no_number_of_a_person(as_text: bool) -> None:
    """A date of birth is, and as an identifier no audit would count it."""
    born = pyarrow.array(range(-5000, -4900), pyarrow.int32()).cast(pyarrow.date32())

    found = profiled(pyarrow.table({"x27": born.cast(pyarrow.string()) if as_text else born}))

    [column] = found.columns or ()
    assert (column.looks_like, column.why) == (
        "undecided",
        "a date, different in every record: anyone who knows it finds the record",
    )


def test_why_a_database_can_not_compare_the_values_of_a_column_is_said() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table people (zip text, shoe)")
        database.executemany("insert into people values ('02138', ?)", [(1,), ("1",), (b"1",)])
        database.commit()

        shoe = {each.column: each for each in profiled("people", engine=database).columns or ()}[
            "shoe"
        ]

    assert shoe.distinct is None
    assert shoe.why.startswith("holds values of several types (text, numbers, bytes)")
    assert "Audit a view with" in shoe.why


def test_of_one_record_every_column_singles_it_out() -> None:
    one = {"zip": ["02138"], "x27": [1], "empty": pyarrow.nulls(1, pyarrow.string())}

    found = profiled(pyarrow.table(one), subsets=2)

    looks = {each.column: each.looks_like for each in found.columns or ()}
    assert looks == {"zip": "quasi_identifier", "x27": "undecided", "empty": "constant"}
    assert [(each.columns, each.k, each.uniques) for each in found.subsets or ()] == [
        *((("zip",), 1, 1), (("x27",), 1, 1), (("zip", "x27"), 1, 1)),
    ]


@needs_data
def test_what_candidates_add_is_counted_one_after_the_other() -> None:
    table = DATA / "peers/healthcare-dataset-stroke-data.csv"
    found = profiled(table)

    ranked = sorted((each for each in found.columns or () if each.rank), key=lambda e: e.rank or 0)
    first = [each.column for each in ranked[:3]]
    alone = [profiled(table, columns=first[:n], subsets=n).together for n in range(1, 4)]
    uniques = [each.uniques for each in alone if each]
    assert [each.adds for each in ranked[:3]] == [
        after - before for before, after in zip([0, *uniques], uniques, strict=False)
    ]


def test_the_three_columns_that_single_out_most_are_found() -> None:
    """Every set of three is tried: greedily, the column that is best alone would come first."""
    rng = random.Random(7)
    columns: dict[str, list[int]] = {
        # Best alone, and of no use with others.
        "lure": [*range(40), *[0] * 460],
        **{name: [rng.randrange(9) for _ in range(500)] for name in "abc"},
        **{f"flag_{n}": [rng.randrange(2) for _ in range(500)] for n in range(4)},
    }
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    result = kanon.profile(pyarrow.table(columns))
    found = result.tables[0]

    def unique(names: Sequence[str]) -> int:
        return sum(len(group) == 1 for group in alike(records, names))

    best = max(combinations(columns, 3), key=unique)
    ranked = sorted((each for each in found.columns or () if each.rank), key=lambda e: e.rank or 0)
    first = [each.column for each in ranked[:3]]
    assert set(first) == set(best)
    assert sum(each.adds or 0 for each in ranked[:3]) == unique(best) > unique(["lure"]) + 200
    for each in ranked[3:]:
        assert each.adds == unique([*first, each.column]) - unique(best)
    text = " ".join(as_text(result).split())
    assert text.index("The three columns that together single out most records") < text.index(
        "Each further column, added to these three:"
    )


def test_sets_are_shown_in_the_order_that_their_title_names() -> None:
    records = {"a": [n % 7 for n in range(60)], "b": [n % 5 for n in range(60)], "c": [0, 1] * 30}
    found = kanon.profile(pyarrow.table(records), subsets=3, columns=["a", "b", "c"], k=9)
    lines = as_text(found).partition("Sets of at most")[2].splitlines()
    below = [int(re.split(r"\s{2,}", line.strip())[1]) for line in lines[2:] if "%" in line]
    assert len(below) > 3
    assert below == sorted(below, reverse=True)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Geburtsdatum", "quasi_identifier"),
        ("date_naissance", "quasi_identifier"),
        ("CODICE_FISCALE", "identifier"),
        ("correo electrónico", "identifier"),
        ("personnummer", "identifier"),
        ("Postleitzahl", "quasi_identifier"),
        ("Größe", "quasi_identifier"),
        ("diagnóstico", "sensitive"),
        ("lastName", "identifier"),
        ("hospital_nr", "identifier"),
        ("cause_of_death", "sensitive"),
        ("household_size", "quasi_identifier"),
        ("household_weights", "undecided"),
        ("samplingWeight", "undecided"),
        ("fnlwgt", "undecided"),
        ("black", "quasi_identifier"),
        ("female", "quasi_identifier"),
        ("married", "quasi_identifier"),
        ("divorce", "quasi_identifier"),
        ("kids", "quasi_identifier"),
        ("educ", "quasi_identifier"),
        ("Kinderzahl", "quasi_identifier"),
        ("niveau_etude", "quasi_identifier"),
        ("estadoCivil", "quasi_identifier"),
        ("health", "sensitive"),
        ("vote", "sensitive"),
        ("religious", "sensitive"),
        ("Gesundheitszustand", "sensitive"),
        ("opinion_politique", "sensitive"),
        ("partido", "sensitive"),
        ("year", "undecided"),
        ("x", None),
        ("", None),
        ("   ", None),
    ],
)
def test_names_are_known_in_several_languages(name: str, role: str | None) -> None:
    found = meaning_of(name)

    assert (found.role if found else None) == role


def test_of_several_words_the_most_count() -> None:
    assert [meaning_of(name).label for name in ("birth_country", "birth_weight", "country")] == [  # type: ignore[union-attr]
        *("origin", "body measurement", "place"),
    ]


# --- what can't be asked --------------------------------------------------------------------


def test_too_many_sets_are_refused_with_their_number() -> None:
    wide = pyarrow.table({f"c{n}": [1, 2] for n in range(100)})

    with pytest.raises(kanon.SpecError, match="166,750 sets of at most 3, and no more than 5,000"):
        kanon.profile(wide, columns=wide.column_names, subsets=3)
    with pytest.raises(kanon.SpecError, match="sets of at most 12"):
        kanon.profile(wide, quasi_identifiers=wide.column_names[:13], suda=12)


def test_where_nobody_may_be_singled_out_sets_are_refused() -> None:
    nothing = pyarrow.table({"country": ["PT"] * 3, "note": [None] * 3})

    assert profiled(nothing).together is None
    with pytest.raises(kanon.SpecError, match="looks like one that singles out"):
        kanon.profile(nothing, subsets=1)


def test_a_table_without_records_has_nothing_to_tell() -> None:
    empty = pyarrow.table({"a": pyarrow.array([], pyarrow.int64())})

    result = kanon.profile(empty, subsets=1)

    assert (result.status, result.exit_code) == ("no_data", 4)


def test_a_table_of_many_columns_is_profiled() -> None:
    wide = pyarrow.table({f"c{n}": [n, n + 1, n + 1] for n in range(200)})

    found = profiled(wide)

    assert len(found.columns or ()) == 200
    assert sum(each.rank is not None for each in found.columns or ()) == 30


# --- the SQL --------------------------------------------------------------------------------

GOLDEN = TESTS / "golden" / "duckdb" / "subsets"
KEPT = "kanon_private_"


@pytest.fixture
def clinic() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        yield connection


def test_the_texts_are_those_that_were_read(clinic: duckdb.DuckDBPyConnection) -> None:
    asked: dict[str, Any] = {"columns": ["zip", "age", "diagnosis"], "subsets": 2, "suda": 2}

    ran = profiled("patients", engine=clinic, k=2, **asked).sql

    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        for place, (name, sql) in enumerate(ran.items(), start=1):
            (GOLDEN / f"{place:02}_{name}.sql").write_text(f"{sql}\n", encoding="utf-8")
    read = {file.stem[3:]: file.read_text(encoding="utf-8") for file in sorted(GOLDEN.iterdir())}
    assert {name: f"{sql}\n" for name, sql in ran.items()} == read


def test_they_run_one_after_the_other_as_they_stand(clinic: duckdb.DuckDBPyConnection) -> None:
    answers = {}
    for file in sorted(GOLDEN.iterdir()):
        name, sql = file.stem[3:], file.read_text(encoding="utf-8")
        if name.startswith(KEPT):
            clinic.execute(f"create temp table {name} as {sql}")
        else:
            answers[name] = clinic.sql(sql).fetchall()

    # p4 is alone by zip, and p3 by how a diagnosis is spelled.
    by_set = dict(answers["special_uniques_by_set"])
    assert {number: count for number, count in by_set.items() if number <= 3} == {1: 1, 3: 1}
    assert sum(records for *_, records in answers["special_uniques"]) >= 2


# --- what people and programs read ----------------------------------------------------------


def test_the_pages_tell_all_of_it() -> None:
    table = kanon.profile(
        pyarrow.table({"zip": ["1", "1", "2", "2", "3"], "age": [1, 2, 3, 3, 4]}),
        columns=["zip", "age"],
        subsets=2,
        suda=2,
    )

    for text in (as_text(table), as_markdown(table), table._repr_html_()):
        for said in ("zip", "newly unique", "minimal sample uniques", "not a probability", "a key"):
            assert said in " ".join(text.split())


def test_one_column_is_told_as_one() -> None:
    table = {"zip": ["1", "1", "2"], "country": ["PT"] * 3}

    one = " ".join(as_text(kanon.profile(table_of(table), columns="zip", suda=1)).split())
    alike = as_text(kanon.profile(table_of(table), columns="country", subsets=1, suda=1))
    both = as_text(kanon.profile(table_of({**table, "zip": ["1"] * 3}), columns=["zip", "country"]))

    assert "At most 1 column singles out 1 record (33.3 %)" in one
    assert "a key" not in alike
    assert "Both candidates together: k is 3, and no record is unique." in both


def table_of(columns: dict[str, list[Any]]) -> pyarrow.Table:
    return pyarrow.table(columns)


def test_a_long_reason_goes_on_below_itself() -> None:
    events = {
        "zip": [f"0{n % 7}" for n in range(60)],
        "admitted": [n % 9 for n in range(60)],
        "cholesterol": [n / 7 for n in range(60)],
    }

    told = as_text(kanon.profile(table_of(events))).split("\n\n")[1].splitlines()[1:]

    place = told[0].index("looks like")
    assert len({len(line) for line in told if line.endswith(("%", "alone"))}) == 1
    below = [line for line in told if not line[:place].strip()]
    assert below
    assert all(line[place] != " " for line in told)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["profile", *arguments], prog_name="kanon-sql")
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "three.csv"
    path.write_text("a,b,c\n" + "".join(f"{a},{b},{c}\n" for a, b, c in THREE))
    return path


def test_the_command_finds_sets_and_special_uniques(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    code, out, _ = run(
        capsys, str(file), "--columns", "a,b,c", "--subsets", "2", "--suda", "all", "--k", "2",
        "--format", "json",
    )  # fmt: skip
    [table] = json.loads(out)["tables"]

    assert code == 0
    assert table["subsets"][0] == {
        "columns": ["a", "b"],
        "k": 1,
        "classes": 3,
        "uniques": 3,
        "violating_classes": 3,
        "violating_records": 3,
        "violating_people": None,
        "key": True,
    }
    assert len(table["subsets"]) == 6
    assert table["special_uniques"]["max_size"] == 3
    assert table["special_uniques"]["score"] == 8


def test_the_command_needs_no_quasi_identifiers(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    code, out, _ = run(capsys, str(file))

    assert code == 0
    assert "no quasi-identifiers chosen yet" in " ".join(out.split())


def test_scores_overwrite_nothing_unasked(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    there = tmp_path / "scores.csv"
    there.write_text("mine")
    asked = [str(file), "--columns", "a,b,c", "--suda", "3", "--show-values"]

    assert run(capsys, *asked, "--scores", str(there))[0] == 2
    assert there.read_text() == "mine"
    assert run(capsys, *asked, "--scores", str(file), "--overwrite")[0] == 2
    assert run(capsys, *asked, "--scores", str(there), "--overwrite")[0] == 0
    assert there.read_text().startswith("record,score\n")
    both = str(tmp_path / "both.json")
    assert run(capsys, *asked, "--scores", both, "--output", both)[0] == 2
