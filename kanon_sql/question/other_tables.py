"""The kinds of other tables that a question compares its table with."""

from __future__ import annotations

from typing import NamedTuple


class OtherTableKind(NamedTuple):
    """A kind of other table: how specs, options and sentences name it."""

    key: str
    """Its key in a spec, and the parameter of a Python call."""
    prefix: str
    """Begins its options and dbt arguments; the parameter of a model; the name if none is given."""
    noun: str
    holds: str
    """Its records, in words."""
    example: str
    is_single: bool = False
    """Whether a table has one at most, which then has no name of its own."""
    needs_entity: bool = False
    """Whether its people are linked with those of the table."""
    has_sensitive: bool = False
    """Whether its sensitive attributes are compared too, and its people may be."""
    may_lack_columns: bool = False
    """Whether it may have quasi-identifiers of its own."""
    shares_columns: bool = False
    """Whether all its columns are compared, so that it has every sensitive attribute."""
    named_by: str = ""
    """The key of the other table whose names of columns it has, where these aren't its own."""
    shares_masks: bool = False
    """Whether a mask is as long as the longest value of the table and all such others."""
    family: str = ""
    """The family that measures such tables, whatever the checks."""

    @property
    def a_noun(self) -> str:
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def place(self, name: str) -> tuple[str, ...]:
        """Where one stands in a spec."""
        return (self.key,) if self.is_single else (self.key, name)

    def called(self, name: str) -> str:
        """What a sentence calls one.

        >>> REFERENCE.called("reference"), REFERENCE.called("voters")
        ('the reference', 'reference voters')
        >>> EARLIER.called("earlier"), EARLIER.called("r2024")
        ('the earlier release', 'earlier release r2024')
        """
        return f"the {self.noun}" if name == self.prefix else f"{self.noun} {name}"


REFERENCE = OtherTableKind(
    key="references",
    prefix="reference",
    noun="reference",
    holds="the table of the people who could be meant",
    example="voters",
    shares_masks=True,
    family="reference",
)
EARLIER = OtherTableKind(
    key="earlier_releases",
    prefix="earlier",
    noun="earlier release",
    holds="what was released of the same people before",
    example="r2024",
    needs_entity=True,
    has_sensitive=True,
    may_lack_columns=True,
    family="earlier",
)
ORIGINAL = OtherTableKind(
    key="original",
    prefix="original",
    noun="original",
    holds="the table that a synthetic one was made from",
    example="train",
    is_single=True,
    has_sensitive=True,
    shares_columns=True,
    shares_masks=True,
    family="synthetic",
)
HOLDOUT = OtherTableKind(
    key="holdout",
    prefix="holdout",
    noun="holdout",
    holds="people whom the generator of a synthetic table has not seen",
    example="rest",
    is_single=True,
    has_sensitive=True,
    shares_columns=True,
    named_by="original",
    shares_masks=True,
)
AGAINST = OtherTableKind(
    key="against",
    prefix="against",
    noun="second table",
    holds="another table of the same kind, compared with this one cell by cell",
    example="last_year",
)
"""What a published table is compared with; an audit of records has none."""
OTHER_TABLES = (REFERENCE, EARLIER, ORIGINAL, HOLDOUT)
"""Every kind of an audit, in the order in which tables are opened and planned."""
