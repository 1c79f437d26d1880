"""Worked examples of the metrics on a release of four records."""

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
        "Of the quasi-identifiers, race stays at level 0 of 1 (level 1 is *), and zip is at level "
        "1 of 2 (level 2 is *). No record is suppressed."
    ),
)  # fmt: skip

WORKINGS: dict[str, MetricExample] = {
    "precision": MetricExample(
        0.75,
        "Each record loses 0/1 of race and 1/2 of zip: 1 − 4 · (0/1 + 1/2) / (4 · 2) = 0.75.",
    ),
    "loss": MetricExample(
        1 / 6,
        "0213* covers 2 of 4 ZIP codes, and so does 0214*: each cell of zip loses "
        "(2 − 1) / (4 − 1) = 1/3, each cell of race 0. The average is 1/6, 16.7 %.",
    ),
    "loss_geometric": MetricExample(
        (4 / 3) ** 0.5 - 1,
        "Race loses 0 and zip 1/3: √((0 + 1) · (1/3 + 1)) − 1 = 0.1547, 15.5 %.",
    ),
    "discernibility": MetricExample(8, "There are two classes of two records: 2² + 2² = 8."),
    "average_class_size": MetricExample(2, "Four records are in two classes: 4 / 2 = 2."),
    "non_uniform_entropy": MetricExample(
        1 / 3,
        "Each ZIP code is now one of two: log₂(2/1) = 1 bit per record, 4 bits in all. If all "
        "were *, each ZIP code would be one of four, 2 bits per record, and each race one of two, "
        "1 bit: 12 bits in all. 4/12 = 0.3333.",
    ),
    "association": MetricExample(
        3**-0.5,
        "For zip and disease: before, each ZIP code has one disease, and V is 1. After, 0213* has "
        "the flu twice, 0214* the flu once and asthma once: χ² is 4/3 for 4 records, and V is "
        "√(4/3 / 4) = 0.5774.",
    ),
}
"""The example of each metric."""
