"""The columns that a question names: by a role, a check, a condition, or in another table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import NamedTuple

from kanon_sql.errors import Faults, SpecError, did_you_mean, located, option
from kanon_sql.models.base import Model
from kanon_sql.plan.question import Location, OtherTableKey, same_name
from kanon_sql.question.hierarchy_table import read_hierarchy
from kanon_sql.question.other_tables import OtherTableKind
from kanon_sql.question.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.conditions import Condition, columns_of, condition
from kanon_sql.sql.tables import Column, Table, find


class NamedColumn(NamedTuple):
    """A column that a question names, with its location in the spec."""

    name: str
    location: Location = ()
    option: str = ""
    """The option that names it, where it is none of the spec."""

    def refuse_unknown(self, table: Table) -> None:
        """Raise `SpecError` unless the table has the column."""
        with located(*self.location):
            try:
                find(self.name, table)
            except SpecError as error:
                prefix = f"{option(self.option)}: " if self.option else ""
                raise SpecError(f"{prefix}{error.marked}") from None

    def is_in(self, table: Table) -> bool:
        with suppress(SpecError):
            self.refuse_unknown(table)
            return True
        return False


def sensitive_of(model: Model) -> str | None:
    """The sensitive attribute that a model names, or None."""
    return getattr(model, "sensitive", None)


def columns_with_roles(spec: TableSpec) -> Iterator[NamedColumn]:
    """Each column that a role or a check names; '*' of quasi-identifiers and events is none."""
    for role, name in columns_by_role(spec):
        if not (role.is_generalisable and name == "*"):
            yield NamedColumn(name, (role.key,) if role.is_single else (role.key, name))
    for index, model in enumerate(spec.checks):
        name = sensitive_of(model)
        if name is not None and name not in spec.sensitive:
            yield NamedColumn(name, ("checks", index))


def sensitive_names(spec: TableSpec) -> list[str]:
    """The sensitive attributes, including those that only a check names."""
    keys = ("sensitive", "checks")
    return [column.name for column in columns_with_roles(spec) if column.location[0] in keys]


def quasi_identifier_names(spec: TableSpec, table: Table) -> list[str]:
    """The quasi-identifiers; '*' stands for every column without another role."""
    if "*" not in spec.quasi_identifiers or "*" in table.column_names:
        return list(spec.quasi_identifiers)
    assigned = {
        find(column.name, table).name
        for column in columns_with_roles(spec)
        if column.location[0] != "quasi_identifiers" and column.is_in(table)
    }
    return [name for name in table.column_names if name not in assigned]


def names_without_table(spec: TableSpec, dialect: str) -> list[str]:
    """The columns of an unopened table, as far as the spec names them, in its spelling.

    Raises `SpecError` for a wildcard, which only an open table can expand.
    """
    if "*" in spec.quasi_identifiers:
        raise SpecError(
            "quasi_identifiers: '*' is every column of a table that nobody has opened. Name them, "
            "or connect to the database."
        )
    named = (column.name for column in columns_with_roles(spec))
    return distinct_names(*named, *columns_of(spec.where, dialect))


def other_names_without_table(spec: TableSpec, other: OtherTableSpec, dialect: str) -> list[str]:
    """The columns of an unopened reference, earlier release or original, as far as the spec names
    them.

    All but a reference are assumed to have the table's sensitive attributes.
    """
    renamed = {name.casefold(): named for name, named in other.columns.items()}
    names: list[str | None] = list(spec.quasi_identifiers)
    weight = None
    if isinstance(other, ReferenceSpec):
        weight = other.weight
    else:
        own = other.quasi_identifiers if isinstance(other, EarlierReleaseSpec) else []
        names = [
            *(own or names),
            *sensitive_names(spec),
            None if other.entity else spec.entity,
        ]
    return distinct_names(
        *(renamed.get(name.casefold(), name) for name in names if name),
        other.entity,
        weight,
        *columns_of(other.where, dialect),
    )


def renamed_columns(
    kind: OtherTableKind,
    name: str,
    columns: Mapping[str, str],
    names: Sequence[str],
    linked: Sequence[str],
) -> dict[str, str]:
    """The `columns` that are called otherwise in another table, by their spelling in the audited
    one: its quasi-identifiers `names`, and the columns that link people. Of a table that shares
    all, `names` are all columns."""
    if kind.shares_columns:
        description = "no column of the table"
        listed = f"Its columns: {', '.join(names)}."
    elif linked:
        description = "no quasi-identifier, no sensitive attribute and not the entity"
        listed = f"These are {', '.join([*names, *linked])}."
    else:
        description = "no quasi-identifier"
        listed = f"Quasi-identifiers: {', '.join(sorted(names))}."
    known = [*names, *linked]
    renamed: dict[str, str] = {}
    with Faults() as faults:
        for own, other_name in columns.items():
            exact = [known_name for known_name in known if known_name == own]
            matches = exact or [known_name for known_name in known if same_name(known_name, own)]
            with faults.collected(), located(*kind.place(name), "columns", own):
                if len(set(matches)) != 1:
                    raise SpecError(
                        f'{kind.called(name)}: "{own}" is {description}, and needs no other name '
                        f"there. {listed}{did_you_mean(own, known)}"
                    )
                renamed[matches[0]] = other_name
    return renamed


def refuse_unknown(
    spec: TableSpec,
    table: Table,
    others: Mapping[OtherTableKey, Table],
    further: Iterable[NamedColumn] = (),
) -> None:
    """Raise `SpecError` for every name that is no column of its table, and then for every hierarchy
    file that can't be read. `further` are named outside the spec."""
    names = quasi_identifier_names(spec, table)
    with Faults() as faults:
        for column in (*columns_with_roles(spec), *further):
            with faults.collected():
                column.refuse_unknown(table)
        with faults.collected():
            bound_condition(spec.where, table, ("where",))
        # A column without a role may be one whose role was misspelt.
        accepted = frozenset(table.column_names if faults else ())
        with faults.collected():
            subject = "Columns with levels" if spec.events or spec.original else "Quasi-identifiers"
            levels = [name for name in spec.levels if name not in accepted]
            generalisable = [
                *names,
                *spec.events,
                *(sensitive_names(spec) if spec.original else ()),
            ]
            refuse_levels_of_others("", levels, generalisable, ("levels",), subject)
        for kind, name, other in spec.other_tables():
            with faults.collected():
                other_table = others[kind, name]
                _refuse_unknown_in_other(kind, name, other, other_table, spec, table, accepted)
        for name, settings in spec.quasi_identifiers.items() if faults else ():
            with faults.collected(), located("quasi_identifiers", name):
                if isinstance(settings.hierarchy, str) and settings.source is None:
                    read_hierarchy(settings.hierarchy)


def _refuse_unknown_in_other(
    kind: OtherTableKind,
    name: str,
    other: OtherTableSpec,
    other_table: Table,
    spec: TableSpec,
    table: Table,
    accepted: Set[str],
) -> None:
    """Raise `SpecError` for every name that is no column of another table, and for every shared
    column that it lacks. Names of the table that are `accepted` need no role."""
    location = kind.place(name)
    audited = quasi_identifier_names(spec, table)
    linked: list[str] = []
    required, names = audited, audited
    if kind.shares_columns:
        required, names = [*audited, *sensitive_names(spec)], list(table.column_names)
    if kind.needs_entity:
        if spec.entity is None:
            with located(*location):
                raise SpecError(
                    f"{kind.called(name)}: to compare with an earlier release, name the column "
                    f"that identifies a person: {option('entity', 'person')}."
                )
        linked = [*sensitive_names(spec), spec.entity]
    renamed = {own.casefold(): other_name for own, other_name in other.columns.items()}
    with Faults() as faults:
        with faults.collected():
            columns = {own: other.columns[own] for own in other.columns if own not in accepted}
            renamed_columns(kind, name, columns, names, linked)
        for column in _named_in_other(other, location, renamed):
            # A holdout may lack what is no key and no target.
            may_lack = kind.named_by and column.location[-1] not in required
            if not (may_lack and "columns" in column.location):
                with faults.collected():
                    column.refuse_unknown(other_table)
        entity = [spec.entity] if spec.entity and kind.has_sensitive else []
        for shared in _shared_with(other, required, entity):
            if shared.name.casefold() not in renamed and shared.is_in(table):
                with faults.collected(), located(*location, *shared.location):
                    _refuse_missing(kind, shared, other_table)
        with faults.collected():
            bound_condition(other.where, other_table, (*location, "where"))
        with faults.collected():
            prefix = f"{kind.called(name)}: "
            levels = [own for own in other.levels if own not in accepted]
            refuse_levels_of_others(prefix, levels, required, (*location, "levels"))


def _named_in_other(
    other: OtherTableSpec, location: Location, renamed: Mapping[str, str]
) -> Iterator[NamedColumn]:
    """The columns that the part of the spec on another table names."""
    for own, other_name in other.columns.items():
        yield NamedColumn(other_name, (*location, "columns", own))
    for listed in getattr(other, "quasi_identifiers", ()):
        # A renamed column is listed under either name.
        column = renamed.get(listed.casefold(), listed)
        yield NamedColumn(column, (*location, "quasi_identifiers", listed))
    for key in ("entity", "weight"):
        if named := getattr(other, key, None):
            yield NamedColumn(named, (*location, key))


def _shared_with(
    other: OtherTableSpec, audited: Sequence[str], entity: Sequence[str]
) -> Iterator[NamedColumn]:
    """The columns of the audited table that another one must have too, unless it renames them."""
    lists_its_own = isinstance(other, EarlierReleaseSpec) and other.quasi_identifiers
    yield from map(NamedColumn, () if lists_its_own else audited)
    yield from (NamedColumn(name, ("entity",)) for name in (() if other.entity else entity))


def _refuse_missing(kind: OtherTableKind, shared: NamedColumn, other_table: Table) -> None:
    try:
        shared.refuse_unknown(other_table)
    except SpecError as error:
        if shared.location:
            raise
        remedies = [option(f"{kind.named_by or kind.key}.columns", {shared.name: "…"})]
        if kind.may_lack_columns:
            list_option = option(f"{kind.key}.quasi_identifiers")
            remedies.append(f"name what it published instead: {list_option}")
        raise SpecError(
            f"{error.marked} If it is called otherwise there, say how: {', or '.join(remedies)}."
        ) from None


# --- conditions, levels, lists of names -------------------------------------------------------


def refuse_merging(column: Column, table: Table) -> None:
    """Raise `SpecError` for a column on which the database merges distinct values."""
    if column.unusable_because is not None:
        raise SpecError(f'column "{column.name}" of {table.name} {column.unusable_because}')


def bound_condition(text: str | None, table: Table, location: Location) -> Condition | None:
    """Compile a record filter. Raises `SpecError` if it is invalid."""
    if text is None:
        return None
    with located(*location):
        types = {column.name: column.type for column in table.columns}
        mixed = {column.name for column in table.columns if column.is_read_as_text}
        doubted = table.are_doubted
        compiled = condition(text, table.name, types, table.dialect, doubted=doubted, mixed=mixed)
        for name in compiled.columns:
            refuse_merging(find(name, table), table)
    return compiled


def refuse_levels_of_others(
    prefix: str,
    levels: Iterable[str],
    names: Sequence[str],
    location: Location,
    subject: str = "Quasi-identifiers",
) -> None:
    """Raise `SpecError` for each level of a column that is none of `names`."""
    with Faults() as faults:
        for name in levels:
            if not any(same_name(name, other) for other in names):
                with faults.collected(), located(*location, name):
                    raise SpecError(
                        f'{prefix}"{name}" is no quasi-identifier, and has no levels. '
                        f"{subject}: {', '.join(names)}.{did_you_mean(name, names)}"
                    )


def distinct_names(*names: str | None) -> list[str]:
    name_by_folded: dict[str, str] = {}
    for name in names:
        if name is not None:
            name_by_folded.setdefault(name.casefold(), name)
    return list(name_by_folded.values())
