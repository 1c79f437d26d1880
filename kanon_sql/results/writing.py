"""The atomic writing of files or folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path

from kanon_sql.errors import SpecError, option
from kanon_sql.files import LockedFolder, remove_leftovers


def check_writable(path: Path, *, inputs: Iterable[str], overwrite: bool) -> None:
    """Raise `SpecError` unless `path` may be written.

    A file that the audit reads is never written, even with `overwrite`, nor is a new one that the
    same audit would read the next time.
    """
    inputs = tuple(inputs)
    if not path.parent.is_dir():
        raise SpecError(f"there is no folder {path.parent} to write {path.name} into.")
    if path.is_dir():
        raise SpecError(f"{path} is a folder; name a file.")
    if any(_same_file(path, source) for source in inputs):
        raise SpecError(f"{path} is what is audited and will not be written; name another file.")
    if source := next((source for source in inputs if _would_be_read(path, source)), None):
        raise SpecError(
            f"{path} would be read as a part of {source} by the next audit; name another folder."
        )
    if path.is_file() and not overwrite:
        raise SpecError(f"{path} exists; add {option('overwrite', True)} to replace it.")


def refuse_to_overwrite(paths: Iterable[Path], read: Iterable[str]) -> None:
    """Raise `SpecError` if an output file is also an input, even with `overwrite`."""
    there = [path for path in paths if path.exists()]
    for source in read if there else ():
        for path in there:
            if _same_file(path, source):
                raise SpecError(
                    f"{path} is read by what is audited and will not be written; name another file."
                )


def _same_file(path: Path, source: str) -> bool:
    """Whether the file is the source itself, or matches it as a glob."""
    source = os.path.expanduser(source)
    # A path that is invalid or inaccessible can't be written anyway.
    with suppress(OSError, ValueError):
        files = [source, *glob(source, recursive=True, include_hidden=True)]
        return path.exists() and any(os.path.exists(file) and path.samefile(file) for file in files)
    return False


def _would_be_read(path: Path, source: str) -> bool:
    """Whether a source that is a glob, or a folder of Parquet files, includes a path."""
    source = os.path.expanduser(source)
    pattern = f"{source}**/*.parquet" if source.endswith("/") else source
    if not has_magic(pattern) or os.path.isfile(pattern):
        return False
    return _matches(path.absolute().parts, Path(os.path.abspath(pattern)).parts)


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the names of a path match those of a glob, in which `**` stands for any number.

    >>> _matches(["a", "b", "c.csv"], ["a", "**", "*.csv"]), _matches(["c.csv"], ["a", "*.csv"])
    (True, False)
    """
    if not patterns or not names:
        return not names and all(pattern == "**" for pattern in patterns)
    if patterns[0] == "**":
        return _matches(names, patterns[1:]) or _matches(names[1:], patterns)
    return fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])


def write_atomically(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text to a temporary file next to `path` and rename it; `private` sets mode 0600.

    A path that is not a regular file, such as a pipe, is written directly. Raises `SpecError` on
    failure.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8", newline="\n")
        else:
            with temporary_file(path) as new:
                new.write_text(text, encoding="utf-8", newline="\n")
                put_in_place(new, path, private=private)
    except OSError as error:
        raise SpecError(f"{path} can't be written: {error.strerror}.") from None


@contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """An empty temporary file on the same disk, removed unless `put_in_place`. Raises `OSError`."""
    with _unfinished(path) as folder:
        new = folder / "unfinished"
        new.touch(mode=0o600)
        yield new


def _unfinished(path: Path) -> LockedFolder:
    remove_leftovers(path.parent)
    return LockedFolder(path.parent.absolute(), f".{path.name[:50]}.", ".kanon-sql")


placed: list[Path] = []
"""The files renamed into place by this process.

The last is listed right before the rename: a signal arriving then can no longer report that nothing
was written.
"""


def put_in_place(new: Path, path: Path, *, private: bool = False) -> None:
    """Rename a finished file to `path`."""
    new.chmod(0o600 if private else _usual_mode(0o666))
    with listed_as_placed(path):
        os.replace(new, path)


@contextmanager
def listed_as_placed(path: Path) -> Iterator[None]:
    """List a path in `placed`, unless renaming it fails."""
    placed.append(path)
    try:
        yield
    except BaseException:
        placed.remove(path)
        raise


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that replaces `folder` if no error occurs.

    Raises `SpecError` if it, or a file in it, can't be written.
    """
    wanted, folder = folder, folder.resolve()  # `.` has no name of its own
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _unfinished(folder) as unfinished:
            temporary_file = unfinished / folder.name
            temporary_file.mkdir()
            yield temporary_file
            temporary_file.chmod(_usual_mode(0o777))
            if folder.exists():
                for file in temporary_file.iterdir():
                    os.replace(file, folder / file.name)
            else:
                temporary_file.rename(folder)
    except OSError as error:
        raise SpecError(f"{wanted} can't be written: {error.strerror}.") from None


def write_files(
    folder: Path, texts: Mapping[str, str], *, inputs: Iterable[str], overwrite: bool
) -> None:
    """Write several files into a folder, all or none, leaving others untouched.

    Raises `SpecError` for an existing file, unless `overwrite`, and for an unrelated file with the
    same numbering, which would be taken for one of these.
    """
    files = {folder / name: text for name, text in texts.items()}
    for file in files:
        unrelated = sorted(set(file.parent.glob(f"[0-9][0-9]*_*{file.suffix}")) - set(files))
        if unrelated:
            raise SpecError(
                f"{unrelated[0]} is there and is none of what is written now, and the two would be "
                "taken for one. Remove it, or name another folder."
            )
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{folder} is a file; name a folder.")
    for file in files:
        if file.parent.exists():
            check_writable(file, inputs=inputs, overwrite=overwrite)
    try:
        _write_all(folder, files)
    except OSError as error:
        raise SpecError(f"{folder} can't be written: {error.strerror}.") from None


def write_together(files: Mapping[Path, str | Path], *, private: Iterable[Path] = ()) -> None:
    """Write several files, all or none: texts, or a finished file on the same disk, which is moved.
    `private` ones get mode 0600.

    Raises `SpecError` where one can't be written.
    """
    first = next(iter(files))
    try:
        _write_all(first.parent, files, frozenset(private))
    except OSError as error:
        raise SpecError(f"{error.filename or first} can't be written: {error.strerror}.") from None


def _write_all(
    folder: Path, files: Mapping[Path, str | Path], private: frozenset[Path] = frozenset()
) -> None:
    """Write every temporary file first, then rename; on failure, restore the former content."""
    created = [path for path in _folders(folder, files) if not path.exists()]
    with ExitStack() as undo:
        for path in created:
            path.mkdir()
            undo.callback(path.rmdir)
        ready = {}
        with ExitStack() as waiting:
            for file, text in files.items():
                if isinstance(text, Path):
                    ready[file] = text
                    continue
                ready[file] = waiting.enter_context(temporary_file(file))
                ready[file].write_text(text, encoding="utf-8", newline="\n")
            for file in [*ready][:-1]:
                before = file.read_bytes() if file.exists() else None
                put_in_place(ready[file], file, private=file in private)
                undo.callback(_put_back, file, before)
            # Nothing can fail after the last, so its former content, maybe large, is not kept.
            for file in [*ready][-1:]:
                put_in_place(ready[file], file, private=file in private)
        undo.pop_all()


def _folders(folder: Path, files: Iterable[Path]) -> list[Path]:
    """The folder, its parents and those of the files, top down."""
    wanted = {parent for file in files for parent in file.parents}
    return sorted(wanted | {folder}, key=lambda path: len(path.parts))


def _put_back(file: Path, before: bytes | None) -> None:
    if before is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(before)


def _usual_mode(wanted: int) -> int:
    """The permissions of a new file under the umask, as a temporary one has 0600."""
    mask = os.umask(0)
    os.umask(mask)
    return wanted & ~mask
