"""The texts of warnings for people outside: no count below the least, no share."""

from __future__ import annotations

import pytest

from kanon_sql.results.confidential import text_for_outsiders

WARNINGS = {
    "2 people have a combination of classes that nobody else has: whoever knows all their classes "
    "finds them with certainty.": "Fewer than 10 people have a combination of classes that nobody "
    "else has: whoever knows all their classes finds them with certainty.",
    "1 person has a combination of classes that nobody else has.": "Fewer than 10 people have a "
    "combination of classes that nobody else has.",
    "The rarest combination of classes is that of 2 people, where the smallest class has 14 "
    "people: whoever knows all their classes finds them among fewer.": "The rarest combination of "
    "classes is that of fewer than 10 people, where the smallest class has 10 or more people: "
    "whoever knows all their classes finds them among fewer.",
    "The diag of 1 person (4.1 %) is certain: their class has no other.": "The diag of fewer than "
    "10 people is certain: their class has no other.",
    "The icd10 of 1,204 records (12.5 %) is certain: their class has no other.": "The icd10 of 10 "
    "or more records is certain: their class has no other.",
    '"5 records" is declared insensitive, and 1 person (0.2 %) has a value of it that no other '
    "has, so it identifies them.": '"5 records" is declared insensitive, and fewer than 10 people '
    "have a value of it that no other has, so it identifies them.",
    "1 class has one diag plus missing values: anyone who ignores the missing ones knows the diag.":
    "Fewer than 30 classes have one diag plus missing values: anyone who ignores the missing ones "
    "knows the diag.",
    "2 of the 5 values named in alpha_k_anonymity never occur in diag: check the spelling.": None,
    "Nobody in register matches 1 class (3 records) of the release, so it can't contain the "
    "release.": "Nobody in register matches fewer than 30 classes (fewer than 10 records) of the "
    "release, so it can't contain the release.",
    "In 31 classes register has fewer people than the release.": "In 30 or more classes register "
    "has fewer people than the release.",
    "3 people are only in this release, and the smallest crowd among them has 1 person, against 5 "
    "people among those in both: an attacker searches among them alone.": "Fewer than 10 people "
    "are only in this release, and the smallest crowd among them has fewer than 10 people, against "
    "fewer than 10 people among those in both: an attacker searches among them alone.",
    "Unassigned and released unchanged: \"a\", \"b\" and 3 more. 1 record is alone in them and the "
    "quasi-identifiers together.": "Unassigned and released unchanged: \"a\", \"b\" and … more. "
    "Fewer than 10 records are alone in them and the quasi-identifiers together.",
    "Each of the 2 earlier releases is measured with this one by itself.": None,
    "known_events m=2 is undecided: a draw found 12.3 % among fewer than 5 people, and share at "
    "most 0.1 is required.": "known_events m=2 is undecided: a draw found … among fewer than 5 "
    "people, and share at most 0.1 is required.",
    "The individual risk is not computed: more than 100,000 classes differ in their size.": None,
    "can't tell for 2 of 5 suppressed cells: more than 400 unknown cells hang together.": None,
    "3 cells are suppressed here and shown in last_year.": None,
    "1 cell has a negative contribution; dominance and p% take absolute values.": None,
    "ages.csv:41: the label of level 2 in this line lies under another label of level 3 than in "
    "line 7, so level 3 would publish a wrong label for 20 values. In all 4 labels or levels are "
    "not nested.": None,
    "(a minimality attack; Wong, Fu, Wang, Pei 2007).": None,
    "r2024.csv has no column \"x\".": None,
    "the baseline has k_anonymity(k=5), which has other thresholds now.": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WARNINGS.items())
def test_a_warning_outside(text: str, told: str | None) -> None:
    outside = text_for_outsiders(text, set(), 10)

    assert outside == (told or text)
    assert text_for_outsiders(outside, set(), 10) == outside
    assert text_for_outsiders(text, set(), 1) == text


def test_a_confidential_threshold_is_not_in_a_warning() -> None:
    text = "the baseline has min_contributors(n=7), which is no longer checked."

    assert text_for_outsiders(text, {"min_contributors.n"}, 10) == (
        "the baseline has min_contributors, which is no longer checked."
    )
