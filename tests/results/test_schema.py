"""The JSON Schema of results and baselines: open for readers, closed here."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pytest
from audits import HOLDS, LINKED, MADE_FOR_PEOPLE, VIOLATED, audited, with_checks
from questions import EVERYTHING

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import InputError
from kanon_sql.results.baseline import Baseline
from kanon_sql.results.diff import diff
from kanon_sql.results.schema import baseline_schema, result_schema
from kanon_sql.results.seal import sealed
from kanon_sql.results.stored import read_costs, read_profile, result_of
from kanon_sql.results.table import FileDigest, ResultFile

PEOPLE = "\n".join(
    ["zip,age,job,city", *(f"{n % 7:05},{n % 5},{'ab'[n % 2]},{'xyz'[n % 3]}" for n in range(60))]
)


@pytest.fixture
def csv(tmp_path: Path) -> str:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return str(tmp_path / "people.csv")


def closed(schema: Any) -> Any:
    """The schema without any key that it does not describe."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema and "oneOf" not in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def of_kind(title: str) -> Any:
    """The closed schema of one kind of result, so that a fault is told where it is."""
    schema = result_schema()
    [kind] = [each for each in schema["oneOf"] if each["title"] == title]
    whole = schema | kind | {"properties": schema["properties"] | kind["properties"]}
    del whole["oneOf"]
    return closed(whole)


@cache
def validator(title: str | None = None) -> jsonschema.Draft202012Validator:
    """What holds a document against the open schema, or against the closed one of a kind."""
    return jsonschema.Draft202012Validator(of_kind(title) if title else result_schema())


def described(result: Any, title: str) -> None:
    """Every key is described, the kind is told apart from the others, and it is read as it is."""
    document = json.loads(result.to_json())
    assert list(document)[:2] == ["kanon_sql", "format"]
    assert document["format"] == 1
    validator(title).validate(document)
    validator().validate(document)
    validator().validate({key: part for key, part in document.items() if key != "format"})


def test_both_schemas_are_schemas() -> None:
    for schema, name in ((result_schema(), "result"), (baseline_schema(), "baseline")):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["$id"].endswith(f"/v{kanon.__version__}/{name}.schema.json")


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_key_of_every_model_is_described(name: str) -> None:
    described(_audited(name), "audit or anonymize")


def _audited(name: str) -> Any:
    import asking

    asked = EVERYTHING[name]
    others = (asked.reference, asked.earlier, asked.original, asked.holdout)
    beside = [each.arrow if each else None for each in others]
    return asking.audit(
        asked.table.arrow,
        asked.question,
        references={"people": beside[0]},
        earlier_releases={"before": beside[1]},
        original=beside[2],
        holdout=beside[3],
    )


def _accepted() -> Any:
    failed = audited(VIOLATED)
    return Baseline.of([failed]).applied_to(failed)


RESULTS: dict[str, Callable[[str], tuple[Any, str]]] = {
    "made up": lambda _: (
        audited(HOLDS, VIOLATED, MADE_FOR_PEOPLE, with_checks(LINKED)),
        "audit or anonymize",
    ),
    "of a spec": lambda _: (
        replace(
            audited(HOLDS),
            files=(FileDigest("spec", "kanon.yml", "0" * 64),),
            spec="version: 1\n",
        ),
        "audit or anonymize",
    ),
    "no table": lambda _: (audited(), "audit or anonymize"),
    "accepted": lambda _: (_accepted(), "audit or anonymize"),
    "values": lambda csv: (
        kanon.audit(csv, ["zip", "age"], checks=[kanon.KAnonymity(k=99)], show_values=True),
        "audit or anonymize",
    ),
    "no data": lambda csv: (
        kanon.audit(csv, ["zip"], checks=[kanon.KAnonymity(k=2)], where="zip = 'none'"),
        "audit or anonymize",
    ),
    "levels": lambda csv: (
        kanon.audit(
            csv,
            {"zip": {"levels": [{"mask": "right"}], "why": "on envelopes"}},
            sensitive=["job"],
            levels={"zip": 2},
            checks=[kanon.KAnonymity(k=2)],
        ),
        "audit or anonymize",
    ),
    **{
        algorithm: lambda csv, algorithm=algorithm: (
            kanon.anonymize(
                csv,
                {"zip": {"levels": [{"mask": "right"}]}, "age": {}},
                sensitive=["job"],
                checks=[kanon.KAnonymity(k=9)],
                algorithm=algorithm,
                **({"minimal_nodes": True} if algorithm == "optimal" else {}),
            ),
            "audit or anonymize",
        )
        for algorithm in ("datafly", "optimal", "local")
    },
    "in vain": lambda csv: (
        kanon.anonymize(
            csv,
            ["zip", "age"],
            sensitive=["job"],
            checks=[kanon.KAnonymity(k=2), kanon.LDiversity(l=3, sensitive="job")],
        ),
        "audit or anonymize",
    ),
    "profile": lambda csv: (
        kanon.profile(csv, ["zip"], sensitive=["job"], k=5),
        "profile",
    ),
    "columns": lambda csv: (kanon.profile(csv, subsets=2, suda=2), "profile"),
    "tradeoff": lambda csv: (
        kanon.tradeoff(csv, {"zip": {"levels": [{"mask": "right"}]}}, k=[2, 5], algorithm="local"),
        "tradeoff",
    ),
    "diff": lambda _: (
        diff(
            ResultFile(Path("a"), audited(VIOLATED, HOLDS), {"levels": {"zip": 1}}),
            ResultFile(Path("b"), audited(MADE_FOR_PEOPLE), {"levels": {"zip": 2}}),
        ),
        "diff",
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_key_of_every_result_is_described(name: str, csv: str) -> None:
    described(*RESULTS[name](csv))


def test_every_key_of_a_baseline_is_described() -> None:
    document = json.loads(Baseline.of([audited(VIOLATED)]).to_json())

    assert list(document)[:3] == ["kanon_sql", "format", "baseline"]
    jsonschema.validate(document, closed(baseline_schema()))


def _without(document: Any, *path: Any) -> Any:
    *above, last = path
    for each in above:
        document = document[each]
    del document[last]


def _with(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        *above, last = path
        for each in above:
            document = document[each]
        document[last] = value

    return change


TABLE = ("tables", 0)
BROKEN: dict[str, Callable[[Any], None]] = {
    "a later format": _with(2, "format"),
    "a version that is a number": _with(1, "kanon_sql"),
    "an unknown status": _with("fine", "status"),
    "a table's unknown status": _with("fine", *TABLE, "status"),
    "a negative count": _with(-1, *TABLE, "summary", "records"),
    "a count with a fraction": _with(1.5, *TABLE, "summary", "classes"),
    "a count as text": _with("5", *TABLE, "checks", 0, "violating_records"),
    "a verdict as text": _with("yes", *TABLE, "checks", 0, "holds"),
    "a figure as text": _with("much", *TABLE, "checks", 0, "achieved"),
    "tables as an object": _with({}, "tables"),
    "no tables": lambda document: _without(document, "tables"),
    "no histogram": lambda document: _without(document, *TABLE, "histogram"),
    "no model": lambda document: _without(document, *TABLE, "checks", 0, "model"),
    "a bin without its size": lambda document: _without(document, *TABLE, "histogram", 0, "size"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_result_is_not_valid(name: str) -> None:
    document = copy.deepcopy(json.loads(audited(VIOLATED).to_json()))
    BROKEN[name](document)

    assert not jsonschema.Draft202012Validator(result_schema()).is_valid(document)


def test_a_key_of_a_later_release_is_passed_over() -> None:
    document = json.loads(audited(VIOLATED).to_json())
    document["tables"][0]["checks"][0]["later"] = document["later"] = {"any": "thing"}

    jsonschema.validate(document, result_schema())
    assert result_of(sealed(document)).tables[0].summary == VIOLATED.summary


# --- formats that are read ------------------------------------------------------------------


def _documents(csv: str) -> Iterator[tuple[Any, Callable[[Path], Any]]]:
    yield json.loads(audited(VIOLATED).to_json()), result_of
    yield json.loads(Baseline.of([audited(VIOLATED)]).to_json()), Baseline.read
    yield json.loads(RESULTS["profile"](csv)[0].to_json()), read_profile
    yield json.loads(RESULTS["tradeoff"](csv)[0].to_json()), read_costs


def test_old_formats_are_read_and_later_ones_are_not(csv: str, tmp_path: Path) -> None:
    for document, read in _documents(csv):
        file = tmp_path / "stored.json"
        file.write_text(json.dumps(document))
        now = read(file)
        old = {key: part for key, part in document.items() if key != "format"}
        for each in (old, document | {"format": 0}, document | {"kanon_sql": "99.0"}):
            file.write_text(json.dumps(sealed(each)))
            assert read(file) == now or "99.0" in repr(each)
        file.write_text(json.dumps(document | {"format": 2}))
        with pytest.raises(InputError) as caught:
            read(file)
        assert str(caught.value) == (
            f"{file} was written in format 2, and this is kanon-sql {kanon.__version__}, which "
            "reads 0 and 1. Install a later one, or write the result again."
        )


@pytest.mark.parametrize("given", ["1", True, None, -1, 1.5])
def test_a_format_is_a_number(given: Any) -> None:
    document = json.loads(audited(VIOLATED).to_json()) | {"format": given}

    with pytest.raises(InputError, match="format must be a whole number, 0 or more; found"):
        result_of(document)


@pytest.mark.parametrize("of", ["result", "baseline"])
def test_the_schemas_are_printed(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["schema", "--of", of])

    expected = {"result": result_schema, "baseline": baseline_schema}[of]()
    assert (end.value.code, json.loads(capsys.readouterr().out)) == (0, expected)


def test_every_key_of_a_published_table_is_described(tmp_path: Path) -> None:
    records = tmp_path / "sales.csv"
    records.write_text(
        "region,kind,turnover,firm\n"
        + "\n".join(f"{'ab'[n % 2]},{'xyz'[n % 3]},{n % 7},f{n // 2}" for n in range(60))
    )
    (tmp_path / "out.csv").write_text("region,n\na,*\nb,12\nall,15\n")
    rules = {"threshold": 11, "derivable": True}

    described(
        kanon.tables(
            records, by=["region", "kind"], value="turnover", contributor="firm", p_percent=10,
            dominance=(2, 67), checks=[kanon.GroupDisclosure()], policy="abs-datalab", **rules,
        ),
        "tables",
    )  # fmt: skip
    described(
        kanon.tables(
            tmp_path / "out.csv", by=["region"], value="n", published=True, total_label="all",
            suppressed={"*": (1, 9)}, against=tmp_path / "out.csv", min_difference=10, **rules,
        ),
        "tables",
    )  # fmt: skip


def test_the_day_of_a_result_is_a_date() -> None:
    audit = kanon.audit(people_table(), "zip").to_dict()
    costs = kanon.tradeoff(people_table(), "zip", k=2).to_dict()

    for whole, part in ((audit, audit), (costs, costs["tradeoff"])):
        assert result_of(whole)
        part["audited"] = "yesterday"
        with pytest.raises(InputError, match="audited must be a date, as in 2026-11-23; found te"):
            result_of(whole)


def people_table() -> Any:
    return pyarrow.table({"zip": ["02138", "02138", "02139"]})


def test_descriptions_are_in_the_words_of_json() -> None:
    text = json.dumps([result_schema(), baseline_schema()])
    assert "null for raw values" in text
    assert not re.search(r"\b(None|True|False)\b", text)
