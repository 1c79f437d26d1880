"""What came of trying the riskiest records by hand, in words and as JSON."""

from __future__ import annotations

import json

from kanon_sql.report.words.numbers import counted, number, percent, plain
from kanon_sql.results.version import VERSION
from kanon_sql.results.worksheet import CONFIDENCE, Attempts

OF_THE_RISKIEST = (
    "The share is of the riskiest records. It is an upper bound for the table only if the others "
    "are no riskier."
)


def as_json(attempts: Attempts) -> str:
    """The counts under the names that they have in Python."""
    return json.dumps({"kanon_sql": VERSION, "worksheet": attempts.to_dict()}, indent=2)


def in_words(attempts: Attempts) -> str:
    """One sentence for each thing that was counted."""
    lines = [
        f"{counted(attempts.rows, 'record')}, {number(attempts.tried)} of them tried in "
        f"{number(attempts.minutes)} minutes"
    ]
    if attempts.share is not None and attempts.interval is not None:
        low, high = attempts.interval
        lines.append(
            f"{number(attempts.confirmed)} re-identified: {percent(attempts.share)} of what was "
            f"tried, and between {percent(low)} and {percent(high)} with {percent(CONFIDENCE)} "
            "confidence (Clopper, Pearson 1934)"
        )
        lines.append(OF_THE_RISKIEST)
    else:
        lines.append("Nothing was tried yet: fill in the column sure.")
    if attempts.false_claims is not None:
        lines.append(
            f"{number(attempts.false)} of {counted(attempts.claims, 'claim')} of being sure were "
            f"wrong, {percent(attempts.false_claims)}"
        )
    return plain("\n".join(lines))
