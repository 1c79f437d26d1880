"""The command line's options, and the question that their values ask.

An option that is part of the question has no place beside a spec file, which asks its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.types import FloatParamType, IntParamType, StringParamType

from kanon_sql.errors import SpecError, did_you_mean, share_meant

if TYPE_CHECKING:
    from kanon_sql.manifest import SelectedTables
    from kanon_sql.models import Model
    from kanon_sql.spec import AuditSpec

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_REFERENCE = "reference"
VERBOSITY = "kanon_sql.verbosity"
"""Where a command's context keeps how much it tells."""
FORMATS = ("human", "json", "markdown")
PIPELINE_FORMATS = ("junit", "sarif", "github")
"""What a pipeline reads; an audit alone has them."""


# --- kinds of values ------------------------------------------------------------------------


class OneALine(StringParamType):
    """Text of a repeatable option; its environment variable holds one value a line."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.splitlines()


class WholeNumber(IntParamType):
    """1 or more."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if re.fullmatch(r"0*[1-9][0-9]*", str(value)):
            return int(value)
        raise SpecError(f"{_flag(param)} must be a whole number, 1 or more; found {value!r}.")


class Decimal(FloatParamType):
    """A number; the model says which ones it takes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)", str(value)):
            return float(value)
        raise SpecError(
            f"{_flag(param)} must be a number, as in 0.2; found {value!r}.{share_meant(value)}"
        )


class Seconds(FloatParamType):
    """More than 0."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value)) and float(value) > 0:
            return float(value)
        raise SpecError(f"{_flag(param)} must be a number of seconds above 0; found {value!r}.")


class Format(StringParamType):
    """One of the formats that a command has."""

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self._formats:
            return str(value)
        there_are = f"there are {', '.join(self._formats)}"
        if value in PIPELINE_FORMATS:
            raise SpecError(f"--format {value} is for an audit; {there_are}.")
        near = did_you_mean(str(value), self._formats)
        raise SpecError(f"there is no format {value!r}; {there_are}.{near}")


def _flag(param: click.Parameter | None) -> str:
    return param.opts[0] if param else "the value"


# --- the options ----------------------------------------------------------------------------


class QuestionOption(click.Option):
    """An option that is a part of the question."""


def _option(
    flag: str, *parameter: str, cls: type[click.Option], **settings: Any
) -> Callable[[Command], Command]:
    """An option that the environment can set too: `--memory-limit` is KANON_SQL_MEMORY_LIMIT."""
    variable = f"KANON_SQL_{flag.removeprefix('--').replace('-', '_').upper()}"
    return click.option(flag, *parameter, cls=cls, envvar=variable, **settings)


def _asked(flag: str, **settings: Any) -> Callable[[Command], Command]:
    if settings.get("multiple"):
        settings["type"] = OneALine()
    return _option(flag, cls=QuestionOption, **settings)


def _run(flag: str, *parameter: str, **settings: Any) -> Callable[[Command], Command]:
    return _option(flag, *parameter, cls=click.Option, **settings)


def _remember_verbosity(context: click.Context, _: click.Parameter, value: int) -> int:
    context.meta[VERBOSITY] = value
    return value


_COLUMNS: dict[str, Any] = {"multiple": True, "metavar": "COL,…"}

_PARTS = (
    _asked("--qi", **_COLUMNS, help="Quasi-identifiers; '*' is every column without another part."),
    _asked("--sensitive", **_COLUMNS, help="What must not become known of a person."),
    _asked("--identifiers", **_COLUMNS, help="Columns that name a person outright."),
    _asked("--entity", metavar="COL", help="Whom a record is about; k then counts people."),
)
_DEMANDS = (
    _asked(
        "--k",
        type=WholeNumber(),
        metavar="N",
        help="k-anonymity: at least N records in each class.",
    ),
    _asked(
        "--k-map",
        type=WholeNumber(),
        metavar="N",
        help="k-map: at least N matches in the reference.",
    ),
    _asked(
        "--l",
        type=WholeNumber(),
        metavar="N",
        help="l-diversity: at least N sensitive values in each class, for each --sensitive.",
    ),
    _asked(
        "--t",
        type=Decimal(),
        metavar="X",
        help="t-closeness: at most X from how the table is spread, for each --sensitive.",
    ),
    _asked(
        "--check",
        multiple=True,
        metavar="MODEL[:KEY=VALUE,…]",
        help="Any model, as in l_diversity:l=3,sensitive=COL. kanon-sql explain lists them.",
    ),
    _asked(
        "--reference",
        multiple=True,
        metavar="[NAME=]SRC",
        help="The reidentification dataset. Where there are several, begin the value of the "
        "options below with NAME and a colon, and name one in --check.",
    ),
    _asked(
        "--reference-columns",
        multiple=True,
        metavar="[NAME:]COL=COL,…",
        help="Its own name for a quasi-identifier: zip=zip_code.",
    ),
    _asked(
        "--reference-where", multiple=True, metavar="[NAME:]EXPR", help="Only these of its records."
    ),
    _asked(
        "--reference-entity", multiple=True, metavar="[NAME:]COL", help="Whom its record is about."
    ),
    _asked(
        "--reference-weight",
        multiple=True,
        metavar="[NAME:]COL",
        help="How many people its record stands for.",
    ),
    _asked(
        "--reference-level",
        multiple=True,
        metavar="[NAME:]COL=N,…",
        help="Generalise it to where the table already is: zip=2, by the table's --hierarchy.",
    ),
)
_HIERARCHIES = (
    _asked(
        "--hierarchy",
        multiple=True,
        metavar="COL=HOW",
        help="How a column may be generalised: a file, a table, or width:5,10 round:10 mask:right "
        "date:month,year,5y prefix:3 cuts:18,65 suppress.",
    ),
    _asked("--clip", multiple=True, metavar="COL=LOW:HIGH", help="Before any level: age=10:90."),
    _asked(
        "--hierarchy-faults",
        type=click.Choice(["error", "warn"]),
        help="A hierarchy that is no clean tree: refused (default), or a warning.",
    ),
)
_LEVELS = (
    _asked(
        "--level",
        multiple=True,
        metavar="COL=N,…",
        help="Look at the table as it would be at these levels: age=1,zip=2.",
    ),
)
_RECORDS = (
    _asked("--where", metavar="EXPR", help="Only the records for which this holds."),
    _asked(
        "--first",
        type=WholeNumber(),
        metavar="N",
        help="Only the first N records, in the file's order.",
    ),
    _asked(
        "--nulls",
        type=click.Choice(["value", "wildcard"]),
        help="NULL in a quasi-identifier: a value of its own (default), or it matches everything.",
    ),
    _asked(
        "--sensitive-nulls",
        type=click.Choice(["value", "unknown"]),
        help="NULL in a sensitive attribute: a value of its own (default), or unknown.",
    ),
)
_OTHERS_KNOWN = (
    _asked(
        "--with-other-sensitive",
        is_flag=True,
        help="Whoever attacks may know the other sensitive attributes of a person.",
    ),
)
_SOURCE = (
    _asked("--weight", metavar="COL", help="The survey weight: how many people a record is."),
    _asked("--null-string", multiple=True, metavar="TEXT", help="Stands for NULL in a text file."),
    _asked("--delimiter", metavar="C", help="What separates the fields of a text file."),
    _asked(
        "--connect",
        metavar="URL",
        help="Where the table lies: duckdb:FILE, postgresql://…, snowflake://…",
    ),
)
_RELEASE_QUESTION = (*_PARTS, *_DEMANDS, *_HIERARCHIES, *_RECORDS, *_OTHERS_KNOWN, *_SOURCE)
_QUESTION = (*_PARTS, *_DEMANDS, *_HIERARCHIES, *_LEVELS, *_RECORDS, *_OTHERS_KNOWN, *_SOURCE)
_KNOWLEDGE = (
    _run(
        "--attacker-knows",
        **_COLUMNS,
        type=OneALine(),
        help="Look at these columns only; without it at all that are no identifier.",
    ),
    _run(
        "--k",
        type=WholeNumber(),
        metavar="N",
        default=5,
        show_default=True,
        help="A class of fewer than N records is small.",
    ),
)
_SHOWN = (_run("--show-values", is_flag=True, help="Show values of small classes: personal data."),)
_LIMITS = (
    _run("--memory-limit", metavar="SIZE", help="As in 2GB; more is spilled to a private folder."),
    _run("--threads", type=WholeNumber(), metavar="N", help="At most so many."),
    _run(
        "--timeout",
        type=Seconds(),
        metavar="SECONDS",
        help="Give up after so long, with exit code 3.",
    ),
)
_RUN = (*_SHOWN, *_LIMITS)
_DRY_RUN = (
    _run(
        "--dry-run",
        is_flag=True,
        help="Only say what would run, on which tables, and what the engine expects of it.",
    ),
)
_OUTPUT = (
    _run(
        "--output",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    _run("--force", is_flag=True, help="Overwrite the output."),
)
_SEARCH = (
    _run(
        "--algorithm",
        metavar="datafly",
        default="datafly",
        show_default=True,
        help="How the levels are found.",
    ),
    _run(
        "--max-suppressed",
        metavar="N|P%",
        help="How many records may be left out, as a number or a share: 5%. K without it.",
    ),
    _run(
        "--suppressed",
        metavar="remove|star",
        default="remove",
        show_default=True,
        help="Leave these records out, or keep them with * in every quasi-identifier.",
    ),
    _run(
        "--pull-frequencies",
        is_flag=True,
        help="Fetch a warehouse's frequency set, with the values of its quasi-identifiers, and "
        "search here; without it each step is a query there.",
    ),
)
_RELEASE = (
    _run(
        "--output",
        metavar="FILE",
        help="The release: .parquet, .csv or .tsv, or .sql for the views that make it.",
    ),
    _run("--dialect", help="The SQL to write the views in; without it, that of the database."),
    _run(
        "--emit",
        metavar="views|dbt-model",
        default="views",
        show_default=True,
        help="What the .sql file holds; a dbt model has a .yml with its tests beside it.",
    ),
    _run(
        "--name",
        "view_name",
        metavar="NAME",
        help="What the views are called, as in patients_release; after the table without it.",
    ),
    _run("--single-view", is_flag=True, help="One view in place of one a step."),
    _run(
        "--keep-order",
        is_flag=True,
        help="Leave the records in the order of their source, which links them to other releases "
        "of it; without it they are in the order of what is published.",
    ),
    _run(
        "--untouched",
        metavar="warn|drop|error",
        help="Columns without a part: released as they are with a warning (default), left out, "
        "or refused.",
    ),
    _run(
        "--result",
        metavar="FILE",
        help="Write the result there, whole or not at all, in the form that the name ends with.",
    ),
    _run(
        "--force",
        is_flag=True,
        help="Overwrite the files, and write a release that fails its audit.",
    ),
)


def _format(formats: Sequence[str]) -> Callable[[Command], Command]:
    return _run(
        "--format",
        type=Format(formats),
        metavar="|".join(formats),
        default="human",
        show_default=True,
        help="How the result is written.",
    )


_FORMAT = (_format(FORMATS),)
_AUDIT_FORMAT = (_format((*FORMATS, *PIPELINE_FORMATS)),)
_MANIFEST = (
    _run(
        "--manifest",
        metavar="FILE",
        help="In place of TARGET: the models of a dbt project whose columns have roles.",
    ),
    _run(
        "--select",
        multiple=True,
        type=OneALine(),
        metavar="NAME|tag:…|path:…",
        help="Only these models of the manifest.",
    ),
)
_BY = _run(
    "--by",
    type=click.Choice(["share", "count"]),
    default="share",
    help="Compare what share of the records violates (default), or how many: for a table that "
    "always has the same size.",
)
_BASELINE = (
    _run(
        "--baseline",
        metavar="FILE",
        help="Fail only on what got worse since kanon-sql baseline wrote FILE.",
    ),
    _BY,
)
_WORSE = (
    _run("--fail-on-worse", is_flag=True, help="End with exit code 1 where anything got worse."),
    _BY,
)
_COMPILED = (
    _run("--dialect", metavar="NAME", help="The SQL to write; that of the engine without it."),
    _run(
        "--quote",
        metavar="always|needed",
        default="always",
        show_default=True,
        help="Quote every name, or only those that need it.",
    ),
    _run(
        "--table", metavar="NAME", help="What the table is called there, as in analytics.patients."
    ),
    _run("--step", metavar="NAME", help="Only this statement."),
    _run("--output-dir", metavar="FOLDER", help="Write a file a statement, all of them or none."),
)
_TELL = (
    click.option(
        "-v",
        "--verbose",
        envvar="KANON_SQL_VERBOSE",
        count=True,
        expose_value=False,
        callback=_remember_verbosity,
        help="Tell each step on stderr; -vv also where an error came from.",
    ),
)


def _together(
    *groups: Iterable[Callable[[Command], Command]],
) -> Callable[[Command], Command]:
    """The options of these groups as one decorator, listed by --help in this order."""

    def decorate(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(tuple(group)):
                command = option(command)
        return command

    return decorate


audit_options = _together(
    _QUESTION, _MANIFEST, _BASELINE, _AUDIT_FORMAT, _OUTPUT, _RUN, _DRY_RUN, _TELL
)
baseline_options = _together(_QUESTION, _OUTPUT, _LIMITS, _TELL)
diff_options = _together(_FORMAT, _WORSE, _OUTPUT, _TELL)
compile_options = _together(_QUESTION, _COMPILED, _OUTPUT, _RUN, _TELL)
validate_options = _together(_QUESTION, _TELL)
anonymize_options = _together(
    _RELEASE_QUESTION, _SEARCH, _RELEASE, _FORMAT, _LIMITS, _DRY_RUN, _TELL
)
profile_options = _together(
    _PARTS, _KNOWLEDGE, _HIERARCHIES, _LEVELS, _RECORDS, _SOURCE, _FORMAT, _OUTPUT, _LIMITS, _TELL
)
demo_options = _together(_TELL)


# --- from values to a question --------------------------------------------------------------


_CHOICES = ("nulls", "sensitive_nulls", "hierarchy_faults")


def question(context: click.Context, target: str, values: Mapping[str, Any]) -> AuditSpec:
    """What a command's target and options ask. Raises `SpecError`."""
    from kanon_sql.spec import AuditSpec, table_spec

    if values.get("select"):
        raise SpecError(
            f"--select {' '.join(values['select'])} chooses models of a dbt project: name its "
            "manifest with --manifest FILE."
        )
    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = _quasi_identifiers(values, "may know", "; --qi '*' takes every column.")
    references = _references(values)
    demands = {
        "references": references,
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
    from kanon_sql.spec import AuditSpec, table_spec

    if is_spec_file(target):
        _refuse_a_second_question(context, target)
        return AuditSpec.from_file(target)
    quasi_identifiers = _quasi_identifiers(
        values, "is sure to know", ". Finding them in the data comes in a later release."
    )
    return AuditSpec(tables=[table_spec(**_table(target, quasi_identifiers, values))])


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
    from kanon_sql.manifest import read_manifest

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
    from kanon_sql.hierarchy import parse_builder, parse_clip

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
                f"Quasi-identifiers: {', '.join(names)}.{did_you_mean(name, names)}"
            )
        hierarchy = parts.get("hierarchy")
        fields = hierarchy.model_dump() if hierarchy else {}
        fields |= {"clip": parts["clip"]} if "clip" in parts else {}
        generalisable[wanted.get(name.casefold(), name)] = fields
    return generalisable


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
    name, equals, rest = text.partition("=")
    if not (name and equals and rest):
        raise SpecError(f"{flag} {text!r} is not COL=…, as in {flag} zip=2.")
    return name.strip(), rest.strip()


def _checks(values: Mapping[str, Any], references: list[str]) -> list[Model]:
    """The checks asked, the short forms first."""
    from kanon_sql.models import short_checks

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
    from kanon_sql.models import model_named
    from kanon_sql.yaml_document import scalar_or_list

    name, colon, rest = text.partition(":")
    model = model_named(name.strip())
    parameters: dict[str, Any] = {}
    for part in _outer_parts(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip()
        if not (key and equals and value.strip()):
            raise SpecError(f"--check {text}: {part.strip()!r} is not KEY=VALUE, as in k=5.")
        if key in parameters:
            raise SpecError(f"--check {text}: {key} is there twice. Give it once.")
        parameters[key] = scalar_or_list(value)
    return model(**parameters)


def _outer_parts(text: str) -> Iterator[str]:
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


def _references(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every reference by its name, with its own columns, filter, entity and weight."""
    references: dict[str, dict[str, Any]] = {}
    for text in values["reference"]:
        name, source = _named_source(text)
        if name in references:
            raise SpecError(
                f'there are two references called "{name}": name them, as in '
                "--reference voters=voters.parquet."
            )
        references[name] = {"source": source}
    for name, text in _of_references("--reference-columns", values, references):
        columns = references[name].setdefault("columns", {})
        for pair in column_names("--reference-columns", text):
            column, equals, own = pair.partition("=")
            if not (column and equals and own):
                raise SpecError(f"--reference-columns {pair!r} is not COL=COL, as in zip=zip_code.")
            if column in columns:
                raise SpecError(f'--reference-columns names "{column}" twice. Name it once.')
            columns[column] = own
    at_level: dict[str, list[str]] = {}
    for name, text in _of_references("--reference-level", values, references):
        at_level.setdefault(name, []).append(text)
    for name, texts in at_level.items():
        references[name]["levels"] = _levels("--reference-level", texts)
    for part in ("where", "entity", "weight"):
        for name, text in _of_references(f"--reference-{part}", values, references):
            if part in references[name]:
                raise SpecError(f"--reference-{part} is there twice for {name}. Give it once.")
            references[name][part] = text
    return references


def _named_source(text: str) -> tuple[str, str]:
    """The name and the source in `[NAME=]SRC`; a path with an `=` of its own begins with `./`."""
    named = re.fullmatch(r"([A-Za-z_]\w*)=(.+)", text, re.DOTALL)
    return (named[1], named[2]) if named else (DEFAULT_REFERENCE, text)


def _of_references(
    flag: str, values: Mapping[str, Any], references: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each value of the option with the name of the reference that it is for."""
    for text in values[flag.removeprefix("--").replace("-", "_")]:
        prefix = re.match(r"(\w+):(?!:)\s*", text)
        if prefix and prefix[1] in references:
            yield prefix[1], text[prefix.end() :]
        elif len(references) == 1:
            yield next(iter(references)), text
        elif not references:
            raise SpecError(f"{flag} needs a table that it is about: --reference voters.parquet.")
        else:
            raise SpecError(
                f"{flag} {text!r} is for which reference? Begin it with a name and a colon: "
                f"{', '.join(f'{name}:' for name in references)}."
            )
