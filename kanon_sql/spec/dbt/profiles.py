"""The connection in a dbt project's profiles.yml, as a URL for `connect`.

Errors never contain values of the file or of the environment that may be passwords.
https://docs.getdbt.com/docs/local/profiles.yml
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from kanon_sql.errors import InputError, SpecError, option
from kanon_sql.spec.dbt.project import PROJECT, Project, mapping
from kanon_sql.spec.yaml_document import YamlDocument

_FILE = "profiles.yml"


@dataclass(frozen=True)
class _Server:
    """How a profile's keys map to the URL of a server."""

    scheme: str
    path: tuple[tuple[str, ...], ...]
    """For each part of the path, the keys that may hold it."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Query parameters: the profile's key and the URL's."""
    auth_methods: tuple[str | None, ...] | None = None
    """The values of `method` or `auth_type` that a URL can express; None for any."""
    host: str = "host"
    user: str | None = None
    """The implied user name."""
    needs_path: bool = True


_DATABASE = (("dbname", "database"),)
_SERVERS = {
    "postgres": _Server(
        "postgresql",
        _DATABASE,
        {key: key for key in ("sslmode", "sslcert", "sslkey", "sslrootcert")},
    ),
    "redshift": _Server(
        "redshift", _DATABASE, {"sslmode": "sslmode"}, auth_methods=(None, "database")
    ),
    "snowflake": _Server(
        "snowflake",
        (("database",), ("schema",)),
        {
            "warehouse": "warehouse",
            "role": "role",
            "authenticator": "authenticator",
            "private_key_path": "private_key_file",
            "private_key_passphrase": "private_key_file_pwd",
        },
        host="account",
    ),
    "bigquery": _Server(
        "bigquery",
        (("dataset", "schema"),),
        {"location": "location"},
        auth_methods=("oauth",),
        host="project",
    ),
    "databricks": _Server(
        "databricks",
        (),
        {"http_path": "http_path", "database": "catalog", "catalog": "catalog", "schema": "schema"},
        auth_methods=(None, "token"),
        user="token",
        needs_path=False,
    ),
    "trino": _Server(
        "trino",
        (("database", "catalog"), ("schema",)),
        {"http_scheme": "http_scheme"},
        auth_methods=(None, "none", "ldap"),
    ),
    "clickhouse": _Server("clickhouse", (("schema",),), {"secure": "secure"}, needs_path=False),
}
"""By dbt adapter; DuckDB is handled separately."""


def connection_of(project: Project, adapter: str | None, profiles_dir: str | Path | None) -> str:
    """The URL of the target of the project's profile, or of the target in `DBT_TARGET`.

    Raises `SpecError` if there is no such target, or no URL for its engine.
    """
    instead = f"Name the database of the tables: {option('engine', 'duckdb:FILE')}."
    folders = list(_folders(project, profiles_dir))
    file = next((folder / _FILE for folder in folders if (folder / _FILE).is_file()), None)
    if file is None:
        looked = " or ".join(str(folder) for folder in dict.fromkeys(folders))
        raise SpecError(
            f"a manifest does not say how to connect to the warehouse, and there is no {_FILE} in "
            f"{looked}. {instead}"
        )
    profiles = mapping(_read(file))
    name = _text(file, project.profile)
    profile = mapping(profiles.get(name or ""))
    target = os.environ.get("DBT_TARGET") or _text(file, profile.get("target")) or "default"
    settings = mapping(mapping(profile.get("outputs")).get(target))
    if not settings:
        raise SpecError(
            f"{file} has no target {target} of the profile {name} that {PROJECT} names. {instead}"
        )
    values = {str(key): _text(file, value) for key, value in settings.items()}
    kind = values.get("type") or ""
    if adapter and kind != adapter:
        raise SpecError(
            f"the manifest was written for {adapter}, and the target {target} of {file} is {kind}. "
            f"Run dbt parse for that target. {instead}"
        )
    url = _url(kind, values, project.folder)
    if url is None:
        raise SpecError(
            f"{file}: no connection can be made from the target {target}, which is {kind} "
            f"({', '.join(sorted(values))}). {instead}"
        )
    return url


def _folders(project: Project, given: str | Path | None) -> Iterator[Path]:
    """The folders that dbt searches, and the project's own."""
    if given or os.environ.get("DBT_PROFILES_DIR"):
        yield Path(given or os.environ["DBT_PROFILES_DIR"])
        return
    yield from (Path.cwd(), project.folder, Path.home() / ".dbt")


def _read(file: Path) -> Any:
    try:
        return YamlDocument.read_as_dbt_does(file).value
    except SpecError:
        raise InputError(f"{file} can't be read as YAML. dbt debug says what is wrong.") from None


def _text(file: Path, value: Any) -> str | None:
    """A value as dbt renders it, with `env_var` only."""
    if value is None or isinstance(value, list | dict):
        return None
    if not isinstance(value, str) or ("{{" not in value and "{%" not in value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    missing: list[str] = []

    def env_var(name: str, default: str | None = None) -> str:
        if name not in os.environ and default is None:
            missing.append(name)
        return os.environ.get(name, default or "")

    jinja = SandboxedEnvironment(undefined=StrictUndefined)
    jinja.filters |= dict.fromkeys(("as_text", "as_number", "as_bool", "as_native"), str)
    try:
        text = jinja.from_string(value).render(env_var=env_var)
    except TemplateError:
        raise SpecError(f"{file}: a value can't be rendered; only env_var is known here.") from None
    if missing:
        raise SpecError(f"{file} takes {missing[0]} from the environment, where it is not set.")
    return text


def _url(kind: str, values: Mapping[str, str | None], folder: Path) -> str | None:
    """The URL of a target; None if its engine or its authentication can't be expressed in one."""
    if kind == "duckdb":
        path = values.get("path") or ":memory:"
        is_file = not path.startswith((":memory:", "md:", "motherduck:"))
        return f"duckdb:{folder / path}" if is_file and "://" not in path else None
    server = _SERVERS.get(kind)
    auth_method = values.get("method") or values.get("auth_type")
    if server is None or (server.auth_methods and auth_method not in server.auth_methods):
        return None
    host = values.get(server.host)
    parts = [next(filter(None, map(values.get, keys)), None) for keys in server.path]
    if not host or (server.needs_path and parts[0] is None):
        return None
    options = {ours: values[key] for key, ours in server.options.items() if values.get(key)}
    place = f"{host}:{values['port']}" if values.get("port") else host
    if host.startswith("/"):
        options, place = {"host": host, **options}, ""
    user = server.user or values.get("user") or values.get("username") or ""
    password = values.get("password") or values.get("pass") or values.get("token")
    signed_in = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    path = "/".join(quote(part, safe="") for part in parts if part)
    asked = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"{server.scheme}://{signed_in and signed_in + '@'}{place}/{path}{asked}"
