"""The standard streams, whatever their encoding, whether or not anyone reads them."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from kanon_sql.errors import EngineError

_READABLE = "kanon_sql.readable"
"""The error handler of a stream that people read."""
_LOOKALIKES = {
    "·": "*", "²": "^2", "ß": "ss", "—": "-", "−": "-", "“": '"', "”": '"', "„": '"', "′": "'",
    "→": "->", "≤": "<=", "≥": ">=", "√": "sqrt", "∩": "&", "Σ": "sum", "Π": "product",
    "α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon", "θ": "theta", "μ": "mu", "π": "pi",
    "τ": "tau", "χ": "chi", "✓": "+", "✗": "x", "△": "!", "○": "o",
    **dict.fromkeys("▏▎▍▌▋▊▉█", "#"),
    **dict.fromkeys("\N{NON-BREAKING HYPHEN}\N{EN DASH}", "-"),
    **dict.fromkeys("\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}", "'"),
}  # fmt: skip
"""ASCII in place of a character; a letter with an accent becomes its base letter."""


def make_readable() -> None:
    """Let stdout and stderr replace each character that their encoding lacks.

    An error handler that the environment chose is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) in ("strict", "backslashreplace"):
            # A stream that a test or a notebook puts in place may have no such method.
            getattr(stream, "reconfigure", dict)(errors=_READABLE)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_lookalike, error.object[error.start : error.end])), error.end


codecs.register_error(_READABLE, _replaced)


def _lookalike(character: str) -> str:
    r"""A character in ASCII: something like it, else its escape.

    >>> [_lookalike(character) for character in "▌…é東"]
    ['#', '...', 'e', '\\u6771']
    """
    parts = unicodedata.normalize("NFKD", character)
    base = "".join(part for part in parts if not unicodedata.combining(part))
    near = _LOOKALIKES.get(character, base)
    return near if near.isascii() else character.encode("ascii", "backslashreplace").decode()


def for_stdout(text: str, form: str) -> str | bytes:
    """What is written to stdout: a format for programs stays valid whatever the encoding.

    In an encoding other than UTF-8, JSON and XML are escaped, as any encoding has what is left.
    SQL, YAML, HTML and workflow commands have no such escapes and are UTF-8, as in a file.
    """
    if form == "path":
        return os.fsencode(text)
    # click writes UTF-8 where Python chose ASCII.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    is_utf8 = codecs.lookup(encoding).name in ("utf-8", "ascii")
    if is_utf8 or form in ("human", "markdown"):
        return text
    if form in ("json", "sarif", "openlineage"):
        return re.sub(r"[^\0-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)
    return text.encode("ascii", "xmlcharrefreplace") if form == "junit" else text.encode()


@contextmanager
def printing() -> Iterator[None]:
    """Print to stdout within the context. A reader who has gone away is no error.

    Raises `EngineError` if the output can't be written for another reason.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise EngineError(f"the result can't be printed: {error.strerror}.") from None


def tell(text: str) -> None:
    """Print to stderr, which changes no exit code if nobody reads it."""
    with suppress(OSError):
        click.echo(text, err=True)
