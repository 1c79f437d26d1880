"""A release as a dbt model: what its two files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import kanon_sql as kanon

PEOPLE = pa.table(
    {
        "zip": [f"0213{n % 4}" for n in range(40)],
        "age": [20 + n for n in range(40)],
        "sex": ["F", "M"] * 20,
        "name": [f"n{n}" for n in range(40)],
        "diagnosis": ["flu", "asthma", "flu", "cold"] * 10,
    }
)
QUASI_IDENTIFIERS = {
    "zip": {"levels": [{"mask": "right"}]},
    "age": {"clip": [25, None], "levels": [{"width": 10}, {"width": 20}, "suppress"]},
    "sex": {"hierarchy": {"F": ["person"], "M": ["person"]}},
}


def emitted(folder: Path, **parts: Any) -> tuple[str, Any]:
    path = folder / "released.sql"
    asked = {
        "name": "people",
        "quasi_identifiers": QUASI_IDENTIFIERS,
        "k": 5,
        "identifiers": "name",
        **parts,
    }
    kanon.anonymize(PEOPLE, **asked, output=path, emit="dbt-model")
    return path.read_text(), yaml.safe_load(path.with_suffix(".yml").read_text())


def test_the_model_has_the_levels_and_leaves_out_what_violates(tmp_path: Path) -> None:
    sql, _ = emitted(tmp_path, max_suppressed=0)

    assert 'kanon_sql.generalized(ref("people"), {' in sql
    assert '"levels": [{"width": 10}, {"width": 20}, "suppress"]' in sql
    assert '"clip": [25, none]' in sql
    assert 'identifiers=["name"]) }}' in sql
    assert "kanon_size < 5" in sql
    assert '"name"' not in sql.partition("identifiers=")[2].partition("\n")[2]


def test_the_properties_have_roles_and_tests(tmp_path: Path) -> None:
    checks = [kanon.LDiversity(l=2, sensitive="diagnosis")]
    _, properties = emitted(tmp_path, checks=checks, sensitive="diagnosis")

    [model] = properties["models"]
    roles = {
        column["name"]: column["config"]["meta"]["kanon_sql"]["role"] for column in model["columns"]
    }
    assert roles == {
        "zip": "quasi_identifier", "age": "quasi_identifier", "sex": "quasi_identifier",
        "diagnosis": "sensitive",
    }  # fmt: skip
    names = ["zip", "age", "sex"]
    assert model["data_tests"] == [
        {"kanon_sql.l_diversity": {
            "arguments": {"quasi_identifiers": names, "l": 2, "sensitive": "diagnosis"}}},
        {"kanon_sql.k_anonymity": {"arguments": {"quasi_identifiers": names, "k": 5}}},
    ]  # fmt: skip
    demanded = model["config"]["meta"]["kanon_sql"]["checks"]
    assert demanded == [
        {"l_diversity": {"l": 2, "sensitive": "diagnosis"}},
        {"k_anonymity": {"k": 5}},
    ]


def test_what_a_model_can_not_ask(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError, match="whole table"):
        emitted(tmp_path, where="age > 30")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(kanon.SpecError, match=r"a \.sql file"):
        kanon.anonymize(
            PEOPLE, quasi_identifiers="zip", k=2, output=tmp_path / "r.csv", emit="dbt-model"
        )


def test_neither_file_is_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "released.yml").write_text("mine")

    with pytest.raises(kanon.SpecError, match=r"released\.yml is there already"):
        emitted(tmp_path)
    assert not (tmp_path / "released.sql").exists()
