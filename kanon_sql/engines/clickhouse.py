"""The ClickHouse engine, on clickhouse-connect: a server over HTTP, or chDB within the process."""

from __future__ import annotations

import os
import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from typing import Any

from sqlglot import exp

from kanon_sql.engines.base import Batches
from kanon_sql.engines.failures import (
    no_such_value,
    refused_to_write,
    required,
    silenced,
    stopped,
    unreadable,
    withheld,
)
from kanon_sql.engines.names import url_of
from kanon_sql.engines.warehouse import Catalogued
from kanon_sql.errors import EngineError, InputError, KanonError
from kanon_sql.question.yaml_document import shipped
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Column, Row, Table

_FACTS = shipped("kanon_sql.engines", "clickhouse.yml")
_NAMES = {theirs: name for name, types in _FACTS["types"].items() for theirs in types}
"""DuckDB's name by column type."""


def duckdb_type(type: str) -> str:
    """DuckDB's name of a column type; incomparable types become VARIANT, which is rejected.

    >>> [duckdb_type(type) for type in ("LowCardinality(Nullable(String))", "Decimal(9, 2)")]
    ['VARCHAR', 'DECIMAL(9, 2)']
    """
    inner = _unwrapped(type)
    name = _NAMES.get(inner.partition("(")[0], "VARIANT")
    return inner.upper() if name == "DECIMAL" else name


def normalised(name: str, type: str) -> str | None:
    """The expression to read instead of a column, or None.

    It normalises floats, whose equal values would form several groups, and casts types that don't
    compare with any other.
    """
    inner = _unwrapped(type)
    match inner.partition("(")[0]:
        case "Float64":
            return f"if(isNaN({name}), nan, {name} + 0.)"
        case "Float32" | "BFloat16":
            return f"toFloat32(if(isNaN({name}), nan, {name} + 0.))"
        case "FixedString" | "Enum8" | "Enum16" | "IPv4" | "IPv6":
            return f"toString({name})"
        case "Date":
            return f"toDate32({name})"
        case "UInt64":
            return f"toDecimal128({name}, 0)"
    return None


def _unwrapped(type: str) -> str:
    """The type without storage wrappers.

    >>> _unwrapped("LowCardinality(Nullable(FixedString(2)))")
    'FixedString(2)'
    """
    wrapped = re.fullmatch(
        r"(?:(?:LowCardinality|Nullable)\(|SimpleAggregateFunction\(\w+, )(.*)\)", type
    )
    return _unwrapped(wrapped[1]) if wrapped else type


SETTINGS: Mapping[str, int | str] = _FACTS["settings"]
"""Settings that would change answers, fixed whatever the user's profile.

They are sent with each statement, so that a user's session is not modified.
"""

NEEDED = ("join_use_nulls", "aggregate_functions_null_for_empty", "final", "session_timezone")
"""The settings without which answers would be wrong.

The others were introduced along with the feature that they disable.
"""

TEMPORARY = ""
"""The catalogue's database name of a session's temporary tables."""

_LOGGER = "clickhouse_connect"
"""The logger of the driver, which prints error messages, including values."""

LONGEST = 24 * 60 * 60
"""Seconds to wait for an answer if no timeout is set."""

_POLICY = re.compile(r"\W*(Row level filter|Filter\b.*Row-level security filter)")
_FILTER = re.compile(r"\W*(Row level filter|Filter\b)")
"""Prefixes of EXPLAIN lines that filter rows, of a view (which may have own filters) or a table."""

_STOPPED = {159, 394}
_FORBIDDEN = {497, 195, 291}
_READ_ONLY = {164, 452}
_NOT_READ = {36, 42, 43, 44, 46, 47, 48, 53, 60, 62, 63, 81, 179, 184, 206, 207, 215, 386}
_NO_VALUE = {6, 27, 38, 41, 70, 72, 131, 321, 349, 407}
_OUT_OF_MEMORY = {241, 173}
_AUTHENTICATION_FAILED = {192, 193, 194, 516}


class ClickHouse(Catalogued):
    """Queries a ClickHouse server, or chDB in this process, through a clickhouse-connect client."""

    name = "clickhouse"
    dialect = "clickhouse"
    allows_shadowed_ctes = False

    @classmethod
    def of_url(cls, url: str) -> ClickHouse:
        """Connect to `clickhouse://user:password@host:port/database`.

        User and password default to CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. `?secure=true` enables
        TLS; every other parameter is a setting, as in `?enable_materialized_cte=1`.
        """
        parts = url_of(url)
        options = dict(parts.options)
        return cls(
            _connected(
                f"ClickHouse at {parts.host or 'localhost'} can't be reached. Does it run, and "
                "does it answer HTTP on this port?",
                host=parts.host or "localhost",
                port=parts.port or 0,
                database=parts.path[0] if parts.path else "__default__",
                secure=options.pop("secure", "false"),
                settings=options,
                username=parts.user or os.environ.get("CLICKHOUSE_USER"),
                password=parts.password or os.environ.get("CLICKHOUSE_PASSWORD", ""),
                # A session would serialise its statements, and one that cancels another would have
                # to wait.
                autogenerate_session_id=False,
                send_receive_timeout=LONGEST,
            ),
            owned=True,
        )

    @classmethod
    def of_folder(cls, folder: str) -> ClickHouse:
        """Open a chDB folder in this process.

        The empty name is the in-memory database, which a chDB session of this process may have
        filled.
        """
        if folder and folder != ":memory:" and not os.path.isdir(folder):
            raise InputError(f"there is no chDB folder {folder}.")
        return cls(_embedded(folder or ":memory:"), owned=True)

    @classmethod
    def of_session(cls, session: Any) -> ClickHouse:
        """Query this process's chDB connection or session over a second connection."""
        folder = str(session.query(render("chdb_folder"), "TabSeparated")).strip()
        try:
            return cls(_embedded(folder), owned=True)
        except EngineError:
            # A process has a single chDB, and in memory it has no folder.
            return cls(_embedded(":memory:"), owned=True)

    def __init__(self, client: Any, *, owned: bool = False) -> None:
        if client.query_limit:
            raise InputError(
                f"the ClickHouse client cuts answers to {client.query_limit:,} rows, so that "
                "classes would be missing. Pass one without query_limit."
            )
        lacking = [name for name in NEEDED if name not in client.server_settings]
        if lacking:
            raise EngineError(
                f"ClickHouse {client.server_version} has no setting {lacking[0]}, without which "
                "its answers can't be relied on. It must be 24.8 or later."
            )
        self._client = client
        self._owned = owned
        self._in_process = hasattr(client, "path")
        self._comment = f"kanon-sql {uuid.uuid4()}"
        self._seconds = 0.0
        self._unverified: dict[str, re.Pattern[str]] = {}
        self._statement_lock = threading.Lock()

    def table(self, target: Any) -> Table:
        """Resolve a table or view.

        Raises `InputError` unless the name is unique and every row is visible.
        """
        table = super().table(target)
        names = [name_part.name for name_part in exp.to_table(table.sql, dialect="duckdb").parts]
        relation = ".".join(map(_identifier, names))
        view = self._view(relation, self._catalogued(names))
        if view is not None:
            self._stand_ins[table.sql] = view
        [stored] = self._stored([tuple(map(_literal, names))])
        self._unverified[relation] = _POLICY if stored.endswith("View") else _FILTER
        if stored.endswith("MergeTree"):
            self._require_all_rows()
        return table

    def files_read(self) -> Iterator[str]:
        """The chDB folder and everything in it."""
        folder = getattr(self._client, "path", None)
        if self._in_process and folder and folder != ":memory:":
            yield f"{folder}/**"

    def query(self, sql: str) -> list[Row]:
        """Run one SELECT and return its rows."""
        self._require_all_rows()
        return super().query(sql)

    def batches(self, sql: str, most: int) -> Batches:
        """The rows in batches."""
        self._require_all_rows()
        return super().batches(sql, most)

    def _require_all_rows(self) -> None:
        """Raise `InputError` if a row policy hides rows of a table.

        Only a plan reveals that to every user. Planning a view may execute part of it, so it is
        deferred until the view is read anyway.
        """
        for relation, hides in list(self._unverified.items()):
            _, plan = self._fetch(render("clickhouse_plan", relation=relation))
            if any(hides.match(line) for (line,) in plan):
                raise InputError(
                    f"a row policy hides records of {relation} from this ClickHouse user, so that "
                    "they would not be counted. Audit as a user who sees all of them."
                )
            del self._unverified[relation]

    def transpile(self, sql: str) -> str:
        """Transpile a template's SELECT to ClickHouse."""
        # Materialised CTEs are experimental in ClickHouse, so the user's profile decides.
        return self._translated(sql, materialized=self._has_setting("enable_materialized_cte"))

    def check(self, sql: str) -> None:
        """Raise `SpecError` if names or types of the statement don't resolve.

        A plan would also find joins that ClickHouse can't execute, but it runs scalar subqueries,
        and an EXPLAIN of a view reads data.
        """
        self._fetch(f"describe table view(\n{self.in_dialect(sql)}\n)")

    def _stored(self, tables: Sequence[tuple[str, ...]]) -> list[str]:
        """The table engine of each (database, name), given as SQL literals."""
        return [name for (name,) in self._fetch(render("clickhouse_engines", tables=tables))[1]]

    def renew(self) -> None:
        """Reset the previous audit's timeout."""
        self._seconds = 0.0

    def limit(self, seconds: float) -> None:
        """Set a timeout per statement; a stricter limit in the user's settings takes precedence."""
        self._seconds = 0.0
        functions = ("getSetting('max_execution_time')",)
        [[own]] = self._fetch(render("session_values", functions=functions))[1]
        self._seconds = min(seconds, float(own)) if float(own) > 0 else seconds

    def cancel(self) -> None:
        # The user's own session is busy with the statement to cancel.
        kill = render("clickhouse_kill", comment=_literal(self._comment))
        if self._in_process:
            with closing(_embedded(self._client.path)) as other:
                other.command(kill)
        else:
            self._client.command(kill, settings={"session_id": str(uuid.uuid4())})

    def close(self) -> None:
        if self._owned:
            self._client.close()

    def _tables(self) -> Sequence[tuple[str, ...]]:
        rows = self._fetch(render("clickhouse_tables"))[1]
        self._no_views = {(database, name) for _, database, name, is_view in rows if not is_view}
        return [tuple(row[:3]) for row in rows]

    def _replaceable(self) -> frozenset[str]:
        _, here = self._place()
        return frozenset(name for database, name in self._no_views if database == here)

    def _place(self) -> tuple[str, str]:
        functions = ("'clickhouse'", "currentDatabase()")
        [place] = self._fetch(render("session_values", functions=functions))[1]
        return place[0], place[1]

    def _path(self) -> Sequence[tuple[str, str]]:
        database, _ = place = self._place()
        return [(database, TEMPORARY), place]

    def _columns(self, qualified_name: tuple[str, ...]) -> Sequence[Column]:
        if qualified_name[1] == TEMPORARY:
            raise InputError(
                f"{qualified_name[-1]} is temporary, and hides any other table of this name. Copy "
                "it into a permanent table, or name another with its database."
            )
        return [Column(name, duckdb_type(type)) for name, type in self._catalogued(qualified_name)]

    def _catalogued(self, qualified_name: Sequence[str]) -> Sequence[Sequence[Any]]:
        database, table = map(_literal, qualified_name[-2:])
        return self._fetch(render("clickhouse_columns", database=database, table=table))[1]

    def _view(self, relation: str, described: Sequence[Sequence[Any]]) -> str | None:
        """The SELECT that stands in for a table with columns to normalise; None if it has none."""
        columns = [
            (_identifier(name), normalised(_identifier(name), type)) for name, type in described
        ]
        if not any(expression for _, expression in columns):
            return None
        return render("clickhouse_view", relation=relation, columns=columns)

    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        settings = {
            **{name: value for name, value in SETTINGS.items() if self._has_setting(name)},
            "max_result_rows": most,
            **({"max_execution_time": self._seconds} if self._seconds else {}),
            "log_comment": self._comment,
            # Last, because no setting can follow it.
            "readonly": 1,
        }
        with self._statement_lock, silenced(_LOGGER):
            answer = self._run(sql, settings)
        return list(answer.column_names), answer.result_rows

    def _run(self, sql: str, settings: dict[str, Any]) -> Any:
        if not self._in_process:
            try:
                return self._client.query(sql, settings=settings)
            except Exception as error:
                if getattr(error, "code", None) is None:
                    # The connection broke, while the server would go on.
                    with suppress(Exception):
                        self.cancel()
                raise
        # The main thread can't be interrupted while chDB runs in it.
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._client.query, sql, settings=settings)
            try:
                return running.result()
            except KeyboardInterrupt:
                # A cancel sent before the query has started is lost, so it is repeated.
                while not running.done():
                    self.cancel()
                    wait([running], timeout=0.2)
                raise

    def _has_setting(self, setting: str) -> bool:
        return setting in self._client.server_settings

    def _explained(self, error: Exception) -> KanonError:
        code = getattr(error, "code", None)
        if code in _STOPPED:
            return stopped()
        if code in _READ_ONLY and "setting" not in str(error).lower():
            return refused_to_write()
        if code in _READ_ONLY:
            return InputError(
                "the ClickHouse user may not change settings, without which NULLs and dates would "
                "come out wrong. Take one whose profile has readonly = 0."
            )
        if code in _FORBIDDEN:
            return InputError("the ClickHouse user may not read a table of the audit.")
        if code in _OUT_OF_MEMORY:
            return EngineError("ClickHouse reached the memory limit of a query.")
        if code in _NOT_READ:
            return unreadable("ClickHouse", f" ({_name(error)}).")
        if code in _NO_VALUE:
            return no_such_value()
        return withheld("ClickHouse", _name(error))


# --- clients --------------------------------------------------------------------------------


def _connected(sentence: str, **options: Any) -> Any:
    """A client. Raises `EngineError` with `sentence`, as the driver may show the password."""
    connect = required(
        "clickhouse_connect", "ClickHouse needs clickhouse-connect", extra="clickhouse"
    )
    try:
        with silenced(_LOGGER):
            return connect.get_client(**options)
    except Exception as error:
        if getattr(error, "code", None) in _AUTHENTICATION_FAILED:
            sentence = "ClickHouse knows no such user with this password."
        raise EngineError(sentence) from None


def _embedded(path: str) -> Any:
    required("chdb", "a ClickHouse in this process needs chDB", extra="chdb")
    return _connected(
        f"chDB can't open {path}: a process has one chDB folder at a time, and another is open.",
        interface="chdb",
        path=path,
    )


def _name(error: Exception) -> str:
    return str(getattr(error, "name", None) or type(error).__name__)


def _identifier(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect="clickhouse")


def _literal(text: str) -> str:
    return exp.Literal.string(text).sql(dialect="clickhouse")
