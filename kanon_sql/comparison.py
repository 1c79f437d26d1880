"""What became of a check since an earlier audit: the same check or another, better or worse.

The models say which way a figure gets worse; nothing here knows a single one of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from kanon_sql.models import MODELS, SLACK_OF_DISTANCES, Model, Worst
from kanon_sql.result import CheckResult, TableResult, plain_json

Change = Literal["same", "better", "worse", "changed"]
"""`changed` is what is neither better nor worse, or can't be held against what was there."""
VIOLATING: dict[str, Worst] = dict.fromkeys(("violating_classes", "violating_records"), "greatest")
QUESTION = {
    "quasi_identifiers": "quasi-identifiers",
    "entity": "entity",
    "levels": "levels",
    "nulls": "nulls",
    "sensitive_nulls": "sensitive nulls",
    "where": "filter",
    "first": "number of first records",
    "sources": "references or hierarchies",
}
"""What must be the same for two tables of one name to be about the same question, in words."""


def change(before: Any, after: Any, worst: Worst) -> Change:
    """What became of a figure of which the `worst` one counts.

    >>> change(5, 3, "least"), change(0.1, 0.1 + 1e-12, "greatest"), change(None, 3, "least")
    ('worse', 'same', 'changed')
    """
    if before == after:
        return "same"
    if not (_is_number(before) and _is_number(after)):
        return "changed"
    if _is_same(before, after):
        return "same"
    return "worse" if (after < before) == (worst == "least") else "better"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_same(before: float, after: float) -> bool:
    """Whether two numbers differ by no more than a sum in another order may; counts are exact."""
    if isinstance(before, int) and isinstance(after, int):
        return before == after
    return math.isclose(before, after, rel_tol=SLACK_OF_DISTANCES, abs_tol=SLACK_OF_DISTANCES)


def figures(check: CheckResult) -> dict[str, Worst]:
    """Every figure by which two results of a check are compared, and which way it gets worse."""
    return {**model_of(check).figures, **VIOLATING}


def changes(before: CheckResult, after: CheckResult) -> dict[str, Change]:
    """What became of each figure of a check."""
    then, now = before.figures, after.figures
    return {
        name: change(then.get(name), now.get(name), worst) for name, worst in figures(after).items()
    }


# --- the same ------------------------------------------------------------------------------


def model_of(check: CheckResult) -> Model:
    """The model that was asked, with its parameters."""
    return MODELS[check.model](**check.parameters)


def check_key(check: CheckResult, table: TableResult, *, thresholds: bool = True) -> str:
    """What makes two results be of the same check: the model and every parameter in force, and
    the other sensitive attributes where they count as known.

    Without `thresholds`, what it is about, however much of it is demanded.
    """
    left_out = () if thresholds else MODELS[check.model].thresholds
    parameters = {key: value for key, value in check.parameters.items() if key not in left_out}
    if parameters.get("with_other_sensitive"):
        parameters["with_other_sensitive"] = sorted(table.sensitive)
    return f"{check.model} {_canonical(parameters)}"


def question(table: TableResult) -> dict[str, Any]:
    """What was asked of a table, as far as it changes what every check means."""
    asked = {part: getattr(table, part) for part in QUESTION}
    asked["quasi_identifiers"] = sorted(table.quasi_identifiers)
    asked["levels"] = {name: level for name, level in (table.levels or {}).items() if level} or None
    return asked


def table_key(table: TableResult) -> str:
    """What makes two results be of the same table: its name and the question."""
    return _canonical({"name": table.name, **question(table)})


def other_questions(one: TableResult, other: TableResult) -> list[str]:
    """In which parts two tables were asked another question, in words."""
    first, second = question(one), question(other)
    return [
        words
        for part, words in QUESTION.items()
        if _canonical(first[part]) != _canonical(second[part])
    ]


def _canonical(value: Any) -> str:
    """The value as text that is the same for equal values only: 1 is 1.0, and neither is true."""
    return json.dumps(_whole_numbers(plain_json(value)), sort_keys=True, ensure_ascii=False)


def _whole_numbers(value: Any) -> Any:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _whole_numbers(item) for key, item in value.items()}
        case list():
            return [_whole_numbers(item) for item in value]
    return value
