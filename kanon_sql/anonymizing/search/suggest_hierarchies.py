"""Suggests hierarchies for numeric or date quasi-identifiers whose only level is `*`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import Levels, QuasiIdentifier
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.sql.column_types import family
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT

WIDTHS = (5, 50, 500, 5_000, 50_000, 500_000, 5_000_000)
MOST_LABELS = 25
"""Maximum number of intervals at the narrowest suggested level."""
_DATES = "date:month,year,5y,suppress"


def builders(sets: FrequencySets, levels: Levels) -> dict[str, str]:
    """A suggested hierarchy, in spec syntax, for each quasi-identifier that was generalised to `*`
    for lack of levels. Text that is neither numeric nor a date gets none."""
    return dict(_builders(sets, levels))


def _builders(sets: FrequencySets, levels: Levels) -> Iterator[tuple[str, str]]:
    for each in sets.quasi_identifiers:
        has_none = each.levels.hierarchy.levels is None and each.levels.table is None
        if not (has_none and levels[each.name] and each.attribute.distinct[0] > 1):
            continue
        found = _DATES if family(each.column.type) == "time" else _of_values(sets, each)
        if found:
            yield each.name, found


def _of_values(sets: FrequencySets, each: QuasiIdentifier) -> str | None:
    """The suggested levels if every value is a number or every value is a date."""
    kind = family(each.column.type)
    if kind not in ("number", "text") or sets.dialect != DIALECT:
        # Other dialects may reject text that is not numeric instead of giving it no label.
        return None
    widths = [_label(each, {"width": width}) for width in WIDTHS]
    sql = render(
        "kinds_of_values",
        values=each.values,
        widths=widths,
        date=_label(each, "year") if kind == "text" else None,
    )
    [row] = sets.fetch(
        f"kinds_{each.place}", f"How many values of {each.name} are numbers, dates or codes?", sql
    )
    values = int(row["kanon_values"])
    if kind == "text" and values and int(row["kanon_dates"]) == values:
        return _DATES
    if not values or int(row["kanon_numbers"]) < values:
        return None
    if kind == "text" and int(row["kanon_codes"]):
        return "mask:right"
    for place, width in enumerate(WIDTHS, start=1):
        if 1 < int(row[f"kanon_labels_{place}"]) <= MOST_LABELS:
            return f"width:{width},{2 * width},{4 * width},suppress"
    return None


def _label(each: QuasiIdentifier, level: object) -> str:
    hierarchy = GeneralizationHierarchy.model_validate({"levels": [level]})
    return replace(each.levels, hierarchy=hierarchy).sql(1, "kanon_raw")
