"""The kinds of other tables that a question compares its table with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OtherTableKind:
    """A kind of other table: how specs, options and sentences name it."""

    key: str
    """Its key in a spec, and the parameter of a Python call."""
    prefix: str
    """Begins its options and dbt arguments; the parameter of a model; the name if none is given."""
    noun: str
    holds: str
    """Its records, in words."""
    example: str

    @property
    def a_noun(self) -> str:
        return f"{'an' if self.noun[0] == 'e' else 'a'} {self.noun}"

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
)
EARLIER = OtherTableKind(
    key="earlier_releases",
    prefix="earlier",
    noun="earlier release",
    holds="what was released of the same people before",
    example="r2024",
)
AGAINST = OtherTableKind(
    key="against",
    prefix="against",
    noun="second table",
    holds="another table of the same kind, compared with this one cell by cell",
    example="last_year",
)
"""What a published table is compared with; an audit of records has none."""
OTHER_TABLES = (REFERENCE, EARLIER)
"""Every kind of an audit, in the order in which tables are opened and planned."""
