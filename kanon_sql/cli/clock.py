"""Measures the wall-clock time of a command."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Clock:
    """The start of the wait: process start for the first command, otherwise the call."""

    def __init__(self) -> None:
        # Process start, approximately: until here the process has used only CPU time.
        self._process: float | None = time.monotonic() - time.process_time()
        self._began = self._process

    def begin(self, now: float) -> None:
        self._began, self._process = self._process or now, None

    def timed(self, result: Result) -> Result:
        """The result with the first table's `seconds` set to the total minus the other tables'.

        Tables audited at the same time took more than the total, and keep their seconds.
        """
        untyped: Any = result
        if not untyped.tables:
            return result
        first, *others = untyped.tables
        waited = time.monotonic() - (self._began or 0) - sum(each.seconds for each in others)
        timed: Result = replace(
            untyped, tables=(replace(first, seconds=max(waited, first.seconds)), *others)
        )
        return timed


CLOCK = _Clock()
