"""Does a plan read what is measured of a class as the test of dbt reads it?"""

from __future__ import annotations

import pytest

from kanon_sql.plan.check_sql import named
from kanon_sql.sql.macros import render


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("sum(a) as kanon_b", [("sum(a)", "kanon_b")]),
        ("\n  sum(\n    a\n  ) as kanon_b  \n\nmin(c) as kanon_d\n",
         [("sum(\n    a\n  )", "kanon_b"), ("min(c)", "kanon_d")]),
        ("sum(cast(a as kanon_b)) as kanon_c", [("sum(cast(a as kanon_b))", "kanon_c")]),
        ("a as kanon_b as kanon_c", [("a as kanon_b", "kanon_c")]),
        ("a as kanon_ + b\nas kanon_c as kanon_d", [("a as kanon_ + b\nas kanon_c", "kanon_d")]),
        ("a as kanon_b, c", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_measured_is_read_in_one_way(text: str, columns: list[tuple[str, str]]) -> None:
    sql = render(
        "sensitive_failures",
        relation="t", columns=["q"], sensitive="s", label="x", measure="y", violated="z",
        class_columns=text,
    )  # fmt: skip
    written = "".join(f",{expression} as {name}" for expression, name in columns)

    assert list(named(text)) == columns
    assert "".join(f"as kanon_known{written} from class_values".split()) in "".join(sql.split())
