"""The YAML files of a dbt project: what they say of a node, and at which line.

They are read as dbt reads them: by YAML 1.1, and of a repeated key the last counts.
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
    """What a YAML file says of a node, and where."""

    meta: Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    """The meta of each column."""
    place: Place


@dataclass(frozen=True)
class Project:
    """The folder of a dbt project, with the files of it that were read."""

    folder: Path
    name: str | None
    documents: dict[Path, YamlDocument | None] = field(default_factory=dict)

    @classmethod
    def of_manifest(cls, manifest: Path, name: str | None) -> Project:
        """The project called `name` around a manifest or around the current folder.

        Without one it is where dbt's own settings would have it: above the manifest's folder.
        """
        folder = manifest.absolute().parent
        around = [folder, *folder.parents, Path.cwd(), *Path.cwd().parents]
        found = next((each for each in around if _is_project(each, name)), folder.parent)
        return cls(found, name)

    @property
    def profile(self) -> str | None:
        """What dbt_project.yml calls the profile of its connection."""
        document = self._document(self.folder / PROJECT)
        said = mapping(document.value if document else None).get("profile")
        return None if said is None else str(said)

    def file(self, location: str, package: str | None) -> Path:
        """Where a file of the project lies, or of a package that it has installed."""
        if package in (None, self.name):
            return self.folder / location
        return self.folder / "dbt_packages" / str(package) / location

    def metas(self, kind: str, path: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """Each meta that dbt_project.yml has for a node by its `path`, the widest first."""
        document = self._document(self.folder / PROJECT)
        settings = mapping(mapping(document.value if document else None).get(f"{kind}s"))
        yield from _metas(settings)
        for name in path:
            settings = mapping(settings.get(name))
            yield from _metas(settings)

    def mentions(self, file: Path, word: str) -> bool:
        """Whether a file of the project has a word in it."""
        document = self._document(file)
        return document is not None and any(word in line for line in document.lines)

    def description(
        self, file: Path, name: str, version: object = None, source: str | None = None
    ) -> Description | None:
        """What a file says of the node `name`, or of that table of a `source`; None if nothing."""
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
    """The folder of the seeds of the project that a file lies in, if it lies in one."""
    folder = next((each for each in file.absolute().parents if _is_project(each, None)), None)
    if folder is None:
        return None
    said = mapping(YamlDocument.read_as_dbt_does(folder / PROJECT).value).get("seed-paths")
    paths = [each for each in said if isinstance(each, str)] if isinstance(said, list) else []
    return folder / (paths or ["seeds"])[0]


def _is_project(folder: Path, name: str | None) -> bool:
    file = folder / PROJECT
    if not file.is_file():
        return False
    try:
        said = YamlDocument.read_as_dbt_does(file).value
    except SpecError:
        return False
    return name is None or (isinstance(said, dict) and said.get("name") == name)


def _metas(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a level of settings has as its meta."""
    yield from (mapping(settings.get(key)) for key in ("+meta", "meta"))


def _described(value: Any) -> Iterator[tuple[Location, str | None, Mapping[str, Any]]]:
    """Each node that a file describes: where, of which source, and what it says."""
    for kind in ("models", "seeds", "snapshots"):
        for number, each in _listed(value, kind):
            yield (kind, number), None, each
    for number, source in _listed(value, "sources"):
        for place, table in _listed(source, "tables"):
            yield ("sources", number, "tables", place), source.get("name"), table


def _listed(value: Any, key: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The mappings in a list, each with its place there."""
    found = value.get(key) if isinstance(value, dict) else None
    for number, each in enumerate(found if isinstance(found, list) else ()):
        if isinstance(each, dict):
            yield number, each


def _version(said: Mapping[str, Any], version: object) -> Mapping[str, Any]:
    """What is said of one version of a model alone."""
    if version is None:
        return {}
    versions = (each for _, each in _listed(said, "versions"))
    return next((each for each in versions if str(each.get("v")) == str(version)), {})


def meta_of(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The meta of a node or column, where dbt wants it or where it used to."""
    config = mapping(said.get("config"))
    return {**mapping(said.get("meta")), **mapping(config.get("meta"))}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value, or nothing where something else stands."""
    return value if isinstance(value, Mapping) else {}


def _columns(said: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    columns = (each for _, each in _listed(said, "columns") if "name" in each)
    return {str(each["name"]): meta_of(each) for each in columns}
