"""The version from the installed package's metadata."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("kanon-sql")
FORMAT = 1
"""The format of what is written as JSON. 0 has no `format` and differs in nothing else."""
