"""Assigns each column of a question its role, and resolves its reference and earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from kanon_sql.errors import Faults, SpecError, did_you_mean, located, no_first_records, option
from kanon_sql.plan.question import BoundColumn, OtherTable, OtherTableKey, Roles, same_name
from kanon_sql.plan.resolve import (
    bound_checks,
    bound_condition,
    column_named,
    each_once,
    found_column,
    levels_of,
    refuse_missing_beside,
    refuse_two_parts,
    refuse_uncomparable,
    sensitive_of,
)
from kanon_sql.spec.hierarchy_table import read_hierarchy
from kanon_sql.spec.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.spec.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.conditions import columns_of
from kanon_sql.sql.tables import Table, find


def resolve_other(
    kind: OtherTableKind,
    name: str,
    spec: OtherTableSpec,
    table: Table,
    quasi_identifiers: Sequence[BoundColumn],
    sensitive: Sequence[BoundColumn],
    entity: BoundColumn | None,
) -> OtherTable:
    """Resolve the columns of a reference or an earlier release.

    Its quasi-identifiers default to the table's. An earlier release needs an entity, and may lack
    sensitive attributes. Raises `SpecError` with its location in the spec.
    """
    here = (kind.key, name)
    if kind is EARLIER and entity is None:
        with located(*here):
            raise SpecError(
                f"{kind.called(name)}: to compare with an earlier release, name the column that "
                f"identifies a person: {option('entity', 'person')}."
            )
    linked = [] if kind is REFERENCE or entity is None else [*sensitive, entity]
    with located(*here, "columns") if kind is EARLIER else nullcontext():
        renamed = _renamed(kind.called(name), spec, quasi_identifiers, linked)
    shown, columns = _quasi_identifiers(kind, name, spec, table, quasi_identifiers, renamed)
    for column in shown if kind is REFERENCE else ():
        refuse_uncomparable(column, table)
    person = spec.entity or (renamed.get(entity.name, entity.name) if linked and entity else None)
    weight = spec.weight if isinstance(spec, ReferenceSpec) else None
    with located(*here, "levels"):
        levels = levels_of(f"{kind.called(name)}: ", spec.levels, quasi_identifiers)
    found = OtherTable(
        kind=kind,
        name=name,
        spec=spec,
        table=table,
        quasi_identifiers=tuple(shown),
        columns=columns,
        entity=column_named(person, table, (*here, "entity"), "kanon_entity") if person else None,
        weight=column_named(weight, table, (*here, "weight")) if weight else None,
        sensitive=dict(_sensitive(table, renamed, sensitive if linked else ())),
        where=bound_condition(spec.where, table, (*here, "where")),
        levels=levels,
    )
    if kind is EARLIER:
        with located(*here):
            _refuse_unusable(found)
    with located(*here, "levels"):
        _refuse_levels(found)
    return found


def _renamed(
    called: str,
    spec: OtherTableSpec,
    quasi_identifiers: Sequence[BoundColumn],
    linked: Sequence[BoundColumn],
) -> dict[str, str]:
    """Its column names, by the table's own: quasi-identifiers and the columns that link people."""
    owns = [column.name for column in (*quasi_identifiers, *linked)]
    if linked:
        known = "no quasi-identifier, no sensitive attribute and not the entity"
        listed = f"These are {', '.join(owns)}."
    else:
        known = "no quasi-identifier"
        listed = f"Quasi-identifiers: {', '.join(sorted(owns))}."
    renamed: dict[str, str] = {}
    for own, there in spec.columns.items():
        matches = [each for each in owns if each == own] or [
            each for each in owns if same_name(each, own)
        ]
        if len(matches) != 1:
            raise SpecError(
                f'{called}: "{own}" is {known}, and needs no other name there. {listed}'
                f"{did_you_mean(own, owns)}"
            )
        renamed[matches[0]] = there
    return renamed


def _quasi_identifiers(
    kind: OtherTableKind,
    name: str,
    spec: OtherTableSpec,
    table: Table,
    owns: Sequence[BoundColumn],
    renamed: Mapping[str, str],
) -> tuple[list[BoundColumn], dict[str, BoundColumn]]:
    """Its quasi-identifiers, and those shared with the table by their name there.

    An earlier release may list its own, where a renamed one stands under either name.
    """
    here = (kind.key, name)
    there = {own.name: renamed.get(own.name, own.name) for own in owns}
    if isinstance(spec, EarlierReleaseSpec) and spec.quasi_identifiers:
        folded = {own.casefold(): each for own, each in renamed.items()}
        shown = [
            column_named(folded.get(each.casefold(), each), table, (*here, "quasi_identifiers"))
            for each in spec.quasi_identifiers
        ]
        return shown, {
            own: column
            for own, each in there.items()
            for column in shown
            if same_name(column.name, each)
        }
    for own in [own for own in there if own not in renamed]:
        ways_out = [option(f"{kind.key}.columns", {own: "…"})]
        if kind is EARLIER:
            of_its_own = option(f"{kind.key}.quasi_identifiers")
            ways_out.append(f"name what it published instead: {of_its_own}")
        refuse_missing_beside(own, table, here, *ways_out)
    key = "columns" if kind is REFERENCE else "quasi_identifiers"
    shown = [
        column_named(there[own.name], table, (*here, key), own.alias if kind is REFERENCE else None)
        for own in owns
    ]
    return shown, dict(zip(there, shown, strict=True))


def _sensitive(
    table: Table, renamed: Mapping[str, str], sensitive: Sequence[BoundColumn]
) -> Iterator[tuple[str, BoundColumn]]:
    """Its columns for the sensitive attributes; a missing one is skipped unless it was renamed."""
    for own in sensitive:
        there = renamed.get(own.name, own.name)
        if own.name in renamed or any(same_name(there, each) for each in table.column_names):
            yield own.name, column_named(there, table, ("sensitive", own.name))


def _refuse_unusable(release: OtherTable) -> None:
    """Raise for a column with two roles, or one whose values can't be compared."""
    roles = [
        *((column, "a quasi-identifier") for column in release.quasi_identifiers),
        *((column, "sensitive") for column in release.sensitive.values()),
        *([(release.entity, "the entity")] if release.entity else []),
    ]
    try:
        refuse_two_parts(roles)
        for column, _ in roles:
            refuse_uncomparable(column, release.table)
    except SpecError as error:
        raise SpecError(f"{release.called}: {error.marked}") from None


def _refuse_levels(other: OtherTable) -> None:
    """Raise for a level of a column that it lacks, or that has a second role there."""
    read = [*other.quasi_identifiers, other.entity, other.weight]
    for name in other.levels:
        if name not in other.columns:
            raise SpecError(
                f'{other.called}: "{name}" is none of its quasi-identifiers, which are '
                f"{', '.join(column.name for column in other.quasi_identifiers)}."
            )
        raw = other.columns[name].name
        if sum(column is not None and column.name == raw for column in read) > 1:
            raise SpecError(
                f'{other.called}: column "{raw}" plays two parts, so it can\'t be at a level for '
                "one of them. Copy it under another name in a view."
            )


def named_of_other(asked: TableSpec, spec: OtherTableSpec, dialect: str) -> list[str]:
    """Column names of an unopened reference or earlier release, as far as the spec names them.

    An earlier release is assumed to have the table's sensitive attributes.
    """
    there = {own.casefold(): named for own, named in spec.columns.items()}
    owns: list[str | None] = list(asked.quasi_identifiers)
    weight = None
    if isinstance(spec, ReferenceSpec):
        weight = spec.weight
    else:
        owns = [
            *(spec.quasi_identifiers or owns),
            *asked.sensitive,
            *(sensitive_of(each) for each in asked.checks),
            None if spec.entity else asked.entity,
        ]
    return each_once(
        *(there.get(own.casefold(), own) for own in owns if own),
        spec.entity,
        weight,
        *columns_of(spec.where, dialect),
    )


def resolve(
    spec: TableSpec,
    table: Table,
    others: Mapping[OtherTableKey, Table],
    *,
    is_open: bool = False,
) -> Roles:
    """Resolve every column that `spec` names, and assign it its role. `others` are the references
    and earlier releases.

    `is_open`: the caller wants to find the quasi-identifiers, so none need be named. Raises
    `SpecError` with its location in the spec.
    """
    _refuse_undecided(spec, table)
    _refuse_unknown(spec, table)
    has_none = is_open and not spec.quasi_identifiers
    has_none = has_none or bool(spec.events and not spec.quasi_identifiers)
    quasi_identifiers = () if has_none else tuple(_raw_quasi_identifiers(spec, table))
    if "*" in spec.events and "*" not in table.column_names:
        raise SpecError(
            "events can't be '*', every column: name the columns that make an event.",
        )
    events = tuple(
        _with_own_alias(column_named(name, table, ("events", name)), "event", place)
        for place, name in enumerate(spec.events, start=1)
    )
    sensitive = tuple(
        column_named(name, table, ("sensitive", name), alias=f"kanon_sensitive_{place}")
        for place, name in enumerate(_sensitive_names(spec, table), start=1)
    )
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    identifiers, insensitive = (
        tuple(found_column(name, table, (key, name)) for name in getattr(spec, key))
        for key in ("identifiers", "insensitive")
    )
    entity = (
        column_named(spec.entity, table, ("entity",), alias="kanon_entity") if spec.entity else None
    )
    weight = column_named(spec.weight, table, ("weight",)) if spec.weight else None
    refuse_two_parts(
        [(column, "a quasi-identifier") for column in quasi_identifiers]
        + [(column, "part of an event") for column in events]
        + [(column, "sensitive") for column in sensitive]
        + [(column, "an identifier") for column in identifiers]
        + [(column, "insensitive") for column in insensitive]
        + ([(entity, "the entity")] if entity else [])
        + ([(weight, "the weight")] if weight else [])
    )
    for column in (*quasi_identifiers, *events, *sensitive, *([entity] if entity else [])):
        refuse_uncomparable(column, table)
    if spec.first and not table.ordered:
        raise no_first_records(table.name)
    for named, beside, why in (
        (entity, "an entity", "in which people could be counted"),
        (weight, "a survey weight", "of which the weights could be added up"),
    ):
        if spec.nulls == "wildcard" and named:
            raise SpecError(
                f"nulls: wildcard is not defined with {beside}: compatible records form no classes "
                f"{why}. Leave out one of the two."
            )
    resolved = tuple(
        resolve_other(kind, name, other, others[kind, name], quasi_identifiers, sensitive, entity)
        for kind, name, other in spec.other_tables()
    )
    return Roles(
        spec=spec,
        table=table,
        quasi_identifiers=quasi_identifiers,
        events=events,
        sensitive=sensitive,
        identifiers=identifiers,
        insensitive=insensitive,
        entity=entity,
        weight=weight,
        where=bound_condition(spec.where, table, ("where",)),
        others=resolved,
        checks=tuple(bound_checks(spec, table, sensitive, resolved)),
        levels=levels_of(
            "",
            spec.levels,
            (*quasi_identifiers, *events),
            "Columns with levels" if events else "Quasi-identifiers",
        ),
    )


def _refuse_undecided(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` while columns are undecided."""
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


def _refuse_unknown(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` for every name that is no column of the table, and then for every hierarchy
    file that can't be read."""
    named: list[tuple[str, tuple[str | int, ...]]] = [
        (name, (part, name))
        for part in ("quasi_identifiers", "sensitive", "identifiers", "insensitive")
        for name in getattr(spec, part)
        if name != "*"
    ]
    named += [(name, (part,)) for part in ("entity", "weight") if (name := getattr(spec, part))]
    named += [
        (name, ("checks", place))
        for place, model in enumerate(spec.checks)
        if (name := sensitive_of(model)) and name not in spec.sensitive
    ]
    with Faults() as faults:
        for name, location in named:
            with faults.collected():
                found_column(name, table, location)
        for name, each in spec.quasi_identifiers.items() if faults else ():
            with faults.collected(), located("quasi_identifiers", name):
                if isinstance(each.hierarchy, str) and each.source is None:
                    read_hierarchy(each.hierarchy)


def named_columns(spec: TableSpec, dialect: str) -> list[str]:
    """The columns a spec names, in its spelling.

    Raises `SpecError` for a wildcard, which only an open table can expand.
    """
    if "*" in spec.quasi_identifiers:
        raise SpecError(
            "quasi_identifiers: '*' is every column of a table that nobody has opened. Name them, "
            "or connect to the database."
        )
    of_checks = [sensitive_of(each) for each in spec.checks]
    return each_once(
        *spec.quasi_identifiers,
        *spec.events,
        *spec.sensitive,
        *of_checks,
        *spec.identifiers,
        *spec.insensitive,
        spec.entity,
        spec.weight,
        *columns_of(spec.where, dialect),
    )


def _sensitive_names(spec: TableSpec, table: Table) -> list[str]:
    """The sensitive attributes, including those only a check names."""
    declared = [find(name, table).name for name in spec.sensitive]
    named: dict[str, None] = {}
    for place, model in enumerate(spec.checks):
        sensitive = sensitive_of(model)
        if sensitive is not None:
            with located("checks", place):
                named[find(sensitive, table).name] = None
    return [*declared, *(name for name in named if name not in declared)]


def _raw_quasi_identifiers(spec: TableSpec, table: Table) -> Iterator[BoundColumn]:
    """The quasi-identifiers at raw values."""
    names = list(spec.quasi_identifiers)
    if "*" in names and "*" not in table.column_names:
        for name in names:
            if name != "*":
                column_named(name, table, ("quasi_identifiers", name))
        other = [
            *_sensitive_names(spec, table),
            *spec.events,
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
        yield _with_own_alias(column, "quasi_identifier", place)


def _with_own_alias(column: BoundColumn, role: str, place: int) -> BoundColumn:
    """The column under its name, or a generated one if it has the prefix of generated names."""
    collides = column.name.casefold().startswith("kanon_")
    return replace(column, alias=f"kanon_{role}_{place}" if collides else column.name)


def masked_columns(roles: Roles) -> list[BoundColumn]:
    """Masked columns, whose longest value must be known before their levels."""
    return [
        column
        for column in roles.generalisable
        if column.name in roles.levels and roles.hierarchy(column).has_mask
    ]


def masked_there(roles: Roles, other: OtherTable) -> list[tuple[BoundColumn, BoundColumn]]:
    """The quasi-identifiers masked in another table, each with its column there."""
    return [
        (column, other.columns[column.name])
        for column in roles.quasi_identifiers
        if column.name in other.levels and roles.hierarchy(column).has_mask
    ]


def hierarchy_sources(roles: Roles, *, every: bool = False) -> dict[str, str]:
    """The hierarchy file or table of each quasi-identifier with a requested level.

    With `every`, that of all quasi-identifiers.
    """
    asked = [roles.levels, *(each.levels for each in roles.others)]
    sources = {
        column.name: roles.hierarchy(column).source
        for column in roles.generalisable
        if every or any(column.name in levels for levels in asked)
    }
    return {name: source for name, source in sources.items() if source is not None}
