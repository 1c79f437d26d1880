# ruff: noqa: RUF001  a range of sizes is written with an en dash
"""The reports: hand-made results in, whole texts out."""

from __future__ import annotations

import ast
import dataclasses
import re
import tomllib

import pytest
from audits import HOLDS, LINKED, MADE_FOR_PEOPLE, VIOLATED, audited, text, with_checks
from pages import as_html, as_markdown, as_text
from places import HOUSE

from kanon_sql.models.catalogue import MODELS
from kanon_sql.report import terminal
from kanon_sql.report.words import tables as wording
from kanon_sql.report.words.check_phrases import has_phrases
from kanon_sql.report.words.numbers import in_python
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import HistogramBin

# For a terminal


def test_a_violated_table_says_how_bad_it_is_and_what_to_try():
    assert as_text(audited(VIOLATED)) == text("violated.txt")


def test_a_table_that_holds_says_what_the_models_leave_open():
    assert as_text(audited(HOLDS)) == text("holds.txt")


def test_a_wide_terminal_has_a_line_a_check():
    assert as_text(audited(VIOLATED), width=150).splitlines()[2:4] == [
        "  VIOLATED  k-anonymity            k is 1, asked for 5                  "
        "1,200 records (60.0 %) in 600 classes of fewer than 5 records",
        "  measured  homogeneity diagnosis  310 classes with a single diagnosis  "
        "10 classes of 2 or more records share one value, 300 records are alone",
    ]


def test_people_are_counted_as_people_and_records_as_records():
    assert as_text(audited(MADE_FOR_PEOPLE)) == text("people.txt")


def test_the_reading_of_null_that_protects_less_comes_first():
    wildcard = CheckResult("k_anonymity", {"k": 2}, True, 3, details={"achieved_nulls_as_value": 1})
    table = dataclasses.replace(
        HOLDS, nulls="wildcard", sensitive=(), checks=(wildcard,), seconds=0.0
    )
    assert as_text(audited(table)).splitlines()[:4] == [
        "release.csv · 1,030 records · quasi-identifiers zip · NULL matches every value",
        "",
        "  holds     k-anonymity  k is 1 with NULL as a value, 3 with NULL as a wildcard,",
        "            asked for 2",
    ]


def test_a_reference_is_named_with_the_attacker_and_the_journalist_risk():
    table = dataclasses.replace(
        with_checks(LINKED),
        risk={
            **VIOLATED.risk,
            "journalist": {"highest": 0.5, "average": 0.1, "at_risk": 0.04, "threshold": 0.2},
        },
    )
    lines = as_text(audited(table)).splitlines()
    assert lines[3:5] == [
        "  VIOLATED  k-map voters  k is 0 in voters, asked for 10",
        "            8 records (0.4 %) in 2 classes that match fewer than 10 in voters",
    ]
    assert lines[18:24] == [
        "  k-map voters assumes this attacker: someone who looks for a person in a list",
        "  of voters.",
        "",
        "  Linking through the reference finds a person with a chance of 50.0 % at most,",
        "  and of 10.0 % on average (journalist risk). The chance is above 20 % for 4.0 %",
        "  of the records.",
    ]


def test_nothing_demanded_is_measured_and_says_how_to_demand():
    measured = CheckResult("k_anonymity", {}, None, 1)
    table = dataclasses.replace(with_checks(measured), status="measured")
    lines = as_text(audited(table)).splitlines()
    assert lines[3] == "  measured  k-anonymity  k is 1  the smallest class has 1 record"
    assert lines[-4:-1] == [
        "  Nothing was required, so nothing can fail.",
        "  With --k 5 the audit ends with exit code 1 if a class is smaller than 5.",
        "  Thresholds in use, and whose they are: kanon-sql explain thresholds.",
    ]


def test_warnings_stand_between_the_verdicts_and_the_histogram():
    table = dataclasses.replace(
        HOLDS,
        warnings=('"ssn" differs in every record, so it may point at people. Is it published?',),
    )
    assert as_text(audited(table)).splitlines()[6:11] == [
        "",
        '  warning   "ssn" differs in every record, so it may point at people. Is it',
        "            published?",
        "",
        "  Records by the size of their class",
    ]


def test_values_are_shown_under_a_warning():
    table = dataclasses.replace(
        VIOLATED,
        shown={
            "small_classes": [
                {"zip": "02138", "sex": None, "kanon_size": 1},
                {"zip": "02139", "sex": "F", "kanon_size": 2},
            ]
        },
    )
    lines = as_text(audited(table)).splitlines()
    assert lines[-7:-1] == [
        "  This output now contains personal data (--show-values). Handle it as such.",
        "",
        "  Classes that are too small",
        "    zip   · sex  · kanon_size",
        "    02138 · NULL · 1",
        "    02139 · F    · 2",
    ]


def test_shown_values_that_are_too_wide_for_columns_fold_between_values():
    row = {f"column {number}": "x" * 20 for number in range(5)}
    table = dataclasses.replace(VIOLATED, shown={"small_classes": [row]})
    assert as_text(audited(table)).splitlines()[-5:-1] == [
        "  Classes that are too small",
        "    column 0 · column 1 · column 2 · column 3 · column 4",
        "    xxxxxxxxxxxxxxxxxxxx · xxxxxxxxxxxxxxxxxxxx · xxxxxxxxxxxxxxxxxxxx ·",
        "      xxxxxxxxxxxxxxxxxxxx · xxxxxxxxxxxxxxxxxxxx",
    ]


def test_a_list_of_no_values_says_so():
    table = dataclasses.replace(VIOLATED, shown={"small_classes": []})
    assert as_text(audited(table)).splitlines()[-2] == "  Classes that are too small: none"


def test_several_tables_have_a_section_each_and_a_closing_line():
    nothing = dataclasses.replace(HOLDS, name="empty.csv", status="no_data")
    broken = dataclasses.replace(
        HOLDS, name="big.parquet", status="error", error="the memory limit was reached."
    )
    assert as_text(audited(nothing, broken, HOLDS)) == "\n".join(
        [
            "empty.csv: no data. No record was found, so nothing is shown to hold (exit code",
            "4). Check the source and the filter.",
            "",
            "big.parquet: the audit failed: the memory limit was reached.",
            "",
            text("holds.txt"),
            "",
            "3 tables: 1 no data (empty.csv); 1 failed (big.parquet); 1 holds (release.csv).",
        ]
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_words_of_its_own(name):
    assert has_phrases(name)


def test_colour_adds_nothing_but_colour():
    coloured = as_text(audited(VIOLATED), colour=True)
    assert "\x1b[1;31m  VIOLATED" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == as_text(audited(VIOLATED))


@pytest.mark.parametrize("table", [VIOLATED, HOLDS, MADE_FOR_PEOPLE, with_checks(LINKED)])
@pytest.mark.parametrize("width", [80, 100, 133])
def test_no_line_is_wider_than_asked(table, width):
    lines = as_text(audited(table), width=width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("render", [as_text, as_markdown, as_html])
@pytest.mark.parametrize("table", [VIOLATED, HOLDS, MADE_FOR_PEOPLE, with_checks(LINKED)])
def test_no_report_calls_a_table_safe_or_anonymous(render, table):
    words = set(re.findall(r"[a-z-]+", render(audited(table)).lower()))
    assert "k-anonymity" in words or "k-map" in words
    assert words.isdisjoint({"safe", "anonymous"})


def test_a_name_can_not_move_the_cursor():
    table = dataclasses.replace(HOLDS, name="a\x1b[2Jb\n.csv")
    first, *_ = as_text(audited(table)).splitlines()
    assert first.startswith(r"a\x1b[2Jb\n.csv · ")


@pytest.mark.parametrize(
    ("sizes", "k", "labels"),
    [
        ([1, 3, 7, 20, 200], None, ["1", "2–4", "5–9", "10–99", "100+"]),
        ([1, 3, 7, 20, 200], 3, ["1", "2", "3–4", "5–9", "10–99", "100+"]),
        ([20, 2_000], 1_000, ["10–99", "100–999", "1,000+"]),
        ([7], 5, ["5–9"]),
    ],
)
def test_every_demanded_k_begins_a_bin(sizes, k, labels):
    table = dataclasses.replace(
        with_checks(CheckResult("k_anonymity", {"k": k} if k else {}, None, sizes[0])),
        histogram=tuple(HistogramBin(size, 1, size) for size in sizes),
    )
    assert [size.label for size in wording.histogram(table)] == labels


# For a document and a notebook


def test_markdown():
    assert as_markdown(audited(VIOLATED)) == text("violated.md")


def test_markdown_reads_no_marks_in_names():
    table = dataclasses.replace(
        VIOLATED, name="a|b*c*.csv", quasi_identifiers=("birth_date", "_x_")
    )
    assert as_markdown(audited(table)).splitlines()[:3] == [
        r"## a\|b\*c\*.csv",
        "",
        r"2,000 records · quasi-identifiers birth_date, \_x\_ · sensitive diagnosis",
    ]


def test_notebook():
    assert as_html(audited(HOLDS)) == text("holds.html")


def test_notebook_runs_nothing_that_a_name_holds():
    table = dataclasses.replace(VIOLATED, name="<script>alert(1)</script>")
    assert "<script>" not in as_html(audited(table))
    assert "&lt;script&gt;" in as_html(audited(table))


def test_a_result_prints_itself():
    assert str(audited(HOLDS)) == terminal.write(in_python(audited(HOLDS).page()))
    assert audited(HOLDS)._repr_html_() == as_html(audited(HOLDS))


def test_a_result_with_values_says_so_in_its_json():
    shown = dataclasses.replace(VIOLATED, shown={"small_classes": [{"zip": "02138"}]}).to_dict()
    keys = ("holds_personal_data", "shown_values")
    assert [shown.get(key) for key in keys] == [True, {"small_classes": [{"zip": "02138"}]}]
    assert [VIOLATED.to_dict().get(key) for key in keys] == [None, None]


def test_every_sentence_that_python_words_anew_is_written_somewhere() -> None:
    """A sentence that changes takes its row of the table with it."""
    written = set()
    for file in HOUSE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.JoinedStr(values=parts):
                    texts = (part.value for part in parts if isinstance(part, ast.Constant))
                    written.add("5".join(map(str, texts)))
                case ast.Constant(value=str(text)):
                    written.add(text)
    for file in HOUSE.rglob("*.toml"):
        if file.name != "python_words.toml":
            written.add(re.sub(r"\\\n\s*", "", file.read_text(encoding="utf-8")))
    spoken = "\n".join(written).replace("\N{NO-BREAK SPACE}", " ")
    rows = tomllib.loads((HOUSE / "report/words/python_words.toml").read_text(encoding="utf-8"))

    def stem(row: str) -> str:
        """A row without its pronoun, which is often a variable."""
        return re.sub(r" (it|them)$", "", row.replace("\N{NO-BREAK SPACE}", " "))

    assert [row for row in rows if stem(row) not in spoken] == []
