"""An output folder of Parquet: written next to its place, audited, then renamed.

A classic session renames through Hadoop's file systems, with the cluster's own configuration. Spark
Connect has no such call, so there the client renames through pyarrow, on a file system that both
see.
"""

from __future__ import annotations

import os
import re
import time
from importlib import import_module
from typing import Any, Literal, Protocol
from uuid import uuid4

from kanon_sql.engines.spark import sessions
from kanon_sql.errors import KanonError, SpecError

State = Literal["missing", "file", "empty", "full"]
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NEED_PARENTS = re.compile(r"(file|hdfs|viewfs):|/")
"""Places whose folders exist by themselves; in an object store they are parts of names."""
_LATE = 5
"""Number of attempts to remove files, as cancelled tasks may still write some."""


class FileSystem(Protocol):
    """The calls that a release needs; each raises the driver's own errors."""

    qualified: str
    """The place as the cluster spells it."""

    def state(self, path: str) -> State: ...

    def create(self, path: str) -> bool: ...

    def rename(self, path: str, to: str) -> bool: ...

    def delete(self, path: str) -> None: ...


class OutputFolder:
    """The folder of a release. `path` is where the cluster writes it, `place` where it will be."""

    def __init__(self, session: Any, target: str, system: FileSystem) -> None:
        self.place = target.rstrip("/")
        self._target = system.qualified.rstrip("/")
        parent, _, name = self._target.rpartition("/")
        self._parent = parent or "/"
        self._temporary = f"{parent}/.{name}.{uuid4().hex[:8]}.unfinished"
        self.path = f"{self._temporary}/release"
        self._session = session
        self._system = system

    @classmethod
    def of(cls, session: Any, target: str) -> OutputFolder:
        """The folder at a path or URI. Raises `SpecError` if it can't be one."""
        if "\0" in target or not target.strip("/"):
            raise SpecError(
                "name the folder of the release: a path, or a URI that Spark can write."
            )
        place = target if _URI.match(target) else os.path.abspath(target)
        is_classic = getattr(session, "sparkContext", None) is not None
        try:
            system: FileSystem = _Hadoop(session, place) if is_classic else _Arrow(place)
            return cls(session, target, system)
        except Exception as error:
            raise _unwritable(target, error) from None

    def begin(self) -> None:
        """Create the folder next to its place. Raises `SpecError` if it can't be written."""
        try:
            self._require_free()
            if _NEED_PARENTS.match(self._target) and self._system.state(self._parent) in (
                "missing", "file",
            ):  # fmt: skip
                raise SpecError(f"there is no folder {self._parent} to write {self.place} into.")
            if not self._system.create(self._temporary):
                raise SpecError(f"{self.place} can't be written: no folder can be created there.")
            self._require_same_machine()
        except KanonError:
            self.remove()
            raise
        except Exception as error:
            self.remove()
            raise _unwritable(self.place, error) from None

    def put_in_place(self) -> None:
        """Rename the finished folder. Raises `SpecError` if its place was taken meanwhile."""
        try:
            self._require_free()
            if self._system.state(self._target) == "empty":
                self._system.delete(self._target)
            if not self._system.rename(self.path, self._target):
                raise SpecError(f"{self.place} can't be written: its folder can't be renamed.")
        except KanonError:
            raise
        except Exception as error:
            raise _unwritable(self.place, error) from None

    def remove(self) -> None:
        """Remove what is unfinished, along with the files of tasks that end late."""
        for attempt in range(_LATE):
            try:
                if self._system.state(self._temporary) == "missing":
                    return
                self._system.delete(self._temporary)
            except Exception:
                time.sleep(0.2 * attempt)

    def _require_free(self) -> None:
        match self._system.state(self._target):
            case "file":
                raise SpecError(f"{self.place} is a file; name a folder.")
            case "full":
                raise SpecError(
                    f"{self.place} is not empty, and Spark replaces no folder here. Name a new "
                    "one, or remove it."
                )

    def _require_same_machine(self) -> None:
        """Raise unless the server of Spark Connect sees the folder created by this client."""
        if isinstance(self._system, _Hadoop):
            return
        errors = sessions.errors()
        try:
            _ = self._session.read.parquet(self._temporary).schema
        except errors.AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                return
        raise SpecError(
            f"{self.place} is not the same folder on this machine and on the server of Spark "
            "Connect, so a finished release could not be renamed. Name a folder that both see, or "
            "run kanon-sql on the cluster."
        )


def _unwritable(place: str, error: Exception) -> SpecError:
    java = getattr(error, "java_exception", None)
    error_name = java.getClass().getSimpleName() if java is not None else type(error).__name__
    return SpecError(
        f"{place} can't be written by Spark ({error_name}). Name a folder, or a URI of a file "
        "system that the session is set up for."
    )


class _Hadoop:
    """The file system of a classic session."""

    def __init__(self, session: Any, place: str) -> None:
        context = session.sparkContext
        self._path = context._jvm.org.apache.hadoop.fs.Path
        path = self._path(place)
        self._system = path.getFileSystem(context._jsc.hadoopConfiguration())
        self.qualified = str(self._system.makeQualified(path).toString())

    def state(self, path: str) -> State:
        hadoop_path = self._path(path)
        if not self._system.exists(hadoop_path):
            return "missing"
        if not self._system.getFileStatus(hadoop_path).isDirectory():
            return "file"
        return "full" if len(self._system.listStatus(hadoop_path)) else "empty"

    def create(self, path: str) -> bool:
        return bool(self._system.mkdirs(self._path(path)))

    def rename(self, path: str, to: str) -> bool:
        return bool(self._system.rename(self._path(path), self._path(to)))

    def delete(self, path: str) -> None:
        self._system.delete(self._path(path), True)


class _Arrow:
    """The file system of this client, for Spark Connect, whose client has pyarrow."""

    def __init__(self, place: str) -> None:
        fs = import_module("pyarrow.fs")
        self._file_type = fs.FileType
        self._selector = fs.FileSelector
        self._system, inner = fs.FileSystem.from_uri(place)
        self._prefix = place.rstrip("/").removesuffix(inner.rstrip("/"))
        self.qualified = place

    def state(self, path: str) -> State:
        info = self._system.get_file_info(self._inner(path))
        if info.type == self._file_type.NotFound:
            return "missing"
        if info.type != self._file_type.Directory:
            return "file"
        return "full" if self._system.get_file_info(self._selector(info.path)) else "empty"

    def create(self, path: str) -> bool:
        self._system.create_dir(self._inner(path))
        return True

    def rename(self, path: str, to: str) -> bool:
        self._system.move(self._inner(path), self._inner(to))
        return True

    def delete(self, path: str) -> None:
        self._system.delete_dir(self._inner(path))

    def _inner(self, path: str) -> str:
        return path.removeprefix(self._prefix)
