"""The key figures of a table."""

from __future__ import annotations

from kanon_sql.plan.answers import (
    Answers,
    classes_by_size,
    people_in,
    people_of_profiles,
    smallest,
    total,
    uniques,
)
from kanon_sql.results.table import HistogramBin, Summary


def summary(answers: Answers) -> Summary:
    """The key figures of a table."""
    sizes = answers.sizes
    if not sizes:
        return Summary(records=0)
    classes = total(sizes, "kanon_classes")
    return Summary(
        records=total(sizes, "kanon_records"),
        people=people_of_profiles(answers.profiles) if answers.profiles else None,
        classes=classes,
        k=smallest(sizes),
        average_class_size=people_in(sizes) / classes,
        largest_class=int(sizes[-1]["kanon_size"]),
        uniques=uniques(answers),
        records_with_null_qi=total(sizes, "kanon_with_null"),
        suppressed=total(sizes, "kanon_suppressed"),
    )


def histogram(answers: Answers) -> tuple[HistogramBin, ...]:
    """For each class size, the number of classes, of their records, and of people whose smallest
    class has this size."""
    people = dict(answers.counted) if answers.profiles else None
    return tuple(
        HistogramBin(size, classes, records, None if people is None else people.get(size, 0))
        for size, classes, records in classes_by_size(answers.sizes)
    )


def profile(answers: Answers) -> dict[str, int]:
    """The smallest number of people with the same set of classes, and the people whose set nobody
    else has; empty without an entity."""
    sizes = {int(row["kanon_size"]): int(row["kanon_profiles"]) for row in answers.profiles}
    return {"profile_k": min(sizes), "profile_uniques": sizes.get(1, 0)} if sizes else {}
