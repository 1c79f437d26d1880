"""An audit that prints itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kanon_sql.results.table import AuditFindings, in_a_line

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class AuditResult(AuditFindings):
    """What an audit found in every table it looked at. Prints itself as the command line does."""

    def page(self) -> Iterator[Block]:
        """The result in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import audit

        return audit.page(self)

    def __str__(self) -> str:
        from kanon_sql.report import terminal

        return terminal.write(self.page())

    def __repr__(self) -> str:
        """One line; `print` and notebooks show the whole."""
        return in_a_line(self, self.status, [f"{each.name} {each.status}" for each in self.tables])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from kanon_sql.report import html

        return html.write(self.page())
