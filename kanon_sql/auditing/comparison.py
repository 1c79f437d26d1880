"""The comparison of two results, with its representations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.report.display import Displayed
from kanon_sql.results.diff import Diff

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class Comparison(Displayed, Diff):
    """The changes from one result to the next. Its string form is the command's output."""

    def page(self) -> Iterator[Block]:
        """The comparison in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import diff

        return diff.page(self)

    # IPython looks it up in the class that defines __repr__.
    _repr_pretty_ = Displayed._repr_pretty_

    def __repr__(self) -> str:
        """One line; `print` and notebooks show everything."""
        return f"<Comparison {self.old} → {self.new}: {'worse' if self.is_worse else 'not worse'}>"
