"""The generic tests of the dbt package: what each takes, and how `macros/_macros.yml` documents it.

That file is written from the models' own words, with `KANON_SQL_UPDATE_GOLDEN=1`.
"""

from __future__ import annotations

import math
import re
import textwrap
from pathlib import Path
from typing import Any, NamedTuple, get_args

import yaml
from jinja2 import Environment

from kanon_sql.models.base import Model, Values
from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS, MODELS
from kanon_sql.models.described import descriptions

HEAD = """\
# What the test of each model takes; the examples run in the package's own tests. Written from the
# models: KANON_SQL_UPDATE_GOLDEN=1 pytest tests/conformance/test_dbt.py -k documents
version: 2

macros:
"""
OF_A_REFERENCE = "A reference that can't contain the model fails the test, unless missing: union."
REMARKS = {
    "k_anonymity": "Several sets of columns, each with its k, are several tests.",
    "delta_presence": "violating_classes and violating_records count in the reference. A class"
    " of the model that the reference can't contain fails the test too.",
    "recursive_cl_diversity": "A value of allowed that never occurs is an error.",
    "alpha_k_anonymity": "A name in values that never occurs is an error.",
    "k_e_anonymity": "The column must hold numbers, or texts that spell numbers.",
    "t_closeness": "Values are equally far apart, or by rank with distance: ordered. Then order"
    " lists them from the least to the greatest, NULL ranks last, and a record with another value"
    " is an error; without order, a value that is no number is. A hierarchical distance reads a"
    " file: use kanon-sql audit.",
    "prosecutor_risk": "If only an average is too high, failures is the number of records that"
    " are expected to be found.",
    "journalist_risk": "If no single class is above a bound, failures is the number of records"
    f" that the reference lacks, or of those expected to be found. {OF_A_REFERENCE}",
    "marketer_risk": "failures is the number of records that are expected to be found. "
    + OF_A_REFERENCE,
    "sample_uniqueness": "failures is the number of records that are alone.",
    "composed_k_anonymity": "The keys of people must be the same in both releases: if nobody is in"
    " both, the test ends with an error. failures counts people.",
    "km_anonymity": "m is 1 or 2; with quasi_identifiers, which are optional, each person must"
    " have one combination of their values. failures counts people.",
    "known_events": "m is 1 or 2, and the figures those of the worst case, exact: a draw can't"
    " hold. With quasi_identifiers, which are optional, each person must have one combination of"
    " their values. failures counts people.",
    **dict.fromkeys(
        ("replicated_uniques", "disclosive_in_synthetic"),
        "failures counts records (people) of the original. With max_excess it passes only where the"
        " difference to the holdout is shown to be small.",
    ),
    "copied_records": "Compared are the quasi-identifiers, and all columns of the same name in the"
    " model, the original and the holdout but the entity. A column without a value in common with"
    " the original is an error. failures counts records (people) of the original.",
    "correct_attribution": "It fails where nobody is found. failures counts the records (people) of"
    " the original that are found.",
    "min_contributors": "On records, or with count on a mart, where a row is a cell; zeros:"
    " disclosive counts combinations without a record only on records. failures counts cells.",
    "dominance": "On records. failures counts cells.",
    "p_percent": "On records. failures counts cells.",
    "group_disclosure": "On records, or with count on a mart. failures counts groups.",
    "differences": "On a mart, whose second one has columns of the same names. failures counts"
    " cells.",
    "rounded": "On a mart. failures counts figures off the grid.",
    "derivable": "On a mart, by some rounds of subtraction: a finding is proof, and passing proves"
    " nothing but that no way was found in so many rounds. kanon-sql tables also uses bounds, and"
    " linear and integer programs. failures counts cells.",
    "composed_l_diversity": "failures counts people; certain_people are left with one value, and"
    " changed_people with none.",
}
"""What a test says of itself besides the promise of its model."""
EXAMPLES: dict[str, dict[str, Any]] = {
    "recursive_cl_diversity": {"l": 3, "allowed": ["flu"]},
    "alpha_k_anonymity": {"values": ["HIV"]},
    "k_e_anonymity": {"sensitive": "cost"},
    "t_closeness": {
        "sensitive": "stage", "distance": "ordered", "order": ["early", "middle", "late"],
    },
    "composed_l_diversity": {
        "earlier_columns": {"patient": "person", "zip": "zip_code", "diagnosis": "dx"},
    },
    "prosecutor_risk": {"max_at_risk": 0.05, "threshold": 0.2},
}  # fmt: skip
"""What the example of a test has besides the parameters of its model's example."""
EXAMPLES_OF_PARTS: dict[str, dict[str, Any]] = {
    "sensitive": {"sensitive": "diagnosis"},
    "reference": {"reference": "ref('voters')", "reference_columns": {"zip": "zip_code"}},
    "earlier": {
        "entity": "patient",
        "earlier": "ref('release_2024')",
        "earlier_columns": {"patient": "person", "zip": "zip_code"},
        "earlier_quasi_identifiers": ["zip", "sex"],
    },
    "events": {"entity": "patient", "events": ["zip", "diagnosis"]},
    "original": {"original": "ref('patients')", "original_where": "sex = 'F'"},
}


_RECORDS = {"by": ["region", "sector"], "value": "turnover", "contributor": "firm"}
_MART = {"by": ["region", "sector"]}
EXAMPLES_OF_CELLS: dict[str, dict[str, Any]] = {
    "min_contributors": {**_MART, "count": "contributors", "n": 10},
    "dominance": {**_RECORDS, "n": 2, "k": 67},
    "p_percent": {**_RECORDS, "p": 10},
    "group_disclosure": {
        **_MART, "count": "contributors", "total_label": "Total", "along": ["sector"],
    },
    "differences": {
        **_MART, "count": "contributors", "against": "ref('counts_2025')", "n": 10,
    },
    "rounded": {"value": "turnover", "base": 5},
    "derivable": {**_MART, "value": "turnover", "total_label": "Total", "suppressed": "*"},
}  # fmt: skip
"""The example of each test of cells."""
ROUNDS = "How many rounds of subtraction are unrolled, 5 by default."


class DbtTest(NamedTuple):
    """What stands in the test of a model: its own parameters, and the parts that it takes."""

    model: type[Model]
    parameters: list[str]
    parts: dict[str, list[str]]
    """The arguments of each."""

    @property
    def arguments(self) -> list[str]:
        """All arguments by name."""
        shared = ["quasi_identifiers", "entity", "quote_columns"]
        if self.model.name() in CELL_MODELS:
            shared = ["quote_columns"]
        return [*self.parameters, *shared, *(name for part in self.parts.values() for name in part)]

    @property
    def example(self) -> dict[str, Any]:
        """The arguments of its example."""
        if self.model.name() in CELL_MODELS:
            return EXAMPLES_OF_CELLS[self.model.name()]
        given: dict[str, Any] = {"quasi_identifiers": ["zip", "age", "sex"]}
        if "events" in self.parts:
            given = {}
        for part in self.parts:
            given |= EXAMPLES_OF_PARTS.get(part, {})
        return given | self.model.example.parameters | EXAMPLES.get(self.model.name(), {})

    def documented(self) -> str:
        """Its entry in `_macros.yml`."""
        name, title = self.model.name(), self.model.title
        title = title[0].upper() + title[1:] if title[0].isascii() else title
        lines = _folded(f"{title}. {self.model.promise} {REMARKS.get(name, '')}", "")
        lines += [""] * bool(self.parameters)
        for each in self.parameters:
            told = {"rounds": ROUNDS} | descriptions(self.model)
            known = self.model.model_fields.get(each)
            kind = _type(known.annotation) if known else "integer"
            lines += _folded(f"- `{each}` ({kind}): {told[each]}", "  ")
        shared = (each for each in self.arguments if each not in self.parameters)
        page = "cell_arguments" if name in CELL_MODELS else "test_arguments"
        lines += ["", *_folded(f"With {', '.join(shared)}: see {page}.", "")]
        lines += ["", "```yaml", "data_tests:", f"  - kanon_sql.{name}:", "      arguments:"]
        lines += [f"        {each}: {_inline(value)}" for each, value in self.example.items()]
        text = textwrap.indent("\n".join([*lines, "```"]), " " * 6)
        return f"  - name: test_{name}\n    description: |\n{text}\n"


def tests(package: Path) -> dict[str, DbtTest]:
    """The test of each model that has one, in the order of the catalogue."""
    read = Environment().compile_expression
    macros = package / "macros"
    of_parts = (macros / "dbt_only" / "arguments.sql").read_text(encoding="utf-8")
    [written] = re.findall(
        r"macro arguments_by_part\(\) -%\}\n\{\{ return\((.*?)\) \}\}\n", of_parts, re.DOTALL
    )
    by_part = read(written)()
    found = {}
    for file in (macros / "shared").glob("*.sql"):
        text = file.read_text(encoding="utf-8")
        for call in re.findall(r"kanon_sql\.test_arguments\((.*?)\) -%\}", text, re.DOTALL):
            name, _, _, parameters, parts = read(f"[{call}]")()
            found[name] = DbtTest(
                MODELS[name], [*parameters], {each: by_part[each] for each in parts}
            )
    return {name: found[name] for name in MODELS if name in found}


def tests_of_cells(package: Path) -> dict[str, DbtTest]:
    """The test of each model of cells that has one."""
    read = Environment().compile_expression
    found = {}
    for file in (package / "macros" / "shared").glob("*.sql"):
        text = file.read_text(encoding="utf-8")
        for call in re.findall(r"kanon_sql\.cell_arguments\((.*?)\) -%\}", text, re.DOTALL):
            name, _, _, parameters, takes = read(f"[{call}]")()
            found[name] = DbtTest(ALL_MODELS[name], [*parameters], {"cells": takes})
    return {name: found[name] for name in CELL_MODELS if name in found}


def documents(package: Path) -> str:
    """What `macros/_macros.yml` holds."""
    found = [*tests(package).values(), *tests_of_cells(package).values()]
    return HEAD + "\n".join(each.documented() for each in found)


def _inline(value: Any) -> str:
    """The value in one line of YAML."""
    if isinstance(value, str):
        return value
    text: str = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _type(annotation: Any) -> str:
    """The type in dbt's words: a threshold is a number, whole or not."""
    kinds = {annotation, *get_args(annotation)}
    inner = kinds | {each for kind in kinds for each in get_args(kind)}
    if Values in kinds or any(each in inner for each in get_args(Values)):
        return "list[any]"
    if float in inner or any(float in get_args(each) for each in inner):
        return "float"
    return "integer" if int in inner else "string"


def _folded(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 94, subsequent_indent=indent, break_on_hyphens=False)
