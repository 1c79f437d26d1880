"""The version from the installed package's metadata."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("kanon-sql")
