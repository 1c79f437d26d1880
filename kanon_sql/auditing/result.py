"""An audit that prints itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.report.display import Displayed
from kanon_sql.results.table import AuditFindings, in_a_line

if TYPE_CHECKING:
    from kanon_sql.auditing.comparison import Comparison
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class AuditResult(Displayed, AuditFindings):
    """What an audit found in every table it looked at. Prints itself as the command line does."""

    def page(self) -> Iterator[Block]:
        """The result in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import audit

        return audit.page(self)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        earlier: AuditFindings | str | Path | None = None,
        profile: Any = None,
        tradeoff: Any = None,
        worksheet: str | Path | None = None,
        audience: Literal["internal", "external"] = "internal",
        min_cell: int = 10,
        force: bool = False,
    ) -> str | None:
        """Write the page that one signs; without a `path`, give it as text.

        It is one file without a script, holds counts only, and is the same for the same result.
        `earlier` is a result (or its JSON file) to compare with; `profile` and `tradeoff` are
        results (or JSON files) to quote, and so is a filled `worksheet`. `audience="external"`
        pools what concerns fewer than `min_cell` records and leaves out the SQL. Curves are drawn
        where the `[report]` extra is installed, and are tables elsewhere.

        Raises `SpecError` for a file that is there, unless `force` is given, that can't be written
        or that ends with something else than .html.
        """
        from kanon_sql.report.signed.inputs import given, page_of

        def page() -> str:
            return page_of(
                self,
                earlier=earlier,
                profile=profile,
                tradeoff=tradeoff,
                worksheet=worksheet,
                audience=audience,
                min_cell=min_cell,
            )

        return given(page, path, force=force)

    def chart(self, name: str, table: str | None = None) -> dict[str, Any]:
        """A chart as a Vega-Lite dictionary: `class_sizes` or `risk`; of which `table`, where
        there are several. Raises `SpecError` for another name."""
        from kanon_sql.report.signed.inputs import chart_of

        return chart_of(self.tables, name, table)

    def diff(self, earlier: AuditFindings | str | Path) -> Comparison:
        """What changed since an earlier result, or one in a JSON file: better, worse, asked less.

        Raises `InputError` for what is no result.
        """
        from kanon_sql.auditing.comparison import Comparison
        from kanon_sql.report.signed.inputs import file_of
        from kanon_sql.results.diff import diff

        return Comparison(**vars(diff(file_of(earlier, "then"), file_of(self, "now"))))

    # IPython looks for it in the class that has a __repr__.
    _repr_pretty_ = Displayed._repr_pretty_

    def __repr__(self) -> str:
        """One line; `print` and notebooks show the whole."""
        return in_a_line(self, self.status, [f"{each.name} {each.status}" for each in self.tables])
