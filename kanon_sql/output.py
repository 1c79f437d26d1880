"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

from kanon_sql.errors import SpecError


def check_writable(path: Path, *, inputs: Iterable[str], force: bool) -> None:
    """Raise `SpecError` unless `path` may be written.

    A file that the audit reads is never written, even with `force`.
    """
    if not path.parent.is_dir():
        raise SpecError(f"there is no folder {path.parent} to write {path.name} into.")
    if path.is_dir():
        raise SpecError(f"{path} is a folder; name a file.")
    if any(_same_file(path, source) for source in inputs):
        raise SpecError(f"{path} is what is audited and will not be written; name another file.")
    if path.is_file() and not force:
        raise SpecError(f"{path} is there already; --force overwrites it.")


def _same_file(path: Path, source: str) -> bool:
    """Whether the file is the source itself or one of those that the source, a glob, matches."""
    files = [source, *glob(source, recursive=True)]
    return path.exists() and any(os.path.exists(file) and path.samefile(file) for file in files)


def write_whole(path: Path, text: str) -> None:
    """Write the text beside `path` first, then put it in place in one step.

    What is no regular file, such as a pipe, is written to. Raises `SpecError` if nothing can be.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", newline="\n")
        else:
            _write_beside(path, text)
    except OSError as error:
        raise SpecError(f"{path} can't be written: {error.strerror}.") from None


def _write_beside(path: Path, text: str) -> None:
    with beside(path) as new:
        new.write_text(text, encoding="utf-8", newline="\n")
        put_in_place(new, path)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """An empty file in the same folder and of the same kind, which is gone in the end unless it
    was put in place. Raises `OSError`."""
    handle, new = tempfile.mkstemp(
        dir=path.parent.absolute(), prefix=f".{path.stem}.", suffix=path.suffix
    )
    os.close(handle)
    try:
        yield Path(new)
    finally:
        Path(new).unlink(missing_ok=True)


def put_in_place(new: Path, path: Path) -> None:
    """Let a finished file take the place of `path`, in one step."""
    new.chmod(_usual_mode(0o666))
    os.replace(new, path)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill beside `folder`, which takes its place when all went well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        yield beside
        beside.chmod(_usual_mode(0o777))
        if folder.exists():
            for file in beside.iterdir():
                os.replace(file, folder / file.name)
        else:
            beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _usual_mode(wanted: int) -> int:
    """The permissions that a new file would have: a temporary one is its owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    return wanted & ~mask
