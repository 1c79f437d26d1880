"""What a page for people outside pools does not follow from its other figures."""

from __future__ import annotations

import html
import math
import random
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from kanon_sql.auditing.result import AuditResult
from kanon_sql.results.consistency import faults
from kanon_sql.results.table import CheckResult, HistogramBin, Summary, TableResult

LEAST = 10
_DRAW = random.Random(20)
SIZES = [
    [142] * 4 + [143] * 3,
    [1] * 90 + [2] * 5,
    [1] * 90 + [10],
    [4] * 7 + [50] * 20,
    [1] * 12 + [40] + [120],
    [10] * 7 + [11] * 30,
    [3] * 12 + [6] * 2 + [300],
    *(
        [size for size in _DRAW.sample(range(1, 60), 4) for _ in range(_DRAW.randint(1, 14))]
        for _ in range(120)
    ),
]
Interval = tuple[int, int]


def of_sizes(sizes: list[int], *asked: int) -> AuditResult:
    """The audit of a table with classes of these sizes, for each k."""
    counted, records = sorted(Counter(sizes).items()), sum(sizes)

    def check(k: int) -> CheckResult:
        small = [size for size in sizes if size < k]
        return CheckResult("k_anonymity", {"k": k}, not small, min(sizes), len(small), sum(small))

    checks = tuple(check(k) for k in asked)
    summary = Summary(
        records,
        None,
        len(sizes),
        min(sizes),
        records / len(sizes),
        max(sizes),
        sizes.count(1),
        0,
        0,
    )
    at_risk = sum(size for size in sizes if Fraction(1, size) > Fraction(1, 5)) / records
    risk = {"highest": 1 / min(sizes), "average": len(sizes) / records, "at_risk": at_risk}
    table = TableResult(
        "people",
        "duckdb",
        "holds" if all(each.holds for each in checks) else "violated",
        ("zip",),
        summary=summary,
        histogram=tuple(HistogramBin(size, n, size * n) for size, n in counted),  # type: ignore[arg-type]
        checks=checks,  # type: ignore[arg-type]
        risk={"prosecutor": {**risk, "threshold": 0.2}, "journalist": None, "marketer": None},
    )
    assert list(faults(table)) == []
    return AuditResult((table,), "0.1.0")


def plain(page: str) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ")
    return " ".join(text.split())


def bins_of(page: str) -> list[tuple[int, int | None, int]]:
    """The least and greatest size of each bar, and its records."""
    [bars] = re.findall(r'<table class="bars">.*?</table>', page, re.DOTALL)
    found = []
    for row in re.findall(r"<tr>.*?</tr>", bars, re.DOTALL):
        if cells := re.match(r"(\d+)(?:\u2013(\d+)|(\+))? ([\d,]+) ", plain(row)):
            low, high, is_open, count = cells.groups()
            last = None if is_open else int(high or low)
            found.append((int(low), last, int(count.replace(",", ""))))
    return found


def classes_of(low: int, high: int | None, records: int) -> Interval:
    """How many classes of these sizes so many records can be in."""
    return (math.ceil(records / high) if high else 1, records // low)


def of_share(text: str, whole: int) -> Interval:
    """The counts of which a share may have been told; outside they are rounded besides."""
    share = Fraction(re.search(r"[\d.]+", text).group()) / 100  # type: ignore[union-attr]
    if "than" in text:
        count = share * whole
        return (1, math.ceil(count)) if "less" in text else (math.floor(count), whole)
    if share == 1:
        return (whole, whole)
    slack = Fraction(1, 2000) * whole + Fraction(LEAST, 2)
    return (max(1, math.ceil(share * whole - slack)), math.floor(share * whole + slack))


def is_told(interval: Interval, true: int) -> bool:
    """Whether an interval gives a small count away."""
    assert interval[0] <= true <= interval[1], (interval, true)
    return interval[0] == interval[1] and 0 < true < LEAST


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("asked", [(5,), (7, 12), (50,)], ids=str)
def test_no_pair_of_figures_gives_back_what_is_pooled(sizes: list[int], asked: Any) -> None:
    page = of_sizes(sizes, *asked).to_html(audience="external")
    text, records, k = plain(page), sum(sizes), min(sizes)
    if records // k < 2:
        return
    bars = bins_of(page)
    assert sum(count for *_, count in bars) == records
    assert len(bars) == 1 or min(count for *_, count in bars) >= LEAST

    # Division: a share of all is a count of classes, records by their size are one.
    average = re.search(r"prosecutor average \u2013 (.*?%)", text)
    assert average
    everything = of_share(average.group(1), records)
    true = [
        sum(low <= size and (high is None or size <= high) for size in sizes)
        for low, high, _ in bars
    ]
    each = [classes_of(max(low, k), high, count) for low, high, count in bars]
    if len(set(sizes)) > 1:
        assert not is_told(everything, len(sizes))
    for place, interval in enumerate(each):
        if len(bars) > 1:
            assert not is_told(interval, true[place])
        # Subtraction: what is left of all classes once those of the other bars are taken away.
        others = [other for at, other in enumerate(each) if at != place]
        left = (
            max(interval[0], everything[0] - sum(high for _, high in others)),
            min(interval[1], everything[1] - sum(low for low, _ in others)),
        )
        if len(bars) > 1:
            assert not is_told(left, true[place])

    # Subtraction: of records that violate two checks, and of those in the bars.
    for least in asked:
        small = [size for size in sizes if size < least]
        reach = re.search(rf"k ≥ {least} [\d,]+ −[\d,]+ (.*?)(?: [✗✓○]| Recipient)", text)
        if not small:
            assert reach is None
            continue
        assert reach
        if 0 < len(small) < LEAST:
            assert reach.group(1).endswith("fewer than 10 classes")
            assert "%" not in reach.group(1)
        elif sum(small) < records:
            counts = re.findall(r"about ([\d,]+)|(?<!nearly )(all|nearly)", reach.group(1))
            assert counts


def test_the_average_is_not_the_number_of_few_classes() -> None:
    text = plain(of_sizes([142] * 4 + [143] * 3, 200).to_html(audience="external"))
    assert "0.7 % on average" not in text
    assert "less than 1.0 % on average" in text
    assert "✗ VIOLATED k-anonymity k ≥ 200 142 −58 fewer than 10 classes Recipient" in text
