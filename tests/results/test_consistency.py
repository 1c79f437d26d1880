"""A stored result is consistent or refused. Every audit of `asking` is looked at besides."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import InputError
from kanon_sql.results.stored import read_result

SIZES = (1, 2, 2, 3, 6, 9, 30)
PEOPLE = pa.table(
    {
        "zip": [str(place) for place, size in enumerate(SIZES) for _ in range(size)],
        "dx": ["ab"[each % 2] for size in SIZES for each in range(size)],
        "pay": [each * 10 for size in SIZES for each in range(size)],
        "who": list(range(sum(SIZES))),
    }
)
VOTERS = pa.table({"zip": [str(place) for place in range(6) for _ in range(8)]})
GATED = (
    kanon.KAnonymity(k=3),
    kanon.ProsecutorRisk(max_highest=0.4, max_at_risk=0.5),
    kanon.SampleUniqueness(max_share=0.5),
    kanon.LDiversity(l=2, sensitive="dx"),
    kanon.EntropyLDiversity(l=1.5, sensitive="dx"),
    kanon.RecursiveClDiversity(c=2, l=2, sensitive="dx"),
    kanon.AlphaKAnonymity(alpha=0.9, k=2, sensitive="dx"),
    kanon.KEAnonymity(k=2, e=20, sensitive="pay"),
    kanon.TCloseness(t=0.3, sensitive="dx"),
    kanon.DeltaDisclosure(delta=1, sensitive="dx"),
    kanon.BasicBetaLikeness(beta=0.5, sensitive="dx"),
    kanon.EnhancedBetaLikeness(beta=0.5, sensitive="dx"),
    kanon.Homogeneity(sensitive="dx"),
    kanon.KMap(k=4, reference="voters"),
    kanon.DeltaPresence(min=0.1, max=0.9, reference="voters"),
    kanon.JournalistRisk(max_highest=0.1, reference="voters"),
    kanon.MarketerRisk(max_average=0.9, reference="voters", missing="union"),
)


def audited(checks: tuple[Any, ...] = GATED, **asked: Any) -> dict[str, Any]:
    result = kanon.audit(
        PEOPLE,
        ["zip"],
        sensitive=["dx", "pay"],
        checks=list(checks),
        references={"voters": VOTERS},
        name="people",
        **asked,
    )
    return result.to_dict()


RESULT, OF_PEOPLE = audited(), audited((kanon.KAnonymity(k=3),), entity="who")
NOT_HELD = {"accepted": True, "baseline": None}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the figures of a result stand."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))
    elif isinstance(value, int | float):
        yield path


def edited(whole: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    found = copy.deepcopy(whole)
    part: Any = found
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return found


def at(whole: dict[str, Any], path: tuple[Any, ...]) -> Any:
    for key in path:
        whole = whole[key]
    return whole


def _of_sizes(whole: dict[str, Any]) -> list[Any]:
    """Each figure that the histogram gives, and each verdict."""
    named = {"records", "people", "classes", "k", "uniques", "average_class_size", "largest_class"}
    kept = []
    for path in places(whole["tables"]):
        of_summary = path[1] == "summary" and path[2] in named
        of_risk = path[1:3] == ("risk", "prosecutor") and path[3] != "threshold"
        of_sizes = path[1] == "checks" and whole["tables"][0]["checks"][path[2]]["model"] in (
            "k_anonymity",
            "prosecutor_risk",
            "sample_uniqueness",
        )
        figures = of_sizes and path[3] != "parameters" and not str(path[3]).startswith("profile")
        if of_summary or of_risk or figures or path[1] == "histogram" or path[3:] == ("holds",):
            kept.append(("tables", *path))
    return kept


EDITED = [(whole, path) for whole in (RESULT, OF_PEOPLE) for path in _of_sizes(whole)]


@pytest.mark.parametrize(
    ("whole", "path"), EDITED, ids=[".".join(map(str, path[2:])) for _, path in EDITED]
)
def test_every_single_edited_figure_is_refused(whole, path):
    value = at(whole, path)
    for other in [not value] if isinstance(value, bool) else [value + 1, value / 2 or 0.5]:
        with pytest.raises(InputError) as raised:
            kanon.from_json(edited(whole, path, other))
        assert "tables[0]" in str(raised.value) or "status" in str(raised.value)


VISITS = pa.table({"who": list("aabbccd"), "ward": list("xyxyxzz")})


@pytest.mark.parametrize(
    ("known", "path"),
    [(m, (of, name)) for m, of in ((2, "worst"), (4, "random"))
     for name in ("share", "highest", "average")],
)  # fmt: skip
def test_a_figure_of_known_events_that_contradicts_its_curve_is_refused(known, path):
    checks = [kanon.KnownEvents(m=known, max_share=0.1)]
    whole = kanon.audit(VISITS, entity="who", events=["ward"], checks=checks).to_dict()
    place = ("tables", 0, "checks", 0, *path)
    assert kanon.from_json(whole).to_dict() == whole
    with pytest.raises(InputError, match=rf"checks\[0\]\.\w+ contradicts {path[0]}"):
        kanon.from_json(edited(whole, place, at(whole, place) / 2))


@pytest.mark.parametrize("status", ["holds", "measured", "accepted", "no_data"])
@pytest.mark.parametrize("path", [("status",), ("tables", 0, "status")])
def test_a_status_that_contradicts_the_checks_is_refused(path, status):
    with pytest.raises(InputError, match="status contradicts"):
        kanon.from_json(edited(RESULT, path, status))


def both_flipped(whole: dict[str, Any], place: int) -> dict[str, Any]:
    """The verdict of a check and the status that follows, as one who edits by hand would."""
    check = whole["tables"][0]["checks"][place]
    found = edited(whole, ("tables", 0, "checks", place, "holds"), not check["holds"])
    gated = [each["holds"] for each in found["tables"][0]["checks"] if each["holds"] is not None]
    status = "holds" if all(gated) else "violated"
    return edited(edited(found, ("tables", 0, "status"), status), ("status",), status)


@pytest.mark.parametrize("check", GATED, ids=lambda check: check.name())
def test_a_verdict_that_was_flipped_with_the_status_is_refused(check):
    whole = audited((check,))
    with pytest.raises(InputError, match=r"tables\[0\]\.checks\[0\]\.holds contradicts"):
        kanon.from_json(both_flipped(whole, 0))


@pytest.mark.parametrize("check", GATED, ids=lambda check: check.name())
def test_a_verdict_that_was_taken_away_is_refused(check):
    whole = audited((check,))
    found = edited(whole, ("tables", 0, "checks", 0, "holds"), None)
    for path in (("tables", 0, "status"), ("status",)):
        found = edited(found, path, "measured")
    with pytest.raises(InputError, match=r"tables\[0\]\.checks\[0\]\."):
        kanon.from_json(found)


def test_what_a_baseline_accepts_is_said_by_the_figures_too():
    found = edited(
        RESULT, ("tables", 0, "checks", 0), {**RESULT["tables"][0]["checks"][0], **NOT_HELD}
    )
    with pytest.raises(InputError, match=r"accepted contradicts holds and baseline\.worse"):
        kanon.from_json(found)


@pytest.mark.parametrize("command", ["report", "diff", "baseline", "audit"])
def test_every_reader_refuses_it_and_names_the_place(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("good.json").write_text(json.dumps(RESULT), encoding="utf-8")
    Path("bad.json").write_text(json.dumps(both_flipped(RESULT, 0)), encoding="utf-8")
    Path("accepted.json").write_text(json.dumps({**both_flipped(RESULT, 0), "baseline": 1}))
    Path("people.csv").write_text("zip\n1\n")
    arguments = {
        "report": ["bad.json", "--output", "page.html"],
        "diff": ["good.json", "bad.json"],
        "baseline": ["bad.json"],
        "audit": ["people.csv", "--qi", "zip", "--k", "2", "--baseline", "accepted.json"],
    }[command]
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments], prog_name="kanon-sql")
    assert ended.value.code == 2
    assert ".json: tables[0].checks[0].holds contradicts" in capsys.readouterr().err
    assert not Path("page.html").exists()


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"entity": "who"},
        {"sensitive_nulls": "unknown"},
        {"where": "zip = 'nowhere'"},
        {"levels": {"zip": 1}},
    ],
    ids=str,
)
def test_what_an_audit_writes_is_read(asked):
    whole = audited(**asked)
    assert kanon.from_json(whole).to_dict() == whole


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
@pytest.mark.parametrize("suppressed", ["remove", "star"])
@pytest.mark.parametrize("allowed", [0, 5, 20])
def test_what_a_release_writes_is_read_and_an_edited_one_refused(
    algorithm, suppressed, allowed, tmp_path
):
    made = kanon.anonymize(
        PEOPLE,
        ["zip"],
        k=3,
        algorithm=algorithm,
        suppressed=suppressed,
        max_suppressed=allowed,
        sensitive=["dx"],
    )
    file = tmp_path / "result.json"
    file.write_text(made.to_json(), encoding="utf-8")
    assert read_result(file).result.tables
    whole = made.to_dict()
    kanon.from_json(whole)
    for name in ("k", "classes"):
        if suppressed == "remove":
            with pytest.raises(InputError, match=rf"anonymization\.{name} contradicts"):
                kanon.from_json(
                    edited(whole, ("anonymization", name), whole["anonymization"][name] + 1)
                )
