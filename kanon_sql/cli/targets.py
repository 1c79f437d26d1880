"""What stands behind a command: one table, or several spec files."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kanon_sql.cli.question import is_spec_file
from kanon_sql.errors import SpecError


def only_one(_: click.Context, __: click.Parameter, targets: Sequence[str]) -> str:
    """The one target; several are most likely a glob that the shell has taken apart."""
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
    """One target or several spec files, which a pre-commit hook passes in one go."""
    if all(map(is_spec_file, targets)):
        return targets
    return [only_one(context, parameter, targets)]
