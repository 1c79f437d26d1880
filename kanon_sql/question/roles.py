"""The roles of a table's columns, a row each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


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
    is_compared: bool = False
    """Whether an audit compares its values, so that SQL must tell them apart."""
    is_generalisable: bool = False
    """Whether its columns may have generalisation levels."""


ROLES = (
    Role(
        "quasi_identifiers",
        "a quasi-identifier",
        "quasi_identifier",
        is_compared=True,
        is_generalisable=True,
    ),
    Role("events", "part of an event", "event", is_compared=True, is_generalisable=True),
    Role("sensitive", "sensitive", "sensitive", is_compared=True),
    Role("identifiers", "an identifier", "identifier"),
    Role("insensitive", "insensitive", "insensitive"),
    Role("undecided", "undecided"),
    Role("entity", "the entity", "entity", is_single=True, is_compared=True),
    Role("weight", "the weight", "weight", is_single=True),
    Role("household", "the household", is_single=True, is_compared=True),
)
"""Every role, in the order in which a spec is read."""
NAMES = tuple(role.name for role in ROLES if role.name)
"""The roles of a column in a dbt project or a data contract."""


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
