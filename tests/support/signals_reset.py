"""Commands that signals end, whatever runs the tests."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_RESET = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def ended_by_signals(command: Sequence[str]) -> list[str]:
    """The command, started so that SIGINT and SIGHUP end it.

    What runs the tests may ignore them, as nohup or the background of a script does, and then so
    would the command. A `preexec_fn` would copy the whole memory of the tests, which may fail.
    """
    return [sys.executable, "-c", _RESET, *command]
