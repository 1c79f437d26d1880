"""Where a spec meets the catalogue: every name becomes a column, every check a complete model.

`resolve` gives every column its part, once and in one place; `bind` puts the quasi-identifiers at
the levels that are asked. What is bound can be asked; whatever cannot be is refused here, before
any SQL is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from kanon_sql.column_types import family
from kanon_sql.engines.base import Column, Table
from kanon_sql.errors import SpecError, did_you_mean, no_first_records, no_such_column
from kanon_sql.estimates import require
from kanon_sql.expressions import Condition, columns_of, condition
from kanon_sql.hierarchy import GeneralizationHierarchy, HierarchyTable, Paths, read_tree
from kanon_sql.levels import ColumnLevels, rows_of
from kanon_sql.models import (
    MODELS,
    Homogeneity,
    KAnonymity,
    KEAnonymity,
    KMap,
    Model,
    ReferenceModel,
    SensitiveModel,
    TCloseness,
)
from kanon_sql.spec import ReferenceSpec, TableSpec
from kanon_sql.templates import identifier

Location = tuple[int | str, ...]
Comparison = Literal["as_is", "as_text", "by_pattern", "by_wildcard"]

_FLOATS = {"DOUBLE", "FLOAT", "REAL"}
_UNASKED = tuple(
    model
    for model in MODELS.values()
    if issubclass(model, SensitiveModel)
    and not any(field.is_required() for field in model.model_fields.values())
)
"""The models of sensitive values that need no parameter to be measured."""


@dataclass(frozen=True)
class JoinedLabels:
    """The labels of a hierarchy at a level, joined where a CASE would be too long."""

    name: str
    sql: str
    """The table of labels as it stands after LEFT JOIN."""
    key: str
    """The SQL of the raw value that the table is joined by."""


@dataclass(frozen=True)
class BoundColumn:
    """A column in the part it plays. `alias` is its name in every set above the records."""

    name: str
    type: str
    alias: str
    few_values: bool = False
    hashed: bool = False
    """Whether frequency sets group it by its hash, which must then be proved to be exact."""
    generalised: str | None = None
    """The SQL of its value at a level, where the table is looked at as it would be."""
    joined: JoinedLabels | None = None
    """What must be joined for `generalised` to be read."""
    parts: tuple[BoundColumn, ...] = ()
    """The two columns whose short hashes make up this key, where it stands for two."""

    @property
    def is_text(self) -> bool:
        """Whether it holds text, or what nobody has looked up and so may be text."""
        return family(self.type) in ("text", "")


@dataclass(frozen=True)
class Pair:
    """A quasi-identifier, the reference's column for it, and how their cells are compared."""

    column: BoundColumn
    reference: BoundColumn
    how: Comparison


@dataclass(frozen=True)
class BoundCheck:
    """A model whose columns and reference are known; `asked` where a person named it."""

    model: Model
    asked: bool
    column: BoundColumn | None = None
    """The sensitive attribute that it is about."""
    paths: Paths = ()
    """The leaves of a hierarchical distance's tree, each with its ancestors below the root."""

    @property
    def gates(self) -> bool:
        return self.asked and self.model.gates


@dataclass(frozen=True)
class ReferenceRoles:
    """A reidentification dataset with its columns found, as they lie there."""

    name: str
    table: Table
    columns: Mapping[str, BoundColumn]
    """The reference's column for each quasi-identifier, by the quasi-identifier's name."""
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    levels: Mapping[str, int]
    """The level at which it is to be looked at, by quasi-identifier."""


@dataclass(frozen=True)
class Roles:
    """The columns of a question in the parts that they play, as they lie in the tables."""

    spec: TableSpec
    table: Table
    quasi_identifiers: tuple[BoundColumn, ...]
    sensitive: tuple[BoundColumn, ...]
    identifiers: tuple[Column, ...]
    insensitive: tuple[Column, ...]
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    references: Mapping[str, ReferenceRoles]
    checks: tuple[BoundCheck, ...]
    levels: Mapping[str, int]
    """The level at which the table is to be looked at, by quasi-identifier."""

    @property
    def unassigned(self) -> tuple[Column, ...]:
        """The columns that no part was given to."""
        assigned = {column.name for column in (*self.quasi_identifiers, *self.sensitive)}
        assigned |= {column.name for column in (*self.identifiers, *self.insensitive)}
        assigned |= {column.name for column in (self.entity, self.weight) if column}
        return tuple(column for column in self.table.columns if column.name not in assigned)

    def at(self, levels: Mapping[str, int]) -> Roles:
        """The same question of the table at other levels, of which some may be the raw value."""
        spec = self.spec.model_copy(update={"levels": dict(levels)})
        above = {name: level for name, level in levels.items() if level}
        return replace(self, spec=spec, levels=above)

    def hierarchy(self, column: BoundColumn) -> GeneralizationHierarchy:
        """How a quasi-identifier may be generalised."""
        return hierarchy_of(self.spec, column)


@dataclass(frozen=True)
class Facts:
    """What must be known of the data before levels have names, by quasi-identifier."""

    longest: Mapping[str, int] = field(default_factory=dict)
    """How many characters the longest value has, where it is masked."""
    hierarchies: Mapping[str, HierarchyTable] = field(default_factory=dict)
    """The rows of its hierarchy, where it has some."""
    referred: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By reference: how many characters the longest value of either side has."""
    show_values: bool = False
    """Whether a fault may tell the values of a hierarchy that lies in a file or a table."""


@dataclass(frozen=True)
class AtLevel:
    """A quasi-identifier at a level of its hierarchy."""

    raw: BoundColumn
    levels: ColumnLevels
    level: int
    place: int = 1
    """Tells its table of labels from others in a statement."""
    portable: bool = False
    """Whether its table of labels is to be read by another database than DuckDB."""

    @cached_property
    def joined(self) -> JoinedLabels | None:
        """What must be joined for the label to be read."""
        if not self.levels.is_joined(self.level):
            return None
        key = self.levels.key(f"kanon_raw.{identifier(self.raw.name)}")
        return JoinedLabels(
            f"kanon_hierarchy_{self.place}",
            self.levels.labels_sql(self.level, portable=self.portable),
            key,
        )

    @cached_property
    def label(self) -> str:
        """The SQL of the raw value at the level."""
        if self.joined:
            return f"{self.joined.name}.kanon_label"
        return self.levels.sql(self.level, identifier(self.raw.name))

    @property
    def checked_label(self) -> str:
        """The same, and NULL where the label would not be exact."""
        if self.joined:
            return self.label
        return self.levels.checked_sql(self.level, identifier(self.raw.name))

    @property
    def column(self) -> BoundColumn:
        """The column as it would be at the level."""
        return replace(
            self.raw, type="VARCHAR", few_values=False, generalised=self.label, joined=self.joined
        )


@dataclass(frozen=True)
class BoundReference:
    """A reidentification dataset as it is looked at."""

    name: str
    table: Table
    columns: Mapping[str, BoundColumn]
    """The reference's column for each quasi-identifier, by the quasi-identifier's name."""
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    levels: tuple[AtLevel, ...] = ()
    """Its columns that are looked at as they would be at a level above the raw value."""


@dataclass(frozen=True)
class BoundSpec:
    """One table's question, complete."""

    roles: Roles
    facts: Facts
    quasi_identifiers: tuple[BoundColumn, ...]
    """As they are looked at."""
    keys: tuple[BoundColumn, ...]
    """What the classes are grouped by: the quasi-identifiers, or shorter keys for some."""
    sensitive: tuple[BoundColumn, ...]
    entity: BoundColumn | None
    weight: BoundColumn | None
    references: Mapping[str, BoundReference]
    checks: tuple[BoundCheck, ...]
    levels: tuple[AtLevel, ...] = ()
    """The quasi-identifiers that are looked at as they would be at a level above the raw value."""

    @property
    def spec(self) -> TableSpec:
        """The question in the words of whoever asked it."""
        return self.roles.spec

    @property
    def table(self) -> Table:
        return self.roles.table

    @property
    def where(self) -> Condition | None:
        return self.roles.where

    @property
    def unknown(self) -> bool:
        """Whether a NULL in a sensitive attribute counts as no value."""
        return self.spec.sensitive_nulls == "unknown"

    @property
    def wildcard(self) -> bool:
        """Whether a NULL in a quasi-identifier matches everything."""
        return self.spec.nulls == "wildcard"


# --- every name becomes a column ------------------------------------------------------------


def resolve(spec: TableSpec, table: Table, references: Mapping[str, Table]) -> Roles:
    """Find every column that `spec` names in the tables, and give it its part.

    Raises `SpecError` that knows where in the spec the fault lies.
    """
    quasi_identifiers = tuple(_raw_quasi_identifiers(spec, table))
    sensitive = tuple(
        _column(name, table, ("sensitive", name), alias=f"kanon_sensitive_{place}")
        for place, name in enumerate(_sensitive_names(spec, table), start=1)
    )
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    identifiers = tuple(_found(name, table, ("identifiers", name)) for name in spec.identifiers)
    insensitive = tuple(_found(name, table, ("insensitive", name)) for name in spec.insensitive)
    entity = _column(spec.entity, table, ("entity",), alias="kanon_entity") if spec.entity else None
    weight = _column(spec.weight, table, ("weight",)) if spec.weight else None
    _refuse_two_parts(
        [(column, "a quasi-identifier") for column in quasi_identifiers]
        + [(column, "sensitive") for column in sensitive]
        + [(column, "an identifier") for column in identifiers]
        + [(column, "insensitive") for column in insensitive]
        + ([(entity, "the entity")] if entity else [])
        + ([(weight, "the weight")] if weight else [])
    )
    for column in (*quasi_identifiers, *sensitive, *([entity] if entity else [])):
        _refuse_nested(column, table)
        _refuse_span(column, table)
    if spec.first and not table.ordered:
        raise no_first_records(table.name)
    if spec.nulls == "wildcard" and entity:
        raise SpecError(
            "nulls: wildcard is not defined with an entity: compatible records form no classes in "
            "which people could be counted. Leave out one of the two."
        )
    if spec.nulls == "wildcard" and weight:
        raise SpecError(
            "nulls: wildcard is not defined with a survey weight: compatible records form no "
            "classes of which the weights could be added up. Leave out one of the two."
        )
    return Roles(
        spec=spec,
        table=table,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        identifiers=identifiers,
        insensitive=insensitive,
        entity=entity,
        weight=weight,
        where=_condition(spec.where, table, ("where",)),
        references={
            name: _resolve_reference(name, spec, references[name], quasi_identifiers)
            for name in spec.references
        },
        checks=tuple(_checks(spec, table, sensitive)),
        levels=_levels_of("", spec.levels, quasi_identifiers),
    )


def _resolve_reference(
    name: str, asked: TableSpec, table: Table, quasi_identifiers: Sequence[BoundColumn]
) -> ReferenceRoles:
    here, spec = ("references", name), asked.references[name]
    columns = _reference_columns(name, spec, table, quasi_identifiers)
    with _at(*here, "levels"):
        levels = _levels_of(f"reference {name}: ", spec.levels, quasi_identifiers)
    found = ReferenceRoles(
        name=name,
        table=table,
        columns=columns,
        entity=_column(spec.entity, table, (*here, "entity"), "kanon_entity")
        if spec.entity
        else None,
        weight=_column(spec.weight, table, (*here, "weight")) if spec.weight else None,
        where=_condition(spec.where, table, (*here, "where")),
        levels=levels,
    )
    with _at(*here, "levels"):
        _refuse_two_levels(found)
    return found


def _levels_of(
    prefix: str, levels: Mapping[str, int], columns: Sequence[BoundColumn]
) -> dict[str, int]:
    """The levels that are asked for above the raw value, by quasi-identifier."""
    names = [column.name for column in columns]
    for name in levels:
        if not any(_same_name(name, each) for each in names):
            raise SpecError(
                f'{prefix}levels: "{name}" is no quasi-identifier. Quasi-identifiers: '
                f"{', '.join(names)}.{did_you_mean(name, names)}"
            )
    asked = {
        own: next((level for name, level in levels.items() if _same_name(name, own)), 0)
        for own in names
    }
    return {name: level for name, level in asked.items() if level}


# --- and stands at a level ------------------------------------------------------------------


def bind(roles: Roles, facts: Facts | None = None) -> BoundSpec:
    """Put every column at the level at which it is looked at.

    `facts` are what the levels need to know of the data. Raises `SpecError` that knows where in
    the spec the fault lies.
    """
    facts = facts or Facts()
    levels = tuple(_at_levels(roles, facts))
    generalised = {each.raw.name: each.column for each in levels}
    quasi_identifiers = tuple(
        generalised.get(column.name, column) for column in roles.quasi_identifiers
    )
    return BoundSpec(
        roles=roles,
        facts=facts,
        quasi_identifiers=quasi_identifiers,
        keys=quasi_identifiers,
        sensitive=roles.sensitive,
        entity=roles.entity,
        weight=roles.weight,
        references={
            name: _bind_reference(reference, roles, facts)
            for name, reference in roles.references.items()
        },
        checks=roles.checks,
        levels=levels,
    )


def _bind_reference(reference: ReferenceRoles, roles: Roles, facts: Facts) -> BoundReference:
    levels = tuple(_reference_levels(reference, roles, facts))
    generalised = {each.raw.alias: each.column for each in levels}
    return BoundReference(
        name=reference.name,
        table=reference.table,
        columns={
            own: generalised.get(column.alias, column) for own, column in reference.columns.items()
        },
        entity=reference.entity,
        weight=reference.weight,
        where=reference.where,
        levels=levels,
    )


@contextmanager
def _at(*location: int | str) -> Iterator[None]:
    """Say of a `SpecError` where in the table's spec it lies."""
    try:
        yield
    except SpecError as error:
        error.location = error.location or location
        raise


def find(name: str, table: Table) -> Column:
    """The column of this name: as spelled, else the only one that differs by case alone."""
    exact = [column for column in table.columns if column.name == name]
    folded = [column for column in table.columns if column.name.casefold() == name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        raise no_such_column(name, table.name, table.column_names, text=table.text)
    return matches[0]


def _found(name: str, table: Table, location: Location) -> Column:
    with _at(*location):
        return find(name, table)


def _column(name: str, table: Table, location: Location, alias: str | None = None) -> BoundColumn:
    """A column whose values are compared. Raises `SpecError` where some that differ are equal."""
    column = _found(name, table, location)
    with _at(*location):
        refuse_merging(column, table)
    return BoundColumn(column.name, column.type, alias or column.name, column.few_values)


def refuse_merging(column: Column, table: Table) -> None:
    """Raise `SpecError` for a column of which the database takes different values for one."""
    if column.merges is not None:
        raise SpecError(f'column "{column.name}" of {table.name} {column.merges}')


def named_columns(spec: TableSpec) -> list[str]:
    """The columns that a question names, as it spells them.

    Raises `SpecError` where it means columns that it does not name.
    """
    if "*" in spec.quasi_identifiers:
        raise SpecError(
            "quasi_identifiers: '*' is every column of a table that nobody has opened. Name them, "
            "or connect to the database."
        )
    of_checks = [each.sensitive for each in spec.checks if isinstance(each, SensitiveModel)]
    return _each_once(
        *spec.quasi_identifiers,
        *spec.sensitive,
        *of_checks,
        *spec.identifiers,
        *spec.insensitive,
        spec.entity,
        spec.weight,
        *columns_of(spec.where),
    )


def named_of_reference(spec: TableSpec, name: str) -> list[str]:
    """The same of a reference."""
    reference = spec.references[name]
    renamed = {own.casefold(): there for own, there in reference.columns.items()}
    return _each_once(
        *(renamed.get(each.casefold(), each) for each in spec.quasi_identifiers),
        reference.entity,
        reference.weight,
        *columns_of(reference.where),
    )


def _each_once(*names: str | None) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        if name is not None:
            found.setdefault(name.casefold(), name)
    return list(found.values())


def _sensitive_names(spec: TableSpec, table: Table) -> list[str]:
    """The sensitive attributes, those that only a check names included."""
    declared = [find(name, table).name for name in spec.sensitive]
    named: dict[str, None] = {}
    for place, model in enumerate(spec.checks):
        if isinstance(model, SensitiveModel) and model.sensitive is not None:
            with _at("checks", place):
                named[find(model.sensitive, table).name] = None
    return [*declared, *(name for name in named if name not in declared)]


def _raw_quasi_identifiers(spec: TableSpec, table: Table) -> Iterator[BoundColumn]:
    """The quasi-identifiers as they lie in the table."""
    names = list(spec.quasi_identifiers)
    if "*" in names and "*" not in table.column_names:
        for name in names:
            if name != "*":
                _column(name, table, ("quasi_identifiers", name))
        other = [
            *_sensitive_names(spec, table),
            *spec.identifiers,
            *spec.insensitive,
            *(name for name in (spec.entity, spec.weight) if name),
        ]
        taken = {find(name, table).name for name in other}
        names = [name for name in table.column_names if name not in taken]
    if not names:
        raise SpecError(
            f"no quasi-identifiers of {table.name} are named: which columns may someone know of "
            "a person?"
        )
    for place, name in enumerate(names, start=1):
        column = _column(name, table, ("quasi_identifiers", name))
        collides = column.name.casefold().startswith("kanon_")
        alias = f"kanon_quasi_identifier_{place}" if collides else column.name
        yield replace(column, alias=alias)


def masked_columns(roles: Roles) -> list[BoundColumn]:
    """The columns of which the longest value must be known before a level can be."""
    return [
        column
        for column in roles.quasi_identifiers
        if column.name in roles.levels and roles.hierarchy(column).masks
    ]


def masked_references(
    roles: Roles, reference: ReferenceRoles
) -> list[tuple[BoundColumn, BoundColumn]]:
    """The quasi-identifiers that a reference must be masked in, each with its column there."""
    return [
        (column, reference.columns[column.name])
        for column in roles.quasi_identifiers
        if column.name in reference.levels and roles.hierarchy(column).masks
    ]


def hierarchy_sources(roles: Roles, *, every: bool = False) -> dict[str, str]:
    """The typed file or table that a hierarchy lies in, by quasi-identifier: where a level of it
    is asked, or with `every` wherever there is one."""
    asked = [roles.levels, *(reference.levels for reference in roles.references.values())]
    sources = {
        column.name: roles.hierarchy(column).source
        for column in roles.quasi_identifiers
        if every or any(column.name in levels for levels in asked)
    }
    return {name: source for name, source in sources.items() if source is not None}


def column_levels(
    roles: Roles, facts: Facts | None = None, *, without: Collection[str] = ()
) -> dict[str, ColumnLevels]:
    """The levels of every quasi-identifier, by its name, `without` some.

    Raises `SpecError` for a hierarchy that can't be read, has faults or is for other values.
    """
    return {
        column.name: _levels_for(roles, column, column, facts or Facts())
        for column in roles.quasi_identifiers
        if column.name not in without
    }


def _levels_for(
    roles: Roles,
    column: BoundColumn,
    values: BoundColumn,
    facts: Facts,
    longest: int | None = None,
) -> ColumnLevels:
    """The levels of a quasi-identifier for the values of this column: its own, or a reference's."""
    hierarchy = roles.hierarchy(column)
    with _at("quasi_identifiers", column.name):
        return ColumnLevels.of(
            values.name,
            values.type,
            hierarchy,
            longest=longest,
            table=facts.hierarchies.get(column.name) or rows_of(column.name, hierarchy),
            faults=roles.spec.hierarchy_faults,
            show_values=facts.show_values,
        )


def _at_levels(roles: Roles, facts: Facts) -> Iterator[AtLevel]:
    for place, column in enumerate(roles.quasi_identifiers, start=1):
        level = roles.levels.get(column.name)
        if level:
            longest = facts.longest.get(column.name)
            levels = _levels_for(roles, column, column, facts, longest)
            with _at("quasi_identifiers", column.name):
                _refuse_beyond_top("", column.name, levels, level)
            yield AtLevel(column, levels, level, place, portable=not roles.table.embedded)


def _refuse_beyond_top(prefix: str, name: str, levels: ColumnLevels, level: int) -> None:
    if level > levels.height:
        raise SpecError(f'{prefix}levels: "{name}" has levels 0 to {levels.height}; found {level}.')


def hierarchy_of(spec: TableSpec, column: BoundColumn) -> GeneralizationHierarchy:
    """How a quasi-identifier may be generalised."""
    return next(
        (each for name, each in spec.quasi_identifiers.items() if _same_name(name, column.name)),
        GeneralizationHierarchy(),
    )


def _same_name(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _refuse_two_parts(parts: Sequence[tuple[BoundColumn | Column, str]]) -> None:
    seen: dict[str, str] = {}
    for column, part in parts:
        earlier = seen.setdefault(column.name, part)
        if earlier != part:
            raise SpecError(f'column "{column.name}" is both {earlier} and {part}; choose one.')
    names = [column.name for column, _ in parts]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise SpecError(f'column "{repeated}" is named twice.')


def _refuse_nested(column: BoundColumn, table: Table) -> None:
    if family(column.type) == "nested":
        raise SpecError(
            f'column "{column.name}" of {table.name} is nested. A privacy model '
            "compares single values: take its fields apart into columns of their own."
        )


def _refuse_span(column: BoundColumn, table: Table) -> None:
    """Refuse types of which SQL takes different values for one: 1 month and 30 days."""
    if family(column.type) == "span":
        raise SpecError(
            f'column "{column.name}" of {table.name} is {column.type}, of which SQL takes '
            "different values for one. Cast it to text in a view, or leave it out."
        )


def _condition(text: str | None, table: Table, location: Location) -> Condition | None:
    """A condition on the records of a table. Raises `SpecError` for one that can't be asked."""
    if text is None:
        return None
    with _at(*location):
        types = {each.name: each.type for each in table.columns}
        found = condition(text, table.name, types, exact=table.exact)
        for name in found.columns:
            refuse_merging(find(name, table), table)
    return found


def _reference_columns(
    name: str, spec: ReferenceSpec, table: Table, quasi_identifiers: Sequence[BoundColumn]
) -> dict[str, BoundColumn]:
    """The reference's column for each quasi-identifier, as it lies."""
    known = {column.name for column in quasi_identifiers}
    renamed: dict[str, str] = {}
    for own, there in spec.columns.items():
        matches = [q for q in known if q == own] or [
            q for q in known if q.casefold() == own.casefold()
        ]
        if len(matches) != 1:
            raise SpecError(
                f'reference {name}: columns: "{own}" is no quasi-identifier. Quasi-identifiers: '
                f"{', '.join(sorted(known))}.{did_you_mean(own, known)}"
            )
        renamed[matches[0]] = there
    columns = {
        column.name: _column(
            renamed.get(column.name, column.name),
            table,
            ("references", name, "columns"),
            column.alias,
        )
        for column in quasi_identifiers
    }
    for column in columns.values():
        _refuse_nested(column, table)
        _refuse_span(column, table)
    return columns


def _reference_levels(reference: ReferenceRoles, roles: Roles, facts: Facts) -> Iterator[AtLevel]:
    """The reference's columns that are looked at through the hierarchies of the table."""
    name, referred = reference.name, facts.referred.get(reference.name, {})
    # The release's tables of labels, which a statement may join too, have the numbers before.
    for place, column in enumerate(roles.quasi_identifiers, start=1 + len(roles.quasi_identifiers)):
        level, there = reference.levels.get(column.name), reference.columns[column.name]
        if level:
            with _at("references", name, "levels"):
                levels = _levels_for(roles, column, there, facts, referred.get(column.name))
                _refuse_beyond_top(f"reference {name}: ", column.name, levels, level)
            portable = not reference.table.embedded
            yield AtLevel(there, levels, level, place, portable=portable)


def _refuse_two_levels(reference: ReferenceRoles) -> None:
    """Raise where a column is asked for at a level and in another way too."""
    read = [*reference.columns.values(), reference.entity, reference.weight]
    for name in reference.levels:
        raw = reference.columns[name].name
        if sum(column is not None and column.name == raw for column in read) > 1:
            raise SpecError(
                f'reference {reference.name}: levels: column "{raw}" plays two parts, '
                "so it can't be at a level for one of them. Copy it under another name in a view."
            )


def pairs(bound: BoundSpec, reference: BoundReference, match: str) -> tuple[Pair, ...]:
    """How each quasi-identifier is compared with the reference's column for it.

    Raises `SpecError` where the two hold values that can never be equal.
    """
    return tuple(
        Pair(column, reference.columns[column.name], _comparison(bound, reference, column, match))
        for column in bound.quasi_identifiers
    )


def _comparison(
    bound: BoundSpec, reference: BoundReference, column: BoundColumn, match: str
) -> Comparison:
    other = reference.columns[column.name]
    here, there = (family(each.type) or "text" for each in (column, other))
    if here != there and not {"text", "nothing"} & {here, there}:
        raise SpecError(
            f'reference {reference.name}: column "{other.name}" is {other.type}, and '
            f'"{column.name}" of {bound.table.name} is {column.type}: they can never be equal. '
            "Give both the same type."
        )
    if here == "text" and match == "containment":
        return "by_pattern"
    if bound.wildcard:
        return "by_wildcard"
    # An integer and a float that a cast makes equal need not be: 2**53 + 1 becomes 2**53.
    rounds = column.type != other.type and _FLOATS & {column.type, other.type}
    return "as_is" if here == there != "text" and not rounds else "as_text"


def _checks(
    spec: TableSpec, table: Table, sensitive: tuple[BoundColumn, ...]
) -> Iterator[BoundCheck]:
    """What was asked, what gates before what does not; then what is measured unasked."""
    asked = []
    for place, model in enumerate(spec.checks):
        with _at("checks", place):
            asked.append(_complete(model, spec, table, sensitive))
    asked.sort(key=lambda check: not check.gates)
    yield from asked
    yield from _unasked(spec, sensitive, [check.model for check in asked])


def _unasked(
    spec: TableSpec, sensitive: tuple[BoundColumn, ...], asked: Sequence[Model]
) -> Iterator[BoundCheck]:
    """What is measured beside it: little where something was demanded, else all that can be."""
    if not any(isinstance(model, KAnonymity) for model in asked):
        yield BoundCheck(KAnonymity(), asked=False)
    matched = {model.reference for model in asked if isinstance(model, KMap)}
    for reference in spec.references:
        if reference not in matched:
            yield BoundCheck(KMap(reference=reference), asked=False)
    if spec.nulls == "wildcard":
        return
    demanded = any(model.gates for model in asked)
    for column in sensitive:
        for model in (Homogeneity,) if demanded else _UNASKED:
            measured = model(sensitive=column.name, with_other_sensitive=spec.with_other_sensitive)
            same = [each for each in asked if type(each) is model]
            known = [(each.sensitive, each.with_other_sensitive) for each in same]
            if (measured.sensitive, measured.with_other_sensitive) in known:
                continue
            if model is not KEAnonymity or family(column.type) == "number":
                yield BoundCheck(measured, asked=False, column=column)


def _complete(
    model: Model, spec: TableSpec, table: Table, sensitive: tuple[BoundColumn, ...]
) -> BoundCheck:
    """The same model with its column or reference named as the tables name it."""
    if spec.nulls == "wildcard" and not model.with_wildcards:
        defined = ", ".join(name for name, each in MODELS.items() if each.with_wildcards)
        raise SpecError(
            f"{model.name()} is not defined with nulls: wildcard, where records form no classes. "
            f"Defined are {defined}."
        )
    if model.is_estimate:
        require(model.name())
    if isinstance(model, ReferenceModel):
        named = model.model_copy(update={"reference": _reference_name(model, spec)})
        return BoundCheck(named, asked=True)
    if isinstance(model, SensitiveModel):
        return _with_its_column(model, spec, table, sensitive)
    return BoundCheck(model, asked=True)


def _with_its_column(
    model: SensitiveModel, spec: TableSpec, table: Table, sensitive: tuple[BoundColumn, ...]
) -> BoundCheck:
    name = _sensitive_name(model, table, sensitive)
    column = next(column for column in sensitive if column.name == name)
    if model.with_other_sensitive and len(sensitive) == 1:
        raise SpecError(
            f"{model.name()}: with_other_sensitive needs other sensitive attributes, and "
            f'"{name}" is the only one.'
        )
    joined = model.with_other_sensitive or (spec.with_other_sensitive and len(sensitive) > 1)
    complete = model.model_copy(update={"sensitive": name, "with_other_sensitive": joined})
    kind = family(column.type)
    if isinstance(model, KEAnonymity) and kind not in ("number", "text", "nothing", ""):
        raise SpecError(
            f'k_e_anonymity needs numbers, and "{name}" is {column.type}. Choose another model, '
            "or another attribute."
        )
    if not isinstance(model, TCloseness):
        return BoundCheck(complete, asked=True, column=column)
    has_order = kind in ("number", "text", "time", "boolean", "nothing", "")
    has_order = has_order or column.type == "TIME"
    if model.distance == "ordered" and model.order is None and not has_order:
        raise SpecError(
            f't_closeness: "{name}" is {column.type}, which has no order of its own. List its '
            "values in order, as in order=[low, middle, high]."
        )
    paths = read_tree(model.hierarchy) if model.hierarchy is not None else ()
    return BoundCheck(complete, asked=True, column=column, paths=paths)


def _sensitive_name(model: SensitiveModel, table: Table, sensitive: tuple[BoundColumn, ...]) -> str:
    if model.sensitive is not None:
        return find(model.sensitive, table).name
    if len(sensitive) == 1:
        return sensitive[0].name
    names = ", ".join(column.name for column in sensitive)
    raise SpecError(
        f"{model.name()} needs a sensitive attribute: "
        + (f"name one of {names}" if names else "name it")
        + f", as in {model.name()}:sensitive={sensitive[0].name if sensitive else 'COLUMN'}."
    )


def _reference_name(model: ReferenceModel, spec: TableSpec) -> str:
    names = list(spec.references)
    if model.reference is not None and model.reference in names:
        return model.reference
    if not names:
        raise SpecError(
            f"{model.name()} needs a reference: the table of the people who could be meant "
            "(--reference FILE, or references: in a spec)."
        )
    if model.reference is None and len(names) == 1:
        return names[0]
    if model.reference is None:
        raise SpecError(
            f"{model.name()}: there are several references ({', '.join(names)}); name one, as in "
            f"{model.name()}:reference={names[0]}."
        )
    raise SpecError(
        f'{model.name()}: there is no reference "{model.reference}". References: '
        f"{', '.join(names)}.{did_you_mean(model.reference, names)}"
    )
