"""The seal of a stored result: every edit breaks it, and no other way of writing the same does."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import every_model
import pyarrow as pa
import pytest
import yaml
from commands import run
from places import ROOT

import kanon_sql as kanon
from kanon_sql.errors import InputError
from kanon_sql.results.baseline import Baseline
from kanon_sql.results.seal import is_broken, sealed

TABLE = pa.table({"zip": ["1"] * 3 + ["2"] * 9, "dx": [*"ab"] * 6, "age": [*range(40, 52)]})
MADE: dict[str, Callable[[], Any]] = {
    **{name: lambda name=name: every_model.results()[name] for name in every_model.results()},
    "release": lambda: kanon.anonymize(
        TABLE, {"age": {"levels": [{"width": 5}, {"width": 20}]}}, k=3, sensitive=["dx"]
    ),
    "profile": lambda: kanon.profile(TABLE, quasi_identifiers=["zip", "age"]),
    "tradeoff": lambda: kanon.tradeoff(
        TABLE, {"age": {"levels": [{"width": 5}]}}, k=[2, 3], max_suppressed=3
    ),
    "baseline": lambda: Baseline.of([every_model.results()["records"]]),
}


def document_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MADE[name]().to_json())
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every text, number, verdict and null of a document."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))
    else:
        yield path


def with_value(document: dict[str, Any], path: tuple[Any, ...], change: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    part: Any = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = change(part[path[-1]])
    return changed


def another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 2**-50) or 1e-300
        case str():
            return f"{value} "
    return 0


@pytest.mark.parametrize("name", MADE)
def test_an_edit_of_any_part_breaks_the_seal(name: str) -> None:
    document = document_of(name)
    assert not is_broken(document)
    paths = [path for path in places(document) if path[0] not in ("seal",)]
    assert len(paths) > 20
    for path in paths:
        assert is_broken(with_value(document, path, another)), path
    assert is_broken({**document, "more": 1})
    for key in document.keys() - {"seal"}:
        assert is_broken({other: value for other, value in document.items() if other != key})


@pytest.mark.parametrize(
    ("value", "other"), [("1e2", "10e1"), ("1e2", 100), (1, True), (1, "1"), (0, None), ([], {})]
)
def test_values_that_look_alike_have_other_seals(value: Any, other: Any) -> None:
    assert is_broken(sealed({"name": value}) | {"name": other})


def through_yaml(document: dict[str, Any]) -> Any:
    return yaml.safe_load(yaml.safe_dump(document))


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(part) for part in value] if isinstance(value, list) else value


def as_javascript(value: Any) -> Any:
    """The value as JavaScript writes it, to which 5.0 is 5."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {key: as_javascript(part) for key, part in value.items()}
        case list():
            return [as_javascript(part) for part in value]
    return value


REWRITTEN: dict[str, Callable[[dict[str, Any]], str]] = {
    "indented": lambda document: json.dumps(document, indent=7),
    "minified": lambda document: json.dumps(document, separators=(",", ":")),
    "sorted": lambda document: json.dumps(document, sort_keys=True, indent=1),
    "reversed": lambda document: json.dumps(reversed_keys(document), ensure_ascii=False),
    "through YAML": lambda document: json.dumps(through_yaml(document)),
    "by JavaScript": lambda document: json.dumps(as_javascript(document)),
    "numbers as others write them": lambda document: re.sub(
        r"(?<=[\[ ])(-?[0-9.]+)e-0?(\d+)(?=[],}])", r"\1E-\2", json.dumps(document)
    ),
    "with Windows lines and a mark": lambda document: (
        "\ufeff" + json.dumps(document, indent=2).replace("\n", "\r\n")
    ),
}
NUMBERS = [0.0, -0.0, 1.0, 1e-07, 1.5e-07, -2.5e-300, 1e22, 1e300, 0.1, 1 / 3, 5e-324, 2**53 + 1]
TEXTS = ["Infinity", "é🙂\x7f\u2028", "no", "2026-11-28", "1_000", "0x1", "~", " a\n b\t"]
KEYS = {"on": 1, "1": 2, "ä": None}
HARD = sealed({"kanon_sql": "0", "numbers": NUMBERS, "texts": TEXTS, "keys": KEYS})


@pytest.mark.parametrize("rewritten", REWRITTEN.values(), ids=REWRITTEN)
def test_the_same_content_has_the_same_seal_however_it_is_written(rewritten: Any) -> None:
    for document in [HARD, *map(document_of, MADE)]:
        text = rewritten(document)
        assert not is_broken(json.loads(text.lstrip("\ufeff")))


def test_the_seal_is_the_digest_that_the_schema_tells() -> None:
    """Computed anew by what the description says, without the product."""
    document = document_of("records")
    seal = document.pop("seal")
    text = json.dumps(as_javascript(document), sort_keys=True, separators=(",", ":"))
    assert seal == hashlib.sha256(text.encode()).hexdigest()


# --- who reads ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def visits(few: int) -> str:
    rows = [f"p{who},{ward}\n" for who in range(9) for ward in ("x", "y")]
    return "who,ward\n" + "".join(rows + [f"p{who},rare\n" for who in range(few)])


ASKED = ("visits.csv", "--entity", "who", "--events", "ward", "--check", "km_anonymity:k=5")
BROKEN = "the seal contradicts the result. Was the file edited? Take it as kanon-sql wrote it."


def made() -> dict[str, Any]:
    """A violated k^m-anonymity, with its files."""
    Path("visits.csv").write_text(visits(1), encoding="utf-8")
    run("audit", *ASKED, "--output", "good.json")
    run("baseline", "good.json", "--output", "accepted.json")
    Path("hierarchy.csv").write_text("zip,age\n" + "".join(f"{n % 3},{n}\n" for n in range(30)))
    run("profile", "hierarchy.csv", "--qi", "zip,age", "--output", "profile.json")
    run("tradeoff", "hierarchy.csv", "--qi", "age", "--hierarchy", "age=width:10", "--k", "2",
        "--output", "costs.json")  # fmt: skip
    found: dict[str, Any] = json.loads(Path("good.json").read_text(encoding="utf-8"))
    return found


def held(document: dict[str, Any]) -> dict[str, Any]:
    """The result as one would edit it who knows all that its figures imply."""
    changed = copy.deepcopy(document)
    [table] = changed["tables"]
    [check] = [check for check in table["checks"] if check["model"] == "km_anonymity"]
    check |= {"holds": True, "achieved": 10**6, "violating_combinations": 0, "violating_people": 0}
    check["by_size"] = [{**row, "violating": 0} for row in check["by_size"]]
    check["shortfall_by_size"] = dict.fromkeys(check["shortfall_by_size"], 0)
    table["status"] = changed["status"] = "holds"
    return changed


READERS = {
    "report": ("report", "bad.json"),
    "diff to": ("diff", "good.json", "bad.json"),
    "diff from": ("diff", "bad.json", "good.json"),
    "baseline": ("baseline", "bad.json"),
    "report since": ("report", "good.json", "--earlier-result", "bad.json"),
    "audit": ("audit", *ASKED, "--baseline", "bad_baseline.json"),
    "profile": ("report", "good.json", "--profile", "bad_profile.json"),
    "costs": ("report", "good.json", "--tradeoff", "bad_costs.json"),
    "page of costs": ("report", "bad_costs.json"),
}


def test_every_reader_refuses_a_broken_seal() -> None:
    document = made()
    assert document["status"] == "violated"
    Path("bad.json").write_text(json.dumps(held(document)), encoding="utf-8")
    for name, path in (
        ("accepted", ("tables", 0, "checks", 0, "achieved")),
        ("profile", ("tables", 0, "summary", "records")),
        ("costs", ("tradeoff", "records")),
    ):
        other = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
        bad = "baseline" if name == "accepted" else name
        Path(f"bad_{bad}.json").write_text(json.dumps(with_value(other, path, another)))
    for command in READERS.values():
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert BROKEN in " ".join(result.stderr.split()), result.stderr
    for source in (Path("bad.json"), held(document)):
        with pytest.raises(InputError, match="the seal contradicts the result"):
            kanon.from_json(source)


def test_what_was_not_edited_is_read_by_all() -> None:
    made()
    for name in ("good", "profile", "costs"):
        text = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
        Path(f"{name}.json").write_text(json.dumps(through_yaml(text)), encoding="utf-8")
    for command in (
        ("report", "good.json", "--profile", "profile.json", "--tradeoff", "costs.json"),
        ("diff", "good.json", "good.json"),
        ("audit", *ASKED, "--baseline", "accepted.json"),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
        assert "no seal" not in result.stdout


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_the_page_says_that_a_result_has_no_seal_and_that_a_seal_is_no_signature(
    audience: str,
) -> None:
    made()
    told = words(run("report", "good.json", "--audience", audience).stdout)
    assert "Seal unbroken. It is no signature: whoever edits a result can seal it anew" in told
    for name in ("good", "profile", "costs"):
        document = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
        assert document.pop("seal")
        Path(f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    told = words(run("report", "good.json", "--audience", audience).stdout)
    assert "Seal this result has no seal, so an edited figure is not noticed" in told
    companions = ("--profile", "profile.json", "--earlier-result", "good.json")
    told = words(run("report", "good.json", *companions, "--audience", audience).stdout)
    every = ("this result", "the earlier result", "the profile")
    assert f"Seal {'; '.join(f'{name} has no seal' for name in every)}, so an edited" in told
    assert "this result has no seal" in words(run("report", "costs.json").stdout)
    assert "this result has no seal" in words(str(kanon.from_json(Path("good.json")).to_html()))


def test_diff_and_a_baseline_say_that_there_is_no_seal() -> None:
    made()
    for name in ("good", "accepted"):
        document = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
        del document["seal"]
        Path(f"no_{name}.json").write_text(json.dumps(document), encoding="utf-8")
    told = " ".join(run("diff", "good.json", "no_good.json").stdout.split())
    assert "no_good.json: this result has no seal, so an edited figure is not noticed." in told
    assert told.count("no seal") == 1
    told = " ".join(run("audit", *ASKED, "--baseline", "no_accepted.json").stdout.split())
    assert "the baseline has no seal, so an edited figure is not noticed." in told


def test_a_baseline_of_a_result_without_a_seal_has_none() -> None:
    """Else an edited result would be accepted without a word."""
    document = made()
    del document["seal"]
    Path("no_good.json").write_text(json.dumps(document), encoding="utf-8")
    run("baseline", "no_good.json", "--output", "of_it.json")
    assert "seal" not in json.loads(Path("of_it.json").read_text(encoding="utf-8"))
    told = " ".join(run("audit", *ASKED, "--baseline", "of_it.json").stdout.split())
    assert "the baseline has no seal" in told


def test_what_was_read_without_a_seal_gets_none() -> None:
    """Else one would be given to an edited result by reading and writing it."""
    for name in ("records", "cells", "release", "profile", "tradeoff"):
        document = document_of(name)
        assert kanon.from_json(document).to_dict() == document
        del document["seal"]
        again = kanon.from_json(document)
        assert again.to_dict() == document
        assert "seal" not in json.loads(again.to_json())


@pytest.mark.parametrize("seal", [None, "", 5, "0" * 64, [], {}])
def test_anything_else_in_place_of_a_seal_is_broken(seal: Any) -> None:
    with pytest.raises(InputError, match="the seal contradicts the result"):
        kanon.from_json({**document_of("records"), "seal": seal})


def test_a_later_format_is_said_before_its_seal() -> None:
    """It may be sealed in another way."""
    with pytest.raises(InputError, match="was written in format 99"):
        kanon.from_json({**document_of("records"), "format": 99})


def test_the_sample_has_an_unbroken_seal() -> None:
    sample = json.loads((ROOT / ".github" / "samples" / "result.json").read_text("utf-8"))
    assert "seal" in sample
    assert not is_broken(sample)
