"""What a session of somebody else's must not do, because counts would be wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kanon_sql.errors import InputError
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Table

Asked = Callable[[str], list[tuple[Any, ...]]]
"""What asks the session."""


def require_plain_session(asked: Asked) -> None:
    """Refuse a session in which functions, or the order of values, are not what is meant."""
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
    """Refuse a table of which some texts that differ are compared as equal."""
    [[collation]] = asked(render("default_collation"))
    texts = [column for column in table.columns if column.type == "VARCHAR"]
    merged = render("texts_merged", relation=table.sql, columns=texts)
    if collation or (texts and any(asked(merged)[0])):
        raise InputError(
            f"{table.name} has text with a collation, which takes different values for one "
            "and would make classes look larger. Audit a copy without it."
        )
