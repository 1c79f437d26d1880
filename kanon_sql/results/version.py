"""The version, as the installed package's metadata has it."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("kanon-sql")
