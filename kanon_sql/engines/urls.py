"""Parses database URLs without repeating a secret."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from kanon_sql.errors import SpecError

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
    found = [_HOST.fullmatch(host) for host in hosts.split(",")]
    elsewhere = user_and_password + parts.path + parts.query
    if found[0] is None or not all(found) or "@" in elsewhere or "#" in text:
        raise _unreadable(scheme)
    user, colon, password = user_and_password.partition(":")
    given = unquote(password) if colon and password else None
    resolved = _from_environment(given)
    secret = [value for name, value in options if _SECRET.search(name)]
    return Url(
        text=text,
        scheme=scheme,
        host=unquote(found[0][1]).strip("[]"),
        port=int(found[0][2]) if found[0][2] else None,
        user=unquote(user) if at and user else None,
        password=resolved,
        path=tuple(unquote(part) for part in parts.path.split("/") if part),
        options=dict(options),
        secrets=spellings([password, given, resolved, *secret]),
    )


def spellings(secrets: Iterable[str | None]) -> frozenset[str]:
    """The forms in which the secrets may appear in a message.

    >>> sorted(spellings(["p w", None]))
    ['cCB3', 'p w', 'p%20w']
    """
    found: set[str] = set()
    for secret in secrets:
        if secret:
            plain = {secret, unquote(secret)}
            found |= plain | {quote(one, safe="") for one in plain}
            found |= {repr(one)[1:-1] for one in plain}
            found |= {base64.b64encode(one.encode()).decode().rstrip("=") for one in plain}
    return frozenset(found)


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
