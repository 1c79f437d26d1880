"""An earlier release of the same people, as it is asked about: whoever has both may link them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from kanon_sql.spec.question_parts import SpecPart, names


class EarlierReleaseSpec(SpecPart, BaseModel):
    """An earlier release of the same people. The entity says who is who in both."""

    source: Any = Field(repr=False)
    """A file, a glob or a table."""
    columns: dict[str, str] = {}
    """Its own name for a quasi-identifier, a sensitive attribute or the entity."""
    entity: str | None = None
    """The column that says which person a record of it is about; the table's own without it."""
    quasi_identifiers: Annotated[list[str], BeforeValidator(names)] = []
    """Its quasi-identifiers, where it published others than the table does."""
    where: str | None = None
    """Only the records for which this holds."""
    levels: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Generalise it to what was released: quasi-identifiers of the table at these levels of its
    hierarchies."""
    header: bool | None = None
    """Whether the first line of a text file names its columns."""


def the_earlier(name: str) -> str:
    """What a sentence calls an earlier release.

    >>> the_earlier("earlier"), the_earlier("r2024")
    ('the earlier release', 'earlier release r2024')
    """
    return "the earlier release" if name == "earlier" else f"earlier release {name}"
