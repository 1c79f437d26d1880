"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from glob import glob
from pathlib import Path

from kanon_sql.errors import SpecError

if sys.platform != "win32":
    import fcntl

_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.kanon-sql")
"""The folder in which a file is written before it is put in place: a dot file without a suffix of
data, so that no glob takes it for one."""


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


def refuse_to_overwrite(paths: Iterable[Path], read: Iterable[str]) -> None:
    """Raise `SpecError` if a file that is to be written is one that is read, even with `force`."""
    there = [path for path in paths if path.exists()]
    for source in read if there else ():
        for path in there:
            if _same_file(path, source):
                raise SpecError(
                    f"{path} is read by what is audited and will not be written; name another file."
                )


def _same_file(path: Path, source: str) -> bool:
    """Whether the file is the source itself or one of those that the source, a glob, matches."""
    source = os.path.expanduser(source)
    # What can't be a path, or is out of reach, is no file that can be written.
    with suppress(OSError, ValueError):
        files = [source, *glob(source, recursive=True, include_hidden=True)]
        return path.exists() and any(os.path.exists(file) and path.samefile(file) for file in files)
    return False


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
    """An empty file on the same disk, which is gone in the end unless it was put in place.
    Raises `OSError`."""
    with _unfinished(path) as folder:
        new = folder / "unfinished"
        new.touch(mode=0o600)
        yield new


def _unfinished(path: Path) -> HeldFolder:
    return HeldFolder(path.parent.absolute(), f".{path.name[:50]}.", ".kanon-sql")


class HeldFolder:
    """A private folder that is gone in the end, and of which every run can tell whether the one
    that made it lives: it holds a lock that no death outlasts. Raises `OSError`."""

    def __init__(self, parent: Path, before: str, after: str = "") -> None:
        """Its name is made up, between `before` and `after`."""
        while True:
            self.path = parent / f"{before}{secrets.token_hex(8)}{after}"
            self._lock: list[int] = []
            # Before it is made, as an interrupt may come at once.
            self._let_go = weakref.finalize(self, _let_go, self.path, self._lock)
            try:
                self.path.mkdir(mode=0o700)
                self._lock.extend(_locked(self.path))
            except (BlockingIOError, FileNotFoundError):
                # Another run may have taken it for left over before it was locked.
                if not parent.is_dir():
                    raise
            if self.path.exists():
                return

    def remove(self) -> None:
        """Remove the folder and all in it; a second time does nothing."""
        self._let_go()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _let_go(folder: Path, lock: list[int]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    while lock:
        os.close(lock.pop())


def _locked(folder: Path) -> list[int]:
    """What holds the lock of a folder until it is closed; nothing where there are no locks.

    Raises `BlockingIOError` if a run that lives holds it.
    """
    if sys.platform == "win32":
        return []
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError) and not isinstance(error, BlockingIOError):
            return []
        raise
    return [handle]


def remove_leftovers(folder: Path, names: re.Pattern[str] = _UNFINISHED) -> list[str]:
    """Remove what killed runs left in a folder, and say so, a sentence for each.

    Removed is only what this user made, under a name of ours, and no run holds any more. What may
    be left over is named.
    """
    said = []
    with suppress(OSError), os.scandir(folder or ".") as entries:
        found = sorted(entry.name for entry in entries if names.fullmatch(entry.name))
        for path in (folder / name for name in found):
            with suppress(BlockingIOError, FileNotFoundError):
                said.append(
                    f"{path} was left over by a run that was killed, and is removed."
                    if _is_removed(path)
                    else f"{path} may be left over by a run that was killed. Remove it, unless "
                    "another run writes there."
                )
    return said


def _is_removed(path: Path) -> bool:
    """Whether a folder was ours and nobody's, and is gone. Raises `BlockingIOError` for one that a
    run holds."""
    found = path.lstat()
    if sys.platform == "win32" or not stat.S_ISDIR(found.st_mode):
        return False
    if found.st_uid == os.geteuid() and (lock := _locked(path)):
        _let_go(path, lock)
    return not path.exists()


placed: list[Path] = []
"""The files that were put in place in this process, the last one as soon as that may be so: a
signal that comes then comes too late to say that nothing was written."""


def put_in_place(new: Path, path: Path) -> None:
    """Let a finished file take the place of `path`, in one step."""
    new.chmod(_usual_mode(0o666))
    placed.append(path)
    try:
        os.replace(new, path)
    except BaseException:
        placed.remove(path)
        raise


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill beside `folder`, which takes its place when all went well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _unfinished(folder) as held:
        beside = held / folder.name
        beside.mkdir()
        yield beside
        beside.chmod(_usual_mode(0o777))
        if folder.exists():
            for file in beside.iterdir():
                os.replace(file, folder / file.name)
        else:
            beside.rename(folder)


def write_files(
    folder: Path, texts: Mapping[str, str], *, inputs: Iterable[str], force: bool
) -> None:
    """Write texts by their paths in a folder, all of them or none, and touch nothing else there.

    Raises `SpecError` for a file that is there already, unless with `force`; and for one numbered
    as these are that is none of them, which would be taken for a part of the same whole.
    """
    files = {folder / name: text for name, text in texts.items()}
    for file in files:
        others = sorted(set(file.parent.glob(f"[0-9][0-9]*_*{file.suffix}")) - set(files))
        if others:
            raise SpecError(
                f"{others[0]} is there and is none of what is written now, and the two would be "
                "taken for one. Remove it, or name another folder."
            )
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{folder} is a file; name a folder.")
    for file in files:
        if file.parent.exists():
            check_writable(file, inputs=inputs, force=force)
    try:
        _write_all(folder, files)
    except OSError as error:
        raise SpecError(f"{folder} can't be written: {error.strerror}.") from None


def _write_all(folder: Path, files: Mapping[Path, str]) -> None:
    """Write every file beside its place first; what fails then puts back what was there."""
    made = [each for each in _folders(folder, files) if not each.exists()]
    with ExitStack() as undo:
        for each in made:
            each.mkdir()
            undo.callback(each.rmdir)
        ready = {}
        with ExitStack() as waiting:
            for file, text in files.items():
                ready[file] = waiting.enter_context(beside(file))
                ready[file].write_text(text, encoding="utf-8", newline="\n")
            for file, new in ready.items():
                before = file.read_bytes() if file.exists() else None
                put_in_place(new, file)
                undo.callback(_put_back, file, before)
        undo.pop_all()


def _folders(folder: Path, files: Iterable[Path]) -> list[Path]:
    """The folder, those above it and those of the files, from the top down."""
    wanted = {parent for file in files for parent in file.parents}
    return sorted(wanted | {folder}, key=lambda each: len(each.parts))


def _put_back(file: Path, before: bytes | None) -> None:
    if before is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(before)


def _usual_mode(wanted: int) -> int:
    """The permissions that a new file would have: a temporary one is its owner's alone."""
    mask = os.umask(0)
    os.umask(mask)
    return wanted & ~mask
