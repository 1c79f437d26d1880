"""The figures that an assistant is shown: rounded, pooled, no ratio finer than its counts.

An answer is built from typed fields of a result, never by removing fields from its JSON, so a field
that is added to results stays hidden until it is added here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kanon_sql.models.base import Model, Scale
from kanon_sql.models.catalogue import MODELS
from kanon_sql.results.check import CheckResult
from kanon_sql.results.json_part import plain_json
from kanon_sql.results.release import Point
from kanon_sql.results.table import HistogramBin, TableResult

HIDDEN = "not shown"
_SIZES = (1, 2, 5, 10, 100)
"""The smallest class size of each bin."""
_NAMES = {
    "sensitive", "reference", "earlier", "match", "missing", "distance", "estimator", "test",
}  # fmt: skip
"""The text parameters that are names of the spec or keywords; any other may hold a value."""


def exact_figures(table: TableResult, min_cell: int) -> dict[str, int]:
    """The counts that the guard compares between nested sets of quasi-identifiers; those of a check
    by its model and parameters."""
    small = [bin for bin in table.histogram if bin.size < min_cell]
    figures: dict[str, int | None] = {
        "records": table.summary.records,
        "people": table.summary.people,
        "uniques": table.summary.uniques,
        "small": sum(bin.records for bin in small),
        "small_people": sum(bin.people or 0 for bin in small),
    }
    for check in table.checks:
        key = f"{check.model} {json.dumps(plain_json(check.parameters), sort_keys=True)}"
        figures[f"{key}.violating_records"] = check.violating_records
        figures[f"{key}.violating_people"] = check.violating_people
    return {name: count for name, count in figures.items() if count is not None}


@dataclass(frozen=True)
class ShownFigures:
    """Rounds the figures of one table's result for an assistant."""

    table: TableResult
    min_cell: int = 10

    def audit(self) -> dict[str, Any]:
        """The sizes of the classes and the verdicts."""
        return {
            "status": self.table.status,
            **self.sizes(),
            **self._by_all_records(),
            "sizes": list(self._histogram()),
            "checks": [self._check(check) for check in self.table.checks],
            "warnings": len(self.table.warnings),
        }

    def sizes(self) -> dict[str, Any]:
        """The records, people, classes and uniques."""
        summary = self.table.summary
        people = {"people": self.count(summary.people)} if self.table.entity else {}
        return {
            "records": self.count(summary.records),
            **people,
            "classes": self.count(summary.classes),
            "uniques": self.count(summary.uniques, self._members),
        }

    def _by_all_records(self) -> dict[str, Any]:
        """Whom somebody finds who knows all classes of a person; the sizes of the classes are those
        of one record. The guard does not compare the people alone, so they are no count."""
        k, uniques = self.table.profile
        if not self.table.classes_overlap or uniques is None:
            return {}
        many = self.count(uniques)
        least = f"{self.min_cell} or more"
        return {
            "profile_k": self.count(k),
            "profile_uniques": least if uniques >= self.min_cell else many,
        }

    def small(self) -> int | str | None:
        """The records in classes of fewer than `min_cell`."""
        small = exact_figures(self.table, self.min_cell)["small"]
        return self.count(small, self.table.summary.records)

    def share_of_uniques(self) -> float | str | None:
        """The share of records (people) alone in their class."""
        return self._share(self.table.summary.uniques, self._members)

    def cost(self, point: Point) -> dict[str, Any]:
        """The levels that lose least for one k."""
        lost = point.metrics.loss if point.metrics else None
        return {
            "k": point.k,
            "levels": None if point.levels is None else dict(point.levels),
            "loss": self._ratio(lost, self._members),
            "suppressed": self.count(point.suppressed),
        }

    def count(self, count: int | None, total: int | None = None) -> int | str | None:
        """A count rounded down to a multiple of `min_cell`. A small count is pooled, and so is one
        whose complement in its whole is small."""
        if count is None:
            return None
        few = f"fewer than {self.min_cell}"
        if 0 < count < self.min_cell:
            return few
        if count and total is not None and 0 < total - count < self.min_cell:
            return f"all but {few}"
        return count - count % self.min_cell

    def _share(self, count: int | None, total: int | None) -> float | str | None:
        """The share of a rounded count in its rounded whole; the words of a pooled count."""
        shown, shown_total = self.count(count, total), self.count(total)
        if isinstance(shown, str) or shown is None or not isinstance(shown_total, int):
            return shown if isinstance(shown, str) else None
        return _rounded(min(shown / shown_total, 1.0)) if shown_total else None

    def _ratio(self, value: float | None, whole: int | None, scale: Scale = "share") -> Any:
        """A ratio with two digits at most, in steps of at least `min_cell` of its whole.

        Multiplied by the whole, a share or its distance to 1 is a count; a factor divides the
        whole, and so does the exponential of a logarithm. Where such a count would be small, a
        bound stands for the ratio; of a whole that is too small for any step, nothing is shown.
        """
        if value is None or math.isinf(value):
            return None if value is None else "Infinity"
        if value == 0 or (value == 1 and scale == "share"):
            return float(value)
        shown = self.count(whole)
        most = shown / self.min_cell if isinstance(shown, int) else 0
        step = _nice_step(1 / most) if most else 1
        if step >= 0.5:
            return HIDDEN
        if value > (most := math.log(most) if scale == "logarithm" else most):
            return f"more than {_rounded(most, math.floor):g}"
        if value < step:
            return f"less than {step:g}"
        if scale == "share" and abs(value - 1) < step:
            return f"more than {1 - step:g}" if value < 1 else f"less than {1 + step:g}"
        if scale == "effective number" and value < (least := _effective_number(step)):
            return f"less than {_rounded(least, math.ceil):g}"
        return _rounded(round(value / step) * step)

    @property
    def _members(self) -> int | None:
        summary = self.table.summary
        return summary.people if self.table.entity else summary.records

    @property
    def _of_class(self) -> int | None:
        """What no class exceeds, by the last bin of the histogram."""
        largest, members = self.table.summary.largest_class, self._members
        if largest is None or members is None:
            return members
        return min([members, *(size for size in _SIZES if size > largest)])

    def _histogram(self) -> Iterator[dict[str, Any]]:
        """Bins of class sizes, joined until each has at least `min_cell` records and people."""
        joined: list[list[HistogramBin]] = [[]]
        for start, end in zip(_SIZES, (*_SIZES[1:], None), strict=True):
            inside = [
                bin
                for bin in self.table.histogram
                if start <= bin.size and (end is None or bin.size < end)
            ]
            joined[-1] += inside
            if self._is_large(joined[-1]):
                joined.append([])
        rest = joined.pop()
        if joined:
            joined[-1] += rest
        for bins in joined:
            people = {"people": self.count(_total(bins, "people"))} if self.table.entity else {}
            yield {
                "size": _size_label(bins),
                "records": self.count(_total(bins, "records")),
                **people,
            }

    def _is_large(self, bins: list[HistogramBin]) -> bool:
        counts = ["records", "people"] if self.table.entity else ["records"]
        return all(_total(bins, count) >= self.min_cell for count in counts)

    def _check(self, check: CheckResult) -> dict[str, Any]:
        model = MODELS[check.model]
        summary = self.table.summary
        # The violating people of such a model are no part of this table.
        members = check.details.get("attacked", summary.people)
        inside = not (model.of_reference or model.family == "earlier")
        shown: dict[str, Any] = {
            "model": check.model,
            "parameters": shown_parameters(check.parameters),
            "holds": check.holds,
            "achieved": self._achieved(check, model),
            "violating_records": self.count(
                check.violating_records, summary.records if inside else None
            ),
            "violating_classes": self.count(
                check.violating_classes, summary.classes if inside else None
            ),
        }
        if check.violating_people is not None:
            total = members if inside else None
            shown["violating_people"] = self.count(check.violating_people, total)
        return shown

    def _achieved(self, check: CheckResult, model: type[Model]) -> Any:
        """The table's value in the model's measure, by what it measures."""
        value, thresholds = check.achieved, set(model.thresholds)
        if isinstance(value, Mapping):
            return {end: self._ratio(bound, self._of_class) for end, bound in value.items()}
        if value is None or isinstance(value, bool):
            return value
        if "e" in thresholds:
            # The distance between two sensitive values.
            return HIDDEN
        if model.counts_violations:
            return self.count(value, self.table.summary.classes)
        if model.share_of == "attacked":
            return self._share(check.violating_people, check.details["attacked"])
        if "max_highest" in thresholds:
            return self._reciprocal(round(1 / value) if value else None)
        if check.model == "sample_uniqueness":
            return self._share(self.table.summary.uniques, self._members)
        if isinstance(value, float):
            is_of_class = model.family == "values"
            whole = self._of_class if is_of_class else self._members
            return self._ratio(value, whole, model.scale)
        is_of_values = model.counts_values or thresholds & {"l", "p"}
        return value if is_of_values else self.count(value)

    def _reciprocal(self, size: int | None) -> float | str | None:
        """The highest risk, of which the smallest class follows."""
        shown = self.count(size)
        if isinstance(shown, str):
            return f"more than {_rounded(1 / self.min_cell)}"
        return _rounded(1 / shown) if shown else None


def is_answer_to(checks: Sequence[Model], answer: Mapping[str, Any]) -> bool:
    """Whether a stored answer judged these checks, and no other but homogeneity, which is measured
    without a check too."""
    judged = [check for check in answer["checks"] if check["holds"] is not None]
    judged = judged or answer["checks"]

    def is_same(check: Model, other: Mapping[str, Any]) -> bool:
        own, parameters = shown_parameters(check.parameters), dict(other["parameters"])
        return check.name() == other["model"] and own.items() <= parameters.items()

    gating = [check for check in checks if check.gates]
    others = [check for check in answer["checks"] if check["model"] != "homogeneity"]
    return all(any(is_same(check, shown) for shown in judged) for check in gating) and all(
        any(is_same(check, other) for check in checks) for other in others
    )


def shown_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A check's parameters; a list of values by its length, and no text but names and keywords."""
    shown: dict[str, Any] = {}
    for name, value in parameters.items():
        if name == "columns":
            shown[name] = list(value)
        elif isinstance(value, list | tuple | Mapping):
            shown[name] = len(value)
        elif not isinstance(value, str) or name in _NAMES:
            shown[name] = value
    return shown


def _rounded(value: float, way: Callable[[Fraction], int] = round) -> float:
    """A number with its first two digits.

    >>> _rounded(0.04567), _rounded(1234.5), _rounded(0.6543, math.floor)
    (0.046, 1200.0, 0.65)
    """
    if not value:
        return 0.0
    places = 1 - math.floor(math.log10(abs(value)))
    scaled = Fraction(value) * Fraction(10) ** places
    # A sum that ought to be a whole number lies beside it.
    return float(way(round(scaled, 9)) / Fraction(10) ** places)


def _nice_step(least: float) -> float:
    """The smallest step of 1, 2 or 5 units of a place that is not below the least.

    >>> _nice_step(0.01), _nice_step(1 / 14), _nice_step(0.003)
    (0.01, 0.1, 0.005)
    """
    place = Fraction(10) ** math.floor(math.log10(least))
    units = round(Fraction(least) / place, 9)
    return float(place * next(unit for unit in (1, 2, 5, 10) if unit >= units))


def _effective_number(share: float) -> float:
    """The effective number of two values, of which one has this share.

    >>> round(_effective_number(0.5), 9)
    2.0
    """
    return math.exp(-sum(part * math.log(part) for part in (share, 1 - share)))


def _total(bins: list[HistogramBin], column: str) -> int:
    return sum(getattr(bin, column) or 0 for bin in bins)


def _size_label(bins: list[HistogramBin]) -> str:
    """The bounds of the bins that classes of these sizes lie in."""
    first, last = bins[0].size, bins[-1].size
    start = max(size for size in _SIZES if size <= first)
    end = min((size - 1 for size in _SIZES if size > last), default=None)
    if end is None:
        return f"{start}+"
    return str(start) if start == end else f"{start}-{end}"
