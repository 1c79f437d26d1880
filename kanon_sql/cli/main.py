"""The entry point of the command line; heavy imports are deferred until use.

Results go to stdout, everything else to stderr. Exit codes: 0 no requirement fails, 1 a check is
violated, 2 a bad question or input, 3 the engine failed, 4 no data, 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from kanon_sql.cli.command_record import ARGUMENTS
from kanon_sql.cli.option_kinds import VERBOSITY, Optioned, PrintsHelp
from kanon_sql.cli.output import ENGINE_FAILED, Failure, deliver
from kanon_sql.cli.signals import INTERRUPTED, end_process, stops
from kanon_sql.cli.streams import make_readable, tell
from kanon_sql.errors import KanonError, did_you_mean, with_flags, without_control

Result = TypeVar("Result")


class _Clock:
    """The start of the wait: process start for the first command, otherwise the call."""

    def __init__(self) -> None:
        # Process start, approximately: until here the process has used only CPU time.
        self._process: float | None = time.monotonic() - time.process_time()
        self._began = self._process

    def begin(self, now: float) -> None:
        self._began, self._process = self._process or now, None

    def timed(self, result: Result) -> Result:
        """The result with the first table's `seconds` set to the total minus the other tables'.

        Tables audited at the same time took more than the total, and keep their seconds.
        """
        untyped: Any = result
        if not untyped.tables:
            return result
        first, *others = untyped.tables
        waited = time.monotonic() - (self._began or 0) - sum(other.seconds for other in others)
        timed: Result = replace(
            untyped, tables=(replace(first, seconds=max(waited, first.seconds)), *others)
        )
        return timed


CLOCK = _Clock()


COMMANDS = {
    "commands": (
        *("audit", "tables", "compile", "validate", "baseline", "worksheet"),
        *("profile", "init", "hierarchy", "explore", "mcp"),
    ),
    "releases": ("anonymize", "tradeoff"),
    "manual": ("schema", "explain", "policy", "dbt-package", "demo", "diff", "report", "lineage"),
}
"""Commands by module, which is imported on demand."""


class HelpGroup(PrintsHelp, click.Group):
    """A group of commands."""


class CommandLine(HelpGroup):
    """A group whose commands return exit codes, with uniform error output."""

    command_class = Optioned
    group_class = HelpGroup

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(name for names in COMMANDS.values() for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for room, names in COMMANDS.items():
            if cmd_name in names:
                import_module(f"kanon_sql.cli.{room}")
        return super().get_command(ctx, cmd_name)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        CLOCK.begin(time.monotonic())
        make_readable()
        is_process = args is None and standalone_mode
        if is_process:
            # Commands create hardly any reference cycles, so collect garbage rarely: while the
            # modules are imported, one collection takes 40 ms.
            gc.set_threshold(1_000_000)
            # Pydantic plugins must not affect parsing, and searching for them reads every installed
            # package's metadata.
            os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with stops.handling():
            try:
                stops.code = _exit_code_of(run, sys.argv[1:] if args is None else args)
            except KeyboardInterrupt:
                # A second signal, during the message about the first.
                stops.code = INTERRUPTED
        if is_process:
            end_process(stops.code)
        return sys.exit(stops.code)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        arguments = tuple(args)
        try:
            context = super().make_context(info_name, args, parent, **extra)
        except KanonError as error:
            raise _failure(error) from error
        context.meta[ARGUMENTS] = arguments
        return context

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (Failure, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if ctx.meta.get(VERBOSITY, 0) > 1:
                traceback.print_exc()
            raise _failure(error) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            near = did_you_mean(args[0], known)
            is_file = Path(args[0]).is_file()
            if is_file and Path(args[0]).suffix in (".yml", ".yaml"):
                near = f" To audit by a spec: kanon-sql audit {args[0]}."
            elif is_file or (not near and (Path(args[0]).exists() or Path(args[0]).suffix)):
                near = (
                    f" To look at a table: kanon-sql profile {args[0]}. To check it: kanon-sql "
                    f"audit {args[0]} --qi COLUMN,COLUMN."
                )
            raise click.UsageError(f'there is no command "{args[0]}".{near}', ctx)
        return super().resolve_command(ctx, args)


def _exit_code_of(run: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command and return its exit code, after printing any error."""
    try:
        code = int(run() or 0)
        # A callback from C may swallow the interrupt.
        return INTERRUPTED if stops.interrupted and stops.code is None else code
    except Failure as failure:
        if stops.interrupted and stops.code is None:
            tell("Interrupted; nothing was written.")
            return INTERRUPTED
        print_error(f"{failure}{_variables_behind(str(failure), arguments)}")
        return failure.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            # The nearest alone: --quasi-identifier is not meant as --identifiers.
            options = error.ctx.command.params if error.ctx else ()
            shown = (option for option in options if not getattr(option, "hidden", False))
            near = _as_model(error.option_name) or did_you_mean(
                error.option_name, [name for option in shown for name in option.opts]
            )
            print_error(f"there is no option {error.option_name}.{near}")
        else:
            message = error.format_message()
            print_error(f"{message}{_variables_behind(message, arguments)}")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            tell(f"{error.ctx.command_path} --help shows how to use it.")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        if stops.code is not None:
            return stops.code
        notes = getattr(error.__cause__, "__notes__", [])
        tell(" ".join(["Interrupted; nothing was written.", *notes]))
        return INTERRUPTED


def _as_model(flag: str) -> str:
    """How a model is asked that was taken for an option; "" for any other."""
    from kanon_sql.models.catalogue import ALL_MODELS

    model = ALL_MODELS.get(flag.removeprefix("--").replace("-", "_"))
    return f" The model is asked as {model.asked_as}." if model else ""


def _variables_behind(message: str, arguments: Sequence[str]) -> str:
    """A sentence for each environment variable that sets an option of the message."""
    flags = set(re.findall(r"--[a-z][a-z-]*", message)) - {
        argument.split("=")[0] for argument in arguments
    }
    names = {flag: f"KANON_SQL_{flag[2:].replace('-', '_').upper()}" for flag in sorted(flags)}
    return "".join(f" {name} sets {flag}." for flag, name in names.items() if os.environ.get(name))


def _failure(error: Exception) -> Failure:
    """The error message. An unexpected exception's own is withheld, as it may contain data."""
    if isinstance(error, KanonError):
        return Failure(with_flags(str(error)), error.exit_code)
    if isinstance(error, RecursionError):
        return Failure(
            "an option or the spec is nested too deeply to be read. Use fewer levels.", 2
        )
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return Failure(f"{str(error.filename)[:60]}…: a file can't have so long a name.", 2)
    kind = type(error).__name__
    return Failure(
        f"something unforeseen went wrong ({kind}). -vv shows where, and may show values.",
        ENGINE_FAILED,
    )


def print_error(message: str) -> None:
    tell(f"{click.style('error: ', fg='red', bold=True)}{without_control(message)}")


@click.group(
    cls=CommandLine,
    name="kanon-sql",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each option of a command can also be set by an environment variable, as in "
    "KANON_SQL_MEMORY_LIMIT=2GB, or by the one that its help names; a repeatable option takes one "
    "value per line.\n\nTo complete files, names and columns in the shell: "
    'eval "$(_KANON_SQL_COMPLETE=bash_source kanon-sql)", or zsh_source, '
    "fish_source.",
)
@click.version_option(package_name="kanon-sql", prog_name="kanon-sql")
@click.pass_context
def main(context: click.Context, /) -> None:
    """Audit the privacy of a table where it lies, by SQL.

    To try it: kanon-sql demo.
    """
    if context.invoked_subcommand is None:
        deliver(context.get_help(), None)
