"""A database that is asked where its tables lie: in its own dialect, a SELECT at a time.

Nothing is created there, and nothing comes back but the rows of an answer, of which there may
only be so many. Each engine is a file with a class that fills in what is its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from typing import Any, Self

from kanon_sql.engines.base import Batches
from kanon_sql.engines.definitions import Definitions
from kanon_sql.engines.names import as_asked, name_parts, named
from kanon_sql.engines.readers import require_usable_names
from kanon_sql.errors import EngineError, InputError, KanonError, option
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Estimate
from kanon_sql.sql.tables import Column, Row, Table

MOST_ROWS = 1_000_000
"""How many rows an answer may have: aggregates have few, and a copy of the data is no audit."""

_NO_FILE = (
    ", and it reads no files: with a connection, a table and its references are tables of one "
    "database. Copy the file into it and name that table, or leave out the connection if all are "
    "files. Only a hierarchy may be a CSV file beside them"
)


class Warehouse(Definitions, ABC):
    """What the engines of other databases share. Below the line is what each has to say itself."""

    name: str

    @property
    def can_cancel(self) -> bool:
        """Whether `cancel` stops what runs."""
        return True

    @property
    def why_no_limit(self) -> str:
        """What is said where it does not."""
        return (
            f"in {self.name}, whose driver can't stop a query. Set one in the database, and leave "
            "out timeout."
        )

    def query(self, sql: str) -> list[Row]:
        """The rows of one SELECT of the templates.

        Raises `EngineError`, or `InputError` where the data is at fault; neither holds a value.
        """
        names, rows = self._asked(self.in_dialect(sql))
        if len(rows) > MOST_ROWS:
            raise EngineError(
                f"an answer has more than {MOST_ROWS:,} rows, more than an audit takes out of a "
                "database. Ask for fewer columns at a time."
            )
        return [dict(zip(names, map(plain, row), strict=True)) for row in rows]

    def batches(self, sql: str, most: int) -> Batches:
        """The rows of one SELECT as the driver has them, `most` at most. Raises `EngineError`."""
        with self._in_our_words(), closing(self._batches(self.in_dialect(sql), most + 1)) as each:
            fetched = 0
            for batch in each:
                fetched += len(batch)
                if fetched > most:
                    raise EngineError(
                        f"there are more than {most:,} combinations of values, more than are "
                        f"fetched. Leave out {option('pull_frequencies')}, so that each step "
                        "is a query."
                    )
                yield batch

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't read the statement; nothing of it runs."""
        self._asked(f"explain {self.in_dialect(sql)}")

    def estimate(self, sql: str) -> Estimate:
        """Nothing, where an engine has no word for it, once it can read the statement."""
        self.check(sql)
        return Estimate()

    def limit(self, seconds: float) -> None:
        """Without a limit of its own, a database is cancelled by who waits."""

    def progress(self) -> str:
        """Nothing, where a driver does not tell."""
        return ""

    def files_read(self) -> Iterable[str]:
        """None of this machine, unless an engine says so."""
        return ()

    def verify_unchanged(self) -> None:
        """A database is asked in one snapshot, or has no other word than its counts."""

    def renew(self) -> None:
        """Nothing is held between two questions, unless an engine says so."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asked(self, sql: str) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._in_our_words():
            return self._answer(sql, MOST_ROWS + 1)

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """Stop in the server what is interrupted here, and say what fails without a value."""
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

    # --- what each engine has to say itself -----------------------------------------------------

    @abstractmethod
    def cancel(self) -> None:
        """Stop the running statement, in the server too. Safe from another thread."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything, leaving nothing behind."""

    @abstractmethod
    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        """The names and the rows of one statement in the own dialect, `most` rows at most."""

    def _batches(self, sql: str, most: int) -> Batches:
        """The same rows some at a time, where the driver does not hold all of them at once."""
        yield self._answer(sql, most)[1]

    @abstractmethod
    def _explained(self, error: Exception) -> KanonError:
        """The driver's error in our words: its own may hold values of the data."""


class Catalogued(Warehouse):
    """A database whose catalogue lists its tables and their columns."""

    def table(self, target: Any) -> Table:
        """The table or view of this name. Raises `InputError` unless there is exactly one."""
        if not isinstance(target, str):
            raise InputError(
                f"{type(target).__name__} can't be read by {self.name}: name a table in it."
            )
        found = named(
            target,
            self._tables(),
            self._path(),
            self.dialect,
            "that you may read in the database",
            no_file=_NO_FILE,
        )
        columns = tuple(self._columns(found))
        require_usable_names(target, [column.name for column in columns])
        sql = ".".join(map(identifier, self._read_as(found)))
        table = Table(
            self._called(target, found),
            sql,
            columns,
            ordered=False,
            embedded=False,
            stored_beside=self._stored_beside(),
            exact=not TRAITS[self.dialect].rounds,
            rereads=TRAITS[self.dialect].rereads,
        )
        self._types[table.sql] = table.types
        return table

    def _called(self, target: str, found: tuple[str, ...]) -> str:
        """What people call a table: with its schema, if they named one or it is not the usual."""
        is_said = len(name_parts(target)) > 1 or found[:2] == self._place()
        return as_asked(target, found) if is_said else ".".join(found[1:])

    @abstractmethod
    def _tables(self) -> Sequence[tuple[str, ...]]:
        """Every table and view that may be read: database, schema, name."""

    def _stored_beside(self) -> frozenset[str]:
        """What is stored where the session creates things, if a view that is created would replace
        it there: nearly all databases refuse that themselves."""
        return frozenset()

    def _read_as(self, found: tuple[str, ...]) -> tuple[str, ...]:
        """The parts of the name by which a table is read: its database goes without saying."""
        return found[1:]

    @abstractmethod
    def _place(self) -> tuple[str, str]:
        """The database and the schema in which a table usually lies."""

    def _path(self) -> Sequence[tuple[str, str]]:
        """The databases and the schemas in which the session looks up a name, in order."""
        return [self._place()]

    @abstractmethod
    def _columns(self, found: tuple[str, ...]) -> Sequence[Column]:
        """The columns of a table, with their types by DuckDB's names."""


def plain(value: Any) -> Any:
    """A whole number as one: sums are decimals in many databases.

    >>> plain(Decimal("12")), plain(Decimal("1.50")), plain("12")
    (12, Decimal('1.50'), '12')
    """
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return value
