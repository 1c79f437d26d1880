"""Where things lie."""

from pathlib import Path

import kanon_sql

HOUSE = Path(kanon_sql.__file__).parent
TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
