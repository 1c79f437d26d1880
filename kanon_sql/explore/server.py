"""The command that serves the pages until Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kanon_sql.cli.signals import stops
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import SpecError, printable
from kanon_sql.explore.door import Door
from kanon_sql.explore.given_spec import refuse_other_questions
from kanon_sql.explore.table import ExploredTable
from kanon_sql.explore.turns import Turns
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.spec import AuditSpec


def serve(
    spec: AuditSpec,
    run: RunOptions,
    hierarchies: Mapping[str, GeneralizationHierarchy],
    *,
    output: str | None,
    port: int | None,
    show_values: bool,
    opens_browser: bool,
    announce: Callable[[str], None],
) -> int:
    """Serve the pages of a table until Ctrl-C or SIGTERM; the exit code."""
    given, folder, turns = refuse_other_questions(spec), _folder(output), Turns()
    table = ExploredTable(given, run, turns, hierarchies, output=folder, show_values=show_values)
    try:
        turns.ask(table.start).value()
        door = _listening(port, table, turns)
        turns.ask(table.begin)
        announce(
            f"{printable(table.name)} · {table.about} · read-only\n\n  {door.address}\n\n"
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
        turns.end(table.close, seconds=0.8)
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


def _listening(port: int | None, table: ExploredTable, turns: Turns) -> Door:
    if port is not None and not 1024 <= port <= 65535:
        raise SpecError(f"--port is 1024 to 65535; found {port}.")
    try:
        return Door(port or 0, table, turns)
    except OSError:
        raise SpecError(f"--port {port} is taken. Choose another one, or leave it out.") from None
