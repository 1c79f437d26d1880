"""The command line. It parses, calls, prints and exits; whatever is heavy is imported when used.

Results go to stdout, everything else to stderr. Exit codes: 0 nothing demanded fails, 1 a check
is violated, 2 a bad question or input, 3 the engine failed, 4 no data, 130 interrupted.
"""

from __future__ import annotations

import gc
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kanon_sql.cli.clock import CLOCK
from kanon_sql.cli.help import Grouped
from kanon_sql.cli.options import (
    PIPELINE_FORMATS,
    VERBOSITY,
    anonymize_options,
    audit_options,
    baseline_options,
    compile_options,
    demo_options,
    diff_options,
    hierarchy_options,
    init_options,
    profile_options,
    report_options,
    tradeoff_options,
    validate_options,
    worksheet_options,
)
from kanon_sql.cli.output import (
    ENGINE_FAILED,
    Failure,
    deliver,
    expected_page,
    files_of,
    for_pipeline,
    form_of,
    limits_of,
    only_step,
    output_of,
    refuse_failed,
    refuse_format,
    rendered,
    report_file_of,
    result_file_of,
    say_written,
    telling,
    watching,
    writable,
)
from kanon_sql.cli.question import (
    are_results,
    attacker_knows,
    column_question,
    identifying_question,
    is_spec_file,
    preferences,
    profile_question,
    question,
    selected,
    sizes,
    table_question,
)
from kanon_sql.cli.stops import INTERRUPTED, end_process, stops
from kanon_sql.errors import KanonError, SpecError, did_you_mean, plural

if TYPE_CHECKING:
    from kanon_sql.auditing.result import AuditResult
    from kanon_sql.engines.session import Watch
    from kanon_sql.results.baseline import Baseline
    from kanon_sql.spec.spec import AuditSpec


NO_DATA = 4


AUDIT_EXAMPLES = """\b
Examples:
  kanon-sql audit patients.parquet --qi zip,birth_year,sex --sensitive diagnosis --k 5
  kanon-sql audit kanon.yml --output result.json
"""


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
        CLOCK.begin(time.monotonic())
        is_process = args is None and standalone_mode
        if is_process:
            # Hardly anything that a command makes is a circle: don't look for them all the while.
            gc.set_threshold(100_000)
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with stops.heard():
            stops.code = _exit_code_of(run)
        if is_process:
            end_process(stops.code)
        return sys.exit(stops.code)

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
        return INTERRUPTED if stops.came and stops.code is None else code
    except Failure as failure:
        if stops.came and stops.code is None:
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
        if stops.code is not None:
            return stops.code
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
    "KANON_SQL_MEMORY_LIMIT=2GB; one that may be repeated has a value a line.\n\nA shell completes "
    'names after eval "$(_KANON_SQL_COMPLETE=bash_source kanon-sql)", or zsh_source, fish_source.',
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


@main.command(cls=Grouped, epilog=AUDIT_EXAMPLES)
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
    output = output_of(context, spec, values)
    if values["dry_run"]:
        from kanon_sql.auditing.auditor import dry_run

        refuse_format(context)
        tables = dry_run(spec, writes=files_of(output)) if spec else ()
        deliver(expected_page(tables, to_terminal=output is None), output)
        return 0 if spec else NO_DATA
    with watching(context) as watch:
        result = CLOCK.told(_audit_of(spec, watch, values, files_of(output)))
    if chosen:
        result = result.noted(chosen.notes)
    if baseline:
        result = baseline.held_against(result, values["by"])
    form = form_of(context, values, output, {".sarif": "sarif", ".xml": "junit"})
    found = result.status.replace("_", " ")
    if form in PIPELINE_FORMATS:
        deliver(for_pipeline(result, places, form), output, found)
        refuse_failed(result)
        return result.exit_code
    refuse_failed(result)
    deliver(rendered(result, result.page(), form, to_terminal=output is None), output, found)
    return result.exit_code


def _required(target: str | None) -> str:
    if target is None:
        raise SpecError("name what to audit: a file, a table, a spec file, or --manifest FILE.")
    return target


def _audit_of(
    spec: AuditSpec | None, watch: Watch, values: dict[str, Any], writes: Sequence[Path]
) -> AuditResult:
    """The audit of a spec; of none where nothing was selected."""
    if spec is None:
        from kanon_sql.auditing.result import AuditResult
        from kanon_sql.results.version import VERSION

        return AuditResult((), VERSION)
    from kanon_sql.auditing.auditor import audit as run

    return run(spec, watch=watch, writes=writes, **limits_of(values))


def _baseline(values: dict[str, Any]) -> Baseline | None:
    """The baseline that is asked for, read before anything runs."""
    if not values["baseline"]:
        return None
    from kanon_sql.results.baseline import Baseline

    return Baseline.read(Path(values["baseline"]))


@main.command(cls=Grouped)
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@anonymize_options
@click.pass_context
def anonymize(
    context: click.Context,
    /,
    target: str,
    algorithm: Any,
    metric: Any,
    max_suppressed: str | None,
    suppressed: Any,
    gap: str | None,
    minimal_nodes: bool,
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
    from kanon_sql.anonymizing.anonymizer import anonymize as run
    from kanon_sql.anonymizing.anonymizer import dry_run
    from kanon_sql.anonymizing.options import ReleaseOptions

    spec = question(context, target, values)
    result_file = result_file_of(context, values["result"], spec.files(), values)
    wanted = ReleaseOptions(
        algorithm=algorithm,
        metric=metric,
        max_suppressed=max_suppressed,
        **preferences(values),
        gap=gap,
        minimal_nodes=minimal_nodes,
        suppressed=suppressed,
        pull_frequencies=pull_frequencies,
        output=writable(values["output"], spec.files(), values),
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
        refuse_format(context)
        if result_file is not None:
            raise SpecError(
                "--dry-run has no result yet, and so no --result. Leave out one of the two."
            )
        deliver(expected_page([dry_run(spec, wanted)], to_terminal=True), None)
        return 0
    with watching(context) as watch, telling(context) as tell:
        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        writes = files_of(result_file)
        result = CLOCK.told(run(spec, wanted, watch=watch, tell=tell, writes=writes, **limits))
    if result.anonymization.release:
        stops.code = result.exit_code
    form = form_of(context, values, result_file)
    to_terminal = result_file is None
    text = rendered(result, result.page(), form, to_terminal=to_terminal)
    release = result.anonymization.release
    if result_file and release:
        say_written(Path(release.path))
    deliver(text, result_file, result.status.replace("_", " "))
    return result.exit_code


@main.command(cls=Grouped)
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@profile_options
@click.pass_context
def profile(context: click.Context, /, target: str, **values: Any) -> int:
    """See which columns identify people.

    TARGET is as for audit; of a spec file the checks are not asked. Without --qi: what each column
    does by itself, what it looks like, and what it adds to the others. With --qi: for each other
    column, how many records are alone once it is known too; for each quasi-identifier, what it
    costs, and how much of that is due to outliers; for each sensitive attribute, how sure one is
    after ruling out other values. --subsets and --suda look at sets of columns. No value is shown.

    Exit codes: 0 measured; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    spec = profile_question(context, target, values)
    identifying = identifying_question(spec, values)
    output = output_of(context, spec, values)
    if output and identifying.scores and output.resolve() == identifying.scores.resolve():
        raise SpecError(f"{output} can't hold both the result and the scores; name two files.")
    with watching(context) as watch:
        from kanon_sql.profiling.profiler import profile as run

        limits = {key: values[key] for key in ("k", "memory_limit", "threads", "timeout")}
        limits |= {"watch": watch, "writes": files_of(output)}
        limits |= {"identifying": identifying}
        result = CLOCK.told(run(spec, attacker_knows=attacker_knows(values), **limits))
    refuse_failed(result)
    if identifying.scores:
        say_written(identifying.scores, "personal data")
    form = form_of(context, values, output)
    to_terminal = output is None
    text = rendered(result, result.page(), form, to_terminal=to_terminal)
    deliver(text, output)
    return result.exit_code


@main.command(cls=Grouped)
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@tradeoff_options
@click.pass_context
def tradeoff(context: click.Context, /, target: str, **values: Any) -> int:
    """See what each k would cost.

    TARGET is as for audit. For each k the levels that lose least, found by one search, and what
    they lose. Nothing is released.

    Exit codes: 0 measured; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    from kanon_sql.anonymizing.options import ReleaseOptions
    from kanon_sql.anonymizing.tradeoff import KS
    from kanon_sql.anonymizing.tradeoff import tradeoff as run

    ks = sizes(values) or KS
    spec = question(context, target, {**values, "k": None})
    output = output_of(context, spec, values)
    wanted = ReleaseOptions(
        algorithm="optimal",
        metric=values["metric"],
        max_suppressed=values["max_suppressed"],
        **preferences(values),
        gap=values["gap"],
        pull_frequencies=values["pull_frequencies"],
    )
    with watching(context) as watch:
        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        result = run(spec, wanted, ks, watch=watch, writes=files_of(output), **limits)
    form = form_of(context, values, output)
    text = rendered(result, result.page(), form, to_terminal=output is None)
    deliver(text, output)
    return result.exit_code


@main.command(name="compile", cls=Grouped)
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@compile_options
@click.pass_context
def compile_(
    context: click.Context,
    /,
    target: str,
    step: str | None,
    until: str | None,
    output_dir: str | None,
    **values: Any,
) -> int:
    """Print the SQL of an audit and run none of it.

    Takes the options of audit, so that one word turns an audit into its SQL; what bounds a run
    has nothing to bound here. In another dialect than that of what is opened, a file stands for
    the table that is called after it. The name of a table needs no connection then.
    """
    spec = question(context, target, values)
    if output_dir and values["output"]:
        raise SpecError("--output is one file and --output-dir a folder; choose one.")
    output = output_of(context, spec, values)
    from kanon_sql.auditing.compiler import compile as compile_audit

    how = {key: values[key] for key in ("dialect", "quote", "table")}
    written = sorted(Path(output_dir).rglob("*.sql")) if output_dir else files_of(output)
    compiled = compile_audit(spec, **how, writes=written)
    compiled = only_step(compiled, step) if step else compiled
    compiled = compiled.until(until) if until else compiled
    found = plural(len(compiled.statements), "statement")
    if output_dir:
        from kanon_sql.results.writing import write_files

        folder = Path(output_dir)
        write_files(folder, compiled.files, inputs=spec.files(), force=values["force"])
        say_written(folder, found)
    else:
        deliver("\n\n".join(compiled.statements) if step else str(compiled), output, found)
    return 0


@main.command()
@click.argument("target", nargs=-1, required=True, callback=_only_one)
@init_options
@click.pass_context
def init(context: click.Context, /, target: str, **values: Any) -> int:
    """Propose a spec to begin with.

    TARGET is a file, a glob or a table. Each column gets the part that its name and its values
    speak for, with the reason as a comment, and levels that fit; what they do not tell stands under
    undecided, and until a person has decided the spec is refused. No value of the table is in it.

    Exit codes: 0 proposed; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    spec = table_question(context, target, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    with watching(context) as watch:
        from kanon_sql.profiling.propose import propose

        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        proposal = propose(spec, output=output, watch=watch, **limits)
    if output is None:
        deliver(proposal.text, None)
    else:
        left = len(proposal.undecided)
        say_written(output, f"{plural(left, 'column')} to be decided by a person" if left else "")
    return 0


@main.group()
def hierarchy() -> None:
    """Make files that say how values may be generalised."""


@hierarchy.command()
@click.argument("column", metavar="COL[=BUILDER]")
@hierarchy_options
@click.pass_context
def new(context: click.Context, /, column: str, target: str, **values: Any) -> int:
    """Begin a hierarchy file with the values of a column.

    The file has no header: each value, then what it becomes at every level of a builder, as in
    zip=mask:right or age=width:5,10, and * at the end; without one only that. It is for editing by
    hand, and personal data where values are rare, so that it needs --show-values.

    Exit codes: 0 written; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    spec = column_question(column, target, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    if output is None:
        raise SpecError("name the file to write with --output.")
    with watching(context) as watch:
        from kanon_sql.anonymizing.hierarchy_file import new_hierarchy

        found = new_hierarchy(spec, output, watch=watch, **limits_of(values))
    say_written(output, f"{plural(found, 'value')}, personal data")
    return 0


@main.command(cls=Grouped)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET", callback=_one_or_specs)
@validate_options
@click.pass_context
def validate(context: click.Context, /, targets: Sequence[str], **values: Any) -> int:
    """Open the tables, and see that the whole question fits.

    That is its columns, its checks, and its hierarchies, which must have every value of the
    table. TARGET is as for audit; spec files may be several.
    """
    specs = [question(context, target, values) for target in targets]
    from kanon_sql.auditing.auditor import validate as look

    deliver("\n".join(sentence for spec in specs for sentence in look(spec)), None)
    return 0


@main.command(cls=Grouped)
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
    from kanon_sql.results.baseline import Baseline

    if are_results(context, targets, values):
        from kanon_sql.results.stored import read_result

        output = result_file_of(context, values["output"], targets, values)
        results = [read_result(Path(target)).result for target in targets]
    else:
        target = _only_one(context, context.command.params[0], targets)
        spec = question(context, target, values)
        output = output_of(context, spec, values)
        result = _audited(context, spec, values, output)
        if result.status == "no_data":
            raise Failure("a table has no data, so there is nothing to accept.", result.exit_code)
        results = [result]
    accepted = Baseline.of(results)
    deliver(accepted.to_json(), output, str(accepted))
    return 0


def _audited(
    context: click.Context, spec: AuditSpec, values: dict[str, Any], output: Path | None
) -> AuditResult:
    with watching(context) as watch:
        from kanon_sql.auditing.auditor import audit as run

        limits = {key: values[key] for key in ("memory_limit", "threads", "timeout")}
        result = run(spec, watch=watch, writes=files_of(output), **limits)
    refuse_failed(result)
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
    from kanon_sql.report import diff as report
    from kanon_sql.results.diff import diff as compare
    from kanon_sql.results.stored import read_result

    output = result_file_of(context, values["output"], (old, new), values)
    result = compare(read_result(Path(old)), read_result(Path(new)), values["by"])
    form = form_of(context, values, output)
    to_terminal = output is None
    text = rendered(result, report.page(result), form, to_terminal=to_terminal)
    deliver(text, output)
    return int(values["fail_on_worse"] and result.is_worse)


@main.command(cls=Grouped)
@click.argument("targets", nargs=-1, metavar="TARGET", callback=_at_most_one)
@worksheet_options
@click.pass_context
def worksheet(context: click.Context, /, targets: str | None, **values: Any) -> int:
    """Draw the riskiest records, to be tried by hand.

    People who know nothing but what is public try to find whom each record is about, and fill in
    what came of it; --read says how many they found, with the interval of that share. The riskiest
    records are those with the fewest people in the reference, else those in the smallest classes.
    The file is personal data, and needs --show-values.

    Exit codes: 0 written or read; 2 a bad question or input; 3 the engine failed; 4 no data.
    """
    if values["read"] is not None:
        return _read_worksheet(targets, values)
    if targets is None:
        raise SpecError("name a table or a spec file, or a filled worksheet with --read FILE.")
    spec = question(context, targets, values)
    output = result_file_of(context, values["output"], spec.files(), values)
    if output is None:
        raise SpecError("name the file to write with --output.")
    with watching(context) as watch:
        from kanon_sql.auditing.worksheet import write_worksheet

        found = write_worksheet(
            spec,
            output,
            sample=values["sample"],
            seed=values["seed"],
            watch=watch,
            **limits_of(values),
        )
    say_written(output, f"{plural(found, 'record')}, personal data")
    return 0


def _read_worksheet(target: str | None, values: dict[str, Any]) -> int:
    """Say what came of a worksheet that was filled in."""
    from kanon_sql.report.attempts import as_json, in_words
    from kanon_sql.results.worksheet import read_worksheet

    if target is not None:
        raise SpecError(
            f"--read {values['read']} reads a worksheet, so {target} has no place here."
        )
    file = Path(values["read"])
    attempts = read_worksheet(file)
    output = writable(values["output"], [str(file)], values)
    write = as_json if values["format"] == "json" else in_words
    deliver(write(attempts), output)
    return 0


@main.command()
@click.argument("result", metavar="RESULT.json")
@report_options
@click.pass_context
def report(context: click.Context, /, result: str, **values: Any) -> int:
    """Write the page that one signs.

    RESULT.json is a result that audit, anonymize or tradeoff wrote as JSON; the data are not
    asked again. The page is one HTML file without a script. It holds counts only: what was asked
    and found, what was looked at, the risks, what the models leave open, the SQL, and lines for
    the decision.

    Exit codes: 0 written, whatever is violated; 2 a bad input.
    """
    from kanon_sql.report.signed.asking import page_of_file

    quoted = ("earlier_result", "profile", "tradeoff", "worksheet")
    beside = {key: values[key] for key in quoted}
    inputs = [result, *(each for each in beside.values() if each)]
    output = report_file_of(values, inputs)
    earlier, profile, tradeoff, attempts = (
        Path(each) if each else None for each in beside.values()
    )
    text = page_of_file(
        Path(result),
        earlier=earlier,
        profile=profile,
        tradeoff=tradeoff,
        worksheet=attempts,
        audience=values["audience"],
        min_cell=values["min_cell"],
    )
    deliver(text, output)
    return 0


@main.command()
def schema() -> int:
    """Print the JSON Schema of a spec file, for editors."""
    import json

    from kanon_sql.spec.spec import json_schema

    deliver(json.dumps(json_schema(), indent=2, ensure_ascii=False), None)
    return 0


@main.command()
@click.argument("name", nargs=-1, metavar="[MODEL|METRIC|PAGE]")
def explain(name: tuple[str, ...]) -> int:
    """Say what a model, a metric or an algorithm means, or show a page of the manual.

    With an example, its formula and its paper. Hyphens, spaces, Greek letters and the words that
    people know will do, as in l-diversity, Cramer or arx. Without a name, list everything.
    """
    from kanon_sql.report.explain import explained

    deliver(explained(" ".join(name) or None), None)
    return 0


@main.command(name="dbt-package")
def dbt_package() -> int:
    """Print the folder of the dbt package, for packages.yml.

    The package is called kanon_sql. It lies inside the installed kanon-sql, so that dbt runs the
    macros of the version that is installed.
    """
    from kanon_sql.sql.macros import folder

    deliver(str(folder()), None)
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
    from kanon_sql.cli import demo as example

    path = Path(folder)
    example.write(path, force=force)
    with watching(context) as watch:
        from kanon_sql.auditing.auditor import audit as run
        from kanon_sql.spec.spec import AuditSpec

        result = run(AuditSpec.from_file(path / example.SPEC), watch=watch)
    command = example.own_command()
    example.write_report(path, result)
    next_steps = example.what_next(path, command)
    deliver(f"{rendered(result, result.page(), 'human')}\n\n{next_steps}", None)
    return 0
