"""The steps on columns that no check uses: unassigned or insensitive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from kanon_sql.plan.answers import Answers, everyone, total
from kanon_sql.plan.bound_columns import bound_column
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion, as_read
from kanon_sql.plan.steps import (
    PlannedStep,
    counted,
    name_list,
    records,
    step,
    with_entity,
    with_records,
)
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.tables import Column, family

LEAST_SAMPLED = 1_000_000
"""Minimum number of records of which a sample is counted; below, all are."""
MOST_ALONE = 0.05
"""Share of the records (people) above which a warning says who is alone."""
SAMPLED, SAMPLED_OF_MANY_COLUMNS, SAMPLED_CELLS = 65_536, 4_096, 4_000_000
"""Number of combinations that are sampled: fewer where they have many columns."""
ONE_IN = 257
"""The share of the combinations that is sampled, where the number of records is unknown."""
LEAST_WITH_WINDOWS = 50_000_000
"""Minimum number of records of which windows are read first; fewer are as soon read whole."""
WINDOWS, WINDOW_RECORDS = 32, 50_000
"""Number of windows, spread over a table, and of the records in all of them. A twentieth of the
table that lies together has at least one."""
LEAST_IN_WINDOWS = MOST_ALONE / 2
"""Share of the records of the windows that are alone there, below which nothing more is read. It
bounds the share of all; half of the share that a warning is about leaves room for chance."""
DEVIATIONS = 2.5
"""Number of standard deviations within which an estimate has the true number, in 98 % of cases."""
NEARLY_ALL_ALONE = 0.95
"""Share of the records (people) that are alone by some columns, above which all are not read."""
SPARE_BITS, SPARE_BITS_OF_ONE, UNIQUE_BITS = 16, 6, 0.85
"""How many bits more than a number of the records several columns (one) have that may single out
nearly all; and the share of such a number that a column has which may do so by itself."""
_COUNTED = ("text", "number", "time", "boolean")
"""Type families whose values every database can count."""


class OtherColumnsStep(PlannedStep):
    """A step on columns that no check uses."""


class TogetherStep(OtherColumnsStep):
    """A step on all of them together with the quasi-identifiers."""


class Alone(NamedTuple):
    """Bounds of the number of records (people) that are alone in a combination of values."""

    least: float
    most: float
    of: int
    is_exact: bool


@dataclass(frozen=True, kw_only=True)
class AloneStep(TogetherStep):
    """Counts who is alone."""

    one_in: int = 1
    """The share of the combinations (people) that are looked at."""
    others: tuple[str, ...] = ()
    """The other columns whose values in the sample are counted, too."""
    is_part: bool = False
    """Whether some columns are left out: whoever is alone without them is alone with them."""

    def alone(self, answers: Answers) -> Alone | None:
        """The bounds that its row gives; None if it was not run.

        Each combination is sampled with the same chance, with all its records, so the number in the
        sample has a binomial distribution.
        """
        row, members = answers.row(self.name), everyone(answers.counted)
        if row is None:
            return None
        alone = int(row["kanon_alone"])
        error = DEVIATIONS * math.sqrt((alone + 1) * (1 - 1 / self.one_in))
        least, most = (self.one_in * (alone + sign * error) for sign in (-1, 1))
        if self.is_part:
            most = members
        is_exact = self.one_in == 1 and not self.is_part
        return Alone(min(max(least, 0), members), min(most, members), members, is_exact)

    def tells(self, answers: Answers) -> bool:
        """Whether its bounds are close enough, so that nothing more is read."""
        alone = self.alone(answers)
        return alone is not None and not (
            self.is_part and alone.least < NEARLY_ALL_ALONE * alone.of
        )


class WindowsStep(TogetherStep):
    """Counts who is alone among some of the records."""


@dataclass(frozen=True, kw_only=True)
class ColumnsStep(OtherColumnsStep):
    """A step that counts something of each of several columns."""

    columns: tuple[str, ...]


class UnassignedStep(ColumnsStep):
    """Counts the distinct values of the unassigned columns, approximately."""


class InsensitiveStep(ColumnsStep):
    """Counts who is alone in each insensitive column that the spec gives no reason for."""


def other_columns_steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """What all other columns add together, then what each gives away by itself."""
    unassigned = list(countable(question.roles.unassigned, question))
    insensitive = list(countable(question.roles.insensitive, question))
    if unassigned or insensitive:
        yield from _together(question, [*unassigned, *insensitive])
        yield from _unassigned(question, unassigned)
        yield from _insensitive(question, insensitive)


def countable(columns: Iterable[Column], question: ResolvedQuestion) -> Iterator[BoundColumn]:
    """The columns whose values the database can group."""
    for column in columns:
        if not column.unusable_because and (
            question.table.embedded or family(column.type) in _COUNTED
        ):
            yield bound_column(column)


def unexplained(question: ResolvedQuestion) -> frozenset[str]:
    """The insensitive columns that the spec gives no reason for."""
    reviewed = zip(question.roles.insensitive, question.spec.insensitive.values(), strict=True)
    return frozenset(column.name for column, entry in reviewed if entry.why is None)


SAMPLE, PART, WINDOWS_READ = (
    "other_columns_sample",
    "other_columns_first",
    "other_columns_windows",
)
"""The names of the steps on many records."""


def _words(question: ResolvedQuestion) -> str:
    return (
        f"How many {counted(question)} of {question.table.name} are alone for an attacker who also "
        "knows the columns that no check uses"
    )


def _together(question: ResolvedQuestion, others: Sequence[BoundColumn]) -> Iterator[PlannedStep]:
    """The count of all records, or, for many, of a sample."""
    columns = [*question.quasi_identifiers, *others]
    known = None if question.where or question.spec.first else question.table.records
    may_be_many = question.table.samples and (known is None or known >= LEAST_SAMPLED)
    if known is None or not may_be_many:
        exact = step(
            question,
            "other_columns",
            f"{_words(question)}?",
            render(
                "alone_with_others",
                relation=records(question, with_entity(question, columns)),
                columns=columns,
                entity=question.entity,
                embedded=question.table.embedded,
            ),
            only=f"for fewer than {LEAST_SAMPLED:,} records" if may_be_many else "",
        )
        when = _has_few_records if may_be_many else with_records
        yield AloneStep(statement=exact, when=when)
    if may_be_many and known is None:
        only = f"for {LEAST_SAMPLED:,} records or more"
        yield replace(_sample(question, columns, others, known, only), when=_has_many_records)
    elif may_be_many and known is not None:
        yield from _of_many(question, columns, others, known)


def _of_many(
    question: ResolvedQuestion,
    columns: list[BoundColumn],
    others: Sequence[BoundColumn],
    known: int,
) -> Iterator[PlannedStep]:
    """Where few are alone in windows of the table, few are in all of it, and no more is read. Where
    nearly all are alone by a few columns, the others are not read."""
    when, conditions = with_records, []
    if window := _windows(question, columns, known):
        looking = step(
            question,
            WINDOWS_READ,
            f"{_words(question)}, among some of the records only?",
            render("alone_in_windows", relation=window, columns=columns),
        )
        yield WindowsStep(statement=looking, when=with_records)
        when = _may_be_alone
        conditions = [f"where at least {LEAST_IN_WINDOWS:.1%} are alone in the windows"]
    if some := _telling(question, columns, known):
        its_others = [column for column in others if column in some]
        part = replace(
            _sample(question, some, its_others, known, ", ".join(conditions), PART),
            when=when,
            is_part=True,
        )
        yield part
        when = partial(_unless_part_tells, when, part)
        conditions.append(f"unless {NEARLY_ALL_ALONE:.0%} are alone by {name_list(some)}")
    yield replace(_sample(question, columns, others, known, ", ".join(conditions)), when=when)


def _unless_part_tells(when: Callable[[Answers], bool], part: AloneStep, answers: Answers) -> bool:
    """Whether a condition holds and the sample of a few columns leaves the others open."""
    return when(answers) and not part.tells(answers)


def _sample(
    question: ResolvedQuestion,
    columns: list[BoundColumn],
    others: Sequence[BoundColumn],
    known: int | None,
    only: str,
    name: str = SAMPLE,
) -> AloneStep:
    """The count of a sample of the combinations of these columns."""
    one_in, entity = _one_in(known, len(columns)), question.entity
    unit = "person" if entity else "combination of values"
    by = f", by {name_list(columns)} only" if name == PART else ""
    sql = render_known(
        "people_alone_of_sampled" if entity else "alone_of_sampled",
        relation=records(question, with_entity(question, columns)),
        columns=columns,
        entity=entity,
        one_in=one_in,
        embedded=question.table.embedded,
        others=others,
    )
    return AloneStep(
        statement=step(
            question,
            name,
            f"{_words(question)}{by}, counted for one {unit} in {one_in}?",
            sql,
            only=only,
        ),
        one_in=one_in,
        others=() if entity else tuple(column.name for column in others),
    )


def _telling(
    question: ResolvedQuestion, columns: Sequence[BoundColumn], known: int
) -> list[BoundColumn]:
    """The columns that may single out nearly all records, as far as their size in the file tells;
    none if that is unknown, or if they are nearly all columns."""
    of_number = math.log2(known)
    bits = {
        column.name: question.table.bits.get(column.name, 0.0)
        for column in columns
        if column.generalised is None
    }
    some: list[BoundColumn] = []
    most_first = sorted(columns, key=lambda column: -bits.get(column.name, 0.0))
    for column in most_first:
        has = bits.get(column.name, 0.0)
        total_bits = sum(bits[each.name] for each in some)
        is_enough = total_bits >= of_number + SPARE_BITS or any(
            bits[each.name] >= of_number + SPARE_BITS_OF_ONE for each in some
        )
        if not has or (is_enough and has < UNIQUE_BITS * of_number):
            return some if is_enough else []
        some.append(column)
    return []


def _windows(question: ResolvedQuestion, columns: list[BoundColumn], known: int) -> str | None:
    """The records of some windows, if the table has numbers by which they are read alone."""
    numbered_by, parts = question.table.numbered_by, question.table.parts
    if known < LEAST_WITH_WINDOWS or not numbered_by or question.entity:
        return None
    each = -(-WINDOWS // parts)
    length = max(1, min(WINDOW_RECORDS, SAMPLED_CELLS // len(columns)) // (each * parts))
    starts = [window * known // (each * parts) for window in range(each)]
    return render(
        "records",
        relation=question.table.sql,
        columns=as_read(columns),
        where=render("in_windows", number=numbered_by, starts=starts, length=length),
        generalised=True,
    )


def _one_in(known: int | None, columns: int) -> int:
    """The share of the combinations to sample, an odd number: it divides by all bits of a hash, of
    which the last ones alone may depend on each other.

    >>> _one_in(10_000_000, 10), _one_in(10_000_000, 500), _one_in(None, 10)
    (129, 1025, 257)
    """
    if known is None:
        return ONE_IN
    sampled = min(SAMPLED, max(SAMPLED_OF_MANY_COLUMNS, SAMPLED_CELLS // columns))
    return 1 << max(0, (known // sampled).bit_length() - 1) | 1


def _unassigned(
    question: ResolvedQuestion, columns: Sequence[BoundColumn]
) -> Iterator[PlannedStep]:
    if not columns or not question.table.approximates:
        return
    counting = step(
        question,
        "unassigned",
        f"About how many different values has each column of {question.table.name} that has no "
        "role?",
        render("approximate_distinct", relation=records(question, [*columns]), columns=columns),
        only=_ONLY_ALONE,
    )
    yield UnassignedStep(
        statement=counting, when=_are_alone, columns=tuple(column.name for column in columns)
    )


def _insensitive(
    question: ResolvedQuestion, insensitive: Sequence[BoundColumn]
) -> Iterator[PlannedStep]:
    without_reason = unexplained(question)
    columns = [column for column in insensitive if column.name in without_reason]
    if not columns:
        return
    people = "people" if question.entity else "records"
    counting = step(
        question,
        "insensitive",
        f"How many {people} of {question.table.name} have a value of an insensitive column that no "
        "other has?",
        render(
            "alone_by_column",
            relation=records(question, [*columns, *([question.entity] if question.entity else [])]),
            columns=columns,
            entity=question.entity,
        ),
        only=_ONLY_ALONE,
    )
    yield InsensitiveStep(
        statement=counting, when=_are_alone, columns=tuple(column.name for column in columns)
    )


_ONLY_ALONE = f"where more than {MOST_ALONE:.0%} are alone, and a sample does not tell it"


def _has_few_records(answers: Answers) -> bool:
    return 0 < total(answers.sizes, "kanon_records") < LEAST_SAMPLED


def _has_many_records(answers: Answers) -> bool:
    return total(answers.sizes, "kanon_records") >= LEAST_SAMPLED


def _may_be_alone(answers: Answers) -> bool:
    """Whether more than a few are alone in the windows."""
    window = answers.row(WINDOWS_READ)
    return window is not None and (
        int(window["kanon_alone"]) >= LEAST_IN_WINDOWS * int(window["kanon_records"])
    )


def _are_alone(answers: Answers) -> bool:
    """Whether a column may single out many, as far as the count of all columns together tells."""
    if (row := answers.row("other_columns")) is not None:
        return int(row["kanon_alone"]) > MOST_ALONE * everyone(answers.counted)
    if sampled := answers.row(SAMPLE) or answers.row(PART):
        return "kanon_combinations" not in sampled and bool(sampled["kanon_alone"])
    return bool(answers.sizes) and answers.row(WINDOWS_READ) is None
