"""Keeps compiled macros beside Python's own compiled modules, so that each is compiled once.

A macro lies in `__pycache__`, or where `PYTHONPYCACHEPREFIX` says, on the same terms as a module:
what was made of another text, by another Python or another Jinja is made anew, nothing is written
with `PYTHONDONTWRITEBYTECODE` or where the package can't be written, and nothing fails for it.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType

import jinja2

_DIGEST = sha256().digest_size


def compiled(name: str, text: str, path: Path, compile_it: Callable[[], CodeType]) -> CodeType:
    """The code of a macro: what was kept of just this text, else what is compiled now."""
    made_of = "\0".join((jinja2.__version__, name, str(path), text)).encode()
    origin = sha256(MAGIC_NUMBER + made_of).digest()
    file = _file(name)
    kept = _kept(file, origin) if file is not None else None
    if kept is not None:
        return kept
    code = compile_it()
    if file is not None and not sys.dont_write_bytecode:
        _keep(file, origin, code)
    return code


def _file(name: str) -> Path | None:
    """Where Python would keep a module of that name; nowhere, if it keeps none."""
    try:
        return Path(cache_from_source(str(Path(__file__).with_name(f"{name}.sql.py"))))
    except NotImplementedError:
        return None


def _kept(file: Path, origin: bytes) -> CodeType | None:
    """The code that was kept, if it is whole and of this origin."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    code = content[2 * _DIGEST :]
    if content[: 2 * _DIGEST] != origin + sha256(code).digest():
        return None
    found = marshal.loads(code)
    return found if isinstance(found, CodeType) else None


def _keep(file: Path, origin: bytes, code: CodeType) -> None:
    """Write the code as one whole file, as several processes may do at once; or don't."""
    content = marshal.dumps(code)
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("xb") as whole:
                whole.write(origin + sha256(content).digest() + content)
            beside.replace(file)
        except OSError:
            beside.unlink(missing_ok=True)
