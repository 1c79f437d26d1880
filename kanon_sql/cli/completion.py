"""The completion of values in a shell: files, names of the manual, columns of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from kanon_sql.question.roles import ROLES

COLUMNS = frozenset(
    {
        *(role.key for role in ROLES),
        *("levels", "by", "value", "contributor", "count", "wide", "columns", "attacker_knows"),
        *("keep", "at_most", "weights", "partition_by", "hierarchy", "clip", "column", "dates"),
    }
)
"""The parameters whose values begin with columns of the table."""


def completions(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What a value may be completed to. An error completes nothing, as a shell shows none."""
    try:
        return _completions(context, parameter, incomplete)
    except Exception:
        return []


def _completions(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    name = parameter.name or ""
    if isinstance(parameter.type, click.Choice):
        return parameter.type.shell_complete(context, parameter, incomplete)
    if formats := getattr(parameter.type, "formats", ()):
        return _plain(formats, incomplete)
    metavar = parameter.metavar or ""
    if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", metavar):
        return _plain(metavar.split("|"), incomplete)
    if name in _NAMES:
        found = _plain(_NAMES[name](context), incomplete)
        return found or (_files(incomplete) if "FILE" in metavar else [])
    if name in COLUMNS:
        return _columns(context, incomplete)
    if "FOLDER" in metavar or name == "folder":
        return _files(incomplete, "dir")
    is_source = "FILE" in metavar or "SRC" in metavar or ".json" in metavar
    is_argument = isinstance(parameter, click.Argument)
    return _files(incomplete) if is_source or is_argument else []


def _plain(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _files(incomplete: str, kind: str = "file") -> list[CompletionItem]:
    """The files that the shell itself completes."""
    return [CompletionItem(incomplete, type=kind)]


# --- names ----------------------------------------------------------------------------------


def _models(context: click.Context) -> Sequence[str]:
    from kanon_sql.models.catalogue import CELL_MODELS, MODELS

    return [*CELL_MODELS] if context.command.name == "tables" else [*MODELS]


def _pages(_: click.Context) -> Sequence[str]:
    from kanon_sql.models.catalogue import ALL_MODELS
    from kanon_sql.report.guides import DBT, guide_names
    from kanon_sql.results.release import METRICS

    return sorted({*ALL_MODELS, *METRICS, *guide_names(), DBT})


def _policies(_: click.Context) -> Sequence[str]:
    from kanon_sql.question.policy import policy_names

    return sorted(policy_names())


def _metrics(_: click.Context) -> Sequence[str]:
    from kanon_sql.results.release import METRICS

    return [*METRICS]


def _dialects(_: click.Context) -> Sequence[str]:
    from kanon_sql.sql.dialects.traits import TRAITS

    return [*TRAITS]


_NAMES: dict[str, Callable[[click.Context], Sequence[str]]] = {
    "check": _models,
    "name": _pages,
    "policy": _policies,
    "metric": _metrics,
    "dialect": _dialects,
}
"""The parameters whose values are names that kanon-sql knows."""


# --- columns --------------------------------------------------------------------------------


def _columns(context: click.Context, incomplete: str) -> list[CompletionItem]:
    """The columns of the table that is named before the cursor, after those of a list."""
    before, comma, begun = incomplete.rpartition(",")
    named = {name.strip() for name in before.split(",")}
    return [
        CompletionItem(f"{before}{comma}{name}")
        for name in _column_names(context)
        if name.startswith(begun) and name not in named
    ]


def _column_names(context: click.Context) -> Sequence[str]:
    """The columns of a local file. One whose first line may be a record has none."""
    from kanon_sql.engines import connect

    values: dict[str, Any] = context.params
    # Arguments before an option without a value are left over.
    targets = values.get("target") or values.get("targets") or context.args
    target = targets if isinstance(targets, str) else next(iter(targets), "")
    if values.get("connect") or not Path(target).is_file():
        return ()
    header = values.get("header")
    engine = connect(
        delimiter=values.get("delimiter"),
        header=None if header is None else header in (True, "yes"),
        encoding=values.get("encoding"),
        skip=int(values.get("skip") or 0),
    )
    try:
        return [name for name in engine.table(target).column_names if _is_plain(name)]
    finally:
        engine.close()


def _is_plain(name: str) -> bool:
    """Whether a shell takes a name as one word, and a list of columns as one column."""
    return bool(re.fullmatch(r"[\w.-]+", name))
