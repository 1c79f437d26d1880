"""Building blocks of dialect rules: functions that rewrite one kind of AST node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from typing import Any

import sqlglot
from sqlglot import exp

from kanon_sql.errors import SpecError

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
