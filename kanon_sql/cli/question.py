"""The question that options of the command line ask.

An option that is part of the question has no place beside a spec file, which asks its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.option_kinds import QuestionOption
from kanon_sql.errors import SpecError, did_you_mean

if TYPE_CHECKING:
    from kanon_sql.plan.identifying import Identifying
    from kanon_sql.spec.dbt.manifest import SelectedTables
    from kanon_sql.spec.models.base import Model
    from kanon_sql.spec.spec import AuditSpec


DEFAULT_REFERENCE = "reference"
DEFAULT_EARLIER = "earlier"


_CHOICES = ("nulls", "sensitive_nulls", "hierarchy_faults")


def question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """What a command's target and options ask. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if values.get("select"):
        raise SpecError(
            f"--select {' '.join(values['select'])} chooses models of a dbt project: name its "
            "manifest with --manifest FILE."
        )
    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = _quasi_identifiers(values, "may know", "; --qi '*' takes every column.")
    references = _beside(REFERENCES, values)
    demands = {
        "references": references,
        "earlier_releases": _beside(EARLIER, values),
        "checks": _checks(values, list(references)),
        "with_other_sensitive": values["with_other_sensitive"],
    }
    return AuditSpec(tables=[table_spec(**_table(target, quasi_identifiers, values), **demands)])


def are_results(context: click.Context, targets: Sequence[str], values: Mapping[str, Any]) -> bool:
    """Whether the targets are results of audits: JSON files of which nothing is asked.

    Raises `SpecError` where a part of a question is given, but no quasi-identifiers.
    """
    if values["qi"] or not all(target.lower().endswith(".json") for target in targets):
        return False
    given = _given(context)
    if given:
        raise SpecError(
            f"{targets[0]} is taken for a result, of which {', '.join(given)} asks nothing. To "
            "audit it as a table, name its quasi-identifiers: --qi COL,…."
        )
    return True


def profile_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """The table that a profile is about. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = _names("--qi", values["qi"])
    return AuditSpec(tables=[table_spec(**_table(target, quasi_identifiers, values))])


def table_question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A table of which little has been decided yet. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    if is_spec_file(target):
        raise SpecError(f"{target} is a spec already; name the table that one is to be made for.")
    return AuditSpec(tables=[table_spec(**_table(target, [], values))])


def column_question(column: str, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """A column of a table with a builder, as in zip=mask:right. Raises `SpecError`."""
    from kanon_sql.spec.spec import AuditSpec, table_spec

    name, builds, _ = _column_first(column)
    hierarchy = [column] if builds else []
    asked = {"sensitive": (), "identifiers": (), "entity": None, **values, "hierarchy": hierarchy}
    table = table_spec(**_table(target, [name], asked))
    [built] = table.quasi_identifiers.values()
    if built.hierarchy is not None:
        raise SpecError(f"{column}: that is a file already; name a builder, as in mask:right.")
    return AuditSpec(tables=[table])


def identifying_question(spec: AuditSpec, values: Mapping[str, Any]) -> Identifying:
    """What is asked of sets of columns. Raises `SpecError`, also for scores that may not be
    written."""
    from kanon_sql.plan.identifying import Identifying, require_shown
    from kanon_sql.results.writing import check_writable

    scores = Path(values["scores"]) if values["scores"] else None
    if scores is not None:
        require_shown(values["show_values"])
        check_writable(scores, inputs=spec.files(), force=values["force"])
    return Identifying(
        subsets=values["subsets"],
        suda=values["suda"],
        columns=tuple(_names("--columns", values["columns"])),
        sampling_fraction=values["sampling_fraction"],
        scores=scores,
    )


def _quasi_identifiers(values: Mapping[str, Any], knows: str, or_else: str) -> list[str]:
    """The names of `--qi`, of which there must be one."""
    names = _names("--qi", values["qi"])
    if names:
        return names
    raise SpecError(
        f"there are no quasi-identifiers: name what an attacker {knows} of a person, as in --qi "
        f"zip,birth_date,sex{or_else}"
    )


def attacker_knows(values: Mapping[str, Any]) -> list[str]:
    """The columns that a profile looks at; none where it looks at all."""
    return _names("--attacker-knows", values["attacker_knows"])


def _table(target: str, quasi_identifiers: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say of a table, whatever is asked of it."""
    return {
        "source": target,
        "quasi_identifiers": _generalisable(quasi_identifiers, values),
        "levels": _levels("--level", values.get("level", ())),
        "sensitive": _names("--sensitive", values["sensitive"]),
        "identifiers": _names("--identifiers", values["identifiers"]),
        "null_strings": list(values["null_string"]),
        "delimiter": "\t" if values["delimiter"] == r"\t" else values["delimiter"],
        **{key: values[key] for key in ("entity", "where", "first", "connect", "weight")},
        **{key: values[key] for key in _CHOICES if values.get(key)},
    }


def is_spec_file(target: str) -> bool:
    return target.lower().endswith((".yml", ".yaml"))


def _refuse_a_second_question(context: click.Context, target: str) -> None:
    """Raise if an option asks what the spec file should."""
    given = _given(context)
    if given:
        raise SpecError(
            f"{target} asks the question, so {', '.join(given)} has no place beside it. "
            "Write it into the file, or name a table in place of the file."
        )


def selected(
    context: click.Context, target: str | None, values: Mapping[str, Any]
) -> SelectedTables:
    """The tables of a dbt manifest that are audited. Raises `SpecError`."""
    from kanon_sql.spec.dbt.manifest import read_manifest

    manifest = values["manifest"]
    given = [option for option in _given(context) if option not in _BESIDE_A_MANIFEST]
    if target is not None:
        given.insert(0, target)
    if given:
        raise SpecError(
            f"{manifest} asks the question, so {', '.join(given)} has no place beside it. Write "
            "it into the config.meta.kanon_sql of the model."
        )
    return read_manifest(manifest, values["select"], values["connect"])


_BESIDE_A_MANIFEST = ("--connect", "KANON_SQL_CONNECT")


def _given(context: click.Context) -> list[str]:
    """The options of the question that are given, or their variables."""
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


def _names(flag: str, texts: Iterable[str]) -> list[str]:
    return [name for text in texts for name in column_names(flag, text)]


def column_names(flag: str, text: str) -> list[str]:
    """The names in a comma-separated text; one with a comma or a quote is quoted as in CSV.

    >>> column_names("--qi", 'zip, "last, first"')
    ['zip', 'last, first']

    Raises `SpecError` for a name that is empty or a quote that is left open.
    """
    try:
        [names] = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise SpecError(
            f"{flag} {text!r} is not a list of names; quote one with a comma or a quote as in CSV."
        ) from None
    if not all(names):
        raise SpecError(f"{flag} {text!r} has an empty name. Leave out the comma too many.")
    return names


def _generalisable(names: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """The quasi-identifiers with what the options say of how each may be generalised."""
    from kanon_sql.spec.builders import parse_builder, parse_clip

    said: dict[str, dict[str, Any]] = {}
    for flag, key in (("--hierarchy", "hierarchy"), ("--clip", "clip")):
        for text in values.get(key, ()):
            name, how = _of_column(flag, text)
            if key in said.setdefault(name, {}):
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            said[name][key] = (
                parse_clip(how)
                if key == "clip"
                else parse_builder(how, tables=bool(values.get("connect")))
            )
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise SpecError(f'column "{repeated}" is named twice. Name it once.')
    wanted = {name.casefold(): name for name in names}
    generalisable: dict[str, Any] = dict.fromkeys(names)
    for name, parts in said.items():
        if name.casefold() not in wanted and "*" not in names:
            raise SpecError(
                f'"{name}" is no quasi-identifier, so no hierarchy or clip is for it. '
                + (
                    f"Quasi-identifiers: {', '.join(names)}.{did_you_mean(name, names)}"
                    if names
                    else "There are none: name them with --qi."
                )
            )
        hierarchy = parts.get("hierarchy")
        fields = hierarchy.model_dump() if hierarchy else {}
        fields |= {"clip": parts["clip"]} if "clip" in parts else {}
        generalisable[wanted.get(name.casefold(), name)] = fields
    return generalisable


def preferences(values: Mapping[str, Any]) -> dict[str, Any]:
    """The quasi-identifiers that stay as they are, the highest level of others, and weights."""
    return {
        "keep": tuple(_names("--keep", values["keep"])),
        "at_most": _levels("--at-most", values["at_most"]),
        "weights": _weights("--weight-of", values["weight_of"]),
    }


def sizes(values: Mapping[str, Any]) -> list[int] | None:
    """The sizes of classes that --k names; None where it names none."""
    numbers = [number for text in values["k"] for number in column_names("--k", text)]
    for number in numbers:
        if not re.fullmatch(r"0*[1-9][0-9]*", number):
            raise SpecError(
                f"--k must be whole numbers, 1 or more, as in 2,5,10; found {number!r}."
            )
    return [int(number) for number in numbers] or None


def _weights(flag: str, texts: Iterable[str]) -> dict[str, float]:
    """The weight of each column that an option names."""
    weights: dict[str, float] = {}
    for text in texts:
        for pair in column_names(flag, text):
            name, number = _of_column(flag, pair)
            if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", number) or float(number) <= 0:
                raise SpecError(
                    f"{flag} {pair!r} is not COL=X with a number above 0, as in age=2.5."
                )
            if name in weights:
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            weights[name] = float(number)
    return weights


def _levels(flag: str, texts: Iterable[str]) -> dict[str, int]:
    """The level of each column that an option names."""
    levels: dict[str, int] = {}
    for text in texts:
        for pair in column_names(flag, text):
            name, number = _of_column(flag, pair)
            if not re.fullmatch("[0-9]+", number):
                raise SpecError(f"{flag} {pair!r} is not COL=N, as in zip=2.")
            if name in levels:
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            levels[name] = int(number)
    return levels


def _of_column(flag: str, text: str) -> tuple[str, str]:
    """A column, and what is said of it.

    >>> _of_column("--hierarchy", "zip=mask:right"), _of_column("--clip", '"a=b"=1:9')
    (('zip', 'mask:right'), ('a=b', '1:9'))
    """
    name, equals, rest = _column_first(text)
    if not (name and equals and rest):
        raise SpecError(f"{flag} {text!r} is not COL=…, as in {flag} zip=2.")
    return name, rest


def _column_first(text: str) -> tuple[str, str, str]:
    """A column, which is quoted where its name holds a =, then that sign and what follows it."""
    quoted = re.fullmatch(r'\s*"((?:[^"]|"")+)"\s*(=?)(.*)', text, re.DOTALL)
    if quoted and bool(quoted[2]) == bool(quoted[3]):
        return quoted[1].replace('""', '"'), quoted[2], quoted[3].strip()
    name, equals, rest = text.partition("=")
    return name.strip(), equals, rest.strip()


def _checks(values: Mapping[str, Any], references: list[str]) -> list[Model]:
    """The checks asked, the short forms first."""
    from kanon_sql.spec.models.catalogue import short_checks

    sensitive = _names("--sensitive", values["sensitive"])
    for flag in ("l", "t"):
        if values[flag] is not None and not sensitive:
            raise SpecError(f"--{flag} needs the attribute that it is about: --sensitive COL.")
    if values["k_map"] and len(references) != 1:
        raise SpecError(_which_reference(values["k_map"], references))
    short = short_checks(values, sensitive, references[0] if references else None)
    return [*short, *(check_named(text) for text in values["check"])]


def _which_reference(k: int, references: list[str]) -> str:
    if not references:
        return "--k-map needs the table to link against: --reference SRC."
    examples = " or ".join(f"--check k_map:k={k},reference={name}" for name in references)
    return f"--k-map can't tell which of the references is meant: write {examples}."


def check_named(text: str) -> Model:
    """The model that `MODEL[:KEY=VALUE,…]` asks.

    >>> check_named("k_map:k=5,reference=voters").parameters["reference"]
    'voters'

    Raises `SpecError` for an unknown model, a key that is unknown or there twice, or a value
    that is none.
    """
    from kanon_sql.spec.models.catalogue import model_named
    from kanon_sql.spec.yaml_document import scalar_or_list

    name, colon, rest = text.partition(":")
    model = model_named(name.strip())
    parameters: dict[str, Any] = {}
    for part in outer_parts(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not (key and equals and value.strip()):
            raise SpecError(f"--check {text}: {part.strip()!r} is not KEY=VALUE, as in k=5.")
        if key in parameters:
            raise SpecError(f"--check {text}: {key} is there twice. Give it once.")
        parameters[key] = scalar_or_list(value)
    return model(**parameters)


def outer_parts(text: str) -> Iterator[str]:
    """The parts between commas that stand outside quotes and brackets."""
    part, quote, depth = "", "", 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            yield part
            part = ""
            continue
        part += character
    yield part


@dataclass(frozen=True)
class _Kind:
    """What else holds people, and the options that speak of it."""

    flag: str
    noun: str
    default: str
    """What one is called that has no name."""
    example: str
    parts: tuple[str, ...]
    """What may be said once of each."""
    name: str
    """What a name is made of."""

    def given(self, part: str, values: Mapping[str, Any]) -> Sequence[str]:
        texts: Sequence[str] = values.get(f"{self.flag}-{part}"[2:].replace("-", "_"), ())
        return texts


REFERENCES = _Kind(
    "--reference",
    "reference",
    DEFAULT_REFERENCE,
    "voters.parquet",
    ("where", "entity", "weight"),
    r"[A-Za-z_]\w*",
)
EARLIER = _Kind(
    "--earlier", "earlier release", DEFAULT_EARLIER, "r2024.parquet", ("where", "entity"), r"\w+"
)


def _beside(kind: _Kind, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every reference, or earlier release, by its name, with what is said of it."""
    flag, found = kind.flag, dict[str, dict[str, Any]]()
    for text in values.get(flag[2:], ()):
        name, source = _named_source(kind, text)
        if name in found:
            raise SpecError(
                f'there are two {kind.noun}s called "{name}": name them, as in '
                f"{flag} {kind.example.partition('.')[0]}={kind.example}."
            )
        found[name] = {"source": source}
    for name, text in _of_each(kind, "columns", values, found):
        columns = found[name].setdefault("columns", {})
        for pair in column_names(f"{flag}-columns", text):
            column, equals, own = pair.partition("=")
            if not (column and equals and own):
                raise SpecError(f"{flag}-columns {pair!r} is not COL=COL, as in zip=zip_code.")
            if column in columns:
                raise SpecError(f'{flag}-columns names "{column}" twice. Name it once.')
            columns[column] = own
    at_level: dict[str, list[str]] = {}
    for name, text in _of_each(kind, "level", values, found):
        at_level.setdefault(name, []).append(text)
    for name, texts in at_level.items():
        found[name]["levels"] = _levels(f"{flag}-level", texts)
    for part in kind.parts:
        for name, text in _of_each(kind, part, values, found):
            if part in found[name]:
                raise SpecError(f"{flag}-{part} is there twice for {name}. Give it once.")
            found[name][part] = text
    for name, text in _of_each(kind, "qi", values, found):
        names = found[name].setdefault("quasi_identifiers", [])
        names += column_names(f"{flag}-qi", text)
    return found


def _named_source(kind: _Kind, text: str) -> tuple[str, str]:
    """The name and the source in `[NAME=]SRC`; a path with an `=` of its own begins with `./`."""
    named = re.fullmatch(rf"({kind.name})=(.+)", text, re.DOTALL)
    return (named[1], named[2]) if named else (kind.default, text)


def _of_each(
    kind: _Kind, part: str, values: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each value of an option with the name of what it speaks of."""
    flag = f"{kind.flag}-{part}"
    for text in kind.given(part, values):
        prefix = re.match(r"(\w+):(?!:)\s*", text)
        if prefix and prefix[1] in found:
            yield prefix[1], text[prefix.end() :]
        elif len(found) == 1:
            yield next(iter(found)), text
        elif not found:
            raise SpecError(f"{flag} needs a table that it is about: {kind.flag} {kind.example}.")
        else:
            raise SpecError(
                f"{flag} {text!r} is for which {kind.noun}? Begin it with a name and a colon: "
                f"{', '.join(f'{name}:' for name in found)}."
            )
