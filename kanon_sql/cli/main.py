"""The command line. It parses, calls, prints and exits; whatever is heavy is imported when used.

Results go to stdout, everything else to stderr. Exit codes: 0 nothing demanded fails, 1 a check
is violated, 2 a bad question or input, 3 the engine failed, 4 no data, 130 interrupted.
"""

from __future__ import annotations

from kanon_sql.cli import audits, columns, manual, releases, results
from kanon_sql.cli.group import main

# Each of these hands its commands to the group.
__all__ = ["audits", "columns", "main", "manual", "releases", "results"]
