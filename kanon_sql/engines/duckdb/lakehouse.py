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
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import duckdb

from kanon_sql.engines.readers import call
from kanon_sql.errors import InputError, MissingDriverError
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


def load_extensions(
    session: duckdb.DuckDBPyConnection, path: str, format_name: TableFormat, *, is_ours: bool
) -> None:
    """Load the extensions of a format in a session of ours; in a user's, require them loaded.

    Raises `MissingDriverError` naming the ones to install.
    """
    advice = (
        'installed. Install it, which downloads it: python -c "import duckdb; '
        "duckdb.default_connection().install_extension('{}')\""
        if is_ours
        else "loaded in this session. Load it there: load {}"
    )
    for name in _EXTENSIONS[format_name]:
        if is_ours:
            with suppress(duckdb.Error):
                session.load_extension(name)
        if not _is_loaded(session, name):
            raise MissingDriverError(
                f"{path} is a table in the format of {_TITLES[format_name]}, and DuckDB "
                f'{duckdb.__version__} has no extension "{name}" {advice.format(name)}'
            )


def _is_loaded(session: duckdb.DuckDBPyConnection, extension: str) -> bool:
    return session.execute(render("is_loaded", extension=literal(extension))).fetchall() == [
        (True,)
    ]


def snapshot_of(path: str, format_name: TableFormat) -> Snapshot:
    """The current snapshot of the table. Raises `InputError` where the files don't determine it."""
    return _of_delta(path) if format_name == "delta" else _of_iceberg(path)


def parquet_below(folder: str) -> Iterator[Path]:
    """The data files of a table, old ones too: no output may replace them."""
    return Path(folder).rglob("*.parquet")


def _of_delta(path: str) -> Snapshot:
    folder = Path(path)
    commits = {
        int(file.name[:20]): file
        for file in sorted((folder / _LOG).iterdir())
        if re.fullmatch(r"\d{20}\.(json|checkpoint\.(.+\.)?parquet)", file.name)
    }
    if not commits:
        raise InputError(f"{path} is no Delta table: {_LOG} has no commit.")
    version = max(commits)
    return Snapshot(
        folder.absolute().name,
        f"Delta version {version}",
        "delta_scan",
        str(folder),
        {"version": str(version)},
        str(commits[version]),
        (str(folder.absolute()),),
    )


def _of_iceberg(path: str) -> Snapshot:
    file = _metadata_file(Path(path))
    metadata = _read_metadata(file)
    folder, snapshot = file.absolute().parent.parent, metadata.get("current-snapshot-id")
    is_empty = snapshot in (None, -1)
    return Snapshot(
        folder.name,
        "Iceberg without a snapshot" if is_empty else f"Iceberg snapshot {snapshot}",
        "iceberg_scan",
        str(file),
        {} if is_empty else {"snapshot_from_id": str(snapshot)},
        str(file),
        tuple({str(folder): None, **dict.fromkeys(_data_folders(path, metadata))}),
    )


def _metadata_file(place: Path) -> Path:
    """The metadata file itself, or the one that the table's hint names."""
    if place.is_file():
        return place
    hint = place / "metadata" / "version-hint.text"
    if hint.is_file():
        version = hint.read_text("utf-8", "replace").strip()
        for name in (f"v{version}.metadata.json", f"{version}.metadata.json"):
            if (place / "metadata" / name).is_file():
                return place / "metadata" / name
    latest = max((place / "metadata").glob(_METADATA), key=_written)
    raise InputError(
        f"{place} is an Iceberg table, and only its catalogue knows which metadata file is the "
        f"current one. Name that file as the table; the latest here is {latest}."
    )


def _written(file: Path) -> tuple[int, str]:
    return file.stat().st_mtime_ns, file.name


def _read_metadata(file: Path) -> dict[str, Any]:
    try:
        with gzip.open(file) if ".gz." in file.name else file.open("rb") as raw:
            metadata = json.load(raw)
    except (OSError, ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict) or "format-version" not in metadata:
        raise InputError(f"{file} is no metadata file of an Iceberg table.")
    return metadata


def _data_folders(path: str, metadata: dict[str, Any]) -> Iterator[str]:
    """The folders that the metadata name for the table's files.

    Raises `InputError` for a place that is no local folder.
    """
    properties = metadata.get("properties") or {}
    locations = (metadata.get("location"), properties.get("write.data.path"))
    for place in filter(None, locations):
        url = urlsplit(str(place))
        if url.scheme not in ("", "file"):
            raise InputError(
                f"{path}: the files of this table are in {url.scheme}://, and only local files "
                "are read."
            )
        yield unquote(url.path)
