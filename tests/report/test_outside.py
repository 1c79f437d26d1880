"""What a page for people outside pools does not follow from its other figures."""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

import pyarrow
import pytest
from consistency import faults

import kanon_sql as kanon
from kanon_sql.auditing.result import AuditResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import HistogramBin, Summary, TableResult, status_of


def of_sizes(sizes: list[int], *asked: int) -> AuditResult:
    """The audit of a table with classes of these sizes, for each k."""
    counted, records = sorted(Counter(sizes).items()), sum(sizes)

    def check(k: int) -> CheckResult:
        small = [size for size in sizes if size < k]
        return CheckResult("k_anonymity", {"k": k}, not small, min(sizes), len(small), sum(small))

    measured = CheckResult("k_anonymity", {}, None, min(sizes))
    checks = tuple(check(k) for k in asked) or (measured,)
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
        status_of(checks),
        ("zip",),
        summary=summary,
        histogram=tuple(HistogramBin(size, n, size * n) for size, n in counted),  # type: ignore[arg-type]
        checks=checks,  # type: ignore[arg-type]
        risk={"prosecutor": {**risk, "threshold": 0.2}, "journalist": None, "marketer": None},
    )
    assert list(faults(table)) == []
    return AuditResult((table,), "0.1.0")


def plain(page: str) -> str:
    text = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))
    return " ".join(text.replace("\u00a0", " ").split())


def of_outside(sizes: list[int], *asked: int, min_cell: int = 10) -> str:
    """The words of the page, without the digest of the result."""
    page = of_sizes(sizes, *asked).to_html(audience="external", min_cell=min_cell)
    return re.sub(r"\b[0-9a-f]{64}\b", "", plain(page))


def partitions(records: int, largest: int) -> Iterator[list[int]]:
    """Every way in which so many records can lie in classes."""
    if not records:
        yield []
    for size in range(min(records, largest), 0, -1):
        yield from ([size, *rest] for rest in partitions(records - size, size))


LARGER = [(28, (3, 4), 3), (27, (2, 5), 3), (28, (3,), 4)]


@pytest.mark.parametrize(
    ("records", "asked", "min_cell"),
    [(22, (3, 4), 3), *(pytest.param(*each, marks=pytest.mark.slow) for each in LARGER)],
    ids=str,
)
def test_a_page_fits_tables_with_different_numbers_of_few_classes(
    records: int, asked: tuple[int, ...], min_cell: int
) -> None:
    """Whoever tries all tables of so many records can't tell which small number was pooled."""
    tables = defaultdict(list)
    for sizes in partitions(records, records):
        tables[of_outside(sizes, *asked, min_cell=min_cell)].append(sizes)
    assert len(tables) > 20

    for alike in tables.values():
        numbers = [{len(sizes) for sizes in alike}]
        numbers += [{sum(size < k for size in sizes) for sizes in alike} for k in asked]
        for found in numbers:
            assert len(found) > 1 or not 0 < min(found) < min_cell, alike[:3]


@pytest.mark.parametrize(
    "sizes", [[500, 500], [142] * 4 + [143] * 3, [1, 999], [334] * 28 + [14]], ids=len
)
def test_a_table_of_few_classes_has_verdicts_only(sizes: list[int]) -> None:
    text = of_outside(sizes, 1001)

    assert "fewer than 30 classes" in text
    assert "✗ VIOLATED k-anonymity k ≥" in text
    assert not {"Risk", "Class sizes"} & set(re.findall(r"\d\. ([A-Z][a-z ]+)", text))
    found = text.partition("The finding")[2].partition("Attackers considered")[0]
    assert not re.search(r"on average|\b(500|142|143|14|999)\b", found)


def test_bars_are_merged_until_each_has_many_classes() -> None:
    text = of_outside([1] * 20 + [2] * 13 + [7] * 40 + [30] * 5, 5)

    assert "alone in their class" not in text
    assert "1\u20134 46 9.7 %" in text
    assert "5+ 430 90.3 %" in text
    assert "about 50 records (10.5 %) in about 30 classes" in text


def test_many_classes_are_told_about() -> None:
    text = of_outside([1] * 90 + [2] * 5 + [8] * 40, 2)

    assert "about 90 records (21.4 %) in about 90 classes" in text
    assert "of at most 35.7 % on average" in text


@pytest.mark.parametrize("min_cell", [0, 2])
def test_a_cell_of_two_is_refused(min_cell: int) -> None:
    with pytest.raises(kanon.SpecError, match="1, which shows every count, or 3 or more"):
        of_sizes([3, 4], 2).to_html(audience="external", min_cell=min_cell)


def test_people_inside_are_shown_everything() -> None:
    text = plain(of_sizes([500, 500], 501).to_html())

    assert "500 −1 1,000 records (100 %) in 2 classes" in text


def test_no_quotient_of_counts_in_a_class_is_told() -> None:
    """2001 / 667 are the 3 records of a rare value; 40 · 0.85 the people of a class."""
    illnesses = ["rare"] * 3 + [("flu", "cold")[n % 2] for n in range(1998)]
    table = pyarrow.table(
        {
            "age": [n // 33 for n in range(2001)],
            "illness": illnesses,
            "who": [*range(1998), 1, 1, 1],
        }
    )
    checks = [
        kanon.TCloseness(t=0.1),
        kanon.BasicBetaLikeness(beta=1),
        kanon.DeltaDisclosure(delta=1),
        kanon.AlphaKAnonymity(alpha=0.1, k=2),
        kanon.RecursiveClDiversity(c=0.5, l=2),
        kanon.EntropyLDiversity(l=2),
        kanon.LDiversity(l=2),
        kanon.KMap(k=2),
        kanon.DeltaPresence(min=0, max=0.5),
        kanon.JournalistRisk(max_average=0.01),
    ]
    made = kanon.audit(
        table, ["age"], sensitive="illness", k=5, checks=checks, entity="who",
        references={"all": pyarrow.table({"age": [n // 33 for n in range(2100)]})},
    )  # fmt: skip

    text = plain(made.to_html(audience="external"))

    found = text.partition("What was required")[2].partition("Attackers considered")[0]
    assert re.search(r"l-diversity illness l ≥ 2 2", found)
    for asked in ("t ≤ 0.1", "β ≤ 1", "δ < 1", "α ≤ 0.1", "c < 0.5", "greatest ≤ 0.5"):
        assert f"{asked} \u2013" in found, asked
    assert "Records 1,998 to 2,007 People 1,998" in text
    assert "2,001" not in text
    assert "times as frequent" not in text


@pytest.mark.parametrize(
    ("records", "min_cell"), [(22, 3), pytest.param(28, 4, marks=pytest.mark.slow)], ids=str
)
def test_a_smallest_class_that_nothing_requires_is_pooled(records: int, min_cell: int) -> None:
    """Of the tables that a page fits, the smallest classes have one record and more."""
    pages = defaultdict(set)
    for sizes in partitions(records, records):
        pages[of_outside(sizes, min_cell=min_cell)].add(min(sizes))

    fine = [(page, found) for page, found in pages.items() if "classes. Figures" not in page]
    assert fine
    for page, found in fine:
        assert found == set(range(1, max(found) + 1)), page
        assert f"k-anonymity fewer than {min_cell}" in page
        assert f"chance of more than {100 / min_cell:.1f} % in the worst case and of" in page


def test_a_smallest_class_that_is_required_or_large_is_shown() -> None:
    of_two = of_outside([2] * 40 + [7] * 40, 2)
    large = of_outside([12] * 40)

    assert "k-anonymity k ≥ 2 2 0" in of_two
    assert "with a chance of 50.0 % at most and of" in of_two
    assert "k-anonymity 12" in large
    assert "with a chance of 8.3 % at most and of" in large


def test_an_average_is_never_above_the_highest() -> None:
    """50 classes are rounded to 60 among 225 records, which would be 26.7 %."""
    assert "a chance of 25.0 % at most and of at most 25.0 % on average" in of_outside(
        [4] * 25 + [5] * 25, 4
    )


def of_visits(visits: list[tuple[int, int]], **more: object) -> str:
    """The page outside of an audit of people, each with the wards of their records."""
    table = pyarrow.table({"who": [who for who, _ in visits], "ward": [ward for _, ward in visits]})
    made = kanon.audit(table, ["ward"], entity="who", **more)
    return plain(made.to_html(audience="external") or "")


@pytest.mark.parametrize(
    ("more", "records"), [(0, "1,828"), (3, "1,828 to 1,837"), (9, "1,828 to 1,837"),
                          (10, "about 1,840"), (40, "about 1,870")],
)  # fmt: skip
def test_records_are_never_fewer_than_people(more: int, records: str) -> None:
    visits = [(who, who % 40) for who in range(1_828)]
    visits += [(who, who % 40) for who in range(more)]

    text = of_visits(visits, k=5)

    assert f"Records {records} People 1,828, identified by who" in text


def test_warnings_stay_and_what_is_left_out_is_listed() -> None:
    """Three people share their only class with nobody, one of them alone has a second ward."""
    visits = [(who, who % 40) for who in range(400)] + [(0, 3), (1, 5), (400, 40), (401, 40)]
    rows = {"who": [who for who, _ in visits], "ward": [ward for _, ward in visits]}
    rows["diag"] = [
        ("hiv" if ward > 35 else ("flu", "cold")[who // 40 % 2]) for who, ward in visits
    ]
    result = kanon.audit(pyarrow.table(rows), ["ward"], entity="who", sensitive="diag", k=2)
    inside, outside = (plain(result.to_html(audience=each) or "") for each in
                       ("internal", "external"))  # fmt: skip

    first = "The diag of 42 people (10.4 %) is certain: their class has no other."
    second = "2 people have a combination of classes that nobody else has: whoever knows all"
    assert first in inside
    assert second in inside
    assert "Warning: The diag of 10 or more people is certain: their class has no other." in outside
    assert f"Fewer than 10{second.removeprefix('2')} their classes finds them" in outside
    listed = outside.partition("Left out for external readers: ")[2]
    assert listed == (
        "Counts below 10, and numbers of classes below 30; other counts, and shares, are rounded. "
        "A warning tells its counts as above or below these, and no share. Distances, and other "
        "quotients of counts in a class, beside their requirement. These parts: Risk curve, "
        "Sensitive attributes, Evidence."
    )
    assert "Left out for external readers" not in inside
    assert "; 10.4 % of the people give their diag away; whoever" in inside
    assert "; 10 or more of the people give their diag away; whoever" in outside


def test_the_average_class_of_a_release_does_not_tell_the_number_of_classes() -> None:
    """120 records in 12 classes: the average would tell the 12, which are fewer than 30."""
    table = pyarrow.table({"ward": [n % 12 for n in range(120)]})
    few = kanon.anonymize(table, ["ward"], k=5)
    many = kanon.anonymize(pyarrow.table({"ward": [n % 60 for n in range(600)]}), ["ward"], k=5)

    inside, outside = (plain(few.to_html(audience=each) or "") for each in
                       ("internal", "external"))  # fmt: skip
    assert "Average class size 10.0" in inside
    assert "Average class size" not in outside
    assert "Average class size 10.0" in plain(many.to_html(audience="external") or "")


def test_a_suppressed_count_is_the_difference_that_is_shown() -> None:
    """17 records of classes below k go: about 20 would contradict the records before and after."""
    wards = [n % 40 for n in range(400)] + [100 + n for n in range(17)]
    made = kanon.anonymize(
        pyarrow.table({"ward": wards}), ["ward"], k=5, algorithm="optimal", max_suppressed=20
    )
    text = plain(made.to_html(audience="external") or "")

    assert "Records 400 " in text
    assert "Records before 417 Suppressed 17 records (4.1 %) and left out" in text
    assert re.search(r"ward 0 · raw value 400 ", text)
