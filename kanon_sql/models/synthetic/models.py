"""The models of a synthetic table beside the table that it was made from."""

from typing import Annotated, ClassVar

from kanon_sql.models.base import Bounds, Model, Number, Share, Values, Worst

__all__ = [
    "CopiedRecords",
    "CorrectAttribution",
    "DisclosiveInSynthetic",
    "ReplicatedUniques",
    "SinglingOut",
]

MOST_KNOWN = 3
"""Maximum number of quasi-identifiers in a claim; sets of them grow as n^m."""
SignedShare = Annotated[
    Number,
    Bounds("a difference from -1 to 1", {"minimum": -1, "maximum": 1}, is_share=True),
]
FewColumns = Annotated[
    int,
    Bounds(
        f"a whole number from 1 to {MOST_KNOWN}",
        {"minimum": 1, "maximum": MOST_KNOWN},
        is_whole=True,
    ),
]


class SyntheticModel(Model):
    """A model of what a synthetic table tells of its original, judged on all of it."""

    worst: ClassVar = "greatest"
    in_percent: ClassVar = True
    companion_figures: ClassVar = {"holdout.excess": ("greatest", "max_excess")}
    interval_bounds: ClassVar = {"max_excess": ("holdout.excess", "holdout.interval")}

    @property
    def figures(self) -> dict[str, Worst]:
        """Its share, and its rate or gain if that is bounded. The excess is no figure but an
        interval."""
        bounded = {
            figure: worst
            for figure, (worst, threshold) in self.companion_figures.items()
            if threshold != "max_excess" and getattr(self, threshold) is not None
        }
        return {"achieved": self.worst, **bounded}


class AttributionModel(SyntheticModel):
    """A model of what is told of a sensitive attribute."""

    sensitive: str | None = None
    """The sensitive attribute; optional if only one is declared."""


class CopiedRecords(SyntheticModel):
    """Few whole records of the original are in the synthetic table (Raab et al. 2024)."""

    thresholds: ClassVar = ("max_share", "max_excess")
    table_thresholds: ClassVar = thresholds

    max_share: Share | None = None
    """Maximum share of records that nobody else has and that are copied."""
    max_excess: SignedShare | None = None
    """Maximum difference between the original's share and the holdout's."""


class ReplicatedUniques(SyntheticModel):
    """Few of those alone in the original are alone again (Raab et al. 2024)."""

    thresholds: ClassVar = ("max_share", "max_excess")
    table_thresholds: ClassVar = thresholds

    max_share: Share | None = None
    """Maximum share alone by their quasi-identifiers in both tables."""
    max_excess: SignedShare | None = None
    """Maximum difference between the original's share and the holdout's."""


class SinglingOut(SyntheticModel):
    """Few are singled out by a claim that somebody is alone (Giomi et al. 2023)."""

    thresholds: ClassVar = ("max_share", "max_rate", "max_excess")
    table_thresholds: ClassVar = thresholds
    companion_figures: ClassVar = {
        "rate": ("greatest", "max_rate"),
        **SyntheticModel.companion_figures,
    }
    in_one_statement: ClassVar = False

    m: FewColumns = 2
    """Maximum number of quasi-identifiers in a claim."""
    max_share: Share | None = None
    """Maximum share singled out by at least one correct claim."""
    max_rate: Share | None = None
    """Maximum share of the claims that are correct."""
    max_excess: SignedShare | None = None
    """Maximum difference between the original's share and the holdout's."""


class DisclosiveInSynthetic(AttributionModel):
    """Few are told their own value as the only one (Raab et al. 2024)."""

    thresholds: ClassVar = ("max_share", "max_excess")
    table_thresholds: ClassVar = thresholds

    allowed: Values | None = None
    """Values that do no harm."""
    max_share: Share | None = None
    """Maximum share told their own value as certain."""
    max_excess: SignedShare | None = None
    """Maximum difference between the original's share and the holdout's."""


class CorrectAttribution(AttributionModel):
    """Their value is guessed hardly better than without the table (Taub et al. 2018)."""

    thresholds: ClassVar = ("max_average", "max_gain", "max_excess")
    table_thresholds: ClassVar = thresholds
    companion_figures: ClassVar = {
        "gain": ("greatest", "max_gain"),
        **SyntheticModel.companion_figures,
    }

    max_average: Share | None = None
    """Maximum chance that a guess is correct, on average of those found."""
    max_gain: SignedShare | None = None
    """Maximum difference between that chance and the one by the original's own shares."""
    max_excess: SignedShare | None = None
    """Maximum difference between the original's share and the holdout's."""
