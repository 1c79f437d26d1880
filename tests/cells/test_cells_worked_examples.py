"""The worked examples of published tables, by the command line and by Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

import kanon_sql as kanon
from kanon_sql.models.catalogue import CELL_MODELS

EXAMPLES = json.loads((Path(__file__).parent / "worked_examples.json").read_text("utf-8"))
BY_ID = {each["id"]: each for each in EXAMPLES}
for each in EXAMPLES:
    if isinstance(each["rows"], str):
        each["rows"] = BY_ID[each["rows"]]["rows"]


def known(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [check for check in checks if check["model"] in CELL_MODELS]


def write(folder: Path, example: dict[str, Any]) -> None:
    for name, table in {"t.csv": example, **(example.get("other_files") or {})}.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if name != "h.csv":
                writer.writerow(table["columns"])
            writer.writerows(["" if cell is None else cell for cell in r] for r in table["rows"])


def asked(example: dict[str, Any], folder: Path) -> list[str]:
    """The arguments, without checks of models that are not known."""
    words: list[str] = []
    given = iter(example["arguments"])
    for word in given:
        if word == "--check":
            check = next(given)
            if check.partition(":")[0] in CELL_MODELS:
                words += [word, check]
            continue
        words.append(word.replace("@", f"{folder}/"))
    return words


def compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    summary = {key: found["summary"][key] for key in expected["summary"]}
    assert summary == expected["summary"]
    for check, wanted in zip(found["checks"], known(expected["checks"]), strict=False):
        assert check["model"] == wanted["model"]
        parameters = {key: check["parameters"][key] for key in wanted["parameters"]}
        assert parameters == wanted["parameters"]
        figures = {key: check[key] for key in wanted if key not in ("model", "parameters")}
        assert figures == {
            key: pytest.approx(each, rel=1e-12) if isinstance(each, float) else each
            for key, each in wanted.items()
            if key in figures
        }


@pytest.mark.parametrize("name", BY_ID)
def test_the_command_line_finds_what_was_computed(tmp_path: Path, name: str) -> None:
    example = BY_ID[name]
    write(tmp_path, example)
    expected = example["expected"]

    result = run("tables", *asked(example, tmp_path), "--format", "json")

    assert result.stderr == ""
    compare(json.loads(result.stdout)["tables"][0], expected)
    if len(known(expected["checks"])) == len(expected["checks"]):
        assert result.exit_code == expected["rc"]


@pytest.mark.parametrize("name", BY_ID)
def test_python_finds_the_same(tmp_path: Path, name: str) -> None:
    example = BY_ID[name]
    write(tmp_path, example)
    given = {key: each for key, each in example["parameters"].items() if key != "target"}
    given["checks"] = [each for each in given["checks"] if set(each) <= set(CELL_MODELS)]
    if hierarchies := given.pop("hierarchy", None):
        given["hierarchies"] = {k: str(tmp_path / each) for k, each in hierarchies.items()}
    if against := given.pop("against", None):
        given["against"] = tmp_path / against["source"]
    if not given.get("total_label", True):
        del given["total_label"]

    result = kanon.tables(tmp_path / "t.csv", **given)

    compare(json.loads(result.to_json())["tables"][0], example["expected"])
