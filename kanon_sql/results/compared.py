"""The figures by which a check or a table is worse than before.

Each model says in which direction its own figure gets worse; `JUDGED` has all further ones, and
`DESCRIBED` those that make nothing worse. No model is treated specially here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kanon_sql.models.base import Model, Worst
from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult
from kanon_sql.sql.quoting import SLACK_OF_DISTANCES

Change = Literal["same", "better", "worse", "changed"]
"""`changed`: neither better nor worse, or not comparable."""
ThresholdChange = Literal["same", "weaker", "stricter", "changed"]
"""Change of a check's thresholds; `changed` is weaker in one and stricter in another."""
Tables = tuple[TableResult, TableResult]
"""The old and the new table, whose sizes are denominators."""


class Worsening(NamedTuple):
    """How a figure gets worse."""

    worst: Worst
    of: str = ""
    """What it is a part of: a size of the table, or another figure of the check. Its share is
    compared, as tables grow and shrink."""
    of_thresholds: bool = False
    """Whether it counts what misses the thresholds, so that other ones give another count."""
    absent: float | None = None
    """The value that stands for null."""


VIOLATING = {
    f"violating_{counted}": Worsening("greatest", counted, True)
    for counted in ("classes", "records", "people")
}
JUDGED: dict[str, Worsening] = {
    **VIOLATING,
    "average": Worsening("greatest"),
    "highest": Worsening("greatest"),
    "at_risk": Worsening("greatest"),
    "k": Worsening("least"),
    "distinct": Worsening("least"),
    "present_only": Worsening("greatest"),
    "profile_k": Worsening("least"),
    "profile_uniques": Worsening("greatest", "people"),
    "unmatched_classes": Worsening("greatest", "classes"),
    "unmatched_records": Worsening("greatest", "records"),
    "exceeding_classes": Worsening("greatest", "classes"),
    "certain_people": Worsening("greatest", "people"),
    "changed_people": Worsening("greatest", "people"),
    "alone.release": Worsening("least"),
    "alone.earlier": Worsening("least"),
    "joiners.k": Worsening("least", absent=math.inf),
    "leavers.k": Worsening("least", absent=math.inf),
    "worst.alone": Worsening("greatest", "people"),
    "random.share": Worsening("greatest"),
    "random.alone": Worsening("greatest"),
    "random.average": Worsening("greatest"),
    "by_size.violating": Worsening("greatest", "by_size.combinations", True),
    "shortfall_by_size": Worsening("greatest", "by_size.combinations", True),
    "violating_cells": Worsening("greatest", "cells", True),
    "shortfall": Worsening("greatest", "cells", True),
    "undecided_cells": Worsening("greatest", "cells", True),
    "small_remainders": Worsening("greatest", "cells", True),
    "suppressed_here_shown_there": Worsening("greatest", "cells"),
}
"""The figures of a check besides `achieved`, by name: a part of an object after a dot."""
DESCRIBED = {
    "confidence": "follows from `achieved`",
    "required": "the bound, which follows from the sizes of table and population",
    "estimate": "not a figure",
    "estimates": "by the estimators that the check did not choose",
    "achieved_nulls_as_value": "by the other meaning of NULL",
    "singleton_classes": "a part of `achieved`; lone records are `uniques`",
    "several_valued_classes": "a part of `achieved`",
    "reference_levels": "a setting",
    "in_both": "the number of people compared",
    "joiners.people": "the number of newcomers",
    "leavers.people": "the number of people who left",
    "drawn": "not a figure",
    "complete": "not a figure",
    "attacked": "the number of people attacked",
    "fewer": "the number of people with fewer events than are known",
    "interval": "follows from `achieved` and `attacked`",
    "worst.share": "is `achieved`",
    "worst.highest": "is `highest`",
    "worst.average": "is `average`",
    "random.highest": "is `highest`",
    "violating_combinations": "the sum of `by_size`, where each size is compared by itself",
    "by_size.size": "the number of events",
    "by_size.combinations": "the number of combinations",
    "violating_margin_cells": "a part of `violating_cells`",
    "undefined_cells": "the number of cells without a share",
    "cells_with_negatives": "the number of cells to which the rule hardly applies",
    "alone": "a part of `achieved`",
    "groups": "the number of groups",
    "compared_cells": "the number of cells compared",
    "equal_cells": "the number of cells that disclose no difference",
    "greater_here": "the direction of a difference",
    "smaller_here": "the direction of a difference",
    "not_compared": "the number of cells in one table only",
    "suppressed": "the number of suppressed cells",
    "derived_cells": "is `achieved`",
    "by_subtraction": "a way to `derived_cells`",
    "by_bounds": "a way to `derived_cells`",
    "by_linear_programming": "a way to `derived_cells`",
    "by_integer_programming": "a way to `derived_cells`",
    "steps": "the rounds of subtraction",
    "narrowest": "how close a cell is that can't be computed",
    **dict.fromkeys(
        ("unique_copied", "replicated", "singled_out", "correct"),
        "is `achieved`, as a number",
    ),
    **dict.fromkeys(
        ("copied", "found", "unique_found", "matched", "claimed", "claims", "unique_correct"),
        "what leads to `achieved`",
    ),
    **dict.fromkeys(
        (
            *("unique_in_original", "unique_in_synthetic", "copying", "synthetic"),
            *("disclosive_in_original", "correct_in_original", "original", "baseline"),
        ),
        "of one of both tables alone",
    ),
    **dict.fromkeys(("columns", "left_out"), "the columns that are compared"),
    **dict.fromkeys(
        ("rate", "precision", "zero_cap", "gain", "unique.average"),
        "follows from figures of both tables; `achieved` is compared",
    ),
    "unique.matched": "the number of those alone and found",
    **dict.fromkeys(
        ("by_size.sets", "by_size.claims", "by_size.correct", "by_size.nobody"),
        "the claims of a size",
    ),
    "by_size.singled_out": "a part of `achieved`",
    **{
        f"holdout.{name}": "of the comparison with a holdout"
        for name in (
            *("attacked", "found", "matched", "average"),
            *("share", "share_in_original", "excess", "interval"),
        )
    },
}
"""The figures of a check that make it neither better nor worse, each with the reason."""
_IN_RECORDS = {"violating_classes": "violating_records", "unmatched_classes": "unmatched_records"}
"""For counts of classes, the figure with the records in them."""


@dataclass(frozen=True)
class Figure:
    """A figure of both results, and how it changed."""

    name: str
    old: Any
    new: Any
    change: Change
    of: tuple[int, int] | None = None
    """The old and the new denominator, where shares are compared."""
    is_judged: bool = True
    """Whether a change can be better or worse."""

    def to_dict(self) -> dict[str, Any]:
        of = {"of": dict(zip(("old", "new"), self.of, strict=True))} if self.of else {}
        return {"old": self.old, "new": self.new, **of, "change": self.change}


def figure(
    name: str, old: Any, new: Any, worst: Worst | None, of: tuple[int, int] | None = None
) -> Figure:
    """Compare a figure, or its share `of` the totals; without `worst` it can only differ."""
    if worst is None:
        return Figure(name, old, new, "same" if old == new else "changed", is_judged=False)
    if of is None or not (_is_number(old) and _is_number(new)):
        return Figure(name, old, new, change(old, new, worst))
    # Cross-multiply, so that counts stay integers.
    return Figure(name, old, new, change(old * of[1], new * of[0], worst), of)


def change(before: Any, after: Any, worst: Worst) -> Change:
    """Compare two values of a figure whose `worst` direction is known.

    >>> change(5, 3, "least"), change(0.1, 0.1 + 1e-12, "greatest"), change(None, 3, "least")
    ('worse', 'same', 'changed')
    """
    if before == after:
        return "same"
    if not (_is_number(before) and _is_number(after)):
        return "changed"
    if _is_same(before, after):
        return "same"
    return "worse" if (after < before) == (worst == "least") else "better"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(before: float, after: float) -> bool:
    """Whether two numbers are equal up to rounding of sums; integers are compared exactly."""
    if isinstance(before, int) and isinstance(after, int):
        return before == after
    return math.isclose(before, after, rel_tol=SLACK_OF_DISTANCES, abs_tol=SLACK_OF_DISTANCES)


# --- the figures of a check -------------------------------------------------------------------


def flat_figures(check: CheckResult) -> dict[str, Any]:
    """Every figure of a check by name, the parts of an object after a dot.

    >>> flat_figures(CheckResult("km_anonymity", {"k": 5}, True, 7, details={"by_size": [
    ...     {"size": 2, "combinations": 9}
    ... ]}))["by_size.2.combinations"]
    9
    """
    flat: dict[str, Any] = {}
    for name, value in check.figures.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": part for key, part in value.items()}
        elif name == "by_size":
            flat |= {
                f"{name}.{row['size']}.{key}": part for row in value for key, part in row.items()
            }
        else:
            flat[name] = value
    return flat


def judged(name: str, check: CheckResult) -> Worsening | None:
    """How a figure of a check gets worse; None for one that only describes."""
    model = model_of(check)
    if name in model.figures:
        whole = "" if not model.counts_violations else _violated_whole(check)
        return Worsening(model.figures[name], whole, of_thresholds=model.counts_violations)
    return None if name in model.described else JUDGED.get(in_any_size(name))


def _violated_whole(check: CheckResult) -> str:
    """What the violations that a model counts are a part of."""
    if check.model not in CELL_MODELS:
        return "classes"
    return "groups" if "groups" in check.details else "cells"


def in_any_size(name: str) -> str:
    """The name without the number of events of a combination.

    >>> in_any_size("by_size.2.violating"), in_any_size("shortfall_by_size.2")
    ('by_size.violating', 'shortfall_by_size')
    """
    return re.sub(r"\.\d+\b", "", name)


def changes(before: CheckResult, after: CheckResult, tables: Tables | None) -> Iterator[Figure]:
    """Compare every judged figure of a check that both results have; counts of what misses the
    thresholds are judged only if these are the same.

    With both `tables`, shares are compared. Counts of classes are judged only if the records in
    them are unknown, as the same share of violating records may fall into more or fewer classes.
    Measured checks lack that figure, and are judged where either count is zero.
    """
    then, now = flat_figures(before), flat_figures(after)
    as_before = threshold_change(before, after) == "same"
    for name, how in _compared(now, after):
        if name not in then:
            # Written by a version without this figure.
            continue
        old, new = (how.absent if side[name] is None else side[name] for side in (then, now))
        of = _denominators(name, how, before, after, tables) if tables else None
        in_records = _IN_RECORDS.get(_counted(name, after), "")
        # In composition, people violate and no records, so their count is decisive.
        members = (in_records, "violating_people") if name == "violating_classes" else (in_records,)
        is_complete = any(None not in (then.get(key), now.get(key)) for key in members)
        if of and not is_complete and in_records and old and new:
            # The number of records is unknown.
            yield Figure(name, old, new, "same" if old == new else "changed")
            continue
        is_share = of or (tables and _is_of_reference(name, after))
        is_judged = (as_before or not how.of_thresholds) and not (is_share and is_complete)
        yield figure(name, old, new, how.worst if is_judged else None, of)


def _compared(figures: Mapping[str, Any], check: CheckResult) -> Iterator[tuple[str, Worsening]]:
    """The figures that are compared: those of any check, and further ones if it has them."""
    own = [*model_of(check).figures, *(() if check.model in CELL_MODELS else VIOLATING)]
    for name in dict.fromkeys([*own, *figures]):
        how = judged(name, check)
        is_known = figures.get(name) is not None or (how and how.absent is not None)
        if how and name in figures and (is_known or name in own):
            yield name, how


def _denominators(
    name: str, how: Worsening, before: CheckResult, after: CheckResult, tables: Tables
) -> tuple[int, int] | None:
    """The denominators of a figure in both results; None unless both are known. Violations in a
    reference have none."""
    if not how.of or _is_of_reference(name, after):
        return None
    then, now = (
        _whole(name, how.of, check, table)
        for check, table in zip((before, after), tables, strict=True)
    )
    return (then, now) if then and now else None


def _whole(name: str, of: str, check: CheckResult, table: TableResult) -> int | None:
    """What a figure is a part of, in one result.

    Of people these are the people in both releases in composition, whatever the number of new ones,
    and for known events the people attacked.
    """
    figures = flat_figures(check)
    if of == "people":
        return figures.get("in_both") or figures.get("attacked") or table.summary.people
    if of == "cells" and isinstance(table, CellsResult):
        empty = table.cells.empty_cells if check.parameters.get("zeros") == "disclosive" else 0
        return figures.get("compared_cells") or (table.cells.cells or 0) + (empty or 0)
    size = re.search(r"\.\d+\b", name)
    in_check = of.replace(".", f"{size[0]}.") if size else of
    whole: int | None = figures.get(in_check, getattr(table.summary, of, None))
    return whole


def _is_of_reference(name: str, check: CheckResult) -> bool:
    """Whether a figure counts violations in a reference."""
    return name in VIOLATING and ALL_MODELS[check.model].of_reference


def _counted(name: str, check: CheckResult) -> str:
    """The name of a figure, where `achieved` may be the number of violating classes."""
    how = judged(name, check)
    is_count = name == "achieved" and how is not None and how.of == "classes"
    return "violating_classes" if is_count else name


def counted_as(check: CheckResult) -> tuple[bool, int]:
    """How a check on events was counted: whether events were drawn, and the number of sizes of
    combinations that were counted. A draw or fewer sizes show fewer violations of the same table.

    >>> counted_as(CheckResult("known_events", {"m": 4}, None, 0.5, details={"drawn": True}))
    (True, 0)
    """
    sizes = check.details.get("by_size", ())
    counted = sum(row.get("combinations", 0) is not None for row in sizes)
    return bool(check.details.get("drawn")), counted


# --- thresholds -------------------------------------------------------------------------------


def threshold_change(before: CheckResult, after: CheckResult) -> ThresholdChange:
    """Compare the thresholds of a check, all of them together.

    >>> five, two = (CheckResult("k_anonymity", {"k": k}, True, 7) for k in (5, 2))
    >>> threshold_change(five, two), threshold_change(two, five)
    ('weaker', 'stricter')
    """
    model = ALL_MODELS[after.model]
    differences = {
        _change_of_threshold(
            before.parameters.get(name), after.parameters.get(name), _worst_direction(name, after)
        )
        for name in model.thresholds
    } - {"same"}
    return differences.pop() if len(differences) == 1 else ("changed" if differences else "same")


def _worst_direction(threshold: str, check: CheckResult) -> Worst:
    """The worst direction of the figure that a threshold limits."""
    model = model_of(check)
    companions = {judge: worst for worst, judge in model.companion_figures.values()}
    own = model.worst_thresholds.get(threshold) or companions.get(threshold)
    return own or model.figures.get(threshold) or model.worst


def _change_of_threshold(before: Any, after: Any, worst: Worst) -> ThresholdChange:
    if before == after:
        return "same"
    if before is None or after is None:
        return "stricter" if before is None else "weaker"
    return "weaker" if change(before, after, worst) == "worse" else "stricter"


def model_of(check: CheckResult) -> Model:
    """The model with its parameters."""
    return ALL_MODELS[check.model](**check.parameters)


def judged_figures(check: CheckResult) -> Iterator[tuple[str, Any, Any, Worst]]:
    """Each threshold in force of a check: its name, its figure, the bound, and the worst direction
    of the figure.

    >>> list(judged_figures(CheckResult("k_anonymity", {"k": 5}, True, 7)))
    [('k', 7, 5, 'least')]
    """
    model = model_of(check)
    companions = {
        threshold: (key, worst) for key, (worst, threshold) in model.companion_figures.items()
    }
    for name in model.thresholds:
        bound = check.parameters.get(name)
        if bound is None:
            continue
        key, worst = companions.get(name, ("", model.worst))
        figure = flat_figures(check).get(key) if key else check.achieved
        if isinstance(figure, Mapping):
            figure, worst = figure.get(name), model.figures[name]
        if model.computed_bound:
            bound = check.details.get(model.computed_bound, bound)
        yield name, figure, bound, worst


def table_figures(table: TableResult, check: CheckResult) -> dict[str, Any]:
    """The figures of the table that a baseline judges with a check, by name."""
    values = {"uniques": table.summary.uniques} | {
        f"{attacker}.{name}": value
        for attacker, risks in table.risk.items()
        for name, value in (risks or {}).items()
    }
    names = model_of(check).table_figures
    homogeneous = next((other for other in table.checks if is_homogeneity_of(check, other)), None)
    return {name: values[name] for name in names if values.get(name) is not None} | {
        f"homogeneity.{name}": homogeneous.figures[name]
        for name in ("achieved", *VIOLATING)
        if homogeneous and homogeneous.figures.get(name) is not None
    }


def is_homogeneity_of(check: CheckResult, other: CheckResult) -> bool:
    """Whether another check counts the classes with a single value of a check's attribute."""
    about = ("sensitive", "with_other_sensitive")
    return (
        (check.model, other.model) != ("homogeneity", "homogeneity")
        and other.model == "homogeneity"
        and all(check.parameters.get(key, False) == other.parameters.get(key) for key in about)
    )
