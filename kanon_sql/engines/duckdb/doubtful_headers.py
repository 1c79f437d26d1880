"""A first line that may be a record, whose cells would then be personal data."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from operator import contains

from kanon_sql.engines.duckdb.raw_lines import LONGEST_LINE, Lines, field_limit, open_bytes
from kanon_sql.engines.readers import Run
from kanon_sql.errors import InputError, option

FIRST_RECORDS = 100
"""Number of records that a name is compared with."""
LONG_CODE = 8
"""Minimum length from which codes of equal length are considered alike, such as hashes."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?: .*)?"
    rf"|\d{{1,2}}[ .-]*{_MONTH}[ .,-]*\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?e[+-]?\d+", re.IGNORECASE)
_E_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_URL = re.compile(r"\w+://\S+")
_NUMBER_FIRST = re.compile(r"\d+ \S")
"""A text such as a post code with its town."""


def require_names(file: str, names: Sequence[str], records: Sequence[Sequence[str]]) -> None:
    """Raise `InputError`, without repeating any cell, if the names look like a record."""
    doubt = record_doubt(names, records)
    if doubt is not None:
        skip, is_title = option("skip", 1), doubt.endswith("empty")
        raise InputError(
            f"{file}: the first line looks like a record, not like the names of columns: {doubt}. "
            "Its cells are withheld, as they may be a person's. Say whether it is a header: "
            f"{option('header', 'yes')}, or {option('header', 'no')} for columns called column_1, "
            f"column_2 and so on.{f' If it is a title, {skip} leaves it out.' if is_title else ''}"
        )


def record_doubt(names: Sequence[str], records: Sequence[Sequence[str]]) -> str | None:
    """Why the first line looks like a record, as a clause; None if it doesn't.

    One name that hardly is one will do, or one that is a value of its column unless text stands
    above numbers or dates elsewhere. Otherwise the columns vote: a name that looks like the values
    below it stands against one above values of another kind. Words above words tell nothing.

    >>> record_doubt(["id7", "33"], [["id9", "44"]])
    'field 2 is a number'
    >>> record_doubt(["id7", "flu"], [["id9", "hiv"]])
    'field 1 looks like the values below it'
    >>> record_doubt(["Zqsmith", "male"], [["Miller1", "male"]])
    'field 2 looks like the values below it'
    >>> record_doubt(["icd10", "age"], [["J45", "44"]])
    """
    folded = [name.casefold() for name in names]
    for number, name in enumerate(names, start=1):
        kind = (
            "there twice" if folded.index(folded[number - 1]) + 1 < number else kind_of_name(name)
        )
        if kind:
            return f"field {number} is {kind}"
    columns = [
        [row[number] for row in records if row[number].strip()] for number in range(len(names))
    ]
    alike = list(map(is_like_values, names, columns))
    recurs = any(map(contains, columns, names)) and not any(map(are_of_a_kind, columns))
    if recurs or alike.count(True) > alike.count(False):
        return f"field {alike.index(True) + 1} looks like the values below it"
    return None


def kind_of_name(name: str) -> str:
    """The kind of a text that is no plausible column name, or "".

    >>> [kind_of_name(each) for each in ("1.5E3", "17.03.1985", "a@b.org", " ", "age 2", "#")]
    ['a number', 'a date', 'an e-mail address', 'empty', '', '']
    >>> kind_of_name("https://example.org/ann")
    'a web address'
    """
    name = name.strip()
    if not name:
        return "empty"
    if _DATE.fullmatch(name):
        return "a date"
    digits = any(map(str.isdigit, name)) and not any(map(str.isalpha, name))
    if digits or _EXPONENT.fullmatch(name):
        return "a number"
    if _URL.fullmatch(name):
        return "a web address"
    return "an e-mail address" if _E_MAIL.fullmatch(name) else ""


def is_like_values(name: str, values: Sequence[str]) -> bool | None:
    """Whether a name resembles the values below it; None if both are words, or codes of which all
    but the name have the same letters.

    >>> is_like_values("8000 Town", ["4711 Place"]), is_like_values("30 day stay", ["yes"])
    (True, None)
    >>> is_like_values("q1", ["v05", "v12"]), is_like_values("q1", ["v05", "w12"])
    (None, True)
    """
    if name in values:
        return True
    if _NUMBER_FIRST.match(name) and values and all(map(_NUMBER_FIRST.match, values)):
        return True
    codes = [value for value in values if is_code(value)]
    if 2 * len(codes) <= len(values):
        return False if are_of_a_kind(values) else None
    letters = {*map(letters_of, codes)}
    if len(codes) > 1 and len(letters) == 1 and letters_of(name) not in letters and is_code(name):
        return None
    of_one_length = {*map(len, codes)} == {len(name)} and len(name) >= LONG_CODE
    return is_code(name) and (of_one_length or shape(name) in map(shape, codes))


def are_of_a_kind(values: Sequence[str]) -> bool:
    """Whether most values are of a kind that names are not, as numbers and dates are."""
    return 2 * sum(bool(kind_of_name(value)) for value in values) > len(values)


def is_code(text: str) -> bool:
    """Whether a text mixes letters and digits."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def letters_of(code: str) -> str:
    """The letters of a code.

    >>> letters_of("Zq7-12")
    'Zq'
    """
    return "".join(filter(str.isalpha, code))


def shape(code: str) -> str:
    """The pattern of digits and of upper and lower case in a code.

    >>> shape("Zq7-12"), shape("P1") == shape("P12"), shape("ICD10") == shape("J45")
    ('Aa9-9', True, False)
    """
    letters = re.sub(r"\d+", "9", code)
    return "".join(
        letter if not letter.isalpha() else "A" if letter.isupper() else "a" for letter in letters
    )


def first_records(file: str, delimiter: str, width: int, run: Run) -> list[list[str]]:
    """Some records below the first line, up to the first invalid one."""
    records: list[list[str]] = []
    with open_bytes(file, run) as raw, field_limit(LONGEST_LINE):
        reader = csv.reader(Lines(file, raw), delimiter=delimiter, strict=True)
        try:
            for record in islice(reader, 1, FIRST_RECORDS + 1):
                records += [record] if len(record) == width else []
        except csv.Error:
            # Reported by the reader of the whole file.
            pass
    return records
