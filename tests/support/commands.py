"""The command line, in this process."""

from __future__ import annotations

import inspect

from click.testing import CliRunner, Result

from kanon_sql.cli import main


def run(*arguments: str) -> Result:
    """What a command ends with; from click 8.2 on, errors stand apart without being asked for."""
    apart = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(**({"mix_stderr": False} if apart else {})).invoke(main, list(arguments))
