"""What is asked of every engine: drawn questions, and fixed ones that leave no model out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import asking
import oracle
import pyarrow
import sqlglot
from event_tables import event_tables, visits
from generated import (
    KINDS,
    LEAF,
    SURVEY_WEIGHT,
    TEXT,
    TEXTS,
    TREE,
    Filled,
    asked_tables,
    ranked_tables,
    released_and_referred,
    surveys,
    tables_with_a_tree,
    two_releases,
)
from hypothesis import strategies as st
from searches import Drawn, questions
from synthetic_tables import Synthesis, everything, syntheses

from kanon_sql.models.base import SensitiveModel
from kanon_sql.models.catalogue import MODELS
from kanon_sql.sql.dialects import rules_of

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A table, a question, and the records that the oracle answers it from: those that a
    condition chooses, with the labels of the levels that are asked about."""

    table: Filled
    question: oracle.Question
    records: Sequence[Record]
    reference: Filled | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """What else kanon-sql is told."""
    earlier: Filled | None = None
    """What was released before, where something was."""
    original: Filled | None = None
    """What a synthetic table was made from."""
    holdout: Filled | None = None
    """What its generator has not seen."""

    @classmethod
    def of(
        cls,
        table: Filled,
        question: oracle.Question,
        reference: Filled | None = None,
        earlier: Filled | None = None,
    ) -> Asked:
        return cls(table, question, table.records, reference, earlier=earlier)

    @classmethod
    def made(cls, made: Synthesis) -> Asked:
        """What is asked of a synthetic table."""
        beside = {"original": made.original, "holdout": made.holdout}
        return cls(made.table, made.question, made.table.records, **beside)

    @property
    def expected(self) -> Any:
        return asking.near(oracle.audit(self.records, self.question))

    def found(
        self,
        people: Any,
        voters: Any,
        before: Any = None,
        original: Any = "original",
        rest: Any = "rest",
        **options: Any,
    ) -> dict[str, Any]:
        """The answer, where `people` is the table, `voters` the reference, `before` the earlier
        release, `original` what it was made from, and `rest` the holdout."""
        beside = {"references": {"people": voters}, "earlier_releases": {"before": before}}
        beside |= {"original": original, "holdout": rest} if self.original else {}
        return asking.figures(
            asking.audit(people, self.question, **beside, **self.options, **options)
        )

    def in_sql_of(self, dialect: str) -> Asked:
        """The same question with its conditions, which are DuckDB's, in another dialect."""
        rules_of(dialect)

        def in_dialect(options: Mapping[str, Any]) -> dict[str, Any]:
            written = dict(options)
            if "where" in options:
                [written["where"]] = sqlglot.transpile(options["where"], "duckdb", dialect)
            if "of_references" in options:
                written["of_references"] = in_dialect(options["of_references"])
            return written

        return replace(self, options=in_dialect(self.options))

    def found_here(self) -> dict[str, Any]:
        """The answer, where all of them are Arrow tables."""
        others = (self.reference, self.earlier, self.original, self.holdout)
        beside = (each.arrow if each else None for each in others)
        return self.found(self.table.arrow, *beside)


# --- some of the records --------------------------------------------------------------------

Choice = tuple[str, Callable[[Any], bool]]
"""A condition on a column that is not NULL, in SQL and in Python."""
CHOICES: dict[pyarrow.DataType, tuple[Choice, ...]] = {
    pyarrow.string(): (
        ("{} = 'a '", lambda v: v == "a "),
        ("{} <> 'A'", lambda v: v != "A"),
        ("{} in ('', '\\', '''', '\"')", lambda v: v in ("", "\\", "'", '"')),
        ("substring({}, 1, 1) = 'a'", lambda v: v.startswith("a")),
    ),
    pyarrow.int64(): (
        ("{} > 0", lambda v: v > 0),
        ("{} = -1", lambda v: v == -1),
        ("{} between -1 and 1", lambda v: -1 <= v <= 1),
    ),
    pyarrow.float64(): (
        ("{} = 0", lambda v: v == 0),
        ("{} < 0.5", lambda v: v < 0.5),
    ),
    pyarrow.date32(): (
        ("{} = '2025-01-31'", lambda v: v == date(2025, 1, 31)),
        ("{} < '2000-01-01'", lambda v: v < date(2000, 1, 1)),
    ),
    pyarrow.timestamp("us"): (("{} < '2025-02-01 00:00:00'", lambda v: v < datetime(2025, 2, 1)),),
    pyarrow.bool_(): (("{}", lambda v: v), ("not {}", lambda v: not v)),
    pyarrow.decimal128(20, 2): (
        ("{} = 0.3", lambda v: v == Decimal("0.30")),
        ("{} < 0.3", lambda v: v < Decimal("0.30")),
    ),
}


@st.composite
def conditions(draw: st.DrawFn, table: Filled) -> tuple[str, list[Record]]:
    """A condition on one column, and the records that it chooses."""
    name, type = draw(st.sampled_from(list(zip(table.names, table.types, strict=True))))
    column = '"' + name.replace('"', '""') + '"'
    kind = draw(st.sampled_from(["plain", "plain", "not", "or null", "null", "not null"]))
    sql, chooses = draw(st.sampled_from(CHOICES.get(type, (("{0} = {0}", lambda v: True),))))
    sql = sql.format(column)
    match kind:
        case "plain":
            chosen = [r for r in table.records if r[name] is not None and chooses(r[name])]
        case "not":
            sql = f"not ({sql})"
            chosen = [r for r in table.records if r[name] is not None and not chooses(r[name])]
        case "or null":
            sql = f"{sql} or {column} is null"
            chosen = [r for r in table.records if r[name] is None or chooses(r[name])]
        case "null":
            sql = f"{column} is null"
            chosen = [r for r in table.records if r[name] is None]
        case _:
            sql = f"{column} is not null"
            chosen = [r for r in table.records if r[name] is not None]
    return sql, chosen


@st.composite
def some_records(draw: st.DrawFn) -> Asked:
    table, question = draw(asked_tables())
    where, chosen = draw(conditions(table))
    return Asked(table, question, chosen, options={"where": where})


@st.composite
def some_of_both(draw: st.DrawFn) -> Asked:
    """Some records of a release, beside some of a reference."""
    table, reference, question = draw(released_and_referred())
    [linked] = (question.references or {}).values()
    where, chosen = draw(conditions(table))
    its_where, its_chosen = draw(conditions(reference))
    question = replace(question, references={"people": replace(linked, records=its_chosen)})
    options = {"where": where, "of_references": {"where": its_where}}
    return Asked(table, question, chosen, reference, options)


# --- levels ---------------------------------------------------------------------------------


def labelled(drawn: Drawn, levels: Mapping[str, int]) -> list[Record]:
    """The records with the labels that their hierarchies have for them."""
    labels = {name: levels.get(name, 0) for name in drawn.asked.quasi_identifiers}
    return [
        record
        | {name: drawn.asked.label(name, record[name], level) for name, level in labels.items()}
        for record in drawn.records
    ]


def filled(table: pyarrow.Table) -> Filled:
    rows = tuple(tuple(row.values()) for row in table.to_pylist())
    return Filled(tuple(table.column_names), tuple(table.schema.types), rows)


@st.composite
def tables_at_levels(draw: st.DrawFn) -> Asked:
    drawn = draw(questions())
    levels = {
        name: draw(st.integers(0, drawn.asked.height(name)))
        for name in drawn.asked.quasi_identifiers
    }
    return Asked(
        filled(drawn.table),
        drawn.asked.question,
        labelled(drawn, levels),
        options={
            "hierarchies": drawn.question["quasi_identifiers"],
            "hierarchy_faults": "warn",
            "levels": levels,
        },
    )


DRAWN: dict[str, st.SearchStrategy[Asked]] = {
    "alone": asked_tables().map(lambda asked: Asked.of(*asked)),
    "ranks": ranked_tables().map(lambda asked: Asked.of(*asked)),
    "trees": tables_with_a_tree().map(lambda asked: Asked.of(*asked)),
    "surveys": surveys().map(lambda asked: Asked.of(*asked)),
    "conditions": some_records(),
    "levels": tables_at_levels(),
    "references": released_and_referred().map(
        lambda asked: Asked.of(asked[0], asked[2], reference=asked[1])
    ),
    "conditions on both": some_of_both(),
    "releases": two_releases().map(lambda asked: Asked.of(asked[0], asked[2], earlier=asked[1])),
    "events": event_tables().map(lambda asked: Asked.of(*asked)),
    "synthetic": syntheses().map(Asked.made),
}

# --- nothing left out -----------------------------------------------------------------------

RISKS = {"max_highest": 0.5, "max_average": 0.25, "max_at_risk": 0.5, "threshold": 0.33}
OF_RECORDS: dict[str, dict[str, Any]] = {
    "k_anonymity": {"k": 2},
    "prosecutor_risk": RISKS,
    "sample_uniqueness": {"max_share": 0.25},
}
OF_A_SAMPLE: dict[str, dict[str, Any]] = {
    "population_uniqueness": {"population": 120, "max_share": 0.2},
    "k_map_estimate": {"population": 60, "k": 3},
}
OF_VALUES: dict[str, dict[str, Any]] = {
    "homogeneity": {},
    "l_diversity": {"l": 2},
    "entropy_l_diversity": {"l": 1.5},
    "recursive_cl_diversity": {"c": 2, "l": 2},
    "alpha_k_anonymity": {"alpha": 0.5, "k": 2},
    "p_sensitive_k_anonymity": {"p": 2, "k": 2},
    "t_closeness": {"t": 0.33},
    "delta_disclosure": {"delta": 0.7},
    "basic_beta_likeness": {"beta": 1},
    "enhanced_beta_likeness": {"beta": 0.5},
}
OF_VALUES |= {
    name: dict(model.example.parameters)
    for name, model in MODELS.items()
    if issubclass(model, SensitiveModel) and not model.of_numbers and name not in OF_VALUES
}
"""What is not spelled out is asked as in its example."""
OF_REFERENCES: dict[str, dict[str, Any]] = {
    "k_map": {"k": 2},
    "delta_presence": {"min": 0.25, "max": 1},
    "journalist_risk": RISKS,
    "marketer_risk": {"max_average": 0.25},
}
DISTANCES = [
    {"k_e_anonymity": {"k": 2, "e": 9, "sensitive": "k"}},
    {"t_closeness": {"t": 0.2, "distance": "ordered", "sensitive": "k"}},
    {
        "t_closeness": {
            "t": 0.2, "distance": "hierarchical", "hierarchy": TREE, "sensitive": "{{ x }}"
        }
    },
]  # fmt: skip
"""How far values are apart: numbers, and the leaves of a tree."""


def of(models: Mapping[str, Mapping[str, Any]], **more: Any) -> list[Mapping[str, Any]]:
    """A check by each of these models."""
    return [{name: {**parameters, **more}} for name, parameters in models.items()]


NAMES = ('a"b', "zip ☃", "{{ x }}", "k", "it's", "kanon_size")
PEOPLE = Filled(
    NAMES,
    (TEXT.type, pyarrow.date32(), LEAF.type, pyarrow.int64(), TEXT.type, SURVEY_WEIGHT.type),
    tuple(
        (
            (None, *TEXTS)[n // 3 % (1 + len(TEXTS))],
            (None, date(1899, 12, 31), date(2038, 1, 20))[n // 7 % 3],
            LEAF.values[n * n % 5],
            (None, -(2**53) - 1, 0, 1, 10)[n * n % 11 % 5],
            ("p", "P", "p ", "é", "e\u0301", "")[n % 6],
            SURVEY_WEIGHT.values[n % 5],
        )
        for n in range(60)
    ),
)
VOTERS = Filled(
    ('a"b', "birth\\date", "it's", "n"),
    (TEXT.type, pyarrow.date32(), TEXT.type, pyarrow.int32()),
    tuple(
        (row[0], row[1], row[4], n % 4) for n, row in enumerate(PEOPLE.rows) for _ in range(n % 3)
    ),
)
BOTH = ['a"b', "zip ☃"]
COLUMNS = {'a"b': 'a"b', "zip ☃": "birth\\date"}


def beside(
    checks: Sequence[Mapping[str, Any]],
    *,
    whose: str | None = None,
    weight: str | None = None,
    **more: Any,
) -> Asked:
    """People beside the voters, by the one model after the other."""
    reference = oracle.Reference(VOTERS.records, COLUMNS, whose, weight)
    question = oracle.Question(
        quasi_identifiers=BOTH, references={"people": reference}, checks=checks, **more
    )
    return Asked.of(PEOPLE, question, VOTERS)


def alone(table: Filled, checks: Sequence[Mapping[str, Any]], **more: Any) -> Asked:
    return Asked.of(table, oracle.Question(quasi_identifiers=BOTH, checks=checks, **more))


SENSITIVE = ["{{ x }}", "k"]
BEFORE = Filled(
    (*NAMES[:2], "dx", "person"),
    (TEXT.type, pyarrow.date32(), pyarrow.int64(), TEXT.type),
    tuple(
        (row[0] if n % 4 else None, row[1], row[3] if n % 5 else 1, row[4])
        for n, row in enumerate(PEOPLE.rows)
        if n % 6 != 5
    ),
)
"""What was released of the people before: some left, and some values changed."""


def after(earlier: Filled, columns: Mapping[str, str], **more: Any) -> Asked:
    """People beside an earlier release of them."""
    releases = {"before": oracle.Earlier(earlier.records, columns, **more)}
    checks = of({"composed_k_anonymity": {"k": 2}}) + of(
        {"composed_l_diversity": {"l": 2}}, sensitive="k"
    )
    question = oracle.Question(
        quasi_identifiers=BOTH, entity="it's", earlier_releases=releases, checks=checks
    )
    return Asked.of(PEOPLE, question, earlier=earlier)


SETS = [
    {"k_anonymity": {"k": 2}},
    {"k_anonymity": {"k": 3, "columns": BOTH[:1]}},
    {"k_anonymity": {"k": 4, "columns": BOTH[1:]}},
    {"k_anonymity": {"columns": BOTH}},
]
STRICT = {"match": "containment", "missing": "strict"}
EXACT = {"match": "exact", "missing": "strict"}
UNION = {"match": "exact", "missing": "union"}
EVERYTHING = {
    "records": alone(PEOPLE, of(OF_RECORDS | OF_A_SAMPLE)),
    "values": alone(PEOPLE, [*of(OF_VALUES, sensitive="k"), *DISTANCES], sensitive=SENSITIVE),
    "people": alone(
        PEOPLE,
        [*of(OF_RECORDS), *of(OF_VALUES, sensitive="{{ x }}"), *DISTANCES],
        sensitive=SENSITIVE,
        entity="it's",
    ),
    "values unknown": alone(
        PEOPLE, of(OF_VALUES, sensitive="k"), sensitive=SENSITIVE, sensitive_nulls="unknown"
    ),
    "values known": alone(
        PEOPLE,
        of(OF_VALUES, sensitive="k", with_other_sensitive=True),
        sensitive=SENSITIVE,
    ),
    "wildcards": alone(PEOPLE, of(OF_RECORDS), nulls="wildcard"),
    "a survey": alone(PEOPLE, [], weight="kanon_size"),
    "a survey of people": alone(PEOPLE, [], weight="kanon_size", entity="it's"),
    "column sets": alone(PEOPLE, SETS),
    "column sets of people": alone(PEOPLE, SETS, entity="it's"),
    "column sets with wildcards": alone(PEOPLE, SETS, nulls="wildcard"),
    "households": alone(PEOPLE, [], household="kanon_size"),
    "households of people": alone(PEOPLE, [], household="kanon_size", entity="it's"),
    "beside a reference": beside(of(OF_REFERENCES, **STRICT)),
    "beside a union": beside(of(OF_REFERENCES, **UNION), entity="it's"),
    "beside people": beside(of(OF_REFERENCES, **EXACT), whose="it's", entity="it's"),
    "beside weights": beside(of(OF_REFERENCES, **EXACT), weight="n"),
    "after a release": after(BEFORE, {"it's": "person", "k": "dx"}),
    "after another release": after(
        BEFORE, {"k": "dx"}, quasi_identifiers=["zip ☃"], entity="person"
    ),
    "after the same release": after(PEOPLE, {}),
    "events": Asked.of(*visits(['a"b', "zip ☃"], [])),
    "events of a known person": Asked.of(*visits(["kanon_records", "n"], ["{{ x }}"])),
    "synthetic": Asked.made(everything("none")),
    "synthetic of people": Asked.made(everything("original")),
    "synthetic with people": Asked.made(everything("both")),
    "beside wildcards": beside(of({"k_map": {"k": 2}}, **STRICT), nulls="wildcard"),
}
"""A question each that has every model that can be in it."""


def _one_value_each() -> Filled:
    """A column for each kind, and each of its values in two records or three, NULL elsewhere."""
    rows: list[tuple[Any, ...]] = []
    for place, kind in enumerate(KINDS):
        for number, value in enumerate(kind.values):
            row = tuple(value if place == other else None for other in range(len(KINDS)))
            rows += [(number % 2, *row)] * (2 + number % 2)
    names = ("half", *(f"{place}. {kind.type}" for place, kind in enumerate(KINDS)))
    return Filled(names, (pyarrow.int64(), *(kind.type for kind in KINDS)), tuple(rows))


VALUES = _one_value_each()
NUMERIC = [name for name in VALUES.names if "int" in name or "double" in name or "decimal" in name]
EVERYTHING |= {
    "any value known": Asked.of(
        VALUES, oracle.Question(quasi_identifiers=VALUES.names[1:], numeric=NUMERIC)
    ),
    "any value sensitive": Asked.of(
        VALUES,
        oracle.Question(quasi_identifiers=["half"], sensitive=VALUES.names[1:], numeric=NUMERIC),
    ),
}
