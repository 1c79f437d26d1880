"""The result of a profile, with its representations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kanon_sql.report.display import Displayed
from kanon_sql.results.json_part import UNWRITTEN
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.table import EXIT_CODES, Status, Written
from kanon_sql.results.tabular import Tabular

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class ProfileResult(Tabular, Displayed, Written):
    """The effect of background knowledge on every table. Its string form is the command's output.

    There are no checks, so nothing is violated: the status is measured, no_data or error.
    """

    tables: tuple[TableProfile, ...]
    version: str = field(metadata=UNWRITTEN)
    sealed: bool = field(default=True, kw_only=True, compare=False, metadata=UNWRITTEN)

    @property
    def status(self) -> Status:
        """The worst status of any table: error, no_data, measured."""
        statuses = {table.status for table in self.tables}
        return next(status for status in EXIT_CODES if status in statuses)

    def rows(self) -> list[dict[str, Any]]:
        """The columns of every table, each with its table's name."""
        return [
            {"table": table.name, **column.to_dict()}
            for table in self.tables
            for column in table.columns or ()
        ]

    def page(self) -> Iterator[Block]:
        """The profile in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import profile

        return profile.page(self.tables)
