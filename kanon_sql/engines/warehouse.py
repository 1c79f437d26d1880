"""Base of the engines that query a database in place, in its own dialect, one SELECT at a time.

They create nothing there and fetch only the rows of an answer, up to a limit. Before a database is
trusted, a query checks that it compares, rounds and counts as the audit assumes. Each engine is a
file with a subclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from typing import Any, Self

from kanon_sql.engines.base import Batches
from kanon_sql.engines.cte_store import CteStore
from kanon_sql.engines.names import display_name, name_parts, resolved_name
from kanon_sql.engines.readers import require_usable_names
from kanon_sql.errors import EngineError, InputError, KanonError, option
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Row, Table

MOST_ROWS = 1_000_000
"""Maximum number of rows in an answer: aggregates have few, and a copy of the data is no audit."""

_NO_FILE = (
    ", and it reads no files: with a connection, a table and its references are tables of one "
    "database. Copy the file into it and name that table, or leave out the connection if all are "
    "files. Only a hierarchy may be a CSV file beside them"
)


class Warehouse(CteStore, ABC):
    """Shared behaviour of warehouse engines. The abstract members follow at the end."""

    name: str

    @property
    def can_cancel(self) -> bool:
        """Whether `cancel` stops the running statement."""
        return True

    @property
    def why_no_limit(self) -> str:
        """Part of the error if it doesn't."""
        return (
            f"in {self.name}, whose driver can't stop a query. Set one in the database, and leave "
            "out timeout."
        )

    def query(self, sql: str) -> list[Row]:
        """Run one SELECT and return its rows.

        Raises `EngineError`, or `InputError` where the data is at fault; neither contains a value.
        """
        names, rows = self._fetch(self.in_dialect(sql))
        if len(rows) > MOST_ROWS:
            raise EngineError(
                f"a result has more than {MOST_ROWS:,} rows, the most that an audit fetches from a "
                "database. Use fewer columns at a time."
            )
        return [dict(zip(names, map(int_if_integral, row), strict=True)) for row in rows]

    def batches(self, sql: str, most: int) -> Batches:
        """The rows of one SELECT in the driver's batches. Raises `EngineError` beyond `most`."""
        with self._guarded(), closing(self._batches(self.in_dialect(sql), most + 1)) as batches:
            fetched = 0
            for batch in batches:
                fetched += len(batch)
                if fetched > most:
                    raise EngineError(
                        f"there are more than {most:,} combinations of values, more than are "
                        f"fetched. Leave out {option('pull_frequencies')}, so that each step "
                        "is a query."
                    )
                yield batch

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't prepare the statement; nothing is executed."""
        self._fetch(f"explain {self.in_dialect(sql)}")

    def limit(self, seconds: float) -> None:
        """Do nothing: without a server-side timeout, the caller cancels."""

    def progress(self) -> str:
        """Empty, as drivers don't report progress."""
        return ""

    def files_read(self) -> Iterable[str]:
        """No local files by default."""
        return ()

    def verify_unchanged(self) -> None:
        """Do nothing: a database has a snapshot, or nothing to compare with."""

    def renew(self) -> None:
        """Do nothing, unless an engine holds a snapshot."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fetch(self, sql: str) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._guarded():
            return self._answer(sql, MOST_ROWS + 1)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Cancel on the server upon Ctrl-C, and translate errors so that they contain no value."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            # The server would go on without the client.
            with suppress(Exception):
                self.cancel()
            if not self.can_cancel:
                interrupt.add_note(
                    f"The last query may go on in {self.name}, where this connection can't stop "
                    "one."
                )
            raise
        except KanonError:
            raise
        except Exception as error:
            raise self._explained(error) from None

    # --- implemented by each engine -------------------------------------------------------------

    @abstractmethod
    def cancel(self) -> None:
        """Cancel the running statement, on the server too. Thread-safe."""

    @abstractmethod
    def close(self) -> None:
        """Release every resource, leaving nothing behind."""

    @abstractmethod
    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        """Column names and rows of one statement in the dialect, `most` rows at most."""

    def _batches(self, sql: str, most: int) -> Batches:
        """The rows in batches; override if the driver streams."""
        yield self._answer(sql, most)[1]

    @abstractmethod
    def _explained(self, error: Exception) -> KanonError:
        """Translate the driver's error, whose message may contain values."""


class Catalogued(Warehouse):
    """A database whose catalogue lists its tables and columns."""

    def table(self, target: Any) -> Table:
        """Resolve a table or view. Raises `InputError` unless the name is unique."""
        if not isinstance(target, str):
            raise InputError(
                f"{type(target).__name__} can't be read by {self.name}: name a table in it."
            )
        qualified_name = resolved_name(
            target,
            self._tables(),
            self._path(),
            self.dialect,
            "that you may read in the database",
            no_file=_NO_FILE,
        )
        columns = tuple(self._columns(qualified_name))
        require_usable_names(target, [column.name for column in columns])
        sql = ".".join(map(identifier, self._read_as(qualified_name)))
        # An earlier audit may have found other columns.
        self._stand_ins.pop(sql, None)
        return Table(
            self._display_name(target, qualified_name),
            sql,
            columns,
            ordered=False,
            embedded=False,
            replaceable=self._replaceable(),
            dialect=self.dialect,
            rereads=TRAITS[self.dialect].rereads,
            approximates=TRAITS[self.dialect].approximates,
            samples=TRAITS[self.dialect].samples,
        )

    def _display_name(self, target: str, qualified_name: tuple[str, ...]) -> str:
        """The display name of a table: with its schema if that was given or is not the current
        one."""
        is_unambiguous = len(name_parts(target)) > 1 or qualified_name[:2] == self._place()
        return (
            display_name(target, qualified_name) if is_unambiguous else ".".join(qualified_name[1:])
        )

    @abstractmethod
    def _tables(self) -> Sequence[tuple[str, ...]]:
        """Every readable table and view as (database, schema, name)."""

    def _replaceable(self) -> frozenset[str]:
        """The stored tables that creating a view would replace; most databases refuse that."""
        return frozenset()

    def _read_as(self, qualified_name: tuple[str, ...]) -> tuple[str, ...]:
        """The name parts that address a table in FROM, without the database."""
        return qualified_name[1:]

    @abstractmethod
    def _place(self) -> tuple[str, str]:
        """The current database and schema."""

    def _path(self) -> Sequence[tuple[str, str]]:
        """The (database, schema) pairs in which names are resolved, in order."""
        return [self._place()]

    @abstractmethod
    def _columns(self, qualified_name: tuple[str, ...]) -> Sequence[Column]:
        """The columns of a table, with DuckDB's type names."""


def int_if_integral(value: Any) -> Any:
    """Convert integral decimals to int, as many databases return sums as decimals.

    >>> int_if_integral(Decimal("12")), int_if_integral(Decimal("1.50")), int_if_integral("12")
    (12, Decimal('1.50'), '12')
    """
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return value
