"""The loading of DuckDB's extensions, which are never downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import duckdb

from kanon_sql.errors import MissingDriverError
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal


def require_extensions(
    session: duckdb.DuckDBPyConnection, need: str, names: Sequence[str], *, is_ours: bool
) -> None:
    """Load extensions in a session of ours, in this order; in a user's, require them loaded.

    Raises `MissingDriverError` naming the one to install. `need` is its clause on who needs it.
    """
    for name in names:
        if not has_extension(session, name, is_ours=is_ours):
            advice = (
                f'installed. Install it, which downloads it: python -c "import duckdb; '
                f"duckdb.default_connection().install_extension('{name}')\""
                if is_ours
                else f"loaded in this session. Load it there: load {name}"
            )
            raise MissingDriverError(
                f'{need}, and DuckDB {duckdb.__version__} has no extension "{name}" {advice}'
            )


def has_extension(session: duckdb.DuckDBPyConnection, name: str, *, is_ours: bool) -> bool:
    """Whether an extension is loaded, after loading an installed one in a session of ours."""
    if is_ours:
        with suppress(duckdb.Error):
            session.load_extension(name)
    return session.execute(render("is_loaded", extension=literal(name))).fetchall() == [(True,)]
