"""The result of a profile, with its representations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kanon_sql.report.display import Displayed
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.table import EXIT_CODES, Status, Tabular, in_a_line
from kanon_sql.results.version import FORMAT

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class ProfileResult(Tabular, Displayed):
    """The effect of background knowledge on every table. Its string form is the command's output.

    There are no checks, so nothing is violated: the status is measured, no_data or error.
    """

    tables: tuple[TableProfile, ...]
    version: str

    @property
    def status(self) -> Status:
        """The worst status of any table: error, no_data, measured."""
        found = {table.status for table in self.tables}
        return next(status for status in EXIT_CODES if status in found)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, as in the JSON."""
        return {
            "kanon_sql": self.version,
            "format": FORMAT,
            "status": self.status,
            "tables": [table.to_dict() for table in self.tables],
        }

    def rows(self) -> list[dict[str, Any]]:
        """The columns of every table, each with its table's name."""
        return [
            {"table": table.name, **column.to_dict()}
            for table in self.tables
            for column in table.columns or ()
        ]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def page(self) -> Iterator[Block]:
        """The profile in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import profile

        return profile.page(self.tables)

    # IPython looks it up in the class that defines __repr__.
    _repr_pretty_ = Displayed._repr_pretty_

    def __repr__(self) -> str:
        """One line; `print` and notebooks show everything."""
        return in_a_line(self, self.status, [f"{each.name} {each.status}" for each in self.tables])
