"""The figures of a result agree with each other, and the law that says so notices one that does
not. Every audit of `asking` and every release of `searches` is held to it besides."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import every_model
import pytest
from consistency import contradictions
from every_model import OF_RECORDS, PEOPLE

import kanon_sql as kanon

RESULT = every_model.of_records().to_dict()
OF_PEOPLE = kanon.audit(PEOPLE, ["zip"], entity="who", k=3).to_dict()
JUDGED = [check for check in OF_RECORDS if check.family != "population"]
"""An estimate is one of population and table, which are not in the result."""


@pytest.mark.parametrize("name", every_model.results())
def test_the_figures_of_a_result_agree(name: str) -> None:
    result = every_model.results()[name]
    assert contradictions(result) == []
    read = kanon.from_json(result.to_dict())
    assert (read.to_dict(), contradictions(read)) == (result.to_dict(), [])


@pytest.mark.parametrize(
    "asked",
    [
        {"sensitive_nulls": "unknown"},
        {"where": "zip = 'nowhere'"},
        {"levels": {"zip": 1}},
    ],
    ids=str,
)
def test_what_an_audit_writes_is_read(asked: dict[str, Any]) -> None:
    checks = [check for check in OF_RECORDS if check.name() != "population_uniqueness"]
    result = kanon.audit(
        PEOPLE, ["zip"], sensitive=["dx", "pay"], checks=checks, name="people",
        references={"voters": every_model.VOTERS}, **asked,
    )  # fmt: skip
    read = kanon.from_json(result.to_dict())
    assert (read.to_dict(), contradictions(read)) == (result.to_dict(), [])


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
@pytest.mark.parametrize("suppressed", ["remove", "star"])
@pytest.mark.parametrize("allowed", [0, 5, 20])
def test_the_figures_of_a_release_agree(algorithm: Any, suppressed: Any, allowed: int) -> None:
    made = kanon.anonymize(
        PEOPLE, ["zip"], k=3, algorithm=algorithm, suppressed=suppressed, max_suppressed=allowed,
        sensitive=["dx"],
    )  # fmt: skip
    assert contradictions(made) == []
    whole = made.to_dict()
    for name in ("k", "classes"):
        if suppressed == "remove":
            wrong = edited(whole, ("anonymization", name), whole["anonymization"][name] + 1)
            assert noticed(wrong)


# --- the law can fail -----------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the figures of a result stand."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))
    elif isinstance(value, int | float):
        yield path


def edited(whole: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The result with another value, and without the seal that this breaks."""
    found = copy.deepcopy(whole)
    found.pop("seal", None)
    part: Any = found
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return found


def at(whole: dict[str, Any], path: tuple[Any, ...]) -> Any:
    for key in path:
        whole = whole[key]
    return whole


def noticed(whole: dict[str, Any]) -> bool:
    """Whether a figure is refused by itself, or contradicts another one."""
    try:
        return bool(contradictions(kanon.from_json(whole)))
    except kanon.InputError:
        return True


def of_sizes(whole: dict[str, Any]) -> list[Any]:
    """Each figure that the histogram gives, and each verdict."""
    named = {"records", "people", "classes", "k", "uniques", "average_class_size", "largest_class"}
    kept = []
    for path in places(whole["tables"]):
        of_summary = path[1] == "summary" and path[2] in named
        of_risk = path[1:3] == ("risk", "prosecutor") and path[3] != "threshold"
        of_sizes = path[1] == "checks" and whole["tables"][0]["checks"][path[2]]["model"] in (
            "k_anonymity",
            "prosecutor_risk",
            "sample_uniqueness",
        )
        figures = of_sizes and path[3] != "parameters" and not str(path[3]).startswith("profile")
        if of_summary or of_risk or figures or path[1] == "histogram" or path[3:] == ("holds",):
            kept.append(("tables", *path))
    return kept


EDITED = [(whole, path) for whole in (RESULT, OF_PEOPLE) for path in of_sizes(whole)]


@pytest.mark.parametrize(
    ("whole", "path"), EDITED, ids=[".".join(map(str, path[2:])) for _, path in EDITED]
)
def test_every_single_edited_figure_of_sizes_is_noticed(whole: Any, path: Any) -> None:
    value = at(whole, path)
    for other in [not value] if isinstance(value, bool) else [value + 1, value / 2 or 0.5]:
        assert noticed(edited(whole, path, other))


@pytest.mark.parametrize(("known", "of"), [(1, "worst"), (2, "random")])
@pytest.mark.parametrize("name", ["share", "highest", "average"])
def test_a_figure_of_known_events_that_contradicts_its_curve_is_noticed(
    known: int, of: str, name: str
) -> None:
    whole = every_model.results()["events"].to_dict()
    place = ("tables", 0, "checks", known, of, name)
    assert noticed(edited(whole, place, at(whole, place) / 2 + 0.001))


def both_flipped(whole: dict[str, Any], place: int) -> dict[str, Any]:
    """The verdict of a check and the status that follows, as one who edits by hand would."""
    check = whole["tables"][0]["checks"][place]
    found = edited(whole, ("tables", 0, "checks", place, "holds"), not check["holds"])
    gated = [each["holds"] for each in found["tables"][0]["checks"] if each["holds"] is not None]
    status = "holds" if all(gated) else "violated"
    return edited(edited(found, ("tables", 0, "status"), status), ("status",), status)


@pytest.mark.parametrize("check", JUDGED, ids=lambda check: check.name())
def test_a_verdict_that_was_flipped_or_taken_away_is_noticed(check: Any) -> None:
    place = OF_RECORDS.index(check)
    assert noticed(both_flipped(RESULT, place))
    assert noticed(edited(RESULT, ("tables", 0, "checks", place, "holds"), None))


@pytest.mark.parametrize("status", ["holds", "measured", "accepted", "no_data"])
def test_a_status_that_contradicts_the_checks_is_noticed(status: str) -> None:
    assert noticed(edited(RESULT, ("tables", 0, "status"), status))


def test_what_a_baseline_accepts_is_said_by_the_figures_too() -> None:
    check = {**RESULT["tables"][0]["checks"][0], "accepted": True, "baseline": None}
    assert noticed(edited(RESULT, ("tables", 0, "checks", 0), check))
