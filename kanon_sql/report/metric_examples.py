"""Worked examples of the metrics on a release of four records, and the texts on Datafly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExampleRelease:
    """Four records before and after their release."""

    columns: tuple[str, ...]
    raw: tuple[tuple[str, ...], ...]
    released: tuple[tuple[str, ...], ...]
    made: str
    """How they were generalised, in one sentence."""


@dataclass(frozen=True)
class MetricExample:
    """The value of a metric for the example release, with its computation in words."""

    value: float
    words: str


RELEASE = ExampleRelease(
    columns=("race", "zip", "disease"),
    raw=(
        ("white", "02138", "flu"), ("white", "02139", "flu"),
        ("black", "02141", "flu"), ("black", "02142", "asthma"),
    ),
    released=(
        ("white", "0213*", "flu"), ("white", "0213*", "flu"),
        ("black", "0214*", "flu"), ("black", "0214*", "asthma"),
    ),
    made=(
        "The quasi-identifiers are race, which stays at level 0 of 1 (level 1 is *), and zip, "
        "which goes to level 1 of 2 (level 2 is *). No record is suppressed."
    ),
)  # fmt: skip

WORKINGS: dict[str, MetricExample] = {
    "precision": MetricExample(
        0.75,
        "Each record has lost 0/1 of race and 1/2 of zip: 1 − 4 · (0/1 + 1/2) / (4 · 2) = 0.75.",
    ),
    "loss": MetricExample(
        1 / 6,
        "0213* stands for 2 of 4 ZIP codes, and so does 0214*: each cell of zip has lost "
        "(2 − 1) / (4 − 1) = 1/3, and none of race anything. On average that is 1/6, 16.7 %.",
    ),
    "loss_geometric": MetricExample(
        (4 / 3) ** 0.5 - 1,
        "Race has lost 0 and zip 1/3: √((0 + 1) · (1/3 + 1)) − 1 = 0.1547, 15.5 %.",
    ),
    "discernibility": MetricExample(8, "There are two classes of two records: 2² + 2² = 8."),
    "average_class_size": MetricExample(2, "Four records are in two classes: 4 / 2 = 2."),
    "non_uniform_entropy": MetricExample(
        1 / 3,
        "Each ZIP code is one of two where it was known: log₂(2/1) = 1 bit a record, 4 bits in "
        "all. As * it would be one of four, 2 bits a record, and race one of two, 1 bit: 12 bits "
        "in all. 4/12 is 0.3333.",
    ),
    "association": MetricExample(
        3**-0.5,
        "Of zip and disease: before, each ZIP code has one disease, and V is 1. After, 0213* has "
        "the flu twice, 0214* the flu once and asthma once: χ² is 4/3 for 4 records, and V is "
        "√(4/3 / 4) = 0.5774.",
    ),
}
"""The example of each metric."""

STEPS_OF_DATAFLY = (
    "Count the records of each class: each combination of the quasi-identifiers' values.",
    "While more records lie in violating classes than may be suppressed, generalise the "
    "quasi-identifier that has most distinct values by one level, in all records, and count "
    "again. A class is violating that has fewer than k records or fails another demanded check.",
    "Suppress the records of the classes that are still violating.",
    "See to it that the suppressed records are none, or at least k: as * they would be a class "
    "themselves. Where they are fewer, suppress some more.",
    "Give out the rest, and audit it as any table is audited. A release that fails its audit is "
    "not written, unless --force is given.",
)
SETTLED_OF_DATAFLY = (
    "Ties: of two quasi-identifiers with as many values the one that was named first goes up. "
    "NULL is a value. One that is at its top is left out; where all are, nothing is suppressed or "
    "written, and the exit code is 1.",
    "--max-suppressed: a number of records or a percentage, k by default as in the paper. It ends "
    "the loop of step 2; step 4 may go past it.",
    "Step 4 runs where --max-suppressed is k or more. It takes records from the classes above k, "
    "the smallest first and ties by their values, each down to k; in a class the last ones in the "
    "order of all columns as text. If these are too few, the smallest whole class goes as well.",
    "Suppressed records are removed; --suppressed star keeps them with * in every "
    "quasi-identifier.",
    "Order: a release is in the order of what it publishes, the quasi-identifiers as they were "
    "named, then the other columns, texts by themselves, NULL last; suppressed records that are "
    "kept are where * comes. In the order of its source it could be laid beside another release, "
    "record for record (Sweeney 2002, unsorted matching); --keep-order keeps it, with a warning.",
    "Columns without a part are published as they are. A warning names them, with how many "
    "records are alone in them and the quasi-identifiers together; --untouched drop leaves them "
    "out, error refuses them, and insensitive in a spec says that somebody decided about them.",
)
SILENCE_OF_DATAFLY = (
    "That the release is minimal. Every step generalises a whole column, and none is taken back: "
    "a release that keeps more and meets the same demand may exist, and often does. Nor does it "
    "promise more than was demanded: see the page of each model for what that leaves open."
)
SOURCE_OF_DATAFLY = (
    "Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression, "
    "IJUFKS 10(5), figure 6"
)


DATAFLY = "datafly: generalise the column with most distinct values until few records violate."
