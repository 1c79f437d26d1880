"""One snapshot of a Delta or Iceberg table, read by DuckDB's extension for the format.

The snapshot is chosen when the table is opened and named in every statement, so that all statements
read the same records while others write. Extensions are loaded if they are installed, and never
downloaded.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import duckdb

from kanon_sql.engines.duckdb.extensions import require_extensions
from kanon_sql.engines.readers import call
from kanon_sql.errors import InputError
from kanon_sql.files import is_url_of_object
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal

TableFormat = Literal["delta", "iceberg"]
_TITLES = {"delta": "Delta", "iceberg": "Iceberg"}
_EXTENSIONS = {"delta": ("delta",), "iceberg": ("avro", "iceberg")}
"""DuckDB's extensions for a format, in the order in which they load."""
_LOG = "_delta_log"
_METADATA = "*.metadata.json"


class Snapshot(NamedTuple):
    """A snapshot of a table, with the table function that reads it."""

    name: str
    words: str
    """The snapshot as results name it: Delta version 12."""
    reader: str
    source: str
    options: Mapping[str, str]
    evidence: str
    """The file that defines the snapshot, which must not change while it is read."""
    folders: tuple[str, ...]
    """The folders of its files."""

    def from_item(self, *, has_floats: bool) -> str:
        """The FROM expression of the snapshot.

        Writers leave NaN out of the bounds of a file. From these DuckDB and the format's own reader
        would skip files and row groups that have a NaN, so both are kept from it for `has_floats`;
        for Iceberg there is no such option, and no filter passes an OFFSET.
        """
        if not has_floats:
            return call(self.reader, literal(self.source), self.options)
        if self.reader == "delta_scan":
            unfiltered = {"can_have_nan": "true", "pushdown_filters": "'none'"}
            return call(self.reader, literal(self.source), {**self.options, **unfiltered})
        scan = call(self.reader, literal(self.source), {**self.options, "can_have_nan": "true"})
        return render("whole_scan", scan=scan)


def table_format(path: str) -> TableFormat | None:
    """The format of the table in a folder, or that of an Iceberg metadata file; None for others."""
    if os.path.isdir(os.path.join(path, _LOG)):
        return "delta"
    is_metadata = path.endswith(_METADATA[1:]) and os.path.isfile(path)
    is_folder = os.path.isdir(os.path.join(path, "metadata"))
    holds_metadata = is_folder and any(Path(path, "metadata").glob(_METADATA))
    return "iceberg" if is_metadata or holds_metadata else None


def format_among(names: Iterable[str]) -> TableFormat | None:
    """The format of the table in a folder, by the names of the files below it.

    >>> format_among(["_delta_log/00000000000000000000.json"]), format_among(["metadata/a.parquet"])
    ('delta', None)
    """
    names = list(names)
    if any(name.startswith(f"{_LOG}/") for name in names):
        return "delta"
    return "iceberg" if any(fnmatchcase(name, f"metadata/{_METADATA}") for name in names) else None


def require_reader(
    session: duckdb.DuckDBPyConnection, path: str, format_name: TableFormat, *, is_ours: bool
) -> None:
    """Load the extensions of a format in a session of ours; in a user's, require them loaded.

    Raises `MissingDriverError` naming the ones to install.
    """
    need = f"{path} is a table in the format of {_TITLES[format_name]}"
    require_extensions(session, need, _EXTENSIONS[format_name], is_ours=is_ours)


class Files(NamedTuple):
    """How the small files of a table are found and read: locally, or in an object store."""

    listed: Callable[[str], Sequence[str]]
    """The files that match a glob, the newest last."""
    read: Callable[[str], bytes]


def _local_files(pattern: str) -> list[str]:
    folder, name = os.path.split(pattern)
    return list(map(str, sorted(Path(folder).glob(name), key=_written)))


LOCAL = Files(_local_files, lambda file: Path(file).read_bytes())


def snapshot_of(path: str, format_name: TableFormat, files: Files = LOCAL) -> Snapshot:
    """The current snapshot of the table. Raises `InputError` where the files don't determine it."""
    return (_of_delta if format_name == "delta" else _of_iceberg)(path.rstrip("/"), files)


def parquet_below(folder: str) -> Iterator[Path]:
    """The data files of a table, old ones too: no output may replace them."""
    return Path(folder).rglob("*.parquet")


def _of_delta(path: str, files: Files) -> Snapshot:
    commits = {
        int(os.path.basename(file)[:20]): file
        for file in sorted(files.listed(f"{path}/{_LOG}/*"))
        if re.fullmatch(r"\d{20}\.(json|checkpoint\.(.+\.)?parquet)", os.path.basename(file))
    }
    if not commits:
        raise InputError(f"{path} is no Delta table: {_LOG} has no commit.")
    version, folder = max(commits), _absolute(path)
    return Snapshot(
        os.path.basename(folder),
        f"Delta version {version}",
        "delta_scan",
        path,
        {"version": str(version)},
        commits[version],
        (folder,),
    )


def _of_iceberg(path: str, files: Files) -> Snapshot:
    file = _metadata_file(path, files)
    metadata = _read_metadata(file, files)
    folder, snapshot = _absolute(file).rpartition("/metadata/")[0], metadata.get(_CURRENT)
    is_empty = snapshot in (None, -1)
    return Snapshot(
        os.path.basename(folder),
        "Iceberg without a snapshot" if is_empty else f"Iceberg snapshot {snapshot}",
        "iceberg_scan",
        file,
        {} if is_empty else {"snapshot_from_id": str(snapshot)},
        file,
        tuple({folder: None, **dict.fromkeys(_data_folders(path, metadata))}),
    )


_CURRENT = "current-snapshot-id"


def _absolute(path: str) -> str:
    return path if is_url_of_object(path) else str(Path(path).absolute())


def _metadata_file(place: str, files: Files) -> str:
    """The metadata file itself, or the one that the table's hint names."""
    if place.endswith(_METADATA[1:]):
        return place
    metadata = files.listed(f"{place}/metadata/{_METADATA}")
    for hint in files.listed(f"{place}/metadata/version-hint.tex*"):
        version = files.read(hint).decode("utf-8", "replace").strip()
        for name in (f"v{version}.metadata.json", f"{version}.metadata.json"):
            if (named := f"{place}/metadata/{name}") in metadata:
                return named
    raise InputError(
        f"{place} is an Iceberg table, and only its catalogue knows which metadata file is the "
        f"current one. Name that file as the table; the latest here is {metadata[-1]}."
    )


def _written(file: Path) -> tuple[int, str]:
    return file.stat().st_mtime_ns, file.name


def _read_metadata(file: str, files: Files) -> dict[str, Any]:
    try:
        raw = files.read(file)
        metadata = json.loads(gzip.decompress(raw) if ".gz." in file else raw)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict) or "format-version" not in metadata:
        raise InputError(f"{file} is no metadata file of an Iceberg table.")
    return metadata


def _data_folders(path: str, metadata: dict[str, Any]) -> Iterator[str]:
    """The folders that the metadata name for the table's files.

    Raises `InputError` for a place that is neither local nor where the metadata are.
    """
    properties = metadata.get("properties") or {}
    locations = (metadata.get("location"), properties.get("write.data.path"))
    here = urlsplit(path).scheme if is_url_of_object(path) else ""
    for place in map(str, filter(None, locations)):
        url = urlsplit(place)
        if here and url.scheme.rstrip("an") == here.rstrip("an"):  # s3, s3a, s3n
            yield place
        elif not here and url.scheme in ("", "file"):
            yield unquote(url.path)
        else:
            raise InputError(
                f"{path}: the files of this table are in {url.scheme or 'file'}://, and only files "
                "of one place are read. Name its metadata file there."
            )
