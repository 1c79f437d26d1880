"""Names and labels that SQL, an option or a total could trip over."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

ODD = (
    "total",
    "n",
    "value",
    "select",
    "all",
    "kanon_d1",
    "kanon_cells",
    'a"b',
    "it's",
    "🦉",
    "a, b",
)
"""Names of columns."""
LABELS = ("a, b", "🦉", 'x"y', "it's", "NULL", "=", "*", "%")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, *rows: tuple[Any, ...]) -> str:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return name


def spelled(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def tables(*arguments: str) -> dict[str, Any]:
    result = run("tables", *arguments, "--format", "json")
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)["tables"][0]
    return found


@pytest.mark.parametrize("name", ODD)
def test_a_dimension_may_have_any_name(name: str) -> None:
    rows = [(LABELS[i % 4], LABELS[4 + i % 3], f"p{i % 5}", 10 + i) for i in range(12)]
    odd = written("odd.csv", (name, "b", "c", "v"), *rows)
    plain = written("plain.csv", ("d", "b", "c", "v"), *rows)
    rest = ("--value", "v", "--contributor", "c", "--threshold", "3", "--dominance", "2,80")
    more = ("--derivable", "--check", "group_disclosure")

    found = tables(odd, "--by", f"{spelled(name)},b", *rest, *more)
    expected = tables(plain, "--by", "d,b", *rest, *more)

    assert found["by"] == [name, "b"]
    assert found["checks"] == expected["checks"]
    assert found["summary"] == expected["summary"]


@pytest.mark.parametrize("name", ODD)
def test_a_figure_and_a_total_may_have_any_name(name: str) -> None:
    cells = [("N", 12), ("S", "*"), ("All, in", 19)]
    written("cells.csv", ("region", name), *cells)
    written("dimension.csv", (name, "x"), *cells)
    rest = ("--published", "--suppressed", "*", "--derivable")

    of_figure = tables(
        *("cells.csv", "--by", "region", "--value", name, *rest, "--total-label", "All, in")
    )
    label = f"{spelled(name)}=All, in"
    of_dimension = tables(
        *("dimension.csv", "--by", spelled(name), "--value", "x", *rest, "--total-label", label)
    )

    for found in (of_figure, of_dimension):
        assert found["summary"]["margin_cells"] == 1
        assert found["checks"][0]["derived_cells"] == 1


@pytest.mark.parametrize(
    ("option", "mark"),
    [
        ("a=b", "a=b"),
        ("a=b=1..9", "a=b"),
        ("=", "="),
        ("==1..9", "="),
        ("<11=1..10", "<11"),
        ("x=..9", "x"),
        ('"NULL"', "NULL"),
        ('"a=1..2"', "a=1..2"),
        ("it's", "it's"),
        ("🦉=1..9", "🦉"),
    ],
)
def test_a_mark_may_be_any_text(option: str, mark: str) -> None:
    written("cells.csv", ("region", "n"), ("N", 12), ("S", mark), ("Total", 19))

    found = tables(
        *("cells.csv", "--by", "region", "--value", "n", "--published", "--derivable"),
        *("--suppressed", option, "--total-label", "Total"),
    )

    assert found["summary"]["suppressed"] == 1
    assert found["checks"][0]["by_subtraction"] == 1


@pytest.mark.parametrize("label", LABELS)
def test_a_label_may_be_any_text(label: str) -> None:
    written("cells.csv", ("region", "n"), (label, "x"), ("S", 7), ("Total", 19))

    found = tables(
        *("cells.csv", "--by", "region", "--value", "n", "--published", "--derivable"),
        *("--suppressed", "x", "--total-label", "Total"),
    )

    assert found["summary"]["cells"] == 3
    assert found["checks"][0]["derived_cells"] == 1


@pytest.mark.parametrize("label", [each for each in LABELS if each not in ("*",)])
def test_any_label_may_stand_for_the_total(label: str) -> None:
    written("cells.csv", ("region", "n"), ("N", "x"), ("S", 7), (label, 19))
    option = f"region={label}" if label != "NULL" else 'region="NULL"'

    found = tables(
        *("cells.csv", "--by", "region", "--value", "n", "--published", "--derivable"),
        *("--suppressed", "x", "--total-label", option),
    )

    assert found["summary"]["margin_cells"] == 1
    assert found["checks"][0]["derived_cells"] == 1


@pytest.mark.parametrize("name", ODD)
def test_a_hierarchy_may_be_of_any_name_and_repeat_labels(name: str) -> None:
    written("h.csv", ("x", "X", "all"), ("y", "X", "all"), ("z", "z", "all"))
    rows = [("xyz"[i % 3], "ab"[i % 2]) for i in range(11)]
    written("odd.csv", (name, "b"), *rows)
    written("plain.csv", ("d", "b"), *rows)
    rest = ("--header", "yes", "--threshold", "3", "--derivable", "--check", "group_disclosure")

    found = tables("odd.csv", "--by", f"{spelled(name)},b", "--hierarchy",
                   f"{spelled(name)}=h.csv", *rest)  # fmt: skip
    expected = tables("plain.csv", "--by", "d,b", "--hierarchy", "d=h.csv", *rest)

    assert found["checks"] == expected["checks"]


def test_the_top_label_of_a_hierarchy_is_the_total() -> None:
    written("h.csv", ("x", "X", "all"), ("y", "X", "all"), ("z", "Z", "all"))
    written("cells.csv", ("r", "n"), *zip("xyzXZ", ("*", 4, 5, 7, 5), strict=True), ("all", 12))

    found = tables(
        *("cells.csv", "--by", "r", "--value", "n", "--published", "--suppressed", "*"),
        *("--hierarchy", "r=h.csv", "--derivable"),
    )

    assert found["summary"]["margin_cells"] == 3
    assert found["checks"][0]["derived_cells"] == 1


def test_a_column_called_all_is_a_margin_in_quotes() -> None:
    written("t.csv", ("all", "b"), ("x", "u"), ("y", "v"), ("x", "v"))

    every = tables("t.csv", "--by", "all,b", "--margins", "all")
    quoted = tables("t.csv", "--by", "all,b", "--margins", '"all"')
    grand = tables("t.csv", "--by", "all,b", "--margins", '"all"', "--margins", "()")

    assert [each["margins"] for each in (every, quoted, grand)] == ["all", [["all"]], [["all"], []]]
    assert [each["summary"]["margin_cells"] for each in (every, quoted, grand)] == [5, 2, 3]
