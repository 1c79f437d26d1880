"""Sentence templates of models that are judged on their worst class."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClassWords:
    """Templates in which {0} is the figure, and {k} and the like are details of the result.

    If more than the numbers varies, `report/words` chooses the sentence.
    """

    found: str
    """The result."""
    violating: str
    """The violating classes, after their number; {0} is the threshold."""
    worst: str
    """The worst class of a check that holds."""
    thresholds: tuple[str, ...] = ()
    """The order in which thresholds are printed, if it differs from the model's."""
    sentence: str = "In the worst class of {sensitive} the figure is {0}."
    """The worst class, in a sentence without formulas; {share} is in per cent."""
    always: bool = False
    """Whether the worst class is printed even if nothing is required."""
    certain: bool = False
    """Whether a class also fails if all its people have one value, whatever others they have."""
