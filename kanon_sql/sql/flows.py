"""The roles of a query's columns, followed from those of its tables.

Definitions 20.3 to 20.7, in one pass over the parsed tree. Tables may be open: columns that nobody
listed are followed as one. What can't be followed is a `Doubt`, and carries all that it reads.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from itertools import chain, zip_longest

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from kanon_sql.sql.expression_flows import ExpressionReader
from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    ASK,
    CONSTANT,
    NOTHING,
    Origin,
    TracedColumn,
    known_functions,
    merged,
    rule_of,
)
from kanon_sql.sql.query_parts import (
    aggregates,
    by_place,
    called_function,
    called_name,
    cells_of,
    conjuncts_of,
    is_cut,
    is_group_key,
    is_not_null,
    may_match,
    numbers_of,
    output_name,
    own_columns,
    queries_of,
    star_of,
)
from kanon_sql.sql.query_scope import (
    KEYS,
    QueryScope,
    QuerySource,
    Relation,
    ambiguous_names,
    are_records,
    brought,
    chosen_by,
    column_of_branch,
    doubted,
    either,
    fixed_point,
    is_reference,
    look_up,
    merged_by_name,
    named,
    of_lateral,
    of_records,
    sorting_columns,
    starred,
)

INLINED = "__dbt__cte__"
"""How dbt names the CTE of an ephemeral model."""
_RECURSIVE_BY_DEFAULT = ("tsql", "fabric", "oracle", "snowflake", "teradata")
_DIALECTS = {"sqlserver": "tsql", "synapse": "tsql", "mariadb": "mysql", "fabricspark": "spark",
             "glue": "spark"}  # fmt: skip
"""The dialects of dbt adapters that sqlglot names otherwise."""


def dialect_of(adapter: str | None) -> str | None:
    """The dialect of a dbt adapter; None, which is standard SQL, if sqlglot has none.

    >>> dialect_of("sqlserver"), dialect_of("vertica")
    ('tsql', None)
    """
    name = _DIALECTS.get(adapter or "", adapter)
    return name if name and sqlglot.Dialect.get(name) else None


class Unreadable(Exception):
    """SQL whose relation is undetermined."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


_IS_PARSING = ContextVar("_IS_PARSING", default=False)
"""Whether this thread parses the SQL of others, which no log may quote."""
logging.getLogger("sqlglot").addFilter(lambda record: not _IS_PARSING.get())


def _parsed(sql: str, dialect: str | None) -> list[exp.Expr]:
    """The statements of a text, without sqlglot's warnings."""
    token = _IS_PARSING.set(True)
    try:
        trees = sqlglot.parse(sql, read=dialect)
    finally:
        _IS_PARSING.reset(token)
    return [each for each in trees if each and not isinstance(each, exp.Semicolon)]


def name_parts(name: str, dialect: str | None) -> tuple[str, ...]:
    """The parts of a relation's name in lower case, or its text if it is a file or a function.

    >>> name_parts('"db"."Raw"."patients"', "duckdb")
    ('db', 'raw', 'patients')
    """
    try:
        table = exp.to_table(name, dialect=dialect)
    except SqlglotError:
        return (name.casefold(),)
    return _parts(table, dialect)


def _parts(table: exp.Table, dialect: str | None) -> tuple[str, ...]:
    if isinstance(table.this, exp.Identifier):
        return tuple(part.name.casefold() for part in table.parts)
    return (table.this.sql(dialect).casefold(),)


class Reader(ExpressionReader):
    """Reads the query of a node."""

    def read(self, sql: str) -> Relation:
        """The relation of a statement. Raises `Unreadable`."""
        try:
            trees = _parsed(sql, self._dialect)
            if len(trees) != 1:
                raise Unreadable("statement")
            if self._dialect == "clickhouse":
                self._read_listed_tables(trees[0])
            return self._query(trees[0], {}, None)
        except ParseError as error:
            raise Unreadable("not_parsed", error.errors[0].get("line") or 1) from None
        except (SqlglotError, RecursionError):
            raise Unreadable("not_parsed") from None

    def _read_listed_tables(self, tree: exp.Expr) -> None:
        """Write `x in patients`, by which ClickHouse reads a table, as a subquery."""
        ctes = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        for node in [*tree.find_all(exp.In)]:
            listed = node.args.get("field")
            if not isinstance(listed, exp.Column):
                continue
            names = tuple(part.name.casefold() for part in listed.parts)
            if set(names) <= ctes or self._tables(names) is not None:
                parts = zip(("this", "db", "catalog"), reversed(listed.parts), strict=False)
                rows = exp.select("*").from_(exp.Table(**dict(parts)))
                node.set("field", None)
                node.set("query", rows.subquery())

    def _everything(self, scope: QueryScope, reason: str, node: exp.Expr) -> Relation:
        """The relation of a part that can't be followed: all that its tables carry."""
        whole, relation = scope.whole(), brought(scope)
        if not whole.is_carrying:
            return replace(relation, is_open=True)
        return doubted(relation, whole, self._doubt(reason, "", node))

    # --- queries ----------------------------------------------------------------------------

    def _query(
        self,
        node: exp.Expr,
        ctes: Mapping[str, Relation],
        outer: QueryScope | None,
        is_beside: bool = False,
    ) -> Relation:
        """The relation of a query below CTEs, in the query around or beside it."""
        scope = QueryScope(self._with(node, ctes, outer), outer, is_beside=is_beside)
        return merged_by_name(self._query_in(node, scope))

    def _query_in(self, node: exp.Expr, scope: QueryScope) -> Relation:
        """The relation of a query in its scope, column by column."""
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node, scope)
            case exp.Subquery() if not node.args.get("pivots"):
                if isinstance(node.this, exp.Table):
                    self._add(node.this, scope)
                    return starred(scope)
                return self._query(node.this, scope.ctes, scope.outer, scope.is_beside)
            case exp.Values() | exp.Table():
                return self._relation_of(node, scope)
        for table in node.find_all(exp.Table):
            scope.sources.append(QuerySource("", self._relation_of(table, scope)))
        if not scope.sources:
            raise Unreadable("statement")
        is_pivot = isinstance(node, exp.Pivot) or node.args.get("pivots")
        return self._everything(scope, "pivot" if is_pivot else "statement", node)

    def _with(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Mapping[str, Relation]:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        found, own = dict(ctes), set[str]()
        recurs = with_.args.get("recursive") or self._dialect in _RECURSIVE_BY_DEFAULT
        for cte in with_.expressions:
            name = cte.alias.casefold()

            def read(known: Relation | None, cte: exp.Expr = cte, name: str = name) -> Relation:
                below = found if known is None else {**found, name: known}
                return named(cte, self._query(cte.this, below, outer))

            tables = cte.this.find_all(exp.Table) if recurs else ()
            inlined = self._tables((name,)) if name.startswith(INLINED) else None
            if inlined is not None:
                relation = inlined
            elif any(_parts(table, self._dialect) == (name,) for table in tables):
                relation = fixed_point(read, self._doubt("recursion", "", cte))
            else:
                relation = read(None)
            # Names in quotes may differ in case alone: either may be meant.
            found[name] = either(found[name], relation) if name in own else relation
            own.add(name)
        return found

    def _set_operation(self, node: exp.SetOperation, scope: QueryScope) -> Relation:
        left, right = (
            self._query(each, scope.ctes, scope.outer) for each in (node.this, node.expression)
        )
        sorted_by = node.args["order"].expressions if is_cut(node) else []
        by_name = bool(node.args.get("by_name"))
        asked = merged(
            column
            for each in sorted_by
            for column in sorting_columns(each.this, left, right, by_name)
        )
        both = replace(
            left,
            selected=left.selected | right.selected | asked.flows.keys(),
            people=left.people | right.people,
            asks=merged([NOTHING, left.asks, right.asks]),
            is_correlated=left.is_correlated or right.is_correlated,
            numbered=left.numbered | right.numbered | left.repeated | right.repeated,
            node="",
        )
        if not isinstance(node, exp.Union):
            return chosen_by(both, right)
        return self._union(node, both, left, right)

    def _union(self, node: exp.Union, both: Relation, left: Relation, right: Relation) -> Relation:
        """The rows of both branches, each column with those that it may stand above or below."""
        # Groups beside records, or beside rows of nobody.
        about = [each for each in (left, right) if each.whole.is_carrying or each.people]
        is_groups = all(each.is_groups for each in about or (left, right))
        if not is_groups:
            left, right = (of_records(each) if each.is_groups else each for each in (left, right))
        if left.is_unknown or right.is_unknown:
            known = right if left.is_unknown else left
            return replace(known, selected=both.selected, people=both.people)
        mine = [(name, column_of_branch(column, left)) for name, column in left.columns]
        others = [(name, column_of_branch(column, right)) for name, column in right.columns]
        by_name, is_open = bool(node.args.get("by_name")), left.is_open or right.is_open
        names, other_names = ({name.casefold() for name, _ in each} for each in (mine, others))
        is_mixed = left.is_open != right.is_open and not by_name and names != other_names
        if is_mixed and right.whole.is_carrying:
            # By place, which is known of one side alone.
            whole = merged([NOTHING, left.whole, right.whole])
            return doubted(
                replace(both, is_groups=is_groups), whole, self._doubt("union", "", node)
            )
        rest = merged([NOTHING, left.rest, right.rest])
        if by_name or is_open:
            more = [(name, column) for name, column in others if name.casefold() not in names]
            # Of columns that nobody listed, the place is unknown: it may be any other column's.
            strays = merged([NOTHING, *(() if by_name else (column for _, column in more))])
            rest = merged([rest, strays])
            theirs = replace(right, columns=tuple(others)).by_name
            missing = merged([strays, right.rest])
            columns = [
                *(
                    (name, merged([own, theirs.get(name.casefold(), missing)]))
                    for name, own in mine
                ),
                *((name, merged([column, left.rest])) for name, column in more),
            ]
        else:
            pairs = zip_longest(mine, others, fillvalue=("", CONSTANT))
            columns = [(name or other, merged([a, b])) for (name, a), (other, b) in pairs]
        return replace(
            both,
            columns=tuple(columns),
            is_open=is_open,
            rest=rest,
            is_groups=is_groups,
            has_loose_key=left.has_loose_key or right.has_loose_key,
            doubts=left.doubts | right.doubts,
        )

    # --- tables -----------------------------------------------------------------------------

    def _add(self, node: exp.Expr, scope: QueryScope) -> list[QuerySource]:
        """Add what stands in FROM or JOIN to a scope."""
        before = len(scope.sources)
        inside = node.this if isinstance(node, exp.Subquery) and not node.alias else None
        if isinstance(inside, exp.Table | exp.Subquery) and not node.args.get("pivots"):
            self._add(inside, scope)
        else:
            name = node.alias or (node.name if isinstance(node, exp.Table) else "")
            scope.sources.append(QuerySource(name, self._relation_of(node, scope)))
        for join in node.args.get("joins") or ():
            self._join(join, scope)
        for lateral in node.args.get("laterals") or ():
            self._add(lateral, scope)
        return scope.sources[before:]

    def _relation_of(self, node: exp.Expr, scope: QueryScope) -> Relation:
        """The relation of what stands in FROM, which may read the tables before it."""
        if pivots := node.args.get("pivots"):
            bare = node.copy()
            bare.set("pivots", None)
            pivoted = QueryScope(
                scope.ctes, scope.outer, [QuerySource("", self._relation_of(bare, scope))]
            )
            return self._everything(pivoted, "pivot", pivots[0])
        inner = QueryScope(scope.ctes, scope)
        match node:
            case exp.Table(this=exp.Identifier()):
                relation = self._table(node, scope)
            case exp.Table(this=None):
                rows = node.args["rows_from"]
                return self._table_function(node, (each.this or each for each in rows), inner)
            case exp.Table() if (known := self._tables(_parts(node, self._dialect))) is not None:
                relation = known
            case exp.Table() | exp.TableFromRows():
                return self._table_function(node, [node.this], inner)
            case exp.Lateral() if not isinstance(node.this, exp.Query):
                return self._table_function(node, [node.this], inner)
            case exp.Unnest():
                return self._table_function(node, node.expressions, inner)
            case exp.Alias() | exp.Column() | exp.Func():
                return self._table_function(node, [node.unalias()], inner)
            case exp.Lateral():
                relation = self._beside(node.this, scope)
            case exp.Values():
                rows = (
                    [self._value(each, inner) for each in cells_of(row)] for row in node.expressions
                )
                values = (merged(each) for each in zip(*rows, strict=False))
                relation = Relation(tuple((f"col{n}", value) for n, value in enumerate(values)))
            case _ if self._dialect == "duckdb" and scope.sources:
                relation = self._beside(node, scope, is_unmarked=True)
            case _:
                relation = self._query(node, scope.ctes, scope.outer)
        return named(node, relation)

    def _beside(self, node: exp.Expr, scope: QueryScope, *, is_unmarked: bool = False) -> Relation:
        """The relation of a query that may read the tables before it, which it looks up."""
        scope.reached = []
        relation = self._query(node, scope.ctes, scope, is_beside=is_unmarked)
        for target in {id(source): source for source, _ in scope.reached}.values():
            if is_reference(target):
                scope.lookups.append((target, [], relation.asks))
        look_up(scope)
        return of_lateral(relation)

    def _table(self, node: exp.Table, scope: QueryScope) -> Relation:
        parts = _parts(node, self._dialect)
        if len(parts) == 1 and parts[0] in scope.ctes:
            return scope.ctes[parts[0]]
        relation = self._tables(parts)
        if relation is None:
            is_name = all(re.fullmatch(r"[\w$*-]+", part) for part in parts)
            label = ".".join(parts) if is_name else "(a file, or a quoted name)"
            doubts = self._doubt("unknown_table", label, node)
            return Relation(is_open=True, rest=TracedColumn(doubts=doubts))
        return relation

    def _table_function(
        self, node: exp.Expr, calls: Iterable[exp.Expr], scope: QueryScope
    ) -> Relation:
        """The relation of UNNEST, FLATTEN or another function in FROM: each column is its value."""
        is_own = not node.args.get("db")
        value = merged([NOTHING, *(self._rows_of(each, is_own, scope) for each in calls)])
        alias = node.args.get("alias")
        names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
        is_column = isinstance(node, exp.Unnest | exp.Alias | exp.Column) and node.alias_or_name
        names = names or ([node.alias_or_name] if is_column else [])
        return Relation(tuple((name, value) for name in names), True, value)

    def _rows_of(self, call: exp.Expr, is_own: bool, scope: QueryScope) -> TracedColumn:
        """What the rows of a table function carry; `is_own` if no schema is before its name."""
        called = called_function(call)
        rule = rule_of(type(called))
        if rule == "unknown":
            rule = known_functions().get(called.name.casefold(), rule)
        if is_own and rule not in ("unknown", "nothing", "position"):
            return self._value(call, scope)
        value = merged([NOTHING, *self._arguments(called, scope)])
        return value.doubted(self._doubt("unknown_table", called_name(called), call))

    # --- joins ------------------------------------------------------------------------------

    def _join(self, join: exp.Join, scope: QueryScope) -> None:
        before = list(scope.sources)
        added = [
            source for each in (join.this, *join.expressions) for source in self._add(each, scope)
        ]
        side, on = join.side.upper(), join.args.get("on")
        is_filter = join.kind.upper() in ("SEMI", "ANTI")
        is_apply = join.this.args.get("cross_apply") is False
        missed = [
            *(added if not is_filter and (side in ("LEFT", "FULL") or is_apply) else ()),
            *(before if side in ("RIGHT", "FULL") else ()),
        ]
        if any(source in before for source in missed):
            asked = self._asked_by(scope.conditions, scope)
            for source in before:
                source.miss(asked)
        for source in missed:
            source.miss(source.relation.selected)
        for name in self._shared_names(join, before, added):
            compared = self._share(name, before, added, scope)
            if not missed and any(is_reference(source) for source in scope.shared[name]):
                scope.selected |= {each for each in compared.flows if each.role not in KEYS}
        if join.method.upper() == "NATURAL":
            self._meet_by_any(before, added, scope)
        conjuncts = conjuncts_of(on) + conjuncts_of(join.args.get("match_condition"))
        for conjunct in conjuncts:
            self._meet(self._columns_of(conjunct, scope), scope, conjunct)
        if missed:
            asked = self._asked_by(conjuncts, scope, by_lists=False)
            for source in missed:
                source.miss(asked)
        else:
            scope.conditions += conjuncts
        if is_filter:
            self._ask(scope, conjuncts)
            scope.selected |= frozenset().union(*(each.relation.selected for each in added))
            scope.people |= frozenset().union(*(each.relation.people for each in added))
            scope.conditions = [each for each in scope.conditions if each not in conjuncts]
            scope.sources = before

    def _share(
        self,
        name: str,
        before: Sequence[QuerySource],
        added: Sequence[QuerySource],
        scope: QueryScope,
    ) -> TracedColumn:
        """What a column of USING or NATURAL carries in the tables before, which it is compared
        with."""
        here = [source for source in before if source.get(name) is not None]
        here = here or [source for source in before if source.relation.is_open]
        scope.shared[name] = [*scope.shared.get(name, here), *added]
        self._meet([(source, name) for source in scope.shared[name]], scope)
        for source in here:
            self._equate(source.get_or_rest(name), added[0].get_or_rest(name))
        return merged([NOTHING, *(each.get_or_rest(name) for each in here)])

    def _shared_names(
        self, join: exp.Join, before: Sequence[QuerySource], added: Sequence[QuerySource]
    ) -> list[str]:
        """The columns of USING, or those of NATURAL that both sides list."""
        if join.method.upper() != "NATURAL":
            return [each.name.casefold() for each in join.args.get("using") or ()]
        listed = {name for source in before for name in source.relation.by_name}
        return [name for source in added for name in source.relation.by_name if name in listed]

    def _meet_by_any(
        self, before: Sequence[QuerySource], added: Sequence[QuerySource], scope: QueryScope
    ) -> None:
        """Meet by any column that tables with unlisted columns may share."""
        for targets, others in ((added, before), (before, added)):
            for target in targets:
                if target.relation.is_open and is_reference(target):
                    names = [
                        (source, name) for source in others for name, _ in source.relation.columns
                    ]
                    scope.lookups.append((target, names, NOTHING))
        look_up(scope)

    def _columns_of(self, node: exp.Expr, scope: QueryScope) -> list[tuple[QuerySource, str]]:
        """The columns of a condition, each with the tables that may have it."""
        if any(rule_of(type(each)) == "position" for each in node.walk()):
            # A place may be that of any column.
            return [(each, name) for each in scope.sources for name in (*each.relation.by_name, "")]
        return [found for each in own_columns(node) for found in self._candidates(each, scope)]

    def _meet(
        self,
        columns: Sequence[tuple[QuerySource, str]],
        scope: QueryScope,
        condition: exp.Expr | None = None,
    ) -> None:
        """Look up the tables that a condition compares with another: they are functions of it."""
        if isinstance(condition, exp.EQ):
            sides = condition.this, condition.expression
            if all(isinstance(side.unnest(), exp.Column | exp.Cast) for side in sides):
                self._equate(*(self._value(side, scope) for side in sides))
        scope.reached = []
        queries = queries_of(condition) if condition is not None else ()
        asked = merged([NOTHING, *(self._value(query, scope) for query in queries)])
        columns = [*columns, *scope.reached]
        for target in {id(source): source for source, _ in columns}.values():
            others = [(source, name) for source, name in columns if source is not target]
            if target not in scope.sources or not (others or asked.is_carrying):
                continue
            if is_reference(target):
                scope.lookups.append((target, others, asked))
            if not target.relation.whole.is_carrying and target.relation.node:
                values = (source.get_or_rest(name) for source, name in others)
                if any(each.role == "entity" for value in values for each in value.persons):
                    self.without_entity.add(target.relation.node)
        look_up(scope)

    # --- conditions -------------------------------------------------------------------------

    def _ask(self, scope: QueryScope, conjuncts: Iterable[exp.Expr]) -> None:
        """Note what conditions compare, and which filters select by which roles."""
        for conjunct in conjuncts:
            scope.asks = merged([NOTHING, scope.asks, self._value(conjunct, scope)])
            scope.selected |= self._asked_by([conjunct], scope)

    def _asked_by(
        self, conjuncts: Iterable[exp.Expr], scope: QueryScope, *, by_lists: bool = True
    ) -> frozenset[Origin]:
        """What filters ask of one table; a condition between two says which records meet.

        A table that no person is in is a list: an inner join with it selects.
        """
        asked: set[Origin] = set()
        for conjunct in conjuncts:
            if is_not_null(conjunct):
                continue
            is_nested = conjunct.find(exp.Query) is not None
            tables = self._tables_of(conjunct, scope)
            of_people = [each for each in tables if not (by_lists and is_reference(each))]
            if len(of_people) < 2 or is_nested:
                flows = self._value(conjunct, scope).flows
                has_keys = len(tables) < 2 and not is_nested
                asked |= {each for each in flows if has_keys or each.role not in KEYS}
        return frozenset(asked)

    def _tables_of(self, node: exp.Expr, scope: QueryScope) -> list[QuerySource]:
        """The tables that certainly have a column of a condition."""
        found = (self._candidates(each, scope) for each in own_columns(node))
        certain = {id(each[0][0]): each[0][0] for each in found if len(each) == 1}
        return [*certain.values()]

    # --- SELECT -----------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: QueryScope) -> Relation:
        self._add_tables(node, scope)
        if node.args.get("match"):
            return self._everything(scope, "statement", node)
        scope.windows = {each.name.casefold(): each for each in node.args.get("windows") or ()}
        by_alias: dict[str, list[exp.Expr]] = {}
        for each in node.selects:
            if each.alias:
                by_alias.setdefault(each.alias.casefold(), []).append(each)
        scope.aliases |= by_alias
        filters = {
            key: conjuncts_of(node.args[key].this if node.args.get(key) else None)
            for key in ("prewhere", "where", "having", "qualify")
        }
        for conjunct in chain(*filters.values()):
            self._meet(self._columns_of(conjunct, scope), scope, conjunct)
        scope.conditions += filters["prewhere"] + filters["where"]
        is_records = are_records(scope.sources)
        for source in scope.sources:
            source.has_figures_of_one = is_records and source.relation.has_loose_key
        self._ask(scope, scope.conditions)
        if not node.expressions:
            return self._everything(scope, "empty_select", node)
        keys, places = self._keys(node)
        values = [self._value(key, scope) for key in keys]
        of_person = any(value.has_person for value in values)
        scope.figure = ASK if of_person else AGGREGATE
        result = self._projection(node, keys, places, scope)
        self._ask(scope, filters["having"] + filters["qualify"])
        self._ask(scope, conjuncts_of(node.args.get("connect")))
        if is_cut(node):
            orders = (each.this for each in node.args["order"].expressions)
            self._ask(scope, [by_place(order, node) for order in orders])
        is_grouped = node.args.get("group") is not None or scope.has_aggregate
        loose = [each for each in values if not (each.flows or each.is_constant)]
        groups = [source.relation for source in scope.sources if source.relation.is_groups]
        return replace(
            brought(scope),
            columns=tuple(result.columns),
            is_open=result.is_open,
            numbered=result.numbered | ambiguous_names(result.parts),
            rest=result.rest,
            is_groups=not of_person if is_grouped else not is_records,
            has_loose_key=bool(loose or any(map(star_of, keys)))
            if is_grouped
            else any(g.has_loose_key for g in groups),
            is_unknown=result.is_unknown,
        )

    def _add_tables(self, node: exp.Select, scope: QueryScope) -> None:
        """Add what a SELECT reads to its scope."""
        if from_ := node.args.get("from_"):
            self._add(from_.this, scope)
        for join in node.args.get("joins") or ():
            self._join(join, scope)
        for lateral in node.args.get("laterals") or ():
            self._add(lateral, scope)

    def _projection(
        self, node: exp.Select, keys: Sequence[exp.Expr], places: set[int], scope: QueryScope
    ) -> _Result:
        """The columns of a SELECT, those of stars in their place."""
        result = _Result(scope)
        for place, each in enumerate(node.expressions):
            if (star := star_of(each)) is not None:
                self._expand(star, each, scope, result)
                continue
            value, name = self._projected(each, scope), output_name(each, place)
            is_key = place in places or (bool(keys) and is_group_key(each, keys))
            result.add(name, value._replace(is_dimension=is_key if keys else value.is_dimension))
            result.parts.append(([name], False))
        return result

    def _keys(self, node: exp.Select) -> tuple[list[exp.Expr], set[int]]:
        """The keys of GROUP BY, and the places of those that are columns of the result."""
        group = node.args.get("group")
        if group is None:
            return [], set()
        if group.args.get("all"):
            places = {n for n, each in enumerate(node.expressions) if not aggregates(each)}
            return [node.expressions[place].unalias() for place in sorted(places)], places
        listed = list(group.expressions)
        keys, places = list[exp.Expr](), set[int]()
        while listed:
            key = listed.pop(0)
            if isinstance(key, exp.Tuple | exp.Cube | exp.Rollup | exp.GroupingSets | exp.Paren):
                listed += key.expressions or ([key.this] if key.this else [])
            elif isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
                if 0 < int(key.name) <= len(node.expressions):
                    places.add(int(key.name) - 1)
                    keys.append(node.expressions[int(key.name) - 1].unalias())
            else:
                keys.append(key)
        return keys, places

    def _projected(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        """The value of a column of the result, which columns after it may use by its alias."""
        name = node.alias.casefold()
        return self._alias(name, scope) if name else self._value(node, scope)

    def _expand(self, star: exp.Expr, node: exp.Expr, scope: QueryScope, result: _Result) -> None:
        """Add the columns of a star; `exclude`, `replace` and `rename` in it are followed."""
        path = node.parts[:-1] if isinstance(node, exp.Column) else []
        table = path[-1] if path else None
        sources, fields = scope.sources, NOTHING
        if table is not None:
            sources = [source for source in sources if source.name == table.name.casefold()]
            before = path[-2].name.casefold() if len(path) > 1 else ""
            is_field = any(before in (each.name, *each.relation.by_name) for each in scope.sources)
            if not sources or (before and is_field):
                result.is_open = True
                fields = self._value(exp.column(*(each.name for each in path[::-1])), scope)
                result.rest = merged([result.rest, fields])
                result.parts.append(((), True))
        options = star.args if isinstance(star, exp.Star) else {}
        excluded = {
            (each.text("table").casefold(), each.name.casefold())
            for each in options.get("except_") or ()
        }
        replaced = {each.alias.casefold(): each for each in options.get("replace") or ()}
        renamed = {each.this.name.casefold(): each.alias for each in options.get("rename") or ()}
        pattern = star.this.name if isinstance(star, exp.Columns) and star.this.is_string else ""
        listed = set[str]()
        for source in sources:
            relation, met = source.relation, set[str]()
            for name, column in relation.columns:
                key = name.casefold()
                # Of columns that share a name an option changes the first: the others are numbered.
                is_first = key not in met
                met.add(key)
                if is_first and {(source.name, key), ("", key)} & excluded:
                    continue
                may_be = numbers_of(name) if key in relation.repeated | relation.numbered else ()
                if not any(may_match(pattern, each) for each in (name, *may_be)):
                    continue
                value = source.seen(column)
                if table is None and key in scope.shared:
                    if key in listed:
                        continue
                    value = merged(each.get_or_rest(key) for each in scope.shared[key])
                if is_first and key in replaced:
                    value = self._value(replaced[key].this, scope)
                listed.add(key)
                result.add(renamed.get(key, name) if is_first else name, value)
            result.numbered |= relation.numbered | relation.repeated
            result.parts.append((relation.by_name, relation.is_open))
            result.is_unknown |= relation.is_unknown
            if relation.is_open:
                result.is_open = True
                result.rest = merged([result.rest, source.rest])
        if result.is_open:
            for key, each in replaced.items():
                if key not in listed:
                    result.add(each.alias, self._value(each.this, scope))
            for key, name in renamed.items():
                if key not in listed:
                    result.add(name, merged([fields, *(source.rest for source in sources)]))


class _Result:
    """The columns of a SELECT while they are read."""

    def __init__(self, scope: QueryScope) -> None:
        self.columns: list[tuple[str, TracedColumn]] = []
        self.is_open, self.rest, self.is_unknown = False, NOTHING, False
        self.numbered = frozenset[str]()
        self.parts: list[tuple[Iterable[str], bool]] = []
        """The names of each part of the projection, and whether it has unlisted columns."""

    def add(self, name: str, column: TracedColumn) -> None:
        self.columns.append((name, column))
