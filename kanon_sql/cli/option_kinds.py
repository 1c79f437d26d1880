"""Option types, and the decorators that declare options with environment variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from click.types import FloatParamType, IntParamType, StringParamType

from kanon_sql.errors import SpecError, did_you_mean, percentage

Command = TypeVar("Command", bound=Callable[..., Any])


VERBOSITY = "kanon_sql.verbosity"
"""Key in the context's `meta` of the verbosity."""
QUIET = "kanon_sql.quiet"
"""Key in the context's `meta` of --quiet."""
FORMATS = ("human", "json", "markdown")
PIPELINE_FORMATS = ("junit", "sarif", "github", "openlineage")
"""Machine-readable formats, supported by audit only."""


class OneALine(StringParamType):
    """Text of a repeatable option; its environment variable holds one value per line."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return rv.splitlines()


class WholeNumber(IntParamType):
    """An integer of 1 or more."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if re.fullmatch(r"0*[1-9][0-9]*", str(value)):
            return int(value)
        raise SpecError(f"{_flag(param)} must be a whole number, 1 or more; found {value!r}.")


class WholeNumberOrAll(WholeNumber):
    """An integer of 1 or more, or "all"."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return "all" if value == "all" else super().convert(value, param, ctx)


class Decimal(FloatParamType):
    """A number; its range is validated by the model."""

    example = "a number, as in 0.2"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = self.read(value)
        if number is None:
            raise SpecError(f"{_flag(param)} must be {self.example}; found {value!r}.")
        return number

    def read(self, value: Any) -> float | None:
        """The number; None if the text is none."""
        is_number = re.fullmatch(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)", str(value))
        return float(value) if is_number else None


class Share(Decimal):
    """A number or a percentage; its range is validated by the model."""

    example = "a number or a percentage, as in 0.2 or 20%"

    def read(self, value: Any) -> float | None:
        number, share = super().read(value), percentage(value)
        return number if number is not None or share is None else float(share)


class Seconds(FloatParamType):
    """A positive number of seconds."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(value)) and float(value) > 0:
            return float(value)
        raise SpecError(f"{_flag(param)} must be a number of seconds above 0; found {value!r}.")


class Format(StringParamType):
    """One of a command's formats."""

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
    """An option that is part of the question."""


def _option(
    flag: str, *names: str, cls: type[click.Option], **settings: Any
) -> Callable[[Command], Command]:
    """An option with an environment variable: `--memory-limit` is KANON_SQL_MEMORY_LIMIT. `names`
    are other flags for it, and its parameter."""
    variable = f"KANON_SQL_{flag.removeprefix('--').replace('-', '_').upper()}"
    return click.option(flag, *names, cls=cls, envvar=variable, **settings)


def question_option(flag: str, *names: str, **settings: Any) -> Callable[[Command], Command]:
    if settings.get("multiple"):
        settings["type"] = OneALine()
    return _option(flag, *names, cls=QuestionOption, **settings)


def run_option(flag: str, *parameter: str, **settings: Any) -> Callable[[Command], Command]:
    return _option(flag, *parameter, cls=click.Option, **settings)


def retired(flag: str, instead: str) -> Callable[[Command], Command]:
    """A hidden flag of an earlier release, which is refused with what to do instead."""

    def refuse(_: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            raise SpecError(f"there is no {flag} any more. {instead}")

    return click.option(flag, is_flag=True, hidden=True, expose_value=False, callback=refuse)


def format_option(formats: Sequence[str]) -> Callable[[Command], Command]:
    return run_option(
        "--format",
        type=Format(formats),
        metavar="|".join(formats),
        default="human",
        show_default=True,
        help="The format of the result.",
    )


COLUMNS: dict[str, Any] = {"multiple": True, "metavar": "COL,…"}
"""Settings of an option that lists columns."""


def together(
    *groups: Iterable[Callable[[Command], Command]],
) -> Callable[[Command], Command]:
    """Combine groups of options into one decorator; `--help` lists them in this order."""

    def decorate(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(tuple(group)):
                command = option(command)
        return command

    return decorate
