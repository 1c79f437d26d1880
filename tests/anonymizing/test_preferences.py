"""What whoever asks for a release would rather keep: levels pinned or bounded, and weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asking
import pytest
from commands import run

import kanon_sql as kanon
from kanon_sql.errors import SpecError
from kanon_sql.report import terminal

PEOPLE = "zip,age,sex\n" + "".join(
    f"{zip},{age},{sex}\n"
    for zip, age, sex in [
        ("02138", 21, "F"),
        ("02138", 23, "F"),
        ("02139", 22, "M"),
        ("02139", 31, "M"),
        ("02141", 34, "F"),
        ("02141", 36, "M"),
    ]
)
LEVELS: dict[str, Any] = {
    "zip": {"levels": [{"prefix": 4}, {"prefix": 3}, "suppress"]},
    "age": {"levels": [{"width": 10}, "suppress"]},
    "sex": {},
}


@pytest.fixture
def people(tmp_path: Path) -> str:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return str(tmp_path / "people.csv")


def levels_of(people: str, **asked: Any) -> dict[str, int]:
    asked = {"quasi_identifiers": LEVELS, "k": 2, "max_suppressed": 0} | asked
    return dict(kanon.anonymize(people, **asked).anonymization.levels)


def test_without_preferences_datafly_raises_what_has_most_values(people: str) -> None:
    assert levels_of(people) == {"zip": 2, "age": 2, "sex": 0}


def test_what_is_kept_stays_raw(people: str) -> None:
    assert levels_of(people, keep="ZIP") == {"zip": 0, "age": 2, "sex": 1}


def test_a_bound_is_never_passed(people: str) -> None:
    assert levels_of(people, at_most={"age": 1, "zip": 3}) == {"zip": 2, "age": 1, "sex": 1}


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
def test_a_bound_above_the_top_is_refused(algorithm: str, people: str) -> None:
    with pytest.raises(SpecError, match=r'"zip" has no level 4: its top is level 3\. Name that'):
        levels_of(people, at_most={"zip": 4}, algorithm=algorithm)

    asked = ["--qi", "zip,age", "--hierarchy", "age=width:10", "--k", "2", "--at-most", "age=2"]
    found = run("anonymize", people, *asked, "--algorithm", algorithm)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "has no level 2: its top is level 1" in found.stderr


def test_the_spec_says_so_too(people: str) -> None:
    spec = {**LEVELS, "zip": {"keep": True}, "age": {**LEVELS["age"], "at_most": 2, "weight": 3}}

    assert levels_of(people, quasi_identifiers=spec) == {"zip": 0, "age": 2, "sex": 1}


def test_a_weighted_loss_stands_beside_the_plain_one(people: str) -> None:
    result = kanon.anonymize(people, LEVELS, k=2, max_suppressed=0, weights={"age": 2.5, "zip": 1})
    found = result.anonymization.metrics
    weights = {"zip": 1, "age": 2.5, "sex": 1}
    lost = found.loss_by_quasi_identifier

    assert found.loss_weighted == pytest.approx(
        sum(weights[name] * lost[name] for name in lost) / sum(weights[name] for name in lost)
    )
    assert "Loss by the weights" in terminal.write(result.page())
    assert kanon.from_json(result.to_json()).anonymization.metrics == found


def test_without_weights_nothing_is_said_of_them(people: str) -> None:
    metrics = kanon.anonymize(people, LEVELS, k=2).to_dict()["anonymization"]["metrics"]

    assert "loss_weighted" not in metrics


def test_the_command_line_prefers_alike(people: str) -> None:
    done = run(
        "anonymize", people, "--qi", "zip,age,sex", "--hierarchy", "zip=prefix:4,3,suppress",
        "--hierarchy", "age=width:10,suppress", "--k", "2", "--max-suppressed", "0",
        "--keep", "sex", "--at-most", "zip=2,age=2", "--weight-of", "age=2.5", "--format", "json",
    )  # fmt: skip
    found = json.loads(done.stdout)["anonymization"]

    assert (done.exit_code, found["levels"]) == (0, {"zip": 2, "age": 2, "sex": 0})
    assert "loss_weighted" in found["metrics"]


# --- what would keep more -------------------------------------------------------------------


def test_a_builder_is_named_where_a_number_or_a_date_has_no_levels(tmp_path: Path) -> None:
    rows = [f"{n},19{50 + n}-01-0{n % 9 + 1},t{n},{1000 * n},021{n}" for n in range(40)]
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["age,born,town,income,zip", *rows]) + "\n")
    made = kanon.anonymize(file, ["age", "born", "town", "income", "zip"], k=5)

    assert made.anonymization.builders == {
        "age": "width:5,10,20,suppress",
        "born": "date:month,year,5y,suppress",
        "income": "width:5000,10000,20000,suppress",
        "zip": "mask:right",
    }
    named = json.dumps(made.anonymization.builders)
    assert f"have no level but *: {named} would keep more" in " ".join(str(made).split())
    assert made.to_dict()["anonymization"]["builders"] == made.anonymization.builders
    read = kanon.from_json(made.to_dict())
    assert isinstance(read, kanon.AnonymizationResult)
    assert read.anonymization.builders == made.anonymization.builders


def test_the_named_widths_merge_values(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    incomes = (2_500, 7_500, 15_000, 35_000, 75_000, 200_000)
    file.write_text("\n".join(["income", *map(str, incomes)]) + "\n")
    made = kanon.anonymize(file, ["income"], k=5, max_suppressed=0)

    assert made.anonymization.builders == {"income": "width:5000,10000,20000,suppress"}


def test_what_is_built_of_them_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["age", *map(str, range(40))]) + "\n")
    bare = kanon.anonymize(file, ["age"], k=5).anonymization
    built = run(
        "anonymize", str(file), "--qi", "age", "--k", "5", "--format", "json",
        "--hierarchy", f"age={bare.builders['age']}",
    )  # fmt: skip

    assert json.loads(built.stdout)["anonymization"]["metrics"]["loss"] < bare.metrics.loss


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
def test_a_mask_of_long_text_is_refused(algorithm: str) -> None:
    """It would have a level for each character, each with labels of that length."""
    letters = asking.table(["letter"], [("a" * 30_000,), ("b",)])

    with pytest.raises(SpecError, match='"letter" has a value of 30,000 characters'):
        kanon.anonymize(letters, {"letter": "mask:right"}, k=2, algorithm=algorithm)


# --- levels that are given ----------------------------------------------------------------------


def test_a_release_at_given_levels_searches_none() -> None:
    people = asking.table(["age", "zip"], [(20 + n, f"0{n % 2}") for n in range(6)])
    ages = {"age": {"levels": [{"width": 10}, {"width": 20}]}, "zip": {}}

    found = kanon.anonymize(people, ages, k=3, levels={"age": 1})
    failed = kanon.anonymize(people, ages, k=4, levels={"age": 1})

    assert (found.status, failed.status) == ("holds", "violated")
    assert found.anonymization.algorithm == "levels"
    assert found.anonymization.levels == {"age": 1, "zip": 0}
    assert "At these levels 6 records still lie in classes below 4" in str(failed)
