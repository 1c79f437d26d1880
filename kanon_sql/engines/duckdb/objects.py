"""Objects in a store or on a web server, read by DuckDB's extensions for them.

Statements name an object by its URL without secrets, which the whole URL replaces on execution.
Objects are listed once; their ETags, lengths and times are compared at the end.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urljoin, urlsplit

import duckdb

from kanon_sql.engines.duckdb.extensions import has_extension, require_extensions
from kanon_sql.engines.duckdb.files import is_hidden, require_one_line
from kanon_sql.engines.duckdb.lakehouse import TableFormat, format_among
from kanon_sql.engines.failures import stopped
from kanon_sql.engines.readers import (
    TABLE_LOGS,
    as_pattern,
    in_table_format,
    parquet_among,
    path_list,
)
from kanon_sql.errors import EngineError, InputError, KanonError
from kanon_sql.files import (
    AMAZON,
    AZURE,
    WEB,
    LockedFolder,
    file_kind,
    is_withheld,
    path_of_url,
    shown_url,
    spill_folder,
    whole_url,
    with_shown_urls,
    without_credentials,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal

Answer = TypeVar("Answer")

_GRACE = 1.0
"""Seconds that a cancelled statement has to end."""
_GLANCE = 0.05
"""Seconds between two looks at whether a statement is to be cancelled."""
_LARGEST = 1 << 32
"""Bytes beyond which DuckDB doesn't hold an object in a value."""
_REDIRECT_PATIENCE = 10
"""Seconds for an answer that is only looked at for a redirect."""


class ListedObjects(NamedTuple):
    """The objects at a URL."""

    pattern: str
    """The URL, or the glob that a folder stands for."""
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Dot files, which a glob leaves out as a shell does."""
    format_name: TableFormat | None = None
    """The format of the table that is there in place of single files."""


def objects_at(url: str, listed: Callable[[str], list[str]]) -> ListedObjects:
    """What there is at a URL. Raises `InputError` where nothing is, or only a part of a table."""
    path = path_of_url(url)
    if urlsplit(url).scheme in WEB or (file_kind(url) and not set(path) & set("*[")):
        is_metadata = path.endswith(".metadata.json") and urlsplit(url).scheme not in WEB
        return ListedObjects(url, (url,), format_name="iceberg" if is_metadata else None)
    if url.endswith("/"):
        names = [file.removeprefix(url) for file in listed(f"{url}**")]
        if format_name := format_among(names):
            return ListedObjects(url, format_name=format_name)
        if any(name.startswith(".hoodie/") for name in names):
            raise in_table_format(url, ".hoodie")
        pattern = f"{url}**/*.parquet"
        matches = [f"{url}{name}" for name in parquet_among(url, names)]
    elif set(path) & set("*["):
        pattern, matches = url, listed(url)
        _refuse_files_of_a_table(matches, listed)
    else:
        folders = (f"{url}/_delta_log/*", f"{url}/metadata/*.metadata.json")
        names = [file.removeprefix(f"{url}/") for folder in folders for file in listed(folder)]
        return ListedObjects(url, (url,), format_name=format_among(names))
    left_out = tuple(file for file in matches if is_hidden(file, pattern))
    files = tuple(file for file in matches if file not in left_out)
    if not files:
        but = f" but dot files, which a * leaves out: {', '.join(left_out)}" if left_out else ""
        raise InputError(f"{pattern}: no object matches{but}.")
    for file in files:
        require_one_line(file)
    return ListedObjects(pattern, files, left_out)


def _refuse_files_of_a_table(files: Iterable[str], listed: Callable[[str], list[str]]) -> None:
    """Raise `InputError` for files of a Delta, Hudi or Iceberg table, some of which may be old."""
    folders = {
        "/".join(parts[:depth])
        for parts in (file.split("/") for file in files)
        for depth in range(3, len(parts))
        if "=" not in parts[depth - 1]
    }
    for folder in sorted(folders):
        for log in TABLE_LOGS:
            below = "*.metadata.json" if log == "metadata" else "*"
            if listed(f"{folder}/{log}/{below}"):
                raise in_table_format(folder, log)


@contextmanager
def renamed_in_errors(names: Mapping[str, str]) -> Iterator[None]:
    """Name, in errors, the object that a local copy is of."""
    try:
        yield
    except KanonError as error:
        message = error.marked
        for copy, file in names.items():
            message = message.replace(copy, file)
        raise type(error)(message) from None


class ObjectStatus(NamedTuple):
    """Length and time of an object when it was opened."""

    size: int
    modified_us: int


class Objects:
    """The objects that an engine reads by URL."""

    def __init__(
        self, session: duckdb.DuckDBPyConnection, *, is_ours: bool, stopping: threading.Event
    ) -> None:
        self._session = session
        self._is_ours = is_ours
        self._stopping = stopping
        self._named: list[str] = []
        """The URLs of the question."""
        self._opening = False
        self._noted: dict[str, ObjectStatus] = {}
        self._etags: dict[str, str] = {}
        """The ETag of each address that the server of an object gave."""
        self._wholes: dict[str, str] = {}
        """For the literal of a URL that is shown, that of the whole URL."""
        self._locals: dict[str, str] = {}
        """For the literal of a URL, that of its local copy."""
        self._shown: dict[str, str] = {}
        """For a whole URL, the one that is shown."""
        self._copies: LockedFolder | None = None
        self._left_waiting: Future[Any] | None = None

    # --- opening -----------------------------------------------------------------------------

    @contextmanager
    def opening(self, url: str) -> Iterator[None]:
        """Open the objects of a URL: the extension and the credentials that it needs.

        Raises `MissingDriverError`, and `InputError` for an address that can't be read.
        """
        self._named.insert(0, url)
        self._opening = True
        try:
            self._require_whole(url)
            self._know([url])
            self._sign_in(url)
            self._require_direct(url)
            yield
        finally:
            self._opening = False

    def _require_whole(self, url: str) -> None:
        if is_withheld(url):
            raise InputError(
                f"{url}: its signature or password is withheld here, and never stored. Name the "
                "whole URL."
            )
        if urlsplit(url).scheme in WEB and "*" in path_of_url(url):
            raise InputError(f"{url}: a web server lists no files. Name each file.")

    def _require_direct(self, url: str) -> None:
        if urlsplit(url).scheme not in WEB:
            return
        if target := self.waited(lambda: redirect_of(whole_url(url))):
            raise InputError(
                f"{url} is redirected to {target}, and only addresses that are named are read. "
                "Name that address."
            )

    def _know(self, files: Iterable[str]) -> None:
        """Replace the URLs by whole ones in statements, and whole ones in their rows by these."""
        for file in files:
            if (whole := whole_url(file)) != file:
                self._shown[whole] = file
                self._wholes[literal(file)] = literal(whole)
                self._wholes[literal(as_pattern(file))] = literal(as_pattern(whole))

    def _sign_in(self, url: str) -> None:
        """Load the extension, and the credentials that no stored secret of DuckDB has."""
        scheme = urlsplit(url).scheme
        extension = "azure" if scheme in AZURE else "httpfs"
        require_extensions(
            self._session, f"{url} is read over a network", [extension], is_ours=self._is_ours
        )
        if not self._is_ours:
            return
        self._session.execute("call enable_logging('HTTP')")
        # A stored secret may take its values from the chain, too.
        has_chain = scheme in AZURE or (
            scheme in AMAZON and has_extension(self._session, "aws", is_ours=True)
        )
        kind = "azure" if scheme in AZURE else "s3"
        question = render("secret_of", url=literal(url), kind=literal(kind))
        if has_chain and not self.run(question):
            with suppress(duckdb.Error, EngineError):  # A public bucket needs none.
                self.run(f"create temporary secret kanon_{kind} ({self._chain(kind)})")

    def _chain(self, kind: str) -> str:
        """The definition of a secret from the environment, a profile or a role."""
        if kind == "azure":
            if connection := os.environ.get("AZURE_STORAGE_CONNECTION_STRING"):
                return f"type azure, connection_string {literal(connection)}"
            account = os.environ.get("AZURE_STORAGE_ACCOUNT")
            named = f", account_name {literal(account)}" if account else ""
            return f"type azure, provider credential_chain{named}"
        chain = "type s3, provider credential_chain"
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        if not endpoint:
            return chain
        server = urlsplit(endpoint)
        use_ssl = str(server.scheme == "https").lower()
        return (
            f"{chain}, endpoint {literal(server.netloc)}, use_ssl {use_ssl}, url_style 'path', "
            f"region {literal(os.environ.get('AWS_REGION', 'us-east-1'))}"
        )

    def listed(self, pattern: str) -> list[str]:
        """The objects that match a glob, by name."""
        rows = self.run(render("matching_files", pattern=literal(pattern)))
        files = [str(shown_url(file)) for (file,) in rows]
        if odd := next((file for file in files if "?" in file and "?" not in pattern), None):
            raise InputError(f"{odd}: DuckDB can't read an object with ? in its name. Rename it.")
        return files

    def content_of(self, url: str) -> bytes:
        """The bytes of a small object."""
        return bytes(self.run(render("object", file=path_list([url])))[0][0])

    def copies_of(self, files: Sequence[str]) -> dict[str, str]:
        """A private local copy of each object, in folders of the same names.

        Text files have to be looked at byte by byte, and are read several times.
        """
        self._copies = self._copies or spill_folder()
        copies = {}
        for number, file in enumerate(files, start=len(self._locals)):
            if self._noted[file].size >= _LARGEST:
                raise InputError(
                    f"{file} has 4 GiB or more, and only Parquet is read where it lies. Download "
                    "it, or write Parquet."
                )
            copy = Path(self._copies.path, str(number), *_local_parts(file))
            copy.parent.mkdir(parents=True)
            self.run(
                f"copy ({render('object', file=path_list([file]))}) to "
                f"{literal(str(copy))} (format blob)"
            )
            copies[file] = str(copy)
        for file, local in copies.items():
            self._locals[literal(as_pattern(file))] = literal(as_pattern(local))
        return copies

    # --- statements --------------------------------------------------------------------------

    def in_place(self, sql: str) -> str:
        """The statement with whole URLs and local copies in its calls of file readers."""
        return _CALLS.sub(self._call_in_place, sql) if self._wholes or self._locals else sql

    def _call_in_place(self, match: re.Match[str]) -> str:
        is_of_bytes = match[0].lower().startswith("read_blob")
        places = self._wholes if is_of_bytes else self._wholes | self._locals
        return _LITERALS.sub(lambda text: places.get(text[0], text[0]), match[0])

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, with URLs as they are shown."""
        rows = self.waited(lambda: self._session.execute(self.in_place(sql)).fetchall())
        if not self._shown:
            return rows
        return [
            tuple(self._shown.get(cell, cell) if isinstance(cell, str) else cell for cell in row)
            for row in rows
        ]

    def waited(self, call: Callable[[], Answer]) -> Answer:
        """The result of a call that may wait for a server.

        DuckDB isn't interrupted while it waits, so the call is left alone where it has to end.
        Raises `KanonError` for what the network or the server is the cause of.
        """
        if not self._named:
            return call()
        if self.is_stuck:
            raise stopped()
        if self._is_ours:
            self._session.execute("call truncate_duckdb_logs()")
        answer: Future[Answer] = Future()
        threading.Thread(target=_settle, args=(answer, call), daemon=True).start()
        try:
            while not wait([answer], _GLANCE).done:
                if self._stopping.is_set():
                    self._leave(answer)
                    break
        except KeyboardInterrupt:
            self._session.interrupt()
            self._leave(answer)
            raise
        if not answer.done():
            raise stopped()
        try:
            return answer.result()
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            if failure := self._failure(error):
                raise failure from None
            raise

    @property
    def is_stuck(self) -> bool:
        """Whether a cancelled statement still waits for a server."""
        return self._left_waiting is not None and not self._left_waiting.done()

    def _leave(self, answer: Future[Any]) -> None:
        if wait([answer], _GRACE).not_done:
            self._left_waiting = answer
            if not _LEFT:
                atexit.register(wait_for_left)
            _LEFT.append(answer)

    # --- evidence ----------------------------------------------------------------------------

    def note(self, files: Sequence[str]) -> None:
        """Record length, time and ETag of objects. Raises `InputError` for an empty one."""
        self._know(files)
        statuses, etags = self._statuses(files)
        for file in files:
            if file not in statuses:  # of Azure, DuckDB leaves it out without a word
                raise self._refusal(file, 404)
            if not statuses[file].size:
                raise InputError(f"{file} is empty: it has no bytes. Was it written to the end?")
        self._noted |= statuses
        self._etags |= etags

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if an object has changed since it was opened, or is gone."""
        if not self._noted or self.is_stuck:
            return
        statuses, etags = self._statuses(list(self._noted))
        addresses = [unquote(url) for url, etag in self._etags.items() if etags.get(url) != etag]
        for file, before in self._noted.items():
            key = urlsplit(file).path
            if statuses.get(file) != before or any(key in address for address in addresses):
                raise _changed(file)
        if addresses:
            raise _changed(self._named[0])

    def allowed_paths(self) -> Iterator[str]:
        """The addresses that stay accessible after the lock."""
        for file in self._noted:
            yield from (whole_url(file), as_pattern(whole_url(file)))

    def release(self) -> None:
        """Remove the local copies."""
        if self._copies is not None:
            self._copies.remove()

    def _statuses(self, files: Sequence[str]) -> tuple[dict[str, ObjectStatus], Mapping[str, str]]:
        rows = self.run(render("object_statuses", files=path_list(files)))
        statuses = {file: ObjectStatus(size, modified or 0) for file, size, modified in rows}
        return statuses, dict(self._logged("logged_etags"))

    def _logged(self, macro: str) -> list[tuple[Any, ...]]:
        """Rows on the last statement's requests, which only a session of ours logs."""
        if not self._is_ours:
            return []
        return [tuple(row) for row in self._session.execute(render(macro)).fetchall()]

    # --- errors ------------------------------------------------------------------------------

    def _failure(self, error: duckdb.Error) -> KanonError | None:
        """What the network or the server is the cause of; None for other errors."""
        is_of_network = isinstance(error, duckdb.IOException | duckdb.InternalException)
        if not is_of_network and type(error) is not duckdb.Error:
            return None
        message = str(error).partition("\n")[0]  # the lines below quote the statement
        place = self._place_in(message)
        if "ETag on reading" in message:
            return _changed(place)
        if code := self._status_code(error):
            return self._refusal(place, code)
        for words, sentence in _FAILURES.items():
            if words in message:
                return EngineError(f"{place}: {sentence}.")
        if isinstance(error, duckdb.HTTPException):
            return EngineError(f"{place}: the server refuses to give it.")
        return None

    def _place_in(self, message: str) -> str:
        """The object or the URL that a message names."""
        known = [*self._noted, *self._named]
        shown = with_shown_urls(message)
        named = [url for url in known if re.search(re.escape(url) + r"(?![\w/.=-])", shown)]
        return without_credentials((named or self._named)[0])

    def _status_code(self, error: duckdb.Error) -> int | None:
        """The status with which the server answered, if that is the cause."""
        if azure := re.search(r"Azure\w+ .* failed with (?:code ?')?(\w+)", str(error)):
            return _AZURE_CODES.get(azure[1], 403)
        if not isinstance(error, duckdb.HTTPException):
            return None
        if code := getattr(error, "status_code", 0):
            return int(code)
        for (status,) in self._logged("logged_statuses"):
            if digits := re.search(r"[45]\d\d$", str(status)):
                return int(digits[0])
        return None

    def _refusal(self, place: str, code: int) -> KanonError:
        kind = InputError if self._opening and code < 500 else EngineError
        scheme = urlsplit(place).scheme
        if code in (404, 410):
            return kind(
                f"{place}: no such object ({code}). Check the path, and the case of its letters."
            )
        if code >= 500:
            return kind(f"{place}: the server failed ({code}), also when asked again. Run again.")
        if code not in (400, 401, 403):
            return kind(f"{place}: the server refuses to give it ({code}).")
        if scheme in WEB:
            advice = "A signature may have expired, or have been made for another address."
        elif scheme in (*AMAZON, *AZURE):
            advice = (
                "Credentials come from DuckDB's persistent secrets, or from the environment, a "
                "profile or a role"
            )
            needs_aws = scheme in AMAZON and self._is_ours
            has_aws = needs_aws and has_extension(self._session, "aws", is_ours=True)
            advice += (
                '; the latter need DuckDB\'s extension "aws".' if not has_aws and needs_aws else "."
            )
        else:
            advice = "Credentials come from DuckDB's persistent secrets."
        return kind(f"{place}: access is refused ({code}). {advice}")


_CALLS = re.compile(
    r"\b(?:read_\w+|parquet_\w+|glob|\w+_scan)\(\s*"
    r"(?:'(?:[^']|'')*'|\[\s*'(?:[^']|'')*'(?:\s*,\s*'(?:[^']|'')*')*\s*\])",
    re.IGNORECASE,
)
"""Calls of file readers, up to the end of their first argument."""
_LITERALS = re.compile(r"'(?:[^']|'')*'")

_FAILURES = {
    "resolve host": "the name of the server is not known. Check the address and the network",
    "connect to server": "no connection: the server refuses it, or does not run",
    "establish connection": "no connection: the server refuses it, or does not run",
    "Timeout was reached": "the server does not answer in time, also when asked again",
    "edirects hit maximum": "the server redirects without end",
    "SSL": "the certificate or the encryption of the server is not accepted",
    "partial file": "the connection was cut, also when tried again",
    "receiving data": "the connection was cut, also when tried again",
    "sending data": "the connection was cut, also when tried again",
    "returned nothing": "the connection was cut, also when tried again",
    "Failed to fetch key 'account_name'": "the account is not known. Name it in the address, in a "
    "persistent secret of DuckDB, or in AZURE_STORAGE_ACCOUNT",
}
"""Phrases in messages of DuckDB, and what each means."""
_AZURE_CODES = {"BlobNotFound": 404, "ContainerNotFound": 404, "PathNotFound": 404}


_LEFT: list[Future[Any]] = []
"""The statements that were left alone while they wait for a server."""


def wait_for_left() -> None:
    """Wait until no statement waits for a server: Python can't end while DuckDB runs one."""
    wait(_LEFT)


def _settle(answer: Future[Answer], call: Callable[[], Answer]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:
        answer.set_exception(error)


def _changed(file: str) -> EngineError:
    return EngineError(
        f"{without_credentials(file)} changed while it was being audited; run again."
    )


def _local_parts(url: str) -> Iterable[str]:
    """The names of a local copy: the folders that give columns a value, and the file's name.

    >>> list(_local_parts("s3://clinic/visits/year=2024/a*.csv"))
    ['year=2024', 'a_.csv']
    """
    *folders, name = path_of_url(url).split("/")
    yield from (folder for folder in folders[3:] if "=" in folder)
    yield re.sub("[*?[]", "_", name)


def redirect_of(url: str) -> str | None:
    """The address, without secrets, to which a web server redirects; DuckDB would follow it.

    Other answers, and none, are left to DuckDB, which has the credentials.
    """
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class Unfollowed(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    place = urlsplit(url)
    host = place.netloc.rpartition("@")[2]
    request = Request(place._replace(netloc=host).geturl(), headers={"Range": "bytes=0-0"})
    try:
        with build_opener(Unfollowed).open(request, timeout=_REDIRECT_PATIENCE):
            return None
    except HTTPError as answer:
        location = answer.headers.get("Location")
        is_redirect = answer.code // 100 == 3 and location
        return without_credentials(urljoin(url, location)) if is_redirect else None
    except (OSError, ValueError, HTTPException):
        return None
