"""The local server of the pages: for one person, on this machine, with its token.

It guards against a page in the same browser, another machine and a stray file: not against a
program of the same person, nor against another local account's server that the person visits, as a
cookie is sent to every port of a host (RFC 6265, section 8.5).
"""

from __future__ import annotations

import hmac
import os
import secrets
import select
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from kanon_sql.cli.signals import stops
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import EngineError, KanonError, SpecError, printable, with_flags
from kanon_sql.explore.address import Question, RefusedAddress, parsed, query
from kanon_sql.explore.explorer import (
    FILES,
    SEARCHES,
    STEP_OF,
    STEPS,
    Download,
    Explorer,
)
from kanon_sql.explore.given_spec import refuse_other_questions
from kanon_sql.explore.turns import ReaderLeft, Turn, Turns
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.spec import AuditSpec
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


class Door(ThreadingHTTPServer):
    """The listening server, with the secrets of this run."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = os.name != "nt"
    request_queue_size = 64

    def __init__(self, port: int, explorer: Explorer, turns: Turns) -> None:
        super().__init__((HOST, port), _Handler)
        self.explorer, self.turns = explorer, turns
        self.port = int(self.server_address[1])
        self.token, self.cookie, explorer.secret = (secrets.token_urlsafe(32) for _ in "abc")
        self.pages: dict[tuple[str, str], str | Download] = {}

    @property
    def cookie_name(self) -> str:
        """Has the port, so that two servers are not mixed up; a cookie is sent to every port."""
        return f"kanon_sql_{self.port}"

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a reader that leaves is no error, and nothing is logged."""

    def answer(self, route: str, question: Question, save: Mapping[str, str] | None) -> Any:
        """The page or the file of a question, kept until a file changes."""
        explorer = self.explorer
        has_changed = explorer.recount()
        if has_changed:
            self.pages.clear()
        key = (route, query(question, explorer.names))
        started = time.monotonic()
        if save is None and key in self.pages:
            return self.pages[key]
        found = explorer.answer(route, question) if save is None else explorer.save(question, save)
        answer: str | Download
        if isinstance(found, Download):
            answer = found
        else:
            blocks = list(found.blocks)
            if has_changed:
                said = "The file has changed: everything was counted anew."
                blocks.insert(0, Prose([said], "strong"))
            seconds = f"{time.monotonic() - started:.2f} s"
            answer = explore_part(
                "rest", question=found.question, lead=found.lead, blocks=blocks, seconds=seconds
            )
        if save is None and not has_changed:
            if len(self.pages) >= MOST_PAGES:
                self.pages.pop(next(iter(self.pages)))
            self.pages[key] = answer
        return answer


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
        self.requestline = ""
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

    def do_POST(self) -> None:
        self._checked(self._post)

    def _checked(self, answer: Callable[[str, str], None]) -> None:
        try:
            route, text = self._address()
            self._refuse_foreign()
            if route == "/" and text.startswith("token="):
                self._enter(text.removeprefix("token="))
                return
            if not self._has_cookie():
                raise _Refused(403)
            answer(route, text)
        except _Refused as refused:
            self._refuse(refused)
        except RefusedAddress as refused:
            self._refuse(_Refused(400, str(refused)))

    def _address(self) -> tuple[str, str]:
        """The route and the query of the request line."""
        words = self.requestline.split(" ")
        target = words[1] if len(words) > 1 else ""
        if len(target) > LONGEST_ADDRESS:
            raise _Refused(414)
        route, _, text = target.partition("?")
        if not route.startswith("/") or route.startswith("//") or not target.isascii():
            raise _Refused(400)
        return route, text

    def _only(self, name: str) -> str | None:
        """The value of a header that may be there once."""
        values = self.headers.get_all(name) or []
        if len(values) > 1:
            raise _Refused(400)
        return values[0].strip() if values else None

    def _refuse_foreign(self) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].strip() not in (
            f"{HOST}:{self.server.port}",
            f"localhost:{self.server.port}",
        ):
            raise _Refused(421)
        if (self._only("Sec-Fetch-Site") or "none") not in ("none", "same-origin"):
            raise _Refused(403)
        if "prefetch" in (self._only("Sec-Purpose") or self._only("Purpose") or ""):
            raise _Refused(403)

    def _has_cookie(self) -> bool:
        sent = "; ".join(self.headers.get_all("Cookie") or [])
        pairs = (part.strip().partition("=") for part in sent.split(";"))
        own = [value for name, _, value in pairs if name == self.server.cookie_name]
        return len(own) == 1 and _same(own[0], self.server.cookie)

    def _enter(self, token: str) -> None:
        if not _same(token, self.server.token):
            raise _Refused(403)
        cookie = (
            f"{self.server.cookie_name}={self.server.cookie}; HttpOnly; SameSite=Strict; Path=/"
        )
        self._redirect("/", {"Set-Cookie": cookie})

    # --- the answers --------------------------------------------------------------------------

    def _get(self, route: str, text: str) -> None:
        explorer = self.server.explorer
        if route == "/":
            turn = self.server.turns.ask(explorer.first)
            try:
                first = turn.value()
            except Exception as error:
                raise _Refused(400, sentence_of(error)) from None
            self._redirect(explorer.to("/columns", first))
            return
        if route not in (*STEPS, *SEARCHES, *FILES):
            raise _Refused(405 if route == "/save" else 404)
        question = self._question(route, text)
        canonical = query(question, explorer.names)
        if canonical != text:
            self._redirect(explorer.to(route, question))
            return
        self._answer(route, question, None)

    def _question(self, route: str, text: str) -> Question:
        explorer = self.server.explorer
        question = parsed(text, explorer.names, explorer.given)
        if route != "/columns" and not question.of("qi"):
            raise RefusedAddress("There is no quasi-identifier: choose one on the page Columns.")
        return question

    def _post(self, route: str, text: str) -> None:
        if route != "/save":
            raise _Refused(405 if route in (*STEPS, *SEARCHES, *FILES, "/") else 404)
        if text or self.server.explorer.output is None:
            raise _Refused(404 if not text else 400)
        fields = self._form()
        if not _same(fields.pop("secret", ""), self.server.explorer.secret):
            raise _Refused(403)
        question = self._question("/evidence", fields.pop("question", ""))
        if set(fields) - {"spec", "report", "release", "overwrite"}:
            raise _Refused(400)
        self._answer("/evidence", question, fields)

    def _form(self) -> dict[str, str]:
        """The fields of a form of our own."""
        if self._only("Origin") != f"http://{self._only('Host')}":
            raise _Refused(403)
        kind = (self._only("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise _Refused(415)
        length = self._only("Content-Length")
        if length is None or self.headers.get("Transfer-Encoding"):
            raise _Refused(411)
        if not (length.isascii() and length.isdecimal() and len(length) < 10):
            raise _Refused(400)
        if int(length) > LONGEST_FORM:
            raise _Refused(413)
        body = self.rfile.read(int(length))
        if len(body) != int(length):
            raise _Refused(400)
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, strict_parsing=True,
                errors="strict", max_num_fields=20,
            )  # fmt: skip
        except ValueError:
            raise _Refused(400) from None
        if len(dict(pairs)) != len(pairs):
            raise _Refused(400)
        return dict(pairs)

    def _answer(self, route: str, question: Question, save: Mapping[str, str] | None) -> None:
        """Send the answer whole if it is there soon; else the head of the page, then a line while
        it is counted, then the rest."""
        turn = self.server.turns.ask(lambda: self.server.answer(route, question, save))
        self.connection.settimeout(SECONDS_TO_SEND)
        try:
            if route in FILES:
                while not turn.done.wait(TICK):
                    self._refuse_gone()
            elif not turn.done.wait(SOON):
                self._stream(turn, route, question)
                return
            self._send_whole(turn, route, question)
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

    def _send_whole(self, turn: Turn, route: str, question: Question) -> None:
        try:
            answer = turn.value()
        except ReaderLeft:
            raise
        except Exception as error:
            status = 500 if _is_failure(error) else 200
            self._send(status, self._head(route, question) + _fault(error))
            return
        if isinstance(answer, Download):
            named = {"Content-Disposition": f'attachment; filename="{answer.name}"'}
            self._send(200, answer.text, answer.kind, named)
        else:
            self._send(200, self._head(route, question) + answer)

    def _stream(self, turn: Turn, route: str, question: Question) -> None:
        self._start(200, "text/html")
        self._write(self._head(route, question) + explore_part("running"))
        while not turn.done.wait(TICK):
            self._write(explore_part("tick", text=turn.progress))
        try:
            rest = turn.value()
        except ReaderLeft:
            return
        except Exception as error:
            rest = _fault(error)
        self._write(explore_part("ready") + rest)

    def _head(self, route: str, question: Question) -> str:
        explorer, step = self.server.explorer, STEP_OF.get(route, route)
        steps = [(name, explorer.to(to, question), to == step) for to, name in STEPS.items()]
        title = f"{STEPS.get(step, 'Evidence')} · {printable(explorer.name)} · kanon-sql"
        return explore_part(
            "head",
            title=title,
            name=explorer.name,
            about=f"{explorer.about} · kanon-sql explore",
            steps=steps,
        )

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
        rest = explore_part(
            "rest", question="Not answered", lead=str(refused), blocks=[], seconds=""
        )
        self._send(refused.status, head + rest)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("ascii"))


def _is_failure(error: BaseException) -> bool:
    return not isinstance(error, KanonError) or isinstance(error, EngineError)


def sentence_of(error: BaseException) -> str:
    """The message of an error; that of an unforeseen one is withheld, as it may hold data."""
    if isinstance(error, KanonError):
        return with_flags(str(error))
    return f"Something unforeseen went wrong ({type(error).__name__})."


def _fault(error: BaseException) -> str:
    blocks = [Prose([sentence_of(error)], "strong")]
    return explore_part(
        "rest", question="This can't be answered", lead="", blocks=blocks, seconds=""
    )


def serve(
    spec: AuditSpec,
    run: RunOptions,
    hierarchies: Mapping[str, GeneralizationHierarchy],
    *,
    output: str | None,
    port: int | None,
    show_values: bool,
    opens_browser: bool,
    told: Callable[[str], None],
) -> int:
    """Serve the pages of a table until Ctrl-C or SIGTERM; the exit code."""
    table, folder = refuse_other_questions(spec), _folder(output)
    turns = Turns()
    explorer = Explorer(table, run, turns, folder, show_values)
    explorer.with_hierarchies(hierarchies)
    try:
        turns.ask(explorer.start).value()
        door = _listening(port, explorer, turns)
        turns.ask(explorer.first)
        told(
            f"{printable(explorer.name)} · {explorer.about} · read-only\n\n  {door.address}\n\n"
            "Only this machine can open it, with this token. Ctrl-C ends it."
        )
        if opens_browser and _has_screen():
            threading.Thread(target=webbrowser.open, args=[door.address], daemon=True).start()
        # From here on Ctrl-C is the way to end it, also after files were saved.
        stops.code = 0
        with suppress(KeyboardInterrupt):
            door.serve_forever(poll_interval=0.2)
        door.server_close()
    finally:
        turns.end(explorer.close, seconds=0.8)
    return 0


def _has_screen() -> bool:
    """Whether a browser would open a window: one in the terminal would hide the address."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, screens))


def _folder(output: str | None) -> Path | None:
    if output is None:
        return None
    if not Path(output).is_dir():
        found = "this is a file" if Path(output).exists() else "there is no such folder"
        raise SpecError(f"--output {output}: {found}. Name a folder that exists.")
    return Path(output)


def _listening(port: int | None, explorer: Explorer, turns: Turns) -> Door:
    if port is not None and not 1024 <= port <= 65535:
        raise SpecError(f"--port is 1024 to 65535; found {port}.")
    try:
        return Door(port or 0, explorer, turns)
    except OSError:
        raise SpecError(f"--port {port} is taken. Choose another one, or leave it out.") from None
