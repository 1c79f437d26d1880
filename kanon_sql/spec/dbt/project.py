"""The YAML files of a dbt project: node descriptions and their locations.

They are parsed like dbt does: as YAML 1.1, where the last of repeated keys wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kanon_sql.errors import SpecError
from kanon_sql.spec.yaml_document import Location, Place, YamlDocument

PROJECT = "dbt_project.yml"


@dataclass(frozen=True)
class Description:
    """A node's description in a YAML file, with its location."""

    meta: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    """The meta of each column."""
    place: Place


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
        around = [folder, *folder.parents, Path.cwd(), *Path.cwd().parents]
        found = next((each for each in around if _is_project(each, name)), folder.parent)
        return cls(found, name)

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
        for location, of, each in _described(document.value):
            if each.get("name") == name and of == source:
                own = _version(each, version)
                meta = {**meta_of(each), **meta_of(own)}
                columns = _columns(each) | _columns(own)
                return Description(meta, columns, document.place(location))
        return None

    def _document(self, file: Path) -> YamlDocument | None:
        if file not in self.documents:
            try:
                self.documents[file] = YamlDocument.read_as_dbt_does(file)
            except SpecError:
                self.documents[file] = None
        return self.documents[file]


def seeds_around(file: Path) -> Path | None:
    """The seeds folder of the project that contains a file, or None."""
    folder = next((each for each in file.absolute().parents if _is_project(each, None)), None)
    if folder is None:
        return None
    settings = mapping(YamlDocument.read_as_dbt_does(folder / PROJECT).value).get("seed-paths")
    paths = (
        [each for each in settings if isinstance(each, str)] if isinstance(settings, list) else []
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
        for number, each in _listed(value, kind):
            yield (kind, number), None, each
    for number, source in _listed(value, "sources"):
        for place, table in _listed(source, "tables"):
            yield ("sources", number, "tables", place), source.get("name"), table


def _listed(value: Any, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings in a list, each with its index."""
    found = value.get(key) if isinstance(value, dict) else None
    for number, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield number, each


def _version(settings: Mapping[str, Any], version: object) -> Mapping[str, Any]:
    """The description of one version of a model."""
    if version is None:
        return {}
    versions = (each for _, each in _listed(settings, "versions"))
    return next((each for each in versions if str(each.get("v")) == str(version)), {})


def meta_of(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The meta of a node or column, from `config.meta` and the older `meta`."""
    config = mapping(settings.get("config"))
    return {**mapping(settings.get("meta")), **mapping(config.get("meta"))}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _columns(settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    columns = (each for _, each in _listed(settings, "columns") if "name" in each)
    return {str(each["name"]): meta_of(each) for each in columns}
