"""What each rewrite rule of a dialect makes of a small SELECT, in full: tests/sql/rewrites.

After a change on purpose, write the outputs anew with KANON_SQL_UPDATE_GOLDEN=1 and read the
difference.
"""

from __future__ import annotations

import os

import pytest
from rewrites import FOLDER, WITH_RULES, Pair, in_a_file, pairs_of

from kanon_sql.errors import SpecError
from kanon_sql.sql import dialects

translated = dialects.translated.__wrapped__
SQLGLOT_WRITES_THE_SAME = {("clickhouse", "MD5")}
"""Rules without which the same is written."""


@pytest.mark.parametrize("dialect", WITH_RULES)
def test_a_rule_writes_what_stands_in_the_file(dialect: str) -> None:
    pairs = list(pairs_of(dialect))
    found = [each._replace(written=translated(each.sql, dialect)) for each in pairs]
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        (FOLDER / f"{dialect}.sql").write_text(in_a_file(found), encoding="utf-8")
        pairs = found

    assert found == pairs


@pytest.mark.parametrize("pair", [each for dialect in WITH_RULES for each in pairs_of(dialect)])
def test_without_the_rule_something_else_is_written(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the pair would tell nothing of the rule."""
    others = {
        node: rule
        for node, rule in dialects.rules_of(pair.dialect).items()
        if node.__name__ != pair.rule
    }
    monkeypatch.setattr(dialects, "rules_of", lambda _: others)
    try:
        written = translated(pair.sql, pair.dialect)
    except SpecError:
        return

    is_the_same = (pair.dialect, pair.rule) in SQLGLOT_WRITES_THE_SAME
    assert (written == pair.written) == is_the_same
