"""Every column that a question misspells is named at once, whatever names it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql.question.roles import ROLES
from kanon_sql.question.spec import TableSpec

VISITS = "person,zip,age,ward,month,weight,ill\n1,a,20,A,1,1,flu\n2,a,21,A,2,1,HIV\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("visits.csv", "others.csv"):
        Path(name).write_text(VISITS, encoding="utf-8")


def named_in(error: str) -> list[str]:
    """The columns of which the lines of an error say that there are none."""
    faults = [line for line in error.splitlines() if not re.match(" *[0-9]* [|]", line)]
    found = (re.search(r'(?:no column|^|: )\s*"(\w+)"(?: is no|[.,])', line) for line in faults)
    return [match[1] if match else line for match, line in zip(found, faults, strict=True)]


@pytest.mark.parametrize("key", [role.key for role in ROLES if role.key != "undecided"])
def test_python_names_those_of_every_role(key: str) -> None:
    roles = {"quasi_identifiers": ["zipp"], "entity": "nobody"}
    roles |= {key: "illl" if key in ("entity", "weight") else ["illl"]}
    if key == "events":
        roles.pop("quasi_identifiers")

    with pytest.raises(kanon.SpecError) as refused:
        kanon.audit(pd.DataFrame({"zip": ["a"], "age": [1]}), **roles)

    misspelt = [
        name for names in roles.values() for name in ([names] if isinstance(names, str) else names)
    ]
    assert sorted(named_in(str(refused.value))) == sorted(misspelt)


def test_every_key_that_names_columns_is_a_role_or_known_to_this_test() -> None:
    others = {
        *("source", "name", "connect", "unassigned", "first", "nulls", "sensitive_nulls"),
        *("hierarchy_faults", "with_other_sensitive", "null_strings", "delimiter", "decimal"),
        *("header", "policy", "release", "lineage"),
        # Which name columns too, and are read beside the roles.
        *("where", "levels", "references", "earlier_releases", "checks"),
    }
    assert set(TableSpec.model_fields) == {role.key for role in ROLES} | others
