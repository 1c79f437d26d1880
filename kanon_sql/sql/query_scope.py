"""The scope of a query: its tables, with what joins add to their columns.

Definitions 20.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    DERIVED,
    HINTED,
    LOOK_UP,
    NOTHING,
    OF_ONE,
    PERSONS,
    Doubt,
    Origin,
    Step,
    TracedColumn,
    merged,
)

TELLING = ("identifier", "personal", "sensitive")
"""The roles of which a missing partner tells the value."""


KEYS = ("entity", "weight")
"""The roles that neither a lookup nor a missing partner tells."""


_ROUNDS = 50


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


class QuerySource:
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
class QueryScope:
    """The names that an expression may use, and what its query found."""

    ctes: Mapping[str, Relation]
    outer: QueryScope | None = None
    sources: list[QuerySource] = field(default_factory=list)
    shared: dict[str, list[QuerySource]] = field(default_factory=dict)
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
    lookups: list[tuple[QuerySource, list[tuple[QuerySource, str]], TracedColumn]] = field(
        default_factory=list
    )
    """Each table that is looked up, with the columns and subqueries that it is compared with."""
    asks: TracedColumn = NOTHING
    selected: frozenset[Origin] = frozenset()
    people: frozenset[Origin] = frozenset()

    def whole(self) -> TracedColumn:
        """What its tables carry together."""
        return merged([NOTHING, *(source.whole for source in self.sources)])

    def around(self) -> Iterator[QueryScope]:
        """The scope, and those around it."""
        scope: QueryScope | None = self
        while scope:
            yield scope
            scope = scope.outer

    @property
    def is_carrying(self) -> bool:
        sources = (source for scope in self.around() for source in scope.sources)
        return any(source.relation.whole.is_carrying for source in sources)


def look_up(scope: QueryScope) -> None:
    """Let each table that is looked up carry what it is looked up by, until nothing is new."""
    is_new = True
    while is_new:
        is_new = False
        for target, columns, asked in scope.lookups:
            values = [source.get_or_rest(name) for source, name in columns]
            flows = merged([NOTHING, asked, *values]).by(LOOK_UP).flows
            is_new |= target.tell({k: how for k, how in flows.items() if k.role not in KEYS})


def is_reference(source: QuerySource) -> bool:
    """Whether no row of a table is a person's."""
    return source.relation.is_groups or not source.relation.has_people


def are_records(sources: Sequence[QuerySource]) -> bool:
    """Whether a row that is read is a record rather than a group."""
    carrying = [each.relation for each in sources if each.relation.whole.flows]
    of_records = any(not each.is_groups for each in carrying)
    return of_records or not any(each.relation.is_groups for each in sources)


def brought(scope: QueryScope) -> Relation:
    """What a query has of its tables and conditions, without columns."""
    relations = [source.relation for source in scope.sources]
    kept = (each.relation.selected for each in scope.sources if not each.is_partner)
    return Relation(
        selected=scope.selected.union(*kept),
        people=scope.people.union(*(each.people for each in relations)),
        asks=scope.asks,
        is_correlated=scope.is_correlated,
    )


def starred(scope: QueryScope) -> Relation:
    """The relation of all columns of the tables in a scope."""
    relations = [source.relation for source in scope.sources]
    columns = (
        (name, source.seen(column))
        for source in scope.sources
        for name, column in source.relation.columns
    )
    return replace(
        brought(scope),
        columns=tuple(columns),
        is_open=any(each.is_open for each in relations),
        rest=merged([NOTHING, *(source.rest for source in scope.sources)]),
        is_groups=not are_records(scope.sources),
        is_unknown=any(each.is_unknown for each in relations),
    )


def named(node: exp.Expr, relation: Relation) -> Relation:
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


def of_correlated(relation: Relation) -> Relation:
    """A subquery for each record: its figures may be of one record."""
    if not relation.is_correlated:
        return relation
    columns = tuple((name, column.by(OF_ONE)) for name, column in relation.columns)
    return replace(relation, columns=columns, rest=relation.rest.by(OF_ONE), is_groups=False)


def column_of_branch(column: TracedColumn, relation: Relation) -> TracedColumn:
    """A column of a union's branch: a constant tells what selects the branch."""
    if not column.is_constant:
        return column
    told = {origin: DERIVED for origin in relation.selected if origin.role not in KEYS}
    return TracedColumn(told) if told else column


def correlate(scope: QueryScope, within: QueryScope) -> None:
    """Note that a query reads a column of one around it."""
    for each in scope.around():
        if each is within:
            return
        each.is_correlated = True
