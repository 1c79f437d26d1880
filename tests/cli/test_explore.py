"""The pages to explore with: their figures are an audit's, what one leaves with asks the same."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from local_page import LocalPage, fields, figures, links
from planted import BIRTHS, COLUMNS, DIAGNOSES, INCOMES, NAMES, ZIPS, people, traces
from warehouses import postgres

from kanon_sql.cli.main import main
from kanon_sql.explore.turns import ReaderLeft, Turns
from kanon_sql.question.spec import AuditSpec

PEOPLE = 600
ROLES = {"role.pid": "identifier", "role.zip": "qi", "role.born": "qi", "role.sex": "qi",
         "role.ill": "sensitive", "role.stay": "insensitive"}  # fmt: skip
HOW = {"hierarchy.zip": "mask:right", "hierarchy.born": "date:year,5y,suppress"}


def patients() -> pa.Table:
    drawn, start = random.Random(7), date(1950, 1, 1)
    return pa.table(
        {
            "pid": [f"P{number:04d}" for number in range(PEOPLE)],
            "zip": drawn.choices(["02138", "02139", "02141", "02142", None], k=PEOPLE),
            "born": [start + timedelta(days=drawn.randrange(12_000)) for _ in range(PEOPLE)],
            "sex": drawn.choices("fm", k=PEOPLE),
            "ill": drawn.choices(["flu", "asthma", "x", None], k=PEOPLE),
            "stay": drawn.choices(range(9), k=PEOPLE),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("explore")
    pq.write_table(patients(), folder / "patients.parquet")
    (folder / "out").mkdir()
    return folder


@pytest.fixture(scope="module")
def page(folder) -> Iterator[LocalPage]:
    with LocalPage(folder, "patients.parquet", "--output", "out") as opened:
        yield opened


def address(route: str, **given: Any) -> str:
    """An address with the roles and hierarchies above."""
    asked = {**ROLES, **HOW, **{name.replace("__", "."): value for name, value in given.items()}}
    return f"{route}?{urlencode({name: value for name, value in asked.items() if value})}"


def run(folder: Path, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="kanon-sql")
    return int(ended.value.code or 0)


def commands_of(page: str) -> list[str]:
    """The commands of a page, as one would paste them."""
    found = re.findall(r'class="command">(.*?)</pre>', page, re.DOTALL)
    return [html.unescape(each).replace("\\\n", " ") for each in found]


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


# --- the command ----------------------------------------------------------------------------


def test_it_says_the_table_and_the_address(page):
    assert page.said == (
        f"patients.parquet · {PEOPLE} records · 6 columns · read-only\n\n"
        f"  http://127.0.0.1:{page.port}/?token={page.token}\n\n"
        "Only this machine can open it, with this token. Ctrl-C ends it.\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_within_a_second(folder, number):
    with LocalPage(folder, "patients.parquet") as opened:
        opened.go(address("/risk", k=5))
        code, seconds, said = opened.end(number)
    assert (code, said) == (0, "")
    assert seconds < 1.5


def test_a_statement_that_runs_ends_with_it(tmp_path):
    """DuckDB's close raises at exit if a statement is not waited for."""
    slow_table(tmp_path)
    with LocalPage(tmp_path, "slow.parquet") as opened:
        asking = threading.Thread(
            target=lambda: opened.raw(opened.request(f"GET /risk?{SLOW} HTTP/1.1"))
        )
        asking.start()
        time.sleep(0.6)
        code, seconds, said = opened.end()
        asking.join()
    assert (code, said) == (0, "")
    assert seconds < 2


def test_a_port_can_be_named_and_taken(folder, page, monkeypatch, capsys):
    code = run(folder, "explore", "patients.parquet", "--port", str(page.port), "--no-browser",
               monkeypatch=monkeypatch)  # fmt: skip
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert f"--port {page.port} is taken" in said.err


# --- where it leads -------------------------------------------------------------------------


def test_the_first_page_has_the_proposal(page):
    at, text = page.go("/")
    assert at == (
        "/columns?role.pid=identifier&role.zip=qi&role.sex=qi&hierarchy.zip=mask%3Aright&k=5"
    )
    assert "Which columns could someone know?" in text
    assert text.count("<select") == 6


@pytest.mark.parametrize(
    "text",
    ["k=5&role.zip=qi", "role.zip=qi&k=&l=", "role.zip=qi&level.zip=0", "role.zip=qi&role.sex=",
     "role.sex=qi&role.zip=qi", "role.zip=qi&k=05", "role.zip=qi&algorithm=optimal"],
)  # fmt: skip
def test_another_address_of_the_same_question_leads_to_the_canonical_one(page, text):
    response, _ = page.ask(f"/risk?{text}")
    assert response.status == 303
    to = str(response.getheader("Location"))
    assert page.ask(to)[0].status == 200
    assert page.ask(to)[0].getheader("Location") is None


OF_A_CHOICE = ["/risk", "/levels", "/find", "/tradeoff", "/evidence", "/kanon.yml", "/audit.json",
               "/report.html", "/audit.sql"]  # fmt: skip


@pytest.mark.parametrize("route", OF_A_CHOICE)
def test_without_a_quasi_identifier_there_are_columns_alone(page, route):
    assert page.ask(route)[0].status == 400
    assert page.ask(f"{route}?role.zip=sensitive")[0].status == 400
    assert page.ask("/columns")[0].status == 200


def test_every_link_of_every_page_leads_somewhere(page):
    seen: set[str] = set()
    waiting = [address(route, k=5, l=2, level__zip=1) for route in ("/columns", "/risk", "/levels")]
    while waiting and len(seen) < 60:
        if (path := waiting.pop()) in seen:
            continue
        seen.add(path)
        if path.split("?")[0] in ("/columns", "/risk", "/levels", "/evidence", "/"):
            at, text = page.go(path)
            assert at == path or path == "/" or len(seen) <= 3
            waiting += [link for link in links(text) if link and link not in seen]
    assert len(seen) == 60


# --- figures --------------------------------------------------------------------------------

QUESTIONS = [
    {"k": 5}, {"k": 5, "l": 2}, {"k": 2, "l": 2, "t": 0.3}, {}, {"l": 3}, {"t": 0.2},
    {"k": 5, "level__zip": 1}, {"k": 5, "l": 2, "level__zip": 3, "level__born": 2},
    {"k": 5, "level__zip": 5, "level__born": 3}, {"k": 3, "level__born": 1, "level__sex": 1},
    {"k": 5, "level__zip": 5, "level__born": 3, "level__sex": 1},
    {"k": 4, "role__sex": "identifier"}, {"k": 4, "role__sex": "sensitive", "l": 2},
    {"k": 2, "role__stay": "qi"}, {"k": 2, "role__pid": "entity", "l": 2},
]  # fmt: skip


@pytest.mark.parametrize("given", QUESTIONS, ids=str)
def test_page_json_spec_and_sql_are_the_audit(page, folder, given, monkeypatch, capsys):
    shown = {route: figures(page.go(address(route, **given))[1])
             for route in ("/risk", "/levels", "/evidence")}  # fmt: skip
    result = json.loads(page.go(address("/audit.json", **given))[1])
    (folder / "taken.yml").write_text(page.go(address("/kanon.yml", **given))[1])
    code = run(folder, "audit", "taken.yml", "--format", "json", monkeypatch=monkeypatch)
    [told] = json.loads(capsys.readouterr().out)["tables"]
    [table] = result["tables"]
    assert {key: value for key, value in table.items() if key not in ("seconds", "sql")} == {
        key: value for key, value in told.items() if key not in ("seconds", "sql")
    }
    summary = told["summary"]
    k = next((check for check in told["checks"] if check["model"] == "k_anonymity"), None)
    expected = {
        "status": told["status"],
        "k": str(summary["k"]),
        "records": str(summary["records"]),
        "classes": str(summary["classes"]),
        "unique": str(summary["uniques"]),
    }
    for of_page in shown.values():
        assert {name: of_page[name] for name in expected} == expected
        if k and k.get("violating_records") is not None:
            assert of_page["below"] == str(k["violating_records"])
    assert code == (told["status"] == "violated")
    sql = page.go(address("/audit.sql", **given))[1]
    first = re.split(r";\n", sql)[0]
    monkeypatch.chdir(folder)
    rows = duckdb.execute(first).fetchall()
    assert sum(row[0] >= 0 for row in rows) == len(rows) > 0


def test_commands_ask_the_same(page, folder, monkeypatch, capsys):
    given = {"k": 5, "l": 2, "level__zip": 2, "level__born": 2}
    shown = page.go(address("/evidence", **given))[1]
    commands = commands_of(shown)
    audit, release = (shlex.split(command)[1:] for command in commands)
    run(folder, *audit, "--format", "json", monkeypatch=monkeypatch)
    [told] = json.loads(capsys.readouterr().out)["tables"]
    assert str(told["summary"]["classes"]) == figures(shown)["classes"]
    monkeypatch.chdir(folder)
    Path("release.parquet").unlink(missing_ok=True)
    code = run(folder, *release, "--format", "json", "-q", monkeypatch=monkeypatch)
    made = json.loads(capsys.readouterr().out)
    assert code == 0
    assert made["anonymization"]["suppressed"] == int(
        release[release.index("--max-suppressed") + 1]
    )


def test_without_one_column_the_figures_are_those_of_its_link(page):
    shown = page.go(address("/risk", k=5, level__zip=2))[1]
    table = shown.split("Without one of them")[-1].split("</table>")[0]
    rows = re.findall(r'<tr><th scope="row"><a href="([^"]*)".*?</tr>', table)
    assert len(rows) == 3
    for link in rows:
        without = figures(page.go(html.unescape(link))[1])
        row = table.split(link)[1].split("</tr>")[0]
        assert f">{int(without['k']):,}<" in row


def test_a_level_gives_what_its_row_says(page):
    shown = page.go(address("/levels", k=5, level__zip=1))[1]
    for card in shown.split('class="choices-card"')[1:]:
        for row in re.findall(r"<tr.*?</tr>", card)[1:]:
            link = html.unescape(re.findall(r'href="([^"#]*)', row)[0])
            below = int(figures(page.go(link)[1])["below"])
            share = re.findall(r'share-bar" style="width:([0-9.]+)%', row)[0]
            assert float(share) == pytest.approx(100 * below / PEOPLE, abs=0.06)


@pytest.mark.parametrize("route", ["/risk", "/levels", "/evidence"])
def test_l_and_t_without_a_sensitive_column_are_said_to_be_left_out(page, route):
    asked = {"role__ill": "insensitive", "k": 2, "l": 2, "t": 0.1}

    text = page.go(address(route, **asked))[1]

    assert "l and t not checked: no column is sensitive" in text


def test_the_level_now_is_marked(page):
    shown = page.go(address("/levels", k=5, level__zip=1))[1]
    now = re.findall(r'<a href="[^"]*" aria-current="true">([^<]*)</a>', shown)
    assert now == ["1 · mask 1 from the right", "0 · raw value", "0 · raw value"]


# --- searches -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["", "datafly"])
def test_found_levels_hold(page, algorithm):
    shown = page.go(address("/find", k=5, algorithm=algorithm, max_suppressed="5%"))[1]
    assert "be answered" not in shown
    [use] = [link for link in links(shown) if link.startswith("/levels") and "level." in link]
    at, text = page.go(use)
    evidence = page.go(at.replace("/levels", "/evidence"))[1]
    most = re.findall(r"--max-suppressed ([0-9]+)", evidence)[0]
    assert int(most) <= PEOPLE // 20
    assert figures(text)["lost"] != "0.0"


def test_a_command_releases_no_column_that_is_undecided(page, folder, monkeypatch, capsys):
    given = {"k": 5, "level__zip": 2, "level__born": 2, "role__stay": ""}
    release = commands_of(page.go(address("/evidence", **given))[1])[1]
    (folder / "release.parquet").unlink(missing_ok=True)
    assert run(folder, *shlex.split(release)[1:], monkeypatch=monkeypatch) == 2
    assert "stay" in capsys.readouterr().err
    assert not (folder / "release.parquet").exists()


def test_levels_that_hold_without_some_records_say_so(page):
    shown = page.go(address("/levels", k=5, level__zip=2, level__born=2))[1]
    command = commands_of(page.go(address("/evidence", k=5, level__zip=2, level__born=2))[1])[1]
    suppressed = command.split("--max-suppressed ")[1].split()[0]
    assert f"leaves out the {suppressed} records" in text_of(shown)
    assert "leaves out the" not in text_of(page.go(address("/levels", **HELD))[1])


def test_a_page_of_a_search_names_no_option(page):
    shown = text_of(page.go(address("/find", k=5, role__stay=""))[1])
    assert "Unassigned and released unchanged" in shown
    assert "--unassigned" not in shown


def test_without_a_record_left_there_is_no_release(page):
    asked = address("/evidence", k=5, role__pid="qi", role__ill="insensitive")
    text = html.unescape(page.go(asked)[1])

    assert "No release: every record is in violation of a check." in text
    assert [each.split()[1] for each in commands_of(text)] == ["audit"]


def test_a_local_search_leads_to_its_command(page):
    shown = page.go(address("/find", k=5, algorithm="local"))[1]
    [use] = [link for link in links(shown) if "/evidence" in link and "Use" in shown][-1:]
    assert "--algorithm local" in page.go(use)[1]


def test_a_row_of_the_trade_off_leads_to_its_levels(page):
    shown = page.go(address("/tradeoff", k=5, max_suppressed="5%"))[1]
    rows = re.findall(
        r'<th scope="row"><a href="([^"]*)"[^>]* aria-label="Use the levels of k ([0-9]+)"', shown
    )
    assert [int(k) for _, k in rows] == [2, 3, 5, 8, 11, 15, 20, 50][: len(rows)]
    assert "<svg" in shown
    for link, k in rows:
        at, _ = page.go(html.unescape(link))
        assert f"k={k}" in at


def test_a_search_without_k_says_what_is_missing(page):
    assert "say how many records each class" in text_of(page.go(address("/find"))[1])


# --- what comes of a question that can't be answered ------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"hierarchy__zip": "date:year"}, "are not dates"),
        ({"level__zip": 9}, "has levels 0 to 5"),
        ({"hierarchy__sex": "width:5"}, "are not numbers"),
        ({"hierarchy__sex": "width:10,15"}, "doesn't follow"),
        ({"hierarchy__stay": "date:year", "role__stay": "qi"}, "BIGINT"),
    ],
)
def test_a_hierarchy_that_does_not_fit_is_a_sentence_on_the_page(page, given, says):
    shown = text_of(page.go(address("/levels", k=5, **given))[1])
    assert "This can't be answered" in shown
    assert says in shown
    assert "02138" not in shown
    at, wrong = page.go(address("/levels", k=5, **given))
    assert 'name="hierarchy.zip"' in wrong
    assert len([link for link in links(wrong) if link.startswith("/columns?")]) == 2
    assert page.ask(at.replace("/levels", "/audit.json"))[0].status == 400


def test_a_bookmark_shows_the_same_after_a_restart(page, folder):
    at, shown = page.go(address("/levels", k=5, l=2, level__zip=2, level__born=1))
    with LocalPage(folder, "patients.parquet") as again:
        assert figures(again.go(at)[1]) == figures(shown)


def test_two_tabs_at_once_have_each_their_own_figures(page):
    found: dict[int, dict[str, str]] = {}

    def look(k: int) -> None:
        found[k] = figures(page.go(address("/risk", k=k, level__zip=2, level__born=2))[1])

    tabs = [threading.Thread(target=look, args=[k]) for k in range(2, 10)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert {k: int(shown["below"]) for k, shown in found.items()} == {
        k: int(figures(page.go(address("/risk", k=k, level__zip=2, level__born=2))[1])["below"])
        for k in found
    }
    assert len({shown["below"] for shown in found.values()}) > 1


def test_a_changed_file_is_counted_anew(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("zip\n" + "1\n" * 4 + "2\n" * 6)
    with LocalPage(tmp_path, "t.csv") as opened:
        before = figures(opened.go("/risk?role.zip=qi&k=5")[1])
        file.write_text("zip\n" + "1\n" * 5 + "2\n" * 7)
        at, shown = opened.go("/risk?role.zip=qi&k=5")
        assert "counted anew" in shown
        assert (before["status"], figures(shown)["status"]) == ("violated", "holds")
        assert "counted anew" not in opened.go(at)[1]
        file.write_text("zip\n" + "".join(f"{n}\n" for n in range(7)))
        above, shown = opened.go("/levels?role.zip=qi&k=5&hierarchy.zip=mask:right&level.zip=1")
        assert figures(shown)["below"] == "0"
        file.write_text("zip\n" + "".join(f"{n + 95}\n" for n in range(9)))
        again, shown = opened.go(above)
        assert again == above
        assert figures(shown)["records"] == "9"
        with LocalPage(tmp_path, "t.csv") as anew:
            assert figures(anew.go(above)[1]) == figures(shown)
        file.write_text("zap\n1\n")
        for _ in range(2):
            assert "other columns than" in opened.go(at)[1]
            assert "other columns than" in opened.go("/risk?role.zip=qi&k=6")[1]
        file.write_text("zip\n" + "1\n" * 3)
        assert figures(opened.go(at)[1])["records"] == "3"


def test_the_commands_read_the_file_as_the_page_does(tmp_path, monkeypatch):
    text = "Überschrift\nzip;größe\n" + "1;2\n" * 6
    (tmp_path / "t.csv").write_text(text, encoding="cp1252")
    asked = ("--encoding", "cp1252", "--skip", "1", "--header", "yes", "--delimiter", ";")
    with LocalPage(tmp_path, "t.csv", *asked) as opened:
        audit, _ = commands_of(opened.go("/evidence?role.zip=qi&k=5")[1])
    for option, value in (asked[:2], asked[2:4], asked[4:6]):
        assert f"{option} {value}" in audit
    assert run(tmp_path, *shlex.split(audit)[1:], monkeypatch=monkeypatch) == 0


def test_the_proposed_question_of_a_german_table_can_be_answered(tmp_path, monkeypatch):
    """Semicolons, decimal commas, cp1252, days first: what is proposed is what is read."""
    lines = [
        f"0{n % 3}067;{n % 28 + 1:02}.0{n % 9 + 1}.19{n % 50 + 40};{n % 80},5" for n in range(90)
    ]
    text = "\n".join(["PLZ;Geburtsdatum;Größe (cm)", *lines])
    (tmp_path / "t.csv").write_text(text, encoding="cp1252")
    with LocalPage(tmp_path, "t.csv", "--encoding", "cp1252", "--decimal", ",") as opened:
        at, shown = opened.go("/")
        assert "Geburtsdatum is read as day.month.year" in text_of(shown)
        assert "hierarchy.Geburtsdatum=date%3A" in at
        levels = opened.go(at.replace("/columns", "/levels"))[1]
        assert figures(levels)["records"] == "90"
        use = f"{at}&level.Geburtsdatum=2".replace("/columns", "/evidence")
        at, evidence = opened.go(use)
        [audit] = commands_of(evidence)
        assert "--date-format Geburtsdatum=dmy" in audit
        spec = yaml.safe_load(opened.go(at.replace("/evidence", "/kanon.yml"))[1])
        assert spec["tables"][0]["dates"] == {"Geburtsdatum": "dmy"}
    assert run(tmp_path, *shlex.split(audit)[1:], monkeypatch=monkeypatch) == 1
    with LocalPage(tmp_path, "t.csv", "--encoding", "cp1252", "--decimal", ",") as opened:
        assert figures(opened.go(at)[1]) == figures(evidence)


def test_the_same_question_again_is_kept(page):
    path = address("/risk", k=7, level__born=1)
    page.go(path)
    started = time.monotonic()
    for _ in range(20):
        page.go(path)
    assert (time.monotonic() - started) / 20 < 0.1


# --- slow pages -----------------------------------------------------------------------------

SLOW = "role.a=qi&role.b=qi&role.c=qi&k=5"


def slow_table(folder: Path) -> None:
    """Four million records, of which hardly any two are alike."""
    columns = ", ".join(f"hash(i + {n}) % {900_000 - n} as {name}" for n, name in enumerate("abc"))
    file = folder / "slow.parquet"
    duckdb.execute(f"copy (select {columns} from range(4000000) t(i)) to '{file}'")


@pytest.fixture(scope="module")
def slow(tmp_path_factory) -> Iterator[LocalPage]:
    folder = tmp_path_factory.mktemp("slow")
    slow_table(folder)
    with LocalPage(folder, "slow.parquet") as opened:
        yield opened


def test_a_slow_page_is_its_own_progress(slow):
    answer = slow.raw(slow.request(f"GET /risk?{SLOW} HTTP/1.1"), seconds=120).decode()
    head, _, rest = answer.partition('<div class="running" role="status">')
    assert "<nav" in head
    assert "How easily" not in head
    ticks = re.findall(r'<p class="tick">(.*?)</p>', rest)
    assert any("How many" in tick or "Which" in tick for tick in ticks)
    assert '<div class="done"></div>\n<h1>How easily is someone found?</h1>' in rest
    assert figures(rest)["records"] == "4000000"
    assert "Content-Length" not in head


def test_a_slow_download_is_sent_once_it_is_there(slow):
    started = time.monotonic()
    response, text = slow.ask(f"/audit.json?{SLOW}")

    assert response.status == 200
    assert json.loads(text)["tables"][0]["summary"]["records"] == 4_000_000
    assert 0.5 < time.monotonic() - started < 29


def test_a_head_request_counts_nothing(slow):
    line = f"/risk?{SLOW.replace('&k=5', '&hierarchy.b=width%3A3&k=5')} HTTP/1.1"
    assert b" 200 " in slow.raw(slow.request(f"HEAD {line}"))
    assert b'class="running"' in slow.raw(slow.request(f"GET {line}"), seconds=120)


def test_above_a_million_records_the_columns_are_there_at_once(slow):
    started = time.monotonic()
    _, shown = slow.go("/")
    assert time.monotonic() - started < 3
    assert "by the names of the columns alone" in shown
    assert "Measure the columns" in shown
    assert "Measure without each of them" in slow.go(f"/risk?{SLOW}")[1]


def test_above_ten_million_records_nothing_is_counted_unasked(tmp_path):
    file = tmp_path / "large.parquet"
    duckdb.execute(f"copy (select i % 50 as a, i % 3 as b from range(10000001) t(i)) to '{file}'")
    asked = "role.a=qi&role.b=qi&k=5"
    with LocalPage(tmp_path, "large.parquet") as opened:
        assert "10,000,001 records" in opened.said
        opened.go("/")
        for route in ("/risk", "/levels", "/evidence", "/find", "/tradeoff"):
            started = time.monotonic()
            shown = opened.go(f"{route}?{asked}")[1]
            assert time.monotonic() - started < 2
            assert "Nothing is counted yet" in shown
            assert 'name="ask" value="count"' in shown
            assert "kanon-sql audit large.parquet" in text_of(shown)
            assert figures(shown) == {}
        assert yaml.safe_load(opened.go(f"/kanon.yml?{asked}")[1])
        shown = opened.go(f"/risk?{asked}&ask=count")[1]
        assert figures(shown)["records"] == "10000001"
        [levels] = [link for link in links(shown) if link.startswith("/levels")][-1:]
        assert levels.endswith("ask=count")
        assert figures(opened.go(levels)[1])["records"] == "10000001"
        [use] = [link for link in links(opened.go(levels)[1]) if "level.a=1" in link]
        assert figures(opened.go(use)[1])["records"] == "10000001"


def test_a_reader_who_leaves_cancels_the_statement():
    """Seen from inside: the engine's statement ends."""
    from kanon_sql.engines import connect

    turns, engines = Turns(), []

    def count() -> Any:
        engines.append(connect())
        turns.opens(engines[0])
        turns.watch("How many?", lambda: "")
        return engines[0].query("select count(*) as n from range(100000000) a, range(100000) b")

    turn = turns.ask(count)
    waiting = turns.ask(lambda: 1)
    time.sleep(0.5)
    assert "How many?" in turn.progress
    assert "waits" in waiting.progress
    started = time.monotonic()
    turns.leave(turn)
    assert time.monotonic() - started < 2
    with pytest.raises(ReaderLeft):
        turn.value()
    assert waiting.value() == 1
    assert turns.ask(lambda: engines[0].query("select 1 as n")).value() == [{"n": 1}]
    turns.end(engines[0].close, 2)


def test_a_closed_tab_makes_way_for_the_next_question(slow):
    import socket

    with socket.create_connection(("127.0.0.1", slow.port)) as connection:
        other = SLOW.replace("k=5", "hierarchy.a=width:3&k=6")
        connection.sendall(slow.request(f"GET /levels?{other} HTTP/1.1"))
        time.sleep(0.8)
    started = time.monotonic()
    slow.go("/columns?role.a=qi")
    assert time.monotonic() - started < 3


# --- saving ---------------------------------------------------------------------------------


def saved(page: LocalPage, given: dict[str, Any], **chosen: str) -> tuple[int, str]:
    form = fields(page.go(address("/evidence", **given))[1], "/save")
    kept = {name: form[name] for name in ("secret", "question")}
    response, text = page.post({**kept, **chosen})
    return response.status, text_of(text)


@pytest.fixture
def out(folder) -> Path:
    for file in (folder / "out").iterdir():
        file.unlink()
    return folder / "out"


HELD = {"k": 5, "level__zip": 5, "level__born": 3}


def test_the_chosen_files_are_saved(page, out, folder, monkeypatch, capsys):
    code, said = saved(page, HELD, spec="1", report="1", release="1")
    assert code == 200
    assert (
        "Saved: patients.kanon.yml, patients.html, patients.json, patients.release.parquet" in said
    )
    assert "Counted anew from the records: the same figures." in said
    names = ["patients.html", "patients.json", "patients.kanon.yml", "patients.release.parquet"]
    assert sorted(file.name for file in out.iterdir()) == names
    spec = yaml.safe_load((out / "patients.kanon.yml").read_text())
    assert spec["tables"][0]["source"] == "../patients.parquet"
    assert run(folder, "audit", "out/patients.kanon.yml", "-q", monkeypatch=monkeypatch) == 0
    assert run(folder, "report", "out/patients.json", "-q", monkeypatch=monkeypatch) == 0
    released = pq.read_table(out / "patients.release.parquet")
    assert released.column_names == ["zip", "born", "sex", "ill", "stay"]
    assert set(released["born"].to_pylist()) == {"*"}
    capsys.readouterr()


@pytest.mark.parametrize(
    "given",
    [{"k": 5, "algorithm": "local"}, {"k": 5, "algorithm": "local", "max_suppressed": "10%"},
     {"k": 5, "l": 2, "level__zip": 2, "level__born": 2}, {"k": 2, "level__born": 3}, {"k": 2},
     {**HELD, "algorithm": "datafly"}],
    ids=str,
)  # fmt: skip
def test_the_saved_release_is_that_of_the_command(page, out, folder, given, monkeypatch, capsys):
    command = commands_of(page.go(address("/evidence", **given))[1])[1]
    _, said = saved(page, given, release="1")
    assert "Saved: patients.release.parquet." in said
    (folder / "release.parquet").unlink(missing_ok=True)
    assert run(folder, *shlex.split(command)[1:], "-q", monkeypatch=monkeypatch) == 0
    released = pq.read_table(folder / "release.parquet")
    assert pq.read_table(out / "patients.release.parquet").equals(released)
    assert released.num_rows > 0
    capsys.readouterr()


def test_files_are_saved_together_or_not_at_all(page, out):
    """A release that no level allows leaves no spec, and keeps what was there."""
    (out / "patients.kanon.yml").write_text("mine")
    none_holds = {"k": 601, "algorithm": "local"}
    _, said = saved(page, none_holds, spec="1", report="1", release="1", overwrite="1")
    assert "This can't be answered" in said
    assert [file.name for file in out.iterdir()] == ["patients.kanon.yml"]
    assert (out / "patients.kanon.yml").read_text() == "mine"
    _, said = saved(page, HELD, spec="1", report="1", release="1", overwrite="1")
    assert "Saved" in said
    assert len(list(out.iterdir())) == 4


def test_a_file_that_exists_is_kept_unless_its_box_is_ticked(page, out):
    assert saved(page, HELD, spec="1")[1].startswith("Evidence")
    (out / "patients.kanon.yml").write_text("mine")
    _, said = saved(page, HELD, spec="1", report="1")
    assert "patients.kanon.yml exists. To replace it" in said
    assert (out / "patients.kanon.yml").read_text() == "mine"
    assert len(list(out.iterdir())) == 1
    saved(page, HELD, spec="1", overwrite="1")
    assert AuditSpec.from_file(out / "patients.kanon.yml")


def test_a_link_is_not_followed(page, out, folder):
    other = folder / "other.txt"
    other.write_text("mine")
    (out / "patients.kanon.yml").symlink_to(other)
    (out / "patients.json").symlink_to(folder / "nowhere")
    for chosen in ({"spec": "1"}, {"report": "1"}):
        _, said = saved(page, HELD, **chosen, overwrite="1")
        assert "is a link" in said
    assert other.read_text() == "mine"
    assert not (folder / "nowhere").exists()


def test_a_folder_named_like_a_file_stays(page, out):
    (out / "patients.kanon.yml").mkdir()
    _, said = saved(page, HELD, spec="1", overwrite="1")
    assert "is a folder" in said
    (out / "patients.kanon.yml").rmdir()


def test_a_release_needs_a_role_for_every_column(page, out):
    _, said = saved(page, {**HELD, "role__stay": ""}, release="1", spec="1")
    assert "A release needs a role for every column" in said
    assert list(out.iterdir()) == []


def test_nothing_chosen_saves_nothing(page, out):
    assert "Choose a file" in saved(page, HELD)[1]
    assert list(out.iterdir()) == []


def test_without_a_folder_nothing_can_be_written(folder):
    with LocalPage(folder, "patients.parquet") as opened:
        shown = opened.go(address("/evidence", k=5))[1]
        assert "--output DIR" in shown
        assert "<form" not in shown
        response, _ = opened.post({"secret": "x", "question": "role.zip=qi", "spec": "1"})
        assert response.status == 404


def test_undecided_columns_are_said_on_evidence_and_in_the_spec(page):
    given = {"k": 5, "role__stay": "", "role__pid": ""}
    shown = text_of(page.go(address("/evidence", **given))[1])
    assert "2 of 6 columns undecided: pid, stay." in shown
    spec = yaml.safe_load(page.go(address("/kanon.yml", **given))[1])
    assert spec["tables"][0]["undecided"] == ["pid", "stay"]


# --- specs, hierarchies, other sources ------------------------------------------------------

SPEC = """
tables:
  - source: patients.parquet
    identifiers: [pid]
    quasi_identifiers:
      zip: {hierarchy: zip.csv}
      born: {levels: [year, {years: 5}]}
    sensitive: [ill]
    insensitive: [stay]
    undecided: [sex]
    levels: {born: 1}
    checks:
      - k_anonymity: {k: 4}
      - l_diversity: {l: 2}
"""


@pytest.fixture
def with_spec(folder) -> Path:
    (folder / "kanon.yml").write_text(SPEC)
    (folder / "zip.csv").write_text(
        "".join(f"0{n},Stadt{n // 3},Land\n" for n in range(2130, 2150))
    )
    return folder


def test_a_spec_is_where_the_page_begins(with_spec):
    with LocalPage(with_spec, "kanon.yml") as opened:
        at, _ = opened.go("/")
        assert at == (
            "/columns?role.pid=identifier&role.zip=qi&role.born=qi&role.ill=sensitive&"
            "role.stay=insensitive&hierarchy.born=date%3Ayear%2C5y&level.born=1&k=4&l=2"
        )
        shown = opened.go(at.replace("/columns", "/levels"))[1]
        assert "column 1 of zip.csv" in shown
        assert 'name="hierarchy.zip"' not in shown
        assert 'name="hierarchy.born"' in shown
        evidence = opened.go(at.replace("/columns", "/evidence"))[1]
        assert "Stadt" not in evidence
        assert "Stadt" not in opened.go(at.replace("/columns", "/audit.sql"))[1]
        assert opened.ask(f"{at}&hierarchy.zip=mask:right")[0].status == 400


def test_a_spec_may_spell_names_otherwise_and_say_how_to_release(with_spec):
    table = pa.table({"person": [*"abcdefgh"], "zip": [*"11112222"], "ill": [*"xyxyxyxy"],
                      "stay": [*range(8)]})  # fmt: skip
    pq.write_table(table, with_spec / "people.parquet")
    (with_spec / "spelled.yml").write_text(
        "tables:\n- source: people.parquet\n  entity: PERSON\n  entity_in_release: drop\n"
        "  unassigned: drop\n  quasi_identifiers: {Zip: {levels: [suppress]}}\n"
        "  sensitive: [Ill]\n  insensitive: {STAY: {why: 'drawn: at random'}}\n  levels: {ZIP: 1}\n"
        "  checks: [{k_anonymity: {k: 2}}, {l_diversity: {l: 2, sensitive: ILL}}]\n"
    )
    with LocalPage(with_spec, "spelled.yml") as opened:
        at, _ = opened.go("/")
        assert "level.zip=1" in at
        _, evidence = opened.go(at.replace("/columns", "/evidence"))
        [*_, release] = commands_of(evidence)
        assert "--entity-in-release drop" in release
        assert "--unassigned drop" in release
        written = yaml.safe_load(opened.go(at.replace("/columns", "/kanon.yml"))[1])
        assert written["tables"][0]["insensitive"] == {"stay": {"why": "drawn: at random"}}


def test_a_hierarchy_of_the_command_is_called_file(with_spec):
    with LocalPage(with_spec, "patients.parquet", "--hierarchy", "zip=zip.csv") as opened:
        shown = opened.go("/levels?role.zip=qi&hierarchy.zip=file&level.zip=2&k=5")[1]
        assert "column 2 of zip.csv" in shown
        spec = yaml.safe_load(opened.go("/kanon.yml?role.zip=qi&k=5")[1])
        assert spec["tables"][0]["quasi_identifiers"]["zip"] == {"hierarchy": "zip.csv"}


def test_a_filter_and_an_entity_hold_for_the_whole_run(folder):
    table = pa.table({"person": ["a", "a", "b", "c"], "zip": ["1", "2", "1", "1"],
                      "year": [2024, 2024, 2024, 2023]})  # fmt: skip
    pq.write_table(table, folder / "visits.parquet")
    with LocalPage(
        folder, "visits.parquet", "--where", "year = 2024", "--entity", "person"
    ) as opened:
        assert "3 records" in opened.said
        at, _ = opened.go("/")
        assert "role.person=entity" in at
        shown = figures(opened.go("/risk?role.person=entity&role.zip=qi&k=2")[1])
        assert (shown["records"], shown["k"]) == ("3", "1")
        evidence = html.unescape(opened.go("/evidence?role.person=entity&role.zip=qi&k=2")[1])
        assert "--where 'year = 2024'" in evidence


@pytest.mark.parametrize("kind", ["csv", "duckdb", "sqlite"])
def test_other_sources_have_the_same_figures(page, folder, kind):
    asked = address("/levels", k=5, l=2, level__zip=2, ask="count").replace(
        "date%3Ayear%2C5y%2Csuppress", "suppress"
    )
    expected = figures(page.go(asked)[1])
    table = patients()
    arguments = {"csv": ["patients.csv"], "duckdb": ["patients", "--connect", "duckdb:p.duckdb"],
                 "sqlite": ["patients", "--connect", "sqlite:p.sqlite"]}[kind]  # fmt: skip
    if kind == "csv":
        duckdb.from_arrow(table).write_csv(str(folder / "patients.csv"), header=True)
    elif kind == "duckdb":
        with duckdb.connect(str(folder / "p.duckdb")) as database:
            database.register("given", table)
            database.execute("create or replace table patients as from given")
    else:
        import sqlite3

        with sqlite3.connect(folder / "p.sqlite") as lite:
            lite.execute("drop table if exists patients")
            lite.execute(
                "create table patients (pid, zip text, born text, sex text, ill text, stay)"
            )
            rows = [tuple(str(v) if isinstance(v, date) else v for v in row.values())
                    for row in table.to_pylist()]  # fmt: skip
            lite.executemany("insert into patients values (?, ?, ?, ?, ?, ?)", rows)
        lite.close()
    with LocalPage(folder, *arguments, "--show-values") as opened:
        peeked = opened.go(asked.replace("/levels", "/risk") + "%2Cpeek")[1]
        assert "personal data" in peeked
        assert "can't be answered" not in peeked
        shown = figures(opened.go(asked)[1])
        assert {k: v for k, v in shown.items() if k != "lost"} == {
            k: v for k, v in expected.items() if k != "lost"
        }
        assert float(shown["lost"]) == pytest.approx(float(expected["lost"]))


def test_a_table_of_a_server_has_the_same_figures(page, tmp_path):
    """Each combination of values is fetched once, which is said; never a row."""
    asked = address("/levels", k=5, l=2, level__zip=2, ask="count")
    asked = asked.replace("date%3Ayear%2C5y%2Csuppress", "suppress")
    expected = figures(page.go(asked)[1])
    rows = ", ".join(
        "({})".format(", ".join("null" if v is None else f"'{v}'" for v in row.values()))
        for row in patients().to_pylist()
    )
    with postgres(tmp_path) as running:
        running.run(
            f"create table patients as select * from (values {rows}) as t (pid, zip, born, sex, "
            "ill, stay)"
        )
        with LocalPage(tmp_path, "patients", "--connect", running.url) as opened:
            assert "6 columns" in opened.said
            assert "records" not in opened.said.split("columns")[0]
            shown = figures(opened.go(asked)[1])
            evidence = opened.go(asked.replace("/levels", "/evidence"))[1]
            _, _, told = opened.end()
    assert {k: v for k, v in shown.items() if k != "lost"} == {
        k: v for k, v in expected.items() if k != "lost"
    }
    assert "are fetched from postgres, each once" in told
    assert "--connect" in evidence


# --- names and values -----------------------------------------------------------------------

ODD = ["<b onclick=x>&\"'", "'; drop table t; --", "a: [b] - c", "$(reboot)", "a.b", "a,b", "a=b",
       "é ☃", "\\", "x" * 100, "k", "role.zip", "\u202eevil\u202c"]  # fmt: skip


def test_names_of_columns_are_text(tmp_path, monkeypatch, capsys):
    table = pa.table(
        {name: [f"v{n % (place + 2)}" for n in range(40)] for place, name in enumerate(ODD)}
    )
    pq.write_table(table, tmp_path / "odd.parquet")
    (tmp_path / "out").mkdir()
    roles = {f"role.{name}": "qi" for name in ODD[:4]}
    roles |= {f"role.{name}": "identifier" for name in ODD[4:8]} | {f"role.{ODD[8]}": "sensitive"}
    asked = urlencode(roles | {"k": 5, "l": 2})
    with LocalPage(tmp_path, "odd.parquet", "--output", "out") as opened:
        opened.go("/")
        for route in ("/columns", "/risk", "/levels", "/evidence"):
            at, shown = opened.go(f"{route}?{asked}")
            assert "<b onclick" not in shown
            assert "\u202e" not in shown
            assert opened.go(at)[0] == at
        (tmp_path / "taken.yml").write_text(opened.go(f"/kanon.yml?{asked}")[1])
        evidence = opened.go(f"/evidence?{asked}")[1]
        result = json.loads(opened.go(f"/audit.json?{asked}")[1])
        columns = fields(opened.go(f"/columns?{asked}")[1], "/risk")
        assert columns == {"k": "5", "l": "2"}
    spec = yaml.safe_load((tmp_path / "taken.yml").read_text())["tables"][0]
    assert [*spec["quasi_identifiers"]] == ODD[:4]
    assert spec["undecided"] == ODD[9:]
    assert result["tables"][0]["quasi_identifiers"] == ODD[:4]
    commands = commands_of(evidence)
    words = shlex.split(commands[0])[1:]
    run(tmp_path, *words, "--format", "json", monkeypatch=monkeypatch)
    [told] = json.loads(capsys.readouterr().out)["tables"]
    assert told["summary"] == result["tables"][0]["summary"]


def planted_table(folder: Path) -> None:
    drawn = random.Random(5)
    rows = [
        (drawn.choice(ZIPS), drawn.choice(INCOMES), drawn.choice(BIRTHS), drawn.choice(DIAGNOSES),
         drawn.choice(NAMES))
        for _ in range(60)
    ]  # fmt: skip
    pq.write_table(people(rows), folder / "people.parquet")
    lines = {zip_.replace("\n", " ") for zip_ in ZIPS}
    (folder / "zips.csv").write_text("".join(f'"{zip_}",Rumpelstadt\n' for zip_ in sorted(lines)))


MORE = [{}, {"level.born": "1"}, {"role.person": "entity"}, {"level.zip": "1"},
        {"hierarchy.zip": "width:5"}, {"hierarchy.born": "mask:right"}]  # fmt: skip


@pytest.mark.parametrize(
    ("sensitive", "arguments"), [("diagnosis", []), ("income", ["--hierarchy", "zip=zips.csv"])]
)
def test_no_page_file_or_header_has_a_value(tmp_path, sensitive, arguments):
    planted_table(tmp_path)
    (tmp_path / "out").mkdir()
    names = [name for name in COLUMNS if name not in (sensitive, "person")]
    roles = {f"role.{name}": "qi" for name in names} | {f"role.{sensitive}": "sensitive"}
    builders = {"hierarchy.born": "date:year,5y", "hierarchy.income": "width:100000,suppress"}
    builders = {how: built for how, built in builders.items() if how[10:] in names}
    with LocalPage(tmp_path, "people.parquet", "--output", "out", *arguments) as opened:
        told = [opened.said, opened.go("/")[1]]
        for more in MORE:
            asked = urlencode({**roles, **builders, "k": 3, "l": 2, "t": 0.3, **more,
                               "max_suppressed": "50%"})  # fmt: skip
            for route in ("/columns", *OF_A_CHOICE):
                path = f"{route}?{asked}" + ("&ask=without,sets,peek" if route == "/risk" else "")
                for _ in range(3):
                    response, text = opened.ask(path)
                    told += [text, str(response.getheaders())]
                    path = str(response.getheader("Location"))
                    if response.status != 303:
                        break
        form = fields(opened.go(f"/evidence?{urlencode({**roles, 'k': 2})}")[1], "/save")
        told += [opened.post({**form, "overwrite": "1"})[1]]
        title = Path(f"/proc/{opened.process.pid}/cmdline").read_text()
        told += [title, opened.end()[2]]
    told += [file.read_text() for file in (tmp_path / "out").iterdir()]
    assert [each for text in told for each in traces(text)] == []
    assert len(told) > 60


def test_values_are_shown_on_request_and_where_it_says_so(tmp_path):
    planted_table(tmp_path)
    asked = urlencode({"role.zip": "qi", "role.born": "qi", "role.diagnosis": "sensitive", "k": 30})
    with LocalPage(tmp_path, "people.parquet", "--show-values") as opened:
        assert traces(opened.go(f"/risk?{asked}")[1]) == []
        shown = opened.go(f"/risk?{asked}&ask=peek")[1]
        assert "zeppelin" in traces(shown)
        assert "personal data" in shown
        for route in ("/columns", "/levels"):
            assert traces(opened.go(f"{route}?{asked}")[1]) == []


# --- terminal and Markdown ------------------------------------------------------------------


def test_every_writer_renders_the_pages():
    from kanon_sql.report import markdown, terminal
    from kanon_sql.report.document import (
        Choices,
        Control,
        Datum,
        Link,
        ShareCell,
        Strip,
        StripFigure,
    )

    page = [
        Strip([StripFigure("k", Datum("1", "k", "1"), [Datum("asked for 5")])]),
        Choices(
            "Levels",
            "which",
            controls=[
                Control("k", "k", "5"),
                Control("r", "role", "qi", "select", [("qi", "quasi")]),
            ],
            header=("level", "below"),
            rows=[[Link("raw", "/levels", True), ShareCell("5 %", 0.05)], [Link("a", "/x"), "b"]],
        ),
    ]
    for text in (terminal.write(page), markdown.write(page)):
        for words in ("asked for 5", "Levels", "which", "k: 5", "raw (now)", "5 %", "/x"):
            assert words in text
