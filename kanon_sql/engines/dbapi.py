"""The engine for any Python driver with DB-API 2.0 (PEP 249), in any dialect."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal, InvalidOperation
from importlib import import_module
from typing import Any

from kanon_sql.engines.base import Batches
from kanon_sql.engines.failures import translated_error
from kanon_sql.engines.names import Url, connection_message, spellings, url_of
from kanon_sql.engines.warehouse import Catalogued
from kanon_sql.errors import EngineError, InputError, KanonError, MissingDriverError, SpecError
from kanon_sql.sql.dialects import rules_of, translated, type_of_templates
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column

_BYTES = re.compile(r"binary|utf8mb4_0900_bin|.*_nopad_bin|utf8|UTF8_BINARY")
"""Collations that compare bytes; utf8mb4_bin and all of SQL Server's ignore trailing spaces."""
_OPAQUE_NUMERIC = "type_name=numeric"
"""ADBC's type name for numbers it returns as text."""

BATCH = 50_000
"""Number of rows fetched at a time."""


class DBAPI(Catalogued):
    """Queries through the cursors of one connection.

    A server with SQL of its own is a subclass; any other is queried in standard SQL by its
    `dialect`.

    `open_connection` opens another connection; if given, this one was opened here, so it is set up
    and closed here too. `on_close` is called on close, for a connection borrowed from a pool.

    Raises `InputError` for a connection known to be closed or within a transaction.
    """

    dialect = ""
    title = ""
    """Display name of the server."""
    driver = ""
    """The package that opens URLs: a driver, or a SQLAlchemy dialect that brings one."""
    sqlalchemy_name = ""
    """SQLAlchemy's dialect+driver."""
    packages: tuple[str, ...] = ()
    """Top-level packages whose connections belong to this server."""
    aliases: tuple[str, ...] = ()
    """Its names in SQLAlchemy, ADBC or ODBC besides the dialect, in lower case."""
    password_variable: str | None = None
    """The environment variable from which the driver reads a password."""

    session: tuple[str, ...] = ()
    """Statements that set up a connection opened here; a user's connection keeps its settings."""
    transaction: tuple[str, ...] = ()
    """Begins the audit's transaction, which is rolled back; runs on an idle connection only."""
    limited_by: str | None = None
    """Sets the statement timeout of a connection opened here."""
    session_number: str | None = None
    """The SQL function that returns the session's id, for `stopped_by`."""
    stopped_by: str = ""
    """The SQL function that cancels a session's statement, called on a second connection."""
    explains = True
    """Whether EXPLAIN plans a statement without executing any of it."""

    place = ("current_database()", "current_schema()")
    """Expressions of the current database and schema."""
    full_type_column = "DATA_TYPE"
    """The catalogue's column with the full type."""
    has_precision = True
    """Whether the catalogue has precision and scale of numbers."""
    has_collations = False
    """Whether the catalogue has the collation of columns."""

    @classmethod
    def of_url(cls, text: str) -> DBAPI:
        """Connect to a URL.

        Raises `SpecError`, `MissingDriverError` or `EngineError`, none of which contains a secret.
        """
        url = url_of(text)
        try:
            open_connection = cls._opener(url)
            connection = open_connection()
        except KanonError:
            raise
        except Exception as error:
            secrets = url.secrets | spellings([os.environ.get(cls.password_variable or "")])
            raise EngineError(
                f"{cls.title} can't be reached: {connection_message(error, secrets)}"
            ) from None
        try:
            return cls.of_server(connection)(connection, open_connection=open_connection)
        except BaseException:
            connection.close()
            raise

    @classmethod
    def _opener(cls, url: Url) -> Callable[[], Any]:
        """A function that opens DB-API connections, by SQLAlchemy. Raises `MissingDriverError`."""
        arguments = cls._driver_arguments(url)
        try:
            sqlalchemy = import_module("sqlalchemy")
            parsed = sqlalchemy.make_url(url.text).difference_update_query(arguments)
            address = parsed.set(drivername=cls.sqlalchemy_name, password=url.password)
            engine = sqlalchemy.create_engine(address, connect_args=arguments)
        except ImportError:
            raise cls._missing_driver() from None
        except sqlalchemy.exc.NoSuchModuleError:
            raise cls._missing_driver() from None

        def opened() -> Any:
            lent = engine.raw_connection()
            connection = lent.driver_connection
            # From here on the pool neither resets nor closes the connection.
            lent.detach()
            return connection

        return opened

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        """Arguments of the driver that are set here, whatever the dialect makes of the URL."""
        return {}

    @classmethod
    def _missing_driver(cls) -> MissingDriverError:
        packages = " and ".join(["sqlalchemy"] * bool(cls.sqlalchemy_name) + [cls.driver])
        return MissingDriverError(
            f"{cls.title} needs {packages}. Install: pip install 'kanon-sql[{cls.name}]'"
        )

    @classmethod
    def of_server(cls, connection: Any) -> type[DBAPI]:
        """The engine class for a connection, where a driver serves several servers."""
        return cls

    def __init__(
        self,
        connection: Any,
        *,
        dialect: str | None = None,
        open_connection: Callable[[], Any] | None = None,
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self._connection = connection
        self._open_connection = open_connection
        self._owned = open_connection is not None
        self._on_close = on_close
        self._cursor: Any = None
        # One statement at a time across threads, as they share the connection.
        self._statement_lock = threading.Lock()
        self._in_transaction = False
        if dialect is not None:
            rules_of(dialect)
            self.name = self.dialect = self.title = dialect
        self._idle = self._owned or is_idle(connection, self.title)
        self._session: int | None = None
        if self._owned:
            self._set_up()

    def _set_up(self) -> None:
        """Apply the session settings to a connection opened here, and query its id."""
        for setting in self.session:
            self._run_in_session(setting)
        if self.session_number:
            [[number]] = self._run_in_session(
                render("session_values", functions=[self.session_number])
            )
            self._session = int(number)

    @property
    def can_cancel(self) -> bool:
        """Whether the driver or the server can cancel a statement."""
        return bool(self._ways_to_cancel() or (self._owned and self.limited_by))

    def limit(self, seconds: float) -> None:
        if self._owned and self.limited_by:
            whole_seconds = max(int(seconds + 0.999), 1)
            milliseconds = max(int(seconds * 1000), 1)
            self._run_in_session(
                self.limited_by.format(seconds=whole_seconds, milliseconds=milliseconds)
            )

    def cancel(self) -> None:
        for stop in self._ways_to_cancel():
            with suppress(Exception):
                stop()

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't prepare the statement; nothing is executed."""
        if not self.explains:
            raise SpecError(
                f"{self.title} has no EXPLAIN, so a query can't be checked there without running "
                "it. Run the audit instead."
            )
        super().check(sql)

    def renew(self) -> None:
        """End the transaction; the next statement sees current data."""
        if self._in_transaction:
            self._in_transaction = False
            # A lost connection has ended its transaction.
            with suppress(Exception):
                self._end()

    def close(self) -> None:
        self.renew()
        if self._owned:
            self._connection.close()
        elif self._on_close is not None:
            self._on_close()

    # --- the transaction ------------------------------------------------------------------------

    def _begin(self) -> None:
        """Begin the transaction, where `_end` can't roll back anything of the user's."""
        if self._idle:
            for statement in self.transaction:
                self._execute(statement)

    def _end(self) -> None:
        if not self._idle:
            return
        if self.transaction:
            self._execute("rollback")
        # The driver may have begun a transaction of its own.
        with suppress(Exception):
            self._connection.rollback()

    # --- queries --------------------------------------------------------------------------------

    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        self._begin_once()
        return self._execute(sql, most)

    def _begin_once(self) -> None:
        if not self._in_transaction:
            self._require_idle()
            self._in_transaction = True
            self._begin()

    def _require_idle(self) -> None:
        """Raise `InputError` where a rollback would undo changes of the user's."""
        if not self._owned:
            is_idle(self._connection, self.title)

    def _run_in_session(self, statement: str) -> Sequence[Sequence[Any]]:
        """Run a statement on the session, outside the audit's transaction."""
        try:
            return self._execute(statement)[1]
        except Exception as error:
            raise self._explained(error) from None

    def _execute(self, sql: str, most: int = 1) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._executed(sql, self._new_cursor) as cursor:
            described = list(cursor.description or ())
            rows = cursor.fetchmany(most) if described else []
            names = [self._own_name(str(column[0])) for column in described]
            return names, list(with_numbers(described, rows))

    def _batches(self, sql: str, most: int) -> Batches:
        self._begin_once()
        with self._executed(sql, self._cursor_of_batches) as cursor:
            while most > 0 and (batch := cursor.fetchmany(min(most, BATCH))):
                most -= len(batch)
                yield list(with_numbers(list(cursor.description), batch))

    @contextmanager
    def _executed(self, sql: str, new: Callable[[], Any]) -> Iterator[Any]:
        """The cursor of a statement that has been executed, which `cancel` may stop."""
        with self._statement_lock:
            cursor = self._cursor = new()
            try:
                # Without parameters: given some, certain drivers parse % as theirs.
                cursor.execute(sql)
                yield cursor
            finally:
                with suppress(Exception):
                    cursor.close()

    def _cursor_of_batches(self) -> Any:
        """A server-side cursor, if the driver has one."""
        return self._new_cursor()

    def _new_cursor(self) -> Any:
        return tuple_cursor(self._connection)

    def _own_name(self, name: str) -> str:
        """A column's name as the question spells it."""
        return name

    def _ways_to_cancel(self) -> list[Callable[[], object]]:
        if self._session is not None:
            return [self._stop_session]
        for name in ("cancel_safe", "adbc_cancel", "cancel", "interrupt"):
            if callable(stop := getattr(self._connection, name, None)):
                return [stop]
        stop = getattr(self._cursor, "cancel", None)
        return [stop] if callable(stop) else []

    def _stop_session(self) -> None:
        assert self._open_connection is not None
        with closing(self._open_connection()) as connection:
            connection.cursor().execute(self._stop())

    def _stop(self) -> str:
        """The statement that cancels what the session runs."""
        stop = self.stopped_by.format(session=self._session)
        return render("session_values", functions=[stop])

    def _explained(self, error: Exception) -> KanonError:
        return translated_error(error, self.title)

    # --- the catalogue --------------------------------------------------------------------------

    @property
    def _catalogue(self) -> str:
        """INFORMATION_SCHEMA, as spelled in the templates."""
        return identifier("INFORMATION_SCHEMA")

    def _catalogued(self, macro: str, **arguments: Any) -> Sequence[Sequence[Any]]:
        sql = render(macro, catalogue=self._catalogue, **arguments)
        return self._fetch(translated(sql, self.dialect))[1]

    def _tables(self) -> Sequence[tuple[str, ...]]:
        return [tuple(map(str, row)) for row in self._catalogued("catalogued_tables")]

    def _place(self) -> tuple[str, str]:
        [place] = self._fetch(render("session_values", functions=self.place))[1]
        # A session may have no schema.
        return str(place[0] or ""), str(place[1] or "")

    def _columns(self, qualified_name: tuple[str, ...]) -> Sequence[Column]:
        _, schema, table = qualified_name
        rows = self._catalogued(
            "catalogued_columns",
            schema=schema,
            table=table,
            type=self.full_type_column,
            digits=self.has_precision,
            collation=self.has_collations,
        )
        return list(self._described(rows))

    def _described(self, rows: Sequence[Sequence[Any]]) -> Iterator[Column]:
        for name, type, digits, decimals, collation in rows:
            collation = collation or _collation_in(str(type))
            fault = (
                f"has the collation {collation}, which may treat different texts as equal and "
                "would make classes look larger. Audit a view with a collation that compares bytes "
                "and pads nothing, or a copy in a file."
            )
            yield Column(
                str(name),
                _type(str(type), digits, decimals, self.dialect),
                unusable_because=fault
                if collation and not _BYTES.fullmatch(str(collation))
                else None,
            )


def in_a_transaction(title: str) -> InputError:
    return InputError(
        f"the {title} connection is in a transaction, whose changes no one else sees. Commit or "
        "roll back first."
    )


def is_idle(connection: Any, title: str) -> bool | None:
    """Whether a connection is outside a transaction; None if the driver doesn't expose it.

    Raises `InputError` if it is in one, or closed.
    """
    closed = getattr(connection, "closed", None)
    status = getattr(getattr(connection, "info", None), "transaction_status", None)
    try:
        within = getattr(connection, "in_transaction", None)
    except Exception:
        # A closed SQLite connection fails even on this.
        within, closed = None, True
    if isinstance(closed, int) and closed:
        raise InputError(f"the {title} connection is closed. Pass one that is open.")
    idle = not within if isinstance(within, bool) else None
    idle = status == 0 if isinstance(status, int) else idle
    if idle is False:
        raise in_a_transaction(title)
    return idle


def tuple_cursor(connection: Any) -> Any:
    """A cursor that returns tuples, whatever row factory the user has set."""
    package = type(connection).__module__.partition(".")[0]
    if package == "psycopg":
        return connection.cursor(row_factory=import_module("psycopg.rows").tuple_row)
    if package == "psycopg2":
        return connection.cursor(cursor_factory=import_module("psycopg2.extensions").cursor)
    return connection.cursor()


def with_numbers(
    described: Sequence[Sequence[Any]], rows: Sequence[Any]
) -> Iterator[Sequence[Any]]:
    """The rows as sequences, with numbers parsed that the driver returns as text."""
    texts = [index for index, column in enumerate(described) if _OPAQUE_NUMERIC in str(column[1])]
    for row in rows:
        cells = list(row.values()) if isinstance(row, Mapping) else row
        if texts:
            cells = list(cells)
            for index in texts:
                cells[index] = _number(cells[index])
        yield cells


def _number(text: Any) -> Any:
    try:
        return Decimal(text) if isinstance(text, str) else text
    except InvalidOperation:
        raise EngineError("the driver brings a number in a form that is none.") from None


def _collation_in(type: str) -> str | None:
    """The collation that Databricks appends to a type.

    >>> _collation_in("string collate UTF8_LCASE")
    'UTF8_LCASE'
    """
    match = re.search(r"\bcollate\s+(\S+)", type, re.IGNORECASE)
    return match[1] if match else None


def _type(type: str, digits: Any, decimals: Any, dialect: str) -> str:
    """DuckDB's name of a type, with precision and scale.

    >>> _type("numeric", 10, 2, "redshift"), _type("enum('a','b')", None, None, "mysql")
    ('DECIMAL(10, 2)', 'ENUM')
    """
    if re.match(r"enum\b", type, re.IGNORECASE):
        return "ENUM"
    type_name = type_of_templates(type, dialect)
    if type_name.startswith("DECIMAL") and "(" not in type and digits is not None:
        return f"DECIMAL({digits}, {decimals or 0})"
    return type_name
