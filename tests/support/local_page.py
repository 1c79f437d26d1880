"""The local page as a person has it: the command, its address, a cookie."""

from __future__ import annotations

import html
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from signals_reset import ended_by_signals


class LocalPage:
    """`kanon-sql explore` in a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            ended_by_signals(
                [sys.executable, "-m", "kanon_sql", "explore", *arguments, "--no-browser"]
            ),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self.said = ""
        assert self.process.stdout is not None
        while "Ctrl-C ends it" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            self.said += line
        found = re.search(r"http://127[.]0[.]0[.]1:([0-9]+)/[?]token=(\S+)", self.said)
        assert found, self.said
        self.port, self.token = int(found[1]), found[2]
        self.cookie = ""

    def __enter__(self) -> LocalPage:
        self.enter()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.end()

    def enter(self) -> None:
        """Open the printed address, as a browser would."""
        response, _ = self.ask(f"/?token={self.token}")
        assert response.status == 303
        self.cookie = str(response.getheader("Set-Cookie")).split(";")[0]

    def end(self, number: int = signal.SIGINT) -> tuple[int, float, str]:
        """The exit code, the seconds it took, and what was said on stderr."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            _, said = self.process.communicate(timeout=20)
        finally:
            self.process.kill()
        return self.process.returncode, time.monotonic() - started, said

    def ask(
        self, path: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, str]:
        """One request with the cookie, and its answer as text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        return response, response.read().decode()

    def go(self, path: str) -> tuple[str, str]:
        """The canonical address of a page, and the page."""
        for _ in range(4):
            response, text = self.ask(path)
            if response.status != 303:
                assert response.status == 200, (response.status, text[-800:])
                return path, text
            path = str(response.getheader("Location"))
        raise AssertionError(f"no page behind {path}")

    def post(self, fields: dict[str, str], **headers: str) -> tuple[http.client.HTTPResponse, str]:
        """Send a form to /save as our own page does."""
        form = {"Origin": f"http://127.0.0.1:{self.port}",
                "Content_Type": "application/x-www-form-urlencoded"}  # fmt: skip
        return self.ask("/save", "POST", urlencode(fields), **form | headers)

    def raw(self, request: bytes, *, slowly: float = 0, seconds: float = 20) -> bytes:
        """What a bare socket gets for these bytes, sent at once or one by one."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            with suppress(ConnectionError):
                if slowly:
                    for number in range(len(request)):
                        connection.sendall(request[number : number + 1])
                        time.sleep(slowly)
                else:
                    connection.sendall(request)
            answer = b""
            with suppress(ConnectionError):
                while more := connection.recv(1 << 16):
                    answer += more
        return answer

    def request(self, line: str, *headers: str, host: str | None = None) -> bytes:
        """A request as a browser sends it, with our cookie."""
        named = f"127.0.0.1:{self.port}" if host is None else host
        lines = [line, f"Host: {named}", f"Cookie: {self.cookie}", *headers, "", ""]
        return "\r\n".join(lines).encode("latin-1")


def figures(page: str) -> dict[str, str]:
    """The figures of a page, as programs read them."""
    return dict(re.findall(r'<data id="figure-(\w+)" value="([^"]*)"', page))


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden and ticked fields of a form."""
    form = re.search(rf'<form action="{action}".*?</form>', page, re.DOTALL)
    assert form, action
    inputs = re.findall(r"<input ([^>]*)>", form[0])
    found: dict[str, Any] = {}
    for text in inputs:
        given = dict(re.findall(r'(\w+)="([^"]*)"', text))
        if given["type"] in ("hidden", "text") or " checked" in text:
            found[html.unescape(given["name"])] = html.unescape(given.get("value", ""))
    return found


def links(page: str) -> list[str]:
    """The addresses that a page leads to."""
    return [html.unescape(link) for link in re.findall(r'href="([^"#]*)', page)]
