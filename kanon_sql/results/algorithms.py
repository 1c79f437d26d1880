"""The names of the release algorithms; separate, so that the command line loads little."""

from __future__ import annotations

from typing import Literal

Algorithm = Literal["datafly", "optimal", "local", "levels"]
"""How the levels of a release were found; `levels`: they were given."""
SEARCHES: tuple[Algorithm, ...] = ("datafly", "optimal", "local")
