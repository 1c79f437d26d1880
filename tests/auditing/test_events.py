"""Event tables: what their figures must obey, and that an undecided check is never green."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import asking
import duckdb
import oracle_of_events
import pyarrow
import pytest
from event_tables import event_tables
from generated import Filled, fewer
from hypothesis import given
from hypothesis import strategies as st
from oracle import Question

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.models.events.verdicts import upper_tail
from kanon_sql.results.baseline import Baseline
from kanon_sql.results.compared import counted_as
from kanon_sql.sql.macros import render

VISITS = [(f"p{person}", ward) for person in range(12) for ward in "abcdefgh"[: 4 + person % 3]]
VISITS += [("p12", "rare ward"), ("p12", "a"), ("p12", "b")]


def table(rows: list[tuple[Any, ...]], *names: str) -> pyarrow.Table:
    return asking.table(names or ("person", "ward"), rows)


def audited(data: Any, *checks: Any, **more: Any) -> kanon.AuditResult:
    return kanon.audit(data, entity="person", events=["ward"], checks=checks, **more)


def only(result: kanon.AuditResult) -> kanon.CheckResult:
    [check] = result.checks
    return check


# --- the draw -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "cells", "text", "hashed"),
    [
        (1, ("p0",), "1,2:p0", "59259caf366be0bfd4d16d72e8d3cd7f"),
        (1, ("p0", "a"), "1,2:p0,1:a", "91564570c878252f10c235fd6778d2ac"),
        (1, ("p0", "a", "2"), "1,2:p0,1:a,1:2", "39f70d8dbb274583ff8affc752413ce9"),
        (1, ("p0", None), "1,2:p0,", "1a30d69f5d8609870841c9c335131e27"),
        (7, ("Zoë", None, "2,1"), "7,3:Zoë,,3:2,1", "6f162ea07743de58d9a3b7acedc010e7"),
    ],
)
def test_the_hash_of_a_draw(seed: int, cells: Any, text: str, hashed: str) -> None:
    names = [f"c{place}" for place in range(len(cells))]
    with duckdb.connect() as connection:
        connection.register("cells", asking.table(names, [cells], [pyarrow.string()] * len(cells)))
        sql = render("seeded_hash", seed=seed, columns=names)
        found = connection.sql(f"select {sql.replace('md5(', '(', 1)}, {sql} from cells").fetchall()

    assert found == [(text, hashed)]
    assert oracle_of_events.digest(seed, *cells) == hashed


def test_draws_are_nested() -> None:
    """Whoever knows one more event is left with no more people."""
    found = [
        only(audited(table(VISITS), kanon.KnownEvents(m=m, max_combinations=0))).details
        for m in (2, 3, 4, 5)
    ]
    averages = [each["random"]["average"] for each in found]

    assert averages == sorted(averages)


@pytest.mark.parametrize(("found", "attacked", "share"), [(3, 10, 0.05), (1, 4, 0.01), (9, 9, 0.9)])
def test_the_tail_is_the_exact_binomial_one(found: int, attacked: int, share: float) -> None:
    p = Fraction(str(share))
    exact = sum(
        math.comb(attacked, x) * p**x * (1 - p) ** (attacked - x)
        for x in range(found, attacked + 1)
    )

    assert upper_tail(found, attacked, share) == pytest.approx(float(exact), rel=1e-9)


# --- laws -----------------------------------------------------------------------------------


@fewer
@given(event_tables(), st.integers(1, 3), st.integers(2, 3), st.booleans())
def test_laws(asked: tuple[Filled, Question], m: int, k: int, times: bool) -> None:
    filled, question = asked
    checks = [
        kanon.KmAnonymity(k=k, m=m, times=times),
        *(kanon.KnownEvents(m=each, k=k, times=times, max_share=0) for each in range(1, m + 1)),
        kanon.KnownEvents(m=m, k=k, times=times, max_share=0, max_combinations=0),
    ]
    result = kanon.audit(
        filled.arrow,
        question.quasi_identifiers,
        events=question.events,
        entity=question.entity,
        checks=checks,
    )
    found = [each for each in result.checks if each.model in ("km_anonymity", "known_events")]
    if not filled.rows:
        assert result.status == "no_data"
        return
    km, *known = found
    *exact, drawn = [km_known for km_known in known if not km_known.details["drawn"]] + known[-1:]
    people = result.tables[0].summary.people

    # The one model's people are the other's share.
    assert exact[-1].violating_people == km.violating_people
    assert exact[-1].achieved == km.violating_people / people
    for fewer_known, more in pairwise(exact):
        for name in ("share", "alone", "highest", "average"):
            assert fewer_known.details["worst"][name] <= more.details["worst"][name] + 1e-12
    for each in exact:
        worst, random = each.details["worst"], each.details["random"]
        assert random["share"] <= worst["share"] + 1e-12
        assert random["average"] <= worst["average"] + 1e-12
    # A draw never contradicts the exact figure.
    assert drawn.violating_people <= exact[-1].violating_people
    if drawn.holds is False and exact[-1].details["evidence"] == "exact":
        assert exact[-1].holds is False


@fewer
@given(event_tables())
def test_one_event_is_a_class_of_people(asked: tuple[Filled, Question]) -> None:
    filled, question = asked
    if not filled.rows:
        return
    known = {"entity": question.entity}
    [km] = kanon.audit(
        filled.arrow, events=question.events, checks=[kanon.KmAnonymity(m=1)], **known
    ).checks
    of_classes = kanon.audit(filled.arrow, question.events, **known)

    assert km.achieved == of_classes.tables[0].summary.k


def test_coarser_events_never_find_more() -> None:
    shares = [
        only(
            kanon.audit(
                table(
                    [(person, f"{ward}{place % 3}") for place, (person, ward) in enumerate(VISITS)]
                ),
                entity="person",
                events={"ward": "prefix:1"},
                levels={"ward": level},
                checks=[kanon.KnownEvents(m=2)],
            )
        ).achieved
        for level in (0, 1)
    ]

    assert shares[1] <= shares[0]


# --- undecided ------------------------------------------------------------------------------

OPEN = kanon.KnownEvents(m=4, max_share=0.999)


def test_an_undecided_check_is_never_green() -> None:
    result = audited(table(VISITS), OPEN, kanon.KmAnonymity(k=1))
    of_draw, of_km = result.checks

    assert (of_draw.holds, of_draw.details["evidence"], of_km.holds) == (None, "draw", True)
    assert (result.status, result.exit_code, result.holds) == ("measured", 0, None)
    assert "is undecided" in result.tables[0].warnings[0]
    assert repr(of_draw).startswith("<CheckResult known_events undecided: ")
    result.raise_if_violated()
    assert kanon.from_json(result.to_json()).to_dict() == result.to_dict()


def test_an_undecided_check_that_is_no_longer_asked_is_dropped() -> None:
    both = audited(table(VISITS), OPEN, kanon.KmAnonymity(k=1))
    one = audited(table(VISITS), kanon.KmAnonymity(k=1))

    assert one.diff(both).is_worse
    assert not both.diff(one).is_worse


def test_a_violation_beside_an_undecided_check_is_one() -> None:
    result = audited(table(VISITS), OPEN, kanon.KmAnonymity(k=2))

    assert (result.status, result.exit_code, result.holds) == ("violated", 1, False)
    assert result.tables[0].warnings[0].endswith("so the table is not shown to hold.")


def test_a_draw_proves_a_violation_by_its_witnesses() -> None:
    check = only(audited(table(VISITS), kanon.KnownEvents(m=4, max_share=0)))

    assert (check.holds, check.details["evidence"]) == (False, "witnesses")


@pytest.fixture
def visits(tmp_path: Path) -> str:
    file = tmp_path / "visits.csv"
    rows = ["person,ward", *(f"{person},{ward}" for person, ward in VISITS)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(file)


ASKED = ["--entity", "person", "--events", "ward"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("human", "  undecided  known events m=4"),
        ("markdown", "| **undecided** | known events m=4 |"),
        ("junit", '<skipped message="visits.csv: known events m=4: a draw found'),
        ("sarif", '"level": "note"'),
        ("github", "::notice title=known events m=4 is undecided::"),
    ],
)
def test_every_format_says_undecided(
    visits: str, capsys: pytest.CaptureFixture[str], form: str, said: str
) -> None:
    check = "known_events:m=4,max_share=0.999"
    code, out, _ = run(capsys, "audit", visits, *ASKED, "--check", check, "--format", form)

    assert code == 0
    assert said in out
    assert "rare ward" not in out


def test_a_comparison_leaves_an_undecided_check_out(
    visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    violated = ["--check", "known_events:m=4,max_share=0.0"]
    first, second, baseline = (str(tmp_path / f"{name}.json") for name in ("a", "b", "c"))
    run(capsys, "audit", visits, *ASKED, "--check", "known_events:m=4,max_share=0.999",
        "--output", first)  # fmt: skip
    run(capsys, "audit", visits, *ASKED, *violated, "--output", second)

    code, out, _ = run(capsys, "diff", first, second)
    assert code == 0
    assert "known events m=4 is undecided, so it is left out of the comparison." in out
    code, _, err = run(capsys, "baseline", first, "--output", baseline)
    assert code == 2
    assert "every check is undecided" in err
    assert run(capsys, "baseline", second, "--output", baseline)[0] == 0
    code, out, _ = run(capsys, "audit", visits, *ASKED, *violated, "--baseline", baseline)
    assert code == 0
    assert "accepted" in out


MORE = [(f"q{person}", ward) for person in range(3) for ward in "abcdefgh"]


@pytest.mark.parametrize(
    "check",
    [
        kanon.KmAnonymity(k=13, m=3, max_combinations=300),
        kanon.KnownEvents(m=3, k=13, max_share=0, max_combinations=300),
    ],
    ids=["fewer sizes", "drawn"],
)
@pytest.mark.parametrize("is_later", [True, False])
def test_what_was_counted_otherwise_is_not_compared(check: Any, is_later: bool) -> None:
    """Past `max_combinations` fewer violations are found, as fewer are looked for."""
    small, large = (audited(table(rows), check) for rows in (VISITS, VISITS + MORE))
    old, new = (small, large) if is_later else (large, small)
    [gated] = Baseline.of([old]).applied_to(new).tables
    compared = new.diff(old)
    [change] = compared.tables[0].checks

    assert counted_as(only(old)) != counted_as(only(new))
    assert (gated.status, only(gated).accepted) == ("violated", False)
    assert "was counted otherwise in the baseline" in gated.warnings[-1]
    assert change.change == "changed"
    assert "was counted otherwise in one result" in " ".join(str(compared).split())


def test_the_share_of_a_draw_is_of_the_people_attacked() -> None:
    check = kanon.KnownEvents(m=4, sample=100, max_share=0)
    alone = [(f"q{person}", f"{person} {n}") for person in range(100) for n in range(4)]
    small, large = (
        audited(table([*alone, *((f"p{n // 4}", "abcd"[n % 4]) for n in range(4 * people))]), check)
        for people in (100, 900)
    )
    compared = large.diff(small)
    [change] = compared.tables[0].checks
    [violating] = [each for each in change.figures if each.name == "violating_people"]

    assert violating.of == (100, 100)


# --- what is refused, and what is shown -----------------------------------------------------


def test_other_verbs_refuse_events(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["anonymize", visits, "--k", "2"], ["tradeoff", visits]):
        code, out, err = run(capsys, *verb, *ASKED)
        assert (code, out) == (2, "")
        assert "has no use for --events: audit the release, or audit --level ward=1" in err


def test_a_profile_of_events_measures_no_sets_of_columns(
    visits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["--subsets", "2"], ["--suda", "2"]):
        code, out, err = run(capsys, "profile", visits, *ASKED, *more)
        assert (code, out) == (2, "")
        assert "measure columns, and with events people are measured" in err


def test_too_many_combinations_still_prove_a_violation() -> None:
    check = only(audited(table(VISITS), kanon.KmAnonymity(k=2, m=2, max_combinations=0)))

    assert (check.holds, check.achieved, check.details["complete"]) == (False, 1, False)
    assert check.details["by_size"][1] == {"size": 2, "combinations": None, "violating": None}


def test_quasi_identifiers_that_differ_within_a_person_are_refused() -> None:
    rows = [("a", "x", 1), ("a", "y", 2), ("b", "x", 1)]
    with pytest.raises(kanon.InputError, match="born has several values for 1 of 2 people"):
        kanon.audit(
            table(rows, "person", "ward", "born"), ["born"], entity="person", events=["ward"]
        )


@pytest.mark.parametrize("check", [kanon.KmAnonymity(k=2), kanon.KnownEvents(m=1, max_share=1)])
def test_a_record_without_a_person_is_refused(check: Any) -> None:
    with pytest.raises(kanon.InputError, match="1 of 2 records have no"):
        audited(table([("a", "x"), (None, "x")]), check)


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize("rows", [[], [*VISITS, ("p0", "a"), ("p0", None), ("p1", None)]])
def test_one_known_event_counts_the_events_in_one_statement(
    rows: list[tuple[Any, ...]], times: bool
) -> None:
    check = kanon.KnownEvents(m=1, max_share=1, times=times)
    [alone] = audited(table(rows), check).tables
    [beside] = audited(table(rows), kanon.KmAnonymity(k=2)).tables

    assert set(alone.sql) == {"known_events_1"}
    assert (alone.events, alone.summary) == (beside.events, beside.summary)


def test_values_are_listed_on_request_alone(visits: str) -> None:
    result = audited(visits, kanon.KmAnonymity(k=2), show_values=True)
    listed = result.tables[0].shown["rare_combinations_2"]

    assert listed[0]["kanon_crowd"] == 1
    assert "rare ward" in str(listed)
    assert "rare ward" not in audited(visits, kanon.KmAnonymity(k=2)).to_json()


def test_a_listed_pair_with_null_is_no_single_event() -> None:
    data = table([("p", "a"), ("p", None), ("q", "a")])
    result = audited(data, kanon.KmAnonymity(k=2), show_values=True)
    listed = result.tables[0].shown["rare_combinations_2"]

    assert sorted((row["kanon_events"], row["kanon_crowd"]) for row in listed) == [
        (1, 1), (1, 2), (2, 1)
    ]  # fmt: skip


# --- the curve ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "said"),
    [(float, '"ward" is a floating-point number'), (Decimal, '"ward" is a decimal number'),
     (lambda text: int(10 * float(text)), "databases write differently")],
)  # fmt: skip
def test_a_curve_that_is_drawn_by_numbers_with_decimals_says_so(number: Any, said: str) -> None:
    data = table([("a", number("0.1")), ("a", number("0.2")), ("b", number("0.5"))])
    asked = {"entity": "person", "events": ["ward"]}

    for known, is_drawn in ((range(1, 4), False), (range(4, 5), True)):
        [found] = kanon.profile(data, known=known, **asked).tables
        warned = [each for each in found.warnings if said in each]
        assert len(warned) == (is_drawn and number in (float, Decimal))


def test_the_advice_is_the_next_level(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    levels = ["--hierarchy", "ward=prefix:3,2,1", "--check", "known_events:m=2"]
    for more, advised in (([], "ward=1"), (["--level", "ward=2"], "ward=3")):
        out = run(capsys, "audit", visits, *ASKED, *levels, *more)[1]
        assert f"Coarser events have larger crowds: --level {advised}." in out


def test_the_curve_is_that_of_the_checks(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "profile", visits, *ASKED, "--known", "1-5", "--times", "--format", "json"
    )
    [found] = json.loads(out)["tables"]
    curve = found["known_events"]
    checks = audited(visits, *(kanon.KnownEvents(m=m, times=True) for m in range(1, 6))).checks

    assert code == 0
    assert (curve["k"], curve["times"], curve["seed"]) == (2, True, 1)
    assert curve["points"] == [
        {"m": check.parameters["m"]}
        | {
            name: list(figure) if isinstance(figure, tuple) else figure
            for name, figure in check.details.items()
            if name not in ("evidence", "highest", "average")
        }
        for check in checks
    ]
    assert found["events"]["distinct"] == 7
    assert kanon.from_json(json.loads(out)).to_dict()["tables"][0]["known_events"] == curve


@pytest.mark.parametrize("known", ["3-1", "0", "21", "two"])
def test_a_curve_that_is_none(visits: str, capsys: pytest.CaptureFixture[str], known: str) -> None:
    code, out, err = run(capsys, "profile", visits, *ASKED, "--known", known)

    assert (code, out) == (2, "")
    assert "--known must be a number of events from 1 to 20" in err
    assert "needs events" in run(capsys, "profile", visits, "--known", "2")[2]


def test_a_spec_has_events(visits: str, tmp_path: Path) -> None:
    spec = tmp_path / "kanon.yml"
    spec.write_text(
        "version: 1\ntables:\n"
        "  - source: visits.csv\n    entity: person\n"
        "    events: {ward: {levels: [{prefix: 1}]}}\n    levels: {ward: 1}\n"
        "    checks: [{km_anonymity: {k: 2, m: 1}}]\n",
        encoding="utf-8",
    )
    [found] = kanon.audit(kanon.AuditSpec.from_file(spec)).tables

    assert (found.levels, found.events.columns) == ({"ward": 1}, ("ward",))
    assert found.summary.classes is None


def test_one_number_of_known_events_stands_for_itself() -> None:
    asked = {"entity": "person", "events": ["ward"]}
    one, listed = (kanon.profile(table(VISITS), known=each, **asked) for each in (2, [2]))

    assert one.to_dict() == listed.to_dict()
