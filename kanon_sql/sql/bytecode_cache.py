"""The bytecode cache of macros.

Macros are compiled into `__pycache__` or `PYTHONPYCACHEPREFIX`, beside Python's modules, and
invalidated like them: when the text, Python or Jinja changes. With `PYTHONDONTWRITEBYTECODE` or an
unwritable package nothing is written, which is no error.
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


def compiled(name: str, text: str, path: Path, compile_macro: Callable[[], CodeType]) -> CodeType:
    """The code of a macro, from the cache if it matches the text, else freshly compiled."""
    inputs = "\0".join((jinja2.__version__, name, str(path), text)).encode()
    origin = sha256(MAGIC_NUMBER + inputs).digest()
    file = _file(name)
    cached = _cached_code(file, origin) if file is not None else None
    if cached is not None:
        return cached
    code = compile_macro()
    if file is not None and not sys.dont_write_bytecode:
        _cache_code(file, origin, code)
    return code


def _file(name: str) -> Path | None:
    """The path of a module's bytecode cache; None if Python has none."""
    try:
        return Path(cache_from_source(str(Path(__file__).with_name(f"{name}.sql.py"))))
    except NotImplementedError:
        return None


def _cached_code(file: Path, origin: bytes) -> CodeType | None:
    """The cached code, if it is complete and of this origin."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    code = content[2 * _DIGEST :]
    if content[: 2 * _DIGEST] != origin + sha256(code).digest():
        return None
    value = marshal.loads(code)
    return value if isinstance(value, CodeType) else None


def _cache_code(file: Path, origin: bytes, code: CodeType) -> None:
    """Write the cache file atomically, as processes may compete; failure is ignored."""
    content = marshal.dumps(code)
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as stream:
                stream.write(origin + sha256(content).digest() + content)
            temporary.replace(file)
        except OSError:
            temporary.unlink(missing_ok=True)
