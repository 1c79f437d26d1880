"""Formats transpiled SQL: lower-case keywords, and quotes only where needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

Handler = Callable[[Any, Any], str]
"""The SQL of an expression by a generator."""

_UPPER = re.compile(r"[A-Z][A-Z0-9_ ]*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDS_A_SET = re.compile(r"^\), ", re.MULTILINE)
_BLANKS = re.compile(r"\n +(?=\n)")
"""Whitespace-only lines, which sqlglot puts around the arguments of some aggregates."""

_WORDS = """
    abs absolute acos action add admin after aggregate all allocate alter always analyse analyze
    and any are array array_agg array_max_cardinality as asc asensitive asin assertion
    asymmetric at atan atomic attribute audit authorization avg backup before begin begin_frame
    begin_partition between bigint binary bit blob body boolean both bottom break breadth browse
    bulk by byte call called cardinality cascade cascaded case cast catalog ceil ceiling change
    char char_length character character_length check checkpoint class clob close cluster
    clustered coalesce collate collation collect column columns comment commit completion
    compress compute concat condition connect connection constraint constraints construct
    constructor contains containstable content continue convert copy corr corresponding cos cosh
    count covar_pop covar_samp create cross cube cume_dist current current_catalog current_date
    current_path current_role current_row current_schema current_time current_timestamp
    current_user cursor cycle data database databases date day dbcc deallocate dec decfloat
    decimal declare default deferrable deferred define delayed delete dense_rank deny depth
    deref desc describe descriptor destroy destructor deterministic diagnostics dictionary
    disconnect disk distinct distinctrow distributed div do domain double drop dual dump dynamic
    each element else elseif empty enclosed end end_frame end_partition equals errlvl escape
    escaped every except exception exclude exec execute exists exit exp explain external extract
    false fetch file fillfactor filter final first first_value float float4 float8 floor
    following for force foreign format found frame_row free freetext freetexttable freeze from
    full fulltext function fusion general generated get glob global go goto grant group grouping
    groups gscluster hash having high_priority hold holdlock host hour hour_microsecond
    hour_minute hour_second identified identity identity_insert identitycol if ignore ilike
    immediate in increment index index_article indicator initial initialize inner inout input
    insensitive insert instead int int1 int2 int3 int4 int8 integer intersect intersection
    interval into io_after_gtids is isnull isolation issue iterate join json json_array
    json_arrayagg json_exists json_object json_objectagg json_query json_table json_value key
    keys kill lag language large last last_value lateral lead leading leave left less level like
    like_regex limit linear lineno lines listagg ln load local localtime localtimestamp locator
    lock log log10 long longblob longtext loop low_priority lower map match match_number
    match_recognize matched matches max maxvalue measures member merge method min minus minute
    mod mode modifies modify module month multiset names national natural nchar nclob new next
    no noaudit nocheck nocompress nologging nonclustered none normalize not notnull nowait
    nth_value ntile null nullif number numeric object occurrences_regex octet_length of off
    offline offset offsets old omit on one online only open opendatasource openquery openrowset
    openxml operation optimize option optionally or order ordinality out outer outfile output
    over overlaps overlay pad parameter parameters partial partition path pattern per percent
    percent_rank percentile_cont percentile_disc period pivot placing plan portion position
    position_regex postfix power precedes preceding precision prefix preorder prepare preserve
    primary print prior privileges proc procedure proto ptf purge qualify raiserror range
    rank raw read reads readtext real reconfigure recursive ref references referencing regexp
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    relative release rename repeat replace replication require resignal resource respect restore
    restrict result return returning returns revert revoke right rlike role rollback rollup
    routine row row_number rowcount rowguidcol rowid rownum rows rule running sample save
    savepoint schema schemas scope scroll search second section securityaudit seek select
    semanticsimilaritydetailstable sensitive separator sequence session session_user set sets
    setuser share show shutdown signal similar sin sinh size skip smallint snapshot some space
    spatial specific specifictype sql sqlexception sqlstate sqlwarning sqrt ssl start starting
    state statement static statistics stddev_pop stddev_samp stored straight_join struct
    structure submultiset subset substring substring_regex succeeds successful sum symmetric
    synonym sysdate system system_time system_user table tables tablesample tag tan tanh
    temporary terminate terminated text textsize than then time timestamp timezone_hour
    timezone_minute tinyint to top trailing tran transaction translate translate_regex
    translation treat trigger trim trim_array true truncate try_cast tsequal uescape uid
    unbounded under undo union unique unknown unlock unnest unpivot unsigned until update
    updatetext upper usage use user using validate value value_of values var_pop var_samp
    varbinary varchar varchar2 variable variadic varying verbose versioning view virtual wait
    waitfor when whenever where while window with within without work write writetext xor year
    zerofill zone
"""
_RESERVED = frozenset(_WORDS.split())
"""Reserved words of SQL:2016 and of several dialects."""


def laid_out(tree: exp.Expr, dialect: str) -> str:
    """The SQL of a tree as sqlglot formats it, with short parentheses on one line.

    >>> print(laid_out(sqlglot.parse_one("select a * (b + 1) as c from t"), "sqlite"))
    SELECT
        a * (b + 1) AS c
    FROM t
    """
    generator = Dialect.get_or_raise(dialect).generator(
        pretty=True, indent=4, pad=4, unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return with_handlers(generator, {exp.Paren: _paren, exp.Order: _order}).generate(tree)


def with_handlers(generator: Generator, handlers: Mapping[type[exp.Expr], Handler]) -> Generator:
    """The generator with its own SQL for some kinds of expressions.

    A subclass would fail with the compiled sqlglot, the extra `sqlglot[c]`.
    """
    generator._dispatch = {**generator._dispatch, **handlers}
    return generator


def _paren(generator: Generator, expression: exp.Paren) -> str:
    """On one line if it is short; sqlglot breaks every parenthesis."""
    inner = generator.sql(expression, "this")
    is_short = "\n" not in inner and not generator.too_wide([inner])
    return f"({inner})" if is_short else f"(\n{generator.indent(inner)}\n)"


def _order(generator: Generator, expression: exp.Order) -> str:
    """On one line within an aggregate; sqlglot breaks every ORDER BY."""
    is_clause = expression.this or isinstance(expression.parent, exp.Query)
    return (
        generator.order_sql(expression)
        if is_clause
        else f" {generator.order_sql(expression, flat=True)}"
    )


_CASED = {("clickhouse", "MD5")}
"""Functions that a dialect knows in upper case only."""


def in_lower_case(sql: str, dialect: str) -> str:
    """Lower-case the keywords and separate CTEs by blank lines; every name must be quoted or
    lower-case.

    >>> print(in_lower_case('WITH a AS (\\n    SELECT "Y"\\n)\\nSELECT SUM(Y) FROM a', "trino"))
    with
    <BLANKLINE>
    a as (
        select "Y"
    )
    <BLANKLINE>
    select sum(y) from a
    """

    def lowered(token: Token, text: str) -> str:
        is_word = _UPPER.fullmatch(text) and token.token_type != TokenType.IDENTIFIER
        return text.lower() if is_word and (dialect, text) not in _CASED else text

    text = _ENDS_A_SET.sub("),\n\n", _respelled(sql, dialect, lowered))
    if text.startswith("with "):
        text = f"with\n\n{text.removeprefix('with ')}".replace("\n)\nselect", "\n)\n\nselect", 1)
    return text


def without_redundant_aliases(sql: str, dialect: str) -> str:
    """Remove aliases equal to the column's name.

    A qualified column keeps its alias, as some databases would include the qualifier in the name.

    >>> without_redundant_aliases("select [zip] as [zip], t.[age] as [age], [a] as [b]", "tsql")
    'select [zip], t.[age] as [age], [a] as [b]'
    """
    tokens = _tokens(sql, dialect)
    parts, place = [], 0
    for before, column, between, name in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        kinds = [each.token_type for each in (column, between, name)]
        is_renamed = kinds == [TokenType.IDENTIFIER, TokenType.ALIAS, TokenType.IDENTIFIER]
        if is_renamed and column.text == name.text and before.token_type != TokenType.DOT:
            parts.append(sql[place : column.end + 1])
            place = name.end + 1
    return "".join([*parts, sql[place:]])


def with_comments(sql: str, comments: Mapping[str, Sequence[str]]) -> str:
    """Insert comment lines above the CTEs.

    >>> print(with_comments("with\\n\\na as (\\n    select 1\\n)", {"a": ["One row."]}))
    with
    <BLANKLINE>
    -- One row.
    a as (
        select 1
    )
    """
    for name, lines in comments.items():
        above = "".join(f"-- {line}\n" for line in lines)
        head = re.compile(rf"^{re.escape(name)} as ", re.MULTILINE).search(sql)
        if head is not None:
            sql = f"{sql[: head.start()]}{above}{sql[head.start() :]}"
    return sql


def with_needed_quotes(sql: str, dialect: str, *, spelled: bool) -> str:
    """Remove quotes that no name needs.

    `spelled`: names have the database's spelling, so a name that would be case-folded keeps its
    quotes.

    >>> with_needed_quotes('select "zip", "Zip code", "order" from t', "snowflake", spelled=False)
    'select zip, "Zip code", "order" from t'
    """
    quoted = {t.text for t in _tokens(sql, dialect) if t.token_type == TokenType.IDENTIFIER}
    folded = [name.casefold() for name in quoted]

    def bare(token: Token, text: str) -> str:
        name = token.text
        plain = (
            token.token_type == TokenType.IDENTIFIER
            and _PLAIN.fullmatch(name)
            and name.casefold() not in _reserved(dialect)
            and folded.count(name.casefold()) == 1
            and (not spelled or _folded(name, dialect) == name)
        )
        return name if plain else text

    return _respelled(sql, dialect, bare)


def _respelled(sql: str, dialect: str, spelling: Callable[[Token, str], str]) -> str:
    return "".join(_pieces(sql, dialect, spelling))


def _pieces(sql: str, dialect: str, spelling: Callable[[Token, str], str]) -> Iterator[str]:
    place = 0
    for token in _tokens(sql, dialect):
        yield _BLANKS.sub("", sql[place : token.start])
        yield spelling(token, sql[token.start : token.end + 1])
        place = token.end + 1
    yield sql[place:]


def _tokens(sql: str, dialect: str) -> list[Token]:
    return sqlglot.tokenize(sql, read=dialect)


def _folded(name: str, dialect: str) -> str:
    """An unquoted name as a database of this dialect folds it."""
    match Dialect.get_or_raise(dialect).normalization_strategy:
        case NormalizationStrategy.LOWERCASE:
            return name.lower()
        case NormalizationStrategy.UPPERCASE:
            return name.upper()
    return name


@cache
def _reserved(dialect: str) -> frozenset[str]:
    known = Dialect.get_or_raise(dialect)
    names = known.parser_class.ID_VAR_TOKENS
    keywords = known.tokenizer_class.KEYWORDS
    words = [word for word, token in keywords.items() if token not in names]
    return _RESERVED | {
        word.casefold() for word in (*words, *known.generator_class.RESERVED_KEYWORDS)
    }
