"""Is every line short enough to be read, and is it still the same statement?"""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlglot
from golden import GOLDEN
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.sql.dialects import DIALECTS
from kanon_sql.sql.line_wrapping import WIDTH, wrapped
from kanon_sql.sql.statement import Statement

FILES = sorted(GOLDEN.parent.rglob("*.sql"))

names = st.sampled_from([f"kanon_{word * 3}" for word in ("records", "classes", "size")])
conditions = st.builds("{} > {}".format, names, names)
expressions = st.recursive(
    names,
    lambda inner: st.one_of(
        st.builds("sum({})".format, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("{} * -{} / {}".format, inner, names, inner),
        st.builds("coalesce({}, {}, 'a, b')".format, inner, inner),
        st.builds(
            "case when {} or {} then {} else {} end".format, conditions, conditions, inner, inner
        ),
        st.builds("case when {} between -1 and 1 then 1 end".format, inner),
        st.builds(
            "sum({}) over (partition by {} order by {}, {})".format, inner, names, names, names
        ),
    ),
    max_leaves=12,
)


def tokens(sql: str) -> list[tuple[object, str]]:
    return [(each.token_type, each.text) for each in sqlglot.tokenize(sql, read="duckdb")]


@given(st.lists(expressions, min_size=1, max_size=3))
def test_a_folded_statement_is_the_same(columns: list[str]) -> None:
    sql = "select\n" + ",\n".join(f"    {each} as kanon_{n}" for n, each in enumerate(columns))

    found = wrapped(sql, "duckdb")

    assert tokens(found) == tokens(sql)
    assert all(len(line) <= WIDTH for line in found.splitlines() if " " in line.strip())


@pytest.mark.parametrize("file", FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_no_line_that_is_read_is_too_long(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if len(line) > WIDTH] == []


def test_all_dialects_are_looked_at() -> None:
    assert {file.relative_to(GOLDEN.parent).parts[0] for file in FILES} >= set(DIALECTS)


def test_texts_of_several_lines_and_comments_stay_as_they_are() -> None:
    text = f"select '{'a, ' * 60}\n{'b, ' * 60}' as \"kanon\" -- {'said, ' * 30}\n{'-- said ' * 20}"

    assert wrapped(text, "duckdb") == text


def test_every_statement_is_folded() -> None:
    sums = " + ".join(f"kanon_number_{n}" for n in range(20))

    assert (
        max(map(len, Statement("s", "?", f"select {sums} as kanon_all").sql.splitlines())) <= WIDTH
    )
