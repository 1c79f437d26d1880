"""Where the real data lie."""

from __future__ import annotations

import os
from pathlib import Path

from places import TESTS

HERE = TESTS


DATA = Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data"))
"""Public data sets that are too large to ship; examples that need them are skipped without."""
