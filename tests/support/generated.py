"""Tables and questions nobody thought of, for Hypothesis.

The tables are small and their values few, so that classes collide; names and values are those
that SQL, Jinja or Arrow could trip over. The examples are the same in every run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import asking
import oracle
import pyarrow
from hypothesis import assume, settings
from hypothesis import strategies as st
from places import TESTS

from kanon_sql.models.base import SensitiveModel
from kanon_sql.models.catalogue import MODELS

few = settings(derandomize=True, database=None, max_examples=16)
fewer = settings(few, max_examples=6)

NAMES = (
    *("n", "count", "k", "order", "select", "ROW", "a.b", 'a"b', "it's", "two words", "zip ☃"),
    *("kanon_records", "kanon_size", "Kanon_Population", "kanon_quasi_identifier_1", "kanon_mask"),
    *("kanon_entity", "kanon_sensitive_1", "kanon_cell", "{{ x }}", "%s", "a;--", "*"),
    *("e\u0301", "é ", "back\\slash", "a`b", "?", ":p", "$1", "[a]", " ", "x" * 63),
)
LONG = "x" * 300
TEXTS = (
    *("", " ", "*", "**", "a", "A", "a ", "'", '"', "é", "e\u0301", "\\", "a,b", "0", LONG),
    *("É", "ß", "ss", "😀", "😁", "\n", "a\t", "a\u00a0", "\u200b", "\\n", "%", "NULL", "\uffff"),
)
RELEASED = (
    *("*", "**", "02138", "0213*", "021**", "*138", "**", "[1,3)", "(1, 3]", "]1,3[", "[3,1]"),
    *("1-3", "3-5", "2", "3.0", "-2-1", "1", "", "=", "NaN"),
)
REFERRED = (
    *("02138", "02139", "2138", "02*38", "0213*", "*", "1", "2", "3", "2.5", "3.0", "-1", "1-3"),
    *("[1,3)", "two", "", " 2", "1e0"),
)


@dataclass(frozen=True)
class Kind:
    """A column's type, and the values it is filled with."""

    type: pyarrow.DataType
    values: tuple[Any, ...]


TEXT = Kind(pyarrow.string(), TEXTS)
IN_A_LIST = Kind(pyarrow.string(), tuple(text for text in TEXTS if "\n" not in text))
INTEGER = Kind(pyarrow.int64(), (0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)))
FLOAT = Kind(
    pyarrow.float64(),
    (0.0, -0.0, 1.0, 0.1, 0.1 + 0.2, 0.3, 1e308, 5e-324, math.inf, -math.inf, math.nan),
)
DATES = ((1, 1, 1), (1582, 10, 10), (1899, 12, 31), (1900, 1, 1), (1969, 12, 31), (2025, 1, 31))
DATE = Kind(pyarrow.date32(), tuple(date(*d) for d in (*DATES, (2038, 1, 20), (9999, 12, 31))))
BOOLEAN = Kind(pyarrow.bool_(), (True, False))
DECIMAL = Kind(pyarrow.decimal128(20, 2), tuple(map(Decimal, ("0.10", "0.30", "-7.25", "1e9"))))
HUGE = Kind(pyarrow.decimal128(38, 0), tuple(map(Decimal, (10**37, 10**37 + 1, -(10**37), 0))))
TIMES = ((999, 1, 1), (1899, 12, 31), (2025, 1, 31, 9), (2025, 1, 31, 9, 0, 0, 1), (2038, 1, 20))
TIME = Kind(pyarrow.timestamp("us"), tuple(datetime(*parts) for parts in TIMES))
KINDS = (TEXT, INTEGER, FLOAT, DATE, BOOLEAN, DECIMAL, HUGE, TIME)
NUMBER_IN_TEXT = Kind(pyarrow.string(), ("1", "1.0", "01", "9", "10", "-3", "0.1", "0.3", "1e1"))
DATE_IN_TEXT = Kind(
    pyarrow.string(),
    ("2025-01-31", "2025-01-31 00:00:00", "2025-01-31 10:00:00", "0999-12-31", "2025-02-01"),
)
LEAF = Kind(pyarrow.string(), ("a", "b", "c", "d", "e"))
TREE = str(TESTS / "tree.csv")
"""Two levels below the root, and a branch that is padded."""
PERSON = Kind(pyarrow.string(), ("p", "P", "p ", ""))
WEIGHT = Kind(pyarrow.int32(), (0, 1, 2, 7))
SURVEY_WEIGHT = Kind(pyarrow.float64(), (1.0, 1.5, 2.0, 7.25, 300.0))
NUMERIC = (INTEGER, FLOAT, DECIMAL, HUGE)
COMPLETE = (PERSON, WEIGHT, SURVEY_WEIGHT)
"""The columns that a record can't do without."""


@dataclass(frozen=True)
class Filled:
    """A generated table with the types that its columns have even where all values are NULL."""

    names: tuple[str, ...]
    types: tuple[pyarrow.DataType, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def arrow(self) -> pyarrow.Table:
        return asking.table(self.names, self.rows, self.types)

    @property
    def records(self) -> list[dict[str, Any]]:
        return asking.records(self.names, self.rows)


@st.composite
def filled(draw: st.DrawFn, names: tuple[str, ...], kinds: tuple[Kind, ...]) -> Filled:
    """Up to a dozen rows; NULL may be anywhere but in what counts people.

    A column has few of its kind's values, so that classes are of several records.
    """
    values = [kind.values if kind in COMPLETE else (None, *kind.values) for kind in kinds]
    some = [draw(st.lists(st.sampled_from(v), min_size=1, max_size=4)) for v in values]
    rows = st.lists(st.tuples(*map(st.sampled_from, some)), max_size=12)
    return Filled(names, tuple(kind.type for kind in kinds), tuple(draw(rows)))


# --- what may be asked ----------------------------------------------------------------------

Parameters = st.SearchStrategy[dict[str, Any]]


def given(required: dict[str, Any] | None = None, **optional: Any) -> Parameters:
    """Some of these parameters, each one of its values; `required` ones are always among them."""
    return st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in (required or {}).items()},
        optional={name: st.sampled_from(values) for name, values in optional.items()},
    )


COUNTS = (1, 2, 3, 4)
SHARES = (0.2, 0.25, 0.33, 0.5, 0.6, 1)
RISKS = {
    "max_highest": (0, 0.2, 0.5, 1),
    "max_average": (0, 0.25, 0.5, 1),
    "max_at_risk": (0, 0.5, 1),
    "threshold": (0, 0.2, 0.33, 0.5, 1),
}
POPULATIONS = (12, 24, 120, 10**6)
SOME = (["a"], ["A", ""], ["a", "*", "nobody's"])
OF_RECORDS = {
    "k_anonymity": given(k=COUNTS),
    "prosecutor_risk": given(**RISKS),
    "sample_uniqueness": given(max_share=(0, *SHARES)),
}
OF_A_SAMPLE = {
    # Zayatz always has an answer, and the rule falls back to it; on a demand
    # the others may refuse.
    "population_uniqueness": st.one_of(
        given({"population": POPULATIONS}, max_share=SHARES, estimator=("dankar", "zayatz")),
        given({"population": POPULATIONS, "estimator": ("pitman", "snb")}),
    ),
    "k_map_estimate": given(
        {"population": (12, 13, 60, 10**6), "k": COUNTS},
        alpha=(0.01, 0.1, 0.5),
        test=("poisson", "zero_truncated_poisson"),
    ),
}
OF_VALUES = {
    "homogeneity": given(),
    "l_diversity": given(l=COUNTS),
    "entropy_l_diversity": given(l=(1, 1.5, 2, 3)),
    "recursive_cl_diversity": given({"l": COUNTS}, c=(0.5, 1, 2, 3.5)),
    "alpha_k_anonymity": given(alpha=SHARES, k=COUNTS),
    "p_sensitive_k_anonymity": given(p=COUNTS, k=COUNTS),
    "t_closeness": given(t=(0, 0.1, *SHARES)),
    "delta_disclosure": given(delta=(0.1, 0.7, 2)),
    "basic_beta_likeness": given(beta=(0, 0.5, 1, 2)),
    "enhanced_beta_likeness": given(beta=(0, 0.5, 1, 2)),
}
OF_VALUES |= {
    name: st.just(dict(model.example.parameters))
    for name, model in MODELS.items()
    if issubclass(model, SensitiveModel) and not model.of_numbers and name not in OF_VALUES
}
"""What is not spelled out is asked as in its example."""
OF_TEXTS = {
    "recursive_cl_diversity": given({"l": COUNTS, "allowed": SOME}, c=(0.5, 1, 2)),
    "alpha_k_anonymity": given({"values": SOME}, alpha=SHARES, k=COUNTS),
}
ORDERED = given({"distance": ("ordered",)}, t=(0, 0.1, *SHARES))
K_E = given(k=COUNTS, e=(0, 0.9, 1, 9))
OF_REFERENCES = {
    "k_map": given(k=(2, 3)),
    "delta_presence": given(min=(0, 0.25, 0.5), max=(0.5, 1, 2)),
    "journalist_risk": given(**RISKS),
    "marketer_risk": given(max_average=(0, 0.25, 0.5, 1)),
}


def one_of(models: dict[str, Parameters]) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """One model with parameters, as a spec file writes it."""
    return st.sampled_from(list(models)).flatmap(
        lambda name: models[name].map(lambda parameters: {name: parameters})
    )


@st.composite
def sensitive_checks(
    draw: st.DrawFn, sensitive: list[str], models: dict[str, Parameters]
) -> dict[str, dict[str, Any]]:
    """One model of one of these attributes, at times with the others known."""
    [(name, parameters)] = draw(one_of(models)).items()
    joined = {"with_other_sensitive": True} if len(sensitive) > 1 and draw(st.booleans()) else {}
    return {name: parameters | joined | {"sensitive": draw(st.sampled_from(sensitive))}}


@st.composite
def asked_tables(
    draw: st.DrawFn, kinds: tuple[Kind, ...] = KINDS
) -> tuple[Filled, oracle.Question]:
    """A table with one to three quasi-identifiers, and anything that may be asked of it alone."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=6, max_size=6, unique=True))
    columns = names[: draw(st.integers(1, 3))]
    sensitive = names[3 : 3 + draw(st.integers(0, 2))]
    drawn = [draw(st.sampled_from(kinds)) for _ in names[:5]]
    nulls = draw(st.sampled_from(["value", "value", "value", "wildcard"]))
    some = st.lists(st.sampled_from(columns), min_size=1, unique=True)
    of_a_set = st.fixed_dictionaries({"columns": some}, optional={"k": st.sampled_from(COUNTS)})
    checks = [one_of(OF_RECORDS), of_a_set.map(lambda of: {"k_anonymity": of})]
    if nulls == "value":
        checks += [one_of(OF_RECORDS | OF_A_SAMPLE)]
        # Every other question is about values, where there are any.
        checks += [sensitive_checks(sensitive, OF_VALUES)] * 2 if sensitive else []
        texts = [name for name, kind in zip(names, drawn, strict=False) if kind == TEXT]
        texts = [name for name in texts if name in sensitive]
        checks += [sensitive_checks(texts, OF_TEXTS)] if texts else []
    asked = draw(st.lists(st.one_of(checks), max_size=4))
    if sensitive and nulls == "value" and draw(st.booleans()):
        asked = [draw(sensitive_checks(sensitive, {name: OF_VALUES[name]})) for name in OF_VALUES]
    question = oracle.Question(
        quasi_identifiers=columns,
        sensitive=draw(st.sampled_from([sensitive, sensitive, sensitive[:1], []])),
        entity=draw(st.sampled_from([None, names[5]])) if nulls == "value" else None,
        nulls=nulls,
        sensitive_nulls=draw(st.sampled_from(["value", "unknown"])),
        checks=asked,
        numeric=_numeric(names, drawn),
    )
    table = draw(filled(tuple(names), (*drawn, PERSON)))
    return table, question if len(question.attributes) > 1 else _none_joined(question)


def _none_joined(question: oracle.Question) -> oracle.Question:
    """The same question, where there is no other sensitive attribute that could be known."""
    checks = [
        {name: {key: p[key] for key in p if key != "with_other_sensitive"}}
        for check in question.checks
        for name, p in check.items()
    ]
    return replace(question, checks=checks)


def _numeric(names: list[str], kinds: list[Kind]) -> list[str]:
    return [name for name, kind in zip(names, kinds, strict=False) if kind in NUMERIC]


@st.composite
def ranked_tables(draw: st.DrawFn) -> tuple[Filled, oracle.Question]:
    """A table with a sensitive attribute that has an order, and mostly spans something."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4, unique=True))
    kinds = (*NUMERIC, *[NUMBER_IN_TEXT] * 2, DATE, DATE_IN_TEXT, TIME, BOOLEAN, IN_A_LIST)
    ordered = draw(st.sampled_from(kinds))
    models = {"t_closeness": ORDERED}
    if ordered == IN_A_LIST:
        order = list(draw(st.permutations(ordered.values)))
        models = {"t_closeness": ORDERED.map(lambda given: given | {"order": order})}
    if ordered in (*NUMERIC, NUMBER_IN_TEXT):
        models["k_e_anonymity"] = K_E
    sensitive = names[1 : 2 + draw(st.integers(0, 1))]
    checks = st.lists(sensitive_checks(sensitive[:1], models), min_size=1, max_size=3)
    asked = draw(checks)
    if len(sensitive) > 1 and draw(st.booleans()):
        asked = [{m: p | {"with_other_sensitive": True} for m, p in c.items()} for c in asked]
    table = draw(filled(tuple(names), (TEXT, ordered, TEXT, PERSON)))
    return table, oracle.Question(
        quasi_identifiers=names[:1],
        sensitive=sensitive,
        entity=draw(st.sampled_from([None, names[3]])),
        sensitive_nulls=draw(st.sampled_from(["value", "unknown"])),
        checks=asked,
        numeric=_numeric(names[1:2], [ordered]),
    )


@st.composite
def tables_with_a_tree(draw: st.DrawFn) -> tuple[Filled, oracle.Question]:
    """A table whose sensitive attribute has its values in a tree."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=3, unique=True))
    asked = draw(given({"distance": ("hierarchical",)}, t=(0, 0.1, *SHARES)))
    table = draw(filled(tuple(names), (TEXT, LEAF, PERSON)))
    has_null = any(leaf is None for _, leaf, _ in table.rows)
    return table, oracle.Question(
        quasi_identifiers=names[:1],
        sensitive=names[1:2],
        entity=draw(st.sampled_from([None, names[2]])),
        sensitive_nulls="unknown" if has_null else draw(st.sampled_from(["value", "unknown"])),
        checks=[{"t_closeness": asked | {"hierarchy": TREE, "sensitive": names[1]}}],
    )


@st.composite
def surveys(draw: st.DrawFn) -> tuple[Filled, oracle.Question]:
    """A table whose records stand for so many people each, who live in households."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=5, max_size=5, unique=True))
    table = draw(filled(tuple(names), (TEXT, INTEGER, SURVEY_WEIGHT, PERSON, PERSON)))
    return table, oracle.Question(
        quasi_identifiers=names[:2],
        weight=names[2],
        entity=draw(st.sampled_from([None, names[3]])),
        household=draw(st.sampled_from([None, names[4]])),
    )


@st.composite
def released_and_referred(draw: st.DrawFn) -> tuple[Filled, Filled, oracle.Question]:
    """A release and a reference of one or two columns, generalised or not, and what links them."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=6, max_size=6, unique=True))
    columns = names[: draw(st.integers(1, 2))]
    kinds = [
        draw(st.sampled_from([*[(RELEASED, REFERRED)] * 3, *[(k.values, k.values) for k in KINDS]]))
        for _ in columns
    ]
    types = [pyarrow.array(here).type for here, _ in kinds]
    here = [Kind(type, values) for type, (values, _) in zip(types, kinds, strict=True)]
    there = [Kind(type, values) for type, (_, values) in zip(types, kinds, strict=True)]
    renamed = names[: len(columns)][::-1] if draw(st.booleans()) else columns
    nulls = draw(st.sampled_from(["value", "value", "wildcard"]))
    matching = given(
        {"match": ("containment", "containment", "exact"), "missing": ("strict", "union")}
    )
    models = OF_REFERENCES if nulls == "value" else {"k_map": OF_REFERENCES["k_map"]}
    entity, weight = draw(st.sampled_from([(None, None), (names[4], None), (None, names[5])]))
    reference = draw(filled((*renamed, names[4], names[5]), (*there, PERSON, WEIGHT)))
    released = draw(filled((*columns, names[3]), (*here, PERSON)))
    return (
        released,
        reference,
        oracle.Question(
            quasi_identifiers=columns,
            entity=draw(st.sampled_from([None, names[3]])) if nulls == "value" else None,
            nulls=nulls,
            references={
                "people": oracle.Reference(
                    reference.records,
                    columns=dict(zip(columns, renamed, strict=True)),
                    entity=entity,
                    weight=weight,
                )
            },
            checks=[
                {name: parameters | draw(matching)}
                for check in draw(st.lists(one_of(models), min_size=1, max_size=3))
                for name, parameters in check.items()
                if parameters.get("min", 0) <= parameters.get("max", 2)
            ],
        ),
    )


@st.composite
def two_releases(draw: st.DrawFn) -> tuple[Filled, Filled, oracle.Question]:
    """Two releases with someone in both, each with quasi-identifiers of its own, people with
    several records, NULLs, and values that changed."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=7, max_size=7, unique=True))
    columns, own = names[: draw(st.integers(1, 2))], names[2 : 2 + draw(st.integers(1, 2))]
    kind = draw(st.sampled_from(KINDS))
    sensitive, theirs = names[4], draw(st.sampled_from([names[4], names[5]]))
    here = [draw(st.sampled_from(KINDS)) for _ in columns]
    there = [draw(st.sampled_from(KINDS)) for _ in own]
    released = draw(filled((*columns, sensitive, names[6]), (*here, kind, PERSON)))
    before = draw(filled((*own, theirs, names[6]), (*there, kind, PERSON)))
    assume({row[-1] for row in released.rows} & {row[-1] for row in before.rows})
    checks = [
        {"composed_k_anonymity": draw(given(k=(1, 2, 3)))},
        {"composed_l_diversity": draw(given({"sensitive": (sensitive,)}, l=(1, 2, 3)))},
    ]
    return (
        released,
        before,
        oracle.Question(
            quasi_identifiers=columns,
            sensitive=[sensitive],
            entity=names[6],
            sensitive_nulls=draw(st.sampled_from(["value", "unknown"])),
            numeric=_numeric([sensitive], [kind]),
            earlier_releases={
                "before": oracle.Earlier(
                    before.records,
                    columns={} if theirs == sensitive else {sensitive: theirs},
                    quasi_identifiers=own,
                )
            },
            checks=draw(st.lists(st.sampled_from(checks), max_size=2)),
        ),
    )
