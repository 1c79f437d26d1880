"""Names of tables and columns in any script, and those that SQL, a database or a template of ours
could lose, fold or take for something else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES

import kanon_sql as kanon

NAMES = ("😀", "Größe é", "列", "a\u0301", "дом.x", "k")
ROWS = tuple((f"{n % 2}", f"{n // 2 % 2}", "q", f"{n % 3}", f"{n}", "k") for n in range(24))
PEOPLE = Filled(NAMES, (pyarrow.string(),) * len(NAMES), ROWS)


def found(source: Any, **asked: Any) -> tuple[Any, ...]:
    [table] = kanon.audit(source, NAMES[:3], sensitive=NAMES[3], k=2, **asked).tables
    [profiled] = kanon.profile(source, subsets=3, columns=NAMES, **asked).tables
    checks = [(each.model, each.holds, each.achieved) for each in table.checks]
    return table.summary, checks, table.warnings, profiled.subsets


# MariaDB's names end with the basic plane. Spark lets a column be called anything, and a table only
# by letters and digits of ASCII, quoted or not (SPARK-14857, SPARK-18594).
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("postgres", "пациенты 😀"),
        ("clickhouse", "пациенты 😀"),
        ("sqlite", "пациенты 😀"),
        ("spark", "people"),
    ],
)
def test_names_in_any_script(engine: str, name: str, tmp_path: Path) -> None:
    here = found(PEOPLE.arrow)

    with ENGINES[engine].started(tmp_path) as running:
        running.load(name, PEOPLE)

        there = found(name, engine=running.url)

    assert there == (*here[:2], there[2], here[3])
    # Engines without an approximate count say nothing of each unassigned column by itself.
    assert there[2] == (here[2][:1] if engine in ("postgres", "sqlite") else here[2])
    assert any("дом.x" in warning for warning in here[2])


# --- names that mean something else -------------------------------------------------------------

AWKWARD = (
    *("true", "False", "NULL", "unknown", "default", "user", "current_date", "localtime", "NaN"),
    *("rowid", "oid", "_rowid_", "ctid", "xmin", "tableoid", "rownum", "_c0", "column1", "c1"),
    *("all", "distinct", "select", "from", "where", "group", "order", "by", "having", "limit"),
    *("case", "when", "end", "and", "not", "in", "is", "like", "exists", "join", "using", "with"),
    *("values", "table", "count", "sum", "min", "key", "interval", "date", "timestamp", "int"),
    *("over", "partition", "range", "rank", "first", "offset", "any", "array", "struct", "map"),
    *("kanon_class", "KANON_K1", "kanon_size", "kanon_records", "kanon_entity", "kanon_person"),
    *("kanon_sensitive_1", "kanon_quasi_identifier_1", "kanon_is_true", "kanon_earlier_1"),
    *("kanon_first", "kanon_value", "kanon_weight", "classes", "release_classes", "records"),
    *(" a", "a ", "\ta", "  two  ", ".a", "a.", "a.b", "a\u00a0", "\u00a0a", "\u200b", "1", "1.5"),
    *('"', 'a"b', "'", "it's", "`", "a`b", "[a]", "{{ x }}", "{% x %}", "{# x #}", "%s", "%"),
    *("?", ":p", "$1", "@x", "#x", "--", "/*", ";", "\\", "a\\", "*", "(a)", "x" * 63),
    *("é", "e\u0301", "ß", "\u0131", "列", "дом", "😀", "\ufb01"),
)
LACKING = {
    "postgres": r"ctid|xmin|tableoid",
    # Names end with the basic plane, and with no blank.
    "mariadb": r".* |😀",
}
"""The names that a column can't have there."""
JOINS_TEXTS = sqlite3.sqlite_version_info >= (3, 44)
PLAIN = tuple(f"plain{place}" for place in range(len(AWKWARD)))


def drawn(names: tuple[str, ...], seed: int) -> Filled:
    """A table in which no two columns are alike; a column has two, three or four values."""
    rows = tuple(
        tuple(f"v{(n * n * (i + seed) + n * i // 3) % (2 + i % 3)}" for i in range(len(names)))
        for n in range(24)
    )
    return Filled(names, (pyarrow.string(),) * len(names), rows)


def answers(names: tuple[str, ...], source: Any, earlier: Any, **asked: Any) -> Iterator[Any]:
    """What is found with the names in each role, without any name."""
    has_people = asked.pop("has_people")
    for start in range(0, len(names), 16):
        some = names[start : start + 16]
        yield figures(kanon.audit(source, some, checks=[kanon.KAnonymity(k=2)], **asked))
        others = [name for name in names if name not in some]
        diverse = [kanon.LDiversity(l=2, sensitive=name) for name in some]
        yield figures(kanon.audit(source, others[:2], checks=diverse, **asked))
        [cells] = kanon.tables(source, by=some[:3], **asked).tables
        yield [(check.model, check.holds, check.achieved) for check in cells.checks]
        [profiled] = kanon.profile(source, some, **asked).tables
        yield profiled.summary
        known = [kanon.KnownEvents(m=1)]
        yield figures(kanon.audit(source, entity=others[0], events=some, checks=known, **asked))
        if has_people:
            composed = {
                "entity": some[0],
                "sensitive": some[1],
                "quasi_identifiers": some[2:8],
                "earlier_releases": {"old": earlier},
                "checks": [kanon.ComposedKAnonymity(k=2), kanon.ComposedLDiversity(l=2)],
            }
            yield figures(kanon.audit(source, **composed, **asked))


def figures(audited: Any) -> Any:
    [table] = audited.tables
    assert table.error is None, table.error
    summary = table.summary and (table.summary.k, table.summary.classes)
    return summary, [(each.model, each.holds, each.achieved) for each in table.checks]


@pytest.mark.parametrize("engine", ["duckdb", *ENGINES])
def test_no_name_is_lost_or_taken_for_something_else(engine: str, tmp_path: Path) -> None:
    kept = [
        place
        for place, name in enumerate(AWKWARD)
        if not re.fullmatch(LACKING.get(engine, "(?!)"), name)
    ]
    # Each statement takes Spark a second, and MariaDB nearly as long.
    kept = kept[::4] if engine in ("spark", "mariadb") else kept
    names, plain = (tuple(all_of[place] for place in kept) for all_of in (AWKWARD, PLAIN))
    has_people = engine != "sqlite" or JOINS_TEXTS
    asked: dict[str, Any] = {"has_people": has_people}
    expected = list(answers(plain, drawn(plain, 1).arrow, drawn(plain, 2).arrow, **asked))

    if engine == "duckdb":
        found = list(answers(names, drawn(names, 1).arrow, drawn(names, 2).arrow, **asked))
    else:
        with ENGINES[engine].started(tmp_path) as running:
            running.load("people", drawn(names, 1))
            running.load("old", drawn(names, 2))
            found = list(answers(names, "people", "old", engine=running.url, **asked))

    assert found == expected
