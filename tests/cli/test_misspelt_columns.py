"""Every column that a question misspells is named at once, whatever names it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql.question.roles import ROLES
from kanon_sql.question.table import TableSpec
from tests.support.commands import run

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


ASKED = [
    "audit visits.csv --entity nobody --events wardd,monthh --qi zipp",
    "audit visits.csv --qi zipp,agee --sensitive illl --identifiers namee --weight weightt",
    "audit visits.csv --qi zipp --check l_diversity:l=2,sensitive=illl "
    "--check t_closeness:t=1,sensitive=dx",
    "audit visits.csv --qi *,zipp --sensitive illl --entity nobody",
    "audit visits.csv --qi zip --where agee>3andmonthh=1 --level agge=1,wardd=1",
    "audit visits.csv --qi zip,age --reference r=others.csv --reference-entity nobody "
    "--reference-columns zip=zipcode,agee=years --reference-where wardd='A' "
    "--reference-level agge=1",
    "audit visits.csv --qi zip,age --reference r=others.csv --reference-weight r:weightt "
    "--reference-columns r:zip=zipcode --reference s=others.csv --reference-columns s:age=years",
    "audit visits.csv --qi zip --sensitive ill --entity person --earlier e=others.csv "
    "--earlier-columns zip=zipcode,ill=illness,person=nobody",
    "audit visits.csv --qi zipp --entity person --earlier e=others.csv --earlier-qi zipcode,agee "
    "--earlier-entity nobody",
    "validate visits.csv --qi zipp,agee --entity nobody",
    "compile visits.csv --qi zipp,agee --entity nobody",
    "worksheet visits.csv --qi zipp,agee --sensitive illl --sample 2 --show-values --output w.csv",
    "tables visits.csv --by wardd,monthh --value valuee --contributor nobody --weight weightt",
    "tables visits.csv --by wardd --value valuee --published --total-flag wardd=flagg",
    "tables visits.csv --by ward --value age --count countt --published --against x=others.csv "
    "--against-columns ward=wardd,age=agee",
    "profile visits.csv --qi zipp --attacker-knows wardd,monthh",
    "profile visits.csv --entity nobody --columns zipp,agee",
    "anonymize visits.csv --qi zipp --k 2 --identifiers nobody --keep agee --at-most wardd=1 "
    "--weight-of monthh=2",
    "tradeoff visits.csv --qi zipp --identifiers nobody --keep agee",
]
MISSPELT = (
    *("nobody", "wardd", "monthh", "zipp", "agee", "agge", "illl", "dx", "namee", "weightt"),
    *("zipcode", "years", "illness", "valuee", "flagg", "countt"),
)


@pytest.mark.parametrize("command", ASKED)
def test_every_verb_names_all_of_them_and_nothing_else(command: str) -> None:
    arguments = [word.replace("3andmonthh", "3 and monthh") for word in command.split()]

    ended = run(*arguments)

    written = set(re.findall(r"\w+", " ".join(arguments)))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert set(named_in(ended.stderr.removeprefix("error: "))) == written.intersection(MISSPELT)


def test_a_spec_locates_each_of_them_at_its_key() -> None:
    lines = """\
version: 1
tables:
  - source: visits.csv
    entity: nobody
    events: [wardd, monthh]
    quasi_identifiers:
      zipp: {}
    insensitive: [agee]
    levels: {agge: 1}
    where: dx = 1
    references:
      people:
        source: others.csv
        columns: {zip: zipcode}
        entity: person
    checks:
      - l_diversity: {l: 2, sensitive: illl}
""".splitlines()
    Path("kanon.yml").write_text("\n".join(lines), encoding="utf-8")

    ended = run("validate", "kanon.yml")

    located = re.findall(r"^(?:error: )?kanon.yml:(\d+):\d+: (.*)", ended.stderr, re.MULTILINE)
    assert ended.exit_code == 2
    assert sorted(named_in("\n".join(message for _, message in located))) == sorted(
        ["nobody", "wardd", "monthh", "zipp", "agee", "agge", "dx", "zipcode", "illl"]
    )
    for (number, message), name in zip(
        located, named_in("\n".join(m for _, m in located)), strict=True
    ):
        assert name in lines[int(number) - 1], message


def test_a_published_table_of_a_spec_locates_each_of_them_at_its_key() -> None:
    Path("cells.yml").write_text(
        "version: 1\n"
        "published:\n"
        "  - source: visits.csv\n"
        "    by: [wardd, month]\n"
        "    value: valuee\n"
        "    contributor: nobody\n",
        encoding="utf-8",
    )

    ended = run("tables", "cells.yml")

    for place, name in (("4:10", "wardd"), ("5:12", "valuee"), ("6:18", "nobody")):
        assert f'cells.yml:{place}: visits.csv has no column "{name}"' in ended.stderr


@pytest.mark.parametrize("key", [role.key for role in ROLES if role.key != "undecided"])
def test_python_names_those_of_every_role(key: str) -> None:
    roles = {"quasi_identifiers": ["zipp"], "entity": "nobody"}
    roles |= {key: "illl" if key in ("entity", "weight", "household") else ["illl"]}
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
        *("header", "encoding", "skip", "policy", "release", "lineage"),
        "entity_in_release",
        # Which name columns too, and are read beside the roles.
        *("dates", "where", "levels", "references", "earlier_releases", "checks"),
        *("original", "holdout", "sensitive_levels"),
    }
    assert set(TableSpec.model_fields) == {role.key for role in ROLES} | others


@pytest.mark.parametrize(("known", "entity"), [("zip,age", "ill"), ("ZIP,AGE", "ILL")])
def test_every_column_with_two_roles_is_named_at_once(known: str, entity: str) -> None:
    """Spelled alike they are found in the question, otherwise in the table."""
    ended = run(
        *("audit", "visits.csv", "--qi", known, "--sensitive", "zip,ill"),
        *("--identifiers", "age", "--entity", entity),
    )
    assert ended.exit_code == 2
    for column in ("zip", "age", "ill"):
        assert f'column "{column}" is both ' in ended.stderr
