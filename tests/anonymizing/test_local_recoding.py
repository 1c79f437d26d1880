"""Local recoding by SQL: the worked example, plain Python on generated tables, laws, real data."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import oracle_datafly
import oracle_local
import pyarrow
import pytest
from generated import few, fewer
from hypothesis import given, settings
from oracle_local import Hierarchy, Recoding
from pyarrow import parquet
from real_data import DATA
from searches import Drawn, anonymize, as_text, questions, whole

import kanon_sql as kanon
from kanon_sql.anonymizing import algorithms
from kanon_sql.anonymizing.recoding import recoded_views, split_tree
from kanon_sql.cli.main import main

Cells = Counter[tuple[str | None, ...]]
SIX = ("sex", "age", "race", "marital-status", "education", "native-country")
NINE = (*SIX, "workclass", "occupation", "salary-class")
ADULT = DATA / "arx_adult"


# --- the same in plain Python ---------------------------------------------------------------


def expected(
    drawn: Drawn,
    *,
    starts: Mapping[str, int] | None = None,
    weights: Mapping[str, Any] | None = None,
) -> tuple[oracle_local.Table, Recoding]:
    """What the definition makes of a drawn question."""
    asked, names = drawn.asked, drawn.asked.quasi_identifiers
    hierarchies = [
        Hierarchy(
            asked.hierarchies[name],
            listed=name in asked.listed,
            start=(starts or {}).get(name),
            weight=Fraction(str((weights or {}).get(name, 1))),
        )
        for name in names
    ]
    by_combination: dict[tuple[Any, ...], list[Any]] = {}
    for record in drawn.records:
        by_combination.setdefault(tuple(record[name] for name in names), []).append(record)
    table = oracle_local.Table(
        [tuple(record[name] for name in names) for record in drawn.records], hierarchies
    )

    def holds(members: Sequence[tuple[Any, ...]]) -> bool:
        records = [record for member in members for record in by_combination[member]]
        return not oracle_datafly._violates((), records, drawn.records, asked)

    allowed = (
        0
        if asked.max_suppressed is None
        else oracle_datafly.max_suppressed(asked, len(drawn.records))
    )
    least = asked.k if asked.suppressed == "star" else 0
    return table, oracle_local.recode(table, holds, range(least, allowed + 1))


def released(path: Path, names: Sequence[str]) -> Cells:
    rows = parquet.read_table(path).to_pylist()
    return Counter(tuple(as_text(row[name]) for name in names) for row in rows)


def by_views(result: kanon.AnonymizationResult, names: Sequence[str], **tables: Any) -> Cells:
    """The cells of the last view in a DuckDB that knows nothing else."""
    connection = duckdb.connect()
    for name, table in tables.items():
        connection.register(name, table)
    for view in result.anonymization.views:
        connection.execute(view)
    [(last,)] = connection.execute(
        "select view_name from duckdb_views() where not internal order by view_oid desc limit 1"
    ).fetchall()
    rows = connection.sql(f'from "{last}"').to_arrow_table().to_pylist()
    return Counter(tuple(as_text(row[name]) for name in names) for row in rows)


def reached(found: Mapping[str, Mapping[str, int]]) -> list[dict[int, int]]:
    return [{int(level): n for level, n in levels.items()} for levels in found.values()]


def expected_cells(drawn: Drawn, table: oracle_local.Table, recoding: Recoding) -> Cells:
    cells = table.released(recoding)
    if drawn.asked.suppressed == "star":
        for each in recoding.suppressed:
            cells[("*",) * len(table.hierarchies)] += table.records(each.members)
    return cells


@settings(few, max_examples=25)
@given(questions(nested=True))
def test_against_plain_python(drawn: Drawn) -> None:
    check(drawn)


@settings(fewer, max_examples=12)
@given(questions(checks=False, people=False))
def test_hierarchies_that_are_not_nested(drawn: Drawn) -> None:
    check(drawn)


def check(drawn: Drawn) -> None:
    table, recoding = expected(drawn)
    names = drawn.asked.quasi_identifiers
    with TemporaryDirectory() as folder:
        raw, path = Path(folder, "raw.parquet"), Path(folder, "release.parquet")
        parquet.write_table(drawn.table, raw)
        result = anonymize(raw, drawn.question, algorithm="local", output=path, force=True)
        made = result.to_dict()["anonymization"]
        assert made["reached_top"] == recoding.in_vain
        if recoding.in_vain:
            assert not path.exists()
            return
        assert made["rounds"] == recoding.rounds
        assert reached(made["levels_by_records"]) == table.levels_by_records(recoding)
        assert made["levels"] is None
        assert made["suppressed"] == sum(table.records(c.members) for c in recoding.suppressed)
        loss = table.loss(recoding)
        assert made["metrics"]["loss"] == (None if loss is None else pytest.approx(float(loss)))
        assert made["metrics"]["discernibility"] == table.discernibility(recoding)
        if result.status in ("holds", "violated"):
            assert released(path, names) == expected_cells(drawn, table, recoding)
            assert by_views(result, names) == expected_cells(drawn, table, recoding)


# --- the worked example ---------------------------------------------------------------------

PEOPLE = (
    *((31, "FR"), (33, "FR"), (34, "DE"), (36, "DE"), (38, "IT"), (45, "FR"), (47, "IT")),
    *((52, "US"), (55, "US"), (58, "CA")),
)
DECADES = {str(age): [f"{age // 10}0s", "*"] for age, _ in PEOPLE}
CONTINENTS = {
    **{country: ["Europe", "*"] for country in ("FR", "DE", "IT")},
    **{country: ["America", "*"] for country in ("US", "CA")},
}
QUESTION = {"age": {"hierarchy": DECADES}, "country": {"hierarchy": CONTINENTS}}
RELEASED = Counter(
    {("30s", "FR"): 2, ("30s", "Europe"): 3, ("40s", "Europe"): 2, ("50s", "America"): 3}
)


def people(rows: Sequence[tuple[int, str]] = PEOPLE) -> pyarrow.Table:
    ages, countries = zip(*rows, strict=True)
    return pyarrow.table(
        {"age": list(map(str, ages)), "country": list(countries), "n": list(range(len(rows)))}
    )


def test_the_worked_example_round_by_round() -> None:
    table = oracle_local.Table(
        [(str(age), country) for age, country in PEOPLE],
        [Hierarchy(DECADES), Hierarchy(CONTINENTS)],
    )
    recoding = oracle_local.recode(table, oracle_local.at_least(table, 2))

    assert recoding.offers == [
        {(0, 0): Fraction(62, 9), (0, 1): Fraction(23, 4)},
        {(0, 1): Fraction(5, 2), (1, 1): 1, (2, 1): Fraction(9, 4)},
        {(0, 1): 1},
        {},
    ]
    assert table.loss(recoding) == Fraction(229, 720)
    assert table.released(recoding) == RELEASED


def test_the_worked_example(tmp_path: Path) -> None:
    result = kanon.anonymize(
        people(),
        name="people",
        quasi_identifiers=QUESTION,
        k=2,
        algorithm="local",
        output=tmp_path / "r.parquet",
    )
    made = result.to_dict()["anonymization"]

    assert (result.status, made["k"], made["classes"], made["rounds"]) == ("holds", 2, 4, 4)
    assert made["metrics"]["loss"] == pytest.approx(229 / 720, abs=1e-15)
    assert (made["metrics"]["discernibility"], made["suppressed"], made["steps"]) == (26, 0, [])
    assert made["levels"] is None
    assert made["levels_by_records"] == {"age": {"1": 10}, "country": {"0": 2, "1": 8}}
    beside = made["one_level_for_all"]
    assert beside["levels"] == {"age": 1, "country": 1}
    assert beside["metrics"]["loss"] == pytest.approx(265 / 720)
    assert "would lose 36.8 % at least" in " ".join(whole(result).split())
    assert released(tmp_path / "r.parquet", ["age", "country"]) == RELEASED
    assert by_views(result, ["age", "country"], people=people()) == RELEASED


@pytest.mark.parametrize("order", [slice(None, None, -1), slice(3, None), slice(None, None, 2)])
def test_the_order_of_rows_and_columns_changes_nothing(order: slice, tmp_path: Path) -> None:
    rows = [*PEOPLE[order], *(row for row in PEOPLE if row not in PEOPLE[order])]
    table = people(rows).select(["country", "n", "age"])

    kanon.anonymize(
        table, quasi_identifiers=QUESTION, k=2, algorithm="local", output=tmp_path / "r.parquet"
    )

    assert released(tmp_path / "r.parquet", ["age", "country"]) == RELEASED


def test_other_columns_are_untouched(tmp_path: Path) -> None:
    kanon.anonymize(
        people(), quasi_identifiers=QUESTION, k=2, algorithm="local", output=tmp_path / "r.parquet"
    )

    ages = dict(zip(range(10), PEOPLE, strict=True))
    for row in parquet.read_table(tmp_path / "r.parquet").to_pylist():
        age, country = ages[row["n"]]
        assert row["age"] == f"{age // 10}0s"
        assert row["country"] in (country, CONTINENTS[country][0])


def modelled(path: Path, **parts: Any) -> kanon.AnonymizationResult:
    return kanon.anonymize(
        people(),
        name="people",
        quasi_identifiers=QUESTION,
        k=2,
        algorithm="local",
        output=path,
        emit="dbt-model",
        **parts,
    )


def built(folder: Path) -> Cells:
    """What a model makes of the people, and of its seed where it reads one."""
    model = (folder / "people_released.sql").read_text(encoding="utf-8")
    connection = duckdb.connect()
    connection.register("people", people())
    seed = next(folder.rglob("*.csv"), None)
    model = model.replace('{{ ref("people") }}', "people")
    model = model.replace('{{ ref("people_released_cuts") }}', f"read_csv('{seed}')")
    rows = connection.sql(model).fetchall()
    return Counter((age, country) for age, country, _ in rows)


def test_a_dbt_model_of_few_classes(tmp_path: Path) -> None:
    result = modelled(tmp_path / "people_released.sql")

    assert {file.name for file in tmp_path.iterdir()} == {
        "people_released.sql", "people_released.yml",
    }  # fmt: skip
    assert built(tmp_path) == RELEASED
    assert "kanon_sql.k_anonymity" in (tmp_path / "people_released.yml").read_text()
    assert "people_released.sql holds the quasi-identifier values" in result.tables[0].warnings[-1]


@pytest.fixture
def no_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """No class is told from others by a CASE."""
    monkeypatch.setattr(recoded_views, "MOST_CASES", 0)


@pytest.mark.usefixtures("no_cases")
def test_a_dbt_model_with_a_seed(tmp_path: Path) -> None:
    result = modelled(tmp_path / "people_released.sql")

    seed = tmp_path / "people_released_cuts.csv"
    assert seed.stat().st_mode & 0o777 == 0o600
    first, *lines = seed.read_text(encoding="utf-8").splitlines()
    assert first == '"kanon_round","kanon_value","kanon_label"'
    assert lines[0] == '1,"1 by 1.1=30s","to 2 by 2.1"'
    assert "people_released_cuts" in (tmp_path / "people_released.yml").read_text()
    assert built(tmp_path) == RELEASED
    told = " ".join(result.tables[0].warnings)
    assert f"{seed} holds the quasi-identifier values" in told
    assert "is in no dbt project, so people_released_cuts.csv was written next to it" in told
    assert result.to_dict()["anonymization"]["release"]["seed"] == str(seed)


@pytest.mark.usefixtures("no_cases")
def test_the_seed_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("name: clinic\nseed-paths: [data/seeds, more]\n")
    (tmp_path / "models").mkdir()

    modelled(tmp_path / "models" / "people_released.sql")

    assert (tmp_path / "data" / "seeds" / "people_released_cuts.csv").is_file()


@pytest.mark.usefixtures("no_cases")
def test_of_the_files_of_a_model_all_are_written_or_none(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("{name: clinic, seed-paths: [taken/seeds]}")
    (tmp_path / "taken").write_text("a file")
    before = {file.name for file in tmp_path.iterdir()}

    with pytest.raises(kanon.SpecError, match="can't be written"):
        modelled(tmp_path / "people_released.sql")
    assert {file.name for file in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("no_cases")
def test_no_seed_of_a_person_is_replaced(tmp_path: Path) -> None:
    modelled(tmp_path / "people_released.sql")
    with pytest.raises(kanon.SpecError, match=r"yml and \S+_cuts\.csv exist; add overwrite=T"):
        modelled(tmp_path / "people_released.sql")
    modelled(tmp_path / "people_released.sql", overwrite=True)

    seed = tmp_path / "people_released_cuts.csv"
    seed.write_text("country,continent\nFR,Europe\n")
    with pytest.raises(kanon.SpecError, match="is not a seed that kanon-sql wrote"):
        modelled(tmp_path / "people_released.sql", overwrite=True)
    assert seed.read_text() == "country,continent\nFR,Europe\n"


@pytest.mark.usefixtures("no_cases")
def test_a_model_of_more_parts_than_views_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_tree, "MOST_SPLITS", 1)

    result = modelled(tmp_path / "people_released.sql")

    assert built(tmp_path) == RELEASED
    assert result.anonymization.views == ()


# --- preferences ----------------------------------------------------------------------------


def test_a_pinned_column_stays_raw_and_a_bounded_one_below_its_bound() -> None:
    result = kanon.anonymize(
        people(),
        quasi_identifiers=QUESTION,
        k=2,
        algorithm="local",
        keep=["country"],
        max_suppressed=5,
    )
    made = result.to_dict()["anonymization"]
    assert made["levels_by_records"]["country"] == {"0": 9}
    assert (made["suppressed"], made["records_violating"]) == (1, 1)

    result = kanon.anonymize(
        people(), quasi_identifiers=QUESTION, k=2, algorithm="local", at_most={"age": 1}
    )
    assert set(result.to_dict()["anonymization"]["levels_by_records"]["age"]) <= {"0", "1"}


@settings(fewer, max_examples=12)
@given(questions(nested=True, checks=False, people=False))
def test_weights_and_bounds_against_plain_python(drawn: Drawn) -> None:
    names = drawn.asked.quasi_identifiers
    weights = {names[0]: 3.5}
    bounds = {names[-1]: 1}
    table, recoding = expected(drawn, starts=bounds, weights=weights)

    result = anonymize(
        drawn.table, drawn.question, algorithm="local", weights=weights, at_most=bounds
    )

    made = result.to_dict()["anonymization"]
    assert made["reached_top"] == recoding.in_vain
    if not recoding.in_vain:
        assert reached(made["levels_by_records"]) == table.levels_by_records(recoding)


# --- what is refused, and what is said ------------------------------------------------------


def test_a_step_down_that_loses_more_is_taken_where_none_loses_less() -> None:
    # Not nested: R has one leaf, and the P below it three.
    labels = {
        "a": ["P", "R", "*"],
        "b": ["P", "S", "*"],
        "c": ["P", "S", "*"],
        "d": ["Q", "S", "*"],
    }

    result = kanon.anonymize(
        pyarrow.table({"x": list(labels), "y": list("1122")}),
        quasi_identifiers={"x": {"hierarchy": labels}, "y": {"levels": ["suppress"]}},
        hierarchy_faults="warn",
        k=1,
        algorithm="local",
    )

    made = result.to_dict()["anonymization"]
    assert made["levels_by_records"] == {"x": {"0": 4}, "y": {"0": 4}}


def test_a_top_that_differs_and_can_not_be_joined_is_in_vain() -> None:
    tops = {"country": {"hierarchy": {name: [each[0]] for name, each in CONTINENTS.items()}}}

    result = kanon.anonymize(people(), quasi_identifiers=tops, k=4, algorithm="local")

    made = result.to_dict()["anonymization"]
    assert (result.exit_code, made["reached_top"], made["suppressed"]) == (1, True, 0)
    assert made["records_violating"] == 3
    assert made["views"] == []
    assert made["values_at_top"] == {"country": 2}
    assert kanon.from_json(result.to_json()).anonymization.values_at_top == {"country": 2}
    assert "let country (2 values left) go up to suppress" in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"keep": ["zip"]}, "at its coarsest level, and 1 record still lies in classes below 2"),
        (
            {"keep": ["zip"], "max_suppressed": 1, "suppressed": "star"},
            "with * in every quasi-identifier they would be a class that fails as well",
        ),
        ({"l": 6, "sensitive": "disease"}, "all records are one class, which fails too"),
    ],
)
def test_it_says_why_there_is_no_release(asked: dict[str, Any], words: str) -> None:
    table = pyarrow.table({"zip": list("aabbc"), "disease": list("vwxyz")})

    result = kanon.anonymize(
        table, quasi_identifiers=["zip"], k=2, algorithm="local", untouched="drop", **asked
    )

    told = " ".join(str(result).split())
    assert (result.status, words in told) == ("violated", True)
    assert "is at its top" not in told
    assert not any("minimality" in each for each in result.tables[0].warnings)
    if asked.get("suppressed") == "star":
        assert 'What would help: have them removed (suppressed="remove")' in told


def test_suppressed_records_that_fail_as_a_class_of_stars_are_better_removed() -> None:
    table = pyarrow.table({"zip": list("aabbcc"), "disease": list("vwvwvv")})
    asked: dict[str, Any] = {"k": 2, "l": 2, "sensitive": "disease", "keep": "zip"}

    failing = kanon.anonymize(
        table, "zip", algorithm="local", max_suppressed=2, suppressed="star", **asked
    )
    removed = kanon.anonymize(table, "zip", algorithm="local", max_suppressed=2, **asked)

    told = " ".join(str(failing).split())
    assert (failing.status, removed.status) == ("violated", "holds")
    assert 'are a class of their own, all *. Leave them out (suppressed="remove"). ' in told


def test_what_was_before_and_which_levels_would_keep_more() -> None:
    numbers = {**people().to_pydict(), "age": [age for age, _ in PEOPLE]}

    made = kanon.anonymize(
        pyarrow.table(numbers), {**QUESTION, "age": {}}, k=2, algorithm="local"
    ).anonymization

    assert made.before.risk["prosecutor"]["highest"] == 1
    assert made.builders == {"age": "width:5,10,20,suppress"}


def test_of_columns_that_can_lose_nothing_no_loss_is_told() -> None:
    table = pyarrow.table({"age": [31] * 3, "country": ["FR"] * 3})

    result = kanon.anonymize(table, quasi_identifiers=["age", "country"], k=2, algorithm="local")

    assert "would lose" not in str(result)


def test_a_table_without_records_has_no_levels() -> None:
    nobody = people().slice(0, 0)

    result = kanon.anonymize(nobody, quasi_identifiers=QUESTION, k=2, algorithm="local")

    made = result.to_dict()["anonymization"]
    assert (result.exit_code, made["levels"], made["rounds"]) == (4, None, 0)
    assert made["levels_by_records"] == {"age": {}, "country": {}}


def test_it_goes_by_loss_alone() -> None:
    with pytest.raises(kanon.KanonError, match="minimises the metric loss"):
        kanon.anonymize(
            people(), quasi_identifiers=QUESTION, k=2, algorithm="local", metric="precision"
        )


def test_a_check_that_reads_sensitive_values_is_warned_of() -> None:
    asked = {"quasi_identifiers": QUESTION, "k": 2, "algorithm": "local", "sensitive": ["n"]}

    without = kanon.anonymize(people(), **asked)
    with_l = kanon.anonymize(people(), **asked, l=2)

    assert not any("minimality" in each for each in without.tables[0].warnings)
    assert any("minimality" in each for each in with_l.tables[0].warnings)
    assert 'algorithm="optimal" finds what one level for each column would lose' in " ".join(
        whole(with_l).split()
    )


# --- real data ------------------------------------------------------------------------------

ON_ADULT = [
    (SIX, 5, 0.034533, 1_067_336, 2_194, 15),
    (NINE, 5, 0.075772, 291_342, 3_736, 20),
    (NINE, 50, 0.278990, None, 388, None),
]


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="needs the public Adult data")
@pytest.mark.parametrize(("names", "k", "loss", "squares", "classes", "rounds"), ON_ADULT)
def test_adult(
    names: Sequence[str],
    k: int,
    loss: float,
    squares: int | None,
    classes: int,
    rounds: int | None,
    tmp_path: Path,
) -> None:
    path = tmp_path / "release.parquet"

    result = kanon.anonymize(
        ADULT / "adult.csv",
        quasi_identifiers={
            name: {"hierarchy": str(ADULT / f"adult_hierarchy_{name}.csv")} for name in names
        },
        k=k,
        delimiter=";",
        algorithm="local",
        output=path,
    )

    made = result.to_dict()["anonymization"]
    assert made["metrics"]["loss"] == pytest.approx(loss, abs=5e-7)
    assert (made["classes"], made["suppressed"]) == (classes, 0)
    assert squares in (None, made["metrics"]["discernibility"])
    assert rounds in (None, made["rounds"])
    cells = released(path, names)
    assert (len(cells), sum(cells.values())) == (classes, 30_162)
    assert min(cells.values()) >= k
    assert by_views(result, names) == cells


# --- a reference ----------------------------------------------------------------------------


def test_a_reference_is_looked_up_by_what_each_cell_stands_for() -> None:
    more = [(38, "FR"), (38, "IT"), (47, "DE"), (58, "US"), (58, "US"), (31, "US")]
    voters = pyarrow.table(
        {
            "age": [str(age) for age, _ in (*PEOPLE, *more)],
            "country": [country for _, country in (*PEOPLE, *more)],
        }
    )

    result = kanon.anonymize(
        people(),
        quasi_identifiers=QUESTION,
        k=2,
        algorithm="local",
        checks=[kanon.KMap(k=3), kanon.MarketerRisk()],
        references=voters,
    )

    # 31-38 in France; in Europe; 45 and 47 in Europe; 52-58 in America.
    found = {(("30s", "FR"), 3), (("30s", "Europe"), 7), (("40s", "Europe"), 3)}
    found |= {(("50s", "America"), 5)}
    expected = sum(Fraction(RELEASED[cells], size) for cells, size in found) / 10
    k_map, marketer = (
        next(check for check in result.tables[0].checks if check.model == model)
        for model in ("k_map", "marketer_risk")
    )
    assert (k_map.achieved, k_map.holds) == (3, True)
    assert k_map.details["unmatched_classes"] == 0
    assert marketer.achieved == pytest.approx(float(expected))
    assert any("by containment" in each for each in result.tables[0].warnings)


@pytest.mark.parametrize("algorithm", ["local", "optimal"])
def test_a_label_stands_for_what_its_hierarchy_says_and_not_for_what_it_looks_like(
    algorithm: Any,
) -> None:
    ages = {age: ["20-29" if age == "30" else "30-39", "*"] for age in ("30", "31", "39", "40")}
    released, voters = ["30", "30", "31", "40"], ["30", "30", "30", "31", "40"]

    result = kanon.anonymize(
        pyarrow.table({"age": released}),
        {"age": {"hierarchy": ages, "at_most": 1}},
        k=2,
        algorithm=algorithm,
        checks=[kanon.KMap(k=2)],
        references=pyarrow.table({"age": voters}),
    )

    [k_map] = [check for check in result.tables[0].checks if check.model == "k_map"]
    assert (k_map.achieved, k_map.holds) == (2, True)


def test_equality_with_a_reference_is_refused() -> None:
    with pytest.raises(kanon.KanonError, match="match: exact"):
        kanon.anonymize(
            people(),
            quasi_identifiers=QUESTION,
            k=2,
            algorithm="local",
            checks=[kanon.KMap(k=3, match="exact")],
            references=people(),
        )


# --- the command ----------------------------------------------------------------------------


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, path = tmp_path / "raw.csv", tmp_path / "release.csv"
    raw.write_text("age,country\n" + "".join(f"{a},{c}\n" for a, c in PEOPLE), encoding="utf-8")
    hierarchy = tmp_path / "countries.csv"
    hierarchy.write_text(
        "".join(f"{name},{','.join(each)}\n" for name, each in CONTINENTS.items()), encoding="utf-8"
    )
    asked = ["anonymize", str(raw), "--qi", "age,country", "--hierarchy", "age=width:10"]
    asked += ["--hierarchy", f"country={hierarchy}", "--k", "2", "--algorithm", "local"]

    with pytest.raises(SystemExit) as stopped:
        main([*asked, "-v", "--output", str(path)])

    told = capsys.readouterr().out
    assert stopped.value.code == 0
    assert "Local recoding" in told
    assert "explain local" in told
    assert path.read_text(encoding="utf-8").splitlines() == [
        "age,country",
        *['"[30,40)",Europe'] * 3,
        *['"[30,40)",FR'] * 2,
        *['"[40,50)",Europe'] * 2,
        *['"[50,60)",America'] * 3,
    ]


def test_a_level_is_told_without_the_name_of_its_file(tmp_path: Path) -> None:
    """A line holds the quasi-identifier, the level, a bar and three figures."""
    hierarchy = tmp_path / "countries of the world, by continent.csv"
    hierarchy.write_text("".join(f"{name},{','.join(each)}\n" for name, each in CONTINENTS.items()))

    told = whole(
        kanon.anonymize(
            people(),
            quasi_identifiers={**QUESTION, "country": {"hierarchy": str(hierarchy)}},
            k=2,
            algorithm="local",
        )
    )

    lines = [" ".join(line.split()) for line in told.splitlines()]
    countries = [line for line in lines if line.startswith("country")]
    assert ["raw value" in line for line in countries] == [True, False]
    assert ["column 1" in line for line in countries] == [False, True]
    assert not any("of the world" in line for line in countries)


# --- values of the data ---------------------------------------------------------------------


def test_a_result_holds_none(tmp_path: Path) -> None:
    question = {"age": {"levels": [{"width": 10}]}, "country": {}}
    made = kanon.anonymize(people(), question, k=2, algorithm="local", name="people")
    assert any("'FR'" in view for view in made.anonymization.views)

    told = made.to_dict()

    assert "'FR'" not in json.dumps(told["anonymization"], ensure_ascii=False)
    # Nobody takes what is left for the release.
    connection = duckdb.connect()
    connection.register("people", people())
    with pytest.raises(duckdb.Error, match="…"):
        connection.execute(";\n".join(told["anonymization"]["views"]))


def test_none_where_each_class_has_a_round_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recoded_views, "MOST_CASES", 0)
    table = pyarrow.table({"country": ["FR", "FR"], "name": ["a", "a"]})

    made = kanon.anonymize(table, ["country", "name"], k=2, algorithm="local")

    assert any("FR" in view for view in made.anonymization.views)
    assert not any("FR" in view for view in made.to_dict()["anonymization"]["views"])


@pytest.mark.parametrize("emit", ["views", "dbt-model"])
def test_of_too_many_parts_no_release_is_made_to_be_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, emit: str
) -> None:
    name = "MOST_SPLITS" if emit == "views" else "MOST_SEEDED"
    monkeypatch.setattr(algorithms, name, 1)
    monkeypatch.setattr(algorithms, "RecodedSets", None)
    with pytest.raises(kanon.InputError, match=r"--output release\.parquet|output='release"):
        kanon.anonymize(
            people(),
            QUESTION,
            name="people",
            k=2,
            algorithm="local",
            emit=emit,
            output=tmp_path / "release.sql",
        )
    assert [*tmp_path.iterdir()] == []


def test_of_too_many_parts_a_warehouse_has_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_tree, "MOST_SPLITS", 1)
    monkeypatch.setattr(algorithms, "MOST_SPLITS", 1)
    with closing(sqlite3.connect(":memory:")) as warehouse:
        warehouse.execute("create table people (age text, country text)")
        warehouse.executemany("insert into people values (?, ?)", [(str(a), c) for a, c in PEOPLE])
        warehouse.commit()

        with pytest.raises(kanon.InputError) as refused:
            kanon.anonymize(
                "people", QUESTION, k=2, algorithm="local", engine=warehouse, pull_frequencies=True
            )

    assert "into more than 1 parts, too many for views, and sqlite" in str(refused.value)
    assert "Ask for a larger k" in str(refused.value)
    assert "Replace" not in str(refused.value)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x0c", "\x85", "\u2028"])
def test_a_line_break_in_one(tmp_path: Path, line_break: str) -> None:
    name, path = f"Secret{line_break}Lane", tmp_path / "release.parquet"
    table = pyarrow.table({"street": [name, name, "Main", "Main", "Side"]})

    made = kanon.anonymize(
        table, {"street": {"levels": ["suppress"]}}, k=2, algorithm="local", output=path
    )

    # The one of Side takes the children back that come first.
    assert released(path, ["street"]) == Counter({(name,): 2, ("*",): 3})
    assert not made.anonymization.views
    assert any("line break" in warning for warning in made.tables[0].warnings)
    with pytest.raises(kanon.KanonError) as refused:
        kanon.anonymize(table, ["street"], k=2, algorithm="local", output=tmp_path / "release.sql")
    assert "Secret" not in str(refused.value)
