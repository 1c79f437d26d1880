"""The warnings about columns that no check uses, by which people may be alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.errors import plural
from kanon_sql.plan.answers import Answers, everyone, total, uniques
from kanon_sql.plan.other_columns import (
    MOST_ALONE,
    Alone,
    AloneStep,
    InsensitiveStep,
    UnassignedStep,
    countable,
    unexplained,
)
from kanon_sql.plan.plan import Plan

_FEW = 20
"""Number of records below which nearly all values differ in any column."""
_MOST_SENTENCES, _MOST_NAMED = 3, 5
"""Maximum number of columns with a sentence each, and named in a sentence on several."""
_NEARLY_ALL = 0.85
"""Least share of the records of a sample that differ in a column that may identify people."""


def alone_with_others(plan: Plan, answers: Answers) -> Alone | None:
    """Who is alone in the quasi-identifiers and all other columns; None if that was not counted."""
    counts = [step.alone(answers) for step in plan.of(AloneStep) if step.name in answers.by_step]
    return counts[-1] if counts else None


def other_columns_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """What all other columns add together, then those that may identify people by themselves."""
    yield from _together(plan, answers)
    yield from _unassigned_warnings(plan, answers)
    yield from _insensitive_warnings(plan, answers)
    yield from _sampled_warnings(plan, answers)


def _together(plan: Plan, answers: Answers) -> Iterator[str]:
    """A warning if all other columns single out many more than the quasi-identifiers."""
    alone, question = alone_with_others(plan, answers), plan.question
    if alone is None or alone.most - uniques(answers) <= MOST_ALONE * alone.of:
        return
    others = {
        kind: [column.name for column in countable(columns, question)]
        for kind, columns in (
            ("unassigned", question.roles.unassigned),
            ("insensitive", question.roles.insensitive),
        )
    }
    kinds = [f"{_listed(names)} ({kind})" for kind, names in others.items() if names]
    is_one = sum(map(len, others.values())) == 1
    source = (
        "profile shows"
        if alone.is_exact
        else "It is estimated from a sample; profile counts exactly"
    )
    yield (
        f"With {' and '.join(kinds)}, {_words(alone, bool(question.entity))} alone"
        f"{', counting NULL as a value' if question.wildcard else ''}. {source} what "
        f"{'it' if is_one else 'each of them'} adds."
    )


def _words(alone: Alone, are_people: bool) -> str:
    """The number with its verb: "about 9.8 of 10 million records are"."""
    members = "people" if are_people else "records"
    count = round(alone.least)
    if not alone.is_exact:
        return f"about {_rounded(alone.least, alone.of)} {members} are"
    if count == alone.of:
        return f"all {count:,} {members} are"
    return f"{count:,} of {alone.of:,} {members} {'is' if count == 1 else 'are'}"


def _rounded(count: float, of: int) -> str:
    """A number of many, with two digits.

    >>> _rounded(9_841_000, 10_000_000), _rounded(481_000, 12_345_678), _rounded(10**8, 10**9)
    ('9.8 of 10 million', '480,000 of 12.35 million', '100 million of 1 billion')
    """
    unit, word = (10**9, " billion") if of >= 10**9 else (10**6, " million")
    if of < unit:
        unit, word = 1, ""
    all_of_them = f"{of / unit:,.4g}{word}" if word else f"{of:,}"
    if count >= unit:
        return f"{_two_digits(count / unit)} of {all_of_them}"
    if count >= 10**6:
        return f"{_two_digits(count / 10**6)} million of {all_of_them}"
    return f"{_two_digits(count)} of {all_of_them}"


def _two_digits(count: float) -> str:
    rounded = float(f"{count:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _listed(names: Sequence[str]) -> str:
    """The first names of columns, and the number of the others."""
    quoted = [f'"{name}"' for name in names[:_MOST_NAMED]]
    more = len(names) - len(quoted)
    return f"{', '.join(quoted)}{f' and {more:,} more' if more else ''}"


def _unassigned_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """Warnings about unassigned columns with about as many different values as records (people)."""
    step = next(plan.of(UnassignedStep), None)
    distinct_of = None if step is None else answers.row(step.name)
    if step is None or distinct_of is None:
        return
    members = everyone(answers.counted)
    least = members * plan.question.table.nearly_all
    names = [
        name
        for number, name in enumerate(step.columns, start=1)
        if members > 1
        and (
            (distinct := int(distinct_of[f"kanon_distinct_{number}"])) >= members
            or (members >= _FEW and distinct > least)
        )
    ]
    about = (
        "at least about as many different values as there are people"
        if plan.question.entity
        else "about as many different values as there are records"
    )
    yield from _identifying(names, f"{about} (an approximate count)")


def _identifying(names: Sequence[str], about: str) -> Iterator[str]:
    """Warnings about unassigned columns that may identify people by themselves."""
    if len(names) > _MOST_SENTENCES:
        more = plural(max(0, len(names) - _MOST_NAMED), "more column")
        others = f" and {more}" if len(names) > _MOST_NAMED else ""
        yield (
            f"{_listed(names[:_MOST_NAMED])}{others} each have {about}, so each may identify "
            "people by itself. What is published of them is a quasi-identifier; declare the "
            "others as identifiers."
        )
        return
    for name in names:
        yield (
            f'"{name}" has {about}, so it may identify people by itself. If it is published, it is '
            "a quasi-identifier; if not, declare it as an identifier or as the entity."
        )


def _insensitive_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """A warning about each insensitive column, without a reason, in which many are alone."""
    members = everyone(answers.counted)
    of_columns = (
        (step, row) for step in plan.of(InsensitiveStep) for row in answers.rows(step.name)
    )
    for step, row in of_columns:
        alone = int(row["kanon_alone"])
        if alone > MOST_ALONE * members:
            name = step.columns[int(row["kanon_column"]) - 1]
            whom = plural(alone, "person" if plan.question.entity else "record")
            yield _harmful(
                name,
                f"{whom} ({100 * alone / members:.1f} %) {'has' if alone == 1 else 'have'} a value "
                "of it that no other has",
                "them",
            )


def _harmful(name: str, how: str, whom: str) -> str:
    return (
        f'"{name}" is declared insensitive, and {how}, so it identifies {whom}. Make it a '
        "quasi-identifier, or write in the spec why it is harmless: "
        "insensitive: {COLUMN: {why: …}}."
    )


def _sampled_warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """Warnings about columns that differ in nearly all records, as a sample has it."""
    names = list(dict.fromkeys(_differing(plan, answers)))
    roles, about = plan.question.roles, "about as many different values as there are records"
    without_role = {column.name for column in roles.unassigned}
    estimated = "(estimated from a sample)"
    yield from _identifying(
        [name for name in names if name in without_role], f"{about} {estimated}"
    )
    for name in names:
        if name in unexplained(plan.question):
            yield _harmful(name, f"it has {about} {estimated}", "people")


def _differing(plan: Plan, answers: Answers) -> Iterator[str]:
    """The columns with about as many different values as records.

    Two records of different combinations are both in the sample with a chance of 1 / one_in², so
    the values that come again there tell how many pairs of records share one. A few combinations
    that have many records are probably not in the sample: it tells nothing if its combinations
    stand for fewer than nearly all records.
    """
    members = total(answers.sizes, "kanon_records")
    for step in plan.of(AloneStep):
        row = answers.row(step.name)
        if row is None or "kanon_combinations" not in row:
            continue
        combinations, records = int(row["kanon_combinations"]), int(row["kanon_records"])
        pairs_of_same = step.one_in * (records - combinations)
        if step.one_in * combinations < _NEARLY_ALL * members:
            continue
        most_pairs = (1 - _NEARLY_ALL) * members
        for number, name in enumerate(step.others, start=1):
            known = int(row[f"kanon_known_{number}"])
            again = known - int(row[f"kanon_distinct_{number}"])
            if known > _NEARLY_ALL * combinations and (
                pairs_of_same + step.one_in**2 * again <= most_pairs
            ):
                yield name
