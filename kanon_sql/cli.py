"""The command line. It parses, calls, prints and exits; whatever is heavy is imported when used.

Results go to stdout, everything else to stderr. Exit codes: 0 nothing demanded fails, 1 a check
is violated, 2 a bad question or input, 3 the engine failed, 4 no data, 130 interrupted.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from kanon_sql.errors import KanonError, SpecError, did_you_mean, plural
from kanon_sql.options import (
    PIPELINE_FORMATS,
    VERBOSITY,
    anonymize_options,
    are_results,
    attacker_knows,
    audit_options,
    baseline_options,
    compile_options,
    demo_options,
    diff_options,
    is_spec_file,
    profile_options,
    profile_question,
    question,
    selected,
    validate_options,
)

if TYPE_CHECKING:
    from kanon_sql.anonymization_result import GeneralizationStep
    from kanon_sql.baseline import Baseline
    from kanon_sql.compiler import CompiledAudit
    from kanon_sql.diff import Diff
    from kanon_sql.profile_result import ProfileResult
    from kanon_sql.report.document import Block
    from kanon_sql.result import AuditResult
    from kanon_sql.session import Watch
    from kanon_sql.spec import AuditSpec, TablePlaces
    from kanon_sql.steps import ExpectedTable

ENGINE_FAILED = 3
NO_DATA = 4
INTERRUPTED = 130
CONSOLE = "kanon_sql.console"
"""Where a command's context keeps the terminal that a spinner turns on."""
_LATER = ("report", "init")


Told = TypeVar("Told")


class _Clock:
    """Since when people have waited: since the process began, for its first command."""

    def __init__(self) -> None:
        # Until here it has only computed.
        self._process: float | None = time.monotonic() - time.process_time()
        self._began = self._process

    def begin(self, now: float) -> None:
        self._began, self._process = self._process or now, None

    def told(self, result: Told) -> Told:
        """The result, whose first table took what no other did."""
        whole: Any = result
        if not whole.tables:
            return result
        first, *others = whole.tables
        waited = time.monotonic() - (self._began or 0) - sum(each.seconds for each in others)
        told: Told = replace(whole, tables=(replace(first, seconds=waited), *others))
        return told


_CLOCK = _Clock()


class Failure(Exception):
    """An error as the user sees it: one message and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class _Stops:
    """Hears the signals that end a process. Stopped by a supervisor or by a terminal that closes,
    an audit cleans up after itself as it does after Ctrl-C; under nohup it goes on.

    Once a file is in place it ends with what was decided.
    """

    def __init__(self) -> None:
        self.came = False
        self.code: int | None = None
        """What the process ends with, once that is decided."""
        self._is_over = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """From now on; afterwards a signal ends what is left of the process at once."""
        self.came, self.code, self._is_over = False, None, False
        if output := sys.modules.get("kanon_sql.output"):
            output.placed.clear()
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                stop = getattr(signal, name, None)
                if stop is not None and signal.getsignal(stop) in (signal.SIG_DFL, self._hear):
                    signal.signal(stop, self._hear)
                    # As it ends, Python has every signal kill that it still hears.
                    atexit.register(signal.signal, stop, signal.SIG_IGN)
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._hear)
        try:
            yield
        finally:
            self._is_over = True
            # An interrupt that came while some text was executed, as when a dataclass is made,
            # would have Python kill itself in the end, whoever caught it; the next text forgets it.
            exec("")
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, before)

    def _hear(self, number: int, _: object) -> None:
        if self._is_over:
            os._exit(INTERRUPTED if self.code is None else self.code)
        if self.wrote and self.code is None:
            return
        is_again, self.came = self.came, True
        # A supervisor says it twice, and what cleans up is not to be stopped by that.
        if not is_again or number == signal.SIGINT:
            raise KeyboardInterrupt

    @property
    def wrote(self) -> bool:
        """Whether a file is in place."""
        # It may just be on its way in.
        return bool(getattr(sys.modules.get("kanon_sql.output"), "placed", None))


_stops = _Stops()


class CommandLine(click.Group):
    """A group whose commands return their exit code and whose errors all look alike."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        _CLOCK.begin(time.monotonic())
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with _stops.heard():
            _stops.code = _exit_code_of(run)
        return sys.exit(_stops.code)

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
            raise click.UsageError(
                f'there is no command "{args[0]}".{did_you_mean(args[0], known)}', ctx
            )
        return super().resolve_command(ctx, args)


def _exit_code_of(run: Callable[[], Any]) -> int:
    """What the command ends with, after saying what went wrong, if anything did."""
    try:
        code = int(run() or 0)
        # What calls back from C may lose an interrupt.
        return INTERRUPTED if _stops.came and _stops.code is None else code
    except Failure as failure:
        if _stops.came and _stops.code is None:
            click.echo("Interrupted; nothing was written.", err=True)
            return INTERRUPTED
        _say_error(str(failure))
        return failure.exit_code
    except click.ClickException as error:
        _say_error(error.format_message())
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(f"{error.ctx.command_path} --help tells how it is used.", err=True)
        return error.exit_code
    except click.Abort as error:
        if _stops.code is not None:
            return _stops.code
        notes = getattr(error.__cause__, "__notes__", [])
        click.echo(" ".join(["Interrupted; nothing was written.", *notes]), err=True)
        return INTERRUPTED


def _failure(error: Exception) -> Failure:
    """The error in words. One that nobody foresaw keeps its own: they could hold data."""
    if isinstance(error, KanonError):
        return Failure(str(error), error.exit_code)
    if isinstance(error, RecursionError):
        return Failure(
            "a part of the question is nested too deeply to be read. Write it with fewer levels.", 2
        )
    kind = type(error).__name__
    return Failure(
        f"something unforeseen went wrong ({kind}). -vv shows where, and may show values.",
        ENGINE_FAILED,
    )


def _say_error(message: str) -> None:
    click.secho("error: ", fg="red", bold=True, nl=False, err=True)
    click.echo(message, err=True)


@click.group(
    cls=CommandLine,
    name="kanon-sql",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every option of a command can be set by its environment variable, as in "
    "KANON_SQL_MEMORY_LIMIT=2GB; one that may be repeated has a value a line.",
)
@click.version_option(package_name="kanon-sql", prog_name="kanon-sql")
@click.pass_context
def main(context: click.Context, /) -> None:
    """Audit the privacy of a table where it lies, by SQL.

    Begin with kanon-sql demo.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _only_one(_: click.Context, __: click.Parameter, targets: Sequence[str]) -> str:
    """The one target; several are most likely a glob that the shell has taken apart."""
    if len(targets) > 1:
        raise SpecError(
            f"there are {len(targets)} targets ({targets[0]}, {targets[1]}, …). Quote a glob, so "
            "that all its files are read as one table: 'data/*.parquet'."
        )
    return targets[0]


def _at_most_one(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> str | None:
    return _only_one(context, parameter, targets) if targets else None


def _one_or_specs(
    context: click.Context, parameter: click.Parameter, targets: Sequence[str]
) -> Sequence[str]:
    """One target or several spec files, which a pre-commit hook passes in one go."""
    if all(map(is_spec_file, targets)):
        return targets
    return [_only_one(context, parameter, targets)]


@main.command()
@click.argument("target", nargs=-1, callback=_at_most_one)
@audit_options
@click.pass_context
def audit(context: click.Context, /, target: str | None, **values: Any) -> int:
    """Check which privacy models hold.

    TARGET is a file or glob (.parquet .csv .tsv .json .arrow), a table (with --connect), or a
    spec file (.yml); with --manifest there is none. Without a threshold the audit measures what
    the table has.

    Exit codes: 0 every check holds, or nothing was demanded; 1 a check is violated; 2 a bad
    question or input; 3 the engine failed; 4 no data; 130 interrupted.
    """
    if values["manifest"]:
        chosen = selected(context, target, values)
        spec, places = chosen.spec, chosen.places
        if spec is None:
            _say_error(chosen.reason)
    else:
        chosen, spec = None, question(context, _required(target), values)
        places = spec.places()
    baseline = _baseline(values)
    output = _output(context, spec, values)
    if values["dry_run"]:
        from kanon_sql.auditor import dry_run

        _refuse_format(context)
        tables = dry_run(spec, writes=_files(output)) if spec else ()
        _deliver(_expected(tables, to_terminal=output is None), output)
        return 0 if spec else NO_DATA
    with _watching(context) as watch:
        result = _CLOCK.told(_audit_of(spec, watch, values, _files(output)))
    if chosen:
        result = result.noted(chosen.notes)
    if baseline:
        result = baseline.held_against(result, values["by"])
    form = _form(context, values, output, {".sarif": "sarif", ".xml": "junit"})
    found = result.status.replace("_", " ")
    if form in PIPELINE_FORMATS:
        _deliver(_for_pipeline(result, places, form), output, found)
        _refuse_failed(result)
        return result.exit_code
    _refuse_failed(result)
    _deliver(_rendered(result, result.page(), form, to_terminal=output is None), output, found)
    return result.exit_code


def _refuse_format(context: click.Context) -> None:
    """Raise if a format is asked for where there is no result."""
    if context.get_parameter_source("format") is not click.core.ParameterSource.DEFAULT:
        raise SpecError(
            "--dry-run has no result yet, and so no --format: it is text for people. Leave out one "
            "of the two."
        )


def _expected(tables: Sequence[ExpectedTable], *, to_terminal: bool) -> str:
    """What would run, as text for people."""
    from kanon_sql.report import dry_run, terminal

    return terminal.write(dry_run.page(tables), **_terminal(to_terminal))


def _required(target: str | None) -> str:
    if target is None:
        raise SpecError("name what to audit: a file, a table, a spec file, or --manifest FILE.")
    return target


def _audit_of(
    spec: AuditSpec | None, watch: Watch, values: dict[str, Any], writes: Sequence[Path]
) -> AuditResult:
    """The audit of a spec; of none where nothing was selected."""
    if spec is None:
        from kanon_sql.result import AuditResult
        from kanon_sql.version import VERSION

        return AuditResult((), VERSION)
    from kanon_sql.auditor import audit as run

    return run(spec, watch=watch, writes=writes, **_limits(values))


def _baseline(values: dict[str, Any]) -> Baseline | None:
    """The baseline that is asked for, read before anything runs."""
    if not values["baseline"]:
        return None
    from kanon_sql.baseline import Baseline

    return Baseline.read(Path(values["baseline"]))


def _for_pipeline(result: AuditResult, places: tuple[TablePlaces, ...], form: str) -> str:
    """The result as a pipeline reads it; a table on which the engine failed is told in it too."""
    from kanon_sql.report import github, junit, sarif

    render = {"junit": junit.render, "sarif": sarif.render, "github": github.render}[form]
    return render(result, places)


@main.command()
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@anonymize_options
@click.pass_context
def anonymize(
    context: click.Context,
    /,
    target: str,
    algorithm: Any,
    max_suppressed: str | None,
    suppressed: Any,
    pull_frequencies: bool,
    dialect: str | None,
    emit: Any,
    view_name: str | None,
    single_view: bool,
    keep_order: bool,
    untouched: Any,
    **values: Any,
) -> int:
    """Generalise and suppress until the demands hold.

    TARGET is as for audit. A quasi-identifier without a hierarchy can only be suppressed. The
    release is audited again; what fails is not written.

    Exit codes: 0 the release holds; 1 no levels will do, or the release fails; 2 a bad question
    or input; 3 the engine failed; 4 no data; 130 interrupted.
    """
    from kanon_sql.anonymizer import Wanted, dry_run
    from kanon_sql.anonymizer import anonymize as run

    spec = question(context, target, values)
    result_file = _result_file(context, values["result"], spec.files(), values)
    wanted = Wanted(
        algorithm=algorithm,
        max_suppressed=max_suppressed,
        suppressed=suppressed,
        pull_frequencies=pull_frequencies,
        output=_writable(values["output"], spec.files(), values),
        dialect=dialect,
        emit=emit,
        view_name=view_name,
        single_view=single_view,
        keep_order=keep_order,
        untouched=untouched,
        force=values["force"],
    )
    if wanted.output is not None and wanted.output == result_file:
        raise SpecError("--output and --result name the same file. Give each its own.")
    if values["dry_run"]:
        _refuse_format(context)
        if result_file is not None:
            raise SpecError(
                "--dry-run has no result yet, and so no --result. Leave out one of the two."
            )
        _deliver(_expected([dry_run(spec, wanted)], to_terminal=True), None)
        return 0
    with _watching(context) as watch, _telling(context) as tell:
        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        writes = _files(result_file)
        result = _CLOCK.told(run(spec, wanted, watch=watch, tell=tell, writes=writes, **limits))
    if result.anonymization.release:
        _stops.code = result.exit_code
    form = _form(context, values, result_file)
    to_terminal = result_file is None
    text = _rendered(result, result.page(), form, to_terminal=to_terminal)
    release = result.anonymization.release
    if result_file and release:
        _say_written(Path(release.path))
    _deliver(text, result_file, result.status.replace("_", " "))
    return result.exit_code


@main.command()
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@profile_options
@click.pass_context
def profile(context: click.Context, /, target: str, **values: Any) -> int:
    """See what someone finds who knows one column more.

    TARGET is as for audit; of a spec file the checks are not asked. For each column: how many
    records are alone once it is known beside the quasi-identifiers. For each quasi-identifier:
    what it costs, and how much of that is due to outliers. For each sensitive attribute: how
    sure one is after ruling out other values. No value is shown.

    Exit codes: 0 measured; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    spec = profile_question(context, target, values)
    output = _output(context, spec, values)
    with _watching(context) as watch:
        from kanon_sql.profiler import profile as run

        limits = {key: values[key] for key in ("k", "memory_limit", "threads", "timeout")}
        limits |= {"watch": watch, "writes": _files(output)}
        result = _CLOCK.told(run(spec, attacker_knows=attacker_knows(values), **limits))
    _refuse_failed(result)
    form = _form(context, values, output)
    to_terminal = output is None
    text = _rendered(result, result.page(), form, to_terminal=to_terminal)
    _deliver(text, output)
    return result.exit_code


@main.command(name="compile")
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@compile_options
@click.pass_context
def compile_(
    context: click.Context, /, target: str, step: str | None, output_dir: str | None, **values: Any
) -> int:
    """Print the SQL of an audit and run none of it.

    Takes the options of audit, so that one word turns an audit into its SQL; what bounds a run
    has nothing to bound here. In another dialect than that of what is opened, a file stands for
    the table that is called after it. The name of a table needs no connection then.
    """
    spec = question(context, target, values)
    if output_dir and values["output"]:
        raise SpecError("--output is one file and --output-dir a folder; choose one.")
    output = _output(context, spec, values)
    from kanon_sql.compiler import compile as compile_audit

    how = {key: values[key] for key in ("dialect", "quote", "table")}
    written = sorted(Path(output_dir).rglob("*.sql")) if output_dir else _files(output)
    compiled = compile_audit(spec, **how, writes=written)
    compiled = _only_step(compiled, step) if step else compiled
    found = plural(len(compiled.statements), "statement")
    if output_dir:
        from kanon_sql.output import write_files

        folder = Path(output_dir)
        write_files(folder, compiled.files, inputs=spec.files(), force=values["force"])
        _say_written(folder, found)
    else:
        _deliver("\n\n".join(compiled.statements) if step else str(compiled), output, found)
    return 0


@main.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET", callback=_one_or_specs)
@validate_options
@click.pass_context
def validate(context: click.Context, /, targets: Sequence[str], **values: Any) -> int:
    """Open the tables, and see that the whole question fits.

    That is its columns, its checks, and its hierarchies, which must have every value of the
    table. TARGET is as for audit; spec files may be several.
    """
    specs = [question(context, target, values) for target in targets]
    from kanon_sql.auditor import validate as look

    _deliver("\n".join(sentence for spec in specs for sentence in look(spec)), None)
    return 0


@main.command()
@click.argument("targets", nargs=-1, required=True, metavar="RESULT.json…|TARGET")
@baseline_options
@click.pass_context
def baseline(context: click.Context, /, targets: Sequence[str], **values: Any) -> int:
    """Write down what is accepted today.

    Takes results that audit wrote as JSON, or a TARGET with the options of audit, which is then
    audited. With audit --baseline FILE a check that is violated in them stays accepted until it
    gets worse; one that holds in them must still hold.

    Exit codes: 0 written, whatever is violated; 2 a bad question or input, or nothing to accept;
    3 the engine failed; 4 no data.
    """
    from kanon_sql.baseline import Baseline

    if are_results(context, targets, values):
        from kanon_sql.result_file import read_result

        output = _result_file(context, values["output"], targets, values)
        results = [read_result(Path(target)).result for target in targets]
    else:
        target = _only_one(context, context.command.params[0], targets)
        spec = question(context, target, values)
        output = _output(context, spec, values)
        result = _audited(context, spec, values, output)
        if result.status == "no_data":
            raise Failure("a table has no data, so there is nothing to accept.", result.exit_code)
        results = [result]
    accepted = Baseline.of(results)
    _deliver(accepted.to_json(), output, str(accepted))
    return 0


def _audited(
    context: click.Context, spec: AuditSpec, values: dict[str, Any], output: Path | None
) -> AuditResult:
    with _watching(context) as watch:
        from kanon_sql.auditor import audit as run

        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        result = run(spec, watch=watch, writes=_files(output), **limits)
    _refuse_failed(result)
    return result


@main.command()
@click.argument("old", metavar="OLD.json")
@click.argument("new", metavar="NEW.json")
@diff_options
@click.pass_context
def diff(context: click.Context, /, old: str, new: str, **values: Any) -> int:
    """Say what changed from one result to the next.

    OLD.json and NEW.json are results that audit or anonymize wrote as JSON. Told are the checks,
    sizes and risks that got better or worse, and the tables that appeared or vanished. That
    several releases are about the same people is a risk of its own, which is not measured.

    Exit codes: 0 compared; 1 with --fail-on-worse, where anything got worse or is not asked any
    more; 2 a bad input.
    """
    from kanon_sql.diff import diff as compare
    from kanon_sql.report import diff as report
    from kanon_sql.result_file import read_result

    output = _result_file(context, values["output"], (old, new), values)
    result = compare(read_result(Path(old)), read_result(Path(new)), values["by"])
    form = _form(context, values, output)
    to_terminal = output is None
    text = _rendered(result, report.page(result), form, to_terminal=to_terminal)
    _deliver(text, output)
    return int(values["fail_on_worse"] and result.is_worse)


@main.command()
def schema() -> int:
    """Print the JSON Schema of a spec file, for editors."""
    import json

    from kanon_sql.spec import json_schema

    _deliver(json.dumps(json_schema(), indent=2, ensure_ascii=False), None)
    return 0


@main.command()
@click.argument("name", required=False)
def explain(name: str | None) -> int:
    """Say what a model, a metric or an algorithm means, and how people are counted.

    With an example, its formula and its paper. NAME is as in l_diversity, precision, datafly or
    entities, which says how people are counted, or values, which says what counts as one value.
    Without it, list them.
    """
    from kanon_sql.explain import explained

    _deliver(explained(name), None)
    return 0


@main.command(name="dbt-package")
def dbt_package() -> int:
    """Print the folder of the dbt package, for packages.yml.

    The package is called kanon_sql. It lies inside the installed kanon-sql, so that dbt runs the
    macros of the version that is installed.
    """
    from kanon_sql.templates import folder

    _deliver(str(folder()), None)
    return 0


@main.command()
@click.argument("folder", default="kanon-demo")
@click.option("--force", is_flag=True, help="Write into a folder that holds files.")
@demo_options
@click.pass_context
def demo(context: click.Context, /, folder: str, force: bool) -> int:
    """Write made-up data with a spec into FOLDER, and audit it.

    FOLDER is kanon-demo if none is named. The data are patients and a voter list with their
    names; nobody in them exists.
    """
    from kanon_sql import demo as example

    path = Path(folder)
    example.write(path, force=force)
    with _watching(context) as watch:
        from kanon_sql.auditor import audit as run
        from kanon_sql.spec import AuditSpec

        result = run(AuditSpec.from_file(path / example.SPEC), watch=watch)
    next_steps = example.what_next(path, example.own_command())
    _deliver(f"{_rendered(result, result.page(), 'human')}\n\n{next_steps}", None)
    return 0


def _comes_later(name: str) -> click.Command:
    """A command that is promised: it says so, and ends as a question that can't be asked."""

    def refuse(arguments: Sequence[str]) -> None:
        raise SpecError(f"kanon-sql {name} comes in a later release.")

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
        hidden=True,
    )


for _name in _LATER:
    main.add_command(_comes_later(_name))


def _limits(values: dict[str, Any]) -> dict[str, Any]:
    """What bounds a run, as `audit` takes it."""
    return {key: values[key] for key in ("show_values", "memory_limit", "threads", "timeout")}


def _output(context: click.Context, spec: AuditSpec | None, values: dict[str, Any]) -> Path | None:
    """The file to write the result to: none that the audit, its baseline or its manifest is."""
    beside = (values.get("baseline"), values.get("manifest"))
    inputs = [*(spec.files() if spec else ()), *(each for each in beside if each)]
    return _result_file(context, values["output"], inputs, values)


def _files(output: Path | None) -> list[Path]:
    """The files that a command writes in the end, which nothing that it reads may be."""
    return [output] if output is not None else []


def _form(
    context: click.Context,
    values: dict[str, Any],
    output: Path | None,
    more: Mapping[str, str] | None = None,
) -> str:
    """How the result is written: as asked, else as the name of the file says, of which a command
    may know `more`."""
    asked = context.get_parameter_source("format")
    by_suffix = {".json": "json", ".md": "markdown", **(more or {})}
    if output is None or asked is not click.core.ParameterSource.DEFAULT:
        return str(values["format"])
    return by_suffix.get(output.suffix.lower(), str(values["format"]))


_ENDINGS = {
    "audit": (".json", ".md", ".sarif", ".xml", ".txt"),
    "anonymize": (".json", ".md", ".txt"),
    "profile": (".json", ".md", ".txt"),
    "diff": (".json", ".md", ".txt"),
    "compile": (".sql", ".txt"),
    "baseline": (".json",),
}
"""By command, what the name of a result may end with: what is written is what that promises."""


def _result_file(
    context: click.Context, name: str | None, inputs: Iterable[str], values: dict[str, Any]
) -> Path | None:
    """A file to write a result to. Raises `SpecError` for an ending that promises something else,
    unless a format was asked for; a name without one, or a pipe, promises nothing."""
    path = _writable(name, inputs, values)
    if path is None or not path.suffix or (path.exists() and not path.is_file()):
        return path
    asked = context.get_parameter_source("format")
    if "format" in values and asked is not click.core.ParameterSource.DEFAULT:
        return path
    command = context.command.name or ""
    is_for_people = command == "audit" and values["dry_run"]
    endings = (".txt",) if is_for_people else _ENDINGS[command]
    if path.suffix.lower() not in endings:
        has_forms = "format" in values and not is_for_people
        or_format = ", or say with --format what to write" if has_forms else ""
        raise SpecError(
            f"{path}: nothing is written in the form of {path.suffix} here. Name a file that ends "
            f"with {_one_of(endings)}{or_format}."
        )
    return path


def _one_of(endings: Sequence[str]) -> str:
    *first, last = endings
    return " or ".join([", ".join(first), last] if first else [last])


def _writable(name: str | None, inputs: Iterable[str], values: dict[str, Any]) -> Path | None:
    """A file to write, once it is sure that it may be written and is none of the inputs."""
    if name is None:
        return None
    from kanon_sql.output import check_writable, remove_leftovers

    path = Path(name)
    check_writable(path, inputs=inputs, force=values["force"])
    for said in remove_leftovers(path.parent):
        click.echo(said, err=True)
    return path


@contextmanager
def _watching(context: click.Context) -> Iterator[Watch]:
    """What is told each step: a line with -v, else a spinner where stderr is a terminal."""
    if context.meta.get(VERBOSITY, 0):
        yield lambda step, progress: click.echo(step, err=True)
    elif _is_terminal(sys.stderr):
        from rich.console import Console

        from kanon_sql.spinner import spinning

        context.meta[CONSOLE] = console = Console(stderr=True)
        with spinning(console) as watch:
            yield watch
    else:
        yield lambda step, progress: None


@contextmanager
def _telling(context: click.Context) -> Iterator[Callable[[GeneralizationStep], None]]:
    """What is told each step of a search as it is taken: a line, where stderr is a terminal."""
    from kanon_sql.report.steps import step_heading, step_line

    taken = 0

    def tell(step: GeneralizationStep) -> None:
        nonlocal taken
        taken += 1
        if taken == 1:
            say(step_heading())
        say(step_line(step, taken, step.to_level - 1))

    def say(line: str) -> None:
        # Above the spinner, where there is one.
        if console := context.meta.get(CONSOLE):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        elif context.meta.get(VERBOSITY, 0):
            click.echo(line, err=True)

    yield tell


def _refuse_failed(result: AuditResult | ProfileResult) -> None:
    """Raise if the database failed: then there is nothing to print."""
    if result.exit_code == ENGINE_FAILED:
        failed = (f"{table.name}: {table.error}" for table in result.tables if table.error)
        raise Failure("\n".join(failed), ENGINE_FAILED)


def _rendered(
    result: AuditResult | ProfileResult | Diff,
    page: Iterable[Block],
    form: str,
    *,
    to_terminal: bool = True,
) -> str:
    """The result in a form: as JSON, or as its page."""
    from kanon_sql.report import markdown, terminal

    if form == "json":
        return result.to_json()
    if form == "markdown":
        return markdown.write(page)
    return terminal.write(page, **_terminal(to_terminal))


def _terminal(to_terminal: bool) -> dict[str, Any]:
    """How wide the page is and whether it has colours: 80 columns and none, unless people look."""
    if not (to_terminal and _is_terminal(sys.stdout)):
        return {}
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return {"colour": colour, "width": shutil.get_terminal_size().columns}


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether people look; a process may have been started without any stream."""
    return stream is not None and stream.isatty()


def _only_step(compiled: CompiledAudit, step: str) -> CompiledAudit:
    """The statement of this name, of each table that has it."""
    found = compiled.only(step)
    if not found.tables:
        names = list(dict.fromkeys(name for table in compiled.tables for name in table.steps))
        raise SpecError(
            f'there is no step "{step}". Steps: {", ".join(names)}.{did_you_mean(step, names)}'
        )
    return found


def _deliver(text: str, output: Path | None, found: str = "") -> None:
    """Print the text, or write it to the file. A reader who has gone away changes no verdict."""
    if output:
        from kanon_sql.output import write_whole

        write_whole(output, f"{text}\n")
        _say_written(output, found)
        return
    stdout: TextIO | None = sys.stdout
    if stdout is None:
        return
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Failure(f"the result can't be printed: {error.strerror}.", ENGINE_FAILED) from None


def _say_written(path: Path, found: str = "") -> None:
    """Say on stderr which file or folder has the answer now, and in a word what it `found`."""
    if path.is_file() or path.is_dir():
        click.echo(f"{path} written{f': {found}' if found else ''}.", err=True)
