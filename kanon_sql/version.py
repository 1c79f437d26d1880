"""The version, as the installed package's metadata has it."""

from importlib.metadata import version

VERSION = version("kanon-sql")
