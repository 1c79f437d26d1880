"""Infers the meaning of a column from its name, by the words in `column_names.yml`.

A name is split into words (`birthDate`, `date_of_birth`, `GEB-DATUM`), without case, accents and
digits; an entry of the table matches one word, or several consecutive ones written together. The
match of most words wins, so that a country of birth is not a date of birth, then the first meaning
in the table. A name tells the intention, never the content: an unknown name makes no column
harmless.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

from kanon_sql.spec.yaml_document import shipped

Part = Literal["identifier", "quasi_identifier", "sensitive", "undecided"]


@dataclass(frozen=True)
class Meaning:
    """The meaning of a word in a name, and the usual role of such a column."""

    spoken: str
    part: Part
    certain: bool = False
    """Whether it names a person directly, whatever its values."""


LONGEST = 5
"""Maximum number of consecutive words that one entry of the table matches."""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a column by its name, or None.

    >>> for name in ("patient_id", "Geb.-Datum", "E-Mail", "maritalStatus"):
    ...     print((found := meaning_of(name)).part, "·", found.spoken)
    identifier · record number
    quasi_identifier · date of birth
    identifier · e-mail address
    quasi_identifier · family status
    >>> meaning_of("x27") is None
    True
    """
    known = [part for part in _parts(name) if part.text in _meanings()]
    best = min(known, key=lambda part: (-part.words, _meanings()[part.text].place), default=None)
    found = _meanings()[best.text].meaning if best else None
    # A column called just "name" more often holds names of people than of things.
    return replace(found, certain=True) if found and words_of(name) == ["name"] else found


class _Placed(NamedTuple):
    """A meaning with its position in the table."""

    place: int
    meaning: Meaning


@cache
def _meanings() -> dict[str, _Placed]:
    """The first meaning of each word of the table."""
    table = shipped("kanon_sql.profiling", "column_names.yml")
    found: dict[str, _Placed] = {}
    for place, entry in enumerate(table):
        meaning = Meaning(entry["meaning"], entry["part"], entry.get("certain", False))
        for word in entry["words"].split():
            found.setdefault(word, _Placed(place, meaning))
    return found


class _Run(NamedTuple):
    """Consecutive words of a name, written together."""

    words: int
    text: str


def _parts(name: str) -> Iterator[_Run]:
    """Each run of consecutive words of a name, joined."""
    words = words_of(name)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST) + 1):
            yield _Run(end - start, "".join(words[start:end]))


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case without accents and digits.

    >>> words_of("Date_de_naissance2"), words_of("KFZKennzeichen"), words_of("größe")
    (['date', 'de', 'naissance'], ['kfz', 'kennzeichen'], ['groesse'])
    """
    for letter, plain in (
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("ß", "ss"),
        ("ø", "o"),
        ("ł", "l"),
    ):
        name = name.replace(letter, plain).replace(letter.upper(), plain.capitalize())
    decomposed = unicodedata.normalize("NFKD", name)
    plain_name = "".join(each for each in decomposed if not unicodedata.combining(each))
    apart = re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", plain_name)
    return re.findall(r"[a-z]+", apart.casefold())
