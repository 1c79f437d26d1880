"""Which part each column has in a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kanon_sql.errors import SpecError, did_you_mean, located, no_first_records
from kanon_sql.plan.bound import BoundColumn, Location, ReferenceRoles, Roles, same_name
from kanon_sql.plan.checks import bound_checks
from kanon_sql.spec.models.base import SensitiveModel
from kanon_sql.spec.spec import ReferenceSpec, TableSpec
from kanon_sql.sql.column_types import family
from kanon_sql.sql.conditions import Condition, columns_of, condition
from kanon_sql.sql.tables import Column, Table, find


def resolve(
    spec: TableSpec, table: Table, references: Mapping[str, Table], *, is_open: bool = False
) -> Roles:
    """Find every column that `spec` names in the tables, and give it its part.

    `is_open` says that which columns are quasi-identifiers is what is asked, so that there may be
    none. Raises `SpecError` that knows where in the spec the fault lies.
    """
    _refuse_undecided(spec, table)
    has_none = is_open and not spec.quasi_identifiers
    quasi_identifiers = () if has_none else tuple(_raw_quasi_identifiers(spec, table))
    sensitive = tuple(
        column_named(name, table, ("sensitive", name), alias=f"kanon_sensitive_{place}")
        for place, name in enumerate(_sensitive_names(spec, table), start=1)
    )
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    identifiers = tuple(
        found_column(name, table, ("identifiers", name)) for name in spec.identifiers
    )
    insensitive = tuple(
        found_column(name, table, ("insensitive", name)) for name in spec.insensitive
    )
    entity = (
        column_named(spec.entity, table, ("entity",), alias="kanon_entity") if spec.entity else None
    )
    weight = column_named(spec.weight, table, ("weight",)) if spec.weight else None
    _refuse_two_parts(
        [(column, "a quasi-identifier") for column in quasi_identifiers]
        + [(column, "sensitive") for column in sensitive]
        + [(column, "an identifier") for column in identifiers]
        + [(column, "insensitive") for column in insensitive]
        + ([(entity, "the entity")] if entity else [])
        + ([(weight, "the weight")] if weight else [])
    )
    for column in (*quasi_identifiers, *sensitive, *([entity] if entity else [])):
        refuse_uncomparable(column, table)
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
        checks=tuple(bound_checks(spec, table, sensitive)),
        levels=_levels_of("", spec.levels, quasi_identifiers),
    )


def _refuse_undecided(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` while a person has yet to decide about columns."""
    if spec.undecided:
        with located("undecided"):
            one = len(spec.undecided) == 1
            raise SpecError(
                f"{'a column' if one else f'{len(spec.undecided)} columns'} of {table.name} "
                f"{'is' if one else 'are'} undecided: {', '.join(spec.undecided)}. Move "
                f"{'it' if one else 'each'} to quasi_identifiers, sensitive or identifiers, or to "
                "insensitive if it tells nothing of a person: a quasi-identifier that was missed "
                'makes a false "holds".'
            )


def _resolve_reference(
    name: str, asked: TableSpec, table: Table, quasi_identifiers: Sequence[BoundColumn]
) -> ReferenceRoles:
    here, spec = ("references", name), asked.references[name]
    columns = _reference_columns(name, spec, table, quasi_identifiers)
    with located(*here, "levels"):
        levels = _levels_of(f"reference {name}: ", spec.levels, quasi_identifiers)
    found = ReferenceRoles(
        name=name,
        table=table,
        columns=columns,
        entity=column_named(spec.entity, table, (*here, "entity"), "kanon_entity")
        if spec.entity
        else None,
        weight=column_named(spec.weight, table, (*here, "weight")) if spec.weight else None,
        where=_condition(spec.where, table, (*here, "where")),
        levels=levels,
    )
    with located(*here, "levels"):
        _refuse_two_levels(found)
    return found


def _levels_of(
    prefix: str, levels: Mapping[str, int], columns: Sequence[BoundColumn]
) -> dict[str, int]:
    """The levels that are asked for above the raw value, by quasi-identifier."""
    names = [column.name for column in columns]
    for name in levels:
        if not any(same_name(name, each) for each in names):
            raise SpecError(
                f'{prefix}levels: "{name}" is no quasi-identifier. Quasi-identifiers: '
                f"{', '.join(names)}.{did_you_mean(name, names)}"
            )
    asked = {
        own: next((level for name, level in levels.items() if same_name(name, own)), 0)
        for own in names
    }
    return {name: level for name, level in asked.items() if level}


def found_column(name: str, table: Table, location: Location) -> Column:
    with located(*location):
        return find(name, table)


def column_named(
    name: str, table: Table, location: Location, alias: str | None = None
) -> BoundColumn:
    """A column whose values are compared. Raises `SpecError` where some that differ are equal."""
    column = found_column(name, table, location)
    with located(*location):
        refuse_merging(column, table)
    return BoundColumn(column.name, column.type, alias or column.name, column.few_values)


def refuse_merging(column: Column, table: Table) -> None:
    """Raise `SpecError` for a column of which the database takes different values for one."""
    if column.unusable_because is not None:
        raise SpecError(f'column "{column.name}" of {table.name} {column.unusable_because}')


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
            with located("checks", place):
                named[find(model.sensitive, table).name] = None
    return [*declared, *(name for name in named if name not in declared)]


def _raw_quasi_identifiers(spec: TableSpec, table: Table) -> Iterator[BoundColumn]:
    """The quasi-identifiers as they lie in the table."""
    names = list(spec.quasi_identifiers)
    if "*" in names and "*" not in table.column_names:
        for name in names:
            if name != "*":
                column_named(name, table, ("quasi_identifiers", name))
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
        column = column_named(name, table, ("quasi_identifiers", name))
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


def refuse_uncomparable(column: BoundColumn, table: Table) -> None:
    """Raise `SpecError` for a column whose values SQL can't tell apart one by one."""
    _refuse_nested(column, table)
    _refuse_span(column, table)


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
    with located(*location):
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
        column.name: column_named(
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
