"""HIPAA's Safe Harbor: what of it is asked, of which table, and what is left to a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

import kanon_sql as kanon

POLICY = "hipaa-safe-harbor"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("zip,sex\n021,F\n021,M\n036,F\n000,F\n")
    (tmp_path / "areas.csv").write_text("zip,people\n021,700000\n036,20000\n")
    return tmp_path


AREAS = ("--reference", "areas.csv", "--reference-weight", "people")


def outcome(*words: str) -> tuple[int, str]:
    done = run("audit", "people.csv", *words, "--policy", POLICY)
    return done.exit_code, " ".join(done.stdout.split())


def test_without_a_reference_its_number_is_named_as_not_asked(files: Path) -> None:
    code, shown = outcome("--qi", "zip")

    assert code == 0
    assert "none of its checks was asked." in shown
    assert (
        "Not checked here: - k_map:k=20001, it needs a reference, the table of the people who "
        "could be meant: --reference SRC" in shown.replace("·", "-").replace("•", "-")
    )
    assert "Does every date show its year alone?" in shown


def test_beside_the_people_of_each_area_it_is_asked(files: Path) -> None:
    """Vermont's 036 has 20,000 people here, and one too few."""
    (files / "areas.csv").write_text("zip,people\n021,700000\n036,20001\n")
    enough, held = outcome("--qi", "zip", *AREAS, "--where", "zip <> '000'")
    (files / "areas.csv").write_text("zip,people\n021,700000\n036,20000\n")
    fewer, failed = outcome("--qi", "zip", *AREAS, "--where", "zip <> '000'")

    assert (enough, fewer) == (0, 1)
    assert "1 of 1 check holds." in held
    assert "0 of 1 check holds." in failed


@pytest.mark.parametrize("columns", ["zip,sex", "*"])
def test_of_more_columns_it_would_be_another_rule(files: Path, columns: str) -> None:
    named = ("--reference-columns", "zip=zip") if columns == "zip" else ()
    (files / "areas.csv").write_text("zip,sex,people\n021,F,700000\n021,M,700000\n036,F,30000\n")

    _, shown = outcome("--qi", columns, *AREAS, *named, "--where", "zip <> '000'")

    assert "none of its checks was asked." in shown
    assert "it is about one quasi-identifier alone, and is asked in an audit of that one" in shown


def test_a_spec_and_python_ask_the_same(files: Path) -> None:
    (files / "kanon.yml").write_text(
        "tables:\n"
        "  - source: people.csv\n"
        "    quasi_identifiers: [zip]\n"
        "    where: zip <> '000'\n"
        "    references: {areas: {source: areas.csv, weight: people}}\n"
        f"    policy: {POLICY}\n"
    )

    by_spec = kanon.audit(kanon.AuditSpec.from_file(files / "kanon.yml"))
    by_call = kanon.audit(
        "people.csv", "zip", where="zip <> '000'", policy=POLICY,
        references={"areas": kanon.ReferenceSpec(source="areas.csv", weight="people")},
    )  # fmt: skip

    for result in (by_spec, by_call):
        [check] = [each for each in result.checks if each.model == "k_map"]
        assert (check.holds, check.achieved, check.policy) == (False, 20_000, POLICY)
        assert result.tables[0].policies[0].asked == 1


def test_explain_leads_to_it() -> None:
    for words in (("hipaa",), ("safe", "harbor"), ("safe-harbor",)):
        assert "HIPAA's Safe Harbor" in run("explain", *words).stdout
    for words in (("csv",), ("excel",), ("encoding",), ("date", "format")):
        assert "Files as an office has them" in run("explain", *words).stdout


def test_the_report_has_lines_for_what_a_person_answers(files: Path) -> None:
    run("audit", "people.csv", "--qi", "zip", "--policy", POLICY, "--output", "result.json")
    run("report", "result.json", "--output", "report.html")

    page = (files / "report.html").read_text()
    assert "all ages over 89" in page
    assert "Does every date show its year alone?" in page
