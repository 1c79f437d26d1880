"""The look at a table: what its frequency set answers is what the records answer."""

from __future__ import annotations

from contextlib import closing
from itertools import combinations, product
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from generated import DATE, NAMES, PERSON, TEXTS, Kind, few, fewer, filled
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.anonymizing.look import Look
from kanon_sql.auditing.auditor import audit
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import InputError, SpecError
from kanon_sql.models.base import Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity, TCloseness
from kanon_sql.question.spec import AuditSpec

SHORT = Kind(pa.string(), tuple(text for text in TEXTS if len(text) < 4))
COUNT = Kind(pa.int64(), (-7, 0, 1, 4, 5, 99))
LEVELS: dict[str, list[tuple[Kind, Any]]] = {
    "text": [(SHORT, {"levels": [{"mask": "right"}]}), (SHORT, {}),
             (SHORT, {"levels": [{"prefix": 1}, "suppress"]})],
    "number": [(COUNT, {"levels": [{"width": 5}, "suppress"]}), (COUNT, {})],
    "date": [(DATE, {"levels": ["month", "year", "suppress"]})],
}  # fmt: skip
NO_WARNING = ("sql", "seconds")


def spec_of(table: Any, **fields: Any) -> AuditSpec:
    return AuditSpec(tables=[{"source": table, **fields}])


def asked(spec: AuditSpec, levels: Any, checks: list[Model], but: set[str]) -> AuditSpec:
    """The question that a look answers, as one on the records."""
    [table] = spec.tables
    update = {"levels": {name: at for name, at in levels.items() if name not in but and at}}
    update["checks"] = checks
    update["quasi_identifiers"] = {
        name: how for name, how in table.quasi_identifiers.items() if name not in but
    }
    update["identifiers"] = [*table.identifiers, *(n for n in table.quasi_identifiers if n in but)]
    return spec.model_copy(update={"tables": [table.model_copy(update=update)]})


def figures(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.to_dict().items() if key not in NO_WARNING}


@st.composite
def looks(draw: st.DrawFn) -> tuple[AuditSpec, list[str], list[str]]:
    """A table with quasi-identifiers that have levels, sensitive attributes, maybe people."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4, unique_by=str.casefold))
    columns = [draw(st.sampled_from(draw(st.sampled_from(list(LEVELS.values()))))) for _ in "ab"]
    of_person = draw(st.booleans())
    last = draw(st.sampled_from([SHORT, COUNT]))
    kinds = (*(kind for kind, _ in columns), last, PERSON)
    sensitive = f"s {names[2]}"
    named = (*names[:2], sensitive, names[3])
    table = draw(filled(named, kinds))
    spec = spec_of(
        table.arrow,
        quasi_identifiers=dict(zip(names[:2], (how for _, how in columns), strict=True)),
        sensitive=[sensitive],
        entity=names[3] if of_person else None,
        # An unassigned column would have warnings of its own.
        identifiers=[] if of_person else [names[3]],
        sensitive_nulls=draw(st.sampled_from(["value", "unknown"])),
    )
    return spec, names[:2], [sensitive]


CHECKS = st.sampled_from(["k", "kl", "klt", "t", "o", ""])


def checks_of(letters: str, sensitive: str) -> list[Model]:
    every: dict[str, Model] = {
        "k": KAnonymity(k=2),
        "l": LDiversity(l=2, sensitive=sensitive),
        "t": TCloseness(t=0.25, sensitive=sensitive),
        "o": TCloseness(t=0.25, sensitive=sensitive, distance="ordered", order=["a"]),
    }
    return [every[letter] for letter in letters]


@few
@given(case=looks(), letters=CHECKS, data=st.data())
def test_an_audit_from_the_set_is_that_of_the_records(case, letters, data):
    spec, names, [sensitive] = case
    checks = checks_of(letters, sensitive)
    with closing(Look.open(spec, RunOptions())) as look:
        heights = {name: len(levels) for name, levels in look.levels().items()}
        bottom, top = (dict.fromkeys(names, 0), {name: heights[name] - 1 for name in names})
        between = {name: data.draw(st.integers(0, heights[name] - 1)) for name in names}
        for node in (bottom, between, top):
            for but in (set(), {data.draw(st.sampled_from(names))}):
                try:
                    [of_records] = audit(asked(spec, node, checks, but), RunOptions()).tables
                except (SpecError, InputError) as error:
                    with pytest.raises(type(error)):
                        look.audit(node, checks, [*but])
                    continue
                of_set = look.audit(node, checks, [*but])
                assert figures(of_set) == figures(of_records)


def people(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


TABLE = people(
    zip=["02138", "02139", "02139", None, "*", "02141", "02141", "02138"] * 3,
    age=[31, 32, 33, 34, None, 51, 52, 31] * 3,
    ill=["flu", "Flu", "asthma", None, "flu", "flu", "x", "flu"] * 3,
)
SPEC = spec_of(
    TABLE,
    quasi_identifiers={
        "zip": {"levels": [{"mask": "right"}]},
        "age": {"levels": [{"width": 5}, {"width": 10}, "suppress"]},
    },
    sensitive=["ill"],
)


def test_the_set_has_the_levels_of_each_column():
    with closing(Look.open(SPEC, RunOptions())) as look:
        shown = look.levels()
    assert [(level.label, level.values) for level in shown["age"]] == [
        ("raw value", 7), ("width 5", 3), ("width 10", 3), ("suppress", 1),
    ]  # fmt: skip
    assert len(shown["zip"]) == 6


def test_null_and_star_are_counted_by_place():
    """NULL stays NULL below suppress, and `*` is what a release has in place of a record."""
    with closing(Look.open(SPEC, RunOptions())) as look:
        raw = look.audit({}, []).summary
        top = look.audit({"age": 3}, []).summary
    assert (raw.records_with_null_qi, raw.suppressed) == (6, 0)
    assert (top.records_with_null_qi, top.suppressed) == (3, 3)


@pytest.mark.parametrize("letters", ["k", "kl", "kt"])
@pytest.mark.parametrize("levels", [{}, {"zip": 1, "age": 1}, {"zip": 3, "age": 2}])
def test_what_is_lost_is_what_a_release_loses(letters, levels):
    checks = checks_of(letters, "ill")
    with closing(Look.open(SPEC, RunOptions())) as look:
        lost = look.lost(levels, checks)
    at = asked(SPEC, levels, checks, set())
    plain = asked(SPEC, levels, [KAnonymity(k=1)], set())
    if not levels:
        assert lost.by_levels == 0
        return
    loses = kanon.anonymize(plain, max_suppressed=0).anonymization.metrics
    assert lost.by_levels == pytest.approx(loses.loss)
    assert lost.by_column == pytest.approx(loses.loss_by_quasi_identifier)
    made = kanon.anonymize(at, max_suppressed=lost.suppressed)
    if not made.anonymization.reached_top:
        assert made.anonymization.suppressed == lost.suppressed
        assert lost.with_suppression == pytest.approx(made.anonymization.metrics.loss)


def test_records_below_k_are_those_of_an_audit_for_every_choice_of_levels():
    with closing(Look.open(SPEC, RunOptions())) as look:
        nodes = [{"zip": a, "age": b} for a, b in product(range(6), range(4))]
        for k in (2, 5):
            counted = [look.audit(node, [KAnonymity(k=k)]).checks[0] for node in nodes]
            assert look.below(nodes, k) == [check.violating_records for check in counted]


def test_asking_in_turn_changes_no_figure():
    """Another k, l or t reads the same set, which keeps nothing of the question before."""
    questions = [*combinations("klt", 1), *combinations("klt", 2), tuple("klt")]
    with closing(Look.open(SPEC, RunOptions())) as look:
        once = [look.lost({"zip": 2}, checks_of("".join(each), "ill")) for each in questions]
        again = [look.lost({"zip": 2}, checks_of("".join(each), "ill"))
                 for each in reversed(questions)]  # fmt: skip
    assert once == again[::-1]
    assert len({lost.suppressed for lost in once}) > 1


@pytest.mark.parametrize("insensitive", [[], ["stay"], {"stay": {"why": "drawn"}}])
@pytest.mark.parametrize("entity", [None, "pid"])
def test_warnings_about_other_columns_are_those_of_an_audit_at_raw_values(insensitive, entity):
    table = TABLE.append_column("stay", pa.array(list(range(24))))
    table = table.append_column("pid", pa.array([f"p{number // 2}" for number in range(24)]))
    spec = spec_of(
        table,
        quasi_identifiers={"zip": {}, "age": {}},
        sensitive=["ill"],
        entity=entity,
        insensitive=insensitive,
    )
    with closing(Look.open(spec, RunOptions())) as look:
        said = look.beside(spec.tables[0].insensitive, [])
        assert look.beside(spec.tables[0].insensitive, []) == said
        of_set = look.audit({}, [])
    [of_records] = audit(spec, RunOptions()).tables
    assert said
    assert sorted([*of_set.warnings, *said]) == sorted(of_records.warnings)


def test_sizes_alone_need_no_sensitive_attribute():
    with closing(Look.open(SPEC, RunOptions())) as look:
        alone = look.audit({}, [KAnonymity(k=2)], ["age"], sensitive=False)
    assert [check.model for check in alone.checks] == ["k_anonymity"]


def test_a_question_can_be_asked_again_whichever_of_its_statements_was_cancelled():
    checks = [KAnonymity(k=2), LDiversity(l=2, sensitive="ill")]
    levels, asked, last = {"age": 1}, [0], [0]

    def watch(question: str, progress: Any) -> None:
        asked[0] += 1
        if asked[0] == last[0]:
            raise InterruptedError

    def answers(look: Look) -> Any:
        return (
            look.audit(levels, checks).summary,
            look.lost(levels, checks),
            look.below([levels], 2),
        )

    with closing(Look.open(SPEC, RunOptions())) as look:
        expected = answers(look)
    for number in range(1, 40):
        with closing(Look.open(SPEC, RunOptions(watch=watch))) as look:
            asked[0], last[0] = 0, number
            try:
                assert answers(look) == expected
                break
            except InterruptedError:
                assert answers(look) == expected
    assert number > 8


def test_the_same_figures_are_counted_once():
    asked = []
    run = RunOptions(watch=lambda question, progress: asked.append(question))
    checks = [KAnonymity(k=2), LDiversity(l=2, sensitive="ill")]
    with closing(Look.open(SPEC, run)) as look:
        for _ in range(2):
            look.audit({"age": 1}, checks), look.beside({}, []), look.lost({"age": 1}, checks)
            look.below([{"age": 1}, {"age": 2}], 2)
            asked.append("")
    assert asked[-2:] == ["", ""]


def test_a_value_without_a_level_stops_the_look_before_any_figure():
    spec = spec_of(people(age=["1", "x"]), quasi_identifiers={"age": {"levels": [{"width": 5}]}})
    with pytest.raises(InputError, match="width 5 can't group"):
        Look.open(spec, RunOptions())


def test_a_sensitive_column_named_as_a_count_is_refused():
    spec = spec_of(
        people(zip=["1"], kanon_records=["1"]),
        quasi_identifiers={"zip": {}},
        sensitive=["kanon_records"],
    )
    with pytest.raises(SpecError, match="Rename it in a view"):
        Look.open(spec, RunOptions())


@fewer
@given(k=st.integers(1, 5))
def test_a_table_of_a_database_has_the_same_figures(k):
    connection = duckdb.connect()
    connection.register("given", TABLE)
    connection.execute("create table people as from given")
    spec = SPEC.model_copy(
        update={"tables": [SPEC.tables[0].model_copy(update={"source": "people"})]}
    )
    run = RunOptions(engine=connection)
    with closing(Look.open(spec, run)) as look, closing(Look.open(SPEC, RunOptions())) as of_frame:
        here = look.audit({"zip": 2}, [KAnonymity(k=k)])
        there = of_frame.audit({"zip": 2}, [KAnonymity(k=k)])
    assert here.summary == there.summary


def test_a_table_of_sqlite_is_fetched_once(tmp_path):
    import sqlite3

    file = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("create table people (zip text, age integer, ill text)")
        database.executemany(
            "insert into people values (?, ?, ?)", zip(*TABLE.to_pydict().values(), strict=True)
        )
        database.commit()
    spec = SPEC.model_copy(
        update={"tables": [SPEC.tables[0].model_copy(update={"source": "people"})]}
    )
    told: list[str] = []
    run = RunOptions(engine=f"sqlite:{file}", announce=told.append)
    checks = checks_of("kl", "ill")
    with closing(Look.open(spec, run)) as look, closing(Look.open(SPEC, RunOptions())) as of_frame:
        for levels in ({}, {"zip": 2, "age": 1}):
            here, there = look.audit(levels, checks), of_frame.audit(levels, checks)
            assert here.engine == "sqlite"
            assert (here.summary, here.checks) == (there.summary, there.checks)
    assert "fetched from sqlite" in told[0]
