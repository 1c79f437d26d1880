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
`words.py` of its room; a new family is a room more, named in `kanon_sql/models/__init__`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.models import FAMILIES
from kanon_sql.models.base import IN_WORDS, Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity, TCloseness
from kanon_sql.question.other_tables import OTHER_TABLES
from kanon_sql.question.roles import ROLES


def family_part(family: str, part: str) -> Any:
    """A module of a family's room (`plan`, `verdicts`, `words`), loaded when it is first needed."""
    return import_module(f"kanon_sql.models.{family}.{part}")


@cache
def models_of(family: str) -> Mapping[str, type[Model]]:
    """The models of a family by name, in the order in which `models.toml` describes them."""
    models = {
        member.name(): member
        for member in vars(family_part(family, "models")).values()
        if isinstance(member, type) and issubclass(member, Model)
    }
    return {name: models[name] for name in IN_WORDS if name in models}


*_OF_RECORDS, OF_CELLS = FAMILIES
"""The families of models of records, and the one of published tables."""


class _Models(Mapping[str, type[Model]]):
    """The models of some families by name; a family is loaded when a name is first sought in it."""

    def __init__(self, families: Sequence[str]) -> None:
        self._families = families

    def __getitem__(self, name: str) -> type[Model]:
        for family in self._families:
            if name in models_of(family):
                return models_of(family)[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        names = {name for family in self._families for name in models_of(family)}
        return (name for name in IN_WORDS if name in names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


MODELS = _Models(_OF_RECORDS)
"""Every model of records by name, in the order of presentation: what an audit can check."""
CELL_MODELS = _Models([OF_CELLS])
"""Every model of the cells of a table: what `kanon-sql tables` can check."""
ALL_MODELS = _Models([*FAMILIES])
_WITH_ROLE = {role.family for role in ROLES}
_OF_OTHERS = {kind.family for kind in OTHER_TABLES}


def is_beside_classes(family: str) -> bool:
    """Whether the family's steps read a role of its own, and no classes."""
    models = models_of(family).values()
    return family in _WITH_ROLE and not any(model.needs_classes for model in models)


def as_planned(families: Collection[str]) -> list[str]:
    """Families of models of records in the order of their steps and their warnings: those on the
    table, those that compare it with others, those without classes."""
    named = [name for name in _OF_RECORDS if name in families]
    return sorted(named, key=lambda name: (is_beside_classes(name), name in _OF_OTHERS))


def as_measured(families: Collection[str]) -> list[str]:
    """The same families in the order of the checks that they measure unrequested: those without
    classes, those on the whole table, those on each sensitive attribute."""

    def place(name: str) -> tuple[bool, bool]:
        fields = (model.model_fields for model in models_of(name).values())
        return not is_beside_classes(name), any("sensitive" in each for each in fields)

    return sorted((name for name in _OF_RECORDS if name in families), key=place)


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
    if k_map is not None:
        from kanon_sql.models.reference.models import KMap

        checks.append(KMap(k=k_map, reference=reference))
    return checks


def short_rules(required: Mapping[str, Any], against: Sequence[str]) -> list[Model]:
    """The checks of cells that `threshold`, `dominance` (pairs of n and k), `p_percent`,
    `derivable` and `min_difference` require, the last for each second table.

    >>> [check.name() for check in short_rules({"threshold": 3, "dominance": [(1, 75)]}, [])]
    ['min_contributors', 'dominance']

    Raises `SpecError` for a threshold that is out of its range.
    """
    from kanon_sql.models.cells.models import (
        Derivable,
        Differences,
        Dominance,
        MinContributors,
        PPercent,
    )

    n, p, least = (required.get(key) for key in ("threshold", "p_percent", "min_difference"))
    checks: list[Model] = [] if n is None else [MinContributors(n=n)]
    checks += [Dominance(n=n, k=k) for n, k in required.get("dominance", ())]
    checks += [] if p is None else [PPercent(p=p)]
    checks += [Derivable()] if required.get("derivable") else []
    return checks + [Differences(n=least, against=name) for name in against if least is not None]
