"""The engine for Spark 4: local, standalone cluster, Spark Connect, or a user's open session.

It uses the API that classic sessions and Connect share. It creates nothing but temporary views of
relations without a catalogue name, which `close` drops, and the folder of a release if asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from kanon_sql.engines.base import Batches
from kanon_sql.engines.failures import (
    no_such_value,
    silenced,
    stopped,
    unreadable,
    unreadable_or_failed,
    withheld,
)
from kanon_sql.engines.names import display_name, name_parts
from kanon_sql.engines.readers import (
    TABLE_LOGS,
    folder_columns,
    in_table_format,
    require_no_folder_instead,
    require_usable_names,
)
from kanon_sql.engines.spark import sessions
from kanon_sql.engines.spark.output_folder import OutputFolder
from kanon_sql.engines.warehouse import Warehouse
from kanon_sql.errors import InputError, KanonError, SpecError, did_you_mean, nearest, option
from kanon_sql.files import KINDS
from kanon_sql.sql.dialects import type_of_templates
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table

FOLDER_TYPES = "spark.sql.sources.partitionColumnTypeInference.enabled"
POOL = "spark.scheduler.pool"
VARIABLES = "spark.sql.variable.substitute"
OTHER_KINDS = (
    *(suffix for suffix, kind in KINDS.items() if kind != "parquet"),
    *(".orc", ".avro"),
)
GLOB_CHARACTERS = "*?[{"
BATCH = 10_000
"""Number of rows that are handed on at a time."""
ResolvedTable = tuple[str, tuple[str, ...], Any, tuple[str, ...]]
"""Display name, FROM item, schema, and FROM item for a view that others read."""
_CHARACTER_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata key of string fields declared as CHAR or VARCHAR."""


class Spark(Warehouse):
    """Queries a Spark session; one that was not started here is left as it was."""

    name = "spark"
    dialect = "spark"
    most_scans = 8

    @classmethod
    def of_url(cls, url: str) -> Spark:
        """Start `spark:local[2]`, or connect to `spark://host:port` or `sc://host:port`."""
        started = sessions.started(url)
        try:
            return cls(started.session, started)
        except BaseException:
            started.close()
            raise

    def __init__(self, session: Any, started: sessions.Started | None = None) -> None:
        if not is_session(session):
            raise SpecError(
                f"a {type(session).__name__} of pyspark is no session. Pass the SparkSession, and "
                "the name of a table or temporary view in it."
            )
        self._session = session
        self._started = started
        self._tag = f"kanon_sql {uuid4()}"
        self._views: dict[str, str] = {}
        # A classic session's own tags are per thread, so another thread could not cancel by them.
        context = getattr(session, "sparkContext", None)
        self._add_tag = context.addJobTag if context else session.addTag
        self._remove_tag = context.removeJobTag if context else session.removeTag
        self._interrupt = context.cancelJobsWithTag if context else session.interruptTag
        self._tracker = context.statusTracker() if context else None
        self._read: set[str] = set()
        self._stages: Sequence[Any] = ()
        self._pool: str | None = None
        self._cached: list[str] = []
        sessions.require_settings(session)
        if context is None:
            session.registerProgressHandler(self._report_progress)

    def table(self, target: Any) -> Table:
        """Resolve a table or view by name, or Parquet by path.

        A path is a file, folder or glob; it contains a slash or ends in `.parquet`. Raises
        `InputError` for anything else.
        """
        if not isinstance(target, str):
            raise InputError(
                f"{type(target).__name__} can't be read by Spark: name a table or a path in it."
            )
        if target.lower().endswith(OTHER_KINDS):
            raise InputError(
                f"{target}: Spark reads only Parquet and tables here. Read the file "
                f"without {option('engine')}, or write it as Parquet."
            )
        with self._explaining():
            # Settings may have changed since the session was first checked.
            sessions.require_settings(self._session)
            name, from_item, schema, lasting = (
                self._by_path if _is_path(target) else self._by_name
            )(target)
        require_usable_names(target, schema.names)
        columns = tuple(_column(field) for field in schema.fields)
        self._read.update(map(_relation, (from_item, lasting)))
        return Table(
            name,
            _relation(from_item),
            columns,
            ordered=False,
            embedded=False,
            dialect=self.dialect,
            read_in_views=_relation(lasting) if lasting != from_item else "",
            temporary=len(lasting) == 1,
        )

    def another_session(self) -> Spark:
        """The same session under another tag, with a pool of its own where scheduling is FAIR."""
        other = Spark(self._session)
        for session in (self, other):
            session._pool = session._tag
        return other

    def materialise(self, name: str, sql: str) -> None:
        """Make one SELECT a cached temporary view."""
        self.drop(name)
        self.name_set(name, sql, cached=True)

    def create_view(self, name: str, sql: str) -> None:
        """Store a definition: a view of the records would be as large as they are."""
        super().materialise(name, sql)

    def name_set(self, name: str, sql: str, *, cached: bool) -> None:
        """Make one SELECT a temporary view, or a CTE if its name is taken in the session.

        The rows of a cached one stay on the executors from the first statement that reads it, and
        are computed again if one is lost.
        """
        if self._named_view(name, sql) and cached:
            with self._guarded():
                self._session.catalog.cacheTable(_spelled([name]))

    def _named_view(self, name: str, sql: str) -> bool:
        """Whether a SELECT could be made a temporary view of this name; else it becomes a CTE."""
        with self._guarded(), self._reading(self.in_dialect(sql)) as frame:
            try:
                frame.createTempView(_spelled([name]))
            except sessions.errors().AnalysisException as error:
                if error.getCondition() != "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS":
                    raise
                super().materialise(name, sql)
                return False
            self._cached.append(name)
            return True

    def drop(self, name: str) -> None:
        """Drop a temporary view with its rows, or a definition."""
        if name in self._cached:
            with self._guarded():
                self._session.catalog.dropTempView(name)
            self._cached.remove(name)
        elif name in self._defined:
            super().drop(name)

    def drop_all(self) -> None:
        """Drop every temporary view and definition made here, latest first."""
        for name in reversed(self._cached[:]):
            with suppress(Exception):
                self._session.catalog.dropTempView(name)
                self._cached.remove(name)
        super().drop_all()

    def renew(self) -> None:
        """Drop what an audit that ended has left."""
        self.drop_all()

    def check(self, sql: str) -> None:
        """Raise `SpecError` if Spark can't analyse the statement; nothing is executed."""
        with self._explaining():
            _ = self._session.sql(self._sendable(self.in_dialect(sql))).schema

    def files_read(self) -> Iterator[str]:
        """The files behind every resolved table, where Spark exposes them."""
        for relation in self._read:
            with suppress(Exception):
                for file in self._session.table(_spelled(name_parts(relation))).inputFiles():
                    yield unquote(file.removeprefix("file://"))

    def cancel(self) -> None:
        self._interrupt(self._tag)

    def progress(self) -> str:
        """Number of completed tasks of the running stages; more stages may follow."""
        if self._tracker is None:
            return _done((stage.num_completed_tasks, stage.num_tasks) for stage in self._stages)
        stages = map(self._tracker.getStageInfo, self._tracker.getActiveStageIds())
        return _done((stage.numCompletedTasks, stage.numTasks) for stage in stages if stage)

    def _report_progress(self, stages: Any, done: bool, **_: Any) -> None:
        """Progress callback of Spark Connect: store the running stages."""
        self._stages = () if done else [stage for stage in stages or () if not stage.done]

    def close(self) -> None:
        if self._tracker is None:
            with suppress(Exception):
                self._session.removeProgressHandler(self._report_progress)
        self.drop_all()
        while self._views:
            with suppress(Exception):
                self._session.catalog.dropTempView(self._views.popitem()[1])
        if self._started:
            self._started.close()

    @contextmanager
    def new_folder(self, target: str) -> Iterator[OutputFolder]:
        """A folder next to its place, removed unless it is renamed. Raises `SpecError`."""
        folder = OutputFolder.of(self._session, target)
        folder.begin()
        try:
            yield folder
        finally:
            folder.remove()

    def write_folder(self, sql: str, folder: OutputFolder, partition_by: str | None) -> Table:
        """Let the cluster write a SELECT as Parquet, and return the folder as a table.

        Its files are read in the types of the SELECT, also the values of `partition_by`, which are
        names of folders. Raises `EngineError`.
        """
        with self._guarded(), self._reading(self.in_dialect(sql)) as frame:
            writer = frame.write.partitionBy(partition_by) if partition_by else frame.write
            try:
                writer.parquet(folder.path)
                files = _without_skipping(self._session.read).schema(frame.schema)
                written = files.parquet(sessions.not_a_glob(folder.path))
                from_item = (self._viewed(f"{folder.place}/", written),)
            except Exception as error:
                raise self._explained(error, read=True) from None
        columns = tuple(_column(field) for field in written.schema.fields)
        return Table(
            folder.place,
            _relation(from_item),
            columns,
            ordered=False,
            embedded=False,
            dialect=self.dialect,
        )

    # --- FROM items -----------------------------------------------------------------------------

    def _by_name(self, target: str) -> ResolvedTable:
        """Resolve a table or view in the catalogue."""
        errors = sessions.errors()
        try:
            entry = self._session.catalog.getTable(_spelled(name_parts(target)))
        except errors.AnalysisException:
            names = [table.name for table in self._session.catalog.listTables()]
            raise InputError(
                f"there is no table or view {target} in Spark."
                f"{f' Tables and views: {nearest(target, names)}.' if names else ''}"
                f"{did_you_mean(target, names)} A folder of Parquet files is named with a slash "
                "at its end."
            ) from None
        from_item = (
            *([entry.catalog] if entry.catalog else []),
            *(entry.namespace or []),
            entry.name,
        )
        records, lasting = self._session.table(_spelled(from_item)), from_item
        if len(from_item) == 1:
            # Without a schema it would be shadowed by a CTE of its name.
            from_item = (self._viewed(f"temporary view {entry.name}", records),)
        name = display_name(target, from_item) if len(from_item) > 1 else entry.name
        return name, from_item, records.schema, lasting

    def _by_path(self, target: str) -> ResolvedTable:
        """Read Parquet by path into a view named after the path."""
        path = self._started.path(target) if self._started else target
        self._refuse_table_format(target, path)
        reader = _without_skipping(self._session.read.option("mergeSchema", True))
        files = reader.parquet(path)
        if folders := folder_columns(files.inputFiles()):
            self._require_folders_as_text(target)
            own = reader.option("recursiveFileLookup", True).parquet(path).columns
            require_no_folder_instead(target, folders, own)
        from_item = (self._viewed(target, files),)
        return target, from_item, files.schema, ("parquet", path)

    def _refuse_table_format(self, target: str, path: str) -> None:
        """Reject a folder with files that are no longer part of its table."""
        for log in TABLE_LOGS:
            reader = _without_skipping(self._session.read.format("binaryFile"))
            try:
                _ = reader.load(f"{path.rstrip('/')}/{log}").schema
            except sessions.errors().AnalysisException as error:
                if error.getCondition() != "PATH_NOT_FOUND":
                    raise
            else:
                raise in_table_format(target, log)

    def _require_folders_as_text(self, target: str) -> None:
        """Reject partition type inference, which would merge year=02 and year=2."""
        if self._session.conf.get(FOLDER_TYPES, "true").lower() == "true":
            raise InputError(
                f"{target}: the names of its folders are values, and Spark would read 02 and 2 as "
                f"equal. Set {FOLDER_TYPES} to false."
            )

    def _viewed(self, name: str, records: Any) -> str:
        """Create a temporary view, with a numbered name if this one is taken."""
        if name in self._views:
            records.createOrReplaceTempView(_spelled([self._views[name]]))
            return self._views[name]
        errors = sessions.errors()
        for index in count(1):
            numbered = name if index == 1 else f"{name} ({index})"
            try:
                records.createTempView(_spelled([numbered]))
            except errors.AnalysisException as error:
                if error.getCondition() != "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS":
                    raise
            else:
                break
        self._views[name] = numbered
        return numbered

    # --- queries --------------------------------------------------------------------------------

    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._reading(sql) as answer:
            names = answer.columns
            try:
                return names, answer.limit(most).collect()
            except Exception as error:
                raise self._explained(error, read=True) from None

    @contextmanager
    def _reading(self, sql: str) -> Iterator[Any]:
        """The data frame of a statement, whose jobs `cancel` ends."""
        with self._tagged(), silenced(*sessions.VALUE_LOGGERS):
            yield self._session.sql(self._sendable(sql))

    def _batches(self, sql: str, most: int) -> Batches:
        """The rows in batches, one partition at a time on the driver."""
        with self._reading(sql) as answer:
            try:
                rows = answer.limit(most).toLocalIterator()
                while batch := list(islice(rows, BATCH)):
                    yield batch
            except Exception as error:
                raise self._explained(error, read=True) from None

    @contextmanager
    def _tagged(self) -> Iterator[None]:
        """Tag the jobs of this thread, so that `cancel` ends them and no others."""
        self._add_tag(self._tag)
        try:
            with self._scheduled():
                yield
        finally:
            self._remove_tag(self._tag)

    @contextmanager
    def _scheduled(self) -> Iterator[None]:
        """Run the jobs of this thread in a pool, as those of one pool wait for each other."""
        context = getattr(self._session, "sparkContext", None) if self._pool else None
        if context is None:
            yield
            return
        before = context.getLocalProperty(POOL)
        context.setLocalProperty(POOL, self._pool)
        try:
            yield
        finally:
            context.setLocalProperty(POOL, before)

    def _sendable(self, sql: str) -> str:
        """The statement. Raises `SpecError` if variable substitution would change it."""
        if "${" in sql and self._session.conf.get(VARIABLES, "true").lower() == "true":
            raise SpecError(
                "a name or a text of the audit contains ${, which Spark would replace. "
                f"Set {VARIABLES} to false."
            )
        return sql

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        with self._guarded(), silenced(*sessions.VALUE_LOGGERS):
            yield

    def _explained(self, error: Exception, *, read: bool = False) -> KanonError:
        """Translate an error; with `read`, its message may contain values of rows."""
        errors = sessions.errors()
        # pyspark passes Java exceptions outside of queries through unconverted.
        cause = error if isinstance(error, errors.PySparkException) else _in_java(error)
        condition = cause.getCondition() if cause is not None else None
        match condition or "":
            case "PATH_NOT_FOUND":
                return InputError("Spark finds no file at the path.")
            case "UNABLE_TO_INFER_SCHEMA":
                return InputError("Spark finds no Parquet at the path.")
            case text if text.startswith(("FAILED_READ_FILE", "CANNOT_READ_FILE", "CANNOT_MERGE")):
                return InputError(
                    "a file can't be read as Parquet, or a column has other types in it than in "
                    "the rest. Write it anew."
                )
            case text if text.startswith(("OPERATION_CANCELED", "SPARK_JOB_CANCELLED")):
                return stopped()
        if isinstance(error, errors.ParseException | errors.AnalysisException):
            if read:
                return unreadable_or_failed("Spark", condition or type(error).__name__)
            return unreadable("Spark", f": {_first_line(error)}")
        of_values = (
            errors.ArithmeticException,
            errors.NumberFormatException,
            errors.DateTimeException,
            errors.IllegalArgumentException,
        )
        if isinstance(error, of_values):
            return no_such_value()
        if "cancel" in str(error).casefold():
            return stopped()
        return withheld("Spark", condition or type(error).__name__)


def is_session(target: Any) -> bool:
    """Whether an object is a Spark session, classic or Connect; pyspark need not be installed."""
    return any(
        kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(target).__mro__
    )


def _without_skipping(reader: Any) -> Any:
    """A reader that skips no file."""
    return reader.option("ignoreCorruptFiles", False).option("ignoreMissingFiles", False)


def _is_path(target: str) -> bool:
    if '"' in target:
        return False
    return target.lower().endswith(".parquet") or any(
        character in target for character in ("/", "\\", *GLOB_CHARACTERS)
    )


def _relation(names: Sequence[str]) -> str:
    """A relation as the templates spell it.

    >>> _relation(["health", "people"])
    '"health"."people"'
    """
    return ".".join(map(identifier, names))


def _spelled(parts: Sequence[str]) -> str:
    """A name quoted for Spark's catalogue.

    >>> _spelled(["health", "a`b"])
    '`health`.`a``b`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _column(field: Any) -> Column:
    """A column of a schema, with DuckDB's type name."""
    type: str = field.metadata.get(_CHARACTER_TYPE) or field.dataType.simpleString()
    if type == "void":
        return Column(field.name, '"NULL"')
    base_type = "string" if type.startswith("string ") else type
    fault = (
        f"({type}) treats different texts as equal, which would make classes look larger. Audit a "
        f"view with cast({field.name} as string)"
        f"{'' if type.startswith('char') else ' collate utf8_binary'}."
    )
    merging = type.startswith("char(") or (base_type != type and "UTF8_BINARY" not in type)
    return Column(
        field.name,
        type_of_templates(base_type, Spark.dialect),
        unusable_because=fault if merging else None,
    )


def _done(tasks: Iterable[tuple[int, int]]) -> str:
    """Completed tasks out of all.

    >>> _done([(3, 8), (0, 12)]), _done([])
    ('3 of 20 tasks', '')
    """
    completed, all = (sum(counts) for counts in zip((0, 0), *tasks, strict=True))
    return f"{completed:,} of {all:,} tasks" if all else ""


def _in_java(error: Exception) -> Any:
    """The first Spark exception with a condition within a py4j error, or None."""
    thrown = getattr(error, "java_exception", None)
    while thrown is not None:
        is_ours = thrown.getClass().getName().startswith("org.apache.spark.")
        if is_ours and "getCondition" in dir(thrown) and thrown.getCondition():
            return thrown
        thrown = thrown.getCause()
    return None


def _first_line(error: Exception) -> str:
    """Spark's message about the statement, before it has read any value."""
    return str(error).strip().splitlines()[0].split(" SQLSTATE")[0]
