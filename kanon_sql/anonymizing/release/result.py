"""The result of a release, with the audit of what was released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.result import AuditResult
from kanon_sql.errors import InputError, PrivacyViolation
from kanon_sql.results.release import Form, ReleaseFindings
from kanon_sql.results.table import imported

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


class ReleasedTable:
    """The records of a release, ordered by their published values.

    No record is held in memory. On request the release is repeated on the same data and audited
    again, so that no unaudited record is returned. Decimals are `float64` in pandas, which has no
    such type.
    """

    def __init__(self, result: AnonymizationResult) -> None:
        self._result = result

    def to_pandas(self) -> Any:
        """A pandas DataFrame.

        Like the other conversions it raises `PrivacyViolation` if nothing may be published,
        `EngineError` if the data changed, `InputError` for a result that was read from a file or
        whose release stays in a database server, and `MissingDriverError`.
        """
        return self._as("pandas")

    def to_polars(self) -> Any:
        """A polars DataFrame; raises as `to_pandas` does."""
        return self._as("polars")

    def to_arrow(self) -> Any:
        """A pyarrow Table; raises as `to_pandas` does."""
        return self._as("pyarrow")

    def __repr__(self) -> str:
        return f"<ReleasedTable of {self._result!r}: to_pandas(), to_polars(), to_arrow()>"

    def _as(self, form: Form) -> Any:
        imported(form)
        result = self._result
        if result.status != "holds" and not (
            result.status == "violated" and result.anonymization.release
        ):
            raise PrivacyViolation(
                f"there is no release that may be published: the result is {result.status}."
            )
        if result.made_again is None:
            raise InputError(
                "this result tells of a release and has no records. Where the data lie in a "
                "warehouse, run its views there; of a result that was read or sent, call "
                "anonymize again."
            )
        return result.made_again(form)


@dataclass(frozen=True, repr=False)
class AnonymizationResult(ReleaseFindings, AuditResult):
    """The audit of a release, and how the release was made. `tables` holds the single release."""

    made_again: Callable[[Form], Any] | None = field(default=None, compare=False, repr=False)
    """Callback that repeats the release on the same data, audits it and returns its records."""

    @property
    def release(self) -> ReleasedTable:
        """The publishable records, as a table."""
        return ReleasedTable(self)

    def __getstate__(self) -> dict[str, Any]:
        """The pickled state, without the data of the release or values of a hierarchy file."""
        made = self.anonymization
        told = replace(made, views=(), views_without_values=made.views_for_reading)
        return {**vars(self), "made_again": None, "anonymization": told}

    def page(self) -> Iterator[Block]:
        """The release in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import release

        return release.page(self)
