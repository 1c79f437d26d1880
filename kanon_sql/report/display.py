"""A base class for values that render themselves: as text, or as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


class Displayed:
    """A value with a page. Printed like on the command line; notebooks get Python advice."""

    def page(self) -> Iterator[Block]:
        """The value as blocks, for any writer of `kanon_sql.report`."""
        raise NotImplementedError

    def __str__(self) -> str:
        from kanon_sql.report import terminal

        return terminal.write(self.page())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython's text representation."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from kanon_sql.report import html
        from kanon_sql.report.words.in_python import in_python

        return html.write(in_python(self.page()))
