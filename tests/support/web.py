"""A web server on loopback that serves ranges of files, and fails where its paths say so."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self


@dataclass
class Web:
    """Files of a folder at `url`; `bytes_sent` counts what was sent of them.

    A path may begin with a fault: a status as 403, `moved`, `cut`, `hangs` and `late` (a data
    request is not answered), `changes` and `grows` (another file after some requests).
    """

    folder: Path
    bytes_sent: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    late: threading.Event = field(default_factory=threading.Event)
    """Set once a request waits for an answer."""

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"web": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


CHANGES_AFTER = 4
"""Requests for its status after which a file changes."""


class _Handler(BaseHTTPRequestHandler):
    web: ClassVar[Web]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        return

    def do_HEAD(self) -> None:
        self._answer(has_body=False)

    def do_GET(self) -> None:
        self._answer(has_body=True)

    def _answer(self, *, has_body: bool) -> None:
        path = self.path.partition("?")[0].lstrip("/")
        fault, _, below = path.partition("/")
        look = self.headers.get("Range") == "bytes=0-0"
        if not has_body:
            self.web.requests[path] = self.web.requests.get(path, 0) + 1
        has_changed = self.web.requests.get(path, 0) > CHANGES_AFTER
        if fault.isdigit():
            self._status(int(fault), b"<Error>Request has expired: PLANTED</Error>", has_body)
        elif fault == "moved":
            location = f"http://ann:PLANTED@127.0.0.1:1/{below}?sig=PLANTED"
            self._status(302, b"", has_body, {"Location": location})
        elif fault == "hangs" or (fault == "late" and has_body and not look):
            self.web.late.set()
            time.sleep(60)
        elif fault == "cut":
            self._cut(has_body)
        elif fault in ("late", "changes", "grows"):
            self._file(below, has_body, fault, has_changed)
        else:
            self._file(path, has_body, "", False)

    def _status(
        self, code: int, body: bytes, has_body: bool, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if has_body:
            self.wfile.write(body)

    def _cut(self, has_body: bool) -> None:
        self.send_response(206 if has_body else 200)
        self.send_header("Content-Length", "100000")
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if has_body:
            self.wfile.write(b"PAR1")
        self.close_connection = True

    def _file(self, name: str, has_body: bool, fault: str, has_changed: bool) -> None:
        file = self.web.folder / name
        if not file.is_file():
            self._status(404, b"", has_body)
            return
        data = file.read_bytes()
        if fault == "grows" and has_changed:
            data = (self.web.folder / "longer.parquet").read_bytes()
        asked = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        first, last = 0, len(data) - 1
        if asked and has_body:
            first, last = int(asked[1]), min(int(asked[2] or last), last)
        part = data[first : last + 1]
        self.send_response(206 if asked and has_body else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if fault != "grows":
            self.send_header("ETag", f'"{name}{" again" if has_changed else ""}"')
        if asked and has_body:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        self.end_headers()
        if has_body:
            self.wfile.write(part)
            self.web.bytes_sent += len(part)
