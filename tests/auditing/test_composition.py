"""What two releases say together: asked in every way, refused where nothing could be said."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asking
import oracle
import pyarrow
import pyarrow.parquet
import pytest

import kanon_sql as kanon
from kanon_sql.errors import InputError

COLUMNS = ["person", "zip", "age", "s"]
NOW = [
    ["a", "02138", "30-39", "flu"],
    ["b", "02138", "30-39", "HIV"],
    ["c", "02138", "30-39", "flu"],
    ["d", "02139", "30-39", "flu"],
    ["e", "02139", "30-39", "asthma"],
]
BEFORE = [
    ["a", "0213*", "35", "flu"],
    ["d", "0213*", "35", "flu"],
    ["f", "0213*", "35", "HIV"],
    ["b", "0213*", "36", "HIV"],
    ["c", "0213*", "36", "asthma"],
    ["e", "0213*", "36", "asthma"],
    ["g", "0213*", "36", "flu"],
]
ASKED: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age"], "entity": "person", "sensitive": "s",
}  # fmt: skip
CROWDS = {
    "model": "composed_k_anonymity",
    "parameters": {"k": 2, "earlier": "earlier"},
    "holds": False,
    "achieved": 1,
    "violating_classes": 3,
    "violating_records": None,
    "violating_people": 3,
    "in_both": 5,
    "joiners": {"people": 0, "k": None},
    "leavers": {"people": 2, "k": 1},
    "alone": {"release": 2, "earlier": 3},
    "average": 4 / 5,
}
CANDIDATES = {
    "model": "composed_l_diversity",
    "parameters": {"l": 2, "sensitive": "s", "earlier": "earlier"},
    "holds": False,
    "achieved": 1,
    "violating_classes": 1,
    "violating_records": None,
    "violating_people": 1,
    "in_both": 5,
    "certain_people": 1,
    "changed_people": 0,
}
DEMANDED = [kanon.ComposedKAnonymity(k=2), kanon.ComposedLDiversity(l=2, sensitive="s")]


def table(rows: Sequence[Sequence[Any]], columns: Sequence[str] = COLUMNS) -> pyarrow.Table:
    return asking.table(columns, rows)


def written(path: Path, rows: Sequence[Sequence[Any]], columns: Sequence[str] = COLUMNS) -> Path:
    lines = [columns, *rows]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    return path


def command(*arguments: Any) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "kanon_sql", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


# --- asked in every way ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "earlier",
    [
        table(BEFORE),
        {"earlier": table(BEFORE)},
        {"earlier": {"source": table(BEFORE)}},
        {"earlier": kanon.EarlierReleaseSpec(source=table(BEFORE))},
    ],
)
def test_from_python(earlier: Any) -> None:
    result = kanon.audit(table(NOW), **ASKED, earlier_releases=earlier, checks=DEMANDED)

    assert result.to_dict()["tables"][0]["checks"][:2] == [CROWDS, CANDIDATES]
    assert result.status == "violated"
    assert kanon.from_json(result.to_json()).to_dict() == result.to_dict()


def test_from_the_command_line(tmp_path: Path) -> None:
    now, before = written(tmp_path / "now.csv", NOW), written(tmp_path / "before.csv", BEFORE)
    asked = ["audit", now, "--qi", "zip,age", "--entity", "person", "--sensitive", "s"]
    demanded = ["--check", "composed_k_anonymity:k=2", "--check", "composed_l_diversity:l=2"]

    found = command(*asked, "--earlier", before, *demanded, "--format", "json")

    assert (found.returncode, found.stderr) == (1, "")
    assert json.loads(found.stdout)["tables"][0]["checks"][:2] == [CROWDS, CANDIDATES]
    told = command(*asked, "--earlier", f"2024={before}", *demanded).stdout
    assert "VIOLATED  composed k-anonymity 2024    k is 1, asked for 2" in told
    assert "by themselves, the releases have k 2 and 3" in " ".join(told.split())
    assert all(value not in told for value in ("HIV", "asthma", "02139"))


def test_from_a_spec(tmp_path: Path) -> None:
    written(tmp_path / "now.csv", NOW)
    renamed = [[row[3], row[1], row[0], row[2]] for row in BEFORE]
    written(tmp_path / "before.csv", renamed, ["dx", "zip_code", "who", "age"])
    spec = tmp_path / "kanon.yml"
    spec.write_text(
        """
version: 1
tables:
  - source: now.csv
    entity: person
    quasi_identifiers: [zip, age]
    sensitive: [s]
    earlier_releases:
      r2024:
        source: before.csv
        columns: {s: dx, zip: zip_code}
        entity: who
        quasi_identifiers: [zip_code, age]
        where: "who <> 'g'"
    checks:
      - composed_k_anonymity: {k: 2, earlier: r2024}
      - composed_l_diversity: {l: 2, earlier: r2024}
""",
        encoding="utf-8",
    )

    found = command("audit", spec, "--format", "json")

    [result] = json.loads(found.stdout)["tables"]
    crowds, candidates, *_ = result["checks"]
    assert found.returncode == 1
    assert crowds == CROWDS | {
        "parameters": {"k": 2, "earlier": "r2024"}, "leavers": {"people": 1, "k": 1},
    }  # fmt: skip
    # Without g there is no flu left in 0213* and 36: b and c keep HIV, and e asthma.
    assert (candidates["achieved"], candidates["certain_people"]) == (1, 4)
    assert list(result["sources"]["earlier_releases"]) == ["r2024"]


def test_it_is_measured_unasked_and_gates_nothing() -> None:
    result = kanon.audit(table(NOW), **ASKED, k=2, earlier_releases=table(BEFORE))

    crowds, candidates = result.tables[0].checks[-2:]
    assert result.status == "holds"
    assert (crowds.model, crowds.holds, crowds.achieved) == ("composed_k_anonymity", None, 1)
    assert (candidates.model, candidates.holds, candidates.achieved) == (
        "composed_l_diversity", None, 1,
    )  # fmt: skip
    assert (crowds.violating_classes, crowds.violating_people) == (None, None)


def test_a_value_of_another_kind_is_not_measured_and_says_so() -> None:
    before = table([[*row[:3], place] for place, row in enumerate(BEFORE)])

    result = kanon.audit(table(NOW), **ASKED, earlier_releases=before, checks=DEMANDED[:1])

    assert [check.model for check in result.tables[0].checks if check.model.startswith("comp")] == [
        "composed_k_anonymity"
    ]
    assert any('"s" of' in said and "is BIGINT" in said for said in result.tables[0].warnings)


def test_a_release_is_rebuilt_at_its_levels() -> None:
    raw = [["a", "02138"], ["b", "02139"], ["c", "02141"], ["d", "02142"]]
    now = [["a", "1"], ["b", "1"], ["c", "1"], ["d", "2"]]
    columns = ["person", "zip"]
    [result] = kanon.audit(
        table(now, columns),
        {"zip": {"levels": [{"prefix": 4}]}},
        entity="person",
        earlier_releases={"r": {"source": table(raw, columns), "levels": {"zip": 1}}},
    ).tables

    _, crowds = result.checks
    assert crowds.achieved == 1
    assert crowds.details["alone"] == {"release": 1, "earlier": 2}


def test_each_of_several_releases_is_measured_by_itself() -> None:
    releases = {"first": table(BEFORE), "second": table(NOW)}
    [result] = kanon.audit(table(NOW), **ASKED, k=2, earlier_releases=releases).tables

    achieved = {
        check.parameters["earlier"]: check.achieved
        for check in result.checks
        if check.model == "composed_k_anonymity"
    }
    assert achieved == {"first": 1, "second": 2}
    assert any("all of them disclose together is not measured" in each for each in result.warnings)


def test_joiners_in_smaller_crowds_are_warned_of() -> None:
    now = [*([person, "1"] for person in "abc"), ["new", "1"]]
    before = [[person, "1"] for person in "abc"]
    [result] = kanon.audit(
        table(now, ["who", "zip"]),
        ["zip"],
        entity="who",
        earlier_releases=table(before, ["who", "zip"]),
        checks=[kanon.ComposedKAnonymity(k=3)],
    ).tables

    assert result.checks[0].holds
    assert result.checks[0].details["joiners"] == {"people": 1, "k": 1}
    assert any("1 person is only in this release" in each for each in result.warnings)


def test_a_release_that_breaks_people_with_an_earlier_one_is_not_written(tmp_path: Path) -> None:
    output = tmp_path / "release.csv"
    now = [[f"p{n}", f"0213{n % 2}", "flu"] for n in range(8)]
    before = [[f"p{n}", "x" if n else "y", "flu"] for n in range(8)]
    columns = ["person", "zip", "s"]
    asked: dict[str, Any] = {
        "quasi_identifiers": {"zip": {}}, "k": 2, "entity": "person", "output": output,
        "checks": [kanon.ComposedKAnonymity(k=2)],
    }  # fmt: skip

    refused = kanon.anonymize(table(now, columns), **asked, earlier_releases=table(before, columns))
    made = kanon.anonymize(table(now, columns), **asked, earlier_releases=table(now, columns))

    assert refused.status == "violated"
    assert made.status == "holds"
    assert output.exists()
    assert next(c for c in refused.checks if c.model == "composed_k_anonymity").achieved == 1


# --- laws -----------------------------------------------------------------------------------


def people(seed: int) -> list[list[Any]]:
    draw = random.Random(seed)
    return [
        [f"p{draw.randrange(12)}", draw.choice(["02138", "02139", "02141", None]),
         draw.choice([31, 35, 38, 44]), draw.choice(["flu", "HIV", "asthma", None])]
        for _ in range(20)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_a_release_with_itself_gives_the_profiles_of_people(seed: int) -> None:
    rows = table(people(seed))

    [result] = kanon.audit(rows, **ASKED, earlier_releases=rows).tables

    found = {check.model: check for check in result.checks}
    profile = found["k_anonymity"].details["profile_k"]
    assert found["composed_k_anonymity"].achieved == profile
    assert found["composed_k_anonymity"].details["joiners"]["people"] == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", ["release", "earlier"])
def test_generalising_either_side_leaves_no_fewer_people(seed: int, side: str) -> None:
    """Where people have one record each: then coarser classes are unions of finer ones."""
    one_each = [list({row[0]: row for row in people(seed + n)}.values()) for n in (0, 100)]
    coarse = [[[*row[:1], "*", *row[2:]] for row in rows] for rows in one_each]
    finer = {"release": one_each[0], "earlier": one_each[1]}
    coarser = finer | {side: coarse[side == "earlier"]}

    def achieved(rows: dict[str, Any]) -> list[Any]:
        [result] = kanon.audit(
            table(rows["release"]), **ASKED, earlier_releases=table(rows["earlier"])
        ).tables
        return [check.achieved for check in result.checks[-2:]]

    (k, _), (coarser_k, _) = achieved(finer), achieved(coarser)
    assert coarser_k >= k


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_another_order_change_nothing(seed: int) -> None:
    now, before = people(seed), people(seed + 7)
    question = oracle.Question(
        quasi_identifiers=["zip", "age"],
        sensitive=["s"],
        entity="person",
        earlier_releases={"before": oracle.Earlier(asking.records(COLUMNS, before))},
    )

    found = [
        asking.figures(
            asking.audit(table(rows), question, earlier_releases={"before": table(others)})
        )
        for rows, others in ((now, before), (now[::-1], before[::-1]))
    ]

    assert found[0] == found[1]


# --- what can't be asked ---------------------------------------------------------------------


STRANGERS = [[f"x{row[0]}", *row[1:]] for row in BEFORE]


def test_an_earlier_release_without_records_is_refused() -> None:
    with pytest.raises(InputError, match="has no record to compare with"):
        kanon.audit(table(NOW), **ASKED, earlier_releases=table(BEFORE).slice(0, 0))


def test_a_check_on_nobody_ends_the_command(tmp_path: Path) -> None:
    now, before = written(tmp_path / "n.csv", NOW), written(tmp_path / "b.csv", STRANGERS)
    asked = ["--qi", "zip,age", "--entity", "person", "--check", "composed_k_anonymity:k=1"]

    found = command("audit", now, *asked, "--earlier", before)

    assert (found.returncode, found.stdout) == (2, "")
    assert "nobody is in both" in found.stderr


def test_two_releases_of_one_name_are_refused(tmp_path: Path) -> None:
    now = written(tmp_path / "now.csv", NOW)
    asked = ["--qi", "zip,age", "--entity", "person", "--earlier", now, "--earlier", now]

    found = command("audit", now, *asked)

    assert (found.returncode, found.stdout) == (2, "")
    assert 'two earlier releases called "earlier"' in found.stderr
