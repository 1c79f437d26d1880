"""The roles of a query's columns, followed from those of its tables.

Definitions 20.3 to 20.7, in one pass over the parsed tree. Tables may be open: columns that nobody
listed are followed as one. What can't be followed is a `Doubt`, and carries all that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from kanon_sql.sql.expression_flows import ExpressionReader, aggregates, called_name
from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    ASK,
    CONSTANT,
    DERIVE,
    NOTHING,
    Origin,
    TracedColumn,
    known_functions,
    merged,
    rule_of,
)
from kanon_sql.sql.query_scope import (
    KEYS,
    QueryScope,
    QuerySource,
    Relation,
    are_records,
    brought,
    column_of_branch,
    fixed_point,
    is_reference,
    look_up,
    named,
    of_correlated,
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
            parsed = sqlglot.parse(sql, read=self._dialect)
            trees = [each for each in parsed if each and not isinstance(each, exp.Semicolon)]
            if len(trees) != 1:
                raise Unreadable("statement")
            return self._query(trees[0], {}, None)
        except ParseError as error:
            raise Unreadable("not_parsed", error.errors[0].get("line") or 1) from None
        except (SqlglotError, RecursionError):
            raise Unreadable("not_parsed") from None

    def _everything(self, scope: QueryScope, reason: str, node: exp.Expr) -> Relation:
        """The relation of a part that can't be followed: all that its tables carry."""
        whole, relation = scope.whole(), brought(scope)
        if not whole.is_carrying:
            return replace(relation, is_open=True)
        doubts = self._doubt(reason, "", node)
        rest = TracedColumn(whole.by(DERIVE).flows, whole.doubts | doubts)
        return replace(relation, is_open=True, rest=rest, doubts=doubts)

    # --- queries ----------------------------------------------------------------------------

    def _query(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Relation:
        """The relation of a query below CTEs, in the query around it."""
        scope = QueryScope(self._with(node, ctes, outer), outer)
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node, scope)
            case exp.Subquery() if not node.args.get("pivots"):
                if isinstance(node.this, exp.Table):
                    self._add(node.this, scope)
                    return starred(scope)
                return self._query(node.this, scope.ctes, outer)
            case exp.Values() | exp.Table():
                return self._relation_of(node, scope)
        for table in node.find_all(exp.Table):
            scope.sources.append(QuerySource("", self._relation_of(table, scope)))
        is_pivot = isinstance(node, exp.Pivot) or node.args.get("pivots")
        return self._everything(scope, "pivot" if is_pivot else "statement", node)

    def _with(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Mapping[str, Relation]:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        found = dict(ctes)
        recurs = with_.args.get("recursive") or self._dialect in _RECURSIVE_BY_DEFAULT
        for cte in with_.expressions:
            name = cte.alias.casefold()

            def read(known: Relation | None, cte: exp.Expr = cte, name: str = name) -> Relation:
                below = found if known is None else {**found, name: known}
                return named(cte, self._query(cte.this, below, outer))

            tables = cte.this.find_all(exp.Table) if recurs else ()
            inlined = self._tables((name,)) if name.startswith(INLINED) else None
            if inlined is not None:
                found[name] = inlined
            elif any(_parts(table, self._dialect) == (name,) for table in tables):
                found[name] = fixed_point(read)
            else:
                found[name] = read(None)
        return found

    def _set_operation(self, node: exp.SetOperation, scope: QueryScope) -> Relation:
        left, right = (
            self._query(each, scope.ctes, scope.outer) for each in (node.this, node.expression)
        )
        both = replace(
            left,
            selected=left.selected | right.selected,
            people=left.people | right.people,
            asks=merged([NOTHING, left.asks, right.asks]),
            is_correlated=left.is_correlated or right.is_correlated,
            node="",
        )
        if not isinstance(node, exp.Union):
            return both
        if left.is_unknown or right.is_unknown:
            known = right if left.is_unknown else left
            return replace(known, selected=both.selected, people=both.people)
        mine = [(name, column_of_branch(column, left)) for name, column in left.columns]
        others = [(name, column_of_branch(column, right)) for name, column in right.columns]
        by_name, is_open = node.args.get("by_name"), left.is_open or right.is_open
        rest = merged([NOTHING, left.rest, right.rest])
        if by_name or is_open:
            names = {name.casefold() for name, _ in mine}
            named = replace(right, columns=tuple(others)).by_name
            more = [(name, column) for name, column in others if name.casefold() not in names]
            # Of columns that nobody listed, the place is unknown: it may be any other column's.
            strays = merged([NOTHING, *(column for _, column in more)])
            stray, rest = (NOTHING, rest) if by_name else (strays, merged([rest, strays]))
            mine = [
                (name, merged([column, named.get(name.casefold(), merged([stray, right.rest]))]))
                for name, column in mine
            ]
            columns = [*mine, *((name, merged([column, left.rest])) for name, column in more)]
        else:
            pairs = zip_longest(mine, others, fillvalue=("", CONSTANT))
            columns = [(name or other, merged([a, b])) for (name, a), (other, b) in pairs]
        return replace(
            both,
            columns=tuple(columns),
            is_open=is_open,
            rest=rest,
            is_groups=left.is_groups and right.is_groups,
            has_loose_key=left.has_loose_key or right.has_loose_key,
            doubts=left.doubts | right.doubts,
        )

    # --- tables -----------------------------------------------------------------------------

    def _add(self, node: exp.Expr, scope: QueryScope) -> list[QuerySource]:
        """Add what stands in FROM or JOIN to a scope."""
        inside = node.this if isinstance(node, exp.Subquery) and not node.alias else None
        if isinstance(inside, exp.Table) and not node.args.get("pivots"):
            return self._add(inside, scope)
        before = len(scope.sources)
        relation = self._relation_of(node, scope)
        name = node.alias or (node.name if isinstance(node, exp.Table) else "")
        scope.sources.append(QuerySource(name, relation))
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
            case exp.Table() | exp.Lateral() if not isinstance(node.this, exp.Query):
                return self._table_function(node, node.this, inner)
            case exp.Unnest():
                return self._table_function(node, node, inner)
            case exp.Lateral():
                relation = of_correlated(self._query(node.this, scope.ctes, scope))
            case exp.Values():
                rows = (
                    [self._value(each, inner) for each in row.expressions]
                    for row in node.expressions
                )
                values = (merged(each) for each in zip(*rows, strict=False))
                relation = Relation(tuple((f"col{n}", value) for n, value in enumerate(values)))
            case _:
                relation = self._query(node, scope.ctes, scope.outer)
        return named(node, relation)

    def _table(self, node: exp.Table, scope: QueryScope) -> Relation:
        parts = _parts(node, self._dialect)
        if len(parts) == 1 and parts[0] in scope.ctes:
            return scope.ctes[parts[0]]
        relation = self._tables(parts)
        if relation is None:
            doubts = self._doubt("unknown_table", ".".join(parts), node)
            return Relation(is_open=True, rest=TracedColumn(doubts=doubts))
        return relation

    def _table_function(self, node: exp.Expr, call: exp.Expr, scope: QueryScope) -> Relation:
        """The relation of UNNEST, FLATTEN or another function in FROM: each column is its value."""
        known = self._tables(_parts(node, self._dialect)) if isinstance(node, exp.Table) else None
        if known is not None:
            return named(node, known)
        if rule_of(type(call)) == "unknown" and call.name.casefold() not in known_functions():
            value = merged([NOTHING, *self._arguments(call, scope)])
            doubts = self._doubt("unknown_table", called_name(call), node)
            value = TracedColumn(value.by(DERIVE).flows, value.doubts | doubts)
        else:
            inner = call.expressions if isinstance(call, exp.Unnest) else [call]
            value = merged([NOTHING, *(self._value(each, scope) for each in inner)])
        alias = node.args.get("alias")
        names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
        names = names or ([node.alias] if isinstance(node, exp.Unnest) and node.alias else [])
        return Relation(tuple((name, value) for name in names), True, value)

    # --- joins ------------------------------------------------------------------------------

    def _join(self, join: exp.Join, scope: QueryScope) -> None:
        before = list(scope.sources)
        added = self._add(join.this, scope)
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
            here = [source for source in before if source.get(name) is not None]
            here = here or [source for source in before if source.relation.is_open]
            scope.shared[name] = [*scope.shared.get(name, here), *added]
            self._meet([(source, name) for source in scope.shared[name]], scope)
            for source in here:
                self._equate(source.get_or_rest(name), added[0].get_or_rest(name))
        if join.method.upper() == "NATURAL":
            self._meet_by_any(before, added, scope)
        conjuncts = _conjuncts(on)
        for conjunct in conjuncts:
            self._meet(self._columns_of(conjunct, scope), scope, conjunct)
        if missed:
            asked = self._asked_by(conjuncts, scope)
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
        columns = node.walk(prune=lambda each: isinstance(each, exp.Query))
        return [
            found
            for each in columns
            if isinstance(each, exp.Column)
            for found in self._candidates(each, scope)
        ]

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
        queries = condition.find_all(exp.Subquery) if condition is not None else ()
        asked = merged([NOTHING, *(self._value(query, scope) for query in queries)])
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

    def _asked_by(self, conjuncts: Iterable[exp.Expr], scope: QueryScope) -> frozenset[Origin]:
        """What filters ask of one table; a condition between two says which records meet."""
        asked: set[Origin] = set()
        for conjunct in conjuncts:
            if _is_not_null(conjunct):
                continue
            is_nested = conjunct.find(exp.Query) is not None
            tables = self._tables_of(conjunct, scope)
            if len(tables) < 2 or is_nested:
                flows = self._value(conjunct, scope).flows
                asked |= {each for each in flows if not (is_nested and each.role in KEYS)}
        return frozenset(asked)

    def _tables_of(self, node: exp.Expr, scope: QueryScope) -> set[int]:
        """The tables that certainly have a column of a condition."""
        columns = node.walk(prune=lambda each: isinstance(each, exp.Query))
        found = (self._candidates(each, scope) for each in columns if isinstance(each, exp.Column))
        return {id(each[0][0]) for each in found if len(each) == 1}

    # --- SELECT -----------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: QueryScope) -> Relation:
        if from_ := node.args.get("from_"):
            self._add(from_.this, scope)
        for join in node.args.get("joins") or ():
            self._join(join, scope)
        for lateral in node.args.get("laterals") or ():
            self._add(lateral, scope)
        if node.args.get("match"):
            return self._everything(scope, "statement", node)
        if not node.expressions:
            return self._everything(scope, "empty_select", node)
        scope.windows = {each.name.casefold(): each for each in node.args.get("windows") or ()}
        scope.aliases = {each.alias.casefold(): each for each in node.selects if each.alias}
        for key in ("prewhere", "where"):
            filters = _conjuncts(node.args[key].this) if node.args.get(key) else []
            for conjunct in filters:
                self._meet(self._columns_of(conjunct, scope), scope, conjunct)
            scope.conditions += filters
        is_records = are_records(scope.sources)
        for source in scope.sources:
            source.has_figures_of_one = is_records and source.relation.has_loose_key
        self._ask(scope, scope.conditions)
        keys, places = self._keys(node)
        values = [self._value(key, scope) for key in keys]
        of_person = any(value.persons for value in values)
        scope.figure = ASK if of_person else AGGREGATE
        result = _Result(scope)
        for place, each in enumerate(node.expressions):
            star = _star_of(each)
            if star is None:
                value = self._projected(each, scope)
                is_key = place in places or (bool(keys) and _is_key(each, keys))
                dimension = is_key if keys else value.is_dimension
                result.add(_output_name(each, place), value._replace(is_dimension=dimension))
            else:
                self._expand(star, each, scope, result)
        self._ask(scope, _conjuncts(node.args["having"].this if node.args.get("having") else None))
        self._ask(
            scope, _conjuncts(node.args["qualify"].this if node.args.get("qualify") else None)
        )
        self._ask(scope, _conjuncts(node.args.get("connect")))
        if node.args.get("order") and (node.args.get("limit") or node.args.get("fetch")):
            orders = (each.this for each in node.args["order"].expressions)
            self._ask(scope, [_by_place(order, node) for order in orders])
        is_grouped = node.args.get("group") is not None or scope.has_aggregate
        loose = [each for each in values if not (each.flows or each.is_constant)]
        groups = [source.relation for source in scope.sources if source.relation.is_groups]
        return replace(
            brought(scope),
            columns=tuple(result.columns),
            is_open=result.is_open,
            rest=result.rest,
            is_groups=not of_person if is_grouped else not is_records,
            has_loose_key=bool(loose) if is_grouped else any(g.has_loose_key for g in groups),
            is_unknown=result.is_unknown,
        )

    def _keys(self, node: exp.Select) -> tuple[list[exp.Expr], set[int]]:
        """The keys of GROUP BY, and the places of those that are columns of the result."""
        group = node.args.get("group")
        if group is None:
            return [], set()
        if group.args.get("all"):
            places = {n for n, each in enumerate(node.expressions) if not aggregates(each)}
            return [node.expressions[place].unalias() for place in sorted(places)], places
        listed = list(group.expressions)
        for key in ("grouping_sets", "cube", "rollup"):
            more = group.args.get(key)
            listed += more if isinstance(more, list) else []
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
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        sources = scope.sources
        if table is not None:
            sources = [source for source in sources if source.name == table.name.casefold()]
            if not sources:
                result.is_open = True
                result.rest = merged([result.rest, self._of_struct(table, scope)])
                return
        options = star.args if isinstance(star, exp.Star) else {}
        excluded = {each.name.casefold() for each in options.get("except_") or ()}
        replaced = {each.alias.casefold(): each for each in options.get("replace") or ()}
        renamed = {each.this.name.casefold(): each.alias for each in options.get("rename") or ()}
        pattern = star.this.name if isinstance(star, exp.Columns) and star.this.is_string else ""
        listed = set[str]()
        for source in sources:
            for name, column in source.relation.columns:
                key = name.casefold()
                if key in excluded or (pattern and not _matches(pattern, name)):
                    continue
                value = source.seen(column)
                if table is None and key in scope.shared:
                    if key in listed:
                        continue
                    value = merged(each.get_or_rest(key) for each in scope.shared[key])
                if key in replaced:
                    value = self._value(replaced[key].this, scope)
                listed.add(key)
                result.add(renamed.get(key, name), value)
            result.is_unknown |= source.relation.is_unknown
            if source.relation.is_open:
                result.is_open = True
                result.rest = merged([result.rest, source.rest])
        if result.is_open:
            for key, each in replaced.items():
                if key not in listed:
                    result.add(each.alias, self._value(each.this, scope))
            for key, name in renamed.items():
                if key not in listed:
                    result.add(name, merged([NOTHING, *(source.rest for source in sources)]))

    def _of_struct(self, name: exp.Expr, scope: QueryScope) -> TracedColumn:
        return self._value(exp.column(name.name), scope)


class _Result:
    """The columns of a SELECT while they are read."""

    def __init__(self, scope: QueryScope) -> None:
        self.columns: list[tuple[str, TracedColumn]] = []
        self.is_open, self.rest, self.is_unknown = False, NOTHING, False

    def add(self, name: str, column: TracedColumn) -> None:
        self.columns.append((name, column))


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that all must hold."""
    if node is None:
        return []
    if isinstance(node, exp.Connect):
        return [each for each in (node.args.get("start"), node.args.get("connect")) if each]
    inner = node.unnest()
    if isinstance(inner, exp.And):
        return [*_conjuncts(inner.this), *_conjuncts(inner.expression)]
    return [inner]


def _is_not_null(node: exp.Expr) -> bool:
    inner = node.this.unnest() if isinstance(node, exp.Not) else None
    return isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)


def _star_of(node: exp.Expr) -> exp.Expr | None:
    """The star of a projection, if it is one."""
    inner = node.this if isinstance(node, exp.Column) else node.unalias()
    return inner if isinstance(inner, exp.Star | exp.Columns) else None


def _output_name(node: exp.Expr, place: int) -> str:
    """The name of a column of the result; never a part of an expression, which may hold a value."""
    name = node.alias
    while not name and isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        name = name or node.name
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        name = name or node.expression.name
    return name or f"column {place + 1}"


def _is_key(node: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Whether a projection is a key of GROUP BY."""
    bare, alias = node.unalias(), node.alias.casefold()
    names = {key.name.casefold() for key in keys if isinstance(key, exp.Column)}
    is_column = isinstance(bare, exp.Column) and bare.name.casefold() in names
    return is_column or bare in keys or bool(alias and alias in names)


def _by_place(node: exp.Expr, query: exp.Select) -> exp.Expr:
    """The column that ORDER BY names by its place."""
    place = int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else 0
    return query.expressions[place - 1].unalias() if 0 < place <= len(query.expressions) else node


def _matches(pattern: str, name: str) -> bool:
    """Whether COLUMNS('pattern') may select a column."""
    try:
        return re.search(pattern, name, re.IGNORECASE) is not None
    except re.error:
        return True
