"""The kinds of options, with the decorators that declare them.

A field is read in the model's source, as `spec/models/described` reads its sentence: importing the
model takes three times as long as help does.
"""

from __future__ import annotations

import ast
import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.types import StringParamType

from kanon_sql.cli.streams import printing, tell
from kanon_sql.errors import (
    Faults,
    SpecError,
    did_you_mean,
    percentage,
    printable,
    read_each,
    refuse_repeated,
)
from kanon_sql.question.roles import ROLES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from kanon_sql.models.base import Model


_COMMON = ("Input", "Output", "Limits", "Messages")
_OF_CELLS = ("Table", "Rules", "As published", "Second table")


class PrintsHelp(click.Command):
    """A command whose help and version go to stdout as results do."""

    def make_context(self, *given: Any, **extra: Any) -> click.Context:
        with printing():
            return super().make_context(*given, **extra)
        raise click.exceptions.Exit(0)


class Optioned(PrintsHelp):
    """A command that builds its options when it is used: the list of commands needs none."""

    @property
    def params(self) -> list[click.Parameter]:
        """The arguments, then the options that `together` gave the callback."""
        for option in vars(self.callback).pop(_OPTIONS, ()):
            option(self)
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        is_quiet = {"-q", "--quiet"}.intersection(args) or os.environ.get("KANON_SQL_QUIET")
        if parent and not (is_quiet or parent.resilient_parsing):
            _warn_of_unknown_variables(self, parent.find_root())
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, parameters = self.make_parser(ctx).parse_args(list(args))
            _refuse_repeated(parameters)
        return super().parse_args(ctx, args)


_VARIABLES = "KANON_SQL_"
_OF_TESTS = ("AXE", "DATA", "DATACONTRACT", "DBT_PACKAGE", "NO_SKIPS", "UPDATE_GOLDEN")
"""Variables that set no option: those of the project's own tests."""


def _warn_of_unknown_variables(command: click.Command, root: click.Context) -> None:
    """Print a line for each variable that sets no option of any command."""
    read = {f"{_VARIABLES}{name}" for name in _OF_TESTS} | _variables_of(command)
    unknown = sorted(name for name in set(os.environ) - read if name.startswith(_VARIABLES))
    known = set[str]().union(*map(_variables_of, _commands_below(root))) if unknown else read
    for name in unknown:
        if name not in known:
            near = did_you_mean(name, known)
            tell(f"warning: {printable(name)} sets no option.{near}")


def _refuse_repeated(parameters: Sequence[click.Parameter]) -> None:
    """Raise `SpecError` for an option with one value that is given twice."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    takes_one = (o for o in options if not (o.multiple or o.count or o.is_flag))
    refuse_repeated((option.opts[0] for option in takes_one), "{} is given twice. Give it once.")


def _variables_of(command: click.Command) -> set[str]:
    """The environment variables of a command's options."""
    return {variable for option in command.params for variable in option.envvar or ()}


def _commands_below(context: click.Context) -> Iterator[click.Command]:
    """The command of a context and, of a group, all commands in it."""
    command = context.command
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            yield from _commands_below(click.Context(below, context)) if below else ()


class Grouped(Optioned):
    """A command whose options are listed below headings; the others stand below the last."""

    headings: tuple[str, ...] = (
        *("Question", "Checks", "Reference", "Original", "Levels", "Search"),
        *_COMMON,
    )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        of_flag: dict[str, str] = {}
        for name in self.headings:
            roles = (f"--{role.key}" for role in ROLES if name == "Question")
            for flag in (*roles, *_table_of_options()["headings"][name]):
                of_flag.setdefault(flag, name)
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in self.headings}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            # Arguments are described in the docstring, whether or not click lists them.
            if record is not None and isinstance(param, click.Option):
                named = (of_flag[flag] for flag in param.opts if flag in of_flag)
                groups[next(named, self.headings[-1])].append(record)
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class GroupedTables(Grouped):
    """The command `tables`, whose options have groups of their own."""

    headings = (*_OF_CELLS, *_COMMON)


class GroupedWithTables(Grouped):
    """A command on records whose question may be one on a published table instead."""

    headings = (
        *("Question", "Checks", "Reference", "Original", "Levels"),
        *_OF_CELLS,
        *_COMMON,
    )


def all_column_names(flag: str, texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for text in texts for name in column_names(flag, text))


def column_names(flag: str, text: str) -> list[str]:
    """Split a comma-separated list of names, with CSV quoting.

    >>> column_names("--qi", 'zip, "last, first"')
    ['zip', 'last, first']

    Raises `SpecError` for an empty part or an unclosed quote.
    """
    try:
        [names] = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise SpecError(
            f"{flag} {text!r} is not a list of names; quote one with a comma or a quote as in CSV."
        ) from None
    if names[:-1] and all(names[:-1]) and not names[-1]:
        raise SpecError(
            f"{flag} {text!r} ends with a comma. After a space the shell begins another argument: "
            f"write {flag} {text}COLUMN without one, or quote the list."
        )
    if not all(names):
        raise SpecError(f"{flag} {text!r} has an empty item. Remove the extra comma.")
    return names


_QUOTED_FIRST = re.compile(r'(?<![^,])\s*"(?:[^"]|"")+"\s*=[^,"]*')
"""A COL=VALUE in which only the column is quoted."""


def column_pairs(flag: str, text: str) -> list[str]:
    """Split a comma-separated list of COL=VALUE, of which the column or the whole may be quoted.

    >>> column_pairs("--level", 'zip=1,"last, first"=2'), column_pairs("--level", '"a,b=1"')
    (['zip=1', '"last, first"=2'], ['a,b=1'])
    """
    quoted = _QUOTED_FIRST.sub(lambda pair: '"' + pair[0].strip().replace('"', '""') + '"', text)
    return column_names(flag, quoted)


def parsed_weights(flag: str, texts: Iterable[str]) -> dict[str, float]:
    """Parse COL=X pairs into weights by column."""

    def weight(number: str, pair: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", number) or float(number) <= 0:
            raise SpecError(f"{flag} {pair!r} is not COL=X with a number above 0, as in age=2.5.")
        return float(number)

    pairs = (pair for text in texts for pair in column_pairs(flag, text))
    return of_columns(flag, pairs, weight)


def parsed_levels(flag: str, texts: Iterable[str]) -> dict[str, int]:
    """Parse COL=N pairs into levels by column."""

    def level(number: str, pair: str) -> int:
        if not re.fullmatch("[0-9]+", number):
            raise SpecError(f"{flag} {pair!r} is not COL=N, as in zip=2.")
        return int(number)

    pairs = (pair for text in texts for pair in column_pairs(flag, text))
    return of_columns(flag, pairs, level)


def parsed_dates(flag: str, texts: Iterable[str]) -> str | dict[str, str] | None:
    """The format of all dates, or of each column's.

    >>> parsed_dates("--date-format", ["birth=dmy", "admitted=%d %b %Y"])
    {'birth': 'dmy', 'admitted': '%d %b %Y'}
    """
    formats = list(texts)
    of_all = [text for text in formats if not column_first(text)[1]]
    if len(of_all) < len(formats):
        if of_all:
            raise SpecError(f"{flag} {of_all[0]} names no column, beside one that does. Name it.")
        return of_columns(flag, formats, lambda text, _: text)
    if len(of_all) > 1:
        raise SpecError(f"{flag} is given twice. Name columns: {flag} birth={of_all[0]}.")
    return of_all[0] if of_all else None


Read = TypeVar("Read")


def of_columns(
    flag: str, pairs: Iterable[str], read: Callable[[str, str], Read]
) -> dict[str, Read]:
    """Each COL=VALUE by its column; `read` takes the value and the pair."""
    triples = [(*of_column(flag, pair), pair) for pair in pairs]
    with Faults() as faults:
        with faults.collected():
            names = [name for name, *_ in triples]
            refuse_repeated(names, f'{flag} names "{{}}" twice. Name it once.')
        with faults.collected():
            parsed = read_each(lambda triple: read(triple[1], triple[2]), triples)
    return dict(zip(names, parsed, strict=True))


def of_column(flag: str, text: str) -> tuple[str, str]:
    """Split COL=VALUE into column and value.

    >>> of_column("--hierarchy", "zip=mask:right"), of_column("--clip", '"a=b"=1:9')
    (('zip', 'mask:right'), ('a=b', '1:9'))
    """
    name, equals, rest = column_first(text)
    if not (name and equals and rest):
        raise SpecError(
            f"{flag} {text!r} is not COL=…, as in {flag} {_EXAMPLES.get(flag, 'zip=2')}."
        )
    return name, rest


_EXAMPLES = {
    "--hierarchy": "zip=mask:right",
    "--clip": "age=10:90",
    "--date-format": "birth=dmy",
    "--weight-of": "age=2.5",
    "--total-flag": "region=is_total",
}


def column_first(text: str) -> tuple[str, str, str]:
    """Split at the first `=` after the column, which is quoted if its name contains one."""
    quoted = re.fullmatch(r'\s*"((?:[^"]|"")+)"\s*(=?)(.*)', text, re.DOTALL)
    if quoted and bool(quoted[2]) == bool(quoted[3]):
        return quoted[1].replace('""', '"'), quoted[2], quoted[3].strip()
    name, equals, rest = text.partition("=")
    return name.strip(), equals, rest.strip()


def check_named(text: str) -> Model:
    """The model of `MODEL[:KEY=VALUE,…]`.

    >>> check_named("k_map:k=5,reference=voters").parameters["reference"]
    'voters'

    Raises `SpecError` for an unknown model, an unknown or repeated key, or an invalid value.
    """
    from kanon_sql.models.catalogue import model_named
    from kanon_sql.question.yaml_document import scalar_or_list

    name, colon, rest = text.partition(":")
    model = model_named(name.strip())
    parameters: list[tuple[str, Any]] = []
    for setting in split_at_commas(rest) if colon else ():
        key, equals, value = setting.partition("=")
        key = key.strip().replace("-", "_")
        if not (key and equals and value.strip()):
            raise SpecError(f"--check {text}: {setting.strip()!r} is not KEY=VALUE, as in k=5.")
        parameters.append((key, scalar_or_list(value)))
    refuse_repeated(
        (key for key, _ in parameters), f"--check {text}: {{}} is given twice. Give it once."
    )
    return model(**dict(parameters))


def split_at_commas(text: str) -> Iterator[str]:
    """Split at commas outside quotes and brackets."""
    item, quote, depth = "", "", 0
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
            yield item
            item = ""
            continue
        item += character
    yield item


_OPTIONS = "kanon_sql.options"
"""Attribute of a command's function: its options, until they are built."""
Command = TypeVar("Command", bound=Callable[..., Any])


VERBOSITY = "kanon_sql.verbosity"
"""Key in the context's `meta` of the verbosity."""
QUIET = "kanon_sql.quiet"
"""Key in the context's `meta` of --quiet."""
FORMATS = ("human", "json", "markdown")
PIPELINE_FORMATS = ("junit", "sarif", "github", "openlineage")
"""Machine-readable formats, supported by audit only."""


TO_SIGN = (
    "A page to sign is made of a JSON result (--output result.json): kanon-sql report result.json "
    "--output report.html, which a browser prints as PDF."
)
"""The way to a page of HTML or PDF."""


class OneALine(StringParamType):
    """Text of a repeatable option; its environment variable holds one value per line."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.splitlines()


class Parsed(StringParamType):
    """An option whose text `read` converts; `read` returns None for an invalid one."""

    def __init__(self, read: Callable[[str], Any], expected: str) -> None:
        self._read = read
        self._expected = expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        parsed = self._read(str(value))
        if parsed is None:
            flag = param.opts[0] if param else "the value"
            raise SpecError(f"{flag} must be {self._expected}; found {value!r}.")
        return parsed


def _whole_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"0*[1-9][0-9]*", text) else None


def _decimal(text: str) -> float | None:
    """A number; its range is validated by the model."""
    return float(text) if re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)", text) else None


def _share(text: str) -> float | None:
    share = percentage(text)
    return _decimal(text) if share is None else float(share)


def _seconds(text: str) -> float | None:
    is_number = re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)
    return float(text) if is_number and float(text) > 0 else None


WHOLE_NUMBER = Parsed(_whole_number, "a whole number, 1 or more")
WHOLE_NUMBER_OR_ALL = Parsed(
    lambda text: text if text == "all" else _whole_number(text), "a whole number, 1 or more"
)
DECIMAL = Parsed(_decimal, "a number, as in 0.2")
SHARE = Parsed(_share, "a number or a percentage, as in 0.2 or 20%")
SECONDS = Parsed(_seconds, "a number of seconds above 0")


class Format(StringParamType):
    """One of a command's formats."""

    def __init__(self, formats: Sequence[str]) -> None:
        self.formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.formats:
            return str(value)
        there_are = f"there are {', '.join(self.formats)}"
        if str(value).lower() in ("html", "pdf"):
            raise SpecError(f"there is no format {value!r}; {there_are}. {TO_SIGN}")
        if value in PIPELINE_FORMATS and not {*PIPELINE_FORMATS} & {*self.formats}:
            raise SpecError(f"--format {value} is for an audit; {there_are}.")
        near = did_you_mean(str(value), self.formats)
        raise SpecError(f"there is no format {value!r}; {there_are}.{near}")


# --- the options ----------------------------------------------------------------------------


class QuestionOption(click.Option):
    """An option that is part of the question."""


def declared_option(
    flag: str, *names: str, is_question: bool, **settings: Any
) -> Callable[[Command], Command]:
    """An option with an environment variable: `--memory-limit` is KANON_SQL_MEMORY_LIMIT. `names`
    are other flags for it, each with its variable, and its parameter.

    A flag that means something else in other commands has an `envvar` that names the command, which
    goes before the general one if that is read at all.
    """
    own = settings.pop("envvar", None)
    variables = own or [
        f"{_VARIABLES}{name.removeprefix('--').replace('-', '_').upper()}"
        for name in (flag, *names)
        if name.startswith("--")
    ]
    if is_question and settings.get("multiple"):
        settings["type"] = OneALine()
    kind = QuestionOption if is_question else click.Option
    settings["show_envvar"] = own is not None
    settings["shell_complete"] = completed
    return click.option(flag, *names, cls=kind, envvar=variables, **settings)


def argument(name: str, **settings: Any) -> Callable[[Command], Command]:
    """An argument that a shell completes."""
    return click.argument(name, shell_complete=completed, **settings)


def completed(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """What a shell completes a value to."""
    from kanon_sql.cli.completion import completions

    return completions(context, parameter, incomplete)


def retired(flag: str, instead: str) -> Callable[[Command], Command]:
    """A hidden flag of an earlier release, which is refused with what to do instead."""

    def refuse(_: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            raise SpecError(f"there is no {flag} any more. {instead}")

    return click.option(flag, is_flag=True, hidden=True, expose_value=False, callback=refuse)


def format_option(formats: Sequence[str]) -> Callable[[Command], Command]:
    return declared_option(
        "--format",
        metavar="|".join(formats),
        help="The format of the result.",
        is_question=False,
        type=Format(formats),
        default="human",
        show_default=True,
    )


def read_by(reader: Callable[[str, Iterable[str]], Any], metavar: str) -> dict[str, Any]:
    """Settings of a repeatable option whose texts `reader` reads, together with their flag."""

    def read(_: click.Context, parameter: click.Parameter, texts: Sequence[str] | None) -> Any:
        return reader(parameter.opts[0], texts or ())

    return {"multiple": True, "type": OneALine(), "metavar": metavar, "callback": read}


COLUMNS = read_by(all_column_names, "COL,…")
LEVELS_OF = read_by(parsed_levels, "COL=N,…")
DATES = read_by(parsed_dates, "[COL=]FORMAT")
WEIGHTS_OF = read_by(parsed_weights, "COL=X,…")


_TYPES: dict[str, dict[str, Any]] = {
    "flag": {"is_flag": True},
    "count": {"type": WHOLE_NUMBER, "metavar": "N"},
    "decimal": {"type": DECIMAL},
    "share": {"type": SHARE},
    "columns": COLUMNS,
    "lines": {"type": OneALine(), "multiple": True},
}
"""What the types of `options.toml` are to click."""


@cache
def _table_of_options() -> dict[str, Any]:
    import tomllib

    text = files("kanon_sql.cli").joinpath("options.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def examples_of(command: str) -> str:
    """The examples at the end of a command's help; `\\b` keeps their lines."""
    return f"\b\nExamples:\n{_table_of_options()['examples'][command]}"


def declared(room: str, section: str) -> tuple[Callable[[Command], Command], ...]:
    """The options of a section of `options.toml`, in its room `question` or `run`."""
    rows = _table_of_options()[room][section]
    return tuple(
        _option_of_row(flag, is_question=room == "question", **row) for flag, row in rows.items()
    )


def _option_of_row(
    flag: str,
    *,
    is_question: bool,
    type: str = "",
    parameter: str = "",
    choice: Sequence[str] = (),
    **settings: Any,
) -> Callable[[Command], Command]:
    if choice:
        settings |= {"type": click.Choice(choice), "default": choice[0]}
    if "default" in settings:
        settings = {"show_default": True, **settings}
    names = [parameter] if parameter else []
    settings = _TYPES.get(type, {}) | settings
    return declared_option(flag, *names, is_question=is_question, **settings)


def together(
    *groups: Iterable[Callable[[Command], Command]],
) -> Callable[[Command], Command]:
    """Decorator that gives a command groups of options; `--help` lists them in this order."""

    def decorate(command: Command) -> Command:
        vars(command)[_OPTIONS] = [option for group in groups for option in group]
        return command

    return decorate


_ROOT = Path(__file__).parent.parent
_END = re.compile(r"^(?=    def |    @|\S)", re.MULTILINE)
_LISTS = {
    "ColumnNames": COLUMNS,
    "SensitiveNames": COLUMNS,
    "tuple[str, ...]": COLUMNS,
    "dict[str, Annotated[int, Field(ge=0)]]": LEVELS_OF,
    "Mapping[str, int]": LEVELS_OF,
    "Mapping[str, float]": WEIGHTS_OF,
}


class Field(NamedTuple):
    """A field as the source of its model declares it."""

    annotation: str
    """Without `| None`."""
    default: Any
    text: str

    @property
    def sentence(self) -> str:
        """The first paragraph; what follows it is about spec files."""
        return " ".join(self.text.partition("\n\n")[0].split())

    @property
    def settings(self) -> dict[str, Any]:
        """Type and metavar, as click has them."""
        is_choice = self.annotation.startswith("Literal[")
        choices = re.findall(r"""["'](.+?)["']""", self.annotation) if is_choice else []
        match self.annotation:
            case "bool" if self.default is False:
                return {"is_flag": True}
            case "bool":
                return {"type": click.Choice(["yes", "no"])}
            case "int" | "Count" | "FirstRecords":
                return {"type": WHOLE_NUMBER, "metavar": "N"}
            case "float":
                return {"type": SECONDS, "metavar": "SECONDS"}
        return {"type": click.Choice(choices)} if is_choice else _LISTS.get(self.annotation, {})


@dataclass(frozen=True)
class Fields:
    """The fields of a model, and the options built from them."""

    file: str
    model: str
    is_question: bool = True
    """Whether they are part of the question, whose defaults are the model's alone."""

    @cached_property
    def _source(self) -> str:
        return (_ROOT / self.file).read_text(encoding="utf-8")

    @cached_property
    def _statements(self) -> dict[str, tuple[ast.AnnAssign, ast.stmt]]:
        """Each field with the statement below it."""
        body = self._source.partition(f"\nclass {self.model}")[2].partition(":\n")[2]
        own = _END.split(body, maxsplit=1)[0]
        [block] = ast.parse(f"class Fields:\n{own}\n    ...").body
        assert isinstance(block, ast.ClassDef)
        return {
            ast.unparse(node.target): (node, below)
            for node, below in pairwise(block.body)
            if isinstance(node, ast.AnnAssign)
        }

    def __getitem__(self, name: str) -> Field:
        declared, below = self._statements[name]
        default = None
        with suppress(ValueError):
            value = declared.value and self._constant(declared.value)
            default = value and ast.literal_eval(value)
        return Field(
            self._constant(declared.annotation).removesuffix(" | None"),
            default,
            cleandoc(ast.literal_eval(below.value)) if isinstance(below, ast.Expr) else "",
        )

    def _constant(self, declared: ast.expr) -> str:
        """An expression, or what its name stands for in the model's file."""
        text = ast.unparse(declared)
        constant = self._source.partition(f"\n{text} = ")[2].partition("\n")[0]
        return constant or text

    def option(
        self, name: str, *flags: str, ends: str = ".", **settings: Any
    ) -> Callable[[Command], Command]:
        """The option of a field, by default with its name as flag; `ends` ends its sentence."""

        def decorate(command: Command) -> Command:
            field = self[name]
            declared = field.settings | {"help": field.sentence.removesuffix(".") + ends}
            if not self.is_question and isinstance(field.default, str | int | float):
                declared |= {"default": field.default, "show_default": bool(field.default)}
            named = flags or (f"--{name.replace('_', '-')}",)
            parameter = () if named[-1].isidentifier() else (name,)
            make = declared_option(
                *named, *parameter, is_question=self.is_question, **declared | settings
            )
            return make(command)

        return decorate
