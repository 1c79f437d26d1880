"""What an engine is: something that answers one SELECT at a time and never writes.

A new engine is one file with one class that has these members. An engine knows a database and
nothing of privacy. The SELECTs of the templates are in DuckDB's words; an engine of another
dialect sends what `in_dialect` makes of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kanon_sql.sql.statement import Estimate
from kanon_sql.sql.tables import Column, Row, Table


@runtime_checkable
class Engine(Protocol):
    """Answers SELECT statements where the data lies."""

    name: str
    dialect: str

    @property
    def keeps_rows(self) -> bool:
        """Whether what is kept is kept as rows, in private memory. Else it is its definition
        alone, of which every statement that reads it counts the rows anew."""

    @property
    def can_cancel(self) -> bool:
        """Whether `cancel` stops what runs."""

    @property
    def why_no_limit(self) -> str:
        """Of what no time limit can be kept where nothing is stopped, and what to do instead."""

    def limit(self, seconds: float) -> None:
        """Have the server stop each statement after so many seconds, if it can."""

    def table(self, target: Any) -> Table:
        """The table that `target` names. Raises `InputError` if it can't be read whole."""

    def in_own_words(self, sql: str) -> str:
        """A SELECT of the templates in the dialect, by itself. Raises `SpecError`."""

    def in_dialect(self, sql: str) -> str:
        """A SELECT of the templates as it is sent. Raises `SpecError` if there is no way."""

    def query(self, sql: str) -> list[Row]:
        """The rows of one SELECT of the templates, as mappings. Raises `EngineError`."""

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't read the SELECT. Nothing of it runs."""

    def estimate(self, sql: str) -> Estimate:
        """What the engine expects of a SELECT, of which nothing runs. Raises `SpecError` if it
        can't be read."""

    def keep(self, name: str, sql: str) -> None:
        """Let later statements read one SELECT under `name`, never by writing to the source."""

    def keep_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """The same of rows that are at hand."""

    def keep_view(self, name: str, sql: str) -> None:
        """The same of a SELECT that is to run anew wherever it is read."""

    def forget(self, name: str) -> None:
        """Let go of what was kept."""

    def forget_all(self) -> None:
        """Let go of everything that was kept, so that the next question begins anew."""

    def cancel(self) -> None:
        """Stop the running statement, in the server too. Safe from another thread."""

    def progress(self) -> str:
        """How far the running statement is, in a few words, or in none where that isn't known.
        Safe from another thread."""

    def files_read(self) -> Iterable[str]:
        """Every file, glob or folder of this machine that the engine reads, as far as it can know:
        none of it may be written."""

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if what was read is not what it was when it was opened."""

    def renew(self) -> None:
        """End the snapshot of an audit: the next one sees the data as they then are."""

    def close(self) -> None:
        """Let go of everything, leaving nothing behind."""


Batches = Generator[Sequence[Sequence[Any]], None, None]
"""The rows of one answer, some at a time. Closed, it lets go of the connection."""


@runtime_checkable
class RowSource(Engine, Protocol):
    """An engine whose rows can be fetched, where more than aggregates must come."""

    def batches(self, sql: str, most: int) -> Batches:
        """The rows of one SELECT, of which there may be so many. Raises `EngineError`."""


@runtime_checkable
class Hub(Engine, Protocol):
    """An engine with private memory, and files to write."""

    def keep_batches(self, name: str, columns: Sequence[Column], batches: Batches) -> None:
        """Keep rows that come from another engine, in columns of these types."""

    def will_write(self, path: Path, becomes: Path) -> None:
        """Say before the first query which file is to be written, and the name that it will have:
        that tells what it holds."""

    def write(self, name: str, path: Path) -> None:
        """Write what is kept under `name` to that file. Raises `EngineError`."""
