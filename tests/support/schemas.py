"""Files of code hosts against the schemas that check-jsonschema ships."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def faults(file: Path, schema: str) -> str:
    """What a file has that its schema has not."""
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)],
        capture_output=True,
        text=True,
    )
    return "" if checked.returncode == 0 else checked.stdout + checked.stderr
