"""What else someone may know: each column more, each quasi-identifier less, each value ruled out.

The naive reading of every question is written down here once more, in plain Python.
"""

from __future__ import annotations

import json
import math
import os
import traceback
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import asking
import duckdb
import pyarrow
import pytest
import sqlglot
from generated import KINDS, NAMES, PERSON, Filled, Kind, few, filled
from hypothesis import given
from hypothesis import strategies as st
from pages import as_markdown, as_text
from places import TESTS
from planted import BIRTHS, DIAGNOSES, INCOMES, ROW, ZIPS, people, traces
from rich.text import Text

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.engines import connect
from kanon_sql.plan.binding import bind
from kanon_sql.plan.resolve import resolve
from kanon_sql.profiling.profile_plan import ProfilePlan, as_profiled, plan_profile
from kanon_sql.question.spec import table_spec
from kanon_sql.report.words.numbers import sentence
from kanon_sql.results.profile import Elimination, KnownColumn, LackedColumn, TableProfile

# --- worked examples ------------------------------------------------------------------------

GROUP = [("20-29", "123**", sex) for sex in "FMMM"] + [("30-39", "123**", sex) for sex in "FFMM"]
"""The group of one woman and three men of the notes on linkage, and one more class beside it."""


def profiled(data: Any, **question: Any) -> TableProfile:
    [table] = kanon.profile(data, **question).tables
    return table


def test_one_column_more_singles_out_the_only_woman_of_a_group() -> None:
    data = asking.table(["age", "zip", "gender"], GROUP)

    table = profiled(data, quasi_identifiers=["age", "zip"], k=2)

    assert (table.summary.k, table.summary.uniques, table.summary.classes) == (4, 0, 2)
    assert table.attacker_knows == (
        KnownColumn(
            column="gender",
            role=None,
            identifier_like=False,
            distinct=2,
            k=1,
            uniques=1,
            newly_unique_records=1,
            records_below_k=1,
            classes=4,
            members=8,
        ),
    )


def test_ruling_out_two_values_makes_the_third_certain() -> None:
    data = asking.table(["zip", "disease"], [("02138", value) for value in "aabc"])

    table = profiled(data, quasi_identifiers="zip", sensitive="disease")

    assert table.elimination == (Elimination("disease", (1 / 2, 2 / 3, 1.0, 1.0), 2),)


def test_a_value_that_everyone_holds_is_certain_though_each_holds_another() -> None:
    rows = [("02138", person, value) for person in "pqr" for value in ("flu", person)]
    data = asking.table(["zip", "person", "disease"], rows)

    table = profiled(data, quasi_identifiers="zip", sensitive="disease", entity="person")

    assert table.elimination == (Elimination("disease", (1.0, 1.0, 1.0, 1.0), 0),)


def test_of_whom_nothing_is_known_nobody_can_be_sure_or_unsure() -> None:
    """Of two people the disease is known, of a third it is not: one of two has the flu."""
    rows = [("02138", "p", "flu"), ("02138", "q", "cold"), ("02138", "r", None)]
    data = asking.table(["zip", "person", "disease"], rows)
    asked = {"quasi_identifiers": "zip", "sensitive": "disease", "entity": "person"}

    worst = {
        nulls: profiled(data, sensitive_nulls=nulls, **asked).elimination[0].confidence[0]
        for nulls in ("value", "unknown")
    }

    assert worst == {"value": 1 / 3, "unknown": 1 / 2}


def test_outliers_are_told_from_the_rest() -> None:
    """A thousand people between 20 and 59, and four of 90 to 93 that no one is like."""
    ages = [20 + place % 40 for place in range(1000)] + [90, 91, 92, 93]
    data = pyarrow.table({"age": ages, "sex": ["F", "M"] * 502})

    table = profiled(data, quasi_identifiers=["age", "sex"])

    assert table.summary.records_below_k == 4
    assert table.without == (LackedColumn("age", 4, 1.0), LackedColumn("sex", 0, None))


@pytest.mark.parametrize(("at_the_end", "share"), [(4, 1.0), (5, 0.0)])
def test_the_outer_one_per_cent_ends_before_half_a_per_cent(at_the_end: int, share: float) -> None:
    """Of a thousand records five are half a per cent: fewer are outside, five are not."""
    ages = [90] * at_the_end + [40] * (1000 - at_the_end)
    data = pyarrow.table({"age": ages, "zip": ["02138"] * 1000})

    table = profiled(data, quasi_identifiers=["age", "zip"], k=6)

    assert table.without[0] == LackedColumn("age", at_the_end, share)


def test_text_that_wholly_spells_numbers_has_outliers_too(tmp_path: Path) -> None:
    ages = ["40"] * 990 + [""] * 9 + ["9"]
    for name, text in (("numbers", ages), ("words", ["old", *ages[1:]])):
        (tmp_path / f"{name}.csv").write_text("age,zip\n" + "".join(f"{a},1\n" for a in text))

    shares = [
        profiled(tmp_path / f"{name}.csv", quasi_identifiers=["age", "zip"])
        .without[0]
        .share_in_outer_percent
        for name in ("numbers", "words")
    ]

    assert shares == [1.0, None]


def test_dates_have_outliers() -> None:
    days = [date(2025, 1, 1 + n % 28) for n in range(999)] + [date(1931, 7, 19)]
    data = pyarrow.table({"born": days, "sex": ["F"] * 1000})

    assert profiled(data, quasi_identifiers=["born", "sex"]).without[0] == LackedColumn(
        "born", 1, 1.0
    )


# --- against a naive reading ----------------------------------------------------------------

OUTER = Fraction(5, 1000)
"""How much of the records lies outside, at either end."""
AGES = Kind(pyarrow.int64(), (1, 2, 3, 40, 41, -7))
SPELLED = Kind(pyarrow.string(), ("1", "2.5", "10", "-3", "9"))
EVERY_KIND = (*KINDS, AGES, AGES, SPELLED)


def cell(value: Any) -> Any:
    """A value as classes tell it apart: NULL is one, and so is NaN."""
    return "nan" if isinstance(value, float) and math.isnan(value) else (value,)


def grouped(records: Sequence[dict[str, Any]], columns: Sequence[str]) -> dict[Any, list[Any]]:
    groups = defaultdict(list)
    for record in records:
        groups[tuple(cell(record[column]) for column in columns)].append(record)
    return dict(groups)


def size(records: Sequence[dict[str, Any]], entity: str | None) -> int:
    return len({record[entity] for record in records}) if entity else len(records)


@dataclass(frozen=True)
class Naive:
    """What a profile is about, answered by counting on one's fingers."""

    records: list[dict[str, Any]]
    qi: list[str]
    entity: str | None
    k: int

    def smallest(self, columns: Sequence[str]) -> dict[Any, int]:
        """Everyone once, or every record, with the size of the smallest of their classes."""
        found: dict[Any, int] = {}
        for group in grouped(self.records, columns).values():
            for record in group:
                who = record[self.entity] if self.entity else id(record)
                found[who] = min(size(group, self.entity), found.get(who, len(self.records)))
        return found

    def summary(self) -> dict[str, Any]:
        sizes = [size(group, self.entity) for group in grouped(self.records, self.qi).values()]
        counted = list(self.smallest(self.qi).values())
        return {
            "records": len(self.records),
            "people": size(self.records, self.entity) if self.entity else None,
            "members": len(counted),
            "classes": len(sizes),
            "k": min(sizes),
            "uniques": counted.count(1),
            "records_below_k": sum(each < self.k for each in counted),
        }

    def knows(self, column: str, sensitive: Sequence[str]) -> dict[str, Any]:
        distinct = len(grouped(self.records, [column]))
        identifier_like = distinct / len(self.records) > 0.9
        finer = [*self.qi, column]
        sizes = [size(group, self.entity) for group in grouped(self.records, finer).values()]
        before, after = self.smallest(self.qi), self.smallest(finer)
        measured = {
            "k": min(sizes),
            "uniques": list(after.values()).count(1),
            "newly_unique_records": sum(after[who] == 1 < before[who] for who in after),
            "records_below_k": sum(each < self.k for each in after.values()),
            "classes": len(sizes),
            "members": len(after),
        }
        return {
            "column": column,
            "role": "sensitive" if column in sensitive else None,
            "identifier_like": identifier_like,
            "distinct": distinct,
            **measured,
        }

    def lacks(self, column: str, kind: Kind) -> dict[str, Any]:
        others = [each for each in self.qi if each != column]
        here, without = self.smallest(self.qi), self.smallest(others)
        leaving = {who for who in here if here[who] < self.k <= without[who]}
        outer = self._outer(column, kind)
        total = len(leaving)
        inside = len(
            {
                record[self.entity] if self.entity else id(record)
                for group in grouped(self.records, self.qi).values()
                for record in group
                if size(group, self.entity) < self.k and cell(record[column]) in (outer or ())
            }
            & leaving
        )
        share = inside / total if total and outer is not None else None
        return {"column": column, "records_leaving": total, "share_in_outer_percent": share}

    def _outer(self, column: str, kind: Kind) -> set[Any] | None:
        """The values in the outer one per cent; None where they have no order."""
        if kind.type == pyarrow.bool_():
            return None
        present = [record[column] for record in self.records if record[column] is not None]
        placed = [(place(value), cell(value)) for value in present]
        if kind.type == pyarrow.string() and any(where is None for where, _ in placed):
            return None
        finite = [(where, value) for where, value in placed if where is not None]
        least = OUTER * len(finite)
        return {
            value
            for where, value in finite
            if sum(other <= where for other, _ in finite) < least
            or sum(other >= where for other, _ in finite) < least
        } if finite else None  # fmt: skip

    def elimination(self, column: str, unknown: bool) -> dict[str, Any]:
        found: list[tuple[list[Fraction], int]] = []
        for group in grouped(self.records, self.qi).values():
            known = [r for r in group if not (unknown and r[column] is None)]
            if not known:
                continue
            parts = grouped(known, [column]).values()
            counts = sorted((size(part, self.entity) for part in parts), reverse=True)
            holders, left = size(known, self.entity), []
            for others in range(len(counts)):
                rest = holders - sum(counts[1 : others + 1])
                left.append(min(Fraction(1), Fraction(counts[0], max(rest, counts[0]))))
            certain = next(place for place, share in enumerate(left) if share == 1)
            found.append(([*left, *[Fraction(1)] * 4][:4], certain))
        worst = [float(max(shares[j] for shares, _ in found)) if found else None for j in range(4)]
        return {
            "sensitive": column,
            "confidence": worst,
            "eliminations_to_certainty": min((certain for _, certain in found), default=None),
        }


def place(value: Any) -> Any:
    """Where a value stands in the order of its column; None for what is no finite number."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


@st.composite
def asked_profiles(draw: st.DrawFn) -> tuple[Filled, tuple[Kind, ...], dict[str, Any]]:
    """A table of which some rows are there hundreds of times, and a question on it."""
    names = tuple(draw(st.lists(st.sampled_from(NAMES), min_size=6, max_size=6, unique=True)))
    kinds = (*(draw(st.sampled_from(EVERY_KIND)) for _ in names[:5]), PERSON)
    few_rows = draw(filled(names, kinds).filter(lambda table: bool(table.rows)))
    times = draw(
        st.lists(
            st.sampled_from([1, 1, 2, 3, 400]),
            min_size=len(few_rows.rows),
            max_size=len(few_rows.rows),
        )
    )
    rows = tuple(row for row, n in zip(few_rows.rows, times, strict=True) for _ in range(n))
    question = {
        "quasi_identifiers": list(names[: draw(st.integers(1, 3))]),
        "sensitive": draw(st.sampled_from([[], [names[3]], [names[3], names[4]]])),
        "entity": draw(st.sampled_from([None, names[5]])),
        "sensitive_nulls": draw(st.sampled_from(["value", "unknown"])),
        "k": draw(st.sampled_from([1, 2, 3, 5])),
    }
    return Filled(names, few_rows.types, rows), kinds, question


@few
@given(asked_profiles())
def test_it_counts_what_one_counts_on_ones_fingers(
    asked: tuple[Filled, tuple[Kind, ...], dict[str, Any]],
) -> None:
    table, kinds, question = asked
    kind = dict(zip(table.names, kinds, strict=True))
    naive = Naive(table.records, question["quasi_identifiers"], question["entity"], question["k"])
    known = [n for n in table.names if n not in (*naive.qi, naive.entity)]

    [found] = kanon.profile(table.arrow, **question).to_dict()["tables"]

    assert found["summary"] == naive.summary()
    assert sorted(found["attacker_knows"], key=lambda each: known.index(each["column"])) == [
        naive.knows(column, question["sensitive"]) for column in known
    ]
    assert found["without"] == asking.near([naive.lacks(name, kind[name]) for name in naive.qi])
    assert found["elimination"] == asking.near(
        [
            naive.elimination(name, question["sensitive_nulls"] == "unknown")
            for name in question["sensitive"]
        ]
    )


# --- what is looked at ----------------------------------------------------------------------

VISITS = pyarrow.table(
    {
        "visit": list(range(12)),
        "patient": ["p", "p", "q", "q", "r", "r", "s", "s", "t", "t", "u", "u"],
        "zip": ["02138"] * 8 + ["02139"] * 4,
        "job": ["nurse", "nurse", "clerk", "clerk"] * 2 + ["nurse"] * 4,
        "pet": ["cat", None] * 6,
        "disease": ["flu", "cold", "flu", "flu", "cold", "cold", "flu", "hiv"] + ["flu"] * 4,
        "weight": [1.5] * 12,
    }
)


def looked_at(**question: Any) -> list[str]:
    table = profiled(VISITS, **{"quasi_identifiers": "zip", **question})
    return [column.column for column in table.attacker_knows]


def test_the_worst_column_comes_first_and_what_has_another_part_not_at_all() -> None:
    assert looked_at() == ["visit", "disease", "patient", "job", "pet", "weight"]
    assert looked_at(
        sensitive="disease", identifiers="visit", entity="patient", weight="weight"
    ) == ["disease", "job", "pet"]
    assert looked_at(attacker_knows=["PET", "job"]) == ["pet", "job"]
    assert looked_at(quasi_identifiers="*") == []
    assert looked_at(quasi_identifiers="*", sensitive="pet") == ["pet"]


def test_what_has_nearly_a_value_a_record_is_flagged_with_its_figures() -> None:
    table = profiled(VISITS, quasi_identifiers="zip", attacker_knows=["visit", "job"])

    assert table.attacker_knows[0] == KnownColumn("visit", None, True, 12, 1, 12, 12, 12, 12, 12)
    assert sorted(table.sql) == [
        "classes", "kanon_private_classes", "knows_job", "knows_visit", "lacks_zip", "values"
    ]  # fmt: skip


def test_a_text_file_is_parsed_once_with_the_figures_of_a_table(tmp_path: Path) -> None:
    records = {"zip": ["1", "2"] * 15, "who": list(range(10)) * 3, "n": list(range(30))}
    values = {f"c{place}": [n % (place % 7 + 1) for n in range(30)] for place in range(4, 8)}
    data, file = pyarrow.table(records | values), tmp_path / "people.csv"
    duckdb.from_arrow(data).write_csv(str(file))

    for more in ({}, {"entity": "who"}, {"first": 20}, {"where": "n > 4", "subsets": 1}):
        asked = {"quasi_identifiers": ["zip", "c5"], "sensitive": "c6", **more}
        of_file, of_table = profiled(file, **asked), profiled(data, **asked)
        figures = ("summary", "attacker_knows", "without", "elimination", "subsets")
        assert [getattr(of_file, each) for each in figures] == [
            getattr(of_table, each) for each in figures
        ]
        parsing = [name for name, sql in of_file.sql.items() if "read_csv" in sql]
        assert parsing[-1] == "kanon_private_records"
        assert not any(name.startswith(("classes", "knows_", "lacks_")) for name in parsing)


def test_nine_tenths_are_not_yet_nearly_all() -> None:
    data = pyarrow.table({"zip": ["1"] * 10, "a": [0, 0, *range(2, 10)], "b": list(range(10))})

    assert [
        (column.column, column.identifier_like)
        for column in profiled(data, quasi_identifiers="zip").attacker_knows
    ] == [("b", True), ("a", False)]


def test_people_are_counted_where_records_are_about_them() -> None:
    table = profiled(VISITS, quasi_identifiers="zip", entity="patient", attacker_knows="pet", k=3)

    [pet] = table.attacker_knows
    assert (
        table.summary
        == kanon.profile(VISITS, quasi_identifiers="zip", entity="patient", k=3).tables[0].summary
    )
    assert (table.summary.records, table.summary.people, table.summary.k) == (12, 6, 2)
    assert table.summary.records_below_k == 2
    # Everyone has a visit with a cat and one with no pet, and counts once all the same.
    assert (pet.k, pet.classes, pet.members, pet.records_below_k) == (2, 4, 6, 2)
    assert table.to_dict()["counted"] == "people"


def test_a_filter_and_the_first_records_are_kept_to(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("zip;job\n1;a\n1;NA\n2;a\n2;a\n")
    read = {"quasi_identifiers": "zip", "delimiter": ";", "null_strings": "NA"}

    kept = [
        (table.summary.records, table.attacker_knows[0].distinct)
        for more in ({}, {"where": "zip = 2"}, {"first": 3})
        for table in [profiled(file, **read, **more)]
    ]

    assert kept == [(4, 2), (2, 1), (3, 2)]


def test_an_empty_table_has_nothing_to_tell() -> None:
    result = kanon.profile(VISITS.slice(0, 0), quasi_identifiers="zip", sensitive="disease")

    [table] = result.to_dict()["tables"]
    assert (result.status, result.exit_code) == ("no_data", 4)
    assert table["summary"] == {
        "records": 0, "people": None, "members": None, "classes": None, "k": None,
        "uniques": None, "records_below_k": None,
    }  # fmt: skip
    assert table["attacker_knows"] == table["without"] == table["elimination"] == []
    assert "no data" in str(result)


def test_of_a_spec_the_checks_are_not_asked_but_what_they_call_sensitive_is_known() -> None:
    spec = kanon.AuditSpec(
        tables=[
            kanon.TableSpec(
                source=VISITS,
                quasi_identifiers=["zip"],
                references={"gone": kanon.ReferenceSpec(source="no-such-file.parquet")},
                checks=[
                    kanon.KMap(k=5),
                    kanon.LDiversity(l=2, sensitive="Disease"),
                    kanon.KAnonymity(k=500),
                ],
            )
        ]
    )

    [table] = kanon.profile(spec, attacker_knows="disease").tables

    assert (table.status, table.sensitive) == ("measured", ("disease",))
    assert table.attacker_knows[0].role == "sensitive"


def test_what_cannot_be_compared_is_named_and_left_out() -> None:
    lists = pyarrow.array([[1]] * 12)
    data = VISITS.append_column("lists", lists).append_column("more", lists)

    result = kanon.profile(data, quasi_identifiers="zip")

    [table] = result.tables
    assert not {"lists", "more"} & {column.column for column in table.attacker_knows}
    assert table.warnings == (
        "lists, more can't be compared value by value (nested, an interval, texts of which the "
        "database treats some as equal, or not readable by this role), so they are not measured.",
    )
    assert table.warnings[0] in " ".join(str(result).split())


def test_records_of_no_one_are_refused() -> None:
    data = pyarrow.table({"zip": ["1", "1"], "person": ["p", None]})

    with pytest.raises(kanon.InputError, match='1 of 2 records have no "person"'):
        kanon.profile(data, quasi_identifiers="zip", entity="person")


def test_a_database_that_fails_is_an_error_of_its_table() -> None:
    connection = duckdb.connect()
    connection.execute(
        "create view broken as select 1 as zip, error('Rumpelstilz') as job from range(3)"
    )

    result = kanon.profile("broken", quasi_identifiers="zip", engine=connection)

    assert (result.status, result.exit_code) == ("error", 3)
    assert "the profile failed" in str(result)
    assert traces(str(result) + result.to_json()) == []


# --- what people see ------------------------------------------------------------------------

SEEN = """\
pyarrow.Table · 12 records · quasi-identifiers zip · sensitive disease

  With these quasi-identifiers, k is 4: 0 records are alone in their class, 4
  are in a class below 5 (33.3 %); there are 2 classes.

  One more column known. Records newly alone in their class, and in classes
  below 5:
    also known                           newly alone   share   below 5   k
    visit (identifier-like: 12 values)            12   100 %     100 %   1
    disease (sensitive)                            1   8.3 %     100 %   1
    job                                            0     0 %     100 %   4

  One quasi-identifier fewer. Records that would leave the classes below 5, and
  how many of them lie in its outer 1 %:
    left out   would leave   share   in its outer 1 %
    zip                  4   100 %                0 %

  How certain a sensitive value is in the worst class, after ruling out its most
  frequent other values:
    ruled out       0       1       2       3   certain after
    disease     100 %   100 %   100 %   100 %               0

  visit has nearly as many values as there are records: anyone who knows it
  finds the record. Drop it before publishing, or declare with --identifiers
  that it is not published.
  Only sensitive attributes single anyone out: anyone who knows a person's
  disease finds the record, and all else in it.
  Of the quasi-identifiers, zip costs most: without it 4 records would leave the
  classes below 5. Leave it out, or generalise it first.
  Columns are measured one at a time; an attacker who knows several singles out
  more. A small number here promises nothing about further knowledge.
"""


def seen() -> kanon.ProfileResult:
    return kanon.profile(
        VISITS,
        quasi_identifiers="zip",
        sensitive="disease",
        attacker_knows=["visit", "disease", "job"],
    )


def test_it_prints_itself() -> None:
    *lines, footer = as_text(seen()).splitlines()

    assert "\n".join(lines) + "\n" == SEEN
    assert footer.endswith("s · duckdb · 8 statements, --format json holds them")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits_whatever_the_columns_are_called(width: int) -> None:
    names = {name: f"{name} of whom nobody would think, {name}" for name in VISITS.column_names}
    data = VISITS.rename_columns([names[name] for name in VISITS.column_names])

    text = as_text(
        kanon.profile(data, quasi_identifiers=names["zip"], sensitive=names["disease"]),
        width=width,
    )

    assert max(map(len, text.splitlines())) <= width
    assert all(" ".join(names[name].split()) in " ".join(text.split()) for name in names)


def test_colours_change_no_word() -> None:
    result = seen()

    coloured = as_text(result, colour=True)

    assert "\x1b[" in coloured
    assert Text.from_ansi(coloured).plain == as_text(result)


def test_markdown_holds_the_same_figures() -> None:
    text = as_markdown(seen())

    assert "| disease (sensitive) | 1 | 8.3 % | 100 % | 1 |" in text
    assert "| visit (identifier-like: 12 values) | 12 | 100 % | 100 % | 1 |" in text
    assert sentence("one_by_one") in text


def test_the_json_is_the_contract() -> None:
    document = json.loads(seen().to_json())

    assert list(document) == ["kanon_sql", "format", "status", "tables", "seal"]
    [table] = document["tables"]
    assert list(table) == [
        "name", "engine", "status", "warnings", "quasi_identifiers", "sensitive", "entity",
        "counted", "k_threshold", "summary", "attacker_knows", "without", "elimination",
        "columns", "together", "subsets", "special_uniques", "sql",
    ]  # fmt: skip
    assert (table["k_threshold"], table["counted"], table["entity"]) == (5, "records", None)
    assert table["without"] == [
        {"column": "zip", "records_leaving": 4, "share_in_outer_percent": 0.0}
    ]
    assert table["elimination"] == [
        {
            "sensitive": "disease",
            "confidence": [1.0, 1.0, 1.0, 1.0],
            "eliminations_to_certainty": 0,
        }
    ]


@few
@given(st.lists(ROW, max_size=6), st.booleans())
def test_no_output_holds_a_value(rows: list[tuple[Any, ...]], by_person: bool) -> None:
    result = kanon.profile(
        people(rows),
        quasi_identifiers=["zip", "income", "born"],
        sensitive="diagnosis",
        entity="person" if by_person else None,
    )
    # How long it took is chance, and so are its digits.
    result = replace(result, tables=tuple(replace(table, seconds=0.0) for table in result.tables))

    forms = (str(result), repr(result), result.to_json(), as_markdown(result))
    assert traces("\n".join(forms)) == []


@pytest.mark.parametrize("asked", [{"where": "zip > 5"}, {"entity": "person"}])
def test_no_error_holds_a_value(asked: dict[str, Any]) -> None:
    data = people([(ZIPS[0], INCOMES[0], BIRTHS[0], DIAGNOSES[0], None)])

    with pytest.raises(kanon.KanonError, match="1 of 1") as refused:
        kanon.profile(data, quasi_identifiers="income", **asked)

    assert traces("".join(traceback.format_exception(refused.value))) == []


# --- the SQL --------------------------------------------------------------------------------

GOLDEN = TESTS / "golden" / "duckdb" / "profile"
CLINIC = """
create table patients as
select * from (values
    ('p1', '02138', 34, 'flu'),
    ('p1', '02138', 34, 'cold'),
    ('p2', '02138', 34, 'flu'),
    ('p3', '02139', 51, 'flu'),
    ('p3', '02139', 34, 'Flu'),
    ('p4', '0213*', null, 'cold')
) as patients (patient, zip, age, diagnosis)
"""
READ: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "knows": (
        {},
        "knows_diagnosis",
        {"records": 6, "members": 6, "classes": 5, "k": 1, "uniques": 4, "below_k": 4},
    ),
    "knows_of_people": (
        {"entity": "patient"},
        "knows_diagnosis",
        {"records": 6, "members": 6, "classes": 5, "k": 1, "uniques": 4, "below_k": 4},
    ),
    "knows_of_each_person": (
        {"entity": "patient"},
        "people_known_by_diagnosis",
        {"records": 6, "members": 4, "uniques": 3, "below_k": 3},
    ),
    "lacks": (
        {},
        "lacks_age",
        {"records": 6, "leaving": 2, "leaving_outer": 0, "placed_records": 5, "unplaced_values": 0},
    ),
    "lacks_of_people": (
        {"entity": "patient"},
        "lacks_zip",
        {"records": 6, "leaving": 1},
    ),
    "lacks_of_each_person": (
        {"entity": "patient"},
        "people_without_age",
        {"records": 6, "leaving": 0, "leaving_outer": 0},
    ),
    "elimination": (
        {},
        "elimination_diagnosis",
        {**{f"confidence_{j}": 1.0 for j in range(4)}, "eliminations": 0},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def clinic() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(CLINIC)
    return connection


def question(more: dict[str, Any]) -> dict[str, Any]:
    return {"quasi_identifiers": ["zip", "age"], "sensitive": ["diagnosis"], **more}


def planned(more: dict[str, Any], clinic: duckdb.DuckDBPyConnection) -> ProfilePlan:
    asked = as_profiled(table_spec(source="patients", **question(more)))
    return plan_profile(bind(resolve(asked, connect(clinic).table("patients"), {})), k=2)


@pytest.mark.parametrize("name", READ)
def test_the_text_is_the_one_that_was_read(name: str, clinic: duckdb.DuckDBPyConnection) -> None:
    more, step, _ = READ[name]
    file = GOLDEN / f"{name}.sql"
    plan = planned(more, clinic)
    [asked] = [
        asked
        for each in (*plan.knows, *plan.lacks, *plan.eliminations)
        for asked in (each.step, each.people)
        if asked and asked.name == step
    ]
    text = f"{asked.text('duckdb, as executed')}\n"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")

    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", READ)
def test_it_is_one_select_that_runs_as_it_stands(
    name: str, clinic: duckdb.DuckDBPyConnection
) -> None:
    sql = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    [statement] = sqlglot.parse(sql, "duckdb")

    kept = planned(READ[name][0], clinic).combinations
    clinic.execute(f"create temp table {kept.name} as {kept.sql}")
    answer = clinic.sql(sql)
    [row] = answer.fetchall()

    assert isinstance(statement, sqlglot.exp.Select)
    found = {
        column.removeprefix("kanon_"): v for column, v in zip(answer.columns, row, strict=True)
    }
    clinic.execute(f"drop table {kept.name}")
    assert {key: found[key] for key in READ[name][2]} == READ[name][2]


@pytest.mark.parametrize("name", READ)
def test_it_is_what_the_profile_ran(name: str, clinic: duckdb.DuckDBPyConnection) -> None:
    more, step, _ = READ[name]

    table = profiled("patients", engine=clinic, k=2, **question(more))

    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    assert text.endswith(f"\n\n{table.sql[step]}\n")


def test_every_file_is_asked_for() -> None:
    assert sorted(file.stem for file in GOLDEN.glob("*.sql")) == sorted(READ)


# --- the command line -----------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command line in a folder with visits and a spec for them."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)
    Path("visits.csv").write_text(
        "zip,sex,job,diagnosis\n" + "1,F,a,flu\n" * 3 + "1,M,b,flu\n1,F,c,flu\n"
    )
    Path("empty.csv").write_text("zip,sex\n")
    Path("kanon.yml").write_text(
        "tables:\n"
        "  - source: visits.csv\n"
        "    quasi_identifiers: [zip]\n"
        "    checks: [{k_anonymity: {k: 99}}]\n"
        "  - source: empty.csv\n"
        "    quasi_identifiers: [zip]\n"
    )
    Path("wildcard.yml").write_text(
        "tables:\n  - source: visits.csv\n    quasi_identifiers: [zip]\n    nulls: wildcard\n"
    )

    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["profile", *arguments], prog_name="kanon-sql")
        return (ended.value.code, *capsys.readouterr())  # type: ignore[return-value]

    return typed


def test_the_command_answers(run: Any) -> None:
    code, out, err = run("visits.csv", "--qi", "zip", "--attacker-knows", "sex,job", "--k", "4")

    assert (code, err) == (0, "")
    assert "job singles out 2 records more." in " ".join(out.split())
    assert "below 4" in out


def test_the_command_writes_json_and_markdown(run: Any) -> None:
    code, out, err = run("visits.csv", "--qi", "zip", "--format", "json")
    [table] = json.loads(out)["tables"]

    assert (code, err, table["k_threshold"]) == (0, "", 5)
    assert [column["column"] for column in table["attacker_knows"]] == ["job", "sex", "diagnosis"]

    code, out, err = run(
        "visits.csv", "--qi", "zip", "--format", "markdown", "--output", "profile.md"
    )
    assert (code, out, err) == (0, "", "profile.md written.\n")
    assert Path("profile.md").read_text().startswith("## visits.csv\n")


def test_the_command_profiles_every_table_of_a_spec(run: Any) -> None:
    code, out, err = run("kanon.yml", "--k", "2", "--format", "json")
    document = json.loads(out)

    assert (code, err, document["status"]) == (4, "", "no_data")
    assert [table["status"] for table in document["tables"]] == ["measured", "no_data"]
    assert document["tables"][0]["k_threshold"] == 2
