"""What a user calls a table, found in a catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.errors import InputError, did_you_mean
from kanon_sql.hierarchy import is_file_name


def named(
    name: str,
    known: Sequence[tuple[str, ...]],
    here: tuple[str, str],
    where: str = "in the database",
    *,
    no_file: str = "",
) -> tuple[str, ...]:
    """The catalogue's `database, schema, table` for what the user wrote, quoted or not; `no_file`
    is what to say beside of a name that only a file has."""
    parts = name_parts(name)
    for spelled in (lambda part: part, str.casefold):
        wanted = tuple(map(spelled, parts))
        found = [one for one in known if tuple(map(spelled, one[-len(wanted) :])) == wanted]
        nearest = [one for one in found if one[:2] == here] or found
        if len(nearest) == 1:
            return nearest[0]
        if nearest:
            raise InputError(f"{name} may be any of {', '.join(map('.'.join, nearest))}.")
    databases = {here[0].casefold(), *(one[0].casefold() for one in known)}
    if len(parts) == 3 and parts[0].casefold() not in databases:
        raise InputError(
            f"{name} is in the database {parts[0]}, and this is {here[0]}. Connect to {parts[0]}."
        )
    if name in [one[-1] for one in known]:
        raise InputError(f"{name} has a dot in its name: write it in double quotes, '\"{name}\"'.")
    near = did_you_mean(name, [one[-1] for one in known])
    file = no_file if is_file_name(name) else ""
    raise InputError(f"there is no table or view {name} {where}{file}.{near}")


def name_parts(name: str) -> tuple[str, ...]:
    """`name` taken apart at its dots, except in quotes.

    >>> name_parts('health."my.table"')
    ('health', 'my.table')
    >>> name_parts("visits at (version => 3)")
    ('visits at (version => 3)',)
    """
    try:
        table = exp.to_table(name, dialect="duckdb")
    except (SqlglotError, ValueError):
        return (name,)
    more = {key for key, value in table.args.items() if value} - {"this", "db", "catalog"}
    return (name,) if more else tuple(part.name for part in table.parts)


def shortened(found: tuple[str, ...], database: str) -> tuple[str, ...]:
    """A catalogue name without the database that goes without saying.

    The schema stays, so that a table called `classes` is never taken for a set of that name.
    """
    return found[1:] if found[0] == database else found
