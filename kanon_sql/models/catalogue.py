"""Every model by its name.

To add one:

1. its class in `models.py` of its family's room, and the class's name in `__all__` there. It
   declares the facts that the planner, the comparison and the reports look up (see `Model`). Its
   promise, formula, limitation and source, and the words for its worst class (`words`) or for its
   share (`share_words`), are in `models.toml`, its example of six records in `examples.toml`;
2. `templates/macros/shared/NAME.sql`: its macros, and below them its dbt test;
3. `tests/models/NAME.yml`: worked examples with their source, and where it is measured without
   a threshold, a line an attribute in `homogeneity.yml`, `measured-unasked`;
4. in `tests/support/oracle`, among its family, a function of plain Python with its name;
5. in `tests/dbt_project/models/tests.yml`, a dbt test that holds and one that fails.

`tests/test_house` says what is missing, and how its rows, its dbt documentation and its golden SQL
are written; review the diff. A model that needs more than the classes of one release with their
sensitive values also has a statement in `plan.py`, a verdict in `verdicts.py` and phrases in
`words.py` of its room; a new family is a room more, named in `FAMILIES` and `kanon_sql/__init__`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.models.base import IN_WORDS, Model
from kanon_sql.models.cells.models import (
    Derivable,
    Differences,
    Dominance,
    MinContributors,
    PPercent,
)
from kanon_sql.models.reference.models import KMap
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity, TCloseness

FAMILIES = (
    *("sizes", "values", "population", "reference", "earlier", "events", "synthetic", "cells"),
)
"""The families of models, each a room of this package; their warnings come in this order."""


def family_name(model: type[Model]) -> str:
    """The family of a model, which is the room that its class stands in."""
    return model.__module__.split(".")[-2]


def family_part(family: str, part: str) -> Any:
    """A module of a family's room (`plan`, `verdicts`, `words`), loaded when it is first needed."""
    return import_module(f"kanon_sql.models.{family}.{part}")


def _models_of(families: Sequence[str]) -> dict[str, type[Model]]:
    """The models of some families, in the order in which `models.toml` describes them."""
    members = [
        member for family in families for member in vars(family_part(family, "models")).values()
    ]
    models = {
        member.name(): member
        for member in members
        if isinstance(member, type) and issubclass(member, Model)
    }
    return {name: models[name] for name in IN_WORDS if name in models}


MODELS = _models_of(FAMILIES[:-1])
"""Every model of records by name, in the order of presentation: what an audit can check."""
CELL_MODELS = _models_of(FAMILIES[-1:])
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
    checks: list[Model] = [] if n is None else [MinContributors(n=n)]
    checks += [Dominance(n=n, k=k) for n, k in required.get("dominance", ())]
    checks += [] if p is None else [PPercent(p=p)]
    checks += [Derivable()] if required.get("derivable") else []
    return checks + [Differences(n=least, against=name) for name in against if least is not None]
