"""The index of the manual's pages and models, for readers on a code host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.policy import Policy, policies
from kanon_sql.report.guides import guide_names, markdown_of, sentence_of
from kanon_sql.sql.dialects.traits import TRAITS

HEADINGS = {
    "sizes": "sizes of classes",
    "values": "sensitive values of classes",
    "reference": "a reference table",
    "population": "an estimate of the population",
    "earlier": "an earlier release",
    "events": "events of people",
    "synthetic": "the original of a synthetic table",
    "cells": "the cells of a published table",
}
"""What a model is computed from, in words."""
KINDS = {
    "known_events": "exact or drawn",
    "derivable": "exact, or undecided; the last step by SciPy",
}
"""The models that are neither exact nor an estimate in every case."""


def page_index() -> str:
    """Every page with its first sentence, and every model with how it is judged."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# The manual"
    yield ""
    yield (
        "Each page is printed by `kanon-sql explain PAGE`, and each model's by "
        "`kanon-sql explain MODEL`. This index is generated."
    )
    yield ""
    yield "| page | |"
    yield "|---|---|"
    for name in guide_names():
        yield f"| [{title_of(name)}]({name}.md) | {sentence_of(name)} |"
    yield f"| [In a dbt project](../../../templates/README.md) | {sentence_of('dbt')} |"
    yield ""
    yield "## Models"
    yield ""
    yield (
        "An exact model is computed from every record. Judged is what a threshold applies to: each "
        "class, each record's risk, each person, each cell, or the table as a whole. Executed are "
        "the databases on which the tests run the model; for others its SQL is generated."
    )
    yield ""
    yield "| model | paper | | computed from | judged | executed on | dbt test |"
    yield "|---|---|---|---|---|---|---|"
    executed = ", ".join(dialect for dialect, traits in TRAITS.items() if traits.executed)
    for name, model in ALL_MODELS.items():
        is_estimate = model.family == "population"
        kind = KINDS.get(name, "estimate, by SciPy" if is_estimate else "exact")
        test = f"`{name}`" if model.in_one_statement else "no"
        where = executed.replace(", mariadb", "") if model.family == "cells" else executed
        yield (
            f"| `{name}` | {model.source} | {kind} | {HEADINGS[model.family]} | "
            f"{judged(model)} | {where} | {test} |"
        )
    yield ""


HOW_READ = {"owner": "read from the owner", "secondary": "read in somebody else's account"}


def policy_rows() -> str:
    """The rows of the page on thresholds: each policy with its rules."""
    return "".join(
        f"| {name} | {each.issuer} | {', '.join(_rules(each))} | {each.status} | "
        f"{HOW_READ[each.read.by]} on {each.read.date} |\n"
        for name, each in policies().items()
        if each.concerns == "cells"
    )


def _rules(policy: Policy) -> Iterator[str]:
    """The checks of a policy as an option spells them, and its rules without a number."""
    for check in policy.checks:
        given = ",".join(
            f"{key}={_spelled(value)}"
            for key, value in check.model_dump(exclude_unset=True, exclude_defaults=True).items()
        )
        yield f"{check.name()}:{given}" if given else check.name()
    yield from policy.wanted


def _spelled(value: Any) -> str:
    if isinstance(value, list | tuple):
        inner = [f"[{','.join(map(str, each))}]" for each in value]
        return f"[{', '.join(inner)}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def title_of(name: str) -> str:
    return markdown_of(name).partition("\n")[0].removeprefix("# ")


def judged(model: type[Model]) -> str:
    """What a model's threshold applies to."""
    if model.family == "cells":
        return "cell"
    if model.family in ("earlier", "events") or model.of_reference:
        return "person"
    if model.thresholds and set(model.thresholds) == set(model.table_thresholds):
        return "table"
    return "record" if "max_highest" in model.thresholds else "class"
