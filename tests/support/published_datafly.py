"""Searches of Datafly with their published or reckoned answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import asking
import oracle_datafly
import yaml
from places import TESTS

HERE = TESTS / "datafly"


def examples(name: str) -> dict[str, dict[str, Any]]:
    """The worked examples of a file by their ids."""
    text = (HERE / f"{name}.yml").read_text(encoding="utf-8")
    return {example["id"]: example for example in yaml.safe_load(text)}


DATAFLY = examples("datafly")


NODES = examples("nodes")


def asked(example: Mapping[str, Any]) -> oracle_datafly.Asked:
    """What an example asks. A quasi-identifier without a hierarchy has one level, suppress."""
    given = dict(example["asked"])
    parts = given.pop("quasi_identifiers")
    records = asking.records(example["columns"], example["rows"])
    return oracle_datafly.Asked(
        hierarchies={
            name: part.get("hierarchy") or {record[name]: ["*"] for record in records}
            for name, part in parts.items()
        },
        listed=[name for name, part in parts.items() if part],
        **given,
    )


def frequencies(rows: list[list[Any]]) -> Counter[tuple[Any, ...]]:
    """A frequency set as an example writes it: the cells of a class, and its records."""
    return Counter({tuple(cells): records for *cells, records in rows})


AT_NODES = {f"{name} {node}": (e, node) for name, e in NODES.items() for node in e["k"]}


def levels(example: Mapping[str, Any], node: str) -> dict[str, int]:
    return dict(zip(example["quasi_identifiers"], map(int, node), strict=True))
