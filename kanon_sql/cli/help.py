"""Groups the options in a command's `--help`."""

from __future__ import annotations

import click

GROUPS: dict[str, tuple[str, ...]] = {
    "Question": (
        "--qi", "--sensitive", "--identifiers", "--entity", "--where", "--first", "--nulls",
        "--sensitive-nulls", "--weight", "--with-other-sensitive", "--attacker-knows",
        "--columns", "--subsets", "--suda", "--sampling-fraction",
    ),
    "Checks": ("--k", "--k-map", "--l", "--t", "--check", "--baseline", "--by"),
    "Reference": (
        "--reference", "--reference-columns", "--reference-where", "--reference-entity",
        "--reference-weight", "--reference-level", "--earlier", "--earlier-columns",
        "--earlier-qi", "--earlier-where", "--earlier-level", "--earlier-entity",
        "--reference-header", "--earlier-header",
    ),
    "Levels": ("--hierarchy", "--clip", "--level", "--hierarchy-faults"),
    "Search": (
        "--algorithm", "--metric", "--max-suppressed", "--suppressed", "--keep", "--at-most",
        "--weight-of", "--gap", "--minimal-nodes", "--pull-frequencies",
    ),
    "Input": ("--connect", "--null-string", "--delimiter", "--header", "--manifest", "--select",
              "--exclude", "--state", "--profiles-dir"),
    "Output": (
        "--format", "--output", "--partition-by", "--also", "--result", "--output-dir",
        "--overwrite", "--force", "--show-values",
        "--dialect", "--quote", "--table", "--step", "--until", "--emit", "--name", "--single-view",
        "--unassigned", "--scores", "--dry-run", "--sample", "--seed", "--read",
    ),
    "Limits": ("--memory-limit", "--threads", "--timeout"),
    "Messages": ("--verbose", "--quiet", "--help"),
}  # fmt: skip
"""The options of all commands by topic, in order of importance."""


class Grouped(click.Command):
    """A command whose options are listed in groups; ungrouped ones go into the last group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        of_flag = {flag: name for name, flags in GROUPS.items() for flag in flags}
        last = next(reversed(GROUPS))
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            # Arguments are described in the docstring, whether or not click lists them.
            if record is not None and isinstance(param, click.Option):
                named = (of_flag[flag] for flag in param.opts if flag in of_flag)
                groups[next(named, last)].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)
