"""The scope of a table's checks: its spec, its columns, its other tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, did_you_mean, option
from kanon_sql.models.base import Model
from kanon_sql.plan.question import BoundColumn, OtherTable
from kanon_sql.question.other_tables import OtherTableKind
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.tables import Table, find


class CheckScope(NamedTuple):
    """What a check may name: sensitive attributes and other tables."""

    spec: TableSpec
    table: Table
    sensitive: tuple[BoundColumn, ...]
    others: Sequence[OtherTable]

    @property
    def lacks_classes(self) -> bool:
        """Whether events are all that an attacker knows."""
        return bool(self.spec.events) and not self.spec.quasi_identifiers


def sensitive_name(model: Any, table: Table, sensitive: tuple[BoundColumn, ...]) -> str:
    if model.sensitive is not None:
        return find(model.sensitive, table).name
    if len(sensitive) == 1:
        return sensitive[0].name
    names = ", ".join(column.name for column in sensitive)
    raise SpecError(
        f"{model.name()} needs a sensitive attribute: "
        + (f"name one of {names}" if names else "name it")
        + f", as in sensitive={sensitive[0].name if sensitive else 'COLUMN'}."
    )


def other_table_name(kind: OtherTableKind, model: Model, names: Sequence[str]) -> str:
    """Resolve the reference or earlier release that a model names."""
    name: str | None = getattr(model, kind.prefix)
    if name is not None and name in names:
        return name
    if not names:
        raise SpecError(
            f"{model.name()} needs {kind.a_noun}: {kind.holds}. Name it with {option(kind.key)}."
        )
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise SpecError(
            f"{model.name()}: there are several {kind.noun}s ({', '.join(names)}); name one, as "
            f"in {kind.prefix}={names[0]}."
        )
    raise SpecError(
        f'{model.name()}: there is no {kind.noun} "{name}". {kind.noun.capitalize()}s: '
        f"{', '.join(names)}.{did_you_mean(name, names)}"
    )
