"""A base class for values that render themselves: as text, or as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


class Chart(dict[str, Any]):
    """A Vega-Lite chart, which notebooks draw, with an SVG of lines and points for those without
    Vega-Lite."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from kanon_sql.report.charts import is_drawn, svg

        return {
            "application/vnd.vegalite.v5+json": dict(self),
            **({"image/svg+xml": svg(self)} if is_drawn(self) else {}),
            "text/plain": repr(self),
        }

    def __repr__(self) -> str:
        return f"<Chart {self.get('description')}>"


class Displayed:
    """A value with a page, whose advice is Python's: `str` is the text, notebooks show HTML."""

    def page(self) -> Iterator[Block]:
        """The value as blocks, for any writer of `kanon_sql.report`."""
        raise NotImplementedError

    def brief(self) -> Iterator[Block]:
        """The blocks that a terminal shows."""
        return self.page()

    def _in_a_line(self) -> str:
        """The status of the result and of each table, for its repr."""
        result: Any = self
        tables = [f"{table.name} {table.status}" for table in result.tables]
        return f"{result.status}: {', '.join(tables) or 'no table'}"

    def __repr__(self) -> str:
        """One line; `print` and notebooks show everything."""
        return f"<{type(self).__name__} {self._in_a_line()}>"

    def __str__(self) -> str:
        from kanon_sql.report import terminal
        from kanon_sql.report.words.numbers import in_python

        return terminal.write(in_python(self.brief()))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython's text representation."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from kanon_sql.report import html
        from kanon_sql.report.words.numbers import in_python

        return html.write(in_python(self.page()))
