"""The family of checks on a synthetic table beside its original.

A share is exact. What it is above that of a holdout is known within an interval, so that a bound on
the difference is kept, exceeded, or left open by a holdout too small to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from kanon_sql.auditing.findings import at_most
from kanon_sql.auditing.intervals import newcombe
from kanon_sql.errors import plural
from kanon_sql.models.base import Number
from kanon_sql.models.synthetic.models import (
    CopiedRecords,
    CorrectAttribution,
    DisclosiveInSynthetic,
    ReplicatedUniques,
    SinglingOut,
    SyntheticModel,
)
from kanon_sql.models.synthetic.plan import (
    COPIES,
    IN_COMMON,
    MADE_FROM,
    ClaimsStep,
    SyntheticStep,
    attacked,
    by_column,
    counted_values,
    lacking_in_holdout,
    left_out,
    lists_of_allowed,
    required_columns,
    shared_columns,
    types_differ,
)
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import MadeFrom
from kanon_sql.sql.quoting import exactly
from kanon_sql.sql.tables import Row

Figure = Fraction | float
HARDLY_IN_COMMON = Fraction(1, 4)
"""Share of the values of a key or target, in the table with fewer, below which it is warned of."""
NEARLY_A_NUMBER = Fraction(95, 100)
"""Share of the records above which a column with so many values is taken for a running number."""
LEAST_NUMBERED = 20
"""Minimum number of records for that: of fewer, any column may have as many values."""


class BesideHoldout(NamedTuple):
    """What is counted of the original and of the holdout, in the same way."""

    of_original: Figure
    original: int
    of_holdout: Figure
    holdout: int
    further: Mapping[str, Any] = {}
    """Further figures of the holdout."""

    @property
    def shares(self) -> tuple[Figure, Figure] | None:
        if not self.original or not self.holdout:
            return None
        return self.of_original / Fraction(self.original), self.of_holdout / Fraction(self.holdout)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the difference; None if one of the tables has no records."""
        if self.shares is None:
            return None
        x, y = float(self.of_original), float(self.of_holdout)
        return newcombe(x, self.original, y, self.holdout)

    def to_dict(self) -> dict[str, Any]:
        of_original, of_holdout = self.shares or (None, None)
        excess = None if of_original is None or of_holdout is None else of_original - of_holdout
        return {
            "attacked": self.holdout,
            **self.further,
            "share": _float(of_holdout),
            "share_in_original": _float(of_original),
            "excess": _float(excess),
            "interval": self.interval,
        }


class Finding(NamedTuple):
    """The figures of a check: what it achieved, what is bounded, and the rest."""

    achieved: Figure | None
    bounded: Mapping[str, Figure | None]
    """Each figure with a bound, by its parameter."""
    details: Mapping[str, Any]
    compared: BesideHoldout | None
    largest: Mapping[str, Figure | None] = {}
    """The most that a bounded figure can be, where not every column is compared."""


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check on a synthetic table."""
    model = check.model
    assert isinstance(model, SyntheticModel)
    *_, step = (
        step
        for step in plan.of(SyntheticStep)
        if check in step.checks and step.name in answers.by_step
    )
    find: Callable[..., Finding] = _FINDINGS[type(model)]
    finding = find(step=step, rows=answers.rows(step.name), model=model, plan=plan, answers=answers)
    holds, evidence = _verdict(model, finding, is_own_holdout=_is_own_holdout(plan))
    return CheckResult(
        model=model.name(),
        parameters=model.parameters,
        holds=holds if check.gates else None,
        achieved=_float(finding.achieved),
        details={
            "evidence": evidence,
            **finding.details,
            "holdout": finding.compared.to_dict() if finding.compared else None,
        },
    )


def _verdict(
    model: SyntheticModel, finding: Finding, *, is_own_holdout: bool
) -> tuple[bool | None, str]:
    """The verdict and its evidence. One bound violated is a violation; else one that can't be
    judged leaves the check undecided."""
    bounds = {name: getattr(model, name) for name in finding.bounded}
    verdicts = [
        _is_kept(figure, finding.largest.get(name, figure), bounds[name])
        for name, figure in finding.bounded.items()
        if bounds[name] is not None
    ]
    max_excess = model.parameters.get("max_excess")
    if False in verdicts or max_excess is None:
        return _of_all(verdicts), "exact"
    compared = None if is_own_holdout else finding.compared
    verdicts.append(_excess_verdict(compared, max_excess))
    return _of_all(verdicts), "interval"


def _is_kept(figure: Figure | None, largest: Figure | None, bound: Number) -> bool | None:
    """Whether a figure keeps its bound; None if there is none, or if it may be larger."""
    if figure is None:
        return None
    if not at_most(figure, bound):
        return False
    return True if largest is None or at_most(largest, bound) else None


def _of_all(verdicts: Sequence[bool | None]) -> bool | None:
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _excess_verdict(compared: BesideHoldout | None, bound: Number) -> bool | None:
    interval = compared.interval if compared else None
    if interval is None:
        return None
    low, high = (Fraction(end) for end in interval)
    if low > exactly(bound):
        return False
    return True if high <= exactly(bound) else None


def _float(figure: Figure | None) -> float | None:
    return None if figure is None else float(figure)


def _share(count: int, total: int) -> Fraction | None:
    return Fraction(count, total) if total else None


# --- uniques and copies ---------------------------------------------------------------------


def _counts(row: Row, *names: str) -> dict[str, int]:
    return {name: int(row[f"kanon_{name}"] or 0) for name in names}


def _compared_uniques(row: Row) -> BesideHoldout | None:
    """Those alone in the original and the holdout together, of either."""
    if "kanon_alone_in_holdout" not in row:
        return None
    x, y, holdout = (
        int(row[f"kanon_{name}"] or 0)
        for name in ("alone_in_original", "alone_in_holdout", "holdout")
    )
    return BesideHoldout(Fraction(x), int(row["kanon_attacked"]), Fraction(y), holdout)


def _copied(rows: Sequence[Row], plan: Plan, answers: Answers, **_: Any) -> Finding:
    [row] = rows
    counts = _counts(row, "attacked", "unique_in_original")
    counts |= {
        "unique_copied": int(row["kanon_unique_found"]),
        "copied": int(row["kanon_found"]),
        **_counts(row, "copying", "synthetic"),
    }
    share = _share(counts["unique_copied"], counts["attacked"])
    without = left_out(plan.question, answers)
    columns = [each.name for each in shared_columns(plan.question) if each.name not in without]
    differing = types_differ(plan.question)
    details = {**counts, "columns": columns, "left_out": [*without, *differing]}
    largest = {}
    if without or differing or lacking_in_holdout(plan.question):
        # Who is alone by all columns, and whole in the synthetic table, is copied by fewer.
        largest = {"max_share": _share(counts["copied"], counts["attacked"])}
    return Finding(share, {"max_share": share}, details, _compared_uniques(row), largest)


def _replicated(rows: Sequence[Row], **_: Any) -> Finding:
    [row] = rows
    names = ("attacked", "unique_in_original", "replicated", "unique_found", "found")
    counts = _counts(row, *names, "unique_in_synthetic", "synthetic")
    share = _share(counts["replicated"], counts["attacked"])
    compared = _compared_uniques(row)
    if compared:
        compared = compared._replace(further={"found": int(row["kanon_found_in_holdout"] or 0)})
    return Finding(share, {"max_share": share}, counts, compared)


# --- small sets of columns ------------------------------------------------------------------


def _singled_out(step: ClaimsStep, rows: Sequence[Row], answers: Answers, **_: Any) -> Finding:
    [row] = rows
    first = answers.row(MADE_FROM) or {}
    total = attacked(first, "o")
    by_size = [
        {
            "size": size,
            "sets": sets,
            **{
                name: int(row[f"kanon_{name}_{size}"])
                for name in ("claims", "correct", "nobody", "singled_out")
            },
        }
        for size, sets in step.sets
    ]
    claims, correct = (sum(size[name] for size in by_size) for name in ("claims", "correct"))
    singled_out = int(row["kanon_singled_out"])
    share, rate = _share(singled_out, total), _share(correct, claims)
    compared = None
    if "kanon_alone_in_holdout" in row:
        x, y = (int(row[f"kanon_alone_in_{table}"]) for table in ("original", "holdout"))
        compared = BesideHoldout(Fraction(x), total, Fraction(y), attacked(first, "h"))
    details = {
        "attacked": total,
        "singled_out": singled_out,
        "claims": claims,
        "correct": correct,
        "rate": _float(rate),
        "by_size": by_size,
    }
    return Finding(share, {"max_share": share, "max_rate": rate}, details, compared)


# --- the target -----------------------------------------------------------------------------


def _total(rows: Sequence[Row], name: str) -> int:
    return sum(int(row[f"kanon_{name}"] or 0) for row in rows)


def _attacked_in_holdout(rows: Sequence[Row], answers: Answers) -> int | None:
    """Those of the holdout with a value; None without a holdout."""
    has_holdout = "kanon_records_h" in (answers.row(MADE_FROM) or {})
    return _total(rows, "holdout") if has_holdout else None


def _disclosive(
    step: SyntheticStep,
    rows: Sequence[Row],
    model: DisclosiveInSynthetic,
    answers: Answers,
    **_: Any,
) -> Finding:
    number = 1 + lists_of_allowed(step.checks).index(list(model.allowed or ()))
    total, holdout = _total(rows, "attacked"), _attacked_in_holdout(rows, answers)
    claimed, correct = (_total(rows, f"{name}_{number}") for name in ("claimed", "correct"))
    share = _share(correct, total)
    details = {
        "attacked": total,
        "matched": _total(_found(rows), "attacked"),
        "claimed": claimed,
        "correct": correct,
        "precision": _float(_share(correct, claimed)),
        **{
            name: _total(rows, f"{name}_{number}")
            for name in ("correct_in_original", "unique_correct", "disclosive_in_original")
        },
    }
    compared = None
    if holdout is not None:
        in_holdout = _total(rows, f"correct_in_holdout_{number}")
        compared = BesideHoldout(Fraction(correct), total, Fraction(in_holdout), holdout)
    return Finding(share, {"max_share": share}, details, compared)


def _found(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of the classes that the synthetic table has."""
    return [row for row in rows if row["kanon_size"]]


def _chances(rows: Sequence[Row], name: str) -> Figure:
    """Sum of the chances of a correct guess, each a count over the size of a class: exact, but for
    those of people, which the database adds up."""
    terms = [(row[f"kanon_{name}"] or 0, int(row["kanon_size"])) for row in _found(rows)]
    if any(isinstance(count, float) for count, _ in terms):
        return sum(float(count) / size for count, size in terms)
    return sum((Fraction(count) / size for count, size in terms), Fraction(0))


def _attribution(rows: Sequence[Row], answers: Answers, **_: Any) -> Finding:
    total, holdout = _total(rows, "attacked"), _attacked_in_holdout(rows, answers)
    found = _found(rows)
    matched, alone = _total(found, "attacked"), _total(found, "alone")
    right = _chances(rows, "right")
    average = right / Fraction(matched) if matched else None
    baseline = Fraction(_total(found, "base"), total * matched) if matched else None
    gain = None if average is None or baseline is None else average - baseline
    by_original = sum(float(row["kanon_right_by_original"] or 0) for row in rows)
    right_alone = _chances(rows, "right_alone")
    details = {
        "attacked": total,
        "matched": matched,
        "zero_cap": _float(right / Fraction(total)) if total else None,
        "baseline": _float(baseline),
        "gain": _float(gain),
        "original": by_original / total if total else None,
        "unique": {
            "matched": alone,
            "average": _float(right_alone / Fraction(alone)) if alone else None,
        },
    }
    compared = None
    if holdout is not None:
        in_holdout, matched_there = _chances(rows, "right_in_holdout"), _total(found, "holdout")
        of_found = {
            "matched": matched_there,
            "average": _float(in_holdout / Fraction(matched_there)) if matched_there else None,
        }
        compared = BesideHoldout(right, total, in_holdout, holdout, of_found)
    return Finding(average, {"max_average": average, "max_gain": gain}, details, compared)


_FINDINGS: Mapping[type, Callable[..., Finding]] = {
    CopiedRecords: _copied,
    ReplicatedUniques: _replicated,
    SinglingOut: _singled_out,
    DisclosiveInSynthetic: _disclosive,
    CorrectAttribution: _attribution,
}


# --- besides the checks ---------------------------------------------------------------------


def fields(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The sizes of the original and the holdout."""
    row = answers.row(MADE_FROM) or {}
    sizes = {}
    for key, letter in (("original", "o"), ("holdout", "h")):
        if f"kanon_records_{letter}" in row:
            people = row[f"kanon_people_{letter}"]
            sizes[key] = MadeFrom(
                int(row[f"kanon_records_{letter}"]), None if people is None else int(people)
            )
    return sizes


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """Warnings about undecided checks, about columns that were not compared or hide every copy, and
    about models of people."""
    yield from _undecided(checks)
    yield from _nobody_found(checks)
    if _is_own_holdout(plan):
        yield (
            "The holdout is the original itself, which the generator has seen, so nothing can be "
            "above it. Name records that it has not seen."
        )
    yield from _hardly_in_common(plan, answers)
    if answers.row(COPIES):
        yield from _columns(plan, answers)
    of_people = [check.model for check in checks if check.model in ("k_anonymity", "homogeneity")]
    if of_people:
        yield (
            "The records of a synthetic table are nobody: k says nothing of the people it was made "
            "from."
        )


def _is_own_holdout(plan: Plan) -> bool:
    made_from = plan.question.made_from
    return len({(other.table.sql, other.where) for other in made_from.values()}) < len(made_from)


def _nobody_found(checks: Sequence[CheckResult]) -> Iterator[str]:
    """A warning where no key of the original, or of the holdout, is in the synthetic table."""
    for table in ("original", "holdout"):
        of_table = [
            check.details if table == "original" else check.details.get("holdout") or {}
            for check in checks
        ]
        found = [details.get("found", details.get("matched")) for details in of_table]
        if 0 in found and any(details.get("attacked") for details in of_table):
            yield (
                f"Nobody of the {table} is found by their quasi-identifiers, so nothing is told of "
                "them. If their values are written otherwise there, write them the same way."
            )


def _undecided(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks:
        if not check.undecided or "holdout" not in check.details:
            continue
        about = f" of {name}" if (name := check.parameters.get("sensitive")) else ""
        holdout = check.details["holdout"] or {}
        excess = check.parameters.get("max_excess")
        low, high = holdout.get("interval") or (0, 0)
        if excess is not None and low <= excess < high:
            reason = (
                f"with {holdout['attacked']:,} in the holdout the excess may be {100 * low:.1f} to "
                f"{100 * high:.1f} points, and at most {100 * excess:g} is required"
            )
        elif check.details.get("copied", 0) > check.details.get("unique_copied", 0):
            reason = (
                "by the columns that are not compared more records may be alone, and "
                f"{check.details['copied']:,} of {check.details['attacked']:,} are copied"
            )
        else:
            reason = "there is nothing to judge it by"
        yield (
            f"{check.model}{about} is undecided: {reason}. So the table is not shown to hold what "
            "was required."
        )


def _hardly_in_common(plan: Plan, answers: Answers) -> Iterator[str]:
    """Warnings about keys and targets of which few values are in both tables."""
    for name, row in by_column(required_columns(plan.question), answers.rows(IN_COMMON)):
        common, *of_tables = (
            int(row[f"kanon_{count}"]) for count in ("common", "in_synthetic", "in_original")
        )
        if common < HARDLY_IN_COMMON * min(of_tables):
            yield (
                f'"{name}" has {plural(common, "value")} in common with the original, of '
                f"{of_tables[0]:,} and {of_tables[1]:,}: whoever has another is not found, or not "
                "told it. Write both the same way, or give it a level."
            )


def _columns(plan: Plan, answers: Answers) -> Iterator[str]:
    question = plan.question
    without = left_out(question, answers)
    have = "has" if len(without) == 1 else "have"
    for columns, why in (
        (without, f"which {have} no value in common with the original"),
        (types_differ(question), "whose values can't be equal in both tables, or be compared"),
        (lacking_in_holdout(question), "which the holdout lacks"),
    ):
        if columns:
            yield (
                f"copied_records compares whole records without {_named(columns)}, {why}: fewer "
                "columns find more copies, and fewer records that nobody else has."
            )
    total = (answers.row(COPIES) or {}).get("kanon_synthetic") or 0
    numbers = [
        name
        for name, row in counted_values(question, answers)
        if name not in without
        and total >= LEAST_NUMBERED
        and row["kanon_in_synthetic"] >= NEARLY_A_NUMBER * total
    ]
    if numbers:
        yield (
            f"{_named(numbers)} {'has' if len(numbers) == 1 else 'have'} nearly as many values as "
            "there are records: a running number in both tables hides every copy. Name it as "
            "identifier, if it is one."
        )


def _named(columns: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)
