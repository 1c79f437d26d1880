"""Rejects settings of a user's session that would make counts wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kanon_sql.errors import InputError
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Table

Asked = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement in the session and returns its rows."""


def require_plain_session(asked: Asked) -> None:
    """Reject a session with macros that shadow functions, or a descending default order."""
    if macros := [str(macro) for (macro,) in asked(render("shadowing_macros"))]:
        raise InputError(
            f"the database has macros that stand in for DuckDB's functions: "
            f"{', '.join(sorted(macros))}. No count could be trusted. Rename them."
        )
    [[order]] = asked(render("default_order"))
    if str(order).upper().startswith("DESC"):
        raise InputError(
            f"the DuckDB session has default_order = {order}, which turns around the order "
            "that distances and risks are read off. Reset it: reset default_order."
        )


def require_plain_comparison(asked: Asked, table: Table) -> None:
    """Reject a table with text columns under a collation that merges distinct values."""
    [[collation]] = asked(render("default_collation"))
    texts = [column for column in table.columns if column.type == "VARCHAR"]
    merged = render("texts_merged", relation=table.sql, columns=texts)
    if collation or (texts and any(asked(merged)[0])):
        raise InputError(
            f"{table.name} has text with a collation, which takes different values for one "
            "and would make classes look larger. Audit a copy without it."
        )
