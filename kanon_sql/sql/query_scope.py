"""The scope of a query: its tables, with what joins add to their columns.

Definitions 20.5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlglot import exp

from kanon_sql.sql.flow_rules import (
    AGGREGATE,
    ASK,
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
UNNAMED = "column "
"""What the name of a column without one begins with, followed by its place."""


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
    numbered: frozenset[str] = frozenset()
    """Names that an engine may have numbered, as `zip_1`, since another column may share them."""

    @cached_property
    def by_name(self) -> Mapping[str, TracedColumn]:
        by_name: dict[str, list[TracedColumn]] = {}
        for name, column in self.columns:
            by_name.setdefault(name.casefold(), []).append(column)
        return {name: merged(columns) for name, columns in by_name.items()}

    @cached_property
    def unlisted(self) -> TracedColumn:
        """What a column carries that isn't listed: one of the rest, or one that has no name."""
        unnamed = (column for name, column in self.columns if name.startswith(UNNAMED))
        return merged([NOTHING, self.rest, *unnamed])

    @cached_property
    def repeated(self) -> frozenset[str]:
        """The names that several columns share."""
        times = Counter(name.casefold() for name, _ in self.columns)
        return frozenset(name for name, number in times.items() if number > 1)

    def unlisted_as(self, name: str) -> TracedColumn:
        """What a column of a name carries that isn't listed, or that an engine has numbered."""
        known = self.by_name
        bases = {*bases_of(name)} & (self.repeated | self.numbered) & known.keys()
        return merged([self.unlisted, *(known[base] for base in bases)])

    def may_have(self, name: str) -> bool:
        """Whether it may have a column, listed or not."""
        has_unlisted = self.is_open or self.is_unknown or self.unlisted_as(name).is_carrying
        return has_unlisted or name in self.by_name

    @cached_property
    def whole(self) -> TracedColumn:
        """What its columns carry together."""
        return merged([NOTHING, *(column for _, column in self.columns), self.rest])

    @cached_property
    def has_people(self) -> bool:
        flows = self.whole.flows.items()
        return any(origin.role in PERSONS and how <= DERIVED for origin, how in flows)


def bases_of(name: str) -> Iterator[str]:
    """The names that engines may have made a name from, as they may not repeat one.

    >>> [*bases_of("zip_1:2"), *bases_of("b.zip")]
    ['zip_1', 'zip', 'zip']
    """
    *table, name = name.rsplit(".", 1)
    if table:
        yield name
    while match := re.fullmatch(r"(.+)[_:]\d+", name):
        name = match[1]
        yield name


def ambiguous_names(parts: Iterable[tuple[Iterable[str], bool]]) -> frozenset[str]:
    """The names in a projection's parts that an unlisted column of another part may share.

    Each part has the names that are listed, and whether there are more.
    """
    parts = list(parts)
    openness = sum(is_open for _, is_open in parts)
    names = (names for names, is_open in parts if openness > is_open)
    return frozenset(name.casefold() for each in names for name in each)


def merged_by_name(relation: Relation) -> Relation:
    """A relation whose columns of one name carry the same: which one a reader gets is undefined."""
    repeated, known = relation.repeated, relation.by_name

    def merged_with(name: str, column: TracedColumn) -> TracedColumn:
        key = name.casefold()
        shared = repeated & {key, *bases_of(key)}
        both = merged([column, known[key], *(known[each] for each in shared)]) if shared else column
        return both._replace(is_dimension=column.is_dimension)

    if not repeated:
        return relation
    return replace(
        relation, columns=tuple((name, merged_with(name, each)) for name, each in relation.columns)
    )


UNKNOWN = Relation(is_unknown=True)
Tables = Callable[[Sequence[str]], Relation | None]
"""The relation of a table by the parts of its name, in lower case; None if there is none."""


def fixed_point(read: Callable[[Relation], Relation], doubts: frozenset[Doubt]) -> Relation:
    """The least relation that reads itself, from nothing known; doubted if it never settles."""
    known = UNKNOWN
    for _ in range(_ROUNDS):
        found = read(known)
        if found == known and not found.is_unknown:
            return known
        known = found
    return doubted(replace(known, is_unknown=False), known.whole, doubts)


def doubted(relation: Relation, whole: TracedColumn, doubts: frozenset[Doubt]) -> Relation:
    """A relation of which any column may carry all of what it reads."""
    return replace(relation, columns=(), is_open=True, rest=whole.doubted(doubts), doubts=doubts)


class QuerySource:
    """A table in FROM, with what joins add to its columns."""

    def __init__(self, name: str, relation: Relation) -> None:
        self.name, self.relation = name.casefold(), relation
        self.carried: dict[Origin, int] = {}
        """What every column carries by a lookup or a missing partner."""
        self.hinted: frozenset[Origin] = frozenset()
        """What a missing partner tells by a constant, and hints at by any other column."""
        self.is_partner = False
        """Whether an outer join may miss it."""
        self.has_figures_of_one = False

    def carry(self, flows: Mapping[Origin, int]) -> bool:
        """Add to what every column carries; whether anything is new."""
        new = {each: how for each, how in flows.items() if self.carried.get(each, HINTED + 1) > how}
        self.carried |= new
        return bool(new)

    def miss(self, origins: Iterable[Origin]) -> None:
        """Let the columns tell what selected the rows that an outer join may miss."""
        self.is_partner = True
        for origin in origins:
            if origin.role in TELLING:
                self.carry({origin: DERIVED})
            elif origin.role not in KEYS:
                self.hinted |= {origin}

    def seen(self, column: TracedColumn) -> TracedColumn:
        """A column as the joins leave it."""
        if self.has_figures_of_one:
            column = column._replace(flows=column.by(OF_ONE).flows)
        if not (self.carried or self.hinted):
            return column
        hints = dict.fromkeys(self.hinted, DERIVED if column.is_constant else HINTED)
        flows = merged(
            [TracedColumn(column.flows), TracedColumn(self.carried), TracedColumn(hints)]
        ).flows
        return column._replace(flows=flows, is_constant=False)

    def get(self, name: str) -> TracedColumn | None:
        column = self.relation.by_name.get(name)
        return None if column is None else self.seen(column)

    def get_or_rest(self, name: str) -> TracedColumn:
        found = self.get(name)
        return self.seen(self.relation.unlisted_as(name)) if found is None else found

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
    is_beside: bool = False
    """Whether the query around is that of the tables beside it, which DuckDB lets it read."""
    aliases: dict[str, list[exp.Expr] | TracedColumn] = field(default_factory=dict)
    """The columns of the result by name, which may be used again; read when they are."""
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()
    """The parameters of the lambdas around."""
    figure: Step = AGGREGATE
    has_aggregate: bool = False
    is_correlated: bool = False
    reached: list[tuple[QuerySource, str]] = field(default_factory=list)
    """The columns that the last subquery inside it reads of its tables."""
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
            is_new |= target.carry({k: how for k, how in flows.items() if k.role not in KEYS})


def is_reference(source: QuerySource) -> bool:
    """Whether no row of a table is a person's."""
    return source.relation.is_groups or not source.relation.has_people


def chosen_by(relation: Relation, other: Relation) -> Relation:
    """The rows of a list that EXCEPT or INTERSECT compares with those of a query."""
    if relation.whole.is_carrying:
        return relation
    source = QuerySource("", relation)
    flows = other.whole.by(LOOK_UP).flows
    source.carry({each: how for each, how in flows.items() if each.role not in KEYS})
    return replace(
        relation,
        columns=tuple((name, source.seen(column)) for name, column in relation.columns),
        rest=source.rest,
        selected=relation.selected | source.carried.keys(),
    )


def are_records(sources: Sequence[QuerySource]) -> bool:
    """Whether a row that is read is a record rather than a group."""
    carrying = [each.relation for each in sources if each.relation.whole.flows]
    of_records = any(not each.is_groups for each in carrying)
    return of_records or not any(each.relation.is_groups for each in sources)


def brought(scope: QueryScope) -> Relation:
    """What a query has of its tables and conditions, without columns."""
    relations = [source.relation for source in scope.sources]
    asks = (each.asks for each in relations if each.is_correlated)
    kept = (each.relation.selected for each in scope.sources if not each.is_partner)
    return Relation(
        selected=scope.selected.union(*kept),
        people=scope.people.union(*(each.people for each in relations)),
        asks=merged([NOTHING, scope.asks, *asks]),
        is_correlated=scope.is_correlated,
    )


def either(one: Relation, other: Relation) -> Relation:
    """A relation that may be one of two."""
    return replace(
        one,
        columns=(*one.columns, *other.columns),
        is_open=one.is_open or other.is_open,
        numbered=one.numbered | other.numbered,
        rest=merged([NOTHING, one.rest, other.rest]),
        is_groups=one.is_groups and other.is_groups,
        has_loose_key=one.has_loose_key or other.has_loose_key,
        selected=one.selected | other.selected,
        people=one.people | other.people,
        asks=merged([NOTHING, one.asks, other.asks]),
        is_correlated=one.is_correlated or other.is_correlated,
        doubts=one.doubts | other.doubts,
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
        numbered=ambiguous_names((each.by_name, each.is_open) for each in relations).union(
            *(each.numbered | each.repeated for each in relations)
        ),
        rest=merged([NOTHING, *(source.rest for source in scope.sources)]),
        is_groups=not are_records(scope.sources),
        has_loose_key=any(each.is_groups and each.has_loose_key for each in relations),
        is_unknown=any(each.is_unknown for each in relations),
    )


def named(node: exp.Expr, relation: Relation) -> Relation:
    """A relation with the columns that its alias lists; those after them keep their names."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.columns] if isinstance(alias, exp.TableAlias) else []
    if not names or relation.is_unknown:
        return relation
    old = relation.columns
    if relation.is_open:
        # Which columns the names stand for is unknown, and so are those that are left.
        columns = [*((name, relation.whole) for name in names), *old]
    else:
        firsts = zip(names, old, strict=False)
        columns = [*((name, column) for name, (_, column) in firsts), *old[len(names) :]]
    return replace(relation, columns=tuple(columns), numbered=relation.numbered | relation.repeated)


def of_correlated(relation: Relation) -> Relation:
    """A subquery for each record: its figures may be of one record."""
    if not relation.is_correlated:
        return relation
    return of_records(relation)


def of_records(relation: Relation) -> Relation:
    """A relation of which a group may be one record."""
    columns = tuple(
        (name, column._replace(flows=column.by(OF_ONE).flows)) for name, column in relation.columns
    )
    return replace(relation, columns=columns, rest=relation.rest.by(OF_ONE), is_groups=False)


def of_lateral(relation: Relation) -> Relation:
    """A table for each record: a figure or a constant tells what its conditions compare."""
    if not relation.is_correlated:
        return relation
    asked = relation.asks.by(ASK)
    columns = (
        (name, merged([column, asked]) if column.is_constant or relation.is_groups else column)
        for name, column in relation.columns
    )
    return of_correlated(replace(relation, columns=tuple(columns)))


def sorting_columns(
    key: exp.Expr, left: Relation, right: Relation, by_name: bool
) -> Iterator[TracedColumn]:
    """What a key of ORDER BY reads in both branches of a set operation: columns of one place.

    A key is a number, or a name of the first branch. Of any other, and of branches with columns
    that nobody listed, it may be every column.
    """
    name = key.name.casefold() if isinstance(key, exp.Column | exp.Literal) else ""
    if by_name and isinstance(key, exp.Column):
        yield from (side.by_name.get(name, side.rest) for side in (left, right))
        return
    places = [
        place
        for place, (column, _) in enumerate(left.columns)
        if name in (column.casefold(), str(place + 1))
    ]
    if not places or by_name or left.is_open or right.is_open:
        yield from (left.whole, right.whole)
    for side in (left, right):
        yield from (side.columns[place][1] for place in places if place < len(side.columns))


def column_of_branch(column: TracedColumn, relation: Relation) -> TracedColumn:
    """A column of a union's branch: a constant tells what selects the branch."""
    if not column.is_constant:
        return column
    selecting = {origin: DERIVED for origin in relation.selected if origin.role not in KEYS}
    return TracedColumn(selecting) if selecting else column


def correlate(
    scope: QueryScope, within: QueryScope, columns: Iterable[tuple[QuerySource, str]]
) -> None:
    """Note that a query reads columns of one around it."""
    if scope is not within:
        within.reached += columns
    for each in scope.around():
        if each is within:
            return
        each.is_correlated = True
