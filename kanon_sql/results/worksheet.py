"""Evaluates a completed re-identification worksheet: counts with a confidence interval."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kanon_sql.errors import InputError

FILLED_IN = ("tried_with", "name_found", "sure", "correct", "minutes")
"""The last columns of a worksheet, to be filled in."""
NUMBER = "number"
"""The first column of a worksheet, the row number."""
SIZES = ("class_size", "reference_count")
"""The columns after the quasi-identifiers; the last exists only with a reference."""
ANSWERS = {"sure": ("yes", "no", "maybe"), "correct": ("yes", "no")}
CONFIDENCE = 0.95
_HOW = "kanon-sql worksheet … --show-values --output FILE writes one."


@dataclass(frozen=True)
class Attempts:
    """The outcome of a worksheet's rows.

    `tried` are rows answered for `sure`, `claims` those answered yes, and `confirmed` those that
    were the right person.
    """

    rows: int
    tried: int
    claims: int
    confirmed: int
    false: int
    """Claims not confirmed as the right person."""
    unchecked: int
    """Claims without an answer on whether they were right."""
    minutes: float

    @property
    def share(self) -> float | None:
        """Re-identified share of the tried rows."""
        return self.confirmed / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Clopper-Pearson interval of the share, at 95 %."""
        return clopper_pearson(self.confirmed, self.tried) if self.tried else None

    @property
    def false_claims(self) -> float | None:
        """Share of wrong claims."""
        return self.false / self.claims if self.claims else None

    def to_dict(self) -> dict[str, object]:
        interval = self.interval
        return {
            "rows": self.rows,
            "tried": self.tried,
            "claims": self.claims,
            "confirmed": self.confirmed,
            "share": self.share,
            "interval": list(interval) if interval else None,
            "confidence": CONFIDENCE,
            "false_claims": self.false_claims,
            "unchecked": self.unchecked,
            "minutes": self.minutes,
        }


def clopper_pearson(
    successes: int, trials: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The exact interval of a share (Clopper, Pearson 1934).

    >>> [round(bound, 4) for bound in clopper_pearson(0, 20)], round(1 - 0.025 ** (1 / 20), 4)
    ([0.0, 0.1684], 0.1684)
    >>> [round(bound, 4) for bound in clopper_pearson(3, 20)]
    [0.0321, 0.3789]
    """
    tail = (1 - confidence) / 2
    low = _where(lambda p: _at_least(successes, trials, p) >= tail) if successes else 0.0
    high = _where(lambda p: _at_most(successes, trials, p) <= tail) if successes < trials else 1.0
    return low, high


def _where(holds: Callable[[float], bool]) -> float:
    """Smallest p in [0, 1] at which the predicate holds, by bisection.

    The predicate must hold for every larger p.
    """
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _at_most(successes: int, trials: int, p: float) -> float:
    """Binomial probability of at most this many successes."""
    return math.fsum(_chance(count, trials, p) for count in range(successes + 1))


def _at_least(successes: int, trials: int, p: float) -> float:
    return math.fsum(_chance(count, trials, p) for count in range(successes, trials + 1))


def _chance(successes: int, trials: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(successes == (trials if p else 0))
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1)
    ways -= math.lgamma(trials - successes + 1)
    return math.exp(ways + successes * math.log(p) + (trials - successes) * math.log1p(-p))


# --- the file -------------------------------------------------------------------------------


def read_worksheet(path: Path) -> Attempts:
    """Read a completed worksheet.

    Raises `InputError` with the row and column of a malformed cell, never its content.
    """
    lines = list(_lines(path))
    header_at = next((place for place, (_, cells) in enumerate(lines) if not _is_note(cells)), None)
    if header_at is None or tuple(lines[header_at][1][-len(FILLED_IN) :]) != FILLED_IN:
        raise InputError(
            f"{path} is no worksheet: its columns must end with {', '.join(FILLED_IN)}. {_HOW}"
        )
    columns = lines[header_at][1]
    rows = [(line, cells) for line, cells in lines[header_at + 1 :] if any(cells)]
    if not rows:
        raise InputError(f"{path} has no row to read. {_HOW}")
    _refuse_edited(path, columns, rows)
    answers = [_answers(path, line, cells) for line, cells in rows]
    tried = [each for each in answers if each.sure]
    claims = [each for each in tried if each.sure == "yes"]
    return Attempts(
        rows=len(answers),
        tried=len(tried),
        claims=len(claims),
        confirmed=sum(each.correct == "yes" for each in tried),
        false=sum(each.correct != "yes" for each in claims),
        unchecked=sum(not each.correct for each in claims),
        minutes=math.fsum(each.minutes for each in answers),
    )


@dataclass(frozen=True)
class _Answers:
    sure: str
    correct: str
    minutes: float


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of the file, each with the number of its last line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = next((line for line in file if not line.lstrip('"').startswith("#")), "")
            delimiter = max(",;\t", key=first.count)
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for cells in reader:
                yield reader.line_num, [cell.strip() for cell in cells]
    except FileNotFoundError:
        raise InputError(f"there is no file {path}. {_HOW}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Save it as CSV in UTF-8.") from None
    except csv.Error:
        raise InputError(
            f"{path} can't be read as CSV: a quote is left open, or there is text behind one."
        ) from None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from None


def _is_note(cells: Sequence[str]) -> bool:
    """Whether a row is a note above the column header."""
    return not any(cells) or cells[0].startswith("#")


def _refuse_edited(
    path: Path, columns: Sequence[str], rows: Sequence[tuple[int, list[str]]]
) -> None:
    """Raise for a row that was edited or occurs twice."""
    numbered = [place for place, name in _counts(columns) if columns[place] == name]
    seen: dict[str, int] = {}
    for line, cells in rows:
        if len(cells) != len(columns):
            raise InputError(
                f"{path}:{line}: the row has {len(cells)} columns, and the head has "
                f"{len(columns)}. Quote a cell that has a comma in it."
            )
        for place in numbered:
            if not cells[place].isdecimal():
                raise InputError(
                    f"{path}:{line}: {columns[place]} must be the whole number that was written "
                    "there; found something else."
                )
        if 0 in numbered and seen.setdefault(cells[0], line) != line:
            raise InputError(
                f"{path}:{line}: number is that of line {seen[cells[0]]} too. A record has one row."
            )


def _counts(columns: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Positions of the integer columns: the number, and the sizes after the quasi-identifiers."""
    yield 0, NUMBER
    behind = len(columns) - len(FILLED_IN)
    sizes = SIZES if columns[behind - 1] == SIZES[-1] else SIZES[:1]
    yield from enumerate(sizes, start=behind - len(sizes))


def _answers(path: Path, line: int, cells: list[str]) -> _Answers:
    given = dict(zip(FILLED_IN, cells[-len(FILLED_IN) :], strict=True))
    for column, allowed in ANSWERS.items():
        given[column] = given[column].lower()
        if given[column] not in ("", *allowed):
            raise InputError(
                f"{path}:{line}: {column} must be {', '.join(allowed[:-1])} or {allowed[-1]}, or "
                "empty; found something else."
            )
    if given["correct"] and not given["sure"]:
        raise InputError(
            f"{path}:{line}: correct is filled in and sure is empty: whether somebody was sure is "
            "said first."
        )
    return _Answers(given["sure"], given["correct"], _minutes(path, line, given["minutes"]))


def _minutes(path: Path, line: int, text: str) -> float:
    try:
        minutes = float(text.replace(",", ".")) if text else 0.0
    except ValueError:
        minutes = math.nan
    if not 0 <= minutes < math.inf:
        raise InputError(f"{path}:{line}: minutes must be a number, 0 or more, or empty.")
    return minutes
