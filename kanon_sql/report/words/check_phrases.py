"""The phrases of a check, by the declared words of its model or by its family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import ALL_MODELS, OF_CELLS, family_part
from kanon_sql.report.words.phrases import Phrases, of_share, of_worst_class
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def has_phrases(name: str) -> bool:
    """Whether a model has phrases."""
    model = ALL_MODELS[name]
    return bool(model.words or model.share_words) or name in _of_family(model)


def phrases(check: CheckResult, table: TableResult) -> Phrases:
    """A check's result next to its requirement, and its extent."""
    model = ALL_MODELS[check.model]
    if model.words:
        return of_worst_class(model.words, check, table)
    if model.share_words:
        return of_share(check, table)
    return _of_family(model)[check.model](check, table)


def words_on_cells() -> Any:
    """The words on a published table, loaded when there is one."""
    return family_part(OF_CELLS, "words")


def _of_family(model: type[Model]) -> Mapping[str, Callable[[CheckResult, Any], Phrases]]:
    """The phrases of a family's models without declared words, or whose words depend on the
    result."""
    return cast(
        Mapping[str, Callable[[CheckResult, Any], Phrases]],
        family_part(model.family, "words").PHRASES,
    )
