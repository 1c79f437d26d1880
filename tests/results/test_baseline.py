"""A baseline: what it accepts and what it does not, and what the command line makes of it."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import every_model
import pyarrow as pa
import pytest
from audits import HOLDS, VIOLATED, audited, text, with_checks
from pages import as_text
from places import HOUSE

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import InputError, PrivacyViolation, SpecError
from kanon_sql.models.base import Model, SensitiveModel
from kanon_sql.models.catalogue import ALL_MODELS, MODELS
from kanon_sql.report.words.numbers import KEPT_TOGETHER
from kanon_sql.results.baseline import Baseline
from kanon_sql.results.cells import CellDetails, CellsResult
from kanon_sql.results.check import CheckDetails, CheckResult, InBaseline
from kanon_sql.results.compared import (
    DESCRIBED,
    JUDGED,
    flat_figures,
    in_any_size,
    judged,
    model_of,
)
from kanon_sql.results.diff import By, table_diff
from kanon_sql.results.seal import is_broken
from kanon_sql.results.table import TableResult

asking = import_module("kanon_sql.auditing.auditor")


def baseline_of(*tables: TableResult) -> Baseline:
    """A baseline of these tables, whose figures need not agree as those that are read must."""
    return Baseline.of([audited(*tables)])


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)


def copies(of_original: int, of_holdout: int) -> TableResult:
    """A synthetic table with copies of 60 records of the original and 60 of the holdout."""
    original, holdout = ([f"{table}{number}" for number in range(60)] for table in "oh")
    copied = [*original[:of_original], *holdout[:of_holdout]]
    tables = [pa.table({"zip": values}) for values in (copied, original, holdout)]
    check = kanon.CopiedRecords(max_share=0, max_excess=0.3)
    result = kanon.audit(
        tables[0], ["zip"], name="s", original=tables[1], holdout=tables[2], checks=[check]
    )
    return result.tables[0]


@pytest.mark.parametrize(
    ("then", "now", "accepted", "worse"),
    [
        ((60, 60), (60, 60), True, ()),
        ((60, 60), (60, 1), False, ("holdout.excess",)),
        ((60, 1), (60, 0), True, ()),
    ],
    ids=["as it was", "newly above its bound", "above it before"],
)
def test_an_excess_newly_above_its_bound_is_not_accepted(
    then: tuple[int, int], now: tuple[int, int], accepted: bool, worse: tuple[str, ...]
) -> None:
    check = only_check(Baseline.of([audited(copies(*then))]), copies(*now))

    assert check.accepted is accepted
    assert check.baseline is not None
    assert check.baseline.worse == worse


def test_a_figure_called_baseline_is_told_beside_the_former_result() -> None:
    people = pa.table({"zip": ["a", "a", "b", "b"], "ill": ["x", "y", "x", "x"]})
    result = kanon.audit(
        people,
        ["zip"],
        name="s",
        original=people,
        checks=[kanon.CorrectAttribution(sensitive="ill", max_average=0.9)],
    )
    again = kanon.from_json(Baseline.of([result]).applied_to(result).to_json())

    assert str(again.tables[0].checks[0].baseline) != "None"
    assert "by the original's shares, without it, 62.5" in " ".join(str(again).split())


def only_check(baseline: Baseline, table: TableResult, by: By = "share") -> CheckResult:
    [held] = baseline.applied_to(audited(table), by).tables
    return held.checks[0]


def with_figures(check: CheckResult, **figures: Any) -> CheckResult:
    """The check with other figures; those of a range are parts of what is achieved."""
    own = {key: figures.pop(key) for key in set(figures) & _FIELDS}
    if isinstance(check.achieved, dict):
        ends = {key: figures.pop(key) for key in set(figures) & {"min", "max"}}
        own["achieved"] = {**check.achieved, **ends}
    return dataclasses.replace(check, **own, details=with_parts(check.details, figures))


def with_parts(details: Mapping[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """The details with other figures, those of an object or of a size by their names with dots."""
    changed = copy.deepcopy(dict(details))
    for name, value in figures.items():
        *path, last = name.split(".")
        part: Any = changed
        for key in path:
            if isinstance(part, dict):
                part = part.setdefault(key, {})
            else:
                part = next(row for row in part if row["size"] == int(key))
        part[last] = value
    return changed


_FIELDS = {"achieved", "violating_classes", "violating_records", "violating_people", "holds"}


# Which way each model gets worse


SENSITIVE = {"sensitive": "diagnosis"}
REFERENCE = {"reference": "voters"}
EARLIER = {"earlier": "r2024"}
UNION = {"missing": "union", **REFERENCE}
LACKED = {"unmatched_classes": "more", "unmatched_records": "more", "exceeding_classes": "more"}
AT_RANDOM = {"random.share": "more", "random.alone": "more", "random.average": "more"}
WORSE: dict[str, list[tuple[dict[str, Any], dict[str, str]]]] = {
    "k_anonymity": [
        ({"k": 5}, {"achieved": "less", "profile_k": "less", "profile_uniques": "more"})
    ],
    "k_map": [
        (
            {"k": 5, **REFERENCE},
            {"achieved": "less", "unmatched_classes": "more", "unmatched_records": "more"},
        ),
        ({"k": 5, **UNION}, {"achieved": "less"}),
    ],
    "delta_presence": [
        ({"min": 0.1, "max": 0.5, **REFERENCE}, {"min": "less", "max": "more", **LACKED})
    ],
    "homogeneity": [(SENSITIVE, {"achieved": "more"})],
    "l_diversity": [({"l": 3, **SENSITIVE}, {"achieved": "less"})],
    "entropy_l_diversity": [({"l": 3, **SENSITIVE}, {"achieved": "less"})],
    "recursive_cl_diversity": [({"c": 2, "l": 3, **SENSITIVE}, {"achieved": "more"})],
    "alpha_k_anonymity": [({"alpha": 0.5, **SENSITIVE}, {"achieved": "more", "k": "less"})],
    "p_sensitive_k_anonymity": [({"p": 3, **SENSITIVE}, {"achieved": "less", "k": "less"})],
    "k_e_anonymity": [({"e": 50, **SENSITIVE}, {"achieved": "less", "distinct": "less"})],
    "t_closeness": [({"t": 0.2, **SENSITIVE}, {"achieved": "more"})],
    "delta_disclosure": [({"delta": 1, **SENSITIVE}, {"achieved": "more", "present_only": "more"})],
    "basic_beta_likeness": [({"beta": 1, **SENSITIVE}, {"achieved": "more"})],
    "enhanced_beta_likeness": [({"beta": 1, **SENSITIVE}, {"achieved": "more"})],
    "prosecutor_risk": [
        ({"max_highest": 0.1}, {"achieved": "more", "average": "more", "at_risk": "more"})
    ],
    "journalist_risk": [
        (
            {"max_average": 0.1, **REFERENCE},
            {"achieved": "more", "average": "more", "at_risk": "more", **LACKED},
        ),
        (
            {"max_at_risk": 0.1, **UNION},
            {"achieved": "more", "average": "more", "at_risk": "more"},
        ),
    ],
    "marketer_risk": [
        ({"max_average": 0.1, **REFERENCE}, {"achieved": "more", **LACKED}),
        ({"max_average": 0.1, **UNION}, {"achieved": "more"}),
    ],
    "sample_uniqueness": [({"max_share": 0.1}, {"achieved": "more"})],
    "population_uniqueness": [({"max_share": 0.1, "population": 900}, {"achieved": "more"})],
    "k_map_estimate": [({"k": 5, "population": 900}, {"achieved": "less"})],
    "composed_k_anonymity": [
        (
            {"k": 5, **EARLIER},
            {"achieved": "less", "average": "more", "joiners.k": "less", "leavers.k": "less"}
            | {"alone.release": "less", "alone.earlier": "less"},
        )
    ],
    "composed_l_diversity": [
        (
            {"l": 2, **EARLIER, **SENSITIVE},
            {"achieved": "less", "certain_people": "more", "changed_people": "more"},
        )
    ],
    "km_anonymity": [
        (
            {"k": 5},
            {"achieved": "less", "by_size.2.violating": "more", "shortfall_by_size.2": "more"},
        )
    ],
    "known_events": [
        (
            {"m": 2, "max_share": 0.1},
            {"achieved": "more", "highest": "more", "average": "more", "worst.alone": "more"}
            | AT_RANDOM,
        )
    ],
}
WORSE |= {
    name: [
        (
            {bound: 0.1, **(SENSITIVE if "sensitive" in MODELS[name].model_fields else {})},
            {"achieved": "more"},
        )
    ]
    for name, bound in {
        **dict.fromkeys(("copied_records", "replicated_uniques", "singling_out"), "max_share"),
        "disclosive_in_synthetic": "max_share",
        "correct_attribution": "max_average",
    }.items()
}
WORSE |= {
    name: [
        (
            {**model.example.parameters, **SENSITIVE},
            {"achieved": "less" if model.worst == "least" else "more"},
        )
    ]
    for name, model in MODELS.items()
    if issubclass(model, SensitiveModel) and name not in WORSE
}
"""For each model and some of its parameters: the figures that count, and which way is worse."""
CASES = [
    pytest.param(model, parameters, worse, id=f"{model}-{number}")
    for model, cases in WORSE.items()
    for number, (parameters, worse) in enumerate(cases)
]
BEFORE = 10
WHOLES = {"in_both", "attacked", "groups", "compared_cells"}
"""The figures of which others are a part."""
NO_NUMBERS = {
    *("reference_levels", "estimate", "estimates", "drawn", "complete", "interval"),
    *("columns", "left_out"),
}
NUMBERS = {name for name in DESCRIBED if "." not in name} - WHOLES - NO_NUMBERS - {"alone"}


def violated(model: str, parameters: dict[str, Any]) -> CheckResult:
    """A check that is violated, every figure of its model at the same number."""
    complete = MODELS[model](**parameters).parameters
    achieved = {"min": BEFORE, "max": BEFORE} if model == "delta_presence" else BEFORE
    names = {name for _, worse in WORSE[model] for name in worse} - {"achieved", "min", "max"}
    described = dict.fromkeys(NUMBERS, BEFORE)
    sizes = [{"size": 2, "combinations": BEFORE}] if model == "km_anonymity" else []
    details = with_parts({**described, "by_size": sizes}, dict.fromkeys(names, BEFORE))
    return CheckResult(model, complete, False, achieved, BEFORE, BEFORE, details)


def test_every_model_is_looked_at():
    assert set(WORSE) == set(MODELS)
    assert {check.model for _, _, check in every_model.checks()} == set(ALL_MODELS)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_every_figure_of_a_model_is_compared_or_said_to_describe() -> None:
    """A model with a new figure says how it gets worse, or why it doesn't."""
    judged_names, described_names = set(), set()
    for _, _, check in every_model.checks():
        for name, value in flat_figures(check).items():
            plain = in_any_size(name)
            whole = plain.partition(".")[0]
            if judged(name, check):
                judged_names.add(plain)
            elif is_number(value):
                assert {plain, whole} & {*DESCRIBED, *model_of(check).described}, name
            described_names |= {plain, whole} & set(DESCRIBED)
    # Nothing is listed that no model has, and no field of a result is left out.
    assert set(JUDGED) <= judged_names | {"achieved", "min", "max"}
    fields_of_checks = {*fields_of(CheckDetails), *fields_of(CellDetails)} - {"assumes", "evidence"}
    assert described_names == set(DESCRIBED)
    assert fields_of_checks <= {name.partition(".")[0] for name in (*JUDGED, *DESCRIBED)}


def fields_of(details: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(details)}


def test_the_page_has_every_figure_that_is_compared() -> None:
    page = (HOUSE / "report" / "pages" / "pipelines.md").read_text(encoding="utf-8")
    assert [name for name in JUDGED if f"`{name}`" not in page] == []


COUNTED = {"violating_classes", "violating_records", "violating_people", "profile_uniques",
           "unmatched_classes", "unmatched_records", "exceeding_classes", "certain_people",
           "changed_people", "in_both", "attacked", "violating_cells", "shortfall",
           "undecided_cells", "small_remainders", "suppressed_here_shown_there", "groups",
           "compared_cells"}  # fmt: skip
IN_PARTS = {"worst": {"alone"}, "by_size": {"combinations", "violating"},
            "shortfall_by_size": {"1", "2", "3"}}  # fmt: skip
"""The counts that are twice as many in a table of twice the size."""


def doubled(table: TableResult, place: int) -> TableResult:
    """One check of a table of which every record, person and cell is there twice, by other
    labels."""
    check = table.checks[place]
    details = {
        name: twice(value) if name in COUNTED else in_twice(name, value)
        for name, value in check.details.items()
    }
    counts = {
        name: twice(getattr(check, name))
        for name in ("violating_classes", "violating_records", "violating_people")
    }
    if ALL_MODELS[check.model].counts_violations:
        counts["achieved"] = twice(check.achieved)
    sizes = ("records", "people", "classes")
    summary = dataclasses.replace(
        table.summary, **{name: twice(getattr(table.summary, name)) for name in sizes}
    )
    more: dict[str, Any] = {}
    if isinstance(table, CellsResult):
        cells = {name: twice(getattr(table.cells, name)) for name in ("cells", "empty_cells")}
        more["cells"] = dataclasses.replace(table.cells, **cells)
    checks = (dataclasses.replace(check, details=details, **counts),)
    return dataclasses.replace(table, summary=summary, checks=checks, **more)


def twice(value: Any) -> Any:
    return None if value is None else 2 * value


def in_twice(name: str, value: Any) -> Any:
    counted = IN_PARTS.get(name, set())
    if isinstance(value, Mapping):
        return {key: twice(part) if key in counted else part for key, part in value.items()}
    if name == "by_size":
        return [in_twice(name, row) for row in value]
    return value


def places() -> Iterator[Any]:
    for name, result in every_model.results().items():
        for table in result.tables:
            for place, check in enumerate(table.checks):
                yield pytest.param(table, place, id=f"{name}-{place}-{check.model}")


@pytest.mark.parametrize(("table", "place"), [*places()])
def test_what_follows_the_size_of_the_table_is_not_worse(table: TableResult, place: int) -> None:
    if ALL_MODELS[table.checks[place].model].of_reference:
        return  # Its people are those of the reference, whatever the table's size.
    before = dataclasses.replace(table, checks=(table.checks[place],))
    compared = table_diff(before, doubled(table, place), "share")
    [check] = compared.checks
    assert {figure.change for figure in check.figures if figure.is_judged} <= {"same"}


@pytest.mark.parametrize(("model", "parameters", "worse"), CASES)
@pytest.mark.parametrize("by", ["share", "count"])
def test_a_violated_check_is_accepted_until_a_figure_of_it_is_worse(by, model, parameters, worse):
    check = violated(model, parameters)
    baseline = baseline_of(with_checks(check))
    assert only_check(baseline, with_checks(check), by).accepted
    for figure, way in {**worse, "violating_classes": "more", "violating_records": "more"}.items():
        told_by_records = figure in ("violating_classes", "unmatched_classes")
        told_by_records = told_by_records or (model, figure) == ("homogeneity", "achieved")
        counts = by == "count" or not told_by_records
        worse_by, better_by = (1, -1) if way == "more" else (-1, 1)
        got_worse = with_figures(check, **{figure: BEFORE + worse_by})
        held = only_check(baseline, with_checks(got_worse), by)
        assert (held.accepted, held.baseline.worse) == (not counts, (figure,) if counts else ())
        got_better = with_figures(check, **{figure: BEFORE + better_by})
        held = only_check(baseline, with_checks(got_better), by)
        assert (held.accepted, held.baseline.better) == (True, (figure,) if counts else ())


def of_size(records: int, violating: int, k: int = 2) -> TableResult:
    """A table of so many records, of which so many are in classes that are too small, and none is
    alone."""
    check = with_figures(VIOLATED.checks[0], achieved=k, violating_records=violating)
    summary = dataclasses.replace(VIOLATED.summary, records=records, k=k, uniques=0)
    return dataclasses.replace(VIOLATED, summary=summary, checks=(check,))


@pytest.mark.parametrize(
    ("now", "by_share", "by_count"),
    [
        (of_size(4_856, 765), True, False),
        (of_size(3_000, 500), False, True),
        (of_size(4_000, 647), True, True),
        (of_size(8_000, 1_294), True, False),
        (of_size(8_000, 1_295), False, False),
        (of_size(8_000, 1_293), True, False),
        (of_size(40_000, 647, k=1), False, False),
        (of_size(4_000, 648, k=4), False, False),
    ],
    ids=["grew", "shrank", "same", "twice", "and one", "less one", "smaller k", "larger k"],
)
def test_what_share_of_the_records_violates_counts_and_not_how_many(now, by_share, by_count):
    baseline = baseline_of(of_size(4_000, 647))

    assert only_check(baseline, now).accepted == by_share
    assert only_check(baseline, now, "count").accepted == by_count


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (of_size(4_856, 765), "accepted by the baseline, which had 647 of 4,000 records, 16.2 %"),
        (
            of_size(3_000, 500),
            "worse than in the baseline: violating records 500 of 3,000, 16.7 % (was 647 of "
            "4,000, 16.2 %)",
        ),
    ],
)
def test_a_share_is_told_with_its_counts(now, words):
    result = baseline_of(of_size(4_000, 647)).applied_to(audited(now))
    assert f"; {words}\n" in as_text(result, width=400)


def test_a_baseline_without_sizes_compares_counts_and_says_so():
    written = json.loads(Baseline.of([audited(of_size(4_000, 647))]).to_json())
    del written["seal"]
    for part in ("summary", "histogram", "risk"):
        del written["tables"][0][part]
    Path("baseline.json").write_text(json.dumps(written))
    baseline = Baseline.read(Path("baseline.json"))
    [same], [more] = (
        baseline.applied_to(audited(table)).tables
        for table in (of_size(4_856, 647), of_size(4_856, 765))
    )

    not_compared = (
        "the baseline of patients.parquet lacks the numbers of uniques and the risks, so that "
        "these were not compared. kanon-sql baseline writes it again."
    )
    no_seal = (
        "the baseline has no seal, so an edited figure is not noticed. kanon-sql baseline writes "
        "it again, of the table or of a sealed result."
    )
    assert (same.status, same.warnings) == ("accepted", (*VIOLATED.warnings, not_compared, no_seal))
    assert (more.status, more.warnings[len(VIOLATED.warnings) :]) == (
        "violated",
        (
            not_compared,
            "the baseline of patients.parquet lacks the number of records, so that counts were "
            "compared and not shares. kanon-sql baseline writes it again.",
            no_seal,
        ),
    )


@pytest.mark.parametrize(("model", "parameters", "worse"), CASES)
def test_what_only_describes_is_not_compared(model, parameters, worse):
    check = violated(model, parameters)
    baseline = baseline_of(with_checks(check))
    for figure in NUMBERS | set(MODELS[model](**parameters).described):
        for changed in (BEFORE - 1, BEFORE + 1):
            assert only_check(
                baseline, with_checks(with_figures(check, **{figure: changed}))
            ).accepted


@pytest.mark.parametrize(("model", "parameters", "worse"), CASES)
def test_a_check_that_held_must_still_hold(model, parameters, worse):
    held = dataclasses.replace(
        violated(model, parameters), holds=True, violating_classes=0, violating_records=0
    )
    baseline = baseline_of(with_checks(held))
    failing = only_check(baseline, with_checks(violated(model, parameters)))
    assert (failing.accepted, failing.baseline.worse[0]) == (False, "holds")
    for figure, way in worse.items():
        fell = with_figures(held, **{figure: BEFORE + (1 if way == "more" else -1)})
        still = only_check(baseline, with_checks(fell))
        assert (still.accepted, still.baseline.worse) == (False, ())


@pytest.mark.parametrize(
    ("before", "after", "accepted"),
    [
        (math.inf, math.inf, True),
        (math.inf, 3.5, True),
        (3.5, math.inf, False),
        (None, None, True),
        (None, 3.5, False),
        (3.5, None, False),
        (0.1, 0.1 + 1e-16, True),
        (0.1, 0.1 + 1e-6, False),
    ],
)
def test_an_infinite_number_is_one_and_an_undefined_one_is_none(before, after, accepted):
    check = violated("delta_disclosure", {"delta": 1, **SENSITIVE})
    baseline = baseline_of(with_checks(with_figures(check, achieved=before)))
    now = with_figures(check, achieved=after)
    assert only_check(baseline, with_checks(now)).accepted == accepted


# Which check and which table is the same


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ({"k": 5}, {"k": 5}, True),
        ({"k": 5}, {"k": 4}, False),
        ({"t": 0.5, **SENSITIVE}, {"t": 0.5, **SENSITIVE, "distance": "equal"}, True),
        ({"t": 1, **SENSITIVE}, {"t": 1.0, **SENSITIVE}, True),
        ({"t": 0.5, **SENSITIVE}, {"t": 0.5, "sensitive": "income"}, False),
        ({"t": 0.5, **SENSITIVE}, {"t": 0.5, **SENSITIVE, "distance": "ordered"}, False),
        ({"alpha": 0.5, "values": ["a", "b"]}, {"alpha": 0.5, "values": ("a", "b")}, True),
        ({"alpha": 0.5, "values": ["a", "b"]}, {"alpha": 0.5, "values": ["a"]}, False),
        ({"alpha": 0.5, "values": [1]}, {"alpha": 0.5, "values": ["1"]}, False),
        ({"alpha": 0.5, "values": [1]}, {"alpha": 0.5, "values": [True]}, False),
        ({"max_share": 0.1}, {"max_share": 0.1}, True),
    ],
)
def test_a_check_is_the_same_by_its_model_and_every_parameter_in_force(was, now, same):
    model = {"k": "k_anonymity", "t": "t_closeness", "alpha": "alpha_k_anonymity"}.get(
        next(iter(was)), "sample_uniqueness"
    )
    if model == "alpha_k_anonymity":
        was, now = {**was, **SENSITIVE}, {**now, **SENSITIVE}
    baseline = baseline_of(with_checks(violated(model, was)))
    held = only_check(baseline, with_checks(violated(model, now)))
    assert (held.accepted, held.baseline is not None) == (same, same)


def test_a_model_of_the_same_parameters_is_another_check():
    baseline = baseline_of(with_checks(violated("basic_beta_likeness", {"beta": 1, **SENSITIVE})))
    other = violated("enhanced_beta_likeness", {"beta": 1, **SENSITIVE})
    assert not only_check(baseline, with_checks(other)).accepted


def test_who_knows_other_sensitive_attributes_knows_the_same_ones():
    known = violated("l_diversity", {"l": 3, **SENSITIVE, "with_other_sensitive": True})
    table = dataclasses.replace(with_checks(known), sensitive=("diagnosis", "income"))
    baseline = baseline_of(table)
    more = dataclasses.replace(table, sensitive=("diagnosis", "income", "religion"))
    assert only_check(baseline, table).accepted
    assert not only_check(baseline, more).accepted


QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"quasi_identifiers": ("zip",)}, "quasi-identifiers"),
    ({"entity": "patient_id"}, "entity"),
    ({"nulls": "wildcard"}, "nulls"),
    ({"sensitive_nulls": "unknown"}, "sensitive nulls"),
    ({"levels": {"zip": 1}}, "levels"),
    ({"where": "state = 'MA'"}, "filter"),
    ({"first": 100}, "number of first records"),
    ({"first": 100, "nulls": "wildcard"}, "nulls, number of first records"),
]


@pytest.mark.parametrize(("other", "words"), QUESTIONS)
def test_another_question_is_not_accepted_and_says_why(other, words):
    baseline = baseline_of(VIOLATED)
    [held] = baseline.applied_to(audited(dataclasses.replace(VIOLATED, **other))).tables
    assert (held.status, held.checks[0].accepted) == ("violated", False)
    assert held.warnings == (
        f"the baseline has another question about patients.parquet ({words}), so it accepts "
        "nothing here. kanon-sql baseline writes it again.",
    )


def test_the_order_of_columns_and_a_level_of_0_change_no_question():
    baseline = baseline_of(VIOLATED)
    same = dataclasses.replace(
        VIOLATED, quasi_identifiers=("sex", "zip", "birth_date"), levels={"zip": 0}
    )
    assert only_check(baseline, same).accepted


def test_a_table_that_the_baseline_lacks_gates_as_ever():
    baseline = baseline_of(VIOLATED)
    result = baseline.applied_to(audited(dataclasses.replace(VIOLATED, name="new.parquet")))
    [held] = result.tables
    assert (result.exit_code, held.checks[0].accepted) == (1, False)
    assert held.warnings == (
        "the baseline has no table new.parquet, so it accepts nothing here. It has "
        "patients.parquet.",
        "the baseline has checks of patients.parquet too, which this audit does not ask. "
        "kanon-sql baseline writes it again, if they are not needed any more.",
    )


def test_tables_that_can_not_be_told_apart_are_not_accepted():
    baseline = baseline_of(VIOLATED)
    held = baseline.applied_to(audited(VIOLATED, VIOLATED))
    assert (held.exit_code, {table.checks[0].accepted for table in held.tables}) == (1, {False})
    assert "can't tell them apart" in held.tables[0].warnings[-1]
    with pytest.raises(SpecError, match=r"two tables are called patients\.parquet"):
        Baseline.of([audited(VIOLATED), audited(VIOLATED)])


def test_one_table_asked_two_questions_is_two():
    by_zip = dataclasses.replace(VIOLATED, quasi_identifiers=("zip",))
    baseline = baseline_of(VIOLATED, by_zip)
    assert baseline.applied_to(audited(by_zip, VIOLATED)).status == "accepted"


def test_what_was_only_measured_is_not_accepted_once_it_is_demanded():
    measured = dataclasses.replace(violated("homogeneity", SENSITIVE), holds=None)
    baseline = baseline_of(with_checks(VIOLATED.checks[0], measured))
    demanded = with_checks(VIOLATED.checks[0], violated("homogeneity", SENSITIVE))
    [held] = baseline.applied_to(audited(demanded)).tables
    assert [check.accepted for check in held.checks] == [True, False]
    assert held.checks[1].baseline is None


def test_what_is_only_measured_now_is_beside_nothing():
    """Homogeneity has no parameter that says whether it is demanded."""
    baseline = baseline_of(with_checks(VIOLATED.checks[0], violated("homogeneity", SENSITIVE)))
    measured = dataclasses.replace(violated("homogeneity", SENSITIVE), holds=None)
    [held] = baseline.applied_to(audited(with_checks(VIOLATED.checks[0], measured))).tables
    assert [(check.accepted, check.baseline is None) for check in held.checks] == [
        (True, False),
        (False, True),
    ]


# What is asked no more


def test_a_check_that_is_demanded_no_more_is_said():
    diverse = dataclasses.replace(violated("l_diversity", {"l": 2, **SENSITIVE}), holds=True)
    baseline = baseline_of(with_checks(*VIOLATED.checks, diverse))

    def warned(*checks: CheckResult) -> tuple[str, ...]:
        [held] = baseline.applied_to(audited(with_checks(*checks))).tables
        return held.warnings

    again = "kanon-sql baseline writes it again, if that is intended."
    gone = "the baseline has l_diversity(l=2, sensitive=diagnosis), which is no longer checked."
    assert warned(*VIOLATED.checks, diverse) == ()
    assert warned(*VIOLATED.checks) == (f"{gone} {again}",)
    assert warned(*VIOLATED.checks, dataclasses.replace(diverse, holds=None)) == (
        f"{gone} {again}",
    )
    weaker = dataclasses.replace(diverse, parameters={**diverse.parameters, "l": 1})
    assert warned(*VIOLATED.checks, weaker) == (
        "the baseline has l_diversity(l=2, sensitive=diagnosis), which has other thresholds now. "
        f"{again}",
    )


def test_a_table_that_is_asked_no_more_is_said():
    baseline = baseline_of(VIOLATED, HOLDS)
    [held] = baseline.applied_to(audited(VIOLATED)).tables
    assert held.warnings == (
        "the baseline has checks of release.csv too, which this audit does not ask. kanon-sql "
        "baseline writes it again, if they are not needed any more.",
    )
    empty = dataclasses.replace(VIOLATED, name="empty.csv", status="no_data", checks=())
    nothing, held = baseline.applied_to(audited(empty, VIOLATED)).tables
    assert (nothing.warnings, len(held.warnings)) == ((), 1)


def test_no_value_of_the_data_is_in_what_is_said():
    named = violated("alpha_k_anonymity", {"alpha": 0.5, "values": ["HIV"], **SENSITIVE})
    [held] = baseline_of(with_checks(named)).applied_to(audited(with_checks())).tables
    assert "alpha_k_anonymity(" in held.warnings[-1]
    assert "HIV" not in held.warnings[-1]


# What follows from it


def test_status_and_exit_code_follow():
    baseline = baseline_of(VIOLATED, HOLDS)
    result = baseline.applied_to(audited(VIOLATED, HOLDS))
    assert [table.status for table in result.tables] == ["accepted", "holds"]
    assert (result.status, result.exit_code, result.holds) == ("accepted", 0, False)
    result.raise_if_violated()
    empty = dataclasses.replace(HOLDS, status="no_data", checks=())
    assert baseline.applied_to(audited(VIOLATED, empty)).exit_code == 4


def test_only_what_is_not_accepted_is_named_as_violated():
    worse = with_checks(VIOLATED.checks[0], violated("sample_uniqueness", {"max_share": 0.1}))
    with pytest.raises(PrivacyViolation) as raised:
        baseline_of(VIOLATED).applied_to(audited(worse)).raise_if_violated()
    assert str(raised.value) == (
        "not every check holds: patients.parquet: sample uniqueness: more than 99.9 %, asked for "
        "10.0 %; of the records are alone in their class; not in the baseline"
    )


def test_the_json_has_what_the_baseline_had_beside_what_there_is():
    better = with_figures(VIOLATED.checks[0], violating_classes=500, violating_records=1_000)
    held = only_check(baseline_of(VIOLATED), with_checks(better)).to_dict()
    assert held == {
        "model": "k_anonymity",
        "parameters": {"k": 5},
        "holds": False,
        "achieved": 1,
        "violating_classes": 500,
        "violating_records": 1_000,
        "accepted": True,
        "baseline": {
            "holds": False,
            "achieved": 1,
            "violating_classes": 600,
            "violating_records": 1_200,
            "records": 2_000,
            "classes": 700,
            "uniques": 300,
            "prosecutor.average": 0.35,
            "prosecutor.at_risk": 0.6,
            "worse": [],
            "better": ["violating_records"],
        },
    }


def test_without_a_baseline_nothing_is_said_of_one():
    assert {"accepted", "baseline"}.isdisjoint(VIOLATED.checks[0].to_dict())


def test_people_read_what_is_accepted():
    result = baseline_of(VIOLATED).applied_to(audited(VIOLATED))
    assert as_text(result) == text("accepted.txt")


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            {"violating_records": 1_300},
            "worse than in the baseline: violating records 1,300 of 2,000, 65.0 % (was 1,200 of "
            "2,000, 60.0 %)",
        ),
        ({"parameters": {"k": 6}}, "not in the baseline"),
        ({}, "accepted by the baseline"),
    ],
)
def test_a_violated_check_says_what_the_baseline_has_to_do_with_it(check, words):
    table = with_checks(dataclasses.replace(VIOLATED.checks[0], **check))
    result = baseline_of(VIOLATED).applied_to(audited(table))
    assert f"; {words}\n" in as_text(result, width=400)


def test_a_check_that_held_says_so():
    held = dataclasses.replace(
        VIOLATED, checks=(dataclasses.replace(VIOLATED.checks[0], holds=True),)
    )
    result = baseline_of(held).applied_to(audited(VIOLATED))
    assert "; it held in the baseline\n" in as_text(result, width=400)


def test_what_is_better_is_worth_a_new_baseline():
    better = with_checks(with_figures(VIOLATED.checks[0], violating_records=1_000))
    result = baseline_of(VIOLATED).applied_to(audited(better))
    assert (
        "Better than the baseline accepts: k-anonymity. kanon-sql baseline writes it again and "
        "keeps the improvement.\n"
    ) in as_text(result, width=400).replace("\n  ", " ") + "\n"


def test_some_accepted_and_some_not():
    new = violated("sample_uniqueness", {"max_share": 0.1})
    result = baseline_of(VIOLATED).applied_to(
        audited(with_checks(VIOLATED.checks[0], dataclasses.replace(new, achieved=0.15)))
    )
    assert "1 of 2 checks is violated; the baseline accepts 1 more." in as_text(result, width=99)


# What it is made of


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            dataclasses.replace(HOLDS, status="no_data", checks=()),
            "release.csv has no data, so nothing of it can be accepted.",
        ),
        (
            dataclasses.replace(HOLDS, status="error", checks=(), error="no."),
            "release.csv could not be audited, so nothing of it can be accepted.",
        ),
        (
            with_checks(VIOLATED.checks[1]),
            "no check has a threshold, so there is nothing to accept. Give one, as in k=5, "
            "or checks in a spec.",
        ),
    ],
)
def test_where_there_is_nothing_to_accept(table, message):
    with pytest.raises(SpecError) as raised:
        Baseline.of([audited(table)])
    assert str(raised.value) == message


def test_a_baseline_is_the_result_without_what_is_for_reading_alone():
    shown = dataclasses.replace(VIOLATED, shown={"small_classes": [{"zip": "02138"}]})
    whole = json.loads(Baseline.of([audited(shown)]).to_json())
    assert (whole.pop("baseline"), is_broken(whole)) == (1, True)
    kept = dataclasses.replace(VIOLATED, warnings=(), sql={})
    assert whole | {"seal": ""} == audited(kept).to_dict() | {"seal": ""}


# What is judged where every record violates already


def of_classes(*sizes: int) -> pa.Table:
    """A table of classes of these sizes, each with two values as far as it can have them."""
    rows = [
        (f"{place}", "ab"[each % 2]) for place, size in enumerate(sizes) for each in range(size)
    ]
    return pa.table({"zip": [zip_code for zip_code, _ in rows], "dx": [dx for _, dx in rows]})


@pytest.mark.parametrize(
    ("check", "worse"),
    [
        (kanon.KAnonymity(k=5), ("uniques", "prosecutor.average")),
        (kanon.ProsecutorRisk(max_highest=0.2), ("average", "uniques")),
        (
            kanon.AlphaKAnonymity(alpha=0.1, k=5, sensitive="dx"),
            ("uniques", "prosecutor.average", "homogeneity.violating_records"),
        ),
        (kanon.LDiversity(l=3, sensitive="dx"), ("homogeneity.violating_records",)),
        (kanon.KMap(k=100, reference="voters"), ("journalist.average", "marketer.average")),
    ],
    ids=lambda each: each.name() if hasattr(each, "name") else "",
)
def test_where_every_record_violates_a_worse_release_is_not_accepted(check, worse):
    """As `diff` has it: the gate is a rule on the same comparison."""
    voters = pa.table({"zip": [f"{place}" for place in range(100)]})
    before, after = (
        kanon.audit(
            of_classes(*sizes),
            ["zip"],
            sensitive=["dx"],
            checks=[check],
            references={"voters": voters} if isinstance(check, kanon.KMap) else {},
            name="people",
        )
        for sizes in ([2] * 49 + [1, 1], [1] * 100)
    )
    baseline = Baseline.of([before])
    assert baseline.applied_to(before).status == "accepted"
    [held] = baseline.applied_to(after).tables
    found = next(each.baseline for each in held.checks if each.model == check.name())
    assert found is not None
    assert (held.status, found.worse) == ("violated", worse)
    assert after.diff(before).is_worse
    better = Baseline.of([after]).applied_to(before)
    assert better.status == "accepted"


def counts(sizes: Sequence[int], **asked: Any) -> kanon.AuditResult:
    """A table of cells with so many records."""
    return kanon.tables(counted(sizes), by=["region"], name="cells", **asked)


def counted(sizes: Sequence[int]) -> pa.Table:
    return pa.table(
        {"region": [f"r{place}" for place, size in enumerate(sizes) for _ in range(size)]}
    )


def published(sizes: Sequence[int]) -> kanon.AuditResult:
    regions = [f"r{place}" for place in range(len(sizes))]
    table = pa.table({"region": regions, "n": [*sizes]})
    return kanon.tables(table, by=["region"], value="n", published=True, threshold=5, name="cells")


def sums(largest: Sequence[int], **asked: Any) -> kanon.AuditResult:
    """Cells of 100 with a largest contribution, and ten equal ones for the rest."""
    rows = [
        (f"r{place}", value)
        for place, most in enumerate(largest)
        for value in (most, *[(100 - most) / 10] * 10)
    ]
    table = pa.table({"region": [row[0] for row in rows], "value": [row[1] for row in rows]})
    return kanon.tables(table, by=["region"], value="value", margins="none", name="cells", **asked)


def events(crowds: Sequence[int], check: Model) -> kanon.AuditResult:
    """Events of so many people each, who have no other."""
    rows = [(f"{place}-{who}", place) for place, size in enumerate(crowds) for who in range(size)]
    table = pa.table({"who": [row[0] for row in rows], "at": [row[1] for row in rows]})
    return kanon.audit(table, entity="who", events=["at"], checks=[check], name="visits")


def linked(crowds: Sequence[int]) -> kanon.AuditResult:
    """Crowds of so many people in both of two releases."""
    places = [place for place, size in enumerate(crowds) for _ in range(size)]
    who = list(range(len(places)))
    return kanon.audit(
        pa.table({"zip": ["a"] * len(who), "who": who}), ["zip"], entity="who",
        checks=[kanon.ComposedKAnonymity(k=5)], name="people",
        earlier_releases={"earlier": {"source": pa.table({"zip": places, "who": who})}},
    )  # fmt: skip


def diagnoses(classes: Sequence[str], check: Model) -> kanon.AuditResult:
    rows = [(place, letter) for place, letters in enumerate(classes) for letter in letters]
    table = pa.table({"zip": [row[0] for row in rows], "dx": [row[1] for row in rows]})
    return kanon.audit(table, ["zip"], sensitive=["dx"], checks=[check], name="people")


MILD, BAD = [1, *[4] * 9], [1] * 10
ALREADY: dict[str, tuple[kanon.AuditResult, kanon.AuditResult, str]] = {
    "min_contributors": (counts(MILD, threshold=5), counts(BAD, threshold=5), "shortfall"),
    "published": (published(MILD), published(BAD), "shortfall"),
    "zeros": (
        counts(MILD, checks=[kanon.MinContributors(n=5, zeros="disclosive")]),
        counts(BAD, checks=[kanon.MinContributors(n=5, zeros="disclosive")]),
        "shortfall",
    ),
    "dominance": (
        sums([99, *[80] * 9], dominance=[1, 75]), sums([99] * 10, dominance=[1, 75]), "shortfall"
    ),
    "p_percent": (
        sums([99, *[80] * 9], p_percent=30), sums([99] * 10, p_percent=30), "shortfall"
    ),
    "differences": (
        *(
            counts(
                [10] * 10, min_difference=5, margins="none",
                against={"other": counted([10 + more for more in apart])},
            )
            for apart in (MILD, BAD)
        ),
        "shortfall",
    ),
    "km_anonymity": (
        events(MILD, kanon.KmAnonymity(k=5, m=1)), events(BAD, kanon.KmAnonymity(k=5, m=1)),
        "shortfall_by_size.1",
    ),
    "known_events alone": (
        events(MILD, kanon.KnownEvents(m=1, k=5, max_share=0.1)),
        events(BAD, kanon.KnownEvents(m=1, k=5, max_share=0.1)),
        "worst.alone",
    ),
    "known_events average": (
        events([2, 4, 4], kanon.KnownEvents(m=1, k=5, max_share=0.1)),
        events([2, 2, 2, 2, 2], kanon.KnownEvents(m=1, k=5, max_share=0.1)),
        "average",
    ),
    "composed_k_anonymity": (linked(MILD), linked(BAD), "average"),
    "delta_disclosure": (
        diagnoses(["aab", "bbc", "cca"], kanon.DeltaDisclosure(delta=0.1, sensitive="dx")),
        diagnoses(["aaab", "bbccc"], kanon.DeltaDisclosure(delta=0.1, sensitive="dx")),
        "present_only",
    ),
    "alpha_k_anonymity": (
        diagnoses(["aabb", "aabb"], kanon.AlphaKAnonymity(alpha=0.1, sensitive="dx")),
        diagnoses(["ab", "aabb"], kanon.AlphaKAnonymity(alpha=0.1, sensitive="dx")),
        "k",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "name"), ALREADY.values(), ids=ALREADY)
def test_where_everything_violates_already_what_gets_worse_is_not_accepted(before, after, name):
    baseline = Baseline.of([before])
    assert baseline.applied_to(before).status == "accepted"
    [table] = baseline.applied_to(after).tables
    check = next(check for check in table.checks if check.holds is False)
    assert check.baseline is not None
    assert (check.accepted, name in check.baseline.worse) == (False, True)
    assert after.diff(before).is_worse
    [old], [new] = before.tables, after.tables
    [violated] = [check for check in new.checks if check.holds is False]
    [was] = [check for check in old.checks if check.holds is False]
    # The worst figure and the share of what violates are as before, so no other figure tells.
    assert violated.achieved == was.achieved
    better = Baseline.of([after]).applied_to(before)
    assert [check.accepted for check in better.checks if check.holds is False] == [True]


def test_a_baseline_of_an_earlier_version_says_what_it_lacks() -> None:
    written = json.loads(Baseline.of([counts(MILD, threshold=5)]).to_json())
    del written["seal"], written["tables"][0]["checks"][0]["shortfall"]
    Path("baseline.json").write_text(json.dumps(written))
    [table] = Baseline.read(Path("baseline.json")).applied_to(counts(BAD, threshold=5)).tables
    assert table.status == "accepted"
    assert table.warnings[-2] == (
        "the baseline of cells lacks shortfall, as an earlier version wrote it, so that this was "
        "not compared. kanon-sql baseline writes it again."
    )


def test_what_a_baseline_accepted_can_be_accepted_again():
    held = baseline_of(VIOLATED).applied_to(audited(VIOLATED))
    assert Baseline.of([held]).to_json() == Baseline.of([audited(VIOLATED)]).to_json()


# From the command line


PATIENTS = "zip,sex\n02138,F\n02138,F\n02138,M\n02139,F\n"
SPEC = """\
version: 1
tables:
  - name: patients
    source: patients.csv
    quasi_identifiers: [zip, sex]
    checks: [{k_anonymity: {k: 2}}]
"""
ASKED = ("patients.csv", "--qi", "zip,sex", "--k", "2")


@pytest.fixture
def run(capsys):
    Path("patients.csv").write_text(PATIENTS)
    Path("kanon.yml").write_text(SPEC)

    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments), prog_name="kanon-sql")
        return (ended.value.code, *capsys.readouterr())

    return typed


@pytest.mark.parametrize("question", [("kanon.yml",), ASKED])
def test_only_what_got_worse_fails(run, question):
    assert run("audit", *question)[0] == 1
    written = "baseline.json written: 1 check of 1 table, 1 of them violated and accepted.\n"
    assert run("baseline", *question, "--output", "baseline.json") == (0, "", written)
    code, out, err = run("audit", *question, "--baseline", "baseline.json")
    assert (code, err) == (0, "")
    assert "  accepted  k-anonymity  k is 1, asked for 2\n" in out
    Path("patients.csv").write_text(f"{PATIENTS}02139,M\n")
    code, out, _ = run("audit", *question, "--baseline", "baseline.json")
    assert code == 1
    said = "worse than in the baseline: violating records 3 of 5, 60.0 % (was 2 of 4, 50.0 %)"
    assert said in " ".join(out.replace(KEPT_TOGETHER, " ").split())
    assert run("audit", *question, "--baseline", "baseline.json", "--by", "count")[0] == 1
    Path("patients.csv").write_text(f"{PATIENTS}02139,F\n")
    assert run("audit", *question, "--baseline", "baseline.json")[0] == 0
    Path("patients.csv").write_text(f"{PATIENTS}02139,M\n02138,F\n02138,F\n")
    assert run("audit", *question, "--baseline", "baseline.json")[0] == 0
    assert run("audit", *question, "--baseline", "baseline.json", "--by", "count")[0] == 1


def test_a_result_makes_the_same_baseline_as_the_audit(run):
    run("audit", "kanon.yml", "--format", "json", "--output", "result.json")
    assert run("baseline", "result.json") == run("baseline", "kanon.yml")


def test_several_results_make_one_baseline(run):
    Path("other.yml").write_text(SPEC.replace("name: patients", "name: others"))
    for name in ("kanon", "other"):
        run("audit", f"{name}.yml", "--format", "json", "--output", f"{name}.json")
    code, out, _ = run("baseline", "kanon.json", "other.json")
    assert (code, [table["name"] for table in json.loads(out)["tables"]]) == (
        0,
        ["patients", "others"],
    )
    assert run("baseline", "kanon.json", "kanon.json") == (
        2,
        "",
        "error: two tables are called patients and have the same checks, so a baseline could not "
        "distinguish them. Give each a name in the spec.\n",
    )


def test_a_json_file_with_quasi_identifiers_is_a_table(run):
    Path("people.json").write_text('[{"zip": "02138"}, {"zip": "02139"}]')
    code, out, _ = run("baseline", "people.json", "--qi", "zip", "--k", "2")
    assert (code, json.loads(out)["tables"][0]["name"]) == (0, "people.json")
    assert run("baseline", "people.json", "--k", "2") == (
        2,
        "",
        "error: people.json is read as a result, which takes no --k. To audit it as a "
        "table, name its quasi-identifiers: --qi COL,….\n",
    )


def test_the_environment_names_the_baseline(run, monkeypatch):
    run("baseline", "kanon.yml", "--output", "baseline.json")
    monkeypatch.setenv("KANON_SQL_BASELINE", "baseline.json")
    assert run("audit", "kanon.yml")[0] == 0


def test_no_data_is_never_accepted(run):
    nobody = (*ASKED, "--where", "sex = 'x'")
    assert run("baseline", *nobody) == (
        4,
        "",
        "error: a table has no data, so there is nothing to accept.\n",
    )
    run("baseline", *ASKED, "--output", "baseline.json")
    assert run("audit", *nobody, "--baseline", "baseline.json")[0] == 4


def test_a_baseline_is_not_overwritten_unless_asked_and_never_by_the_result(run):
    run("baseline", "kanon.yml", "--output", "baseline.json")
    before = Path("baseline.json").read_bytes()
    assert (
        "add --overwrite to replace it"
        in run("baseline", "kanon.yml", "--output", "baseline.json")[2]
    )
    audit = ("audit", "kanon.yml", "--baseline", "baseline.json", "--output", "baseline.json")
    assert "will not be written" in run(*audit, "--overwrite")[2]
    run("audit", "kanon.yml", "--format", "json", "--output", "result.json")
    assert (
        "will not be written"
        in run("baseline", "result.json", "--output", "result.json", "--overwrite")[2]
    )
    assert Path("baseline.json").read_bytes() == before
    assert run("baseline", "kanon.yml", "--output", "baseline.json", "--overwrite")[0] == 0


def test_a_bad_baseline_is_refused_before_anything_runs(run, monkeypatch):
    monkeypatch.setattr(asking, "audit", lambda *_, **__: pytest.fail("it ran"))
    assert run("audit", "kanon.yml", "--baseline", "nowhere.json") == (
        2,
        "",
        "error: there is no file nowhere.json. kanon-sql baseline … --output FILE writes one.\n",
    )


def test_a_result_is_no_baseline(run):
    run("audit", "kanon.yml", "--format", "json", "--output", "result.json")
    with pytest.raises(InputError, match=r"is a result and no baseline\. kanon-sql baseline"):
        Baseline.read(Path("result.json"))


def test_every_format_tells_what_is_accepted(run):
    run("baseline", "kanon.yml", "--output", "baseline.json")
    audit = ("audit", "kanon.yml", "--baseline", "baseline.json", "--format")
    for form, words in (
        ("json", '"accepted": true'),
        ("markdown", "| **accepted** |"),
        ("junit", '<skipped message="patients: k-anonymity: k is 1, asked for 2'),
        ("sarif", '"status": "accepted"'),
        ("github", "::notice file=kanon.yml,line=6,col=14,title=k-anonymity is violated%2C as"),
    ):
        code, out, err = run(*audit, form)
        assert (code, err, words in out) == (0, "", True)


def test_the_check_in_a_baseline_is_plain_to_python():
    check = only_check(baseline_of(VIOLATED), VIOLATED)
    figures = {"achieved": 1, "violating_classes": 600, "violating_records": 1_200}
    figures |= {"records": 2_000, "classes": 700, "uniques": 300, "prosecutor.average": 0.35}
    figures |= {"prosecutor.at_risk": 0.6}
    assert check.baseline == InBaseline(False, figures)


def test_another_reference_or_hierarchy_is_another_question(tmp_path: Path) -> None:
    """What a check was held against is part of what was asked."""
    table = pa.table({"zip": ["02138", "02139", "02139"]})
    paths = [tmp_path / "one.csv", tmp_path / "other.csv"]
    for path in paths:
        path.write_text("zip\n02138\n02139\n")

    def audited(**asked: Any) -> kanon.AuditResult:
        return kanon.audit(table, name="people", checks=[kanon.KAnonymity(k=9)], **asked)

    def at_level(level: Any) -> kanon.AuditResult:
        return audited(quasi_identifiers={"zip": {"levels": [level]}}, levels={"zip": 1})

    def against(path: Path) -> kanon.AuditResult:
        return audited(quasi_identifiers="zip", references={"voters": str(path)})

    for before, after in (
        (at_level({"prefix": 3}), at_level({"prefix": 4})),
        (against(paths[0]), against(paths[1])),
    ):
        again = Baseline.of([before])
        assert again.applied_to(before).status == "accepted"
        assert again.applied_to(after).status == "violated"


def test_more_people_in_the_same_records_are_worse() -> None:
    one, four = (
        kanon.audit(
            pa.table({"zip": ["a"] * 4 + ["b"] * 9, "pid": [*ids, *range(10, 19)]}),
            ["zip"],
            k=5,
            entity="pid",
            name="people",
        )
        for ids in ([1, 1, 1, 1], [1, 2, 3, 4])
    )

    held = Baseline.of([one]).applied_to(four)

    [check] = [check for check in held.tables[0].checks if check.holds is False]
    assert check.baseline is not None
    assert (check.accepted, check.baseline.worse[0]) == (False, "violating_people")
