"""Sets that are cut from the plans of statements: cached in the session, read by temporary views.

Spark inlines a CTE at each reference, so a chain of CTEs can scan the table a hundred times in one
plan. Here a set that is kept for later statements, or that a large statement mentions more than
once, is a cached temporary view. Nothing is created in a catalogue, and dropping a view frees its
cache.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from kanon_sql.sql.ctes import each_cte

MOST_SCANS = 4
"""Number of scans up to which a plan is left whole: Spark reuses equal exchanges itself."""
_WORD = re.compile(r"\w+")
_WITH = re.compile(r"\Awith\s+", re.IGNORECASE)
_READ = re.compile(r"\b(?:from|join)\s+(`(?:[^`]|``)+`|\w+)", re.IGNORECASE)
_SHUFFLES = re.compile(r"\b(group\s+by|distinct|join|over|union|except)\b", re.IGNORECASE)
"""What a set does beyond reading records, which is cheaper than caching them."""


class CachedSets:
    """The cached sets of one engine in its session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._prefix = f"kanon_sql {uuid4().hex}"
        self._views: dict[str, str] = {}
        """Views by the statement whose rows they hold."""
        self._frames: dict[str, Any] = {}
        self._below: dict[str, list[str]] = {}
        """Views that only the rows of another view are computed from."""
        self._of: dict[str, str] = {}
        """Views by the kept set whose rows they hold."""

    @contextmanager
    def cut(self, sql: str, kept: Mapping[str, str]) -> Iterator[str]:
        """The statement with cached sets in place of their SQL.

        `kept` maps the sets that later statements read, too, to their SQL; other sets are dropped
        at the end.
        """
        smaller, temporary = self._cut(sql, kept)
        try:
            yield smaller
        finally:
            self.drop(temporary)

    def forget(self, name: str) -> None:
        """Drop the rows of a kept set."""
        if name in self._of:
            self.drop([self._of.pop(name)])

    def _cut(self, sql: str, kept: Mapping[str, str]) -> tuple[str, list[str]]:
        sets, select = each_cte(sql, "spark")
        if not sets:
            return sql, []
        found, temporary = dict(sets), []
        mentions = Counter(
            word for text in (*found.values(), select) for word in _WORD.findall(text)
        )
        scans = _scans(sql)
        is_large = scans[""] > MOST_SCANS
        for name, body in sets:
            is_kept = kept.get(name) == body
            is_often = mentions[name] > 1 or scans[name] > MOST_SCANS
            if is_kept or (is_large and is_often and _SHUFFLES.search(body)):
                has_rows = is_kept and name in self._of
                view = self._of[name] if has_rows else self._view(_with(found, body), kept)
                found[name] = f"select * from `{view}`"
                if is_kept:
                    self._of[name] = view
                else:
                    temporary.append(view)
        return _with(found, select), temporary

    def drop(self, views: Sequence[str]) -> None:
        """Drop views and free their caches."""
        for view in views:
            self.drop(self._below.pop(view, []))
            frame = self._frames.pop(view, None)
            self._views = {sql: each for sql, each in self._views.items() if each != view}
            if frame is not None:
                with suppress(Exception):
                    frame.unpersist()
            with suppress(Exception):
                self._session.catalog.dropTempView(view)

    def drop_all(self) -> None:
        """Drop every view, the last one first."""
        self.drop(list(reversed(list(self._views.values()))))
        self._of.clear()

    def _view(self, sql: str, kept: Mapping[str, str]) -> str:
        """The view that holds the rows of a statement, computed when they are first read."""
        if sql in self._views:
            return self._views[sql]
        smaller, below = self._cut(sql, kept)
        frame = self._session.sql(smaller)
        view = f"{self._prefix} {len(self._views) + 1} {uuid4().hex[:6]}"
        self._views[sql], self._below[view] = view, below
        level = frame.storageLevel
        if not (level.useMemory or level.useDisk):
            # Otherwise its owner has cached it, and frees it.
            self._frames[view] = frame.persist()
        frame.createTempView(f"`{view}`")
        return view


def _with(sets: Mapping[str, str], select: str) -> str:
    """A statement with the CTEs that it reads, directly or not.

    >>> print(_with({"a": "select 1", "b": "select 2", "c": "select * from a"}, "select * from c"))
    with a as (
    select 1
    ),
    c as (
    select * from a
    )
    select * from c
    """
    wanted, read = set(_WORD.findall(select)), []
    for name, body in reversed(list(sets.items())):
        if name in wanted and body != select:
            read.append(f"{name} as (\n{body}\n)")
            wanted.update(_WORD.findall(body))
    if not read:
        return select
    own = _WITH.sub("", select)
    between = ",\n" if own != select else "\n"
    return "with " + ",\n".join(reversed(read)) + between + own


def _scans(sql: str, outer: Mapping[str, int] | None = None) -> dict[str, int]:
    """Number of relations that each CTE of a statement reads if those that it reads are inlined,
    and under "" the number of the statement.

    >>> _scans("with a as (select x from t), b as (select 1 from a join a as c) select 1 from b")
    {'a': 1, 'b': 2, '': 2}
    """
    sets, select = each_cte(sql, "spark")
    found: dict[str, int] = {}
    for name, body in (*sets, ("", select)):
        known = {**(outer or {}), **found}
        found[name] = (
            _scans(body, known)[""]
            if _WITH.match(body)
            else sum(known.get(each.strip("`"), 1) for each in _READ.findall(body))
        )
    return found
