"""The manual's pages on models or metrics, as plain text.

A model's page has its promise, six records for which it fails and six for which it holds, the
formula, the deciding SQL, its limitations and the paper. A metric's page has its meaning, four
records with their release and the resulting value, the formula, its limitations and the paper. The
tests audit the examples and recompute the values.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.models import FAMILIES
from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import ALL_MODELS, MODELS, family_part
from kanon_sql.models.described import descriptions
from kanon_sql.models.examples import PERSON, QUASI_IDENTIFIERS, CellExample, Example, records
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind
from kanon_sql.plan.resolve import resolve
from kanon_sql.question.question_parts import EarlierReleaseSpec, OriginalSpec, ReferenceSpec
from kanon_sql.question.spec import table_spec
from kanon_sql.report.guides import (
    DBT,
    folded,
    guide,
    guide_names,
    paragraph,
    section,
    sentence_of,
    sheet,
    table,
)
from kanon_sql.report.words.numbers import sentence
from kanon_sql.results.release import EXAMPLE_RELEASE, METRICS
from kanon_sql.sql.ctes import named_sets
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Table

_GREEK = {"α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon", "θ": "theta", "π": "pi"}


class Explanation(str):
    """A page of the manual, whose repr is its text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython's representation."""
        printer.text(str(self))


def explained(name: str | None) -> str:
    """The page of a model, metric or algorithm, or a guide; without a name, the overview.

    Names may contain hyphens, spaces and Greek letters, or be synonyms. Raises `SpecError` with the
    nearest name.
    """
    if name is None:
        return overview()
    pages = {_folded_name(model.title): name for name, model in ALL_MODELS.items()}
    pages |= {_folded_name(metric.title): name for name, metric in METRICS.items()}
    pages |= {_folded_name(model): model for model in (*ALL_MODELS, *METRICS, DBT, *guide_names())}
    key = _folded_name(name)
    without_underscores = {alias.replace("_", ""): page_name for alias, page_name in pages.items()}
    page_name = pages.get(key) or pages.get(_folded_name(_synonyms().get(key, "")))
    page_name = page_name or without_underscores.get(key.replace("_", ""))
    if page_name is None:
        near = did_you_mean(key, list(pages))
        raise SpecError(
            f'there is no model, no metric and no page "{name}".{near} kanon-sql explain lists the '
            f"{len(ALL_MODELS)} models and the {len(METRICS)} metrics there are, and all pages."
        )
    return _page_of(page_name)


def _synonyms() -> dict[str, str]:
    """The page that other words mean, each line of the file being of one page."""
    text = files("kanon_sql.report").joinpath("pages", "synonyms.txt").read_text(encoding="utf-8")
    lines = (line.partition(": ") for line in text.splitlines())
    return {word: page for page, _, words in lines for word in words.split()}


def _page_of(name: str) -> str:
    if name in ALL_MODELS:
        return page(name)
    return metric_page(name) if name in METRICS else guide(name)


def _folded_name(name: str) -> str:
    """A name in lower-case ASCII, with words joined by underscores.

    >>> _folded_name("(α,k)-Anonymity"), _folded_name("Cramér's V")
    ('alpha_k_anonymity', 'cramers_v')
    """
    letters = unicodedata.normalize("NFKD", name.casefold().replace("'", "").replace("\u2019", ""))
    spelled = "".join(f" {_GREEK[letter]} " if letter in _GREEK else letter for letter in letters)
    base_letters = "".join(char for char in spelled if not unicodedata.combining(char))
    return "_".join(re.findall(r"[a-z0-9]+", base_letters))


def metric_page(name: str) -> str:
    """The page of a metric, as plain text of 80 columns."""
    metric, release = METRICS[name], EXAMPLE_RELEASE
    return sheet(
        f"{metric.title} ({name})",
        folded(metric.sentence),
        paragraph(f"Range: {metric.range}; {metric.better} keeps more of the table."),
        table("Four records:", release["columns"], release["raw"]),
        table("Their release:", release["columns"], release["released"]),
        paragraph(release["made"]),
        paragraph(metric.example),
        section("Formula", metric.formula, metric.letters),
        section("Conventions", metric.counting),
        section("What it does not say", metric.limitation),
        section("Source", metric.source),
    )


def page(name: str) -> str:
    """The page of a model, as plain text of 80 columns."""
    model, example = ALL_MODELS[name], ALL_MODELS[name].example
    parameters = ", ".join(f"{key} {value}" for key, value in example.parameters.items())
    with_parameters = f" with {parameters}" if parameters else ""
    letters: list[str] = []
    if isinstance(example, CellExample):
        failing, holding = "this table", "this one"
        fails, holds = example.fails, example.holds
        other_tables = _second_table(example)
        sql = family_part(model.family, "published_plan").deciding(model, example)
    else:
        failing, holding, letters = "these six records", "these", [sentence("letters_of_formulas")]
        fails, holds = example.rows(example.fails), example.rows(example.holds)
        other_tables, sql = _other_tables(example), _sql(name, example)
    return sheet(
        f"{model.title} ({name})",
        paragraph(model.promise),
        _parameters(model),
        table(f"It fails for {failing}{with_parameters}:", example.columns, fails),
        paragraph(example.why),
        table(f"It holds for {holding}:", example.columns, holds),
        other_tables,
        section("Formula", model.formula, *letters),
        section("What it does not protect against", model.limitation),
        section("Source", model.source),
        _deciding(model, sql) if sql else (),
    )


def _deciding(model: type[Model], statement: Statement) -> Iterator[str]:
    """The SQL that decides a model, and how to print the rows of its first CTE."""
    macro = "class_sizes" if model.read_off_sizes else model.name()
    yield from (f"  Deciding SQL, on the table of the example (macro {macro})", "")
    if model.name() in MODELS:
        for first in named_sets(statement.sql, DIALECT)[:1]:
            yield "    -- The rows of its first CTE, as a query of its own:"
            yield f"    -- kanon-sql compile TARGET … --step {statement.name} --until {first}"
    yield textwrap.indent(statement.sql, "    ")


def _second_table(example: CellExample) -> Iterator[str]:
    """The second table of a comparison, and the command that reads the example."""
    if example.second:
        yield from table("The second table, in both cases:", example.columns, example.second)
    yield from paragraph(f"kanon-sql tables FILE {example.options} reads them.", "  ", "      ")


def overview() -> str:
    """A line or two on each model, by kind, then on the metrics and pages."""
    lines = ["The models, by what they measure. kanon-sql explain NAME prints the page.", ""]
    for heading, names in _kinds():
        lines += [heading, ""]
        for name in names:
            lines += folded(f"{name}: {ALL_MODELS[name].promise}", "  ", "      ")
        lines.append("")
    lines += ["Information loss of a release: the metrics of kanon-sql anonymize", ""]
    for name, metric in METRICS.items():
        lines += folded(f"{name}: {metric.sentence}", "  ", "      ")
    lines += ["", "Guides: kanon-sql explain PAGE", ""]
    for name in sorted((*guide_names(), DBT)):
        lines += folded(f"{name}: {sentence_of(name)}", "  ", "      ")
    return "\n".join(lines)


def _kinds() -> Iterator[tuple[str, list[str]]]:
    """The models by heading."""
    for family, heading in FAMILIES.items():
        yield heading, [name for name, model in ALL_MODELS.items() if model.family == family]


def _parameters(model: type[Model]) -> Iterator[str]:
    """The parameters with their descriptions."""
    yield "  Parameters"
    meanings = descriptions(model)
    for name, field in model.model_fields.items():
        default = "" if field.is_required() or field.default is None else f" ({field.default})"
        yield from folded(f"{name}{default}: {meanings[name]}", "    ", "      ")
    yield ""


def _other_tables(example: Example) -> Iterator[str]:
    """The people of the reference by class of the second table, and the earlier release."""
    if example.reference:
        counts = Counter(
            f"people in {str(zip)[:4]}* and {str(age)[0]}0-{str(age)[0]}9"
            for zip, age, _ in example.reference
        )
        people = " and ".join(f"{count} {values}" for values, count in counts.items())
        among = "; the six people of the first table are among them"
        yield from paragraph(
            f"In both cases the register has {people}, with full ZIP and age"
            f"{among if example.fails is records()['alone'] else ''}."
        )
    if example.earlier:
        title = "The earlier release of these people, in both cases:"
        yield from table(title, example.columns, example.rows(example.earlier))
    if example.original:
        title = "The original that both were made from:"
        yield from table(title, example.columns, example.original)


def _sql(name: str, example: Example) -> Statement:
    """The statement that decides the model, as planned for its example."""
    columns = tuple(
        Column(column, "INTEGER" if column == "income" else "VARCHAR") for column in example.columns
    )
    model = MODELS[name]
    spec = table_spec(
        source="patients",
        quasi_identifiers={} if example.roles else QUASI_IDENTIFIERS,
        sensitive=[example.sensitive] if "sensitive" in model.model_fields else [],
        original=OriginalSpec(source="original") if example.original else None,
        entity=PERSON if example.earlier or example.roles else None,
        references={"register": ReferenceSpec(source="register")} if example.reference else {},
        earlier_releases={"before": EarlierReleaseSpec(source="before")} if example.earlier else {},
        checks=[model(**example.parameters)],
        **example.roles,
    )
    other_tables = {
        (kind, name): Table(name, f'"{name}"', columns) for kind, name, _ in spec.other_tables()
    }
    roles = resolve(spec, Table("patients", '"patients"', columns), other_tables)
    plan = plan_audit(bind(roles))
    serving = [statement for statement in plan.statements if model in statement.models]
    of_size = f"{name}_{example.parameters.get('m')}"
    named = (statement for statement in serving if statement.name == of_size)
    return next(named, (serving or plan.statements)[0])
