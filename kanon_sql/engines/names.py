"""The name of a table, with its catalogue or without, beside the URL of its database."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from kanon_sql.errors import InputError, SpecError, did_you_mean, nearest, option
from kanon_sql.files import file_kind
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table

_FROM_ENVIRONMENT = "env:"
_SECRET = re.compile(r"pass|pwd|token|secret|private|credential|header", re.IGNORECASE)
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:@/\[\],\s]*)(?::(\d*))?")


@dataclass(frozen=True)
class Url:
    """The decoded parts of a URL. No secret is in its repr."""

    text: str = field(repr=False)
    """The URL as written."""
    scheme: str
    host: str
    port: int | None
    user: str | None = field(repr=False)
    password: str | None = field(repr=False)
    path: tuple[str, ...]
    options: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)
    """Every spelling of secrets that no message may contain."""


def url_of(text: str) -> Url:
    """Parse a URL; a password `env:NAME` is read from the environment variable.

    Raises `SpecError`, which repeats nothing of the URL but its scheme.
    """
    scheme = text.partition(":")[0]
    if not text.startswith(f"{scheme}://"):
        raise _unreadable(scheme)
    try:
        parts = urlsplit(text)
        options = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise _unreadable(scheme) from None
    user_and_password, at, hosts = parts.netloc.rpartition("@")
    host_matches = [_HOST.fullmatch(host) for host in hosts.split(",")]
    elsewhere = user_and_password + parts.path + parts.query
    if host_matches[0] is None or not all(host_matches) or "@" in elsewhere or "#" in text:
        raise _unreadable(scheme)
    user, colon, password = user_and_password.partition(":")
    decoded = unquote(password) if colon and password else None
    resolved = _from_environment(decoded)
    secret = [value for name, value in options if _SECRET.search(name)]
    return Url(
        text=text,
        scheme=scheme,
        host=unquote(host_matches[0][1]).strip("[]"),
        port=int(host_matches[0][2]) if host_matches[0][2] else None,
        user=unquote(user) if at and user else None,
        password=resolved,
        path=tuple(unquote(part) for part in parts.path.split("/") if part),
        options=dict(options),
        secrets=spellings([password, decoded, resolved, *secret]),
    )


def spellings(secrets: Iterable[str | None]) -> frozenset[str]:
    """The forms in which the secrets may appear in a message.

    >>> sorted(spellings(["p w", None]))
    ['cCB3', 'p w', 'p%20w']
    """
    forms: set[str] = set()
    for secret in secrets:
        if secret:
            decoded = {secret, unquote(secret)}
            forms |= decoded | {quote(one, safe="") for one in decoded}
            forms |= {repr(one)[1:-1] for one in decoded}
            forms |= {base64.b64encode(one.encode()).decode().rstrip("=") for one in decoded}
    return frozenset(forms)


def connection_message(error: BaseException, secrets: Iterable[str]) -> str:
    """A driver's message about a failed connection, unless it contains a secret."""
    message = str(error).strip()
    if not message:
        return f"{type(error).__name__}."
    if any(secret in message for secret in secrets):
        return f"{type(error).__name__}, whose message repeats a secret and is withheld."
    return message.splitlines()[0]


def _from_environment(password: str | None) -> str | None:
    if password is None or not password.startswith(_FROM_ENVIRONMENT):
        return password
    name = password.removeprefix(_FROM_ENVIRONMENT)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SpecError(
            "a password that begins with env: names an environment variable, as in env:DB_PASSWORD."
        )
    if name not in os.environ:
        raise SpecError(
            f"the URL takes its password from {name}, and there is no environment variable of "
            "that name."
        )
    return os.environ[name]


def _unreadable(scheme: str) -> SpecError:
    return SpecError(
        f"the {scheme} URL can't be read. It is {scheme}://user:password@host:port/database; in "
        "user and password @ is written %40, / %2F, : %3A, ? %3F, # %23 and % %25."
    )


_SERVER_SCHEMAS = {"information_schema", "pg_catalog", "sys"}
"""Schemas of the server's own catalogue, which hold no user tables."""


def resolved_name(
    name: str,
    catalogue: Sequence[tuple[str, ...]],
    path: Sequence[tuple[str, str]],
    dialect: str,
    where: str = "in the database",
    *,
    no_file: str = "",
) -> tuple[str, ...]:
    """The catalogue's (database, schema, table) for a name, quoted or not.

    `path` lists the (database, schema) pairs in which the session resolves names, in order; matches
    on it take precedence over those that differ by case or are stored elsewhere. `no_file` is added
    to the error for a name that looks like a file's. Raises `InputError` for an ambiguous or
    unknown name.
    """
    parts = _identifiers(name)
    folded = _folded([part.name for part in parts])
    alike = [one for one in catalogue if _folded(one[-len(parts) :]) == folded]
    here = path[0][0]
    in_order = (
        [[one for one in alike if one[:2] == place] for place in path]
        if len(parts) == 1
        else [[one for one in alike if one[0] == here]]
    )
    on_path, anywhere = (_resolved(parts, schemas, dialect) for schemas in (in_order, [alike]))
    for meant in (on_path, _distinct([*chain(*in_order), *anywhere]), alike):
        if len(meant) == 1:
            return meant[0]
        if meant:
            raise InputError(
                f"{name} is ambiguous: {', '.join(map('.'.join, meant))}. Write the one you mean "
                f"in full and in double quotes: '{'.'.join(map(identifier, meant[0]))}'."
            )
    databases = {here.casefold(), *(one[0].casefold() for one in catalogue)}
    if len(parts) == 3 and parts[0].name.casefold() not in databases:
        database = parts[0].name
        raise InputError(
            f"{name} is in the database {database}, and this is {here}. Connect to {database}."
        )
    if name in [one[-1] for one in catalogue]:
        raise InputError(f"{name} has a dot in its name: write it in double quotes, '\"{name}\"'.")
    for one in (one[-length:] for one in catalogue for length in (2, 3)):
        if name == ".".join(one):
            raise InputError(
                f"{name} has names that are no plain words: write each in double quotes, "
                f"'{'.'.join(map(identifier, one))}'."
            )
    places = set(path)
    user_tables = [
        one for one in catalogue if len(one) < 2 or one[-2].casefold() not in _SERVER_SCHEMAS
    ]
    # List tables of the usual schemas by name; if there are none, all tables with their schemas.
    usual = [one[-1] for one in user_tables if one[:2] in places]
    names = usual or [".".join(one[1:]) for one in user_tables]
    listed = f" Tables and views: {nearest(name, names)}." if names else " It has no tables."
    # `database.table` without the schema, as DuckDB reads it.
    full_names = [".".join(one) for one in catalogue if _folded((one[0], one[-1])) == folded]
    near = did_you_mean(name, full_names or [one[-1] for one in catalogue])
    file = no_file if file_kind(name) else ""
    raise InputError(f"there is no table or view {name} {where}{file}.{listed}{near}")


def _resolved(
    parts: Sequence[exp.Identifier], schemas: Sequence[Sequence[tuple[str, ...]]], dialect: str
) -> list[tuple[str, ...]]:
    """The table the server would read, and those spelled exactly so, in the first schema with any.

    More than one means the name is ambiguous.
    """
    wanted = tuple(part.name for part in parts)
    read = tuple(_read_as(part, dialect) for part in parts)

    def is_spelled_so(one: tuple[str, ...]) -> bool:
        return one[-len(parts) :] == wanted

    def is_read(one: tuple[str, ...]) -> bool:
        stored = (exp.to_identifier(part, quoted=True) for part in one[-len(parts) :])
        return tuple(_read_as(part, dialect) for part in stored) == read

    as_spelled, as_read = (_first(schemas, fits) for fits in (is_spelled_so, is_read))
    if len(as_spelled) == 1 and as_spelled[0] in as_read:
        return as_spelled
    return _distinct([*as_read, *as_spelled])


def _first(
    schemas: Sequence[Sequence[tuple[str, ...]]], fits: Callable[[tuple[str, ...]], bool]
) -> list[tuple[str, ...]]:
    """The matches in the first schema that has any."""
    matches = (list(filter(fits, schema)) for schema in schemas)
    return next(filter(None, matches), [])


def _distinct(tables: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tables))


def _read_as(part: exp.Identifier, dialect: str) -> str:
    """A name part as the dialect normalises it.

    >>> _read_as(exp.to_identifier("People"), "postgres")
    'people'
    """
    return Dialect.get_or_raise(dialect).normalize_identifier(part.copy()).name


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(str.casefold, parts))


def display_name(target: str, qualified_name: Sequence[str]) -> str:
    """The display name of a table: as many name parts as were given, in the catalogue's spelling.

    >>> display_name("HR.people", ("db", "hr", "people"))
    'hr.people'
    """
    return ".".join(qualified_name[-len(name_parts(target)) :])


def name_parts(name: str) -> tuple[str, ...]:
    """Split a name at its dots, respecting quotes.

    >>> name_parts('health."my.table"')
    ('health', 'my.table')
    >>> name_parts("visits at (version => 3)")
    ('visits at (version => 3)',)
    """
    return tuple(part.name for part in _identifiers(name))


def _identifiers(name: str) -> Sequence[exp.Identifier]:
    """The parts of a name as identifiers; anything unparsable is one quoted identifier."""
    try:
        table = exp.to_table(name, dialect="duckdb")
    except (SqlglotError, ValueError):
        return [exp.to_identifier(name, quoted=True)]
    more = {key for key, value in table.args.items() if value} - {"this", "db", "catalog"}
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    if more or len(parts) < len(table.parts):
        return [exp.to_identifier(name, quoted=True)]
    return parts


def without_database(qualified_name: tuple[str, ...], database: str) -> tuple[str, ...]:
    """A catalogue name without the current database.

    The schema stays, so that a table called `classes` is never taken for a CTE of that name.
    """
    return qualified_name[1:] if qualified_name[0] == database else qualified_name


# --- tables of a database that is not connected to -------------------------------------------


def offline_table(local: Table, name: str | None = None) -> Table:
    """The table in another database that corresponds to a local one.

    It is called `name`, else as in the local catalogue, else like the file without its suffix.
    Column types of text files are unknown there. Raises `SpecError` for files from which no name
    follows.
    """
    columns = tuple(
        Column(
            column.name, "" if local.text else column.type, unusable_because=column.unusable_because
        )
        for column in local.columns
    )
    return Table(
        local.name,
        _quoted_name(name) if name is not None else _local_name(local),
        columns,
        ordered=False,
        embedded=False,
        dialect=local.dialect,
    )


def table_of_names(
    name: str, columns: Sequence[str], dialect: str, local_name: str | None = None
) -> Table:
    """A table of a database of this dialect, with the column names that are known."""
    return Table(
        name,
        _quoted_name(local_name or name),
        tuple(Column(column, "") for column in columns),
        ordered=False,
        embedded=False,
        dialect=dialect,
    )


def _quoted_name(name: str) -> str:
    return ".".join(map(identifier, name_parts(name)))


def _local_name(local: Table) -> str:
    if not local.sql.startswith("read_") and "(" not in local.sql:
        return local.sql.removeprefix('"main".')
    stem = Path(local.name).name.split(".")[0]
    if not stem or set(stem) & set("*?["):
        raise SpecError(
            f"name the table of {local.name} in that database: {option('table', 'NAME')}."
        )
    return identifier(stem)


def refuse_hidden_table(table: Table, sets: Sequence[str]) -> None:
    """Raise `SpecError` for a table that a CTE of the statements would shadow."""
    parts = name_parts(table.sql)
    if len(parts) == 1 and parts[0].casefold() in {name.casefold() for name in sets}:
        raise SpecError(
            f"the statements have a CTE named {parts[0]}. Give the table's schema: "
            f"{option('table', 'SCHEMA.NAME')}."
        )
