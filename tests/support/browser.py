"""A browser that is asked by its own protocol, as by its developer tools, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """Headless Chromium with one page open. It is told and tells through two pipes."""

    def __init__(self, told: int, tells: int) -> None:
        self._told, self._tells = told, tells
        self._rest, self._number = b"", 0
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a method of the protocol answers; events in between are left out."""
        self._number += 1
        said = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._told, json.dumps(said).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return dict(answer["result"])

    def open(self, path: Path, *, scheme: str = "light", width: int = 1200) -> None:
        """Show a file in light or dark, so many pixels wide."""
        self.visit(path.as_uri(), scheme=scheme, width=width)

    def visit(self, address: str, *, scheme: str = "light", width: int = 1200) -> None:
        """Show an address, as `open` shows a file."""
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=colours)
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900,
                 deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.ask("Page.navigate", url=address)
        self.loaded()

    def loaded(self) -> None:
        """Wait until the page is whole; where scripts are off, no event would say so."""
        while self.value("document.readyState") != "complete":
            time.sleep(0.02)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key."""
        of_key = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        down = {"type": "keyDown", **of_key, **({"text": text} if text else {})}
        self.ask("Input.dispatchKeyEvent", **down)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **of_key)

    def value(self, script: str) -> Any:
        """What a script gives. No policy of a page holds for developer tools."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True,
                         returnByValue=True)  # fmt: skip
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._tells, 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        whole, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(whole))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser that is closed in the end."""
    assert CHROMIUM is not None
    theirs_in, told = os.pipe()
    tells, theirs_out = os.pipe()
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}",
        # A page that nobody looks at is not slowed down.
        "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
        "--disable-backgrounding-occluded-windows",
    ]  # fmt: skip
    # It reads from descriptor 3 and writes to 4.
    shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["bash", "-c", shell, "bash", *command],
        pass_fds=(theirs_in, theirs_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Browser(told, tells)
    finally:
        os.close(told)
        os.close(tells)
        process.terminate()
        process.wait(timeout=30)
