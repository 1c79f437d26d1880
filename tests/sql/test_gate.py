"""What may go to a database, told by parsing and, where that is plain, by tokens alone."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb
import pytest
import sqlglot
from golden import GOLDEN as FOLDER
from sqlglot import exp

from kanon_sql.errors import EngineError
from kanon_sql.sql.gate import checked_select, require_select
from kanon_sql.sql.plain_reading import plainly_reads

GOLDEN = sorted(FOLDER.glob("*.sql"))


PARSED = [
    "composed_l_diversity", "k_anonymity_at_a_joined_level", "ordered_distance",
    "people_of_distant_classes",
]  # fmt: skip
"""They read lists or make records, which no others do."""


@cache
def statement(path: Path) -> tuple[str, frozenset[str]]:
    """A golden statement, and the tables that it reads."""
    sql = path.read_text(encoding="utf-8")
    tree = sqlglot.parse_one(sql, read="duckdb")
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = set()
    for table in tree.find_all(exp.Table):
        if table.name not in own:
            table.set("alias", None)
            tables.add(table.sql(dialect="duckdb"))
    return sql, frozenset(tables)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_what_templates_write_is_plain(path: Path) -> None:
    sql, tables = statement(path)

    checked_select(sql, tables)
    assert plainly_reads(sql, tables) or path.stem in PARSED
    assert not any(plainly_reads(sql, tables - {each}) for each in tables)


REFUSED = [
    "drop table people",
    "select 1; drop table people",
    "select zip from people, secret",
    "select zip from people as p, secret",
    "select zip from people join secret on true",
    "select zip from people cross join other.people",
    "select zip from people.secret",
    "select zip from people('x')",
    "select zip from people join people as p on p.where = 1, secret",
    "select zip from people as where, secret",
    "select zip from b: secret",
    "select zip from 'secret.csv'",
    'select zip from "secret.csv"',
    "select zip from read_csv('secret.csv')",
    "select zip from people where zip in (select zip from secret)",
    "select zip from people where zip in (from secret)",
    "select zip from people union all from secret",
    "select zip from people union all (from secret)",
    "select zip from people union all (table secret)",
    "select (summarize secret)",
    "select zip into secret from people",
    "with a as (select zip from secret) select zip from a",
    "with a as (select zip from people) select zip from b",
    "with a as (select zip from people) select zip from a.b",
    "with a as (insert into people values (1) returning zip) select zip from a",
    "from secret select zip",
    "copy people to 'secret.csv'",
    "attach 'secret.db'",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_reads_more_or_writes_is_not_plain_and_is_refused(sql: str) -> None:
    assert not plainly_reads(sql, ["people"])
    with pytest.raises(EngineError, match=r"^refused a statement that "):
        require_select(sql, frozenset(["people"]))


ACCEPTED = [
    "select extract(year from born) from people",
    "select zip from people natural join people as other",
    "select zip from (from people)",
]


@pytest.mark.parametrize("sql", ACCEPTED)
def test_what_is_not_plain_is_parsed(sql: str) -> None:
    assert not plainly_reads(sql, ["people"])
    require_select(sql, frozenset(["people"]))


PUT_IN = (
    """
from secret|, secret|join secret on true|cross join secret|union all from secret|;|from
drop table people|(table secret)|(from secret)|(select a from secret)|into secret|as secret
secret as (select 1)|,|.|secret|"secret"|'secret.csv'|read_csv('secret.csv')|is distinct|distinct
select|with|as|(|)|join|is not distinct from|union|where|over|on|left join|natural join|in secret
lateral secret|summarize secret|pivot secret|in (from secret)|group by|order by|limit|nulls|last
asof join secret|nulls secret|secret nulls|as materialized (select 1 from secret)|case|end|a.b
with secret as (select 1)|[|]|{|}|not|exists|date|insert into people|values (1)|unnest([1])
secret(1)|positional join secret|using (zip)|escape|comment|.where|.where, secret|.select|b: secret
{where: 1}|as where|as where, secret|{where: 1} = a, secret|.from|.from secret|.join|join secret
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_statement_passes_for_a_plain_one(seed: int) -> None:
    """Where words are put in, left out or moved, what is plain is accepted by the parser too, or
    reads no other table, or is no statement at all."""
    draw = random.Random(seed)
    passed = 0
    for _ in range(400):
        sql, tables = statement(draw.choice(GOLDEN))
        words = [token.text if token.token_type.name not in ("STRING", "IDENTIFIER")
                 else sql[token.start : token.end + 1]
                 for token in sqlglot.tokenize(sql, read="duckdb")]  # fmt: skip
        for _ in range(draw.randint(1, 3)):
            place, other = draw.randrange(len(words)), draw.randrange(len(words))
            match draw.randrange(4):
                case 0 | 1:
                    words.insert(place, draw.choice(PUT_IN))
                case 2:
                    del words[place]
                case _:
                    words[place], words[other] = words[other], words[place]
        changed = " ".join(words)
        if not _is_plain(changed, tables):
            continue
        passed += 1
        try:
            checked_select(changed, tables)
        except EngineError:
            with pytest.raises(duckdb.ParserException):
                duckdb.extract_statements(changed)
        except sqlglot.ParseError:
            with suppress(duckdb.Error):
                assert "secret" not in duckdb.get_table_names(changed)
    assert passed > 20


def _is_plain(sql: str, tables: frozenset[str]) -> bool:
    try:
        return plainly_reads(sql, tables)
    except sqlglot.TokenError:
        return False
