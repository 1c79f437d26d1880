"""The YAML files of a dbt project: node descriptions with their locations, the connection.

They are parsed like dbt does: as YAML 1.1, where the last of repeated keys wins. Errors never
contain values of profiles.yml or of the environment that may be passwords.
https://docs.getdbt.com/docs/local/profiles.yml
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from kanon_sql.errors import InputError, SpecError, option
from kanon_sql.question.yaml_document import Location, Place, YamlDocument

PROJECT = "dbt_project.yml"


@dataclass(frozen=True)
class Description:
    """A node's description in a YAML file, with its location."""

    meta: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    """The meta of each column."""
    place: Place
    tests: tuple[tuple[str, Mapping[str, Any], Place], ...] = ()
    """The name, the arguments and the location of each test on it or on a column."""


@dataclass(frozen=True)
class Project:
    """The folder of a dbt project, with a cache of the files read."""

    folder: Path
    name: str | None
    documents: dict[Path, YamlDocument | None] = field(default_factory=dict)

    @classmethod
    def of_manifest(cls, manifest: Path, name: str | None) -> Project:
        """The project named `name` above the manifest or the current folder.

        Without one, the parent of the manifest's folder, as in dbt's defaults.
        """
        folder = manifest.absolute().parent
        folders = [folder, *folder.parents, Path.cwd(), *Path.cwd().parents]
        project_folder = next(
            (folder for folder in folders if _is_project(folder, name)), folder.parent
        )
        return cls(project_folder, name)

    @property
    def profile(self) -> str | None:
        """The profile named in dbt_project.yml."""
        document = self._document(self.folder / PROJECT)
        settings = mapping(document.value if document else None).get("profile")
        return None if settings is None else str(settings)

    def file(self, location: str, package: str | None) -> Path:
        """The path of a file in the project, or in an installed package."""
        if package in (None, self.name):
            return self.folder / location
        return self.folder / "dbt_packages" / str(package) / location

    def metas(self, kind: str, path: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The metas in dbt_project.yml that apply to a node, from the most general to the most
        specific."""
        document = self._document(self.folder / PROJECT)
        settings = mapping(mapping(document.value if document else None).get(f"{kind}s"))
        yield from _metas(settings)
        for name in path:
            settings = mapping(settings.get(name))
            yield from _metas(settings)

    def contains(self, file: Path, word: str) -> bool:
        """Whether a file of the project contains a word."""
        document = self._document(file)
        return document is not None and any(word in line for line in document.lines)

    def description(
        self, file: Path, name: str, version: object = None, source: str | None = None
    ) -> Description | None:
        """The description of the node `name`, or of that table of a `source`; None without one."""
        document = self._document(file)
        if document is None:
            return None
        for location, of, entry in _described(document.value):
            if entry.get("name") == name and of == source:
                version_entry = _version(entry, version)
                meta = {**meta_of(entry), **meta_of(version_entry)}
                columns = _columns(entry) | _columns(version_entry)
                tests = tuple(_tests(document, entry, location))
                return Description(meta, columns, document.place(location), tests)
        return None

    def _document(self, file: Path) -> YamlDocument | None:
        if file not in self.documents:
            try:
                self.documents[file] = YamlDocument.read_as_dbt_does(file)
            except SpecError:
                self.documents[file] = None
        return self.documents[file]


def _tests(
    document: YamlDocument, entry: Mapping[str, Any], location: Location, **given: Any
) -> Iterator[tuple[str, Mapping[str, Any], Place]]:
    """The tests of a description, and those of its columns, whose attribute is `given`."""
    for key in ("data_tests", "tests"):
        listed = entry.get(key)
        for number, test in enumerate(listed if isinstance(listed, list) else ()):
            by_name = test if isinstance(test, dict) else {test: None}
            for name, settings in by_name.items():
                nested = mapping(mapping(settings).get("arguments"))
                arguments = {**given, **mapping(settings), **nested}
                yield str(name), arguments, document.place((*location, key, number))
    columns = entry.get("columns")
    for number, column in enumerate(columns if isinstance(columns, list) else ()):
        named = mapping(column)
        place = (*location, "columns", number)
        yield from _tests(document, named, place, sensitive=named.get("name"))


def seeds_around(file: Path) -> Path | None:
    """The seeds folder of the project that contains a file, or None."""
    folder = next((parent for parent in file.absolute().parents if _is_project(parent, None)), None)
    if folder is None:
        return None
    settings = mapping(YamlDocument.read_as_dbt_does(folder / PROJECT).value).get("seed-paths")
    paths = (
        [setting for setting in settings if isinstance(setting, str)]
        if isinstance(settings, list)
        else []
    )
    return folder / (paths or ["seeds"])[0]


def _is_project(folder: Path, name: str | None) -> bool:
    file = folder / PROJECT
    if not file.is_file():
        return False
    try:
        settings = YamlDocument.read_as_dbt_does(file).value
    except SpecError:
        return False
    return name is None or (isinstance(settings, dict) and settings.get("name") == name)


def _metas(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The metas at one level of dbt_project.yml."""
    yield from (mapping(settings.get(key)) for key in ("+meta", "meta"))


def _described(value: Any) -> Iterator[tuple[Location, str | None, Mapping[str, Any]]]:
    """Each node described in a file: location, source name, description."""
    for kind in ("models", "seeds", "snapshots"):
        for number, entry in _listed(value, kind):
            yield (kind, number), None, entry
    for number, source in _listed(value, "sources"):
        for index, table in _listed(source, "tables"):
            yield ("sources", number, "tables", index), source.get("name"), table


def _listed(value: Any, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings in a list, each with its index."""
    items = value.get(key) if isinstance(value, dict) else None
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict):
            yield number, item


def _version(settings: Mapping[str, Any], version: object) -> Mapping[str, Any]:
    """The description of one version of a model."""
    if version is None:
        return {}
    versions = (entry for _, entry in _listed(settings, "versions"))
    return next((entry for entry in versions if str(entry.get("v")) == str(version)), {})


def meta_of(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The meta of a node or column, from `config.meta` and the older `meta`."""
    config = mapping(settings.get("config"))
    return {**mapping(settings.get("meta")), **mapping(config.get("meta"))}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _columns(settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    columns = (column for _, column in _listed(settings, "columns") if "name" in column)
    return {str(column["name"]): meta_of(column) for column in columns}


# --- the connection ------------------------------------------------------------------------

PROFILES = "profiles.yml"


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
    file = next((folder / PROFILES for folder in folders if (folder / PROFILES).is_file()), None)
    if file is None:
        looked = " or ".join(str(folder) for folder in dict.fromkeys(folders))
        raise SpecError(
            "a manifest does not say how to connect to the warehouse, and there is no "
            f"{PROFILES} in {looked}. {instead}"
        )
    profiles = mapping(_profiles(file))
    name = _rendered(file, project.profile)
    profile = mapping(profiles.get(name or ""))
    target = os.environ.get("DBT_TARGET") or _rendered(file, profile.get("target")) or "default"
    settings = mapping(mapping(profile.get("outputs")).get(target))
    if not settings:
        raise SpecError(
            f"{file} has no target {target} of the profile {name} that {PROJECT} names. {instead}"
        )
    values = {str(key): _rendered(file, value) for key, value in settings.items()}
    kind = values.get("type") or ""
    if adapter and kind != adapter:
        raise SpecError(
            f"the manifest was written for {adapter}, and the target {target} of {file} is {kind}. "
            f"Run dbt parse for that target. {instead}"
        )
    url = _target_url(kind, values, project.folder)
    if url is None:
        raise SpecError(
            f"{file}: no connection can be made from the target {target}, which is {kind} "
            f"({', '.join(sorted(values))}). {instead}"
        )
    return url


def _folders(project: Project, profiles_dir: str | Path | None) -> Iterator[Path]:
    """The folders that dbt searches, and the project's own."""
    if profiles_dir or os.environ.get("DBT_PROFILES_DIR"):
        yield Path(profiles_dir or os.environ["DBT_PROFILES_DIR"])
        return
    yield from (Path.cwd(), project.folder, Path.home() / ".dbt")


def _profiles(file: Path) -> Any:
    try:
        return YamlDocument.read_as_dbt_does(file).value
    except SpecError:
        raise InputError(f"{file} can't be read as YAML. dbt debug says what is wrong.") from None


def _rendered(file: Path, value: Any) -> str | None:
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


def _target_url(kind: str, values: Mapping[str, str | None], folder: Path) -> str | None:
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
    path_values = [next(filter(None, map(values.get, keys)), None) for keys in server.path]
    if not host or (server.needs_path and path_values[0] is None):
        return None
    options = {url_key: values[key] for key, url_key in server.options.items() if values.get(key)}
    place = f"{host}:{values['port']}" if values.get("port") else host
    if host.startswith("/"):
        options, place = {"host": host, **options}, ""
    user = server.user or values.get("user") or values.get("username") or ""
    password = values.get("password") or values.get("pass") or values.get("token")
    signed_in = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    path = "/".join(quote(segment, safe="") for segment in path_values if segment)
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return f"{server.scheme}://{signed_in and signed_in + '@'}{place}/{path}{query}"
