"""How long a command took, and what it has told so far."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, TypeVar

Told = TypeVar("Told")


class _Clock:
    """Since when people have waited: since the process began, for its first command."""

    def __init__(self) -> None:
        # Until here it has only computed.
        self._process: float | None = time.monotonic() - time.process_time()
        self._began = self._process

    def begin(self, now: float) -> None:
        self._began, self._process = self._process or now, None

    def told(self, result: Told) -> Told:
        """The result, whose first table took what no other did."""
        whole: Any = result
        if not whole.tables:
            return result
        first, *others = whole.tables
        waited = time.monotonic() - (self._began or 0) - sum(each.seconds for each in others)
        told: Told = replace(whole, tables=(replace(first, seconds=waited), *others))
        return told


CLOCK = _Clock()
