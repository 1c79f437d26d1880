"""What a release can be made by; that is all that the command line must know before it runs one."""

from __future__ import annotations

from typing import Literal

Algorithm = Literal["datafly", "optimal", "local"]
