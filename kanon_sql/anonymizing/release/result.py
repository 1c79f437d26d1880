"""The result of a release, with the audit of what was released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.result import AuditResult
from kanon_sql.engines.base import Hub
from kanon_sql.engines.duckdb.files import Evidence
from kanon_sql.engines.duckdb.released_frames import column_types, with_types
from kanon_sql.errors import EngineError, InputError, KanonError, PrivacyViolation
from kanon_sql.files import file_kind, spill_folder
from kanon_sql.results.json_part import UNWRITTEN
from kanon_sql.results.release import Form, ReleaseFindings
from kanon_sql.results.tabular import imported

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


class ReleasedTable:
    """The records of a release, ordered by their published values.

    No record is held in memory: they are read from the Parquet file that was written, or from a
    private one that is removed with the result. Columns of a data frame that are released unchanged
    keep their values and their time zone. In pandas, decimals are Python's.
    """

    def __init__(self, result: AnonymizationResult) -> None:
        self._result = result

    def to_pandas(self) -> Any:
        """A pandas DataFrame.

        Like the other conversions it raises `PrivacyViolation` if nothing may be published,
        `EngineError` if its file changed, `InputError` for a result that was read from a file or
        whose release stays in a database server, and `MissingDriverError`.
        """
        return self._as_frame("pandas")

    def to_polars(self) -> Any:
        """A polars DataFrame; raises as `to_pandas` does."""
        return self._as_frame("polars")

    def to_arrow(self) -> Any:
        """A pyarrow Table; raises as `to_pandas` does."""
        return self._as_frame("pyarrow")

    def __repr__(self) -> str:
        return f"<ReleasedTable of {self._result!r}: to_pandas(), to_polars(), to_arrow()>"

    def _as_frame(self, form: Form) -> Any:
        imported(form)
        result = self._result
        if not result.is_publishable:
            raise PrivacyViolation(
                f"there is no release that may be published: the result is {result.status}."
            )
        if result.kept_records is None:
            raise InputError(
                "this result describes a release and has no records. If the data lie in a "
                "warehouse, run its views there; of a result that was read or sent, call "
                "anonymize again."
            )
        return result.kept_records.read(form)


class KeptRecords:
    """The audited records of a release: its Parquet output, or a file in a private folder, which is
    removed when the last result that refers to it is gone."""

    def __init__(self, output: Path | None, hub: Hub, source: Any) -> None:
        self._types = column_types(source)
        self._fingerprint = Evidence()
        self._fault: KanonError | None = None
        if output is not None and file_kind(output.name) == "parquet":
            self._folder, self.file = None, output.absolute()
        else:
            self._folder = spill_folder()
            self.file = self._folder.path / "release.parquet"
            hub.will_write(self.file, self.file)

    def write(self, hub: Hub, name: str) -> None:
        """Write a relation to the private file. An error is raised only when it is read."""
        if self._folder is None:
            return
        try:
            hub.write(name, self.file)
        except KanonError as error:
            self._fault = type(error)(error.marked)

    def take_fingerprint(self) -> None:
        """Note what the written file looks like, so that no other one is read instead."""
        if self._fault is None:
            self._fingerprint.note([str(self.file)])

    def read(self, form: Form) -> Any:
        """The records as an object of the library that is named."""
        from kanon_sql.engines.duckdb.engine import DuckDBEngine

        if self._fault is not None:
            raise self._fault
        try:
            self._fingerprint.verify_unchanged()
        except EngineError:
            raise EngineError(
                f"{self.file} is not the release that was written; call anonymize again."
            ) from None
        with DuckDBEngine() as hub:
            return with_types(hub.records(hub.table(self.file), form), self._types)


@dataclass(frozen=True, repr=False)
class AnonymizationResult(ReleaseFindings, AuditResult):
    """The audit of a release, and how the release was made. `tables` holds the single release."""

    kept_records: KeptRecords | None = field(default=None, compare=False, metadata=UNWRITTEN)
    """None for a server's release, and for a result that was read or sent."""

    @property
    def release(self) -> ReleasedTable:
        """The publishable records, as a table."""
        return ReleasedTable(self)

    @property
    def is_publishable(self) -> bool:
        """Whether the release holds, or was written although it is violated."""
        forced = self.status == "violated" and self.anonymization.release is not None
        return self.status == "holds" or forced

    def __getstate__(self) -> dict[str, Any]:
        """The pickled state, without the data of the release or values of a hierarchy file."""
        anonymization = self.anonymization
        printed = replace(
            anonymization, views=(), views_without_values=anonymization.views_for_reading
        )
        return {**vars(self), "kept_records": None, "anonymization": printed}

    def page(self) -> Iterator[Block]:
        """The release in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import release

        return release.page(self)

    def brief(self) -> Iterator[Block]:
        """The verdict and the cost of the release, without the tables of `page`."""
        from kanon_sql.report import release

        return release.brief(self)
