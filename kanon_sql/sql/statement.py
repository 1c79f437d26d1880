"""A SELECT with its name, its question and its citation, and the cache of compiled macros.

Macros are compiled into `__pycache__` or `PYTHONPYCACHEPREFIX`, beside Python's modules, and
invalidated like them: when the text, Python or Jinja changes. With `PYTHONDONTWRITEBYTECODE` or an
unwritable package nothing is written, which is no error.
"""

from __future__ import annotations

import marshal
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType
from typing import ClassVar, Protocol

import jinja2

from kanon_sql.errors import SpecError, without_control
from kanon_sql.sql.gate import require_select
from kanon_sql.sql.line_wrapping import wrapped
from kanon_sql.sql.quoting import DIALECT

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


class Cited(Protocol):
    """A model that a statement serves: title, promise and source."""

    title: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]


@dataclass(frozen=True)
class Statement:
    """One SELECT: its name, its question, the models it serves, and when it runs.

    It is parsed on use only, as most audits skip some of their steps.
    """

    name: str
    words: str
    sql: str
    models: tuple[type[Cited], ...] = ()
    only: str = ""
    tables: frozenset[str] = frozenset()
    """The FROM items it may read."""
    pass_conditions: tuple[str, ...] = ()
    """Pass conditions on its rows, in terms of its columns."""
    chosen: tuple[str, ...] = ()
    """The record filters of the tables it reads, as written by the user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", wrapped(self.sql, DIALECT))

    def check(self) -> None:
        """Raise unless the statement is one SELECT that reads only its tables."""
        require_select(self.sql, self.tables)

    def text(
        self, dialect: str, sql: str | None = None, also: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The statement below a comment header with its question and sources.

        `sql` is the statement in another dialect, `also` further header lines.
        """
        header = [
            ("Question", self.words),
            *(("Where", chosen) for chosen in self.chosen),
            *(("Demanded", condition) for condition in self.pass_conditions),
            *(("Model", f"{m.title}. {m.promise} ({m.source})") for m in self.models),
            *([("Runs", self.only)] if self.only else []),
            ("Dialect", dialect),
            *also,
        ]
        return "\n".join(
            [*_comment(header), "", require_readable(self.sql if sql is None else sql)]
        )


def require_readable(sql: str) -> str:
    """The SQL itself. Raises `SpecError` for a control character, as in a column's name or a path:
    no dialect has an escape for it in an identifier."""
    visible = without_control(sql)
    if visible != sql:
        character = next(character for character in sql if without_control(character) != character)
        raise SpecError(
            f"the SQL would hold a control character ({without_control(character)}), as the name "
            "of a column, the path of a file or a value has it, and can't be read by people. "
            "Rename what holds it, or read the table through a view."
        )
    return sql


def _comment(header: list[tuple[str, str]]) -> Iterator[str]:
    for label, text in header:
        lines = textwrap.wrap(
            without_control(" ".join(text.split())), width=86, break_on_hyphens=False
        )
        for index, line in enumerate(lines):
            yield f"-- {label if index == 0 else '':<10} {line}"
