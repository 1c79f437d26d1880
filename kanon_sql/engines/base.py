"""The engine protocol: one SELECT at a time, never a write.

An engine is one file with one class that has these members. It knows a database and nothing of
privacy. Templates are written in DuckDB's SQL; engines of other dialects send the result of
`in_dialect`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kanon_sql.sql.tables import Column, Row, Table


@runtime_checkable
class Engine(Protocol):
    """Runs SELECT statements where the data is stored."""

    name: str
    dialect: str

    @property
    def materialises(self) -> bool:
        """Whether `materialise` stores rows, in private memory.

        Otherwise it stores a definition, and each statement that reads it recomputes the rows.
        """

    @property
    def can_cancel(self) -> bool:
        """Whether `cancel` stops the running statement."""

    @property
    def why_no_limit(self) -> str:
        """Why no time limit can be enforced if statements can't be cancelled, and the remedy."""

    def limit(self, seconds: float) -> None:
        """Set a server-side statement timeout, if the server has one."""

    def table(self, target: Any) -> Table:
        """Resolve a table. Raises `InputError` if it can't be read completely."""

    def transpile(self, sql: str) -> str:
        """Transpile a template's SELECT alone. Raises `SpecError`."""

    def in_dialect(self, sql: str) -> str:
        """Transpile a template's SELECT as it is sent, with its CTEs. Raises `SpecError`."""

    def query(self, sql: str) -> list[Row]:
        """Run one SELECT and return its rows as mappings. Raises `EngineError`."""

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't prepare the SELECT. Nothing is executed."""

    def materialise(self, name: str, sql: str) -> None:
        """Let later statements read one SELECT as `name`, never by writing to the source."""

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Like `materialise`, for rows held in Python."""

    def create_view(self, name: str, sql: str) -> None:
        """Like `materialise`, but re-evaluated wherever it is read."""

    def drop(self, name: str) -> None:
        """Drop one temporary relation."""

    def drop_all(self) -> None:
        """Drop all temporary relations before the next audit."""

    def cancel(self) -> None:
        """Cancel the running statement, on the server too. Thread-safe."""

    def progress(self) -> str:
        """Progress of the running statement in a few words, or "" if unknown. Thread-safe."""

    def files_read(self) -> Iterable[str]:
        """Every local file, glob or folder known to be read; none may be written."""

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file has changed since it was opened."""

    def renew(self) -> None:
        """End the audit's snapshot; the next statement sees current data."""

    def close(self) -> None:
        """Release every resource, leaving nothing behind."""


@runtime_checkable
class SetCache(Engine, Protocol):
    """An engine that inlines a CTE at every mention, and can name and cache it instead."""

    most_scans: int
    """Number of scans from which a statement is cut into named sets."""

    def name_set(self, name: str, sql: str, *, cached: bool) -> None:
        """Let later statements read one SELECT as `name`, from cached rows if `cached`."""


@runtime_checkable
class Sessions(Engine, Protocol):
    """An engine that any thread may use, one at a time, and that may open further sessions."""

    def another_session(self) -> Engine | None:
        """Another session that reads the same tables in the same snapshot, for statements at the
        same time, or None if there can be none. Raises `KanonError`."""


Batches = Generator[Sequence[Sequence[Any]], None, None]
"""Batches of rows of one answer. Closing it releases the connection."""


@runtime_checkable
class RowSource(Engine, Protocol):
    """An engine that can return row-level results, not just aggregates."""

    def batches(self, sql: str, most: int) -> Batches:
        """The rows of one SELECT in batches. Raises `EngineError` beyond `most` rows."""


@runtime_checkable
class Hub(Engine, Protocol):
    """An engine with private memory that can write files."""

    def materialise_batches(self, name: str, columns: Sequence[Column], batches: Batches) -> None:
        """Materialise rows from another engine, in columns of these types."""

    def will_write(self, path: Path, final_name: Path) -> None:
        """Announce an output file before the first query; `final_name` determines its format."""

    def write(self, name: str, path: Path) -> None:
        """Write a temporary relation to that file. Raises `EngineError`."""


@runtime_checkable
class NewFolder(Protocol):
    """A folder that a cluster writes next to its place, and that is renamed once it is whole."""

    place: str
    """Path or URI, as the cluster spells it."""

    def put_in_place(self) -> None:
        """Rename it. Raises `SpecError` if the place was taken meanwhile."""


@runtime_checkable
class FolderWriter(Engine, Protocol):
    """An engine whose cluster writes a release, so that no record leaves it."""

    def new_folder(self, target: str) -> AbstractContextManager[NewFolder]:
        """A folder that is removed unless it is put in place. Raises `SpecError`."""

    def write_folder(self, sql: str, folder: Any, partition_by: str | None) -> Table:
        """Write one SELECT as Parquet, and return the files as a table. Raises `EngineError`."""
