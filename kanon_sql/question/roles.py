"""The roles of a table's columns, a row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

Column = TypeVar("Column")
Names = str | Iterable[str]
QuasiIdentifiers = Names | Mapping[str, Any]


class Role(NamedTuple):
    """A role that a spec gives to columns: how specs, dbt and sentences name it."""

    key: str
    """Its key in a spec, and the parameter of a Python call."""
    phrase: str
    """Completes the sentence: the column is …"""
    name: str = ""
    """The role of one column in a dbt project or a data contract; empty if these have none."""
    is_single: bool = False
    """Whether one column has it at most."""
    alias: str | None = None
    """The name of that column above the records; None for its own."""
    against_wildcards: str = ""
    """Why it has no meaning where NULL matches every value."""
    is_compared: bool = False
    """Whether an audit compares its values, so that SQL must tell them apart."""
    is_generalisable: bool = False
    """Whether its columns may have generalisation levels."""
    family: str = ""
    """The family that measures its columns, whatever the checks."""


ROLES = (
    Role(
        "quasi_identifiers",
        "a quasi-identifier",
        "quasi_identifier",
        is_compared=True,
        is_generalisable=True,
        family="sizes",
    ),
    Role(
        "events",
        "part of an event",
        "event",
        is_compared=True,
        is_generalisable=True,
        family="events",
    ),
    Role("sensitive", "sensitive", "sensitive", is_compared=True, family="values"),
    Role("identifiers", "an identifier", "identifier"),
    Role("insensitive", "insensitive", "insensitive"),
    Role("undecided", "undecided"),
    Role(
        "entity",
        "the entity",
        "entity",
        is_single=True,
        is_compared=True,
        alias="kanon_entity",
        against_wildcards="an entity: compatible records form no classes in which people could be "
        "counted",
    ),
    Role(
        "weight",
        "the weight",
        "weight",
        is_single=True,
        family="population",
        against_wildcards="a survey weight: compatible records form no classes of which the "
        "weights could be added up",
    ),
    Role(
        "household",
        "the household",
        is_single=True,
        is_compared=True,
        alias="kanon_household",
        against_wildcards="a household: compatible records form no classes in which its people "
        "could be found",
    ),
)
"""Every role, in the order in which a spec is read."""
NAMES = tuple(role.name for role in ROLES if role.name)
"""The roles of a column in a dbt project or a data contract."""


@dataclass(frozen=True, kw_only=True)
class ByRole(Generic[Column]):
    """The columns that statements read, by the key of their role."""

    quasi_identifiers: tuple[Column, ...]
    events: tuple[Column, ...]
    """The columns that make an event; none unless the table is one of events."""
    sensitive: tuple[Column, ...]
    entity: Column | None = None
    weight: Column | None = None
    household: Column | None = None


class RoleArguments(TypedDict, total=False):
    """The roles that every function of the API takes by name alone."""

    entity: str | None
    household: str | None
    events: QuasiIdentifiers
    identifiers: Names
    insensitive: Names | Mapping[str, str]


def columns_by_role(owner: Any) -> Iterator[tuple[Role, Any]]:
    """Each column of a spec, by its name, or of resolved roles, with its role.

    >>> from types import SimpleNamespace
    >>> spec = SimpleNamespace(quasi_identifiers={"zip": None}, entity="patient_id")
    >>> [(column, role.phrase) for role, column in columns_by_role(spec)]
    [('zip', 'a quasi-identifier'), ('patient_id', 'the entity')]
    """
    for role in ROLES:
        columns = getattr(owner, role.key, None)
        for column in [columns] if role.is_single else columns or ():
            if column is not None:
                yield role, column
