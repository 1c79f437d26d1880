"""What may go to a database: one SELECT over the declared tables, as its AST says."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import duckdb
import pytest
import sqlglot
from golden import GOLDEN as FOLDER
from sqlglot import exp

from kanon_sql.errors import EngineError
from kanon_sql.sql.gate import require_select

GOLDEN = sorted(FOLDER.glob("*.sql"))


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
def test_what_templates_write_reads_its_tables_alone(path: Path) -> None:
    sql, tables = statement(path)

    require_select(sql, tables)
    for each in tables:
        with pytest.raises(EngineError, match=r"^refused a statement that reads another table"):
            require_select(sql, tables - {each})


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
def test_what_reads_more_or_writes_is_refused(sql: str) -> None:
    with pytest.raises(EngineError, match=r"^refused a statement that "):
        require_select(sql, frozenset(["people"]))


ACCEPTED = [
    "select extract(year from born) from people",
    "select zip from people natural join people as other",
    "select zip from (from people)",
]


@pytest.mark.parametrize("sql", ACCEPTED)
def test_what_reads_the_declared_table_is_accepted(sql: str) -> None:
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
def test_what_is_accepted_reads_no_other_table(seed: int) -> None:
    """Where words are put in, left out or moved, DuckDB reads nothing else, or no statement."""
    draw = random.Random(seed)
    passed = 0
    for _ in range(200):
        sql, tables = statement(draw.choice(GOLDEN))
        words = [token.text if token.token_type.name not in ("STRING", "IDENTIFIER")
                 else sql[token.start : token.end + 1]
                 for token in sqlglot.tokenize(sql, read="duckdb")]  # fmt: skip
        for _ in range(draw.randint(1, 2)):
            place, other = draw.randrange(len(words)), draw.randrange(len(words))
            match draw.randrange(4):
                case 0 | 1:
                    words.insert(place, draw.choice(PUT_IN))
                case 2:
                    del words[place]
                case _:
                    words[place], words[other] = words[other], words[place]
        changed = " ".join(words)
        try:
            require_select(changed, tables)
        except EngineError:
            continue
        passed += 1
        try:
            read = duckdb.extract_statements(changed)
            named = duckdb.get_table_names(changed)
        except duckdb.Error:
            continue
        assert [each.type.name for each in read] == ["SELECT"]
        assert not any("secret" in each for each in named), changed
    assert passed > 5
