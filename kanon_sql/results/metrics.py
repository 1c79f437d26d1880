"""The metrics of a release, each with its formula, source and limits.

The names are those of `metrics` in the JSON and of `kanon-sql explain`. Nothing is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_SKIPPED = (
    "A quasi-identifier without levels, or with a single value, can't lose information and is left "
    "out."
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
    limitation: str
    """What it doesn't measure."""
    source: str
    better: Literal["higher", "lower"]
    range: str
    """Its range, and what both ends mean."""


_CATALOGUE = (
    Metric(
        name="precision",
        title="Precision",
        sentence=(
            "Average distance of the released values from the top of their hierarchies, as a share "
            "of their height."
        ),
        formula="1 − Σ (h / H) / (n · d), over all cells of the quasi-identifiers",
        letters=(
            "h is the level of a cell, H the highest level of its quasi-identifier; n is the "
            "number of records before suppression, d the number of quasi-identifiers."
        ),
        counting=f"Each cell of a suppressed record is at the top, h = H. {_SKIPPED}",
        limitation=(
            "A level counts the same whether it merges two values or a thousand. Precision "
            "therefore depends on the number of levels: a hierarchy with more levels gives the "
            "same release another precision."
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
        sentence="Average share of the other raw values that a released value also covers.",
        formula="Σ ((m − 1) / (M − 1)) / (n · d), over all cells of the quasi-identifiers",
        letters=(
            "m is the number of raw values that a released value covers, M the number of raw "
            "values of its quasi-identifier; n is the number of records before suppression, d the "
            "number of quasi-identifiers."
        ),
        counting=(
            "The raw values are the rows of the hierarchy's file, or without a file the distinct "
            "values of the table. Each cell of a suppressed record loses 1. "
            f"{_SKIPPED}"
        ),
        limitation=(
            "Every raw value has the same weight, however rare: a file with values that never "
            "occur makes the same release look better or worse."
        ),
        source=(
            "Iyengar 2002, Transforming data to satisfy privacy constraints, KDD (the loss metric)"
        ),
        better="lower",
        range="from 0 (every value is raw) to 1 (every value covers all raw values)",
    ),
    Metric(
        name="loss_geometric",
        title="Geometric loss",
        sentence=(
            "Geometric mean of the quasi-identifiers' losses (each plus one), so that a total "
            "loss of one quasi-identifier has less weight than in the loss."
        ),
        formula="(Π (Lᵢ + 1))^(1/d) − 1, over the quasi-identifiers",
        letters=("Lᵢ is the loss of the i-th quasi-identifier, d the number of quasi-identifiers."),
        counting="As for the loss, for each quasi-identifier. One is added to each, because a "
        f"single 0 would make the product 0. {_SKIPPED}",
        limitation=(
            "An average does not show which quasi-identifier lost its information. The metric "
            "serves to compare releases with those of ARX, which ranks by it."
        ),
        source=(
            "Prasser, Kohlmayer 2015, Putting statistical disclosure control into practice: the "
            "ARX data anonymization tool, in Medical data privacy handbook; after Iyengar 2002, KDD"
        ),
        better="lower",
        range="from 0 (every value is raw) to 1 (every value covers all raw values)",
    ),
    Metric(
        name="discernibility",
        title="Discernibility",
        sentence="Number of records indistinguishable from a record, summed over all records.",
        formula="Σ f² + n · s, over the released classes",
        letters=(
            "f is the size of a class; n is the number of records before suppression, s the number "
            "of suppressed records."
        ),
        counting=(
            "A suppressed record is indistinguishable from all n records, whether it is removed or "
            "kept as *."
        ),
        limitation=(
            "It depends on sizes only, not on values: a class of one year and a class of one "
            "century cost the same. It grows with the square of the number of records, so compare "
            "only releases of the same table."
        ),
        source="Bayardo, Agrawal 2005, Data privacy through optimal k-anonymization, ICDE",
        better="lower",
        range="from n (every record is unique) to n² (all are in one class)",
    ),
    Metric(
        name="average_class_size",
        title="Average class size",
        sentence="Average number of records in a class of the release.",
        formula="Σ f / J, over the released classes",
        letters="f is the size of a class, J the number of classes.",
        counting=(
            "Suppressed records are in no class. LeFevre, DeWitt and Ramakrishnan also divide by "
            "the required k; divide by k to compare."
        ),
        limitation=(
            "An average hides its extremes: one huge class and many small ones give the same "
            "number as classes of equal size. Suppressing records does not make it worse."
        ),
        source="LeFevre, DeWitt, Ramakrishnan 2006, Mondrian multidimensional k-anonymity, ICDE",
        better="lower",
        range="from 1 (every record is unique) to n (all are in one class)",
    ),
    Metric(
        name="non_uniform_entropy",
        title="Non-uniform entropy",
        sentence=(
            "Uncertainty about the raw values given the released ones, as a share of the "
            "uncertainty if all values were suppressed."
        ),
        formula="Σ log₂(c(g) / c(v)) / Σ log₂(n / c(v)), over all cells of the quasi-identifiers",
        letters=(
            "v is the raw value of a cell, g the released one; c is the number of records, before "
            "suppression, with a raw value that v or g covers; n is the number of records before "
            "suppression."
        ),
        counting=(
            "Frequencies are counted before suppression. Each cell of a suppressed record is *, "
            "with c = n. Both sums run over all quasi-identifiers, so one with many values has "
            f"more weight. The numerator is also reported, in bits. {_SKIPPED}"
        ),
        limitation=(
            "Each quasi-identifier counts by itself, without its correlation with others. Two "
            "values with nearly the same meaning count as different."
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
            "Strength of the association between a quasi-identifier and a sensitive attribute, "
            "before and after generalisation: how much of it an analysis of the release still "
            "finds."
        ),
        formula="√(χ² / (N · (min(r, s) − 1)))",
        letters=(
            "χ² is the chi-squared statistic of the contingency table of both attributes over N "
            "records; r and s are their numbers of distinct values."
        ),
        counting=(
            "Before: all records. After: the released records, without the suppressed ones. NULL "
            "is a value, unless --sensitive-nulls unknown leaves it out. V is undefined if either "
            "attribute has a single value."
        ),
        limitation=(
            "It is not a significance test: if most values are rare, V is near 1 by chance alone, "
            "above all before generalisation. A strong association also discloses sensitive values."
        ),
        source="Cramér 1946, Mathematical methods of statistics, chapter 21",
        better="higher",
        range="from 0 (independent) to 1 (one determines the other)",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _CATALOGUE}
"""Every metric by name."""
