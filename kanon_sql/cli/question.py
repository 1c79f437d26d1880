"""Builds the question from command line options.

Question options can't be combined with a spec file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.option_kinds import QuestionOption
from kanon_sql.cli.option_syntax import (
    all_column_names,
    check_named,
    column_first,
    column_names,
    of_column,
    parsed_levels,
    parsed_weights,
)
from kanon_sql.cli.other_tables import other_tables
from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.spec.other_tables import OTHER_TABLES, REFERENCE

if TYPE_CHECKING:
    from kanon_sql.plan.identifying import Identifying
    from kanon_sql.spec.models.base import Model
    from kanon_sql.spec.spec import AuditSpec, SelectedTables


_CHOICES = ("nulls", "sensitive_nulls", "hierarchy_faults")


def question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """The spec of a command's target and options. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = _quasi_identifiers(values, "may know", "; --qi '*' takes every column.")
    others = {kind.key: other_tables(kind, values) for kind in OTHER_TABLES}
    required = {
        **others,
        "checks": _checks(values, list(others[REFERENCE.key])),
        "with_other_sensitive": values["with_other_sensitive"],
    }
    return AuditSpec(tables=[table_spec(**_table(target, quasi_identifiers, values), **required)])


def are_results(context: click.Context, targets: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Whether the targets are stored results: JSON files without question options.

    Raises `SpecError` if there are question options, but no quasi-identifiers.
    """
    if values["qi"] or not all(target.lower().endswith(".json") for target in targets):
        return False
    given = _given(context)
    if given:
        raise SpecError(
            f"{targets[0]} is read as a result, which takes no {', '.join(given)}. To audit it as "
            "a table, name its quasi-identifiers: --qi COL,…."
        )
    return True


def profile_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """The table to profile. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = all_column_names("--qi", values["qi"])
    return AuditSpec(tables=[table_spec(**_table(target, quasi_identifiers, values))])


def table_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A table without roles, to propose a spec for. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if is_spec_file(target):
        raise SpecError(f"{target} is already a spec; name the table to write one for.")
    return AuditSpec(tables=[table_spec(**_table(target, [], values))])


def column_question(column: str, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A single column with a hierarchy builder, as in zip=mask:right. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    name, builds, _ = column_first(column)
    hierarchy = [column] if builds else []
    asked = {"sensitive": (), "identifiers": (), "entity": None, **values, "hierarchy": hierarchy}
    table = table_spec(**_table(target, [name], asked))
    [built] = table.quasi_identifiers.values()
    if built.hierarchy is not None:
        raise SpecError(
            f"{column}: that is already a hierarchy file; name a builder, as in mask:right."
        )
    return AuditSpec(tables=[table])


def identifying_question(spec: AuditSpec, values: Mapping[str, Any]) -> Identifying:
    """The measures on column sets. Raises `SpecError`, also for an unwritable scores file."""
    from kanon_sql.plan.identifying import Identifying
    from kanon_sql.profiling.profiler import scores_file

    scores = scores_file(
        Path(values["scores"]) if values["scores"] else None,
        spec.files(),
        show_values=values["show_values"],
        overwrite=values["overwrite"],
    )
    return Identifying(
        subsets=values["subsets"],
        suda=values["suda"],
        columns=tuple(all_column_names("--columns", values["columns"])),
        sampling_fraction=values["sampling_fraction"],
        scores=scores,
    )


def _quasi_identifiers(values: Mapping[str, Any], knows: str, or_else: str) -> list[str]:
    """The names in `--qi`, at least one."""
    names = all_column_names("--qi", values["qi"])
    if names:
        return names
    raise SpecError(
        f"there are no quasi-identifiers: name what an attacker {knows} of a person, as in --qi "
        f"zip,birth_date,sex{or_else}"
    )


def attacker_knows(values: Mapping[str, Any]) -> list[str]:
    """The columns in `--attacker-knows`; empty for all."""
    return all_column_names("--attacker-knows", values["attacker_knows"])


def _table(target: str, quasi_identifiers: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The table settings shared by all commands."""
    return {
        "source": target,
        "quasi_identifiers": _generalisable(quasi_identifiers, values),
        "levels": parsed_levels("--level", values.get("level", ())),
        "sensitive": all_column_names("--sensitive", values["sensitive"]),
        "identifiers": all_column_names("--identifiers", values["identifiers"]),
        "null_strings": list(values["null_string"]),
        "delimiter": "\t" if values["delimiter"] == r"\t" else values["delimiter"],
        **{
            key: values[key]
            for key in ("entity", "decimal", "where", "first", "connect", "weight", "header")
        },
        **{key: values[key] for key in _CHOICES if values.get(key)},
    }


def is_spec_file(target: str) -> bool:
    return target.lower().endswith((".yml", ".yaml"))


def _refuse_a_second_question(context: click.Context, target: str) -> None:
    """Raise if a question option accompanies a spec file."""
    given = _given(context)
    if given:
        raise SpecError(
            f"{target} is a spec and can't be combined with {', '.join(given)}. "
            "Write it into the file, or name a table in place of the file."
        )


def selected(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> SelectedTables:
    """The tables of a target, or of a dbt manifest. Raises `SpecError`."""
    from kanon_sql.spec.spec import SelectedTables

    manifest = values["manifest"]
    if not manifest:
        if target is None:
            raise SpecError("name what to audit: a file, a table, a spec file, or --manifest FILE.")
        if idle := next((key for key in _OF_A_MANIFEST if values[key]), None):
            raise SpecError(
                f"--{idle.replace('_', '-')} is for a dbt project and needs --manifest FILE."
            )
        spec = question(context, target, values)
        return SelectedTables(spec, places=spec.places())
    from kanon_sql.spec.dbt.manifest import read_manifest

    given = [option for option in _given(context) if option not in _BESIDE_A_MANIFEST]
    if target is not None:
        given.insert(0, target)
    if given:
        raise SpecError(
            f"{manifest} is a manifest and can't be combined with {', '.join(given)}. Write "
            "it into the config.meta.kanon_sql of the model."
        )
    return read_manifest(
        manifest, connect=values["connect"], **{key: values[key] for key in _OF_A_MANIFEST}
    )


_OF_A_MANIFEST = ("select", "exclude", "state", "profiles_dir")
_BESIDE_A_MANIFEST = ("--connect", "KANON_SQL_CONNECT")


def _given(context: click.Context) -> list[str]:
    """The question options that are set, by option or environment variable."""
    sources = {
        option: context.get_parameter_source(option.name or "")
        for option in context.command.params
        if isinstance(option, QuestionOption)
    }
    return [
        str(option.envvar) if source is click.core.ParameterSource.ENVIRONMENT else option.opts[0]
        for option, source in sources.items()
        if source is not click.core.ParameterSource.DEFAULT
    ]


def _generalisable(names: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The quasi-identifiers with their hierarchy and clip options."""
    from kanon_sql.spec.builders import parse_builder, parse_clip

    settings: dict[str, dict[str, Any]] = {}
    for flag, key in (("--hierarchy", "hierarchy"), ("--clip", "clip")):
        for text in values.get(key, ()):
            name, how = of_column(flag, text)
            if key in settings.setdefault(name, {}):
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            settings[name][key] = (
                parse_clip(how)
                if key == "clip"
                else parse_builder(how, tables=bool(values.get("connect")))
            )
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise SpecError(f'column "{repeated}" is named twice. Name it once.')
    by_casefold = {name.casefold(): name for name in names}
    generalisable: dict[str, Any] = dict.fromkeys(names)
    for name, parts in settings.items():
        if name.casefold() not in by_casefold and "*" not in names:
            raise SpecError(
                f'"{name}" is not a quasi-identifier, so it takes no hierarchy or clip. '
                + (
                    f"Quasi-identifiers: {', '.join(names)}.{did_you_mean(name, names)}"
                    if names
                    else "There are none: name them with --qi."
                )
            )
        hierarchy = parts.get("hierarchy")
        fields = hierarchy.model_dump() if hierarchy else {}
        fields |= {"clip": parts["clip"]} if "clip" in parts else {}
        generalisable[by_casefold.get(name.casefold(), name)] = fields
    return generalisable


def preferences(values: Mapping[str, Any]) -> dict[str, Any]:
    """The search preferences: columns to keep, maximum levels, weights."""
    return {
        "keep": tuple(all_column_names("--keep", values["keep"])),
        "at_most": parsed_levels("--at-most", values["at_most"]),
        "weights": parsed_weights("--weight-of", values["weight_of"]),
    }


def sizes(values: Mapping[str, Any]) -> list[int] | None:
    """The values of k in `--k`; None without any."""
    numbers = [number for text in values["k"] for number in column_names("--k", text)]
    for number in numbers:
        if not re.fullmatch(r"0*[1-9][0-9]*", number):
            raise SpecError(
                f"--k must be whole numbers, 1 or more, as in 2,5,10; found {number!r}."
            )
    return [int(number) for number in numbers] or None


def _checks(values: Mapping[str, Any], references: list[str]) -> list[Model]:
    """The requested checks, short forms first."""
    from kanon_sql.spec.models.catalogue import short_checks

    sensitive = all_column_names("--sensitive", values["sensitive"])
    for flag in ("l", "t"):
        if values[flag] is not None and not sensitive:
            raise SpecError(f"--{flag} needs a sensitive attribute: --sensitive COL.")
    if values["k_map"] and len(references) != 1:
        raise SpecError(_which_reference(values["k_map"], references))
    short = short_checks(values, sensitive, references[0] if references else None)
    return [*short, *(check_named(text) for text in values["check"])]


def _which_reference(k: int, references: list[str]) -> str:
    if not references:
        return "--k-map needs a reference: --reference SRC."
    examples = " or ".join(f"--check k_map:k={k},reference={name}" for name in references)
    return f"--k-map is ambiguous with several references: write {examples}."
