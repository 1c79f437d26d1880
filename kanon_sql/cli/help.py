"""Groups the options in a command's `--help`."""

from __future__ import annotations

import click

GROUPS: dict[str, tuple[str, ...]] = {
    "Question": (
        "--qi", "--sensitive", "--identifiers", "--entity", "--events", "--known", "--times",
        "--where", "--first", "--nulls",
        "--sensitive-nulls", "--weight", "--with-other-sensitive", "--attacker-knows",
        "--columns", "--subsets", "--suda", "--sampling-fraction",
    ),
    "Checks": ("--k", "--k-map", "--l", "--t", "--check", "--policy", "--baseline", "--by"),
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
    "Input": ("--connect", "--null-string", "--delimiter", "--decimal", "--header", "--manifest",
              "--select", "--exclude", "--state", "--profiles-dir", "--server"),
    "Output": (
        "--format", "--output", "--partition-by", "--also", "--result", "--output-dir",
        "--overwrite", "--force", "--audience", "--show-values",
        "--dialect", "--quote", "--table", "--step", "--until", "--emit", "--name", "--single-view",
        "--unassigned", "--scores", "--dry-run", "--sample", "--seed", "--read", "--of", "--into",
        "--log", "--questions", "--min-cell",
    ),
    "Limits": ("--memory-limit", "--threads", "--timeout", "--max-seconds", "--jobs"),
    "Messages": ("--verbose", "--quiet", "--help"),
}  # fmt: skip
"""The options of all commands by topic, in order of importance."""


TABLE_GROUPS: dict[str, tuple[str, ...]] = {
    "Table": (
        "--by", "--value", "--contributor", "--weight", "--hierarchy", "--hierarchy-faults",
        "--margins", "--where", "--first",
    ),
    "Rules": (
        "--threshold", "--dominance", "--p-percent", "--derivable", "--min-difference", "--check",
        "--policy",
    ),
    "As published": (
        "--published", "--suppressed", "--total-label", "--total-flag", "--count", "--magnitude",
        "--value-bounds", "--absent",
    ),
    "Second table": (
        "--against", "--against-by", "--against-columns", "--against-where", "--against-header",
    ),
    **{name: GROUPS[name] for name in ("Input", "Output", "Limits", "Messages")},
}  # fmt: skip
"""The options of `tables` by topic."""


COMPILE_GROUPS: dict[str, tuple[str, ...]] = {
    **{name: GROUPS[name] for name in ("Question", "Checks", "Reference", "Levels")},
    "Table": ("--value", "--contributor", "--margins"),
    **{name: TABLE_GROUPS[name] for name in ("Rules", "As published", "Second table")},
    **{name: GROUPS[name] for name in ("Input", "Output", "Limits", "Messages")},
}
"""The options of `compile` by topic: those of records, and those of published tables."""


class Grouped(click.Command):
    """A command whose options are listed in groups; ungrouped ones go into the last group."""

    groups = GROUPS

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        of_flag: dict[str, str] = {}
        for name, flags in self.groups.items():
            for flag in flags:
                of_flag.setdefault(flag, name)
        last = next(reversed(self.groups))
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in self.groups}
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


class GroupedTables(Grouped):
    """The command `tables`, whose options have groups of their own."""

    groups = TABLE_GROUPS


class GroupedWithTables(Grouped):
    """A command on records whose question may be one on a published table instead."""

    groups = COMPILE_GROUPS
