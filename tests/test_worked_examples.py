"""Is it the published definition? Small tables with cited answers, in `tests/models/*.yml`.

Each example is asked of kanon-sql and of the oracle, and compared as far as the source speaks.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asking
import oracle
import pytest
import yaml

HERE = Path(__file__).parent
DATA = Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data"))
"""Public data sets that are too large to ship; examples that need them are skipped without."""

EXAMPLES = {
    f"{path.stem}: {example['id']}": example
    for path in sorted((HERE / "models").glob("*.yml"))
    for example in yaml.safe_load(path.read_text(encoding="utf-8"))
}
SMALL = {name: example for name, example in EXAMPLES.items() if "rows" in example}
LARGE = {name: example for name, example in EXAMPLES.items() if "file" in example}


def question(example: Mapping[str, Any]) -> oracle.Question:
    references = {
        name: oracle.Reference(
            records=asking.records(reference["columns"], reference["rows"]),
            columns=reference.get("renamed"),
            entity=reference.get("entity"),
            weight=reference.get("weight"),
        )
        for name, reference in example.get("references", {}).items()
    }
    return oracle.Question(references=references, **example["question"])


@pytest.mark.parametrize("example", SMALL.values(), ids=SMALL)
def test_small_table(example: dict[str, Any]) -> None:
    result = asking.audit(
        asking.table(example["columns"], example["rows"]),
        question(example),
        {
            name: asking.table(reference["columns"], reference["rows"])
            for name, reference in example.get("references", {}).items()
        },
    )

    found = asking.figures(result)

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", SMALL.values(), ids=SMALL)
def test_small_table_by_the_oracle(example: dict[str, Any]) -> None:
    records = asking.records(example["columns"], example["rows"])

    found = oracle.audit(records, question(example))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", LARGE.values(), ids=LARGE)
def test_public_file(example: dict[str, Any]) -> None:
    path, first = _public_file(example)

    found = asking.figures(asking.audit(path, question(example), first=first))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", LARGE.values(), ids=LARGE)
def test_public_file_by_the_oracle(example: dict[str, Any]) -> None:
    path, first = _public_file(example)
    with path.open(newline="", encoding="utf-8") as file:
        records = list(csv.DictReader(file))[:first]

    found = oracle.audit(records, question(example))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


def _public_file(example: Mapping[str, Any]) -> tuple[Path, int | None]:
    path = DATA / example["file"]["path"]
    if not path.is_file():
        pytest.skip(
            f"{example['file']['path']} is not here; put it beside the checkout in shared/data, "
            "or name its folder in KANON_SQL_DATA"
        )
    return path, example["file"].get("first")
