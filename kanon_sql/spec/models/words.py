"""What is said of a model that is judged on its worst class, but for the numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClassWords:
    """Phrases in which {0} is a number and {k} or the like what is said beside it.

    Where more than the numbers changes the words, they are chosen in `report/words`.
    """

    found: str
    """What is achieved."""
    violating: str
    """Of the classes that fail, after how many they are; {0} is the threshold."""
    worst: str
    """Of the worst class, where it is good enough."""
    thresholds: tuple[str, ...] = ()
    """The thresholds as they are named, where that is not the model's own order."""
    told: str = "In the worst class of {sensitive} the figure is {0}."
    """Of the worst class, in a sentence for whoever reads no formula; {share} is in per cent."""
    always: bool = False
    """Whether the worst class is worth a line where nothing was demanded, too."""
    certain: bool = False
    """Whether a class fails too in which everyone has some value, whatever others there are."""
