"""The result of an audit, with its pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from kanon_sql.errors import InputError
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.report.display import Displayed
from kanon_sql.results.cells import CellVerdicts
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import AuditFindings, TableResult

if TYPE_CHECKING:
    from kanon_sql.report.diff import Comparison
    from kanon_sql.report.document import Block


@dataclass(frozen=True, repr=False)
class AuditResult(Displayed, AuditFindings):
    """The findings of an audit in every table. Its string form is the command's output."""

    def page(self) -> Iterator[Block]:
        """The result in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import audit

        return audit.page(self)

    def naming_every_cell(self) -> Self:
        """The result whose page names every cell that something was found against."""
        return replace(self, tables=tuple(table.naming_every_cell() for table in self.tables))

    @property
    def cells(self) -> CellVerdicts:
        """Each cell of a published table: its labels, the `primary` rules that it breaks, the step
        by which a suppressed one is `derivable`, the width of its `interval`, and if it is `ok`.
        `to_pandas()` makes a data frame, `to_csv()` a text.

        Raises `InputError` unless the cells were listed: `tables(…, list_cells=True)`.
        """
        lists = [table.listed for table in self.tables if table.listed is not None]
        if not lists or len(lists) < len(self.tables):
            raise InputError("the cells were not listed: tables(…, list_cells=True) lists them.")
        return CellVerdicts(cell for cells in lists for cell in cells)

    @suggests_parameters
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
        sql: Literal["attached", "linked"] = "attached",
        overwrite: bool = False,
    ) -> str | None:
        """Write the sign-off report as one HTML page; without a `path`, return it as text.

        It is a single file without scripts, holds counts only, and is identical for identical
        results. `earlier` is a result (or its JSON file) to compare with; `profile` and `tradeoff`
        are results (or JSON files) to include, as is a filled-in `worksheet`. `audience="external"`
        pools figures about fewer than `min_cell` records and omits the SQL; `sql="linked"` has
        the SHA-256 of each statement in its place.

        Raises `SpecError` for a file that exists, unless `overwrite` is set, that cannot be
        written, or whose name does not end with .html.
        """
        from kanon_sql.report.signed.inputs import page_of, returned_or_written

        def page() -> str:
            return page_of(
                self,
                earlier=earlier,
                profile=profile,
                tradeoff=tradeoff,
                worksheet=worksheet,
                audience=audience,
                min_cell=min_cell,
                sql=sql,
            )

        return returned_or_written(page, path, overwrite=overwrite)

    @suggests_parameters
    def chart(self, name: str | None = None, table: str | None = None) -> Any:
        """A chart as a Vega-Lite dictionary: `class_sizes` or `risk`, of `table` if there is more
        than one; without a name the list of charts. Raises `SpecError` for another name."""
        from kanon_sql.report.signed.inputs import chart_names, chart_of

        if name is None:
            return chart_names(self.tables)
        return chart_of(self.tables, name, table)

    def _failure(self, table: TableResult, check: CheckResult) -> str:
        """The line of its verdict, as the page has it."""
        from kanon_sql.report.words.models import verdict
        from kanon_sql.report.words.numbers import KEPT_TOGETHER, in_python_words

        line = verdict(check, table)
        extent = f"; {line.extent}" if line.extent else ""
        sentence = f"{line.title}: {line.achieved}{extent}".replace(KEPT_TOGETHER, " ")
        return in_python_words(sentence)

    def diff(self, earlier: AuditFindings | str | Path) -> Comparison:
        """The changes since an earlier result, or one in a JSON file: better, worse, checked less.

        Raises `InputError` for input that is not a result.
        """
        from kanon_sql.report.diff import Comparison
        from kanon_sql.report.signed.inputs import file_of
        from kanon_sql.results.diff import diff

        return Comparison(
            **vars(diff(file_of(earlier, "earlier result"), file_of(self, "this result")))
        )
