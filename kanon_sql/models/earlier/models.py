"""The models of what two releases of the same people disclose together."""

from typing import ClassVar

from kanon_sql.models.base import Count, Model

__all__ = ["ComposedKAnonymity", "ComposedLDiversity"]


class ComposedModel(Model):
    """A model of this release together with an earlier one of the same people."""

    needs_classes: ClassVar = False

    earlier: str | None = None
    """The name of the earlier release; optional if there is only one."""


class ComposedKAnonymity(ComposedModel):
    """Linking two releases leaves a crowd of at least k people (Ganta et al. 2008)."""

    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"

    k: Count | None = None
    """Minimum number of people who share their classes in both releases."""


class ComposedLDiversity(ComposedModel):
    """Two releases leave at least l values that occur in both (Ganta et al. 2008)."""

    thresholds: ClassVar = ("l",)
    worst: ClassVar = "least"

    l: Count | None = None
    """Minimum number of values that a person's two classes have in common."""
    sensitive: str | None = None
    """The sensitive attribute; optional if only one is declared."""
