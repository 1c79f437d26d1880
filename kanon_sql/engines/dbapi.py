"""A database behind a Python driver of the usual kind (DB-API 2.0, PEP 249)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from kanon_sql.engines.warehouse import Warehouse


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
