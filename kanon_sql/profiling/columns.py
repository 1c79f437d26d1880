"""The statistics of each column by itself, with its likely role.

The likely role follows from a column's name and from aggregates of its values: how many there are,
their length, whether they parse as numbers. No value is fetched. A column without evidence stays
undecided. Candidates are ranked by the records that they make newly unique.

A name is looked up in `column_names.yml`: it is split into words (`birthDate`, `date_of_birth`,
`GEB-DATUM`), without case, accents and digits; an entry matches one word, or several consecutive
ones written together. The match of most words wins, so that a country of birth is not a date of
birth, then the first meaning in the table. A name tells the intention, never the content: an
unknown name makes no column harmless.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations as subsets_of
from typing import Literal

from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError
from kanon_sql.plan.column_sets import Subset
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import counted
from kanon_sql.profiling.subsets import Combinations
from kanon_sql.question.yaml_document import shipped
from kanon_sql.results.profile import (
    BEST_OF,
    BY_NAME,
    UNKNOWN_NAME,
    ColumnProfile,
    LooksLike,
    most_tried,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Row, family

Role = Literal["identifier", "quasi_identifier", "sensitive", "undecided"]


@dataclass(frozen=True)
class Meaning:
    """The meaning of a word in a name, and the usual role of such a column."""

    index: int
    """Its position in the table."""
    label: str
    role: Role
    certain: bool = False
    """Whether it names a person directly, whatever its values."""


LONGEST = 5
"""Maximum number of consecutive words that one entry of the table matches."""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a column by its name, or None.

    >>> for name in ("patient_id", "Geb.-Datum", "E-Mail", "maritalStatus"):
    ...     print((meaning := meaning_of(name)).role, "·", meaning.label)
    identifier · record number
    quasi_identifier · date of birth
    identifier · e-mail address
    quasi_identifier · family status
    >>> meaning_of("x27") is None
    True
    """
    words = words_of(name)
    known = [
        (length, meaning)
        for start in range(len(words))
        for length in range(1, min(len(words) - start, LONGEST) + 1)
        if (meaning := _meanings().get("".join(words[start : start + length])))
    ]
    _, longest = min(known, key=lambda item: (-item[0], item[1].index), default=(0, None))
    # A column called just "name" more often holds names of people than of things.
    return replace(longest, certain=True) if longest and words == ["name"] else longest


@cache
def _meanings() -> dict[str, Meaning]:
    """The first meaning of each word of the table."""
    table = shipped("kanon_sql.profiling", "column_names.yml")
    meanings: dict[str, Meaning] = {}
    for index, entry in enumerate(table):
        meaning = Meaning(index, entry["meaning"], entry["part"], entry.get("certain", False))
        for word in entry["words"].split():
            meanings.setdefault(word, meaning)
    return meanings


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case without accents and digits.

    >>> words_of("Date_de_naissance2"), words_of("KFZKennzeichen"), words_of("größe")
    (['date', 'de', 'naissance'], ['kfz', 'kennzeichen'], ['groesse'])
    """
    for letter, letters in (
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("ß", "ss"),
        ("ø", "o"),
        ("ł", "l"),
    ):
        name = name.replace(letter, letters).replace(letter.upper(), letters.capitalize())
    decomposed = unicodedata.normalize("NFKD", name)
    ascii_name = "".join(char for char in decomposed if not unicodedata.combining(char))
    split_name = re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", ascii_name)
    return re.findall(r"[a-z]+", split_name.casefold())


AT_ONCE = 16
"""Number of columns per statement."""
FEW_RECORDS = 20
"""Minimum number of records for conclusions from the number of distinct values."""
MOST_RANKED = 30
"""Maximum number of candidates ranked by the records they make unique."""
PHRASE = 30
"""Minimum average length, in characters, of free text."""
OFTEN = 5
"""Average number of occurrences from which a text is a label rather than free text."""


@dataclass(frozen=True)
class Looks:
    """Aggregates of a column's values, without any value itself."""

    known: int
    """Number of distinct values, without NULL."""
    shortest: int
    longest: int
    length: float
    """Average length of the distinct values."""
    phrases: int
    """Number of values with more than one word."""
    numbers: int
    whole: int
    codes: int
    """Number of values with a leading zero, which numbers do not have."""
    dates: int
    least: float | None
    most: float | None

    @property
    def are_numbers(self) -> bool:
        return 0 < self.known == self.numbers and not self.codes

    @property
    def are_whole(self) -> bool:
        return self.are_numbers and self.whole == self.numbers

    @property
    def are_dates(self) -> bool:
        return 0 < self.known == self.dates and not self.are_numbers

    def are_free_text(self, of_records: int) -> bool:
        """Whether the values are texts written for one record or a few."""
        recur = self.known * OFTEN < of_records
        return self.length >= PHRASE and 2 * self.phrases > self.known and not recur


@dataclass(frozen=True)
class LookedAt:
    """A column with its statistics; None for values that cannot be compared."""

    column: Column
    itself: Row | None = None
    looks: Looks | None = None


@dataclass(frozen=True)
class Numbered:
    """A column with its number in a statement."""

    number: int
    column: BoundColumn


def comparable(column: Column) -> bool:
    """Whether the column holds scalar values that SQL can compare."""
    return column.unusable_because is None and family(column.type) not in ("nested", "span")


def bound_column(column: Column) -> BoundColumn:
    """The column as a statement reads it."""
    return BoundColumn(column.name, column.type, column.name)


def statistics(
    session: Session,
    question: ResolvedQuestion,
    relation: str,
    tables: frozenset[str],
    records: int,
    columns: Sequence[Column],
) -> list[LookedAt]:
    """Each column with its statistics, in the records that a question covers. They are read from
    `relation`, which reads `tables`; one a statement where time is limited."""
    rows: dict[str, Row] = {}
    measurable = [column for column in columns if comparable(column)]
    at_once = AT_ONCE if session.max_seconds is None else 1
    with session.if_in_time("columns"):
        for number, start in enumerate(range(0, len(measurable), at_once), start=1):
            batch = measurable[start : start + at_once]
            step = Statement(
                "columns" if number == 1 else f"columns_{number}",
                f"How many values does each of {', '.join(column.name for column in batch)} have, "
                f"what do they look like, and how many of the {counted(question)} of "
                f"{question.table.name} are unique by it?",
                render(
                    "columns_by_themselves",
                    relation=relation,
                    columns=[
                        Numbered(n, bound_column(column)) for n, column in enumerate(batch, 1)
                    ],
                    entity=question.entity,
                ),
                tables=tables,
            )
            for row in session.rows(step):
                if int(row["kanon_records"]) != records:
                    raise EngineError(
                        f"{question.table.name} changed while it was being profiled; run it again."
                    )
                rows[batch[int(row["kanon_column"]) - 1].name] = row
    return [
        LookedAt(column, rows[column.name], _looks(rows[column.name]))
        if column.name in rows
        else LookedAt(column)
        for column in columns
        if column.name in rows or not comparable(column)
    ]


def _looks(row: Row) -> Looks:
    counts = ("known", "shortest", "longest", "phrases", "numbers", "whole", "codes", "dates")
    least, most = row["kanon_least"], row["kanon_most"]
    return Looks(
        **{name: int(row[f"kanon_{name}"] or 0) for name in counts},
        length=float(row["kanon_length"] or 0),
        least=None if least is None else float(least),
        most=None if most is None else float(most),
    )


# --- likely role of a column ----------------------------------------------------------------


def column_profile(
    column_statistics: LookedAt, records: int, members: int, role: str | None = None
) -> ColumnProfile:
    """The profile of a column. `members` is the number of people, or records without an entity."""
    column, row, looks = column_statistics.column, column_statistics.itself, column_statistics.looks
    if row is None or looks is None:
        looks_like, why = _uncomparable(column)
        return ColumnProfile(column.name, column.type, looks_like, why, role)
    values, nulls = int(row["kanon_values"]), int(row["kanon_nulls"])
    looks_like, why = _column_profile(column, looks, values, nulls, records)
    pairs = records * (records - 1)
    return ColumnProfile(
        column=column.name,
        type=column.type,
        looks_like=looks_like,
        why=why,
        role=role,
        distinct=values,
        nulls=nulls,
        largest_share=int(row["kanon_largest"]) / records,
        alone=int(row["kanon_alone"]),
        distinction=values / records,
        separation=1 - float(row["kanon_untold_pairs"]) / pairs if pairs else None,
    )


def _uncomparable(column: Column) -> tuple[LooksLike, str]:
    if column.unusable_because is not None:
        return "nested", column.unusable_because
    if family(column.type) == "nested":
        return "nested", "nested: select its fields as columns"
    return "nested", "its values can't be compared one by one"


def _column_profile(
    column: Column, looks: Looks, values: int, nulls: int, records: int
) -> tuple[LooksLike, str]:
    """The likely role of a column, and the reason."""
    known = records - nulls
    if not known:
        return "constant", "NULL in every record"
    if values == 1 < records:
        return "constant", "the same value in every record"
    meaning = meaning_of(column.name)
    if looks.are_free_text(known) and not looks.are_numbers:
        return "free_text", "free text: no count can show it harmless"
    is_unique = records >= FEW_RECORDS and 10 * looks.known > 9 * known > 0
    every = 10 * looks.known == 10 * known
    share = "different in every record" if every else "nearly different in every record"
    if meaning is not None and (by_name := _by_name(meaning, looks, known)):
        looks_like, why = by_name
        return looks_like, f"{why}; {share}" if is_unique and looks_like != "identifier" else why
    # Record numbers differ in every record; amounts in nearly every one, and so may dates of birth.
    are_amounts = looks.are_numbers and not (looks.are_whole and every)
    are_dates = looks.are_dates or family(column.type) == "time"
    if is_unique and not (are_amounts or are_dates):
        return "identifier", share
    if is_unique:
        quantity = "date" if are_dates else "measurement"
        return "undecided", f"a {quantity}, {share}: anyone who knows it finds the record"
    if meaning is not None and meaning.role == "identifier":
        return "undecided", f"name suggests {meaning.label}, but values recur"
    return "undecided", UNKNOWN_NAME


def _by_name(meaning: Meaning, looks: Looks, known: int) -> tuple[LooksLike, str] | None:
    """The likely role by the column's name, unless the values contradict it."""
    if meaning.role == "undecided":
        return "undecided", f"name suggests {meaning.label}"
    if meaning.role != "identifier":
        return meaning.role, f"{BY_NAME}{meaning.label}"
    often = 20 * looks.known >= known if meaning.certain else 2 * looks.known >= known
    if often and looks.known > 2:
        return "identifier", f"{BY_NAME}{meaning.label}"
    return None


# --- ranking of candidates ------------------------------------------------------------------


def is_candidate(column: ColumnProfile) -> bool:
    """Whether an attacker may know the column, so that it could single people out."""
    return column.role is None and column.looks_like in ("quasi_identifier", "undecided")


def ranked(
    columns: Iterable[ColumnProfile], combinations: Combinations, places: Sequence[int]
) -> tuple[ColumnProfile, ...]:
    """The columns, with a rank and the number of newly unique records for each candidate.

    `combinations` are those of the candidates; only the candidates at `places` are ranked.
    """
    columns = tuple(columns)
    added = dict(_added(combinations, places, _tried(columns, combinations, places)))
    return tuple(
        replace(candidate, rank=added[candidate.column][0], adds=added[candidate.column][1])
        if candidate.column in added
        else candidate
        for candidate in columns
    )


def _tried(
    columns: Sequence[ColumnProfile], combinations: Combinations, places: Sequence[int]
) -> list[int]:
    """The candidates of which every set is tried: in turn the one with most values and the one
    that separates most pairs of records."""
    by_name = {candidate.column: candidate for candidate in columns}
    profile_at = {at: by_name[combinations.columns[at - 1].name] for at in places}
    by_values = sorted(places, key=lambda at: -(profile_at[at].distinct or 0))
    by_pairs = sorted(places, key=lambda at: -(profile_at[at].separation or 0))
    in_turn = dict.fromkeys(at for pair in zip(by_values, by_pairs, strict=True) for at in pair)
    return list(in_turn)[: most_tried(combinations.records)]


def _added(
    combinations: Combinations, places: Sequence[int], tried: Sequence[int]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """By name, each candidate's rank and number of newly unique records."""
    left = list(_best_set(combinations, tried))
    chosen: tuple[int, ...] = ()
    alone = 0
    while left:
        rows = combinations.classes(f"added_to_{len(chosen)}", [_with(chosen, at) for at in left])
        index = min(left, key=lambda at: _adds_most(rows[at], at))
        uniques = int(rows[index]["kanon_uniques"])
        left.remove(index)
        chosen = (*chosen, index)
        yield combinations.columns[index - 1].name, (len(chosen), uniques - alone)
        alone = uniques
    others = [index for index in places if index not in chosen]
    if others:
        tried_sets = [_with(chosen, index) for index in others]
        rows = combinations.classes(f"added_to_{len(chosen)}", tried_sets)
        in_order = sorted(others, key=lambda at: _adds_most(rows[at], at))
        for rank, index in enumerate(in_order, start=len(chosen) + 1):
            uniques = int(rows[index]["kanon_uniques"])
            yield combinations.columns[index - 1].name, (rank, uniques - alone)


def _with(chosen: tuple[int, ...], index: int) -> Subset:
    """A set and one more column, with the number of that column."""
    return Subset(index, (*chosen, index))


def _best_set(combinations: Combinations, places: Sequence[int]) -> tuple[int, ...]:
    """The set of `BEST_OF` columns that singles out most records; all columns if there are no
    more."""
    if len(places) <= BEST_OF:
        return tuple(places)
    sets = [
        Subset(number, subset)
        for number, subset in enumerate(subsets_of(sorted(places), BEST_OF), start=1)
    ]
    rows = combinations.classes(f"sets_of_{BEST_OF}", sets)
    return min(sets, key=lambda subset: _adds_most(rows[subset.number], *subset.places)).places


def _adds_most(row: Row, *places: int) -> tuple[int, ...]:
    """Sort key: unique records, then classes, then the order of the table."""
    return -int(row["kanon_uniques"]), -int(row["kanon_classes"]), *places
