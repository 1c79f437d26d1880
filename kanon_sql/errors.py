"""Every error this package raises on purpose, under one root class.

    KanonError                                  exit code of the command line
    ├── SpecError (ValueError)                  2   an option, a spec, a column name
    ├── InputError (ValueError)                 2   data that can't be read or don't fit
    │   └── NoDataError                         4   no records
    ├── MissingDriverError (ImportError)        2   an extra to install
    ├── EngineError (RuntimeError)              3   a statement that failed, or a limit
    └── PrivacyViolation (AssertionError)       1   a check that doesn't hold

A message is a sentence of fact and one of advice, without values of the data.
"""

from __future__ import annotations

import ast
import os
import re
import stat
import traceback
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any, Self, TypeVar

_MARK = "\ue000"
"""Delimits parameter names that the command line spells differently: a private-use character."""
_OPTION = re.compile(rf"{_MARK}([\w.]+)(?:=([^{_MARK}]*))?{_MARK}")


_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters and bidirectional overrides; tabs and line feeds are allowed."""


def printable(name: str) -> str:
    r"""A name that can't move the cursor or break a line.

    >>> printable("zip\x1b[31m"), printable("Straße 🏠")
    ('zip\\x1b[31m', 'Straße 🏠')
    """
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in name
    )


def without_control(text: str) -> str:
    r"""A text of several lines, with escapes in place of control characters.

    >>> without_control("a\x1b[31mb\u202e\n\tc")
    'a\\x1b[31mb\\u202e\n\tc'
    """
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class Message(str):
    """An error message for Python; `marked` keeps the parameters for the command line."""

    __slots__ = ("marked",)
    marked: str

    def __new__(cls, marked: str) -> Self:
        message = super().__new__(cls, without_control(_OPTION.sub(_python_spelling, marked)))
        message.marked = marked
        return message


def option(parameter: str, value: object = None) -> str:
    """A parameter name in an error message, which the command line replaces by its option.

    A parameter within another one is written with a dot.

    >>> str(SpecError(f"Leave out {option('single_view')}, or add {option('force', True)}."))
    'Leave out single_view, or add force=True.'
    >>> str(SpecError(f"Leave out {option('references.where')}."))
    'Leave out where.'
    """
    return f"{_MARK}{parameter}{'' if value is None else f'={value!r}'}{_MARK}"


_OPTIONS = {
    "engine": "connect",
    "dates": "date_format",
    "levels": "level",
    "checks": "check",
    "null_strings": "null_string",
    "references": "reference",
    "earlier_releases": "earlier",
    "quasi_identifiers": "qi",
    "untouched": "unassigned",
    "hierarchies": "hierarchy",
    "view_name": "name",
    "weights": "weight_of",
}
"""Options of the command line that are named differently from their parameters."""


def with_flags(text: str) -> str:
    """An error message with options in place of parameters.

    >>> error = SpecError(f"Leave out {option('view_name')}, or add {option('force', True)}.")
    >>> with_flags(str(error))
    'Leave out --name, or add --force.'
    >>> with_flags(option("references.columns", {"zip": "zip_code"}))
    '--reference-columns zip=zip_code'
    >>> with_flags(option("checks", {"k_map": {"k": 5, "reference": "voters"}}))
    '--check k_map:k=5,reference=voters'
    """
    return without_control(_OPTION.sub(_flag, getattr(text, "marked", text)))


def _flag(match: re.Match[str]) -> str:
    names = (_OPTIONS.get(word, word) for word in match[1].split("."))
    flag = f"--{'-'.join(names).replace('_', '-')}"
    argument = None if match[2] is None else ast.literal_eval(match[2])
    if argument is None or argument is True:
        return flag
    if isinstance(argument, dict):
        argument = ",".join(f"{name}{_after(value)}" for name, value in argument.items())
    return f"{flag} {argument}"


def _after(value: object) -> str:
    """What follows a name on the command line: its value, or its own parameters."""
    if not isinstance(value, dict):
        return f"={value}"
    return f":{','.join(f'{name}={inner}' for name, inner in value.items())}"


def with_keys(text: str, known: Container[str]) -> str:
    """An error message with the keys of a spec in place of parameters, if they are `known`.

    >>> ways = [option("published"), option("references.columns", {"zip": "z"}),
    ...         option("decimal", ",")]
    >>> with_keys(f"Add {', '.join(ways)}.", ["cells", "references", "decimal"])
    "Add cells: true, references.columns: {zip: z}, decimal: ','."
    """

    def key(match: re.Match[str]) -> str:
        name = _KEYS.get(match[1], match[1])
        if name.partition(".")[0] not in known:
            return match[0]
        argument = match[1] in _KEYS or (match[2] and ast.literal_eval(match[2]))
        if isinstance(argument, dict):
            argument = f"{{{', '.join(f'{name}: {value}' for name, value in argument.items())}}}"
        elif argument is True:
            argument = "true"
        elif argument and not re.fullmatch(r"[\w.…-]+", argument):
            argument = f"'{argument}'"
        return f"{name}: {argument}" if argument else name

    return _OPTION.sub(key, text)


_KEYS = {"published": "cells"}
"""Keys of a spec that are named differently from their parameters."""


def _python_spelling(match: re.Match[str]) -> str:
    parameter = match[1].rpartition(".")[2]
    return parameter if match[2] is None else f"{parameter}={match[2]}"


class KanonError(Exception):
    """The root of every error raised on purpose."""

    exit_code = 2
    location: tuple[int | str, ...] = ()
    """Location of the fault in the table's spec, if known."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message if isinstance(message, Message) else Message(message))

    @property
    def marked(self) -> str:
        """The message with its parameters marked, to embed in another error."""
        message: Message = self.args[0]
        return message.marked

    def __str__(self) -> str:
        message: Message = self.args[0]
        return message

    def _render_traceback_(self) -> list[str]:
        """IPython's traceback: the lines of the cell, and the message."""
        hidden = (str(Path(__file__).parent), f"{os.sep}IPython{os.sep}")
        lines = [
            f"line {summary.lineno}: {summary.line}"
            for summary in traceback.extract_tb(self.__traceback__)
            if not any(folder in summary.filename for folder in hidden)
        ]
        return [*lines, f"{type(self).__name__}: {self}"]


class SpecError(KanonError, ValueError):
    """An invalid request: a bad option, key, column name or threshold."""

    def __init__(self, message: str, key: str | None = None) -> None:
        """`key` is the parameter at fault, if it is one of several."""
        super().__init__(message)
        self.key = key
        self.parts: tuple[SpecError | InputError, ...] = ()
        """The faults of which this error is the list."""


class InputError(KanonError, ValueError):
    """Data that can't be read completely, or don't fit the request."""


class NoDataError(InputError):
    """There are no records, but the request needs some."""

    exit_code = 4


class MissingDriverError(KanonError, ImportError):
    """An optional package is not installed; the message names the extra to install."""


class EngineError(KanonError, RuntimeError):
    """The database rejected or failed a statement, or ran out of memory or time."""

    exit_code = 3


class PrivacyViolation(KanonError, AssertionError):
    """A check does not hold; raised by `AuditResult.raise_if_violated` only."""

    exit_code = 1


class Faults:
    """Collects the errors of several tables or inputs, to raise them together."""

    def __init__(self) -> None:
        self._errors: list[SpecError | InputError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Collect an error and continue."""
        try:
            yield
        except (SpecError, InputError) as error:
            self._errors += getattr(error, "parts", ()) or (error,)

    def __bool__(self) -> bool:
        return bool(self._errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, place: object) -> None:
        """Raise the collected error, or one error with the messages of all."""
        if self._errors and error is None:
            raise in_one(self._errors)


def in_one(errors: Iterable[SpecError | InputError]) -> SpecError | InputError:
    """The only error, or one with the messages of all."""
    by_text = {(error.location, error.marked): error for error in errors}
    first, *more = by_text.values()
    if not more:
        return first
    listed = type(first)("\n".join(dict.fromkeys(error.marked for error in by_text.values())))
    if isinstance(listed, SpecError):
        listed.parts = tuple(by_text.values())
    return listed


_Item = TypeVar("_Item")
_Read = TypeVar("_Read")


def read_each(read: Callable[[_Item], _Read], items: Iterable[_Item]) -> list[_Read]:
    """What `read` gives for each item; raises the errors of all items together."""
    results = []
    with Faults() as faults:
        for item in items:
            with faults.collected():
                results.append(read(item))
    return results


def repeated(names: Iterable[str]) -> list[str]:
    """Each name that occurs more than once.

    >>> repeated(["zip", "age", "zip", "sex", "age", "zip"])
    ['zip', 'age']
    """
    return [name for name, number in Counter(names).items() if number > 1]


def refuse_repeated(names: Iterable[str], sentence: str) -> None:
    """Raise `SpecError` with the sentence on each name that occurs more than once.

    >>> refuse_repeated(["zip", "zip"], "{} is named twice.")
    Traceback (most recent call last):
    kanon_sql.errors.SpecError: zip is named twice.
    """
    if errors := [SpecError(sentence.replace("{}", printable(name))) for name in repeated(names)]:
        raise in_one(errors)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing sentence with the closest known spelling, or "".

    >>> did_you_mean("zipcode", ["zip", "age"])
    ' Did you mean "zip"?'
    >>> did_you_mean("height", ["zip", "age"])
    ''
    """

    folded = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f' Did you mean "{printable(folded[near[0]])}"?' if near else ""


def described_value(value: Any) -> str:
    """The invalid value of a parameter, for an error message.

    Text, numbers and short lists of them are repeated; anything longer, possibly data, is named by
    its type.

    >>> described_value("zip"), described_value([1, 2])
    ("'zip'", '[1, 2]')
    >>> described_value(object()), described_value(list(range(1000)))
    ('an object', 'a list of 1,000')
    """
    match value:
        case None | str() | bool() | int() | float() | date() | Decimal() | Path():
            return repr(value) if type(value).__module__ != "numpy" else str(value)
        case list() | tuple() | dict() | set():
            inner = [*value, *value.values()] if isinstance(value, dict) else list(value)
            if len(value) <= _REPEATED and all(map(_is_shown_as_repr, inner)):
                return repr(value)
            return f"a {type(value).__name__} of {len(value):,}"
    return kind_of(value)


_REPEATED = 5
"""Maximum length of a list shown in an error; longer ones are probably data."""


def _is_shown_as_repr(value: Any) -> bool:
    return not described_value(value).startswith(("a ", "an ", "the "))


def kind_of(value: Any) -> str:
    """The type of an object in words, with its article.

    >>> kind_of(3), kind_of([])
    ('an int', 'a list')
    """
    kind = value if isinstance(value, type) else type(value)
    package = kind.__module__.partition(".")[0].lstrip("_")
    name = kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"
    if isinstance(value, type):
        return f"the class {name}"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def percentage(value: object) -> Decimal | None:
    """The share that a text such as `20%` stands for; None for any other value.

    >>> percentage("20%"), percentage("0.5 %"), percentage("0.2"), percentage(0.2)
    (Decimal('0.2'), Decimal('0.005'), None, None)
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?) ?%\s*", str(value))
    return None if match is None else (Decimal(match[1]) / 100).normalize()


def fraction_hint(value: object) -> str:
    """A closing sentence that converts a percentage to a fraction, or "".

    >>> fraction_hint("20%"), fraction_hint("150%"), fraction_hint("five")
    (' Write 20% as 0.2.', '', '')
    """
    share = percentage(value)
    return "" if share is None or share > 1 else f" Write {value} as {share:f}."


def nearest(name: str, known: Iterable[str], most: int = 8) -> str:
    """Known names sorted by similarity, truncated with a count of the rest.

    >>> nearest("visit", ["people", "visits", "places"], most=2)
    'visits, places and 1 more'
    """
    folded = name.casefold()
    ranked = sorted(
        dict.fromkeys(known),
        key=lambda text: -SequenceMatcher(None, folded, text.casefold()).ratio(),
    )
    more = f" and {len(ranked) - most:,} more" if len(ranked) > most else ""
    return f"{', '.join(map(printable, ranked[:most]))}{more}"


NO_SOURCE_ORDER = (
    "A release is always in the order of what it publishes: that of its source would link it to "
    "other releases. Where the order matters, publish a column that holds it."
)


def no_records(table: str, consequence: str) -> NoDataError:
    """The error for a table without records that satisfy its conditions.

    >>> str(no_records("a.csv", "nothing can be proposed"))
    'a.csv: no record was found, so nothing can be proposed. Check the source and the filter.'
    """
    return NoDataError(
        f"{table}: no record was found, so {consequence}. Check the source and the filter."
    )


def no_first_records(table: str) -> SpecError:
    """The error for `first` on a table whose records have no order."""
    return SpecError(
        f"{table} has no first records, because its records have no order. {option('first')} is "
        "for files."
    )


def no_such_column(name: str, table: str, columns: Sequence[str], *, text: bool) -> SpecError:
    """The error for a missing column.

    Names from the first line of a `text` file are not repeated unless one is similar, as that line
    may be a person's record.
    """
    near = did_you_mean(name, columns)
    if text and not near:
        return SpecError(
            f'{table} has no column "{name}", nor one with a name like it, among the '
            f"{len(columns)} that its first line names. Is that line a header?"
        )
    known = ", ".join(map(printable, columns))
    return SpecError(f'{table} has no column "{name}". Its columns: {known}.{near}')


def truncated(text: str, most: int = 120) -> str:
    """The beginning of a text, to repeat in an error.

    >>> truncated("age >= 18", 6)
    'age >=…'
    """
    return text if len(text) <= most else f"{text[:most]}…"


def plural(number: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "class"), plural(2100, "class"), plural(2, "value"), plural(2, "person")
    ('1 class', '2,100 classes', '2 values', '2 people')
    """
    many = {"class": "classes", "person": "people"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else many}"


def irregular_kind(path: str | os.PathLike[str]) -> str:
    """The kind of a path that is not a regular file, or "". Raises `OSError`.

    Opening a pipe blocks until someone writes, and a device may be endless.

    >>> irregular_kind("/dev/null"), irregular_kind("/")
    ('a device', 'a folder')
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return ""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


@contextmanager
def located(*location: int | str) -> Iterator[None]:
    """Add a location in the table's spec to an error, or to each one of a list."""
    try:
        yield
    except (SpecError, InputError) as error:
        for fault in (error, *getattr(error, "parts", ())):
            fault.location = fault.location or location
        raise
