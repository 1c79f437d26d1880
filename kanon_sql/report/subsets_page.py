"""The manual's page on column sets and special uniques."""

from __future__ import annotations

from kanon_sql.report.lines import folded, plain

WIDTH = 80

SUBSETS = (
    (
        "Which columns",
        (
            "kanon-sql profile TABLE, without --qi, looks at each column by itself: its values, "
            "how many records have one that no other record has, and what it looks like by its "
            "name and its values. Candidates are ranked by how many records each leaves newly "
            "alone. NULL is a value here, as everywhere. A name says what somebody meant: no "
            "column is harmless because its name is unknown.",
            "distinction is the share of different values, and separation the share of pairs of "
            "records that a column tells apart.",
        ),
    ),
    (
        "Every small set: --subsets D",
        (
            "For every set of at most D columns: k, its classes, the records alone in theirs, and "
            "how many lie in classes below --k. A set that has as many classes as all columns "
            "together is a key. More than 5,000 sets are refused.",
            "If all columns together hold at k, so does every set of them: sets matter for tables "
            "that are not k-anonymous, and for the choice of what to generalise.",
            "μ-ARGUS, and riskyCells of sdcMicro, call a combination unsafe at their threshold and "
            "below it. k-anonymity asks for k or more, so their threshold is k - 1: what is below "
            "5 here is at most 4 there.",
        ),
    ),
    (
        "Special uniques: --suda M",
        (
            "A minimal sample unique is a record with a set of at most M columns on which it is "
            "unique, while it is on no part of that set. The fewer columns, the more special: with "
            "K columns in all and m in the set it scores (K - m)!. A record scores the sum of its "
            "own, 0 without any. Scores stay the same when M grows, but for what is added.",
            "The contribution of a column is the share of all scores that lies in sets with it. A "
            "set counts for each of its columns, so that contributions add up to more than 100 %.",
            "A NULL makes nobody special, as in sdcMicro: whoever does not know a value can't be "
            "found by it. --nulls value takes it for one.",
            "A special record may be one of several about a person: with --entity this is refused.",
        ),
    ),
    (
        "Three records",
        (
            "a b c: (2, 0, 0), (1, 3, 6), (1, 0, 0). The first is unique on a, the second on b and "
            "on c, the third on a with b and on a with c. With three columns a set of one scores 2 "
            "and a set of two 1: the records score 2, 4 and 2, and of the 8 a takes part in 4, b "
            "and c in 3 each.",
        ),
    ),
    (
        "DIS-SUDA",
        (
            "1 / (1 + 2 s2 (1 - π) / (π · score^E · A)), with s2 the combinations of all columns "
            "that occur twice, π the sampling fraction (--sampling-fraction), E = 1 + (8 - K) / 20 "
            "and A the sum of score^-E over all special records. E was fitted by its authors to "
            "tables of about eight columns: the figure is a heuristic, and not a probability. "
            "Where nothing occurs twice it is 1 for everyone, and says nothing.",
        ),
    ),
    (
        "What it does not promise",
        (
            "Whoever is in no small set may still be singled out by a larger one, or by a column "
            "that was not looked at. Nothing is said of what a class gives away.",
        ),
    ),
    (
        "Sources",
        (
            "Elliot, Manning, Ford 2002, A computational algorithm for handling the special "
            "uniques problem, IJUFKS 10(5). Skinner and Elliot 2002, A measure of disclosure risk "
            "for microdata, JRSS B 64(4). Elliot, Manning, Mayes, Gurd, Bane 2005, SUDA: a program "
            "for detecting special uniques, UNECE work session. Manning, Haglin, Keane 2008, A "
            "recursive search algorithm for statistical disclosure assessment, DMKD 16. Motwani "
            "and Xu 2007, Efficient algorithms for masking and finding quasi-identifiers.",
        ),
    ),
)
"""The paragraphs of the page, by heading."""
IN_SHORT = "subsets: which columns identify people, in every small set, and special uniques."


def subsets_page() -> str:
    """The page as plain text of 80 columns."""
    parts = ["Sets of columns, and special uniques (subsets)"]
    for heading, sentences in SUBSETS:
        parts += ["", f"  {heading}"]
        for sentence in sentences:
            lines = folded(sentence, WIDTH, "    ", rest="      ")
            parts += [plain(line) for line in lines]
    return "\n".join(parts)
