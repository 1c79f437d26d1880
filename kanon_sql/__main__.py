"""The entry point of `kanon-sql`, with a SIGINT handler that stands before any slow import."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from kanon_sql.cli import main
    from kanon_sql.cli.signals import stops

    if signal.getsignal(signal.SIGINT) is _end:
        stops.begin()
    main(prog_name="kanon-sql")


def _end(number: int, _: object) -> None:
    os.write(2, b"Interrupted; nothing was written.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
