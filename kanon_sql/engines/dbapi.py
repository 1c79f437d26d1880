"""A database behind a Python driver of the usual kind (DB-API 2.0, PEP 249)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from kanon_sql.engines.base import Batches
from kanon_sql.engines.warehouse import Warehouse

BATCH = 50_000
"""How many rows are fetched at a time."""


class DBAPI(Warehouse):
    """Asks through the cursors of one connection.

    `owned` says whether the connection was opened here, and so is closed here.
    """

    def __init__(self, connection: Any, *, owned: bool) -> None:
        self._connection = connection
        self._owned = owned
        self._cursor: Any = None
        self._asking = threading.Lock()

    def close(self) -> None:
        if self._owned:
            self._connection.close()

    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._asking:
            cursor = self._cursor = self._connection.cursor()
            try:
                # Without parameters: a driver that is given some reads % as theirs.
                cursor.execute(sql)
                names = [str(column[0]) for column in cursor.description or ()]
                return names, cursor.fetchmany(most) if names else []
            finally:
                cursor.close()

    def _batches(self, sql: str, most: int) -> Batches:
        with self._asking:
            cursor = self._cursor = self._cursor_of_batches()
            try:
                cursor.execute(sql)
                while most > 0 and (batch := cursor.fetchmany(min(most, BATCH))):
                    most -= len(batch)
                    yield batch
            finally:
                cursor.close()

    def _cursor_of_batches(self) -> Any:
        """A cursor that leaves in the server what is not fetched yet, if the driver has one."""
        return self._connection.cursor()
