"""The result of a check, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from kanon_sql.models.catalogue import MODELS
from kanon_sql.results.json_part import IF_SET, INLINED, JsonPart


@dataclass(frozen=True)
class InBaseline(JsonPart):
    """A check's result in the baseline, and the figures that got worse."""

    holds: bool
    figures: Mapping[str, Any] = field(metadata=INLINED)
    """Its former achieved value, violation counts, details and denominators, as far as stored."""
    worse: tuple[str, ...] = ()
    """Names of the figures that got worse; `holds` if the check held and is now violated."""
    better: tuple[str, ...] = ()
    """Names of the figures that got better."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return _inlined(cls, "figures", handler(source))


@dataclass(frozen=True)
class CheckDetails:
    """The companion figures of a check, each only where its model has it."""

    confidence: float | None = None
    """Confidence in a value in the worst class, with l - 2 other values ruled out."""
    present_only: float | None = None
    """The figure over the values that occur in a class."""
    average: float | None = None
    """The average risk."""
    at_risk: float | None = None
    """Share of records (people) whose risk is above the threshold."""
    distinct: int | None = None
    """Smallest number of distinct values in a class."""
    k: int | None = None
    """Size of the smallest class."""
    required: int | None = None
    """The class size that the estimate requires."""
    estimate: bool = True
    """Whether the figure is estimated."""
    estimates: Mapping[str, float | None] = field(default_factory=dict)
    """By estimator."""
    profile_k: int | None = None
    """Smallest number of people with records in exactly the same classes."""
    profile_uniques: int | None = None
    """Number of people whose set of classes nobody else has."""
    achieved_nulls_as_value: int | None = None
    """The figure with NULL as a value of its own."""
    singleton_classes: int | None = None
    """Number of homogeneous classes of size 1."""
    several_valued_classes: int | None = None
    """Number of homogeneous classes in which someone has several values."""
    unmatched_classes: int | None = None
    """Number of classes without a match in the reference."""
    unmatched_records: int | None = None
    """Number of records in classes without a match in the reference."""
    exceeding_classes: int | None = None
    """Number of classes larger than their match in the reference."""
    reference_levels: Mapping[str, int] = field(default_factory=dict)
    """The levels to which the reference was generalised."""
    assumes: str | None = None
    """The attacker for whom the figure counts."""
    in_both: int | None = None
    """Number of people in both releases."""
    certain_people: int | None = None
    """Number of people with a single value left, unless it changed."""
    changed_people: int | None = None
    """Number of people whose value must have changed."""
    joiners: Mapping[str, int | None] = field(default_factory=dict)
    """People only in this release, and the smallest number of them in a class."""
    leavers: Mapping[str, int | None] = field(default_factory=dict)
    """People only in the earlier release, and the smallest number of them in a class."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """k of each release alone."""
    drawn: bool | None = None
    """Whether known events were drawn at random."""
    evidence: Literal["exact", "witnesses", "interval", "draw"] | None = None
    """What the verdict on known events rests on; a draw alone leaves it open."""
    attacked: int | None = None
    """Number of people attacked."""
    fewer: int | None = None
    """Number of them with fewer than m events."""
    interval: tuple[float, ...] | None = None
    """95 % interval of the share, of a draw."""
    worst: Mapping[str, float] | None = None
    """The figures by the m events that tell most, which are not drawn."""
    random: Mapping[str, float] | None = None
    """The figures by m events at random."""
    highest: float | None = None
    """The highest chance of finding a person."""
    violating_combinations: int | None = None
    """Number of combinations that fewer than k people share."""
    complete: bool | None = None
    """Whether combinations of all sizes up to m were counted."""
    by_size: tuple[Mapping[str, int | None], ...] = ()
    """Number of combinations, and of those that violate, by number of events."""
    shortfall_by_size: Mapping[str, int] = field(default_factory=dict)
    """How many people the violating combinations lack to k, added up, by number of events."""
    unique_in_original: int | None = None
    """Number of records (people) that are alone in the original."""
    unique_in_synthetic: int | None = None
    """Number of records (people) that are alone in the synthetic table."""
    unique_found: int | None = None
    """Number of those alone in the original who are found in the synthetic table."""
    unique_copied: int | None = None
    """Number of records (people) that nobody else has and that are in the synthetic table."""
    copied: int | None = None
    """Number of records (people) of the original that are in the synthetic table."""
    copying: int | None = None
    """Number of records (people) of the synthetic table that are in the original."""
    synthetic: int | None = None
    """Number of records (people) of the synthetic table."""
    columns: tuple[str, ...] = ()
    """The columns that were compared."""
    left_out: tuple[str, ...] = ()
    """The columns of both tables that have no value in common, and were not compared."""
    replicated: int | None = None
    """Number of those alone in the original who are again alone in the synthetic table."""
    found: int | None = None
    """Number of records (people) of the original that are found in the synthetic table."""
    singled_out: int | None = None
    """Number of records (people) singled out by at least one correct claim."""
    claims: int | None = None
    """Number of combinations that one record of the synthetic table has."""
    correct: int | None = None
    """Number of correct claims, or of records (people) told their own value."""
    rate: float | None = None
    """Share of the claims that are correct; None without claims."""
    matched: int | None = None
    """Number of records (people) of the original found by their quasi-identifiers."""
    claimed: int | None = None
    """Number of records (people) told one value as certain."""
    precision: float | None = None
    """Share of those told a value whose value it is; None if nobody is told one."""
    correct_in_original: int | None = None
    """Number of those told their own value to whom the original would tell it too."""
    unique_correct: int | None = None
    """Number of those told their own value who are alone in the original."""
    disclosive_in_original: int | None = None
    """Number of records (people) to whom the original itself would tell their value."""
    zero_cap: float | None = None
    """The average chance of a correct guess, with 0 for those who are not found."""
    gain: float | None = None
    """Difference between the chance of a correct guess and that by the original's shares."""
    original: float | None = None
    """The average chance of a correct guess in the original itself."""
    unique: Mapping[str, float | None] = field(default_factory=dict)
    """Those who are alone in the original and found, and their chance of a correct guess."""
    holdout: Mapping[str, Any] | None = None
    """The comparison with the holdout: shares, their difference and its interval."""


@dataclass(frozen=True, repr=False)
class CheckResult(JsonPart):
    """One check's result. `holds` is None where nothing was required.

    `violating_people` counts people in at least one violating class, each once; None without an
    entity. `achieved` is the table's value in the model's own measure; `details` are companion
    figures, each stored next to `achieved` in the JSON.

    With a baseline, `accepted` says whether the check is violated and the baseline accepts that,
    and `baseline` is its former result, None for a check it lacks; `accepted` is None without a
    baseline.
    """

    model: str
    parameters: Mapping[str, Any]
    policy: str | None = field(default=None, kw_only=True, metadata=IF_SET)
    """The policy that requires the check; None if the user does."""
    holds: bool | None
    achieved: Any
    violating_classes: int | None = None
    violating_records: int | None = None
    violating_people: int | None = field(default=None, kw_only=True, metadata=IF_SET)
    details: Mapping[str, Any] = field(default_factory=dict, metadata=INLINED)
    accepted: bool | None = field(default=None, metadata=IF_SET)
    baseline: InBaseline | None = field(default=None, metadata=IF_SET)

    def __repr__(self) -> str:
        """One line with the verdict."""
        open_or_not = "undecided" if self.undecided else "measured"
        verdict = {True: "holds", False: "violated", None: open_or_not}[self.holds]
        of = f" {name}" if (name := self.parameters.get("sensitive")) else ""
        return f"<CheckResult {self.model}{of} {verdict}: {self.achieved}>"

    @property
    def undecided(self) -> bool:
        """Whether a draw, or a small holdout, can neither prove nor disprove what is required, or
        nobody is found of whom it could be judged."""
        return (
            self.holds is None
            and self.details.get("evidence") is not None
            and MODELS[self.model](**self.parameters).gates
        )

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure by name; both ends of an achieved range."""
        is_range = isinstance(self.achieved, Mapping)
        achieved = self.achieved if is_range else {"achieved": self.achieved}
        return {**achieved, **self.violations, **self.details}

    @property
    def violations(self) -> dict[str, int | None]:
        """How many classes and records violate it, and with an entity how many people."""
        people = self.violating_people
        return {
            "violating_classes": self.violating_classes,
            "violating_records": self.violating_records,
            **({} if people is None else {"violating_people": people}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Beside `accepted`, the baseline is null for a check that it lacks."""
        written = super().to_dict()
        return written if self.accepted is None else written | {"baseline": written.get("baseline")}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return _inlined(cls, "details", handler(source), {"holds": None})


def _inlined(dataclass_type: Any, name: str, schema: Any, missing: Mapping[str, Any] = {}) -> Any:
    """The pydantic schema of a dataclass whose JSON has the keys of one field inlined."""
    from pydantic_core import core_schema

    own = {field.name for field in fields(dataclass_type)} - {name}

    def gathered(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        nested: dict[str, Any] = {**missing, name: {}}
        for key, item in value.items():
            # The chance of a correct guess by the original's shares, and no former result.
            is_figure = key == "baseline" and (
                isinstance(item, int | float) or "accepted" not in value
            )
            (nested[name] if is_figure or key not in own else nested)[key] = item
        return nested

    return core_schema.no_info_before_validator_function(gathered, schema)
