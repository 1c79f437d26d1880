"""Building blocks of dialect rules: functions that rewrite one kind of AST node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import sqlglot
from sqlglot import exp

from kanon_sql.errors import SpecError


@dataclass(frozen=True)
class Traits:
    """How a dialect deviates; the defaults fit most databases."""

    like: str = ""
    """The dialect in whose file its rules are: in `RULES`, or as in MariaDB's case in
    `RULES_OF_MARIADB`."""
    embedded: bool = False
    """Whether the database is embedded.

    It reads templates untranspiled, text files and multi-line literals, and writes files.
    """
    executed: bool = False
    """Whether the tests execute its SQL on such a database."""
    collates: bool = False
    """Whether text is ordered by a locale unless a binary collation is requested."""
    bytewise: bool = False
    """Whether distinct texts are never equal, whatever the column."""
    hashes: bool = True
    """Whether it has md5()."""
    rereads: bool = False
    """Whether CTEs are inlined at each reference.

    Large plans then run out of temporary files or stages.
    """
    approximates: bool = True
    """Whether it has an approximate count of distinct values."""
    samples: bool = True
    """Whether it has a hash of a record that is cheap enough to sample by."""
    decimals: int = 6
    """How many decimals a product keeps; where there is no such type, figures are added as whole
    multiples of their smallest unit."""
    adds_decimals: bool = True
    """Whether a sum of decimals is exact; otherwise figures are added as 64-bit integers, or as
    floating-point numbers of 53 bits."""
    null_first: bool = False
    """Whether NULL sorts first, without a NULLS LAST clause."""
    loses: re.Pattern[str] | None = None
    """The names that the columns of its views can't have."""
    nests_with: bool = True
    """Whether WITH can be nested."""
    orders_views: bool = True
    """Whether a view may have an ORDER BY."""
    create_view: str = "create or replace view"
    """The statement that creates a view."""
    replaces_views: bool = True
    """Whether that replaces any view of the name, whatever its columns; otherwise drop it first."""
    tracks_dependents: bool = False
    """Whether a view that others read can only be dropped with `cascade`."""
    grants: bool = True
    """Whether privileges are granted on a view."""
    create_temporary_view: str = ""
    """The statement that creates a view on temporary ones; the same one by default."""
    raises_limits: str = ""
    """The statement before one that is longer than `longest_statement` bytes: of {length} bytes,
    {twice} bytes twice."""
    longest_statement: int = 256 * 1024
    """The longest statement in bytes that is parsed by default, where there is a limit."""
    seed_text: str = "varchar"
    """The type of a text column of a dbt seed."""
    seed_integer: str = "integer"
    """The type of a whole number of a dbt seed."""
    begins: str = ""
    """The statement that begins a transaction for CREATE VIEW; empty where each statement
    commits."""
    client: str = ""
    """The client command that runs a file of statements and stops at the first error."""
    ends_batch: str = ""
    """The batch separator required between CREATE VIEW statements."""


BLANK_FIRST = re.compile(r"[\x00-\x20\x7f]")
"""The start of a name that MySQL and MariaDB drop from an alias."""

TRAITS = {
    "duckdb": Traits(
        embedded=True,
        executed=True,
        bytewise=True,
        decimals=38,
        begins="begin transaction",
        client="duckdb -bail DATABASE <",
    ),
    "postgres": Traits(
        executed=True,
        collates=True,
        approximates=False,
        decimals=38,
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
        client="psql -v ON_ERROR_STOP=1 -f",
    ),
    "spark": Traits(
        executed=True,
        create_temporary_view="create or replace temporary view",
        seed_text="string",
        client="spark-sql -f",
    ),
    "clickhouse": Traits(
        executed=True,
        bytewise=True,
        decimals=38,
        raises_limits="set max_query_size = {twice}, max_ast_elements = {length}",
        seed_text="String",
        seed_integer="Int32",
        client="clickhouse-client --queries-file",
    ),
    "sqlite": Traits(
        executed=True,
        hashes=False,
        approximates=False,
        adds_decimals=False,
        grants=False,
        samples=False,
        loses=re.compile("(true|false)$", re.IGNORECASE),
        create_view="create view",
        replaces_views=False,
        begins="begin",
        client="sqlite3 -bail DATABASE <",
    ),
    "mariadb": Traits(
        like="mysql",
        executed=True,
        rereads=True,
        approximates=False,
        decimals=38,
        loses=BLANK_FIRST,
        null_first=True,
        client="mariadb DATABASE <",
    ),
    "snowflake": Traits(),
    "bigquery": Traits(null_first=True, seed_text="string", seed_integer="int64"),
    "redshift": Traits(
        samples=False,
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
    ),
    "databricks": Traits(like="spark", seed_text="string"),
    "trino": Traits(rereads=True, samples=False),
    "tsql": Traits(
        approximates=False,
        samples=False,
        nests_with=False,
        orders_views=False,
        create_view="create or alter view",
        ends_batch="go",
    ),
    "mysql": Traits(
        approximates=False,
        decimals=38,
        loses=BLANK_FIRST,
        null_first=True,
        client="mysql DATABASE <",
    ),
}
"""Every dialect, those executed by the tests first."""


Rule = Callable[[Any], exp.Expr]
Rules = Mapping[type[exp.Expr], Rule]
"""By node type: a function returning the equivalent node in the dialect, or the node itself."""

NUMBER = "^ *[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})? *$"
"""Regular expression of text that casts to a number within a double's range."""
DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$"
"""Regular expression of possible ISO dates and timestamps."""
TO_THE_END = r"^({})\z"
"""Anchors a pattern at the very end, where `$` also matches before a final line break."""


def phrase(text: str, dialect: str, **nodes: exp.Expr) -> exp.Expr:
    """Parse an expression in a dialect, and substitute nodes for its column names.

    >>> phrase("cast(x as text) ~ '^a$'", "postgres", x=exp.column("b")).sql("postgres")
    "CAST(b AS TEXT) ~ '^a$'"
    """
    tree = _parsed(text, dialect).copy()
    for column in list(tree.find_all(exp.Column)):
        if column.name in nodes:
            node = nodes[column.name].copy()
            node = (
                node
                if isinstance(node, exp.Column | exp.Literal | exp.Func)
                else exp.Paren(this=node)
            )
            if column is tree:
                return node
            column.replace(node)
    return tree


@cache
def _parsed(text: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(text, read=dialect)


def rewrite_rule(text: str, dialect: str, **paths: str) -> Rule:
    """A rule that rewrites a node as `text`, in which names refer to the node's arguments by path.

    >>> rule = rewrite_rule("not (a <> b)", "sqlite", a="this", b="expression")
    >>> rule(sqlglot.parse_one("x = y")).sql("sqlite")
    'NOT (x <> y)'
    """

    def rule(node: exp.Expr) -> exp.Expr:
        nodes = {name: reduce(_argument, path.split("."), node) for name, path in paths.items()}
        return phrase(text, dialect, **nodes)

    return rule


def _argument(node: Any, name: str) -> Any:
    return node.args[name]


AS_BIGINT = (
    "case when x between -9223372036854775808 and 9223372036854774784 then cast(x as bigint) end"
)
"""A number as a 64-bit integer; NULL out of range."""
AS_LONG = "case when abs(x) < 1e38 then cast(x as decimal(38, 0)) end"
"""A number as an integer of 38 digits; NULL out of range."""


def try_cast(
    texts: Mapping[exp.DType, str], dialect: str, figure: Callable[[str], str] | None = None
) -> Rule:
    """A rule for TRY_CAST, by type: an expression on `x` that is NULL where the cast fails; to
    integers `AS_BIGINT` and `AS_LONG` by default.

    `figure` gives, by its decimals, the expression of a column that is cast to a decimal, and that
    text may spell; by default, it is cast where it casts to a float.
    """
    text_by_type = {exp.DType.BIGINT: AS_BIGINT, exp.DType.DECIMAL: AS_LONG} | dict(texts)
    rules = {type: rewrite_rule(text, dialect, x="this") for type, text in text_by_type.items()}

    def decimal(node: exp.TryCast) -> exp.Expr:
        if figure:
            return phrase(figure(node.to.expressions[-1].name), dialect, x=node.this)
        number, cast = rules[exp.DType.DOUBLE](node), exp.Cast(this=node.this, to=node.to)
        return phrase(
            "case when abs(number) < 1e38 then spelled end", dialect, number=number, spelled=cast
        )

    def rule(node: exp.TryCast) -> exp.Expr:
        type = node.to.this
        if type == exp.DType.DECIMAL and isinstance(node.this, exp.Column):
            return decimal(node)
        type = exp.DType.TIMESTAMP if type == exp.DType.TIMESTAMPNTZ else type
        return rules.get(type, refused(f"a try_cast to {node.to.sql(dialect)}", dialect))(node)

    return rule


def casts(texts: Mapping[exp.DType, str], dialect: str) -> Rule:
    """A rule for casts to these types; other casts are unchanged."""
    rules = {type: rewrite_rule(text, dialect, x="this") for type, text in texts.items()}

    def rule(node: exp.Cast) -> exp.Expr:
        return rules[node.to.this](node) if node.to.this in rules else node

    return rule


def full_match(text: str, dialect: str, anchors: str = "^({})$") -> Rule:
    """A rule for full regular-expression matches.

    `text` tests whether `x` contains `pattern`, and `anchors` is a format that anchors the pattern.
    """

    def rule(node: exp.RegexpFullMatch) -> exp.Expr:
        pattern = exp.Literal.string(anchors.format(node.expression.name))
        return phrase(text, dialect, x=node.this, pattern=pattern)

    return rule


PLAIN_NUMBER = "-?[0-9]+([.][0-9]+)?"
"""The one pattern supported by dialects without regular expressions."""


def plain_number(text: str, dialect: str) -> Rule:
    """A rule for a full match of a plain number, which `text` tests of `x`."""

    def rule(node: exp.RegexpFullMatch) -> exp.Expr:
        if node.expression.name != PLAIN_NUMBER:
            return refused(f"the pattern {node.expression.sql(dialect)}", dialect)(node)
        return phrase(text, dialect, x=node.this)

    return rule


def nulls_last(node: exp.Order) -> exp.Order:
    """Emulate NULLS LAST: an `is null` flag precedes each key."""
    ordered = node.copy()
    ordered.set("expressions", list(_nulls_last(node)))
    return ordered


def _nulls_last(node: exp.Order) -> Iterator[exp.Expr]:
    """ORDER BY keys with null flags.

    String aggregates contain no NULL, and the order of an answer without a LIMIT affects no figure,
    so neither needs a flag. No key is repeated, which certain dialects reject.
    """
    answer = node.parent if isinstance(node.parent, exp.Query) else None
    needs_no_flag = (answer and not answer.args.get("limit")) or node.find_ancestor(
        exp.GroupConcat, exp.WithinGroup, exp.Query
    ) not in (node.parent_select, None)
    key_columns: list[exp.Expr] = []
    for order in node.expressions:
        value, descending = order.this, bool(order.args.get("desc"))
        keys = [exp.Ordered(this=value, desc=descending or None, nulls_first=not descending)]
        if not (needs_no_flag or descending or order.args.get("nulls_first") or _is_flag(value)):
            expression = _aliased_expression(value, answer)
            flag = exp.case().when(expression.copy().is_(exp.null()), "1").else_("0")
            # The default needs no NULLS clause.
            keys.insert(0, exp.Ordered(this=flag, nulls_first=True))
            if isinstance(expression, exp.Count):
                del keys[0]
        for key in keys:
            key_column = _without_tables(key.this)
            if key_column not in key_columns:
                key_columns.append(key_column)
                yield key


def _aliased_expression(value: exp.Expr, answer: exp.Expr | None) -> exp.Expr:
    """The expression behind an alias, as not every dialect resolves aliases within expressions."""
    named = answer.selects if isinstance(answer, exp.Select) else []
    return next((node.unalias() for node in named if node.alias == value.name), value)


def _without_tables(value: exp.Expr) -> exp.Expr:
    unqualified = value.copy()
    for column in unqualified.find_all(exp.Column):
        column.set("table", None)
    return unqualified


def framed(node: exp.Window) -> exp.Window:
    """Add an explicit ROWS frame to running aggregates, for a dialect that requires one.

    In the templates the ORDER BY values are unique, or ties add nothing, so ROWS equals RANGE.
    """
    summed = isinstance(node.this, exp.Sum | exp.Count | exp.Min | exp.Max)
    if summed and node.args.get("order") and not node.args.get("spec"):
        spec = exp.WindowSpec(
            kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
        )
        node.set("spec", spec)
    return node


def _is_flag(value: exp.Expr) -> bool:
    """Whether a node is a CASE with literal results, which is never NULL."""
    results = [*(branch.args["true"] for branch in value.args.get("ifs", ()))]
    return isinstance(value, exp.Case) and all(
        isinstance(result, exp.Literal) for result in [*results, value.args.get("default")]
    )


def is_float(node: exp.Expr) -> bool:
    """Whether a node is cast to a float, in every branch of a CASE."""
    if isinstance(node, exp.Case):
        results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
        return all(is_float(result) for result in results if result is not None)
    return isinstance(node, exp.Cast) and node.to.this == exp.DType.DOUBLE


def backslash_in_like(node: exp.Like | exp.ILike) -> exp.Like | exp.ILike:
    """Escape backslashes in patterns, for dialects where they escape the next character."""
    pattern = node.expression
    if isinstance(pattern, exp.Literal) and "\\" in pattern.name:
        pattern.replace(exp.Literal.string(pattern.name.replace("\\", "\\\\")))
    return node


BACKSLASH_IN_LIKE: Rules = {exp.Like: backslash_in_like, exp.ILike: backslash_in_like}


def values_by_place(column: str, function: str | None = None) -> Rule:
    """A rule for VALUES in dialects that name its columns by position, as in `column1`; with
    `function` it is a table function.

    >>> values = sqlglot.parse_one("from (values ('a', 'b')) as t (x, y)").find(exp.Values)
    >>> values_by_place("c", "values")(values).sql("clickhouse")
    "(SELECT c1 AS x, c2 AS y FROM values(('a', 'b'))) AS t"
    """

    def rule(node: exp.Values) -> exp.Expr:
        alias = node.args.get("alias")
        if alias is None or not alias.columns:
            return node
        rows: exp.Expr = exp.Values(expressions=node.expressions)
        if function is not None:
            rows = exp.Table(this=exp.Anonymous(this=function, expressions=node.expressions))
        named = [
            exp.column(f"{column}{number}").as_(name.copy())
            for number, name in enumerate(alias.columns, start=1)
        ]
        return exp.select(*named).from_(rows).subquery(alias.this.copy())

    return rule


def refused(feature: str, dialect: str) -> Rule:
    """A rule that raises `SpecError` for a feature that a dialect lacks."""

    def rule(_: exp.Expr) -> exp.Expr:
        raise SpecError(f"the SQL can't be written for {dialect}: it has no words for {feature}.")

    return rule
