"""The spec that the pages begin with, as far as an address can name it."""

from __future__ import annotations

from typing import Any

from kanon_sql.errors import SpecError
from kanon_sql.models.base import Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity, TCloseness
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec


def thresholds_of(spec: TableSpec) -> dict[str, Any]:
    """The k, l and t of a spec. Raises `SpecError` for checks that an address can't name."""
    found: dict[str, Any] = {}
    for check in spec.checks:
        key = {KAnonymity: "k", LDiversity: "l", TCloseness: "t"}.get(type(check))
        if key is None or not _is_plain(check) or not check.gates:
            raise SpecError(
                f"explore counts by k, l and t alone, and a check is {check.title}. A page that "
                "left it out would say holds of something else. kanon-sql audit answers it."
            )
        value = getattr(check, key)
        if found.setdefault(key, value) != value:
            raise SpecError(
                f"explore asks one {key}{'' if key == 'k' else ' of all sensitive attributes'}, "
                "and the spec has several. kanon-sql audit answers it."
            )
    for key in ("l", "t"):
        given = (getattr(check, "sensitive", None) for check in spec.checks if hasattr(check, key))
        named = {name and name.casefold() for name in given}
        if named and {name.casefold() for name in spec.sensitive} - named and None not in named:
            raise SpecError(
                f"explore checks {key} of every sensitive attribute, and the spec of some. "
                "kanon-sql audit answers it."
            )
    return found


def refuse_other_questions(spec: AuditSpec) -> TableSpec:
    """The single table of records that can be explored. Raises `SpecError`, which names the command
    that answers another question."""
    if len(spec.tables) != 1 or spec.published:
        raise SpecError(
            "explore shows one table of records. kanon-sql audit answers a spec of several tables, "
            "kanon-sql tables one of published tables."
        )
    [table] = spec.tables
    others = {
        "events": table.events,
        "references": table.references,
        "earlier releases": table.earlier_releases,
        "a survey weight": table.weight,
        "an original": table.original,
        "a holdout": table.holdout,
        "a household": table.household,
        "the rules of a policy": table.policy,
        "nulls: wildcard": table.nulls == "wildcard",
        "with_other_sensitive": table.with_other_sensitive,
    }
    for words, is_there in others.items():
        if is_there:
            raise SpecError(f"explore does not know {words}. kanon-sql audit answers it.")
    thresholds_of(table)
    return table


def _is_plain(check: Model) -> bool:
    """Whether a check has no parameter but its threshold and its sensitive attribute."""
    return not set(check.model_dump(exclude_defaults=True)) - {"k", "l", "t", "sensitive"}
