"""The class statistics of every small set of columns.

All sets are rolled up from the combinations of values of all columns, so that the records are read
once if those can be materialised. Otherwise each statement contains the CTE of the combinations and
computes them again. SUDA2 and DIS-SUDA scores follow from counts of minimal sample uniques, in
exact integers.

Elliot, Manning, Ford 2002, A computational algorithm for handling the special uniques problem,
IJUFKS 10(5); Skinner and Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4);
Elliot, Manning, Mayes, Gurd, Bane 2005, SUDA: a program for detecting special uniques, UNECE.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kanon_sql.auditing.fetched_sets import FetchInto, announce_fetch, fetch, is_fetchable
from kanon_sql.engines.run_options import Progress
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, option
from kanon_sql.plan.column_sets import (
    Size,
    Subset,
    in_batches,
    key_of,
    refuse_too_many,
    sizes_of,
    subsets_up_to,
)
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import counted, name_list
from kanon_sql.profiling.profile_plan import AT_ONCE, FEW_AT_ONCE, MOST_IN_PLACE
from kanon_sql.results.profile import SpecialNulls, SpecialUniques, SubsetProfile, UniquesOfSize
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

Distribution = Mapping[int, int]
"""Number of records by score."""


def score(counts: Sequence[int], columns: int) -> int:
    """The score of a record by its numbers of minimal sample uniques of the sizes 1, 2, …

    >>> score([1, 0, 0], columns=3), score([0, 2, 0], columns=3), score([0, 0, 1], columns=3)
    (2, 2, 1)
    """
    return sum(
        count * math.factorial(columns - size)
        for size, count in enumerate(counts, start=1)
        if count
    )


def contributions(
    uniques: Iterable[tuple[Sequence[str], int]], columns: Sequence[str]
) -> dict[str, float | None]:
    """For each column, the share of the total score, in per cent, of the sets that contain it;
    `uniques` are the sets with their numbers of minimal sample uniques. None if there are none.

    >>> contributions([(["a"], 1), (["a", "b"], 2)], ["a", "b"])
    {'a': 100.0, 'b': 66.66666666666667}
    """
    gains = dict.fromkeys(columns, 0)
    total = 0
    for names, count in uniques:
        gained = count * math.factorial(len(columns) - len(names))
        total += gained
        for name in names:
            gains[name] += gained
    # The ratio of two integers is rounded only once, however large they are.
    return {name: 100 * gain / total if total else None for name, gain in gains.items()}


def dis(scores: Distribution, pairs: int, columns: int, fraction: float) -> dict[int, float]:
    """The DIS-SUDA score by score: the heuristic probability that a match with such a record is
    correct. `pairs` is the number of classes of two records on all columns.

    1 / (1 + 2 s2 (1 − π) / (π · score^E · A)) with E = 1 + (8 − K)/20 and A = Σ score^−E over all
    scores; in logarithms, as factorials are large. Without pairs it is 1 for all.

    >>> round(dis({1: 1, 2: 1}, pairs=1, columns=8, fraction=0.5)[2], 12)
    0.6
    """
    special = {score: records for score, records in scores.items() if score > 0}
    if not special:
        return {}
    if pairs == 0 or fraction == 1:
        return dict.fromkeys(special, 1.0)
    exponent = 1 + (8 - columns) / 20
    logs = {score: -exponent * math.log(score) for score in special}
    largest = max(logs.values())
    in_all = largest + math.log(
        sum(records * math.exp(logs[score] - largest) for score, records in special.items())
    )
    odds = math.log(2 * pairs) + math.log1p(-fraction) - math.log(fraction) - in_all
    return {score: 1 / (1 + _exp(odds + logs[score])) for score in special}


def _exp(power: float) -> float:
    return math.exp(power) if power < 700 else math.inf


PRIVATE = "kanon_private_"
MOST_CODED = 60
"""Maximum number of columns with integer codes for values; for more, large sets are not
requested."""
MOST_NAMED = 12
"""Maximum number of columns named in a statement's question."""


@dataclass
class Combinations:
    """The distinct combinations of values of some columns with their record counts, the source of
    every query on sets of these columns. `relation` is the relation they are computed from, and
    `tables` are the tables that it reads."""

    session: Session
    question: ResolvedQuestion
    columns: tuple[BoundColumn, ...]
    relation: str
    tables: frozenset[str]
    records: int
    """Number of records; a query that counts another number has read a changed table."""
    k: int
    name: str = "combinations"
    into: FetchInto | None = None
    """Where the combinations are fetched to, if they are; all queries then run there."""
    fetched_from: str | None = None
    """The engine from which they were fetched."""
    _kept: list[str] = field(default_factory=list)
    _rows_by_set: dict[frozenset[int], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.into and not self.of_people and all(map(is_fetchable, self.columns)):
            raw = self._fetched(self.into)
        else:
            numbered = self.session.engine.materialises and not self.of_people
            raw = self.materialise(f"raw_{self.name}", self._question, self._combinations(numbered))
        self.raw = self.source = raw
        if self.is_coded:
            self.source = self._coded(raw)

    @property
    def _question(self) -> str:
        return f"Which combinations of values of {self._label} occur in {self.question.table.name}?"

    def _combinations(self, numbered: bool) -> str:
        return render(
            "value_combinations",
            relation=self.relation,
            columns=self.columns,
            entity=self.question.entity,
            numbered=numbered,
        )

    def _fetched(self, into: FetchInto) -> str:
        """Fetch the combinations, so that the records are read once, and number them."""
        name = f"{PRIVATE}fetched_{self.name}"
        step = self.step(name, self._question, self._combinations(numbered=False))
        keys = [
            replace(column, alias=key) for column, key in zip(self.columns, self.keys, strict=True)
        ]
        announce_fetch(self.session, step, keys, into.announce)
        self.fetched_from = self.session.engine.name
        source, self.session = self.session, replace(self.session, engine=into.hub)
        fetch(source, self.session, step, keys)
        self._kept.append(name)
        self.tables = frozenset()
        raw = self.materialise(
            f"raw_{self.name}",
            f"Which number does each combination of {self._label} have?",
            render("numbered_combinations", combinations=name, keys=self.keys),
        )
        self.drop([name])
        return raw

    @property
    def of_people(self) -> bool:
        return self.question.entity is not None

    @property
    def is_coded(self) -> bool:
        """Whether sets are grouped by integer codes of the values."""
        few = 1 < len(self.columns) <= MOST_CODED
        return self.session.engine.materialises and few and not self.of_people

    @property
    def keys(self) -> list[str]:
        return [key_of(number) for number in range(1, len(self.columns) + 1)]

    def classes(self, name: str, subsets: Sequence[Subset]) -> dict[int, Row]:
        """Class statistics of each set, by its number; cached."""
        new = [subset for subset in subsets if frozenset(subset.places) not in self._rows_by_set]
        left = len(new)
        at_once = AT_ONCE if self.session.max_seconds is None else FEW_AT_ONCE
        for number, batch in enumerate(in_batches(new, at_once), start=1):
            rows = self.session.rows(
                self.step(
                    name if number == 1 else f"{name}_{number}",
                    f"How many {counted(self.question)} of {self.question.table.name} share the "
                    f"values of each set of {len(batch[0].places)} of {self._label}?",
                    render(
                        "subset_classes",
                        combinations=self.source,
                        subsets=batch,
                        k=self.k,
                        of_people=self.of_people,
                    ),
                ),
                progress=_set_progress(len(subsets) - left, len(subsets)),
            )
            left -= len(batch)
            by_number = {subset.number: subset for subset in batch}
            for row in rows:
                if int(row["kanon_all_records"]) != self.records:
                    raise EngineError(
                        f"{self.question.table.name} changed while it was being profiled; run it "
                        "again."
                    )
                self._rows_by_set[frozenset(by_number[int(row["kanon_set"])].places)] = row
        return self.known(subsets)

    def known(self, subsets: Sequence[Subset]) -> dict[int, Row]:
        """Class statistics of each set that was measured, by its number."""
        places = {subset.number: frozenset(subset.places) for subset in subsets}
        return {
            number: self._rows_by_set[place]
            for number, place in places.items()
            if place in self._rows_by_set
        }

    def all_columns(self) -> Row:
        """Class statistics of all columns together."""
        every = Subset(0, tuple(range(1, len(self.columns) + 1)))
        return self.classes("all_columns", [every])[0]

    def names_of(self, subset: Subset) -> tuple[str, ...]:
        return tuple(self.columns[index - 1].name for index in subset.places)

    def step(self, name: str, question: str, sql: str) -> Statement:
        """A statement on temporary relations, or on the tables they are computed from."""
        return Statement(name, question, sql, tables=self.tables | frozenset(self._kept))

    def materialise(self, name: str, question: str, sql: str) -> str:
        """Materialise the result of a query; returns its name."""
        kept = f"{PRIVATE}{name}"
        self.session.materialise(self.step(kept, question, sql))
        self._kept.append(kept)
        return kept

    def drop(self, names: Sequence[str]) -> None:
        for name in names:
            self.session.engine.drop(name)
            self._kept.remove(name)

    @property
    def _label(self) -> str:
        few = len(self.columns) <= MOST_NAMED
        return name_list(self.columns) if few else f"{len(self.columns)} columns"

    def _coded(self, raw: str) -> str:
        codes = [
            self.materialise(
                f"codes_{self.name}_{number}",
                f"Which integer code does each value of {column.name} have?",
                render("coded_values", combinations=raw, key=key_of(number)),
            )
            for number, column in enumerate(self.columns, start=1)
        ]
        coded = self.materialise(
            self.name,
            f"Which combinations of values of {self._label} occur, as integer codes?",
            render("coded_combinations", combinations=raw, keys=self.keys, codes=codes),
        )
        self.drop(codes)
        return coded


def _set_progress(measured: int, sets: int) -> Progress:
    """The progress of a statement on some of the sets."""
    return lambda: f"{measured:,} of {sets:,} sets" if sets > 1 else ""


# --- small sets of columns ------------------------------------------------------------------


def subset_profiles(combinations: Combinations, size: int) -> tuple[SubsetProfile, ...]:
    """Class statistics of every set of at most `size` columns, worst first, as far as there is
    time."""
    subsets = subsets_up_to(len(combinations.columns), size)
    in_all = int(combinations.all_columns()["kanon_classes"])
    with combinations.session.if_in_time("subsets"):
        combinations.classes("subsets", subsets)
    rows = combinations.known(subsets)
    profiles = [
        _profile(combinations, subset, rows[subset.number], in_all)
        for subset in subsets
        if subset.number in rows
    ]
    # The subsets are in ascending size and declared order, and the sort is stable.
    return tuple(sorted(profiles, key=lambda profile: -profile.violating_records))


def together(combinations: Combinations) -> SubsetProfile:
    """Class statistics of all columns together."""
    row = combinations.all_columns()
    every = Subset(0, tuple(range(1, len(combinations.columns) + 1)))
    return _profile(combinations, every, row, int(row["kanon_classes"]))


def _profile(combinations: Combinations, subset: Subset, row: Row, in_all: int) -> SubsetProfile:
    people = int(row["kanon_violating_people"]) if combinations.of_people else None
    return SubsetProfile(
        columns=combinations.names_of(subset),
        k=int(row["kanon_k"]),
        classes=int(row["kanon_classes"]),
        uniques=int(row["kanon_uniques"]),
        violating_classes=int(row["kanon_violating_classes"]),
        violating_records=int(row["kanon_violating_records"]),
        violating_people=people,
        key=int(row["kanon_classes"]) == in_all,
    )


# --- special uniques ------------------------------------------------------------------------


@dataclass(frozen=True)
class MinimalUniques:
    """Minimal sample uniques: their number in each set, and the records by counts of each size."""

    by_set: Mapping[int, int]
    records: Mapping[tuple[int, ...], int]
    pairs: int
    """Number of combinations of all columns that occur exactly twice."""
    sizes: tuple[Size, ...]
    kept: str | None = None
    """The temporary relation of the uniques with their combinations' numbers, if materialised."""


def special_uniques(
    combinations: Combinations, size: int, fraction: float, nulls: SpecialNulls
) -> tuple[SpecialUniques, MinimalUniques]:
    """The special uniques of at most `size` columns with their scores, and the minimal uniques."""
    columns = len(combinations.columns)
    subsets = subsets_up_to(columns, size)
    keeps = combinations.session.engine.materialises
    if not keeps:
        refuse_too_many(option("suda"), columns, size, MOST_IN_PLACE)
    look = _step_by_step if keeps else _at_once
    uniques = look(combinations, subsets, nulls == "value")
    scores: Counter[int] = Counter()
    for counts, records in uniques.records.items():
        scores[score(counts, columns)] += records
    risks = dis(scores, uniques.pairs, columns, fraction)
    names = tuple(column.name for column in combinations.columns)
    of_sets = [
        (combinations.names_of(subset), uniques.by_set.get(subset.number, 0)) for subset in subsets
    ]
    return SpecialUniques(
        columns=names,
        max_size=size,
        nulls=nulls,
        records=sum(scores.values()),
        score=sum(score * records for score, records in scores.items()),
        highest=max(scores, default=0),
        sampling_fraction=fraction,
        dis=math.fsum(risks[score] * records for score, records in scores.items()),
        by_size=_by_size(of_sets),
        contributions=contributions(of_sets, names),
    ), uniques


def _by_size(of_sets: Sequence[tuple[tuple[str, ...], int]]) -> tuple[UniquesOfSize, ...]:
    """Number of minimal uniques by size, without zeros."""
    counts: Counter[int] = Counter()
    for names, uniques in of_sets:
        counts[len(names)] += uniques
    return tuple(UniquesOfSize(size, count) for size, count in sorted(counts.items()) if count)


def _step_by_step(
    combinations: Combinations, subsets: Sequence[Subset], nulls_are_values: bool
) -> MinimalUniques:
    """Materialise the uniques of each size, and exclude their supersets at the next size."""
    sizes = sizes_of(subsets)
    earlier: str | None = None
    for size in sizes:
        of_size = [subset for subset in subsets if len(subset.places) == size.number]
        batches = [
            combinations.materialise(
                f"uniques_{size.number}_{number}",
                f"Which combinations are unique on {size.number} columns and on no subset of them?",
                render(
                    "minimal_uniques",
                    combinations=combinations.source,
                    subsets=batch,
                    earlier=earlier,
                    nulls_are_values=nulls_are_values,
                ),
            )
            for number, batch in enumerate(in_batches(of_size), start=1)
        ]
        before = [earlier] if earlier else []
        earlier = combinations.materialise(
            f"uniques_up_to_{size.number}",
            f"Which combinations are minimal uniques of at most {size.number} columns?",
            render("all_found", found=[*before, *batches]),
        )
        combinations.drop([*before, *batches])
    assert earlier is not None
    by_set = combinations.session.rows(
        combinations.step(
            "special_uniques_by_set",
            "How many records are unique on each set of columns and on no subset of it?",
            render("uniques_by_set", minimal=earlier),
        )
    )
    by_counts = combinations.session.rows(
        combinations.step(
            "special_uniques",
            "How many records have how many minimal uniques of each size?",
            render("records_by_uniques", minimal=earlier, sizes=sizes),
        )
    )
    return MinimalUniques(
        {int(row["kanon_set"]): int(row["kanon_uniques"]) for row in by_set},
        {_counts(row, sizes): int(row["kanon_records"]) for row in by_counts},
        _pairs(combinations),
        sizes,
        earlier,
    )


def _at_once(
    combinations: Combinations, subsets: Sequence[Subset], nulls_are_values: bool
) -> MinimalUniques:
    """Compute everything in one statement, without temporary relations."""
    sizes = sizes_of(subsets)
    rows = combinations.session.rows(
        combinations.step(
            "special_uniques",
            "How many records are unique on each set of columns and on no subset of it?",
            render(
                "special_uniques_at_once",
                combinations=combinations.source,
                subsets=subsets,
                sizes=sizes,
                nulls_are_values=nulls_are_values,
            ),
        )
    )
    by_set = {
        subset.number: sum(int(row[f"kanon_set_{subset.number}"]) for row in rows)
        for subset in subsets
    }
    records = {_counts(row, sizes): int(row["kanon_records"]) for row in rows}
    special = {counts: number for counts, number in records.items() if any(counts)}
    return MinimalUniques(by_set, special, _pairs(combinations), sizes)


def _pairs(combinations: Combinations) -> int:
    return int(combinations.all_columns()["kanon_pairs"])


def _counts(row: Row, sizes: Sequence[Size]) -> tuple[int, ...]:
    return tuple(int(row[f"kanon_of_size_{size.number}"]) for size in sizes)
