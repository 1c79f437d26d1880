"""Is it the published definition? Small tables with cited answers, in `tests/models/*.yml`.

Each example is asked of kanon-sql and of the oracle, and compared as far as the source speaks.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asking
import duckdb
import oracle
import pytest
import yaml
from oracle_of_synthesis import Units
from real_data import DATA, HERE

import kanon_sql as kanon

EXAMPLES = {
    f"{path.stem}: {example['id']}": example
    for path in sorted((HERE / "models").glob("*.yml"))
    for example in yaml.safe_load(path.read_text(encoding="utf-8"))
}
LARGE = {name: example for name, example in EXAMPLES.items() if "file" in example}
SMALL = {name: example for name, example in EXAMPLES.items() if name not in LARGE}


@dataclass(frozen=True)
class Data:
    """The records of a small example, and those of its references."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    references: Mapping[str, Mapping[str, Any]]
    earlier: Mapping[str, Mapping[str, Any]]
    original: Mapping[str, Any] | None = None
    holdout: Mapping[str, Any] | None = None


def data(example: Mapping[str, Any]) -> Data:
    """The records that stand in an example, or in the one that it names as its `table`.

    `counts` has records with how often they occur. Of `sizes` only the sizes of the classes
    matter: so many classes of each size.
    """
    if "table" in example:
        return data(EXAMPLES[example["table"]])
    references, earlier = example.get("references", {}), example.get("earlier", {})
    if "sizes" in example:
        sizes = [size for size, classes in example["sizes"].items() for _ in range(classes)]
        rows = [[place] for place, size in enumerate(sizes) for _ in range(size)]
        return Data(["class"], rows, references, earlier)
    rows = [row for *row, records in example.get("counts", []) for _ in range(records)]
    beside = (example.get("original"), example.get("holdout"))
    return Data(example["columns"], example.get("rows", rows), references, earlier, *beside)


def question(example: Mapping[str, Any], folder: Path) -> oracle.Question:
    """What is asked; the `files` that a check names are written to the folder first."""
    for name, text in example.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    asked = dict(example["question"])
    asked["checks"] = [
        {
            model: {
                key: str(folder / value) if key == "hierarchy" else value
                for key, value in parameters.items()
            }
            for model, parameters in check.items()
        }
        for check in asked.get("checks", [])
    ]
    references = {} if "file" in example else data(example).references
    earlier = {} if "file" in example else data(example).earlier
    original, holdout = (
        Units(
            asking.records(table["columns"], table["rows"]),
            example["original"].get("entity", asked.get("entity")),
        )
        if (table := example.get(key))
        else None
        for key in ("original", "holdout")
    )
    return oracle.Question(
        references={
            name: oracle.Reference(
                records=asking.records(reference["columns"], reference["rows"]),
                columns=reference.get("renamed"),
                entity=reference.get("entity"),
                weight=reference.get("weight"),
            )
            for name, reference in references.items()
        },
        earlier_releases={
            name: oracle.Earlier(
                asking.records(release["columns"], release["rows"]),
                release.get("renamed"),
                release.get("quasi_identifiers", ()),
                release.get("entity"),
            )
            for name, release in earlier.items()
        },
        original=original,
        holdout=holdout,
        **asked,
    )


@pytest.mark.parametrize("example", SMALL.values(), ids=SMALL)
def test_small_table(example: dict[str, Any], tmp_path: Path) -> None:
    given = data(example)
    result = asking.audit(
        asking.table(given.columns, given.rows),
        question(example, tmp_path),
        {
            name: asking.table(reference["columns"], reference["rows"])
            for name, reference in given.references.items()
        },
        earlier_releases={
            name: asking.table(release["columns"], release["rows"])
            for name, release in given.earlier.items()
        },
        **{
            key: asking.table(table["columns"], table["rows"])
            for key in ("original", "holdout")
            if (table := getattr(given, key))
        },
        hierarchies_of_events=example.get("hierarchies_of_events"),
        **({"levels": example["levels"]} if "levels" in example else {}),
    )

    found = asking.figures(result)

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", SMALL.values(), ids=SMALL)
def test_small_table_by_the_oracle(example: dict[str, Any], tmp_path: Path) -> None:
    given = data(example)
    # Of a text at a level so many characters are left.
    left = example.get("characters_left", {})
    records = [
        {name: cell[: left[name]] if name in left else cell for name, cell in record.items()}
        for record in asking.records(given.columns, given.rows)
    ]

    found = oracle.audit(records, question(example, tmp_path))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", LARGE.values(), ids=LARGE)
def test_public_file(example: dict[str, Any], tmp_path: Path) -> None:
    path, first = _public_file(example)

    found = asking.figures(asking.audit(path, question(example, tmp_path), first=first))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


@pytest.mark.parametrize("example", LARGE.values(), ids=LARGE)
def test_public_file_by_the_oracle(example: dict[str, Any], tmp_path: Path) -> None:
    path, first = _public_file(example)
    with path.open(newline="", encoding="utf-8") as file:
        delimiter = example["file"].get("delimiter", ",")
        records = list(csv.DictReader(file, delimiter=delimiter))[:first]

    found = oracle.audit(records, question(example, tmp_path))

    assert asking.part_of(found, example["expected"]) == asking.near(example["expected"])


def _public_file(example: Mapping[str, Any]) -> tuple[Path, int | None]:
    path = DATA / example["file"]["path"]
    if not path.is_file():
        pytest.skip(
            f"{example['file']['path']} is not here; put it beside the checkout in shared/data, "
            "or name its folder in KANON_SQL_DATA"
        )
    return path, example["file"].get("first")


@pytest.mark.parametrize(
    ("type", "held", "named"),
    [
        ("decimal(9, 2)", "0.5", 0.5),
        ("decimal(9, 2)", "2", 2.0),
        ("double", "0.1", 0.1),
        ("hugeint", "7", 7),
    ],
)
def test_a_number_that_a_check_names_is_found_however_it_is_spelled(
    type: str, held: str, named: float
) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"create table visits as select n // 4 as zip, cast({held} as {type}) as code "
            "from range(8) as numbers(n)"
        )
        result = kanon.audit(
            "visits",
            engine=connection,
            quasi_identifiers="zip",
            sensitive="code",
            checks=[kanon.AlphaKAnonymity(alpha=0.5, values=[named], sensitive="code")],
        )

    assert not result.holds
    assert result.tables[0].checks[0].achieved == 1
