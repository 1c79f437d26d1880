"""The manual's pages on models and metrics, as plain text.

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
from collections.abc import Iterator, Sequence
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.cells import Exactness, cell_question, cells_step, node_name, table_of
from kanon_sql.plan.published_cells import (
    published_differences_step,
    published_groups_step,
    published_rules_step,
    published_table,
)
from kanon_sql.plan.resolve import bind
from kanon_sql.plan.resolve_roles import resolve
from kanon_sql.report.guides import DBT, RELEASE, WIDTH, WORKINGS, guide, guide_names, sentence_of
from kanon_sql.results.metrics import METRICS
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.spec.models.base import Answer, Model
from kanon_sql.spec.models.catalogue import ALL_MODELS, CELL_MODELS, MODELS
from kanon_sql.spec.models.cells import CellExample
from kanon_sql.spec.models.described import descriptions
from kanon_sql.spec.models.examples import ALONE, PERSON, QUASI_IDENTIFIERS, Example
from kanon_sql.spec.published import PublishedSpec
from kanon_sql.spec.question_parts import EarlierReleaseSpec, ReferenceSpec
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.ctes import named_sets
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Table

_MEANT = {
    "suda": "subsets", "suda2": "subsets", "dis_suda": "subsets", "special_uniques": "subsets",
    "entity": "entities", "people": "entities", "persons": "entities",
    "null": "nulls", "missing_values": "nulls", "na": "nulls",
    "wildcard": "nulls", "wildcards": "nulls",
    "k": "k_anonymity", "anonymity": "k_anonymity",
    "l": "l_diversity", "distinct_l_diversity": "l_diversity", "diversity": "l_diversity",
    "t": "t_closeness", "closeness": "t_closeness",
    "equivalence_class": "k_anonymity", "equivalence_classes": "k_anonymity",
    "class_size": "k_anonymity", "alpha": "alpha_k_anonymity", "delta": "delta_disclosure",
    "beta": "basic_beta_likeness", "likeness": "basic_beta_likeness",
    "alpha_k": "alpha_k_anonymity", "p_sensitive": "p_sensitive_k_anonymity",
    "k_e": "k_e_anonymity", "c_l_diversity": "recursive_cl_diversity",
    "cl_diversity": "recursive_cl_diversity", "recursive_c_l_diversity": "recursive_cl_diversity",
    "c_l": "recursive_cl_diversity", "recursive_c_l": "recursive_cl_diversity",
    "emd": "t_closeness", "earth_mover": "t_closeness", "earth_movers_distance": "t_closeness",
    "delta_disclosure_privacy": "delta_disclosure", "beta_likeness": "basic_beta_likeness",
    "prosecutor": "prosecutor_risk", "journalist": "journalist_risk", "marketer": "marketer_risk",
    "risk": "prosecutor_risk", "risks": "prosecutor_risk", "re_identification": "prosecutor_risk",
    "reidentification": "prosecutor_risk", "reidentification_risk": "prosecutor_risk",
    "re_identification_risk": "prosecutor_risk", "uniqueness": "sample_uniqueness",
    "uniques": "sample_uniqueness", "sample_uniques": "sample_uniqueness",
    "dankar": "population_uniqueness", "pitman": "population_uniqueness",
    "zayatz": "population_uniqueness", "snb": "population_uniqueness",
    "population_uniques": "population_uniqueness",
    "cramer": "association", "cramers_v": "association", "cramer_v": "association",
    "iyengar": "loss", "information_loss": "loss", "utility": "loss", "prec": "precision",
    "dm": "discernibility", "discernability": "discernibility", "c_avg": "average_class_size",
    "entropy": "non_uniform_entropy", "sweeney": "datafly",
    "anonymize": "anonymizing", "anonymise": "anonymizing", "release": "anonymizing",
    "anonymization": "anonymizing", "anonymisation": "anonymizing", "suppress": "anonymizing",
    "suppression": "anonymizing", "tradeoff": "optimal", "samarati": "optimal",
    "incognito": "optimal", "lattice": "optimal", "local_recoding": "local", "mondrian": "local",
    "clip": "hierarchies", "builders": "hierarchies",
    "hierarchy": "hierarchies", "dgh": "hierarchies", "generalization": "hierarchies",
    "generalisation": "hierarchies", "levels": "hierarchies",
    "qi": "quasi-identifiers", "qis": "quasi-identifiers", "quasi_identifier": "quasi-identifiers",
    "profile": "quasi-identifiers",
    "pipeline": "pipelines", "ci": "pipelines", "baseline": "pipelines", "exit_codes": "pipelines",
    "github": "pipelines", "gitlab": "pipelines", "sarif": "pipelines", "junit": "pipelines",
    "pre_commit": "pipelines", "gate": "pipelines", "exit_code": "pipelines",
    "warehouse": "warehouses", "postgres": "warehouses", "postgresql": "warehouses",
    "spark": "warehouses", "snowflake": "warehouses", "bigquery": "warehouses",
    "clickhouse": "warehouses", "databricks": "warehouses", "redshift": "warehouses",
    "trino": "warehouses", "sqlite": "warehouses", "mariadb": "warehouses", "mysql": "warehouses",
    "duckdb": "warehouses", "connect": "warehouses",
    "pandas": "python", "polars": "python", "notebook": "python", "jupyter": "python",
    "worksheet": "references", "certificate": "report", "sign": "report",
    "motivated_intruder": "references", "reference": "references", "threshold": "thresholds",
    "published": "tables", "table": "tables", "cells": "tables", "cell": "tables",
    "min_cell": "min_contributors", "p": "p_percent", "n_k": "dominance",
    "differencing": "differences", "rounding": "rounded",
    "policy": "policies", "airlock": "policies", "output_checking": "policies",
    "suppressed_cells": "derivability", "feasibility_interval": "derivability",
    "subtraction": "derivability", "audit_interval": "derivability",
    "law": "thresholds", "gdpr": "thresholds", "hipaa": "thresholds",
    "hierarchy_file": "hierarchies", "pseudonym": "releases", "pseudonyms": "releases",
    "composition": "releases", "several_releases": "releases", "diff": "releases",
    "differential_privacy": "limits", "differentially_private": "limits", "dp": "limits",
    "epsilon": "limits", "epsilon_differential_privacy": "limits", "background": "limits",
    "background_knowledge": "limits", "limit": "limits", "minimality": "limits",
    "minimality_attack": "limits", "synthetic_data": "limits", "m_invariance": "releases",
    "linkage": "references", "linkage_attack": "references", "record_linkage": "references",
    "membership": "delta_presence", "membership_disclosure": "delta_presence",
    "homogeneity_attack": "homogeneity", "attribute_disclosure": "homogeneity",
    "skewness": "t_closeness", "skewness_attack": "t_closeness",
    "similarity_attack": "t_closeness", "identity_disclosure": "k_anonymity",
    "dbt_package": "dbt", "earlier": "releases", "earlier_release": "releases",
    "mcp": "assistants", "assistant": "assistants", "llm": "assistants",
    "arx": "coming-from-arx", "sdcmicro": "coming-from-sdcmicro",
    "pycanon": "coming-from-pycanon",
}  # fmt: skip
"""Synonyms of page names."""
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
    known = {_folded_name(each.title): name for name, each in (ALL_MODELS | METRICS).items()}
    known |= {_folded_name(each): each for each in (*ALL_MODELS, *METRICS, DBT, *guide_names())}
    asked = _folded_name(name)
    close = {each.replace("_", ""): whole for each, whole in known.items()}
    found = known.get(asked) or known.get(_folded_name(_MEANT.get(asked, "")))
    found = found or close.get(asked.replace("_", ""))
    if found is None:
        near = did_you_mean(asked, list(known))
        raise SpecError(
            f'there is no model, no metric and no page "{name}".{near} kanon-sql explain lists the '
            f"{len(ALL_MODELS)} models and the {len(METRICS)} metrics there are, and all pages."
        )
    return _page_of(found)


def _page_of(name: str) -> str:
    if name in MODELS:
        return page(name)
    if name in CELL_MODELS:
        return cell_page(name)
    return metric_page(name) if name in METRICS else guide(name)


def _folded_name(name: str) -> str:
    """A name in lower-case ASCII, with words joined by underscores.

    >>> _folded_name("(α,k)-Anonymity"), _folded_name("Cramér's V")
    ('alpha_k_anonymity', 'cramers_v')
    """
    letters = unicodedata.normalize("NFKD", name.casefold().replace("'", "").replace("\u2019", ""))
    spelled = "".join(f" {_GREEK[each]} " if each in _GREEK else each for each in letters)
    kept = "".join(each for each in spelled if not unicodedata.combining(each))
    return "_".join(re.findall(r"[a-z0-9]+", kept))


def metric_page(name: str) -> str:
    """The page of a metric, as plain text of 80 columns."""
    metric, working = METRICS[name], WORKINGS[name]
    parts = [
        *_folded(f"{metric.title} ({name})", ""),
        "",
        *_folded(metric.sentence),
        *_folded(f"Range: {metric.range}; {metric.better} keeps more of the table."),
        "",
        "  Four records:",
        "",
        *_table(RELEASE.columns, RELEASE.raw),
        "",
        "  Their release:",
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
        "  Conventions",
        *_folded(metric.counting, "    "),
        "",
        "  What it does not say",
        *_folded(metric.limitation, "    "),
        "",
        "  Source",
        *_folded(metric.source, "    "),
    ]
    return "\n".join(parts)


def page(name: str) -> str:
    """The page of a model, as plain text of 80 columns."""
    model = MODELS[name]
    example = model.example
    sql = _sql(name, example)
    parts = [
        *_folded(f"{model.title} ({name})", ""),
        "",
        *_folded(model.promise),
        "",
        *_parameters(model),
        f"  It fails for these six records{_asked(example)}:",
        "",
        *_table(example.columns, example.rows(example.fails)),
        "",
        *_folded(example.why),
        "",
        "  It holds for these:",
        "",
        *_table(example.columns, example.rows(example.holds)),
        "",
        *(_register(example) if example.reference else ()),
        *(_released_before(example) if example.earlier else ()),
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
        *_folded(model.limitation, "    "),
        "",
        "  Source",
        *_folded(model.source, "    "),
        "",
        f"  Deciding SQL, on the table of the example (macro {_macro(model)})",
        "",
        textwrap.indent("\n".join([*_in_between(sql), sql.sql]), "    "),
    ]
    return "\n".join(parts)


def cell_page(name: str) -> str:
    """The page of a model of cells, as plain text of 80 columns."""
    model = CELL_MODELS[name]
    example = model.example
    assert isinstance(example, CellExample)
    sql = _sql_of_cells(name, example)
    second = ["  The second table, in both cases:", ""]
    second += [*_table(example.columns, example.second), ""]
    parts = [
        *_folded(f"{model.title} ({name})", ""),
        "",
        *_folded(model.promise),
        "",
        *_parameters(model),
        f"  It fails for this table{_asked(example)}:",
        "",
        *_table(example.columns, example.fails),
        "",
        *_folded(example.why),
        "",
        "  It holds for this one:",
        "",
        *_table(example.columns, example.holds),
        "",
        *(second if example.second else ()),
        *_folded(f"kanon-sql tables FILE {example.options} reads them.", "  ", "      "),
        "",
        "  Formula",
        *_folded(model.formula, "    "),
        "",
        "  What it does not protect against",
        *_folded(model.limitation, "    "),
        "",
        "  Source",
        *_folded(model.source, "    "),
    ]
    if sql is not None:
        heading = f"  Deciding SQL, on the table of the example (macro {name})"
        parts += ["", heading, "", textwrap.indent(sql.sql, "    ")]
    return "\n".join(parts)


def _sql_of_cells(name: str, example: CellExample) -> Statement | None:
    """The statement that decides a model of cells, as planned for its example; None where it is
    computed step by step."""
    if name == "derivable":
        return None
    figures = {
        column
        for place, column in enumerate(example.columns)
        if all(isinstance(row[place], int) for row in example.fails)
    }
    columns = tuple(
        Column(column, "INTEGER" if column in figures else "VARCHAR") for column in example.columns
    )
    table = Table("cells", '"cells"', columns)
    spec = PublishedSpec(
        source="cells",
        checks=[CELL_MODELS[name](**example.parameters)],
        against={"against": {"source": "before"}} if example.second else {},
        **example.settings,
    )
    question = cell_question(spec, bind(resolve(table_of(spec), table, {})))
    exact = Exactness(0, typed=True)
    if not spec.cells:
        return cells_step(question, exact)
    published = published_table(question)
    if name == "group_disclosure":
        nodes = {f"kanon_nodes_{node_name(place, 0)}": 2 for place in (1, 2)}
        return published_groups_step(published, exact, nodes)
    if not example.second:
        return published_rules_step(published, exact)
    other = table_of(spec).model_copy(update={"source": "before"})
    before = Table("before", '"before"', columns)
    second = published_table(cell_question(spec, bind(resolve(other, before, {}))))
    n = example.parameters["n"]
    return published_differences_step(published, exact, "against", second, exact, list(spec.by), n)


def overview() -> str:
    """A line or two on each model, by kind, then on the metrics and pages."""
    lines = ["The models, by what they measure. kanon-sql explain NAME prints the page.", ""]
    for heading, names in _kinds():
        lines += [heading, ""]
        for name in names:
            lines += _folded(f"{name}: {ALL_MODELS[name].promise}", "  ", "      ")
        lines.append("")
    lines += ["Information loss of a release: the metrics of kanon-sql anonymize", ""]
    for name, metric in METRICS.items():
        lines += _folded(f"{name}: {metric.sentence}", "  ", "      ")
    lines += ["", "Guides: kanon-sql explain PAGE", ""]
    for name in sorted((*guide_names(), DBT)):
        lines += _folded(f"{name}: {sentence_of(name)}", "  ", "      ")
    return "\n".join(lines)


def _kinds() -> Iterator[tuple[str, list[str]]]:
    """The models by heading."""
    headings: dict[Answer, str] = {
        "sizes": "Sizes of classes",
        "values": "What a class shares of a sensitive attribute",
        "reference": "Linkage with a reference table",
        "estimate": "Estimates for a sample of a population",
        "earlier": "Several releases of the same people",
        "events": "Many records of a person: what known events tell",
        "cells": "Cells of a table that is published (kanon-sql tables)",
    }
    for answer, heading in headings.items():
        yield heading, [name for name, model in ALL_MODELS.items() if model.answered_by == answer]


def _macro(model: type[Model]) -> str:
    return "class_sizes" if model.read_off_sizes else model.name()


def _parameters(model: type[Model]) -> Iterator[str]:
    """The parameters with their descriptions."""
    yield "  Parameters"
    meanings = descriptions(model)
    for name, field in model.model_fields.items():
        default = "" if field.is_required() or field.default is None else f" ({field.default})"
        yield from _folded(f"{name}{default}: {meanings[name]}", "    ", "      ")
    yield ""


def _asked(example: Example | CellExample) -> str:
    asked = ", ".join(f"{key} {value}" for key, value in example.parameters.items())
    return f" with {asked}" if asked else ""


def _table(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "    " + "   ".join(padded).rstrip()


def _register(example: Example) -> Iterator[str]:
    """The reference as a sentence, with its number of people per class of the second table."""
    counts = Counter(
        f"people in {str(zip)[:4]}* and {str(age)[0]}0-{str(age)[0]}9"
        for zip, age, _ in example.reference
    )
    people = " and ".join(f"{count} {values}" for values, count in counts.items())
    yield from _folded(
        f"In both cases the register has {people}, with full ZIP and age; the six people of the "
        "first table are among them."
        if example.fails is ALONE
        else f"In both cases the register has {people}, with full ZIP and age."
    )
    yield ""


def _released_before(example: Example) -> Iterator[str]:
    yield "  The earlier release of these people, in both cases:"
    yield ""
    yield from _table(example.columns, example.rows(example.earlier))
    yield ""


def _in_between(statement: Statement) -> Iterator[str]:
    """A comment on how to print the rows of a CTE."""
    for first in named_sets(statement.sql, DIALECT)[:1]:
        yield "-- The rows of its first CTE, as a query of its own:"
        yield f"-- kanon-sql compile TARGET … --step {statement.name} --until {first}"


def _sql(name: str, example: Example) -> Statement:
    """The statement that decides the model, as planned for its example."""
    columns = tuple(
        Column(column, "INTEGER" if column == "income" else "VARCHAR") for column in example.columns
    )
    model = MODELS[name]
    spec = TableSpec(
        source="patients",
        quasi_identifiers=dict.fromkeys(
            () if example.events else QUASI_IDENTIFIERS, GeneralizationHierarchy()
        ),
        events=dict.fromkeys(example.events, GeneralizationHierarchy()),
        sensitive=[example.sensitive] if model.answered_by in ("values", "earlier") else [],
        entity=PERSON if example.earlier or example.events else None,
        references={"register": ReferenceSpec(source="register")} if example.reference else {},
        earlier_releases={"before": EarlierReleaseSpec(source="before")} if example.earlier else {},
        checks=[model(**example.parameters)],
    )
    others = {
        (kind, name): Table(name, f'"{name}"', columns) for kind, name, _ in spec.other_tables()
    }
    roles = resolve(spec, Table("patients", '"patients"', columns), others)
    plan = plan_audit(bind(roles))
    wanted = _step(model, example)
    return next(step for step in plan.steps if step.name == wanted)


def _step(model: type[Model], example: Example) -> str:
    """The name of the step that decides a model."""
    if example.events:
        return f"{model.name()}_{example.parameters['m']}"
    if example.earlier:
        return "composed_before"
    if example.reference:
        return "delta_presence_register" if model.of_reference else "k_map_register"
    return "classes"


def _folded(text: str, first: str = "  ", rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
    )
