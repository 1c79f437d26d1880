"""The law that the figures of a result agree with each other: what is counted in two ways is the
same. Every result that the tests make is held to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from kanon_sql.models.base import Model
from kanon_sql.models.cells.models import Derivable, Dominance, PPercent
from kanon_sql.models.events.models import EventModel, KnownEvents
from kanon_sql.models.population.models import KMapEstimate
from kanon_sql.models.sizes.models import KAnonymity, ProsecutorRisk, SampleUniqueness
from kanon_sql.models.synthetic.models import SyntheticModel
from kanon_sql.models.values.models import RecursiveClDiversity
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import judged_figures, model_of
from kanon_sql.results.release import Anonymization, ReleaseFindings
from kanon_sql.results.table import Summary, TableResult, status_of
from kanon_sql.sql.quoting import SLACK_OF_DISTANCES, exactly

Fault = tuple[str, str]
"""A place within a table, and what it contradicts."""


def contradictions(result: Any) -> list[Fault]:
    """Each figure of a result, or of the release that it is about, that contradicts another one."""
    found = [fault for table in result.tables for fault in faults(table)]
    if isinstance(result, ReleaseFindings):
        found += release_faults(result.anonymization, result.tables[0])
    return found


def faults(table: TableResult) -> Iterator[Fault]:
    """Each figure of a table that contradicts another one."""
    if table.status == "error":
        return
    if table.status == "no_data":
        if table.summary.records or any(check.holds is not None for check in table.checks):
            yield "status", "summary and checks"
        return
    if table.status != status_of(table.checks):
        yield "status", "checks"
    if isinstance(table, CellsResult):
        yield from _cell_faults(table)
        return
    has_classes = table.quasi_identifiers or not table.events
    if table.summary.records and has_classes and not table.histogram:
        yield "histogram", "summary.records"
    yield from _differing("summary", vars(table.summary), _summary_by_sizes(table), "histogram")
    yield from _sizes(table)
    prosecutor = table.risk.get("prosecutor")
    if prosecutor:
        expected = _risks_by_sizes(table, prosecutor.get("threshold"))
        yield from _differing("risk.prosecutor", prosecutor, expected, "histogram")
    for place, check in enumerate(table.checks):
        for where, other in _check_faults(check, table):
            yield f"checks[{place}].{where}", other
    yield from _single_values(table)


def _cell_faults(table: CellsResult) -> Iterator[Fault]:
    """Each figure of a published table that contradicts another one."""
    summary = table.cells
    if summary.cells != (summary.inner_cells or 0) + (summary.margin_cells or 0):
        yield "summary.cells", "summary.inner_cells and margin_cells"
    for name in ("sensitive_cells", "suppressed", "zero_cells"):
        if (getattr(summary, name) or 0) > (summary.cells or 0):
            yield f"summary.{name}", "summary.cells"
    for place, check in enumerate(table.checks):
        for where, other in _cell_check_faults(check):
            yield f"checks[{place}].{where}", other
    for place, policy in enumerate(table.policies):
        if policy.held > policy.asked:
            yield f"policies[{place}].held", "its asked"


def _cell_check_faults(check: CheckResult) -> Iterator[Fault]:
    """Each figure of a rule for cells that contradicts another one."""
    details = check.details
    verdict = None if check.holds is None else _cell_verdict(check, model_of(check))
    if verdict is not None and verdict != check.holds:
        yield "holds", "its figures and parameters"
    violating = details.get("violating_cells")
    if violating is not None and check.holds is not None and bool(violating) == check.holds:
        yield "violating_cells", "holds"
    if (details.get("violating_margin_cells") or 0) > (violating or 0):
        yield "violating_margin_cells", "violating_cells"
    if details.get("derived_cells") is not None:
        derived: int = details["derived_cells"]
        if sum(details.get(f"by_{way}") or 0 for way in _WAYS) != derived:
            yield "derived_cells", "the ways by which they were derived"
        if derived != check.achieved:
            yield "achieved", "derived_cells"
        if derived + (details.get("undecided_cells") or 0) > (details.get("suppressed") or 0):
            yield "derived_cells", "suppressed"
    yield from _baseline_faults(check)


_WAYS = ("subtraction", "bounds", "linear_programming")


def _cell_verdict(check: CheckResult, model: Model) -> bool | None:
    """Whether a rule for cells holds by its figures; None where the figures don't decide."""
    match model:
        case Derivable():
            details = check.details
            left = details.get("undecided_cells") if model.undecided == "fail" else 0
            return not (check.achieved or left or details.get("small_remainders"))
        case PPercent() if model.p is not None:
            bound = Fraction(100) * Fraction(str(model.p)) / Fraction(str(model.q))
            return check.achieved is None or _is_met(
                check.achieved, float(bound), "least", is_strict=False
            )
        case Dominance():
            return check.achieved is None or _is_met(
                check.achieved, model.k, "greatest", is_strict=model.inclusive
            )
    if model.counts_violations:
        return not check.achieved
    return check.achieved is None or _verdict(check, model)


def release_faults(anonymization: Anonymization, table: TableResult) -> Iterator[Fault]:
    """Each figure of a release that contradicts its table, or of the table before."""
    if anonymization.suppressed_as == "remove" or not anonymization.suppressed:
        for name in ("k", "classes"):
            if getattr(anonymization, name) != getattr(table.summary, name):
                yield name, f"summary.{name} of the release"
    old, new = anonymization.before.summary.records, table.summary.records
    removed = anonymization.suppressed if anonymization.suppressed_as == "remove" else 0
    if None not in (old, new) and old != (new or 0) + removed:
        yield "suppressed", "the records before and after"
    before = TableResult("", "", "measured", (), summary=anonymization.before.summary)
    for place, check in enumerate(anonymization.before.checks):
        for where, other in _check_faults(check, before):
            yield f"before.checks[{place}].{where}", other


# --- sizes and risks -------------------------------------------------------------------------


def _counted(table: TableResult) -> list[tuple[int, int]] | None:
    """The number of people, or records, in classes of each size; None where it is not stored."""
    if not table.histogram or (table.entity and any(b.people is None for b in table.histogram)):
        return None
    return [
        (bin.size, bin.records if bin.people is None else bin.people) for bin in table.histogram
    ]


def _summary_by_sizes(table: TableResult) -> dict[str, Any]:
    """The figures of the summary that the histogram gives."""
    counted = _counted(table)
    if counted is None:
        return {}
    classes = sum(bin.classes for bin in table.histogram)
    sizes = [bin.size for bin in table.histogram]
    return {
        "records": sum(bin.records for bin in table.histogram),
        **({"people": sum(count for _, count in counted)} if table.entity else {}),
        "classes": classes,
        "k": min(sizes),
        "largest_class": max(sizes),
        "uniques": sum(count for size, count in counted if size == 1),
        "average_class_size": sum(bin.size * bin.classes for bin in table.histogram)
        / max(classes, 1),
    }


def _sizes(table: TableResult) -> Iterator[Fault]:
    """Each bin of the histogram that no classes can have; each summary of more than all records."""
    counts_records = table.nulls == "value" and not table.entity
    last = 0
    for place, bin in enumerate(table.histogram):
        members = bin.size * bin.classes
        people = bin.people or 0
        fits = bin.records == members if counts_records else bin.records >= bin.classes
        if bin.size <= last or not bin.classes or not fits or (table.entity and people > members):
            yield f"histogram[{place}]", "its own size, classes and records"
        last = bin.size
    for name in ("records_with_null_qi", "suppressed"):
        if (getattr(table.summary, name) or 0) > (table.summary.records or 0):
            yield f"summary.{name}", "summary.records"


def _risks_by_sizes(table: TableResult, threshold: Any) -> dict[str, Any]:
    """The prosecutor's figures that the histogram gives."""
    counted = _counted(table)
    if not counted or threshold is None:
        return {}
    everyone = sum(count for _, count in counted)
    above = sum(count for size, count in counted if Fraction(1, size) > exactly(threshold))
    return {
        "highest": 1 / counted[0][0],
        "average": math.fsum(count / size for size, count in counted) / everyone,
        "at_risk": above / everyone,
    }


# --- checks ----------------------------------------------------------------------------------


def _check_faults(check: CheckResult, table: TableResult) -> Iterator[Fault]:
    """Each figure of a check that contradicts its verdict, its bounds or the table."""
    model = model_of(check)
    if isinstance(model, EventModel):
        yield from _event_faults(check, table)
    if check.holds is None and not isinstance(model, KnownEvents | SyntheticModel):
        if model.gates and not model.counts_violations and check.achieved is not None:
            yield "holds", "parameters"
        if check.violating_classes is not None:
            yield "violating_classes", "holds"
        if not model.counts_violations and (
            check.violating_records is not None or check.violating_people is not None
        ):
            yield "violating_records", "holds"
    elif check.holds is None:
        if model.gates and not check.undecided and check.achieved is not None:
            yield "holds", "parameters"
    else:
        if not model.gates:
            yield "holds", "parameters"
        if _verdict(check, model) not in (None, check.holds):
            yield "holds", "achieved and the thresholds"
        yield from _violations(check, model, table.summary)
    yield from _baseline_faults(check)
    yield from _differing(
        "", check.figures, dict(_figures_by_table(check, model, table)), "the table's figures"
    )


def _event_faults(check: CheckResult, table: TableResult) -> Iterator[Fault]:
    """Each figure of a check on events that contradicts its evidence or the people."""
    details, people = check.details, table.summary.people or 0
    if check.achieved is None:
        return
    if check.model == "km_anonymity":
        sizes = [row.get("violating") for row in details.get("by_size", ())]
        violating = details.get("violating_combinations")
        if violating is not None and violating != sum(size or 0 for size in sizes):
            yield "violating_combinations", "by_size"
        if violating is not None and bool(violating) != bool(check.violating_people):
            yield "violating_people", "violating_combinations"
        return
    is_drawn, violating_people = details.get("drawn"), check.violating_people or 0
    if is_drawn != (details.get("evidence") != "exact"):
        yield "evidence", "drawn"
    if check.holds and is_drawn:
        yield "holds", "evidence"
    attacked = details.get("attacked") or 0
    if not violating_people <= attacked <= people:
        yield "attacked", "violating_people and summary.people"
    yield from _differing(
        "", check.figures, {"achieved": violating_people / max(attacked, 1)}, "attacked"
    )
    of_attack = details.get("random" if is_drawn else "worst") or {}
    judged = {"achieved": "share", "highest": "highest", "average": "average"}
    yield from _differing(
        "",
        check.figures,
        {name: of_attack[key] for name, key in judged.items() if key in of_attack},
        "random" if is_drawn else "worst",
    )


def _single_values(table: TableResult) -> Iterator[Fault]:
    """Each count of homogeneous classes that contradicts the distinct values of the worst class."""
    if table.entity or table.sensitive_nulls == "unknown":
        return
    distinct = {
        check.parameters["sensitive"]: check.achieved
        for check in table.checks
        if model_of(check).counts_values and not check.parameters.get("with_other_sensitive")
    }
    for place, check in enumerate(table.checks):
        fewest = distinct.get(check.parameters.get("sensitive")) or 0
        # A class of nothing but NULL has one value and is not homogeneous.
        is_unrefined = not check.parameters.get("with_other_sensitive")
        if check.model == "homogeneity" and is_unrefined and check.achieved and fewest > 1:
            yield f"checks[{place}].achieved", "the fewest distinct values of a class"


def _verdict(check: CheckResult, model: Model) -> bool | None:
    """Whether a check holds by its figures; None where a bound is met or missed by rounding."""
    if model.counts_violations:
        return bool(check.achieved == 0)
    verdicts = [
        _is_met(figure, bound, worst, is_strict=model.is_strict)
        for _, figure, bound, worst in judged_figures(check)
    ]
    is_not_contained = any(
        check.details.get(name) for name in ("unmatched_classes", "exceeding_classes")
    )
    if model.needs_containment and is_not_contained:
        return False
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _is_met(figure: Any, bound: Any, worst: str, *, is_strict: bool) -> bool | None:
    """Whether a figure meets its bound; None where it is undefined, or equal but for rounding."""
    if not isinstance(figure, int | float) or isinstance(figure, bool):
        return None
    if isinstance(figure, int) and isinstance(bound, int):
        if figure == bound:
            return not is_strict
    elif math.isclose(figure, bound, rel_tol=1e-9, abs_tol=SLACK_OF_DISTANCES * 2):
        return None
    return bool(figure > bound) == (worst == "least")


def _violations(check: CheckResult, model: Model, summary: Summary) -> Iterator[Fault]:
    """Each count of violations that contradicts the verdict or the table."""
    classes, records = check.violating_classes, check.violating_records
    bounds_table = bool(model.table_thresholds)
    if classes is not None and (model.class_thresholds or not bounds_table):
        is_partly = bounds_table or model.needs_containment
        if (classes and check.holds) or not (classes or check.holds or is_partly):
            yield "violating_classes", "holds"
    if model.of_reference:
        return
    for name, count in (("records", records), ("people", check.violating_people)):
        if count is None:
            continue
        if classes is not None and bool(classes) != bool(count):
            yield f"violating_{name}", "violating_classes"
        total = getattr(summary, name)
        if total is not None and count > total:
            yield f"violating_{name}", f"summary.{name}"
    if records is not None and classes is not None and classes > records:
        yield "violating_classes", "violating_records"
    is_finer = check.parameters.get("with_other_sensitive") or model.family == "earlier"
    if classes and not is_finer and summary.classes and classes > summary.classes:
        yield "violating_classes", "summary.classes"


def _baseline_faults(check: CheckResult) -> Iterator[Fault]:
    """An acceptance that contradicts the figures of the baseline."""
    if check.accepted is None:
        return
    may_be = check.holds is False and check.baseline is not None and not check.baseline.worse
    if check.accepted != may_be:
        yield "accepted", "holds and baseline.worse"


def _figures_by_table(
    check: CheckResult, model: Model, table: TableResult
) -> Iterator[tuple[str, Any]]:
    """The figures of a check that the sizes of the classes, or its own figures, give."""
    counted, k = _counted(table), table.summary.k
    if isinstance(model, KAnonymity) and model.columns:
        # The classes of fewer columns are larger.
        if k is not None and check.achieved < k:
            yield "achieved", k
        return
    if isinstance(model, KAnonymity | KMapEstimate) and k is not None:
        yield "achieved", k
    if "k" in check.details and not check.parameters.get("with_other_sensitive"):
        yield "k", k
    if model.counts_violations and check.holds is not None:
        yield "violating_classes", check.achieved
    if model.counts_values and not table.entity and None not in (k, check.achieved):
        yield "achieved", min(check.achieved, k)
    if isinstance(model, RecursiveClDiversity) and "confidence" in check.details:
        c = check.achieved
        yield "confidence", 1.0 if c == math.inf else (c if model.l == 1 else c / (c + 1))
    if isinstance(model, ProsecutorRisk) and k:
        yield "achieved", 1 / k
        yield from (
            (name, value)
            for name, value in _risks_by_sizes(table, model.threshold).items()
            if name != "highest"
        )
    if counted is None:
        return
    if isinstance(model, SampleUniqueness):
        alone = sum(count for size, count in counted if size == 1)
        yield "achieved", alone / sum(count for _, count in counted)
    computed = model.computed_bound
    required = check.details.get(computed) if computed else model.violating_below
    is_by_size = model.family in ("sizes", "population")
    if is_by_size and required is not None and check.holds is not None:
        small = [bin for bin in table.histogram if bin.size < required]
        yield "violating_classes", sum(bin.classes for bin in small)
        yield "violating_records", sum(bin.records for bin in small)
        if table.entity:
            yield "violating_people", sum(count for size, count in counted if size < required)


def _differing(
    place: str, figures: Mapping[str, Any], expected: Mapping[str, Any], other: str
) -> Iterator[Fault]:
    """Each figure that differs from the expected one by more than the rounding of a sum."""
    for name, value in expected.items():
        figure = figures.get(name)
        is_same = figure == value
        if isinstance(figure, int | float) and isinstance(value, float):
            is_same = is_same or math.isclose(figure, value, rel_tol=SLACK_OF_DISTANCES)
        if not is_same:
            yield f"{place}.{name}".lstrip("."), other
