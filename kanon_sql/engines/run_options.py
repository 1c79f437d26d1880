"""The options of a run: its connection, its limits, its jobs, its progress."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from kanon_sql.errors import SpecError, described_value, option

Progress = Callable[[], str]
"""Returns the progress of the running statement in a few words, or ""."""
Watch = Callable[[str, Progress], None]
"""Callback at the start of each statement, with its question and a `Progress`."""
ALL_MEMORY = "80%"
"""DuckDB's memory unless it is limited."""


class RunArguments(TypedDict, total=False):
    """The options of a run that every function of the API takes."""

    engine: Any
    memory_limit: str | None
    threads: int | None
    timeout: float | None


@dataclass(frozen=True)
class RunOptions:
    """The engine and the limits of a run. Raises `SpecError` for wrong types."""

    engine: Any = None
    """Anything that `connect` accepts; it replaces each table's own `connect`."""
    memory_limit: str | None = None
    """DuckDB's memory, as in 2GB; larger work spills to a private folder."""
    threads: int | None = None
    """DuckDB's threads, at most."""
    timeout: float | None = None
    """Stop after this many seconds for each table, with exit code 3."""
    watch: Watch | None = None
    """Callback that receives the question of each statement when it starts."""
    writes: Sequence[Path] = ()
    """Files to be written afterwards, which no table may be read from."""
    jobs: int = 1
    """Audit N tables of a spec or manifest at a time; they share the limits of memory and
    threads."""
    announce: Callable[[str], None] | None = None
    """Callback that receives what is about to be fetched from a database."""
    opens: Callable[[Any], None] | None = None
    """Callback that receives each engine that is opened, to cancel its statements."""
    max_seconds: float | None = None
    """Stop after this many seconds for each table with what is measured by then; the result says
    what is missing."""

    def __post_init__(self) -> None:
        options: dict[str, Any] = vars(self)
        for name in ("timeout", "max_seconds"):
            number = 1 if options[name] is None else options[name]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not (is_number and 0 < number <= threading.TIMEOUT_MAX):
                raise SpecError(
                    f"{option(name)} must be a number of seconds above 0; found "
                    f"{described_value(number)}."
                )
        for name in ("jobs", *(["threads"] if self.threads is not None else [])):
            number = options[name]
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise SpecError(
                    f"{option(name)} must be a whole number, 1 or more; found "
                    f"{described_value(number)}."
                )

    def of_each_job(self) -> RunOptions:
        """The options of one job: all of them share the memory and the threads.

        >>> RunOptions(memory_limit="3GB", threads=8, jobs=2).of_each_job().memory_limit
        '1.500000GB'
        """
        if self.jobs == 1:
            return self
        size = re.fullmatch(r"(\d+(?:\.\d+)?)(\D+)", self.memory_limit or ALL_MEMORY)
        return replace(
            self,
            memory_limit=f"{float(size[1]) / self.jobs:f}{size[2]}" if size else self.memory_limit,
            threads=self.threads and max(int(self.threads) // self.jobs, 1),
        )
