"""The local server of the pages: for one person, on this machine, with its token.

It guards against a page in the same browser, another machine and a stray file: not against a
program of the same person, nor against another local account's server that the person visits, as a
cookie is sent to every port of a host (RFC 6265, section 8.5).
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import select
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from typing import Any
from urllib.parse import parse_qsl

from kanon_sql.errors import EngineError, KanonError, printable, with_flags
from kanon_sql.explore.address import RefusedAddress, parsed
from kanon_sql.explore.evidence import BOXES, FILES, Download, save
from kanon_sql.explore.pages import STEP_OF, STEPS, answer, unanswered
from kanon_sql.explore.table import ExploredTable
from kanon_sql.explore.turns import ReaderLeft, Turn, Turns
from kanon_sql.explore.view import Page, PageView
from kanon_sql.report.document import Prose
from kanon_sql.report.html import explore_part

HOST = "127.0.0.1"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer browsers send `Origin: null` with our own form.
    "Referrer-Policy": "same-origin",
}
LONGEST_ADDRESS, LONGEST_FORM = 32_000, 64_000
SECONDS_TO_SEND = 30
SOON, TICK = 0.4, 0.5
"""Seconds until the head of a page is sent without its figures, and between two lines after it."""
MOST_PAGES = 300
_SENTENCES = {
    400: "The request can't be read.",
    403: "This address needs the token that the terminal shows.",
    404: "There is no such page.",
    405: "The page does not take this method.",
    408: "The request took too long.",
    411: "The form has no length.",
    413: "The form is too long.",
    414: "The address is too long.",
    415: "The form is not one of a browser.",
    421: "This server answers for 127.0.0.1 alone.",
    431: "The request has too many headers.",
    501: "The server does not know this method.",
    505: "The server does not know this version of HTTP.",
}


class _Refused(Exception):
    """A request that gets no page: its status, with a sentence that repeats nothing of it."""

    def __init__(self, status: int, sentence: str = "") -> None:
        super().__init__(sentence or _SENTENCES[status])
        self.status = status


def _require(holds: object, status: int) -> None:
    if not holds:
        raise _Refused(status)


class Door(ThreadingHTTPServer):
    """The listening server, with the secrets of this run."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name != "nt"
    request_queue_size = 64

    def __init__(self, port: int, table: ExploredTable, turns: Turns) -> None:
        super().__init__((HOST, port), _Handler)
        self.table, self.turns = table, turns
        self.port = int(self.server_address[1])
        self.token, self.cookie, table.secret = (secrets.token_urlsafe(32) for _ in "abc")
        self.pages: dict[str, str | Download] = {}

    @property
    def cookie_name(self) -> str:
        """Has the port, so that two servers are not mixed up; a cookie is sent to every port."""
        return f"kanon_sql_{self.port}"

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a reader that leaves is no error, and nothing is logged."""

    def answer(self, view: PageView, form: Mapping[str, str] | None) -> Any:
        """The page or the file of a question, kept until a file changes; that of a form that saves
        is new."""
        key = view.to(view.route)
        try:
            has_changed = self.table.recount()
        except Exception:
            self.pages.clear()
            raise
        if has_changed:
            self.pages.clear()
        if form is None and key in self.pages:
            return self.pages[key]
        started = time.monotonic()
        content: Any = answer(view) if form is None else save(view, form)
        if not isinstance(content, Download):
            words = "The file has changed: everything was counted anew."
            changed = [Prose([words], "strong")] if has_changed else []
            content = _rest(content._replace(blocks=[*changed, *content.blocks]), started)
        if form is None and not has_changed:
            if len(self.pages) >= MOST_PAGES:
                self.pages.pop(next(iter(self.pages)))
            self.pages[key] = content
        return content


class _Timed(RawIOBase):
    """A socket that is read until a deadline, however slowly it sends."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = time.monotonic() + SECONDS_TO_SEND

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        self._connection.settimeout(max(left, 0.001))
        try:
            return self._connection.recv_into(buffer)
        except TimeoutError:
            raise _Refused(408) from None


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, over HTTP/1.0."""

    server: Door
    server_version, sys_version = "kanon-sql", ""

    def setup(self) -> None:
        super().setup()
        self.requestline = self.command = ""
        self.rfile = BufferedReader(_Timed(self.connection))

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except _Refused as refused:
            with suppress(OSError):
                self._refuse(refused)
        self.close_connection = True

    def finish(self) -> None:
        """Close once the client has what was sent, though it may still be sending."""
        with suppress(OSError, ValueError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(0.2)
            for _ in range(64):
                if not self.connection.recv(1 << 16):
                    break
        with suppress(OSError, ValueError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def send_error(self, code: int, message: Any = None, explain: Any = None) -> None:
        """A refusal by our own words: the library's repeats the request."""
        self._refuse(_Refused(code if code in _SENTENCES else 400))

    # --- the checks ---------------------------------------------------------------------------

    def do_GET(self) -> None:
        self._checked(self._get)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._checked(self._post)

    def _checked(self, answer: Callable[[str, str], None]) -> None:
        try:
            route, text = self._address()
            self._refuse_foreign()
            if route == "/" and text.startswith("token="):
                self._enter(text.removeprefix("token="))
                return
            _require(self._has_cookie(), 403)
            answer(route, text)
        except _Refused as refused:
            self._refuse(refused)
        except RefusedAddress as refused:
            self._refuse(_Refused(400, str(refused)))

    def _address(self) -> tuple[str, str]:
        """The route and the query of the request line."""
        _, target, *_ = [*self.requestline.split(" "), ""]
        _require(len(target) <= LONGEST_ADDRESS, 414)
        route, _, text = target.partition("?")
        _require(re.match("/(?!/)", route) and target.isascii(), 400)
        return route, text

    def _only(self, name: str) -> str | None:
        """The value of a header that may be there once."""
        values = self.headers.get_all(name) or []
        _require(len(values) < 2, 400)
        return values[0].strip() if values else None

    def _refuse_foreign(self) -> None:
        [host, *others] = self.headers.get_all("Host") or [""]
        own = [f"{name}:{self.server.port}" for name in (HOST, "localhost")]
        _require(host.strip() in own and not others, 421)
        _require((self._only("Sec-Fetch-Site") or "none") in ("none", "same-origin"), 403)
        purpose = self._only("Sec-Purpose") or self._only("Purpose") or ""
        _require("prefetch" not in purpose, 403)

    def _has_cookie(self) -> bool:
        sent = "; ".join(self.headers.get_all("Cookie") or [])
        pairs = (part.strip().partition("=") for part in sent.split(";"))
        own = [value for name, _, value in pairs if name == self.server.cookie_name]
        return len(own) == 1 and _same(own[0], self.server.cookie)

    def _enter(self, token: str) -> None:
        _require(_same(token, self.server.token), 403)
        own = f"{self.server.cookie_name}={self.server.cookie}"
        self._redirect("/", {"Set-Cookie": f"{own}; HttpOnly; SameSite=Strict; Path=/"})

    # --- the answers --------------------------------------------------------------------------

    def _get(self, route: str, text: str) -> None:
        table = self.server.table
        if route == "/":
            try:
                first = self.server.turns.ask(table.begin).value()
            except Exception as error:
                raise _Refused(400, sentence_of(error)) from None
            self._redirect(PageView(table, route, first).to("/columns"))
            return
        _require(route in (*STEP_OF, *FILES), 405 if route == "/save" else 404)
        view = self._view(route, text)
        if (canonical := view.to(route)) != (f"{route}?{text}" if text else route):
            self._redirect(canonical)
        elif self.command == "HEAD":
            # Nothing is counted for a reader who does not want the figures.
            self._start(200, FILES[route][1] if route in FILES else "text/html")
        else:
            self._answer(view, None)

    def _view(self, route: str, text: str) -> PageView:
        table = self.server.table
        view = PageView(table, route, parsed(text, table.names, table.files))
        if route != "/columns" and not view.names:
            raise RefusedAddress("There is no quasi-identifier: choose one on the page Columns.")
        return view

    def _post(self, route: str, text: str) -> None:
        _require(route == "/save", 405 if route in (*STEP_OF, *FILES, "/") else 404)
        _require(not text, 400)
        _require(self.server.table.output, 404)
        fields = self._form()
        _require(_same(fields.pop("secret", ""), self.server.table.secret), 403)
        view = self._view("/evidence", fields.pop("question", ""))
        _require(fields.keys() <= {*BOXES}, 400)
        self._answer(view, fields)

    def _form(self) -> dict[str, str]:
        """The fields of a form of our own."""
        _require(self._only("Origin") == f"http://{self._only('Host')}", 403)
        kind = (self._only("Content-Type") or "").partition(";")[0].strip().lower()
        _require(kind == "application/x-www-form-urlencoded", 415)
        length = self._only("Content-Length") or ""
        _require(length and not self.headers.get("Transfer-Encoding"), 411)
        _require(re.fullmatch("[0-9]{1,9}", length), 400)
        _require(int(length) <= LONGEST_FORM, 413)
        body = self.rfile.read(int(length))
        _require(len(body) == int(length), 400)
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, strict_parsing=True,
                errors="strict", max_num_fields=20,
            )  # fmt: skip
        except ValueError:
            raise _Refused(400) from None
        _require(len(dict(pairs)) == len(pairs), 400)
        return dict(pairs)

    def _answer(self, view: PageView, form: Mapping[str, str] | None) -> None:
        """Send the answer whole if it is there soon; else the head of the page, then a line while
        it is counted, then the rest."""
        turn = self.server.turns.ask(lambda: self.server.answer(view, form))
        self.connection.settimeout(SECONDS_TO_SEND)
        try:
            if view.route in FILES:
                while not turn.done.wait(TICK):
                    self._refuse_gone()
            elif not turn.done.wait(SOON):
                self._start(200, "text/html")
                self._write(_head(view) + explore_part("running"))
                while not turn.done.wait(TICK):
                    self._write(explore_part("tick", text=turn.progress))
                self._write(explore_part("ready") + _outcome(turn, view)[1])
                return
            status, answer = _outcome(turn, view)
            if isinstance(answer, Download):
                named = {"Content-Disposition": f'attachment; filename="{answer.name}"'}
                self._send(status, answer.text, answer.kind, named)
            else:
                self._send(status, _head(view) + answer)
        except OSError:
            self.server.turns.leave(turn)
            raise
        except ReaderLeft:
            return

    def _refuse_gone(self) -> None:
        """Raise `ConnectionError` if the reader of a file that is still made has left."""
        # The connection has a timeout, and would wait for a byte.
        is_readable = bool(select.select([self.connection], [], [], 0)[0])
        if is_readable and not self.connection.recv(1, socket.MSG_PEEK):
            raise ConnectionResetError

    # --- sending ------------------------------------------------------------------------------

    def _start(self, status: int, kind: str, more: Mapping[str, str] | None = None) -> None:
        self.request_version = "HTTP/1.0"
        self.send_response(status, "")
        for name, value in {**HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()

    def _write(self, text: str) -> None:
        if self.command != "HEAD":
            self.wfile.write(text.encode("utf-8", "backslashreplace"))

    def _send(
        self, status: int, text: str, kind: str = "text/html", more: Mapping[str, str] | None = None
    ) -> None:
        length = {"Content-Length": str(len(text.encode("utf-8", "backslashreplace")))}
        self._start(status, kind, {**(more or {}), **length})
        self._write(text)

    def _redirect(self, address: str, more: Mapping[str, str] | None = None) -> None:
        self._send(303, "", more={"Location": address, **(more or {})})

    def _refuse(self, refused: _Refused) -> None:
        head = explore_part("head", title="kanon-sql", name="kanon-sql explore", about="", steps=[])
        allowed = {"Allow": "GET, HEAD" if self.command == "POST" else "POST"}
        text = head + _rest(Page("Not answered", str(refused), []))
        self._send(refused.status, text, more=allowed if refused.status == 405 else {})


def _head(view: PageView) -> str:
    table, step = view.table, STEP_OF.get(view.route, "/evidence")
    steps = [(name, view.to(to), to == step) for to, name in STEPS.items()]
    title = f"{STEPS[step]} · {printable(table.name)} · kanon-sql"
    about = f"{table.about} · kanon-sql explore"
    return explore_part("head", title=title, name=table.name, about=about, steps=steps)


def _outcome(turn: Turn, view: PageView) -> tuple[int, Any]:
    """The answer of a turn with its status; of an error the page that says so. Raises
    `ReaderLeft`."""
    try:
        return 200, turn.value()
    except ReaderLeft:
        raise
    except Exception as error:
        is_failure = not isinstance(error, KanonError) or isinstance(error, EngineError)
        status = 500 if is_failure else 400 if view.route in FILES else 200
        return status, _rest(unanswered(view, sentence_of(error)))


def _rest(page: Page, started: float | None = None) -> str:
    """A page without its head, with the seconds since a time."""
    seconds = "" if started is None else f"{time.monotonic() - started:.2f} s"
    return explore_part("rest", seconds=seconds, **page._asdict())


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("ascii"))


def sentence_of(error: BaseException) -> str:
    """The message of an error; that of an unforeseen one is withheld, as it may hold data."""
    if isinstance(error, KanonError):
        return with_flags(str(error)).replace("\n", " ")
    return f"Something unforeseen went wrong ({type(error).__name__})."
