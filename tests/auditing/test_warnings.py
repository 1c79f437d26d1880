"""What an audit warns of: columns without a role that may point at people."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow
import pytest

import kanon_sql as kanon

ABOUT = "about as many different values as there are records (an approximate count)"


def warnings(data: pyarrow.Table, **question: object) -> list[str]:
    """What is said of each column; test_other_columns.py has what they add together."""
    [table] = kanon.audit(data, ["zip"], **question).tables  # type: ignore[arg-type]
    return [said for said in table.warnings if not said.startswith("With ")]


def test_a_column_that_differs_in_every_record_is_warned_of() -> None:
    data = pyarrow.table({"zip": ["1"] * 4, "code": [1, 2, 3, 4], "pet": ["cat", "dog"] * 2})

    assert warnings(data) == [
        f'"code" has {ABOUT}, so it may identify people by itself. If it is published, it is a '
        "quasi-identifier; if not, declare it as an identifier or as the entity."
    ]
    assert warnings(data, identifiers="code") == []


def test_columns_of_few_values_are_not_warned_of() -> None:
    data = pyarrow.table(
        {"zip": ["1"] * 40, "pet": ["cat", "dog"] * 20, "half": [*range(20)] * 2, "no": [None] * 40}
    )

    assert warnings(data) == []


def test_all_records_are_counted_and_not_the_first_alone() -> None:
    several = 30_000
    data = pyarrow.table(
        {
            "zip": ["1"] * several,
            "comes_again": [each % 10_000 for each in range(several)],
            "code": [max(each, 100) for each in range(several)],
        }
    )

    [said] = warnings(data)

    assert said.startswith(f'"code" has {ABOUT}')


def test_only_the_records_that_are_looked_at_count() -> None:
    data = pyarrow.table({"zip": ["1"] * 60, "code": [*range(30), *range(30)], "half": [0, 1] * 30})

    assert warnings(data) == []
    [said] = warnings(data.append_column("place", [[*range(60)]]), where="place < 30",
                      identifiers="place")  # fmt: skip
    assert said.startswith(f'"code" has {ABOUT}')


def test_with_an_entity_values_are_compared_with_people() -> None:
    people = [number // 4 for number in range(120)]
    data = pyarrow.table(
        {
            "zip": ["1"] * 120,
            "person": people,
            "tax": [f"t{n}" for n in people],
            "ward": [n % 9 for n in people],
        }
    )

    [said] = warnings(data, entity="person")

    assert said.startswith(
        '"tax" has at least about as many different values as there are people (an approximate '
        "count), so it may"
    )


def test_many_columns_have_one_sentence() -> None:
    data = pyarrow.table(
        {"zip": ["1"] * 50, **{f"amount {n}": [50 * n + m for m in range(50)] for n in range(60)}}
    )

    [said] = warnings(data)

    assert said.startswith(
        '"amount 0", "amount 1", "amount 2", "amount 3", "amount 4" and 55 more columns each have '
        f"{ABOUT}, so each may identify people by itself"
    )


def test_they_are_counted_in_one_statement() -> None:
    data = pyarrow.table({"zip": ["1"] * 3, **{f"c{n}": [1, 2, 3] for n in range(200)}})

    [table] = kanon.audit(data, ["zip"]).tables

    assert list(table.sql) == ["classes", "other_columns", "unassigned"]
    assert table.sql["unassigned"].count("approx_count_distinct(") == 200


def test_every_type_of_column_is_counted(tmp_path: Path) -> None:
    """Also those that no group can be made of; a union is refused wherever it is read."""
    import duckdb

    path = tmp_path / "types.parquet"
    with duckdb.connect() as database:
        database.execute(
            f"""copy (
                select
                    '1' as zip, range as a, range::double as b, range::varchar as c,
                    range::varchar::blob as d, [range] as e, {{'x': range}} as f,
                    map {{range: range}} as g, date '2000-01-01' + range::int as h,
                    timestamp '2000-01-01' + to_days(range::int) as i,
                    interval (range) days as j, range::decimal(20, 3) as k, uuid() as l,
                    time '00:00' + to_seconds(range) as m, range::hugeint as n,
                    repeat(chr(49), range::int + 1)::bit as o, '{{"a": 1}}'::json as p
                from range(30)
            ) to '{path}'"""
        )

    [table] = kanon.audit(path, ["zip"]).tables

    assert "unassigned" in table.sql
    assert any("each have about as many" in each for each in table.warnings)


def test_a_database_without_approximate_counts_is_not_asked(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as database:
        database.execute("create table people (zip text, code int)")
        database.executemany("insert into people values ('1', ?)", [(n,) for n in range(9)])
        database.commit()
        [table] = kanon.audit("people", ["zip"], engine=database).tables

    assert [said[:4] for said in table.warnings] == ["With"]
    assert "unassigned" not in table.sql


@pytest.mark.parametrize("seed", range(15))
def test_what_is_clear_is_found_and_nothing_else(seed: int) -> None:
    """All values different, or at most half of them: an approximate count tells these apart."""
    draw = random.Random(seed)
    records = draw.choice([30, 500, 3_000])
    distinct = {f"c{place}": draw.choice([1, records // 2, records]) for place in range(3)}
    columns = {
        name: draw.sample([each % values for each in range(records)], records)
        for name, values in distinct.items()
    }
    data = pyarrow.table({"zip": ["1"] * records, **columns})

    found = [name for said in warnings(data) for name in re.findall('^"(..)"', said)]

    assert found == [name for name, values in distinct.items() if values == records]


def test_values_that_classes_give_away_are_warned_of_above_a_twentieth() -> None:
    rows = [("a", f"s{n}") for n in range(95)] + [("b", "s0")] * 5
    zips, values = zip(*rows, strict=True)
    data = pyarrow.table({"zip": zips, "s": values})
    away = "The s of 6 records (6.0 %) is certain: their class has no other. A check of l-diversity"

    assert not warnings(data, sensitive="s")
    more = pyarrow.concat_tables([data, pyarrow.table({"zip": ["b"], "s": ["s0"]})]).slice(1)
    assert [each[: len(away)] for each in warnings(more, sensitive="s")] == [away]
    assert not warnings(more, sensitive="s", checks=kanon.Homogeneity(sensitive="s"))
    [diverse] = warnings(more, sensitive="s", checks=kanon.LDiversity(sensitive="s", l=2))
    assert diverse == away.removesuffix(" A check of l-diversity")


def test_of_people_the_share_is_of_people() -> None:
    rows = {"zip": ["a", "a", "b", "b", "b"], "s": [*"xyzzx"], "who": [1, 1, 2, 2, 3]}
    result = kanon.audit(pyarrow.table(rows), ["zip"], sensitive="s", entity="who", k=1)

    [table] = result.tables
    assert table.warnings[0].startswith("The s of 1 person (33.3 %) is certain: ")
    assert "2 records (40.0 %) of 1 person (33.3 %) give it away" in " ".join(str(result).split())
    assert "33.3 % of the people give their s away." in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("insensitive", "entity", "said"),
    [
        (["lab"], None, "15 records (75.0 %) have"),
        ({"lab": {}}, "who", "10 people (100.0 %) have"),
        ({"lab": {"why": "a batch number"}}, None, ""),
        ({"lab": "a batch number"}, "who", ""),
        ([], None, ""),
    ],
)
def test_an_insensitive_column_in_which_many_are_alone_needs_a_reason(
    insensitive: object, entity: str | None, said: str
) -> None:
    lab = [*range(15), *[15] * 5]
    data = pyarrow.table({"zip": ["a"] * 20, "lab": lab, "who": [*range(10)] * 2})
    asked = {"source": data, "quasi_identifiers": ["zip"], "insensitive": insensitive}
    spec = kanon.AuditSpec(
        tables=[asked | {"entity": entity, "identifiers": [] if entity else "who"}]
    )

    [table] = kanon.audit(spec).tables

    found = [each for each in table.warnings if "is declared insensitive" in each]
    assert [each.partition(", and ")[2][: len(said)] for each in found] == [said] * bool(said)
    assert table.why == ({"lab": "a batch number"} if "batch" in str(insensitive) else {})


def test_with_wildcards_no_sensitive_attribute_is_measured() -> None:
    data = pyarrow.table({"zip": ["1", None, "1"], "disease": ["flu", "flu", "cold"]})

    assert warnings(data, sensitive="disease", nulls="wildcard") == [
        "nulls: wildcard: the sensitive attributes are not measured, because compatible records "
        "form no classes."
    ]
