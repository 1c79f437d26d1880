"""Every model by its name.

To add one:

1. its class in the file of its family, and the class's name in that file's `__all__`. It declares
   the facts that the planner, the comparison and the reports look up (see `Model`). Its promise,
   formula, limitation and source, and the words for its worst class (`words`) or for its share
   (`share_words`), are in `models.toml`, its example of six records in `examples.toml`;
2. `templates/macros/shared/NAME.sql`: its macros, and below them its dbt test;
3. `tests/models/NAME.yml`: worked examples with their source, and where it is measured without
   a threshold, a line an attribute in `homogeneity.yml`, `measured-unasked`;
4. in `tests/support/oracle`, among its family, a function of plain Python with its name;
5. in `tests/dbt_project/models/tests.yml`, a dbt test that holds and one that fails.

`tests/test_house` says what is missing, and how its rows, its dbt documentation and its golden SQL
are written; review the diff. A model that needs more than the
classes of one release with their sensitive values also has its verdict in `auditing/verdicts` and
its phrases in `report/words/phrases`; a new family is added to `FAMILIES` and
`kanon_sql/__init__`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.question.models import (
    cells,
    composition,
    diversity,
    events,
    risk,
    sizes,
)
from kanon_sql.question.models.base import Model
from kanon_sql.question.models.diversity import LDiversity, TCloseness
from kanon_sql.question.models.sizes import KAnonymity, KMap

FAMILIES = (sizes, diversity, risk, composition, events)


def _of_families(*families: ModuleType) -> dict[str, type[Model]]:
    return {
        model.name(): model
        for family in families
        for model in vars(family).values()
        if isinstance(model, type(Model))
        and issubclass(model, Model)
        and model.__module__ == family.__name__
        and "title" in vars(model)
    }


MODELS = _of_families(*FAMILIES)
"""Every model of records by name, in the order of presentation: what an audit can check."""
CELL_MODELS = _of_families(cells)
"""Every model of the cells of a table: what `kanon-sql tables` can check."""
ALL_MODELS = MODELS | CELL_MODELS


def model_named(name: str) -> type[Model]:
    """The model of this name, also in the spelling of its class or with hyphens.

    >>> model_named("l-diversity").name(), model_named("KAnonymity").name()
    ('l_diversity', 'k_anonymity')

    Raises `SpecError` that names the nearest one.
    """
    model_by_letters = {_letters(model_name): model for model_name, model in ALL_MODELS.items()}
    if _letters(name) not in model_by_letters:
        raise SpecError(
            f'there is no model "{name}".{did_you_mean(name, ALL_MODELS)} kanon-sql explain lists '
            f"the {len(ALL_MODELS)} there are."
        )
    return model_by_letters[_letters(name)]


def _letters(name: str) -> str:
    """A name in lower case without the marks between its words."""
    return re.sub(r"[\s_-]", "", name).casefold()


def short_checks(
    required: Mapping[str, Any], sensitive: Sequence[str], reference: str | None
) -> list[Model]:
    """The checks that `k`, `l`, `t` and `k_map` require, l and t for each sensitive attribute.

    >>> [check.name() for check in short_checks({"k": 5, "l": 2}, ["diagnosis"], None)]
    ['k_anonymity', 'l_diversity']

    Raises `SpecError` for a threshold that is out of its range.
    """
    k, l_, t, k_map = (required.get(key) for key in ("k", "l", "t", "k_map"))
    checks: list[Model] = [] if k is None else [KAnonymity(k=k)]
    checks += [LDiversity(l=l_, sensitive=name) for name in sensitive if l_ is not None]
    checks += [TCloseness(t=t, sensitive=name) for name in sensitive if t is not None]
    return checks if k_map is None else [*checks, KMap(k=k_map, reference=reference)]


def short_rules(required: Mapping[str, Any], against: Sequence[str]) -> list[Model]:
    """The checks of cells that `threshold`, `dominance` (pairs of n and k), `p_percent`,
    `derivable` and `min_difference` require, the last for each second table.

    >>> [check.name() for check in short_rules({"threshold": 3, "dominance": [(1, 75)]}, [])]
    ['min_contributors', 'dominance']

    Raises `SpecError` for a threshold that is out of its range.
    """
    n, p, least = (required.get(key) for key in ("threshold", "p_percent", "min_difference"))
    checks: list[Model] = [] if n is None else [cells.MinContributors(n=n)]
    checks += [cells.Dominance(n=n, k=k) for n, k in required.get("dominance", ())]
    checks += [] if p is None else [cells.PPercent(p=p)]
    checks += [cells.Derivable()] if required.get("derivable") else []
    return checks + [
        cells.Differences(n=least, against=name) for name in against if least is not None
    ]
