"""What one known record of a person gives, and what all of them give, wherever it is said."""

from __future__ import annotations

import html
import json
import re
from collections import Counter, defaultdict

import pyarrow
import pytest
from pages import as_html, as_markdown, as_text

import kanon_sql as kanon
from kanon_sql.auditing.result import AuditResult

Visit = tuple[str, str]
"""A person, and the ward of a record."""
PAIRS = [
    *((f"a{n}", ward) for n in range(4) for ward in "xy"),
    *((f"b{n}", ward) for n in range(3) for ward in "yz"),
    ("c", "x"), ("c", "z"), ("d", "x"), ("d", "y"), ("d", "z"),
]  # fmt: skip
"""Four people in x and y, three in y and z, one in x and z, one in all three."""
TRIPLES = [visit for visit in PAIRS if visit[0] not in ("c", "d")]
"""Nobody is alone, and the three in y and z are among fewer than the classes are."""
SINGLES = [(f"p{n}", "xyz"[n % 3]) for n in range(12)]
"""Everybody in one class of four."""


def audited(visits: list[Visit], **more: object) -> AuditResult:
    rows = {"who": [who for who, _ in visits], "ward": [ward for _, ward in visits]}
    return kanon.audit(pyarrow.table(rows), ["ward"], entity="who", **more)


def profiles(visits: list[Visit]) -> tuple[int, int, int]:
    """The people, the fewest with the same set of classes, and those alone with theirs."""
    wards = defaultdict(set)
    for who, ward in visits:
        wards[who].add(ward)
    sizes = Counter(map(frozenset, wards.values())).values()
    return len(wards), min(sizes), sum(size == 1 for size in sizes)


def words(text: str) -> str:
    """What a person reads of a page in any form."""
    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ").split())


ONE = (
    "Someone who knows that a person is in this table, and knows these columns of one record, "
    "finds the person with a chance of {} % at most, and of {} % on average (prosecutor risk); "
    "whoever knows all their classes finds {}. The chance from one record is above 20 % for {} of "
    "the people."
)
FINDINGS = {
    "pairs": (PAIRS, ONE.format("20.0", "18.5", "2 of 9 people with certainty", "none")),
    "triples": (
        TRIPLES,
        ONE.format("33.3", "28.6", "the person with a chance of 33.3 % at most", "100 %"),
    ),
    "singles": (
        SINGLES,
        "Someone who knows that a person is in this table, and knows these columns, finds the "
        "person with a chance of 25.0 % at most, and of 25.0 % on average (prosecutor risk). The "
        "chance is above 20 % for 100 % of the people.",
    ),
}


@pytest.mark.parametrize(("visits", "said"), FINDINGS.values(), ids=FINDINGS)
def test_the_finding_says_both_in_one_paragraph(visits: list[Visit], said: str) -> None:
    result = audited(visits, k=3)

    people, k, alone = profiles(visits)
    [table] = result.tables
    assert (table.summary.people, *table.profile) == (people, k, alone)
    for page in (as_text(result), str(result), as_markdown(result), as_html(result)):
        assert said in words(page).replace("**", "")
    assert said in words(result._repr_html_())


CROSSED = [(f"{pair}{n}", ward) for pair in ("xy", "yz", "xz") for n in range(2) for ward in pair]
"""Three pairs of wards with two people each: classes of four, and nobody alone."""
TOLD = "whoever knows all classes of a person finds"


@pytest.mark.parametrize(
    ("visits", "outcome", "warning"),
    [
        (
            PAIRS,
            f"What was asked holds; {TOLD} 2 of 9 people with certainty.",
            "2 people have a combination of classes that nobody else has: whoever knows all their "
            "classes finds them with certainty.",
        ),
        (
            [visit for visit in PAIRS if visit[0] != "d"],
            f"What was asked holds; {TOLD} 1 of 8 people with certainty.",
            "1 person has a combination of classes that nobody else has: whoever knows all their "
            "classes finds them with certainty.",
        ),
        (
            CROSSED,
            f"What was asked holds; {TOLD} the person with a chance of 50.0 % at most.",
            "The rarest combination of classes is that of 2 people, where the smallest class has "
            "4 people: whoever knows all their classes finds them among fewer.",
        ),
        (TRIPLES, "The check holds.", None),
        (SINGLES, "The check holds.", None),
    ],
    ids=["alone", "one-alone", "crossed", "triples", "singles"],
)
def test_what_holds_says_what_all_records_give(
    visits: list[Visit], outcome: str, warning: str | None
) -> None:
    result = audited(visits, k=2)

    page = words(as_text(result))
    assert result.tables[0].status == "holds"
    assert outcome in page
    assert list(result.tables[0].warnings) == ([] if warning is None else [warning])
    made = kanon.anonymize(
        pyarrow.table({"who": [w for w, _ in visits], "ward": [w for _, w in visits]}),
        ["ward"], entity="who", k=2,
    )  # fmt: skip
    assert outcome in words(str(made))


@pytest.mark.parametrize("status", ["holds", "violated", "measured"])
def test_the_signed_paragraph_says_both(status: str) -> None:
    k = {"holds": 2, "violated": 6, "measured": None}[status]
    text = words(audited(PAIRS, k=k).to_html() or "")

    paragraph = text.partition("2. The finding ")[2].partition("What was required and")[0]
    of_one = (
        "An attacker who knows that a person is in it, and knows the quasi-identifiers of one "
        "record, finds the person with a chance of 20.0 % at most and of 18.5 % on average."
    )
    of_all = "Whoever knows all classes of a person finds 2 of 9 people"
    first = {
        "holds": "What was required of pyarrow.Table holds: the one check; whoever knows all "
        "classes of a person finds 2 of 9 people with certainty.",
        "violated": "What was required of pyarrow.Table does not hold: 1 of 1 check is violated.",
        "measured": "Nothing was required of pyarrow.Table, so nothing is shown to hold or to "
        "fail.",
    }[status]
    last = "" if status == "holds" else f" {of_all} with certainty."
    assert paragraph.strip() == f"{first} {of_one}{last}"
    headline = f"What was asked holds; {TOLD} 2 of 9 people with certainty."
    assert (headline in text) is (status == "holds")
    decision = text.partition("Decision ")[2]
    assert decision.startswith(f"{first} SHA-256")
    assert "The chance that an attacker finds the right person from one record." in text
    assert "Share of the people that can be found from one record with at least this" in text
    assert "Prosecutor: knows that the person is in the table, and the ward of one of" in text
    assert "An attacker who knows the ward of all classes of a person." in text


def test_people_outside_are_told_too_and_no_small_count() -> None:
    """A table of three classes: its sizes are not shown, what all records give is."""
    text = words(audited(PAIRS, k=2).to_html(audience="external") or "")

    said = f"{TOLD} fewer than 10 people with certainty"
    assert f"✓ holds What was asked holds; {said}." in text
    assert f"holds: the one check; {said}. It has fewer than 30 classes." in text
    crossed = words(audited(CROSSED, k=2).to_html(audience="external") or "")
    assert f"{TOLD} the person among fewer people than one record does." in crossed


GRID = [(f"{n}{copy}", ward) for n in range(36) for copy in "ab" for ward in (f"r{n}", f"s{n}")]
"""Pairs of people in two of 72 wards: each class has two, and each combination."""
ALONE = [(f"alone{n}", ward) for n in range(13) for ward in (f"r{n}", f"s{n + 1}")]


@pytest.mark.parametrize(
    ("visits", "min_cell", "found"),
    [
        ([*GRID, *ALONE], 10, "about 10 of 85 people with certainty"),
        ([*GRID, *ALONE], 1, "13 of 85 people with certainty"),
        ([*GRID, *ALONE[:6]], 10, "fewer than 10 people with certainty"),
        ([*GRID, *ALONE], 3, "about 12 of 85 people with certainty"),
    ],
)
def test_people_outside_are_told_a_rounded_number(
    visits: list[Visit], min_cell: int, found: str
) -> None:
    page = audited(visits, k=1).to_html(audience="external", min_cell=min_cell)

    assert profiles(visits)[2] in (3, 13)
    assert f"What was asked holds; {TOLD} {found}." in words(page or "")


def test_a_requirement_of_something_else_is_no_promise() -> None:
    rows = {"who": [who for who, _ in PAIRS], "ward": [ward for _, ward in PAIRS]}
    rows["illness"] = [("flu", "cold")[n % 2] for n, _ in enumerate(PAIRS)]
    result = kanon.audit(pyarrow.table(rows), ["ward"], entity="who", sensitive="illness", l=1)

    assert (
        "What was asked holds; 66.7 % of the people give their illness away; "
        f"{TOLD} 2 of 9 people with certainty."
    ) in words(str(result))


def test_a_result_without_the_figures_says_so() -> None:
    stored = json.loads(audited(PAIRS, checks=[kanon.SampleUniqueness(max_share=1)]).to_json())
    checks = stored["tables"][0]["checks"]
    assert [check.pop("profile_k", None) for check in checks] == [None, 1]
    del stored["seal"]

    page = words(str(kanon.from_json(stored)))

    unknown = "may find more, which this result does not say"
    assert f"What was asked holds; whoever knows all classes of a person {unknown}." in page
    assert f"whoever knows all their classes {unknown}." in page


def test_the_others_who_link_know_one_record_too() -> None:
    people = pyarrow.table({"ward": ["x", "y", "z"] * 9})
    result = audited(
        PAIRS, checks=[kanon.JournalistRisk()], references={"town": people}, weight=None
    )

    assert (
        "Linking one record of a person through the reference finds them with a chance of 11.1 % "
        "at most, and of 11.1 % on average (journalist risk); what all their classes give there "
        "is not measured. The chance from one record is above 20 % for none of the people."
    ) in words(str(result))
