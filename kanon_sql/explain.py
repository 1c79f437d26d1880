"""What a model means, for someone who has to sign that it holds.

Each page has the promise, six records for which it fails and six for which it holds, the formula,
the SQL that decides it, what it does not protect against, and the paper. The examples are audited
by the tests, so a page can't say of them what the auditor does not.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_sql.engines.base import Column, Table
from kanon_sql.hierarchy import GeneralizationHierarchy
from kanon_sql.models import MODELS, DeltaPresence, Model, ReferenceModel, SensitiveModel
from kanon_sql.plan import plan_audit
from kanon_sql.spec import ReferenceSpec, TableSpec

Rows = Sequence[tuple[str, str, str | int]]

WIDTH = 80
QUASI_IDENTIFIERS = ("zip", "age")


@dataclass(frozen=True)
class Example:
    """A model with parameters, six records for which it fails, and six for which it holds."""

    parameters: Mapping[str, Any]
    fails: Rows
    holds: Rows
    why: str
    """Why it fails, in one sentence."""
    sensitive: str = "disease"
    reference: Rows = ()

    def model(self, name: str) -> Model:
        return MODELS[name](**self.parameters)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*QUASI_IDENTIFIERS, self.sensitive)


def _classes(*classes: tuple[str, str, Sequence[str | int]]) -> Rows:
    return [(zip, age, value) for zip, age, values in classes for value in values]


_ALONE = _classes(
    ("02138", "31", ["flu"]), ("02139", "35", ["asthma"]), ("02138", "38", ["HIV"]),
    ("02141", "44", ["flu"]), ("02142", "47", ["asthma"]), ("02141", "49", ["HIV"]),
)  # fmt: skip
_ALIKE = _classes(("0213*", "30-39", ["flu"] * 3), ("0214*", "40-49", ["flu", "asthma", "HIV"]))
_SPREAD = _classes(
    ("0213*", "30-39", ["flu", "asthma", "HIV"]), ("0214*", "40-49", ["flu", "asthma", "HIV"])
)
_ONE_CLASS = _classes(("0213*", "30-39", ["flu", "asthma", "HIV"] * 2))
_CLOSE_PAY = _classes(("0213*", "30-39", [30, 30, 31]), ("0214*", "40-49", [20, 45, 70]))
_SPREAD_PAY = _classes(("0213*", "30-39", [30, 45, 60]), ("0214*", "40-49", [20, 45, 70]))
_REGISTER = [
    *((zip, age, "") for zip, age, _ in _ALONE),
    *_classes(("02139", "33", [""] * 3), ("02142", "41", [""] * 6)),
]
_SHARED = "All three people of 0213* and 30-39 have the flu."
_FAR = "In 0213* and 30-39 everyone has the flu, in the table four of six."

EXAMPLES: dict[str, Example] = {
    "k_anonymity": Example({"k": 3}, _ALONE, _SPREAD, "Every record is alone with its values."),
    "k_map": Example(
        {"k": 6}, _ALONE, _SPREAD, "Each is the only one in the register with these values.",
        reference=_REGISTER,
    ),
    "delta_presence": Example(
        {"min": 0.1, "max": 0.5}, _ONE_CLASS, _SPREAD,
        "All six people of the register in 0213* and 30-39 are in the table, and none in 0214*.",
        reference=_REGISTER,
    ),
    "homogeneity": Example({}, _ALIKE, _SPREAD, _SHARED),
    "l_diversity": Example({"l": 2}, _ALIKE, _SPREAD, _SHARED),
    "entropy_l_diversity": Example({"l": 2}, _ALIKE, _SPREAD, _SHARED),
    "recursive_cl_diversity": Example({"c": 2, "l": 2}, _ALIKE, _SPREAD, _SHARED),
    "alpha_k_anonymity": Example({"alpha": 0.5, "k": 3}, _ALIKE, _SPREAD, _SHARED),
    "p_sensitive_k_anonymity": Example({"p": 2, "k": 3}, _ALIKE, _SPREAD, _SHARED),
    "k_e_anonymity": Example(
        {"k": 2, "e": 20}, _CLOSE_PAY, _SPREAD_PAY,
        "Everyone in 0213* and 30-39 earns 30 or 31.", sensitive="income",
    ),
    "t_closeness": Example({"t": 0.2}, _ALIKE, _SPREAD, _FAR),
    "delta_disclosure": Example(
        {"delta": 0.5}, _ALIKE, _SPREAD, "In 0213* and 30-39 nobody has asthma or HIV."
    ),
    "basic_beta_likeness": Example(
        {"beta": 0.4}, _ALIKE, _SPREAD, "In 0213* and 30-39 the flu is half as frequent again."
    ),
    "enhanced_beta_likeness": Example(
        {"beta": 0.4}, _ALIKE, _SPREAD, "In 0213* and 30-39 the flu is half as frequent again."
    ),
    "prosecutor_risk": Example(
        {"max_highest": 0.34}, _ALONE, _SPREAD, "Every record can be found with certainty."
    ),
    "journalist_risk": Example(
        {"max_highest": 0.2}, _ALONE, _SPREAD, "Nobody else in the register has these values.",
        reference=_REGISTER,
    ),
    "marketer_risk": Example(
        {"max_average": 0.5}, _ALONE, _SPREAD, "Linking finds every one of them.",
        reference=_REGISTER,
    ),
    "sample_uniqueness": Example(
        {"max_share": 0.1}, _ALONE, _SPREAD, "All six records are alone with their values."
    ),
    "population_uniqueness": Example(
        {"population": 60, "max_share": 0.1}, _ALONE, _SPREAD,
        "All six of the sample are alone, so many of the sixty people will be.",
    ),
    "k_map_estimate": Example(
        {"k": 2, "population": 60}, _ALONE, _SPREAD,
        "A class of one in the sample may well be one of one among the sixty people.",
    ),
}  # fmt: skip
"""An example of each model."""


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
    """Every model in a line or two, under its kind."""
    lines = ["The models, by what they look at. kanon-sql explain MODEL says more.", ""]
    for heading, names in _kinds():
        lines += [heading, ""]
        for name in names:
            lines += _folded(f"{name}: {MODELS[name].promise}", "  ", "      ")
        lines.append("")
    return "\n".join(lines).rstrip()


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
    for name, field in model.model_fields.items():
        default = "" if field.is_required() or field.default is None else f" ({field.default})"
        yield from _folded(f"{name}{default}: {field.description}", "    ", "      ")
    yield ""


def _asked(example: Example) -> str:
    asked = ", ".join(f"{key} {value}" for key, value in example.parameters.items())
    return f" with {asked}" if asked else ""


def _table(columns: Sequence[str], rows: Rows) -> Iterator[str]:
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
        if example.fails is _ALONE
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
    plan = plan_audit(
        spec,
        Table("patients", '"patients"', columns),
        {"register": Table("register", '"register"', columns)} if example.reference else {},
    )
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
