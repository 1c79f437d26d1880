"""The metrics of a release, each with its formula, source and limits.

The names are those of `metrics` in the JSON and of `kanon-sql explain`. Nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_SKIPPED = (
    "A quasi-identifier without levels, or with a single value, can lose nothing and is left out."
)


@dataclass(frozen=True)
class Metric:
    """A measure of the information loss from generalisation and suppression, in words."""

    name: str
    title: str
    sentence: str
    """What it measures, in one sentence."""
    formula: str
    letters: str
    """The meaning of the formula's symbols."""
    counting: str
    """Counting conventions where others are common."""
    silence: str
    """What it doesn't measure."""
    source: str
    better: Literal["higher", "lower"]
    range: str
    """Its range, and what both ends mean."""


_CATALOGUE = (
    Metric(
        name="precision",
        title="Precision",
        sentence="How far below the top of their hierarchies the values of a release stayed.",
        formula="1 − Σ (h / H) / (n · d), over all cells of the quasi-identifiers",
        letters=(
            "h is the level of a cell, H the highest of its quasi-identifier; n is the number of "
            "records put in, d that of the quasi-identifiers."
        ),
        counting=f"Each cell of a suppressed record counts as one at the top, h = H. {_SKIPPED}",
        silence=(
            "A level counts the same whether it merges two values or a thousand, so precision "
            "depends on how finely a hierarchy is cut: with more levels the same release has "
            "another precision."
        ),
        source=(
            "Sweeney 2002, Achieving k-anonymity privacy protection using generalization and "
            "suppression, IJUFKS 10(5) (the metric Prec)"
        ),
        better="higher",
        range="from 0 (every value is at the top) to 1 (every value is raw)",
    ),
    Metric(
        name="loss",
        title="Loss",
        sentence="Which share of the values that were told apart can't be told apart any more.",
        formula="Σ ((m − 1) / (M − 1)) / (n · d), over all cells of the quasi-identifiers",
        letters=(
            "m is how many raw values a released value stands for, M how many its quasi-identifier "
            "has; n is the number of records put in, d that of the quasi-identifiers."
        ),
        counting=(
            "The raw values are the rows of the hierarchy's file, and where there is none the "
            "distinct values of the table. Each cell of a suppressed record has lost all, 1. "
            f"{_SKIPPED}"
        ),
        silence=(
            "Every raw value weighs the same, however rare: a file that lists values which nobody "
            "has makes the same release look better or worse."
        ),
        source=(
            "Iyengar 2002, Transforming data to satisfy privacy constraints, KDD (the loss metric)"
        ),
        better="lower",
        range="from 0 (every value is raw) to 1 (nothing is told apart)",
    ),
    Metric(
        name="loss_geometric",
        title="Geometric loss",
        sentence=(
            "The loss, averaged so that one quasi-identifier that is lost whole weighs less than "
            "its share."
        ),
        formula="(Π (Lᵢ + 1))^(1/d) − 1, over the quasi-identifiers",
        letters=(
            "Lᵢ is the loss of the i-th quasi-identifier alone, d the number of quasi-identifiers."
        ),
        counting="As the loss, one quasi-identifier at a time; one is added to each, lest a "
        f"single 0 make the product 0. {_SKIPPED}",
        silence=(
            "It is an average all the same: it does not say which quasi-identifier was lost. It "
            "is there to compare releases with those of ARX, which ranks by it."
        ),
        source=(
            "Prasser, Kohlmayer 2015, Putting statistical disclosure control into practice: the "
            "ARX data anonymization tool, in Medical data privacy handbook; after Iyengar 2002, KDD"
        ),
        better="lower",
        range="from 0 (every value is raw) to 1 (nothing is told apart)",
    ),
    Metric(
        name="discernibility",
        title="Discernibility",
        sentence="How many records each record can't be told apart from, added up over all.",
        formula="Σ f² + n · s, over the released classes",
        letters=(
            "f is the size of a class; n is the number of records put in, s that of the suppressed."
        ),
        counting=(
            "A suppressed record is like all n records put in, whether it is removed or kept as *."
        ),
        silence=(
            "It knows sizes only, not values: a class of one year and one of a century cost the "
            "same. It grows with the square of the records, so compare releases of one table alone."
        ),
        source="Bayardo, Agrawal 2005, Data privacy through optimal k-anonymization, ICDE",
        better="lower",
        range="from n (every record is alone) to n² (all are alike)",
    ),
    Metric(
        name="average_class_size",
        title="Average class size",
        sentence="How many records share their quasi-identifiers on average.",
        formula="Σ f / J, over the released classes",
        letters=("f is the size of a class, J the number of classes."),
        counting=(
            "Suppressed records are in no class. LeFevre, DeWitt and Ramakrishnan divide by the k "
            "that was asked for as well; divide by it to compare."
        ),
        silence=(
            "An average hides its extremes: one huge class among many small ones gives the same "
            "number as classes of one size. Suppressed records make it no worse."
        ),
        source="LeFevre, DeWitt, Ramakrishnan 2006, Mondrian multidimensional k-anonymity, ICDE",
        better="lower",
        range="from 1 (every record is alone) to n (all are in one class)",
    ),
    Metric(
        name="non_uniform_entropy",
        title="Non-uniform entropy",
        sentence=(
            "How much harder it became to guess the raw values, out of how much harder it could."
        ),
        formula="Σ log₂(c(g) / c(v)) / Σ log₂(n / c(v)), over all cells of the quasi-identifiers",
        letters=(
            "v is the raw value of a cell, g the released one; c counts the records put in that "
            "have the value, or one of those it stands for; n is the number of records put in."
        ),
        counting=(
            "How frequent a value is, is counted over the records put in. Each cell of a "
            "suppressed record counts as *, with c = n. Both sums run over all quasi-identifiers, "
            "so that one with many values weighs more; the numerator is given beside it, in bits. "
            f"{_SKIPPED}"
        ),
        silence=(
            "Each quasi-identifier is guessed by itself: what one says of another is left out. "
            "Two values that mean nearly the same count as different."
        ),
        source=(
            "de Waal, Willenborg 1999, Information loss through global recoding and local "
            "suppression, Netherlands Official Statistics 14; Gionis, Tassa 2009, k-Anonymization "
            "with minimal loss of information, IEEE TKDE 21(2)"
        ),
        better="lower",
        range="from 0 (every value is raw) to 1 (every value is *)",
    ),
    Metric(
        name="association",
        title="Association (Cramér's V)",
        sentence=(
            "How strongly a quasi-identifier and a sensitive attribute go together, before and "
            "after: what someone who analyses the release can still find."
        ),
        formula="√(χ² / (N · (min(r, s) − 1)))",
        letters=(
            "χ² is that of the table that counts the N records by both attributes; r and s are "
            "how many distinct values they have."
        ),
        counting=(
            "Before it is over all records put in, after over those released, without the "
            "suppressed ones. NULL is a value, unless --sensitive-nulls unknown leaves it out. V "
            "is undefined where either has a single value."
        ),
        silence=(
            "It is no test: where most values are rare it is near 1 by chance alone, above all "
            "before. And what helps an analysis helps a guess: a strong association gives "
            "sensitive values away."
        ),
        source="Cramér 1946, Mathematical methods of statistics, chapter 21",
        better="higher",
        range="from 0 (one says nothing of the other) to 1 (one follows from the other)",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _CATALOGUE}
"""Every metric by name."""
