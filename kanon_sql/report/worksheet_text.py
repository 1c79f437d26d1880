"""The outcome of a re-identification worksheet, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kanon_sql.report.words.numbers import counted, number, percent, plain
from kanon_sql.results.version import VERSION
from kanon_sql.results.worksheet import CONFIDENCE, Attempts

OF_THE_RISKIEST = (
    "The share is of the riskiest records. It is an upper bound for the table only if the others "
    "are no riskier."
)


def as_json(attempts: Attempts) -> str:
    """The counts as JSON, named as in Python."""
    return json.dumps({"kanon_sql": VERSION, "worksheet": attempts.to_dict()}, indent=2)


def in_words(attempts: Attempts) -> str:
    """A sentence per count."""
    return plain("\n".join(_sentences(attempts)))


def _sentences(attempts: Attempts) -> Iterator[str]:
    tried = f"{counted(attempts.rows, 'record')}, {number(attempts.tried)} of them tried"
    yield f"{tried} in {_minutes(attempts.minutes)}" if attempts.minutes else tried
    if attempts.share is None or attempts.interval is None:
        yield "Nothing was tried yet: fill in the column sure."
        return
    low, high = attempts.interval
    yield (
        f"{number(attempts.confirmed)} re-identified: {percent(attempts.share)} of what was "
        f"tried, and between {percent(low)} and {percent(high)} with {CONFIDENCE * 100:.0f} % "
        "confidence (Clopper, Pearson 1934)"
    )
    yield OF_THE_RISKIEST
    if attempts.unchecked:
        yield (
            f"{counted(attempts.unchecked, 'claim')} of being sure "
            f"{'is' if attempts.unchecked == 1 else 'are'} not checked yet, and taken for wrong "
            "until then: whoever holds the key fills in the column correct."
        )
    checked, wrong = attempts.claims - attempts.unchecked, attempts.false - attempts.unchecked
    if checked:
        yield (
            f"{number(wrong)} of {counted(checked, 'claim')} of being sure "
            f"{'was' if wrong == 1 else 'were'} wrong, {percent(wrong / checked)}"
        )


def _minutes(spent: float) -> str:
    return counted(int(spent), "minute") if spent == int(spent) else f"{spent:,.1f} minutes"
