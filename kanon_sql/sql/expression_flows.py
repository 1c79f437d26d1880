"""The origins that the value of an expression carries, in the scope of its query.

Definitions 20.3 and 20.4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    ASK,
    COMBINE,
    CONSTANT,
    DERIVED,
    HASH,
    NOTHING,
    RANK,
    Doubt,
    Origin,
    TracedColumn,
    known_functions,
    merged,
    rule_of,
    ruled,
)
from kanon_sql.sql.query_parts import (
    aggregates,
    called_function,
    called_name,
    with_columns,
)
from kanon_sql.sql.query_scope import (
    QueryScope,
    QuerySource,
    Relation,
    Tables,
    correlate,
    of_correlated,
)

_OWN_SCHEMAS = {"safe", "net", "keys", "aead", "hll_count", "pg_catalog", "sys", "system"}
"""Schemas whose functions are the database's own."""
_PLAIN = ("keep", "default", "arithmetic", "concatenation", "hash", "cut", "function")
"""The rules that need the arguments alone."""


def _rule_named(function: str) -> str | None:
    """The rule of a function of this name; None if none is known."""
    kind = exp.FUNCTION_BY_NAME.get(function.upper())
    return rule_of(kind) if kind else known_functions().get(function.casefold())


def _windows_of(node: exp.Expr, scope: QueryScope) -> Iterator[exp.Expr]:
    """A window, and those named in WINDOW that it extends."""
    seen = set[str]()
    window: exp.Expr | None = node
    while window is not None:
        yield window
        name = window.args["alias"].name.casefold() if window.args.get("alias") else ""
        window = None if name in seen else scope.windows.get(name)
        seen.add(name)


def _partition(window: exp.Expr) -> Sequence[exp.Expr]:
    partition: Sequence[exp.Expr] = window.args.get("partition_by") or ()
    return partition


def _order(window: exp.Expr) -> Sequence[exp.Expr]:
    order = window.args.get("order")
    return order.expressions if order else ()


def _frame(window: exp.Expr) -> Sequence[exp.Expr]:
    frame = window.args.get("spec")
    return [*frame.iter_expressions()] if frame else []


class ExpressionReader(ABC):
    """Reads the expressions of a node's query."""

    def __init__(self, node: str, dialect: str | None, tables: Tables) -> None:
        self._node, self._dialect, self._tables = node, dialect, tables
        self.same: set[tuple[Origin, Origin]] = set()
        """The pairs of identifiers or entities that a condition equates."""
        self.without_entity: set[str] = set()
        """The nodes without a role that are joined on an entity."""

    @abstractmethod
    def _query(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Relation:
        """The relation of a query below CTEs, in the query around it."""

    def _doubt(self, reason: str, what: str, node: exp.Expr) -> frozenset[Doubt]:
        lines = (line for each in node.walk() if (line := each.meta.get("line")))
        return frozenset({Doubt(reason, what, self._node, next(lines, 1))})

    def _equate(self, left: TracedColumn, right: TracedColumn) -> None:
        for one in left.persons:
            self.same |= {(one, other) for other in right.persons if one != other}

    def _alias(self, name: str, scope: QueryScope) -> TracedColumn:
        """What a column of the result carries, or any of those that share the name."""
        known = scope.aliases.pop(name)
        if isinstance(known, list):
            known = merged([self._value(each, scope) for each in known])
        scope.aliases[name] = known
        return known

    def _value(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        """What the value of an expression carries."""
        rule = rule_of(type(node))
        own: Callable[[exp.Expr, QueryScope], TracedColumn] | None = getattr(
            self, f"_of_{rule}", None
        )
        if own is not None:
            return own(node, scope)
        if rule == "value":
            scope.has_aggregate = True
        values = self._arguments(node, scope)
        if not values and rule == "function":
            return NOTHING
        return ruled(rule, values)

    def _arguments(self, node: exp.Expr, scope: QueryScope) -> list[TracedColumn]:
        return [self._value(each, scope) for each in node.iter_expressions()]

    def _condition(self, nodes: Iterable[exp.Expr], scope: QueryScope) -> TracedColumn:
        return ruled("comparison", [self._value(each, scope) for each in nodes])

    def _of_nothing(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        return CONSTANT

    def _of_star(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        return scope.whole().by(COMBINE)

    def _of_position(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        return self._unresolved(node, scope)

    def _unresolved(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        """A column of no known table: any of its tables' may be meant."""
        whole = merged([NOTHING, *(each.whole() for each in scope.around())])
        if not whole.is_carrying:
            return NOTHING
        return whole.doubted(self._doubt("unresolved_column", node.name, node))

    def _of_column(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        assert isinstance(node, exp.Column)
        name, table = node.name.casefold(), node.args.get("table")
        if isinstance(node.this, exp.Star) and table is not None:
            return self._of_column(exp.column(table.name), scope).by(COMBINE)
        if isinstance(node.this, exp.Parameter | exp.PositionalColumn):
            return self._of_position(node.this, scope)
        if node.parts[0].name.casefold() in scope.parameters:
            return NOTHING
        found = self._candidates(node, scope)
        values = [source.get_or_rest(column) for source, column in found]
        # ClickHouse takes the alias before the column.
        is_alias_first = self._dialect == "clickhouse" and name in scope.aliases
        if table is None and (
            is_alias_first or not any(source.get(column) for source, column in found)
        ):
            for within in scope.around():
                if name in within.aliases:
                    values.append(self._alias(name, within))
                # The name of a table is its whole row.
                rows = (row for row in within.sources if row.name == name)
                values += [row.whole.by(COMBINE) for row in rows]
        if not values or not all(source.relation.may_have(column) for source, column in found):
            values.append(self._unresolved(node, scope))
        return merged([NOTHING, *values] if len(values) > 1 else values)

    def _candidates(self, node: exp.Column, scope: QueryScope) -> list[tuple[QuerySource, str]]:
        """The tables that may have a column, each with the column's name."""
        *prefix, name = (part.name.casefold() for part in node.parts)
        qualified: list[tuple[QuerySource, str]] = []
        for within in scope.around() if prefix else ():
            qualified = [
                (source, name if source.name == prefix[-1] else prefix[1])
                for source in within.sources
                if source.name in (prefix[-1], prefix[0])
            ]
            if qualified:
                correlate(scope, within, qualified)
                having = [each for each in qualified if each[0].relation.may_have(each[1])]
                if having:
                    return having
                break
        name = prefix[0] if prefix else name
        if name in scope.parameters:
            return []
        maybe: list[tuple[QuerySource, str]] = []
        for within in scope.around():
            listed = [each for each in within.sources if name in each.relation.by_name]
            listed = within.shared.get(name, listed)
            if listed:
                correlate(scope, within, ((source, name) for source in listed))
                return [*maybe, *((source, name) for source in listed)]
            if not qualified:
                more = [(each, name) for each in within.sources if each.relation.may_have(name)]
                if more and name not in within.aliases and not (maybe and scope.is_beside):
                    correlate(scope, within, more)
                maybe += more
        return qualified or maybe

    def _of_lambda(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        before = scope.parameters
        scope.parameters = before | {each.name.casefold() for each in node.expressions}
        value = self._value(node.this, scope)
        scope.parameters = before
        return ruled("function", [value])

    def _of_case(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        subject = [node.this] if node.this else []
        branches = node.args.get("ifs") or ()
        results = [branch.args.get("true") for branch in branches] + [node.args.get("default")]
        return merged(
            [
                *(self._condition([*subject, branch.this], scope) for branch in branches),
                *(self._value(each, scope) for each in results if each is not None),
            ]
        )

    def _of_if(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        results = [node.args[key] for key in ("true", "false") if node.args.get(key)]
        asked = self._condition([node.this], scope)
        return merged([asked, *(self._value(each, scope) for each in results)])

    def _of_decode(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        subject, *pairs = node.expressions
        has_default = len(pairs) % 2
        tests, results = pairs[: len(pairs) - has_default : 2], pairs[1::2]
        results += pairs[-1:] if has_default else []
        asked = (self._condition([subject, test], scope) for test in tests)
        return merged([*asked, *(self._value(each, scope) for each in results)])

    def _of_nullif(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        kept, other = self._value(node.this, scope), self._condition([node.expression], scope)
        return ruled("default", [kept, other])

    def _of_ordered(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        """A value that is chosen or listed in the order of others."""
        if isinstance(node, exp.AggFunc):
            scope.has_aggregate = True
        order = node.expressions if isinstance(node, exp.Order) else [node.expression]
        ranks = merged([self._value(each, scope) for each in order]).by(RANK)
        return merged([self._value(node.this, scope), ranks]) if node.this else ranks

    def _of_within(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        value, order = self._value(node.this, scope), node.expression.expressions
        values = merged([NOTHING, *(self._value(each, scope) for each in order)])
        return merged([value, values.by(RANK) if value.flows else values])

    def _of_figure(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        scope.has_aggregate = True
        is_count = isinstance(node, exp.Count)
        if is_count and (node.this is None or isinstance(node.this, exp.Star)):
            return TracedColumn(figure="count")
        value = merged(self._arguments(node, scope))
        figure = "count" if is_count and value.is_constant else None
        if is_count and isinstance(node.this, exp.Distinct):
            is_people = any(each.role == "entity" for each in value.persons)
            figure = "people" if is_people else None
        if isinstance(node, exp.Sum) and value.figure == "count":
            figure = "count"
        return value.by(scope.figure)._replace(figure=figure)

    def _of_filter(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        value, asked = self._value(node.this, scope), self._condition([node.expression.this], scope)
        if rule_of(type(called_function(node))) == "figure":
            asked = asked.by(scope.figure)
        return merged([value, asked]) if asked.is_carrying else value

    def _of_rank(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        return NOTHING

    def _of_window(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        windows = [*_windows_of(node, scope)]
        partition, order, frame = (
            [self._value(each, scope) for window in windows for each in part(window)]
            for part in (_partition, _order, _frame)
        )
        called = called_function(node)
        key = merged(order)
        is_key = not partition and {each.role for each in key.flows} == {"entity"}
        place = merged([NOTHING, key.by(HASH if is_key else RANK)])
        bounds = ruled("function", frame)
        if rule_of(type(called)) == "rank":
            return merged([place, ruled("function", self._arguments(called, scope))])
        is_loose = any(not (each.flows or each.is_constant) for each in partition)
        of_person = bool(order) or is_loose or any(each.persons for each in partition)
        figure, has_aggregate = scope.figure, scope.has_aggregate
        scope.figure = ASK if of_person else AGGREGATE
        value = self._value(node.this, scope)
        inside = any(aggregates(each) for each in called.iter_expressions())
        scope.figure, scope.has_aggregate = figure, has_aggregate or inside
        if isinstance(called, exp.Count | exp.Sum) and not value.flows:
            # In an order it numbers the records.
            value = merged([value, place])
        return merged([value, bounds])._replace(figure=None, is_constant=False)

    # --- subqueries -------------------------------------------------------------------------

    def _inside(self, node: exp.Expr, scope: QueryScope) -> tuple[TracedColumn, TracedColumn]:
        """What the columns of a subquery carry, and what its conditions ask."""
        relation = of_correlated(self._query(node, scope.ctes, scope))
        scope.people |= relation.people
        selecting = TracedColumn(dict.fromkeys(relation.selected, DERIVED))
        return relation.whole, merged([NOTHING, relation.asks.by(ASK), selecting])

    def _of_subquery(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        return merged(self._inside(node, scope))

    def _of_exists(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        if isinstance(node.this, exp.Query):
            return self._inside(node.this, scope)[1]
        return ruled("comparison", self._arguments(node, scope))

    def _of_in(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        query = node.args.get("query")
        if query is None:
            return ruled("comparison", self._arguments(node, scope))
        value, (columns, asked) = self._value(node.this, scope), self._inside(query, scope)
        self._equate(value, columns)
        return merged([NOTHING, value.by(ASK), columns.by(ASK), asked])

    # --- functions that are not known -------------------------------------------------------

    def _of_columns(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        whole = scope.whole()
        if not whole.is_carrying:
            return NOTHING
        return whole.doubted(self._doubt("columns_expression", "", node))

    def _of_unknown(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        values = self._arguments(node, scope)
        rule = known_functions().get(node.name.casefold())
        if isinstance(node, exp.CombinedAggFunc) and rule is None:
            name = node.name.casefold().removesuffix("if")
            rule = _rule_named(name)
        if rule is None:
            return self._doubtful(called_name(node), node, values, scope)
        if rule in ("figure", "value"):
            scope.has_aggregate = True
        if rule == "figure":
            return merged([NOTHING, *values]).by(scope.figure)
        return ruled(rule, values) if values else NOTHING

    def _doubtful(
        self, name: str, node: exp.Expr, values: Iterable[TracedColumn], scope: QueryScope
    ) -> TracedColumn:
        """The value of a function that may read anything."""
        value = merged([NOTHING, *values])
        if not (value.is_carrying or scope.is_carrying):
            return NOTHING
        return value.doubted(self._doubt("function", name, node))

    def _of_dot(self, node: exp.Expr, scope: QueryScope) -> TracedColumn:
        """A field of a struct, a function with a schema before it, or a method of a value."""
        called, subject = node.expression, with_columns(node.this)
        if not isinstance(called, exp.Func):
            return ruled("keep", self._arguments(node, scope))
        rule, values = _rule_named(called.name) or "", self._arguments(called, scope)
        names = [each.name for each in node.this.walk() if isinstance(each, exp.Identifier)]
        if {name.casefold() for name in names} <= _OWN_SCHEMAS:
            return ruled(rule, values) if rule in _PLAIN else self._value(called, scope)
        is_name = isinstance(subject, exp.Column)
        found = self._candidates(subject, scope) if isinstance(subject, exp.Column) else []
        if found or not is_name:
            values.append(self._value(subject, scope))
        is_value = not is_name or any(source.get(name) for source, name in found)
        if self._dialect == "duckdb" and is_value and rule in _PLAIN:
            return ruled(rule, values)
        return self._doubtful(".".join([*names, called_name(called)]), node, values, scope)
