"""The models of event tables, where an attacker knows some of a person's records."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from kanon_sql.models.base import Bounds, Count, CountFromZero, Model, Number

__all__ = ["KmAnonymity", "KnownEvents"]

MOST_EXPANDED = 3
"""Maximum number of events whose combinations are counted; they grow as n^m."""
MOST_IN_ONE_STATEMENT = 2
"""Maximum number of events in the dbt tests and in other checks' own statements."""
MOST_COMBINATIONS = 500_000_000


def _yes_or_no(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


SmallCrowd = Annotated[int, Bounds("a whole number, 2 or more", {"minimum": 2}, is_whole=True)]
Events = Annotated[
    int, Bounds("a whole number from 1 to 20", {"minimum": 1, "maximum": 20}, is_whole=True)
]
FewEvents = Annotated[
    int,
    Bounds(
        f"a whole number from 1 to {MOST_EXPANDED} (known_events draws for more)",
        {"minimum": 1, "maximum": MOST_EXPANDED},
        is_whole=True,
    ),
]
Attacks = Annotated[int, Bounds("a whole number, 100 or more", {"minimum": 100}, is_whole=True)]
YesOrNo = Annotated[bool, BeforeValidator(_yes_or_no)]
ShareOfPeople = Annotated[
    Number, Bounds("a share, and a share is between 0 and 1", {"minimum": 0, "maximum": 1})
]


class EventModel(Model):
    """A model of the events of a person, of which an attacker knows some."""

    needs_classes: ClassVar = False

    @property
    def has_own_statement(self) -> bool:
        """Whether its macro counts every combination of so many events; nothing is drawn there."""
        m, most = self.parameters["m"], self.parameters["max_combinations"]
        return bool(m == 1 or (m <= MOST_IN_ONE_STATEMENT and most > 0))


class KmAnonymity(EventModel):
    """Any m events are shared by at least k people (Terrovitis et al. 2008)."""

    thresholds: ClassVar = ("k",)
    table_thresholds: ClassVar = thresholds
    worst: ClassVar = "least"

    k: Count | None = None
    """Minimum number of people who share a combination of events."""
    m: FewEvents = 2
    """Maximum number of events that an attacker knows."""
    times: YesOrNo = False
    """Whether an event counts as often as it occurs."""
    max_combinations: CountFromZero = MOST_COMBINATIONS
    """Maximum number of combinations to count."""


class KnownEvents(EventModel):
    """Few people are found by m of their events (de Montjoye et al. 2013)."""

    thresholds: ClassVar = ("max_share", "max_highest", "max_average")
    table_thresholds: ClassVar = thresholds
    share_of: ClassVar = "attacked"
    title_parameters: ClassVar = ("m",)
    companion_figures: ClassVar = {
        "highest": ("greatest", "max_highest"),
        "average": ("greatest", "max_average"),
    }
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"

    m: Events
    """Number of events that an attacker knows."""
    k: SmallCrowd = 2
    """A person is found among fewer than k people."""
    times: YesOrNo = False
    """Whether an event counts as often as it occurs."""
    sample: Attacks = 10_000
    """Number of people attacked, where events are drawn."""
    seed: CountFromZero = 1
    """Seed of the draw, which is the same in every database."""
    max_combinations: CountFromZero = MOST_COMBINATIONS
    """Maximum number of combinations to count; beyond it events are drawn."""
    max_share: ShareOfPeople | None = None
    """Maximum share of people among fewer than k."""
    max_highest: ShareOfPeople | None = None
    """Maximum chance of finding any person."""
    max_average: ShareOfPeople | None = None
    """Maximum average chance."""
