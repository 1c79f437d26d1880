"""The outcome of a re-identification worksheet, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kanon_sql.report.words.numbers import counted, number, percent, plain
from kanon_sql.results.version import VERSION
from kanon_sql.results.worksheet import CONFIDENCE, Attempts


def as_json(attempts: Attempts) -> str:
    """The counts as JSON, named as in Python."""
    return json.dumps({"kanon_sql": VERSION, "worksheet": attempts.to_dict()}, indent=2)


def in_words(attempts: Attempts) -> str:
    """A sentence per count."""
    return plain("\n".join(_sentences(attempts)))


def _sentences(attempts: Attempts) -> Iterator[str]:
    spent = f" in {attempts.minutes:,g} minutes" if attempts.minutes else ""
    yield f"{counted(attempts.rows, 'record')}, {number(attempts.tried)} of them tried{spent}"
    if attempts.share is None or attempts.interval is None:
        yield "No record was tried yet: complete the column sure."
        return
    low, high = map(percent, attempts.interval)
    yield (
        f"{number(attempts.confirmed)} re-identified: {percent(attempts.share)} of the records "
        f"tried; between {low} and {high} with {CONFIDENCE * 100:.0f} % confidence (Clopper, "
        "Pearson 1934)"
    )
    yield (
        "This is the share of the riskiest records. It is an upper bound for the table only if the "
        "others are no riskier."
    )
    if attempts.unchecked:
        yield (
            f"Not checked yet: {counted(attempts.unchecked, 'claim')} of being sure, counted as "
            "wrong until then. The holder of the key completes the column correct."
        )
    checked, wrong = attempts.claims - attempts.unchecked, attempts.false - attempts.unchecked
    if checked:
        yield (
            f"Wrong: {number(wrong)} of {counted(checked, 'claim')} of being sure, "
            f"{percent(wrong / checked)}"
        )
