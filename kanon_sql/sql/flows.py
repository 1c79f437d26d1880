"""The roles of a query's columns, followed from those of its tables.

Definitions 20.3 to 20.7, in one pass over the parsed tree. Tables may be open: columns that nobody
listed are followed as one. What can't be followed is a `Doubt`, and carries all that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    ASK,
    COMBINE,
    CONSTANT,
    DERIVE,
    DERIVED,
    HASH,
    HINTED,
    LOOK_UP,
    NOTHING,
    OF_ONE,
    PERSONS,
    RANK,
    Doubt,
    Origin,
    Step,
    TracedColumn,
    known_functions,
    merged,
    rule_of,
    ruled,
)

TELLING = ("identifier", "personal", "sensitive")
"""The roles of which a missing partner tells the value."""
KEYS = ("entity", "weight")
"""The roles that neither a lookup nor a missing partner tells."""
INLINED = "__dbt__cte__"
"""How dbt names the CTE of an ephemeral model."""
_OWN_SCHEMAS = {"safe", "net", "keys", "hll_count", "pg_catalog", "sys", "system"}
"""Schemas whose functions are the database's own."""
_RECURSIVE_BY_DEFAULT = ("tsql", "fabric", "oracle", "snowflake", "teradata")
_ROUNDS = 50


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


@dataclass(frozen=True)
class Relation:
    """A table, or the result of a query."""

    columns: tuple[tuple[str, TracedColumn], ...] = ()
    is_open: bool = False
    """Whether it has columns that nobody listed."""
    rest: TracedColumn = NOTHING
    """What those carry."""
    is_groups: bool = False
    """Whether a row is a group of records."""
    has_loose_key: bool = False
    """Whether a key of its groups has no role, so that a group may be one record."""
    selected: frozenset[Origin] = frozenset()
    """What its filters ask about, and those before it."""
    people: frozenset[Origin] = frozenset()
    """The identifiers and entities of the nodes before it."""
    doubts: frozenset[Doubt] = frozenset()
    """The doubts about which columns it has."""
    node: str = ""
    asks: TracedColumn = NOTHING
    """All that the conditions of the query compare."""
    is_correlated: bool = False
    """Whether it reads columns of the query around it."""
    is_unknown: bool = False
    """Whether nothing is known of its columns yet, as in the first round of a recursion."""

    @cached_property
    def by_name(self) -> Mapping[str, TracedColumn]:
        by_name: dict[str, list[TracedColumn]] = {}
        for name, column in self.columns:
            by_name.setdefault(name.casefold(), []).append(column)
        return {name: merged(columns) for name, columns in by_name.items()}

    @cached_property
    def whole(self) -> TracedColumn:
        """What its columns carry together."""
        return merged([NOTHING, *(column for _, column in self.columns), self.rest])

    @cached_property
    def has_people(self) -> bool:
        flows = self.whole.flows.items()
        return any(origin.role in PERSONS and how <= DERIVED for origin, how in flows)


UNKNOWN = Relation(is_unknown=True)
Tables = Callable[[Sequence[str]], Relation | None]
"""The relation of a table by the parts of its name, in lower case; None if there is none."""


def fixed_point(read: Callable[[Relation], Relation]) -> Relation:
    """The least relation that reads itself, from nothing known."""
    known = UNKNOWN
    for _ in range(_ROUNDS):
        found = read(known)
        if found == known:
            break
        known = found
    return known


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


class _Source:
    """A table in FROM, with what joins add to its columns."""

    def __init__(self, name: str, relation: Relation) -> None:
        self.name, self.relation = name.casefold(), relation
        self.told: dict[Origin, int] = {}
        """What every column carries by a lookup or a missing partner."""
        self.hinted: frozenset[Origin] = frozenset()
        """What a missing partner tells by a constant, and hints at by any other column."""
        self.is_partner = False
        """Whether an outer join may miss it."""
        self.has_figures_of_one = False

    def tell(self, flows: Mapping[Origin, int]) -> bool:
        """Add to what every column carries; whether anything is new."""
        new = {each: how for each, how in flows.items() if self.told.get(each, HINTED + 1) > how}
        self.told |= new
        return bool(new)

    def miss(self, origins: Iterable[Origin]) -> None:
        """Let the columns tell what selected the rows that an outer join may miss."""
        self.is_partner = True
        for origin in origins:
            if origin.role in TELLING:
                self.tell({origin: DERIVED})
            elif origin.role not in KEYS:
                self.hinted |= {origin}

    def seen(self, column: TracedColumn) -> TracedColumn:
        """A column as the joins leave it."""
        if self.has_figures_of_one:
            column = column._replace(flows=column.by(OF_ONE).flows)
        if not (self.told or self.hinted):
            return column
        hints = dict.fromkeys(self.hinted, DERIVED if column.is_constant else HINTED)
        flows = merged(
            [TracedColumn(column.flows), TracedColumn(self.told), TracedColumn(hints)]
        ).flows
        return column._replace(flows=flows, is_constant=False)

    def get(self, name: str) -> TracedColumn | None:
        column = self.relation.by_name.get(name)
        return None if column is None else self.seen(column)

    def get_or_rest(self, name: str) -> TracedColumn:
        return self.get(name) or self.rest

    @property
    def rest(self) -> TracedColumn:
        return self.seen(self.relation.rest)

    @property
    def whole(self) -> TracedColumn:
        return merged([self.rest, *(self.seen(column) for _, column in self.relation.columns)])


@dataclass
class _Scope:
    """The names that an expression may use, and what its query found."""

    ctes: Mapping[str, Relation]
    outer: _Scope | None = None
    sources: list[_Source] = field(default_factory=list)
    shared: dict[str, list[_Source]] = field(default_factory=dict)
    """The columns of USING or NATURAL, each with its tables."""
    aliases: dict[str, exp.Expr | TracedColumn] = field(default_factory=dict)
    """The columns of the result, which may be used again; read when they are."""
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    """The parameters of the lambdas around."""
    figure: Step = AGGREGATE
    has_aggregate: bool = False
    is_correlated: bool = False
    conditions: list[exp.Expr] = field(default_factory=list)
    """The conditions of inner joins and of WHERE."""
    lookups: list[tuple[_Source, list[tuple[_Source, str]], TracedColumn]] = field(
        default_factory=list
    )
    """Each table that is looked up, with the columns and subqueries that it is compared with."""
    asks: TracedColumn = NOTHING
    selected: frozenset[Origin] = frozenset()
    people: frozenset[Origin] = frozenset()

    def whole(self) -> TracedColumn:
        """What its tables carry together."""
        return merged([NOTHING, *(source.whole for source in self.sources)])

    def around(self) -> Iterator[_Scope]:
        """The scope, and those around it."""
        scope: _Scope | None = self
        while scope:
            yield scope
            scope = scope.outer

    @property
    def is_carrying(self) -> bool:
        sources = (source for scope in self.around() for source in scope.sources)
        return any(source.relation.whole.is_carrying for source in sources)


class Reader:
    """Reads the query of a node; `tables` gives the relations that it may name."""

    def __init__(self, node: str, dialect: str | None, tables: Tables) -> None:
        self._node, self._dialect, self._tables = node, dialect, tables
        self.same: set[tuple[Origin, Origin]] = set()
        """The pairs of identifiers or entities that a condition equates."""
        self.without_entity: set[str] = set()
        """The nodes without a role that are joined on an entity."""

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

    def _doubt(self, reason: str, what: str, node: exp.Expr) -> frozenset[Doubt]:
        lines = (line for each in node.walk() if (line := each.meta.get("line")))
        return frozenset({Doubt(reason, what, self._node, next(lines, 1))})

    def _everything(self, scope: _Scope, reason: str, node: exp.Expr) -> Relation:
        """The relation of a part that can't be followed: all that its tables carry."""
        whole, brought = scope.whole(), _brought(scope)
        if not whole.is_carrying:
            return replace(brought, is_open=True)
        doubts = self._doubt(reason, "", node)
        rest = TracedColumn(whole.by(DERIVE).flows, whole.doubts | doubts)
        return replace(brought, is_open=True, rest=rest, doubts=doubts)

    # --- queries ----------------------------------------------------------------------------

    def _query(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: _Scope | None
    ) -> Relation:
        """The relation of a query below CTEs, in the query around it."""
        scope = _Scope(self._with(node, ctes, outer), outer)
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.SetOperation():
                return self._set_operation(node, scope)
            case exp.Subquery() if not node.args.get("pivots"):
                if isinstance(node.this, exp.Table):
                    self._add(node.this, scope)
                    return _starred(scope)
                return self._query(node.this, scope.ctes, outer)
            case exp.Values() | exp.Table():
                return self._relation_of(node, scope)
        for table in node.find_all(exp.Table):
            scope.sources.append(_Source("", self._relation_of(table, scope)))
        is_pivot = isinstance(node, exp.Pivot) or node.args.get("pivots")
        return self._everything(scope, "pivot" if is_pivot else "statement", node)

    def _with(
        self, node: exp.Expr, ctes: Mapping[str, Relation], outer: _Scope | None
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
                return _named(cte, self._query(cte.this, below, outer))

            tables = cte.this.find_all(exp.Table) if recurs else ()
            inlined = self._tables((name,)) if name.startswith(INLINED) else None
            if inlined is not None:
                found[name] = inlined
            elif any(_parts(table, self._dialect) == (name,) for table in tables):
                found[name] = fixed_point(read)
            else:
                found[name] = read(None)
        return found

    def _set_operation(self, node: exp.SetOperation, scope: _Scope) -> Relation:
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
        mine = [(name, _told_by_branch(column, left)) for name, column in left.columns]
        others = [(name, _told_by_branch(column, right)) for name, column in right.columns]
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

    def _add(self, node: exp.Expr, scope: _Scope) -> list[_Source]:
        """Add what stands in FROM or JOIN to a scope."""
        inside = node.this if isinstance(node, exp.Subquery) and not node.alias else None
        if isinstance(inside, exp.Table) and not node.args.get("pivots"):
            return self._add(inside, scope)
        before = len(scope.sources)
        relation = self._relation_of(node, scope)
        name = node.alias or (node.name if isinstance(node, exp.Table) else "")
        scope.sources.append(_Source(name, relation))
        for join in node.args.get("joins") or ():
            self._join(join, scope)
        for lateral in node.args.get("laterals") or ():
            self._add(lateral, scope)
        return scope.sources[before:]

    def _relation_of(self, node: exp.Expr, scope: _Scope) -> Relation:
        """The relation of what stands in FROM, which may read the tables before it."""
        if pivots := node.args.get("pivots"):
            bare = node.copy()
            bare.set("pivots", None)
            pivoted = _Scope(scope.ctes, scope.outer, [_Source("", self._relation_of(bare, scope))])
            return self._everything(pivoted, "pivot", pivots[0])
        inner = _Scope(scope.ctes, scope)
        match node:
            case exp.Table(this=exp.Identifier()):
                relation = self._table(node, scope)
            case exp.Table() | exp.Lateral() if not isinstance(node.this, exp.Query):
                return self._table_function(node, node.this, inner)
            case exp.Unnest():
                return self._table_function(node, node, inner)
            case exp.Lateral():
                relation = _of_one(self._query(node.this, scope.ctes, scope))
            case exp.Values():
                rows = (
                    [self._value(each, inner) for each in row.expressions]
                    for row in node.expressions
                )
                values = (merged(each) for each in zip(*rows, strict=False))
                relation = Relation(tuple((f"col{n}", value) for n, value in enumerate(values)))
            case _:
                relation = self._query(node, scope.ctes, scope.outer)
        return _named(node, relation)

    def _table(self, node: exp.Table, scope: _Scope) -> Relation:
        parts = _parts(node, self._dialect)
        if len(parts) == 1 and parts[0] in scope.ctes:
            return scope.ctes[parts[0]]
        relation = self._tables(parts)
        if relation is None:
            doubts = self._doubt("unknown_table", ".".join(parts), node)
            return Relation(is_open=True, rest=TracedColumn(doubts=doubts))
        return relation

    def _table_function(self, node: exp.Expr, call: exp.Expr, scope: _Scope) -> Relation:
        """The relation of UNNEST, FLATTEN or another function in FROM: each column is its value."""
        known = self._tables(_parts(node, self._dialect)) if isinstance(node, exp.Table) else None
        if known is not None:
            return _named(node, known)
        if rule_of(type(call)) == "unknown" and call.name.casefold() not in known_functions():
            value = merged([NOTHING, *self._arguments(call, scope)])
            doubts = self._doubt("unknown_table", _called(call), node)
            value = TracedColumn(value.by(DERIVE).flows, value.doubts | doubts)
        else:
            inner = call.expressions if isinstance(call, exp.Unnest) else [call]
            value = merged([NOTHING, *(self._value(each, scope) for each in inner)])
        alias = node.args.get("alias")
        names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
        names = names or ([node.alias] if isinstance(node, exp.Unnest) and node.alias else [])
        return Relation(tuple((name, value) for name in names), True, value)

    # --- joins ------------------------------------------------------------------------------

    def _join(self, join: exp.Join, scope: _Scope) -> None:
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
        self, join: exp.Join, before: Sequence[_Source], added: Sequence[_Source]
    ) -> list[str]:
        """The columns of USING, or those of NATURAL that both sides list."""
        if join.method.upper() != "NATURAL":
            return [each.name.casefold() for each in join.args.get("using") or ()]
        listed = {name for source in before for name in source.relation.by_name}
        return [name for source in added for name in source.relation.by_name if name in listed]

    def _meet_by_any(
        self, before: Sequence[_Source], added: Sequence[_Source], scope: _Scope
    ) -> None:
        """Meet by any column that tables with unlisted columns may share."""
        for targets, others in ((added, before), (before, added)):
            for target in targets:
                if target.relation.is_open and _is_reference(target):
                    names = [
                        (source, name) for source in others for name, _ in source.relation.columns
                    ]
                    scope.lookups.append((target, names, NOTHING))
        _look_up(scope)

    def _columns_of(self, node: exp.Expr, scope: _Scope) -> list[tuple[_Source, str]]:
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
        columns: Sequence[tuple[_Source, str]],
        scope: _Scope,
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
            if _is_reference(target):
                scope.lookups.append((target, others, asked))
            if not target.relation.whole.is_carrying and target.relation.node:
                values = (source.get_or_rest(name) for source, name in others)
                if any(each.role == "entity" for value in values for each in value.persons):
                    self.without_entity.add(target.relation.node)
        _look_up(scope)

    def _equate(self, left: TracedColumn, right: TracedColumn) -> None:
        for one in left.persons:
            self.same |= {(one, other) for other in right.persons if one != other}

    # --- conditions -------------------------------------------------------------------------

    def _ask(self, scope: _Scope, conjuncts: Iterable[exp.Expr]) -> None:
        """Note what conditions compare, and which filters select by which roles."""
        for conjunct in conjuncts:
            scope.asks = merged([NOTHING, scope.asks, self._value(conjunct, scope)])
            scope.selected |= self._asked_by([conjunct], scope)

    def _asked_by(self, conjuncts: Iterable[exp.Expr], scope: _Scope) -> frozenset[Origin]:
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

    def _tables_of(self, node: exp.Expr, scope: _Scope) -> set[int]:
        """The tables that certainly have a column of a condition."""
        columns = node.walk(prune=lambda each: isinstance(each, exp.Query))
        found = (self._candidates(each, scope) for each in columns if isinstance(each, exp.Column))
        return {id(each[0][0]) for each in found if len(each) == 1}

    # --- SELECT -----------------------------------------------------------------------------

    def _select(self, node: exp.Select, scope: _Scope) -> Relation:
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
        is_records = _are_records(scope.sources)
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
            _brought(scope),
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
            places = {n for n, each in enumerate(node.expressions) if not _aggregates(each)}
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

    def _projected(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        """The value of a column of the result, which columns after it may use by its alias."""
        name = node.alias.casefold()
        return self._alias(name, scope) if name else self._value(node, scope)

    def _alias(self, name: str, scope: _Scope) -> TracedColumn:
        known = scope.aliases.pop(name)
        value = known if isinstance(known, TracedColumn) else self._value(known, scope)
        scope.aliases[name] = value
        return value

    def _expand(self, star: exp.Expr, node: exp.Expr, scope: _Scope, result: _Result) -> None:
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

    def _of_struct(self, name: exp.Expr, scope: _Scope) -> TracedColumn:
        return self._value(exp.column(name.name), scope)

    # --- expressions ------------------------------------------------------------------------

    def _value(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        """What the value of an expression carries."""
        rule = rule_of(type(node))
        own: Callable[[exp.Expr, _Scope], TracedColumn] | None = getattr(self, f"_of_{rule}", None)
        if own is not None:
            return own(node, scope)
        if rule == "value":
            scope.has_aggregate = True
        values = self._arguments(node, scope)
        if not values and rule == "function":
            return NOTHING
        return ruled(rule, values)

    def _arguments(self, node: exp.Expr, scope: _Scope) -> list[TracedColumn]:
        return [self._value(each, scope) for each in node.iter_expressions()]

    def _condition(self, nodes: Iterable[exp.Expr], scope: _Scope) -> TracedColumn:
        return ruled("comparison", [self._value(each, scope) for each in nodes])

    def _of_nothing(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        return CONSTANT

    def _of_star(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        return scope.whole().by(COMBINE)

    def _of_position(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        return self._unresolved(node, scope)

    def _unresolved(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        """A column of no known table: any of its tables' may be meant."""
        whole = merged([NOTHING, *(each.whole() for each in scope.around())])
        if not whole.is_carrying:
            return NOTHING
        doubts = self._doubt("unresolved_column", node.name, node)
        return TracedColumn(whole.by(DERIVE).flows, whole.doubts | doubts)

    def _of_column(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        assert isinstance(node, exp.Column)
        name, table = node.name.casefold(), node.args.get("table")
        if isinstance(node.this, exp.Star) and table is not None:
            sources = [each for each in scope.sources if each.name == table.name.casefold()]
            return merged([NOTHING, *(each.whole for each in sources)]).by(COMBINE)
        if node.parts[0].name.casefold() in scope.parameters:
            return NOTHING
        found = self._candidates(node, scope)
        values = [source.get_or_rest(column) for source, column in found]
        if table is None and not any(source.get(column) for source, column in found):
            if name in scope.aliases:
                values.append(self._alias(name, scope))
            # The name of a table is its whole row.
            rows = [each for within in scope.around() for each in within.sources]
            values += [row.whole.by(COMBINE) for row in rows if row.name == name]
        return (
            merged([NOTHING, *values] if len(values) > 1 else values)
            if values
            else (self._unresolved(node, scope))
        )

    def _candidates(self, node: exp.Column, scope: _Scope) -> list[tuple[_Source, str]]:
        """The tables that may have a column, each with the column's name."""
        *prefix, name = (part.name.casefold() for part in node.parts)
        for within in scope.around():
            for source in reversed(within.sources):
                if prefix and source.name in (prefix[-1], prefix[0]):
                    _correlate(scope, within)
                    return [(source, name if source.name == prefix[-1] else prefix[1])]
        name = prefix[0] if prefix else name
        if name in scope.parameters:
            return []
        maybe: list[tuple[_Source, str]] = []
        for within in scope.around():
            listed = [each for each in within.sources if name in each.relation.by_name]
            listed = within.shared.get(name, listed)
            if listed:
                _correlate(scope, within)
                return [*maybe, *((source, name) for source in listed)]
            if not maybe:
                maybe = [
                    (source, name)
                    for source in within.sources
                    if source.relation.is_open or source.relation.is_unknown
                ]
                if maybe and name not in within.aliases:
                    _correlate(scope, within)
        return maybe

    def _of_lambda(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        before = scope.parameters
        scope.parameters = before | {each.name.casefold() for each in node.expressions}
        value = self._value(node.this, scope)
        scope.parameters = before
        return ruled("function", [value])

    def _of_case(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        subject = [node.this] if node.this else []
        branches = node.args.get("ifs") or ()
        results = [branch.args.get("true") for branch in branches] + [node.args.get("default")]
        return merged(
            [
                *(self._condition([*subject, branch.this], scope) for branch in branches),
                *(self._value(each, scope) for each in results if each is not None),
            ]
        )

    def _of_if(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        results = [node.args[key] for key in ("true", "false") if node.args.get(key)]
        asked = self._condition([node.this], scope)
        return merged([asked, *(self._value(each, scope) for each in results)])

    def _of_decode(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        subject, *pairs = node.expressions
        has_default = len(pairs) % 2
        tests, results = pairs[: len(pairs) - has_default : 2], pairs[1::2]
        results += pairs[-1:] if has_default else []
        asked = (self._condition([subject, test], scope) for test in tests)
        return merged([*asked, *(self._value(each, scope) for each in results)])

    def _of_nullif(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        kept, other = self._value(node.this, scope), self._condition([node.expression], scope)
        return ruled("default", [kept, other])

    def _of_ordered(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        """A value that is chosen or listed in the order of others."""
        if isinstance(node, exp.AggFunc):
            scope.has_aggregate = True
        order = node.expressions if isinstance(node, exp.Order) else [node.expression]
        ranks = merged([self._value(each, scope) for each in order]).by(RANK)
        return merged([self._value(node.this, scope), ranks]) if node.this else ranks

    def _of_within(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        value, order = self._value(node.this, scope), node.expression.expressions
        values = merged([NOTHING, *(self._value(each, scope) for each in order)])
        return merged([value, values.by(RANK)]) if value.flows else values

    def _of_figure(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
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

    def _of_filter(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        value, asked = self._value(node.this, scope), self._condition([node.expression.this], scope)
        if rule_of(type(_called_function(node))) == "figure":
            asked = asked.by(scope.figure)
        return merged([value, asked]) if asked.is_carrying else value

    def _of_rank(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        return NOTHING

    def _of_window(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        named = node.args.get("alias")
        over = scope.windows.get(named.name.casefold(), node) if named is not None else node
        partition = [self._value(each, scope) for each in over.args.get("partition_by") or ()]
        order_by = node.args.get("order") or over.args.get("order")
        order = merged(
            self._value(each, scope) for each in (order_by.expressions if order_by else ())
        )
        called = _called_function(node)
        if rule_of(type(called)) == "rank":
            is_key = not partition and {each.role for each in order.flows} == {"entity"}
            return merged([NOTHING, order.by(HASH if is_key else RANK)])
        is_loose = any(not (each.flows or each.is_constant) for each in partition)
        of_person = bool(order_by) or is_loose or any(each.persons for each in partition)
        figure, has_aggregate = scope.figure, scope.has_aggregate
        scope.figure = ASK if of_person else AGGREGATE
        value = self._value(node.this, scope)
        inside = any(_aggregates(each) for each in called.iter_expressions())
        scope.figure, scope.has_aggregate = figure, has_aggregate or inside
        return value._replace(figure=None, is_constant=False)

    # --- subqueries -------------------------------------------------------------------------

    def _inside(self, node: exp.Expr, scope: _Scope) -> tuple[TracedColumn, TracedColumn]:
        """What the columns of a subquery carry, and what its conditions ask."""
        relation = _of_one(self._query(node, scope.ctes, scope))
        scope.people |= relation.people
        told = TracedColumn(dict.fromkeys(relation.selected, DERIVED))
        return relation.whole, merged([NOTHING, relation.asks.by(ASK), told])

    def _of_subquery(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        return merged(self._inside(node, scope))

    def _of_exists(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        if isinstance(node.this, exp.Query):
            return self._inside(node.this, scope)[1]
        return ruled("comparison", self._arguments(node, scope))

    def _of_in(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        query = node.args.get("query")
        if query is None:
            return ruled("comparison", self._arguments(node, scope))
        value, (columns, asked) = self._value(node.this, scope), self._inside(query, scope)
        self._equate(value, columns)
        return merged([NOTHING, value.by(ASK), columns.by(ASK), asked])

    # --- functions that are not known -------------------------------------------------------

    def _of_columns(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        whole = scope.whole()
        if not whole.is_carrying:
            return NOTHING
        doubts = self._doubt("columns_expression", "", node)
        return TracedColumn(whole.by(DERIVE).flows, whole.doubts | doubts)

    def _of_unknown(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        values = self._arguments(node, scope)
        rule = known_functions().get(node.name.casefold())
        if rule is None:
            return self._doubtful(_called(node), node, values, scope)
        if rule in ("figure", "value"):
            scope.has_aggregate = True
        if rule == "figure":
            return merged([NOTHING, *values]).by(scope.figure)
        return ruled(rule, values) if values else NOTHING

    def _doubtful(
        self, name: str, node: exp.Expr, values: Iterable[TracedColumn], scope: _Scope
    ) -> TracedColumn:
        """The value of a function that may read anything."""
        value = merged([NOTHING, *values])
        if not (value.is_carrying or scope.is_carrying):
            return NOTHING
        return TracedColumn(
            value.by(DERIVE).flows, value.doubts | self._doubt("function", name, node)
        )

    def _of_dot(self, node: exp.Expr, scope: _Scope) -> TracedColumn:
        """A field of a struct, or a function with a schema before it."""
        if not isinstance(node.expression, exp.Func):
            return ruled("keep", self._arguments(node, scope))
        names = [each.name for each in node.this.walk() if isinstance(each, exp.Identifier)]
        if {name.casefold() for name in names} <= _OWN_SCHEMAS:
            kind = exp.FUNCTION_BY_NAME.get(node.expression.name.upper())
            rule = rule_of(kind) if kind else ""
            if rule in _PLAIN:
                return ruled(rule, self._arguments(node.expression, scope))
            return self._value(node.expression, scope)
        # A method of a column is written as a function of a schema.
        values = self._arguments(node.expression, scope)
        if names and self._candidates(exp.column(names[0]), scope):
            values.append(self._value(exp.column(names[0]), scope))
        called = ".".join([*names, _called(node.expression)])
        return self._doubtful(called, node, values, scope)


class _Result:
    """The columns of a SELECT while they are read."""

    def __init__(self, scope: _Scope) -> None:
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


def _look_up(scope: _Scope) -> None:
    """Let each table that is looked up carry what it is looked up by, until nothing is new."""
    is_new = True
    while is_new:
        is_new = False
        for target, columns, asked in scope.lookups:
            values = [source.get_or_rest(name) for source, name in columns]
            flows = merged([NOTHING, asked, *values]).by(LOOK_UP).flows
            is_new |= target.tell({k: how for k, how in flows.items() if k.role not in KEYS})


def _is_reference(source: _Source) -> bool:
    """Whether no row of a table is a person's."""
    return source.relation.is_groups or not source.relation.has_people


def _are_records(sources: Sequence[_Source]) -> bool:
    """Whether a row that is read is a record rather than a group."""
    carrying = [each.relation for each in sources if each.relation.whole.flows]
    of_records = any(not each.is_groups for each in carrying)
    return of_records or not any(each.relation.is_groups for each in sources)


def _brought(scope: _Scope) -> Relation:
    """What a query has of its tables and conditions, without columns."""
    relations = [source.relation for source in scope.sources]
    kept = (each.relation.selected for each in scope.sources if not each.is_partner)
    return Relation(
        selected=scope.selected.union(*kept),
        people=scope.people.union(*(each.people for each in relations)),
        asks=scope.asks,
        is_correlated=scope.is_correlated,
    )


def _starred(scope: _Scope) -> Relation:
    """The relation of all columns of the tables in a scope."""
    relations = [source.relation for source in scope.sources]
    columns = (
        (name, source.seen(column))
        for source in scope.sources
        for name, column in source.relation.columns
    )
    return replace(
        _brought(scope),
        columns=tuple(columns),
        is_open=any(each.is_open for each in relations),
        rest=merged([NOTHING, *(source.rest for source in scope.sources)]),
        is_groups=not _are_records(scope.sources),
        is_unknown=any(each.is_unknown for each in relations),
    )


def _named(node: exp.Expr, relation: Relation) -> Relation:
    """A relation with the columns that its alias lists."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names or relation.is_unknown:
        return relation
    columns = [column for _, column in relation.columns]
    if relation.is_open:
        columns = [relation.whole] * len(names)
    old = [name for name, _ in relation.columns]
    return replace(
        relation, columns=tuple(zip([*names, *old[len(names) :]], columns, strict=False))
    )


def _of_one(relation: Relation) -> Relation:
    """A subquery for each record: its figures may be of one record."""
    if not relation.is_correlated:
        return relation
    columns = tuple((name, column.by(OF_ONE)) for name, column in relation.columns)
    return replace(relation, columns=columns, rest=relation.rest.by(OF_ONE), is_groups=False)


def _told_by_branch(column: TracedColumn, relation: Relation) -> TracedColumn:
    """A column of a union's branch: a constant tells what selects the branch."""
    if not column.is_constant:
        return column
    told = {origin: DERIVED for origin in relation.selected if origin.role not in KEYS}
    return TracedColumn(told) if told else column


def _correlate(scope: _Scope, within: _Scope) -> None:
    """Note that a query reads a column of one around it."""
    for each in scope.around():
        if each is within:
            return
        each.is_correlated = True


def _aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates its group."""
    inner = node.walk(prune=lambda each: isinstance(each, exp.Window | exp.Query))
    known = known_functions()
    return any(
        not isinstance(each, exp.Window)
        and (
            isinstance(each, exp.AggFunc)
            or (isinstance(each, exp.Anonymous) and known.get(each.name.casefold()) in _GROUPING)
        )
        for each in inner
    )


_GROUPING = ("figure", "value")
_PLAIN = ("keep", "default", "arithmetic", "concatenation", "hash", "cut", "function")
"""The rules that need the arguments alone."""


def _called_function(node: exp.Expr) -> exp.Expr:
    """The function in OVER or FILTER."""
    while isinstance(
        node, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup
    ):
        node = node.this
    return node


def _called(node: exp.Expr) -> str:
    """The name of a function."""
    return node.name if isinstance(node, exp.Anonymous) else type(node).__name__.lower()


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
