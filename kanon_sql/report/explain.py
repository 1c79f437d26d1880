"""What a model, a metric or an algorithm means, for someone who has to sign what it gives.

The page of a model has the promise, six records for which it fails and six for which it holds,
the formula, the SQL that decides it, what it does not protect against, and the paper. The page of
a metric has what it says, four records with their release and the number, the formula, what it
does not say, and the paper. The tests audit the examples and compute the numbers again.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.bind import bind
from kanon_sql.plan.roles import resolve
from kanon_sql.report.subsets_page import IN_SHORT, subsets_page
from kanon_sql.results.metrics import METRICS
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.spec.models.base import Model, ReferenceModel, SensitiveModel
from kanon_sql.spec.models.catalogue import MODELS
from kanon_sql.spec.models.described import descriptions
from kanon_sql.spec.models.examples import (
    ALONE,
    DATAFLY,
    EXAMPLES,
    QUASI_IDENTIFIERS,
    RELEASE,
    SETTLED_OF_DATAFLY,
    SILENCE_OF_DATAFLY,
    SOURCE_OF_DATAFLY,
    STEPS_OF_DATAFLY,
    WIDTH,
    WORKINGS,
    Example,
)
from kanon_sql.spec.models.reference import DeltaPresence
from kanon_sql.spec.spec import ReferenceSpec, TableSpec
from kanon_sql.sql.tables import Column, Table

PEOPLE = (
    (
        "What is counted",
        (
            "With --entity COLUMN (entity: in a spec) a row is a record of a person, and the size "
            "of a class is how many different people have a record in it: five visits of one "
            "person are one. A record without a person is an error.",
            "violating_records stay records; violating_people beside them are the people with a "
            "record in at least one violating class.",
        ),
    ),
    (
        "Someone who is in several classes",
        (
            "People are counted once. Whoever has records in several classes counts with the "
            "smallest of them, where they are easiest to find. Every share and average is of the "
            "people of the table, not of their memberships of classes: one person alone and nine "
            "who are in ten classes each are 10 people, of whom 1 (10 %) is alone, and not 1 of "
            "91.",
            "This is how uniques, at_risk, average, sample_uniqueness and the bins of the "
            "histogram are counted, and a profile. Against a reference the class with the fewest "
            "people there counts.",
            "The combination of several classes says more than each of them: profile_k is the "
            "fewest people who are in exactly the same classes, and there is a warning where it is "
            "below k.",
        ),
    ),
    (
        "Someone who has several values",
        (
            "What every person of a class has is certain, whatever else they have. If both people "
            "of a class have the flu and one has a cold too, everyone in it is known to have the "
            "flu: the class is homogeneous, l and p are 1, α is 1, entropy l is 1, no c would do "
            "for recursive (c,l)-diversity (l of 2 or more), and for (k,e)-anonymity it has one "
            "value and no range. So it is with one person alone, both of whose diagnoses are "
            "certain.",
            "Elsewhere each person counts once for each of their values: entropy, recursive, "
            "t-closeness, δ-disclosure and β-likeness look at these pairs of person and value, α "
            "at the share of the people who have the value.",
            "How a value is spread in the whole table, with which t, δ and β compare a class, is "
            "added up over the classes: a pair counts there once for each class that the person is "
            "in. Where some people are in very many classes, their values weigh more.",
            "several_valued_classes says how many of the homogeneous classes have other values "
            "besides the one that everyone has.",
        ),
    ),
    (
        "Estimates",
        (
            "k_map_estimate takes the sample to be the people of the table. population_uniqueness "
            "is estimated from profiles, people by the set of their classes, because each person "
            "has one; where everyone is in one class these are the classes. Individual risk takes, "
            "of the classes of a person, the least size and the least sum of weights: the risk of "
            "the riskiest class, or more.",
        ),
    ),
)
"""How people are counted where a table has several records of some, under headings."""
_PEOPLE = "entities: how people are counted who have several records, classes or values."
PAGES = ("datafly", "entities", "subsets", "values")


VALUES = {
    "Text": "byte by byte: case, accents and spaces make two values of one. A column that the "
    "database compares otherwise (citext, nocase, a collation of its own, char without a length) "
    "is refused where it plays a part.",
    "Text files": "CSV is text throughout: 02138 and 2138 are two values, and so are 1 and 1.0, "
    "or 0.0 and -0.0.",
    "Numbers": "by what they are, in a column that has numbers. 0.0 and -0.0 are one value, as "
    "SQL's = says, in every database and every file that has types; a .csv that is written has "
    "0.0 for both. NaN is one value.",
    "Numbers without a scale": "1.0 and 1.00 of Postgres' numeric are one to =, and two to whoever "
    "reads them. A column in which that may happen is refused until it is cast to numeric(p, s) or "
    "to text. jsonb is refused always, and so is what someone has made a type of, and what holds "
    "such numbers in an array, a range or a record.",
    "Times": "by the moment. An INTERVAL (1 month is 30 days) and a TIME WITH TIME ZONE are "
    "refused until they are cast to text.",
    "Nested values": "are refused: take their fields apart.",
    "SQLite": "a column is what its values are, whatever it was declared as. Text beside whole "
    "numbers is text; anything else of several kinds is refused.",
    "NULL": "one value, which only NULL equals, unless nulls: wildcard or sensitive_nulls: unknown "
    "says otherwise.",
    "In dbt": "the tests refuse the same columns on DuckDB and Postgres. Of an ephemeral model "
    "they look at the values instead, and stop where two are written differently and count as one.",
}
"""Which values are one, by what they are values of."""
_VALUES = "values: which values are one, and which are two."


def explained(name: str | None) -> str:
    """The page of a model, a metric, an algorithm, of people or of values; without a name what
    there is.

    Raises `SpecError` that names the nearest one.
    """
    if name is None:
        return overview()
    if name in MODELS:
        return page(name)
    if name in METRICS:
        return metric_page(name)
    if name == "datafly":
        return datafly_page()
    if name in ("entities", "entity"):
        return people_page()
    if name in ("subsets", "suda"):
        return subsets_page()
    if name == "values":
        return values_page()
    near = did_you_mean(name, [*MODELS, *METRICS, *PAGES])
    raise SpecError(
        f'there is no model and no metric "{name}".{near} kanon-sql explain lists the '
        f"{len(MODELS)} models and the {len(METRICS)} metrics there are."
    )


def metric_page(name: str) -> str:
    """Everything there is to know of one metric, as plain text of 80 columns."""
    metric, working = METRICS[name], WORKINGS[name]
    parts = [
        *_folded(f"{metric.title} ({name})", ""),
        "",
        *_folded(metric.sentence),
        *_folded(f"It goes {metric.range}; {metric.better} keeps more of the table."),
        "",
        "  Four records:",
        "",
        *_table(RELEASE.columns, RELEASE.raw),
        "",
        "  What is released of them:",
        "",
        *_table(RELEASE.columns, RELEASE.released),
        "",
        *_folded(RELEASE.made),
        "",
        *_folded(working.words),
        "",
        "  Formula",
        *_folded(metric.formula, "    "),
        "",
        *_folded(metric.letters, "    "),
        "",
        "  How it is counted",
        *_folded(metric.counting, "    "),
        "",
        "  What it does not say",
        *_folded(metric.silence, "    "),
        "",
        "  Source",
        *_folded(metric.source, "    "),
    ]
    return "\n".join(parts)


def datafly_page() -> str:
    """What Datafly does, and what it leaves to be settled, as plain text of 80 columns."""
    parts = ["Datafly (datafly)", ""]
    parts += _folded("Five steps from a table to a release that meets what was demanded.")
    parts.append("")
    for number, step in enumerate(STEPS_OF_DATAFLY, start=1):
        parts += _folded(f"{number}. {step}", "    ", "       ")
    parts += ["", "  What it does not promise", *_folded(SILENCE_OF_DATAFLY, "    ")]
    parts += ["", "  How it is settled here"]
    for sentence in SETTLED_OF_DATAFLY:
        parts += _folded(sentence, "    ", "      ")
    return "\n".join([*parts, "", "  Source", *_folded(SOURCE_OF_DATAFLY, "    ")])


def people_page() -> str:
    """How people are counted, as plain text of 80 columns."""
    parts = ["People instead of records (entities)"]
    for heading, sentences in PEOPLE:
        parts += ["", f"  {heading}"]
        for sentence in sentences:
            parts += _folded(sentence, "    ", "      ")
    return "\n".join(parts)


def values_page() -> str:
    """Which values count as one, as plain text of 80 columns."""
    parts = ["Values (values)", ""]
    parts += _folded(
        "A class is the records whose quasi-identifiers have the same values. Two that someone can "
        "tell apart must not be taken for one: classes would look larger than they are."
    )
    for what, sentence in VALUES.items():
        parts += ["", *_folded(f"{what}: {sentence}", "  ", "    ")]
    return "\n".join(parts)


def page(name: str) -> str:
    """Everything there is to know of one model, as plain text of 80 columns."""
    model, example = MODELS[name], EXAMPLES[name]
    parts = [
        *_folded(f"{model.title} ({name})", ""),
        "",
        *_folded(model.promise),
        "",
        *_parameters(model),
        f"  It fails for these six records{_asked(example)}:",
        "",
        *_table(example.columns, example.fails),
        "",
        *_folded(example.why),
        "",
        "  It holds for these:",
        "",
        *_table(example.columns, example.holds),
        "",
        *(_register(example) if example.reference else ()),
        "  Formula",
        *_folded(model.formula, "    "),
        "",
        *_folded(
            "f is the size of a class, F that of its match in the reference; q is the share of a "
            "value in a class, p its share in the table.",
            "    ",
        ),
        "",
        "  What it does not protect against",
        *_folded(model.silence, "    "),
        "",
        "  Source",
        *_folded(model.source, "    "),
        "",
        f"  SQL that it is read off, on the table of the example (macro {_macro(model)})",
        "",
        textwrap.indent(_sql(name, example), "    "),
    ]
    return "\n".join(parts)


def overview() -> str:
    """Every model in a line or two, under its kind, and below them the metrics."""
    lines = ["The models, by what they look at. kanon-sql explain NAME says more.", ""]
    for heading, names in _kinds():
        lines += [heading, ""]
        for name in names:
            lines += _folded(f"{name}: {MODELS[name].promise}", "  ", "      ")
        lines.append("")
    lines += ["What a release lost: the metrics of kanon-sql anonymize", ""]
    for name, metric in METRICS.items():
        lines += _folded(f"{name}: {metric.sentence}", "  ", "      ")
    lines += ["", "How a release is made", "", *_folded(DATAFLY, "  ", "      ")]
    lines += ["", "Where people have several records", "", *_folded(_PEOPLE, "  ", "      ")]
    lines += ["", "Which columns identify people", "", *_folded(IN_SHORT, "  ", "      ")]
    lines += ["", "What all of them compare", "", *_folded(_VALUES, "  ", "      ")]
    return "\n".join(lines)


def _kinds() -> Iterator[tuple[str, list[str]]]:
    """The models under four headings."""
    estimates = ["population_uniqueness", "k_map_estimate"]
    references = [name for name, model in MODELS.items() if issubclass(model, ReferenceModel)]
    sensitive = [name for name, model in MODELS.items() if issubclass(model, SensitiveModel)]
    other = [name for name in MODELS if name not in (*references, *sensitive, *estimates)]
    yield "Sizes of classes", other
    yield "What a class shares of a sensitive attribute", sensitive
    yield "Linkage with a reference table", references
    yield "Estimates for a sample of a population", estimates


def _macro(model: type[Model]) -> str:
    return "class_sizes" if model.read_off_sizes else model.name()


def _parameters(model: type[Model]) -> Iterator[str]:
    """The parameters with what they mean."""
    yield "  Parameters"
    meanings = descriptions(model)
    for name, field in model.model_fields.items():
        default = "" if field.is_required() or field.default is None else f" ({field.default})"
        yield from _folded(f"{name}{default}: {meanings[name]}", "    ", "      ")
    yield ""


def _asked(example: Example) -> str:
    asked = ", ".join(f"{key} {value}" for key, value in example.parameters.items())
    return f" with {asked}" if asked else ""


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "    " + "   ".join(padded).rstrip()


def _register(example: Example) -> Iterator[str]:
    """The reference in a sentence: how many people it has of each class of the second table."""
    counts = Counter(f"{zip[:4]}* and {age[0]}0-{age[0]}9" for zip, age, _ in example.reference)
    people = " and ".join(f"{count} of {values}" for values, count in counts.items())
    yield from _folded(
        f"The register in both cases has {people}, each with ZIP and age in full, and among them "
        "the six of the first table."
        if example.fails is ALONE
        else f"The register in both cases has {people}, each with ZIP and age in full."
    )
    yield ""


def _sql(name: str, example: Example) -> str:
    """The statement that decides the model, as the planner writes it."""
    columns = tuple(
        Column(column, "INTEGER" if column == "income" else "VARCHAR") for column in example.columns
    )
    model = MODELS[name]
    spec = TableSpec(
        source="patients",
        quasi_identifiers=dict.fromkeys(QUASI_IDENTIFIERS, GeneralizationHierarchy()),
        sensitive=[example.sensitive] if issubclass(model, SensitiveModel) else [],
        references={"register": ReferenceSpec(source="register")} if example.reference else {},
        checks=[example.model(name)],
    )
    roles = resolve(
        spec,
        Table("patients", '"patients"', columns),
        {"register": Table("register", '"register"', columns)} if example.reference else {},
    )
    plan = plan_audit(bind(roles))
    wanted = "delta_presence" if issubclass(model, DeltaPresence) else "k_map"
    step = next(
        step
        for step in plan.steps
        if step.name == (f"{wanted}_register" if example.reference else "classes")
    )
    return step.sql


def _folded(text: str, first: str = "  ", rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
