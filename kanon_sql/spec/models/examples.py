"""A small table for each model, in which it holds and in which it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import MODELS

Rows = Sequence[tuple[str, str, str | int]]

WIDTH = 80
QUASI_IDENTIFIERS = ("zip", "age")
PERSON = "person"
"""Who a record is about, in the examples of several releases."""


@dataclass(frozen=True)
class Example:
    """A model with parameters, six records for which it fails, and six for which it holds."""

    parameters: Mapping[str, Any]
    fails: Rows
    holds: Rows
    why: str
    """Why it fails, in one sentence."""
    sensitive: str = "disease"
    reference: Rows = ()
    earlier: Rows = ()
    """What was released of the same six people before, in the same order."""

    def model(self, name: str) -> Model:
        return MODELS[name](**self.parameters)

    @property
    def columns(self) -> tuple[str, ...]:
        who = (PERSON,) if self.earlier else ()
        return (*who, *QUASI_IDENTIFIERS, self.sensitive)

    def rows(self, rows: Rows) -> Sequence[tuple[str | int, ...]]:
        """The records under `columns`: where there was an earlier release, with whose they are."""
        if not self.earlier:
            return rows
        return [(person, *row) for person, row in zip("abcdef", rows, strict=True)]


def _classes(*classes: tuple[str, str, Sequence[str | int]]) -> Rows:
    return [(zip, age, value) for zip, age, values in classes for value in values]


ALONE = _classes(
    ("02138", "31", ["flu"]), ("02139", "35", ["asthma"]), ("02138", "38", ["HIV"]),
    ("02141", "44", ["flu"]), ("02142", "47", ["asthma"]), ("02141", "49", ["HIV"]),
)  # fmt: skip
_ALIKE = _classes(("0213*", "30-39", ["flu"] * 3), ("0214*", "40-49", ["flu", "asthma", "HIV"]))
_SPREAD = _classes(
    ("0213*", "30-39", ["flu", "asthma", "HIV"]), ("0214*", "40-49", ["flu", "asthma", "HIV"])
)
_ONE_CLASS = _classes(("0213*", "30-39", ["flu", "asthma", "HIV"] * 2))
_CLOSE_PAY = _classes(("0213*", "30-39", [30, 30, 31]), ("0214*", "40-49", [20, 45, 70]))
_SPREAD_PAY = _classes(("0213*", "30-39", [30, 45, 60]), ("0214*", "40-49", [20, 45, 70]))
_REGISTER = [
    *((zip, age, "") for zip, age, _ in ALONE),
    *_classes(("02139", "33", [""] * 3), ("02142", "41", [""] * 6)),
]
_SIX = ("flu", "asthma", "HIV", "cold", "ulcer", "cough")
_TOGETHER = [
    *_classes(("0213*", "30-39", _SIX[:3])), *_classes(("0214*", "40-49", _SIX[3:])),
]  # fmt: skip
_ACROSS = [
    (f"{digits}*", "30-49", value)
    for digits, value in zip(("0213", "0214", "0214", "0213", "0213", "0214"), _SIX, strict=True)
]
_SHARED = "All three people of 0213* and 30-39 have the flu."
_FAR = "In 0213* and 30-39 everyone has the flu, in the table four of six."

EXAMPLES: dict[str, Example] = {
    "k_anonymity": Example({"k": 3}, ALONE, _SPREAD, "Every record is alone with its values."),
    "k_map": Example(
        {"k": 6}, ALONE, _SPREAD, "Each is the only one in the register with these values.",
        reference=_REGISTER,
    ),
    "delta_presence": Example(
        {"min": 0.1, "max": 0.5}, _ONE_CLASS, _SPREAD,
        "All six people of the register in 0213* and 30-39 are in the table, and none in 0214*.",
        reference=_REGISTER,
    ),
    "homogeneity": Example({}, _ALIKE, _SPREAD, _SHARED),
    "l_diversity": Example({"l": 2}, _ALIKE, _SPREAD, _SHARED),
    "entropy_l_diversity": Example({"l": 2}, _ALIKE, _SPREAD, _SHARED),
    "recursive_cl_diversity": Example({"c": 2, "l": 2}, _ALIKE, _SPREAD, _SHARED),
    "alpha_k_anonymity": Example({"alpha": 0.5, "k": 3}, _ALIKE, _SPREAD, _SHARED),
    "p_sensitive_k_anonymity": Example({"p": 2, "k": 3}, _ALIKE, _SPREAD, _SHARED),
    "k_e_anonymity": Example(
        {"k": 2, "e": 20}, _CLOSE_PAY, _SPREAD_PAY,
        "Everyone in 0213* and 30-39 earns 30 or 31.", sensitive="income",
    ),
    "t_closeness": Example({"t": 0.2}, _ALIKE, _SPREAD, _FAR),
    "delta_disclosure": Example(
        {"delta": 0.5}, _ALIKE, _SPREAD, "In 0213* and 30-39 nobody has asthma or HIV."
    ),
    "basic_beta_likeness": Example(
        {"beta": 0.4}, _ALIKE, _SPREAD, "In 0213* and 30-39 the flu is half as frequent again."
    ),
    "enhanced_beta_likeness": Example(
        {"beta": 0.4}, _ALIKE, _SPREAD, "In 0213* and 30-39 the flu is half as frequent again."
    ),
    "prosecutor_risk": Example(
        {"max_highest": 0.34}, ALONE, _SPREAD, "Every record can be found with certainty."
    ),
    "journalist_risk": Example(
        {"max_highest": 0.2}, ALONE, _SPREAD, "Nobody else in the register has these values.",
        reference=_REGISTER,
    ),
    "marketer_risk": Example(
        {"max_average": 0.5}, ALONE, _SPREAD, "Linking finds every one of them.",
        reference=_REGISTER,
    ),
    "sample_uniqueness": Example(
        {"max_share": 0.1}, ALONE, _SPREAD, "All six records are alone with their values."
    ),
    "population_uniqueness": Example(
        {"population": 60, "max_share": 0.1}, ALONE, _SPREAD,
        "All six of the sample are alone, so many of the sixty people will be.",
    ),
    "k_map_estimate": Example(
        {"k": 2, "population": 60}, ALONE, _SPREAD,
        "A class of one in the sample may well be one of one among the sixty people.",
    ),
    "composed_k_anonymity": Example(
        {"k": 3}, _ACROSS, _TOGETHER,
        "Three people share every class of both releases, and of the three in 0213* only a was in "
        "0213* and 30-39 before: whoever links the two knows which record is hers.",
        earlier=_TOGETHER,
    ),
    "composed_l_diversity": Example(
        {"l": 2}, _ACROSS, _TOGETHER,
        "In 0213* there are flu, cold and ulcer now. Whoever knows that a was in 0213* and 30-39 "
        "before, where there were flu, asthma and HIV, knows that a has the flu.",
        earlier=_TOGETHER,
    ),
}  # fmt: skip
"""An example of each model."""


@dataclass(frozen=True)
class Release:
    """Four records as they were put in, and as they were released."""

    columns: tuple[str, ...]
    raw: tuple[tuple[str, ...], ...]
    released: tuple[tuple[str, ...], ...]
    made: str
    """How the one became the other, in one sentence."""


@dataclass(frozen=True)
class Working:
    """A metric of the example release, and how the number comes about."""

    value: float
    words: str


RELEASE = Release(
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

WORKINGS: dict[str, Working] = {
    "precision": Working(
        0.75,
        "Each record has lost 0/1 of race and 1/2 of zip: 1 − 4 · (0/1 + 1/2) / (4 · 2) = 0.75.",
    ),
    "loss": Working(
        1 / 6,
        "0213* stands for 2 of 4 ZIP codes, and so does 0214*: each cell of zip has lost "
        "(2 − 1) / (4 − 1) = 1/3, and none of race anything. On average that is 1/6, 16.7 %.",
    ),
    "loss_geometric": Working(
        (4 / 3) ** 0.5 - 1,
        "Race has lost 0 and zip 1/3: √((0 + 1) · (1/3 + 1)) − 1 = 0.1547, 15.5 %.",
    ),
    "discernibility": Working(8, "There are two classes of two records: 2² + 2² = 8."),
    "average_class_size": Working(2, "Four records are in two classes: 4 / 2 = 2."),
    "non_uniform_entropy": Working(
        1 / 3,
        "Each ZIP code is one of two where it was known: log₂(2/1) = 1 bit a record, 4 bits in "
        "all. As * it would be one of four, 2 bits a record, and race one of two, 1 bit: 12 bits "
        "in all. 4/12 is 0.3333.",
    ),
    "association": Working(
        3**-0.5,
        "Of zip and disease: before, each ZIP code has one disease, and V is 1. After, 0213* has "
        "the flu twice, 0214* the flu once and asthma once: χ² is 4/3 for 4 records, and V is "
        "√(4/3 / 4) = 0.5774.",
    ),
}
"""Each metric of the release above."""

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
