"""Releases of data frames without a table name, whose views cannot be run yet."""

from __future__ import annotations

from dataclasses import replace

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.engines.duckdb.frames import FRAMES, frame_name
from kanon_sql.errors import SpecError
from kanon_sql.results.release import Anonymization
from kanon_sql.spec.spec import TableSpec


def is_nameless(table: TableSpec) -> bool:
    """Whether the source is a data frame without a table name."""
    return not table.name and frame_name(table.source) in FRAMES


def views_of_no_table(made: Anonymization, table: TableSpec) -> Anonymization:
    """The same release, with a note in its views that they cannot be run yet."""
    note = (
        f"-- A {frame_name(table.source)} is no table. Say which one it will be, as in "
        'name="patients",\n-- and these views can be run.\n'
    )

    def noted(views: tuple[str, ...]) -> tuple[str, ...]:
        return (note + views[0], *views[1:]) if views else ()

    hidden = made.views_without_values
    return replace(
        made,
        views=noted(made.views),
        views_without_values=None if hidden is None else noted(hidden),
    )


def require_name(table: TableSpec, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for views of a data frame without a table name: nobody could run them."""
    if wanted.writes_views and is_nameless(table):
        raise SpecError(
            f"the views read a table, and a {frame_name(table.source)} is none. Say what the table "
            'is called that it will be in, as in name="patients".'
        )
