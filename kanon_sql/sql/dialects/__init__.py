"""The templates' SQL in other dialects.

sqlglot does most; rules, one file per dialect, correct what it gets wrong or where an engine's
semantics differ from DuckDB's. Knows no database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Literal

import sqlglot
from sqlglot import exp

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.sql.dialects.rules import Rules, phrase
from kanon_sql.sql.dialects.spelling import (
    in_lower_case,
    laid_out,
    with_comments,
    with_needed_quotes,
    without_redundant_aliases,
)
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.gate import parsed
from kanon_sql.sql.line_wrapping import wrapped

DIALECTS = tuple(TRAITS)
Quote = Literal["always", "needed"]
Views = tuple[tuple[str, str], ...]
"""Stand-ins by table, as spelled in the templates: a SELECT in the dialect, read instead.

They normalise columns before grouping.
"""

_OF_THE_TEMPLATES = "duckdb"
_IN_DIALECT = "kanon_in_dialect"
"""Function name that wraps an expression of another dialect in a template's SELECT."""
_TYPE_NAMES = {"INT": "INTEGER", "REAL": "FLOAT", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
"""sqlglot's names of types that DuckDB's catalogue names differently."""


@lru_cache(maxsize=256)
def translated(
    sql: str,
    dialect: str,
    views: Views = (),
    *,
    materialized: bool = False,
) -> str:
    """Transpile a template's SELECT to `dialect`.

    `materialized` marks CTEs that are referenced twice as materialised.

    Raises `SpecError` for an unknown dialect, or for an expression it can't represent.
    """
    if dialect == _OF_THE_TEMPLATES and _IN_DIALECT not in sql:
        return sql
    rules = rules_of(dialect)
    tree: exp.Expr = parsed(sql).copy()
    reasons = _reasons(tree, dialect)
    for node in reversed(list(tree.walk())):
        rule = rules.get(type(node))
        if rule is not None and (replacement := rule(node)) is not node:
            if node.args.get("negate"):  # of `not like`, which no rule looks at
                replacement = exp.not_(exp.paren(replacement))
            tree = replacement if node is tree else tree
            node.replace(replacement)
    _expand_dialect_calls(tree)
    _raise_errors(tree, dialect)
    _hash_records(tree, dialect)
    for name, select in views:
        _replace_tables(tree, name, sqlglot.parse_one(select, read=dialect))
    if materialized:
        _materialise_shared_ctes(tree)
    comments = _stripped_comments(tree)
    for name, reason_lines in reasons.items():
        comments[name] = [*comments.get(name, []), *reason_lines]
    try:
        text = laid_out(tree, dialect)
    except sqlglot.errors.SqlglotError as error:
        reason = str(error).splitlines()[0]
        raise SpecError(f"the SQL can't be written for {dialect}: {reason}") from None
    text = without_redundant_aliases(in_lower_case(text, dialect), dialect)
    return with_comments(wrapped(text, dialect), comments)


def in_template(sql: str, dialect: str) -> str:
    """A checked expression of a dialect as an expression of the templates.

    An expression of another dialect is wrapped in a call until `translated`, so that no rule
    rewrites it.

    >>> in_template("a like 'x'", "duckdb"), in_template("a like 'x'", "mysql")
    ("a like 'x'", "kanon_in_dialect('mysql', 'a like ''x''')")
    """
    if dialect == _OF_THE_TEMPLATES:
        return sql
    texts = [exp.Literal.string(text).sql(_OF_THE_TEMPLATES) for text in (dialect, sql)]
    return f"{_IN_DIALECT}({', '.join(texts)})"


def _expand_dialect_calls(tree: exp.Expr) -> None:
    """Replace each call that quotes an expression of a dialect by the parsed expression."""
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.casefold() == _IN_DIALECT:
            dialect, sql = (argument.name for argument in call.expressions)
            call.replace(sqlglot.parse_one(sql, read=dialect))


_RAISED = {
    "bigquery": "cast(error(x) as int64)",
    "databricks": "cast(raise_error(x) as int)",
    "mysql": "(select 1 union all select 2)",
    "mariadb": "(select 1 union all select 2)",
    "spark": "cast(raise_error(x) as int)",
    "sqlite": "cast(json(x) as integer)",
    "trino": "cast(fail(x) as integer)",
}
"""An integer that can't be had, by dialect; elsewhere the cast of a message fails."""


def _raise_errors(tree: exp.Expr, dialect: str) -> None:
    """Replace DuckDB's `error`, which is always below a cast to an integer."""
    for call in list(tree.find_all(exp.Anonymous)) if dialect != _OF_THE_TEMPLATES else ():
        if call.name.casefold() == "error" and isinstance(call.parent, exp.Cast):
            text = _RAISED.get(dialect, "cast(x as integer)")
            call.parent.replace(phrase(text, dialect, x=call.expressions[0]))


_HASHES = {
    "bigquery": "farm_fingerprint(to_json_string(struct({})))",
    "clickhouse": "cityHash64(tuple({}))",
    "databricks": "xxhash64({})",
    "mysql": "crc32(concat_ws(',', {}))",
    "mariadb": "crc32(concat_ws(',', {}))",
    "postgres": "hash_record_extended(row({}), 0)",
    "spark": "xxhash64({})",
}
"""The hash of a record, by dialect; elsewhere it is called as in DuckDB. Equal records have equal
hashes, which is all that a sample needs."""


def _hash_records(tree: exp.Expr, dialect: str) -> None:
    """Replace DuckDB's `hash` of several values."""
    for call in list(tree.find_all(exp.Anonymous)) if dialect in _HASHES else ():
        if call.name.casefold() == "hash":
            values = {f"x{number}": value for number, value in enumerate(call.expressions)}
            call.replace(phrase(_HASHES[dialect].format(", ".join(values)), dialect, **values))


def _reasons(tree: exp.Expr, dialect: str) -> dict[str, list[str]]:
    """Explanations of dialect-specific expressions, by the first CTE that contains one."""
    reasons: dict[str, list[str]] = {}
    reasons_of = {} if dialect == _OF_THE_TEMPLATES else _module(dialect).get("REASONS", {})
    for kind, reason in reasons_of.items():
        for cte in tree.find_all(exp.CTE, bfs=False):
            if cte.this.find(kind):
                reasons.setdefault(cte.alias, []).append(reason)
                break
    return reasons


def _stripped_comments(tree: exp.Expr) -> dict[str, list[str]]:
    """Strip all comments from a tree and return those above each CTE, as lines."""
    by_cte = {}
    for cte in tree.find_all(exp.CTE):
        name = cte.args["alias"]
        comments = [*(name.this.comments or ()), *(name.comments or ()), *(cte.comments or ())]
        if comments:
            by_cte[cte.alias] = [comment.strip() for comment in dict.fromkeys(comments)]
    for node in tree.walk():
        node.comments = None
    return by_cte


def with_renamed_ctes(sql: str, end: str) -> str:
    """Append `end` to the name of every CTE of a template's SELECT.

    >>> with_renamed_ctes("with a as (select 1 as n) select a.n from a", "_x")
    'WITH a_x AS (SELECT 1 AS n) SELECT a_x.n FROM a_x'
    >>> with_renamed_ctes("with a as (select 1 as n) select a.n from b as a", "_x")
    'WITH a_x AS (SELECT 1 AS n) SELECT a.n FROM b AS a'
    """
    tree = parsed(sql).copy()
    named = {cte.alias for cte in tree.find_all(exp.CTE)}
    identifiers = [cte.args["alias"].this for cte in tree.find_all(exp.CTE)]
    identifiers += [table.this for table in tree.find_all(exp.Table) if not table.db]
    identifiers += [
        column.args["table"]
        for column in tree.find_all(exp.Column)
        if column.table and not _is_aliased(column)
    ]
    for identifier in identifiers:
        if identifier.name in named:
            identifier.set("this", f"{identifier.name}{end}")
    return tree.sql(_OF_THE_TEMPLATES)


def _is_aliased(column: exp.Column) -> bool:
    """Whether the column's qualifier is an alias of the enclosing SELECT."""
    select = column.parent_select
    from_items = [select.args.get("from_"), *select.args.get("joins", ())] if select else []
    return any(
        item and item.this.args.get("alias") and item.this.alias == column.table
        for item in from_items
    )


def name_in(table: str, dialect: str) -> str:
    """Transpile a table name.

    >>> name_in('"main"."Post codes"', "mysql")
    '`main`.`Post codes`'
    """
    rules_of(dialect)
    return exp.to_table(table, dialect=_OF_THE_TEMPLATES).sql(dialect)


def quoted(sql: str, dialect: str, quote: Quote, *, exact_names: bool) -> str:
    """A statement with quotes around every name, or only where needed.

    `exact_names`: names have the database's spelling, so none may be case-folded.
    """
    return sql if quote == "always" else with_needed_quotes(sql, dialect, exact_names=exact_names)


def _table_name(table: exp.Table) -> str:
    """A table as spelled in the templates, without its alias."""
    unaliased = table.copy()
    unaliased.set("alias", None)
    return unaliased.sql(_OF_THE_TEMPLATES)


def _replace_tables(tree: exp.Expr, name: str, select: exp.Expr) -> None:
    """Replace each reference to a table by a subquery."""
    for table in list(tree.find_all(exp.Table)):
        if _table_name(table) == name:
            alias = exp.to_identifier(table.alias_or_name, quoted=True)
            table.replace(exp.Subquery(this=select.copy(), alias=exp.TableAlias(this=alias)))


def _materialise_shared_ctes(tree: exp.Expr) -> None:
    references = Counter(table.name for table in tree.find_all(exp.Table) if not table.db)
    for cte in tree.find_all(exp.CTE):
        if references[cte.alias] > 1:
            cte.set("materialized", True)


@cache
def rules_of(dialect: str) -> Rules:
    """The rules of a dialect; importing them registers the dialect with sqlglot.

    Raises `SpecError` for an unknown dialect.
    """
    if dialect not in DIALECTS:
        raise SpecError(
            f"there is no dialect {dialect}; there are {', '.join(DIALECTS)}."
            f"{did_you_mean(dialect, DIALECTS)}"
        )
    if dialect == _OF_THE_TEMPLATES:
        return {}
    module = _module(dialect)
    rules: Rules = module.get(f"RULES_OF_{dialect.upper()}", module["RULES"])
    return rules


def _module(dialect: str) -> Mapping[str, Any]:
    return vars(import_module(f"kanon_sql.sql.dialects.{TRAITS[dialect].like or dialect}"))


def type_of_templates(type: str, dialect: str) -> str:
    """DuckDB's name of a dialect's column type, as used by the templates.

    >>> [type_of_templates(type, "postgres") for type in ("character varying(20)", "int8")]
    ['VARCHAR', 'BIGINT']
    """
    rules_of(dialect)
    try:
        data_type = exp.DataType.build(type, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return type.upper()
    if data_type.this in exp.DataType.TEXT_TYPES and data_type.this != exp.DType.NAME:
        return "VARCHAR"
    name = data_type.sql(_OF_THE_TEMPLATES).upper()
    return _TYPE_NAMES.get(name, name)
