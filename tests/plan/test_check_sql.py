"""What a check adds to the SQL that measures classes: expressions under their names, each once."""

from __future__ import annotations

import pytest

from kanon_sql.models.base import SensitiveModel
from kanon_sql.models.catalogue import MODELS
from kanon_sql.sql.macros import declared, macro_names

DECLARING = sorted(
    name
    for name, model in MODELS.items()
    if issubclass(model, SensitiveModel) and f"{name}_columns" in macro_names()
)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("entity", [None, "person"])
@pytest.mark.parametrize("name", DECLARING)
def test_a_model_declares_its_columns(name: str, entity: str | None, unknown: bool) -> None:
    found = declared(
        f"{name}_columns",
        sensitive="s", counted="kanon_records", l=2, label="x", entity=entity, unknown=unknown,
    )  # fmt: skip

    assert found
    assert all(set(each) == {"name", "expression"} for each in found)
    assert all(each["name"].startswith("kanon_") and each["expression"] for each in found)


def test_what_all_of_them_declare_under_one_name_is_the_same() -> None:
    """One statement has the columns of all its checks, each once."""
    said: dict[str, set[str]] = {}
    for name in DECLARING:
        for each in declared(f"{name}_columns", sensitive="s", counted="c", l=2, label="x"):
            said.setdefault(each["name"], set()).add(each["expression"])

    assert {name: texts for name, texts in said.items() if len(texts) > 1} == {}
