"""Callbacks that validate the target arguments."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kanon_sql.cli.question import is_spec_file
from kanon_sql.errors import SpecError


def only_one(_: click.Context, __: click.Parameter, targets: Sequence[str]) -> str:
    """The single target; several are probably an unquoted glob."""
    if len(targets) > 1:
        raise SpecError(
            f"there are {len(targets)} targets ({targets[0]}, {targets[1]}, …). Quote a glob, so "
            "that all its files are read as one table: 'data/*.parquet'."
        )
    return targets[0]


def at_most_one(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> str | None:
    return only_one(context, parameter, targets) if targets else None


def one_or_specs(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> Sequence[str]:
    """One target, or several spec files, as a pre-commit hook passes them."""
    if all(map(is_spec_file, targets)):
        return targets
    return [only_one(context, parameter, targets)]
