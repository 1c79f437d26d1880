"""A completed re-identification worksheet: counts with a confidence interval."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kanon_sql.errors import InputError, SpecError

NUMBER = "number"
"""The first column of a worksheet, the row number."""
SIZES = ("class_size", "reference_count")
"""The columns after the quasi-identifiers; the last exists only with a reference."""
FILLED_IN = ("tried_with", "name_found", "sure", "correct", "minutes")
"""The last columns of a worksheet, to be filled in."""
CONFIDENCE = 0.95
_HINT = "kanon-sql worksheet … --show-values --output FILE writes one."
_MINUTES = re.compile(r"(\d+([.,]\d*)?)?")


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
        """Exact interval of the share at 95 % (Clopper, Pearson 1934)."""
        return clopper_pearson(self.confirmed, self.tried) if self.tried else None

    @property
    def false_claims(self) -> float | None:
        """Share of wrong claims."""
        return self.false / self.claims if self.claims else None

    def to_dict(self) -> dict[str, object]:
        figures = {name: getattr(self, name) for name in ("share", "interval", "false_claims")}
        counts = {name: count for name, count in asdict(self).items() if name != "false"}
        return counts | figures | {"confidence": CONFIDENCE}


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """The interval of a share in which neither binomial tail is below 2.5 %.

    Raises `SpecError` with the install command if SciPy is missing.

    >>> [round(bound, 4) for bound in clopper_pearson(3, 20)]
    [0.0321, 0.3789]
    """
    try:
        from scipy.special import betaincinv
    except ImportError:
        raise SpecError(
            "a worksheet's confidence interval needs SciPy: pip install 'kanon-sql[estimates]'"
        ) from None
    tail, failures = (1 - CONFIDENCE) / 2, trials - successes
    low = betaincinv(successes, failures + 1, tail) if successes else 0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures else 1
    return float(low), float(high)


def read_worksheet(path: Path) -> Attempts:
    """Read a completed worksheet.

    Raises `InputError` with the row and column of a malformed cell, never its content.
    """
    lines = list(_lines(path))
    if not lines or tuple(lines[0][1][-len(FILLED_IN) :]) != FILLED_IN:
        raise InputError(
            f"{path} is no worksheet: its columns must end with {', '.join(FILLED_IN)}. {_HINT}"
        )
    if len(lines) == 1:
        raise InputError(f"{path} has no row to read. {_HINT}")
    numbers: set[str] = set()
    for line, cells in lines[1:]:
        fault = _fault(cells, len(lines[0][1]), numbers)
        if fault is not None:
            raise InputError(f"{path}:{line}: {fault}")
        numbers.add(cells[0])
    answers = [(sure, correct) for _, (*_, sure, correct, _) in lines[1:] if sure]
    claims = [correct for sure, correct in answers if sure == "yes"]
    return Attempts(
        rows=len(lines) - 1,
        tried=len(answers),
        claims=len(claims),
        confirmed=sum(correct == "yes" for _, correct in answers),
        false=sum(correct != "yes" for correct in claims),
        unchecked=claims.count(""),
        minutes=sum(float(cells[-1].replace(",", ".") or 0) for _, cells in lines[1:]),
    )


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The column names and the rows, each with the number of its last line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        head = next(
            (line for line in text.splitlines() if not line.lstrip('"').startswith("#")), ""
        )
        reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=head.count), strict=True)
        is_note = True
        for row in reader:
            cells = [*map(str.strip, row[:-3]), *(cell.strip().lower() for cell in row[-3:])]
            is_note &= not any(cells) or cells[0].startswith("#")
            if any(cells) and not is_note:
                yield reader.line_num, cells
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV in UTF-8"
        raise InputError(f"{path} can't be read: {reason}. {_HINT}") from None


def _fault(cells: list[str], width: int, numbers: set[str]) -> str | None:
    """Why a row can't be evaluated, or None."""
    if len(cells) != width:
        return (
            f"the row has {len(cells)} columns, and the head has {width}. Quote a cell that has a "
            "comma in it."
        )
    sure, correct, minutes = cells[-3:]
    if not cells[0].isdecimal() or cells[0] in numbers:
        return "number must be the whole number that was written there, once in the file."
    if sure not in ("", "yes", "no", "maybe"):
        return "sure must be yes, no or maybe, or empty; found something else."
    if correct not in ("", "yes", "no"):
        return "correct must be yes or no, or empty; found something else."
    tried = [name for name, cell in zip(FILLED_IN[1:], cells[-4:], strict=True) if cell]
    if tried and not sure:
        return f"{tried[0]} is filled in, but sure is empty. Fill in sure first: no, for nobody."
    if not _MINUTES.fullmatch(minutes):
        return "minutes must be a number, 0 or more, or empty."
    return None
