"""Files: their formats by suffix, temporary folders with a lock."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from kanon_sql.errors import EngineError, SpecError

Kind = Literal["parquet", "csv", "json", "arrow"]
Decimal = Literal[".", ","]
"""The mark before the decimals of a text file's numbers."""

_SUFFIXES: dict[Kind, str] = {
    "parquet": ".parquet .pq",
    "csv": ".csv .tsv .txt .csv.gz .tsv.gz .txt.gz",
    "json": ".json .jsonl .ndjson",
    "arrow": ".arrow .feather .ipc",
}
KINDS = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def file_kind(path: str) -> Kind | None:
    """The format of a file by its suffix, or None.

    >>> file_kind("data/2024-*.CSV.gz"), file_kind("https://host/visits.parquet?versionId=3")
    ('csv', 'parquet')
    """
    lower = (path_of_url(path) if is_url_of_object(path) else path).lower()
    return next((kind for suffix, kind in KINDS.items() if lower.endswith(suffix)), None)


class ForeignFormat(NamedTuple):
    """A format that DuckDB doesn't read: the program that has it, and how to convert a file."""

    program: str
    way_out: str


_WITH_PANDAS = (
    'Convert it, for example with pandas: pd.{0}("{1}").to_parquet("{2}", index=False), or pass '
    "the data frame to kanon_sql.audit."
)
_EXPORT = "Write it as CSV or Parquet there."
_FOREIGN = {
    ".xlsx .xls .xlsm .xlsb": ("Excel", "read_excel"),
    ".ods": ("LibreOffice", "read_excel"),
    ".dta": ("Stata", "read_stata"),
    ".sav .zsav": ("SPSS", "read_spss"),
    ".sas7bdat .xpt": ("SAS", "read_sas"),
    ".orc": ("ORC", "read_orc"),
    ".pkl .pickle": ("pandas", "read_pickle"),
    ".h5 .hdf5": ("HDF5", "read_hdf"),
    ".por": ("SPSS", ""),
    ".rds .rda .rdata": ("R", ""),
    ".avro": ("Avro", ""),
    ".mdb .accdb": ("Access", ""),
}
"""The program and pandas' reader of each format, by its suffixes."""


OFFICE = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "sheet"),
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The formats that the extra `files` reads: sheets, or a function of pyreadstat."""


class OfficeFile(NamedTuple):
    """A workbook, with its sheet or range, or a data file of a statistics program."""

    path: str
    suffix: str
    part: str
    """What follows a #: a sheet, a range, or a sheet with a range."""


def office_file(target: str) -> OfficeFile | None:
    """The file of a target that the extra `files` reads, or None.

    >>> office_file("data/book.xlsx#Sheet1!A3:F900")
    OfficeFile(path='data/book.xlsx', suffix='.xlsx', part='Sheet1!A3:F900')
    >>> office_file("survey.SAV").suffix, office_file("survey.csv")
    ('.sav', None)
    """
    of_whole = PurePath(target).suffix.lower()
    if of_whole in OFFICE:
        return OfficeFile(target, of_whole, "")
    path, mark, part = target.partition("#")
    suffix = PurePath(path).suffix.lower()
    return OfficeFile(path, suffix, part) if mark and part and suffix in OFFICE else None


def foreign_format(path: str) -> ForeignFormat | None:
    """The format of a file that has to be converted first, by its suffix.

    >>> foreign_format("data/Survey.SAV").program, foreign_format("survey.csv")
    ('SPSS', None)
    """
    name = PurePath(path)
    suffix = name.suffix.lower()
    formats = (foreign for suffixes, foreign in _FOREIGN.items() if suffix in suffixes.split())
    program, reader = next(formats, ("", ""))
    if not program:
        return None
    to_convert = _WITH_PANDAS.format(reader, path, name.with_suffix(".parquet"))
    return ForeignFormat(program, to_convert if reader else _EXPORT)


def is_typed_file(name: str) -> bool:
    """Whether the file's format has column types, judged by its suffix."""
    return file_kind(name) not in ("csv", None)


def null_text(null_strings: Sequence[str]) -> str:
    """The text that represents NULL in a text file: the first of `null_strings`, or an empty field.

    >>> null_text([]), null_text(["", "NA", "-"])
    ('', 'NA')
    """
    return next(filter(None, null_strings), "")


def codec(encoding: str) -> str:
    """The name of a codec of text. Raises `SpecError` if Python has none of this name.

    >>> codec("latin1"), codec("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        name = codecs.lookup(encoding).name
        with suppress(UnicodeError):
            b"a".decode(encoding)
    except LookupError:
        raise SpecError(
            "an encoding must be a codec of Python, such as cp1252 (Windows), latin-1, utf-16, "
            f"cp850 (DOS) or mac-roman; found {encoding!r}."
        ) from None
    return "utf-8" if name == "utf-8-sig" else name


def sha256_of(path: str | Path) -> str:
    """The hexadecimal SHA-256 digest of a file. Raises `OSError`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stem(name: str) -> str:
    """The file name without its format suffix.

    >>> stem("data/patients.csv.gz"), stem("main.visits")
    ('patients', 'main.visits')
    """
    suffix = max((kind for kind in KINDS if name.lower().endswith(kind)), key=len, default="")
    return PurePath(name[: -len(suffix)]).name if suffix else name


if sys.platform != "win32":
    import fcntl


_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.kanon-sql")
"""The folder for a file until it is complete: a dot file without a data suffix, so that no glob
matches it."""
_SPILL = re.compile("kanon-sql-spill-[0-9a-f]{16}")


class LockedFolder:
    """A private temporary folder with a lock; other runs test the lock to see whether the owner is
    alive.

    The lock ends with the process. Raises `OSError`.
    """

    def __init__(self, parent: Path, before: str, after: str = "") -> None:
        """Create a folder with a random name between `before` and `after`."""
        while True:
            self.path = parent / f"{before}{secrets.token_hex(8)}{after}"
            self._lock: list[int] = []
            # Registered before creation, as an interrupt may follow at once.
            self._finalizer = weakref.finalize(
                self, _remove_and_unlock, self.path, self._lock, os.getpid()
            )
            self.path.mkdir(mode=0o700)
            # Another run may remove it as a leftover before it is locked.
            with suppress(BlockingIOError, FileNotFoundError):
                self._lock.extend(_locked(self.path))
            if self.path.exists():
                return

    def remove(self) -> None:
        """Remove the folder and its content; idempotent."""
        self._finalizer()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _remove_and_unlock(folder: Path, lock: list[int], owner: int | None = None) -> None:
    """Remove a folder and end its lock, but not in a process that was forked from its owner."""
    if owner not in (None, os.getpid()):
        return
    shutil.rmtree(folder, ignore_errors=True)
    while lock:
        os.close(lock.pop())


def _locked(folder: Path) -> list[int]:
    """The file descriptor that holds a folder's lock; empty on platforms without locks.

    Raises `BlockingIOError` if a live run holds it.
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
    """Remove the temporary folders of killed runs; returns one message per folder.

    Only unlocked folders of this user with our naming scheme are removed. Doubtful ones are
    reported.
    """
    messages = []
    with suppress(OSError), os.scandir(folder or ".") as entries:
        leftovers = sorted(entry.name for entry in entries if names.fullmatch(entry.name))
        for path in (folder / name for name in leftovers):
            with suppress(BlockingIOError, FileNotFoundError):
                messages.append(
                    f"{path} was left over by a run that was killed, and is removed."
                    if _is_removed(path)
                    else f"{path} may be left over by a run that was killed. Remove it, unless "
                    "another run writes there."
                )
    return messages


def spill_folder() -> LockedFolder:
    """A temporary folder for DuckDB to spill to; removes those of killed runs first. Raises
    `EngineError`."""
    try:
        parent = Path(tempfile.gettempdir())
        remove_leftovers(parent, _SPILL)
        return LockedFolder(parent, "kanon-sql-spill-")
    except OSError as error:
        raise EngineError(
            f"can't create a private folder for DuckDB to spill to ({error.strerror}). "
            "Set TMPDIR to a writable folder."
        ) from None


def _is_removed(path: Path) -> bool:
    """Whether an unlocked folder of ours was removed. Raises `BlockingIOError` if it is in use."""
    status = path.lstat()
    if sys.platform == "win32" or not stat.S_ISDIR(status.st_mode):
        return False
    if status.st_uid == os.geteuid() and (lock := _locked(path)):
        _remove_and_unlock(path, lock)
    return not path.exists()


def is_sqlite(path: str) -> bool:
    """Whether a file is a SQLite database, by its magic bytes."""
    return first_bytes(path, 16) == b"SQLite format 3\0"


REDACTED = "…"


def without_credentials(text: str) -> str:
    """A URL without user, password and query string; any other text as it is.

    >>> without_credentials("postgresql://ann:secret@db.example:5432/clinic?password=other")
    'postgresql://…@db.example:5432/clinic?…'
    >>> without_credentials("postgresql://ann:sec?ret@db.example/clinic")
    'postgresql://…'
    >>> without_credentials("data/*.parquet")
    'data/*.parquet'
    >>> without_credentials("voters=https://ann:secret@host/f.parquet?sig=secret#token")
    'voters=https://…@host/f.parquet?…'
    """
    scheme, is_url, rest = text.partition("://")
    if not is_url:
        return text
    own = scheme.rpartition("=")[2]
    if is_url_of_object(f"{own}://"):
        return f"{scheme}://{_object_without_credentials(own, rest)}"
    place, has_options, options = rest.partition("?")
    if "@" in options:  # what looks like options may be the rest of a password
        return f"{scheme}://{REDACTED}"
    _, has_user, host = place.rpartition("@")
    user = f"{REDACTED}@" if has_user else ""
    return f"{scheme}://{user}{host}" + (f"?{REDACTED}" if has_options else "")


def _object_without_credentials(scheme: str, rest: str) -> str:
    """What follows the scheme of an object's URL, without user, password, query and fragment.

    >>> _object_without_credentials("abfss", "clinic@account.dfs.example/f.parquet")
    'clinic@account.dfs.example/f.parquet'
    >>> _object_without_credentials("https", "ann:sec/ret@host/f.parquet?a@b")
    '…'
    """
    place = path_of_url(rest)
    authority, slash, path = place.partition("/")
    user, has_user, host = authority.rpartition("@")
    if not re.fullmatch(r"[^:]*(:\d*)?|\[.*\](:\d*)?", host):
        return REDACTED  # The rest of a password may stand where a path or a query does.
    is_container = has_user and scheme.startswith("abfs") and ":" not in user
    shown = f"{user}@" if is_container else f"{REDACTED}@" if has_user else ""
    return f"{shown}{host}{slash}{path}" + (f"?{REDACTED}" if place != rest else "")


AMAZON = ("s3", "s3a", "s3n")
AZURE = ("az", "azure", "abfs", "abfss")
WEB = ("http", "https")
_OBJECT_SCHEMES = (*AMAZON, *AZURE, *WEB, "gs", "gcs", "r2")


def is_url_of_object(text: str) -> bool:
    """Whether a text is the URL of an object, or of several, in a store or on a web server.

    >>> [is_url_of_object(text) for text in ("s3://clinic/*.csv", "postgresql://host", "a.csv")]
    [True, False, False]
    """
    scheme, is_url, _ = text.partition("://")
    return bool(is_url) and scheme in _OBJECT_SCHEMES


def path_of_url(url: str) -> str:
    """A URL up to its query.

    >>> path_of_url("https://host/f.parquet?versionId=3")
    'https://host/f.parquet'
    """
    return re.split("[?#]", url, maxsplit=1)[0]


_WHOLE_URLS: dict[str, str] = {}
"""The whole URL of each text that is shown in its place."""


def shown_url(source: Any) -> Any:
    """The URL of an object without its secrets, for all that is printed or stored; `whole_url`
    gives it back to whoever reads it. Anything else as it is.

    >>> shown = shown_url("https://host/visits.parquet?X-Amz-Signature=5ec2e7")
    >>> shown, shown_url(shown)
    ('https://host/visits.parquet?…', 'https://host/visits.parquet?…')
    >>> whole_url(shown)
    'https://host/visits.parquet?X-Amz-Signature=5ec2e7'
    """
    if not isinstance(source, str) or not is_url_of_object(source) or source in _WHOLE_URLS:
        return source
    shown = first = without_credentials(source)
    if shown == source:
        return source
    number = 1
    while _WHOLE_URLS.setdefault(shown, source) != source:
        number += 1
        shown = f"{first}{number}"
    return shown


def is_withheld(url: str) -> bool:
    """Whether a URL lacks secrets that this process doesn't know, as one from a stored result."""
    return REDACTED in url and url not in _WHOLE_URLS and is_url_of_object(url)


def whole_url(shown: str) -> str:
    """The whole URL that `shown_url` was given."""
    return _WHOLE_URLS.get(shown, shown)


def with_shown_urls(text: str) -> str:
    """A text without the secrets of the URLs in it."""
    for shown, whole in _WHOLE_URLS.items():
        text = text.replace(whole, shown)
    return text


def file_of_url(url: str) -> str | None:
    """The database file that a URL names, if it names one.

    >>> [file_of_url(url) for url in ("duckdb:a.db", "duckdb:///a.db", "sqlite:///a.db")]
    ['a.db', 'a.db', 'a.db']
    >>> file_of_url("duckdb:////srv/a.db"), file_of_url("postgresql://host/a.db")
    ('/srv/a.db', None)
    """
    scheme, _, rest = url.partition(":")
    return rest.removeprefix("///") if scheme in ("duckdb", "sqlite") else None


def first_bytes(path: str, many: int) -> bytes:
    """The first bytes of a file; empty if it is missing or no regular file, as a pipe would block.

    >>> first_bytes("/dev/zero", 2)
    b''
    """
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(many)
    except (OSError, ValueError):
        return b""
